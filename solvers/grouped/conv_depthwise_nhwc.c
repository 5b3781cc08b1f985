/*
 * Depthwise convolutions with channels last on GPUs: one channel in and out for each group, 2D, packed NHWC. F,
 * B and W; FP32, FP16, BF16 in any mixture, INT8 forward; filters of up to 7x7 that span at most 32 positions,
 * strides up to 4, any padding. Static: the shape without the batch is compiled in. A work-item has VECTOR
 * neighbouring channels, which it loads and stores at once. B gathers. W may split its sums (LOAD).
 */
#include <string.h>

#include "solvers/common/conv_common.h"
#include "solvers/common/conv_epilogue.h"
#include "solvers/common/split_sum.h"
#include "solvers/framework/solver_rows.h"
#include "solvers/framework/space.h"

enum depthwise_nhwc_param {
    NHWC_ITEMS,  /* the most work-items of a workgroup */
    NHWC_VECTOR, /* channels of a work-item */
    /* rows of results of a work-item's tile (B: of strides); W: rows of outputs that are read together */
    NHWC_TILE_H,
    NHWC_TILE_W,
    /* W: workgroups for each compute unit, reached by dividing the outputs into split-K parts; 0 in F and B, and for
     * one part */
    NHWC_LOAD,
    NHWC_PARAM_COUNT
};

/* Limits: filter positions along an axis, distance from the first to the last of them, and stride. */
#define NHWC_FILTER_MOST 7
#define NHWC_REACH_MOST  32
#define NHWC_STRIDE_MOST 4

/* How the kernels divide a problem by a config. */
struct depthwise_nhwc_plan {
    int64_t items; /* F, B: work-items of the launch */
    bool keep_weights;

    /* Only for W. */
    int64_t filter_rows;   /* filter rows that a work-item sums */
    int64_t channel_items; /* work-items of a workgroup along the channels */
    int64_t position_items;
    int64_t workgroups; /* workgroups that sum one split-K part of the outputs */
    int64_t units;      /* units of outputs (tiles of TILE_H by TILE_W) of the whole problem */
    int64_t part;       /* units of a part */
    int64_t splits;     /* number of parts */
};

/* Registers of a work-item for values whose number depends on the config; the others hold addresses. */
#define REGISTERS   200
/* The most elements of w (F, B), or sums (W), that a work-item keeps in registers. */
#define SUMS_MOST   104
/* The most multiply-accumulates of a tile. They are unrolled; this many take about a second to compile. */
#define MACS_MOST   2400
#define VECTOR_MOST 8
#define PIECE_BYTES 16
#define LOAD_MOST   8

static const struct space_param params[NHWC_PARAM_COUNT] = {
    [NHWC_ITEMS] = {"ITEMS", 3, (const int32_t[]){64, 128, 256}},
    [NHWC_VECTOR] = {"VECTOR", 4, (const int32_t[]){1, 2, 4, VECTOR_MOST}},
    [NHWC_TILE_H] = {"TILE_H", 4, (const int32_t[]){1, 2, 4, 7}},
    [NHWC_TILE_W] = {"TILE_W", 4, (const int32_t[]){1, 2, 4, 7}},
    [NHWC_LOAD] = {"LOAD", 7, (const int32_t[]){0, 1, 2, 3, 4, 6, LOAD_MOST}},
};

/* ---- what the kernels make of a problem ---- */

static enum tensor_role source_of(const struct problem *p)
{
    return p->direction == DIRECTION_B ? TENSOR_Y : TENSOR_X;
}

static int64_t count_taps(const struct problem *p)
{
    return p->fil[AXIS_H] * p->fil[AXIS_W];
}

/* The number of tiles along an axis. B's tiles begin at whole strides, counted from the start of the padding. */
static int64_t count_tiles(const struct problem *p, enum axis axis, int32_t tile)
{
    int64_t stride = p->stride[axis];

    if (p->direction != DIRECTION_B)
        return conv_divide_up(p->out[axis], tile);
    return conv_divide_up(p->in[axis] + p->pad[axis] % stride, tile * stride);
}

