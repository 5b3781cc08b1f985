/*
 * Backward weights (W) of convolutions with one input channel in each group (x's channel is y's over MULTIPLIER), 2D
 * and 3D, every tensor stride an argument:
 *
 *   w[k][f] = sum over n and o of y[n][k][o] * x[n][k / MULTIPLIER][o * STRIDE - pad + f * DILATION]
 *
 * A workgroup sums TILE_H rows by CHUNK_W columns of the filter for its channels over one part of the outputs,
 * in units of TILE_W vectors of a row. Work-items alternate at the units and add up their sums in local memory,
 * in a fixed order. With several parts, w is a workspace with a copy for each, SPLIT_STEP apart.
 *
 * Options beside depthwise.h's: TYPE_X, TYPE_Y; TYPE_W (FP32 for a workspace); MULTIPLIER; FIL_, STRIDE_ and
 * DILATION_, each with D, H and W; ITEMS, TILE_H; CHANNEL_ITEMS, the work-items along the channels (1 except
 * with LANES_C).
 */
#define SOURCE TYPE_X
#define SOURCE_STEP_W STRIDE_W
#define TAP_STEP_W DILATION_W
#include "depthwise.h"

/* Images that the lanes of one vector belong to. */
#ifdef LANES_N
#define VECTOR_IMAGES VEC
#else
#define VECTOR_IMAGES 1
#endif

#define POSITION_ITEMS (ITEMS / CHANNEL_ITEMS)

/* Channels for which a work-item sums, and the number of sums that it passes on through local memory. */
#ifdef LANES_C
#define ITEM_CHANNELS VEC
#else
#define ITEM_CHANNELS 1
#endif
#define ITEM_SUMS (TILE_H * CHUNK_W * ITEM_CHANNELS)

DEFINE_LOAD_LANES(load_y, TYPE_Y)

/* The axes of a unit's number, the fastest first. */
#ifdef LANES_N
enum { DIGIT_N, DIGIT_W, DIGIT_H, DIGIT_D };
#else
enum { DIGIT_W, DIGIT_H, DIGIT_D, DIGIT_N };
#endif

struct digits {
    int at[4];
};

DEVICE struct digits split_digits(int number, struct digits counts)
{
    struct digits digits;
    for (int i = 0; i < 3; i++)
        digits.at[i] = take(&number, counts.at[i]);
    digits.at[3] = number;
    return digits;
}

DEVICE struct digits add_digits(struct digits a, struct digits b, struct digits counts)
{
    int carry = 0;
    for (int i = 0; i < 4; i++) {
        a.at[i] += b.at[i] + carry;
        carry = i < 3 && a.at[i] >= counts.at[i];
        if (carry)
            a.at[i] -= counts.at[i];
    }
    return a;
}

struct sizes {
    int n, c, d, h, w;
};

struct steps {
    i64 n, c, d, h, w;
};

/* The values that stay the same for all units of outputs that a work-item sums. */
struct sum_up {
    struct sizes in, out;
    struct steps x_steps, y_steps;
    int pad_d, pad_h, pad_w;
    int channel;              /* the first channel of y */
    int slice, row, column;   /* the first depth, row and column of the filter */
    struct lanes x_lanes, y_lanes;
};

/* Vector v of y at a unit of outputs, with zeros in lanes past the last output. */
DEVICE vec load_outputs(GLOBAL const STORAGE(TYPE_Y) *y, struct sum_up *job, struct digits unit,
                        int v)
{
    LANE values[VEC];
    int w = (unit.at[DIGIT_W] * TILE_W + v) * VECTOR_POSITIONS;
    int last = w < job->out.w ? w : job->out.w - 1;
    i64 at = unit.at[DIGIT_D] * job->y_steps.d + unit.at[DIGIT_H] * job->y_steps.h;
#if defined(LANES_W)
    int count = job->out.w - w;
    find_lanes(w, job->out.w, 1, job->y_steps.w, &job->y_lanes);
    at += unit.at[DIGIT_N] * job->y_steps.n + job->channel * job->y_steps.c;
#elif defined(LANES_C)
    int count = w < job->out.w ? VEC : 0;
    at += unit.at[DIGIT_N] * job->y_steps.n + last * job->y_steps.w;
#else
    int count = w < job->out.w ? job->out.n - unit.at[DIGIT_N] * VEC : 0;
    at += job->channel * job->y_steps.c + last * job->y_steps.w;
#endif
    vec_store(values, load_y(y, at, &job->y_lanes));
#pragma unroll
    for (int i = 0; i < VEC; i++)
        values[i] = i < count ? values[i] : 0;
    return vec_load(values);
}

