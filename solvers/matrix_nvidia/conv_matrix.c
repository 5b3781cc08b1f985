/*
 * Convolutions on NVIDIA's matrix units by mma instructions: products of 16 by 8 by 16 (types of 8 bits: 32, TF32: 8) with
 * FP32 (INT32) sums. F, B and W in two and three dimensions, tensors packed or strided, channels or positions innermost, FP16
 * or BF16, and FP32 where the problem permits TF32; F also INT8 with an INT32 result, and FP8 and BF8 in any mixture to any
 * floating type but FP64; groups, stride, dilation, any padding. Dynamic. sm_80 and later; FP8 and BF8: sm_89 and later,
 * where instructions multiply these types on sm_89 and sm_120, and FP16's on sm_90 and sm_100.
 * Tensors that are not NHWC or NDHWC with the channels of a group in chunks of 16 bytes are copied first. Terms may
 * be split into parts (SPLITS), whose sums are added up from the workspace.
 * Epilogues: all, with a residual of the output's layout. An INT8 product then has any output but FP64.
 */
#include <string.h>

#include "solvers/common/conv_common.h"
#include "solvers/common/matrix_sum.h"
#include "solvers/framework/solver_rows.h"
#include "solvers/matrix_nvidia/matrix_common.h"

enum { BLOCK_M, BLOCK_N, WARP_M, WARP_N, BLOCK_K, STAGES, SPLITS, PARAM_COUNT };

#define ELEMENTS_A_LOAD  8 /* 16 bytes */
#define WARP_ITEMS       32
/* Registers: of a work-item beside its sums; more of them for FP8 and BF8, which are FP16 in registers on targets that have no
 * instructions for them; the most of a work-item, and of a multiprocessor. */
#define REGISTERS_BESIDE 112
#define REGISTERS_FLOAT8 32
#define REGISTERS_MOST   255
#define REGISTERS_UNIT   65536
static const char *const sources[] = {"conv_matrix.cl", "conv_matrix_sum.cl", "conv_transpose.cl",
                                      "conv_transpose_blocks.cl", NULL};

static const struct space_param params[PARAM_COUNT] = {
    {"BLOCK_M", 3, (const int32_t[]){64, 128, 256}},
    {"BLOCK_N", 3, (const int32_t[]){64, 128, 256}},
    {"WARP_M", 2, (const int32_t[]){32, 64}},
    {"WARP_N", 2, (const int32_t[]){32, 64}},
    {"BLOCK_K", 2, (const int32_t[]){32, 64}},
    {"STAGES", 4, (const int32_t[]){2, 3, 4, 5}},
    {"SPLITS", MATRIX_SPLITS_VALUES},
};

/* ---- the product ---- */

static int warps_of(const int32_t *values)
{
    return values[BLOCK_M] / values[WARP_M] * (values[BLOCK_N] / values[WARP_N]);
}

static struct matrix_blocks blocks_of(const int32_t *values)
{
    return (struct matrix_blocks){values[BLOCK_M], values[BLOCK_N], values[BLOCK_K], values[SPLITS],
                                  MATRIX_MMA};
}

/* Bytes of local memory: in W tables of positions, then the blocks of terms in flight; or the sums before they are
 * stored. */
static int64_t local_bytes_of(const struct problem *p, const int32_t *values)
{
    const struct matrix_blocks blocks = blocks_of(values);
    int64_t terms = values[BLOCK_K] / matrix_number_elements(p);
    int64_t places = p->direction == DIRECTION_W ? 2 * terms * MATRIX_PLACE_BYTES : 0;
    int64_t stages = (int64_t)MIN(values[STAGES], matrix_steps(p, &blocks)) *
                     (values[BLOCK_M] + values[BLOCK_N]) * values[BLOCK_K] * MATRIX_ELEMENT_BYTES;
    int64_t sums = (int64_t)values[BLOCK_M] * values[BLOCK_N] * MATRIX_ELEMENT_BYTES;

    return MAX(places + stages, sums);
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
    int registers = sums + REGISTERS_BESIDE + (conv_is_float8(p) ? REGISTERS_FLOAT8 : 0);

    (void)context;
    return registers <= REGISTERS_MOST &&
           warps_of(values) * WARP_ITEMS * registers <= REGISTERS_UNIT;
}

static bool items_share_loads(const struct problem *p, const struct context *context,
                              const int32_t *values)
{
    int items = warps_of(values) * WARP_ITEMS;
    int lines = values[BLOCK_K] / ELEMENTS_A_LOAD;

    (void)p;
    (void)context;
    return values[BLOCK_M] * lines % items == 0 && values[BLOCK_N] * lines % items == 0;
}

