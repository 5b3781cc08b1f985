/*
 * A GPU's clocks, locked while a process measures. Whoever locks them must give them
 * back, and the process that measures may be killed at any moment: so a guard, a
 * process of its own, locks them, and gives them back as soon as that one is gone,
 * however it ended. The guard inherits the hold of the GPU (gpu_place.h), so the next
 * process measures when they are back.
 */
#ifndef WORKER_GPU_CLOCKS_H
#define WORKER_GPU_CLOCKS_H

#include "schema/store/conditions.h"
#include "worker/device/device.h"

struct gpu_clocks {
    int leash; /* the guard works until it is closed; -1 for none */
    long guard;
};

/* Locks the compute units' clock at so many MHz. hold: -1 for none. DEVICE_ERROR_UNAVAILABLE: the driver
 * does not allow it, its library is not here, or the device is a part of a card (MIG, AMD's partitions),
 * whose parts have their clocks in common; everything is then as it was. A line on standard error says where
 * the mark of the lock would be lost (gpu_clocks_mend()). */
bool gpu_clocks_lock(struct gpu_clocks *clocks, enum vendor vendor,
                     const struct device_identity *identity, int mhz, int hold, GError **error);
/* Gives them back, and waits for that. */
void gpu_clocks_release(struct gpu_clocks *clocks);
/* What a sample is to be recorded with: 0, as where the driver chooses, once the clock is above what it was
 * locked at, since somebody else gave it back or locked another one. */
int gpu_clocks_seen(int locked_mhz, const struct conditions *sample);
/* Gives back what a guard of this user left locked that was killed itself, as the end of a whole container
 * does: each leaves a mark beside the GPU's lock until it is done. That folder must be the host's to outlive
 * the container (gpu_place_lasts()). For whoever holds the GPU. True where there was something. */
bool gpu_clocks_mend(enum vendor vendor, const struct device_identity *identity, GError **error);

/* The guard's main: what gpu_clocks_lock() gives this program behind "child clocks". Returns the exit
 * status. */
#define GPU_CLOCKS_ROLE "clocks"
int gpu_clocks_guard(int argc, char **argv);

#endif
