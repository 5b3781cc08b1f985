/*
 * Verifies results on the device: makes random inputs (the same numbers as worker/verify/random.h), computes
 * the reference in FP64 with each element's magnitude (reference.h), and compares outputs (verify.h). Types,
 * layouts and shapes are arguments: one object serves all problems of a target. Elements are counted in logical
 * order, N C D H W.
 *
 * Types are numbered as in worker/verify/judge.c: 0 FP32, 1 FP16, 2 BF16, 3 INT8, 4 INT32, 5 FP64.
 */
#include "coordinates.h"

/* An unsigned type of 64 bits in HIP, CUDA and OpenCL C. */
typedef unsigned long u64;

#define ITEMS   256
#define FLAT_ID ((i64)GROUP_ID(0) * ITEMS + (i64)LOCAL_ID(0))

DEVICE double load_any(int type, GLOBAL const unsigned char *data, i64 at)
{
    switch (type) {
    case 0: return LOAD(FP32, (GLOBAL const storage_FP32 *)data, at);
    case 1: return LOAD(FP16, (GLOBAL const storage_FP16 *)data, at);
    case 2: return LOAD(BF16, (GLOBAL const storage_BF16 *)data, at);
    case 3: return LOAD(INT8, (GLOBAL const storage_INT8 *)data, at);
    case 4: return ((GLOBAL const storage_INT32 *)data)[at];
    default: return LOAD(FP64, (GLOBAL const storage_FP64 *)data, at);
    }
}

DEVICE void store_any(int type, GLOBAL unsigned char *data, i64 at, double value)
{
    switch (type) {
    case 0: STORE(FP32, (GLOBAL storage_FP32 *)data, at, value); return;
    case 1: STORE(FP16, (GLOBAL storage_FP16 *)data, at, (float)value); return;
    case 2: STORE(BF16, (GLOBAL storage_BF16 *)data, at, (float)value); return;
    case 3: ((GLOBAL storage_INT8 *)data)[at] = (storage_INT8)(int)value; return;
    case 4: STORE(INT32, (GLOBAL storage_INT32 *)data, at, value); return;
    default: STORE(FP64, (GLOBAL storage_FP64 *)data, at, value); return;
    }
}

/* Arguments that describe a tensor: data type, channel block, sizes without N, strides. */
#define TENSOR                                                                                     \
    int type, int block, int c_count, int d_count, int h_count, int w_count, i64 n_stride,         \
        i64 c_stride, i64 d_stride, i64 h_stride, i64 w_stride
#define TENSOR_OFFSET(index)                                                                       \
    offset_of(index, block, c_count, d_count, h_count, w_count, n_stride, c_stride, d_stride,      \
              h_stride, w_stride)

DEVICE i64 offset_of(i64 index, int block, int c_count, int d_count, int h_count, int w_count,
                     i64 n_stride, i64 c_stride, i64 d_stride, i64 h_stride, i64 w_stride)
{
    int w = take_long(&index, w_count);
    int h = take_long(&index, h_count);
    int d = take_long(&index, d_count);
    int c = take_long(&index, c_count);
    return index * n_stride + channel_offset(c, block, c_stride) + d * d_stride + h * h_stride +
           w * w_stride;
}

/* ---- inputs ---- */

DEVICE u64 random_bits(u64 seed, u64 index)
{
    u64 z = seed + (index + 1) * 0x9e3779b97f4a7c15ul;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ul;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebul;
    return z ^ (z >> 31);
}

/* The random number of a data type that 64 random bits give. Every step is exact in floating point, so that
 * compilers that fuse operations give the same value. */
DEVICE double random_value(int type, u64 bits)
{
    double sign = (bits & 1) != 0 ? -1 : 1;
    double high = (double)(unsigned int)(bits >> 32);
    if (type == 3 || type == 4)
        return sign * (double)(1 + (int)((bits >> 32) % 8));
    return sign * (0.25 + 0.75 * (high / 4294967296.0));
}

KERNEL(ITEMS, 1, 1) judge_random(GLOBAL unsigned char *data, i64 count, i64 seed, TENSOR)
{
    i64 i = FLAT_ID;
    if (i < count)
        store_any(type, data, TENSOR_OFFSET(i), random_value(type, random_bits((u64)seed, (u64)i)));
}

/* ---- the reference ---- */

