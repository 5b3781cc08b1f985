/*
 * Backward data (B) of 2D convolutions with 1 to 4 input channels and one group, as for the gradient of a network's
 * images. FP32, FP16 and BF16, NCHW and NHWC, packed tensors; any padding; strides and dilation whose sums fit
 * registers. Static: filter, stride, dilation and the division of a row are compiled in. GPUs.
 */
#include <string.h>

#include "solvers/common/conv_common.h"
#include "solvers/few_channels/few_channels.h"
#include "solvers/framework/solver_rows.h"

enum { TILE_W, MOST_W, ITEMS, STEP_K, PARAM_COUNT };

/* Limits: registers of a work-item for its sums and its piece of a row of y; multiplications that are unrolled. */
#define REGISTERS_MOST 144
#define UNROLLED_MOST  2048
/* The most work-items of a launch with the smallest workgroups; with other workgroups a launch has less than four
 * times as many. */
#define WORK_MOST      0x1p29

static const char *const sources[] = {"conv_few_channels_b.cl", NULL};

static const struct space_param params[PARAM_COUNT] = {
    {"TILE_W", 3, (const int32_t[]){4, 8, 16}},
    /* the most work-items along a row; the kernel uses as many as divide the row evenly */
    {"MOST_W", 4, (const int32_t[]){8, 16, 32, 64}},
    {"ITEMS", 3, (const int32_t[]){64, 128, 256}}, /* the most work-items of a workgroup */
    {"STEP_K", 3, (const int32_t[]){4, 8, 16}},
};

static const int32_t smallest[PARAM_COUNT] = {4, 8, 64, 4};

/* ---- how the kernel divides x ---- */

/* The first stride-sized cell of x's positions along an axis, counted from the start of the padding. */
static int64_t first_cell(const struct problem *p, enum axis axis)
{
    return p->pad[axis] / p->stride[axis];
}

static int64_t count_cells(const struct problem *p, enum axis axis)
{
    return (p->in[axis] - 1 + p->pad[axis]) / p->stride[axis] - first_cell(p, axis) + 1;
}

struct division {
    int64_t items_w, items_h, tiles_w, tiles_h;
};

static struct division divide(const struct problem *p, const int32_t *values)
{
    int64_t wide = conv_divide_up(count_cells(p, AXIS_W), values[TILE_W]);
    int64_t high = count_cells(p, AXIS_H);
    struct division d;

    d.items_w = few_channels_even(wide, values[MOST_W]);
    d.tiles_w = conv_divide_up(wide, d.items_w);
    d.items_h = few_channels_even(high, values[ITEMS] / d.items_w);
    d.tiles_h = conv_divide_up(high, d.items_h);
    return d;
}

/* Positions of y, beyond its own, that a cell's sums read along an axis. */
static int64_t reach(const struct problem *p, enum axis axis)
{
    return (p->fil[axis] - 1) * p->dilation[axis] / p->stride[axis];
}

static int64_t count_weights(const struct problem *p)
{
    return p->c * p->fil[AXIS_H] * p->fil[AXIS_W];
}

/* Bytes of local memory: y's part and the filters of STEP_K channels, or the results before they are stored. */
static double local_bytes_of(const struct problem *p, const int32_t *values)
{
    struct division d = divide(p, values);
    int64_t columns = d.items_w * values[TILE_W] + few_channels_up_to_fours(reach(p, AXIS_W));
    double places = (double)(d.items_h + reach(p, AXIS_H)) * (double)columns;
    double staged = values[STEP_K] * (places + (double)few_channels_up_to_fours(count_weights(p)));
    double results =
        (double)(d.items_h * d.items_w * values[TILE_W] * p->c) * (double)p->stride[AXIS_W];

    return sizeof(float) * MAX(staged, results);
}

static double count_registers(const struct problem *p, const int32_t *values)
{
    double phases = (double)p->stride[AXIS_H] * (double)p->stride[AXIS_W];

    return phases * (double)p->c * values[TILE_W] + values[TILE_W] +
           (double)few_channels_up_to_fours(reach(p, AXIS_W));
}

/* ---- the space ---- */

static bool sums_fit_registers(const struct problem *p, const struct context *context,
                               const int32_t *values)
{
    (void)context;
    return count_registers(p, values) <= REGISTERS_MOST;
}

static bool taps_are_spelled_out(const struct problem *p, const struct context *context,
                                 const int32_t *values)
{
    (void)context;
    return (double)count_weights(p) * values[TILE_W] <= UNROLLED_MOST;
}

/* If several values of MOST_W divide a row into the same number of pieces, only the smallest is valid. */
static bool row_is_needed(const struct problem *p, const struct context *context,
                          const int32_t *values)
{
    (void)context;
    return values[MOST_W] == smallest[MOST_W] ||
           conv_divide_up(count_cells(p, AXIS_W), values[TILE_W]) > values[MOST_W] / 2;
}

