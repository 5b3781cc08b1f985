/*
 * Adds up the parts that kernels with split sums leave: w[k][c][d][h][w] = the
 * sum over `splits` of parts[split][k][c][d][h][w], which lie densely in the
 * workspace. The order of the sum is fixed, so equal inputs give equal results.
 * There are `items` work-items; each goes on by as many.
 *
 * Option: TYPE_W, the stored type.
 */
#include "dialect.h"

KERNEL(64, 1, 1)
conv_sum_splits(GLOBAL const float *RESTRICT parts, GLOBAL STORAGE(TYPE_W) *RESTRICT w, i64 count,
                int splits, int c_count, int fil_d, int fil_h, int fil_w, i64 w_k, i64 w_c, i64 w_d,
                i64 w_h, i64 w_w, i64 items)
{
    for (i64 at = (i64)GROUP_ID(0) * 64 + (i64)LOCAL_ID(0); at < count; at += items) {
        i64 rest = at;
        float sum = 0;
        int fw, fh, fd, c;
        fw = (int)(rest % fil_w);
        rest /= fil_w;
        fh = (int)(rest % fil_h);
        rest /= fil_h;
        fd = (int)(rest % fil_d);
        rest /= fil_d;
        c = (int)(rest % c_count);
        rest /= c_count;
        for (int split = 0; split < splits; split++)
            sum += parts[split * count + at];
        STORE(TYPE_W, w, rest * w_k + c * w_c + fd * w_d + fh * w_h + fw * w_w, sum);
    }
}
