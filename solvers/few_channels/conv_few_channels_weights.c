/*
 * Backward weights (W) of a network's first layer: 2D convolutions with 1 to 4 input channels and one group. FP32,
 * FP16 and BF16, NCHW and NHWC, packed tensors; any padding; strides and dilation whose sums fit registers; a
 * multiple of four weights. Static: filter, stride and dilation are compiled in. Rows of y are divided into parts,
 * whose sums are added up from the workspace. GPUs.
 */
#include <string.h>

#include "solvers/common/conv_common.h"
#include "solvers/common/matrix_sum.h"
#include "solvers/few_channels/few_channels.h"
#include "solvers/framework/solver_rows.h"

enum { TILE_K, ITEMS_K, SHARES, MOST_W, PARTS, PARAM_COUNT };

/* Limits: registers of a work-item for sums and operands (see below for AMD); multiplications that are unrolled. */
#define REGISTERS_MOST     176
#define REGISTERS_MOST_AMD 128 /* lower, since AMD's compilers load further ahead */
#define UNROLLED_MOST      1024
#define ITEMS_MOST         512
/* Positions of y that a work-item multiplies at once. */
#define POSITIONS          4

static const char *const sources[] = {"conv_few_channels_w.cl", "conv_matrix_sum.cl", NULL};

static const struct space_param params[PARAM_COUNT] = {
    {"TILE_K", 4, (const int32_t[]){1, 2, 4, 8}},
    {"ITEMS_K", 4, (const int32_t[]){4, 8, 16, 32}},
    {"SHARES", 5, (const int32_t[]){1, 2, 4, 8, 16}},
    /* the most positions of a row in local memory at a time; the kernel uses a number that divides a row evenly */
    {"MOST_W", 4, (const int32_t[]){16, 32, 64, 128}},
    {"PARTS", 9, (const int32_t[]){1, 32, 128, 256, 384, 512, 768, 1024, 2048}},
};

static const int32_t smallest[PARAM_COUNT] = {1, 4, 1, 16, 1};

/* ---- how the kernel divides the sums ---- */

static int64_t items_of(const struct problem *p, const int32_t *values)
{
    return values[ITEMS_K] * values[SHARES] * p->fil[AXIS_H];
}

static int64_t block_of(const int32_t *values)
{
    return (int64_t)values[ITEMS_K] * values[TILE_K];
}

/* Positions of a row of y in local memory at a time. */
static int64_t step_of(const struct problem *p, const int32_t *values)
{
    return few_channels_up_to_fours(few_channels_even(p->out[AXIS_W], values[MOST_W]));
}

/* Columns of x that `positions` neighbouring positions of y read. */
static int64_t span_of(const struct problem *p, int64_t positions)
{
    return (positions - 1) * p->stride[AXIS_W] + (p->fil[AXIS_W] - 1) * p->dilation[AXIS_W] + 1;
}

static double sums_of(const struct problem *p, const int32_t *values)
{
    return (double)values[TILE_K] * (double)p->c * (double)p->fil[AXIS_W];
}

/* Bytes of local memory: rows of y and x, or the sums that work-items add up at the end. */
static double local_bytes_of(const struct problem *p, const int32_t *values)
{
    int64_t step = step_of(p, values);
    double y = (double)(block_of(values) * (step + 4));
    double x =
        (double)(p->c * p->fil[AXIS_H]) * (double)(few_channels_up_to_fours(span_of(p, step)) + 4);
    double sums = values[SHARES] > 1
                      ? (double)values[ITEMS_K] * (double)p->fil[AXIS_H] * sums_of(p, values)
                      : 0;

    return sizeof(float) * (MAX(y + x, sums) + 4);
}

static double count_registers(const struct problem *p, const int32_t *values)
{
    return sums_of(p, values) + POSITIONS * values[TILE_K] +
           (double)few_channels_up_to_fours(span_of(p, POSITIONS));
}

/* ---- the space ---- */

static bool sums_fit_registers(const struct problem *p, const struct context *context,
                               const int32_t *values)
{
    bool is_amd = context->target->vendor == VENDOR_AMD;

    return count_registers(p, values) <= (is_amd ? REGISTERS_MOST_AMD : REGISTERS_MOST);
}

static bool sums_are_spelled_out(const struct problem *p, const struct context *context,
                                 const int32_t *values)
{
    (void)context;
    return POSITIONS * sums_of(p, values) <= UNROLLED_MOST;
}

/* A block of output channels may be at most twice the rows of w; the smallest block is always valid. */
static bool block_suits_channels(const struct problem *p, const struct context *context,
                                 const int32_t *values)
{
    (void)context;
    return block_of(values) == block_of(smallest) || block_of(values) < 2 * p->k;
}

