/*
 * Softmax over channels. SoftmaxNaive and SoftmaxPieces compute a row, which is all channels of a position, in one
 * work-item (softmax.cl), Pieces several rows at once, or of several sums along channels that lie side by side.
 * SoftmaxGroup has several work-items for each row (softmax_group.cl).
 */
#include <string.h>

#include "solvers/common/conv_common.h"
#include "solvers/framework/solver_rows.h"
#include "solvers/operators/operator_common.h"

static const char *const sources[] = {"softmax.cl", NULL};
static const char *const group_sources[] = {"softmax_group.cl", NULL};

/* Sums that run side by side along the channels of a row: for a piece of one row, and for longer pieces. */
#define WIDTH      8
#define WIDTH_MOST 16

static bool naive_is_applicable(const struct problem *p, const struct context *context,
                                const char **reason)
{
    (void)context;
    return operator_types_are_served(p, reason) && operator_count_is_served(p, reason);
}

static bool plain_is_applicable(const struct problem *p, const struct context *context,
                                const char **reason)
{
    return naive_is_applicable(p, context, reason) && operator_layouts_are_plain(p, reason);
}

static void add_kind_parts(const struct problem *p, struct operator_launch *making)
{
    launch_option_int(making->launch, "LOGARITHM", strcmp(p->mode, "log") == 0);
    operator_add_axis_strides(making, TENSOR_X);
    launch_arg_int32(making->launch, p->c);
    operator_add_stride(making, TENSOR_X, OPERATOR_C);
    operator_add_stride(making, TENSOR_Y, OPERATOR_C);
    operator_add_stride(making, TENSOR_RESIDUAL, OPERATOR_C);
}

static void set_work(const struct problem *p, struct solution *solution)
{
    operator_set_work(p, 5,
                      solution); /* a difference, two comparisons or sums, a power and a product */
}

static bool naive_solve(const struct problem *p, const struct context *context,
                        const struct perf_config *config, struct solution *solution, GError **error)
{
    struct operator_axes axes;
    struct operator_launch making;

    (void)context;
    (void)config;
    (void)error;
    operator_axes_init(p, &axes);
    operator_axes_drop(&axes, OPERATOR_C);
    operator_begin(&making, solution, "softmax.cl", "softmax", p, &axes, NULL);
    launch_option_int(making.launch, "WIDTH", 1);
    add_kind_parts(p, &making);
    operator_end(&making);
    set_work(p, solution);
    return true;
}

static double pieces_estimate(const struct problem *p, const struct context *context)
{
    return context_is_cpu(context) ? 6.0 : operator_channels_are_near(p) ? 1.5 : 2.0;
}

/* Where channels are side by side, a config's pieces are of one row, and its VECTOR chooses the sums along channels. */
static bool pieces_solve(const struct problem *p, const struct context *context,
                         const struct perf_config *config, struct solution *solution,
                         GError **error)
{
    struct operator_axes axes;
    struct operator_launch making;
    int32_t values[OPERATOR_PARAM_COUNT];
    int32_t width = 1;

    (void)context;
    (void)error;
    memcpy(values, config->values, sizeof(values));
    if (operator_channels_are_near(p)) {
        width = values[OPERATOR_VECTOR] > 1 ? WIDTH_MOST : WIDTH;
        values[OPERATOR_VECTOR] = 1;
    }
    operator_piece_axes(p, &axes);
    operator_begin(&making, solution, "softmax.cl", "softmax", p, &axes, values);
    launch_option_int(making.launch, "WIDTH", width);
    add_kind_parts(p, &making);
    operator_end(&making);
    set_work(p, solution);
    return true;
}

/* ---- several work-items for each row ---- */

enum { GROUP_ITEMS, GROUP_PARTS, GROUP_PARAM_COUNT };

static bool group_suits_target(const struct problem *p, const struct context *context,
                               const int32_t *values)
{
    (void)p;
    return context->target->max_workgroup == 0 ||
           values[GROUP_ITEMS] <= context->target->max_workgroup;
}

static bool parts_fit_group(const struct problem *p, const struct context *context,
                            const int32_t *values)
{
    (void)p;
    (void)context;
    return values[GROUP_PARTS] <= values[GROUP_ITEMS];
}

