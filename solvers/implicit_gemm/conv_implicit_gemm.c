/*
 * The implicit matrix product: a convolution as one matrix product for each group whose second operand is never
 * stored; the kernel gathers its elements from the input while it multiplies (Chetlur et al., "cuDNN: Efficient
 * Primitives for Deep Learning", 2014). Three solvers run one kernel, conv_implicit_gemm.cl:
 *
 *   ConvImplicitGemm         the shape is passed as arguments; one binary for each config, type, layout, direction
 *   ConvImplicitGemmStatic   the shape is compiled in: divisions become multiplications and loops have known ends,
 *                            at the price of a binary for each problem
 *   ConvImplicitGemmPartial  parameters FIX_<PART> of the config say which parts of the shape are compiled in
 *
 * All three serve F, B and W; 2D and 3D; every layout whose channels are not in blocks, with any strides of tensors;
 * FP32, FP16, BF16, FP8 and BF8 in any mixture, INT8 forward; groups, stride, dilation and any padding.
 */
#include <math.h>

#include "solvers/common/conv_common.h"
#include "solvers/common/conv_epilogue.h"
#include "solvers/common/split_sum.h"
#include "solvers/common/tile_space.h"
#include "solvers/framework/solver_rows.h"

/* Parameters that follow the tile's parameters and SPLITS. */
enum {
    /* REPEAT_N: blocks of columns that a CPU's workgroup computes with one block of rows */
    REPEAT_N = TILE_SPLITS + 1,
    TILING_COUNT, /* number of parameters that all three solvers have */
    /* ConvImplicitGemmPartial only: the first of the parameters that say which parts of the shape are compiled in */
    FIRST_FIX = TILING_COUNT,
    FIX_COUNT = 5,
    PARAM_COUNT = FIRST_FIX + FIX_COUNT
};

/* Parts of the shape that can be compiled in. */
enum fix {
    FIX_FILTER = 1 << 0,   /* fil */
    FIX_CONV = 1 << 1,     /* stride, padding and dilation */
    FIX_CHANNELS = 1 << 2, /* c, k, groups */
    FIX_IMAGE = 1 << 3,    /* in, out */
    FIX_BATCH = 1 << 4,    /* n */
    FIX_NOTHING = 0,
    FIX_ALL = (1 << FIX_COUNT) - 1
};

/* Bytes of local memory that each entry of the kernel's tables takes in addition to the tile's: a column's or term's
 * coordinates (three of 4 bytes) and a term's offsets (four). */
#define COORDINATE_BYTES 12
#define PLACES_BYTES     16
/* The most workgroups along a grid's third axis on every GPU. */
#define GRID_MOST        65535
/* The most rows: with the blocks that tile_default_config() chooses for large grids, this many rows fit a grid. */
#define ROWS_MOST        (32.0 * GRID_MOST)
/* The most elements of w for which the bytes of all split-K parts fit 64 bits. */
#define WEIGHTS_MOST     0x1p50

static const char *const sources[] = {"conv_implicit_gemm.cl", "conv_sum_splits.cl", NULL};

/* ---- the product ---- */

/* Products in one grid: groups; in B times the phases of input positions, one for each remainder modulo the stride
 * (conv_implicit_gemm.cl). */
static double layer_count(const struct problem *p)
{
    double layers = (double)p->groups;

    for (int a = 0; a < AXIS_COUNT && p->direction == DIRECTION_B; a++)
        layers *= (double)MIN(p->stride[a], p->in[a]);
    return layers;
}

/* Columns of the product that has the most columns: in B the first phase's. */
static double column_count(const struct problem *p)
{
    double m, n, k;

    conv_gemm_sizes(p, &m, &n, &k);
    if (p->direction == DIRECTION_B) {
        n = (double)p->n;
        for (int a = 0; a < AXIS_COUNT; a++)
            n *= (double)((p->in[a] - 1) / p->stride[a] + 1);
    }
    return n;
}

static struct tile_product product_of(const struct problem *p)
{
    struct tile_product product = {.layers = layer_count(p)};

    conv_gemm_sizes(p, &product.m, &product.n, &product.k);
    product.n = column_count(p);
    if (p->direction == DIRECTION_W)
        product.part_bytes = split_sum_part_bytes(p);
    return product;
}

