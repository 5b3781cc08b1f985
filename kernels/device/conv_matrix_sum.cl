/*
 * Adds up the parts that conv_matrix.cl and conv_wgmma.cl leave where their terms are split: result[i] =
 * the sum over `splits` of parts[split][i], in a fixed order. An item has four of the `count` elements, a multiple
 * of 4.
 *
 * Options: TYPE, the stored type; LANE, what sums are (float or int).
 */
#include "dialect.h"

struct ALIGNED(16) four {
    LANE lane[4];
};

struct ALIGNED(4 * sizeof(STORAGE(TYPE))) four_stored {
    STORAGE(TYPE) lane[4];
};

KERNEL(128, 1, 1)
conv_matrix_sum(GLOBAL const LANE *RESTRICT parts, GLOBAL STORAGE(TYPE) * RESTRICT result,
                i64 count, int splits)
{
    i64 at = ((i64)GROUP_ID(0) * 128 + (i64)LOCAL_ID(0)) * 4;
    LANE sums[4] = {0, 0, 0, 0};
    struct four_stored stored;
    if (at >= count)
        return;
#pragma unroll 8
    for (int split = 0; split < splits; split++) {
        struct four part =
            *(GLOBAL const struct four *)(GLOBAL const void *)(parts + split * count + at);
        for (int i = 0; i < 4; i++)
            sums[i] += part.lane[i];
    }
    for (int i = 0; i < 4; i++)
        stored.lane[i] = DIALECT_JOIN(to_, TYPE)(sums[i]);
    *(GLOBAL struct four_stored *)(GLOBAL void *)(result + at) = stored;
}
