/*
 * Verifies results on the device: makes random inputs (the same numbers as worker/verify/random.h), computes
 * the reference in FP64 with each element's magnitude (reference.h), does the epilogue (epilogue_bound.h), and compares
 * outputs (verify.h). Types, layouts and shapes are arguments: one object serves all problems of a target. Elements are
 * counted in logical order, N C D H W.
 *
 * Types are numbered as in worker/verify/judge_launch.c: 0 FP32, 1 FP16, 2 BF16, 3 INT8, 4 INT32, 5 FP64, 6 FP8, 7 BF8,
 * the last two in the target's form (float8.h).
 */
#include "coordinates.h"
#include "float8.h"
#include "epilogue.h"

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
    case 6: return LOAD(FP8, (GLOBAL const storage_FP8 *)data, at);
    case 7: return LOAD(BF8, (GLOBAL const storage_BF8 *)data, at);
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
    case 6: STORE(FP8, (GLOBAL storage_FP8 *)data, at, (float)value); return;
    case 7: STORE(BF8, (GLOBAL storage_BF8 *)data, at, (float)value); return;
    default: STORE(FP64, (GLOBAL storage_FP64 *)data, at, value); return;
    }
}

/* The value rounded to a type. cast: -1 for none. */
DEVICE double cast_any(int cast, double value)
{
    switch (cast) {
    case 0: return (float)value;
    case 1: return from_FP16(to_FP16((float)value));
    case 2: return from_BF16(to_BF16((float)value));
    case 3: return epilogue_round_INT8((float)value);
    case 4: return epilogue_round_INT32((float)value);
    case 6: return from_FP8(to_FP8((float)value));
    case 7: return from_BF8(to_BF8((float)value));
    default: return value;
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
DEVICE double random_value(int type, u64 bits, int positive, int whole, double scale, i64 range)
{
    double sign = (bits & 1) != 0 && !positive ? -1 : 1;
    double high = (double)(unsigned int)(bits >> 32);
    if (range == 0)
        return 0;
    if (type == 3 || type == 4 || whole)
        return sign * (double)(1 + (int)((i64)(bits >> 32) % range));
    return sign * (0.25 + 0.75 * (high / 4294967296.0)) * scale;
}

/* `last`: by which the last element is multiplied. */
KERNEL(ITEMS, 1, 1)
judge_random(GLOBAL unsigned char *data, i64 count, i64 seed, int positive, int whole, double scale,
             i64 range, double last, TENSOR)
{
    i64 i = FLAT_ID;
    if (i < count) {
        double value = random_value(type, random_bits((u64)seed, (u64)i), positive, whole, scale, range);
        store_any(type, data, TENSOR_OFFSET(i), i == count - 1 ? value * last : value);
    }
}

/* ---- the reference ---- */

/* A work-item computes so many of the output's channels: each element of an input that they share is read once. */
#define BLOCK 8

/* Adds to each channel's sum the product of `shared` and the channel's own factor at `at`, in which i is the
 * channel. */
#define ADD_PRODUCTS(shared, shared_cast, type, cast, data, at)                                    \
    do {                                                                                           \
        double factor = cast_any(shared_cast, shared);                                             \
        for (int i = 0; i < BLOCK; i++) {                                                          \
            if (i < live) {                                                                        \
                double product = factor * cast_any(cast, load_any(type, data, at));                \
                sum[i] += product;                                                                 \
                size[i] += product < 0 ? -product : product;                                       \
            }                                                                                      \
        }                                                                                          \
    } while (0)

/* Computes the reference of a convolution. `items` work-items compute all elements; each element's sum is divided into
 * `parts` parts, so that W's long sums use many work-items. rows: blocks of channels in a group. */
KERNEL(ITEMS, 1, 1)
judge_reference(GLOBAL const unsigned char *x, GLOBAL const unsigned char *w,
                GLOBAL const unsigned char *y, GLOBAL double *value, GLOBAL float *magnitude,
                i64 count, i64 items, int rows, int parts, int direction, int type_x, int type_w,
                int type_y, int cast_x, int cast_w, int cast_y, int block_x, int block_w, int block_y, i64 x_n, i64 x_c, i64 x_d,
                i64 x_h, i64 x_w, i64 w_k, i64 w_c, i64 w_d, i64 w_h, i64 w_w, i64 y_n, i64 y_k,
                i64 y_d, i64 y_h, i64 y_w, int n_count, int groups, int c_count, int k_count,
                int in_d, int in_h, int in_w, int fil_d, int fil_h, int fil_w, int out_d,
                int out_h, int out_w, int pad_d, int pad_h, int pad_w, int stride_d, int stride_h,
                int stride_w, int dilation_d, int dilation_h, int dilation_w)
{
    i64 part = FLAT_ID / items;
    i64 rest = FLAT_ID % items;
    i64 first, step; /* of the block's elements in the output */
    int live;        /* channels in the block */
    double sum[BLOCK], size[BLOCK];
    if (part >= parts)
        return;
    for (int i = 0; i < BLOCK; i++) {
        sum[i] = 0;
        size[i] = 0;
    }
    if (direction == 0) { /* y[n][k][o], over c and the filter */
        int ow = take_long(&rest, out_w);
        int oh = take_long(&rest, out_h);
        int od = take_long(&rest, out_d);
        int row = take_long(&rest, rows);
        int group = take_long(&rest, groups);
        int first_c = group * c_count;
        int first_k = group * k_count + row * BLOCK;
        step = (i64)out_d * out_h * out_w;
        first = (rest * groups * k_count + first_k) * step + ((i64)od * out_h + oh) * out_w + ow;
        live = k_count - row * BLOCK;
        for (int f = 0; f < fil_d * fil_h * fil_w; f++) {
            int left = f;
            int fw = take(&left, fil_w);
            int fh = take(&left, fil_h);
            int id = od * stride_d - pad_d + left * dilation_d;
            int ih = oh * stride_h - pad_h + fh * dilation_h;
            int iw = ow * stride_w - pad_w + fw * dilation_w;
            i64 x_at = rest * x_n + id * x_d + ih * x_h + iw * x_w;
            i64 w_from = first_k * w_k + left * w_d + fh * w_h + fw * w_w;
            if (id < 0 || id >= in_d || ih < 0 || ih >= in_h || iw < 0 || iw >= in_w)
                continue;
            for (int c = 0; c < c_count; c++) {
                i64 w_at = w_from + channel_offset(c, block_w, w_c);
                ADD_PRODUCTS(load_any(type_x, x, x_at + channel_offset(first_c + c, block_x, x_c)),
                             cast_x, type_w, cast_w, w, w_at + i * w_k);
            }
        }
    } else if (direction == 1) { /* x[n][c][i], over k and the filter */
        int iw = take_long(&rest, in_w);
        int ih = take_long(&rest, in_h);
        int id = take_long(&rest, in_d);
        int row = take_long(&rest, rows);
        int group = take_long(&rest, groups);
        int first_c = row * BLOCK;
        int first_k = group * k_count;
        step = (i64)in_d * in_h * in_w;
        first = ((rest * groups + group) * c_count + first_c) * step +
                ((i64)id * in_h + ih) * in_w + iw;
        live = c_count - first_c;
        for (int f = 0; f < fil_d * fil_h * fil_w; f++) {
            int left = f;
            int fw = take(&left, fil_w);
            int fh = take(&left, fil_h);
            int od = source_of(id, left, out_d, pad_d, stride_d, dilation_d);
            int oh = source_of(ih, fh, out_h, pad_h, stride_h, dilation_h);
            int ow = source_of(iw, fw, out_w, pad_w, stride_w, dilation_w);
            i64 y_at = rest * y_n + od * y_d + oh * y_h + ow * y_w;
            i64 w_from = left * w_d + fh * w_h + fw * w_w;
            if (od < 0 || oh < 0 || ow < 0)
                continue;
            for (int k = first_k; k < first_k + k_count; k++)
                ADD_PRODUCTS(load_any(type_y, y, y_at + channel_offset(k, block_y, y_k)), cast_y,
                             type_w, cast_w, w,
                             w_from + k * w_k + channel_offset(first_c + i, block_w, w_c));
        }
    } else { /* w[k][c][f], over n and the outputs */
        int fw = take_long(&rest, fil_w);
        int fh = take_long(&rest, fil_h);
        int fd = take_long(&rest, fil_d);
        int c = take_long(&rest, c_count);
        int row = take_long(&rest, rows);
        int first_k = (int)rest * k_count + row * BLOCK;
        i64 x_from = channel_offset((int)rest * c_count + c, block_x, x_c);
        step = (i64)c_count * fil_d * fil_h * fil_w;
        first = first_k * step + (((i64)c * fil_d + fd) * fil_h + fh) * fil_w + fw;
        live = k_count - row * BLOCK;
        for (i64 line = part; line < (i64)n_count * out_d * out_h; line += parts) {
            i64 n = line;
            int oh = take_long(&n, out_h);
            int od = take_long(&n, out_d);
            int id = od * stride_d - pad_d + fd * dilation_d;
            int ih = oh * stride_h - pad_h + fh * dilation_h;
            i64 x_at = x_from + n * x_n + id * x_d + ih * x_h;
            i64 y_from = n * y_n + od * y_d + oh * y_h;
            if (id < 0 || id >= in_d || ih < 0 || ih >= in_h)
                continue;
            for (int ow = 0; ow < out_w; ow++) {
                int iw = ow * stride_w - pad_w + fw * dilation_w;
                i64 y_at = y_from + ow * y_w;
                if (iw < 0 || iw >= in_w)
                    continue;
                ADD_PRODUCTS(load_any(type_x, x, x_at + iw * x_w), cast_x, type_y, cast_y, y,
                             y_at + channel_offset(first_k + i, block_y, y_k));
            }
        }
    }
    for (int i = 0; i < BLOCK; i++) {
        if (i < live) {
            value[part * count + first + i * step] = sum[i];
            magnitude[part * count + first + i * step] = (float)size[i];
        }
    }
}

/* Gathers the elements that the host computes, too: `runs` runs of `length` consecutive ones, the first and the last of
 * them and others drawn from the seed (judge_sample.c). with_epilogue: whether gain and slack hold numbers. */
KERNEL(ITEMS, 1, 1)
judge_sample(GLOBAL const double *value, GLOBAL const float *magnitude, GLOBAL const float *gain,
             GLOBAL const float *slack, GLOBAL double *sample, i64 count, i64 seed, int runs,
             int length, int with_epilogue)
{
    i64 i = FLAT_ID;
    if (i < (i64)runs * length) {
        i64 run = i / length, last = count - length;
        i64 at = run == 0 ? 0
                 : run == runs - 1
                     ? last
                     : (i64)(random_bits((u64)seed, (u64)run) % (u64)(last + 1));
        at += i % length;
        sample[4 * i] = value[at];
        sample[4 * i + 1] = magnitude[at];
        sample[4 * i + 2] = with_epilogue ? gain[at] : 1;
        sample[4 * i + 3] = with_epilogue ? slack[at] : 0;
    }
}

DEVICE double clamp_to(double v, double low, double high)
{
    return v < low ? low : v > high ? high : v;
}

#define FP8_LARGEST (FLOAT8_FNUZ ? 240.0 : 448.0)

/* The value within the range of a type that saturates; a NaN is 0 in integers. */
DEVICE double within_type(int type, double v)
{
    if ((type == 3 || type == 4) && v != v)
        return 0;
    if (type == 3)
        return clamp_to(v, -128, 127);
    if (type == 6)
        return clamp_to(v, -FP8_LARGEST, FP8_LARGEST);
    if (type == 7)
        return clamp_to(v, -57344, 57344);
    return type == 4 ? clamp_to(v, -2147483648.0, 2147483647.0) : v;
}

/* Adds the other parts of the reference to the first one. type: -1, or the output's, to whose range values then keep. Each workgroup also stores the largest magnitude among its
 * elements. */
KERNEL(ITEMS, 1, 1)
judge_join(GLOBAL double *value, GLOBAL float *magnitude, GLOBAL float *largest, i64 count,
           int parts, int group_count, int type)
{
    LOCAL_ARRAY float found[ITEMS];
    float most = 0;
    for (i64 i = FLAT_ID; i < count; i += (i64)group_count * ITEMS) {
        double sum = value[i], size = magnitude[i];
        for (int part = 1; part < parts; part++) {
            sum += value[part * count + i];
            size += magnitude[part * count + i];
        }
        value[i] = within_type(type, sum);
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

/* ---- functions in FP64 ---- */

#define INFINITE    (1e308 * 1e308)
#define FLOAT_MOST  3.4028234663852886e38
#define SIGN_SHARE  0.00390625 /* as in epilogue_bound.c */
#define ERROR_SHARE 0.000244140625
#define TINY        3.944304526105059e-31 /* 2^-101 */

#if defined(__HIP__) || defined(__OPENCL_VERSION__)
#define ROOT(v) __builtin_sqrt(v)
#else
#define ROOT(v) sqrt(v)
#endif

/* Functions in FP64, good to about 1e-13, since not every compiler has a library of them. They share no code with
 * those that kernels use (epilogue.h). */

DEVICE double size_of(double v)
{
    return v < 0 ? -v : v;
}

union double_bits {
    double value;
    u64 bits;
};

/* 2^n for -1022 <= n <= 1023 */
DEVICE double power_of_2(int n)
{
    union double_bits u;
    u.bits = (u64)(n + 1023) << 52;
    return u.value;
}

/* exp(v) - 1 for |v| <= 1/2, by its Taylor series */
DEVICE double exp_near_0(double v)
{
    double sum = 0;
    for (int i = 17; i >= 1; i--)
        sum = (sum + 1) * v / i;
    return sum;
}

DEVICE double exp_of(double v)
{
    int n;
    if (v > 709)
        return INFINITE;
    if (v < -700)
        return 0;
    n = (int)(v * 1.4426950408889634 + (v < 0 ? -0.5 : 0.5));
    return (1 + exp_near_0(v - n * 0.6931471803691238 - n * 1.9082149292705877e-10)) *
           power_of_2(n);
}

DEVICE double expm1_of(double v)
{
    return size_of(v) <= 0.5 ? exp_near_0(v) : exp_of(v) - 1;
}

/* log(1 + v) for 0 <= v <= 1, as 2 atanh(v / (2 + v)) */
DEVICE double log1p_of(double v)
{
    double s = v / (2 + v), sum = 0;
    for (int i = 41; i >= 1; i -= 2)
        sum = sum * s * s + 1.0 / i;
    return 2 * s * sum;
}

DEVICE double sigmoid_of(double v)
{
    return v < 0 ? exp_of(v) / (1 + exp_of(v)) : 1 / (1 + exp_of(-v));
}

DEVICE double tanh_of(double v)
{
    double e = expm1_of(-2 * size_of(v)), result = -e / (2 + e);
    return v < 0 ? -result : result;
}

DEVICE double softplus_of(double v)
{
    return (v > 0 ? v : 0) + log1p_of(exp_of(-size_of(v)));
}

/* 1 - erf(v) for v from 2.5 on, by its continued fraction */
DEVICE double erfc_tail(double v)
{
    double tail = v;
    for (int i = 80; i >= 1; i--)
        tail = v + i * 0.5 / tail;
    return exp_of(-v * v) * 0.5641895835477563 / tail;
}

/* Below 2.5 the Taylor series. */
DEVICE double erf_of(double v)
{
    double a = size_of(v), term = a, sum = a, result;
    if (a < 2.5) {
        for (int i = 1; i < 60; i++) {
            term = -term * a * a / i;
            sum += term / (2 * i + 1);
        }
        result = sum * 1.1283791670955126;
    } else {
        result = 1 - erfc_tail(a);
    }
    return v < 0 ? -result : result;
}

/* 1 - erf(v), which is small for large v */
DEVICE double erfc_of(double v)
{
    return v < 2.5 ? 1 - erf_of(v) : erfc_tail(v);
}

/* ---- the references of the other operators ---- */

/* Operators are numbered as in enum op_kind. */
#define KIND_POOL    1
#define KIND_SOFTMAX 3
#define KIND_RESIZE  4
#define KIND_LRN     5
/* Modes of a pool, coordinates and roundings of a resize, as in judge_reference.c. */
#define POOL_MAX             0
#define POOL_AVERAGE_ALL     2
#define COORDINATES_SIMPLE   1 /* "asymmetric" */
#define COORDINATES_CORNERS  2 /* "align_corners" */
#define COORDINATES_PYTORCH  3 /* "pytorch_half_pixel" */
#define ROUNDING_FLOOR       0
#define ROUNDING_CEIL        1
#define ROUNDING_HALF_DOWN   2 /* "round_prefer_floor" */

/* The natural logarithm; -infinity below the smallest normal number, NaN below 0 */
DEVICE double log_of(double v)
{
    union double_bits u;
    int n;
    if (!(v >= 0))
        return INFINITE - INFINITE;
    if (v < 2.2250738585072014e-308)
        return -INFINITE;
    u.value = v;
    n = (int)(u.bits >> 52) - 1023;
    u.bits = (u.bits & 0xffffffffffffful) | (u64)1023 << 52;
    return n * 0.6931471803691238 + (n * 1.9082149292705877e-10 + log1p_of(u.value - 1));
}

DEVICE double larger_of(double a, double b)
{
    return a > b ? a : b;
}

DEVICE i64 divide_down(i64 a, i64 by)
{
    return a / by - (a % by < 0);
}

/* Where on an axis an output position of a resize takes its value: from `near`, and a share of it from `far`. */
struct taken {
    i64 near, far;
    double share;
};

/* The position in x is above / below, by the formulas of ONNX's Resize with a scale of out / in. */
DEVICE struct taken resize_from(int is_linear, int coordinates, int rounding, i64 position, i64 in,
                                i64 out)
{
    i64 above = (2 * position + 1) * in - out, below = 2 * out;
    struct taken taken;
    taken.share = 0;
    if (coordinates == COORDINATES_SIMPLE) {
        above = position * in;
        below = out;
    } else if (coordinates == COORDINATES_CORNERS) {
        above = out > 1 ? position * (in - 1) : 0;
        below = out > 1 ? out - 1 : 1;
    } else if (coordinates == COORDINATES_PYTORCH && out == 1) {
        above = 0;
    }
    if (is_linear || rounding == ROUNDING_FLOOR)
        taken.near = divide_down(above, below);
    else if (rounding == ROUNDING_CEIL)
        taken.near = -divide_down(-above, below);
    else if (rounding == ROUNDING_HALF_DOWN)
        taken.near = -divide_down(below - 2 * above, 2 * below);
    else
        taken.near = divide_down(2 * above + below, 2 * below);
    if (is_linear)
        taken.share = (double)(above - taken.near * below) / (double)below;
    taken.far = taken.near + 1;
    taken.near = taken.near < 0 ? 0 : taken.near < in ? taken.near : in - 1;
    taken.far = taken.far < 0 ? 0 : taken.far < in ? taken.far : in - 1;
    return taken;
}

#define X_AT(n, c, d, h, w)                                                                        \
    load_any(type, x,                                                                              \
             (n) * n_stride + channel_offset(c, block, c_stride) + (d) * d_stride +                \
                 (h) * h_stride + (w) * w_stride)

/* Computes the reference of an operator that is no convolution; TENSOR is x. A work-item computes an element, for
 * softmax the elements of all channels of a position. `items`: work-items that are needed. mode: of a pool, 1 for a
 * softmax's logarithm, 1 for a linear resize. Results are kept to least ... most. */
KERNEL(ITEMS, 1, 1)
judge_operator(GLOBAL const unsigned char *x, GLOBAL double *value, GLOBAL float *magnitude,
               i64 items, int kind, int mode, int coordinates, int rounding, double lrn_size,
               double lrn_alpha, double lrn_beta, double lrn_bias, double least, double most,
               TENSOR, int fil_d, int fil_h, int fil_w, int out_d, int out_h, int out_w, int pad_d,
               int pad_h, int pad_w, int stride_d, int stride_h, int stride_w, int dilation_d,
               int dilation_h, int dilation_w)
{
    i64 place = FLAT_ID, n = place;
    double result = 0, size = 0;
    if (place >= items)
        return;
    int w = take_long(&n, out_w);
    int h = take_long(&n, out_h);
    int d = take_long(&n, out_d);
    if (kind == KIND_SOFTMAX) {
        i64 positions = (i64)out_d * out_h * out_w;
        i64 first = n * (c_count - 1) * positions + place;
        double largest = -INFINITE, sum = 0;
        for (int c = 0; c < c_count; c++)
            largest = larger_of(X_AT(n, c, d, h, w), largest);
        for (int c = 0; c < c_count; c++)
            sum += exp_of(X_AT(n, c, d, h, w) - largest);
        for (int c = 0; c < c_count; c++) {
            double power = X_AT(n, c, d, h, w) - largest;
            result = mode ? power - log_of(sum) : exp_of(power) / sum;
            size = mode ? size_of(power) + log_of(sum) + 1 : result * (4 + size_of(power));
            value[first + c * positions] = clamp_to(result, least, most);
            magnitude[first + c * positions] = (float)size;
        }
        return;
    }
    int c = take_long(&n, c_count);
    if (kind == KIND_POOL) {
        double largest = -INFINITE, seen = 0;
        for (int f = 0; f < fil_d * fil_h * fil_w; f++) {
            int left = f;
            int fw = take(&left, fil_w);
            int fh = take(&left, fil_h);
            int id = d * stride_d - pad_d + left * dilation_d;
            int ih = h * stride_h - pad_h + fh * dilation_h;
            int iw = w * stride_w - pad_w + fw * dilation_w;
            if (id < 0 || id >= d_count || ih < 0 || ih >= h_count || iw < 0 || iw >= w_count)
                continue;
            double element = X_AT(n, c, id, ih, iw);
            largest = larger_of(element, largest);
            result += element;
            size += size_of(element);
            seen += 1;
        }
        if (mode == POOL_AVERAGE_ALL)
            seen = (double)fil_d * fil_h * fil_w;
        result = mode == POOL_MAX ? largest : result / seen;
        size = mode == POOL_MAX ? size_of(largest) : size / seen;
    } else if (kind == KIND_RESIZE) {
        struct taken along_d = resize_from(mode, coordinates, rounding, d, d_count, out_d);
        struct taken along_h = resize_from(mode, coordinates, rounding, h, h_count, out_h);
        struct taken along_w = resize_from(mode, coordinates, rounding, w, w_count, out_w);
        for (int corner = 0; corner < 8; corner++) {
            int far_d = corner & 1, far_h = corner & 2, far_w = corner & 4;
            double weight = (far_d ? along_d.share : 1 - along_d.share) *
                            (far_h ? along_h.share : 1 - along_h.share) *
                            (far_w ? along_w.share : 1 - along_w.share);
            if (weight == 0)
                continue;
            double element =
                X_AT(n, c, far_d ? along_d.far : along_d.near, far_h ? along_h.far : along_h.near,
                     far_w ? along_w.far : along_w.near);
            result += weight * element;
            size = larger_of(size_of(element), size);
        }
    } else if (kind == KIND_LRN) {
        i64 first = c - ((i64)lrn_size - 1) / 2, end = first + (i64)lrn_size;
        double element = X_AT(n, c, d, h, w), base = 0, power;
        for (int i = first < 0 ? 0 : (int)first; i < c_count && i < end; i++)
            base += X_AT(n, i, d, h, w) * X_AT(n, i, d, h, w);
        base = lrn_bias + lrn_alpha / lrn_size * base;
        power = log_of(base);
        result = element / exp_of(lrn_beta * power);
        size = size_of(result) * (4 + size_of(lrn_beta) * (4 + size_of(power)));
    } else {
        result = X_AT(n, c, d, h, w);
        size = size_of(result);
    }
    value[place] = result != result ? result : clamp_to(result, least, most);
    magnitude[place] = (float)size;
}

/* ---- the epilogue ---- */

DEVICE double step_value(int op, double a, double b, double v, double bias, double residual,
                         double scale)
{
    switch (op) {
    case EP_OP_BIAS: return v + bias;
    case EP_OP_SCALE:
    case EP_OP_REQUANT: return v * scale;
    case EP_OP_ADD: return v + residual;
    case EP_OP_SUB: return v - residual;
    case EP_OP_MUL: return v * residual;
    case EP_OP_DIV: return v / residual;
    case EP_OP_GREATER: return v > residual ? v : residual;
    case EP_OP_SMALLER: return v < residual ? v : residual;
    case EP_OP_RELU: return v < 0 ? 0 : v;
    case EP_OP_CLIP: return clamp_to(v, a, b);
    case EP_OP_LEAKY: return v < 0 ? a * v : v;
    case EP_OP_PRELU: return v < 0 ? scale * v : v;
    case EP_OP_ELU: return v < 0 ? a * expm1_of(v) : v;
    case EP_OP_AFFINE: return a * v + b;
    case EP_OP_HARDSIGMOID: return clamp_to(a * v + b, 0, 1);
    case EP_OP_SIGMOID: return sigmoid_of(v);
    case EP_OP_TANH: return tanh_of(v);
    case EP_OP_EXP: return exp_of(v);
    case EP_OP_SQRT: return ROOT(v);
    case EP_OP_ABS: return size_of(v);
    case EP_OP_ERF: return erf_of(v);
    case EP_OP_SILU: return v * sigmoid_of(v);
    case EP_OP_HARDSWISH: return v * clamp_to(v + 3, 0, 6) / 6;
    case EP_OP_SOFTPLUS: return softplus_of(v);
    case EP_OP_MISH: return v * tanh_of(softplus_of(v));
    case EP_OP_GELU: return v / 2 * erfc_of(v * -0.7071067811865476);
    default: return v;
    }
}

/* The steepness of functions that are flat far below zero (epilogue_bound.h). t: the step's input and its error. */
DEVICE double tail_or(int op, double t, double steepness)
{
    double bound;
    if (!(t < -1))
        return steepness;
    switch (op) {
    case EP_OP_SIGMOID:
    case EP_OP_SOFTPLUS: bound = exp_of(t); break;
    case EP_OP_GELU: bound = (0.5 - 0.4 * t) * exp_of(-t * t / 2); break;
    default: bound = (1 - t) * exp_of(t); break;
    }
    return bound < steepness ? bound : steepness;
}

/* |f'| of a step, from its result and what it reads (epilogue_bound.h). */
DEVICE double steepness_of(int op, double a, double t, double result, double residual, double scale)
{
    double most = size_of(a) > 1 ? size_of(a) : 1;
    switch (op) {
    case EP_OP_SCALE:
    case EP_OP_REQUANT: return size_of(scale);
    case EP_OP_MUL: return size_of(residual);
    case EP_OP_DIV: return size_of(1 / residual);
    case EP_OP_LEAKY:
    case EP_OP_ELU: return most;
    case EP_OP_PRELU: return size_of(scale) > 1 ? size_of(scale) : 1;
    case EP_OP_AFFINE:
    case EP_OP_HARDSIGMOID: return size_of(a);
    case EP_OP_SIGMOID: return tail_or(op, t, 0.25);
    case EP_OP_SOFTPLUS: return tail_or(op, t, 1);
    case EP_OP_EXP: return 1.25 * (result < FLOAT_MOST ? result : FLOAT_MOST);
    case EP_OP_SQRT: return 1 / result;
    case EP_OP_HARDSWISH: return 1.5;
    case EP_OP_MISH: return tail_or(op, t, 1.1);
    case EP_OP_ERF: return 1.13;
    case EP_OP_SILU:
    case EP_OP_GELU: return tail_or(op, t, 1.13);
    default: return 1;
    }
}

/* The most by which a step's own rounding is off, in judge_epilogue()'s `unit`. */
DEVICE double own_error_of(int op, double a, double b, double v, double result, double residual,
                           int residual_is_scaled, double steepness)
{
    double second = residual_is_scaled ? 2 * size_of(residual) : 0;
    double power = (v < 0 ? 16 - 4 * v : 16) * size_of(result);
    switch (op) {
    case EP_OP_RELU:
    case EP_OP_ABS: return 0;
    case EP_OP_CLIP:
    case EP_OP_BIAS: return 2 * size_of(result);
    case EP_OP_GREATER:
    case EP_OP_SMALLER: return second;
    case EP_OP_ADD:
    case EP_OP_SUB: return 2 * size_of(result) + second;
    case EP_OP_LEAKY:
    case EP_OP_PRELU: return 4 * (steepness * size_of(v));
    case EP_OP_AFFINE:
    case EP_OP_HARDSIGMOID: return 4 * (size_of(a * v) + size_of(b));
    case EP_OP_ELU:
    case EP_OP_TANH:
    case EP_OP_HARDSWISH:
    case EP_OP_ERF: return 16 * size_of(result);
    case EP_OP_SIGMOID:
    case EP_OP_SOFTPLUS: return power + TINY;
    case EP_OP_EXP:
        return (16 + 4 * size_of(v)) * (result < FLOAT_MOST ? result : FLOAT_MOST);
    case EP_OP_SILU:
    case EP_OP_MISH:
    case EP_OP_GELU: return power + size_of(v) * TINY;
    default: return 4 * size_of(result);
    }
}

/* Does the epilogue on the joined elements, which value then holds. steps: four numbers each, operation, a, b and
 * whether scales are one a channel. unit: half of the last place of 1 in the type in which kernels do the steps.
 * integers: sums are INT32, and so is the bias. bias_type: -1 for no bias. TENSOR: the residual. */
KERNEL(ITEMS, 1, 1)
judge_epilogue(GLOBAL double *value, GLOBAL const float *magnitude, GLOBAL float *gain,
               GLOBAL float *slack, GLOBAL const double *steps, GLOBAL const unsigned char *bias,
               GLOBAL const unsigned char *residual, GLOBAL const float *scales, i64 count,
               int step_count, double unit, int integers, int out_type, int channels, i64 inner,
               i64 scale_count, int residual_is_scaled, int bias_type, int has_residual, TENSOR)
{
    i64 i = FLAT_ID;
    int channel = (int)(i / inner % channels);
    double v, first, second = 0, scale = 0, growth = 1, off;
    if (i >= count)
        return;
    v = value[i];
    off = integers ? unit * size_of(v) : 0;
    first = bias_type < 0 ? 0 : load_any(bias_type, bias, channel);
    if (has_residual)
        second = load_any(type, residual, TENSOR_OFFSET(i));
    if (residual_is_scaled)
        second *= scales[scale_count - 1];
    if (scale_count > 0)
        scale = scales[scale_count > 2 ? channel : 0];
    for (int s = 0; s < step_count; s++) {
        int op = (int)steps[4 * s];
        double a = steps[4 * s + 1], b = steps[4 * s + 2], after, steepness, own;
        if (integers && op == EP_OP_BIAS) {
            v = (double)(int)((unsigned int)(i64)v + (unsigned int)(i64)first);
            off = unit * size_of(v);
            continue;
        }
        after = step_value(op, a, b, v, first, second, scale);
        steepness = steepness_of(op, a, v + ERROR_SHARE * magnitude[i] * growth + off, after, second,
                                 scale);
        own = own_error_of(op, a, b, v, after, second, residual_is_scaled, steepness);
        if (op == EP_OP_SQRT && size_of(v) < SIGN_SHARE * magnitude[i] * growth) {
            steepness = 0;
            own = INFINITE;
        }
        growth *= steepness;
        off = off * steepness + own * unit;
        v = after;
    }
    value[i] = within_type(out_type, v);
    gain[i] = (float)(growth < FLOAT_MOST ? growth : FLOAT_MOST);
    slack[i] = (float)(off < FLOAT_MOST || off == INFINITE ? off : FLOAT_MOST);
}

/* ---- the comparison ---- */

/* Whether an element of a floating type still holds the poison, bytes of 0xff: a NaN that no kernel stores. FNUZ forms have a
 * number there. */
DEVICE int is_poison(int type, GLOBAL const unsigned char *data, i64 at)
{
    switch (type) {
    case 0: return ((GLOBAL const unsigned int *)data)[at] == 0xffffffffu;
    case 1:
    case 2: return ((GLOBAL const unsigned short *)data)[at] == 0xffffu;
    case 5: return ((GLOBAL const u64 *)data)[at] == ~(u64)0;
    case 6:
    case 7: return !FLOAT8_FNUZ && data[at] == 0xff;
    default: return 0;
    }
}

/* An element's error over its tolerance; 1e300 for a NaN that is not expected, and for one that nobody wrote. */
DEVICE double ratio_of_error(double got, double expected, double allowed, double overflow,
                             int unwritten)
{
    double error = clamp_to(got, -overflow, overflow) - clamp_to(expected, -overflow, overflow);
    double ratio = size_of(error);
    if (unwritten)
        return 1e300;
    if (allowed == INFINITE || (got != got && expected != expected))
        return 0;
    ratio = allowed > 0 ? ratio / allowed : ratio;
    return ratio <= 1e300 ? ratio : 1e300;
}

/* Stores for each group: the elements compared, how many are wrong, and the largest error over its tolerance (1e300
 * for NaN). with_epilogue: whether gain and slack hold numbers. tensor_wide: the magnitude by which all elements'
 * tolerance is computed, negative to use each element's own; exact: no error is allowed; overflow: values of this
 * size and larger are infinite in the output's type. */
KERNEL(ITEMS, 1, 1)
judge_compare(GLOBAL const unsigned char *got, GLOBAL const double *value,
              GLOBAL const float *magnitude, GLOBAL const float *gain, GLOBAL const float *slack,
              GLOBAL double *ratios, GLOBAL i64 *looks, GLOBAL i64 *wrongs, i64 count,
              int group_count, int with_epilogue, int exact, double tensor_wide,
              double per_magnitude, double per_value, double smallest, double overflow, TENSOR)
{
    LOCAL_ARRAY double ratio_of[ITEMS];
    LOCAL_ARRAY i64 looks_of[ITEMS];
    LOCAL_ARRAY i64 wrong_of[ITEMS];
    double worst = 0;
    i64 looked = 0, wrong = 0;
    for (i64 i = FLAT_ID; i < count; i += (i64)group_count * ITEMS) {
        i64 at = TENSOR_OFFSET(i);
        double expected = value[i];
        double size = tensor_wide < 0 ? magnitude[i] : tensor_wide;
        double allowed = per_magnitude * size, ratio;
        if (with_epilogue)
            allowed = allowed * gain[i] + slack[i];
        allowed = allowed + smallest + per_value * clamp_to(size_of(expected), 0, overflow);
        ratio = ratio_of_error(load_any(type, got, at), expected, exact ? 0 : allowed, overflow,
                               is_poison(type, got, at));
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

/* ---- gaps ---- */

/* Whether an element's bytes are not all the poison. */
DEVICE int was_written(int type, GLOBAL const unsigned char *data, i64 at, int poison)
{
    int bytes = type == 0 || type == 4 ? 4 : type == 5 ? 8 : type == 1 || type == 2 ? 2 : 1, written = 0;
    for (int i = 0; i < bytes; i++)
        written |= data[at * bytes + i] != poison;
    return written;
}

/* Stores for each group: the elements looked at, and how many of them are not the poison. */
KERNEL(ITEMS, 1, 1)
judge_written(GLOBAL const unsigned char *data, GLOBAL i64 *looks, GLOBAL i64 *found, i64 count,
              int group_count, int poison, TENSOR)
{
    LOCAL_ARRAY i64 looks_of[ITEMS];
    LOCAL_ARRAY i64 found_of[ITEMS];
    i64 looked = 0, written = 0;
    for (i64 i = FLAT_ID; i < count; i += (i64)group_count * ITEMS) {
        written += was_written(type, data, TENSOR_OFFSET(i), poison);
        looked++;
    }
    looks_of[LOCAL_ID(0)] = looked;
    found_of[LOCAL_ID(0)] = written;
    BARRIER();
    if (LOCAL_ID(0) == 0) {
        for (int i = 1; i < ITEMS; i++) {
            looked += looks_of[i];
            written += found_of[i];
        }
        looks[GROUP_ID(0)] = looked;
        found[GROUP_ID(0)] = written;
    }
}

/* ---- fingerprints ---- */

/* The eight bytes from `at`, of which those behind `bytes` count as 0. */
DEVICE u64 word_at(GLOBAL const unsigned char *data, i64 at, i64 bytes)
{
    u64 word = 0;
    for (int i = 0; i < 8 && at + i < bytes; i++)
        word |= (u64)data[at + i] << (8 * i);
    return word;
}

/* Stores for each group its part of a fingerprint (fingerprint.h), and the bytes that it looked at. Pieces of
 * `bytes` bytes lie `step` bytes apart from `offset` on; step is a multiple of 8; `groups` groups share a piece. */
KERNEL(ITEMS, 1, 1)
judge_fingerprint(GLOBAL const unsigned char *data, GLOBAL u64 *prints, GLOBAL i64 *looks,
                  i64 offset, i64 step, i64 bytes, int groups)
{
    LOCAL_ARRAY u64 print_of[ITEMS];
    LOCAL_ARRAY i64 looks_of[ITEMS];
    int piece = (int)(GROUP_ID(0) / groups);
    GLOBAL const unsigned char *from = data + offset + piece * step;
    i64 first = (i64)(GROUP_ID(0) % groups) * ITEMS + (i64)LOCAL_ID(0);
    i64 whole = bytes / 8, looked = 0;
    u64 print = 0;
    for (i64 i = first; i < whole; i += (i64)groups * ITEMS) {
        u64 word = offset % 8 == 0 ? ((GLOBAL const u64 *)from)[i] : word_at(from, 8 * i, bytes);
        print += random_bits(word, (u64)i);
        looked += 8;
    }
    if (first == 0 && bytes % 8 != 0) {
        print += random_bits(word_at(from, 8 * whole, bytes), (u64)whole);
        looked += bytes % 8;
    }
    print_of[LOCAL_ID(0)] = print;
    looks_of[LOCAL_ID(0)] = looked;
    BARRIER();
    if (LOCAL_ID(0) == 0) {
        for (int i = 1; i < ITEMS; i++) {
            print += print_of[i];
            looked += looks_of[i];
        }
        prints[GROUP_ID(0)] = print;
        looks[GROUP_ID(0)] = looked;
    }
}
