/*
 * Direct forward convolution of 2D images. A workgroup computes a block of outputs; it copies the patch of x
 * that the block reads, and the weights, into local memory, and each work-item keeps a tile of sums in
 * registers. Every layout whose channels are not in blocks, with any strides; FP32, FP16 and BF16 in any
 * mixture, INT8; groups; any stride, dilation and padding. Static: the shape without the batch is compiled in.
 * Limits: the smallest tile's inputs and weights must fit local memory (filters of some thousand positions do
 * not), and fewer than 2^31 work-items.
 */
#include <string.h>

#include "solvers/common/conv_common.h"
#include "solvers/common/conv_epilogue.h"
#include "solvers/framework/solver_rows.h"

enum {
    THREADS_K,
    THREADS_H,
    THREADS_W,
    VEC,
    TILE_K,
    TILE_H,
    TILE_W,
    REPEAT_K,
    BLOCK_C,
    PARAM_COUNT
};

static const char *const sources[] = {"conv_direct_tiled.cl", NULL};

static const struct space_param params[PARAM_COUNT] = {
    [THREADS_K] = {"THREADS_K", 4, (const int32_t[]){1, 4, 8, 16}},
    [THREADS_H] = {"THREADS_H", 4, (const int32_t[]){1, 4, 8, 16}},
    [THREADS_W] = {"THREADS_W", 5, (const int32_t[]){1, 2, 4, 8, 16}},
    [VEC] = {"VEC", 3, (const int32_t[]){4, 8, 16}},
    [TILE_K] = {"TILE_K", 4, (const int32_t[]){2, 4, 6, 8}},
    [TILE_H] = {"TILE_H", 3, (const int32_t[]){1, 2, 4}},
    [TILE_W] = {"TILE_W", 2, (const int32_t[]){1, 2}},
    [REPEAT_K] = {"REPEAT_K", 3, (const int32_t[]){1, 4, 16}},
    [BLOCK_C] = {"BLOCK_C", 5, (const int32_t[]){1, 4, 16, 64, 256}},
};

/* Tiles of the spare space: for images too small, or filters too large, for every tile of the main space. */
static const struct space_param spare_params[PARAM_COUNT] = {
    [THREADS_K] = {"THREADS_K", 3, (const int32_t[]){1, 8, 64}},
    [THREADS_H] = {"THREADS_H", 2, (const int32_t[]){1, 8}},
    [THREADS_W] = {"THREADS_W", 3, (const int32_t[]){1, 8, 64}},
    [VEC] = {"VEC", 2, (const int32_t[]){1, 4}},
    [TILE_K] = {"TILE_K", 2, (const int32_t[]){1, 4}},
    [TILE_H] = {"TILE_H", 1, (const int32_t[]){1}},
    [TILE_W] = {"TILE_W", 1, (const int32_t[]){1}},
    [REPEAT_K] = {"REPEAT_K", 1, (const int32_t[]){1}},
    [BLOCK_C] = {"BLOCK_C", 3, (const int32_t[]){1, 4, 16}},
};

/* ---- what the kernel makes of a problem ---- */

/* One axis of a block of outputs and of the patch of x that it reads: sizes, and the distance `step` of the input
 * positions that the patch holds. */
struct axis_plan {
    int64_t block, blocks, step, patch;
};

static void plan_axis(const struct problem *p, enum axis axis, int64_t block,
                      struct axis_plan *plan)
{
    int64_t out_step = block > 1 ? p->stride[axis] : 0;
    int64_t tap_step = p->fil[axis] > 1 ? p->dilation[axis] : 0;

    plan->block = block;
    plan->blocks = conv_divide_up(p->out[axis], block);
    plan->step = MAX(conv_gcd(out_step, tap_step), 1);
    plan->patch = ((block - 1) * out_step + (p->fil[axis] - 1) * tap_step) / plan->step + 1;
}

struct tile_plan {
    struct axis_plan h, w;
    int64_t items, block_k, block_c, workgroups, local_bytes;
};