/* Workgroups of one split-K part; each workgroup computes REPEAT_N blocks of columns. */
static double workgroup_count(const struct tile_product *product, const int32_t *values)
{
    struct tile_product repeats = *product;

    repeats.n = ceil(product->n / values[REPEAT_N]);
    return tile_workgroups(&repeats, values);
}

/* ---- the space ---- */

static bool tables_fit_local_memory(const struct problem *p, const struct context *context,
                                    const int32_t *values)
{
    int64_t rows = tile_block_m(values), columns = tile_block_n(values);
    int64_t terms = values[TILE_BLOCK_K];
    int64_t bytes = (rows + columns) * terms * (int64_t)sizeof(float) +
                    (rows + columns + terms) * 2 * (int64_t)sizeof(int64_t) +
                    (columns + terms) * COORDINATE_BYTES + terms * PLACES_BYTES;

    (void)p;
    return context_is_cpu(context) || bytes <= MIN(context->target->local_bytes, 48 * 1024);
}

TILE_PRODUCT_CONSTRAINTS(product_of)

/* On a CPU a workgroup's blocks may have at most twice the product's columns; REPEAT_N 1 is valid only where one
 * block has more columns than the product. A GPU's work-item has its only block in registers, so REPEAT_N is 1. */
static bool repeats_leave_work(const struct problem *p, const struct context *context,
                               const int32_t *values)
{
    int repeats = values[REPEAT_N];
    double block = tile_block_n(values), columns = column_count(p);

    if (!context_is_cpu(context))
        return repeats == 1;
    return repeats == 1 ? block > columns : block * repeats <= 2 * columns;
}

/* One part is always valid. More parts are valid only where the next smaller number gives each compute unit less
 * than two workgroups. They must give each unit a workgroup, unless no more parts are possible. The workspace limit
 * is left out, so that a config that is valid under a limit is valid without it. */
static bool splits_suit_target(const struct problem *p, const struct context *context,
                               const int32_t *values)
{
    const struct tile_product product = product_of(p);
    double workgroups = workgroup_count(&product, values);
    int splits = values[TILE_SPLITS];
    struct context unlimited = *context;

    unlimited.workspace_limit = UINT64_MAX;
    return splits == 1 || (tile_splits_are_needed(context, splits, workgroups) &&
                           (workgroups * splits >= context->target->compute_units ||
                            !tile_may_split(&product, &unlimited, splits * TILE_SPLITS_STEP,
                                            values[TILE_BLOCK_K])));
}

#define OFF_ON                                                                                     \
    2, (const int32_t[])                                                                           \
    {                                                                                              \
        0, 1                                                                                       \
    }

static const struct space_param params[PARAM_COUNT] = {
    TILE_PARAMS,
    TILE_SPLITS_PARAM,
    {"REPEAT_N", 4, (const int32_t[]){1, 2, 4, 8}},
    {"FIX_FILTER", OFF_ON},
    {"FIX_CONV", OFF_ON},
    {"FIX_CHANNELS", OFF_ON},
    {"FIX_IMAGE", OFF_ON},
    {"FIX_BATCH", OFF_ON},
};

static const struct space_constraint constraints[] = {
    TILE_CONSTRAINTS(block_suits_sizes, blocks_fit_grid),
    {"tables_fit_local_memory", "local memory", TILE_BLOCK_K + 1, tables_fit_local_memory},
    TILE_SPLITS_CONSTRAINT(parts_fit),
    {"repeats_leave_work", "arithmetic", REPEAT_N + 1, repeats_leave_work},
    {"splits_suit_target", "compute units", REPEAT_N + 1, splits_suit_target},
};

/* tiling_space: the space of ConvImplicitGemm and ConvImplicitGemmStatic. The other space also chooses which parts of
 * the shape are compiled in. */
static const struct space tiling_space = {TILING_COUNT, params, G_N_ELEMENTS(constraints),
                                          constraints};
static const struct space partial_space = {PARAM_COUNT, params, G_N_ELEMENTS(constraints),
                                           constraints};

static uint64_t workspace_bytes(const struct problem *p, const struct context *context)
{
    const struct tile_product product = product_of(p);

    return split_sum_bytes(p, tile_most_splits(&product, context));
}

