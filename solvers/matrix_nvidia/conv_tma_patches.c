/*
 * Convolutions whose filters do not overlap along the width, as those that embed patches of an image, as ConvTma computes
 * them with fewer filter positions and more channels. F, B and W of 2D convolutions in NHWC, FP16, BF16 or, as far as ConvTma does, TF32, one group; the
 * filter's width is the stride, columns have neither padding nor dilation, and filters fill each row. B has no epilogue.
 * The other problem must be one that ConvTma serves. sm_90 only.
 *
 * In NHWC the elements that a filter's row multiplies are neighbours in memory: the row's columns with their channels. So
 * the row is one position of fil_w * c channels, and x has out_w such columns. ConvTma pads channels to whole chunks of
 * 16 bytes: three channels in 16 columns to 48 instead of 128. Where filters do not overlap along the height either, each
 * row of filters is an image of its own, and the stride is 1. (B keeps the stride: there it says which filter position
 * meets a row of x.)
 */
#include "solvers/common/conv_common.h"
#include "solvers/framework/solver_rows.h"
#include "solvers/matrix_nvidia/conv_tma.h"

static const char *const sources[] = {"conv_tma.cl", "conv_matrix_sum.cl", "conv_transpose.cl",
                                      "conv_transpose_blocks.cl", NULL};

/* Whether filters lie side by side along an axis, from its start to its end. */
static bool is_divided(const struct problem *p, enum axis axis)
{
    return p->fil[axis] == p->stride[axis] && p->pad[axis] == 0 && p->dilation[axis] == 1 &&
           (double)p->out[axis] * (double)p->fil[axis] == (double)p->in[axis];
}

/* Makes the axis one of single positions. */
static void drop_filter(struct problem *view, enum axis axis)
{
    view->in[axis] = view->out[axis];
    view->fil[axis] = 1;
    view->stride[axis] = 1;
}

/* The problem that ConvTma solves. p: one that the solver serves. */
static void view_of(const struct problem *p, struct problem *view)
{
    *view = *p;
    view->c = p->c * p->fil[AXIS_W];
    drop_filter(view, AXIS_W);
    if (p->direction != DIRECTION_B && is_divided(p, AXIS_H)) {
        view->n = p->n * p->out[AXIS_H];
        view->in[AXIS_H] = p->fil[AXIS_H];
        view->out[AXIS_H] = 1;
        view->stride[AXIS_H] = 1;
    }
}

static bool config_suits_view(const struct problem *p, const struct context *context,
                              const int32_t *values)
{
    struct perf_config config = {.count = TMA_PARAM_COUNT};
    struct problem view;

    view_of(p, &view);
    for (int i = 0; i < TMA_PARAM_COUNT; i++)
        config.values[i] = values[i];
    return space_contains(solver_conv_tma.space, &view, context, &config, NULL);
}

static const struct space_constraint constraints[] = {
    {"config_suits_view", "what ConvTma's constraints protect", TMA_PARAM_COUNT, config_suits_view},
};

static const struct space space = {TMA_PARAM_COUNT, conv_tma_params, G_N_ELEMENTS(constraints),
                                   constraints};

static bool tma_patches_is_applicable(const struct problem *p, const struct context *context,
                                      const char **reason)
{
    struct problem view;

    for (int t = 0; t < TENSOR_COUNT; t++) {
        if (p->layout[t] != LAYOUT_NHWC) {
            *reason = "needs tensors in NHWC";
            return false;
        }
    }
    if (p->groups != 1 || p->spatial_dim != 2) {
        *reason = "needs one group and 2 dimensions";
        return false;
    }
    if (p->fil[AXIS_W] == 1 || !is_divided(p, AXIS_W)) {
        *reason =
            "needs filters of several columns that lie side by side in each row, without padding";
        return false;
    }
    view_of(p, &view);
    return solver_conv_tma.is_applicable(&view, context, reason);
}

static uint64_t tma_patches_workspace_bytes(const struct problem *p, const struct context *context)
{
    struct problem view;

    view_of(p, &view);
    return solver_conv_tma.workspace_bytes(&view, context);
}

/* The estimate is above ConvTma's, whose copies have gaps of a stride here, and above ConvFewChannelsMatrix's where the
 * patches' channels fill the blocks of terms. */
static double tma_patches_estimate(const struct problem *p, const struct context *context)
{
    struct problem view;

    view_of(p, &view);
    return 1.1 * solver_conv_tma.estimate(&view, context);
}

static void tma_patches_default_config(const struct problem *p, const struct context *context,
                                       struct perf_config *config)
{
    struct problem view;

    view_of(p, &view);
    solver_conv_tma.default_config(&view, context, config);
}

static bool tma_patches_solve(const struct problem *p, const struct context *context,
                              const struct perf_config *config, struct solution *solution,
                              GError **error)
{
    struct problem view;

    view_of(p, &view);
    return solver_conv_tma.solve(&view, context, config, solution, error);
}

const struct solver solver_conv_tma_patches = {
    .provider = "skipjack",
    .name = "ConvTmaPatches",
    .revision = 2,
    .algorithm = "ImplicitGEMM",
    .epilogues = EPILOGUE_DOES_ALL,
    .epilogues_forward = true,
    .dynamic = true,
    .native = true,
    .sources = sources,
    .is_applicable = tma_patches_is_applicable,
    .workspace_bytes = tma_patches_workspace_bytes,
    .estimate = tma_patches_estimate,
    .default_config = tma_patches_default_config,
    .space = &space,
    .solve = tma_patches_solve,
};