/* The line of x that a unit reads through row t of the workgroup's filter rows. Positions past the last one
 * that an output reads count as outside, whatever they hold. All other positions, also those that a stride
 * skips, must be finite, since lanes without an output multiply them by zero. */
DEVICE struct line find_line(const struct sum_up *job, struct digits unit, int t)
{
    struct line line;
    int d = unit.at[DIGIT_D] * STRIDE_D - job->pad_d + job->slice * DILATION_D;
    int h = unit.at[DIGIT_H] * STRIDE_H - job->pad_h + (job->row + t) * DILATION_H;
    int read = (job->out.w - 1) * STRIDE_W - job->pad_w + (FIL_W - 1) * DILATION_W + 1;
    line.at = d * job->x_steps.d + h * job->x_steps.h;
#ifndef LANES_N
    line.at += unit.at[DIGIT_N] * job->x_steps.n;
#endif
#ifndef LANES_C
    line.at += job->channel / MULTIPLIER * job->x_steps.c;
#endif
    line.step = job->x_steps.w;
    line.size = read < job->in.w ? read : job->in.w;
    line.inside = d >= 0 && d < job->in.d && h >= 0 && h < job->in.h;
    return line;
}

DEVICE void add_unit(GLOBAL const STORAGE(TYPE_X) *x, GLOBAL const STORAGE(TYPE_Y) *y,
                     struct sum_up *job, struct digits unit, vec (*sums)[CHUNK_W])
{
    vec outputs[TILE_W];
    int first = unit.at[DIGIT_W] * POSITIONS * STRIDE_W - job->pad_w + job->column * DILATION_W;
#ifdef LANES_N
    find_lanes(unit.at[DIGIT_N] * VEC, job->in.n, 1, job->x_steps.n, &job->x_lanes);
    find_lanes(unit.at[DIGIT_N] * VEC, job->in.n, 1, job->y_steps.n, &job->y_lanes);
#endif
#pragma unroll
    for (int v = 0; v < TILE_W; v++)
        outputs[v] = load_outputs(y, job, unit, v);
#pragma unroll
    for (int t = 0; t < TILE_H; t++) {
        row_element row[ROW_LENGTH];
        struct line line = find_line(job, unit, t);
        stage_row(x, &line, &job->x_lanes, first, row);
#pragma unroll
        for (int i = 0; i < CHUNK_W; i++) {
#pragma unroll
            for (int v = 0; v < TILE_W; v++)
                sums[t][i] = vec_madd(sums[t][i], outputs[v], ROW_AT(row, v, i));
        }
    }
}

/* Writes a work-item's ITEM_SUMS sums to local memory, ITEMS apart, for other work-items to add up. */
DEVICE void leave_sums(vec (*sums)[CHUNK_W], LOCAL_POINTER float *partial)
{
#pragma unroll
    for (int i = 0; i < TILE_H * CHUNK_W; i++) {
        LANE values[VEC];
        vec_store(values, sums[i / CHUNK_W][i % CHUNK_W]);
#if ITEM_CHANNELS == 1
#pragma unroll
        for (int lane = 1; lane < VEC; lane++)
            values[0] += values[lane];
#endif
#pragma unroll
        for (int lane = 0; lane < ITEM_CHANNELS; lane++)
            partial[(i * ITEM_CHANNELS + lane) * ITEMS] = values[lane];
    }
}

/* Stores the totals of the work-item's channels to w. */
DEVICE void store_weights(GLOBAL STORAGE(TYPE_W) *w, struct steps steps, const struct sum_up *job,
                          LOCAL_POINTER const float *partial)
{
    for (int i = 0; i < ITEM_SUMS; i++) {
        int channel = job->channel + i % ITEM_CHANNELS;
        int column = job->column + i / ITEM_CHANNELS % CHUNK_W;
        int row = job->row + i / ITEM_CHANNELS / CHUNK_W;
        if (channel < job->out.c && row < FIL_H && column < FIL_W)
            STORE(TYPE_W, w,
                  channel * steps.c + job->slice * steps.d + row * steps.h + column * steps.w,
                  partial[i * ITEMS]);
    }
}

