/*
 * The plain convolution in its three directions: a work-item for each output element, every stride an argument.
 * It serves problems that no other solver serves, and the results and speed of other kernels are compared with it, so
 * it is kept simple.
 *
 * Options: TYPE_X, TYPE_W, TYPE_Y are the stored types, ACC the sum's type, BLOCK_X, BLOCK_W, BLOCK_Y the
 * layouts' channel blocks (1 where channels are not blocked). CAST_X, CAST_W, CAST_Y are the types to which an input's
 * elements are rounded before they are multiplied, where they are. ROUND_SUM: a floating sum is
 * rounded to an integer output, to nearest, ties to even, within the output's range. DIRECTION_F, DIRECTION_B or DIRECTION_W chooses the
 * one entry that is compiled.
 */
#include "coordinates.h"
#include "float8.h"
#include "epilogue.h"

#define ROUNDED(type, value) DIALECT_JOIN(from_, type)(EPILOGUE_ROUND(type, value))
#ifdef CAST_X
#define LOAD_X(at) ((ACC)ROUNDED(CAST_X, (float)LOAD(TYPE_X, x, at)))
#else
#define LOAD_X(at) ((ACC)LOAD(TYPE_X, x, at))
#endif
#ifdef CAST_W
#define LOAD_W(at) ((ACC)ROUNDED(CAST_W, (float)LOAD(TYPE_W, w, at)))
#else
#define LOAD_W(at) ((ACC)LOAD(TYPE_W, w, at))
#endif
#ifdef CAST_Y
#define LOAD_Y(at) ((ACC)ROUNDED(CAST_Y, (float)LOAD(TYPE_Y, y, at)))
#else
#define LOAD_Y(at) ((ACC)LOAD(TYPE_Y, y, at))
#endif

/* An integer within the range of INT8. */
#define to_INT8(value) ((signed char)((value) > 127 ? 127 : (value) < -128 ? -128 : (value)))

#ifdef ROUND_SUM

/* ACC may be double, whose INT32 a float does not hold. */
DEVICE int rounded_sum(ACC sum)
{
    ACC rest;
    int whole;
    if (sum != sum)
        return 0;
    if (sum >= (ACC)2147483647)
        return 2147483647;
    if (sum <= -(ACC)2147483647 - 1)
        return -2147483647 - 1;
    whole = (int)sum;
    rest = sum - (ACC)whole;
    if (rest > (ACC)0.5 || (rest == (ACC)0.5 && (whole & 1)))
        return whole + 1;
    if (rest < -(ACC)0.5 || (rest == -(ACC)0.5 && (whole & 1)))
        return whole - 1;
    return whole;
}

#define STORE_SUM(type, pointer, index, sum, channel) STORE(type, pointer, index, rounded_sum(sum))
#else
#define STORE_SUM(type, pointer, index, sum, channel)                                              \
    EPILOGUE_STORE(type, pointer, index, sum, channel)
#endif

#define PARAMETERS                                                                                 \
    GLOBAL STORAGE(TYPE_X) * x, GLOBAL STORAGE(TYPE_W) * w, GLOBAL STORAGE(TYPE_Y) * y, i64 x_n,   \
        i64 x_c, i64 x_d, i64 x_h, i64 x_w, i64 w_k, i64 w_c, i64 w_d, i64 w_h, i64 w_w, i64 y_n,  \
        i64 y_k, i64 y_d, i64 y_h, i64 y_w, int n_count, int groups, int c_count, int k_count,     \
        int in_d, int in_h, int in_w, int fil_d, int fil_h, int fil_w, int out_d, int out_h,       \
        int out_w, int pad_d, int pad_h, int pad_w, int stride_d, int stride_h, int stride_w,      \
        int dilation_d, int dilation_h, int dilation_w EPILOGUE_PARAMETERS

#define FLAT_ID ((i64)GROUP_ID(0) * 64 + (i64)LOCAL_ID(0))

#ifdef DIRECTION_F

