#include "solvers/implicit_gemm/conv_implicit_gemm_common.h"

#include <math.h>

#include "solvers/common/conv_common.h"
#include "solvers/gemm/gemm.h"

/* The kernel's tables beside the tile's: a column's and a term's coordinates, three of 4 bytes, and a
 * term's places, four. */
#define COORDINATE_BYTES 12
#define PLACES_BYTES     16
/* What a grid's third axis may have on every GPU. */
#define GRID_MOST        65535
/* Rows that fit it in the blocks that tile_default_config() falls back to. */
#define ROWS_MOST        (32.0 * GRID_MOST)
/* Elements of w whose parts' bytes are still counted in 64 bits. */
#define WEIGHTS_MOST     0x1p50

const char *const implicit_gemm_sources[] = {"conv_implicit_gemm.cl", "conv_sum_splits.cl", NULL};

/* ---- the product ---- */

/* Layers of the grid: groups, and each group's phases of input positions (kernel's header). */
static double layer_count(const struct problem *p)
{
    double layers = (double)p->groups;

    for (int a = 0; a < AXIS_COUNT && p->direction == DIRECTION_B; a++)
        layers *= (double)MIN(p->stride[a], p->in[a]);
    return layers;
}

/* The columns of the fullest layer: B's first phase. */
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
        product.part_bytes = gemm_part_bytes(p);
    return product;
}

/* Workgroups of one part, each of which takes so many blocks of columns. */
static double workgroup_count(const struct tile_product *product, const int32_t *values)
{
    struct tile_product repeats = *product;

    repeats.n = ceil(product->n / values[IMPLICIT_GEMM_REPEAT_N]);
    return tile_workgroups(&repeats, values);
}

/* ---- the space ---- */

