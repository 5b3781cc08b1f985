/*
 * Pointwise operators whose input and output are contiguous along different axes: a change of layout, with a cast or an
 * epilogue if wanted (pointwise_transpose.cl).
 */
#include "solvers/common/conv_common.h"
#include "solvers/framework/solver_rows.h"
#include "solvers/operators/operator_common.h"

enum { ITEMS, TILE, PARAM_COUNT };

/* Shorter axes leave most of a block empty. */
#define LENGTH_LEAST 4

static const char *const sources[] = {"pointwise_transpose.cl", NULL};

/* The axis along which x is contiguous, -1 for none. */
static int near_axis(const struct operator_axes *axes)
{
    for (int i = 0; i < axes->count; i++) {
        if (axes->stride[TENSOR_X][i] == 1 && axes->size[i] > 1)
            return i;
    }
    return -1;
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

static int64_t tile_bytes(const struct problem *p, int32_t tile)
{
    return (int64_t)tile * (tile + 1) * data_type_bytes(p->type[TENSOR_X]);
}

static bool tile_fits_local_memory(const struct problem *p, const struct context *context,
                                   const int32_t *values)
{
    return context_is_cpu(context) || context->target->local_bytes == 0 ||
           tile_bytes(p, values[TILE]) <= context->target->local_bytes;
}

/* The largest tile that is useful holds the longer of both axes. */
static bool tile_is_filled(const struct problem *p, const struct context *context,
                           const int32_t *values)
{
    struct operator_axes axes;

    (void)context;
    operator_piece_axes(p, &axes);
    return values[TILE] == 8 ||
           values[TILE] / 2 < MAX(axes.size[near_axis(&axes)], axes.size[axes.count - 1]);
}

static const struct space_param params[PARAM_COUNT] = {
    [ITEMS] = {"ITEMS", 5, (const int32_t[]){1, 64, 128, 256, 512}},
    [TILE] = {"TILE", 5, (const int32_t[]){8, 16, 32, 64, 128}},
};

static const struct space_constraint constraints[] = {
    {"items_suit_target", "workgroup size", ITEMS + 1, items_suit_target},
    {"tile_fits_local_memory", "local memory", TILE + 1, tile_fits_local_memory},
    {"tile_is_filled", "tuning time", TILE + 1, tile_is_filled},
};

static const struct space space = {PARAM_COUNT, params, G_N_ELEMENTS(constraints), constraints};

static bool transpose_is_applicable(const struct problem *p, const struct context *context,
                                    const char **reason)
{
    struct operator_axes axes;
    int near;

    (void)context;
    if (!operator_types_are_served(p, reason) || !operator_count_is_served(p, reason) ||
        !operator_layouts_are_plain(p, reason))
        return false;
    operator_piece_axes(p, &axes);
    near = near_axis(&axes);
    if (near < 0 || near == axes.count - 1 || axes.stride[TENSOR_Y][axes.count - 1] != 1) {
        *reason = "needs an input and an output that are contiguous along different axes";
        return false;
    }
    if (axes.size[near] < LENGTH_LEAST || axes.size[axes.count - 1] < LENGTH_LEAST) {
        *reason = "needs at least 4 elements along both contiguous axes";
        return false;
    }
    return true;
}

static double transpose_estimate(const struct problem *p, const struct context *context)
{
    (void)p;
    (void)context;
    return 8.0;
}

static void transpose_default_config(const struct problem *p, const struct context *context,
                                     struct perf_config *config)
{
    *config = (struct perf_config){PARAM_COUNT, {context_is_cpu(context) ? 1 : 256, 32}};
    while (config->values[TILE] > 8 && !tile_is_filled(p, context, config->values))
        config->values[TILE] /= 2;
}

static bool transpose_solve(const struct problem *p, const struct context *context,
                            const struct perf_config *config, struct solution *solution,
                            GError **error)
{
    const int32_t *values = config->values;
    const int32_t frame[OPERATOR_PARAM_COUNT] = {values[ITEMS], 1, 1};
    struct operator_axes axes;
    struct operator_launch making;
    int64_t groups = 1;
    int near;

    (void)context;
    (void)error;
    operator_piece_axes(p, &axes);
    near = near_axis(&axes);
    operator_begin(&making, solution, "pointwise_transpose.cl", "pointwise_transpose", p, &axes,
                   frame);
    launch_option_int(making.launch, "NEAR_AXIS", near);
    launch_option_int(making.launch, "TILE", values[TILE]);
    operator_add_axis_strides(&making, TENSOR_X);
    operator_end(&making);
    for (int i = 0; i < axes.count; i++)
        groups *= i == near || i == axes.count - 1 ? conv_divide_up(axes.size[i], values[TILE])
                                                   : axes.size[i];
    launch_set_line(making.launch, groups * values[ITEMS], values[ITEMS]);
    operator_set_work(p, 1, solution);
    return true;
}

const struct solver solver_pointwise_transpose = {
    .provider = "skipjack",
    .name = "PointwiseTranspose",
    .kind = OP_POINTWISE,
    .revision = 1,
    .algorithm = "Direct",
    .own_strides = true,
    .epilogues = EPILOGUE_DOES_ALL | EPILOGUE_DOES_ANY_RESIDUAL,
    .sources = sources,
    .is_applicable = transpose_is_applicable,
    .estimate = transpose_estimate,
    .default_config = transpose_default_config,
    .space = &space,
    .solve = transpose_solve,
};
