/*
 * Forward convolution with the shape compiled in, over a padded copy of x that is divided into the stride's
 * phases (conv_cpu_direct.cl, conv_cpu_pack.cl).
 */
#include "solvers/common/conv_common.h"
#include "solvers/common/conv_epilogue.h"
#include "solvers/cpu/conv_cpu_tile.h"
#include "solvers/framework/solver_rows.h"

enum { VEC = CPU_TILE_VEC, TILE_VECTORS = CPU_TILE_VECTORS, TILE_K = CPU_TILE_K, PARAM_COUNT };

static const char *const sources[] = {"conv_cpu_direct.cl", "conv_cpu_pack.cl", NULL};

/* The padded copy of x in the workspace, with sizes by axis; only H and W are used. */
struct copy {
    /* phases of the copy: different remainders modulo the stride that filter positions have */
    int64_t phases[AXIS_COUNT];
    int64_t size[AXIS_COUNT]; /* rows, pitch */
    /* elements of the copy for all images and channels; exact where the solver applies */
    double elements;
};

static void copy_shape(const struct problem *p, struct copy *copy)
{
    copy->elements = (double)p->n * (double)p->c;
    for (int a = AXIS_H; a <= AXIS_W; a++) {
        copy->phases[a] = MIN(p->fil[a], conv_stride_period(p, (enum axis)a));
        copy->size[a] = p->out[a] + (p->fil[a] - 1) * p->dilation[a] / p->stride[a];
        copy->elements *= (double)copy->phases[a] * (double)copy->size[a];
    }
}

/* Output positions, counted in rows of the copy's pitch, without the unused end of the last row. */
static int64_t position_count(const struct problem *p, const struct copy *copy)
{
    return (p->out[AXIS_H] - 1) * copy->size[AXIS_W] + p->out[AXIS_W];
}

#define VEC_MIN          8
#define VEC_MAX          16
#define TILE_VECTORS_MAX 4
#define TILE_K_MIN       4
/* Tiles of output channels that a work-item computes: enough to reuse its part of x, few enough for many threads. */
#define TILES_A_BLOCK    16

static const struct space_param params[PARAM_COUNT] = {
    [VEC] = {"VEC", 2, (const int32_t[]){VEC_MIN, VEC_MAX}},
    [TILE_VECTORS] = {"TILE_VECTORS", 4, (const int32_t[]){1, 2, 3, TILE_VECTORS_MAX}},
    [TILE_K] = {"TILE_K", 3, (const int32_t[]){TILE_K_MIN, 6, 8}},
};

static bool positions_fill_tiles(const struct problem *p, const struct context *context,
                                 const int32_t *values)
{
    struct copy copy;

    (void)context;
    copy_shape(p, &copy);
    return tile_wastes_little(position_count(p, &copy), values[VEC] * values[TILE_VECTORS],
                              VEC_MIN);
}

static bool channels_fill_tiles(const struct problem *p, const struct context *context,
                                const int32_t *values)
{
    (void)context;
    return tile_wastes_little(p->k / p->groups, values[TILE_K], TILE_K_MIN);
}

static const struct space_constraint constraints[] = {
    {"positions_fill_tiles", "arithmetic", TILE_VECTORS + 1, positions_fill_tiles},
    {"sums_fit_registers", "vector registers", TILE_K + 1, tile_sums_fit},
    {"sums_hide_latency", "multiply-add units", TILE_K + 1, tile_sums_are_enough},
    {"channels_fill_tiles", "arithmetic", TILE_K + 1, channels_fill_tiles},
};

static const struct space space = {PARAM_COUNT, params, G_N_ELEMENTS(constraints), constraints};

/* Elements of the copy, plus the elements past its end that the last tile reads. */
static int64_t workspace_elements(const struct copy *copy)
{
    return (int64_t)copy->elements + VEC_MAX * TILE_VECTORS_MAX;
}

static uint64_t cpu_direct_workspace_bytes(const struct problem *p, const struct context *context)
{
    struct copy copy;

    (void)context;
    copy_shape(p, &copy);
    return (uint64_t)workspace_elements(&copy) * sizeof(float);
}

static bool cpu_direct_is_applicable(const struct problem *p, const struct context *context,
                                     const char **reason)
{
    struct copy copy;

    if (!context_is_cpu(context)) {
        *reason = "needs a CPU: one work-item computes a whole tile in vector registers";
        return false;
    }
    if (!conv_is_nchw_fp32_forward(p, reason))
        return false;
    copy_shape(p, &copy);
    if (copy.elements > INT32_MAX - (1 << 20)) {
        *reason = "needs a padded copy of x whose offsets fit 32 bits";
        return false;
    }
    return true;
}

static double cpu_direct_estimate(const struct problem *p, const struct context *context)
{
    (void)context;
    /* Measured relative to the naive kernel: with few output channels, sharing x among them gains little. */
    return p->k / p->groups >= TILE_K_MIN ? 39.0 : 4.0;
}

static void cpu_direct_default_config(const struct problem *p, const struct context *context,
                                      struct perf_config *config)
{
    (void)p;
    *config = (struct perf_config){PARAM_COUNT, {8, 1, tile_default_k(context->target)}};
}

