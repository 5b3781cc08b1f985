/*
 * A network's first layer on NVIDIA's matrix units: F of 2D convolutions with 1 to 4 input channels and one
 * group. FP16 and BF16, NHWC and NCHW, packed tensors. Rows of x must be whole chunks of 16 bytes, and
 * positions a whole number of pairs of elements apart; NHWC needs output channels in eights, NCHW columns of y
 * in fours. Any padding; strides and filters that fit local memory; dilation of rows. Static: filter, strides,
 * dilation, and where the padding begins within 16 bytes are compiled in. sm_80 and later.
 *
 * Padding three channels up to a chunk of eight would waste most of the work. Instead the terms are the
 * filter's whole row, channels and columns together: in memory they are consecutive elements of a row of x.
 *
 * Epilogues: all, with a residual of the output's layout.
 */
#include <string.h>

#include "solvers/common/conv_common.h"
#include "solvers/common/conv_epilogue.h"
#include "solvers/few_channels/few_channels.h"
#include "solvers/framework/solver_rows.h"

enum { TILES_M, WARPS_H, MOST_W, COLUMNS, RESIDENT, PARAM_COUNT };

#define WARP_ITEMS       32
#define ITEMS_MOST       512
#define POSITIONS        16 /* positions along a row that a warp computes */
#define CHUNK_ELEMENTS   8
#define CHUNK_BYTES      16
/* Registers of a work-item beside its sums: enough for full speed, and the least that compiles; registers of a
 * multiprocessor. */
#define REGISTERS_BESIDE 64
#define REGISTERS_LEAST  40
#define REGISTERS_UNIT   65536
/* The most matrix instructions that a kernel unrolls. */
#define UNROLLED_MOST    1024

static const char *const sources[] = {"conv_few_channels_f.cl", NULL};

static const struct space_param params[PARAM_COUNT] = {
    {"TILES_M", 3, (const int32_t[]){1, 2, 4}}, /* rows of y that a warp computes */
    {"WARPS_H", 3, (const int32_t[]){1, 2, 4}},
    /* the most warps along a row; the kernel uses as many as divide the row evenly */
    {"MOST_W", 4, (const int32_t[]){1, 2, 4, 8}},
    {"COLUMNS", 2, (const int32_t[]){32, 64}},
    {"RESIDENT", 4, (const int32_t[]){1, 2, 4, 8}}, /* workgroups on a multiprocessor at once */
};

static const int32_t smallest[PARAM_COUNT] = {1, 1, 1, 32, 1};

/* ---- how the kernel divides the product ---- */

static int64_t warps_w_of(const struct problem *p, const int32_t *values)
{
    return few_channels_even(conv_divide_up(p->out[AXIS_W], POSITIONS), values[MOST_W]);
}

static int64_t items_of(const struct problem *p, const int32_t *values)
{
    return WARP_ITEMS * warps_w_of(p, values) * values[WARPS_H];
}

/* Pairs of terms of a filter's row, rounded up to a multiple of four. */
static int64_t pair_pitch(const struct problem *p)
{
    int64_t early = few_channels_lead(p) % 2;

    return few_channels_up_to_fours((p->fil[AXIS_W] * few_channels_step(p) + early + 1) / 2);
}

static int64_t steps_of(const struct problem *p)
{
    int64_t lines = p->fil[AXIS_H] * (p->c / few_channels_step(p));

    return conv_divide_up(lines * pair_pitch(p), CHUNK_ELEMENTS);
}

/* Bytes of local memory: two parts of x (one computed, one loaded), and the filters in the order of lanes. */
static double local_bytes_of(const struct problem *p, const int32_t *values)
{
    int64_t rows = (values[TILES_M] * values[WARPS_H] - 1) * p->stride[AXIS_H] +
                   (p->fil[AXIS_H] - 1) * p->dilation[AXIS_H] + 1;
    int64_t lead = few_channels_lead(p), positions = POSITIONS * warps_w_of(p, values);
    int64_t width = lead - lead % 2 + (positions - 1) * p->stride[AXIS_W] * few_channels_step(p) +
                    2 * pair_pitch(p);
    double part = (double)(rows * (p->c / few_channels_step(p))) *
                  (double)conv_divide_up(width, CHUNK_ELEMENTS) * CHUNK_BYTES;
    double filters = (double)steps_of(p) * values[COLUMNS] / 2 * WARP_ITEMS / CHUNK_ELEMENTS * 16;

    return 2 * part + filters;
}