/* ---- what it serves ---- */

static bool is_applicable(const struct problem *p, const struct context *context,
                          const char **reason)
{
    double m, n, k;

    (void)context;
    if (!conv_is_uncast(p, reason) || !conv_epilogue_is_served(p, true, reason) ||
        !conv_floats_are_served(p, reason) || !conv_layouts_are_plain(p, reason) ||
        !conv_counts_fit_32_bits(p, reason))
        return false;
    conv_gemm_sizes(p, &m, &n, &k);
    *reason =
        "needs fewer channels and groups, or shorter strides: a grid's second and third axis hold 65535 blocks";
    if (m > ROWS_MOST || layer_count(p) > GRID_MOST)
        return false;
    *reason = "needs fewer weights: their parts' size must fit 64 bits";
    return p->direction != DIRECTION_W || m * n * (double)p->groups <= WEIGHTS_MOST;
}

/* Narrows the tile for a product of few rows, since a tile computes empty rows too. */
static void fit_tile_to_rows(const struct context *context, double m, int32_t *values)
{
    if (context_is_cpu(context)) {
        /* On a CPU large tiles are faster where they fit: each gathered element is used for more rows. */
        values[TILE_M] = m > 16 ? 8 : 4;
        values[TILE_REPEAT_M] = m > 32 ? 8 : 4;
    } else if (m <= 16) {
        values[TILE_THREADS_M] = 4;
        values[TILE_THREADS_N] = 32;
    }
}

static void default_config(const struct problem *p, const struct context *context,
                           struct perf_config *config)
{
    const struct tile_product product = product_of(p);
    int32_t *values = config->values;

    tile_default_config(&product, context, config);
    config->count = TILING_COUNT;
    fit_tile_to_rows(context, product.m, values);
    if (!tile_sums_fit_registers(p, context, values))
        values[TILE_M] = 4;
    values[REPEAT_N] = 8;
    while (!repeats_leave_work(p, context, values))
        values[REPEAT_N] /= 2;
    values[TILE_SPLITS] =
        tile_default_splits(&product, context, values, workgroup_count(&product, values));
}

/* CPU figures are measured relative to ConvCpuGemm (38). A partly filled block takes as long as a full one. */
static double dynamic_estimate(const struct problem *p, const struct context *context)
{
    const struct tile_product product = product_of(p);
    double whole = !context_is_cpu(context) ? 34.0 : p->direction == DIRECTION_W ? 20.0 : 27.0;
    struct perf_config config;

    default_config(p, context, &config);
    return whole * conv_used_part(product.m, tile_block_m(config.values)) *
           conv_used_part(product.n, tile_block_n(config.values));
}

/* ---- the launch ---- */

/* The axis along which a tensor's elements are neighbours in memory; images of w are its rows k. */
enum innermost { INNERMOST_IMAGE, INNERMOST_CHANNEL, INNERMOST_WIDTH };

static enum innermost innermost_of(const struct problem *p, enum tensor_role role)
{
    switch (p->layout[role]) {
    case LAYOUT_NHWC:
    case LAYOUT_NDHWC: return INNERMOST_CHANNEL;
    case LAYOUT_CHWN: return INNERMOST_IMAGE;
    default: return INNERMOST_WIDTH;
    }
}

/* The operands of the product c = a b, by direction. `other` is the tensor whose positions are multiplied with b's.
 * */
static const struct operands {
    enum tensor_role a, b, c, other;
    /* axes of a's and c's tensors along which the product's rows are */
    enum innermost a_row, c_row;
    enum innermost w_channel; /* axis of w along which b's channels are */
    const char *option;
} operands_of[DIRECTION_COUNT] = {
    [DIRECTION_F] = {TENSOR_W, TENSOR_X, TENSOR_Y, TENSOR_Y, INNERMOST_IMAGE, INNERMOST_CHANNEL,
                     INNERMOST_CHANNEL, "DIRECTION_F"},
    [DIRECTION_B] = {TENSOR_W, TENSOR_Y, TENSOR_X, TENSOR_X, INNERMOST_CHANNEL, INNERMOST_CHANNEL,
                     INNERMOST_IMAGE, "DIRECTION_B"},
    [DIRECTION_W] = {TENSOR_Y, TENSOR_X, TENSOR_W, TENSOR_Y, INNERMOST_CHANNEL, INNERMOST_IMAGE,
                     INNERMOST_CHANNEL, "DIRECTION_W"},
};