bool implicit_gemm_tables_fit_local_memory(const struct problem *p, const struct context *context,
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

bool implicit_gemm_block_suits_sizes(const struct problem *p, const struct context *context,
                                     const int32_t *values)
{
    const struct tile_product product = product_of(p);

    return tile_block_suits(&product, context, values);
}

bool implicit_gemm_blocks_fit_grid(const struct problem *p, const struct context *context,
                                   const int32_t *values)
{
    const struct tile_product product = product_of(p);

    return tile_fits_grid(&product, context, values);
}

bool implicit_gemm_parts_fit(const struct problem *p, const struct context *context,
                             const int32_t *values)
{
    const struct tile_product product = product_of(p);

    return tile_may_split(&product, context, values[TILE_SPLITS], values[TILE_BLOCK_K]);
}

/* One item's columns can be many, and more of them than a block's are better where there are more; a
 * GPU's items have theirs in registers. */
bool implicit_gemm_repeats_leave_work(const struct problem *p, const struct context *context,
                                      const int32_t *values)
{
    int repeats = values[IMPLICIT_GEMM_REPEAT_N];
    double block = tile_block_n(values), columns = column_count(p);

    if (!context_is_cpu(context))
        return repeats == 1;
    return repeats == 1 ? block > columns : block * repeats <= 2 * columns;
}

/* With less than one workgroup a unit, and more parts to be had, some units are idle; a limit on the
 * workspace does not count here, so that what is valid under one is valid without. */
bool implicit_gemm_splits_suit_target(const struct problem *p, const struct context *context,
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

uint64_t implicit_gemm_workspace_bytes(const struct problem *p, const struct context *context)
{
    const struct tile_product product = product_of(p);

    return gemm_split_bytes(p, tile_most_splits(&product, context));
}

/* ---- what it serves ---- */

bool implicit_gemm_is_applicable(const struct problem *p, const struct context *context,
                                 const char **reason)
{
    double m, n, k;

    (void)context;
    if (!conv_is_plain(p, reason) || !conv_types_are_served(p, reason) ||
        !conv_layouts_are_plain(p, reason) || !conv_counts_fit_32_bits(p, reason))
        return false;
    conv_gemm_sizes(p, &m, &n, &k);
    *reason = "needs fewer channels, groups and strides: a grid's second and third axis are short";
    if (m > ROWS_MOST || layer_count(p) > GRID_MOST)
        return false;
    *reason = "needs fewer weights: their parts' size must fit 64 bits";
    return p->direction != DIRECTION_W || m * n * (double)p->groups <= WEIGHTS_MOST;
}

/* Rows that few channels do not fill are wasted. */
static void fit_tile_to_rows(const struct context *context, double m, int32_t *values)
{
    if (context_is_cpu(context)) {
        /* Large tiles are faster where they fit: an element that is gathered then meets more rows. */
        values[TILE_M] = m > 16 ? 8 : 4;
        values[TILE_REPEAT_M] = m > 32 ? 8 : 4;
    } else if (m <= 16) {
        values[TILE_THREADS_M] = 4;
        values[TILE_THREADS_N] = 32;
    }
}

void implicit_gemm_default_config(const struct problem *p, const struct context *context,
                                  struct perf_config *config)
{
    const struct tile_product product = product_of(p);
    int32_t *values = config->values;

    tile_default_config(&product, context, config);
    config->count = IMPLICIT_GEMM_PARAM_COUNT;
    fit_tile_to_rows(context, product.m, values);
    if (!tile_sums_fit_registers(p, context, values))
        values[TILE_M] = 4;
    values[IMPLICIT_GEMM_REPEAT_N] = 8;
    while (!implicit_gemm_repeats_leave_work(p, context, values))
        values[IMPLICIT_GEMM_REPEAT_N] /= 2;
    values[TILE_SPLITS] =
        tile_default_splits(&product, context, values, workgroup_count(&product, values));
}

/* On CPUs as measured beside ConvCpuGemm, whose estimate is 38; a block that is not filled takes as
 * long as one that is. */
double implicit_gemm_estimate(const struct problem *p, const struct context *context)
{
    const struct tile_product product = product_of(p);
    double whole = !context_is_cpu(context) ? 34.0 : p->direction == DIRECTION_W ? 20.0 : 27.0;
    struct perf_config config;

    implicit_gemm_default_config(p, context, &config);
    return whole * conv_used_part(product.m, tile_block_m(config.values)) *
           conv_used_part(product.n, tile_block_n(config.values));
}

/* ---- the launch ---- */

/* Which of a tensor's axes neighbours in memory differ in; w's images are its rows k. */
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

/* The tensors as operands of the product c = a b, and the one that has the positions beside b. */
static const struct operands {
    enum tensor_role a, b, c, other;
    enum innermost a_row, c_row; /* the axis of a and c that rows are */
    enum innermost w_channel;    /* the axis of w that channels of b are */
    const char *option;
} operands_of[DIRECTION_COUNT] = {
    [DIRECTION_F] = {TENSOR_W, TENSOR_X, TENSOR_Y, TENSOR_Y, INNERMOST_IMAGE, INNERMOST_CHANNEL,
                     INNERMOST_CHANNEL, "DIRECTION_F"},
    [DIRECTION_B] = {TENSOR_W, TENSOR_Y, TENSOR_X, TENSOR_X, INNERMOST_CHANNEL, INNERMOST_CHANNEL,
                     INNERMOST_IMAGE, "DIRECTION_B"},
    [DIRECTION_W] = {TENSOR_Y, TENSOR_X, TENSOR_W, TENSOR_Y, INNERMOST_CHANNEL, INNERMOST_IMAGE,
                     INNERMOST_CHANNEL, "DIRECTION_W"},
};

/* Orders of columns and terms follow the layouts alone, so that one binary serves all shapes: b's
 * first, since it is gathered again and again, and another tensor's where b's says nothing. A CPU's
 * item loads terms one after the other, rows or columns within: whole vectors are stored so. */
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
    launch_option_int(launch, "REPEAT_N", values[IMPLICIT_GEMM_REPEAT_N]);
    launch_option_text(launch, "TYPE_A", data_type_name(p->type[operands->a]));
    launch_option_text(launch, "TYPE_B", data_type_name(p->type[operands->b]));
    launch_option_text(launch, "TYPE_C",
                       data_type_name(is_split ? TYPE_FP32 : p->type[operands->c]));
    launch_option_text(launch, "LANE", conv_sum_type(p));
    launch_option_int(launch, "SPATIAL", p->spatial_dim);
    launch_option_int(launch, operands->option, 1);
    add_orders(p, context, is_split, launch);
}

/* Parts lie densely in the workspace, as a packed w of NCHW does. */
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
    launch_arg_int64(launch, is_split ? (int64_t)(gemm_part_bytes(p) / sizeof(float)) : 0);
}

static void set_grid(const struct problem *p, const int32_t *values, int splits,
                     struct launch *launch)
{
    const struct tile_product product = product_of(p);
    double columns = ceil(product.n / values[IMPLICIT_GEMM_REPEAT_N]);

    tile_set_grid(values, (int64_t)product.m, (int64_t)columns, (int64_t)product.layers * splits,
                  launch);
}

/* Multiply-accumulates, padding's zeros among them. B has those of input positions and the filter
 * positions that reach them, none between strides: each filter position reaches the positions alike
 * modulo the stride. */
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

void implicit_gemm_solve(const struct problem *p, const struct context *context,
                         const struct perf_config *config, unsigned fixed,
                         struct solution *solution)
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
        gemm_add_split_sum(p, 0, splits, solution);
        solution->workspace_bytes = gemm_split_bytes(p, splits);
    }
    solution->flops = 2 * product_macs(p);
    conv_set_compulsory_bytes(p, solution);
}
