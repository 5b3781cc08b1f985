/*
 * Convolutions that are one small matrix product (small_product.h) on the vector units of GPUs (conv_product_small.cl): F, B
 * and W, FP32, FP16 and BF16, packed tensors of one type, one group. Static: whether elements may be loaded in fours is
 * compiled in. One launch, without a workspace: groups of work-items share the terms of a small tile.
 *
 * Epilogues: all, with a residual of the output's layout.
 */
#include <string.h>

#include "solvers/common/conv_common.h"
#include "solvers/common/conv_epilogue.h"
#include "solvers/common/small_product.h"
#include "solvers/framework/solver_rows.h"

enum { LANES_M, LANES_N, SHARES, TERMS, PARAM_COUNT };

#define SUMS_A_LANE 4 /* rows, and columns, that a work-item computes */
#define ITEMS_LEAST 32
#define ITEMS_MOST  512
#define FOURS_MOST  8 /* the most loads of a work-item in flight, each of four elements */
/* The most multiply-accumulates for which waiting, not multiplying, takes the time: 2^25 take a microsecond on an H100. */
#define SMALL_MACS  0x1p25
#define TILES_MOST  0x1p22

static const char *const sources[] = {"conv_product_small.cl", NULL};

static const struct space_param params[PARAM_COUNT] = {
    {"LANES_M", 2, (const int32_t[]){4, 8}},
    {"LANES_N", 2, (const int32_t[]){4, 8}},
    {"SHARES", 6, (const int32_t[]){1, 2, 4, 8, 16, 32}},
    {"TERMS", 3, (const int32_t[]){8, 16, 32}}, /* terms of a block */
};

/* ---- the product ---- */

static int items_of(const int32_t *values)
{
    return values[LANES_M] * values[LANES_N] * values[SHARES];
}

static int64_t row_blocks(const struct problem *p, const int32_t *values)
{
    return conv_divide_up(small_product_of(p).rows, (int64_t)SUMS_A_LANE * values[LANES_M]);
}

static int64_t column_blocks(const struct problem *p, const int32_t *values)
{
    return conv_divide_up(small_product_of(p).columns, (int64_t)SUMS_A_LANE * values[LANES_N]);
}

/* Bytes of local memory: of each share a block of terms, with four elements more for each term of both operands; then its
 * sums. */
static int64_t local_bytes_of(const int32_t *values)
{
    int64_t rows = SUMS_A_LANE * values[LANES_M], columns = SUMS_A_LANE * values[LANES_N];
    int64_t block = values[TERMS] * (rows + columns + 2 * SUMS_A_LANE);

    return values[SHARES] * MAX(block, rows * columns) * (int64_t)sizeof(float);
}

/* ---- the space ---- */

static bool lanes_suit_product(const struct problem *p, const struct context *context,
                               const int32_t *values)
{
    const struct small_product product = small_product_of(p);

    (void)context;
    return (values[LANES_M] == params[LANES_M].values[0] ||
            SUMS_A_LANE * values[LANES_M] < 2 * product.rows) &&
           (values[LANES_N] == params[LANES_N].values[0] ||
            SUMS_A_LANE * values[LANES_N] < 2 * product.columns);
}

static bool items_suit_target(const struct problem *p, const struct context *context,
                              const int32_t *values)
{
    (void)p;
    return items_of(values) >= ITEMS_LEAST &&
           items_of(values) <= MIN(ITEMS_MOST, context->target->max_workgroup);
}

/* The fewest shares that make a workgroup. */
static int least_shares(const int32_t *values)
{
    return MAX(ITEMS_LEAST / (values[LANES_M] * values[LANES_N]), 1);
}

static bool shares_suit_terms(const struct problem *p, const struct context *context,
                              const int32_t *values)
{
    (void)context;
    return values[SHARES] <= least_shares(values) ||
           (int64_t)(values[SHARES] / 2) * params[TERMS].values[0] < small_product_of(p).terms;
}

static bool terms_suit_shares(const struct problem *p, const struct context *context,
                              const int32_t *values)
{
    int lanes = values[LANES_M] + values[LANES_N];

    (void)context;
    return values[TERMS] == params[TERMS].values[0] ||
           (values[SHARES] * values[TERMS] < 2 * small_product_of(p).terms &&
            lanes * values[TERMS] <= FOURS_MOST * values[LANES_M] * values[LANES_N]);
}

static bool blocks_fit_local_memory(const struct problem *p, const struct context *context,
                                    const int32_t *values)
{
    (void)p;
    return local_bytes_of(values) <= context->target->local_bytes;
}

static const struct space_constraint constraints[] = {
    {"lanes_suit_product", "arithmetic", LANES_N + 1, lanes_suit_product},
    {"items_suit_target", "workgroup size", SHARES + 1, items_suit_target},
    {"shares_suit_terms", "arithmetic", SHARES + 1, shares_suit_terms},
    {"terms_suit_shares", "arithmetic, registers", TERMS + 1, terms_suit_shares},
    {"blocks_fit_local_memory", "local memory", TERMS + 1, blocks_fit_local_memory},
};

static const struct space space = {PARAM_COUNT, params, G_N_ELEMENTS(constraints), constraints};

