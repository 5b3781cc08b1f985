/*
 * Convolutions as one matrix product per group on a GPU's plain units, as fast as these get: F, B and W
 * of 2D, all tensors packed, FP32 and of one layout, NCHW or NHWC; groups, stride, dilation, any padding.
 * Dynamic. B of strides goes by phases, without products with zeros. W may split its long sums
 * (SPLITS), whose parts then lie in the workspace.
 *
 * LOAD_A and LOAD_B are how many neighbours an item loads at once, ASYNC whether elements go into local
 * memory beside its own work (NVIDIA's from sm_80 on), STAGES how many blocks of terms are there.
 */
#include <stdlib.h>
#include <string.h>

#include "solvers/conv_common.h"
#include "solvers/gemm.h"
#include "solvers/simt_common.h"
#include "solvers/simt_operands.h"
#include "solvers/solver_rows.h"
#include "solvers/tile_space.h"

enum {
    BLOCK_M,
    BLOCK_N,
    TILE_ROWS,
    TILE_COLUMNS,
    BLOCK_K,
    LOAD_A,
    LOAD_B,
    ASYNC,
    STAGES,
    SPLITS,
    PARAM_COUNT
};

#define SPLITS_MOST   512
#define GRID_MOST     65535 /* what a grid's third axis has on every GPU */
/* A block's rows and columns at the least. */
#define LEAST_ROWS    32
#define LEAST_COLUMNS 64
/* W alone has these, where little else is there to share: blocks of so few columns, and of so many terms. */
#define FEW_COLUMNS   32
#define MANY_TERMS    32
/* Work-items that a unit may get of parts of sums: about two rounds of what it holds at once. */
#define ITEMS_A_UNIT  1024.0
/* Tensors whose offsets fit 32 bits, also a little past their ends. */
#define ELEMENTS_MOST ((INT64_C(1) << 31) - (1 << 24))

static const char *const sources[] = {"conv_simt.cl", "conv_sum_splits.cl", NULL};

static const struct space_param params[PARAM_COUNT] = {
    {"BLOCK_M", 4, (const int32_t[]){32, 64, 128, 256}},
    {"BLOCK_N", 4, (const int32_t[]){FEW_COLUMNS, 64, 128, 256}},
    {"TILE_M", 3, (const int32_t[]){4, 8, 16}},
    {"TILE_N", 3, (const int32_t[]){4, 8, 16}},
    {"BLOCK_K", 3, (const int32_t[]){8, 16, MANY_TERMS}},
    {"LOAD_A", 2, (const int32_t[]){1, 4}},
    {"LOAD_B", 2, (const int32_t[]){1, 4}},
    {"ASYNC", 2, (const int32_t[]){0, 1}},
    {"STAGES", 3, (const int32_t[]){2, 3, 4}},
    {"SPLITS", 10, (const int32_t[]){1, 2, 4, 8, 16, 32, 64, 128, 256, SPLITS_MOST}},
};

/* ---- the product ---- */

static double blocks_of(double count, int32_t block)
{
    return (double)conv_divide_up((int64_t)count, block);
}

static int items_of(const int32_t *values)
{
    return values[BLOCK_M] / values[TILE_ROWS] * (values[BLOCK_N] / values[TILE_COLUMNS]);
}

static double workgroups_of(const struct tile_product *product, const int32_t *values)
{
    return blocks_of(product->m, values[BLOCK_M]) * blocks_of(product->n, values[BLOCK_N]) *
           product->layers;
}

/* ---- how operands lie ---- */

/* Whether neighbours in memory are terms, in a and in b. By layout and config alone, so that one
 * binary serves all shapes; rows of a 1x1 filter of B are neighbours where they come in fours. */
static bool a_is_by_term(const struct problem *p, const int32_t *values)
{
    if (simt_is_nhwc(p))
        return p->direction == DIRECTION_F;
    return p->direction != DIRECTION_B || values[LOAD_A] == 1;
}

static bool b_is_by_term(const struct problem *p)
{
    return simt_is_nhwc(p) == (p->direction != DIRECTION_W);
}

