/* Forward convolution as a matrix product that unfolds the input block by block (conv_cpu_gemm.cl). */
#include "solvers/common/conv_common.h"
#include "solvers/common/conv_epilogue.h"
#include "solvers/cpu/conv_cpu_tile.h"
#include "solvers/framework/solver_rows.h"

enum {
    VEC = CPU_TILE_VEC,
    TILE_VECTORS = CPU_TILE_VECTORS,
    TILE_K = CPU_TILE_K,
    CRS_BLOCK,
    K_BLOCK,
    PARAM_COUNT
};

/* Output positions that a work-item computes, in panels of TILE_VECTORS * VEC. */
#define ITEM_PIXELS   64
#define CRS_BLOCK_MIN 256
#define K_BLOCK_MIN   64

static const char *const sources[] = {"conv_cpu_gemm.cl", NULL};

static const struct space_param params[PARAM_COUNT] = {
    [VEC] = {"VEC", 2, (const int32_t[]){8, 16}},
    [TILE_VECTORS] = {"TILE_VECTORS", 3, (const int32_t[]){1, 2, 3}},
    [TILE_K] = {"TILE_K", 3, (const int32_t[]){4, 6, 8}},
    [CRS_BLOCK] = {"CRS_BLOCK", 2, (const int32_t[]){CRS_BLOCK_MIN, 512}},
    [K_BLOCK] = {"K_BLOCK", 2, (const int32_t[]){K_BLOCK_MIN, 256}},
};

/* Only the smallest of the blocks that hold all terms of the problem is valid: larger ones give the same kernel. */
static bool crs_block_is_distinct(const struct problem *p, const struct context *context,
                                  const int32_t *values)
{
    (void)context;
    return values[CRS_BLOCK] == CRS_BLOCK_MIN ||
           p->c / p->groups * p->fil[AXIS_H] * p->fil[AXIS_W] > CRS_BLOCK_MIN;
}

static bool k_block_is_distinct(const struct problem *p, const struct context *context,
                                const int32_t *values)
{
    (void)context;
    return values[K_BLOCK] == K_BLOCK_MIN || p->k / p->groups > K_BLOCK_MIN;
}

static const struct space_constraint constraints[] = {
    {"sums_fit_registers", "vector registers", TILE_K + 1, tile_sums_fit},
    {"sums_hide_latency", "multiply-add units", TILE_K + 1, tile_sums_are_enough},
    {"crs_block_is_distinct", "tuning time", CRS_BLOCK + 1, crs_block_is_distinct},
    {"k_block_is_distinct", "tuning time", K_BLOCK + 1, k_block_is_distinct},
};

static const struct space space = {PARAM_COUNT, params, G_N_ELEMENTS(constraints), constraints};

static bool cpu_gemm_is_applicable(const struct problem *p, const struct context *context,
                                   const char **reason)
{
    if (!context_is_cpu(context)) {
        *reason = "needs a CPU: one work-item computes a whole tile in vector registers";
        return false;
    }
    return conv_is_nchw_fp32_forward(p, reason);
}

/* The factors were measured relative to the naive kernel: unfolding x pays where many output channels use it. */
static double cpu_gemm_estimate(const struct problem *p, const struct context *context)
{
    (void)context;
    return p->k / p->groups >= K_BLOCK_MIN ? 38.0 : p->k / p->groups >= 8 ? 10.0 : 2.0;
}

/* Small blocks: they make enough work-items for any number of threads. */
static void cpu_gemm_default_config(const struct problem *p, const struct context *context,
                                    struct perf_config *config)
{
    (void)p;
    *config = (struct perf_config){
        PARAM_COUNT, {8, 1, tile_default_k(context->target), CRS_BLOCK_MIN, K_BLOCK_MIN}};
}

static void add_arguments(const struct problem *p, struct launch *launch)
{
    const int64_t *const sizes[] = {p->in, p->fil, p->out, p->pad, p->stride, p->dilation};

    for (int t = 0; t < TENSOR_COUNT; t++)
        launch_arg_tensor(launch, (enum tensor_role)t);
    launch_arg_int32(launch, problem_tensor_elements(p, TENSOR_X));
    launch_arg_int32(launch, p->groups);
    launch_arg_int32(launch, p->c / p->groups);
    launch_arg_int32(launch, p->k / p->groups);
    for (gsize i = 0; i < G_N_ELEMENTS(sizes); i++) {
        launch_arg_int32(launch, sizes[i][AXIS_H]);
        launch_arg_int32(launch, sizes[i][AXIS_W]);
    }
}

static bool cpu_gemm_solve(const struct problem *p, const struct context *context,
                           const struct perf_config *config, struct solution *solution,
                           GError **error)
{
    struct launch *launch = solution_add_launch(solution, "conv_cpu_gemm.cl", "conv_cpu_gemm");
    const int32_t *values = config->values;
    int64_t panel = (int64_t)values[VEC] * values[TILE_VECTORS];
    int64_t item_pixels = ITEM_PIXELS / panel * panel;
    int64_t pixels = p->out[AXIS_H] * p->out[AXIS_W];
    int64_t k_count = p->k / p->groups;

    (void)context;
    (void)error;
    for (int i = 0; i < PARAM_COUNT; i++)
        launch_option_int(launch, params[i].name, values[i]);
    launch_option_int(launch, "PANELS", item_pixels / panel);
    conv_add_epilogue_options(p, launch);
    launch_sort_options(launch);
    add_arguments(p, launch);
    conv_add_epilogue_args(p, launch);
    launch_set_grid(launch,
                    (const int64_t[3]){conv_divide_up(pixels, item_pixels),
                                       conv_divide_up(k_count, values[K_BLOCK]), p->n * p->groups},
                    (const int[3]){1, 1, 1});
    conv_set_full_work(p, solution);
    return true;
}

const struct solver solver_conv_cpu_gemm = {
    .provider = "skipjack",
    .name = "ConvCpuGemm",
    .revision = 1,
    .algorithm = "ImplicitGEMM",
    .dynamic = true,
    .epilogues = EPILOGUE_DOES_ALL,
    .sources = sources,
    .is_applicable = cpu_gemm_is_applicable,
    .estimate = cpu_gemm_estimate,
    .default_config = cpu_gemm_default_config,
    .space = &space,
    .solve = cpu_gemm_solve,
};
