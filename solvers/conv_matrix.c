/*
 * Convolutions on a GPU's matrix units: products of 16 by 8 by 16 with FP32 sums. F, B and W of 2D,
 * all tensors packed, NHWC and of one type, FP16 or BF16; groups, stride, dilation, any padding;
 * channels of a group in eights. Dynamic. NVIDIA's GPUs from sm_80 on. W may split its long sums (SPLITS), whose
 * parts then lie in the workspace.
 */
#include <stdlib.h>
#include <string.h>

#include "solvers/conv_common.h"
#include "solvers/gemm.h"
#include "solvers/matrix_common.h"
#include "solvers/solver_rows.h"

enum { BLOCK_M, BLOCK_N, WARP_M, WARP_N, BLOCK_K, STAGES, SPLITS, PARAM_COUNT };

#define WARP_ITEMS           32
#define CHANNELS_A_LOAD      8 /* of 16 bytes */
#define MATRIX_ELEMENT_BYTES 2
/* Registers of an item beside its sums, and a unit's. */
#define REGISTERS_BESIDE     112
#define REGISTERS_UNIT       65536
/* A part has so many blocks of terms at the least. */
#define STEPS_A_PART         4
/* Workgroups that a unit gets at the least where terms can be split. */
#define WORKGROUPS_A_UNIT    2

static const char *const sources[] = {"conv_matrix.cl", "conv_sum_splits.cl", NULL};

static const struct space_param params[PARAM_COUNT] = {
    {"BLOCK_M", 3, (const int32_t[]){64, 128, 256}},
    {"BLOCK_N", 3, (const int32_t[]){64, 128, 256}},
    {"WARP_M", 2, (const int32_t[]){32, 64}},
    {"WARP_N", 2, (const int32_t[]){32, 64}},
    {"BLOCK_K", 2, (const int32_t[]){32, 64}},
    {"STAGES", 4, (const int32_t[]){2, 3, 4, 5}},
    {"SPLITS", 7, (const int32_t[]){1, 2, 4, 8, 16, 32, 64}},
};

/* ---- the product ---- */

static int warps_of(const int32_t *values)
{
    return values[BLOCK_M] / values[WARP_M] * (values[BLOCK_N] / values[WARP_N]);
}

/* Bytes of the blocks of terms that are under way, or of the sums on their way out. */
static int64_t local_bytes_of(const int32_t *values)
{
    int64_t stages = (int64_t)values[STAGES] * (values[BLOCK_M] + values[BLOCK_N]) *
                     values[BLOCK_K] * MATRIX_ELEMENT_BYTES;
    int64_t sums = (int64_t)values[BLOCK_M] * values[BLOCK_N] * MATRIX_ELEMENT_BYTES;

    return MAX(stages, sums);
}

/* ---- the space ---- */

static bool warps_suit_block(const struct problem *p, const struct context *context,
                             const int32_t *values)
{
    int warps = warps_of(values);

    (void)p;
    return values[WARP_M] <= values[BLOCK_M] && values[WARP_N] <= values[BLOCK_N] && warps >= 2 &&
           warps * WARP_ITEMS <= MIN(context->target->max_workgroup, 512);
}

static bool sums_fit_registers(const struct problem *p, const struct context *context,
                               const int32_t *values)
{
    int sums = values[WARP_M] * values[WARP_N] / WARP_ITEMS;

    (void)p;
    (void)context;
    return warps_of(values) * WARP_ITEMS * (sums + REGISTERS_BESIDE) <= REGISTERS_UNIT;
}

static bool items_share_loads(const struct problem *p, const struct context *context,
                              const int32_t *values)
{
    int items = warps_of(values) * WARP_ITEMS;
    int lines = values[BLOCK_K] / CHANNELS_A_LOAD;

    (void)p;
    (void)context;
    return values[BLOCK_M] * lines % items == 0 && values[BLOCK_N] * lines % items == 0;
}

static bool stages_fit_local_memory(const struct problem *p, const struct context *context,
                                    const int32_t *values)
{
    (void)p;
    return local_bytes_of(values) <= target_dynamic_local_bytes(context->target);
}