/* The config that is valid for every problem. */
static const int32_t smallest[PARAM_COUNT] = {4, 4, 2, 8};

/* ---- what it serves ---- */

static bool types_are_served(const struct problem *p)
{
    enum data_type type = p->type[TENSOR_X];

    return (type == TYPE_FP32 || type == TYPE_FP16 || type == TYPE_BF16) &&
           p->type[TENSOR_W] == type && p->type[TENSOR_Y] == type;
}

static bool product_small_is_applicable(const struct problem *p, const struct context *context,
                                        const char **reason)
{
    struct small_product product;

    if (context_is_cpu(context)) {
        *reason = "needs a GPU";
        return false;
    }
    if (!types_are_served(p)) {
        *reason = "needs tensors of one type, FP32, FP16 or BF16";
        return false;
    }
    if (!small_product_serves(p, reason))
        return false;
    product = small_product_of(p);
    if (!small_product_is_small(&product, reason))
        return false;
    *reason = "needs fewer than 2^22 tiles of 16 by 16";
    return (double)row_blocks(p, smallest) * (double)column_blocks(p, smallest) < TILES_MOST;
}

/* A multiprocessor loads the operands of each tile anew, so that large products lose against kernels with larger
 * tiles. */
static double product_small_estimate(const struct problem *p, const struct context *context)
{
    const struct small_product product = small_product_of(p);
    int tile = SUMS_A_LANE * params[LANES_M].values[0];

    (void)context;
    return 100.0 * conv_used_part((double)product.rows, tile) *
           conv_used_part((double)product.columns, tile) *
           MIN(1, SMALL_MACS / small_product_macs(&product));
}

static const int32_t tiles[][2] = {{4, 4}, {4, 8}, {8, 4}, {8, 8}};

/* Lines that a multiprocessor loads for its tiles, of each of which it loads all terms. */
static int64_t lines_of(const struct problem *p, const struct context *context,
                        const int32_t *values)
{
    int64_t count = row_blocks(p, values) * column_blocks(p, values);

    return conv_divide_up(count, MAX(context->target->compute_units, 1)) *
           (values[LANES_M] + values[LANES_N]);
}

/* The tile for which a multiprocessor loads least; as many shares as have two blocks of terms; then the longest
 * blocks. */
static void product_small_default_config(const struct problem *p, const struct context *context,
                                         struct perf_config *config)
{
    int64_t least = INT64_MAX;

    config->count = PARAM_COUNT;
    memcpy(config->values, smallest, sizeof smallest);
    for (gsize i = 0; i < G_N_ELEMENTS(tiles); i++) {
        if (!lanes_suit_product(p, context, tiles[i]) || lines_of(p, context, tiles[i]) >= least)
            continue;
        least = lines_of(p, context, tiles[i]);
        memcpy(config->values, tiles[i], sizeof tiles[i]);
        config->values[SHARES] = least_shares(tiles[i]);
    }
    for (int at = SHARES; at <= TERMS; at++) {
        for (int i = 0; i < params[at].count; i++) {
            struct perf_config more = *config;
            more.values[at] = params[at].values[i];
            if (space_contains(&space, p, context, &more, NULL) &&
                (int64_t)more.values[SHARES] * more.values[TERMS] * 2 <= small_product_of(p).terms)
                *config = more;
        }
    }
}

/* ---- the launch ---- */

static bool product_small_solve(const struct problem *p, const struct context *context,
                                const struct perf_config *config, struct solution *solution,
                                GError **error)
{
    const struct small_product product = small_product_of(p);
    const int32_t *values = config->values;
    int items = items_of(values);
    struct launch *launch =
        solution_add_launch(solution, "conv_product_small.cl", "conv_product_small");

    (void)context;
    (void)error;
    for (int i = 0; i < PARAM_COUNT; i++)
        launch_option_int(launch, params[i].name, values[i]);
    conv_add_direction_option(p, launch);
    launch_option_text(launch, "TYPE", data_type_name(p->type[TENSOR_X]));
    launch_option_int(launch, "A_IN_FOURS", small_product_inner_a(p) % SUMS_A_LANE == 0);
    launch_option_int(launch, "B_IN_FOURS", small_product_inner_b(p) % SUMS_A_LANE == 0);
    conv_add_epilogue_options(p, launch);
    launch_sort_options(launch);
    conv_add_product_args(p, false, false, launch);
    launch_arg_int32(launch, product.rows);
    launch_arg_int32(launch, product.columns);
    launch_arg_int32(launch, product.terms);
    launch_arg_int32(launch, column_blocks(p, values));
    small_product_add_epilogue_args(p, launch);
    launch_set_line(launch, row_blocks(p, values) * column_blocks(p, values) * items, items);
    conv_set_exact_work(p, solution);
    return true;
}

const struct solver solver_conv_product_small = {
    .provider = "skipjack",
    .name = "ConvProductSmall",
    .revision = 1,
    .algorithm = "GEMM",
    .epilogues = EPILOGUE_DOES_ALL,
    .sources = sources,
    .is_applicable = product_small_is_applicable,
    .estimate = product_small_estimate,
    .default_config = product_small_default_config,
    .space = &space,
    .solve = product_small_solve,
};
