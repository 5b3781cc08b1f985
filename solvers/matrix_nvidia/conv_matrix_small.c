/*
 * Convolutions that are one small matrix product, on NVIDIA's matrix units by mma instructions without tables
 * or barriers (conv_matrix_small.cl): a filter that is the whole image (layers behind a global pool, squeeze-and-excite, fully
 * connected ones), and 1x1 filters over channels that are innermost. F, B and W, FP16 and BF16, packed tensors, one
 * group. Static: how many neighbouring elements a load may take is compiled in, which the sizes decide. One launch,
 * without a workspace. sm_80 and later.
 *
 * ConvMatrixTaps computes other filters likewise, for small images in NHWC: F, and B with stride 1, of 2D convolutions whose
 * channels are in blocks of 32 terms. Filter, strides and dilation are compiled in.
 *
 * Such a product has too few tiles for all multiprocessors where tiles are as large as ConvMatrix's, and a second launch
 * for split-K costs as much as the product. Here the warps of a workgroup share the terms of one small tile.
 *
 * Epilogues: all, with a residual of the output's layout.
 */
#include <string.h>

#include "solvers/common/conv_common.h"
#include "solvers/common/conv_epilogue.h"
#include "solvers/common/matrix_sum.h"
#include "solvers/common/small_product.h"
#include "solvers/framework/solver_rows.h"

enum { TILES_M, TILES_N, SHARES, DEPTH, PARAM_COUNT };

#define WARP_ITEMS       32
#define TILE_ROWS        16
#define TILE_COLUMNS     8
#define BLOCK_TERMS      32
#define MATRIX_BYTES     512 /* of 8 lines of a block of terms */
#define CHUNK_ELEMENTS   8   /* 16 bytes */
/* Registers: of a work-item beside sums and operands; the most of a work-item; of a multiprocessor. */
#define REGISTERS_BESIDE 40
#define REGISTERS_A_ROW  3
#define REGISTERS_MOST   240
#define REGISTERS_UNIT   65536
/* The most multiply-accumulates for which waiting, not multiplying, takes the time. On an H100 a product of 2^27 takes
 * half a microsecond at full speed, less than the launch. */
#define SMALL_MACS       0x1p27
#define BLOCKS_MOST      0x1p24
#define POSITIONS_MOST   0x1p30 /* that the kernel counts in int, those in front of images included */

static const char *const sources[] = {"conv_matrix_small.cl", NULL};

static const struct space_param params[PARAM_COUNT] = {
    {"TILES_M", 3, (const int32_t[]){1, 2, 4}},
    {"TILES_N", 4, (const int32_t[]){1, 2, 4, 8}},
    {"SHARES", 5, (const int32_t[]){1, 2, 4, 8, 16}},
    {"DEPTH", 3, (const int32_t[]){1, 2, 4}}, /* blocks of terms in flight */
};

/* ---- the product ---- */

/* With several filter positions the rows are positions of the result, and the terms are the filter's positions with their
 * channels. */
static struct small_product product_of(const struct problem *p)
{
    const int64_t *result = p->direction == DIRECTION_F ? p->out : p->in;
    int64_t rows = p->n * result[AXIS_H] * result[AXIS_W];
    int64_t taps = p->fil[AXIS_H] * p->fil[AXIS_W];

    if (small_product_is_one(p))
        return small_product_of(p);
    return p->direction == DIRECTION_F ? (struct small_product){rows, p->k, taps * p->c}
                                       : (struct small_product){rows, p->c, taps * p->k};
}

/* Blocks of terms of each share. */
static int64_t turns_of(const struct problem *p, const int32_t *values)
{
    return conv_divide_up(conv_divide_up(product_of(p).terms, BLOCK_TERMS), values[SHARES]);
}

static int64_t row_blocks(const struct problem *p, const int32_t *values)
{
    return conv_divide_up(product_of(p).rows, (int64_t)TILE_ROWS * values[TILES_M]);
}

static int64_t column_blocks(const struct problem *p, const int32_t *values)
{
    return conv_divide_up(product_of(p).columns, (int64_t)TILE_COLUMNS * values[TILES_N]);
}

/* Bytes of local memory of a workgroup: each share's blocks of terms; then pairs of sums of each share, with 33 places
 * for 32 lanes. */
static int64_t local_bytes_of(const int32_t *values)
{
    int m = values[TILES_M], n = values[TILES_N];
    int64_t blocks = (int64_t)values[DEPTH] * (2 * m + n) * MATRIX_BYTES;
    int64_t sums = (int64_t)m * n * 2 * 33 * 2 * (int64_t)sizeof(float);

    return values[SHARES] * MAX(blocks, sums);
}

