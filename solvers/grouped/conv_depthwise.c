/*
 * Depthwise convolutions: several groups with one input channel each and any number of output channels. F, B
 * and W; 2D and 3D; every layout whose channels are not in blocks, any strides of tensors; FP32, FP16, BF16 in
 * any mixture, INT8 forward; any stride, dilation and padding, filters longer than the padded input included.
 * Static: filter size, stride, dilation and channels of a group are compiled in, so that loops over filter
 * positions unroll; image sizes are arguments. B gathers. W may split its sums (SPLITS, split_sum.h). Limit:
 * fewer than 2^31 work-items.
 */
#include "solvers/common/conv_common.h"
#include "solvers/common/split_sum.h"
#include "solvers/framework/solver_rows.h"
#include "solvers/grouped/depthwise_plan.h"

static const char *const sources[] = {"conv_depthwise.cl", "conv_depthwise_w.cl",
                                      "conv_sum_splits.cl", NULL};

/* Work-items along an axis with the smallest tiles; B's tiles are whole rounds of the stride's phases. */
static double count_items(const struct problem *p, int axis)
{
    int64_t stride = MIN(p->stride[axis], p->in[axis]);

    if (p->direction == DIRECTION_W)
        return (double)p->fil[axis];
    return p->direction == DIRECTION_F ? (double)p->out[axis]
                                       : (double)(conv_divide_up(p->in[axis], stride) * stride);
}

static bool items_fit_32_bits(const struct problem *p)
{
    double items = p->direction == DIRECTION_W ? (double)p->k * DEPTHWISE_ITEMS_MOST
                                               : (double)p->n * (double)MAX(p->c, p->k);

    for (int a = 0; a < AXIS_COUNT; a++)
        items *= count_items(p, a);
    return items < INT32_MAX - DEPTHWISE_ITEMS_MOST;
}

static bool depthwise_is_applicable(const struct problem *p, const struct context *context,
                                    const char **reason)
{
    (void)context;
    if (p->groups != p->c || p->groups == 1) {
        *reason = "needs several groups of one input channel each";
        return false;
    }
    if (!conv_is_plain(p, reason) || !conv_types_are_served(p, reason) ||
        !conv_layouts_are_plain(p, reason) || !conv_counts_fit_32_bits(p, reason))
        return false;
    if (!items_fit_32_bits(p)) {
        *reason = "needs fewer than 2^31 output elements, for W fewer than 2^23";
        return false;
    }
    return true;
}

static double depthwise_estimate(const struct problem *p, const struct context *context)
{
    (void)p;
    return context_is_cpu(context) ? 20.0 : 60.0;
}

static void add_shape_options(const struct problem *p, struct launch *launch)
{
    static const char *const names[][AXIS_COUNT] = {
        {"FIL_D", "FIL_H", "FIL_W"},
        {"STRIDE_D", "STRIDE_H", "STRIDE_W"},
        {"DILATION_D", "DILATION_H", "DILATION_W"},
        {"PERIOD_D", "PERIOD_H", "PERIOD_W"},
    };

    for (int a = 0; a < AXIS_COUNT; a++) {
        launch_option_int(launch, names[0][a], p->fil[a]);
        launch_option_int(launch, names[1][a], p->stride[a]);
        launch_option_int(launch, names[2][a], p->dilation[a]);
        launch_option_int(launch, names[3][a], conv_stride_period(p, (enum axis)a));
    }
    launch_option_int(launch, "MULTIPLIER", p->k / p->groups);
}

static void add_options(const struct problem *p, const struct context *context,
                        const int32_t *values, int64_t chunk, struct launch *launch)
{
    static const char *const lanes[] = {"LANES_W", "LANES_C", "LANES_N"};

    for (int i = 0; i <= DEPTHWISE_TILE_W; i++)
        launch_option_int(launch, depthwise_space.params[i].name, values[i]);
    launch_option_int(launch, "CHUNK_W", chunk);
    launch_option_int(launch, lanes[depthwise_lanes(p)], 1);
    launch_option_int(launch, "ROWS_IN_MEMORY", context_is_cpu(context));
    launch_option_text(launch, "LANE", conv_sum_type(p));
    add_shape_options(p, launch);
}

static void add_type(struct launch *launch, const char *name, enum data_type type)
{
    launch_option_text(launch, name, data_type_name(type));
}

static void add_axes(struct launch *launch, const int64_t sizes[AXIS_COUNT])
{
    for (int a = 0; a < AXIS_COUNT; a++)
        launch_arg_int32(launch, sizes[a]);
}

static void add_strides(struct launch *launch, enum tensor_role role)
{
    for (int axis = 0; axis < 5; axis++) {
        if (role != TENSOR_W || axis != 1)
            launch_arg_stride(launch, role, axis);
    }
}

