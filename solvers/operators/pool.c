/*
 * Pools: the largest or the mean element of each window (pool.cl). PoolNaive serves every layout and takes window and
 * strides when it runs; PoolPieces has the window compiled in and computes several neighbours at once: channels where they
 * are last, else positions of a row.
 */
#include <string.h>

#include "solvers/common/conv_common.h"
#include "solvers/framework/solver_rows.h"
#include "solvers/operators/operator_common.h"

/* The longest piece, whose positions must be countable in int. */
#define PIECE_MOST    1024
/* Windows of more elements than this are not unrolled. */
#define UNROLLED_MOST 64

static const char *const sources[] = {"pool.cl", NULL};

static bool naive_is_applicable(const struct problem *p, const struct context *context,
                                const char **reason)
{
    (void)context;
    for (int a = 0; a < AXIS_COUNT; a++) {
        if ((double)conv_reach(p, (enum axis)a) +
                (double)p->stride[a] * (double)(p->out[a] + PIECE_MOST) >
            INT32_MAX) {
            *reason = "needs padded sizes and windows below 2^31";
            return false;
        }
    }
    if ((double)p->fil[AXIS_D] * (double)p->fil[AXIS_H] * (double)p->fil[AXIS_W] > 1 << 24) {
        *reason = "needs windows of at most 2^24 elements";
        return false;
    }
    return operator_types_are_served(p, reason) && operator_count_is_served(p, reason);
}

static bool pieces_is_applicable(const struct problem *p, const struct context *context,
                                 const char **reason)
{
    return naive_is_applicable(p, context, reason) && operator_layouts_are_plain(p, reason);
}

static double pieces_estimate(const struct problem *p, const struct context *context)
{
    struct operator_axes axes;

    (void)context;
    operator_piece_axes(p, &axes);
    return axes.size[axes.count - 1] >= 8 ? 6.0 : 1.5;
}

static int mean_of(const struct problem *p)
{
    return strcmp(p->mode, "max") == 0 ? 0 : strcmp(p->mode, "average") == 0 ? 1 : 2;
}

/* INT8 and INT32 are compared and summed as integers; sums of INT32 might leave their range. */
static const char *lane_type(const struct problem *p)
{
    bool is_integer =
        p->type[TENSOR_X] == TYPE_INT8 || (p->type[TENSOR_X] == TYPE_INT32 && mean_of(p) == 0);

    return is_integer ? "int" : "float";
}

static void add_window_options(const struct problem *p, struct launch *launch)
{
    static const char *const names[][AXIS_COUNT] = {
        {"FIL_D", "FIL_H", "FIL_W"},
        {"PAD_D", "PAD_H", "PAD_W"},
        {"STRIDE_D", "STRIDE_H", "STRIDE_W"},
        {"DILATION_D", "DILATION_H", "DILATION_W"},
    };
    const int64_t *const values[] = {p->fil, p->pad, p->stride, p->dilation};

    launch_option_int(launch, "WINDOW_IS_FIXED", 1);
    for (gsize i = 0; i < G_N_ELEMENTS(names); i++) {
        for (int a = 0; a < AXIS_COUNT; a++)
            launch_option_int(launch, names[i][a], values[i][a]);
    }
}

static bool add_launch(const struct problem *p, const int32_t *values, struct solution *solution)
{
    struct operator_axes axes;
    struct operator_launch making;
    double window = (double)p->fil[AXIS_D] * (double)p->fil[AXIS_H] * (double)p->fil[AXIS_W];
    bool is_unrolled = values && values[OPERATOR_ITEMS] > 1 && window <= UNROLLED_MOST;

    operator_axes_init(p, &axes);
    operator_begin(&making, solution, "pool.cl", "pool", p, &axes, values);
    launch_option_int(making.launch, "MEAN", mean_of(p));
    launch_option_text(making.launch, "LANE", lane_type(p));
    launch_option_int(making.launch, "LANES_ARE_W", operator_lanes_are_w(&axes));
    launch_option_int(making.launch, "UNROLLED", is_unrolled);
    operator_add_logical_strides(&making, TENSOR_X);
    operator_add_sizes(&making, p->in);
    if (values) {
        add_window_options(p, making.launch);
    } else {
        operator_add_sizes(&making, p->fil);
        operator_add_sizes(&making, p->pad);
        operator_add_sizes(&making, p->stride);
        operator_add_sizes(&making, p->dilation);
    }
    operator_end(&making);
    operator_set_work(p, window, solution);
    return true;
}

static bool naive_solve(const struct problem *p, const struct context *context,
                        const struct perf_config *config, struct solution *solution, GError **error)
{
    (void)context;
    (void)config;
    (void)error;
    return add_launch(p, NULL, solution);
}

static bool pieces_solve(const struct problem *p, const struct context *context,
                         const struct perf_config *config, struct solution *solution,
                         GError **error)
{
    (void)context;
    (void)error;
    return add_launch(p, config->values, solution);
}

const struct solver solver_pool_naive = {
    .provider = "skipjack",
    .name = "PoolNaive",
    .kind = OP_POOL,
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

const struct solver solver_pool_pieces = {
    .provider = "skipjack",
    .name = "PoolPieces",
    .kind = OP_POOL,
    .revision = 1,
    .algorithm = "Direct",
    .own_strides = true,
    .epilogues = EPILOGUE_DOES_ALL | EPILOGUE_DOES_ANY_RESIDUAL,
    .sources = sources,
    .is_applicable = pieces_is_applicable,
    .estimate = pieces_estimate,
    .default_config = operator_default_config,
    .space = &operator_space,
    .solve = pieces_solve,
};
