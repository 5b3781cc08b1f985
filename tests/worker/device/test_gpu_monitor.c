/* A GPU's sensors, over a test double of both vendors' libraries. */
#include "worker/device/gpu_monitor.h"

#include <string.h>

#include "tests/support/temp_folder.h"

#define CUDA_UUID "GPU-d0d1d2d3-d4d5-d6d7-d8d9-dadbdcddde01"

static const struct device_identity cuda = {.uuid = CUDA_UUID, .address = "0000:3c:00.0"},
                                    cuda_nameless = {.address = "0000:3b:00.0"},
                                    hip = {.uuid = "GPU-d0d1d2d3d4d5d601",
                                           .address = "0000:3c:00.0"},
                                    nobody = {.uuid = "GPU-0000", .address = "0000:99:00.0"},
                                    unknown = {.uuid = ""};

static void use_doubles(const char *words)
{
    const char *library = g_getenv("SKIPJACK_MONITOR_DOUBLE");
    const char *path = library ? library : "build/tests/monitor_double.so";
    g_setenv("SKIPJACK_NVML", path, TRUE);
    g_setenv("SKIPJACK_ROCM_SMI", path, TRUE);
    g_setenv("MONITOR_DOUBLE", words, TRUE);
}

static void test_what_a_gpu_does_is_told(void)
{
    static const struct {
        enum vendor vendor;
        const struct device_identity *identity;
        const char *words;
        struct conditions told;
    } cases[] = {
        {VENDOR_NVIDIA, &cuda, "", {"", 1, 1970, 1970, 2619, 2619, 62, 512.5, 0, 0}},
        {VENDOR_NVIDIA, &cuda_nameless, "", {"", 1, 1980, 1980, 2619, 2619, 61, 512.5, 0, 0}},
        {VENDOR_NVIDIA,
         &cuda,
         "hot,capped",
         {"", 1, 1970, 1970, 2619, 2619, 62, 512.5, THROTTLE_HEAT | THROTTLE_POWER_CAP, 0}},
        {VENDOR_NVIDIA,
         &cuda,
         "brake",
         {"", 1, 1970, 1970, 2619, 2619, 62, 512.5, THROTTLE_POWER_BRAKE, 0}},
        {VENDOR_NVIDIA,
         &cuda,
         "slowdown",
         {"", 1, 1970, 1970, 2619, 2619, 62, 512.5, THROTTLE_SLOWDOWN, 0}},
        {VENDOR_AMD, &hip, "", {"", 1, 1700, 1700, 1600, 1600, 71, 300, 0, 0}},
        {VENDOR_AMD, &hip, "moved,hot", {"", 1, 1700, 1700, 1600, 1600, 71, 300, THROTTLE_HEAT, 0}},
        {VENDOR_AMD, &hip, "old,hot", {"", 1, 1700, 1700, 1600, 1600, 71, 250, THROTTLE_UNTOLD, 0}},
        {VENDOR_AMD,
         &hip,
         "capped,slowdown",
         {"", 1, 1700, 1700, 1600, 1600, 71, 300, THROTTLE_POWER_CAP | THROTTLE_SLOWDOWN, 0}},
    };
    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autoptr(GError) error = NULL;
        struct conditions seen;
        use_doubles(cases[i].words);
        GpuMonitor *monitor = gpu_monitor_open(cases[i].vendor, cases[i].identity, &error);
        g_assert_no_error(error);
        gpu_monitor_sample(monitor, &seen);
        const struct conditions *told = &cases[i].told;
        g_assert_cmpint(seen.samples, ==, 1);
        g_assert_cmpint(seen.sm_mhz_min, ==, told->sm_mhz_min);
        g_assert_cmpint(seen.sm_mhz_max, ==, told->sm_mhz_max);
        g_assert_cmpint(seen.memory_mhz_min, ==, told->memory_mhz_min);
        g_assert_cmpint(seen.temperature_c, ==, told->temperature_c);
        g_assert_cmpfloat_with_epsilon(seen.power_w, told->power_w, 0.01);
        g_assert_cmphex(seen.throttle, ==, told->throttle);
        gpu_monitor_close(monitor);
    }
}