/* Bytes of local memory for the patch and the weights, in the layout of conv_direct_tiled.cl. */
static int64_t count_local_bytes(const struct problem *p, const struct context *context,
                                 const struct tile_plan *plan)
{
    int64_t phases = plan->w.block > 1 ? p->stride[AXIS_W] / plan->w.step : 1;
    int64_t row = conv_divide_up(conv_divide_up(plan->w.patch, phases) * phases, 4) * 4;
    int64_t plane = (plan->h.patch * row) | 4;
    int64_t filter_row = plan->block_k % 8 == 0 ? plan->block_k + 4 : plan->block_k;
    int64_t weights = p->fil[AXIS_H] * p->fil[AXIS_W] * filter_row;

    return plan->block_c * (plane + (context_is_cpu(context) ? 0 : weights)) *
           (int64_t)sizeof(float);
}

static void plan_tile(const struct problem *p, const struct context *context, const int32_t *values,
                      struct tile_plan *plan)
{
    plan_axis(p, AXIS_H, (int64_t)values[THREADS_H] * values[TILE_H], &plan->h);
    plan_axis(p, AXIS_W, (int64_t)values[THREADS_W] * values[TILE_W] * values[VEC], &plan->w);
    plan->items = (int64_t)values[THREADS_K] * values[THREADS_H] * values[THREADS_W];
    plan->block_k = (int64_t)values[THREADS_K] * values[TILE_K];
    plan->block_c = MIN(values[BLOCK_C], p->c / p->groups);
    plan->workgroups = conv_divide_up(p->k / p->groups, plan->block_k * values[REPEAT_K]) *
                       p->groups * plan->h.blocks * plan->w.blocks * p->n;
    plan->local_bytes = count_local_bytes(p, context, plan);
}

/* ---- spaces ---- */

/* Valid workgroups: on a CPU one work-item, which uses vector registers. */
static bool workgroup_suits_target(const struct problem *p, const struct context *context,
                                   const int32_t *values)
{
    int64_t items = (int64_t)values[THREADS_K] * values[THREADS_H] * values[THREADS_W];

    (void)p;
    if (context_is_cpu(context))
        return items == 1;
    return items >= 64 && items <= MIN(256, context->target->max_workgroup);
}

/* Valid vector widths: a CPU's register or half of one (for short rows), 16 bytes on a GPU. */
static bool vector_suits_target(const struct problem *p, const struct context *context,
                                const int32_t *values)
{
    int widest = CLAMP(context->target->vector_bytes / 4, 4, 16);

    (void)p;
    if (context_is_cpu(context))
        return values[VEC] == widest || 2 * values[VEC] == widest;
    return values[VEC] == 4;
}

static int tile_vectors(const int32_t *values)
{
    return values[TILE_K] * values[TILE_H] * values[TILE_W];
}

/* Whether a work-item's sums fit registers; a CPU also needs a register for an input and one for a weight. */
static bool sums_fit_registers(const struct problem *p, const struct context *context,
                               const int32_t *values)
{
    (void)p;
    if (context_is_cpu(context))
        return tile_vectors(values) + 2 <= (context->target->vector_bytes >= 64 ? 32 : 16);
    return tile_vectors(values) * values[VEC] <= 64;
}

/* A CPU needs 8 independent sums: two multiply-add units times four cycles of latency. On a GPU other waves fill the
 * time, but each loaded element should be used more than twice. */
static bool sums_hide_latency(const struct problem *p, const struct context *context,
                              const int32_t *values)
{
    (void)p;
    return tile_vectors(values) >= (context_is_cpu(context) ? 8 : 4);
}

/* A block may have less than twice the problem's outputs along each axis. */
static bool block_suits_sizes(const struct problem *p, const struct context *context,
                              const int32_t *values)
{
    (void)context;
    return values[THREADS_K] * values[TILE_K] < 2 * (p->k / p->groups) &&
           values[THREADS_H] * values[TILE_H] < 2 * p->out[AXIS_H] &&
           values[THREADS_W] * values[TILE_W] * values[VEC] < 2 * p->out[AXIS_W];
}

/* REPEAT_K above 1 is valid only where all input channels stay in local memory, so that the next block of output
 * channels need not copy them again. */