static bool items_suit_target(const struct problem *p, const struct context *context,
                              const int32_t *values)
{
    int64_t items = items_of(p, values);

    return items <= MIN(ITEMS_MOST, context->target->max_workgroup) &&
           (values[SHARES] == 1 || items_of(p, smallest) * values[SHARES] <= ITEMS_MOST);
}

/* Each of the SHARES work-items must have positions. If several steps divide a row into the same number of pieces, only
 * the shortest is valid. */
static bool step_suits_row(const struct problem *p, const struct context *context,
                           const int32_t *values)
{
    (void)context;
    return (values[SHARES] == 1 || values[SHARES] * POSITIONS <= step_of(p, values)) &&
           (values[MOST_W] == smallest[MOST_W] || p->out[AXIS_W] > values[MOST_W] / 2);
}

static bool rows_fit_local_memory(const struct problem *p, const struct context *context,
                                  const int32_t *values)
{
    return local_bytes_of(p, values) <= (double)context->target->local_bytes;
}

static uint64_t part_bytes(const struct problem *p, const int32_t *values)
{
    return (uint64_t)few_channels_weights(p) * (uint64_t)few_channels_parts(p, values[PARTS]) *
           sizeof(float);
}

static bool parts_have_rows(const struct problem *p, const struct context *context,
                            const int32_t *values)
{
    return values[PARTS] == 1 || (values[PARTS] <= few_channels_rows(p) &&
                                  part_bytes(p, values) <= context->workspace_limit);
}

static const struct space_constraint constraints[] = {
    {"sums_fit_registers", "registers", TILE_K + 1, sums_fit_registers},
    {"sums_are_spelled_out", "code size", TILE_K + 1, sums_are_spelled_out},
    {"block_suits_channels", "arithmetic", ITEMS_K + 1, block_suits_channels},
    {"items_suit_target", "workgroup size", SHARES + 1, items_suit_target},
    {"step_suits_row", "arithmetic", MOST_W + 1, step_suits_row},
    {"rows_fit_local_memory", "local memory", MOST_W + 1, rows_fit_local_memory},
    {"parts_have_rows", "workspace", PARTS + 1, parts_have_rows},
};

static const struct space space = {PARAM_COUNT, params, G_N_ELEMENTS(constraints), constraints};

/* ---- what it serves ---- */

static bool few_channels_weights_is_applicable(const struct problem *p,
                                               const struct context *context, const char **reason)
{
    if (p->direction != DIRECTION_W) {
        *reason = "needs direction W";
        return false;
    }
    if (!few_channels_serves(p, context, reason))
        return false;
    if (!sums_fit_registers(p, context, smallest) || !sums_are_spelled_out(p, context, smallest) ||
        !items_suit_target(p, context, smallest) || !rows_fit_local_memory(p, context, smallest)) {
        *reason = "needs a filter, strides and dilation that registers and local memory can hold";
        return false;
    }
    if (few_channels_weights(p) % 4 != 0 || p->k > 1 << 20) {
        *reason = "needs at most 2^20 output channels and a multiple of 4 weights";
        return false;
    }
    return true;
}

/* Defaults, measured on an H200, best first; the first valid one is used, and the last is always valid. */
static const int32_t wishes[][PARAM_COUNT] = {
    {2, 32, 1, 64, 1}, {4, 8, 4, 128, 1}, {4, 8, 4, 64, 1}, {4, 8, 1, 64, 1}, {2, 8, 4, 32, 1},
    {2, 4, 4, 32, 1},  {2, 8, 1, 16, 1},  {1, 8, 1, 16, 1}, {1, 4, 1, 16, 1},
};

static void few_channels_weights_default_config(const struct problem *p,
                                                const struct context *context,
                                                struct perf_config *config)
{
    space_choose_first(&space, p, context, wishes[0], G_N_ELEMENTS(wishes), config);
    few_channels_choose_parts(&space, p, context, conv_divide_up(p->k, block_of(config->values)),
                              config);
}

/* Bytes of the parts of the config with the most parts within the limit; of one part where the limit allows none. */
static uint64_t few_channels_weights_workspace_bytes(const struct problem *p,
                                                     const struct context *context)
{
    int32_t values[PARAM_COUNT];
    uint64_t most;

    memcpy(values, smallest, sizeof(values));
    most = part_bytes(p, values);
    for (int i = 1; i < params[PARTS].count; i++) {
        values[PARTS] = params[PARTS].values[i];
        if (parts_have_rows(p, context, values))
            most = MAX(most, part_bytes(p, values));
    }
    return most;
}

