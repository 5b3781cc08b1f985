/*
 * Folds col back: x[n][c][i] is the sum over the filter positions through which
 * some output o reads i of col's element for (c, filter position) and (n, o).
 * col lies as conv_im2col.cl describes (BY_TERM), in FP32. An item an element of
 * x, whose channels (BY_TERM 1) or columns (0) are neighbours.
 *
 * Options: TYPE_X, BY_TERM.
 */
#include "dialect.h"

DEVICE int take(i64 *rest, int count)
{
    int coordinate = (int)(*rest % count);
    *rest /= count;
    return coordinate;
}

/* The output that reads input position `in` through filter position f, or -1. */
DEVICE int source_of(int in, int f, int out, int pad, int stride, int dilation)
{
    int at = in + pad - f * dilation;
    if (at < 0 || at % stride != 0 || at / stride >= out)
        return -1;
    return at / stride;
}

KERNEL(64, 1, 1)
conv_col2im(GLOBAL const float *RESTRICT col, GLOBAL STORAGE(TYPE_X) *RESTRICT x, i64 x_n, i64 x_c,
            i64 x_d, i64 x_h, i64 x_w, int c_count, int n_count, int in_d, int in_h, int in_w,
            int fil_d, int fil_h, int fil_w, int out_d, int out_h, int out_w, int pad_d, int pad_h,
            int pad_w, int stride_d, int stride_h, int stride_w, int dilation_d, int dilation_h,
            int dilation_w)
{
    i64 rest = (i64)GROUP_ID(0) * 64 + (i64)LOCAL_ID(0);
    i64 plane = (i64)n_count * out_d * out_h * out_w;
    int c, d, h, w, n;
    float sum = 0;
#if BY_TERM
    c = take(&rest, c_count);
#endif
    w = take(&rest, in_w);
    h = take(&rest, in_h);
    d = take(&rest, in_d);
#if !BY_TERM
    c = take(&rest, c_count);
#endif
    if (rest >= n_count)
        return;
    n = (int)rest;
    for (int fd = 0; fd < fil_d; fd++) {
        int od = source_of(d, fd, out_d, pad_d, stride_d, dilation_d);
        if (od < 0)
            continue;
        for (int fh = 0; fh < fil_h; fh++) {
            int oh = source_of(h, fh, out_h, pad_h, stride_h, dilation_h);
            if (oh < 0)
                continue;
            for (int fw = 0; fw < fil_w; fw++) {
                int ow = source_of(w, fw, out_w, pad_w, stride_w, dilation_w);
                i64 f = (fd * fil_h + fh) * fil_w + fw;
                i64 o = ((n * (i64)out_d + od) * out_h + oh) * out_w + ow;
                if (ow < 0)
                    continue;
#if BY_TERM
                sum += col[(o * (fil_d * fil_h * fil_w) + f) * c_count + c];
#else
                sum += col[(c * (i64)(fil_d * fil_h * fil_w) + f) * plane + o];
#endif
            }
        }
    }
    STORE(TYPE_X, x, n * x_n + c * x_c + d * x_d + h * x_h + w * x_w, sum);
}
