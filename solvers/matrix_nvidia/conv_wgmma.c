/*
 * Convolutions on Hopper's matrix units by wgmma instructions, which read operands from local memory and run
 * while work-items load the next block. F, B and W in two and three dimensions, tensors packed or strided, channels or
 * positions innermost, FP16 or BF16; F also INT8 with an INT32 result, and FP8 and BF8 in any mixture to any floating type
 * but FP64, F and B also FP32 where the problem permits TF32
 * (B's filter is then copied with k innermost); groups, stride, dilation, any padding.
 * Dynamic. sm_90 only. Tensors that are not NHWC or NDHWC with the channels of a group in chunks of 16 bytes are
 * copied first. Terms may be split into parts (SPLITS), whose sums are added up from the workspace.
 * Epilogues: all, with a residual of the output's layout. An INT8 product then has any output but FP64.
 */
#include "solvers/common/conv_common.h"
#include "solvers/common/matrix_sum.h"
#include "solvers/framework/solver_rows.h"
#include "solvers/matrix_nvidia/matrix_common.h"

enum { BLOCK_M, BLOCK_N, STAGES, NEAR, SPLITS, PARAM_COUNT };

#define BLOCK_K          64 /* terms of a block of terms: a line of 128 bytes */
#define ITEMS_A_GROUP    128
#define ROWS_A_GROUP     64
#define REGISTERS_UNIT   65536
#define REGISTERS_MOST   255
/* Registers of a work-item beside its sums. FP8 and BF8 have twice the sums: a block's own and those of all blocks. */
#define REGISTERS_BESIDE 64
#define STAGES_LEAST     3

static const char *const sources[] = {"conv_wgmma.cl", "conv_matrix_sum.cl", "conv_transpose.cl",
                                      "conv_transpose_blocks.cl", NULL};

static const struct space_param params[PARAM_COUNT] = {
    {"BLOCK_M", 3, (const int32_t[]){64, 128, 256}},
    {"BLOCK_N", 4, (const int32_t[]){64, 128, 192, 256}},
    {"STAGES", 4, (const int32_t[]){STAGES_LEAST, 4, 5, 6}},
    {"NEAR", 2, (const int32_t[]){0, 1}},
    {"SPLITS", MATRIX_SPLITS_VALUES},
};

/* ---- the space ---- */

static struct matrix_blocks blocks_of(const int32_t *values)
{
    return (struct matrix_blocks){values[BLOCK_M], values[BLOCK_N], BLOCK_K, values[SPLITS],
                                  MATRIX_WGMMA};
}

static int items_of(const int32_t *values)
{
    return values[BLOCK_M] / ROWS_A_GROUP * ITEMS_A_GROUP;
}

/* Bytes of local memory: in W tables of positions, then the blocks of terms; or the sums before they are stored. */
static int64_t local_bytes_of(const struct problem *p, const int32_t *values)
{
    const struct matrix_blocks blocks = blocks_of(values);
    int64_t places = p->direction == DIRECTION_W ? 2 * BLOCK_K * MATRIX_PLACE_BYTES : 0;
    int64_t stages = (int64_t)MIN(values[STAGES], matrix_steps(p, &blocks)) *
                     (values[BLOCK_M] + values[BLOCK_N]) * BLOCK_K * MATRIX_ELEMENT_BYTES;
    int64_t sums = (int64_t)values[BLOCK_M] * values[BLOCK_N] * MATRIX_ELEMENT_BYTES;

    return MAX(places + stages, sums);
}

/* NEAR (keeping loads in the multiprocessor's cache) is valid only for filters of several positions: with one
 * position nothing is read twice. */
static bool near_suits_filter(const struct problem *p, const struct context *context,
                              const int32_t *values)
{
    (void)context;
    return values[NEAR] == 0 || p->fil[AXIS_D] * p->fil[AXIS_H] * p->fil[AXIS_W] > 1;
}

static bool sums_fit_registers(const struct problem *p, const struct context *context,
                               const int32_t *values)
{
    int sums = values[BLOCK_N] * ROWS_A_GROUP / ITEMS_A_GROUP;
    int registers = REGISTERS_BESIDE + (conv_is_float8(p) ? 2 * sums : sums);

    (void)context;
    return registers <= REGISTERS_MOST && items_of(values) * registers <= REGISTERS_UNIT;
}

