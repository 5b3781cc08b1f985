/*
 * A pointwise INT8 convolution with bias, scales, residual and relu, one work-item an output element, whose filter is
 * packed before. The option SLIP says which mistake it makes (enum slip in solver_slips.h).
 */
#include "dialect.h"

/* Puts each channel's filters side by side. */
KERNEL(64, 1, 1) slips_pack(GLOBAL const signed char *w, GLOBAL signed char *packed, int c_count,
                            int k_count)
{
    int id = (int)GROUP_ID(0) * 64 + (int)LOCAL_ID(0);
    int k = id % k_count, c = id / k_count;
    if (id >= c_count * k_count)
        return;
#if SLIP == 9
    k = k < 2 ? 1 - k : k;
#endif
    packed[id] = w[k * c_count + c];
#if SLIP == 8
    packed[id + c_count * k_count] = 1;
#endif
}

KERNEL(64, 1, 1)
slips_run(GLOBAL const signed char *x, GLOBAL signed char *packed, GLOBAL signed char *y,
          GLOBAL const int *bias, GLOBAL const signed char *residual, GLOBAL const float *scales,
          int c_count, int k_count, int pixels)
{
    int id = (int)GROUP_ID(0) * 64 + (int)LOCAL_ID(0);
    if (id >= k_count * pixels)
        return;
    int k = id / pixels, pixel = id % pixels, next = (k + 1) % k_count, sum = 0, whole;
    for (int c = 0; c < c_count; c++)
        sum += x[c * pixels + pixel] * packed[c * k_count + k];
#if SLIP != 1
    sum += bias[SLIP == 2 ? next : k];
#endif
    float v = (float)sum * scales[SLIP == 3 ? next : k];
    float second = residual[id];
#if SLIP == 4
    v = v < 0 ? 0 : v;
#endif
#if SLIP != 5
    second *= scales[k_count];
#endif
    v += second;
#if SLIP != 4
    v = v < 0 ? 0 : v;
#endif
    whole = (int)v;
#if SLIP != 7
    whole += v - (float)whole > 0.5f || (v - (float)whole == 0.5f && (whole & 1));
    whole -= v - (float)whole < -0.5f;
#endif
#if SLIP != 6
    whole = whole > 127 ? 127 : whole < -128 ? -128 : whole;
#endif
    y[id] = (signed char)whole;
#if SLIP == 10
    /* The last work-item of the last workgroup: the others of this run may have read the element before or not, the
     * second run reads what was left. */
    if (id == k_count * pixels - 1)
        packed[0] = (signed char)(packed[0] + 64);
#endif
}