/* y[n][k][o] = sum over c and the filter of x[n][c][o*stride - pad + f*dilation] * w[k][c][f] */
KERNEL(64, 1, 1) conv_naive_f(PARAMETERS)
{
    i64 rest = FLAT_ID;
    int ow = take_long(&rest, out_w);
    int oh = take_long(&rest, out_h);
    int od = take_long(&rest, out_d);
    int k = take_long(&rest, k_count * groups);
    int first_c = k / k_count * c_count;
    ACC sum = 0;
    if (rest >= n_count)
        return;
    for (int fd = 0; fd < fil_d; fd++) {
        int id = od * stride_d - pad_d + fd * dilation_d;
        if (id < 0 || id >= in_d)
            continue;
        for (int fh = 0; fh < fil_h; fh++) {
            int ih = oh * stride_h - pad_h + fh * dilation_h;
            if (ih < 0 || ih >= in_h)
                continue;
            for (int fw = 0; fw < fil_w; fw++) {
                int iw = ow * stride_w - pad_w + fw * dilation_w;
                i64 x_at = rest * x_n + id * x_d + ih * x_h + iw * x_w;
                i64 w_at = k * w_k + fd * w_d + fh * w_h + fw * w_w;
                if (iw < 0 || iw >= in_w)
                    continue;
                for (int c = 0; c < c_count; c++)
                    sum += LOAD_X(x_at + channel_offset(first_c + c, BLOCK_X, x_c)) *
                           LOAD_W(w_at + channel_offset(c, BLOCK_W, w_c));
            }
        }
    }
    STORE_SUM(TYPE_Y, y,
              rest * y_n + channel_offset(k, BLOCK_Y, y_k) + od * y_d + oh * y_h + ow * y_w,
              sum, k);
}

#endif

#ifdef DIRECTION_B

/* x[n][c][i] = sum over k and the filter of y[n][k][o] * w[k][c][f] where o reads i through f */
KERNEL(64, 1, 1) conv_naive_b(PARAMETERS)
{
    i64 rest = FLAT_ID;
    int iw = take_long(&rest, in_w);
    int ih = take_long(&rest, in_h);
    int id = take_long(&rest, in_d);
    int c = take_long(&rest, c_count * groups);
    int first_k = c / c_count * k_count;
    ACC sum = 0;
    if (rest >= n_count)
        return;
    for (int fd = 0; fd < fil_d; fd++) {
        int od = source_of(id, fd, out_d, pad_d, stride_d, dilation_d);
        if (od < 0)
            continue;
        for (int fh = 0; fh < fil_h; fh++) {
            int oh = source_of(ih, fh, out_h, pad_h, stride_h, dilation_h);
            if (oh < 0)
                continue;
            for (int fw = 0; fw < fil_w; fw++) {
                int ow = source_of(iw, fw, out_w, pad_w, stride_w, dilation_w);
                i64 y_at = rest * y_n + od * y_d + oh * y_h + ow * y_w;
                i64 w_at = channel_offset(c % c_count, BLOCK_W, w_c) + fd * w_d + fh * w_h +
                           fw * w_w;
                if (ow < 0)
                    continue;
                for (int k = first_k; k < first_k + k_count; k++)
                    sum += LOAD_Y(y_at + channel_offset(k, BLOCK_Y, y_k)) * LOAD_W(w_at + k * w_k);
            }
        }
    }
    STORE_SUM(TYPE_X, x,
              rest * x_n + channel_offset(c, BLOCK_X, x_c) + id * x_d + ih * x_h + iw * x_w,
              sum, c);
}

#endif
#ifdef DIRECTION_W

/* w[k][c][f] = sum over n and the outputs of y[n][k][o] * x[n][c][o*stride - pad + f*dilation] */
KERNEL(64, 1, 1) conv_naive_w(PARAMETERS)
{
    i64 k = FLAT_ID;
    int fw = take_long(&k, fil_w);
    int fh = take_long(&k, fil_h);
    int fd = take_long(&k, fil_d);
    int c = take_long(&k, c_count);
    ACC sum = 0;
    if (k >= k_count * groups)
        return;
    for (int n = 0; n < n_count; n++) {
        i64 x_at = n * x_n + channel_offset((int)k / k_count * c_count + c, BLOCK_X, x_c);
        i64 y_at = n * y_n + channel_offset((int)k, BLOCK_Y, y_k);
        for (int od = 0; od < out_d; od++) {
            int id = od * stride_d - pad_d + fd * dilation_d;
            if (id < 0 || id >= in_d)
                continue;
            for (int oh = 0; oh < out_h; oh++) {
                int ih = oh * stride_h - pad_h + fh * dilation_h;
                if (ih < 0 || ih >= in_h)
                    continue;
                for (int ow = 0; ow < out_w; ow++) {
                    int iw = ow * stride_w - pad_w + fw * dilation_w;
                    if (iw < 0 || iw >= in_w)
                        continue;
                    sum += LOAD_X(x_at + id * x_d + ih * x_h + iw * x_w) *
                           LOAD_Y(y_at + od * y_d + oh * y_h + ow * y_w);
                }
            }
        }
    }
    STORE_SUM(TYPE_W, w,
              k * w_k + channel_offset(c, BLOCK_W, w_c) + fd * w_d + fh * w_h + fw * w_w, sum, k);
}

#endif