struct tiles {
    int64_t high, wide;
};

static struct tiles tiles_of(const struct problem *p, const int32_t *values)
{
    return (struct tiles){
        conv_divide_up(p->out[AXIS_H], (int64_t)values[TILES_M] * values[WARPS_H]),
        conv_divide_up(p->out[AXIS_W], POSITIONS * warps_w_of(p, values)),
    };
}

static double count_tiles(const struct problem *p, const int32_t *values)
{
    struct tiles tiles = tiles_of(p, values);

    return (double)p->n * (double)tiles.high * (double)tiles.wide;
}

/* ---- the space ---- */

static bool rows_suit_image(const struct problem *p, const struct context *context,
                            const int32_t *values)
{
    int rows = values[TILES_M] * values[WARPS_H];

    (void)context;
    return rows == 1 || rows < 2 * p->out[AXIS_H];
}

/* If several numbers of warps divide a row into the same number of pieces, only the smallest is valid. */
static bool warps_suit_row(const struct problem *p, const struct context *context,
                           const int32_t *values)
{
    return items_of(p, values) <= MIN(ITEMS_MOST, context->target->max_workgroup) &&
           (values[MOST_W] == 1 || conv_divide_up(p->out[AXIS_W], POSITIONS) > values[MOST_W] / 2);
}

static bool columns_suit_channels(const struct problem *p, const struct context *context,
                                  const int32_t *values)
{
    (void)context;
    return values[COLUMNS] == smallest[COLUMNS] || values[COLUMNS] < 2 * p->k;
}

static bool sums_fit_registers(const struct problem *p, const struct context *context,
                               const int32_t *values)
{
    int64_t sums = (int64_t)values[TILES_M] * values[COLUMNS] / 2;

    (void)context;
    return items_of(p, values) * (sums + REGISTERS_BESIDE) <= REGISTERS_UNIT;
}

static bool products_are_spelled_out(const struct problem *p, const struct context *context,
                                     const int32_t *values)
{
    (void)context;
    return steps_of(p) * values[TILES_M] * values[COLUMNS] / 8 <= UNROLLED_MOST;
}

static bool parts_fit_local_memory(const struct problem *p, const struct context *context,
                                   const int32_t *values)
{
    return local_bytes_of(p, values) <= (double)target_dynamic_local_bytes(context->target);
}

/* Whether a multiprocessor can hold RESIDENT workgroups: there must be enough tiles for all of them, and enough local
 * memory. */
static bool workgroups_suit_unit(const struct problem *p, const struct context *context,
                                 const int32_t *values)
{
    double units = context->target->compute_units;
    int64_t registers = (int64_t)values[TILES_M] * values[COLUMNS] / 2 + REGISTERS_LEAST;

    return values[RESIDENT] == 1 ||
           (count_tiles(p, values) > units * values[RESIDENT] / 2 &&
            local_bytes_of(p, values) * values[RESIDENT] <=
                (double)target_dynamic_local_bytes(context->target) &&
            items_of(p, values) * values[RESIDENT] * registers <= REGISTERS_UNIT);
}

static const struct space_constraint constraints[] = {
    {"rows_suit_image", "arithmetic", WARPS_H + 1, rows_suit_image},
    {"warps_suit_row", "workgroup size", MOST_W + 1, warps_suit_row},
    {"columns_suit_channels", "arithmetic", COLUMNS + 1, columns_suit_channels},
    {"sums_fit_registers", "registers", COLUMNS + 1, sums_fit_registers},
    {"products_are_spelled_out", "code size", COLUMNS + 1, products_are_spelled_out},
    {"parts_fit_local_memory", "local memory", COLUMNS + 1, parts_fit_local_memory},
    {"workgroups_suit_unit", "compute units", RESIDENT + 1, workgroups_suit_unit},
};

static const struct space space = {PARAM_COUNT, params, G_N_ELEMENTS(constraints), constraints};

/* ---- what it serves ---- */

