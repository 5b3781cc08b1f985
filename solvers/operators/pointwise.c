/*
 * Pointwise operators: copies, casts, scales, sums and activations of each element by itself (pointwise.cl). PointwiseNaive
 * serves every layout and takes strides when it runs; PointwisePieces merges axes for the problem's own strides and takes
 * several elements at once.
 */
#include "solvers/framework/solver_rows.h"
#include "solvers/operators/operator_common.h"

static const char *const sources[] = {"pointwise.cl", NULL};

static bool naive_is_applicable(const struct problem *p, const struct context *context,
                                const char **reason)
{
    (void)context;
    return operator_types_are_served(p, reason) && operator_count_is_served(p, reason);
}

static bool pieces_is_applicable(const struct problem *p, const struct context *context,
                                 const char **reason)
{
    return naive_is_applicable(p, context, reason) && operator_layouts_are_plain(p, reason);
}

static double pieces_estimate(const struct problem *p, const struct context *context)
{
    struct operator_axes axes;

    (void)context;
    operator_piece_axes(p, &axes);
    return axes.stride[TENSOR_X][axes.count - 1] == 1 && axes.size[axes.count - 1] >= 4 ? 8.0 : 1.5;
}

static void add_launch(const struct problem *p, const struct operator_axes *axes,
                       const int32_t *values, struct solution *solution)
{
    struct operator_launch making;

    operator_begin(&making, solution, "pointwise.cl", "pointwise", p, axes, values);
    operator_add_axis_strides(&making, TENSOR_X);
    operator_end(&making);
    operator_set_work(p, 1, solution);
}

static bool naive_solve(const struct problem *p, const struct context *context,
                        const struct perf_config *config, struct solution *solution, GError **error)
{
    struct operator_axes axes;

    (void)context;
    (void)config;
    (void)error;
    operator_axes_init(p, &axes);
    add_launch(p, &axes, NULL, solution);
    return true;
}

static bool pieces_solve(const struct problem *p, const struct context *context,
                         const struct perf_config *config, struct solution *solution,
                         GError **error)
{
    struct operator_axes axes;

    (void)context;
    (void)error;
    operator_piece_axes(p, &axes);
    add_launch(p, &axes, config->values, solution);
    return true;
}

const struct solver solver_pointwise_naive = {
    .provider = "skipjack",
    .name = "PointwiseNaive",
    .kind = OP_POINTWISE,
    .revision = 1,
    .algorithm = "Direct",
    .dynamic = true,
    .any_strides = true,
    .epilogues = EPILOGUE_DOES_ALL | EPILOGUE_DOES_ANY_RESIDUAL,
    .sources = sources,
    .is_applicable = naive_is_applicable,
    .estimate = operator_naive_estimate,
    .default_config = operator_naive_config,
    .solve = naive_solve,
};

const struct solver solver_pointwise_pieces = {
    .provider = "skipjack",
    .name = "PointwisePieces",
    .kind = OP_POINTWISE,
    .revision = 1,
    .algorithm = "Direct",
    .own_strides = true,
    .epilogues = EPILOGUE_DOES_ALL | EPILOGUE_DOES_ANY_RESIDUAL,
    .sources = sources,
    .is_applicable = pieces_is_applicable,
    .estimate = pieces_estimate,
    .default_config = operator_default_config,
    .space = &operator_space,
    .solve = pieces_solve,
};
