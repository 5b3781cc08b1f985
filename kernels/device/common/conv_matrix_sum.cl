/*
 * Adds up split-K partial sums ("parts"), which a kernel for matrix units wrote to the workspace. result[i] is the
 * sum over `splits` of parts[split][i], in a fixed order. The result has `count` elements, a multiple of 4. A
 * work-item adds up every SHARES-th part of four elements; SHARES work-items share an element and add up their sums
 * in local memory. Thus many work-items read even where a result has few elements and many parts.
 *
 * Options: TYPE, the stored type; LANE, the sums' type (float or int); SHARES, a power of 2 up to 64; and those of
 * an epilogue (matrix_epilogue.h). With one, the result's rows are positions, each of `groups` groups of `columns`. So they
 * are with PITCHED, which says that they lie `pitch` elements apart in the result; else they follow each other.
 */
#include "dialect.h"
#include "float8.h"
#include "matrix_epilogue.h"

#define ITEMS 128
#define FOURS (ITEMS / SHARES) /* of a workgroup */

struct ALIGNED(16) four {
    LANE lane[4];
};

struct ALIGNED(4 * sizeof(STORAGE(TYPE))) four_stored {
    STORAGE(TYPE) lane[4];
};

#if defined(PITCHED)
#define ROW_PARAMETERS , int pitch, int groups, int columns
#elif defined(EPILOGUE)
#define ROW_PARAMETERS , int groups, int columns
#else
#define ROW_PARAMETERS
#endif

KERNEL(ITEMS, 1, 1)
conv_matrix_sum(GLOBAL const LANE *RESTRICT parts, GLOBAL STORAGE(TYPE) * RESTRICT result,
                i64 count, int splits ROW_PARAMETERS FINISH_PARAMETERS)
{
#if SHARES > 1
    LOCAL_ARRAY struct four shares[ITEMS];
#endif
    const int item = (int)LOCAL_ID(0);
    const i64 at = ((i64)GROUP_ID(0) * FOURS + item % FOURS) * 4;
    struct four sums = {{0, 0, 0, 0}};
    struct four_stored stored;
    if (at < count) {
#pragma unroll 8
        for (int split = item / FOURS; split < splits; split += SHARES) {
            struct four part =
                *(GLOBAL const struct four *)(GLOBAL const void *)(parts + split * count + at);
            for (int i = 0; i < 4; i++)
                sums.lane[i] += part.lane[i];
        }
    }
#if SHARES > 1
    shares[item] = sums;
    BARRIER();
    if (item >= FOURS)
        return;
    for (int share = 1; share < SHARES; share++)
        for (int i = 0; i < 4; i++)
            sums.lane[i] += shares[share * FOURS + item].lane[i];
#endif
#if defined(PITCHED) || defined(EPILOGUE)
    /* A group has a multiple of four columns, so that four neighbours are of one group and position. */
    const int row = groups * columns, position = (int)(at / row);
    const int place = (int)(at - (i64)position * row);
#endif
#ifdef EPILOGUE
    {
        const int group = place / columns;
        enum { UNROLLED = EPILOGUE_UNROLLED(4) };
#pragma unroll UNROLLED
        for (int i = 0; i < 4; i++)
            stored.lane[i] = EPILOGUE_ROUND(
                TYPE, finished(sums.lane[i], at < count ? position : -1, group, groups,
                               place - group * columns + i FINISH_ARGUMENTS));
    }
#else
    for (int i = 0; i < 4; i++)
        stored.lane[i] = DIALECT_JOIN(to_, TYPE)(sums.lane[i]);
#endif
#ifdef PITCHED
    result += (i64)position * pitch + place;
#else
    result += at;
#endif
    if (at < count)
        *(GLOBAL struct four_stored *)(GLOBAL void *)result = stored;
}