static void test_what_is_not_there_is_said(void)
{
    static const struct {
        enum vendor vendor;
        const char *library;
        const struct device_identity *identity;
        const char *words;
    } cases[] = {
        {VENDOR_NVIDIA, "libnowhere.so", &cuda, "SKIPJACK_NVML"},
        {VENDOR_AMD, "libnowhere.so", &hip, "SKIPJACK_ROCM_SMI"},
        {VENDOR_NVIDIA, "libm.so.6", &cuda, "too old"},
        {VENDOR_NVIDIA, NULL, &nobody, "GPU-0000"},
        {VENDOR_NVIDIA, NULL, &unknown, "without a UUID"},
        {VENDOR_AMD, NULL, &nobody, "0000:99:00.0"},
        {VENDOR_AMD, NULL, &unknown, "no GPU"},
        {VENDOR_CPU, NULL, &cuda, "CPU"},
    };
    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autoptr(GError) error = NULL;
        use_doubles("");
        if (cases[i].library) {
            g_setenv("SKIPJACK_NVML", cases[i].library, TRUE);
            g_setenv("SKIPJACK_ROCM_SMI", cases[i].library, TRUE);
        }
        g_assert_null(gpu_monitor_open(cases[i].vendor, cases[i].identity, &error));
        g_assert_error(error, DEVICE_ERROR, DEVICE_ERROR_UNAVAILABLE);
        if (!strstr(error->message, cases[i].words))
            g_test_fail_printf("'%s' lacks '%s'", error->message, cases[i].words);
    }
}

/* The driver of an older CUDA does not report that a device is a MIG instance. */
static void test_an_instance_is_known_by_its_library(void)
{
    struct device_identity identity = cuda;
    struct conditions seen;
    use_doubles("instance");
    GpuMonitor *monitor = gpu_monitor_open(VENDOR_NVIDIA, &identity, NULL);
    g_assert_nonnull(monitor);
    gpu_monitor_name_instance(monitor, &identity);
    g_assert_cmpstr(identity.uuid, ==, "MIG-d0d1d2d3-d4d5-d6d7-d8d9-dadbdcddde01");
    g_assert_cmpstr(identity.partition, ==, "MIG 1g.10gb");
    gpu_monitor_sample(monitor, &seen);
    g_assert_cmpint(seen.sm_mhz_min, ==, 1970);
    gpu_monitor_close(monitor);
}

static void test_clocks_are_locked_and_given_back(void)
{
    static const struct {
        enum vendor vendor;
        const struct device_identity *identity;
    } cases[] = {{VENDOR_NVIDIA, &cuda}, {VENDOR_AMD, &hip}};
    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autoptr(TempFolder) folder = temp_folder_new();
        g_autoptr(GError) error = NULL;
        g_autofree char *log = NULL;
        use_doubles("");
        g_setenv("MONITOR_DOUBLE_LOG", temp_folder_path(folder, "clocks"), TRUE);
        GpuMonitor *monitor = gpu_monitor_open(cases[i].vendor, cases[i].identity, NULL);
        g_assert_true(gpu_monitor_lock(monitor, 1410, &error));
        g_assert_true(gpu_monitor_unlock(monitor, &error));
        g_assert_no_error(error);
        g_assert_true(g_file_get_contents(temp_folder_path(folder, "clocks"), &log, NULL, NULL));
        g_assert_cmpstr(log, ==, "lock 1 1410\nreset 1\n");
        use_doubles("refused");
        g_assert_false(gpu_monitor_lock(monitor, 1410, &error));
        g_assert_error(error, DEVICE_ERROR, DEVICE_ERROR_UNAVAILABLE);
        g_assert_nonnull(strstr(error->message, "PERMISSION")
                             ?: strstr(error->message, "Permission"));
        gpu_monitor_close(monitor);
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_set_nonfatal_assertions();
    g_test_add_func("/gpu_monitor/samples_have_all_values", test_what_a_gpu_does_is_told);
    g_test_add_func("/gpu_monitor/missing_library_or_gpu_is_an_error",
                    test_what_is_not_there_is_said);
    g_test_add_func("/gpu_monitor/nvml_names_an_instance",
                    test_an_instance_is_known_by_its_library);
    g_test_add_func("/gpu_monitor/clocks_are_locked_and_unlocked",
                    test_clocks_are_locked_and_given_back);
    return g_test_run();
}