/* Whether the kernel may read x itself: a copy would equal x, and no tile reads past x's end. */
static bool reads_x_in_place(const struct problem *p, const struct copy *copy, int64_t tile)
{
    for (int a = AXIS_H; a <= AXIS_W; a++) {
        if (p->stride[a] != 1 || p->pad[a] != 0 || copy->size[a] != p->in[a])
            return false;
    }
    return position_count(p, copy) % tile == 0;
}

static void add_pack_launch(const struct problem *p, const struct copy *copy,
                            struct solution *solution)
{
    struct launch *launch = solution_add_launch(solution, "conv_cpu_pack.cl", "conv_cpu_pack_x");
    const int64_t *const sizes[] = {p->in,  copy->phases, copy->size,
                                    p->pad, p->stride,    p->dilation};

    launch_arg_tensor(launch, TENSOR_X);
    launch_arg_workspace(launch, 0);
    for (gsize i = 0; i < G_N_ELEMENTS(sizes); i++) {
        launch_arg_int32(launch, sizes[i][AXIS_H]);
        launch_arg_int32(launch, sizes[i][AXIS_W]);
    }
    launch_set_grid(launch,
                    (const int64_t[3]){copy->phases[AXIS_W], copy->phases[AXIS_H], p->n * p->c},
                    (const int[3]){1, 1, 1});
    solution->workspace_bytes = (uint64_t)workspace_elements(copy) * sizeof(float);
}

static void add_options(const struct problem *p, const struct copy *copy,
                        const struct perf_config *config, struct launch *launch)
{
    const struct {
        const char *name;
        int64_t value;
    } shape[] = {
        {"C_COUNT", p->c / p->groups},
        {"DILATION_H", p->dilation[AXIS_H]},
        {"DILATION_W", p->dilation[AXIS_W]},
        {"FIL_H", p->fil[AXIS_H]},
        {"FIL_W", p->fil[AXIS_W]},
        {"GROUPS", p->groups},
        {"K_BLOCK", TILES_A_BLOCK * config->values[TILE_K]},
        {"K_COUNT", p->k / p->groups},
        {"OUT_H", p->out[AXIS_H]},
        {"OUT_W", p->out[AXIS_W]},
        {"PHASES_H", copy->phases[AXIS_H]},
        {"PHASES_W", copy->phases[AXIS_W]},
        {"PITCH", copy->size[AXIS_W]},
        {"ROWS", copy->size[AXIS_H]},
        {"STRIDE_H", p->stride[AXIS_H]},
        {"STRIDE_W", p->stride[AXIS_W]},
        /* Filters wider than 7 stay loops; unrolled they would take long to compile. */
        {"UNROLL", p->fil[AXIS_W] <= 7 ? p->fil[AXIS_W] : 1},
    };

    for (gsize i = 0; i < G_N_ELEMENTS(shape); i++)
        launch_option_int(launch, shape[i].name, shape[i].value);
    for (int i = 0; i < PARAM_COUNT; i++)
        launch_option_int(launch, params[i].name, config->values[i]);
    conv_add_epilogue_options(p, launch);
    launch_sort_options(launch);
}

static bool cpu_direct_solve(const struct problem *p, const struct context *context,
                             const struct perf_config *config, struct solution *solution,
                             GError **error)
{
    const int32_t *values = config->values;
    int64_t tile = (int64_t)values[VEC] * values[TILE_VECTORS];
    int64_t k_count = p->k / p->groups, k_block = TILES_A_BLOCK * values[TILE_K];
    struct copy copy;
    struct launch *launch;
    bool in_place;

    (void)context;
    (void)error;
    copy_shape(p, &copy);
    in_place = reads_x_in_place(p, &copy, tile);
    if (!in_place)
        add_pack_launch(p, &copy, solution);
    launch = solution_add_launch(solution, "conv_cpu_direct.cl", "conv_cpu_direct");
    add_options(p, &copy, config, launch);
    if (in_place)
        launch_arg_tensor(launch, TENSOR_X);
    else
        launch_arg_workspace(launch, 0);
    launch_arg_tensor(launch, TENSOR_W);
    launch_arg_tensor(launch, TENSOR_Y);
    conv_add_epilogue_args(p, launch);
    launch_set_grid(launch,
                    (const int64_t[3]){conv_divide_up(position_count(p, &copy), tile),
                                       conv_divide_up(k_count, k_block), p->n * p->groups},
                    (const int[3]){1, 1, 1});
    conv_set_full_work(p, solution);
    return true;
}

const struct solver solver_conv_cpu_direct = {
    .provider = "skipjack",
    .name = "ConvCpuDirect",
    .revision = 1,
    .algorithm = "Direct",
    .dynamic = false,
    .epilogues = EPILOGUE_DOES_ALL,
    .sources = sources,
    .is_applicable = cpu_direct_is_applicable,
    .workspace_bytes = cpu_direct_workspace_bytes,
    .estimate = cpu_direct_estimate,
    .default_config = cpu_direct_default_config,
    .space = &space,
    .solve = cpu_direct_solve,
};