/* Source positions along an axis that a tile reads. */
static int64_t span_of(const struct problem *p, enum axis axis, int32_t tile, int64_t filter)
{
    int64_t reach = (filter - 1) * p->dilation[axis];

    if (p->direction == DIRECTION_B)
        return tile + reach / p->stride[axis];
    return (tile - 1) * p->stride[axis] + reach + 1;
}

/* The most rows of results of a tile to which one source row contributes. */
static int64_t rows_under_way(const struct problem *p, int32_t tile)
{
    int64_t reach = (p->fil[AXIS_H] - 1) * p->dilation[AXIS_H];

    if (p->direction == DIRECTION_B)
        return MIN(tile * p->stride[AXIS_H], reach + 1);
    return MIN(tile, reach / p->stride[AXIS_H] + 1);
}

static int64_t words_of(const struct problem *p, enum tensor_role role, int32_t vector)
{
    return conv_divide_up((int64_t)vector * data_type_bytes(p->type[role]), 4);
}

/* W: the filter rows that a work-item sums at once: as many as fit its registers, nearly equal for all passes over
 * the filter. */
static int64_t filter_rows(const struct problem *p, int32_t vector)
{
    int64_t most = MAX(SUMS_MOST / (p->fil[AXIS_W] * vector), 1);

    return conv_divide_up(p->fil[AXIS_H], conv_divide_up(p->fil[AXIS_H], most));
}

static bool keeps_weights(const struct problem *p, int32_t vector)
{
    return count_taps(p) * vector <= SUMS_MOST;
}

/* Registers of a work-item: the current source row in its stored form, one position of it as floats, and weights and
 * sums; W holds its outputs in both forms. */
static int64_t count_registers(const struct problem *p, const int32_t *values)
{
    int32_t vector = values[NHWC_VECTOR], tile_h = values[NHWC_TILE_H],
            tile_w = values[NHWC_TILE_W];
    int64_t rows = rows_under_way(p, tile_h);
    int64_t count =
        vector + span_of(p, AXIS_W, tile_w, p->fil[AXIS_W]) * words_of(p, source_of(p), vector);

    if (p->direction == DIRECTION_W)
        return count + vector * (filter_rows(p, vector) * p->fil[AXIS_W] + rows * tile_w) +
               tile_h * tile_w * words_of(p, TENSOR_Y, vector);
    if (p->direction == DIRECTION_B)
        rows *= p->stride[AXIS_W];
    return count + vector * ((keeps_weights(p, vector) ? count_taps(p) : 2) + rows * tile_w);
}

/* Divides W's outputs into split-K parts, so many and so large that all compute units finish at about the same time.
 * */
static void plan_weights(struct depthwise_nhwc_plan *plan, const struct problem *p,
                         const struct context *context, const int32_t *values, int64_t units)
{
    int64_t workgroups = (int64_t)context->target->compute_units * values[NHWC_LOAD];
    int64_t vectors = conv_divide_up(p->c, values[NHWC_VECTOR]);
    int64_t blocks = conv_divide_up(vectors, values[NHWC_ITEMS]);

    plan->filter_rows = filter_rows(p, values[NHWC_VECTOR]);
    plan->channel_items = conv_divide_up(vectors, blocks);
    plan->position_items = values[NHWC_ITEMS] / plan->channel_items;
    plan->workgroups = conv_divide_up(vectors, plan->channel_items) *
                       conv_divide_up(p->fil[AXIS_H], plan->filter_rows);
    plan->units = units;
    plan->part = conv_divide_up(units, MAX(workgroups / plan->workgroups, 1));
    plan->splits = conv_divide_up(units, plan->part);
}

static void depthwise_nhwc_plan_init(struct depthwise_nhwc_plan *plan, const struct problem *p,
                                     const struct context *context, const int32_t *values)
{
    int64_t tiles = p->n * count_tiles(p, AXIS_H, values[NHWC_TILE_H]) *
                    count_tiles(p, AXIS_W, values[NHWC_TILE_W]);

    memset(plan, 0, sizeof(*plan));
    plan->items = tiles * conv_divide_up(p->c, values[NHWC_VECTOR]);
    plan->keep_weights = keeps_weights(p, values[NHWC_VECTOR]);
    if (p->direction == DIRECTION_W)
        plan_weights(plan, p, context, values, tiles);
}