/* With several filter positions a work-item keeps where each of its rows is. */
static int registers_of(const struct problem *p, const int32_t *values)
{
    int m = values[TILES_M], n = values[TILES_N];
    int places = small_product_is_one(p) ? 0 : 2 * m * REGISTERS_A_ROW;

    return 4 * m * n + 8 * m + 4 * n + places + REGISTERS_BESIDE;
}

/* Elements of a copy: a divisor of the operand's innermost size, at most `most`. */
static int piece_of(int64_t size, int most)
{
    int piece = most;

    while (size % piece != 0)
        piece /= 2;
    return piece;
}

/* Elements that a lane copies of an operand with lines innermost: two of each of `matrices` blocks of 8 lines, of which
 * at most four go together. */
static int line_elements(int matrices)
{
    return 2 * MIN(matrices, 4);
}

struct pieces {
    int a, b;
};

static struct pieces pieces_of(const struct problem *p, const int32_t *values)
{
    bool a_by_term = p->direction == DIRECTION_W, b_by_term = p->direction != DIRECTION_F;

    if (!small_product_is_one(p))
        return (struct pieces){CHUNK_ELEMENTS, b_by_term
                                                   ? piece_of(p->c, line_elements(values[TILES_N]))
                                                   : CHUNK_ELEMENTS};
    return (struct pieces){
        piece_of(small_product_inner_a(p),
                 a_by_term ? line_elements(2 * values[TILES_M]) : CHUNK_ELEMENTS),
        piece_of(small_product_inner_b(p),
                 b_by_term ? line_elements(values[TILES_N]) : CHUNK_ELEMENTS),
    };
}

/* ---- the space ---- */

static bool rows_are_filled(const struct problem *p, const struct context *context,
                            const int32_t *values)
{
    (void)context;
    return values[TILES_M] == 1 || TILE_ROWS * values[TILES_M] < 2 * product_of(p).rows;
}

static bool columns_are_filled(const struct problem *p, const struct context *context,
                               const int32_t *values)
{
    (void)context;
    return values[TILES_N] == 1 || TILE_COLUMNS * values[TILES_N] < 2 * product_of(p).columns;
}

static bool shares_suit_terms(const struct problem *p, const struct context *context,
                              const int32_t *values)
{
    return values[SHARES] == 1 || (values[SHARES] * WARP_ITEMS <= context->target->max_workgroup &&
                                   (values[SHARES] - 1) * BLOCK_TERMS < product_of(p).terms);
}

static bool depth_suits_terms(const struct problem *p, const struct context *context,
                              const int32_t *values)
{
    (void)context;
    return values[DEPTH] == 1 || values[DEPTH] <= turns_of(p, values);
}

static bool tile_fits_registers(const struct problem *p, const struct context *context,
                                const int32_t *values)
{
    int registers = registers_of(p, values);

    (void)context;
    return registers <= REGISTERS_MOST && registers * WARP_ITEMS * values[SHARES] <= REGISTERS_UNIT;
}

static bool blocks_fit_local_memory(const struct problem *p, const struct context *context,
                                    const int32_t *values)
{
    (void)p;
    return local_bytes_of(values) <= target_dynamic_local_bytes(context->target);
}

static const struct space_constraint constraints[] = {
    {"rows_are_filled", "arithmetic", TILES_M + 1, rows_are_filled},
    {"columns_are_filled", "arithmetic", TILES_N + 1, columns_are_filled},
    {"shares_suit_terms", "workgroup size, arithmetic", SHARES + 1, shares_suit_terms},
    {"tile_fits_registers", "registers", SHARES + 1, tile_fits_registers},
    {"depth_suits_terms", "arithmetic", DEPTH + 1, depth_suits_terms},
    {"blocks_fit_local_memory", "local memory", DEPTH + 1, blocks_fit_local_memory},
};

static const struct space space = {PARAM_COUNT, params, G_N_ELEMENTS(constraints), constraints};

/* ---- what it serves ---- */

static bool types_are_served(const struct problem *p)
{
    enum data_type type = p->type[TENSOR_X];

    return (type == TYPE_FP16 || type == TYPE_BF16) && p->type[TENSOR_W] == type &&
           p->type[TENSOR_Y] == type;
}

static const int32_t smallest[PARAM_COUNT] = {1, 1, 1, 1};

/* Copies have at least four bytes. */
static bool pieces_are_pairs(const struct problem *p)
{
    const struct pieces pieces = pieces_of(p, smallest);

    return pieces.a >= 2 && pieces.b >= 2;
}