static bool block_suits_sizes(const struct problem *p, const struct context *context,
                              const int32_t *values)
{
    const struct matrix_blocks blocks = {values[BLOCK_M], values[BLOCK_N], values[BLOCK_K], 1,
                                         MATRIX_MMA};

    (void)context;
    return matrix_block_suits(p, &blocks) &&
           (values[BLOCK_K] == 32 || p->direction != DIRECTION_B ||
            values[BLOCK_K] <= matrix_elements_of(p, p->k / p->groups));
}

MATRIX_STAGE_CONSTRAINTS(2)

static const struct space_constraint constraints[] = {
    {"warps_suit_block", "workgroup size", WARP_N + 1, warps_suit_block},
    {"sums_fit_registers", "registers", WARP_N + 1, sums_fit_registers},
    {"items_share_loads", "arithmetic", BLOCK_K + 1, items_share_loads},
    {"block_suits_sizes", "arithmetic", BLOCK_K + 1, block_suits_sizes},
    {"splits_suit_target", "compute units", SPLITS + 1, splits_suit_target},
    {"stages_suit_terms", "arithmetic", SPLITS + 1, stages_suit_terms},
    {"stages_fit_local_memory", "local memory", SPLITS + 1, stages_fit_local_memory},
};

static const struct space space = {PARAM_COUNT, params, G_N_ELEMENTS(constraints), constraints};

/* ---- what it serves ---- */

static bool conv_matrix_is_applicable(const struct problem *p, const struct context *context,
                                      const char **reason)
{
    bool is_float8 = conv_is_float8(p);

    *reason = is_float8 ? "needs NVIDIA's matrix units for FP8 and BF8, sm_89 or later"
                        : "needs NVIDIA's matrix units, sm_80 or later";
    return target_compute_capability(context->target) >= (is_float8 ? 89 : 80) &&
           matrix_serves(p, context, MATRIX_MMA, reason);
}

static void conv_matrix_default_config(const struct problem *p, const struct context *context,
                                       struct perf_config *config)
{
    static const int32_t large[] = {128, 128, 64, 32, 32, 3, 1},
                         small[] = {64, 64, 32, 32, 32, 3, 1};
    struct matrix_blocks blocks = blocks_of(large);
    bool is_large = matrix_block_suits(p, &blocks) &&
                    (p->direction == DIRECTION_W ||
                     matrix_workgroups(p, &blocks) >= context->target->compute_units);

    config->count = PARAM_COUNT;
    memcpy(config->values, is_large ? large : small, sizeof large);
    blocks = blocks_of(config->values);
    config->values[SPLITS] = matrix_default_splits(p, context, &blocks);
    if (!stages_suit_terms(p, context, config->values))
        config->values[STAGES] = 2;
}

static uint64_t conv_matrix_workspace_bytes(const struct problem *p, const struct context *context)
{
    static const struct matrix_blocks largest = {256, 256, 32, 1, MATRIX_MMA};

    return matrix_workspace_bytes(p, context, &largest);
}

/* In full blocks matrix units are eight times as fast as vector units. In TF32 they are half as fast as in FP16, which is
 * still faster than Winograd's 120 on vector units. */
static double conv_matrix_estimate(const struct problem *p, const struct context *context)
{
    struct perf_config config;
    struct matrix_blocks blocks;

    conv_matrix_default_config(p, context, &config);
    blocks = blocks_of(config.values);
    return (problem_is_tf32(p) ? 130.0 : 200.0) * matrix_used_part(p, &blocks);
}

/* ---- the launch ---- */

static bool conv_matrix_solve(const struct problem *p, const struct context *context,
                              const struct perf_config *config, struct solution *solution,
                              GError **error)
{
    const struct matrix_blocks blocks = blocks_of(config->values);
    struct launch *launch = solution_add_launch(solution, "conv_matrix.cl", "conv_matrix");

    (void)context;
    (void)error;
    for (int i = 0; i < SPLITS; i++)
        launch_option_int(launch, params[i].name, config->values[i]);
    launch->local_bytes = local_bytes_of(p, config->values);
    matrix_finish_launch(p, &blocks, warps_of(config->values) * WARP_ITEMS, launch);
    matrix_finish_solution(p, &blocks, solution);
    return true;
}

const struct solver solver_conv_matrix = {
    .provider = "skipjack",
    .name = "ConvMatrix",
    .revision = 7,
    .algorithm = "ImplicitGEMM",
    .own_strides = true,
    .epilogues = EPILOGUE_DOES_ALL,
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