/* Of the values only those before `known` are looked at. */
static struct simt_block block_of(const struct problem *p, const int32_t *values, int known)
{
    struct simt_block block = {.block_m = values[BLOCK_M],
                               .block_n = values[BLOCK_N],
                               .tile_m = values[TILE_ROWS],
                               .tile_n = values[TILE_COLUMNS],
                               .c_by_row = simt_is_nhwc(p) && p->direction != DIRECTION_W,
                               .b_by_term = b_is_by_term(p)};

    if (known > BLOCK_K)
        block.block_k = values[BLOCK_K];
    if (known > LOAD_A) {
        block.load_a = values[LOAD_A];
        block.a_by_term = a_is_by_term(p, values);
    }
    if (known > LOAD_B)
        block.load_b = values[LOAD_B];
    if (known > STAGES) {
        block.async = values[ASYNC] != 0;
        block.stages = values[STAGES];
    }
    return block;
}

/* ---- the space ---- */

static bool items_suit_target(const struct problem *p, const struct context *context,
                              const int32_t *values)
{
    const struct simt_block block = block_of(p, values, TILE_COLUMNS + 1);

    return simt_items_suit(&block, context->target->max_workgroup);
}

/* A term's products are to be many for what is read of it, and their sums to leave registers. */
static bool sums_fit_registers(const struct problem *p, const struct context *context,
                               const int32_t *values)
{
    int sums = values[TILE_ROWS] * values[TILE_COLUMNS];

    (void)p;
    (void)context;
    return sums >= 32 && sums <= 128;
}

static bool block_suits_sizes(const struct problem *p, const struct context *context,
                              const int32_t *values)
{
    const struct tile_product product = simt_product_sizes(p);

    (void)context;
    if (values[BLOCK_N] == FEW_COLUMNS &&
        (p->direction != DIRECTION_W || blocks_of(product.n, FEW_COLUMNS) * FEW_COLUMNS ==
                                            blocks_of(product.n, LEAST_COLUMNS) * LEAST_COLUMNS))
        return false;
    return (values[BLOCK_M] == LEAST_ROWS || values[BLOCK_M] < 2 * product.m) &&
           (values[BLOCK_N] <= LEAST_COLUMNS || values[BLOCK_N] < 2 * product.n);
}

/* Many terms at once bring long pieces of memory where a block has few products for what it reads. */
static bool terms_suit_block(const struct problem *p, const struct context *context,
                             const int32_t *values)
{
    (void)context;
    return values[BLOCK_K] < MANY_TERMS ||
           (p->direction == DIRECTION_W && values[TILE_ROWS] * values[TILE_COLUMNS] == 32);
}

static bool blocks_fit_grid(const struct problem *p, const struct context *context,
                            const int32_t *values)
{
    const struct tile_product product = simt_product_sizes(p);

    (void)context;
    return workgroups_of(&product, values) / product.layers * items_of(values) <= UINT32_MAX / 2;
}

/* Where four can be loaded at once nothing else pays, but for terms, which come one by one where they
 * are to be copied past registers. */
static bool load_suits(bool has_quads, bool by_term, const struct context *context, int32_t load)
{
    if (load == 4)
        return has_quads;
    return !has_quads || (by_term && context->target->vendor == VENDOR_NVIDIA);
}

static bool a_suits_items(const struct problem *p, const struct context *context,
                          const int32_t *values)
{
    const struct simt_block block = block_of(p, values, LOAD_A + 1);

    return load_suits(simt_a_has_quads(p), simt_is_nhwc(p) || p->direction != DIRECTION_B, context,
                      values[LOAD_A]) &&
           simt_items_share_a(&block);
}

static bool b_suits_items(const struct problem *p, const struct context *context,
                          const int32_t *values)
{
    const struct simt_block block = block_of(p, values, LOAD_B + 1);

    return load_suits(simt_b_has_quads(p), b_is_by_term(p), context, values[LOAD_B]) &&
           simt_items_share_b(&block);
}

/* One of the operands at least is to be copied, and none to come term by term for nothing. */
static bool async_suits_target(const struct problem *p, const struct context *context,
                               const int32_t *values)
{
    bool a_by_term = a_is_by_term(p, values), b_by_term = b_is_by_term(p);

    if (!values[ASYNC])
        return (values[LOAD_A] == 4 || !a_by_term || !simt_a_has_quads(p)) &&
               (values[LOAD_B] == 4 || !b_by_term || !simt_b_has_quads(p));
    return context->target->vendor == VENDOR_NVIDIA &&
           atoi(context->target->arch + strlen("sm_")) >= 80 &&
           !(a_by_term && values[LOAD_A] == 4 && b_by_term && values[LOAD_B] == 4);
}

