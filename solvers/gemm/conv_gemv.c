/*
 * Forward convolutions of few images whose filter is the whole image, fully connected layers among them, as products of
 * rows (conv_gemv.cl). Packed tensors of one layout, whose rows have the same order. Dynamic.
 */
#include "solvers/common/conv_common.h"
#include "solvers/common/conv_epilogue.h"
#include "solvers/framework/solver_rows.h"

enum { THREADS, ROWS, VECTOR, N_TILE, PARAM_COUNT };

/* Beyond so many images a matrix product reads less. */
#define IMAGES_MOST    64
/* Bytes of the longest load instruction of a GPU. */
#define PIECE_BYTES    16
/* The most sums and elements of pieces that a work-item holds: more spill to memory. */
#define GPU_HELD_MOST  40
/* The most lanes of sums of a CPU's work-item. */
#define CPU_LANES_MOST 128

static const char *const sources[] = {"conv_gemv.cl", NULL};

static const struct space_param params[PARAM_COUNT] = {
    [THREADS] = {"THREADS", 5, (const int32_t[]){1, 32, 64, 128, 256}},
    [ROWS] = {"ROWS", 4, (const int32_t[]){1, 2, 4, 8}},
    [VECTOR] = {"VECTOR", 5, (const int32_t[]){1, 2, 4, 8, 16}},
    [N_TILE] = {"N_TILE", 4, (const int32_t[]){1, 2, 4, 8}},
};

/* Elements of an image, and of a filter. */
static int64_t row_length(const struct problem *p)
{
    return p->c * p->fil[AXIS_D] * p->fil[AXIS_H] * p->fil[AXIS_W];
}

static bool threads_suit_target(const struct problem *p, const struct context *context,
                                const int32_t *values)
{
    (void)p;
    if (context_is_cpu(context))
        return values[THREADS] == 1;
    return values[THREADS] > 1 && (context->target->max_workgroup == 0 ||
                                   values[THREADS] <= context->target->max_workgroup);
}

/* More rows than channels repeat the last channel. */
static bool rows_are_filled(const struct problem *p, const struct context *context,
                            const int32_t *values)
{
    (void)context;
    return values[ROWS] == 1 || values[ROWS] / 2 < p->k;
}

/* A CPU's vectors are loaded from any address. */
static bool vector_suits_rows(const struct problem *p, const struct context *context,
                              const int32_t *values)
{
    int bytes = MAX(data_type_bytes(p->type[TENSOR_X]), data_type_bytes(p->type[TENSOR_W]));

    return values[VECTOR] == 1 || context_is_cpu(context) ||
           (values[VECTOR] * bytes <= PIECE_BYTES && row_length(p) % values[VECTOR] == 0);
}

static bool images_are_filled(const struct problem *p, const struct context *context,
                              const int32_t *values)
{
    (void)context;
    return values[N_TILE] == 1 || values[N_TILE] / 2 < p->n;
}

static bool sums_fit(const struct problem *p, const struct context *context, const int32_t *values)
{
    int sums = values[ROWS] * values[N_TILE];

    (void)p;
    if (context_is_cpu(context))
        return sums * values[VECTOR] <= CPU_LANES_MOST;
    return (int64_t)sums * values[THREADS] * (int64_t)sizeof(float) <=
               context->target->local_bytes &&
           sums + (1 + values[N_TILE]) * values[VECTOR] <= GPU_HELD_MOST;
}

static const struct space_constraint constraints[] = {
    {"threads_suit_target", "workgroup size", THREADS + 1, threads_suit_target},
    {"rows_are_filled", "tuning time", ROWS + 1, rows_are_filled},
    {"vector_suits_rows", "alignment", VECTOR + 1, vector_suits_rows},
    {"images_are_filled", "tuning time", N_TILE + 1, images_are_filled},
    {"sums_fit", "registers and local memory", N_TILE + 1, sums_fit},
};

static const struct space space = {PARAM_COUNT, params, G_N_ELEMENTS(constraints), constraints};

