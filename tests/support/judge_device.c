#include "tests/support/judge_device.h"

#include "kernels/kernel_source.h"
#include "kernels/toolchain.h"

struct device_program *judge_device_load(struct device *device, const char *file,
                                         const char *options, const char *entry)
{
    g_autoptr(GError) error = NULL;
    struct code_object object = {0};
    const struct kernel_source *source = kernel_source_find(file, &error);
    g_assert_no_error(error);
    const struct target *target = &device->row->info(device)->target;
    const struct toolchain *toolchain = toolchain_for_target(target, &error);
    g_assert_true(toolchain && toolchain->version(target, &error));
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
