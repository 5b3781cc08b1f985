/*
 * Depthwise convolutions: several groups with one input channel each and any number of output channels. F, B
 * and W; 2D and 3D; every layout whose channels are not in blocks, any strides of tensors; FP32, FP16, BF16 in
 * any mixture, INT8 forward; any stride, dilation and padding, filters longer than the padded input included.
 * Static: filter size, stride, dilation and channels of a group are compiled in, so that loops over filter
 * positions unroll; image sizes are arguments. B gathers. W may split its sums (SPLITS, split_sum.h). Limit:
 * fewer than 2^31 work-items.
 *
 * On GPUs a workgroup has 64 to 256 work-items, which hold rows of the source in registers. On CPUs a workgroup
 * is one work-item, which computes in vector registers and holds rows in memory.
 */
#include <string.h>

#include "solvers/common/conv_common.h"
#include "solvers/common/conv_epilogue.h"
#include "solvers/common/split_sum.h"
#include "solvers/framework/solver_rows.h"
#include "solvers/framework/space.h"

enum depthwise_param {
    DEPTHWISE_ITEMS,
    DEPTHWISE_VEC,
    DEPTHWISE_TILE_H, /* rows of a tile; W: filter rows that a workgroup sums */
    DEPTHWISE_TILE_W, /* vectors in a row of a tile */
    DEPTHWISE_REPEAT, /* tiles that a work-item computes one after the other; W: 1 */
    /* W: split-K parts of the outputs, which are summed in parallel; F and B: 1 */
    DEPTHWISE_SPLITS,
    DEPTHWISE_PARAM_COUNT
};

#define DEPTHWISE_ITEMS_MOST 256
#define SPLITS_MOST          64

/* The axis of a vector's lanes and of a workgroup's work-items: the one that is densest in memory. */
enum depthwise_lanes { LANES_W, LANES_C, LANES_N };

/* How the kernels divide a problem by a config. */
struct depthwise_plan {
    int64_t tiles; /* F, B: work-items of the launch, one for each tile */
    int64_t chunk; /* filter columns whose sources are loaded together */
    bool unroll;   /* F, B: all filter positions are unrolled */
    bool keep_weights;

    /* Only for W. */
    int64_t channel_items; /* work-items of a workgroup along the channels; a power of two */
    int64_t workgroups;    /* workgroups that sum one part of the outputs */
    int64_t part;          /* units of outputs (TILE_W vectors of a row) in a part */
    int64_t splits;        /* number of parts that have outputs, at most the config's */
};

static const struct space_param params[DEPTHWISE_PARAM_COUNT] = {
    [DEPTHWISE_ITEMS] = {"ITEMS", 4, (const int32_t[]){1, 64, 128, DEPTHWISE_ITEMS_MOST}},
    [DEPTHWISE_VEC] = {"VEC", 4, (const int32_t[]){1, 4, 8, 16}},
    [DEPTHWISE_TILE_H] = {"TILE_H", 4, (const int32_t[]){1, 2, 3, 4}},
    [DEPTHWISE_TILE_W] = {"TILE_W", 4, (const int32_t[]){1, 2, 4, 8}},
    [DEPTHWISE_REPEAT] = {"REPEAT", 2, (const int32_t[]){1, 4}},
    [DEPTHWISE_SPLITS] = {"SPLITS", 4, (const int32_t[]){1, 4, 16, SPLITS_MOST}},
};

/* ---- what the kernels make of a problem ---- */

static enum depthwise_lanes depthwise_lanes(const struct problem *p)
{
    switch (p->layout[p->direction == DIRECTION_B ? TENSOR_X : TENSOR_Y]) {
    case LAYOUT_NHWC:
    case LAYOUT_NDHWC: return LANES_C;
    case LAYOUT_CHWN: return LANES_N;
    default: return LANES_W;
    }
}

/* One axis as conv_depthwise.cl computes it. taps: the most filter positions that a result reads through.
 * source_step: source positions between neighbouring results of a tile. tap_step: source positions between
 * neighbouring taps. results: results along the axis, in B of one phase of the stride. */
