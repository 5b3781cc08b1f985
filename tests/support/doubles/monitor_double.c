/*
 * Doubles of NVML and rocm_smi, for tests to open in place of the vendors' libraries. They know the two devices of
 * gpu_double.c, by UUID and PCI address. MONITOR_DOUBLE sets their answers, words joined by commas:
 *   hot, brake, slowdown, capped   the reason why clocks are held back
 *   instance   NVML knows MIG instances only
 *   moved      rocm_smi's struct of clocks has the layout of ROCm 6
 *   old        a function of newer drivers fails
 *   undriven   the driver's version is unknown
 *   refused    clocks cannot be locked
 *   talks      the library writes to standard output
 * Each change of the clocks is appended to the file that MONITOR_DOUBLE_LOG names: "lock N MHZ" or "reset N", a line
 * each.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FUNCTION(name, parameters)                                                                 \
    int name parameters;                                                                           \
    int name parameters

enum { OK = 0, INVALID = 2, UNSUPPORTED = 3, NO_PERMISSION = 4, NOT_FOUND = 6 };

static bool says(const char *word)
{
    const char *said = getenv("MONITOR_DOUBLE"), *found = said ? strstr(said, word) : NULL;
    size_t length = strlen(word);

    return found && (found == said || found[-1] == ',') &&
           (found[length] == '\0' || found[length] == ',');
}

/* mhz 0: unlocks the clocks. */
static int change_clocks(int device, int mhz)
{
    const char *path = getenv("MONITOR_DOUBLE_LOG");
    FILE *log = path && !says("refused") ? fopen(path, "a") : NULL;

    if (!log)
        return NO_PERMISSION;
    if (mhz > 0)
        fprintf(log, "lock %d %d\n", device, mhz);
    else
        fprintf(log, "reset %d\n", device);
    fclose(log);
    return OK;
}

/* ---- NVML: a handle is the device's number plus one ---- */

static int started;

static int number_of(const void *handle)
{
    return (int)(uintptr_t)handle - 1;
}

FUNCTION(nvmlInit_v2, (void))
{
    started++;
    if (says("talks"))
        puts("a library says what it likes");
    fflush(stdout);
    return OK;
}

FUNCTION(nvmlShutdown, (void))
{
    return started-- > 0 ? OK : INVALID;
}

const char *nvmlErrorString(int status);
const char *nvmlErrorString(int status)
{
    return status == NO_PERMISSION ? "Insufficient Permissions" : "Not Found";
}

FUNCTION(nvmlSystemGetDriverVersion, (char *version, unsigned length))
{
    snprintf(version, length, "580.159.03");
    return started > 0 && !says("undriven") ? OK : INVALID;
}

FUNCTION(nvmlDeviceGetHandleByUUID, (const char *uuid, uintptr_t *handle))
{
    const char *prefix = says("instance") ? "MIG-" : "GPU-";
    const char known[] = "d0d1d2d3-d4d5-d6d7-d8d9-dadbdcddde0";
    size_t length = strlen(uuid);

    if (strncmp(uuid, prefix, 4) != 0 || length != sizeof(known) + 4 ||
        strncmp(uuid + 4, known, sizeof(known) - 1) != 0)
        return NOT_FOUND;
    *handle = (uintptr_t)(uuid[length - 1] - '0') + 1;
    return OK;
}

FUNCTION(nvmlDeviceGetDeviceHandleFromMigDeviceHandle, (uintptr_t instance, uintptr_t *card))
{
    *card = instance;
    return says("instance") ? OK : INVALID;
}

FUNCTION(nvmlDeviceGetHandleByPciBusId_v2, (const char *address, uintptr_t *handle))
{
    *handle = strcmp(address, "0000:3b:00.0") == 0 ? 1 : 2;
    return strncmp(address, "0000:3", 6) == 0 && !says("instance") ? OK : NOT_FOUND;
}

FUNCTION(nvmlDeviceGetName, (const void *handle, char *name, unsigned length))
{
    snprintf(name, length, "Double %d MIG 1g.10gb", number_of(handle));
    return OK;
}

FUNCTION(nvmlDeviceGetClockInfo, (const void *handle, int which, unsigned *mhz))
{
    *mhz = which == 1 ? 1980 - 10 * (unsigned)number_of(handle) : 2619;
    return which == 1 || which == 2 ? OK : INVALID;
}

