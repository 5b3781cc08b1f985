/* GPUs as devices, over a test double of both vendors' libraries, which fails on demand. */
#include "worker/device/gpu_api.h"

#include <glib/gstdio.h>
#include <string.h>
#include <sys/utsname.h>

#include "tests/support/patience.h"
#include "tests/support/temp_folder.h"

#define CODE "kernel copy fault"

static const struct maker {
    const char *setting, *target, *second, *stack;
    const struct device_row *row;
} cuda = {"SKIPJACK_CUDA", "sm_90_132_80g", "sm_90_132_1g", "cuda 13.2; driver 580.159.03",
          &device_cuda},
  hip = {"SKIPJACK_HIP", "gfx90a_xnack84", "gfx90a_xnack84", "hip 6.4; driver 6.10.5", &device_hip};

/* Each case runs in its own process: an open library stays open, and a fault lasts. */
static bool in_process(const struct maker *vendor, const char *wrong)
{
    if (g_test_subprocess()) {
        const char *library = g_getenv("SKIPJACK_GPU_DOUBLE");
        const char *monitor = g_getenv("SKIPJACK_MONITOR_DOUBLE");
        g_setenv(vendor->setting, library ? library : "build/tests/gpu_double.so", TRUE);
        g_setenv("SKIPJACK_NVML", monitor ? monitor : "build/tests/monitor_double.so", TRUE);
        g_setenv("SKIPJACK_ROCM_SMI", monitor ? monitor : "build/tests/monitor_double.so", TRUE);
        g_setenv("GPU_DOUBLE", wrong, TRUE);
        return true;
    }
    g_test_trap_subprocess(NULL, PATIENCE_SECONDS * (guint64)G_USEC_PER_SEC, 0);
    g_test_trap_assert_passed();
    return false;
}

static struct device *open_double(const struct maker *vendor)
{
    g_autoptr(GError) error = NULL;
    struct device *device = vendor->row->open(0, &error);
    g_assert_no_error(error);
    g_assert_nonnull(device);
    return device;
}

static void test_it_is_named_by_what_it_is(gconstpointer data)
{
    const struct maker *vendor = data;
    if (!in_process(vendor, ""))
        return;
    struct device *device = open_double(vendor);
    const struct device_info *info = device->row->info(device);
    g_assert_cmpint(vendor->row->count(NULL), ==, 2);
    g_assert_cmpstr(info->target.id, ==, vendor->target);
    g_assert_cmpstr(info->stack, ==, vendor->stack);
    g_assert_cmpstr(info->name, ==, "Double 0");
    g_assert_cmpint(info->target.max_workgroup, ==, 1024);
    g_assert_cmpint(info->target.local_bytes, ==, 49152);
    g_assert_cmpint(info->cache_bytes, ==, 52428800);
    g_assert_true(target_validate(&info->target, NULL));
    device_close(device);
    device = vendor->row->open(1, NULL);
    g_assert_cmpstr(device->row->info(device)->target.id, ==, vendor->second);
    device_close(device);
}

/* UUID and address of the second device, the partition mode of its card, and its target. */
static const struct naming {
    const struct maker *vendor;
    const char *path, *wrong, *uuid, *address, *partition, *target;
} namings[] = {
    {&cuda, "a_card", "", "GPU-d0d1d2d3-d4d5-d6d7-d8d9-dadbdcddde01", "0000:3c:00.0", "",
     "sm_90_132_1g"},
    {&cuda, "an_instance", "instance", "MIG-d0d1d2d3-d4d5-d6d7-d8d9-dadbdcddde01", "0000:3c:00.0",
     "MIG 1g.10gb", "sm_90_132_1g_mig1g"},
    {&cuda, "nothing_known", "nameless", "", "", "", "sm_90_132_1g"},
    {&hip, "a_card", "", "GPU-d0d1d2d3d4d5d601", "0000:3c:00.0", "CPX NPS4",
     "gfx90a_xnack84_cpx_nps4"},
    {&hip, "a_part", "part", "GPU-d0d1d2d3d4d5d601", "0000:3c:00.3", "CPX NPS4",
     "gfx90a_xnack84_cpx_nps4"},
    {&hip, "features_that_it_cannot_have", "vega", "GPU-d0d1d2d3d4d5d601", "0000:3c:00.0",
     "CPX NPS4", "gfx90084_cpx_nps4"},
    {&hip, "nothing_known", "nameless", "", "", "", "gfx90a_xnack84"},
};