/* ---- space ---- */

static bool items_suit_target(const struct problem *p, const struct context *context,
                              const int32_t *values)
{
    (void)p;
    return values[NHWC_ITEMS] <= context->target->max_workgroup;
}

/* Valid vectors: the widest that is loaded in one piece, half of it, and shorter ones where there are many filter
 * positions. */
static bool vector_suits_channels(const struct problem *p, const struct context *context,
                                  const int32_t *values)
{
    int32_t widest =
        MIN(VECTOR_MOST, PIECE_BYTES / (int32_t)data_type_bytes(p->type[source_of(p)]));
    int32_t vector = values[NHWC_VECTOR];

    (void)context;
    while (p->c % widest != 0)
        widest /= 2;
    return vector <= widest && (vector * 2 >= widest || count_taps(p) * vector * 2 > SUMS_MOST);
}

static bool tile_suits_size(const struct problem *p, enum axis axis, int32_t tile)
{
    int64_t size =
        p->direction == DIRECTION_B ? conv_divide_up(p->in[axis], p->stride[axis]) : p->out[axis];

    return tile == 1 || tile < 2 * size;
}

/* In F and B a tile of several rows is valid only where weights stay in registers; otherwise weights are read at each
 * use, and a tile has one row. */
static bool rows_are_shared(const struct problem *p, const struct context *context,
                            const int32_t *values)
{
    (void)context;
    return values[NHWC_TILE_H] == 1 ||
           (tile_suits_size(p, AXIS_H, values[NHWC_TILE_H]) &&
            (p->direction == DIRECTION_W || keeps_weights(p, values[NHWC_VECTOR])));
}

static bool tile_fits_registers(const struct problem *p, const struct context *context,
                                const int32_t *values)
{
    (void)context;
    if (values[NHWC_TILE_W] == 1 && values[NHWC_TILE_H] == 1 && values[NHWC_VECTOR] == 1)
        return true;
    return tile_suits_size(p, AXIS_W, values[NHWC_TILE_W]) &&
           count_registers(p, values) <= REGISTERS &&
           count_taps(p) * values[NHWC_TILE_H] * values[NHWC_TILE_W] * values[NHWC_VECTOR] <=
               MACS_MOST;
}

/* W: whether local memory holds one filter row of sums of all work-items, which the workgroup adds up row by row. */
static bool sums_fit_local_memory(const struct problem *p, const struct context *context,
                                  const int32_t *values)
{
    return p->direction != DIRECTION_W ||
           p->fil[AXIS_W] * values[NHWC_VECTOR] * values[NHWC_ITEMS] * 4 <=
               context->target->local_bytes;
}

static bool parts_fit_workspace(const struct problem *p, const struct context *context,
                                const int32_t *values)
{
    struct depthwise_nhwc_plan plan;

    depthwise_nhwc_plan_init(&plan, p, context, values);
    return split_sum_bytes(p, (int)plan.splits) <= context->workspace_limit;
}

/* W: whether there are several parts, and at least half of the work-items of a part have a unit of outputs to sum. */
static bool parts_leave_work(const struct problem *p, const struct context *context,
                             const int32_t *values)
{
    struct depthwise_nhwc_plan plan;

    depthwise_nhwc_plan_init(&plan, p, context, values);
    return plan.splits > 1 && plan.part * 2 >= plan.position_items;
}

/* LOAD suits F and B only as 0. W: one part (LOAD 0) is valid only where its workgroups fill at least a quarter of
 * the compute units, or where parts are not possible. */
static bool load_suits_target(const struct problem *p, const struct context *context,
                              const int32_t *values)
{
    int32_t least[NHWC_PARAM_COUNT];
    struct depthwise_nhwc_plan plan;

    if (p->direction != DIRECTION_W)
        return values[NHWC_LOAD] == 0;
    if (values[NHWC_LOAD] > 0)
        return parts_leave_work(p, context, values);
    memcpy(least, values, sizeof(least));
    least[NHWC_LOAD] = 1;
    depthwise_nhwc_plan_init(&plan, p, context, values);
    return plan.workgroups * 4 >= context->target->compute_units ||
           !parts_leave_work(p, context, least) || !parts_fit_workspace(p, context, least);
}

