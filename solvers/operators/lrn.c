/* Local response normalisation over channels (lrn.cl). */
#include <math.h>

#include "solvers/framework/solver_rows.h"
#include "solvers/operators/operator_common.h"

static const char *const sources[] = {"lrn.cl", NULL};

/* The numbers of an LRN's mode. */
struct lrn {
    double size, alpha, beta, bias;
};

static struct lrn lrn_of(const struct problem *p)
{
    g_auto(GStrv) words = g_strsplit(p->mode, ",", 4);

    return (struct lrn){g_ascii_strtod(words[0], NULL), g_ascii_strtod(words[1], NULL),
                        g_ascii_strtod(words[2], NULL), g_ascii_strtod(words[3], NULL)};
}

/* The sum that is raised to a power must be positive. */
static bool naive_is_applicable(const struct problem *p, const struct context *context,
                                const char **reason)
{
    struct lrn lrn = lrn_of(p);

    (void)context;
    if (lrn.size + (double)p->c > INT32_MAX || lrn.alpha < 0 || !(lrn.bias >= 0x1p-100)) {
        *reason = "needs a SIZE below 2^31, an ALPHA of at least 0 and a BIAS above 0";
        return false;
    }
    return operator_types_are_served(p, reason) && operator_count_is_served(p, reason);
}

static bool pieces_is_applicable(const struct problem *p, const struct context *context,
                                 const char **reason)
{
    return naive_is_applicable(p, context, reason) && operator_layouts_are_plain(p, reason);
}

static double pieces_estimate(const struct problem *p, const struct context *context)
{
    (void)p;
    (void)context;
    return 3.0;
}

static bool add_launch(const struct problem *p, const int32_t *values, struct solution *solution)
{
    struct lrn lrn = lrn_of(p);
    struct operator_axes axes;
    struct operator_launch making;

    operator_axes_init(p, &axes);
    operator_begin(&making, solution, "lrn.cl", "lrn", p, &axes, values);
    operator_add_axis_strides(&making, TENSOR_X);
    operator_add_stride(&making, TENSOR_X, OPERATOR_C);
    launch_arg_int32(making.launch, p->c);
    launch_arg_int32(making.launch, (int64_t)lrn.size);
    launch_arg_float32(making.launch, lrn.alpha / lrn.size);
    launch_arg_float32(making.launch, lrn.beta);
    launch_arg_float32(making.launch, lrn.bias);
    operator_end(&making);
    operator_set_work(p, 2 * fmin(lrn.size, (double)p->c) + 4, solution);
    return true;
}

static bool naive_solve(const struct problem *p, const struct context *context,
                        const struct perf_config *config, struct solution *solution, GError **error)
{
    (void)context;
    (void)config;
    (void)error;
    return add_launch(p, NULL, solution);
}

static bool pieces_solve(const struct problem *p, const struct context *context,
                         const struct perf_config *config, struct solution *solution,
                         GError **error)
{
    (void)context;
    (void)error;
    return add_launch(p, config->values, solution);
}

const struct solver solver_lrn_naive = {
    .provider = "skipjack",
    .name = "LrnNaive",
    .kind = OP_LRN,
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

const struct solver solver_lrn_pieces = {
    .provider = "skipjack",
    .name = "LrnPieces",
    .kind = OP_LRN,
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