#define ADD_PRODUCT(x_at, w_or_y, at)                                                              \
    do {                                                                                           \
        double product = (x_at) * load_any(type_##w_or_y, w_or_y, at);                             \
        sum += product;                                                                            \
        size += product < 0 ? -product : product;                                                  \
    } while (0)

/* Computes the reference. Each element's sum is divided into `parts` parts, so that W's long sums use many
 * work-items; with one part a work-item computes the whole element. */
KERNEL(ITEMS, 1, 1)
judge_reference(GLOBAL const unsigned char *x, GLOBAL const unsigned char *w,
                GLOBAL const unsigned char *y, GLOBAL double *value, GLOBAL float *magnitude,
                i64 count, int parts, int direction, int type_x, int type_w, int type_y,
                int block_x, int block_w, int block_y, i64 x_n, i64 x_c, i64 x_d, i64 x_h, i64 x_w,
                i64 w_k, i64 w_c, i64 w_d, i64 w_h, i64 w_w, i64 y_n, i64 y_k, i64 y_d, i64 y_h,
                i64 y_w, int n_count, int groups, int c_count, int k_count, int in_d, int in_h,
                int in_w, int fil_d, int fil_h, int fil_w, int out_d, int out_h, int out_w,
                int pad_d, int pad_h, int pad_w, int stride_d, int stride_h, int stride_w,
                int dilation_d, int dilation_h, int dilation_w)
{
    i64 place = FLAT_ID;
    i64 part = place / count;
    i64 rest = place % count;
    double sum = 0, size = 0;
    if (part >= parts)
        return;
    if (direction == 0) { /* y[n][k][o], over c and the filter */
        int ow = take_long(&rest, out_w);
        int oh = take_long(&rest, out_h);
        int od = take_long(&rest, out_d);
        int k = take_long(&rest, k_count * groups);
        int first_c = k / k_count * c_count;
        for (int f = 0; f < fil_d * fil_h * fil_w; f++) {
            int left = f;
            int fw = take(&left, fil_w);
            int fh = take(&left, fil_h);
            int id = od * stride_d - pad_d + left * dilation_d;
            int ih = oh * stride_h - pad_h + fh * dilation_h;
            int iw = ow * stride_w - pad_w + fw * dilation_w;
            i64 x_at = rest * x_n + id * x_d + ih * x_h + iw * x_w;
            i64 w_at = k * w_k + left * w_d + fh * w_h + fw * w_w;
            if (id < 0 || id >= in_d || ih < 0 || ih >= in_h || iw < 0 || iw >= in_w)
                continue;
            for (int c = 0; c < c_count; c++)
                ADD_PRODUCT(load_any(type_x, x, x_at + channel_offset(first_c + c, block_x, x_c)),
                            w, w_at + channel_offset(c, block_w, w_c));
        }
    } else if (direction == 1) { /* x[n][c][i], over k and the filter */
        int iw = take_long(&rest, in_w);
        int ih = take_long(&rest, in_h);
        int id = take_long(&rest, in_d);
        int c = take_long(&rest, c_count * groups);
        int first_k = c / c_count * k_count;
        for (int f = 0; f < fil_d * fil_h * fil_w; f++) {
            int left = f;
            int fw = take(&left, fil_w);
            int fh = take(&left, fil_h);
            int od = source_of(id, left, out_d, pad_d, stride_d, dilation_d);
            int oh = source_of(ih, fh, out_h, pad_h, stride_h, dilation_h);
            int ow = source_of(iw, fw, out_w, pad_w, stride_w, dilation_w);
            i64 y_at = rest * y_n + od * y_d + oh * y_h + ow * y_w;
            i64 w_at = channel_offset(c % c_count, block_w, w_c) + left * w_d + fh * w_h + fw * w_w;
            if (od < 0 || oh < 0 || ow < 0)
                continue;
            for (int k = first_k; k < first_k + k_count; k++)
                ADD_PRODUCT(load_any(type_y, y, y_at + channel_offset(k, block_y, y_k)), w,
                            w_at + k * w_k);
        }
    } else { /* w[k][c][f], over n and the outputs */
        int fw = take_long(&rest, fil_w);
        int fh = take_long(&rest, fil_h);
        int fd = take_long(&rest, fil_d);
        int c = take_long(&rest, c_count);
        i64 x_from = channel_offset((int)rest / k_count * c_count + c, block_x, x_c);
        i64 y_from = channel_offset((int)rest, block_y, y_k);
        for (i64 line = part; line < (i64)n_count * out_d * out_h; line += parts) {
            i64 n = line;
            int oh = take_long(&n, out_h);
            int od = take_long(&n, out_d);
            int id = od * stride_d - pad_d + fd * dilation_d;
            int ih = oh * stride_h - pad_h + fh * dilation_h;
            i64 x_at = x_from + n * x_n + id * x_d + ih * x_h;
            i64 y_at = y_from + n * y_n + od * y_d + oh * y_h;
            if (id < 0 || id >= in_d || ih < 0 || ih >= in_h)
                continue;
            for (int ow = 0; ow < out_w; ow++) {
                int iw = ow * stride_w - pad_w + fw * dilation_w;
                if (iw < 0 || iw >= in_w)
                    continue;
                ADD_PRODUCT(load_any(type_x, x, x_at + iw * x_w), y, y_at + ow * y_w);
            }
        }
    }
    value[place] = sum;
    magnitude[place] = (float)size;
}

/* Adds the other parts of the reference to the first one. Each workgroup also stores the largest magnitude among its
 * elements. */
KERNEL(ITEMS, 1, 1)
judge_join(GLOBAL double *value, GLOBAL float *magnitude, GLOBAL float *largest, i64 count,
           int parts, int group_count)
{
    LOCAL_ARRAY float found[ITEMS];
    float most = 0;
    for (i64 i = FLAT_ID; i < count; i += (i64)group_count * ITEMS) {
        double sum = value[i], size = magnitude[i];
        for (int part = 1; part < parts; part++) {
            sum += value[part * count + i];
            size += magnitude[part * count + i];
        }
        value[i] = sum;
        magnitude[i] = (float)size;
        most = (float)size > most ? (float)size : most;
    }
    found[LOCAL_ID(0)] = most;
    BARRIER();
    if (LOCAL_ID(0) == 0) {
        for (int i = 1; i < ITEMS; i++)
            most = found[i] > most ? found[i] : most;
        largest[GROUP_ID(0)] = most;
    }
}

/* ---- the comparison ---- */

/* Stores for each group: the elements compared, how many are wrong, and the largest error over its tolerance (1e300
 * for NaN). tensor_wide: the magnitude by which all elements' tolerance is computed, negative to use each element's
 * own; exact: no error is allowed. */
KERNEL(ITEMS, 1, 1)
judge_compare(GLOBAL const unsigned char *got, GLOBAL const double *value,
              GLOBAL const float *magnitude, GLOBAL double *ratios, GLOBAL i64 *looks,
              GLOBAL i64 *wrongs, i64 count, int group_count, int exact, double tensor_wide,
              double per_magnitude, double per_value, double smallest, TENSOR)
{
    LOCAL_ARRAY double ratio_of[ITEMS];
    LOCAL_ARRAY i64 looks_of[ITEMS];
    LOCAL_ARRAY i64 wrong_of[ITEMS];
    double worst = 0;
    i64 looked = 0, wrong = 0;
    for (i64 i = FLAT_ID; i < count; i += (i64)group_count * ITEMS) {
        double result = load_any(type, got, TENSOR_OFFSET(i));
        double expected = value[i];
        double size = tensor_wide < 0 ? magnitude[i] : tensor_wide;
        double allowed = exact ? 0 : per_magnitude * size + smallest +
                                         per_value * (expected < 0 ? -expected : expected);
        double ratio = result - expected;
        ratio = ratio < 0 ? -ratio : ratio;
        ratio = allowed > 0 ? ratio / allowed : ratio;
        if (!(ratio <= 1e300))
            ratio = 1e300;
        wrong += exact ? ratio != 0 : ratio > 1;
        worst = ratio > worst ? ratio : worst;
        looked++;
    }
    ratio_of[LOCAL_ID(0)] = worst;
    looks_of[LOCAL_ID(0)] = looked;
    wrong_of[LOCAL_ID(0)] = wrong;
    BARRIER();
    if (LOCAL_ID(0) == 0) {
        for (int i = 1; i < ITEMS; i++) {
            looked += looks_of[i];
            wrong += wrong_of[i];
            worst = ratio_of[i] > worst ? ratio_of[i] : worst;
        }
        ratios[GROUP_ID(0)] = worst;
        looks[GROUP_ID(0)] = looked;
        wrongs[GROUP_ID(0)] = wrong;
    }
}
