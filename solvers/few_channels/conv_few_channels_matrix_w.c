/*
 * Backward weights (W) of a network's first layer on NVIDIA's matrix units: 2D convolutions with 1 to 4
 * input channels and one group. FP16 and BF16, NHWC, packed tensors; output channels in eights, rows of x in
 * whole chunks of 16 bytes; any padding; strides and filters that fit registers and local memory; dilation of
 * rows. Static: filter, strides, dilation, and where the padding begins within 16 bytes are compiled in. Rows
 * of y are divided into parts, whose sums are added up from the workspace. sm_80 and later.
 */
#include <string.h>

#include "solvers/common/conv_common.h"
#include "solvers/common/matrix_sum.h"
#include "solvers/few_channels/few_channels.h"
#include "solvers/framework/solver_rows.h"

enum { BLOCK_K, SHARES, MOST_W, PARTS, PARAM_COUNT };

#define WARP_ITEMS     32
#define ITEMS_MOST     512
#define POSITIONS      16 /* positions that one matrix instruction multiplies */
#define CHUNK_ELEMENTS 8
#define CHUNK_BYTES    16
#define SUMS_MOST      128 /* the most registers of a work-item for sums */

static const char *const sources[] = {"conv_few_channels_matrix_w.cl", "conv_matrix_sum.cl", NULL};

static const struct space_param params[PARAM_COUNT] = {
    {"BLOCK_K", 3, (const int32_t[]){16, 32, 64}},
    {"SHARES", 3, (const int32_t[]){1, 2, 4}},
    /* the most positions of a row in local memory at a time; the kernel uses a number that divides a row evenly */
    {"MOST_W", 4, (const int32_t[]){16, 32, 64, 128}},
    {"PARTS", 9, (const int32_t[]){1, 32, 64, 128, 256, 384, 512, 768, 1024}},
};

static const int32_t smallest[PARAM_COUNT] = {16, 1, 16, 1};

/* ---- how the kernel divides the sums ---- */

static int64_t items_of(const struct problem *p, const int32_t *values)
{
    return WARP_ITEMS * values[SHARES] * p->fil[AXIS_H];
}

/* Positions of a row of y in local memory at a time: whole instructions for each of the SHARES warps. */
static int64_t step_of(const struct problem *p, const int32_t *values)
{
    int64_t turn = (int64_t)POSITIONS * values[SHARES];

    return conv_divide_up(few_channels_even(p->out[AXIS_W], values[MOST_W]), turn) * turn;
}

/* The fewest split-K parts that keep each sum short enough; 0 where no config has so many parts. */
static int32_t least_parts(const struct problem *p)
{
    for (int i = 0; i < params[PARTS].count; i++) {
        int32_t parts = params[PARTS].values[i];
        if ((double)few_channels_part_rows(p, parts) * (double)p->out[AXIS_W] <= MATRIX_TERMS_MOST)
            return parts;
    }
    return 0;
}

static int64_t tiles_n(const struct problem *p)
{
    return conv_divide_up(p->fil[AXIS_W] * p->c, CHUNK_ELEMENTS);
}

/* Bytes of local memory: two stages, each rows of x and positions of y. A position has an odd number of chunks,
 * against bank conflicts. */
static double local_bytes_of(const struct problem *p, const int32_t *values)
{
    int64_t step = step_of(p, values);
    int64_t width =
        few_channels_lead(p) + (step - 1) * p->stride[AXIS_W] * p->c + tiles_n(p) * CHUNK_ELEMENTS;
    double x = (double)p->fil[AXIS_H] * (double)conv_divide_up(width, CHUNK_ELEMENTS);
    double y = (double)(step * (values[BLOCK_K] / CHUNK_ELEMENTS | 1));

    return 2 * CHUNK_BYTES * (x + y);
}

/* ---- the space ---- */

static bool sums_fit_registers(const struct problem *p, const struct context *context,
                               const int32_t *values)
{
    (void)context;
    return values[BLOCK_K] / POSITIONS * tiles_n(p) * 4 <= SUMS_MOST;
}

