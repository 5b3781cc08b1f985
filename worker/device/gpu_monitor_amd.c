/* AMD's rocm_smi. It has its own numbers for GPUs, so a GPU is found by its address on the PCI bus. */
#include "worker/device/gpu_monitor.h"

#include <stdio.h>
#include <string.h>

#define CLOCK_SYSTEM 0    /* RSMI_CLK_TYPE_SYS */
#define CLOCK_MEMORY 4    /* RSMI_CLK_TYPE_MEM */
#define SENSOR_HOT   1    /* RSMI_TEMP_TYPE_JUNCTION */
#define SENSOR_EDGE  0    /* RSMI_TEMP_TYPE_EDGE, the only one of older cards */
#define TEMPERATURE  0    /* RSMI_TEMP_CURRENT */
#define LEVEL_AUTO   0    /* RSMI_DEV_PERF_LEVEL_AUTO */
#define ANSWER_BYTES 1024 /* bytes for the library's struct of clocks: more than any version's */
#define CLOCKS_MAX   33
#define LEAST_CLOCK  1000000

#define COMPONENT_DRIVER 0 /* RSMI_SW_COMP_DRIVER */

/* The Linux kernel's throttle bits that all AMD GPUs share (SMU_THROTTLER_... of amdgpu_smu.h): power limits 0 to 7
 * and currents 16 to 23, temperatures 32 to 45, PROCHOT 46 and 47. */
#define BITS(first, last) (((2ull << (last)) - 1) & ~((1ull << (first)) - 1))
static const struct {
    uint64_t bits;
    enum throttle means;
} reasons[] = {
    {BITS(0, 7) | BITS(16, 23), THROTTLE_POWER_CAP},
    {BITS(32, 45), THROTTLE_HEAT},
    {BITS(46, 47), THROTTLE_SLOWDOWN},
};

static const char *smi_text(GpuMonitor *monitor, int status)
{
    const char *text = NULL;

    MONITOR_CALL(monitor, "rsmi_status_string", (int, const char **), status, &text);
    return text ? text : "an error";
}

/* Packs domain, bus, device and function as the library does. Bits 28 to 31 hold a partition's number. */
static bool pack_address(const char *address, uint64_t *packed)
{
    unsigned domain, bus, slot, function;

    if (sscanf(address, "%x:%x:%x.%x", &domain, &bus, &slot, &function) != 4)
        return false;
    *packed = (uint64_t)domain << 32 | (uint64_t)bus << 8 | slot << 3 | function;
    return true;
}

static bool find_number(GpuMonitor *monitor, const char *address)
{
    uint64_t wanted, packed;
    uint32_t count = 0;

    if (!pack_address(address, &wanted) ||
        MONITOR_CALL(monitor, "rsmi_num_monitor_devices", (uint32_t *), &count) != 0)
        return false;
    for (monitor->number = 0; monitor->number < count; monitor->number++)
        if (MONITOR_CALL(monitor, "rsmi_dev_pci_id_get", (uint32_t, uint64_t *), monitor->number,
                         &packed) == 0 &&
            (packed & ~BITS(28, 31)) == wanted)
            return true;
    return false;
}

static int smi_start(GpuMonitor *monitor)
{
    return MONITOR_CALL(monitor, "rsmi_init", (uint64_t), 0);
}

static int smi_driver_version(GpuMonitor *monitor, char *text, unsigned size)
{
    return MONITOR_CALL(monitor, "rsmi_version_str_get", (int, char *, uint32_t), COMPONENT_DRIVER,
                        text, size);
}

static bool smi_find(GpuMonitor *monitor, const struct device_identity *identity, GError **error)
{
    if (find_number(monitor, identity->address))
        return true;
    g_set_error(error, DEVICE_ERROR, DEVICE_ERROR_UNAVAILABLE, "rocm_smi knows no GPU at %s",
                identity->address);
    return false;
}

static void smi_stop(GpuMonitor *monitor)
{
    MONITOR_CALL(monitor, "rsmi_shut_down", (void));
}