static void test_which_one_it_is_is_told(gconstpointer data)
{
    const struct naming *naming = data;
    if (!in_process(naming->vendor, naming->wrong))
        return;
    g_autoptr(TempFolder) folder = temp_folder_new();
    struct device_identity identity;
    g_assert_true(g_mkdir(temp_folder_path(folder, "0000:3c:00.0"), 0700) == 0);
    if (naming->vendor == &hip) {
        temp_folder_write(folder, "0000:3c:00.0/current_compute_partition", "CPX\n", -1);
        temp_folder_write(folder, "0000:3c:00.0/current_memory_partition", "NPS4\n", -1);
    }
    g_setenv("SKIPJACK_PCI", temp_folder_path(folder, ""), TRUE);
    naming->vendor->row->identify(1, &identity);
    struct device *device = naming->vendor->row->open(1, NULL);
    g_assert_cmpstr(identity.uuid, ==, naming->uuid);
    g_assert_cmpstr(identity.address, ==, naming->address);
    g_assert_cmpstr(identity.partition, ==, naming->partition);
    const struct device_identity *opened = &device->row->info(device)->identity;
    g_assert_cmpstr(opened->uuid, ==, naming->uuid);
    g_assert_cmpstr(opened->address, ==, naming->address);
    g_assert_cmpstr(opened->partition, ==, naming->partition);
    const struct target *target = &device->row->info(device)->target;
    g_assert_cmpstr(target->id, ==, naming->target);
    g_assert_true(target_validate(target, NULL));
    device_close(device);
}

/* CUDA of older drivers does not say in a device's name that it is a MIG instance. */
static void test_an_instance_is_known_by_its_library(void)
{
    if (!in_process(&cuda, ""))
        return;
    g_setenv("MONITOR_DOUBLE", "instance", TRUE);
    struct device *device = open_double(&cuda);
    const struct device_info *info = device->row->info(device);
    g_assert_cmpstr(info->identity.partition, ==, "MIG 1g.10gb");
    g_assert_cmpstr(info->target.id, ==, "sm_90_132_80g_mig1g");
    device_close(device);
}

/* Where a driver's version comes from: the library, else the kernel module's folder in sysfs. */
static const struct driving {
    const struct maker *vendor;
    const char *path, *library, *words, *module, *stack; /* library, module: NULL for none */
} drivings[] = {
    {&cuda, "library", NULL, "", "570.1", "cuda 13.2; driver 580.159.03"},
    {&cuda, "sysfs", "libnowhere.so", "", "570.1", "cuda 13.2; driver 570.1"},
    {&cuda, "library_without_answer", NULL, "undriven", "570.1", "cuda 13.2; driver 570.1"},
    {&cuda, "unknown", "libnowhere.so", "", NULL, "cuda 13.2"},
    {&hip, "library", NULL, "", "6.8.5", "hip 6.4; driver 6.10.5"},
    {&hip, "sysfs", "libnowhere.so", "", "6.8.5", "hip 6.4; driver 6.8.5"},
    {&hip, "unknown", "libnowhere.so", "", NULL, "hip 6.4"},
};

static void test_its_driver_is_told(gconstpointer data)
{
    const struct driving *driving = data;
    if (!in_process(driving->vendor, ""))
        return;
    g_autoptr(TempFolder) folder = temp_folder_new();
    if (driving->library) {
        g_setenv("SKIPJACK_NVML", driving->library, TRUE);
        g_setenv("SKIPJACK_ROCM_SMI", driving->library, TRUE);
    }
    g_setenv("MONITOR_DOUBLE", driving->words, TRUE);
    if (driving->module) {
        g_assert_true(g_mkdir_with_parents(temp_folder_path(folder, "0000:3b:00.0/driver/module"),
                                           0700) == 0);
        temp_folder_write(folder, "0000:3b:00.0/driver/module/version", driving->module, -1);
    }
    g_setenv("SKIPJACK_PCI", temp_folder_path(folder, ""), TRUE);
    struct device *device = open_double(driving->vendor);
    g_assert_cmpstr(device->row->info(device)->stack, ==, driving->stack);
    device_close(device);
}