/* A block of output channels may be at most twice the rows of w; the smallest block is always valid. */
static bool block_suits_channels(const struct problem *p, const struct context *context,
                                 const int32_t *values)
{
    (void)context;
    return values[BLOCK_K] == smallest[BLOCK_K] || values[BLOCK_K] < 2 * p->k;
}

static bool items_suit_target(const struct problem *p, const struct context *context,
                              const int32_t *values)
{
    return items_of(p, values) <= MIN(ITEMS_MOST, context->target->max_workgroup);
}

/* Each of the SHARES warps must have positions. If several steps divide a row into the same number of pieces, only the
 * shortest is valid. */
static bool step_suits_row(const struct problem *p, const struct context *context,
                           const int32_t *values)
{
    (void)context;
    return values[SHARES] * POSITIONS <= values[MOST_W] &&
           (values[MOST_W] == smallest[MOST_W] || p->out[AXIS_W] > values[MOST_W] / 2);
}

static bool stages_fit_local_memory(const struct problem *p, const struct context *context,
                                    const int32_t *values)
{
    return local_bytes_of(p, values) <= (double)target_dynamic_local_bytes(context->target);
}

static uint64_t part_bytes(const struct problem *p, const int32_t *values)
{
    return (uint64_t)few_channels_weights(p) *
           (uint64_t)(few_channels_parts(p, values[PARTS]) * values[SHARES]) * sizeof(float);
}

/* The fewest parts, without SHARES, are always valid: a limit below their size rules out the solver. More parts
 * must have rows and fit the limit. */
static bool parts_suit_rows(const struct problem *p, const struct context *context,
                            const int32_t *values)
{
    int32_t least = least_parts(p);

    return (values[PARTS] == least && values[SHARES] == 1) ||
           (values[PARTS] >= least && values[PARTS] <= few_channels_rows(p) &&
            part_bytes(p, values) <= context->workspace_limit);
}

static const struct space_constraint constraints[] = {
    {"sums_fit_registers", "registers", BLOCK_K + 1, sums_fit_registers},
    {"block_suits_channels", "arithmetic", BLOCK_K + 1, block_suits_channels},
    {"items_suit_target", "workgroup size", SHARES + 1, items_suit_target},
    {"step_suits_row", "arithmetic", MOST_W + 1, step_suits_row},
    {"stages_fit_local_memory", "local memory", MOST_W + 1, stages_fit_local_memory},
    {"parts_suit_rows", "accuracy, workspace", PARTS + 1, parts_suit_rows},
};

static const struct space space = {PARAM_COUNT, params, G_N_ELEMENTS(constraints), constraints};

/* ---- what it serves ---- */

static bool is_in_chunks(const struct problem *p)
{
    return p->k % CHUNK_ELEMENTS == 0 && p->in[AXIS_W] * p->c % CHUNK_ELEMENTS == 0;
}

static bool few_channels_matrix_w_is_applicable(const struct problem *p,
                                                const struct context *context, const char **reason)
{
    if (p->direction != DIRECTION_W) {
        *reason = "needs direction W";
        return false;
    }
    if (target_compute_capability(context->target) < 80) {
        *reason = "needs NVIDIA's matrix units, sm_80 or later";
        return false;
    }
    if (!few_channels_serves(p, context, reason))
        return false;
    if (!few_channels_is_nhwc(p) || p->type[TENSOR_X] == TYPE_FP32) {
        *reason = "needs FP16 or BF16, NHWC";
        return false;
    }
    if (!is_in_chunks(p) || p->dilation[AXIS_W] != 1 || p->k > 1 << 20) {
        *reason =
            "needs output channels, at most 2^20, and lines of x in eights, and no dilation of "
            "columns";
        return false;
    }
    if (!sums_fit_registers(p, context, smallest) || !items_suit_target(p, context, smallest) ||
        !stages_fit_local_memory(p, context, smallest)) {
        *reason = "needs a filter and strides that registers and local memory can hold";
        return false;
    }
    *reason = "needs fewer positions of y: 1024 parts of its rows have at most 32768 each";
    return least_parts(p) > 0;
}

/* Defaults, best first; the first valid one is used, and the last is always valid with the fewest parts. */
static const int32_t wishes[][PARTS] = {
    {64, 1, 128}, {64, 1, 64}, {32, 1, 128}, {32, 1, 64}, {16, 1, 32}, {16, 1, 16},
};