/* Grid: a workgroup for each run of channels, columns, rows and depths of the filter, and part of the outputs; a part
 * has `units` units of outputs. */
KERNEL(ITEMS, 1, 1)
conv_depthwise_w(GLOBAL const STORAGE(TYPE_X) *RESTRICT x,
                 GLOBAL const STORAGE(TYPE_Y) *RESTRICT y, GLOBAL STORAGE(TYPE_W) *RESTRICT w,
                 i64 x_n, i64 x_c, i64 x_d, i64 x_h, i64 x_w, i64 y_n, i64 y_k, i64 y_d, i64 y_h,
                 i64 y_w, i64 split_step, i64 w_k, i64 w_d, i64 w_h, i64 w_w, int n_count,
                 int k_count, int in_d, int in_h, int in_w, int out_d, int out_h, int out_w,
                 int pad_d, int pad_h, int pad_w, int units)
{
    LOCAL_ARRAY float partial[ITEM_SUMS * ITEMS];
    vec sums[TILE_H][CHUNK_W];
    struct sum_up job;
    struct steps steps;
    struct digits counts, unit, step;
    int item = (int)LOCAL_ID(0);
    int position = item / CHANNEL_ITEMS;
    int rest = (int)GROUP_ID(0);
    int last, channel;
    job.in.n = n_count;
    job.in.d = in_d;
    job.in.h = in_h;
    job.in.w = in_w;
    job.out.n = n_count;
    job.out.c = k_count;
    job.out.d = out_d;
    job.out.h = out_h;
    job.out.w = out_w;
    job.x_steps.n = x_n;
    job.x_steps.c = x_c;
    job.x_steps.d = x_d;
    job.x_steps.h = x_h;
    job.x_steps.w = x_w;
    job.y_steps.n = y_n;
    job.y_steps.c = y_k;
    job.y_steps.d = y_d;
    job.y_steps.h = y_h;
    job.y_steps.w = y_w;
    job.pad_d = pad_d;
    job.pad_h = pad_h;
    job.pad_w = pad_w;
    steps.c = w_k;
    steps.d = w_d;
    steps.h = w_h;
    steps.w = w_w;
    channel = take(&rest, divide_up(k_count, CHANNEL_ITEMS * ITEM_CHANNELS));
    job.channel = (channel * CHANNEL_ITEMS + item % CHANNEL_ITEMS) * ITEM_CHANNELS;
    job.column = take(&rest, divide_up(FIL_W, CHUNK_W)) * CHUNK_W;
    job.row = take(&rest, divide_up(FIL_H, TILE_H)) * TILE_H;
    job.slice = take(&rest, FIL_D);
    w += rest * split_step;
#ifdef LANES_C
    find_lanes(job.channel, k_count, MULTIPLIER, x_c, &job.x_lanes);
    find_lanes(job.channel, k_count, 1, y_k, &job.y_lanes);
#endif
    counts.at[DIGIT_W] = divide_up(out_w, POSITIONS);
    counts.at[DIGIT_H] = out_h;
    counts.at[DIGIT_D] = out_d;
    counts.at[DIGIT_N] = divide_up(n_count, VECTOR_IMAGES);
    last = counts.at[0] * counts.at[1] * counts.at[2] * counts.at[3];
    if (last - rest * units > units)
        last = (rest + 1) * units;
#pragma unroll
    for (int i = 0; i < TILE_H * CHUNK_W; i++)
        sums[i / CHUNK_W][i % CHUNK_W] = vec_splat(0);
    unit = split_digits(rest * units + position, counts);
    step = split_digits(POSITION_ITEMS, counts);
    for (int i = rest * units + position; i < last; i += POSITION_ITEMS) {
        add_unit(x, y, &job, unit, sums);
        unit = add_digits(unit, step, counts);
    }
    leave_sums(sums, partial + item);
    for (int others = POSITION_ITEMS / 2; others > 0; others /= 2) {
        BARRIER();
        for (int i = 0; i < ITEM_SUMS && position < others; i++)
            partial[i * ITEMS + item] += partial[i * ITEMS + item + others * CHANNEL_ITEMS];
    }
    if (position == 0)
        store_weights(w, steps, &job, partial + item);
}
