/*
 * Pools over the whole image (pool_global.cl): on a GPU several work-items share a result, on a CPU several results, or
 * parts of one, run side by side.
 */
#include <string.h>

#include "solvers/common/conv_common.h"
#include "solvers/framework/solver_rows.h"
#include "solvers/operators/operator_common.h"

enum { ITEMS, PARTS, PARAM_COUNT };

/* A CPU's results, or parts of a result, that run side by side. */
#define CPU_PARTS_LEAST 8

static const char *const sources[] = {"pool_global.cl", NULL};

/* The axes of the results: those of y without positions, of which there is one, with the strides of x. */
static void result_axes(const struct problem *p, struct operator_axes *axes)
{
    operator_axes_init(p, axes);
    operator_axes_drop(axes, OPERATOR_D);
    operator_axes_drop(axes, OPERATOR_H);
    operator_axes_drop(axes, OPERATOR_W);
    operator_axes_merge(p, axes);
}

static bool results_are_near(const struct problem *p)
{
    struct operator_axes axes;

    result_axes(p, &axes);
    return axes.stride[TENSOR_X][axes.count - 1] == 1;
}

static int64_t count_positions(const struct problem *p)
{
    return p->in[AXIS_D] * p->in[AXIS_H] * p->in[AXIS_W];
}

/* Whether the positions of an image lie as one axis would. */
static bool positions_are_line(const struct problem *p)
{
    int64_t strides[OPERATOR_AXES];

    problem_strides(p, TENSOR_X, strides);
    for (int a = AXIS_D; a < AXIS_W; a++) {
        int64_t inner = p->in[AXIS_W] * (a == AXIS_D ? p->in[AXIS_H] : 1);
        if (p->in[a] > 1 && strides[OPERATOR_D + a] != inner * strides[OPERATOR_W])
            return false;
    }
    return p->in[AXIS_W] > 1 || count_positions(p) == 1;
}

static bool items_suit_target(const struct problem *p, const struct context *context,
                              const int32_t *values)
{
    (void)p;
    if (context_is_cpu(context))
        return values[ITEMS] == 1;
    return values[ITEMS] > 1 &&
           (context->target->max_workgroup == 0 || values[ITEMS] <= context->target->max_workgroup);
}

static bool parts_fit(const struct problem *p, const struct context *context, const int32_t *values)
{
    (void)p;
    if (context_is_cpu(context))
        return values[PARTS] >= CPU_PARTS_LEAST && values[PARTS] <= 256;
    return values[PARTS] <= values[ITEMS];
}

/* More parts than positions, or than results that are side by side, have nothing to do. */
static bool parts_are_filled(const struct problem *p, const struct context *context,
                             const int32_t *values)
{
    bool is_cpu = context_is_cpu(context);
    int64_t wanted = is_cpu && results_are_near(p) ? p->c : count_positions(p);

    return values[PARTS] <= (is_cpu ? CPU_PARTS_LEAST : 1) || values[PARTS] / 2 < wanted;
}

static const struct space_param params[PARAM_COUNT] = {
    [ITEMS] = {"ITEMS", 6, (const int32_t[]){1, 32, 64, 128, 256, 512}},
    [PARTS] = {"PARTS", 10, (const int32_t[]){1, 2, 4, 8, 16, 32, 64, 128, 256, 512}},
};

static const struct space_constraint constraints[] = {
    {"items_suit_target", "workgroup size", ITEMS + 1, items_suit_target},
    {"parts_fit", "workgroup size", PARTS + 1, parts_fit},
    {"parts_are_filled", "tuning time", PARTS + 1, parts_are_filled},
};

static const struct space space = {PARAM_COUNT, params, G_N_ELEMENTS(constraints), constraints};

static bool global_is_applicable(const struct problem *p, const struct context *context,
                                 const char **reason)
{
    (void)context;
    for (int a = 0; a < AXIS_COUNT; a++) {
        if (p->fil[a] != p->in[a] || p->out[a] != 1 || p->pad[a] != 0 || p->dilation[a] != 1) {
            *reason = "needs a window that is the whole image";
            return false;
        }
    }
    if ((double)count_positions(p) > 1 << 24) {
        *reason = "needs images of at most 2^24 positions";
        return false;
    }
    return operator_types_are_served(p, reason) && operator_count_is_served(p, reason) &&
           operator_layouts_are_plain(p, reason);
}

static double global_estimate(const struct problem *p, const struct context *context)
{
    (void)context;
    return count_positions(p) >= 16 ? 12.0 : 2.0;
}

static void global_default_config(const struct problem *p, const struct context *context,
                                  struct perf_config *config)
{
    bool is_cpu = context_is_cpu(context);
    int32_t most = !is_cpu ? 32 : results_are_near(p) ? 64 : 16;

    *config = (struct perf_config){PARAM_COUNT, {is_cpu ? 1 : 128, most}};
    while (!parts_are_filled(p, context, config->values))
        config->values[PARTS] /= 2;
}

static bool global_solve(const struct problem *p, const struct context *context,
                         const struct perf_config *config, struct solution *solution,
                         GError **error)
{
    const int32_t *values = config->values;
    const int32_t frame[OPERATOR_PARAM_COUNT] = {values[ITEMS], 1, 1};
    bool is_max = strcmp(p->mode, "max") == 0, near = results_are_near(p);
    bool is_integer = p->type[TENSOR_X] == TYPE_INT8 || (p->type[TENSOR_X] == TYPE_INT32 && is_max);
    /* results of a workgroup */
    int64_t results = values[ITEMS] > 1 ? values[ITEMS] / values[PARTS] : near ? values[PARTS] : 1;
    struct operator_axes axes;
    struct operator_launch making;

    (void)context;
    (void)error;
    result_axes(p, &axes);
    operator_begin(&making, solution, "pool_global.cl", "pool_global", p, &axes, frame);
    launch_option_int(making.launch, "MEAN", !is_max);
    launch_option_text(making.launch, "LANE", is_integer ? "int" : "float");
    launch_option_int(making.launch, "PARTS", values[PARTS]);
    launch_option_int(making.launch, "RESULTS_ARE_NEAR", near);
    launch_option_int(making.launch, "IS_LINE", positions_are_line(p));
    operator_add_axis_strides(&making, TENSOR_X);
    for (int logical = OPERATOR_D; logical <= OPERATOR_W; logical++)
        operator_add_stride(&making, TENSOR_X, logical);
    operator_add_sizes(&making, p->in);
    operator_end(&making);
    launch_set_line(making.launch, conv_divide_up(p->n * p->c, results) * values[ITEMS],
                    values[ITEMS]);
    operator_set_work(p, (double)count_positions(p), solution);
    return true;
}

const struct solver solver_pool_global = {
    .provider = "skipjack",
    .name = "PoolGlobal",
    .kind = OP_POOL,
    .revision = 1,
    .algorithm = "Direct",
    .own_strides = true,
    .epilogues = EPILOGUE_DOES_ALL | EPILOGUE_DOES_ANY_RESIDUAL,
    .sources = sources,
    .is_applicable = global_is_applicable,
    .estimate = global_estimate,
    .default_config = global_default_config,
    .space = &space,
    .solve = global_solve,
};
