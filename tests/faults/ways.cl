/* A pointwise convolution of one image, one work-item for each output element. The sum begins with
 * the channel `way`: all configs share one code object and differ in that argument only. */
#include "dialect.h"

KERNEL(64, 1, 1) conv_ways(GLOBAL const float *x, GLOBAL const float *w, GLOBAL float *y,
                           int c_count, int k_count, int pixels, int way)
{
    int id = (int)GROUP_ID(0) * 64 + (int)LOCAL_ID(0);
    if (id >= k_count * pixels)
        return;
    int k = id / pixels, pixel = id % pixels;
    float sum = 0;
    for (int i = 0; i < c_count; i++) {
        int c = (i + way) % c_count;
        sum += x[c * pixels + pixel] * w[k * c_count + c];
    }
    y[id] = sum;
}
