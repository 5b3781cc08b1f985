/*
 * Sets the whole tensor x[n][c][d][h][w] to zero, or to what the epilogue makes of zero. It runs before a backward-data kernel that writes only the
 * positions of x that some output reads. The launch has `items` work-items; each takes every items-th element.
 *
 * Options: TYPE_X, the stored type, and those of epilogue.h.
 */
#include "epilogue.h"

KERNEL(64, 1, 1)
conv_clear_x(GLOBAL STORAGE(TYPE_X) *RESTRICT x, i64 count, int c_count, int in_d, int in_h,
             int in_w, i64 x_n, i64 x_c, i64 x_d, i64 x_h, i64 x_w,
             i64 items EPILOGUE_PARAMETERS)
{
    for (i64 at = (i64)GROUP_ID(0) * 64 + (i64)LOCAL_ID(0); at < count; at += items) {
        i64 rest = at;
        int c, d, h, w;
        w = (int)(rest % in_w);
        rest /= in_w;
        h = (int)(rest % in_h);
        rest /= in_h;
        d = (int)(rest % in_d);
        rest /= in_d;
        c = (int)(rest % c_count);
        rest /= c_count;
        EPILOGUE_STORE(TYPE_X, x, rest * x_n + c * x_c + d * x_d + h * x_h + w * x_w, 0.0f, c);
    }
}