static bool repeat_saves_loads(const struct problem *p, const struct context *context,
                               const int32_t *values)
{
    int64_t k_count = p->k / p->groups, block = (int64_t)values[THREADS_K] * values[TILE_K];

    (void)context;
    return values[REPEAT_K] == 1 ||
           (values[BLOCK_C] >= p->c / p->groups && block * values[REPEAT_K] < 2 * k_count);
}

/* Each value of BLOCK_C is four times the one before. Only the smallest of the values that hold all channels is
 * valid. */
static bool channels_fill_block(const struct problem *p, const struct context *context,
                                const int32_t *values)
{
    (void)context;
    return values[BLOCK_C] == 1 || values[BLOCK_C] / 4 < p->c / p->groups;
}

static bool block_fits_local_memory(const struct problem *p, const struct context *context,
                                    const int32_t *values)
{
    struct tile_plan plan;

    plan_tile(p, context, values, &plan);
    return plan.local_bytes <= context->target->local_bytes;
}

static bool items_fit_grid(const struct problem *p, const struct context *context,
                           const int32_t *values)
{
    struct tile_plan plan;

    plan_tile(p, context, values, &plan);
    return plan.workgroups <= INT32_MAX / plan.items;
}

static const struct space_constraint constraints[] = {
    {"workgroup_suits_target", "workgroup size", THREADS_W + 1, workgroup_suits_target},
    {"vector_suits_target", "vector registers", VEC + 1, vector_suits_target},
    {"sums_fit_registers", "registers", TILE_W + 1, sums_fit_registers},
    {"sums_hide_latency", "multiply-add units", TILE_W + 1, sums_hide_latency},
    {"block_suits_sizes", "arithmetic", TILE_W + 1, block_suits_sizes},
    {"channels_fill_block", "tuning time", BLOCK_C + 1, channels_fill_block},
    {"repeat_saves_loads", "arithmetic", BLOCK_C + 1, repeat_saves_loads},
    {"block_fits_local_memory", "local memory", BLOCK_C + 1, block_fits_local_memory},
    {"items_fit_grid", "grid", BLOCK_C + 1, items_fit_grid},
};

static const struct space_constraint spare_constraints[] = {
    {"workgroup_suits_target", "workgroup size", THREADS_W + 1, workgroup_suits_target},
    {"channels_fill_block", "tuning time", BLOCK_C + 1, channels_fill_block},
    {"block_fits_local_memory", "local memory", BLOCK_C + 1, block_fits_local_memory},
    {"items_fit_grid", "grid", BLOCK_C + 1, items_fit_grid},
};

static const struct space space = {PARAM_COUNT, params, G_N_ELEMENTS(constraints), constraints};
static const struct space spare = {PARAM_COUNT, spare_params, G_N_ELEMENTS(spare_constraints),
                                   spare_constraints};

/* ---- the solver ---- */

/* Whether one of the target's smallest tiles is valid. For a filter that none of them can hold, no larger tile is
 * valid either; where they only give too many work-items, larger tiles may be. */
static bool smallest_tile_is_valid(const struct problem *p, const struct context *context)
{
    static const struct {
        bool cpu;
        int32_t values[PARAM_COUNT];
    } tiles[] = {
        {true, {1, 1, 1, 1, 1, 1, 1, 1, 1}},
        {false, {1, 8, 8, 1, 1, 1, 1, 1, 1}},
        {false, {64, 1, 1, 1, 1, 1, 1, 1, 1}},
        {false, {1, 1, 64, 1, 1, 1, 1, 1, 1}},
    };

    for (gsize i = 0; i < G_N_ELEMENTS(tiles); i++) {
        if (tiles[i].cpu == context_is_cpu(context) &&
            block_fits_local_memory(p, context, tiles[i].values) &&
            items_fit_grid(p, context, tiles[i].values))
            return true;
    }
    return false;
}

/* Finds the first valid config of a list of good ones: large tiles first, then tiles for small images, few output
 * channels and large filters. */