static bool stages_fit_local_memory(const struct problem *p, const struct context *context,
                                    const int32_t *values)
{
    const struct simt_block block = block_of(p, values, STAGES + 1);

    return (values[STAGES] == 2 || values[ASYNC]) &&
           simt_fits_local_memory(&block, context->target->local_bytes);
}

/* W alone has parts: where there are too few workgroups for the units, and terms enough. */
static bool splits_suit_target(const struct problem *p, const struct context *context,
                               const int32_t *values)
{
    const struct tile_product product = simt_product_sizes(p);

    return values[SPLITS] == 1 ||
           (tile_may_split(&product, context, values[SPLITS], values[BLOCK_K]) &&
            workgroups_of(&product, values) * items_of(values) * values[SPLITS] <=
                ITEMS_A_UNIT * context->target->compute_units);
}

static const struct space_constraint constraints[] = {
    {"items_suit_target", "workgroup size", TILE_COLUMNS + 1, items_suit_target},
    {"sums_fit_registers", "registers", TILE_COLUMNS + 1, sums_fit_registers},
    {"block_suits_sizes", "arithmetic", TILE_COLUMNS + 1, block_suits_sizes},
    {"blocks_fit_grid", "work-items of a launch", TILE_COLUMNS + 1, blocks_fit_grid},
    {"terms_suit_block", "registers", BLOCK_K + 1, terms_suit_block},
    {"a_suits_items", "alignment", LOAD_A + 1, a_suits_items},
    {"b_suits_items", "alignment", LOAD_B + 1, b_suits_items},
    {"async_suits_target", "copy units", ASYNC + 1, async_suits_target},
    {"stages_fit_local_memory", "local memory", STAGES + 1, stages_fit_local_memory},
    {"splits_suit_target", "compute units", SPLITS + 1, splits_suit_target},
};

static const struct space space = {PARAM_COUNT, params, G_N_ELEMENTS(constraints), constraints};

/* ---- what it serves ---- */

static bool tensors_are_served(const struct problem *p, const char **reason)
{
    for (int t = 0; t < TENSOR_COUNT; t++) {
        *reason = "needs FP32 tensors";
        if (p->type[t] != TYPE_FP32)
            return false;
        *reason = "needs two dimensions, and NCHW or NHWC for all tensors";
        if (p->spatial_dim != 2 || p->layout[t] != p->layout[TENSOR_X] ||
            (p->layout[t] != LAYOUT_NCHW && p->layout[t] != LAYOUT_NHWC))
            return false;
    }
    return true;
}

static bool conv_simt_is_applicable(const struct problem *p, const struct context *context,
                                    const char **reason)
{
    const int32_t least[PARAM_COUNT] = {LEAST_ROWS, LEAST_COLUMNS, 4, 8};

    *reason = "needs a GPU";
    if (context_is_cpu(context) || !conv_is_plain(p, reason) || !tensors_are_served(p, reason) ||
        !conv_counts_fit_32_bits(p, reason))
        return false;
    *reason = "needs tensors of fewer than 2^31 elements";
    for (int t = 0; t < TENSOR_COUNT; t++) {
        if (problem_tensor_elements(p, (enum tensor_role)t) > ELEMENTS_MOST)
            return false;
    }
    *reason = "needs fewer channels, groups and strides: a grid's axes are short";
    return simt_product_sizes(p).layers <= GRID_MOST && blocks_fit_grid(p, context, least);
}

/* ---- the default ---- */

/* How much of a block's work counts: what is there of it, and how evenly units get such blocks; smaller
 * ones read more for a product. */
static double block_worth(const struct problem *p, const struct context *context,
                          const int32_t *values)
{
    const struct tile_product product = simt_product_sizes(p);
    int items = items_of(values);
    double workgroups = workgroups_of(&product, values);
    double at_once = (double)context->target->compute_units * (items <= 128 ? 4 : 2);
    double filled = p->direction == DIRECTION_W ? 1 : conv_used_part(workgroups, (int)at_once);
    double lines =
        values[BLOCK_M] * values[BLOCK_N] / (double)(values[BLOCK_M] + values[BLOCK_N]) / 64;

    return conv_used_part(product.m, values[BLOCK_M]) * conv_used_part(product.n, values[BLOCK_N]) *
           (workgroups < at_once ? filled : (1 + filled) / 2) * (0.7 + 0.3 * lines);
}

