/*
 * Device memory between guard zones, in one or several equal copies side by side in one allocation. The zones, and
 * the copies at first, are filled with poison: bytes that read as NaN in every floating type and as an unlikely
 * large number in the integer types. A kernel that reads beside its tensor gets a wrong result; a kernel that writes
 * there changes a zone, which guarded_check() finds.
 */
#ifndef WORKER_VERIFY_GUARDED_H
#define WORKER_VERIFY_GUARDED_H

#include "worker/device/device.h"

/* Bytes of a zone. A stray write further away is not found. */
#define GUARD_BYTES 16384

struct guarded {
    struct device *device;
    struct device_memory *whole;
    struct device_memory **parts; /* one memory object for each copy, without its guard zones */
    int copies;
    int64_t bytes; /* size of one copy, without its zones */
    int64_t step;  /* bytes from the begin of one copy to the begin of the next */
    int64_t all;   /* bytes of the whole allocation */
    uint8_t poison;
};

uint8_t guarded_poison_of(enum data_type type);

/* Allocates the copies and zones, and fills all of them with poison. DEVICE_ERROR_MEMORY; on
 * failure *guarded is empty. */
bool guarded_alloc(struct guarded *guarded, struct device *device, int64_t bytes, int copies,
                   uint8_t poison, GError **error);
/* Where a copy begins in the whole allocation, in bytes. */
int64_t guarded_offset(const struct guarded *guarded, int copy);
/* Frees the allocation; does nothing for an empty one. */
void guarded_free(struct guarded *guarded);

/* Whether one copy of that size, with its zones, fits into the allocation; false for an empty
 * one. */
bool guarded_fits(const struct guarded *guarded, int64_t bytes);
/* Gives the only copy another size, which must fit, and places its guard zones there. The copy
 * itself is not poisoned. On failure *guarded is empty. */
bool guarded_resize(struct guarded *guarded, int64_t bytes, GError **error);

/* The host's look at pieces of the allocation, each of `bytes` bytes: in place on a device that shares the host's memory
 * (device_row's view()), else in a copy. */
struct guarded_view {
    const struct guarded *guarded;
    int64_t bytes;
    const uint8_t *all; /* NULL: pieces are read */
    uint8_t *piece;
};
bool guarded_view_open(struct guarded_view *view, const struct guarded *guarded, int64_t bytes,
                       GError **error);
/* The piece at an offset in the whole allocation, valid until the next call; NULL with an error. */
const void *guarded_view_at(struct guarded_view *view, int64_t offset, GError **error);
void guarded_view_close(struct guarded_view *view);

/* Fills a copy with poison again, without its zones. */
bool guarded_poison(struct guarded *guarded, int copy, GError **error);
/* The zone behind a copy, which is also the zone before the next copy. Each such zone has guarded_tail_bytes(). */
int64_t guarded_tail_offset(const struct guarded *guarded, int copy);
int64_t guarded_tail_bytes(const struct guarded *guarded);
/* Reads the zones behind `count` copies from `first` on. damaged[count]: whether a byte of the zone changed. */
bool guarded_find_damaged(const struct guarded *guarded, int first, int count, bool *damaged,
                          GError **error);
/* Reads both zones of a copy. *damaged: a byte changed; *offset is then the changed byte that is nearest to the
 * copy, counted from the copy's first byte (negative before it). A byte that is nearer to the next copy is counted from
 * the next copy's first byte. Repairs the zones. */
bool guarded_check(struct guarded *guarded, int copy, bool *damaged, int64_t *offset,
                   GError **error);

#endif
