#include "worker/verify/guarded.h"

#include <string.h>

/* The poison byte for a data type. 0xff bytes are a NaN in FP16, BF16, FP32 and FP64. 0x7b is
 * 123 as INT8 and 2071690107 as INT32: results that the small integers of random.h rarely reach. */
uint8_t guarded_poison_of(enum data_type type)
{
    return type == TYPE_INT8 || type == TYPE_INT32 ? 0x7b : 0xff;
}

int64_t guarded_offset(const struct guarded *guarded, int copy)
{
    return GUARD_BYTES + copy * guarded->step;
}

int64_t guarded_tail_offset(const struct guarded *guarded, int copy)
{
    return guarded_offset(guarded, copy) + guarded->bytes;
}

int64_t guarded_tail_bytes(const struct guarded *guarded)
{
    return guarded->step - guarded->bytes;
}

static bool take_parts(struct guarded *guarded, GError **error)
{
    const struct device_row *row = guarded->device->row;

    for (int i = 0; i < guarded->copies; i++) {
        guarded->parts[i] =
            row->slice(guarded->whole, guarded_offset(guarded, i), guarded->bytes, error);
        if (!guarded->parts[i])
            return false;
    }
    return true;
}

/* Bytes from one copy to the next. Each copy starts at a multiple of the device's alignment and
 * is followed by one guard zone, which is also the zone before the next copy. */
static int64_t step_for(struct device *device, int64_t bytes)
{
    int64_t align = MAX(device->row->info(device)->slice_alignment, 4096);

    return (bytes + align - 1) / align * align + GUARD_BYTES;
}

bool guarded_alloc(struct guarded *guarded, struct device *device, int64_t bytes, int copies,
                   uint8_t poison, GError **error)
{
    const struct device_row *row = device->row;
    int64_t step = step_for(device, bytes), all = GUARD_BYTES + copies * step;

    *guarded = (struct guarded){device, NULL, NULL, copies, bytes, step, all, poison};
    guarded->parts = g_new0(struct device_memory *, copies);
    guarded->whole = row->alloc(device, all, error);
    if (guarded->whole && row->fill(guarded->whole, 0, all, poison, error) &&
        row->sync(device, error) && take_parts(guarded, error))
        return true;
    guarded_free(guarded);
    return false;
}

/* Poisons the guard zone behind a copy, and the bytes between the copy's end and the zone, which
 * begins at a multiple of the alignment. */
static bool poison_tail(const struct guarded *guarded, int copy, GError **error)
{
    return guarded->device->row->fill(guarded->whole, guarded_tail_offset(guarded, copy),
                                      guarded_tail_bytes(guarded), guarded->poison, error);
}

bool guarded_fits(const struct guarded *guarded, int64_t bytes)
{
    return guarded->whole && GUARD_BYTES + step_for(guarded->device, bytes) <= guarded->all;
}

bool guarded_resize(struct guarded *guarded, int64_t bytes, GError **error)
{
    g_assert(guarded->copies == 1 && guarded_fits(guarded, bytes));
    guarded->device->row->memory_free(guarded->parts[0]);
    guarded->bytes = bytes;
    guarded->step = step_for(guarded->device, bytes);
    if (take_parts(guarded, error) && poison_tail(guarded, 0, error))
        return true;
    guarded_free(guarded);
    return false;
}

void guarded_free(struct guarded *guarded)
{
    for (int i = 0; guarded->parts && i < guarded->copies; i++)
        guarded->device->row->memory_free(guarded->parts[i]);
    if (guarded->whole)
        guarded->device->row->memory_free(guarded->whole);
    g_free(guarded->parts);
    *guarded = (struct guarded){0};
}

