/*
 * Convolutions on the matrix units of AMD's CDNA: MFMA, waves of 64 and sums in FP32 or INT32. What is
 * served stands in matrix_amd.h. gfx908, gfx90a and gfx942.
 */
#include "solvers/framework/solver_rows.h"
#include "solvers/matrix_amd/matrix_amd.h"

static const int32_t defaults[][MATRIX_AMD_PARAMS] = {
    {128, 128, 64, 64, 32, 0, 1, 1},
    {64, 64, 32, 64, 32, 0, 1, 1},
};

static bool is_applicable(const struct problem *p, const struct context *context,
                          const char **reason)
{
    struct matrix_amd_unit unit;

    *reason = "needs AMD's MFMA for the type (gfx908, gfx90a, gfx942)";
    return matrix_amd_find_unit(context->target, p->type[TENSOR_X], 32, &unit) &&
           matrix_amd_serves(p, reason);
}

static void default_config(const struct problem *p, const struct context *context,
                           struct perf_config *config)
{
    matrix_amd_default(p, context, defaults, G_N_ELEMENTS(defaults), config);
}

/* In FP32 the units do twice what the others do (ConvSimt: 90), in narrower types up to sixteen times. */
static double estimate(const struct problem *p, const struct context *context)
{
    struct perf_config config;

    default_config(p, context, &config);
    return (p->type[TENSOR_X] == TYPE_FP32 ? 120.0 : 200.0) * matrix_amd_used_part(p, &config);
}

const struct solver solver_conv_mfma = {
    .provider = "skipjack",
    .name = "ConvMfma",
    .revision = 4,
    .algorithm = "ImplicitGEMM",
    .dynamic = true,
    .native = true,
    .sources = matrix_amd_sources,
    .is_applicable = is_applicable,
    .workspace_bytes = matrix_amd_workspace_bytes,
    .estimate = estimate,
    .default_config = default_config,
    .space = &matrix_mfma_space,
    .solve = matrix_amd_solve,
};