static void choose_block(const struct problem *p, const struct context *context, int32_t *values)
{
    /* The last two are for W of few rows and columns. */
    static const int32_t blocks[][BLOCK_K] = {{128, 128, 8, 8}, {64, 128, 8, 8}, {64, 64, 8, 8},
                                              {32, 128, 8, 8},  {64, 32, 8, 4},  {32, 64, 4, 8}};
    gsize count = G_N_ELEMENTS(blocks) - (p->direction == DIRECTION_W ? 0 : 2);
    double best = 0;
    int which = 0;

    for (gsize i = 0; i < count; i++) {
        double worth = block_worth(p, context, blocks[i]);
        if (blocks_fit_grid(p, context, blocks[i]) && worth > best) {
            best = worth;
            which = (int)i;
        }
    }
    memcpy(values, blocks[which], sizeof blocks[which]);
}

static void conv_simt_default_config(const struct problem *p, const struct context *context,
                                     struct perf_config *config)
{
    int32_t *values = config->values;

    config->count = PARAM_COUNT;
    choose_block(p, context, values);
    values[BLOCK_K] = 16;
    values[LOAD_A] = simt_a_has_quads(p) ? 4 : 1;
    values[LOAD_B] = simt_b_has_quads(p) ? 4 : 1;
    values[ASYNC] = 0;
    values[STAGES] = 2;
    values[SPLITS] = 1;
    for (int32_t splits = SPLITS_MOST; splits > 1 && values[SPLITS] == 1; splits /= 2) {
        values[SPLITS] = splits;
        if (!splits_suit_target(p, context, values))
            values[SPLITS] = 1;
    }
}

/* The most that any config has: now blocks of many sums an item leave the most to split, now those that
 * leave the fewest rows and columns empty. */
static uint64_t conv_simt_workspace_bytes(const struct problem *p, const struct context *context)
{
    int32_t splits = 1;

    if (p->direction != DIRECTION_W)
        return 0;
    for (int m = 0; m < params[BLOCK_M].count; m++) {
        for (int n = 0; n < params[BLOCK_N].count; n++) {
            int32_t block_m = params[BLOCK_M].values[m], block_n = params[BLOCK_N].values[n];
            int32_t tile = CLAMP(block_m * block_n / 512, 4, 16);
            int32_t values[PARAM_COUNT] = {block_m, block_n, 8, tile, 8, 1, 1, 0, 2, 2 * splits};
            while (splits < SPLITS_MOST && splits_suit_target(p, context, values)) {
                splits = values[SPLITS];
                values[SPLITS] *= 2;
            }
        }
    }
    return gemm_split_bytes(p, splits);
}

/* Beside ConvImplicitGemm's 34, which reads an element at a time. */
static double conv_simt_estimate(const struct problem *p, const struct context *context)
{
    const struct tile_product product = simt_product_sizes(p);
    struct perf_config config;

    conv_simt_default_config(p, context, &config);
    return 90.0 * conv_used_part(product.m, config.values[BLOCK_M]) *
           conv_used_part(product.n, config.values[BLOCK_N]);
}

/* ---- the launch ---- */

static void add_options(const struct problem *p, const int32_t *values, struct launch *launch)
{
    static const char *const directions[] = {[DIRECTION_F] = "DIRECTION_F",
                                             [DIRECTION_B] = "DIRECTION_B",
                                             [DIRECTION_W] = "DIRECTION_W"};

    const struct simt_block block = block_of(p, values, STAGES + 1);

    simt_add_options(&block, launch);
    launch_option_int(launch, "INNER_CHANNEL", simt_is_nhwc(p));
    launch_option_int(launch, directions[p->direction], 1);
    launch_sort_options(launch);
}

/* The strides n c h w; of w's parts those of a packed w of NCHW. */
static void add_strides(const struct problem *p, enum tensor_role role, bool is_split,
                        struct launch *launch)
{
    struct problem plain = *p;
    int64_t strides[5];

    if (is_split)
        plain.layout[role] = LAYOUT_NCHW;
    problem_packed_strides(&plain, role, strides);
    for (int axis = 0; axis < 5; axis++) {
        if (axis != 2)
            launch_arg_int32(launch, strides[axis]);
    }
}