struct axis_view {
    int64_t taps, source_step, tap_step, results;
};

static struct axis_view view_axis(const struct problem *p, enum axis axis)
{
    int64_t period = conv_stride_period(p, axis), stride = p->stride[axis];

    if (p->direction != DIRECTION_B)
        return (struct axis_view){p->fil[axis], stride, p->dilation[axis], p->out[axis]};
    return (struct axis_view){conv_divide_up(p->fil[axis], period), 1,
                              period * p->dilation[axis] / stride,
                              conv_divide_up(p->in[axis], stride)};
}

/* Results along a row that a tile computes. */
static int64_t tile_positions(const struct problem *p, const int32_t *values)
{
    return values[DEPTHWISE_TILE_W] * (depthwise_lanes(p) == LANES_W ? values[DEPTHWISE_VEC] : 1);
}

/* Elements of the source's row that a tile reads through one filter position. */
static int64_t tile_span(const struct problem *p, const int32_t *values)
{
    return (tile_positions(p, values) - 1) * view_axis(p, AXIS_W).source_step + 1;
}

/* The most elements of a row held at once (vectors, unless lanes run along the row): in a GPU's registers, or
 * in a CPU's first-level cache. */
static int64_t longest_row(const struct problem *p, const struct context *context,
                           const int32_t *values)
{
    if (depthwise_lanes(p) == LANES_W)
        return context_is_cpu(context) ? 256 : 64;
    return context_is_cpu(context) ? 32 : 64 / values[DEPTHWISE_VEC];
}

/* Registers for a tile's sums, or for the values that they are multiplied with: lanes on a GPU, vectors on a CPU. */
static int64_t tile_registers(const struct context *context, const int32_t *values)
{
    return (int64_t)values[DEPTHWISE_TILE_H] * values[DEPTHWISE_TILE_W] *
           (context_is_cpu(context) ? 1 : values[DEPTHWISE_VEC]);
}

/* W: filter columns whose sums fit a work-item's registers and the workgroup's local memory. */
static int64_t most_columns(const struct problem *p, const struct context *context,
                            const int32_t *values)
{
    int64_t vectors = context_is_cpu(context) ? 24 : 64 / values[DEPTHWISE_VEC];
    int64_t lanes = depthwise_lanes(p) == LANES_C ? values[DEPTHWISE_VEC] : 1;
    int64_t most =
        context->target->local_bytes / ((int64_t)sizeof(float) * values[DEPTHWISE_ITEMS] * lanes);

    return MAX(MIN(vectors, most) / values[DEPTHWISE_TILE_H], 1);
}

#define MACS_A_CHUNK 512
/* The most filter columns whose sources a GPU loads together, since addresses of running loads take registers too. */
#define GPU_CHUNK    16

/* Filter columns whose source elements a work-item loads together. */
static int64_t chunk_columns(const struct problem *p, const struct context *context,
                             const int32_t *values)
{
    struct axis_view view = view_axis(p, AXIS_W);
    int64_t room = longest_row(p, context, values) - tile_span(p, values);
    int64_t most = context_is_cpu(context) ? view.taps : MIN(view.taps, GPU_CHUNK);
    int64_t chunk = MIN(most, MAX(room, 0) / view.tap_step + 1);

    if (p->direction == DIRECTION_W)
        return MIN(chunk, most_columns(p, context, values));
    return CLAMP(MACS_A_CHUNK / tile_registers(context, values), 1, chunk);
}

static int64_t count_taps(const struct problem *p)
{
    return view_axis(p, AXIS_D).taps * view_axis(p, AXIS_H).taps * view_axis(p, AXIS_W).taps;
}

#define MACS_UNROLLED       512
#define WEIGHTS_IN_HAND     32
#define CPU_WEIGHTS_IN_HAND 64

/* Whether the kernel unrolls all filter positions. A CPU's rows are in memory. A 3D filter with several slices is not
 * unrolled, because the masks of positions outside of the tensor would need more scalar registers than a wave of 64
 * has. */