/* An amdgpu module that is a part of the kernel has no version; rocm_smi prints the kernel's release. */
static void test_a_module_of_the_kernel_has_its_release(void)
{
    if (!in_process(&hip, ""))
        return;
    g_autoptr(TempFolder) folder = temp_folder_new();
    struct utsname kernel;
    g_assert_true(uname(&kernel) == 0);
    g_assert_true(
        g_mkdir_with_parents(temp_folder_path(folder, "0000:3b:00.0/driver/module"), 0700) == 0);
    temp_folder_write(folder, "0000:3b:00.0/driver/module/initstate", "live\n", -1);
    g_setenv("SKIPJACK_PCI", temp_folder_path(folder, ""), TRUE);
    g_setenv("SKIPJACK_ROCM_SMI", "libnowhere.so", TRUE);
    struct device *device = open_double(&hip);
    g_autofree char *begin = g_strndup(kernel.release, strspn(kernel.release, "0123456789.-"));
    g_autofree char *stack = g_strconcat("hip 6.4; driver ", begin, NULL);
    g_assert_true(g_str_has_prefix(device->row->info(device)->stack, stack));
    device_close(device);
}

/* Numbers shift when a device is lost; UUIDs do not. */
static void test_devices_are_found_by_name(void)
{
    static const struct {
        const char *name;
        int index; /* -1: refused */
    } cases[] = {
        {"", 0},
        {"local", 0},
        {"3", 3},
        {"GPU-d0d1d2d3-d4d5-d6d7-d8d9-dadbdcddde01", 1},
        {"GPU-D0D1D2D3-D4D5-D6D7-D8D9-DADBDCDDDE00", 0},
        {"GPU-d0d1d2d3d4d5d601", 3},
        {"GPU-d0d1d2d3-d4d5-d6d7-d8d9-dadbdcddde02", -1},
        {"first", -1},
        {"-1", -1},
        {"1024", -1},
    };
    if (!in_process(&cuda, ""))
        return;
    g_setenv(hip.setting, g_getenv(cuda.setting), TRUE);
    g_assert_cmpint(device_count_gpus(), ==, 4);
    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autoptr(GError) error = NULL;
        int index;
        bool found = device_find(cases[i].name, &index, &error);
        g_assert_cmpint(found, ==, cases[i].index >= 0);
        if (found)
            g_assert_cmpint(index, ==, cases[i].index);
        else
            g_assert_nonnull(strstr(error->message, cases[i].name));
    }
}

/* Launches a kernel of CODE over two slices of an allocation. */
static bool launch(struct device *device, const char *entry, struct device_memory *from,
                   struct device_memory *to, int64_t bytes, int64_t local_bytes, GError **error)
{
    const struct device_row *row = device->row;
    g_autoptr(GBytes) code = g_bytes_new_static(CODE, sizeof(CODE));
    struct device_program *program = row->load(device, code, error);
    struct device_kernel *kernel = program ? row->kernel(program, entry, error) : NULL;
    const struct device_arg args[] = {
        {.memory = from}, {.memory = to}, {.bytes = 8, .value.int64 = bytes}};
    const struct device_launch described = {kernel, {64, 1, 1}, {64, 1, 1}, local_bytes, 3, args};
    bool launched = kernel && row->launch(device, &described, error);
    if (kernel)
        row->kernel_free(kernel);
    if (program)
        row->program_free(program);
    return launched;
}

