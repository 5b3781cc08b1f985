/*
 * The implicit matrix product, dynamic: one binary a config, type, layout and direction serves all
 * shapes. What it covers is in conv_implicit_gemm_common.h: F, B and W of every kind.
 */
#include "solvers/framework/solver_rows.h"
#include "solvers/implicit_gemm/conv_implicit_gemm_common.h"

static const struct space_param params[] = {IMPLICIT_GEMM_PARAMS};
static const struct space_constraint constraints[] = {IMPLICIT_GEMM_CONSTRAINTS};
static const struct space space = {G_N_ELEMENTS(params), params, G_N_ELEMENTS(constraints),
                                   constraints};

static bool solve(const struct problem *p, const struct context *context,
                  const struct perf_config *config, struct solution *solution, GError **error)
{
    (void)error;
    implicit_gemm_solve(p, context, config, FIX_NOTHING, solution);
    return true;
}

/* Revisions 1 and 2 were another kernel's of this name. */
const struct solver solver_conv_implicit_gemm = {
    .provider = "skipjack",
    .name = "ConvImplicitGemm",
    .revision = 4,
    .algorithm = "ImplicitGEMM",
    .dynamic = true,
    .any_strides = true,
    .sources = implicit_gemm_sources,
    .is_applicable = implicit_gemm_is_applicable,
    .workspace_bytes = implicit_gemm_workspace_bytes,
    .estimate = implicit_gemm_estimate,
    .default_config = implicit_gemm_default_config,
    .space = &space,
    .solve = solve,
};
