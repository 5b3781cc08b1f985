/*
 * 2D convolutions whose result has 1 to 8 channels, on NVIDIA's matrix units (conv_few_outputs.cl): F with few output
 * channels (the last layer of a network that makes images) and B with few input channels (the gradient of images). FP16
 * and BF16, one group, NHWC or NCHW, packed tensors; any padding, stride and dilation. In NHWC the source's channels must
 * be even, in NCHW its width. Filters that local memory holds, with at most 160 positions and outputs together. Static:
 * the source's channels, the outputs, filter, strides and dilation are compiled in. sm_80 and later.
 *
 * Epilogues: all, with a residual of the output's layout.
 */
#include <math.h>
#include <string.h>

#include "solvers/common/conv_common.h"
#include "solvers/common/conv_epilogue.h"
#include "solvers/few_channels/few_channels.h"
#include "solvers/framework/solver_rows.h"

enum { TILE_H, TILE_W, TILES_M, DEPTH, PARAM_COUNT };

#define OUTPUTS_MOST     8
#define COLUMNS_MOST     160 /* columns whose sums fit the registers */
#define WARP_ITEMS       32
#define WARPS_MOST       16
#define TILE_POSITIONS   16
#define TILE_COLUMNS     8
#define BLOCK_TERMS      32
#define MATRIX_BYTES     512 /* of 8 positions or columns of a block of terms */
#define CHUNK_ELEMENTS   8   /* 16 bytes */
#define ELEMENT_BYTES    2
/* Registers: of a work-item beside sums and operands; the most of a work-item; of a multiprocessor. */
#define REGISTERS_BESIDE 56
#define REGISTERS_MOST   240
#define REGISTERS_UNIT   65536
/* Bytes that a workgroup could copy in the time of its start and end. */
#define START_BYTES      16384
/* A multiprocessor has four schedulers: fewer warps leave some without work, unless workgroups share it. */
#define WARPS_WANTED     4
#define FEW_WARPS_COST   1.25
#define TILES_MOST       0x1p24

static const char *const sources[] = {"conv_few_outputs.cl", NULL};

static const struct space_param params[PARAM_COUNT] = {
    {"TILE_H", 5, (const int32_t[]){1, 2, 4, 8, 16}},
    {"TILE_W", 4, (const int32_t[]){8, 16, 32, 64}},
    {"TILES_M", 2, (const int32_t[]){1, 2}},
    {"DEPTH", 3, (const int32_t[]){1, 2, 4}}, /* blocks of terms in flight */
};

static const int32_t smallest[PARAM_COUNT] = {1, 8, 1, 1};

/* ---- how the kernel divides the work ---- */

/* The tensor with many channels, and the result. */
struct sides {
    int64_t terms, outputs;
    const int64_t *source, *result; /* sizes by axis */
};

static struct sides sides_of(const struct problem *p)
{
    if (p->direction == DIRECTION_B)
        return (struct sides){p->k, p->c, p->out, p->in};
    return (struct sides){p->c, p->k, p->in, p->out};
}

static int64_t count_columns(const struct problem *p)
{
    return sides_of(p).outputs * p->fil[AXIS_H] * p->fil[AXIS_W];
}

static int64_t column_tiles(const struct problem *p)
{
    return conv_divide_up(count_columns(p), TILE_COLUMNS);
}

static int64_t count_steps(const struct problem *p)
{
    return conv_divide_up(sides_of(p).terms, BLOCK_TERMS);
}

/* Positions of the source along an axis that a tile of the result meets. */
static int64_t region_needed(const struct problem *p, enum axis axis, int64_t tile)
{
    int64_t reach = (p->fil[axis] - 1) * p->dilation[axis];

    if (p->direction == DIRECTION_B)
        return (tile - 1 + reach) / p->stride[axis] + 1;
    return (tile - 1) * p->stride[axis] + reach + 1;
}

/* In NCHW regions begin and end at whole chunks of the source: the most elements in front of what the tile meets. Tiles
 * whose width is a number of chunks of the source all have the same. */
static int64_t region_lead(const struct problem *p, int64_t tile)
{
    int64_t stride = p->stride[AXIS_W], first = -p->pad[AXIS_W];

    if (p->direction == DIRECTION_B) {
        if (tile % (CHUNK_ELEMENTS * stride) != 0)
            return CHUNK_ELEMENTS - 1;
        first = p->pad[AXIS_W] - (p->fil[AXIS_W] - 1) * p->dilation[AXIS_W];
        first = first > 0 ? conv_divide_up(first, stride) : -(-first / stride);
    }
    return (first % CHUNK_ELEMENTS + CHUNK_ELEMENTS) % CHUNK_ELEMENTS;
}