static void test_kernels_move_what_they_are_told(gconstpointer data)
{
    const struct maker *vendor = data;
    if (!in_process(vendor, ""))
        return;
    struct device *device = open_double(vendor);
    const struct device_row *row = device->row;
    uint8_t bytes[1024] = {1, 2, 3};
    double ms = 0;
    struct device_memory *whole = row->alloc(device, 4096, NULL);
    struct device_memory *from = row->slice(whole, 1024, 2048, NULL);
    struct device_memory *to = row->slice(from, 1024, 1024, NULL);
    g_assert_true(row->fill(whole, 0, 4096, 0xee, NULL));
    g_assert_true(row->write(from, 0, bytes, 3, NULL));
    struct device_event *start = row->record(device, NULL);
    g_assert_true(launch(device, "copy", from, to, 8, 0, NULL));
    struct device_event *end = row->record(device, NULL);
    g_assert_true(row->elapsed(start, end, &ms, NULL));
    g_assert_cmpfloat_with_epsilon(ms, 1.01, 1e-4);
    g_assert_true(row->read(whole, 2048, bytes, 1024, NULL));
    g_assert_true(bytes[0] == 1 && bytes[2] == 3 && bytes[3] == 0xee && bytes[1023] == 0xee);
    g_assert_true(row->copy(to, whole, 2, NULL) && row->sync(device, NULL));
    g_assert_true(row->read(whole, 0, bytes, 2, NULL));
    g_assert_true(bytes[0] == 1 && bytes[1] == 2);
    row->event_free(start);
    row->event_free(end);
    row->memory_free(to);
    row->memory_free(from);
    row->memory_free(whole);
    device_close(device);
}

/* A graph does what was launched while it was recorded, each time that it is launched, and nothing before. */
static void test_graphs_do_what_was_recorded(gconstpointer data)
{
    const struct maker *vendor = data;
    if (!in_process(vendor, ""))
        return;
    g_autoptr(GError) error = NULL;
    struct device *device = open_double(vendor);
    const struct device_row *row = device->row;
    uint8_t bytes[16];
    struct device_memory *from = row->alloc(device, 16, NULL);
    struct device_memory *to = row->alloc(device, 16, NULL);
    g_assert_true(row->fill(from, 0, 16, 1, NULL) && row->fill(to, 0, 16, 2, NULL));
    g_assert_true(row->capture_begin(device, &error));
    g_assert_true(row->fill(from, 0, 4, 3, NULL));
    g_assert_true(launch(device, "copy", from, to, 8, 0, NULL));
    struct device_graph *graph = row->capture_end(device, &error);
    g_assert_no_error(error);
    g_assert_true(row->read(to, 0, bytes, 16, NULL));
    g_assert_true(bytes[0] == 2 && bytes[15] == 2);
    g_assert_true(row->graph_launch(device, graph, &error) && row->sync(device, &error));
    g_assert_true(row->read(to, 0, bytes, 16, NULL));
    g_assert_true(bytes[0] == 3 && bytes[4] == 1 && bytes[8] == 2);
    g_assert_true(row->fill(to, 0, 16, 9, NULL));
    g_assert_true(row->graph_launch(device, graph, &error) && row->sync(device, &error));
    g_assert_true(row->read(to, 0, bytes, 16, NULL));
    g_assert_true(bytes[0] == 3 && bytes[4] == 1 && bytes[8] == 9);
    row->graph_free(graph);
    row->memory_free(from);
    row->memory_free(to);
    device_close(device);
}

/* A launch may use more local memory than a kernel may declare, up to all of the GPU's. */
static void test_launches_get_the_local_memory_they_ask_for(void)
{
    static const struct {
        int64_t bytes;
        bool launched;
    } cases[] = {{49152, true}, {49153, true}, {232448, true}, {232449, false}};
    if (!in_process(&cuda, ""))
        return;
    struct device *device = open_double(&cuda);
    struct device_memory *memory = device->row->alloc(device, 64, NULL);
    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autoptr(GError) error = NULL;
        bool launched = launch(device, "copy", memory, memory, 8, cases[i].bytes, &error);
        g_assert_cmpint(launched, ==, cases[i].launched);
        if (!launched)
            g_assert_error(error, DEVICE_ERROR, DEVICE_ERROR_LAUNCH);
    }
    device->row->memory_free(memory);
    device_close(device);
}