/* The limits of both solvers' products. */
static bool product_is_served(const struct problem *p, const char **reason)
{
    const struct small_product product = product_of(p);

    if (!small_product_is_small(&product, reason))
        return false;
    if (!pieces_are_pairs(p)) {
        *reason = "needs even sizes of what is innermost in both operands";
        return false;
    }
    if (product.terms > MATRIX_TERMS_MOST) {
        *reason = "needs at most 32768 terms";
        return false;
    }
    *reason = "needs fewer than 2^24 tiles";
    return (double)row_blocks(p, smallest) * (double)column_blocks(p, smallest) < BLOCKS_MOST;
}

static bool tensors_are_served(const struct problem *p, const struct context *context,
                               const char **reason)
{
    if (target_compute_capability(context->target) < 80) {
        *reason = "needs NVIDIA's matrix units, sm_80 or later";
        return false;
    }
    *reason = "needs tensors of one type, FP16 or BF16";
    return types_are_served(p);
}

static bool matrix_small_is_applicable(const struct problem *p, const struct context *context,
                                       const char **reason)
{
    return tensors_are_served(p, context, reason) && small_product_serves(p, reason) &&
           product_is_served(p, reason);
}

/* Channels of the tensor whose positions meet filters. */
static int64_t source_channels(const struct problem *p)
{
    return p->direction == DIRECTION_F ? p->c : p->k;
}

static bool matrix_taps_is_applicable(const struct problem *p, const struct context *context,
                                      const char **reason)
{
    bool is_strided = p->stride[AXIS_H] != 1 || p->stride[AXIS_W] != 1;

    if (!tensors_are_served(p, context, reason))
        return false;
    if (p->direction == DIRECTION_W || (p->direction == DIRECTION_B && is_strided) ||
        p->groups != 1 || p->spatial_dim != 2) {
        *reason = "needs direction F, or B with stride 1, one group and 2 dimensions";
        return false;
    }
    for (int t = 0; t < TENSOR_COUNT; t++) {
        if (p->layout[t] != LAYOUT_NHWC) {
            *reason = "needs tensors in NHWC";
            return false;
        }
    }
    if (small_product_is_one(p)) {
        *reason = "needs filters of several positions, or a stride or padding";
        return false;
    }
    if (source_channels(p) % BLOCK_TERMS != 0) {
        *reason = "needs 32, 64, 96, ... input channels, or in B output channels";
        return false;
    }
    if (!conv_is_plain(p, reason) || !conv_counts_fit_32_bits(p, reason) ||
        !product_is_served(p, reason))
        return false;
    *reason = "needs fewer than 2^30 positions";
    return (double)p->n * (double)p->in[AXIS_H] * (double)p->in[AXIS_W] < POSITIONS_MOST &&
           (double)p->n * (double)p->out[AXIS_H] * (double)p->out[AXIS_W] < POSITIONS_MOST;
}

/* A multiprocessor loads the operands of each tile anew, so that large products lose against kernels with larger
 * tiles. */
static double matrix_small_estimate(const struct problem *p, const struct context *context)
{
    const struct small_product product = product_of(p);

    (void)context;
    return 500.0 * conv_used_part((double)product.rows, TILE_ROWS) *
           conv_used_part((double)product.columns, TILE_COLUMNS) *
           MIN(1, SMALL_MACS / small_product_macs(&product));
}

/* Lines that a multiprocessor loads for its tiles, of each of which it loads all terms. */
static int64_t lines_of(const struct problem *p, const struct context *context,
                        const int32_t *values)
{
    int64_t count = row_blocks(p, values) * column_blocks(p, values);
    int64_t lines = TILE_ROWS * values[TILES_M] + TILE_COLUMNS * values[TILES_N];

    return conv_divide_up(count, MAX(context->target->compute_units, 1)) * lines;
}

/* The tile for which a multiprocessor loads least; as many shares as have two blocks of terms, since warps that have
 * copies in flight are what such products lack; then blocks in flight. */
static void matrix_small_default_config(const struct problem *p, const struct context *context,
                                        struct perf_config *config)
{
    int64_t least = INT64_MAX;

    *config = (struct perf_config){PARAM_COUNT, {1, 1, 1, 1}};
    for (int i = 0; i < params[TILES_M].count * params[TILES_N].count; i++) {
        const int32_t values[PARAM_COUNT] = {params[TILES_M].values[i / params[TILES_N].count],
                                             params[TILES_N].values[i % params[TILES_N].count], 1,
                                             1};
        if (!rows_are_filled(p, context, values) || !columns_are_filled(p, context, values) ||
            !tile_fits_registers(p, context, values) || lines_of(p, context, values) >= least)
            continue;
        least = lines_of(p, context, values);
        memcpy(config->values, values, sizeof values);
    }
    for (int at = SHARES; at <= DEPTH; at++) {
        for (int i = 1; i < params[at].count; i++) {
            struct perf_config more = *config;
            more.values[at] = params[at].values[i];
            if (space_contains(&space, p, context, &more, NULL) &&
                (at == DEPTH || turns_of(p, more.values) >= 2))
                *config = more;
        }
    }
}