/* Options for the order of columns and terms. They depend on layouts only, so that one binary serves all shapes. The
 * layout of b decides, since b is gathered repeatedly; where b's layout allows both orders, the other tensor's layout
 * decides. A CPU's work-item loads term by term, and within a term rows or columns, so that it stores whole vectors.
 * */
static void add_orders(const struct problem *p, const struct context *context, bool is_split,
                       struct launch *launch)
{
    const struct operands *operands = &operands_of[p->direction];
    enum innermost b = innermost_of(p, operands->b);
    bool inner_channel = b == INNERMOST_CHANNEL || innermost_of(p, TENSOR_W) == operands->w_channel;
    bool inner_batch =
        b == INNERMOST_IMAGE ||
        (b == INNERMOST_CHANNEL && innermost_of(p, operands->other) == INNERMOST_IMAGE);
    bool a_by_term = innermost_of(p, operands->a) != operands->a_row;
    bool b_by_term = (b == INNERMOST_CHANNEL) == (p->direction != DIRECTION_W);
    bool c_is_fp32 = is_split || p->type[operands->c] == TYPE_FP32;
    bool c_by_column = is_split || innermost_of(p, operands->c) != operands->c_row;

    launch_option_int(launch, "INNER_CHANNEL", inner_channel);
    launch_option_int(launch, "INNER_BATCH", inner_batch);
    launch_option_int(launch, "A_BY_TERM", a_by_term && !context_is_cpu(context));
    launch_option_int(launch, "B_BY_TERM", b_by_term && !context_is_cpu(context));
    launch_option_int(launch, "B_RUNS", !b_by_term && context_is_cpu(context));
    launch_option_int(launch, "C_RUNS", c_is_fp32 && c_by_column && context_is_cpu(context));
}

static void fix_axes(const struct problem *p, const char *name, const int64_t *values,
                     struct launch *launch)
{
    for (int a = p->spatial_dim == 3 ? AXIS_D : AXIS_H; a < AXIS_COUNT; a++) {
        char option[32];
        g_snprintf(option, sizeof(option), "FIX_%s_%c", name, "DHW"[a]);
        launch_option_int(launch, option, values[a]);
    }
}

static void add_fixed(const struct problem *p, unsigned fixed, struct launch *launch)
{
    if (fixed & FIX_FILTER)
        fix_axes(p, "FIL", p->fil, launch);
    if (fixed & FIX_CONV) {
        fix_axes(p, "STRIDE", p->stride, launch);
        fix_axes(p, "PAD", p->pad, launch);
        fix_axes(p, "DILATION", p->dilation, launch);
    }
    if (fixed & FIX_CHANNELS) {
        launch_option_int(launch, "FIX_C", p->c / p->groups);
        launch_option_int(launch, "FIX_K", p->k / p->groups);
        launch_option_int(launch, "FIX_GROUPS", p->groups);
    }
    if (fixed & FIX_IMAGE) {
        fix_axes(p, "IN", p->in, launch);
        fix_axes(p, "OUT", p->out, launch);
    }
    if (fixed & FIX_BATCH)
        launch_option_int(launch, "FIX_N", p->n);
}

static void add_options(const struct problem *p, const struct context *context,
                        const int32_t *values, bool is_split, struct launch *launch)
{
    const struct operands *operands = &operands_of[p->direction];

    tile_add_options(values, launch);
    launch_option_int(launch, "REPEAT_N", values[REPEAT_N]);
    launch_option_text(launch, "TYPE_A", data_type_name(p->type[operands->a]));
    launch_option_text(launch, "TYPE_B", data_type_name(p->type[operands->b]));
    launch_option_text(launch, "TYPE_C",
                       data_type_name(is_split ? TYPE_FP32 : p->type[operands->c]));
    launch_option_text(launch, "LANE", conv_sum_type(p));
    launch_option_int(launch, "SPATIAL", p->spatial_dim);
    launch_option_int(launch, operands->option, 1);
    add_orders(p, context, is_split, launch);
    conv_add_epilogue_options(p, launch);
}