/* Kernels that are one function of the library, as a network's steps with one binary, each ask for their own size. */
static void test_a_kernel_takes_no_local_memory_from_another(void)
{
    static const int64_t asked[] = {200000, 100000, 200000};
    if (!in_process(&cuda, ""))
        return;
    g_autoptr(GError) error = NULL;
    struct device *device = open_double(&cuda);
    const struct device_row *row = device->row;
    struct device_memory *memory = row->alloc(device, 64, NULL);
    g_autoptr(GBytes) code = g_bytes_new_static(CODE, sizeof(CODE));
    struct device_program *program = row->load(device, code, &error);
    struct device_kernel *large = row->kernel(program, "copy", &error);
    struct device_kernel *small = row->kernel(program, "copy", &error);
    const struct device_arg args[] = {
        {.memory = memory}, {.memory = memory}, {.bytes = 8, .value.int64 = 8}};
    for (gsize i = 0; i < G_N_ELEMENTS(asked); i++) {
        const struct device_launch described = {
            i == 1 ? small : large, {64, 1, 1}, {64, 1, 1}, asked[i], 3, args};
        g_assert_true(row->launch(device, &described, &error));
        g_assert_no_error(error);
    }
    row->kernel_free(large);
    row->kernel_free(small);
    row->program_free(program);
    row->memory_free(memory);
    device_close(device);
}

/* A failure of the library, the call that returns it, and the error's code. */
static const struct failure {
    const struct maker *vendor;
    const char *path, *wrong, *entry;
    enum device_error code;
    const char *words;
} failures[] = {
    {&cuda, "no_device", "none", NULL, DEVICE_ERROR_UNAVAILABLE, "cannot find"},
    {&cuda, "an_attribute_that_cannot_be", "units", NULL, DEVICE_ERROR_UNAVAILABLE, "1 lanes"},
    {&cuda, "no_memory", "memory", "copy", DEVICE_ERROR_MEMORY, "OUT_OF_MEMORY"},
    {&cuda, "a_code_object_that_does_not_load", "load", "copy", DEVICE_ERROR_LOAD, "load"},
    {&cuda, "an_entry_that_is_not_there", "", "nothing", DEVICE_ERROR_LOAD, "'nothing'"},
    {&cuda, "a_launch_that_is_refused", "launch", "copy", DEVICE_ERROR_LAUNCH, "launch"},
    {&cuda, "a_fault", "", "fault", DEVICE_ERROR_FAULT, "ILLEGAL_ADDRESS"},
    {&cuda, "a_device_that_vanishes", "vanish", "copy", DEVICE_ERROR_FAULT, "wait"},
    {&hip, "no_memory", "memory", "copy", DEVICE_ERROR_MEMORY, "OUT_OF_MEMORY"},
    {&hip, "a_fault", "", "fault", DEVICE_ERROR_FAULT, "ILLEGAL_ADDRESS"},
    {&hip, "a_device_that_vanishes", "vanish", "copy", DEVICE_ERROR_FAULT, "wait"},
};

static bool use(struct device *device, const char *entry, GError **error)
{
    struct device_memory *memory = device->row->alloc(device, 64, error);
    bool used = memory && launch(device, entry, memory, memory, 8, 0, error) &&
                device->row->sync(device, error);
    device->row->memory_free(memory);
    return used;
}

static void test_failures_are_told_apart(gconstpointer data)
{
    const struct failure *failure = data;
    if (!in_process(failure->vendor, failure->wrong))
        return;
    g_autoptr(GError) error = NULL;
    struct device *device =
        failure->vendor->row->open(strcmp(failure->wrong, "none") == 0 ? 2 : 0, &error);
    if (failure->entry)
        g_assert_false(use(device, failure->entry, &error));
    else
        g_assert_null(device);
    g_assert_error(error, DEVICE_ERROR, (gint)failure->code);
    if (!strstr(error->message, failure->words))
        g_test_message("%s", error->message);
    g_assert_nonnull(strstr(error->message, failure->words));
    if (failure->code == DEVICE_ERROR_FAULT) /* every later call fails, too */
        g_assert_false(device->row->sync(device, NULL));
    device_close(device);
}