static bool parts_have_channels(const struct problem *p, const struct context *context,
                                const int32_t *values)
{
    (void)context;
    return values[GROUP_PARTS] == 2 || values[GROUP_PARTS] / 2 < p->c;
}

static const struct space_param group_params[GROUP_PARAM_COUNT] = {
    [GROUP_ITEMS] = {"ITEMS", 5, (const int32_t[]){32, 64, 128, 256, 512}},
    [GROUP_PARTS] = {"PARTS", 9, (const int32_t[]){2, 4, 8, 16, 32, 64, 128, 256, 512}},
};
static const struct space_constraint group_constraints[] = {
    {"group_suits_target", "workgroup size", GROUP_ITEMS + 1, group_suits_target},
    {"parts_fit_group", "workgroup size", GROUP_PARTS + 1, parts_fit_group},
    {"parts_have_channels", "tuning time", GROUP_PARTS + 1, parts_have_channels},
};
static const struct space group_space = {GROUP_PARAM_COUNT, group_params,
                                         G_N_ELEMENTS(group_constraints), group_constraints};

static bool group_is_applicable(const struct problem *p, const struct context *context,
                                const char **reason)
{
    if (context_is_cpu(context)) {
        *reason = "needs a GPU: a CPU's work-items do not run side by side";
        return false;
    }
    if (p->c < 2) {
        *reason = "needs several channels";
        return false;
    }
    return plain_is_applicable(p, context, reason);
}

static double group_estimate(const struct problem *p, const struct context *context)
{
    (void)context;
    return p->c >= 64 ? 10.0 : 1.2;
}

static void group_default_config(const struct problem *p, const struct context *context,
                                 struct perf_config *config)
{
    (void)context;
    *config = (struct perf_config){GROUP_PARAM_COUNT, {128, 2}};
    while (config->values[GROUP_PARTS] < 128 && config->values[GROUP_PARTS] < p->c)
        config->values[GROUP_PARTS] *= 2;
}

static bool group_solve(const struct problem *p, const struct context *context,
                        const struct perf_config *config, struct solution *solution, GError **error)
{
    const int32_t *values = config->values;
    const int32_t frame[OPERATOR_PARAM_COUNT] = {values[GROUP_ITEMS], 1, 1};
    struct operator_axes axes;
    struct operator_launch making;
    int64_t rows = p->n * p->out[AXIS_D] * p->out[AXIS_H] * p->out[AXIS_W];

    (void)context;
    (void)error;
    operator_piece_axes(p, &axes);
    operator_begin(&making, solution, "softmax_group.cl", "softmax_group", p, &axes, frame);
    launch_option_int(making.launch, "PARTS", values[GROUP_PARTS]);
    launch_option_int(making.launch, "CHANNELS_ARE_NEAR", operator_channels_are_near(p));
    add_kind_parts(p, &making);
    operator_end(&making);
    launch_set_line(making.launch,
                    conv_divide_up(rows, values[GROUP_ITEMS] / values[GROUP_PARTS]) *
                        values[GROUP_ITEMS],
                    values[GROUP_ITEMS]);
    set_work(p, solution);
    return true;
}

const struct solver solver_softmax_naive = {
    .provider = "skipjack",
    .name = "SoftmaxNaive",
    .kind = OP_SOFTMAX,
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

const struct solver solver_softmax_pieces = {
    .provider = "skipjack",
    .name = "SoftmaxPieces",
    .kind = OP_SOFTMAX,
    .revision = 1,
    .algorithm = "Direct",
    .own_strides = true,
    .epilogues = EPILOGUE_DOES_ALL | EPILOGUE_DOES_ANY_RESIDUAL,
    .sources = sources,
    .is_applicable = plain_is_applicable,
    .estimate = pieces_estimate,
    .default_config = operator_default_config,
    .space = &operator_space,
    .solve = pieces_solve,
};

const struct solver solver_softmax_group = {
    .provider = "skipjack",
    .name = "SoftmaxGroup",
    .kind = OP_SOFTMAX,
    .revision = 1,
    .algorithm = "Direct",
    .own_strides = true,
    .epilogues = EPILOGUE_DOES_ALL | EPILOGUE_DOES_ANY_RESIDUAL,
    .sources = group_sources,
    .is_applicable = group_is_applicable,
    .estimate = group_estimate,
    .default_config = group_default_config,
    .space = &group_space,
    .solve = group_solve,
};