/* Adds the strides of a packed NCHW w: the form of split-K parts in the workspace. */
static void add_dense_strides(const struct problem *p, struct launch *launch)
{
    int64_t stride[5] = {0, 0, 0, 0, 1};

    stride[3] = p->fil[AXIS_W];
    stride[2] = stride[3] * p->fil[AXIS_H];
    stride[1] = stride[2] * p->fil[AXIS_D];
    stride[0] = stride[1] * (p->c / p->groups);
    for (int axis = 0; axis < 5; axis++)
        launch_arg_int64(launch, stride[axis]);
}

static void add_arguments(const struct problem *p, bool is_split, int64_t k_part,
                          struct launch *launch)
{
    const struct operands *operands = &operands_of[p->direction];

    launch_arg_tensor(launch, operands->a);
    launch_arg_tensor(launch, operands->b);
    if (is_split)
        launch_arg_workspace(launch, 0);
    else
        launch_arg_tensor(launch, operands->c);
    for (int t = 0; t < TENSOR_COUNT; t++) {
        if (t == TENSOR_W && is_split)
            add_dense_strides(p, launch);
        for (int axis = 0; axis < 5 && !(t == TENSOR_W && is_split); axis++)
            launch_arg_stride(launch, (enum tensor_role)t, axis);
    }
    conv_add_shape_args(p, launch);
    launch_arg_int32(launch, k_part);
    launch_arg_int64(launch, is_split ? (int64_t)(split_sum_part_bytes(p) / sizeof(float)) : 0);
    conv_add_epilogue_args(p, launch);
}

static void set_grid(const struct problem *p, const int32_t *values, int splits,
                     struct launch *launch)
{
    const struct tile_product product = product_of(p);
    double columns = ceil(product.n / values[REPEAT_N]);

    tile_set_grid(values, (int64_t)product.m, (int64_t)columns, (int64_t)product.layers * splits,
                  launch);
}

/* Multiply-accumulates, padding included. B counts pairs of input positions and the filter positions that reach
 * them, without those that a stride skips: a filter position reaches positions of one remainder modulo the
 * stride. */
static double product_macs(const struct problem *p)
{
    double macs = (double)p->n * (double)p->k * (double)(p->c / p->groups);

    if (p->direction != DIRECTION_B)
        return problem_macs(p);
    for (int a = 0; a < AXIS_COUNT; a++) {
        int64_t stride = p->stride[a], met = 0;
        for (int64_t f = 0; f < p->fil[a]; f++) {
            int64_t first = ((f * p->dilation[a] - p->pad[a]) % stride + stride) % stride;
            met += first < p->in[a] ? (p->in[a] - 1 - first) / stride + 1 : 0;
        }
        macs *= (double)met;
    }
    return macs;
}

static void solve_fixed(const struct problem *p, const struct context *context,
                        const struct perf_config *config, unsigned fixed, struct solution *solution)
{
    struct launch *launch =
        solution_add_launch(solution, "conv_implicit_gemm.cl", "conv_implicit_gemm");
    int splits;
    int64_t k_part;
    double m, n, k;

    conv_gemm_sizes(p, &m, &n, &k);
    splits = tile_split_terms(config->values, (int64_t)k, config->values[TILE_SPLITS], &k_part);
    add_options(p, context, config->values, splits > 1, launch);
    add_fixed(p, fixed, launch);
    launch_sort_options(launch);
    add_arguments(p, splits > 1, splits > 1 ? k_part : (int64_t)k, launch);
    set_grid(p, config->values, splits, launch);
    if (splits > 1) {
        split_sum_add(p, 0, splits, solution);
        solution->workspace_bytes = split_sum_bytes(p, splits);
    }
    solution->flops = 2 * product_macs(p);
    conv_set_compulsory_bytes(p, solution);
}

/* ---- dynamic and static ---- */

static bool dynamic_solve(const struct problem *p, const struct context *context,
                          const struct perf_config *config, struct solution *solution,
                          GError **error)
{
    (void)error;
    solve_fixed(p, context, config, FIX_NOTHING, solution);
    return true;
}