static void solve_data(const struct problem *p, const struct context *context,
                       const int32_t *values, struct solution *solution)
{
    struct launch *launch = solution_add_launch(solution, "conv_depthwise.cl", "conv_depthwise");
    bool forward = p->direction == DIRECTION_F;
    enum tensor_role source = forward ? TENSOR_X : TENSOR_Y, result = problem_output_role(p);
    struct depthwise_plan plan;

    depthwise_plan_init(&plan, p, context, values);
    add_options(p, context, values, plan.chunk, launch);
    conv_add_type_options(p, launch);
    launch_option_int(launch, forward ? "DIRECTION_F" : "DIRECTION_B", 1);
    launch_option_int(launch, "REPEAT", values[DEPTHWISE_REPEAT]);
    launch_option_int(launch, "UNROLL", plan.unroll);
    launch_option_int(launch, "KEEP_WEIGHTS", plan.keep_weights);
    launch_sort_options(launch);
    launch_arg_tensor(launch, source);
    launch_arg_tensor(launch, TENSOR_W);
    launch_arg_tensor(launch, result);
    add_strides(launch, source);
    add_strides(launch, TENSOR_W);
    add_strides(launch, result);
    launch_arg_int32(launch, p->n);
    launch_arg_int32(launch, forward ? p->k : p->c);
    add_axes(launch, forward ? p->out : p->in);
    add_axes(launch, forward ? p->in : p->out);
    add_axes(launch, p->pad);
    launch_set_line(launch, plan.tiles, values[DEPTHWISE_ITEMS]);
}

/* Adds the distance of the parts, which are packed copies of w, and their strides. */
static void add_part_strides(const struct problem *p, struct launch *launch)
{
    int64_t steps[AXIS_COUNT], step = 1;

    for (int a = AXIS_W; a >= AXIS_D; a--) {
        steps[a] = step;
        step *= p->fil[a];
    }
    launch_arg_int64(launch, step * p->k);
    launch_arg_int64(launch, step);
    for (int a = 0; a < AXIS_COUNT; a++)
        launch_arg_int64(launch, steps[a]);
}

static void add_weight_tensors(const struct problem *p, bool split, struct launch *launch)
{
    launch_arg_tensor(launch, TENSOR_X);
    launch_arg_tensor(launch, TENSOR_Y);
    if (split)
        launch_arg_workspace(launch, 0);
    else
        launch_arg_tensor(launch, TENSOR_W);
    add_strides(launch, TENSOR_X);
    add_strides(launch, TENSOR_Y);
    if (split) {
        add_part_strides(p, launch);
        return;
    }
    launch_arg_int64(launch, 0);
    add_strides(launch, TENSOR_W);
}

static void solve_weights(const struct problem *p, const struct context *context,
                          const int32_t *values, struct solution *solution)
{
    struct launch *launch =
        solution_add_launch(solution, "conv_depthwise_w.cl", "conv_depthwise_w");
    struct depthwise_plan plan;
    bool split;

    depthwise_plan_init(&plan, p, context, values);
    split = plan.splits > 1;
    add_options(p, context, values, plan.chunk, launch);
    add_type(launch, "TYPE_X", p->type[TENSOR_X]);
    add_type(launch, "TYPE_Y", p->type[TENSOR_Y]);
    add_type(launch, "TYPE_W", split ? TYPE_FP32 : p->type[TENSOR_W]);
    launch_option_int(launch, "CHANNEL_ITEMS", plan.channel_items);
    launch_sort_options(launch);
    add_weight_tensors(p, split, launch);
    launch_arg_int32(launch, p->n);
    launch_arg_int32(launch, p->k);
    add_axes(launch, p->in);
    add_axes(launch, p->out);
    add_axes(launch, p->pad);
    launch_arg_int32(launch, plan.part);
    launch_set_line(launch, plan.workgroups * plan.splits * values[DEPTHWISE_ITEMS],
                    values[DEPTHWISE_ITEMS]);
    if (!split)
        return;
    solution->workspace_bytes = split_sum_bytes(p, (int)plan.splits);
    split_sum_add(p, 0, (int)plan.splits, solution);
}

static bool depthwise_solve(const struct problem *p, const struct context *context,
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

const struct solver solver_conv_depthwise = {
    .provider = "skipjack",
    .name = "ConvDepthwise",
    .revision = 2,
    .algorithm = "Direct",
    .any_strides = true,
    .sources = sources,
    .is_applicable = depthwise_is_applicable,
    .workspace_bytes = depthwise_workspace_bytes,
    .estimate = depthwise_estimate,
    .default_config = depthwise_default_config,
    .space = &depthwise_space,
    .solve = depthwise_solve,
};
