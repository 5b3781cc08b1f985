/*
 * Convolutions as one matrix product for each group on a GPU's vector units, close to their peak. F, B and W of
 * 2D, all tensors packed, FP32 and of one layout, NCHW or NHWC; groups, stride, dilation, any padding. Dynamic.
 * B with a stride computes each phase of input positions apart, so that nothing is multiplied by zeros. Long
 * sums may be split (SPLITS, split_sum.h).
 *
 * Parameters: LOAD_A and LOAD_B neighbours are loaded at once; ASYNC copies to local memory without registers
 * while the work-item computes (NVIDIA from sm_80 on); STAGES blocks of terms are in local memory.
 */
#include "solvers/implicit_gemm/conv_simt.h"

#include "solvers/common/conv_common.h"
#include "solvers/common/split_sum.h"
#include "solvers/framework/solver_rows.h"

/* Elements of a tensor whose offsets, a little past the end too, fit 32 bits. */
#define ELEMENTS_MOST ((INT64_C(1) << 31) - (1 << 24))

static const char *const sources[] = {"conv_simt.cl", "conv_sum_splits.cl", NULL};

/* ---- what it serves ---- */

static bool tensors_are_served(const struct problem *p, const char **reason)
{
    for (int t = 0; t < TENSOR_COUNT; t++) {
        *reason = "needs FP32 tensors";
        if (p->type[t] != TYPE_FP32)
            return false;
        *reason = "needs two dimensions, and NCHW or NHWC for all tensors";
        if (p->spatial_dim != 2 || p->layout[t] != p->layout[TENSOR_X] ||
            (p->layout[t] != LAYOUT_NCHW && p->layout[t] != LAYOUT_NHWC))
            return false;
    }
    return true;
}

static bool conv_simt_is_applicable(const struct problem *p, const struct context *context,
                                    const char **reason)
{
    *reason = "needs a GPU";
    if (context_is_cpu(context) || !conv_is_plain(p, reason) || !tensors_are_served(p, reason) ||
        !conv_counts_fit_32_bits(p, reason))
        return false;
    *reason = "needs tensors of fewer than 2^31 elements";
    for (int t = 0; t < TENSOR_COUNT; t++) {
        if (problem_tensor_elements(p, (enum tensor_role)t) > ELEMENTS_MOST)
            return false;
    }
    *reason =
        "needs fewer channels and groups, or shorter strides: a grid's axes hold 65535 blocks";
    return conv_simt_fits_grid(p, context);
}

/* Relative to ConvImplicitGemm (34), which loads element by element. */
static double conv_simt_estimate(const struct problem *p, const struct context *context)
{
    const struct tile_product product = simt_product_sizes(p);
    struct perf_config config;

    conv_simt_default_config(p, context, &config);
    return 90.0 * conv_used_part(product.m, config.values[SIMT_BLOCK_M]) *
           conv_used_part(product.n, config.values[SIMT_BLOCK_N]);
}

/* ---- the launch ---- */

static void add_options(const struct problem *p, const int32_t *values, struct launch *launch)
{
    const struct simt_block block = conv_simt_block(p, values);

    simt_add_options(&block, launch);
    launch_option_int(launch, "INNER_CHANNEL", simt_is_nhwc(p));
    conv_add_direction_option(p, launch);
    launch_sort_options(launch);
}

/* Adds strides n c h w; for parts of w those of a packed NCHW w. */
static void add_strides(const struct problem *p, enum tensor_role role, bool is_split,
                        struct launch *launch)
{
    struct problem plain = *p;
    int64_t strides[5];

    if (is_split)
        plain.layout[role] = LAYOUT_NCHW;
    problem_packed_strides(&plain, role, strides);
    for (int axis = 0; axis < 5; axis++) {
        if (axis != 2)
            launch_arg_int32(launch, strides[axis]);
    }
}

