/*
 * A GPU's place in its host: which cores are near to it, and that one process at a
 * time measures on it. Two that measure at once would each find the other's kernels
 * in its times, and both sets of times look sound.
 */
#ifndef WORKER_GPU_PLACE_H
#define WORKER_GPU_PLACE_H

#include "worker/device/device.h"

/* Holds the GPU as long as the descriptor is open, also in a process that inherits it: -1 with an error
 * where another process holds it and does not give it up in so many seconds, which begin with a line on
 * standard error. A device without UUID and address is nobody's: *held is false then. The lock is a file
 * under /run/lock, made by whoever comes first and read by all others; under /tmp while there is none and
 * none can be made. SKIPJACK_LOCKS names another folder, as containers need that share GPUs. */
int gpu_place_hold(const struct device_identity *identity, double patience_seconds, bool *held,
                   GError **error);
/* The same with a list of folders, tried in their order. Whoever holds a lock in one of them excludes those
 * whose list has it, wherever in the list each of them can make one. */
int gpu_place_hold_in(const char *const *folders, const struct device_identity *identity,
                      double patience_seconds, bool *held, GError **error);

/* A file of that GPU's in the first of these folders where this process may write. Free with g_free(). */
char *gpu_place_file(const struct device_identity *identity, const char *ending);

/* Whether such a file is still there when the whole container of this process is gone, or the service that has
 * a /tmp of its own: whether that folder is the same one under the host's root. root NULL: Linux is asked; in a
 * container, or where that root is hidden, the owner is believed who names a folder by SKIPJACK_LOCKS. */
bool gpu_place_lasts(const char *root);

/* Keeps the calling thread, and all that it starts, to the cores that are nearest to the GPU, of those
 * that it may run on. Where these are not known it stays where it is. Returns how many there are, 0 where
 * nothing was changed. */
int gpu_place_pin(const struct device_identity *identity);

#endif