static int64_t region_h(const struct problem *p, const int32_t *values)
{
    return region_needed(p, AXIS_H, values[TILE_H]);
}

static int64_t region_w(const struct problem *p, const int32_t *values)
{
    int64_t needed = region_needed(p, AXIS_W, values[TILE_W]);

    if (few_channels_is_nhwc(p))
        return needed;
    return conv_divide_up(region_lead(p, values[TILE_W]) + needed, CHUNK_ELEMENTS) * CHUNK_ELEMENTS;
}

static double count_warps(const struct problem *p, const int32_t *values)
{
    double positions = (double)region_h(p, values) * (double)region_w(p, values);
    int of_warp = TILE_POSITIONS * values[TILES_M];

    return (double)conv_divide_up((int64_t)MIN(positions, INT32_MAX), of_warp);
}

static double filter_bytes(const struct problem *p)
{
    return (double)count_steps(p) * (double)column_tiles(p) * MATRIX_BYTES;
}

/* Bytes of local memory: the filter in the order of lanes, the copies in flight, the filter as it is; then the
 * products. */
static double local_bytes_of(const struct problem *p, const int32_t *values)
{
    double warps = count_warps(p, values);
    double plain = (double)conv_divide_up(sides_of(p).terms * count_columns(p), CHUNK_ELEMENTS) *
                   CHUNK_ELEMENTS * ELEMENT_BYTES;
    double copies = warps * values[DEPTH] * 2 * values[TILES_M] * MATRIX_BYTES;
    double products = warps * TILE_POSITIONS * values[TILES_M] *
                      (double)(column_tiles(p) * TILE_COLUMNS + 4) * (double)sizeof(float);

    return MAX(filter_bytes(p) + copies + plain, products);
}

static double count_tiles(const struct problem *p, const int32_t *values)
{
    const struct sides sides = sides_of(p);

    return (double)p->n * (double)conv_divide_up(sides.result[AXIS_H], values[TILE_H]) *
           (double)conv_divide_up(sides.result[AXIS_W], values[TILE_W]);
}

/* ---- the space ---- */

static bool tile_suits_result(const struct problem *p, const struct context *context,
                              const int32_t *values)
{
    const struct sides sides = sides_of(p);

    (void)context;
    return (values[TILE_H] == smallest[TILE_H] || values[TILE_H] < 2 * sides.result[AXIS_H]) &&
           (values[TILE_W] == smallest[TILE_W] || values[TILE_W] < 2 * sides.result[AXIS_W]);
}

static bool warps_suit_target(const struct problem *p, const struct context *context,
                              const int32_t *values)
{
    double warps = count_warps(p, values);

    return warps <= WARPS_MOST && warps * WARP_ITEMS <= context->target->max_workgroup;
}

static bool sums_fit_registers(const struct problem *p, const struct context *context,
                               const int32_t *values)
{
    int m = values[TILES_M];
    double registers = (double)(4 * m * column_tiles(p) + 8 * m + REGISTERS_BESIDE);

    (void)context;
    return registers <= REGISTERS_MOST &&
           count_warps(p, values) * WARP_ITEMS * registers <= REGISTERS_UNIT;
}

static bool depth_suits_terms(const struct problem *p, const struct context *context,
                              const int32_t *values)
{
    (void)context;
    return values[DEPTH] == smallest[DEPTH] || values[DEPTH] <= count_steps(p);
}

static bool filter_fits_local_memory(const struct problem *p, const struct context *context,
                                     const int32_t *values)
{
    return local_bytes_of(p, values) <= (double)target_dynamic_local_bytes(context->target);
}

static const struct space_constraint constraints[] = {
    {"tile_suits_result", "arithmetic", TILE_W + 1, tile_suits_result},
    {"warps_suit_target", "workgroup size", TILES_M + 1, warps_suit_target},
    {"sums_fit_registers", "registers", TILES_M + 1, sums_fit_registers},
    {"depth_suits_terms", "arithmetic", DEPTH + 1, depth_suits_terms},
    {"filter_fits_local_memory", "local memory", DEPTH + 1, filter_fits_local_memory},
};

static const struct space space = {PARAM_COUNT, params, G_N_ELEMENTS(constraints), constraints};