FUNCTION(nvmlDeviceGetTemperature, (const void *handle, int sensor, unsigned *degrees))
{
    *degrees = 61 + (unsigned)number_of(handle);
    return sensor == 0 ? OK : INVALID;
}

FUNCTION(nvmlDeviceGetPowerUsage, (const void *handle, unsigned *milliwatts))
{
    *milliwatts = 512500;
    return number_of(handle) < 2 ? OK : INVALID;
}

FUNCTION(nvmlDeviceGetCurrentClocksEventReasons, (const void *handle, unsigned long long *bits))
{
    *bits = (says("hot") ? 0x48ull : 0) | (says("brake") ? 0x88ull : 0) |
            (says("slowdown") ? 0x08ull : 0) | (says("capped") ? 0x04ull : 0);
    return number_of(handle) < 2 ? OK : INVALID;
}

FUNCTION(nvmlDeviceSetGpuLockedClocks, (const void *handle, unsigned least, unsigned most))
{
    return least == most ? change_clocks(number_of(handle), (int)most) : INVALID;
}

FUNCTION(nvmlDeviceResetGpuLockedClocks, (const void *handle))
{
    return change_clocks(number_of(handle), 0);
}

/* ---- rocm_smi: its first device is not one of gpu_double.c's ---- */

FUNCTION(rsmi_init, (uint64_t flags))
{
    return flags == 0 ? OK : INVALID;
}

FUNCTION(rsmi_shut_down, (void))
{
    return OK;
}

FUNCTION(rsmi_status_string, (int status, const char **text))
{
    *text = status == NO_PERMISSION ? "RSMI_STATUS_PERMISSION" : "RSMI_STATUS";
    return OK;
}

FUNCTION(rsmi_version_str_get, (int component, char *version, uint32_t length))
{
    snprintf(version, length, "6.10.5");
    return component == 0 && !says("undriven") ? OK : UNSUPPORTED;
}

FUNCTION(rsmi_num_monitor_devices, (uint32_t * count))
{
    *count = 3;
    return OK;
}

FUNCTION(rsmi_dev_pci_id_get, (uint32_t device, uint64_t *packed))
{
    static const unsigned buses[] = {0x03, 0x3b, 0x3c};
    *packed = (uint64_t)buses[device] << 8 | (device == 2 ? 0x10000000 : 0);
    return OK;
}

FUNCTION(rsmi_dev_gpu_clk_freq_get, (uint32_t device, int which, void *answer))
{
    uint32_t *words = answer;
    uint64_t *clocks = answer;
    int at = says("moved") ? 2 : 1;

    if (device == 0 || (which != 0 && which != 4))
        return UNSUPPORTED;
    words[at - 1] = 3; /* number of clocks; the next field is the index of the current one */
    words[at] = 2;
    clocks[at] = 500000000;
    clocks[at + 1] = 800000000;
    clocks[at + 2] = which == 0 ? 1700000000 : 1600000000;
    return OK;
}

FUNCTION(rsmi_dev_temp_metric_get, (uint32_t device, uint32_t sensor, int metric, int64_t *value))
{
    *value = 71000 + device;
    return metric == 0 && (sensor == 0 || !says("old")) ? OK : UNSUPPORTED;
}

FUNCTION(rsmi_dev_current_socket_power_get, (uint32_t device, uint64_t *microwatts))
{
    *microwatts = 300000000 + device;
    return says("old") ? UNSUPPORTED : OK;
}

FUNCTION(rsmi_dev_power_ave_get, (uint32_t device, uint32_t sensor, uint64_t *microwatts))
{
    *microwatts = 250000000 + device;
    return sensor == 0 ? OK : UNSUPPORTED;
}

FUNCTION(rsmi_dev_metrics_indep_throttle_status_get, (uint32_t device, uint64_t *bits))
{
    (void)device;
    *bits = says("old") ? UINT64_MAX
                        : (says("hot") ? 1ull << 36 : 0) | (says("slowdown") ? 1ull << 47 : 0) |
                              (says("capped") ? 1 : 0);
    return OK;
}

FUNCTION(rsmi_dev_clk_range_set, (uint32_t device, uint64_t least, uint64_t most, int which))
{
    return least < most && which == 0 ? change_clocks((int)device - 1, (int)most) : INVALID;
}

FUNCTION(rsmi_dev_perf_level_set, (int32_t device, int level))
{
    return level == 0 ? change_clocks(device - 1, 0) : INVALID;
}
