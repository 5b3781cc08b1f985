/*
 * Convolutions on the matrix units of AMD's RDNA 3 and 4: WMMA, waves of 32, 16 by 16 by 16. What is
 * served stands in matrix_amd.h, but for FP32. gfx1100 and gfx1200 with their kin.
 */
#include "solvers/framework/solver_rows.h"
#include "solvers/matrix_amd/matrix_amd.h"

static const int32_t defaults[][MATRIX_AMD_PARAMS] = {
    {128, 128, 64, 32, 16, 0, 1, 1},
    {64, 64, 32, 32, 16, 0, 1, 1},
};

static bool is_applicable(const struct problem *p, const struct context *context,
                          const char **reason)
{
    struct matrix_amd_unit unit;

    *reason = "needs AMD's WMMA for the type (gfx110x, gfx120x; FP16, BF16, INT8)";
    return matrix_amd_find_unit(context->target, p->type[TENSOR_X], 16, &unit) && unit.wmma != 0 &&
           matrix_amd_serves(p, reason);
}

static void default_config(const struct problem *p, const struct context *context,
                           struct perf_config *config)
{
    matrix_amd_default(p, context, defaults, G_N_ELEMENTS(defaults), config);
}

/* The units do up to eight times what the others do. */
static double estimate(const struct problem *p, const struct context *context)
{
    struct perf_config config;

    default_config(p, context, &config);
    return 150.0 * matrix_amd_used_part(p, &config);
}

const struct solver solver_conv_wmma = {
    .provider = "skipjack",
    .name = "ConvWmma",
    .revision = 4,
    .algorithm = "ImplicitGEMM",
    .dynamic = true,
    .native = true,
    .sources = matrix_amd_sources,
    .is_applicable = is_applicable,
    .workspace_bytes = matrix_amd_workspace_bytes,
    .estimate = estimate,
    .default_config = default_config,
    .space = &matrix_wmma_space,
    .solve = matrix_amd_solve,
};