/* On a CPU, compiling the shape in gains nothing (measured), because the kernel's tables keep divisions out of the
 * inner loops. */
static double static_estimate(const struct problem *p, const struct context *context)
{
    return (context_is_cpu(context) ? 0.95 : 1.1) * dynamic_estimate(p, context);
}

static bool static_solve(const struct problem *p, const struct context *context,
                         const struct perf_config *config, struct solution *solution,
                         GError **error)
{
    (void)error;
    solve_fixed(p, context, config, FIX_ALL, solution);
    return true;
}

/* ---- partial ----
 *
 * By default the filter's size and the convolution's strides, padding and dilation are compiled in, since networks
 * have few of them. Images and batches come in many sizes and stay arguments. */

static const int32_t default_fix[FIX_COUNT] = {1, 1, 0, 0, 0};

/* The partial form's estimate is between those of the dynamic and the static form. */
static double partial_estimate(const struct problem *p, const struct context *context)
{
    return (context_is_cpu(context) ? 0.97 : 1.05) * dynamic_estimate(p, context);
}

static void add_default_fix(struct perf_config *config)
{
    config->count = PARAM_COUNT;
    for (int i = 0; i < FIX_COUNT; i++)
        config->values[FIRST_FIX + i] = default_fix[i];
}

static void partial_default_config(const struct problem *p, const struct context *context,
                                   struct perf_config *config)
{
    default_config(p, context, config);
    add_default_fix(config);
}

static bool partial_solve(const struct problem *p, const struct context *context,
                          const struct perf_config *config, struct solution *solution,
                          GError **error)
{
    unsigned fixed = FIX_NOTHING;

    (void)error;
    for (int i = 0; i < FIX_COUNT; i++)
        fixed |= config->values[FIRST_FIX + i] ? 1u << i : 0;
    solve_fixed(p, context, config, fixed, solution);
    return true;
}

/* ---- the search of the partial form ----
 *
 * First tiles with the default choice of what is fixed, spread over their space, and the best one's neighbours. Then
 * the best tile with each choice flipped alone, so that a part's gain is measured with all else equal. At last all
 * flips that gained, together. */

/* The number of tiles spread over the space in its order, and the most tiles including the best one's neighbours. */
#define TILES_SPREAD 16
/* 26 tiles, five configs with one choice flipped, and one with the flips that gained: the 32 configs of a job */
#define TILES_MOST   26
/* A flip counts as a gain only if it saves more than 1 %; less is noise. */
#define GAIN         0.99

struct search {
    const struct problem *p;
    const struct context *context;
    const struct tried_config *tried;
    int tried_count;
    int wanted;
    struct perf_config *configs;
    int found;
};

static const struct tried_config *find_tried(const struct search *search,
                                             const struct perf_config *config)
{
    for (int i = 0; i < search->tried_count; i++) {
        if (perf_config_equal(&search->tried[i].config, config))
            return &search->tried[i];
    }
    return NULL;
}

static void offer(struct search *search, const struct perf_config *config)
{
    if (search->found < search->wanted && !find_tried(search, config))
        search->configs[search->found++] = *config;
}

static bool has_default_fix(const struct perf_config *config)
{
    for (int i = 0; i < FIX_COUNT; i++) {
        if (config->values[FIRST_FIX + i] != default_fix[i])
            return false;
    }
    return true;
}

static void offer_spread_tiles(struct search *search)
{
    int64_t count = space_count(&tiling_space, search->p, search->context), at = 0;
    int64_t chosen = 0, spread = MIN(count, TILES_SPREAD);
    struct space_walk walk;
    struct perf_config config;

    space_walk_init(&walk, &tiling_space, search->p, search->context);
    while (space_walk_next(&walk, &config)) {
        if (at++ != (2 * chosen + 1) * count / (2 * spread))
            continue;
        chosen++;
        add_default_fix(&config);
        offer(search, &config);
    }
}

/* The fastest of the tried configs that differ in their tile only (all with the default choice of what is compiled
 * in), the earliest among equals; NULL where all failed. *count is the number tried. */
