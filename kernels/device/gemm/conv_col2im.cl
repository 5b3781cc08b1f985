/*
 * Folds col, the product of a convolution's unfolded matrix multiplication, back into x (col2im): x[n][c][i] is the
 * sum, over the filter positions through which some output o reads i, of col's element for (c, filter position) and
 * (n, o). col has the layout of conv_im2col.cl (BY_TERM), in FP32. Work-items run along x's densest axis: channels
 * (BY_TERM 1) or columns (BY_TERM 0). There are `items` work-items; each takes every items-th element.
 *
 * Options: TYPE_X, BY_TERM.
 */
#include "coordinates.h"
#include "epilogue.h"

struct shape {
    int c_count, n_count, in_d, in_h, in_w, fil_d, fil_h, fil_w, out_d, out_h, out_w;
    int pad_d, pad_h, pad_w, stride_d, stride_h, stride_w, dilation_d, dilation_h, dilation_w;
};

DEVICE float fold(const struct shape *s, GLOBAL const float *col, int n, int c, int d, int h, int w)
{
    int filter = s->fil_d * s->fil_h * s->fil_w;
    float sum = 0;
    for (int fd = 0; fd < s->fil_d; fd++) {
        int od = source_of(d, fd, s->out_d, s->pad_d, s->stride_d, s->dilation_d);
        if (od < 0)
            continue;
        for (int fh = 0; fh < s->fil_h; fh++) {
            int oh = source_of(h, fh, s->out_h, s->pad_h, s->stride_h, s->dilation_h);
            if (oh < 0)
                continue;
            for (int fw = 0; fw < s->fil_w; fw++) {
                int ow = source_of(w, fw, s->out_w, s->pad_w, s->stride_w, s->dilation_w);
                i64 f = (fd * s->fil_h + fh) * s->fil_w + fw;
                i64 o = ((n * (i64)s->out_d + od) * s->out_h + oh) * s->out_w + ow;
                if (ow < 0)
                    continue;
#if BY_TERM
                sum += col[(o * filter + f) * s->c_count + c];
#else
                sum += col[(c * (i64)filter + f) * s->n_count * s->out_d * s->out_h * s->out_w + o];
#endif
            }
        }
    }
    return sum;
}

KERNEL(64, 1, 1)
conv_col2im(GLOBAL const float *RESTRICT col, GLOBAL STORAGE(TYPE_X) *RESTRICT x, i64 x_n, i64 x_c,
            i64 x_d, i64 x_h, i64 x_w, int c_count, int n_count, int in_d, int in_h, int in_w,
            int fil_d, int fil_h, int fil_w, int out_d, int out_h, int out_w, int pad_d, int pad_h,
            int pad_w, int stride_d, int stride_h, int stride_w, int dilation_d, int dilation_h,
            int dilation_w, i64 items EPILOGUE_PARAMETERS)
{
    struct shape s = {c_count,  n_count,  in_d,     in_h,       in_w,       fil_d,     fil_h,
                      fil_w,    out_d,    out_h,    out_w,      pad_d,      pad_h,     pad_w,
                      stride_d, stride_h, stride_w, dilation_d, dilation_h, dilation_w};
    i64 count = (i64)n_count * c_count * in_d * in_h * in_w;
    for (i64 at = (i64)GROUP_ID(0) * 64 + (i64)LOCAL_ID(0); at < count; at += items) {
        i64 rest = at;
        int c, d, h, w;
#if BY_TERM
        c = take_long(&rest, c_count);
#endif
        w = take_long(&rest, in_w);
        h = take_long(&rest, in_h);
        d = take_long(&rest, in_d);
#if !BY_TERM
        c = take_long(&rest, c_count);
#endif
        EPILOGUE_STORE(TYPE_X, x, rest * x_n + c * x_c + d * x_d + h * x_h + w * x_w,
                       fold(&s, col, (int)rest, c, d, h, w), c);
    }
}