/* Elements from a group's operands to the next one's, a b c, and of one place. */
static void add_groups(const struct problem *p, struct launch *launch)
{
    int64_t x[5], w[5], y[5], c = p->c / p->groups, k = p->k / p->groups;

    problem_packed_strides(p, TENSOR_X, x);
    problem_packed_strides(p, TENSOR_W, w);
    problem_packed_strides(p, TENSOR_Y, y);
    const int64_t groups[DIRECTION_COUNT][3] = {
        [DIRECTION_F] = {k * w[0], c * x[1], k * y[1]},
        [DIRECTION_B] = {k * w[0], k * y[1], c * x[1]},
        [DIRECTION_W] = {k * y[1], c * x[1], k * w[0]},
    };
    for (int i = 0; i < 3; i++)
        launch_arg_int64(launch, groups[p->direction][i]);
    for (int i = 0; i < 3; i++)
        launch_arg_int64(launch, 0);
    launch_arg_int32(launch, 1);
}

static void add_arguments(const struct problem *p, const int32_t *values, int64_t part_terms,
                          bool is_split, struct launch *launch)
{
    static const enum tensor_role operands[][3] = {
        [DIRECTION_F] = {TENSOR_W, TENSOR_X, TENSOR_Y},
        [DIRECTION_B] = {TENSOR_W, TENSOR_Y, TENSOR_X},
        [DIRECTION_W] = {TENSOR_Y, TENSOR_X, TENSOR_W},
    };
    const enum tensor_role *roles = operands[p->direction];
    const struct tile_product product = simt_product_sizes(p);

    launch_arg_tensor(launch, roles[0]);
    launch_arg_tensor(launch, roles[1]);
    if (is_split)
        launch_arg_workspace(launch, 0);
    else
        launch_arg_tensor(launch, roles[2]);
    add_strides(p, TENSOR_X, false, launch);
    add_strides(p, TENSOR_W, is_split, launch);
    add_strides(p, TENSOR_Y, false, launch);
    conv_add_shape_args(p, launch);
    add_groups(p, launch);
    launch_arg_int32(launch, conv_divide_up((int64_t)product.m, values[BLOCK_M]));
    launch_arg_int32(launch, part_terms);
    launch_arg_int64(launch, is_split ? (int64_t)(gemm_part_bytes(p) / sizeof(float)) : 0);
    launch_arg_int32(launch, simt_store_of(p, is_split));
}

static bool conv_simt_solve(const struct problem *p, const struct context *context,
                            const struct perf_config *config, struct solution *solution,
                            GError **error)
{
    const struct tile_product product = simt_product_sizes(p);
    const int32_t *values = config->values;
    const int64_t blocks = conv_divide_up((int64_t)product.k, values[BLOCK_K]);
    const int64_t part_blocks = conv_divide_up(blocks, values[SPLITS]);
    const int splits = (int)conv_divide_up(blocks, part_blocks);
    struct launch *launch = solution_add_launch(solution, "conv_simt.cl", "conv_simt");
    int items = items_of(values);

    (void)context;
    (void)error;
    add_options(p, values, launch);
    add_arguments(p, values, part_blocks * values[BLOCK_K], splits > 1, launch);
    launch_set_grid(
        launch,
        (const int64_t[3]){(int64_t)(workgroups_of(&product, values) / product.layers) * items, 1,
                           (int64_t)product.layers * splits},
        (const int[3]){items, 1, 1});
    if (splits > 1) {
        gemm_add_split_sum(p, 0, splits, solution);
        solution->workspace_bytes = gemm_split_bytes(p, splits);
    }
    solution->flops = 2 * conv_exact_macs(p);
    conv_set_compulsory_bytes(p, solution);
    return true;
}

const struct solver solver_conv_simt = {
    .provider = "skipjack",
    .name = "ConvSimt",
    .revision = 4,
    .algorithm = "ImplicitGEMM",
    .dynamic = true,
    .sources = sources,
    .is_applicable = conv_simt_is_applicable,
    .workspace_bytes = conv_simt_workspace_bytes,
    .estimate = conv_simt_estimate,
    .default_config = conv_simt_default_config,
    .space = &space,
    .solve = conv_simt_solve,
};