static const struct space_constraint constraints[] = {
    {"items_suit_target", "workgroup size", NHWC_ITEMS + 1, items_suit_target},
    {"vector_suits_channels", "alignment", NHWC_VECTOR + 1, vector_suits_channels},
    {"sums_fit_local_memory", "local memory", NHWC_VECTOR + 1, sums_fit_local_memory},
    {"rows_are_shared", "arithmetic", NHWC_TILE_H + 1, rows_are_shared},
    {"tile_fits_registers", "registers", NHWC_TILE_W + 1, tile_fits_registers},
    {"load_suits_target", "arithmetic", NHWC_LOAD + 1, load_suits_target},
    {"parts_fit_workspace", "workspace", NHWC_LOAD + 1, parts_fit_workspace},
};

static const struct space depthwise_nhwc_space = {NHWC_PARAM_COUNT, params,
                                                  G_N_ELEMENTS(constraints), constraints};

/* A bound of the bytes of split-K parts: LOAD_MOST workgroups on each unit, each with a part of its own, within the
 * context's limit. */
static uint64_t depthwise_nhwc_workspace_bytes(const struct problem *p,
                                               const struct context *context)
{
    uint64_t parts = (uint64_t)context->target->compute_units * LOAD_MOST;

    if (p->direction != DIRECTION_W)
        return 0;
    parts = MIN(parts, (uint64_t)(p->n * p->out[AXIS_H] * p->out[AXIS_W]));
    parts = MIN(parts, context->workspace_limit / split_sum_part_bytes(p));
    return split_sum_bytes(p, (int)parts);
}

/* Chooses the number of split-K parts: few large parts leave units of a GPU idle, many small ones write more than
 * they read. */
static void choose_load(const struct problem *p, const struct context *context, int32_t *values)
{
    for (int32_t load = 3; load > 0; load--) {
        values[NHWC_LOAD] = load;
        if (parts_leave_work(p, context, values) && parts_fit_workspace(p, context, values))
            return;
    }
    values[NHWC_LOAD] = 0;
}

/* W: chooses the work-items of a workgroup: many, unless they leave too few workgroups. */
static void choose_items(const struct problem *p, const struct context *context, int32_t *values)
{
    for (int i = params[NHWC_ITEMS].count - 1; i >= 0 && values[NHWC_LOAD] == 0; i--) {
        values[NHWC_ITEMS] = params[NHWC_ITEMS].values[i];
        choose_load(p, context, values);
    }
}

/* Sets the config where nothing was tuned; it is in the space. Defaults were measured on an H200; four channels
 * allow many work-items. */
static void depthwise_nhwc_default_config(const struct problem *p, const struct context *context,
                                          struct perf_config *config)
{
    static const int32_t tiles[][2] = {{4, 4}, {4, 2}, {2, 4}, {2, 2}, {1, 4}, {1, 2}, {1, 1}};
    static const int32_t vectors[] = {4, 8, 2, 1};
    /* in W the largest tile pays only with stride 1, where rows of x leave enough registers */
    bool is_narrow = p->stride[AXIS_H] * p->stride[AXIS_W] == 1;
    gsize first = p->direction != DIRECTION_W ? 2 : is_narrow ? 0 : 1;
    gsize count = G_N_ELEMENTS(tiles) - first;

    config->count = NHWC_PARAM_COUNT;
    for (gsize i = 0; i < G_N_ELEMENTS(vectors) * count; i++) {
        const int32_t *tile = tiles[first + i % count];
        const int32_t values[NHWC_PARAM_COUNT] = {64, vectors[i / count], tile[0], tile[1], 0};
        memcpy(config->values, values, sizeof(values));
        if (p->c % vectors[i / count] != 0)
            continue;
        if (p->direction == DIRECTION_W)
            choose_items(p, context, config->values);
        if (space_contains(&depthwise_nhwc_space, p, context, config, NULL))
            return;
    }
}

/* work-items of a workgroup, as conv_depthwise_nhwc_sum.cl declares it */
#define SUM_ITEMS    256
#define SUM_ELEMENTS 16