/* ---- what it serves ---- */

static bool tensors_are_served(const struct problem *p)
{
    enum layout layout = p->layout[TENSOR_X];
    enum data_type type = p->type[TENSOR_X];

    for (int t = 0; t < TENSOR_COUNT; t++) {
        if (p->layout[t] != layout || p->type[t] != type)
            return false;
    }
    return (layout == LAYOUT_NHWC || layout == LAYOUT_NCHW) &&
           (type == TYPE_FP16 || type == TYPE_BF16);
}

/* Whether an image's offsets fit 32 bits, those of a block of terms past its end included. */
static bool images_fit_32_bits(const struct problem *p)
{
    const struct sides sides = sides_of(p);
    double source = (double)(sides.terms + BLOCK_TERMS) * (double)sides.source[AXIS_H] *
                    (double)sides.source[AXIS_W];
    double result =
        (double)OUTPUTS_MOST * (double)sides.result[AXIS_H] * (double)sides.result[AXIS_W];

    return source < INT32_MAX / 2 && result < INT32_MAX / 2;
}

/* Copies have at least four bytes. */
static bool copies_are_pairs(const struct problem *p)
{
    const struct sides sides = sides_of(p);

    return (few_channels_is_nhwc(p) ? sides.terms : sides.source[AXIS_W]) % 2 == 0;
}

static bool few_outputs_is_applicable(const struct problem *p, const struct context *context,
                                      const char **reason)
{
    if (target_compute_capability(context->target) < 80) {
        *reason = "needs NVIDIA's matrix units, sm_80 or later";
        return false;
    }
    if (p->direction == DIRECTION_W || sides_of(p).outputs > OUTPUTS_MOST || p->groups != 1 ||
        p->spatial_dim != 2) {
        *reason = "needs direction F or B, at most 8 channels of the result, one group and 2 "
                  "dimensions";
        return false;
    }
    if (!tensors_are_served(p)) {
        *reason = "needs tensors of one type, FP16 or BF16, all NCHW or all NHWC";
        return false;
    }
    if (!conv_is_plain(p, reason) || !conv_counts_fit_32_bits(p, reason))
        return false;
    if (!images_fit_32_bits(p)) {
        *reason = "needs images of fewer than 2^30 elements";
        return false;
    }
    if (!copies_are_pairs(p)) {
        *reason =
            "needs an even number of channels of the source in NHWC, an even width of it in NCHW";
        return false;
    }
    if ((double)p->fil[AXIS_H] * (double)p->fil[AXIS_W] * (double)sides_of(p).outputs >
            COLUMNS_MOST ||
        !warps_suit_target(p, context, smallest) || !sums_fit_registers(p, context, smallest) ||
        !filter_fits_local_memory(p, context, smallest)) {
        *reason = "needs a filter, strides and dilation that registers and local memory can hold";
        return false;
    }
    *reason = "needs fewer than 2^24 tiles";
    return count_tiles(p, smallest) < TILES_MOST;
}

/* Bytes that a multiprocessor copies, or could copy while its workgroups start. */
static double cost_of(const struct problem *p, const struct context *context, const int32_t *values)
{
    double positions = count_warps(p, values) * TILE_POSITIONS * values[TILES_M];
    double tile = positions * (double)(count_steps(p) * BLOCK_TERMS) * ELEMENT_BYTES +
                  2 * filter_bytes(p) + START_BYTES;
    double rounds = (double)conv_divide_up((int64_t)count_tiles(p, values),
                                           MAX(context->target->compute_units, 1));

    return rounds * tile * (count_warps(p, values) < WARPS_WANTED ? FEW_WARPS_COST : 1);
}

/* The cheapest tile; then as many blocks in flight as are valid. */
static void few_outputs_default_config(const struct problem *p, const struct context *context,
                                       struct perf_config *config)
{
    struct space_walk walk;
    struct perf_config next;
    double least = INFINITY;

    config->count = PARAM_COUNT;
    memcpy(config->values, smallest, sizeof smallest);
    space_walk_init(&walk, &space, p, context);
    while (space_walk_next(&walk, &next)) {
        double cost = cost_of(p, context, next.values);
        if (cost <= least)
            *config = next;
        least = MIN(least, cost);
    }
}

/* In full blocks the estimate is above those of solvers that pad channels up to a block, and of those without matrix
 * units. In F each position of the source is multiplied with the whole filter, and the result uses one in
 * stride_h * stride_w of these products. */
