#include "worker/device/gpu_monitor.h"

#include <dlfcn.h>
#include <string.h>

bool monitor_symbol(const GpuMonitor *monitor, const char *name, void *function)
{
    void *symbol = dlsym(monitor->handle, name);

    memcpy(function, &symbol, sizeof(symbol));
    return symbol != NULL;
}

static bool library_open(GpuMonitor *monitor, GError **error)
{
    const struct monitor_row *row = monitor->row;
    const char *wish = g_getenv(row->setting);
    g_auto(GStrv) names = g_strsplit(wish && *wish ? wish : row->libraries, ",", -1);

    for (char **name = names; *name && !monitor->handle; name++)
        monitor->handle = dlopen(*name, RTLD_NOW | RTLD_LOCAL);
    if (!monitor->handle)
        g_set_error(error, DEVICE_ERROR, DEVICE_ERROR_UNAVAILABLE, "%s (%s names one elsewhere)",
                    dlerror(), row->setting);
    return monitor->handle != NULL;
}

GpuMonitor *gpu_monitor_open(enum vendor vendor, const struct device_identity *identity,
                             GError **error)
{
    GpuMonitor *monitor;

    if (vendor == VENDOR_CPU) {
        g_set_error(error, DEVICE_ERROR, DEVICE_ERROR_UNAVAILABLE, "no library watches a CPU");
        return NULL;
    }
    monitor = g_new0(GpuMonitor, 1);
    monitor->row = vendor == VENDOR_NVIDIA ? &monitor_nvml : &monitor_rocm_smi;
    if (library_open(monitor, error) && monitor->row->find(monitor, identity, error))
        return monitor;
    gpu_monitor_close(monitor);
    return NULL;
}

void gpu_monitor_close(GpuMonitor *monitor)
{
    if (!monitor)
        return;
    if (monitor->handle)
        monitor->row->stop(monitor);
    g_free(monitor); /* the library stays: some do not survive being unloaded */
}

void gpu_monitor_name_instance(GpuMonitor *monitor, struct device_identity *identity)
{
    if (monitor->row->name_instance)
        monitor->row->name_instance(monitor, identity);
}

void gpu_monitor_untold(struct conditions *sample)
{
    *sample = (struct conditions){.samples = 1, .throttle = THROTTLE_UNTOLD};
}

void gpu_monitor_sample(GpuMonitor *monitor, struct conditions *sample)
{
    gpu_monitor_untold(sample);
    monitor->row->sample(monitor, sample);
    sample->sm_mhz_max = sample->sm_mhz_min;
    sample->memory_mhz_max = sample->memory_mhz_min;
}

static bool done(GpuMonitor *monitor, int status, const char *doing, GError **error)
{
    if (status == 0)
        return true;
    g_set_error(error, DEVICE_ERROR, DEVICE_ERROR_UNAVAILABLE, "cannot %s: %s: %s", doing,
                monitor->row->name,
                status == MONITOR_MISSING ? "it is too old"
                                          : monitor->row->status_text(monitor, status));
    return false;
}

bool gpu_monitor_lock(GpuMonitor *monitor, int mhz, GError **error)
{
    return done(monitor, monitor->row->lock(monitor, mhz), "lock the clocks", error);
}

bool gpu_monitor_unlock(GpuMonitor *monitor, GError **error)
{
    return done(monitor, monitor->row->unlock(monitor), "give the clocks back", error);
}