static const char *const sources[] = {"conv_depthwise_nhwc.cl", "conv_depthwise_nhwc_w.cl",
                                      "conv_depthwise_nhwc_sum.cl", NULL};

/* ---- what it serves ---- */

static bool tensors_are_served(const struct problem *p, const char **reason)
{
    if (!conv_types_are_served(p, reason))
        return false;
    *reason = "needs two dimensions, and NHWC for all tensors";
    for (int t = 0; t < TENSOR_COUNT; t++) {
        if (p->layout[t] != LAYOUT_NHWC)
            return false;
    }
    return p->spatial_dim == 2;
}

/* Whether filter and stride are small enough: the kernel unrolls all filter positions of a tile. */
static bool shape_is_served(const struct problem *p, const char **reason)
{
    *reason = "needs filters of up to 7x7, at most 32 positions long, and strides up to 4";
    for (int a = AXIS_H; a <= AXIS_W; a++) {
        if (p->fil[a] > NHWC_FILTER_MOST || p->stride[a] > NHWC_STRIDE_MOST ||
            (p->fil[a] - 1) * p->dilation[a] > NHWC_REACH_MOST)
            return false;
    }
    return true;
}

/* Whether work-items, and offsets in w (W), fit 32 bits. The smallest tiles have at most one work-item for each
 * element, and some past the ends. */
static bool items_fit_32_bits(const struct problem *p)
{
    double weights = (double)p->c * (double)p->fil[AXIS_H] * (double)p->fil[AXIS_W];
    double most = (double)p->n * (double)p->c;

    for (int a = AXIS_H; a <= AXIS_W; a++)
        most *= (double)MAX(p->in[a], p->out[a]) + NHWC_STRIDE_MOST;
    return MAX(most, weights) < INT32_MAX;
}

static bool depthwise_nhwc_is_applicable(const struct problem *p, const struct context *context,
                                         const char **reason)
{
    *reason = "needs a GPU";
    if (context_is_cpu(context))
        return false;
    *reason = "needs several groups of one input and one output channel each";
    if (p->groups != p->c || p->k != p->c || p->groups == 1)
        return false;
    if (!conv_is_plain(p, reason) || !tensors_are_served(p, reason) ||
        !shape_is_served(p, reason) || !conv_counts_fit_32_bits(p, reason))
        return false;
    *reason = "needs fewer than 2^31 elements";
    return items_fit_32_bits(p);
}

static double depthwise_nhwc_estimate(const struct problem *p, const struct context *context)
{
    (void)p;
    (void)context;
    return 150.0;
}

static void add_options(const struct problem *p, const int32_t *values, struct launch *launch)
{
    static const struct {
        const char *names[2];
        size_t at;
    } shape[] = {
        {{"FIL_H", "FIL_W"}, offsetof(struct problem, fil)},
        {{"STRIDE_H", "STRIDE_W"}, offsetof(struct problem, stride)},
        {{"DILATION_H", "DILATION_W"}, offsetof(struct problem, dilation)},
        {{"PAD_H", "PAD_W"}, offsetof(struct problem, pad)},
        {{"IN_H", "IN_W"}, offsetof(struct problem, in)},
        {{"OUT_H", "OUT_W"}, offsetof(struct problem, out)},
    };

    for (gsize i = 0; i < G_N_ELEMENTS(shape); i++) {
        const int64_t *sizes = (const int64_t *)(const void *)((const char *)p + shape[i].at);
        launch_option_int(launch, shape[i].names[0], sizes[AXIS_H]);
        launch_option_int(launch, shape[i].names[1], sizes[AXIS_W]);
    }
    for (int i = NHWC_VECTOR; i <= NHWC_TILE_W; i++)
        launch_option_int(launch, depthwise_nhwc_space.params[i].name, values[i]);
    launch_option_int(launch, "CHANNELS", p->c);
    launch_option_text(launch, "LANE", conv_sum_type(p));
}

