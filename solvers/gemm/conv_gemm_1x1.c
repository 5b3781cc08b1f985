/*
 * Convolutions of 1x1 filters without padding as one matrix product of the tensors in place; a stride is a
 * longer step through x. F, B and W; 2D and 3D; every layout whose channels are not in blocks, any strides of
 * tensors; FP32, FP16, BF16, INT8 forward; groups; stride. Dynamic. B with a stride clears x first. W may split
 * its long sums (SPLITS, split_sum.h).
 */
#include "solvers/common/conv_common.h"
#include "solvers/common/conv_epilogue.h"
#include "solvers/common/split_sum.h"
#include "solvers/framework/solver_rows.h"
#include "solvers/gemm/gemm.h"

#define PARAM_COUNT (TILE_SPLITS + 1)

/* Work-items of a workgroup of conv_clear_x.cl. */
#define CLEAR_ITEMS 64

static const char *const sources[] = {"gemm.cl", "conv_clear_x.cl", "conv_sum_splits.cl", NULL};

static const struct space_param params[PARAM_COUNT] = {
    TILE_PARAMS,
    TILE_SPLITS_PARAM,
};

static struct tile_product product_of(const struct problem *p)
{
    struct tile_product product = {.layers = (double)p->groups};

    conv_gemm_sizes(p, &product.m, &product.n, &product.k);
    if (p->direction == DIRECTION_W)
        product.part_bytes = split_sum_part_bytes(p);
    return product;
}

TILE_PRODUCT_CONSTRAINTS(product_of)

static const struct space_constraint constraints[] = {
    TILE_CONSTRAINTS(block_suits_sizes, blocks_fit_grid),
    TILE_SPLITS_CONSTRAINT(parts_fit),
};

static const struct space space = {PARAM_COUNT, params, G_N_ELEMENTS(constraints), constraints};

static bool is_strided(const struct problem *p)
{
    return p->stride[AXIS_D] > 1 || p->stride[AXIS_H] > 1 || p->stride[AXIS_W] > 1;
}

static bool gemm_1x1_is_applicable(const struct problem *p, const struct context *context,
                                   const char **reason)
{
    (void)context;
    if (!conv_is_plain(p, reason) || !conv_types_are_served(p, reason) ||
        !conv_layouts_are_plain(p, reason))
        return false;
    for (int a = 0; a < AXIS_COUNT; a++) {
        if (p->fil[a] != 1 || p->pad[a] != 0) {
            *reason = "needs a filter of one position and no padding";
            return false;
        }
    }
    return conv_counts_fit_32_bits(p, reason) &&
           gemm_grid_fits(p, (double)MAX(p->c, p->k) / (double)p->groups, (double)p->groups,
                          reason);
}

/* The workspace of the config that takes the most. Only W splits its sums and needs any. */
static uint64_t gemm_1x1_workspace_bytes(const struct problem *p, const struct context *context)
{
    const struct tile_product product = product_of(p);

    return split_sum_bytes(p, tile_most_splits(&product, context));
}

static double gemm_1x1_estimate(const struct problem *p, const struct context *context)
{
    (void)p;
    return context_is_cpu(context) ? 10.0 : 40.0;
}

static void gemm_1x1_default_config(const struct problem *p, const struct context *context,
                                    struct perf_config *config)
{
    const struct tile_product product = product_of(p);
    int32_t *values = config->values;

    tile_default_config(&product, context, config);
    values[TILE_SPLITS] =
        tile_default_splits(&product, context, values, tile_workgroups(&product, values));
    config->count = PARAM_COUNT;
}

#define STRIDE(axis, times) ((struct gemm_step){axis, times})

/* Describes F as the product y = w x: rows are y's channels, columns its positions. Axes are numbered N C D H W. */
static void set_forward(const struct problem *p, struct gemm *gemm)
{
    gemm_tensor(gemm, &gemm->a, TENSOR_W);
    gemm_tensor(gemm, &gemm->b, TENSOR_X);
    gemm_tensor(gemm, &gemm->c, TENSOR_Y);
    gemm_set_axis(&gemm->m[3], p->k / p->groups, STRIDE(0, 1), STRIDE(1, 1));
    gemm_set_axis(&gemm->n[0], p->n, STRIDE(0, 1), STRIDE(0, 1));
    for (int a = 0; a < AXIS_COUNT; a++)
        gemm_set_axis(&gemm->n[1 + a], p->out[a], STRIDE(2 + a, p->stride[a]), STRIDE(2 + a, 1));
    gemm_set_axis(&gemm->k[3], p->c / p->groups, STRIDE(1, 1), STRIDE(1, 1));
    gemm->batch[1].a = STRIDE(0, p->k / p->groups);
    gemm->batch[1].b = STRIDE(1, p->c / p->groups);
    gemm->batch[1].c = STRIDE(1, p->k / p->groups);
}

/* Describes B as the product x = w' y (w' is w transposed): rows are x's channels, columns the positions that some
 * output reads. */
