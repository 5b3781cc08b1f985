/*
 * Convolutions that are one small matrix product, on NVIDIA's matrix units by mma instructions without tables
 * or barriers (conv_matrix_small.cl): a filter that is the whole image (layers behind a global pool, squeeze-and-excite, fully
 * connected ones), and 1x1 filters over channels that are innermost. F, B and W, FP16 and BF16, packed tensors, one
 * group. Static: how many neighbouring elements a load may take is compiled in, which the sizes decide. One launch,
 * without a workspace. sm_80 and later.
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
#define REGISTERS_MOST   240
#define REGISTERS_UNIT   65536
/* The most multiply-accumulates for which waiting, not multiplying, takes the time. On an H100 a product of 2^27 takes
 * half a microsecond at full speed, less than the launch. */
#define SMALL_MACS       0x1p27
#define BLOCKS_MOST      0x1p24

static const char *const sources[] = {"conv_matrix_small.cl", NULL};

static const struct space_param params[PARAM_COUNT] = {
    {"TILES_M", 3, (const int32_t[]){1, 2, 4}},
    {"TILES_N", 4, (const int32_t[]){1, 2, 4, 8}},
    {"SHARES", 5, (const int32_t[]){1, 2, 4, 8, 16}},
    {"DEPTH", 3, (const int32_t[]){1, 2, 4}}, /* blocks of terms in flight */
};

/* ---- the product ---- */

/* Blocks of terms of each share. */
static int64_t turns_of(const struct problem *p, const int32_t *values)
{
    return conv_divide_up(conv_divide_up(small_product_of(p).terms, BLOCK_TERMS), values[SHARES]);
}

static int64_t row_blocks(const struct problem *p, const int32_t *values)
{
    return conv_divide_up(small_product_of(p).rows, (int64_t)TILE_ROWS * values[TILES_M]);
}

static int64_t column_blocks(const struct problem *p, const int32_t *values)
{
    return conv_divide_up(small_product_of(p).columns, (int64_t)TILE_COLUMNS * values[TILES_N]);
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

static int registers_of(const int32_t *values)
{
    int m = values[TILES_M], n = values[TILES_N];

    return 4 * m * n + 8 * m + 4 * n + REGISTERS_BESIDE;
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
    return values[TILES_M] == 1 || TILE_ROWS * values[TILES_M] < 2 * small_product_of(p).rows;
}

static bool columns_are_filled(const struct problem *p, const struct context *context,
                               const int32_t *values)
{
    (void)context;
    return values[TILES_N] == 1 || TILE_COLUMNS * values[TILES_N] < 2 * small_product_of(p).columns;
}

static bool shares_suit_terms(const struct problem *p, const struct context *context,
                              const int32_t *values)
{
    return values[SHARES] == 1 || (values[SHARES] * WARP_ITEMS <= context->target->max_workgroup &&
                                   (values[SHARES] - 1) * BLOCK_TERMS < small_product_of(p).terms);
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
    int registers = registers_of(values);

    (void)p;
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

static bool matrix_small_is_applicable(const struct problem *p, const struct context *context,
                                       const char **reason)
{
    if (target_compute_capability(context->target) < 80) {
        *reason = "needs NVIDIA's matrix units, sm_80 or later";
        return false;
    }
    if (!types_are_served(p)) {
        *reason = "needs tensors of one type, FP16 or BF16";
        return false;
    }
    if (!small_product_serves(p, reason))
        return false;
    if (!pieces_are_pairs(p)) {
        *reason = "needs even sizes of what is innermost in both operands";
        return false;
    }
    if (small_product_of(p).terms > MATRIX_TERMS_MOST) {
        *reason = "needs at most 32768 terms";
        return false;
    }
    *reason = "needs fewer than 2^24 tiles";
    return (double)row_blocks(p, smallest) * (double)column_blocks(p, smallest) < BLOCKS_MOST;
}

/* A multiprocessor loads the operands of each tile anew, so that large products lose against kernels with larger
 * tiles. */
static double matrix_small_estimate(const struct problem *p, const struct context *context)
{
    const struct small_product product = small_product_of(p);

    (void)context;
    return 500.0 * conv_used_part((double)product.rows, TILE_ROWS) *
           conv_used_part((double)product.columns, TILE_COLUMNS) *
           MIN(1, SMALL_MACS / small_product_macs(&product));
}

/* Tiles, from the largest. */
static const int32_t tiles[][2] = {{4, 8}, {2, 8}, {2, 4}, {1, 4}, {1, 2}, {1, 1}};

/* The largest tile that gives each multiprocessor a workgroup; as many shares as have two blocks of terms, since warps
 * that have loads in flight are what such products lack; then blocks in flight. */
static void matrix_small_default_config(const struct problem *p, const struct context *context,
                                        struct perf_config *config)
{
    int32_t *values = config->values;

    *config = (struct perf_config){PARAM_COUNT, {1, 1, 1, 1}};
    for (gsize i = 0; i < G_N_ELEMENTS(tiles); i++) {
        memcpy(values, tiles[i], sizeof tiles[i]);
        if (rows_are_filled(p, context, values) && columns_are_filled(p, context, values) &&
            row_blocks(p, values) * column_blocks(p, values) >= context->target->compute_units)
            break;
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
    launch_option_int(launch, "PAIRS", small_product_of(p).columns % 2 == 0);
    conv_add_epilogue_options(p, launch);
    launch_sort_options(launch);
}

static bool matrix_small_solve(const struct problem *p, const struct context *context,
                               const struct perf_config *config, struct solution *solution,
                               GError **error)
{
    const int32_t *values = config->values;
    int items = WARP_ITEMS * values[SHARES];
    struct launch *launch =
        solution_add_launch(solution, "conv_matrix_small.cl", "conv_matrix_small");

    (void)context;
    (void)error;
    add_options(p, config, launch);
    launch->local_bytes = local_bytes_of(values);
    conv_add_product_args(p, false, false, launch);
    small_product_add_args(p, column_blocks(p, values), launch);
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