static double few_outputs_estimate(const struct problem *p, const struct context *context)
{
    double strides = (double)p->stride[AXIS_H] * (double)p->stride[AXIS_W];

    (void)context;
    return 450.0 * conv_used_part((double)count_columns(p), TILE_COLUMNS) *
           conv_used_part((double)sides_of(p).terms, BLOCK_TERMS) /
           (p->direction == DIRECTION_F ? strides : 1);
}

/* ---- the launch ---- */

/* Elements of a copy: a divisor of the source's innermost size, at most what a lane copies. */
static int64_t piece_of(const struct problem *p, const int32_t *values)
{
    const struct sides sides = sides_of(p);

    if (few_channels_is_nhwc(p))
        return conv_gcd(sides.terms, CHUNK_ELEMENTS);
    return conv_gcd(sides.source[AXIS_W], 4 * values[TILES_M]);
}

static void add_options(const struct problem *p, const int32_t *values, struct launch *launch)
{
    const struct sides sides = sides_of(p);

    for (int i = 0; i < PARAM_COUNT; i++)
        launch_option_int(launch, params[i].name, values[i]);
    conv_add_direction_option(p, launch);
    launch_option_text(launch, "TYPE", data_type_name(p->type[TENSOR_X]));
    launch_option_text(launch, "LANE", conv_sum_type(p));
    launch_option_int(launch, "NHWC", few_channels_is_nhwc(p));
    launch_option_int(launch, "TERMS", sides.terms);
    launch_option_int(launch, "OUTPUTS", sides.outputs);
    launch_option_int(launch, "FIL_H", p->fil[AXIS_H]);
    launch_option_int(launch, "FIL_W", p->fil[AXIS_W]);
    launch_option_int(launch, "STRIDE_H", p->stride[AXIS_H]);
    launch_option_int(launch, "STRIDE_W", p->stride[AXIS_W]);
    launch_option_int(launch, "DILATION_H", p->dilation[AXIS_H]);
    launch_option_int(launch, "DILATION_W", p->dilation[AXIS_W]);
    launch_option_int(launch, "REGION_H", region_h(p, values));
    launch_option_int(launch, "REGION_W", region_w(p, values));
    launch_option_int(launch, "WARPS", (int64_t)count_warps(p, values));
    launch_option_int(launch, "PIECE", piece_of(p, values));
    conv_add_epilogue_options(p, launch);
    launch_sort_options(launch);
}

static bool few_outputs_solve(const struct problem *p, const struct context *context,
                              const struct perf_config *config, struct solution *solution,
                              GError **error)
{
    const struct sides sides = sides_of(p);
    const int32_t *values = config->values;
    int items = WARP_ITEMS * (int)count_warps(p, values);
    int64_t tiles_h = conv_divide_up(sides.result[AXIS_H], values[TILE_H]);
    int64_t tiles_w = conv_divide_up(sides.result[AXIS_W], values[TILE_W]);
    struct launch *launch =
        solution_add_launch(solution, "conv_few_outputs.cl", "conv_few_outputs");

    (void)context;
    (void)error;
    add_options(p, values, launch);
    launch->local_bytes = (int64_t)local_bytes_of(p, values);
    conv_add_product_args(p, false, false, launch);
    launch_arg_int32(launch, sides.source[AXIS_H]);
    launch_arg_int32(launch, sides.source[AXIS_W]);
    launch_arg_int32(launch, sides.result[AXIS_H]);
    launch_arg_int32(launch, sides.result[AXIS_W]);
    launch_arg_int32(launch, p->pad[AXIS_H]);
    launch_arg_int32(launch, p->pad[AXIS_W]);
    launch_arg_int32(launch, tiles_h);
    launch_arg_int32(launch, tiles_w);
    conv_add_epilogue_args(p, launch);
    launch_set_line(launch, p->n * tiles_h * tiles_w * items, items);
    conv_set_exact_work(p, solution);
    return true;
}

const struct solver solver_conv_few_outputs = {
    .provider = "skipjack",
    .name = "ConvFewOutputs",
    .revision = 1,
    .algorithm = "ImplicitGEMM",
    .native = true,
    .epilogues = EPILOGUE_DOES_ALL,
    .sources = sources,
    .is_applicable = few_outputs_is_applicable,
    .estimate = few_outputs_estimate,
    .default_config = few_outputs_default_config,
    .space = &space,
    .solve = few_outputs_solve,
};
