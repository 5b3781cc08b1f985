#include "tests/faults/solver_faults.h"

#include "solvers/common/conv_common.h"

#define BLOCK_ITEMS 64 /* the workgroup's size, also stated in faults.cl */

static const char *const sources[] = {"faults.cl", NULL};
static const int32_t kinds[] = {FAULT_NONE,          FAULT_HANG,      FAULT_COMPILER, FAULT_RESULT,
                                FAULT_OUT_OF_BOUNDS, FAULT_SYNTAX,    FAULT_CRASH,    FAULT_NAN,
                                FAULT_MEMORY,        FAULT_CONSTRAINT};
static const struct space_param params[] = {{"fault", FAULT_KINDS, kinds}};

/* Deliberately wrong: lets through a block of FAULT_CONSTRAINT that the kernel is not compiled
 * for. */
static bool block_fits(const struct problem *p, const struct context *context,
                       const int32_t *values)
{
    (void)p;
    (void)context;
    return values[0] < FAULT_KINDS;
}

static const struct space_constraint constraints[] = {{"block_fits", "the block", 1, block_fits}};
static const struct space space = {1, params, 1, constraints};

/* A pointwise convolution is enough to misbehave with. */
static bool faults_is_applicable(const struct problem *p, const struct context *context,
                                 const char **reason)
{
    (void)context;
    *reason = "needs a forward FP32 NCHW convolution with a 1x1 filter, groups, stride and batch 1";
    return p->direction == DIRECTION_F && p->type[TENSOR_X] == TYPE_FP32 &&
           p->layout[TENSOR_X] == LAYOUT_NCHW && p->spatial_dim == 2 && p->n == 1 &&
           p->groups == 1 && p->fil[AXIS_H] == 1 && p->fil[AXIS_W] == 1 && p->pad[AXIS_H] == 0 &&
           p->pad[AXIS_W] == 0 && p->stride[AXIS_H] == 1 && p->stride[AXIS_W] == 1;
}

static double faults_estimate(const struct problem *p, const struct context *context)
{
    (void)p;
    (void)context;
    return 0.5;
}

static void faults_default_config(const struct problem *p, const struct context *context,
                                  struct perf_config *config)
{
    (void)p;
    (void)context;
    *config = (struct perf_config){.count = 1, .values = {FAULT_NONE}};
}

static bool faults_solve(const struct problem *p, const struct context *context,
                         const struct perf_config *config, struct solution *solution,
                         GError **error)
{
    struct launch *launch = solution_add_launch(solution, "faults.cl", "conv_faults");
    int64_t pixels = p->out[AXIS_H] * p->out[AXIS_W];
    (void)context;
    (void)error;
    launch_option_int(launch, "FAULT", config->values[0]);
    launch_sort_options(launch);
    for (int t = 0; t < TENSOR_COUNT; t++)
        launch_arg_tensor(launch, (enum tensor_role)t);
    launch_arg_int32(launch, p->c);
    launch_arg_int32(launch, p->k);
    launch_arg_int32(launch, pixels);
    int block = config->values[0] == FAULT_CONSTRAINT ? 2 * BLOCK_ITEMS : BLOCK_ITEMS;
    launch_set_grid(launch, (const int64_t[3]){p->k * pixels, 1, 1}, (const int[3]){block, 1, 1});
    solution->flops = 2 * conv_exact_macs(p);
    conv_set_compulsory_bytes(p, solution);
    return true;
}

const struct solver solver_faults = {
    .provider = "test",
    .name = "ConvFaults",
    .revision = 1,
    .algorithm = "Direct",
    .sources = sources,
    .is_applicable = faults_is_applicable,
    .estimate = faults_estimate,
    .default_config = faults_default_config,
    .space = &space,
    .solve = faults_solve,
};
