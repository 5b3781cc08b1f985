/*
 * The plain convolution, a work-item for each output element: every direction, layout and mixture of types, with
 * cast inputs. It serves every valid convolution whose counts it can count.
 * Not tunable. Other solvers' estimates are relative to it.
 */
#include "solvers/common/conv_common.h"
#include "solvers/common/conv_epilogue.h"
#include "solvers/framework/solver_rows.h"

/* Work-items of a workgroup, as in conv_direct_naive.cl. */
#define BLOCK_ITEMS 64

static const char *const sources[] = {"conv_direct_naive.cl", NULL};
static const char *const entries[DIRECTION_COUNT] = {"conv_naive_f", "conv_naive_b",
                                                     "conv_naive_w"};

/* Elements of the output without the padding of blocked layouts. */
static double output_items(const struct problem *p)
{
    enum tensor_role role = problem_output_role(p);
    const int64_t *sizes = role == TENSOR_X ? p->in : role == TENSOR_W ? p->fil : p->out;
    double items = role == TENSOR_W ? (double)p->k * (double)(p->c / p->groups)
                                    : (double)p->n * (double)(role == TENSOR_X ? p->c : p->k);

    for (int a = 0; a < AXIS_COUNT; a++)
        items *= (double)sizes[a];
    return items;
}

static bool naive_is_applicable(const struct problem *p, const struct context *context,
                                const char **reason)
{
    (void)context;
    if (!conv_epilogue_is_served(p, true, reason))
        return false;
    for (int a = 0; a < AXIS_COUNT; a++) {
        if (conv_reach(p, (enum axis)a) > INT32_MAX) {
            *reason = "needs padded sizes and dilated filters below 2^31";
            return false;
        }
    }
    if (output_items(p) > (double)UINT32_MAX - BLOCK_ITEMS) {
        *reason = "needs fewer than 2^32 output elements: each is a work-item";
        return false;
    }
    return true;
}

static double naive_estimate(const struct problem *p, const struct context *context)
{
    (void)p;
    (void)context;
    return 1.0;
}

static void naive_default_config(const struct problem *p, const struct context *context,
                                 struct perf_config *config)
{
    (void)p;
    (void)context;
    *config = (struct perf_config){.count = 0};
}

/* Products of INT32 need more than FP32's 24 bits. */
static const char *sum_type(const struct problem *p)
{
    if (problem_sums_int8(p))
        return "int";
    for (int t = 0; t < TENSOR_COUNT; t++) {
        bool is_written = (enum tensor_role)t == problem_output_role(p);
        if (p->type[t] == TYPE_FP64 || (p->type[t] == TYPE_INT32 && !is_written))
            return "double";
    }
    return "float";
}

/* Whether storing the sum rounds it to an integer. */
static bool rounds_to_integer(const struct problem *p)
{
    enum data_type type = p->type[problem_output_role(p)];

    return (type == TYPE_INT8 || type == TYPE_INT32) && !problem_sums_int8(p);
}

static void add_options(const struct problem *p, struct launch *launch)
{
    static const char *const direction_names[DIRECTION_COUNT] = {"DIRECTION_F", "DIRECTION_B",
                                                                 "DIRECTION_W"};
    static const char *const block_names[TENSOR_COUNT] = {"BLOCK_X", "BLOCK_W", "BLOCK_Y"};

    conv_add_type_options(p, launch);
    conv_add_cast_options(p, launch);
    for (int t = 0; t < TENSOR_COUNT; t++)
        launch_option_int(launch, block_names[t], problem_layout_block(p->layout[t]));
    launch_option_text(launch, "ACC", sum_type(p));
    launch_option_int(launch, direction_names[p->direction], 1);
    if (p->epilogue[0] == '\0' && rounds_to_integer(p))
        launch_option_int(launch, "ROUND_SUM", 1);
    conv_add_epilogue_options(p, launch);
    launch_sort_options(launch);
}

static bool naive_solve(const struct problem *p, const struct context *context,
                        const struct perf_config *config, struct solution *solution, GError **error)
{
    struct launch *launch =
        solution_add_launch(solution, "conv_direct_naive.cl", entries[p->direction]);

    (void)context;
    (void)config;
    (void)error;
    add_options(p, launch);
    conv_add_tensor_args(launch);
    conv_add_stride_args(launch);
    conv_add_shape_args(p, launch);
    conv_add_epilogue_args(p, launch);
    launch_set_line(launch, (int64_t)output_items(p), BLOCK_ITEMS);
    conv_set_exact_work(p, solution);
    return true;
}

const struct solver solver_conv_direct_naive = {
    .provider = "skipjack",
    .name = "ConvDirectNaive",
    .revision = 2,
    .algorithm = "Direct",
    .dynamic = true,
    .any_strides = true,
    .epilogues = EPILOGUE_DOES_ALL,
    .sources = sources,
    .is_applicable = naive_is_applicable,
    .estimate = naive_estimate,
    .default_config = naive_default_config,
    .solve = naive_solve,
};
