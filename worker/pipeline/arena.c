#include "worker/pipeline/arena.h"

#include <glib.h>
#include <stdbool.h>
#include <stdlib.h>

static int64_t align(int64_t bytes, int64_t alignment)
{
    return (bytes + alignment - 1) / alignment * alignment;
}

static int larger_first(const void *a, const void *b)
{
    const struct arena_block *left = *(struct arena_block *const *)a;
    const struct arena_block *right = *(struct arena_block *const *)b;

    if (left->bytes != right->bytes)
        return left->bytes > right->bytes ? -1 : 1;
    return left->first != right->first ? (left->first < right->first ? -1 : 1)
                                       : (left < right ? -1 : 1);
}

static int lower_first(const void *a, const void *b)
{
    const struct arena_block *left = *(struct arena_block *const *)a;
    const struct arena_block *right = *(struct arena_block *const *)b;

    return left->offset < right->offset ? -1 : left->offset > right->offset;
}

static bool live_together(const struct arena_block *a, const struct arena_block *b)
{
    return a->first <= b->last && b->first <= a->last;
}

/* The offset of the smallest gap between the neighbours (sorted by offset) that holds `bytes`, else their end. */
static int64_t best_offset(struct arena_block *const *neighbours, int count, int64_t bytes,
                           int64_t alignment)
{
    int64_t end = 0, best = -1, best_gap = INT64_MAX;

    for (int i = 0; i < count; i++) {
        int64_t gap = neighbours[i]->offset - end;
        if (gap >= bytes && gap < best_gap) {
            best = end;
            best_gap = gap;
        }
        end = MAX(end, neighbours[i]->offset + align(neighbours[i]->bytes, alignment));
    }
    return best >= 0 ? best : end;
}

static int64_t fullest_step(const struct arena_block *blocks, int count, int64_t alignment)
{
    int steps = 0;
    int64_t live = 0, most = 0;

    for (int i = 0; i < count; i++)
        steps = MAX(steps, blocks[i].last + 2);
    g_autofree int64_t *change = g_new0(int64_t, steps + 1);
    for (int i = 0; i < count; i++) {
        change[blocks[i].first] += align(blocks[i].bytes, alignment);
        change[blocks[i].last + 1] -= align(blocks[i].bytes, alignment);
    }
    for (int i = 0; i < steps; i++) {
        live += change[i];
        most = MAX(most, live);
    }
    return most;
}

void arena_plan(struct arena_block *blocks, int count, int64_t alignment, struct arena *arena)
{
    g_autofree struct arena_block **order = g_new(struct arena_block *, count + 1);
    g_autofree struct arena_block **neighbours = g_new(struct arena_block *, count + 1);

    *arena = (struct arena){.bound_bytes = fullest_step(blocks, count, alignment)};
    for (int i = 0; i < count; i++)
        order[i] = &blocks[i];
    qsort(order, (size_t)count, sizeof(order[0]), larger_first);
    for (int i = 0; i < count; i++) {
        struct arena_block *block = order[i];
        int64_t bytes = align(block->bytes, alignment);
        int near = 0;
        for (int j = 0; j < i; j++) {
            if (live_together(block, order[j]) && order[j]->bytes > 0)
                neighbours[near++] = order[j];
        }
        qsort(neighbours, (size_t)near, sizeof(neighbours[0]), lower_first);
        block->offset = best_offset(neighbours, near, bytes, alignment);
        arena->bytes = MAX(arena->bytes, block->offset + bytes);
        arena->sum_bytes += bytes;
    }
}