static bool few_channels_matrix_is_applicable(const struct problem *p,
                                              const struct context *context, const char **reason)
{
    if (p->direction != DIRECTION_F) {
        *reason = "needs direction F";
        return false;
    }
    if (target_compute_capability(context->target) < 80) {
        *reason = "needs NVIDIA's matrix units, sm_80 or later";
        return false;
    }
    if (!few_channels_serves(p, context, reason))
        return false;
    if (p->type[TENSOR_X] == TYPE_FP32) {
        *reason = "needs FP16 or BF16";
        return false;
    }
    if (p->in[AXIS_W] * few_channels_step(p) % CHUNK_ELEMENTS != 0 ||
        (few_channels_is_nhwc(p) ? p->k % CHUNK_ELEMENTS : p->out[AXIS_W] % 4) != 0) {
        *reason =
            "needs lines of x, NHWC's output channels in eights, and NCHW's columns of y in fours";
        return false;
    }
    if (p->stride[AXIS_W] * few_channels_step(p) % 2 != 0 || p->dilation[AXIS_W] != 1) {
        *reason = "needs an even stride, or NHWC's channels even, and no dilation of columns";
        return false;
    }
    if (!products_are_spelled_out(p, context, smallest) ||
        !parts_fit_local_memory(p, context, smallest)) {
        *reason = "needs a filter and strides that local memory can hold";
        return false;
    }
    if (count_tiles(p, smallest) >= INT32_MAX / 2 || p->k > 1 << 20) {
        *reason = "needs fewer than 2^30 tiles and at most 2^20 output channels";
        return false;
    }
    return true;
}

/* Defaults, best first; the first valid one is used, and the last is always valid. */
static const int32_t wishes[][PARAM_COUNT] = {
    {2, 1, 8, 64, 2}, {2, 2, 8, 32, 2}, {2, 1, 8, 64, 1}, {2, 2, 8, 32, 1}, {1, 2, 4, 64, 1},
    {1, 2, 4, 32, 1}, {1, 1, 4, 32, 1}, {1, 1, 2, 32, 1}, {1, 1, 1, 32, 1},
};

static void few_channels_matrix_default_config(const struct problem *p,
                                               const struct context *context,
                                               struct perf_config *config)
{
    space_choose_first(&space, p, context, wishes[0], G_N_ELEMENTS(wishes), config);
}

/* The estimate is above that of solvers that copy x first. */
static double few_channels_matrix_estimate(const struct problem *p, const struct context *context)
{
    (void)p;
    (void)context;
    return 400.0;
}

/* ---- the launch ---- */

static void add_options(const struct problem *p, const int32_t *values, struct launch *launch)
{
    few_channels_add_matrix_options(p, launch);
    launch_option_int(launch, "NHWC", few_channels_is_nhwc(p));
    launch_option_int(launch, "TILES_M", values[TILES_M]);
    launch_option_int(launch, "WARPS_H", values[WARPS_H]);
    launch_option_int(launch, "WARPS_W", warps_w_of(p, values));
    launch_option_int(launch, "COLUMNS", values[COLUMNS]);
    conv_add_epilogue_options(p, launch);
    launch_sort_options(launch);
}

static bool few_channels_matrix_solve(const struct problem *p, const struct context *context,
                                      const struct perf_config *config, struct solution *solution,
                                      GError **error)
{
    const int32_t *values = config->values;
    struct launch *launch =
        solution_add_launch(solution, "conv_few_channels_f.cl", "conv_few_channels_f");
    struct tiles tiles = tiles_of(p, values);
    int64_t count = p->n * tiles.high * tiles.wide;
    int64_t groups = MIN(count, (int64_t)context->target->compute_units * values[RESIDENT]);
    int64_t blocks = conv_divide_up(p->k, values[COLUMNS]);
    int items = (int)items_of(p, values);

    (void)error;
    add_options(p, values, launch);
    launch->local_bytes = (int64_t)local_bytes_of(p, values);
    conv_add_tensor_args(launch);
    few_channels_add_image(p, launch);
    launch_arg_int32(launch, tiles.high);
    launch_arg_int32(launch, tiles.wide);
    launch_arg_int32(launch, count);
    launch_arg_int32(launch, groups);
    launch_arg_int32(launch, blocks);
    conv_add_epilogue_args(p, launch);
    launch_set_line(launch, groups * blocks * items, items);
    conv_set_exact_work(p, solution);
    return true;
}

const struct solver solver_conv_few_channels_matrix = {
    .provider = "skipjack",
    .name = "ConvFewChannelsMatrix",
    .revision = 1,
    .algorithm = "ImplicitGEMM",
    .epilogues = EPILOGUE_DOES_ALL,
    .native = true,
    .sources = sources,
    .is_applicable = few_channels_matrix_is_applicable,
    .estimate = few_channels_matrix_estimate,
    .default_config = few_channels_matrix_default_config,
    .space = &space,
    .solve = few_channels_matrix_solve,
};