static bool items_suit_image(const struct problem *p, const struct context *context,
                             const int32_t *values)
{
    struct division d = divide(p, values);

    return values[ITEMS] <= context->target->max_workgroup &&
           (values[ITEMS] == smallest[ITEMS] || d.items_w * d.items_h > values[ITEMS] / 2);
}

static bool channels_suit_step(const struct problem *p, const struct context *context,
                               const int32_t *values)
{
    (void)context;
    return values[STEP_K] == smallest[STEP_K] || values[STEP_K] < 2 * p->k;
}

static bool stage_fits_local_memory(const struct problem *p, const struct context *context,
                                    const int32_t *values)
{
    return local_bytes_of(p, values) <= (double)context->target->local_bytes;
}

static const struct space_constraint constraints[] = {
    {"sums_fit_registers", "registers", TILE_W + 1, sums_fit_registers},
    {"taps_are_spelled_out", "code size", TILE_W + 1, taps_are_spelled_out},
    {"row_is_needed", "arithmetic", MOST_W + 1, row_is_needed},
    {"items_suit_image", "workgroup size", ITEMS + 1, items_suit_image},
    {"channels_suit_step", "arithmetic", STEP_K + 1, channels_suit_step},
    {"stage_fits_local_memory", "local memory", STEP_K + 1, stage_fits_local_memory},
};

static const struct space space = {PARAM_COUNT, params, G_N_ELEMENTS(constraints), constraints};

/* ---- what it serves ---- */

static bool few_channels_data_is_applicable(const struct problem *p, const struct context *context,
                                            const char **reason)
{
    struct division d;

    if (p->direction != DIRECTION_B) {
        *reason = "needs direction B";
        return false;
    }
    if (!few_channels_serves(p, context, reason))
        return false;
    if (count_registers(p, smallest) > REGISTERS_MOST ||
        !taps_are_spelled_out(p, context, smallest) ||
        !stage_fits_local_memory(p, context, smallest)) {
        *reason = "needs a filter, strides and dilation that registers and local memory can hold";
        return false;
    }
    d = divide(p, smallest);
    if ((double)p->n * (double)d.tiles_w * (double)d.tiles_h * smallest[ITEMS] >= WORK_MOST) {
        *reason = "needs fewer than 2^29 work-items";
        return false;
    }
    return true;
}

/* Defaults, measured on an H200, best first; the first valid one is used, and the last is always valid. */
static const int32_t wishes[][PARAM_COUNT] = {
    {4, 16, 128, 8},
    {4, 8, 128, 8},
    {4, 8, 64, 8},
    {4, 8, 64, 4},
};

static void few_channels_data_default_config(const struct problem *p, const struct context *context,
                                             struct perf_config *config)
{
    space_choose_first(&space, p, context, wishes[0], G_N_ELEMENTS(wishes), config);
}

/* The estimate is above that of solvers that pad channels up to a block. */
static double few_channels_data_estimate(const struct problem *p, const struct context *context)
{
    (void)p;
    (void)context;
    return 250.0;
}

/* ---- the launch ---- */

static bool few_channels_data_solve(const struct problem *p, const struct context *context,
                                    const struct perf_config *config, struct solution *solution,
                                    GError **error)
{
    const int32_t *values = config->values;
    struct division d = divide(p, values);
    int items = (int)(d.items_w * d.items_h);
    struct launch *launch =
        solution_add_launch(solution, "conv_few_channels_b.cl", "conv_few_channels_b");

    (void)context;
    (void)error;
    few_channels_add_options(p, launch);
    launch_option_int(launch, "CHUNKED",
                      few_channels_is_nhwc(p) && few_channels_in_chunks(p, p->k) &&
                          few_channels_in_chunks(p, values[STEP_K]));
    launch_option_int(launch, "TILE_W", values[TILE_W]);
    launch_option_int(launch, "ITEMS_W", d.items_w);
    launch_option_int(launch, "ITEMS_H", d.items_h);
    launch_option_int(launch, "STEP_K", values[STEP_K]);
    launch_sort_options(launch);
    launch_arg_tensor(launch, TENSOR_Y);
    launch_arg_tensor(launch, TENSOR_W);
    launch_arg_tensor(launch, TENSOR_X);
    few_channels_add_image(p, launch);
    launch_arg_int32(launch, first_cell(p, AXIS_H));
    launch_arg_int32(launch, first_cell(p, AXIS_W));
    launch_arg_int32(launch, d.tiles_h);
    launch_arg_int32(launch, d.tiles_w);
    launch_set_line(launch, p->n * d.tiles_h * d.tiles_w * items, items);
    conv_set_exact_work(p, solution);
    return true;
}

const struct solver solver_conv_few_channels_data = {
    .provider = "skipjack",
    .name = "ConvFewChannelsData",
    .revision = 2,
    .algorithm = "Direct",
    .sources = sources,
    .is_applicable = few_channels_data_is_applicable,
    .estimate = few_channels_data_estimate,
    .default_config = few_channels_data_default_config,
    .space = &space,
    .solve = few_channels_data_solve,
};