static const struct tried_config *best_tile(const struct search *search, int *count)
{
    const struct tried_config *best = NULL;

    *count = 0;
    for (int i = 0; i < search->tried_count; i++) {
        const struct tried_config *tried = &search->tried[i];
        if (!has_default_fix(&tried->config))
            continue;
        ++*count;
        if (isfinite(tried->time_ms) && (!best || tried->time_ms < best->time_ms))
            best = tried;
    }
    return best;
}

static void offer_neighbours(struct search *search, const struct perf_config *best, int allowed)
{
    g_autoptr(GArray) neighbours = g_array_new(FALSE, FALSE, sizeof(struct perf_config));
    struct perf_config tile = *best;

    tile.count = TILING_COUNT;
    space_neighbours(&tiling_space, search->p, search->context, &tile, true, neighbours);
    for (guint i = 0; i < neighbours->len && search->found < allowed; i++) {
        struct perf_config *config = &g_array_index(neighbours, struct perf_config, i);
        add_default_fix(config);
        offer(search, config);
    }
}

static struct perf_config flip(const struct perf_config *config, int fix)
{
    struct perf_config flipped = *config;

    flipped.values[FIRST_FIX + fix] ^= 1;
    return flipped;
}

static void offer_flips(struct search *search, const struct perf_config *best)
{
    for (int i = 0; i < FIX_COUNT; i++) {
        const struct perf_config flipped = flip(best, i);
        offer(search, &flipped);
    }
}

static void offer_what_gained(struct search *search, const struct tried_config *best)
{
    struct perf_config together = best->config;

    for (int i = 0; i < FIX_COUNT; i++) {
        const struct perf_config flipped = flip(&best->config, i);
        const struct tried_config *tried = find_tried(search, &flipped);
        if (tried && tried->time_ms < GAIN * best->time_ms)
            together = flip(&together, i);
    }
    offer(search, &together);
}

/* Proposes the next configs of the search. A step (tiles, neighbours, flips, combination) begins when the steps
 * before have nothing left to try. */
static int propose(const struct problem *p, const struct context *context,
                   const struct tried_config *tried, int tried_count, int wanted,
                   struct perf_config *configs)
{
    struct search search = {p, context, tried, tried_count, wanted, configs, 0};
    const struct tried_config *best;
    int tile_count;

    offer_spread_tiles(&search);
    best = best_tile(&search, &tile_count);
    if (search.found > 0 || !best)
        return search.found;
    offer_neighbours(&search, &best->config, TILES_MOST - tile_count);
    if (search.found == 0)
        offer_flips(&search, &best->config);
    if (search.found == 0)
        offer_what_gained(&search, best);
    return search.found;
}

/* ConvImplicitGemm's revisions 1 and 2 were the kernel that is ConvCpuGemm today. */
const struct solver solver_conv_implicit_gemm = {
    .provider = "skipjack",
    .name = "ConvImplicitGemm",
    .revision = 4,
    .algorithm = "ImplicitGEMM",
    .dynamic = true,
    .any_strides = true,
    .epilogues = EPILOGUE_DOES_ALL,
    .sources = sources,
    .is_applicable = is_applicable,
    .workspace_bytes = workspace_bytes,
    .estimate = dynamic_estimate,
    .default_config = default_config,
    .space = &tiling_space,
    .solve = dynamic_solve,
};

const struct solver solver_conv_implicit_gemm_static = {
    .provider = "skipjack",
    .name = "ConvImplicitGemmStatic",
    .revision = 2,
    .algorithm = "ImplicitGEMM",
    .any_strides = true,
    .epilogues = EPILOGUE_DOES_ALL,
    .sources = sources,
    .is_applicable = is_applicable,
    .workspace_bytes = workspace_bytes,
    .estimate = static_estimate,
    .default_config = default_config,
    .space = &tiling_space,
    .solve = static_solve,
};

const struct solver solver_conv_implicit_gemm_partial = {
    .provider = "skipjack",
    .name = "ConvImplicitGemmPartial",
    .revision = 2,
    .algorithm = "ImplicitGEMM",
    .partial = true,
    .any_strides = true,
    .epilogues = EPILOGUE_DOES_ALL,
    .sources = sources,
    .is_applicable = is_applicable,
    .workspace_bytes = workspace_bytes,
    .estimate = partial_estimate,
    .default_config = partial_default_config,
    .space = &partial_space,
    .propose = propose,
    .solve = partial_solve,
};
