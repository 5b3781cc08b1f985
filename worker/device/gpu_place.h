/*
 * A GPU's place in its host: the cores near it, and a lock that lets one process
 * at a time measure on it. If two processes measured at once, each would also time kernels of the
 * other process, and the times would still look sound.
 */
#ifndef WORKER_DEVICE_GPU_PLACE_H
#define WORKER_DEVICE_GPU_PLACE_H

#include "worker/device/device.h"

/*
 * Locks the GPU for as long as the returned descriptor is open, also in a process that inherits it. Waits up to
 * patience_seconds for another process, with a line on standard error; then -1 with an error. A device without UUID
 * and address cannot be locked: -1 without an error, and *held is false.
 * The lock is a file under /run/lock, or under /tmp if /run/lock is missing or not writable. The first process makes
 * it; all later ones only read it. SKIPJACK_LOCKS names another folder, which containers that share GPUs need.
 */
int gpu_place_hold(const struct device_identity *identity, double patience_seconds, bool *held,
                   GError **error);
/* gpu_place_hold() with a list of folders, tried in their order. Two processes with the same list exclude each other,
 * even if they can write to different folders of it. */
int gpu_place_hold_in(const char *const *folders, const struct device_identity *identity,
                      double patience_seconds, bool *held, GError **error);

/* The path of a file of this GPU, in the first of these folders that this process may write to. Free with
 * g_free(). */
char *gpu_place_file(const struct device_identity *identity, const char *ending);

/* Whether files of gpu_place_file() outlive this process's container, or its service with a
 * private /tmp: their folder must be the same as the one under the host's root. root: the host's
 * root folder; NULL: asks Linux for it. If it is hidden, as in a container, the folder counts as
 * the host's if SKIPJACK_LOCKS names it. */
bool gpu_place_lasts(const char *root);

/* Keeps the calling thread, and every thread and process that it starts, on the cores nearest to the GPU among its
 * allowed cores. Returns their number; 0 if nothing changed, because they are unknown or all cores are near. */
int gpu_place_pin(const struct device_identity *identity);

#endif