static void few_channels_matrix_w_default_config(const struct problem *p,
                                                 const struct context *context,
                                                 struct perf_config *config)
{
    config->count = PARAM_COUNT;
    for (gsize i = 0; i < G_N_ELEMENTS(wishes); i++) {
        memcpy(config->values, wishes[i], sizeof(wishes[i]));
        config->values[PARTS] = least_parts(p);
        if (space_contains(&space, p, context, config, NULL))
            break;
    }
    few_channels_choose_parts(&space, p, context, conv_divide_up(p->k, config->values[BLOCK_K]),
                              config);
}

/* Bytes of the parts of the config with the most parts within the limit; of the fewest parts where the limit allows
 * none. */
static uint64_t few_channels_matrix_w_workspace_bytes(const struct problem *p,
                                                      const struct context *context)
{
    int32_t values[PARAM_COUNT];
    uint64_t most;

    memcpy(values, smallest, sizeof(values));
    values[PARTS] = least_parts(p);
    most = part_bytes(p, values);
    for (int s = 0; s < params[SHARES].count; s++) {
        values[SHARES] = params[SHARES].values[s];
        for (int i = 0; i < params[PARTS].count; i++) {
            values[PARTS] = params[PARTS].values[i];
            if (parts_suit_rows(p, context, values))
                most = MAX(most, part_bytes(p, values));
        }
    }
    return most;
}

/* The estimate is above that of solvers that copy x first. */
static double few_channels_matrix_w_estimate(const struct problem *p, const struct context *context)
{
    (void)p;
    (void)context;
    return 400.0;
}

/* ---- the launch ---- */

static void add_options(const struct problem *p, const int32_t *values, struct launch *launch)
{
    few_channels_add_matrix_options(p, launch);
    launch_option_int(launch, "BLOCK_K", values[BLOCK_K]);
    launch_option_int(launch, "SHARES", values[SHARES]);
    launch_option_int(launch, "STEP_W", step_of(p, values));
    launch_option_int(launch, "RAGGED", p->out[AXIS_W] % POSITIONS != 0);
    launch_sort_options(launch);
}

static bool few_channels_matrix_w_solve(const struct problem *p, const struct context *context,
                                        const struct perf_config *config, struct solution *solution,
                                        GError **error)
{
    const int32_t *values = config->values;
    int64_t blocks = conv_divide_up(p->k, values[BLOCK_K]),
            parts = few_channels_parts(p, values[PARTS]);
    int items = (int)items_of(p, values);
    struct launch *launch = solution_add_launch(solution, "conv_few_channels_matrix_w.cl",
                                                "conv_few_channels_matrix_w");

    (void)context;
    (void)error;
    add_options(p, values, launch);
    launch->local_bytes = (int64_t)local_bytes_of(p, values);
    launch_arg_tensor(launch, TENSOR_Y);
    launch_arg_tensor(launch, TENSOR_X);
    launch_arg_workspace(launch, 0);
    few_channels_add_image(p, launch);
    launch_arg_int32(launch, few_channels_rows(p));
    launch_arg_int32(launch, few_channels_part_rows(p, values[PARTS]));
    launch_arg_int32(launch, blocks);
    launch_arg_int32(launch, conv_divide_up(p->out[AXIS_W], step_of(p, values)));
    launch_set_line(launch, blocks * parts * items, items);
    matrix_add_sum(p, few_channels_weights(p), (int)parts * values[SHARES], solution);
    conv_set_exact_work(p, solution);
    return true;
}

const struct solver solver_conv_few_channels_matrix_w = {
    .provider = "skipjack",
    .name = "ConvFewChannelsMatrixW",
    .revision = 2,
    .algorithm = "ImplicitGEMM",
    .native = true,
    .sources = sources,
    .is_applicable = few_channels_matrix_w_is_applicable,
    .workspace_bytes = few_channels_matrix_w_workspace_bytes,
    .estimate = few_channels_matrix_w_estimate,
    .default_config = few_channels_matrix_w_default_config,
    .space = &space,
    .solve = few_channels_matrix_w_solve,
};