static bool unrolls(const struct problem *p, const struct context *context, const int32_t *values)
{
    int64_t taps = count_taps(p), lanes = depthwise_lanes(p) == LANES_C ? values[DEPTHWISE_VEC] : 1;

    return !context_is_cpu(context) && view_axis(p, AXIS_D).taps == 1 &&
           taps * lanes <= WEIGHTS_IN_HAND &&
           taps * tile_registers(context, values) <= MACS_UNROLLED &&
           chunk_columns(p, context, values) == view_axis(p, AXIS_W).taps;
}

/* W: work-items of a workgroup along the channels, a power of two. */
static int64_t channel_items(const struct problem *p, const int32_t *values)
{
    int64_t vectors = conv_divide_up(p->k, values[DEPTHWISE_VEC]), items = 1;

    while (depthwise_lanes(p) == LANES_C && items < vectors &&
           items < MIN(values[DEPTHWISE_ITEMS], 64))
        items *= 2;
    return items;
}

/* W: units of outputs to be summed for a channel; a unit is TILE_W vectors of a row. */
static int64_t count_units(const struct problem *p, const int32_t *values)
{
    int64_t images =
        depthwise_lanes(p) == LANES_N ? conv_divide_up(p->n, values[DEPTHWISE_VEC]) : p->n;

    return images * p->out[AXIS_D] * p->out[AXIS_H] *
           conv_divide_up(p->out[AXIS_W], tile_positions(p, values));
}

/* W: workgroups that sum one split-K part of the outputs. */
static int64_t count_workgroups(const struct problem *p, const struct context *context,
                                const int32_t *values)
{
    int64_t channels =
        channel_items(p, values) * (depthwise_lanes(p) == LANES_C ? values[DEPTHWISE_VEC] : 1);

    return conv_divide_up(p->k, channels) * p->fil[AXIS_D] *
           conv_divide_up(p->fil[AXIS_H], values[DEPTHWISE_TILE_H]) *
           conv_divide_up(p->fil[AXIS_W], chunk_columns(p, context, values));
}

/* F and B: work-items, one for each tile of each axis, channel (or vector of channels) and image (or vector of
 * images). */
static int64_t count_tiles(const struct problem *p, const int32_t *values)
{
    const int64_t *sizes = p->direction == DIRECTION_F ? p->out : p->in;
    int64_t channels = p->direction == DIRECTION_F ? p->k : p->c, images = p->n, tiles = 1;
    const int64_t tile[AXIS_COUNT] = {1, values[DEPTHWISE_TILE_H],
                                      tile_positions(p, values) * values[DEPTHWISE_REPEAT]};

    if (depthwise_lanes(p) == LANES_C)
        channels = conv_divide_up(channels, values[DEPTHWISE_VEC]);
    if (depthwise_lanes(p) == LANES_N)
        images = conv_divide_up(images, values[DEPTHWISE_VEC]);
    for (int a = 0; a < AXIS_COUNT; a++) {
        int64_t phases = p->direction == DIRECTION_F ? 1 : MIN(p->stride[a], sizes[a]);
        tiles *= phases * conv_divide_up(view_axis(p, (enum axis)a).results, tile[a]);
    }
    return tiles * channels * images;
}

static void depthwise_plan_init(struct depthwise_plan *plan, const struct problem *p,
                                const struct context *context, const int32_t *values)
{
    int64_t units = count_units(p, values);

    memset(plan, 0, sizeof(*plan));
    plan->chunk = chunk_columns(p, context, values);
    if (p->direction == DIRECTION_W) {
        plan->channel_items = channel_items(p, values);
        plan->workgroups = count_workgroups(p, context, values);
        plan->part = conv_divide_up(units, values[DEPTHWISE_SPLITS]);
        plan->splits = conv_divide_up(units, plan->part);
        return;
    }
    plan->tiles = count_tiles(p, values);
    plan->unroll = unrolls(p, context, values);
    plan->keep_weights =
        plan->unroll || (context_is_cpu(context) && count_taps(p) <= CPU_WEIGHTS_IN_HAND);
}

