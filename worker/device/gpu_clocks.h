/*
 * A GPU's clocks, locked while a process measures. Locked clocks must be unlocked afterwards, and the measuring
 * process may be killed at any moment. So another process, the guard, locks the clocks, and unlocks them as soon as
 * the measuring process is gone, however it ended. The guard inherits the lock of the GPU (gpu_place.h): the next
 * process measures only after the clocks are unlocked.
 */
#ifndef WORKER_DEVICE_GPU_CLOCKS_H
#define WORKER_DEVICE_GPU_CLOCKS_H

#include "schema/results/conditions.h"
#include "worker/device/device.h"

struct gpu_clocks {
    int leash; /* pipe to the guard, which ends when the pipe is closed; -1 without a guard */
    long guard;
};

/* Locks the compute units' clock at so many MHz. hold: descriptor of the GPU's lock, -1 for
 * none. DEVICE_ERROR_UNAVAILABLE, with the clocks unchanged, if the driver does not allow it,
 * its library is missing, or the device is a part of a card (MIG, AMD's partitions), whose parts
 * share their clocks. Warns on standard error if the lock's mark could be lost with a container
 * (gpu_clocks_mend()). */
bool gpu_clocks_lock(struct gpu_clocks *clocks, enum vendor vendor,
                     const struct device_identity *identity, int mhz, int hold, GError **error);
/* Unlocks the clocks, and returns when they are unlocked. */
void gpu_clocks_release(struct gpu_clocks *clocks);
/* The locked clock to record with a sample: locked_mhz, or 0 if the sample shows a higher clock, because somebody
 * else unlocked the clocks or locked them differently. */
int gpu_clocks_seen(int locked_mhz, const struct conditions *sample);
/* Unlocks clocks that a killed guard of this user left locked. A guard leaves a mark, a file beside the GPU's lock,
 * until it has unlocked the clocks; the mark outlives a killed container only if that folder is the host's
 * (gpu_place_lasts()). Call it while holding the GPU's lock. True if a mark was found; then error may be set. */
bool gpu_clocks_mend(enum vendor vendor, const struct device_identity *identity, GError **error);

/* The guard's main, with the arguments that gpu_clocks_lock() passes after "child clocks". Returns the exit
 * status. */
#define GPU_CLOCKS_ROLE "clocks"
int gpu_clocks_guard(int argc, char **argv);

#endif
