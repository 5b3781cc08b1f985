/*
 * Convolutions forward on Hopper's matrix units, which read their operands from local memory and work
 * beside the loads (wgmma): 2D, all tensors packed, NHWC and of one type, FP16 or BF16; groups, stride,
 * dilation, any padding; channels of a group in eights. Dynamic. NVIDIA's sm_90 alone.
 */
#include <string.h>

#include "solvers/conv_common.h"
#include "solvers/matrix_common.h"
#include "solvers/solver_rows.h"

enum { BLOCK_M, BLOCK_N, STAGES, PARAM_COUNT };

#define BLOCK_K          64 /* a line of 128 bytes */
#define ITEMS_A_GROUP    128
#define ROWS_A_GROUP     64
#define REGISTERS_UNIT   65536
#define REGISTERS_BESIDE 64 /* of an item, its sums aside */

static const char *const sources[] = {"conv_wgmma.cl", NULL};

static const struct space_param params[PARAM_COUNT] = {
    {"BLOCK_M", 3, (const int32_t[]){64, 128, 256}},
    {"BLOCK_N", 3, (const int32_t[]){64, 128, 256}},
    {"STAGES", 4, (const int32_t[]){3, 4, 5, 6}},
};

/* ---- the space ---- */

static int items_of(const int32_t *values)
{
    return values[BLOCK_M] / ROWS_A_GROUP * ITEMS_A_GROUP;
}

/* Bytes of the blocks of terms that are there, or of the sums on their way out. */
static int64_t local_bytes_of(const int32_t *values)
{
    int64_t stages = (int64_t)values[STAGES] * (values[BLOCK_M] + values[BLOCK_N]) * BLOCK_K *
                     MATRIX_ELEMENT_BYTES;
    int64_t sums = (int64_t)values[BLOCK_M] * values[BLOCK_N] * MATRIX_ELEMENT_BYTES;

    return MAX(stages, sums);
}

static bool sums_fit_registers(const struct problem *p, const struct context *context,
                               const int32_t *values)
{
    int sums = values[BLOCK_N] * ROWS_A_GROUP / ITEMS_A_GROUP;

    (void)p;
    (void)context;
    return items_of(values) * (sums + REGISTERS_BESIDE) <= REGISTERS_UNIT;
}

static bool block_suits_sizes(const struct problem *p, const struct context *context,
                              const int32_t *values)
{
    (void)context;
    return matrix_block_suits(p, values[BLOCK_M], values[BLOCK_N]);
}

static bool stages_fit_local_memory(const struct problem *p, const struct context *context,
                                    const int32_t *values)
{
    (void)p;
    return local_bytes_of(values) <= target_dynamic_local_bytes(context->target);
}

static const struct space_constraint constraints[] = {
    {"sums_fit_registers", "registers", BLOCK_N + 1, sums_fit_registers},
    {"block_suits_sizes", "arithmetic", BLOCK_N + 1, block_suits_sizes},
    {"stages_fit_local_memory", "local memory", STAGES + 1, stages_fit_local_memory},
};

static const struct space space = {PARAM_COUNT, params, G_N_ELEMENTS(constraints), constraints};

/* ---- what it serves ---- */

static bool is_applicable(const struct problem *p, const struct context *context,
                          const char **reason)
{
    *reason = "needs Hopper's matrix units (sm_90)";
    if (strcmp(context->target->arch, "sm_90") != 0 && strcmp(context->target->arch, "sm_90a") != 0)
        return false;
    *reason = "needs the direction F";
    return p->direction == DIRECTION_F && matrix_serves(p, reason);
}

static void default_config(const struct problem *p, const struct context *context,
                           struct perf_config *config)
{
    static const int32_t large[] = {128, 128, 4}, small[] = {64, 64, 4};
    bool fills =
        matrix_workgroups(p, large[BLOCK_M], large[BLOCK_N]) >= context->target->compute_units;

    config->count = PARAM_COUNT;
    memcpy(config->values,
           fills && matrix_block_suits(p, large[BLOCK_M], large[BLOCK_N]) ? large : small,
           sizeof large);
}

/* Beside ConvMatrix, whose units do half as much in the same time. */
static double estimate(const struct problem *p, const struct context *context)
{
    const struct matrix_product product = matrix_product_of(p);
    struct perf_config config;

    default_config(p, context, &config);
    return 300.0 * conv_used_part(product.rows, config.values[BLOCK_M]) *
           conv_used_part(product.columns, config.values[BLOCK_N]);
}

static bool solve(const struct problem *p, const struct context *context,
                  const struct perf_config *config, struct solution *solution, GError **error)
{
    const struct matrix_product product = matrix_product_of(p);
    const int32_t *values = config->values;
    struct launch *launch = solution_add_launch(solution, "conv_wgmma.cl", "conv_wgmma");
    const int block[] = {items_of(values), 1, 1};
    const int64_t grid[] = {
        conv_divide_up((int64_t)product.rows, values[BLOCK_M]) * items_of(values),
        conv_divide_up((int64_t)product.columns, values[BLOCK_N]), (int64_t)product.layers};

    (void)context;
    (void)error;
    for (int i = 0; i < PARAM_COUNT; i++)
        launch_option_int(launch, params[i].name, values[i]);
    launch_option_text(launch, "TYPE", data_type_name(p->type[TENSOR_X]));
    launch_sort_options(launch);
    conv_add_tensor_args(launch);
    matrix_add_shape(p, launch);
    launch_set_grid(launch, grid, block);
    launch->local_bytes = local_bytes_of(values);
    solution->flops = 2 * conv_exact_macs(p);
    conv_set_compulsory_bytes(p, solution);
    return true;
}

const struct solver solver_conv_wgmma = {
    .provider = "skipjack",
    .name = "ConvWgmma",
    .revision = 1,
    .algorithm = "ImplicitGEMM",
    .dynamic = true,
    .native = true,
    .sources = sources,
    .is_applicable = is_applicable,
    .estimate = estimate,
    .default_config = default_config,
    .space = &space,
    .solve = solve,
};