/* ---- space ---- */

static bool items_suit_target(const struct problem *p, const struct context *context,
                              const int32_t *values)
{
    (void)p;
    if (context_is_cpu(context))
        return values[DEPTHWISE_ITEMS] == 1;
    return values[DEPTHWISE_ITEMS] > 1 && values[DEPTHWISE_ITEMS] <= context->target->max_workgroup;
}

/* Lanes of the widest vector that a CPU's register holds. */
static int widest_vector(const struct context *context)
{
    return CLAMP(context->target->vector_bytes / 4, 8, 16);
}

/* Valid vectors: on a GPU up to 4 lanes. On a CPU from 8 lanes up to a register, or single elements where a row's
 * stride is too long for vectors. */
static bool vector_suits_target(const struct problem *p, const struct context *context,
                                const int32_t *values)
{
    const int32_t vector[DEPTHWISE_PARAM_COUNT] = {
        [DEPTHWISE_VEC] = 8, [DEPTHWISE_TILE_H] = 1, [DEPTHWISE_TILE_W] = 1};
    bool fits = tile_span(p, vector) <= longest_row(p, context, vector);

    if (!context_is_cpu(context))
        return values[DEPTHWISE_VEC] <= 4;
    return fits ? values[DEPTHWISE_VEC] >= 8 && values[DEPTHWISE_VEC] <= widest_vector(context)
                : values[DEPTHWISE_VEC] == 1;
}

static bool rows_are_shared(const struct problem *p, const struct context *context,
                            const int32_t *values)
{
    struct axis_view view = view_axis(p, AXIS_H);
    int64_t rows =
        (values[DEPTHWISE_TILE_H] - 1) * view.source_step + (view.taps - 1) * view.tap_step + 1;

    (void)context;
    if (values[DEPTHWISE_TILE_H] == 1)
        return true;
    if (p->direction == DIRECTION_W)
        return values[DEPTHWISE_TILE_H] <= p->fil[AXIS_H];
    return values[DEPTHWISE_TILE_H] < 2 * view.results &&
           rows < values[DEPTHWISE_TILE_H] * view.taps;
}

static bool row_fits_registers(const struct problem *p, const struct context *context,
                               const int32_t *values)
{
    return tile_span(p, values) <= longest_row(p, context, values);
}

static bool sums_fit_registers(const struct problem *p, const struct context *context,
                               const int32_t *values)
{
    int64_t most = context_is_cpu(context) ? 16 : 64;

    if (p->direction == DIRECTION_W)
        return context_is_cpu(context) || values[DEPTHWISE_TILE_W] * values[DEPTHWISE_VEC] <= 16;
    return tile_registers(context, values) <= most;
}

/* A tile may have at most twice the results that an axis has; the smallest tile is always valid. */
static bool tile_suits_sizes(const struct problem *p, const struct context *context,
                             const int32_t *values)
{
    int64_t lanes = depthwise_lanes(p) == LANES_W ? 1 : values[DEPTHWISE_VEC];
    int64_t channels = p->direction == DIRECTION_B ? p->c : p->k;
    bool least =
        values[DEPTHWISE_VEC] == 1 || (context_is_cpu(context) && values[DEPTHWISE_VEC] == 8);
    bool lanes_fit = lanes < 2 * (depthwise_lanes(p) == LANES_C ? channels : p->n);

    return (lanes_fit && tile_positions(p, values) < 2 * view_axis(p, AXIS_W).results) ||
           (least && values[DEPTHWISE_TILE_W] == 1);
}

static bool repeat_has_work(const struct problem *p, const struct context *context,
                            const int32_t *values)
{
    (void)context;
    return values[DEPTHWISE_REPEAT] == 1 ||
           (p->direction != DIRECTION_W && tile_positions(p, values) * values[DEPTHWISE_REPEAT] <
                                               2 * view_axis(p, AXIS_W).results);
}