static bool find_wish(const struct problem *p, const struct context *context,
                      struct perf_config *config)
{
    static const int32_t wishes[][PARAM_COUNT] = {
        {8, 4, 8, 4, 4, 2, 1, 1, 4},   {16, 4, 4, 4, 4, 2, 1, 1, 4},
        {16, 8, 2, 4, 4, 1, 1, 1, 4},  {16, 8, 1, 4, 4, 1, 1, 1, 4},
        {1, 8, 8, 4, 4, 2, 1, 1, 4},   {1, 16, 4, 4, 4, 1, 1, 1, 4},
        {8, 4, 8, 4, 4, 2, 1, 1, 1},   {16, 4, 4, 4, 4, 2, 1, 1, 1},
        {16, 8, 2, 4, 4, 1, 1, 1, 1},  {1, 8, 8, 4, 4, 2, 1, 1, 1},
        {1, 16, 4, 4, 4, 1, 1, 1, 1},  {1, 1, 1, 16, 4, 4, 1, 4, 256},
        {1, 1, 1, 16, 4, 4, 1, 4, 64}, {1, 1, 1, 16, 4, 4, 1, 1, 64},
        {1, 1, 1, 16, 4, 4, 1, 1, 16}, {1, 1, 1, 16, 4, 4, 1, 1, 4},
        {1, 1, 1, 8, 4, 2, 1, 4, 256}, {1, 1, 1, 8, 4, 2, 1, 4, 64},
        {1, 1, 1, 8, 4, 2, 1, 1, 16},  {1, 1, 1, 8, 4, 2, 1, 1, 4},
    };

    config->count = PARAM_COUNT;
    for (gsize i = 0; i < G_N_ELEMENTS(wishes); i++) {
        memcpy(config->values, wishes[i], sizeof(wishes[i]));
        /* the list's vectors of 8 do not fit a CPU without AVX, whose registers hold 4 */
        if (context_is_cpu(context) && context->target->vector_bytes < 32)
            config->values[VEC] = MIN(config->values[VEC], 4);
        if (space_contains(&space, p, context, config, NULL))
            return true;
    }
    return false;
}

static bool direct_tiled_is_applicable(const struct problem *p, const struct context *context,
                                       const char **reason)
{
    struct perf_config config;

    if (p->direction != DIRECTION_F || p->spatial_dim != 2) {
        *reason = "needs a 2D forward convolution";
        return false;
    }
    if (!conv_is_plain(p, reason) || !conv_types_are_served(p, reason) ||
        !conv_layouts_are_plain(p, reason) || !conv_counts_fit_32_bits(p, reason))
        return false;
    if (!smallest_tile_is_valid(p, context) && !find_wish(p, context, &config)) {
        *reason = "needs a filter whose smallest tile fits local memory, and fewer than 2^31 items";
        return false;
    }
    return true;
}

static double direct_tiled_estimate(const struct problem *p, const struct context *context)
{
    (void)p;
    return context_is_cpu(context) ? 6.0 : 30.0;
}

static bool find_spare_wish(const struct problem *p, const struct context *context,
                            struct perf_config *config)
{
    bool is_image = p->out[AXIS_H] * p->out[AXIS_W] >= 16;
    int32_t values[PARAM_COUNT] = {1, 1, 1, p->out[AXIS_W] >= 3 ? 4 : 1, 1, 1, 1, 1, 16};

    if (!context_is_cpu(context)) {
        values[THREADS_K] = is_image ? 1 : 64;
        values[THREADS_H] = values[THREADS_W] = is_image ? 8 : 1;
        values[VEC] = 1;
    }
    if (p->k / p->groups >= 3 && values[THREADS_K] == 1)
        values[TILE_K] = 4;
    config->count = PARAM_COUNT;
    memcpy(config->values, values, sizeof(values));
    for (; config->values[BLOCK_C] >= 1; config->values[BLOCK_C] /= 4) {
        if (space_contains(&spare, p, context, config, NULL))
            return true;
    }
    return false;
}

/* The first valid config of find_wish()'s list, or the first config of the space in force where none of the list is
 * valid. */
static void direct_tiled_default_config(const struct problem *p, const struct context *context,
                                        struct perf_config *config)
{
    struct space_walk walk;

    if (find_wish(p, context, config))
        return;
    space_walk_init(&walk, &space, p, context);
    if (space_walk_next(&walk, config) || find_spare_wish(p, context, config))
        return;
    space_walk_init(&walk, &spare, p, context);
    space_walk_next(&walk, config);
}