/* Adds the distances in elements between groups of a, b and c, and of one place. */
static void add_groups(const struct problem *p, struct launch *launch)
{
    int64_t x[5], w[5], y[5], c = p->c / p->groups, k = p->k / p->groups;

    problem_packed_strides(p, TENSOR_X, x);
    problem_packed_strides(p, TENSOR_W, w);
    problem_packed_strides(p, TENSOR_Y, y);
    const int64_t groups[DIRECTION_COUNT][3] = {
        [DIRECTION_F] = {k * w[0], c * x[1], k * y[1]},
        [DIRECTION_B] = {k * w[0], k * y[1], c * x[1]},
        [DIRECTION_W] = {k * y[1], c * x[1], k * w[0]},
    };
    for (int i = 0; i < 3; i++)
        launch_arg_int64(launch, groups[p->direction][i]);
    for (int i = 0; i < 3; i++)
        launch_arg_int64(launch, 0);
    launch_arg_int32(launch, 1);
}

static void add_arguments(const struct problem *p, const int32_t *values, int64_t part_terms,
                          bool is_split, struct launch *launch)
{
    static const enum tensor_role operands[][3] = {
        [DIRECTION_F] = {TENSOR_W, TENSOR_X, TENSOR_Y},
        [DIRECTION_B] = {TENSOR_W, TENSOR_Y, TENSOR_X},
        [DIRECTION_W] = {TENSOR_Y, TENSOR_X, TENSOR_W},
    };
    const enum tensor_role *roles = operands[p->direction];
    const struct tile_product product = simt_product_sizes(p);

    launch_arg_tensor(launch, roles[0]);
    launch_arg_tensor(launch, roles[1]);
    if (is_split)
        launch_arg_workspace(launch, 0);
    else
        launch_arg_tensor(launch, roles[2]);
    add_strides(p, TENSOR_X, false, launch);
    add_strides(p, TENSOR_W, is_split && p->direction == DIRECTION_W, launch);
    add_strides(p, TENSOR_Y, false, launch);
    conv_add_shape_args(p, launch);
    add_groups(p, launch);
    launch_arg_int32(launch, conv_divide_up((int64_t)product.m, values[SIMT_BLOCK_M]));
    launch_arg_int32(launch, part_terms);
    launch_arg_int64(launch, is_split ? (int64_t)(product.part_bytes / sizeof(float)) : 0);
    launch_arg_int32(launch, simt_store_of(p, is_split));
}

static bool conv_simt_solve(const struct problem *p, const struct context *context,
                            const struct perf_config *config, struct solution *solution,
                            GError **error)
{
    const struct tile_product product = simt_product_sizes(p);
    const int32_t *values = config->values;
    const int64_t blocks = conv_divide_up((int64_t)product.k, values[SIMT_BLOCK_K]);
    const int64_t part_blocks = conv_divide_up(blocks, values[SIMT_SPLITS]);
    const int splits = (int)conv_divide_up(blocks, part_blocks);
    struct launch *launch = solution_add_launch(solution, "conv_simt.cl", "conv_simt");
    int items = conv_simt_items(values);

    (void)context;
    (void)error;
    add_options(p, values, launch);
    add_arguments(p, values, part_blocks * values[SIMT_BLOCK_K], splits > 1, launch);
    launch_set_grid(launch,
                    (const int64_t[3]){
                        (int64_t)(conv_simt_workgroups(&product, values) / product.layers) * items,
                        1, (int64_t)product.layers * splits},
                    (const int[3]){items, 1, 1});
    if (splits > 1) {
        if (p->direction == DIRECTION_W)
            split_sum_add(p, 0, splits, solution);
        else
            split_sum_add_packed(p, 0, splits, solution);
        solution->workspace_bytes = (uint64_t)splits * product.part_bytes;
    }
    conv_set_exact_work(p, solution);
    return true;
}

const struct solver solver_conv_simt = {
    .provider = "skipjack",
    .name = "ConvSimt",
    .revision = 5,
    .algorithm = "ImplicitGEMM",
    .dynamic = true,
    .sources = sources,
    .is_applicable = conv_simt_is_applicable,
    .workspace_bytes = conv_simt_workspace_bytes,
    .estimate = conv_simt_estimate,
    .default_config = conv_simt_default_config,
    .space = &conv_simt_space,
    .solve = conv_simt_solve,
};