/* Splitting is valid only in W, and only where every work-item of a part has several units of outputs. */
static bool splits_leave_work(const struct problem *p, const struct context *context,
                              const int32_t *values)
{
    int64_t items = values[DEPTHWISE_ITEMS] / channel_items(p, values);

    if (values[DEPTHWISE_SPLITS] == 1)
        return true;
    return p->direction == DIRECTION_W &&
           count_units(p, values) >= 2 * values[DEPTHWISE_SPLITS] * items &&
           count_workgroups(p, context, values) * values[DEPTHWISE_SPLITS] <= 1 << 16;
}

static bool parts_fit_workspace(const struct problem *p, const struct context *context,
                                const int32_t *values)
{
    return split_sum_bytes(p, values[DEPTHWISE_SPLITS]) <= context->workspace_limit;
}

static const struct space_constraint constraints[] = {
    {"items_suit_target", "workgroup size", DEPTHWISE_ITEMS + 1, items_suit_target},
    {"vector_suits_target", "vector registers", DEPTHWISE_VEC + 1, vector_suits_target},
    {"rows_are_shared", "arithmetic", DEPTHWISE_TILE_H + 1, rows_are_shared},
    {"row_fits_registers", "registers", DEPTHWISE_TILE_W + 1, row_fits_registers},
    {"sums_fit_registers", "registers", DEPTHWISE_TILE_W + 1, sums_fit_registers},
    {"tile_suits_sizes", "arithmetic", DEPTHWISE_TILE_W + 1, tile_suits_sizes},
    {"repeat_has_work", "arithmetic", DEPTHWISE_REPEAT + 1, repeat_has_work},
    {"splits_leave_work", "arithmetic", DEPTHWISE_SPLITS + 1, splits_leave_work},
    {"parts_fit_workspace", "workspace", DEPTHWISE_SPLITS + 1, parts_fit_workspace},
};

static const struct space depthwise_space = {DEPTHWISE_PARAM_COUNT, params,
                                             G_N_ELEMENTS(constraints), constraints};

/* Bytes of the split-K parts of the config with the most parts within the context's limit. Each part has at least two
 * units of outputs. */
static uint64_t depthwise_workspace_bytes(const struct problem *p, const struct context *context)
{
    int64_t outputs = p->n * p->out[AXIS_D] * p->out[AXIS_H] * p->out[AXIS_W];
    uint64_t most = 0;

    if (p->direction != DIRECTION_W)
        return 0;
    for (int i = 0; i < params[DEPTHWISE_SPLITS].count; i++) {
        int splits = params[DEPTHWISE_SPLITS].values[i];
        uint64_t bytes = split_sum_bytes(p, splits);
        if (bytes <= context->workspace_limit && outputs >= 2 * splits)
            most = bytes;
    }
    return most;
}

/* Chooses the number of split-K parts: few large parts leave units of a GPU idle, many small ones write more than
 * they read. */
static void choose_splits(const struct problem *p, const struct context *context, int32_t *values)
{
    int64_t wanted = context_is_cpu(context) ? context->target->compute_units
                                             : (int64_t)context->target->compute_units * 4;

    for (int i = 1; i < params[DEPTHWISE_SPLITS].count; i++) {
        int32_t split[DEPTHWISE_PARAM_COUNT];
        memcpy(split, values, sizeof(split));
        split[DEPTHWISE_SPLITS] = params[DEPTHWISE_SPLITS].values[i];
        if (count_workgroups(p, context, values) * values[DEPTHWISE_SPLITS] < wanted &&
            splits_leave_work(p, context, split) && parts_fit_workspace(p, context, split))
            values[DEPTHWISE_SPLITS] = split[DEPTHWISE_SPLITS];
    }
}

/* Candidates for the default; the first valid one of its kind is used. Those for CPUs are measured, those for GPUs
 * compile without spills. The last of each kind is always valid, on CPUs one of the last two. */
