/*
 * Adds up split-K partial sums ("parts"), which a kernel on vector units wrote to the workspace. w[k][c][d][h][w] is
 * the sum over `splits` of parts[split][k][c][d][h][w], which are packed in the workspace. The order of the sum is
 * fixed, so equal inputs give equal results.
 *
 * `lanes` work-items, a power of two up to 32, share the parts of one element, so that many parts of few
 * elements are read at once. A workgroup computes 256 / lanes neighbouring elements, then the elements `step` further
 * on. For a packed w the kernel computes offsets without a division.
 *
 * Options: TYPE_W, the stored type; and those of epilogue.h, for a sum whose element `at` has the channel
 * at / channel_step % channels.
 */
#include "dialect.h"
#include "float8.h"
#include "epilogue.h"

#ifdef EPILOGUE
#define CHANNEL_PARAMETERS , i64 channel_step, int channels
#else
#define CHANNEL_PARAMETERS
#endif

#define ITEMS 256

KERNEL(ITEMS, 1, 1)
conv_sum_splits(GLOBAL const float *RESTRICT parts, GLOBAL STORAGE(TYPE_W) *RESTRICT w, i64 count,
                int splits, int lanes, int c_count, int fil_d, int fil_h, int fil_w, i64 w_k,
                i64 w_c, i64 w_d, i64 w_h, i64 w_w,
                i64 step CHANNEL_PARAMETERS EPILOGUE_PARAMETERS)
{
    LOCAL_ARRAY float sums[ITEMS];
    int is_dense = w_w == 1 && w_h == fil_w && w_d == w_h * fil_h && w_c == w_d * fil_d &&
                   w_k == w_c * c_count;
    int item = (int)LOCAL_ID(0), width = ITEMS / lanes, lane = item / width;
    for (i64 first = (i64)GROUP_ID(0) * width; first < count; first += step) {
        i64 at = first + item % width;
        float sum = 0;
        if (at < count)
            for (int split = lane; split < splits; split += lanes)
                sum += parts[split * count + at];
        sums[item] = sum;
        for (int apart = lanes / 2; apart > 0; apart /= 2) {
            BARRIER();
            if (lane < apart)
                sums[item] += sums[item + apart * width];
        }
        if (lane == 0 && at < count) {
            i64 to = at;
            if (!is_dense) {
                i64 rest = at;
                int fw, fh, fd, c;
                fw = (int)(rest % fil_w);
                rest /= fil_w;
                fh = (int)(rest % fil_h);
                rest /= fil_h;
                fd = (int)(rest % fil_d);
                rest /= fil_d;
                c = (int)(rest % c_count);
                rest /= c_count;
                to = rest * w_k + c * w_c + fd * w_d + fh * w_h + fw * w_w;
            }
            EPILOGUE_STORE(TYPE_W, w, to, sums[item], (int)(at / channel_step % channels));
        }
        BARRIER();
    }
}
