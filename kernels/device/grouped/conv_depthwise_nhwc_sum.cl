/*
 * Adds up the split-K parts of w that conv_depthwise_nhwc_w.cl writes to the workspace: w[c][tap] = the sum over
 * `splits` of parts[split][tap][c], in a fixed order. SHARES work-items share an element and add up every SHARES-th
 * part each, so that many work-items read even where w has few elements.
 *
 * Option: TYPE_W, the stored type.
 */
#include "dialect.h"

#define ELEMENTS 16 /* of a workgroup */
#define SHARES   16
#define ITEMS    (ELEMENTS * SHARES)

KERNEL(ITEMS, 1, 1)
conv_depthwise_nhwc_sum(GLOBAL const float *RESTRICT parts, GLOBAL STORAGE(TYPE_W) * RESTRICT w,
                        int channels, int taps, int splits)
{
    LOCAL_ARRAY float shares[ITEMS];
    const int item = (int)LOCAL_ID(0), count = channels * taps;
    const int element = (int)GROUP_ID(0) * ELEMENTS + item % ELEMENTS;
    float sum = 0;
    if (element < count) {
#pragma unroll 8
        for (int split = item / ELEMENTS; split < splits; split += SHARES)
            sum += parts[(i64)split * count + element];
    }
    shares[item] = sum;
    BARRIER();
    if (item >= ELEMENTS || element >= count)
        return;
    for (int share = 1; share < SHARES; share++)
        sum += shares[share * ELEMENTS + item];
    STORE(TYPE_W, w, element % channels * taps + element / channels, sum);
}