static const struct wish {
    bool cpu, weights, along_w;
    int32_t values[DEPTHWISE_PARAM_COUNT];
} wishes[] = {
    {true, false, true, {1, 16, 4, 4, 1, 1}},    {true, false, true, {1, 16, 2, 2, 1, 1}},
    {true, false, true, {1, 16, 1, 1, 1, 1}},    {true, false, true, {1, 8, 4, 2, 1, 1}},
    {true, false, true, {1, 8, 2, 1, 1, 1}},     {true, false, true, {1, 8, 1, 1, 1, 1}},
    {true, false, true, {1, 1, 1, 1, 1, 1}},     {true, false, false, {1, 16, 2, 4, 4, 1}},
    {true, false, false, {1, 16, 2, 2, 1, 1}},   {true, false, false, {1, 16, 1, 1, 1, 1}},
    {true, false, false, {1, 8, 4, 2, 1, 1}},    {true, false, false, {1, 8, 1, 1, 1, 1}},
    {true, true, true, {1, 8, 3, 4, 1, 1}},      {true, true, true, {1, 8, 2, 1, 1, 1}},
    {true, true, true, {1, 8, 1, 1, 1, 1}},      {true, true, true, {1, 1, 1, 1, 1, 1}},
    {true, true, false, {1, 8, 3, 4, 1, 1}},     {true, true, false, {1, 8, 1, 1, 1, 1}},
    {false, false, true, {128, 4, 2, 1, 1, 1}},  {false, false, true, {128, 4, 1, 1, 1, 1}},
    {false, false, true, {128, 1, 1, 1, 1, 1}},  {false, false, false, {128, 1, 2, 4, 1, 1}},
    {false, false, false, {128, 1, 1, 4, 1, 1}}, {false, false, false, {128, 1, 1, 1, 1, 1}},
    {false, true, true, {256, 4, 2, 1, 1, 1}},   {false, true, true, {256, 4, 1, 1, 1, 1}},
    {false, true, true, {256, 1, 1, 1, 1, 1}},   {false, true, false, {256, 1, 3, 2, 1, 1}},
    {false, true, false, {256, 1, 1, 4, 1, 1}},  {false, true, false, {256, 1, 1, 1, 1, 1}},
};

/* Sets the config where nothing was tuned; it is in the space. */
static void depthwise_default_config(const struct problem *p, const struct context *context,
                                     struct perf_config *config)
{
    bool weights = p->direction == DIRECTION_W, along_w = depthwise_lanes(p) == LANES_W;

    config->count = DEPTHWISE_PARAM_COUNT;
    for (gsize i = 0; i < G_N_ELEMENTS(wishes); i++) {
        if (wishes[i].cpu != context_is_cpu(context) || wishes[i].weights != weights ||
            wishes[i].along_w != along_w)
            continue;
        memcpy(config->values, wishes[i].values, sizeof(wishes[i].values));
        if (space_contains(&depthwise_space, p, context, config, NULL))
            break;
    }
    choose_splits(p, context, config->values);
}

static const char *const sources[] = {"conv_depthwise.cl", "conv_depthwise_w.cl",
                                      "conv_sum_splits.cl", NULL};

/* ---- what it serves ---- */

/* Work-items that an axis gives with the smallest tiles. In B the tiles cover each phase of the stride. */
static double count_items(const struct problem *p, int axis)
{
    int64_t stride = MIN(p->stride[axis], p->in[axis]);

    if (p->direction == DIRECTION_W)
        return (double)p->fil[axis];
    return p->direction == DIRECTION_F ? (double)p->out[axis]
                                       : (double)(conv_divide_up(p->in[axis], stride) * stride);
}

static bool items_fit_32_bits(const struct problem *p)
{
    double items = p->direction == DIRECTION_W ? (double)p->k * DEPTHWISE_ITEMS_MOST
                                               : (double)p->n * (double)MAX(p->c, p->k);

    for (int a = 0; a < AXIS_COUNT; a++)
        items *= count_items(p, a);
    return items < INT32_MAX - DEPTHWISE_ITEMS_MOST;
}