static void solve_data(const struct problem *p, const struct context *context,
                       const int32_t *values, struct solution *solution)
{
    struct launch *launch =
        solution_add_launch(solution, "conv_depthwise_nhwc.cl", "conv_depthwise_nhwc");
    bool forward = p->direction == DIRECTION_F;
    struct depthwise_nhwc_plan plan;

    depthwise_nhwc_plan_init(&plan, p, context, values);
    add_options(p, values, launch);
    conv_add_type_options(p, launch);
    launch_option_int(launch, forward ? "DIRECTION_F" : "DIRECTION_B", 1);
    launch_option_int(launch, "ITEMS", values[NHWC_ITEMS]);
    launch_option_int(launch, "KEEP_WEIGHTS", plan.keep_weights);
    conv_add_epilogue_options(p, launch);
    launch_sort_options(launch);
    launch_arg_tensor(launch, forward ? TENSOR_X : TENSOR_Y);
    launch_arg_tensor(launch, TENSOR_W);
    launch_arg_tensor(launch, problem_output_role(p));
    launch_arg_int32(launch, p->n);
    conv_add_epilogue_args(p, launch);
    launch_set_line(launch, plan.items, values[NHWC_ITEMS]);
}

static void add_sum(const struct problem *p, int splits, struct solution *solution)
{
    struct launch *launch =
        solution_add_launch(solution, "conv_depthwise_nhwc_sum.cl", "conv_depthwise_nhwc_sum");
    int64_t taps = p->fil[AXIS_H] * p->fil[AXIS_W];

    launch_option_text(launch, "TYPE_W", data_type_name(p->type[TENSOR_W]));
    launch_arg_workspace(launch, 0);
    launch_arg_tensor(launch, TENSOR_W);
    launch_arg_int32(launch, p->c);
    launch_arg_int32(launch, taps);
    launch_arg_int32(launch, splits);
    launch_set_line(launch, conv_divide_up(p->c * taps, SUM_ELEMENTS) * SUM_ITEMS, SUM_ITEMS);
    solution->workspace_bytes = split_sum_bytes(p, splits);
}

static void solve_weights(const struct problem *p, const struct context *context,
                          const int32_t *values, struct solution *solution)
{
    struct launch *launch =
        solution_add_launch(solution, "conv_depthwise_nhwc_w.cl", "conv_depthwise_nhwc_w");
    struct depthwise_nhwc_plan plan;
    int64_t items;
    bool split;

    depthwise_nhwc_plan_init(&plan, p, context, values);
    split = plan.splits > 1;
    items = plan.channel_items * plan.position_items;
    add_options(p, values, launch);
    launch_option_text(launch, "TYPE_X", data_type_name(p->type[TENSOR_X]));
    launch_option_text(launch, "TYPE_Y", data_type_name(p->type[TENSOR_Y]));
    launch_option_text(launch, "TYPE_W", data_type_name(split ? TYPE_FP32 : p->type[TENSOR_W]));
    launch_option_int(launch, "PARTS", split);
    launch_option_int(launch, "CHANNEL_ITEMS", plan.channel_items);
    launch_option_int(launch, "POSITION_ITEMS", plan.position_items);
    launch_option_int(launch, "FILTER_ROWS", plan.filter_rows);
    launch_sort_options(launch);
    launch_arg_tensor(launch, TENSOR_X);
    launch_arg_tensor(launch, TENSOR_Y);
    if (split)
        launch_arg_workspace(launch, 0);
    else
        launch_arg_tensor(launch, TENSOR_W);
    launch_arg_int32(launch, plan.units);
    launch_arg_int32(launch, plan.part);
    launch_set_line(launch, plan.workgroups * plan.splits * items, (int)items);
    if (split)
        add_sum(p, (int)plan.splits, solution);
}

static bool depthwise_nhwc_solve(const struct problem *p, const struct context *context,
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

const struct solver solver_conv_depthwise_nhwc = {
    .provider = "skipjack",
    .name = "ConvDepthwiseNhwc",
    .revision = 2,
    .algorithm = "Direct",
    .epilogues = EPILOGUE_DOES_ALL,
    .sources = sources,
    .is_applicable = depthwise_nhwc_is_applicable,
    .workspace_bytes = depthwise_nhwc_workspace_bytes,
    .estimate = depthwise_nhwc_estimate,
    .default_config = depthwise_nhwc_default_config,
    .space = &depthwise_nhwc_space,
    .solve = depthwise_nhwc_solve,
};
