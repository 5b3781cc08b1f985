#include "tests/faults/solver_ways.h"

#include "solvers/common/conv_common.h"

#define BLOCK_ITEMS 64 /* the workgroup's size, also stated in ways.cl */

static const char *const sources[] = {"ways.cl", NULL};
static const int32_t ways[WAYS] = {0, 1, 2, 3, 4, 5};
static const struct space_param params[] = {{"way", WAYS, ways}};
static const struct space space = {1, params, 0, NULL};

static bool ways_is_applicable(const struct problem *p, const struct context *context,
                               const char **reason)
{
    if (!conv_is_nchw_fp32_forward(p, reason))
        return false;
    (void)context;
    *reason = "needs a 1x1 filter, and groups, stride and batch 1";
    return p->n == 1 && p->groups == 1 && p->fil[AXIS_H] == 1 && p->fil[AXIS_W] == 1 &&
           p->pad[AXIS_H] == 0 && p->pad[AXIS_W] == 0 && p->stride[AXIS_H] == 1 &&
           p->stride[AXIS_W] == 1;
}

static double ways_estimate(const struct problem *p, const struct context *context)
{
    (void)p;
    (void)context;
    return 0.5;
}

static void ways_default_config(const struct problem *p, const struct context *context,
                                struct perf_config *config)
{
    (void)p;
    (void)context;
    *config = (struct perf_config){.count = 1, .values = {0}};
}

static bool ways_solve(const struct problem *p, const struct context *context,
                       const struct perf_config *config, struct solution *solution, GError **error)
{
    struct launch *launch = solution_add_launch(solution, "ways.cl", "conv_ways");
    int64_t pixels = p->out[AXIS_H] * p->out[AXIS_W];
    (void)context;
    (void)error;
    conv_add_tensor_args(launch);
    launch_arg_int32(launch, p->c);
    launch_arg_int32(launch, p->k);
    launch_arg_int32(launch, pixels);
    launch_arg_int32(launch, config->values[0]);
    launch_set_grid(launch, (const int64_t[3]){p->k * pixels, 1, 1},
                    (const int[3]){BLOCK_ITEMS, 1, 1});
    solution->flops = 2 * conv_exact_macs(p);
    conv_set_compulsory_bytes(p, solution);
    return true;
}

const struct solver solver_ways = {
    .provider = "test",
    .name = "ConvWays",
    .revision = 1,
    .algorithm = "Direct",
    .sources = sources,
    .is_applicable = ways_is_applicable,
    .estimate = ways_estimate,
    .default_config = ways_default_config,
    .space = &space,
    .solve = ways_solve,
};