static void add_shape_options(const struct problem *p, struct launch *launch)
{
    static const char *const names[][2] = {
        {"IN_H", "IN_W"},   {"OUT_H", "OUT_W"},       {"FIL_H", "FIL_W"},
        {"PAD_H", "PAD_W"}, {"STRIDE_H", "STRIDE_W"}, {"DILATION_H", "DILATION_W"},
    };
    const int64_t *const sizes[] = {p->in, p->out, p->fil, p->pad, p->stride, p->dilation};

    for (gsize i = 0; i < G_N_ELEMENTS(sizes); i++) {
        launch_option_int(launch, names[i][0], sizes[i][AXIS_H]);
        launch_option_int(launch, names[i][1], sizes[i][AXIS_W]);
    }
    launch_option_int(launch, "GROUPS", p->groups);
    launch_option_int(launch, "C_COUNT", p->c / p->groups);
    launch_option_int(launch, "K_COUNT", p->k / p->groups);
}

static bool channels_are_densest(const struct problem *p, enum tensor_role role)
{
    return p->layout[role] == LAYOUT_NHWC;
}

/* The most multiply-adds of vectors that the kernel unrolls for one row of the filter, and for the whole filter. */
#define PRODUCTS_A_ROW  128
#define PRODUCTS_IN_ALL 256

static void add_tile_options(const struct problem *p, const struct context *context,
                             const int32_t *values, const struct tile_plan *plan,
                             struct launch *launch)
{
    int64_t row = p->fil[AXIS_W] * tile_vectors(values);
    bool unroll_row = row <= PRODUCTS_A_ROW;
    bool unroll_all =
        unroll_row && p->fil[AXIS_H] * row <= PRODUCTS_IN_ALL && !context_is_cpu(context);

    for (int i = 0; i < BLOCK_C; i++)
        launch_option_int(launch, params[i].name, values[i]);
    launch_option_int(launch, "BLOCK_C", plan->block_c);
    launch_option_int(launch, "PATCH_STEP_H", plan->h.step);
    launch_option_int(launch, "PATCH_STEP_W", plan->w.step);
    launch_option_int(launch, "UNROLL_H", unroll_all ? p->fil[AXIS_H] : 1);
    launch_option_int(launch, "UNROLL_W", unroll_row ? p->fil[AXIS_W] : 1);
    launch_option_int(launch, "X_BY_C", channels_are_densest(p, TENSOR_X));
    launch_option_int(launch, "W_BY_C", channels_are_densest(p, TENSOR_W));
    launch_option_int(launch, "ITEMS_BY_K", channels_are_densest(p, TENSOR_Y));
    launch_option_int(launch, "FILTER_IN_PLACE", context_is_cpu(context));
}

static bool direct_tiled_solve(const struct problem *p, const struct context *context,
                               const struct perf_config *config, struct solution *solution,
                               GError **error)
{
    struct launch *launch =
        solution_add_launch(solution, "conv_direct_tiled.cl", "conv_direct_tiled");
    struct tile_plan plan;

    (void)error;
    plan_tile(p, context, config->values, &plan);
    conv_add_type_options(p, launch);
    launch_option_text(launch, "LANE", conv_sum_type(p));
    add_shape_options(p, launch);
    add_tile_options(p, context, config->values, &plan, launch);
    conv_add_epilogue_options(p, launch);
    launch_sort_options(launch);
    conv_add_tensor_args(launch);
    for (int t = 0; t < TENSOR_COUNT; t++)
        conv_add_plane_strides(launch, (enum tensor_role)t);
    conv_add_epilogue_args(p, launch);
    launch_set_line(launch, plan.workgroups * plan.items, (int)plan.items);
    conv_set_full_work(p, solution);
    return true;
}

const struct solver solver_conv_direct_tiled = {
    .provider = "skipjack",
    .name = "ConvDirectTiled",
    .revision = 3,
    .epilogues = EPILOGUE_DOES_ALL,
    .algorithm = "Direct",
    .any_strides = true,
    .sources = sources,
    .is_applicable = direct_tiled_is_applicable,
    .estimate = direct_tiled_estimate,
    .default_config = direct_tiled_default_config,
    .space = &space,
    .spare = &spare,
    .solve = direct_tiled_solve,
};
