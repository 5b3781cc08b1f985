#include "worker/eval/eval_device.h"

#include <stdio.h>

#include "kernels/toolchains/opencl.h"
#include "worker/device/gpu_place.h"
#include "worker/measure/measure.h"
#include "worker/protocol/protocol.h"

/* Longest wait for the device's lock: a process that is ending may hold it this long. */
#define PLACE_SECONDS 5

/* Takes the device's lock and pins this process to the cores near it. Call it before the device
 * is opened: the driver's threads then inherit the cores, and a process that waits for the lock
 * uses no device memory. */
static bool take_place(struct eval_device *opened, int index, GError **error)
{
    bool held = false;
    int cores;

    if (!device_identify(index, &opened->identity, error))
        return false;
    cores = gpu_place_pin(&opened->identity);
    if (cores > 0)
        fprintf(stderr, "kept to the %d cores near %s\n", cores, opened->identity.address);
    opened->hold = gpu_place_hold(&opened->identity, PLACE_SECONDS, &held, error);
    return held || !(error && *error);
}

static void mend_clocks(const struct eval_device *opened)
{
    const struct device_info *info = opened->device->row->info(opened->device);
    g_autoptr(GError) why = NULL;

    if (opened->hold >= 0 && gpu_clocks_mend(info->target.vendor, &opened->identity, &why))
        fprintf(stderr, "the clocks were left locked by a worker that was killed%s%s\n",
                why ? ", and stay locked: " : ", and are unlocked now", why ? why->message : "");
}

/* Locks the clocks if the worker asks for it. If the driver refuses, the log says so, and each round records unlocked
 * clocks. */
static void lock_clocks(struct eval_device *opened)
{
    const struct device_info *info = opened->device->row->info(opened->device);
    const char *wish = g_getenv(LOCK_CLOCKS_SETTING);
    g_autoptr(GError) why = NULL;
    guint64 mhz;

    if (opened->only_hello || !wish ||
        !g_ascii_string_to_unsigned(wish, 10, 1, LOCK_CLOCKS_MOST, &mhz, NULL))
        return;
    if (!gpu_clocks_lock(&opened->clocks, info->target.vendor, &opened->identity, (int)mhz,
                         opened->hold, &why)) {
        fprintf(stderr, "cannot lock the clocks, the driver chooses them: %s\n", why->message);
        return;
    }
    opened->locked_mhz = (int)mhz;
    fprintf(stderr, "the clocks are locked at %d MHz\n", opened->locked_mhz);
}

static bool open_named(struct eval_device *opened, const char *name, GError **error)
{
    int index;
    const char *scratch = g_getenv("SKIPJACK_SCRATCH");

    if (!scratch || *scratch == '\0') {
        g_set_error(error, DEVICE_ERROR, DEVICE_ERROR_UNAVAILABLE,
                    "SKIPJACK_SCRATCH names no folder for PoCL's files");
        return false;
    }
    if (!opencl_environment(scratch, error) || !device_find(name ? name : "", &index, error) ||
        (!opened->only_hello && !take_place(opened, index, error)))
        return false;
    opened->device = device_open(index, error);
    if (!opened->device)
        return false;
    /* The clocks are locked before the timer's floor is measured, which depends on them. */
    mend_clocks(opened);
    lock_clocks(opened);
    return opened->only_hello || measure_floor(opened->device, &opened->floor_ms, error);
}

/* Opens the device's monitor. Results do not depend on it: without the vendor's library the
 * child goes on, and its hello says why there is no monitor. */
static void watch_device(struct eval_device *opened)
{
    const struct device_info *info = opened->device->row->info(opened->device);
    g_autoptr(GError) why = NULL;

    opened->identity = info->identity;
    opened->monitor = gpu_monitor_open(info->target.vendor, &opened->identity, &why);
    if (opened->monitor)
        gpu_monitor_name_instance(opened->monitor, &opened->identity);
    else if (info->target.vendor != VENDOR_CPU)
        opened->unwatched = g_utf8_make_valid(why->message, -1);
}

bool eval_device_open(struct eval_device *opened, const char *name, bool only_hello, GError **error)
{
    *opened = (struct eval_device){.only_hello = only_hello, .hold = -1, .clocks.leash = -1};
    if (!open_named(opened, name, error))
        return false;
    watch_device(opened);
    return true;
}

void eval_device_clear(struct eval_device *opened)
{
    gpu_monitor_close(opened->monitor);
    g_free(opened->unwatched);
    device_close(opened->device);
    gpu_clocks_release(&opened->clocks);
}

bool eval_device_conditions(struct eval_device *opened, struct conditions *sample)
{
    const struct device_identity *identity = &opened->identity;

    if (*identity->uuid == '\0' && *identity->address == '\0')
        return false;
    if (opened->monitor)
        gpu_monitor_sample(opened->monitor, sample);
    else
        gpu_monitor_unknown(sample);
    sample->locked_mhz = gpu_clocks_seen(opened->locked_mhz, sample);
    g_strlcpy(sample->device, *identity->uuid ? identity->uuid : identity->address,
              sizeof(sample->device));
    return true;
}
