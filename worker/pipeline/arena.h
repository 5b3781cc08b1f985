/*
 * One allocation for all activations of a network. Two blocks may share bytes if no step needs both. Pure.
 */
#ifndef WORKER_PIPELINE_ARENA_H
#define WORKER_PIPELINE_ARENA_H

#include <stdint.h>

struct arena_block {
    int64_t bytes;   /* from 0 */
    int first, last; /* the steps that need it, both included; first <= last */
    int64_t
        offset; /* set by arena_plan(): bytes from the arena's begin, a multiple of its alignment */
};

struct arena {
    int64_t bytes;       /* what must be allocated */
    int64_t sum_bytes;   /* what all blocks would take side by side */
    int64_t bound_bytes; /* what the fullest step needs: no plan takes less */
};

/*
 * Places the blocks: largest first, each in the smallest gap that fits among the placed blocks that live at the same
 * time, else behind them. alignment: a power of 2, in bytes; sizes count rounded up to it. The sums of all sizes must
 * fit 63 bits. Takes time in proportion to the square of count.
 */
void arena_plan(struct arena_block *blocks, int count, int64_t alignment, struct arena *arena);

#endif