static bool block_suits_sizes(const struct problem *p, const struct context *context,
                              const int32_t *values)
{
    const struct matrix_product product = matrix_product_of(p);

    (void)context;
    return matrix_block_suits(p, values[BLOCK_M], values[BLOCK_N]) &&
           (values[BLOCK_K] == 32 || p->direction == DIRECTION_W ||
            values[BLOCK_K] <= product.terms / matrix_taps(p));
}

/* W alone has parts: where there are too few workgroups for the units, and terms enough. */
static bool splits_suit_target(const struct problem *p, const struct context *context,
                               const int32_t *values)
{
    const struct matrix_product product = matrix_product_of(p);
    int splits = values[SPLITS];

    if (splits == 1)
        return true;
    return p->direction == DIRECTION_W &&
           splits * STEPS_A_PART <= matrix_blocks(product.terms, values[BLOCK_K]) &&
           product.layers * splits <= MATRIX_GRID_MOST &&
           matrix_workgroups(p, values[BLOCK_M], values[BLOCK_N]) * splits <=
               2.0 * WORKGROUPS_A_UNIT * context->target->compute_units &&
           gemm_split_bytes(p, splits) <= context->workspace_limit;
}

static const struct space_constraint constraints[] = {
    {"warps_suit_block", "workgroup size", WARP_N + 1, warps_suit_block},
    {"sums_fit_registers", "registers", WARP_N + 1, sums_fit_registers},
    {"items_share_loads", "arithmetic", BLOCK_K + 1, items_share_loads},
    {"block_suits_sizes", "arithmetic", BLOCK_K + 1, block_suits_sizes},
    {"stages_fit_local_memory", "local memory", STAGES + 1, stages_fit_local_memory},
    {"splits_suit_target", "compute units", SPLITS + 1, splits_suit_target},
};

static const struct space space = {PARAM_COUNT, params, G_N_ELEMENTS(constraints), constraints};

/* ---- what it serves ---- */

static bool target_has_matrix_units(const struct target *t)
{
    return t->vendor == VENDOR_NVIDIA && atoi(t->arch + strlen("sm_")) >= 80;
}

static bool conv_matrix_is_applicable(const struct problem *p, const struct context *context,
                                      const char **reason)
{
    *reason = "needs matrix units that its kernel knows: NVIDIA's from sm_80 on";
    return target_has_matrix_units(context->target) && matrix_serves(p, reason);
}

static void conv_matrix_default_config(const struct problem *p, const struct context *context,
                                       struct perf_config *config)
{
    static const int32_t large[] = {128, 128, 64, 32, 32, 3, 1},
                         small[] = {64, 64, 32, 32, 32, 3, 1};
    int32_t *values = config->values;

    config->count = PARAM_COUNT;
    memcpy(values, large, sizeof large);
    if (!block_suits_sizes(p, context, values) ||
        (p->direction != DIRECTION_W &&
         matrix_workgroups(p, values[BLOCK_M], values[BLOCK_N]) < context->target->compute_units))
        memcpy(values, small, sizeof small);
    for (int32_t splits = 64; splits > 1 && values[SPLITS] == 1; splits /= 2) {
        values[SPLITS] = splits;
        if (!splits_suit_target(p, context, values))
            values[SPLITS] = 1;
    }
}

/* The most that any config has: the largest blocks leave the most to split. */
static uint64_t conv_matrix_workspace_bytes(const struct problem *p, const struct context *context)
{
    int32_t values[PARAM_COUNT] = {256, 256, 64, 64, 32, 2, 64};

    while (values[SPLITS] > 1 && !splits_suit_target(p, context, values))
        values[SPLITS] /= 2;
    return values[SPLITS] > 1 ? gemm_split_bytes(p, values[SPLITS]) : 0;
}