static bool depthwise_is_applicable(const struct problem *p, const struct context *context,
                                    const char **reason)
{
    (void)context;
    if (p->groups != p->c || p->groups == 1) {
        *reason = "needs several groups of one input channel each";
        return false;
    }
    if (!conv_is_plain(p, reason) || !conv_types_are_served(p, reason) ||
        !conv_layouts_are_plain(p, reason) || !conv_counts_fit_32_bits(p, reason))
        return false;
    if (!items_fit_32_bits(p)) {
        *reason = "needs fewer than 2^31 output elements, for W fewer than 2^23";
        return false;
    }
    return true;
}

static double depthwise_estimate(const struct problem *p, const struct context *context)
{
    (void)p;
    return context_is_cpu(context) ? 20.0 : 60.0;
}

static void add_shape_options(const struct problem *p, struct launch *launch)
{
    static const char *const names[][AXIS_COUNT] = {
        {"FIL_D", "FIL_H", "FIL_W"},
        {"STRIDE_D", "STRIDE_H", "STRIDE_W"},
        {"DILATION_D", "DILATION_H", "DILATION_W"},
        {"PERIOD_D", "PERIOD_H", "PERIOD_W"},
    };

    for (int a = 0; a < AXIS_COUNT; a++) {
        launch_option_int(launch, names[0][a], p->fil[a]);
        launch_option_int(launch, names[1][a], p->stride[a]);
        launch_option_int(launch, names[2][a], p->dilation[a]);
        launch_option_int(launch, names[3][a], conv_stride_period(p, (enum axis)a));
    }
    launch_option_int(launch, "MULTIPLIER", p->k / p->groups);
}

static void add_options(const struct problem *p, const struct context *context,
                        const int32_t *values, int64_t chunk, struct launch *launch)
{
    static const char *const lanes[] = {"LANES_W", "LANES_C", "LANES_N"};

    for (int i = 0; i <= DEPTHWISE_TILE_W; i++)
        launch_option_int(launch, depthwise_space.params[i].name, values[i]);
    launch_option_int(launch, "CHUNK_W", chunk);
    launch_option_int(launch, lanes[depthwise_lanes(p)], 1);
    launch_option_int(launch, "ROWS_IN_MEMORY", context_is_cpu(context));
    launch_option_text(launch, "LANE", conv_sum_type(p));
    add_shape_options(p, launch);
}

static void add_type(struct launch *launch, const char *name, enum data_type type)
{
    launch_option_text(launch, name, data_type_name(type));
}

static void add_axes(struct launch *launch, const int64_t sizes[AXIS_COUNT])
{
    for (int a = 0; a < AXIS_COUNT; a++)
        launch_arg_int32(launch, sizes[a]);
}

static void add_strides(struct launch *launch, enum tensor_role role)
{
    for (int axis = 0; axis < 5; axis++) {
        if (role != TENSOR_W || axis != 1)
            launch_arg_stride(launch, role, axis);
    }
}

static void solve_data(const struct problem *p, const struct context *context,
                       const int32_t *values, struct solution *solution)
{
    struct launch *launch = solution_add_launch(solution, "conv_depthwise.cl", "conv_depthwise");
    bool forward = p->direction == DIRECTION_F;
    enum tensor_role source = forward ? TENSOR_X : TENSOR_Y, result = problem_output_role(p);
    struct depthwise_plan plan;

    depthwise_plan_init(&plan, p, context, values);
    add_options(p, context, values, plan.chunk, launch);
    conv_add_type_options(p, launch);
    launch_option_int(launch, forward ? "DIRECTION_F" : "DIRECTION_B", 1);
    launch_option_int(launch, "REPEAT", values[DEPTHWISE_REPEAT]);
    launch_option_int(launch, "UNROLL", plan.unroll);
    launch_option_int(launch, "KEEP_WEIGHTS", plan.keep_weights);
    conv_add_epilogue_options(p, launch);
    launch_sort_options(launch);
    launch_arg_tensor(launch, source);
    launch_arg_tensor(launch, TENSOR_W);
    launch_arg_tensor(launch, result);
    add_strides(launch, source);
    add_strides(launch, TENSOR_W);
    add_strides(launch, result);
    launch_arg_int32(launch, p->n);
    launch_arg_int32(launch, forward ? p->k : p->c);
    add_axes(launch, forward ? p->out : p->in);
    add_axes(launch, forward ? p->in : p->out);
    add_axes(launch, p->pad);
    conv_add_epilogue_args(p, launch);
    launch_set_line(launch, plan.tiles, values[DEPTHWISE_ITEMS]);
}

