/*
 * Depthwise convolutions with channels last on GPUs: one channel in and out for each group, 2D, packed NHWC. F,
 * B and W; FP32, FP16, BF16 in any mixture, INT8 forward; filters of up to 7x7 that span at most 32 positions,
 * strides up to 4, any padding. Static: the shape without the batch is compiled in. A work-item has VECTOR
 * neighbouring channels, which it loads and stores at once. B gathers. W may split its sums (LOAD).
 */
#include "solvers/common/conv_common.h"
#include "solvers/common/split_sum.h"
#include "solvers/framework/solver_rows.h"
#include "solvers/grouped/depthwise_nhwc_plan.h"

/* As in conv_depthwise_nhwc_sum.cl. */
#define SUM_ITEMS    256
#define SUM_ELEMENTS 16

static const char *const sources[] = {"conv_depthwise_nhwc.cl", "conv_depthwise_nhwc_w.cl",
                                      "conv_depthwise_nhwc_sum.cl", NULL};

static bool tensors_are_served(const struct problem *p, const char **reason)
{
    if (!conv_types_are_served(p, reason))
        return false;
    *reason = "needs two dimensions, and NHWC for all tensors";
    for (int t = 0; t < TENSOR_COUNT; t++) {
        if (p->layout[t] != LAYOUT_NHWC)
            return false;
    }
    return p->spatial_dim == 2;
}

/* All filter positions of a tile are unrolled. */
static bool shape_is_served(const struct problem *p, const char **reason)
{
    *reason = "needs filters of up to 7x7, at most 32 positions long, and strides up to 4";
    for (int a = AXIS_H; a <= AXIS_W; a++) {
        if (p->fil[a] > NHWC_FILTER_MOST || p->stride[a] > NHWC_STRIDE_MOST ||
            (p->fil[a] - 1) * p->dilation[a] > NHWC_REACH_MOST)
            return false;
    }
    return true;
}

/* The smallest tiles have at most one work-item for each element, and some past the ends. W keeps the place of
 * an element of w in an int. */
static bool items_fit_32_bits(const struct problem *p)
{
    double weights = (double)p->c * (double)p->fil[AXIS_H] * (double)p->fil[AXIS_W];
    double most = (double)p->n * (double)p->c;

    for (int a = AXIS_H; a <= AXIS_W; a++)
        most *= (double)MAX(p->in[a], p->out[a]) + NHWC_STRIDE_MOST;
    return MAX(most, weights) < INT32_MAX;
}

static bool depthwise_nhwc_is_applicable(const struct problem *p, const struct context *context,
                                         const char **reason)
{
    *reason = "needs a GPU";
    if (context_is_cpu(context))
        return false;
    *reason = "needs several groups of one input and one output channel each";
    if (p->groups != p->c || p->k != p->c || p->groups == 1)
        return false;
    if (!conv_is_plain(p, reason) || !tensors_are_served(p, reason) ||
        !shape_is_served(p, reason) || !conv_counts_fit_32_bits(p, reason))
        return false;
    *reason = "needs fewer than 2^31 elements";
    return items_fit_32_bits(p);
}

static double depthwise_nhwc_estimate(const struct problem *p, const struct context *context)
{
    (void)p;
    (void)context;
    return 150.0;
}

static void add_options(const struct problem *p, const int32_t *values, struct launch *launch)
{
    static const struct {
        const char *names[2];
        size_t at;
    } shape[] = {
        {{"FIL_H", "FIL_W"}, offsetof(struct problem, fil)},
        {{"STRIDE_H", "STRIDE_W"}, offsetof(struct problem, stride)},
        {{"DILATION_H", "DILATION_W"}, offsetof(struct problem, dilation)},
        {{"PAD_H", "PAD_W"}, offsetof(struct problem, pad)},
        {{"IN_H", "IN_W"}, offsetof(struct problem, in)},
        {{"OUT_H", "OUT_W"}, offsetof(struct problem, out)},
    };

    for (gsize i = 0; i < G_N_ELEMENTS(shape); i++) {
        const int64_t *sizes = (const int64_t *)(const void *)((const char *)p + shape[i].at);
        launch_option_int(launch, shape[i].names[0], sizes[AXIS_H]);
        launch_option_int(launch, shape[i].names[1], sizes[AXIS_W]);
    }
    for (int i = NHWC_VECTOR; i <= NHWC_TILE_W; i++)
        launch_option_int(launch, depthwise_nhwc_space.params[i].name, values[i]);
    launch_option_int(launch, "CHANNELS", p->c);
    launch_option_text(launch, "LANE", conv_sum_type(p));
}

