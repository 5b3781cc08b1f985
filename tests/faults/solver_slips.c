#include "tests/faults/solver_slips.h"

#include <string.h>

#include "solvers/common/conv_common.h"

#define BLOCK_ITEMS 64 /* the workgroup's size, also stated in slips.cl */

static const char *const sources[] = {"slips.cl", NULL};
static const int32_t slips[SLIPS] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
static const struct space_param params[] = {{"slip", SLIPS, slips}};
static const struct space space = {1, params, 0, NULL};

static bool slips_is_applicable(const struct problem *p, const struct context *context,
                                const char **reason)
{
    static const char epilogue[] = "+bias+requant(INT8,channel)+add(INT8,NCHW)+relu";
    (void)context;
    *reason = "needs a forward INT8 NCHW convolution with a 1x1 filter, groups, stride and batch 1 "
              "and one epilogue";
    return p->direction == DIRECTION_F && p->type[TENSOR_X] == TYPE_INT8 &&
           p->type[TENSOR_W] == TYPE_INT8 && p->type[TENSOR_Y] == TYPE_INT8 &&
           p->layout[TENSOR_X] == LAYOUT_NCHW && p->spatial_dim == 2 && p->n == 1 &&
           p->groups == 1 && p->fil[AXIS_H] == 1 && p->fil[AXIS_W] == 1 && p->pad[AXIS_H] == 0 &&
           p->pad[AXIS_W] == 0 && p->stride[AXIS_H] == 1 && p->stride[AXIS_W] == 1 &&
           strcmp(p->epilogue, epilogue) == 0;
}

static double slips_estimate(const struct problem *p, const struct context *context)
{
    (void)p;
    (void)context;
    return 0.5;
}

static void slips_default_config(const struct problem *p, const struct context *context,
                                 struct perf_config *config)
{
    (void)p;
    (void)context;
    *config = (struct perf_config){.count = 1, .values = {SLIP_NONE}};
}

static void add_pack(const struct problem *p, int slip, struct solution *solution)
{
    struct launch *launch = solution_add_launch(solution, "slips.cl", "slips_pack");

    launch_option_int(launch, "SLIP", slip);
    launch_arg_tensor(launch, TENSOR_W);
    launch_arg_tensor(launch, TENSOR_PACKED);
    launch_arg_int32(launch, p->c);
    launch_arg_int32(launch, p->k);
    launch_set_line(launch, p->c * p->k, BLOCK_ITEMS);
    solution->pack_count = 1;
    solution->packed_bytes = (uint64_t)(p->c * p->k);
}

static bool slips_solve(const struct problem *p, const struct context *context,
                        const struct perf_config *config, struct solution *solution, GError **error)
{
    static const enum tensor_role operands[] = {TENSOR_X,    TENSOR_PACKED,   TENSOR_Y,
                                                TENSOR_BIAS, TENSOR_RESIDUAL, TENSOR_SCALES};
    int64_t pixels = p->out[AXIS_H] * p->out[AXIS_W];
    int slip = config->values[0];
    (void)context;
    (void)error;
    add_pack(p, slip, solution);
    struct launch *launch = solution_add_launch(solution, "slips.cl", "slips_run");
    launch_option_int(launch, "SLIP", slip);
    for (gsize i = 0; i < G_N_ELEMENTS(operands); i++) {
        bool reads_w = slip == SLIP_PACK_READS_W && operands[i] == TENSOR_PACKED;
        launch_arg_tensor(launch, reads_w ? TENSOR_W : operands[i]);
    }
    launch_arg_int32(launch, p->c);
    launch_arg_int32(launch, p->k);
    launch_arg_int32(launch, pixels);
    launch_set_line(launch, p->k * pixels, BLOCK_ITEMS);
    conv_set_exact_work(p, solution);
    return true;
}

const struct solver solver_slips = {
    .provider = "test",
    .name = "ConvSlips",
    .revision = 1,
    .algorithm = "Direct",
    .epilogues = EPILOGUE_DOES_ALL,
    .sources = sources,
    .is_applicable = slips_is_applicable,
    .estimate = slips_estimate,
    .default_config = slips_default_config,
    .space = &space,
    .solve = slips_solve,
};