/* Matrix units do eight times what the others do, where blocks are filled. */
static double conv_matrix_estimate(const struct problem *p, const struct context *context)
{
    const struct matrix_product product = matrix_product_of(p);
    struct perf_config config;

    conv_matrix_default_config(p, context, &config);
    return 200.0 * conv_used_part(product.rows, config.values[BLOCK_M]) *
           conv_used_part(product.columns, config.values[BLOCK_N]);
}

/* ---- the launch ---- */

static void add_options(const struct problem *p, const int32_t *values, struct launch *launch)
{
    static const char *const directions[] = {[DIRECTION_F] = "DIRECTION_F",
                                             [DIRECTION_B] = "DIRECTION_B",
                                             [DIRECTION_W] = "DIRECTION_W"};

    for (int i = 0; i < SPLITS; i++)
        launch_option_int(launch, params[i].name, values[i]);
    launch_option_int(launch, "SPLIT", values[SPLITS] > 1);
    launch_option_int(launch, directions[p->direction], 1);
    launch_option_text(launch, "TYPE", data_type_name(p->type[TENSOR_X]));
    launch_sort_options(launch);
}

static void add_arguments(const struct problem *p, const int32_t *values, int64_t part_terms,
                          struct launch *launch)
{
    static const enum tensor_role operands[][3] = {
        [DIRECTION_F] = {TENSOR_X, TENSOR_W, TENSOR_Y},
        [DIRECTION_B] = {TENSOR_Y, TENSOR_W, TENSOR_X},
        [DIRECTION_W] = {TENSOR_Y, TENSOR_X, TENSOR_W},
    };
    const enum tensor_role *roles = operands[p->direction];

    launch_arg_tensor(launch, roles[0]);
    launch_arg_tensor(launch, roles[1]);
    if (values[SPLITS] > 1)
        launch_arg_workspace(launch, 0);
    else
        launch_arg_tensor(launch, roles[2]);
    matrix_add_shape(p, launch);
    launch_arg_int32(launch, values[SPLITS]);
    launch_arg_int32(launch, part_terms);
}

static void set_grid(const struct problem *p, const int32_t *values, struct launch *launch)
{
    const struct matrix_product product = matrix_product_of(p);
    const int items = warps_of(values) * WARP_ITEMS;
    const int64_t grid[] = {(int64_t)matrix_blocks(product.rows, values[BLOCK_M]) * items,
                            (int64_t)matrix_blocks(product.columns, values[BLOCK_N]),
                            (int64_t)product.layers * values[SPLITS]};
    const int block[] = {items, 1, 1};

    launch_set_grid(launch, grid, block);
    launch->local_bytes = local_bytes_of(values);
}

static bool conv_matrix_solve(const struct problem *p, const struct context *context,
                              const struct perf_config *config, struct solution *solution,
                              GError **error)
{
    const struct matrix_product product = matrix_product_of(p);
    const int32_t *values = config->values;
    struct launch *launch = solution_add_launch(solution, "conv_matrix.cl", "conv_matrix");
    double steps = matrix_blocks(product.terms, values[BLOCK_K]);

    (void)context;
    (void)error;
    add_options(p, values, launch);
    add_arguments(p, values, (int64_t)matrix_blocks(steps, values[SPLITS]) * values[BLOCK_K],
                  launch);
    set_grid(p, values, launch);
    if (values[SPLITS] > 1) {
        gemm_add_split_sum(p, 0, values[SPLITS], solution);
        solution->workspace_bytes = gemm_split_bytes(p, values[SPLITS]);
    }
    solution->flops = 2 * conv_exact_macs(p);
    conv_set_compulsory_bytes(p, solution);
    return true;
}

const struct solver solver_conv_matrix = {
    .provider = "skipjack",
    .name = "ConvMatrix",
    .revision = 1,
    .algorithm = "ImplicitGEMM",
    .dynamic = true,
    .native = true,
    .sources = sources,
    .is_applicable = conv_matrix_is_applicable,
    .workspace_bytes = conv_matrix_workspace_bytes,
    .estimate = conv_matrix_estimate,
    .default_config = conv_matrix_default_config,
    .space = &space,
    .solve = conv_matrix_solve,
};
