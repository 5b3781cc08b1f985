#include "worker/device/gpu_monitor.h"

#include <dlfcn.h>
#include <string.h>
#include <sys/utsname.h>

#include "worker/device/gpu_api.h"

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

static const char *why_not(GpuMonitor *monitor, int status)
{
    return status == MONITOR_MISSING ? "it is too old" : monitor->row->status_text(monitor, status);
}

/* Loads the vendor's library and starts it. */
static GpuMonitor *monitor_start(enum vendor vendor, GError **error)
{
    GpuMonitor *monitor;
    int status;

    if (vendor == VENDOR_CPU) {
        g_set_error(error, DEVICE_ERROR, DEVICE_ERROR_UNAVAILABLE,
                    "a CPU has no library that watches it");
        return NULL;
    }
    monitor = g_new0(GpuMonitor, 1);
    monitor->row = vendor == VENDOR_NVIDIA ? &monitor_nvml : &monitor_rocm_smi;
    if (library_open(monitor, error)) {
        status = monitor->row->start(monitor);
        if (status == 0)
            return monitor;
        g_set_error(error, DEVICE_ERROR, DEVICE_ERROR_UNAVAILABLE, "%s does not start: %s",
                    monitor->row->name, why_not(monitor, status));
    }
    g_free(monitor);
    return NULL;
}

GpuMonitor *gpu_monitor_open(enum vendor vendor, const struct device_identity *identity,
                             GError **error)
{
    GpuMonitor *monitor = monitor_start(vendor, error);

    if (!monitor || monitor->row->find(monitor, identity, error))
        return monitor;
    gpu_monitor_close(monitor);
    return NULL;
}

void gpu_monitor_close(GpuMonitor *monitor)
{
    if (!monitor)
        return;
    monitor->row->stop(monitor);
    g_free(monitor); /* the library stays loaded: some crash when they are unloaded */
}

void gpu_monitor_name_instance(GpuMonitor *monitor, struct device_identity *identity)
{
    if (monitor->row->name_instance)
        monitor->row->name_instance(monitor, identity);
}

/* Reads the driver's version from sysfs. A kernel module that was installed apart from the
 * kernel (NVIDIA's always) has its own version. AMD's may be a part of the kernel; its version
 * is then the kernel's release, which rocm_smi reports, too. */
static void driver_of_sysfs(enum vendor vendor, const char *address,
                            char driver[DRIVER_VERSION_MAX])
{
    g_autofree char *version = gpu_pci_file(address, "driver/module/version");
    g_autofree char *state = gpu_pci_file(address, "driver/module/initstate");
    struct utsname kernel;

    if (version)
        g_strlcpy(driver, version, DRIVER_VERSION_MAX);
    else if (state && vendor == VENDOR_AMD && uname(&kernel) == 0)
        g_strlcpy(driver, kernel.release, DRIVER_VERSION_MAX);
}

void gpu_monitor_describe(enum vendor vendor, struct device_identity *identity,
                          char driver[DRIVER_VERSION_MAX])
{
    GpuMonitor *monitor = monitor_start(vendor, NULL);

    driver[0] = '\0';
    if (monitor) {
        if (monitor->row->driver_version(monitor, driver, DRIVER_VERSION_MAX) != 0)
            driver[0] = '\0';
        if (monitor->row->find(monitor, identity, NULL))
            gpu_monitor_name_instance(monitor, identity);
        gpu_monitor_close(monitor);
    }
    if (driver[0] == '\0')
        driver_of_sysfs(vendor, identity->address, driver);
    /* The version becomes an item of a stack, in which ";" separates the items: other characters
     * than these are replaced. */
    g_strcanon(driver, G_CSET_A_2_Z G_CSET_a_2_z G_CSET_DIGITS ".-+~", '_');
}

void gpu_monitor_unknown(struct conditions *sample)
{
    *sample = (struct conditions){.samples = 1, .throttle = THROTTLE_UNTOLD};
}

void gpu_monitor_sample(GpuMonitor *monitor, struct conditions *sample)
{
    gpu_monitor_unknown(sample);
    monitor->row->sample(monitor, sample);
    sample->sm_mhz_max = sample->sm_mhz_min;
    sample->memory_mhz_max = sample->memory_mhz_min;
}

static bool done(GpuMonitor *monitor, int status, const char *doing, GError **error)
{
    if (status == 0)
        return true;
    g_set_error(error, DEVICE_ERROR, DEVICE_ERROR_UNAVAILABLE, "cannot %s: %s: %s", doing,
                monitor->row->name, why_not(monitor, status));
    return false;
}

bool gpu_monitor_lock(GpuMonitor *monitor, int mhz, GError **error)
{
    return done(monitor, monitor->row->lock(monitor, mhz), "lock the clocks", error);
}

bool gpu_monitor_unlock(GpuMonitor *monitor, GError **error)
{
    return done(monitor, monitor->row->unlock(monitor), "unlock the clocks", error);
}