bool guarded_view_open(struct guarded_view *view, const struct guarded *guarded, int64_t bytes,
                       GError **error)
{
    const struct device_row *row = guarded->device->row;
    GError *why = NULL;

    *view = (struct guarded_view){.guarded = guarded, .bytes = bytes};
    view->all = row->view ? row->view(guarded->whole, &why) : NULL;
    if (why) {
        g_propagate_error(error, why);
        return false;
    }
    view->piece = view->all ? NULL : g_malloc((gsize)bytes);
    return true;
}

const void *guarded_view_at(struct guarded_view *view, int64_t offset, GError **error)
{
    const struct guarded *guarded = view->guarded;

    if (view->all)
        return view->all + offset;
    return guarded->device->row->read(guarded->whole, offset, view->piece, view->bytes, error)
               ? view->piece
               : NULL;
}

void guarded_view_close(struct guarded_view *view)
{
    g_clear_pointer(&view->piece, g_free);
}

bool guarded_poison(struct guarded *guarded, int copy, GError **error)
{
    return guarded->device->row->fill(guarded->parts[copy], 0, guarded->bytes, guarded->poison,
                                      error);
}

/* Whether all bytes of the zone are poison. The zone is compared with itself shifted by one
 * byte: memcmp() is much faster than a loop over bytes. */
static bool is_whole(const uint8_t *zone, int64_t bytes, uint8_t poison)
{
    return zone[0] == poison && memcmp(zone, zone + 1, (size_t)bytes - 1) == 0;
}

bool guarded_find_damaged(const struct guarded *guarded, int first, int count, bool *damaged,
                          GError **error)
{
    int64_t bytes = guarded_tail_bytes(guarded);
    struct guarded_view view;
    bool done = guarded_view_open(&view, guarded, bytes, error);

    for (int i = 0; i < count && done; i++) {
        const uint8_t *zone =
            guarded_view_at(&view, guarded_tail_offset(guarded, first + i), error);
        done = zone != NULL;
        damaged[i] = !done || !is_whole(zone, bytes, guarded->poison);
    }
    guarded_view_close(&view);
    return done;
}

/* Sets *distance to how many bytes the nearest changed byte of the zone is away from the tensor;
 * -1 for an undamaged zone. backwards: the tensor follows the zone. */
static bool find_damage(const struct guarded *guarded, int64_t offset, int64_t bytes,
                        bool backwards, int64_t *distance, GError **error)
{
    g_autofree uint8_t *zone = g_malloc((gsize)bytes);

    *distance = -1;
    if (!guarded->device->row->read(guarded->whole, offset, zone, bytes, error))
        return false;
    if (is_whole(zone, bytes, guarded->poison))
        return true;
    for (int64_t i = 0; i < bytes && *distance < 0; i++) {
        if (zone[backwards ? bytes - 1 - i : i] != guarded->poison)
            *distance = i;
    }
    return true;
}

bool guarded_check(struct guarded *guarded, int copy, bool *damaged, int64_t *offset,
                   GError **error)
{
    int64_t first = guarded_offset(guarded, copy), before, after, before_next = -1;
    int64_t end = guarded_tail_offset(guarded, copy), tail = guarded_tail_bytes(guarded);
    bool last = copy == guarded->copies - 1;

    if (!find_damage(guarded, first - GUARD_BYTES, GUARD_BYTES, true, &before, error) ||
        !find_damage(guarded, end, tail, false, &after, error) ||
        (after >= 0 && !last && !find_damage(guarded, end, tail, true, &before_next, error)))
        return false;
    *damaged = before >= 0 || after >= 0;
    if (!*damaged)
        return true;
    if (before_next >= 0 && (before < 0 || before_next < before))
        before = before_next;
    *offset = before >= 0 && (after < 0 || before < after) ? -1 - before : guarded->bytes + after;
    const struct device_row *row = guarded->device->row;
    return row->fill(guarded->whole, first - GUARD_BYTES, GUARD_BYTES, guarded->poison, error) &&
           poison_tail(guarded, copy, error) && row->sync(guarded->device, error);
}