/* The estimate is above that of solvers that pad channels up to a block. */
static double few_channels_weights_estimate(const struct problem *p, const struct context *context)
{
    (void)p;
    (void)context;
    return 250.0;
}

/* ---- the launch ---- */

/* Whether y's contiguous runs (k in NHWC, columns in NCHW) are whole chunks of 16 bytes, both in memory and in local
 * memory. */
static bool y_is_in_chunks(const struct problem *p, const int32_t *values)
{
    if (few_channels_is_nhwc(p))
        return few_channels_in_chunks(p, p->k) && few_channels_in_chunks(p, block_of(values));
    return few_channels_in_chunks(p, p->out[AXIS_W]) &&
           few_channels_in_chunks(p, step_of(p, values));
}

static void add_arguments(const struct problem *p, const int32_t *values, struct launch *launch)
{
    launch_arg_tensor(launch, TENSOR_Y);
    launch_arg_tensor(launch, TENSOR_X);
    launch_arg_workspace(launch, 0);
    few_channels_add_image(p, launch);
    launch_arg_int32(launch, few_channels_rows(p));
    launch_arg_int32(launch, few_channels_part_rows(p, values[PARTS]));
    launch_arg_int32(launch, conv_divide_up(p->k, block_of(values)));
}

/* ---- rounding ---- */

/* The fewest positions of y along an axis that any filter position multiplies with an element of x. */
static int64_t least_positions(const struct problem *p, int axis)
{
    int64_t least = p->out[axis];

    for (int64_t f = 0; f < p->fil[axis]; f++) {
        int64_t count = 0;
        for (int64_t at = 0; at < p->out[axis]; at++) {
            int64_t x = at * p->stride[axis] - p->pad[axis] + f * p->dilation[axis];
            count += x >= 0 && x < p->in[axis];
        }
        least = MIN(least, count);
    }
    return least;
}

/* A work-item adds up its share of the positions in the rows of a part, SHARES work-items add up their sums, and
 * another launch adds up the parts. */
static struct solution_rounding rounding_of(const struct problem *p, const int32_t *values)
{
    int64_t step = step_of(p, values), fours = conv_divide_up(step, POSITIONS);
    int64_t row = conv_divide_up(p->out[AXIS_W], step) * conv_divide_up(fours, values[SHARES]);
    int64_t piece = few_channels_part_rows(p, values[PARTS]) * row * POSITIONS;
    int64_t shares = values[SHARES] > 1 ? values[SHARES] : 0;

    return (struct solution_rounding){
        .depth =
            (double)(piece + shares + matrix_sum_depth((int)few_channels_parts(p, values[PARTS]))),
        .terms = (double)(p->n * least_positions(p, AXIS_H) * least_positions(p, AXIS_W)),
    };
}

static bool few_channels_weights_solve(const struct problem *p, const struct context *context,
                                       const struct perf_config *config, struct solution *solution,
                                       GError **error)
{
    const int32_t *values = config->values;
    int64_t blocks = conv_divide_up(p->k, block_of(values)),
            parts = few_channels_parts(p, values[PARTS]);
    int items = (int)items_of(p, values);
    struct launch *launch =
        solution_add_launch(solution, "conv_few_channels_w.cl", "conv_few_channels_w");

    (void)context;
    (void)error;
    few_channels_add_options(p, launch);
    launch_option_int(launch, "CHUNKED", y_is_in_chunks(p, values));
    launch_option_int(
        launch, "X_CHUNKED",
        few_channels_in_chunks(p, p->in[AXIS_W] * (few_channels_is_nhwc(p) ? p->c : 1)));
    for (int i = TILE_K; i <= SHARES; i++)
        launch_option_int(launch, params[i].name, values[i]);
    launch_option_int(launch, "STEP_W", step_of(p, values));
    launch_sort_options(launch);
    add_arguments(p, values, launch);
    launch_set_line(launch, blocks * parts * items, items);
    matrix_add_sum(p, few_channels_weights(p), (int)parts, solution);
    solution->rounding = rounding_of(p, values);
    conv_set_exact_work(p, solution);
    return true;
}

const struct solver solver_conv_few_channels_weights = {
    .provider = "skipjack",
    .name = "ConvFewChannelsWeights",
    .revision = 4,
    .algorithm = "Direct",
    .sources = sources,
    .is_applicable = few_channels_weights_is_applicable,
    .workspace_bytes = few_channels_weights_workspace_bytes,
    .estimate = few_channels_weights_estimate,
    .default_config = few_channels_weights_default_config,
    .space = &space,
    .solve = few_channels_weights_solve,
};
