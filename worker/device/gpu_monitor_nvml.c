/* NVIDIA's NVML. Functions with a version at their names' end (_v2) exist in all drivers since
 * 2013 (CUDA 5). */
#include "worker/device/gpu_monitor.h"

#include <string.h>

#define CLOCK_SM       1 /* NVML_CLOCK_SM */
#define CLOCK_MEMORY   2 /* NVML_CLOCK_MEM */
#define SENSOR_GPU     0 /* NVML_TEMPERATURE_GPU */
#define INSTANCE_NAMED "MIG "

/* nvmlClocksEventReason...: SwPowerCap, HwSlowdown, SwThermalSlowdown, HwThermalSlowdown,
 * HwPowerBrakeSlowdown. NVML reports the second together with each of the last two, too. */
static const struct {
    unsigned long long bit;
    enum throttle means;
} reasons[] = {
    {0x04, THROTTLE_POWER_CAP},
    {0x20, THROTTLE_HEAT},
    {0x40, THROTTLE_HEAT},
    {0x80, THROTTLE_POWER_BRAKE},
};
#define REASON_SLOWDOWN 0x08ull
#define REASON_NAMED    0xc0ull

static const char *nvml_text(GpuMonitor *monitor, int status)
{
    const char *(*error_string)(int status);

    return monitor_symbol(monitor, "nvmlErrorString", &error_string) ? error_string(status)
                                                                     : "an error";
}

static int handle_of(GpuMonitor *monitor, const char *prefix, const char *uuid, void **device)
{
    g_autofree char *name = g_strconcat(prefix, strlen(uuid) > 4 ? uuid + 4 : "", NULL);

    return MONITOR_CALL(monitor, "nvmlDeviceGetHandleByUUID", (const char *, void **), name,
                        device);
}

/* Finds the device by its UUID, which may be that of a MIG instance: CUDA reports that UUID
 * without saying so. Clocks and temperature are those of the whole card. */
static int find_device(GpuMonitor *monitor, const struct device_identity *identity)
{
    int status = handle_of(monitor, "GPU-", identity->uuid, &monitor->device);

    if (status != 0 && handle_of(monitor, "MIG-", identity->uuid, &monitor->instance) == 0)
        return MONITOR_CALL(monitor, "nvmlDeviceGetDeviceHandleFromMigDeviceHandle",
                            (void *, void **), monitor->instance, &monitor->device);
    if (status != 0 && *identity->address)
        status = MONITOR_CALL(monitor, "nvmlDeviceGetHandleByPciBusId_v2", (const char *, void **),
                              identity->address, &monitor->device);
    return status;
}

static int nvml_start(GpuMonitor *monitor)
{
    return MONITOR_CALL(monitor, "nvmlInit_v2", (void));
}

static int nvml_driver_version(GpuMonitor *monitor, char *text, unsigned size)
{
    return MONITOR_CALL(monitor, "nvmlSystemGetDriverVersion", (char *, unsigned), text, size);
}

static bool nvml_find(GpuMonitor *monitor, const struct device_identity *identity, GError **error)
{
    int status = find_device(monitor, identity);

    if (status != 0)
        g_set_error(error, DEVICE_ERROR, DEVICE_ERROR_UNAVAILABLE, "NVML does not know %s: %s",
                    *identity->uuid ? identity->uuid : "a GPU without a UUID",
                    status == MONITOR_MISSING ? "it is too old" : nvml_text(monitor, status));
    return status == 0;
}

static void nvml_stop(GpuMonitor *monitor)
{
    MONITOR_CALL(monitor, "nvmlShutdown", (void));
}

static void nvml_name_instance(GpuMonitor *monitor, struct device_identity *identity)
{
    char name[96] = "";
    const char *part;

    if (!monitor->instance)
        return;
    memcpy(identity->uuid, "MIG", 3);
    MONITOR_CALL(monitor, "nvmlDeviceGetName", (void *, char *, unsigned), monitor->instance, name,
                 (unsigned)sizeof(name) - 1);
    part = strstr(name, INSTANCE_NAMED);
    if (part || *identity->partition == '\0')
        g_strlcpy(identity->partition, part ? part : "MIG", sizeof(identity->partition));
}

static int clock_mhz(GpuMonitor *monitor, int which)
{
    unsigned mhz = 0;
    int status = MONITOR_CALL(monitor, "nvmlDeviceGetClockInfo", (void *, int, unsigned *),
                              monitor->device, which, &mhz);

    return status == 0 ? (int)mhz : 0;
}

static unsigned throttle_of(GpuMonitor *monitor)
{
    unsigned long long bits = 0;
    unsigned throttle = 0;
    int status = MONITOR_CALL(monitor, "nvmlDeviceGetCurrentClocksEventReasons",
                              (void *, unsigned long long *), monitor->device, &bits);

    /* Drivers before 535 have the function under this name. */
    if (status == MONITOR_MISSING)
        status = MONITOR_CALL(monitor, "nvmlDeviceGetCurrentClocksThrottleReasons",
                              (void *, unsigned long long *), monitor->device, &bits);
    if (status != 0)
        return THROTTLE_UNTOLD;
    for (gsize i = 0; i < G_N_ELEMENTS(reasons); i++)
        throttle |= bits & reasons[i].bit ? (unsigned)reasons[i].means : 0;
    if ((bits & REASON_SLOWDOWN) && !(bits & REASON_NAMED))
        throttle |= THROTTLE_SLOWDOWN;
    return throttle;
}

static void nvml_sample(GpuMonitor *monitor, struct conditions *sample)
{
    unsigned degrees = 0, milliwatts = 0;

    sample->sm_mhz_min = clock_mhz(monitor, CLOCK_SM);
    sample->memory_mhz_min = clock_mhz(monitor, CLOCK_MEMORY);
    if (MONITOR_CALL(monitor, "nvmlDeviceGetTemperature", (void *, int, unsigned *),
                     monitor->device, SENSOR_GPU, &degrees) == 0)
        sample->temperature_c = (int)degrees;
    if (MONITOR_CALL(monitor, "nvmlDeviceGetPowerUsage", (void *, unsigned *), monitor->device,
                     &milliwatts) == 0)
        sample->power_w = milliwatts / 1e3;
    sample->throttle = throttle_of(monitor);
}

static int nvml_lock(GpuMonitor *monitor, int mhz)
{
    return MONITOR_CALL(monitor, "nvmlDeviceSetGpuLockedClocks", (void *, unsigned, unsigned),
                        monitor->device, (unsigned)mhz, (unsigned)mhz);
}

static int nvml_unlock(GpuMonitor *monitor)
{
    return MONITOR_CALL(monitor, "nvmlDeviceResetGpuLockedClocks", (void *), monitor->device);
}

const struct monitor_row monitor_nvml = {
    .name = "NVML",
    .setting = "SKIPJACK_NVML",
    .libraries = "libnvidia-ml.so.1",
    .start = nvml_start,
    .driver_version = nvml_driver_version,
    .find = nvml_find,
    .stop = nvml_stop,
    .name_instance = nvml_name_instance,
    .sample = nvml_sample,
    .lock = nvml_lock,
    .unlock = nvml_unlock,
    .status_text = nvml_text,
};