/* Whether x and w have their elements in the same order, and y's channels lie side by side. */
static bool layouts_are_served(const struct problem *p, const char **reason)
{
    if (!conv_images_follow(p, reason))
        return false;
    *reason = "needs x and w of one layout";
    return p->layout[TENSOR_X] == p->layout[TENSOR_W];
}

static bool gemv_is_applicable(const struct problem *p, const struct context *context,
                               const char **reason)
{
    (void)context;
    if (!conv_is_plain(p, reason) || !conv_types_are_served(p, reason) ||
        !layouts_are_served(p, reason))
        return false;
    if (p->direction != DIRECTION_F || p->groups != 1) {
        *reason = "needs the forward direction and one group";
        return false;
    }
    for (int a = 0; a < AXIS_COUNT; a++) {
        if (p->fil[a] != p->in[a] || p->out[a] != 1 || p->pad[a] != 0 ||
            (p->dilation[a] != 1 && p->fil[a] != 1)) {
            *reason = "needs a filter that is the whole image";
            return false;
        }
    }
    if (p->n > IMAGES_MOST) {
        *reason = "needs at most 64 images";
        return false;
    }
    if ((double)p->k > 1 << 22) {
        *reason = "needs at most 2^22 output channels";
        return false;
    }
    return conv_counts_fit_32_bits(p, reason);
}

/* Each image costs a pass through the units, while other solvers' tiles have room for them. */
static double gemv_estimate(const struct problem *p, const struct context *context)
{
    return (context_is_cpu(context) ? 100.0 : 1000.0) / (double)p->n;
}

/* Large vectors first; work-items without elements, channels and images are left out. */
static void gemv_default_config(const struct problem *p, const struct context *context,
                                struct perf_config *config)
{
    bool is_cpu = context_is_cpu(context);
    int32_t *values = config->values;

    *config =
        (struct perf_config){PARAM_COUNT, {is_cpu ? 1 : 128, is_cpu ? 1 : 2, is_cpu ? 8 : 16, 4}};
    while (!images_are_filled(p, context, values))
        values[N_TILE] /= 2;
    while (!rows_are_filled(p, context, values))
        values[ROWS] /= 2;
    while (values[VECTOR] > 1 &&
           (!vector_suits_rows(p, context, values) || !sums_fit(p, context, values)))
        values[VECTOR] /= 2;
    while (values[THREADS] > 32 && (values[THREADS] / 2 * values[VECTOR] >= row_length(p) ||
                                    !threads_suit_target(p, context, values)))
        values[THREADS] /= 2;
}

static bool gemv_solve(const struct problem *p, const struct context *context,
                       const struct perf_config *config, struct solution *solution, GError **error)
{
    struct launch *launch = solution_add_launch(solution, "conv_gemv.cl", "conv_gemv");
    const int32_t *values = config->values;

    (void)context;
    (void)error;
    for (int i = 0; i < PARAM_COUNT; i++)
        launch_option_int(launch, params[i].name, values[i]);
    conv_add_type_options(p, launch);
    launch_option_text(launch, "LANE", conv_sum_type(p));
    conv_add_epilogue_options(p, launch);
    launch_sort_options(launch);
    conv_add_tensor_args(launch);
    launch_arg_int32(launch, p->n);
    launch_arg_int32(launch, p->k);
    launch_arg_int32(launch, row_length(p));
    conv_add_epilogue_args(p, launch);
    launch_set_grid(launch,
                    (const int64_t[3]){conv_divide_up(p->k, values[ROWS]) * values[THREADS],
                                       conv_divide_up(p->n, values[N_TILE]), 1},
                    (const int[3]){values[THREADS], 1, 1});
    conv_set_exact_work(p, solution);
    return true;
}

const struct solver solver_conv_gemv = {
    .provider = "skipjack",
    .name = "ConvGemv",
    .revision = 1,
    .algorithm = "GEMM",
    .dynamic = true,
    .epilogues = EPILOGUE_DOES_ALL,
    .sources = sources,
    .is_applicable = gemv_is_applicable,
    .estimate = gemv_estimate,
    .default_config = gemv_default_config,
    .space = &space,
    .solve = gemv_solve,
};
