/*
 * Device memory between guard zones, in one or several copies that lie side by
 * side in one allocation. Zones and fresh insides hold a poison that reads as
 * NaN in every floating type and as an unlikely large number in the integer
 * ones: what a kernel reads beside its tensor spoils its result, what it writes
 * there is found.
 */
#ifndef WORKER_GUARDED_H
#define WORKER_GUARDED_H

#include "worker/device/device.h"

/* Two pages' worth of rows of a tile beyond the end; a stray write further off is not found. */
#define GUARD_BYTES 16384

struct guarded {
    struct device *device;
    struct device_memory *whole;
    struct device_memory **parts; /* a copy each */
    int copies;
    int64_t bytes; /* of a copy */
    int64_t step;  /* from a copy to the next */
    int64_t all;   /* of the allocation */
    uint8_t poison;
};

uint8_t guarded_poison_of(enum data_type type);

/* Allocates and poisons all. On failure *guarded is empty. DEVICE_ERROR_MEMORY. */
bool guarded_alloc(struct guarded *guarded, struct device *device, int64_t bytes, int copies,
                   uint8_t poison, GError **error);
void guarded_free(struct guarded *guarded); /* also of one that is empty */

/* Whether its allocation has room for one copy of that size; not where it is empty. */
bool guarded_fits(const struct guarded *guarded, int64_t bytes);
/* Such a size for the one copy, its zones where it begins and ends now; its inside is not poisoned. On
 * failure *guarded is empty. */
bool guarded_resize(struct guarded *guarded, int64_t bytes, GError **error);

/* Poisons a copy's inside again. */
bool guarded_poison(struct guarded *guarded, int copy, GError **error);
/* Reads both zones of a copy. *damaged tells whether a byte changed, *offset which: the nearest one
 * outside, relative to the copy's first byte (negative before it). Damage is repaired. */
bool guarded_check(struct guarded *guarded, int copy, bool *damaged, int64_t *offset,
                   GError **error);

#endif