/* The struct holds the number of clocks, the index of the current one, and all clocks in Hz. Since ROCm 6 a flag comes
 * first and moves the other members by 8 bytes. The second word tells both forms apart: it is an index, which is small,
 * or a clock in Hz, which is large. */
static int clock_mhz(GpuMonitor *monitor, int which)
{
    uint64_t answer[ANSWER_BYTES / 8] = {0};
    uint32_t words[4], current;
    int status = MONITOR_CALL(monitor, "rsmi_dev_gpu_clk_freq_get", (uint32_t, int, void *),
                              monitor->number, which, answer);
    int moved = answer[1] < LEAST_CLOCK;

    memcpy(words, answer, sizeof(words));
    current = words[1 + moved];
    return status == 0 && current < CLOCKS_MAX ? (int)(answer[1 + moved + (int)current] / 1000000)
                                               : 0;
}

static int degrees(GpuMonitor *monitor, uint32_t sensor)
{
    int64_t thousandths = 0;
    int status =
        MONITOR_CALL(monitor, "rsmi_dev_temp_metric_get", (uint32_t, uint32_t, int, int64_t *),
                     monitor->number, sensor, TEMPERATURE, &thousandths);

    return status == 0 ? (int)(thousandths / 1000) : 0;
}

/* The GPU's power in watts. Newer GPUs report the current power, older ones an average. */
static double watts(GpuMonitor *monitor)
{
    uint64_t micro = 0;
    int status = MONITOR_CALL(monitor, "rsmi_dev_current_socket_power_get", (uint32_t, uint64_t *),
                              monitor->number, &micro);

    if (status != 0)
        status = MONITOR_CALL(monitor, "rsmi_dev_power_ave_get", (uint32_t, uint32_t, uint64_t *),
                              monitor->number, 0, &micro);
    return status == 0 ? (double)micro / 1e6 : 0;
}

static void smi_sample(GpuMonitor *monitor, struct conditions *sample)
{
    uint64_t bits = 0;

    sample->sm_mhz_min = clock_mhz(monitor, CLOCK_SYSTEM);
    sample->memory_mhz_min = clock_mhz(monitor, CLOCK_MEMORY);
    sample->temperature_c = degrees(monitor, SENSOR_HOT);
    if (sample->temperature_c == 0)
        sample->temperature_c = degrees(monitor, SENSOR_EDGE);
    sample->power_w = watts(monitor);
    if (MONITOR_CALL(monitor, "rsmi_dev_metrics_indep_throttle_status_get", (uint32_t, uint64_t *),
                     monitor->number, &bits) != 0 ||
        bits == UINT64_MAX) /* the kernel's value for an unknown status */
        return;
    sample->throttle = 0;
    for (gsize i = 0; i < G_N_ELEMENTS(reasons); i++)
        sample->throttle |= bits & reasons[i].bits ? (unsigned)reasons[i].means : 0;
}

/* The lower bound is one below the upper since the library refuses equal bounds. */
static int smi_lock(GpuMonitor *monitor, int mhz)
{
    return MONITOR_CALL(monitor, "rsmi_dev_clk_range_set", (uint32_t, uint64_t, uint64_t, int),
                        monitor->number, (uint64_t)mhz - 1, (uint64_t)mhz, CLOCK_SYSTEM);
}

static int smi_unlock(GpuMonitor *monitor)
{
    return MONITOR_CALL(monitor, "rsmi_dev_perf_level_set", (int32_t, int),
                        (int32_t)monitor->number, LEVEL_AUTO);
}

const struct monitor_row monitor_rocm_smi = {
    .name = "rocm_smi",
    .setting = "SKIPJACK_ROCM_SMI",
    .libraries = "librocm_smi64.so.7,librocm_smi64.so.6,librocm_smi64.so.5,librocm_smi64.so.1,"
                 "librocm_smi64.so",
    .start = smi_start,
    .driver_version = smi_driver_version,
    .find = smi_find,
    .stop = smi_stop,
    .sample = smi_sample,
    .lock = smi_lock,
    .unlock = smi_unlock,
    .status_text = smi_text,
};