static void set_backward(const struct problem *p, struct gemm *gemm)
{
    gemm_tensor(gemm, &gemm->a, TENSOR_W);
    gemm_tensor(gemm, &gemm->b, TENSOR_Y);
    gemm_tensor(gemm, &gemm->c, TENSOR_X);
    gemm_set_axis(&gemm->m[3], p->c / p->groups, STRIDE(1, 1), STRIDE(1, 1));
    gemm_set_axis(&gemm->n[0], p->n, STRIDE(0, 1), STRIDE(0, 1));
    for (int a = 0; a < AXIS_COUNT; a++)
        gemm_set_axis(&gemm->n[1 + a], p->out[a], STRIDE(2 + a, 1), STRIDE(2 + a, p->stride[a]));
    gemm_set_axis(&gemm->k[3], p->k / p->groups, STRIDE(0, 1), STRIDE(1, 1));
    gemm->batch[1].a = STRIDE(0, p->k / p->groups);
    gemm->batch[1].b = STRIDE(1, p->k / p->groups);
    gemm->batch[1].c = STRIDE(1, p->c / p->groups);
}

/* Describes W as the product w = y x' (x' is x transposed): rows are y's channels, columns x's channels, terms the
 * positions. */
static void set_weights(const struct problem *p, struct gemm *gemm)
{
    gemm_tensor(gemm, &gemm->a, TENSOR_Y);
    gemm_tensor(gemm, &gemm->b, TENSOR_X);
    gemm_tensor(gemm, &gemm->c, TENSOR_W);
    gemm_set_axis(&gemm->m[3], p->k / p->groups, STRIDE(1, 1), STRIDE(0, 1));
    gemm_set_axis(&gemm->n[3], p->c / p->groups, STRIDE(1, 1), STRIDE(1, 1));
    gemm_set_axis(&gemm->k[0], p->n, STRIDE(0, 1), STRIDE(0, 1));
    for (int a = 0; a < AXIS_COUNT; a++)
        gemm_set_axis(&gemm->k[1 + a], p->out[a], STRIDE(2 + a, 1), STRIDE(2 + a, p->stride[a]));
    gemm->batch[1].a = STRIDE(1, p->k / p->groups);
    gemm->batch[1].b = STRIDE(1, p->c / p->groups);
    gemm->batch[1].c = STRIDE(0, p->k / p->groups);
}

/* Makes the product write split-K parts, packed copies of w in the workspace. */
static void split_weights(const struct problem *p, const int32_t *values, struct gemm *gemm,
                          struct solution *solution)
{
    int64_t c_count = p->c / p->groups, k_count = p->k / p->groups;
    double m, n, k;

    conv_gemm_sizes(p, &m, &n, &k);
    gemm->splits = tile_split_terms(values, (int64_t)k, values[TILE_SPLITS], &gemm->part);
    if (gemm->splits == 1)
        return;
    gemm_workspace(&gemm->c, 0, TYPE_FP32);
    gemm->m[3].steps[1] = STRIDE(GEMM_ELEMENTS, c_count);
    gemm->n[3].steps[1] = STRIDE(GEMM_ELEMENTS, 1);
    gemm->batch[1].c = STRIDE(GEMM_ELEMENTS, k_count * c_count);
    gemm->split_step = p->k * c_count;
    solution->workspace_bytes = split_sum_bytes(p, gemm->splits);
}

static void add_clear_launch(const struct problem *p, struct solution *solution)
{
    struct launch *launch = solution_add_launch(solution, "conv_clear_x.cl", "conv_clear_x");
    int64_t count = p->n * p->c, items;

    for (int a = 0; a < AXIS_COUNT; a++)
        count *= p->in[a];
    items = conv_loop_items(count, CLEAR_ITEMS);
    launch_option_text(launch, "TYPE_X", data_type_name(p->type[TENSOR_X]));
    conv_add_epilogue_options(p, launch);
    launch_sort_options(launch);
    launch_arg_tensor(launch, TENSOR_X);
    launch_arg_int64(launch, count);
    launch_arg_int32(launch, p->c);
    for (int a = 0; a < AXIS_COUNT; a++)
        launch_arg_int32(launch, p->in[a]);
    for (int axis = 0; axis < 5; axis++)
        launch_arg_stride(launch, TENSOR_X, axis);
    launch_arg_int64(launch, items);
    conv_add_epilogue_args(p, launch);
    launch_set_line(launch, items, CLEAR_ITEMS);
}

static bool gemm_1x1_solve(const struct problem *p, const struct context *context,
                           const struct perf_config *config, struct solution *solution,
                           GError **error)
{
    static void (*const set[DIRECTION_COUNT])(const struct problem *p, struct gemm *gemm) = {
        set_forward, set_backward, set_weights};
    struct gemm gemm;

    (void)error;
    gemm_init(&gemm, p);
    gemm.batch[1].count = p->groups;
    gemm.finishes = true;
    set[p->direction](p, &gemm);
    if (p->direction == DIRECTION_W)
        split_weights(p, config->values, &gemm, solution);
    if (p->direction == DIRECTION_B && is_strided(p))
        add_clear_launch(p, solution);
    gemm_add_launch(&gemm, context, config->values, solution);
    if (gemm.splits > 1)
        split_sum_add(p, 0, gemm.splits, solution);
    conv_set_full_work(p, solution);
    return true;
}

const struct solver solver_conv_gemm_1x1 = {
    .provider = "skipjack",
    .name = "ConvGemm1x1",
    .revision = 2,
    .algorithm = "GEMM",
    .dynamic = true,
    .any_strides = true,
    .epilogues = EPILOGUE_DOES_ALL,
    .sources = sources,
    .is_applicable = gemm_1x1_is_applicable,
    .workspace_bytes = gemm_1x1_workspace_bytes,
    .estimate = gemm_1x1_estimate,
    .default_config = gemm_1x1_default_config,
    .space = &space,
    .solve = gemm_1x1_solve,
};