/* ---- the launch ---- */

static void add_tap_options(const struct problem *p, struct launch *launch)
{
    int sign = p->direction == DIRECTION_F ? 1 : -1;

    launch_option_int(launch, "TAPS", p->fil[AXIS_H] * p->fil[AXIS_W]);
    launch_option_int(launch, "CHANNELS", source_channels(p));
    launch_option_int(launch, "FIL_W", p->fil[AXIS_W]);
    launch_option_int(launch, "STRIDE_H", p->stride[AXIS_H]);
    launch_option_int(launch, "STRIDE_W", p->stride[AXIS_W]);
    launch_option_int(launch, "STEP_H", sign * p->dilation[AXIS_H]);
    launch_option_int(launch, "STEP_W", sign * p->dilation[AXIS_W]);
}

/* In B the first filter position meets the position of y that is behind that of x by the padding. */
static void add_image(const struct problem *p, struct launch *launch)
{
    bool is_f = p->direction == DIRECTION_F;
    const int64_t *source = is_f ? p->in : p->out, *result = is_f ? p->out : p->in;

    launch_arg_int32(launch, source[AXIS_H]);
    launch_arg_int32(launch, source[AXIS_W]);
    launch_arg_int32(launch, result[AXIS_H]);
    launch_arg_int32(launch, result[AXIS_W]);
    launch_arg_int32(launch, is_f ? p->pad[AXIS_H] : -p->pad[AXIS_H]);
    launch_arg_int32(launch, is_f ? p->pad[AXIS_W] : -p->pad[AXIS_W]);
}

static void add_options(const struct problem *p, const struct perf_config *config,
                        struct launch *launch)
{
    const int32_t *values = config->values;
    const struct pieces pieces = pieces_of(p, values);

    for (int i = 0; i < PARAM_COUNT; i++)
        launch_option_int(launch, params[i].name, values[i]);
    conv_add_direction_option(p, launch);
    launch_option_text(launch, "TYPE", data_type_name(p->type[TENSOR_X]));
    launch_option_text(launch, "LANE", conv_sum_type(p));
    launch_option_int(launch, "PIECE_A", pieces.a);
    launch_option_int(launch, "PIECE_B", pieces.b);
    launch_option_int(launch, "PAIRS", product_of(p).columns % 2 == 0);
    if (!small_product_is_one(p))
        add_tap_options(p, launch);
    conv_add_epilogue_options(p, launch);
    launch_sort_options(launch);
}

static bool matrix_small_solve(const struct problem *p, const struct context *context,
                               const struct perf_config *config, struct solution *solution,
                               GError **error)
{
    const struct small_product product = product_of(p);
    const int32_t *values = config->values;
    int items = WARP_ITEMS * values[SHARES];
    struct launch *launch =
        solution_add_launch(solution, "conv_matrix_small.cl", "conv_matrix_small");

    (void)context;
    (void)error;
    add_options(p, config, launch);
    launch->local_bytes = local_bytes_of(values);
    conv_add_product_args(p, false, false, launch);
    launch_arg_int32(launch, product.rows);
    launch_arg_int32(launch, product.columns);
    launch_arg_int32(launch, product.terms);
    launch_arg_int32(launch, column_blocks(p, values));
    if (!small_product_is_one(p))
        add_image(p, launch);
    small_product_add_epilogue_args(p, launch);
    launch_set_line(launch, row_blocks(p, values) * column_blocks(p, values) * items, items);
    conv_set_exact_work(p, solution);
    return true;
}

const struct solver solver_conv_matrix_small = {
    .provider = "skipjack",
    .name = "ConvMatrixSmall",
    .revision = 1,
    .algorithm = "GEMM",
    .native = true,
    .epilogues = EPILOGUE_DOES_ALL,
    .sources = sources,
    .is_applicable = matrix_small_is_applicable,
    .estimate = matrix_small_estimate,
    .default_config = matrix_small_default_config,
    .space = &space,
    .solve = matrix_small_solve,
};

const struct solver solver_conv_matrix_taps = {
    .provider = "skipjack",
    .name = "ConvMatrixTaps",
    .revision = 1,
    .algorithm = "ImplicitGEMM",
    .native = true,
    .epilogues = EPILOGUE_DOES_ALL,
    .sources = sources,
    .is_applicable = matrix_taps_is_applicable,
    .estimate = matrix_small_estimate,
    .default_config = matrix_small_default_config,
    .space = &space,
    .solve = matrix_small_solve,
};