static void test_times_may_be_wrong(void)
{
    if (!in_process(&cuda, "elapsed"))
        return;
    struct device *device = open_double(&cuda);
    struct device_event *start = device->row->record(device, NULL);
    struct device_event *end = device->row->record(device, NULL);
    double ms = 0;
    g_assert_true(device->row->elapsed(start, end, &ms, NULL));
    g_assert_cmpfloat(ms, <, 0); /* measure() rejects it */
    device->row->event_free(start);
    device->row->event_free(end);
    device_close(device);
}

/* GPUs of both vendors come first, and the error names a reason for each runtime without devices. */
static void test_devices_are_numbered_through(void)
{
    if (!in_process(&cuda, ""))
        return;
    g_autoptr(GError) error = NULL;
    struct device *device = device_open(1, &error);
    g_assert_no_error(error);
    g_assert_cmpstr(device->row->info(device)->name, ==, "Double 1");
    device_close(device);
    g_setenv("SKIPJACK_HIP", "libnowhere.so", TRUE);
    g_assert_null(device_open(100, &error));
    g_assert_error(error, DEVICE_ERROR, DEVICE_ERROR_UNAVAILABLE);
    g_assert_nonnull(strstr(error->message, "cuda: 2; hip: none (libnowhere.so"));
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_set_nonfatal_assertions();
    g_test_add_data_func("/device_gpu/cuda/target_follows_from_the_properties", &cuda,
                         test_it_is_named_by_what_it_is);
    g_test_add_data_func("/device_gpu/hip/target_follows_from_the_properties", &hip,
                         test_it_is_named_by_what_it_is);
    g_test_add_data_func("/device_gpu/cuda/kernels_get_their_arguments", &cuda,
                         test_kernels_move_what_they_are_told);
    g_test_add_data_func("/device_gpu/hip/kernels_get_their_arguments", &hip,
                         test_kernels_move_what_they_are_told);
    g_test_add_data_func("/device_gpu/cuda/graphs_do_what_was_recorded", &cuda,
                         test_graphs_do_what_was_recorded);
    g_test_add_data_func("/device_gpu/hip/graphs_do_what_was_recorded", &hip,
                         test_graphs_do_what_was_recorded);
    for (size_t i = 0; i < G_N_ELEMENTS(namings); i++) {
        g_autofree char *path =
            g_strdup_printf("/device_gpu/%s/which_one_it_is_is_told/%s",
                            namings[i].vendor == &cuda ? "cuda" : "hip", namings[i].path);
        g_test_add_data_func(path, &namings[i], test_which_one_it_is_is_told);
    }
    g_test_add_func("/device_gpu/cuda/nvml_names_an_instance",
                    test_an_instance_is_known_by_its_library);
    for (size_t i = 0; i < G_N_ELEMENTS(drivings); i++) {
        g_autofree char *path =
            g_strdup_printf("/device_gpu/%s/its_driver_is_told/%s",
                            drivings[i].vendor == &cuda ? "cuda" : "hip", drivings[i].path);
        g_test_add_data_func(path, &drivings[i], test_its_driver_is_told);
    }
    g_test_add_func("/device_gpu/hip/module_of_the_kernel_has_the_kernels_release",
                    test_a_module_of_the_kernel_has_its_release);
    g_test_add_func("/device_gpu/devices_are_found_by_name", test_devices_are_found_by_name);
    for (size_t i = 0; i < G_N_ELEMENTS(failures); i++) {
        g_autofree char *path =
            g_strdup_printf("/device_gpu/%s/told/%s", failures[i].vendor == &cuda ? "cuda" : "hip",
                            failures[i].path);
        g_test_add_data_func(path, &failures[i], test_failures_are_told_apart);
    }
    g_test_add_func("/device_gpu/launches_get_the_local_memory_they_ask_for",
                    test_launches_get_the_local_memory_they_ask_for);
    g_test_add_func("/device_gpu/a_kernel_takes_no_local_memory_from_another",
                    test_a_kernel_takes_no_local_memory_from_another);
    g_test_add_func("/device_gpu/negative_time_is_passed_on", test_times_may_be_wrong);
    g_test_add_func("/device_gpu/gpus_are_numbered_first", test_devices_are_numbered_through);
    return g_test_run();
}
