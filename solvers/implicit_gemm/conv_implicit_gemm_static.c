/*
 * The implicit matrix product with the whole shape compiled in: divisions become multiplications and
 * loops have known ends, at the price of a binary for each problem. Covers what the dynamic form does
 * (conv_implicit_gemm_common.h).
 */
#include "solvers/framework/solver_rows.h"
#include "solvers/implicit_gemm/conv_implicit_gemm_common.h"

static const struct space_param params[] = {IMPLICIT_GEMM_PARAMS};
static const struct space_constraint constraints[] = {IMPLICIT_GEMM_CONSTRAINTS};
static const struct space space = {G_N_ELEMENTS(params), params, G_N_ELEMENTS(constraints),
                                   constraints};

/* On a CPU tables take the divisions out of the inner loops: measured, nothing is gained there. */
static double estimate(const struct problem *p, const struct context *context)
{
    return (context_is_cpu(context) ? 0.95 : 1.1) * implicit_gemm_estimate(p, context);
}

static bool solve(const struct problem *p, const struct context *context,
                  const struct perf_config *config, struct solution *solution, GError **error)
{
    (void)error;
    implicit_gemm_solve(p, context, config, FIX_ALL, solution);
    return true;
}

const struct solver solver_conv_implicit_gemm_static = {
    .provider = "skipjack",
    .name = "ConvImplicitGemmStatic",
    .revision = 2,
    .algorithm = "ImplicitGEMM",
    .any_strides = true,
    .sources = implicit_gemm_sources,
    .is_applicable = implicit_gemm_is_applicable,
    .workspace_bytes = implicit_gemm_workspace_bytes,
    .estimate = estimate,
    .default_config = implicit_gemm_default_config,
    .space = &space,
    .solve = solve,
};