static void solve_data(const struct problem *p, const struct context *context,
                       const int32_t *values, struct solution *solution)
{
    struct launch *launch =
        solution_add_launch(solution, "conv_depthwise_nhwc.cl", "conv_depthwise_nhwc");
    bool forward = p->direction == DIRECTION_F;
    struct depthwise_nhwc_plan plan;

    depthwise_nhwc_plan_init(&plan, p, context, values);
    add_options(p, values, launch);
    conv_add_type_options(p, launch);
    launch_option_int(launch, forward ? "DIRECTION_F" : "DIRECTION_B", 1);
    launch_option_int(launch, "ITEMS", values[NHWC_ITEMS]);
    launch_option_int(launch, "KEEP_WEIGHTS", plan.keep_weights);
    launch_sort_options(launch);
    launch_arg_tensor(launch, forward ? TENSOR_X : TENSOR_Y);
    launch_arg_tensor(launch, TENSOR_W);
    launch_arg_tensor(launch, problem_output_role(p));
    launch_arg_int32(launch, p->n);
    launch_set_line(launch, plan.items, values[NHWC_ITEMS]);
}

static void add_sum(const struct problem *p, int splits, struct solution *solution)
{
    struct launch *launch =
        solution_add_launch(solution, "conv_depthwise_nhwc_sum.cl", "conv_depthwise_nhwc_sum");
    int64_t taps = p->fil[AXIS_H] * p->fil[AXIS_W];

    launch_option_text(launch, "TYPE_W", data_type_name(p->type[TENSOR_W]));
    launch_arg_workspace(launch, 0);
    launch_arg_tensor(launch, TENSOR_W);
    launch_arg_int32(launch, p->c);
    launch_arg_int32(launch, taps);
    launch_arg_int32(launch, splits);
    launch_set_line(launch, conv_divide_up(p->c * taps, SUM_ELEMENTS) * SUM_ITEMS, SUM_ITEMS);
    solution->workspace_bytes = split_sum_bytes(p, splits);
}

static void solve_weights(const struct problem *p, const struct context *context,
                          const int32_t *values, struct solution *solution)
{
    struct launch *launch =
        solution_add_launch(solution, "conv_depthwise_nhwc_w.cl", "conv_depthwise_nhwc_w");
    struct depthwise_nhwc_plan plan;
    int64_t items;
    bool split;

    depthwise_nhwc_plan_init(&plan, p, context, values);
    split = plan.splits > 1;
    items = plan.channel_items * plan.position_items;
    add_options(p, values, launch);
    launch_option_text(launch, "TYPE_X", data_type_name(p->type[TENSOR_X]));
    launch_option_text(launch, "TYPE_Y", data_type_name(p->type[TENSOR_Y]));
    launch_option_text(launch, "TYPE_W", data_type_name(split ? TYPE_FP32 : p->type[TENSOR_W]));
    launch_option_int(launch, "PARTS", split);
    launch_option_int(launch, "CHANNEL_ITEMS", plan.channel_items);
    launch_option_int(launch, "POSITION_ITEMS", plan.position_items);
    launch_option_int(launch, "FILTER_ROWS", plan.filter_rows);
    launch_sort_options(launch);
    launch_arg_tensor(launch, TENSOR_X);
    launch_arg_tensor(launch, TENSOR_Y);
    if (split)
        launch_arg_workspace(launch, 0);
    else
        launch_arg_tensor(launch, TENSOR_W);
    launch_arg_int32(launch, plan.units);
    launch_arg_int32(launch, plan.part);
    launch_set_line(launch, plan.workgroups * plan.splits * items, (int)items);
    if (split)
        add_sum(p, (int)plan.splits, solution);
}

static bool depthwise_nhwc_solve(const struct problem *p, const struct context *context,
                                 const struct perf_config *config, struct solution *solution,
                                 GError **error)
{
    (void)error;
    if (p->direction == DIRECTION_W)
        solve_weights(p, context, config->values, solution);
    else
        solve_data(p, context, config->values, solution);
    conv_set_exact_work(p, solution);
    return true;
}

const struct solver solver_conv_depthwise_nhwc = {
    .provider = "skipjack",
    .name = "ConvDepthwiseNhwc",
    .revision = 2,
    .algorithm = "Direct",
    .sources = sources,
    .is_applicable = depthwise_nhwc_is_applicable,
    .workspace_bytes = depthwise_nhwc_workspace_bytes,
    .estimate = depthwise_nhwc_estimate,
    .default_config = depthwise_nhwc_default_config,
    .space = &depthwise_nhwc_space,
    .solve = depthwise_nhwc_solve,
};