/* Adds the distance between split-K parts, which are packed copies of w, and w's packed strides. */
static void add_part_strides(const struct problem *p, struct launch *launch)
{
    int64_t steps[AXIS_COUNT], step = 1;

    for (int a = AXIS_W; a >= AXIS_D; a--) {
        steps[a] = step;
        step *= p->fil[a];
    }
    launch_arg_int64(launch, step * p->k);
    launch_arg_int64(launch, step);
    for (int a = 0; a < AXIS_COUNT; a++)
        launch_arg_int64(launch, steps[a]);
}

static void add_weight_tensors(const struct problem *p, bool split, struct launch *launch)
{
    launch_arg_tensor(launch, TENSOR_X);
    launch_arg_tensor(launch, TENSOR_Y);
    if (split)
        launch_arg_workspace(launch, 0);
    else
        launch_arg_tensor(launch, TENSOR_W);
    add_strides(launch, TENSOR_X);
    add_strides(launch, TENSOR_Y);
    if (split) {
        add_part_strides(p, launch);
        return;
    }
    launch_arg_int64(launch, 0);
    add_strides(launch, TENSOR_W);
}

static void solve_weights(const struct problem *p, const struct context *context,
                          const int32_t *values, struct solution *solution)
{
    struct launch *launch =
        solution_add_launch(solution, "conv_depthwise_w.cl", "conv_depthwise_w");
    struct depthwise_plan plan;
    bool split;

    depthwise_plan_init(&plan, p, context, values);
    split = plan.splits > 1;
    add_options(p, context, values, plan.chunk, launch);
    add_type(launch, "TYPE_X", p->type[TENSOR_X]);
    add_type(launch, "TYPE_Y", p->type[TENSOR_Y]);
    add_type(launch, "TYPE_W", split ? TYPE_FP32 : p->type[TENSOR_W]);
    launch_option_int(launch, "CHANNEL_ITEMS", plan.channel_items);
    launch_sort_options(launch);
    add_weight_tensors(p, split, launch);
    launch_arg_int32(launch, p->n);
    launch_arg_int32(launch, p->k);
    add_axes(launch, p->in);
    add_axes(launch, p->out);
    add_axes(launch, p->pad);
    launch_arg_int32(launch, plan.part);
    launch_set_line(launch, plan.workgroups * plan.splits * values[DEPTHWISE_ITEMS],
                    values[DEPTHWISE_ITEMS]);
    if (!split)
        return;
    solution->workspace_bytes = split_sum_bytes(p, (int)plan.splits);
    split_sum_add(p, 0, (int)plan.splits, solution);
}

static bool depthwise_solve(const struct problem *p, const struct context *context,
                            const struct perf_config *config, struct solution *solution,
                            GError **error)
{
    (void)error;
    if (p->direction == DIRECTION_W)
        solve_weights(p, context, config->values, solution);
    else
        solve_data(p, context, config->values, solution);
    conv_set_exact_work(p, solution);
    return true;
}

const struct solver solver_conv_depthwise = {
    .provider = "skipjack",
    .name = "ConvDepthwise",
    .revision = 2,
    .algorithm = "Direct",
    .any_strides = true,
    .epilogues = EPILOGUE_DOES_ALL,
    .sources = sources,
    .is_applicable = depthwise_is_applicable,
    .workspace_bytes = depthwise_workspace_bytes,
    .estimate = depthwise_estimate,
    .default_config = depthwise_default_config,
    .space = &depthwise_space,
    .solve = depthwise_solve,
};
