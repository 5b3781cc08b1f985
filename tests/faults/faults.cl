/*
 * A pointwise convolution, one work-item an output element, that misbehaves as
 * the option FAULT says (enum fault in solver_faults.h).
 */
#include "dialect.h"

#if FAULT == 2
#pragma clang __debug llvm_fatal_error
#endif

#if FAULT == 8
/* clang keeps a pointer for each of these elements, so compiling takes all memory. */
__constant int endless[] = {[0 ... 1999999999] = 1};
#endif

KERNEL(64, 1, 1) conv_faults(GLOBAL const float *x, GLOBAL const float *w, GLOBAL float *y,
                             int c_count, int k_count, int pixels)
{
    int id = (int)GROUP_ID(0) * 64 + (int)LOCAL_ID(0);
    if (id >= k_count * pixels)
        return;
#if FAULT == 1
    for (volatile int forever = 1; forever;)
        ;
#endif
#if FAULT == 5
    this is no statement
#endif
#if FAULT == 6
    *(volatile GLOBAL int *)(c_count - c_count + 16) = 1;
#endif
    int k = id / pixels, pixel = id % pixels;
    float sum = 0;
    for (int c = 0; c < c_count; c++)
        sum += x[c * pixels + pixel] * w[k * c_count + c];
#if defined(__HIP__) && FAULT == 0
    /* Makes the kernel use scratch memory, as the endless loop of FAULT 1 does. Every config but the
     * default is refused for that. */
    volatile float held[4];
    held[k & 3] = sum;
    sum = held[pixel & 3];
#endif
#if FAULT == 3
    sum += 1;
#endif
#if FAULT == 7
    sum = (sum - sum) / (sum - sum);
#endif
    y[id] = sum;
#if FAULT == 4
    y[id + k_count * pixels] = sum;
#endif
}
