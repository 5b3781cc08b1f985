#include "tests/support/kernels/judge_device.h"

#include "kernels/kernel_source.h"
#include "kernels/toolchains/opencl.h"
#include "kernels/toolchains/toolchain.h"
#include "tests/support/temp_folder.h"
#include "worker/verify/judge.h"

struct device_program *judge_device_load(struct device *device, const char *file,
                                         const char *options, const char *entry)
{
    g_autoptr(GError) error = NULL;
    struct code_object object = {0};
    const struct kernel_source *source = kernel_source_find(file, &error);
    g_assert_no_error(error);
    const struct target *target = &device->row->info(device)->target;
    const struct toolchain *toolchain = toolchain_for_target(target, NULL, &error);
    g_assert_true(toolchain != NULL);
    toolchain->compile(source->text, options, entry, target, &object, &error);
    g_assert_no_error(error);
    struct device_program *loaded = device->row->load(device, object.code, &error);
    g_assert_no_error(error);
    code_object_clear(&object);
    return loaded;
}

struct device *judge_device_open(void)
{
    struct device *first;

    if (g_strcmp0(g_getenv("SKIPJACK_TEST_DEVICE"), "gpu") != 0)
        return device_opencl.open(0, NULL);
    first = device_open(0, NULL);
    if (!first || first->row->info(first)->target.vendor != VENDOR_CPU)
        return first;
    device_close(first);
    return NULL;
}

static void test_nothing(void)
{
    g_test_skip("there is no such device here");
}

int judge_device_main(int argc, char **argv, const char *skipped,
                      void (*add_tests)(struct device *device, struct device_program *judge))
{
    g_test_init(&argc, &argv, NULL);
    g_test_set_nonfatal_assertions();
    g_autoptr(TempFolder) folder = temp_folder_new();
    opencl_environment(temp_folder_path(folder, "pocl"), NULL);
    struct device *device = judge_device_open();
    if (!device) {
        g_test_add_func(skipped, test_nothing);
        return g_test_run();
    }
    struct device_program *judge = judge_device_load(device, JUDGE_FILE, "", JUDGE_ENTRY);
    add_tests(device, judge);
    int status = g_test_run();
    device->row->program_free(judge);
    device_close(device);
    return status;
}