static bool block_suits_sizes(const struct problem *p, const struct context *context,
                              const int32_t *values)
{
    const struct matrix_blocks blocks = {values[BLOCK_M], values[BLOCK_N], BLOCK_K, 1,
                                         MATRIX_WGMMA};

    (void)context;
    return matrix_block_suits(p, &blocks);
}

MATRIX_STAGE_CONSTRAINTS(STAGES_LEAST)

static const struct space_constraint constraints[] = {
    {"sums_fit_registers", "registers", BLOCK_N + 1, sums_fit_registers},
    {"block_suits_sizes", "arithmetic", BLOCK_N + 1, block_suits_sizes},
    {"near_suits_filter", "arithmetic", NEAR + 1, near_suits_filter},
    {"splits_suit_target", "compute units", SPLITS + 1, splits_suit_target},
    {"stages_suit_terms", "arithmetic", SPLITS + 1, stages_suit_terms},
    {"stages_fit_local_memory", "local memory", SPLITS + 1, stages_fit_local_memory},
};

static const struct space space = {PARAM_COUNT, params, G_N_ELEMENTS(constraints), constraints};

/* ---- what it serves ---- */

static bool is_applicable(const struct problem *p, const struct context *context,
                          const char **reason)
{
    *reason = "needs Hopper's matrix units (sm_90)";
    if (target_compute_capability(context->target) != 90)
        return false;
    return matrix_serves(p, context, MATRIX_WGMMA, reason);
}

/* Sets the default: the block with the fewest estimated cycles. The smallest block is tried first, because it is
 * valid for every problem. */
static void default_config(const struct problem *p, const struct context *context,
                           struct perf_config *config)
{
    static const int32_t candidates[][2] = {{64, 64},   {64, 128},  {128, 64}, {64, 256},
                                            {128, 128}, {128, 192}, {128, 256}};
    struct matrix_blocks best = {64, 64, BLOCK_K, 1, MATRIX_WGMMA};
    double least = G_MAXDOUBLE;

    for (size_t i = 0; i < G_N_ELEMENTS(candidates); i++) {
        const struct matrix_blocks candidate = {candidates[i][0], candidates[i][1], BLOCK_K, 1,
                                                MATRIX_WGMMA};
        if (sums_fit_registers(p, context, candidates[i]))
            matrix_choose(p, context, &candidate, &best, &least);
    }
    config->count = PARAM_COUNT;
    config->values[BLOCK_M] = best.m;
    config->values[BLOCK_N] = best.n;
    config->values[STAGES] = 4;
    config->values[NEAR] = 0;
    config->values[SPLITS] = best.splits;
    if (!stages_suit_terms(p, context, config->values))
        config->values[STAGES] = STAGES_LEAST;
}

static uint64_t workspace_bytes(const struct problem *p, const struct context *context)
{
    static const struct matrix_blocks largest = {256, 256, BLOCK_K, 1, MATRIX_WGMMA};

    return matrix_workspace_bytes(p, context, &largest);
}

/* The estimate is relative to ConvMatrix, whose instructions are half as fast. TF32 is half as fast as FP16. */
static double estimate(const struct problem *p, const struct context *context)
{
    struct perf_config config;
    struct matrix_blocks blocks;

    default_config(p, context, &config);
    blocks = blocks_of(config.values);
    return (problem_is_tf32(p) ? 150.0 : 300.0) * matrix_used_part(p, &blocks);
}

static bool solve(const struct problem *p, const struct context *context,
                  const struct perf_config *config, struct solution *solution, GError **error)
{
    const struct matrix_blocks blocks = blocks_of(config->values);
    struct launch *launch = solution_add_launch(solution, "conv_wgmma.cl", "conv_wgmma");

    (void)context;
    (void)error;
    for (int i = 0; i < SPLITS; i++)
        launch_option_int(launch, params[i].name, config->values[i]);
    launch->local_bytes = local_bytes_of(p, config->values);
    matrix_finish_launch(p, &blocks, items_of(config->values), launch);
    matrix_finish_solution(p, &blocks, solution);
    return true;
}

const struct solver solver_conv_wgmma = {
    .provider = "skipjack",
    .name = "ConvWgmma",
    .revision = 9,
    .algorithm = "ImplicitGEMM",
    .own_strides = true,
    .epilogues = EPILOGUE_DOES_ALL,
    .dynamic = true,
    .native = true,
    .sources = sources,
    .is_applicable = is_applicable,
    .workspace_bytes = workspace_bytes,
    .estimate = estimate,
    .default_config = default_config,
    .space = &space,
    .solve = solve,
};
