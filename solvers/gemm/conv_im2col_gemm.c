/*
 * Convolutions as a matrix product with an unfolded input, col, in the workspace (im2col). col has an element
 * for every output position, filter position and channel of x. F and W unfold x first; B multiplies first and
 * folds the product back (col2im). F, B and W; 2D and 3D; every layout whose channels are not in blocks, any
 * strides of tensors; FP32, FP16, BF16, INT8 forward; groups, stride, dilation, any padding. Dynamic.
 * ConvGemm1x1 serves 1x1 filters that need no unfolding.
 */
#include "solvers/common/conv_common.h"
#include "solvers/common/conv_epilogue.h"
#include "solvers/common/split_sum.h"
#include "solvers/framework/solver_rows.h"
#include "solvers/gemm/gemm.h"

#define PARAM_COUNT (TILE_SPLITS + 1)

/* Work-items of a workgroup of conv_col2im.cl. */
#define FOLD_ITEMS         64
/* On a GPU, work-items of a workgroup of conv_im2col.cl, which unfolds one line of col at a time. */
#define UNFOLD_ITEMS       128
/* The most workgroups of conv_im2col.cl; each may unfold several lines of col. */
#define UNFOLD_GROUPS_MOST (1 << 22)

static const char *const sources[] = {"gemm.cl", "conv_im2col.cl", "conv_col2im.cl",
                                      "conv_sum_splits.cl", NULL};

static const struct space_param params[PARAM_COUNT] = {
    TILE_PARAMS,
    TILE_SPLITS_PARAM,
};

/* filter_count(): filter positions. position_count(): output positions of all images. */
static double filter_count(const struct problem *p)
{
    return (double)p->fil[AXIS_D] * (double)p->fil[AXIS_H] * (double)p->fil[AXIS_W];
}

static double position_count(const struct problem *p)
{
    return (double)p->n * (double)p->out[AXIS_D] * (double)p->out[AXIS_H] * (double)p->out[AXIS_W];
}

static double col_elements(const struct problem *p)
{
    return (double)p->c * filter_count(p) * position_count(p);
}

/* The type of col's elements. B adds up col's elements when it folds them, so it keeps FP32. */
static enum data_type col_type(const struct problem *p)
{
    return p->direction == DIRECTION_B ? TYPE_FP32 : p->type[TENSOR_X];
}

/* Bytes of col in the workspace. The parts of split sums follow col. */
static uint64_t col_bytes(const struct problem *p)
{
    return workspace_align((uint64_t)col_elements(p) * (uint64_t)data_type_bytes(col_type(p)));
}

/* Sizes of the product. F: rows k, columns positions, terms col's terms. B: rows col's terms, columns positions,
 * terms k. W: rows k, columns col's terms, terms positions. */
static struct tile_product product_of(const struct problem *p)
{
    double c_terms = (double)(p->c / p->groups) * filter_count(p);
    double k_count = (double)(p->k / p->groups), positions = position_count(p);
    struct tile_product product = {k_count, positions, c_terms, (double)p->groups, 0, 0};

    if (p->direction == DIRECTION_B) {
        product.m = c_terms;
        product.k = k_count;
    } else if (p->direction == DIRECTION_W) {
        product.n = c_terms;
        product.k = positions;
        product.part_bytes = split_sum_part_bytes(p);
        product.beside_bytes = col_bytes(p);
    }
    return product;
}

TILE_PRODUCT_CONSTRAINTS(product_of)

static const struct space_constraint constraints[] = {
    TILE_CONSTRAINTS(block_suits_sizes, blocks_fit_grid),
    TILE_SPLITS_CONSTRAINT(parts_fit),
};

static const struct space space = {PARAM_COUNT, params, G_N_ELEMENTS(constraints), constraints};

static bool is_its_own_col(const struct problem *p)
{
    for (int a = 0; a < AXIS_COUNT; a++) {
        if (p->fil[a] != 1 || p->pad[a] != 0 || p->stride[a] != 1)
            return false;
    }
    return true;
}

static bool sizes_fit(const struct problem *p, const char **reason)
{
    double terms = (double)(p->c / p->groups) * filter_count(p);
    double m = p->direction == DIRECTION_B ? terms : (double)(p->k / p->groups);

    if (!conv_counts_fit_32_bits(p, reason) || !gemm_grid_fits(p, m, (double)p->groups, reason))
        return false;
    if (position_count(p) > INT32_MAX / 2 || terms > INT32_MAX / 2 ||
        (double)p->c * filter_count(p) * (double)p->n > INT32_MAX / 2 || col_elements(p) > 0x1p50) {
        *reason = "needs an unfolded x of fewer than 2^30 lines";
        return false;
    }
    return true;
}

static bool im2col_is_applicable(const struct problem *p, const struct context *context,
                                 const char **reason)
{
    (void)context;
    if (!conv_is_plain(p, reason) || !conv_types_are_served(p, reason) ||
        !conv_layouts_are_plain(p, reason))
        return false;
    if (is_its_own_col(p)) {
        *reason = "needs input to unfold: a 1x1 filter of stride 1 without padding has none";
        return false;
    }
    return sizes_fit(p, reason);
}

static uint64_t im2col_workspace_bytes(const struct problem *p, const struct context *context)
{
    const struct tile_product product = product_of(p);

    return col_bytes(p) + split_sum_bytes(p, tile_most_splits(&product, context));
}

static void im2col_default_config(const struct problem *p, const struct context *context,
                                  struct perf_config *config)
{
    const struct tile_product product = product_of(p);
    int32_t *values = config->values;

    tile_default_config(&product, context, config);
    values[TILE_SPLITS] =
        tile_default_splits(&product, context, values, tile_workgroups(&product, values));
    config->count = PARAM_COUNT;
}

/* A partly filled block takes as long as a full one. */
static double im2col_estimate(const struct problem *p, const struct context *context)
{
    const struct tile_product product = product_of(p);
    struct perf_config config;

    if (context_is_cpu(context))
        return 2.5;
    im2col_default_config(p, context, &config);
    return 15.0 * conv_used_part(product.m, tile_block_m(config.values)) *
           conv_used_part(product.n, tile_block_n(config.values));
}

/* Whether x's channels are neighbours in memory. If so, channels are neighbours in col too. */
static bool is_by_term(const struct problem *p)
{
    int64_t strides[5];

    problem_packed_strides(p, TENSOR_X, strides);
    return strides[1] < strides[4];
}

static void add_sizes(const struct problem *p, struct launch *launch)
{
    const int64_t *const sizes[] = {p->in, p->fil, p->out, p->pad, p->stride, p->dilation};

    for (int axis = 0; axis < 5; axis++)
        launch_arg_stride(launch, TENSOR_X, axis);
    launch_arg_int32(launch, p->c);
    launch_arg_int32(launch, p->n);
    for (gsize i = 0; i < G_N_ELEMENTS(sizes); i++) {
        for (int a = 0; a < AXIS_COUNT; a++)
            launch_arg_int32(launch, sizes[i][a]);
    }
}

static void add_unfold_launch(const struct problem *p, const struct context *context,
                              struct solution *solution)
{
    struct launch *launch = solution_add_launch(solution, "conv_im2col.cl", "conv_im2col");
    bool is_cpu = context_is_cpu(context), by_term = is_by_term(p);
    int items_h = is_cpu ? 1 : by_term ? 2 : 8, items_w = is_cpu ? 1 : UNFOLD_ITEMS / items_h;
    double lines = by_term ? position_count(p) : (double)p->c * filter_count(p) * (double)p->n;
    int64_t groups = MIN((int64_t)lines, UNFOLD_GROUPS_MOST);

    launch_option_text(launch, "TYPE_X", data_type_name(p->type[TENSOR_X]));
    launch_option_int(launch, "BY_TERM", by_term);
    launch_option_int(launch, "ITEMS_H", items_h);
    launch_option_int(launch, "ITEMS_W", items_w);
    launch_sort_options(launch);
    launch_arg_tensor(launch, TENSOR_X);
    launch_arg_workspace(launch, 0);
    add_sizes(p, launch);
    launch_arg_int32(launch, (int64_t)lines);
    launch_arg_int32(launch, groups);
    launch_set_line(launch, groups * items_h * items_w, items_h * items_w);
}

static void add_fold_launch(const struct problem *p, struct solution *solution)
{
    struct launch *launch = solution_add_launch(solution, "conv_col2im.cl", "conv_col2im");
    int64_t count = p->n * p->c, items;

    for (int a = 0; a < AXIS_COUNT; a++)
        count *= p->in[a];
    items = conv_loop_items(count, FOLD_ITEMS);
    launch_option_text(launch, "TYPE_X", data_type_name(p->type[TENSOR_X]));
    launch_option_int(launch, "BY_TERM", is_by_term(p));
    conv_add_epilogue_options(p, launch);
    launch_sort_options(launch);
    launch_arg_workspace(launch, 0);
    launch_arg_tensor(launch, TENSOR_X);
    add_sizes(p, launch);
    launch_arg_int64(launch, items);
    conv_add_epilogue_args(p, launch);
    launch_set_line(launch, items, FOLD_ITEMS);
}

#define STRIDE(axis, times) ((struct gemm_step){axis, times})
#define ELEMENTS(count)     ((struct gemm_step){GEMM_ELEMENTS, count})

/* Sets the axes of col's terms (channels and filter positions, in col's order). steps[of_w] become w's strides, or
 * with dense_w element counts, for split-K parts, which are packed copies of w. */
static void set_terms(const struct problem *p, bool dense_w, int of_w, struct gemm_axis axes[])
{
    bool by_term = is_by_term(p);
    int64_t count = p->c / p->groups, filter = (int64_t)filter_count(p);
    int64_t c_step = by_term ? 1 : filter * (int64_t)position_count(p);
    int64_t step = by_term ? p->c : (int64_t)position_count(p), dense = 1;
    int first = by_term ? 0 : 1;

    axes[by_term ? 3 : 0].count = count;
    axes[by_term ? 3 : 0].steps[of_w] = dense_w ? ELEMENTS(filter) : STRIDE(1, 1);
    axes[by_term ? 3 : 0].steps[1 - of_w] = ELEMENTS(c_step);
    for (int a = AXIS_COUNT - 1; a >= 0; a--) {
        struct gemm_axis *axis = &axes[first + a];
        axis->count = p->fil[a];
        axis->steps[of_w] = dense_w ? ELEMENTS(dense) : STRIDE(2 + a, 1);
        axis->steps[1 - of_w] = ELEMENTS(step);
        step *= p->fil[a];
        dense *= p->fil[a];
    }
}

/* Sets the axes of output positions; steps[of_y] become y's strides. */
static void set_positions(const struct problem *p, int of_y, struct gemm_axis axes[])
{
    int64_t step = is_by_term(p) ? (int64_t)filter_count(p) * p->c : 1;

    for (int a = AXIS_COUNT - 1; a >= 0; a--) {
        axes[1 + a].count = p->out[a];
        axes[1 + a].steps[of_y] = STRIDE(2 + a, 1);
        axes[1 + a].steps[1 - of_y] = ELEMENTS(step);
        step *= p->out[a];
    }
    axes[0].count = p->n;
    axes[0].steps[of_y] = STRIDE(0, 1);
    axes[0].steps[1 - of_y] = ELEMENTS(step);
}

/* Elements of col from one group's channels to the next group's. */
static int64_t group_step(const struct problem *p)
{
    int64_t c_count = p->c / p->groups;

    return is_by_term(p) ? c_count
                         : c_count * (int64_t)filter_count(p) * (int64_t)position_count(p);
}

/* Describes F as the product y = w col: rows are y's channels, columns positions, terms col's terms. */
static void set_forward(const struct problem *p, struct gemm *gemm)
{
    int64_t k_count = p->k / p->groups;

    gemm_tensor(gemm, &gemm->a, TENSOR_W);
    gemm_workspace(&gemm->b, 0, col_type(p));
    gemm_tensor(gemm, &gemm->c, TENSOR_Y);
    gemm_set_axis(&gemm->m[3], k_count, STRIDE(0, 1), STRIDE(1, 1));
    set_positions(p, 1, gemm->n);
    set_terms(p, false, 0, gemm->k);
    gemm->batch[1].a = STRIDE(0, k_count);
    gemm->batch[1].b = ELEMENTS(group_step(p));
    gemm->batch[1].c = STRIDE(1, k_count);
}

/* Describes B as the product col = w' y (w' is w transposed): rows are col's terms, columns positions, terms y's
 * channels. */
static void set_backward(const struct problem *p, struct gemm *gemm)
{
    int64_t k_count = p->k / p->groups;

    gemm_tensor(gemm, &gemm->a, TENSOR_W);
    gemm_tensor(gemm, &gemm->b, TENSOR_Y);
    gemm_workspace(&gemm->c, 0, col_type(p));
    set_terms(p, false, 0, gemm->m);
    set_positions(p, 0, gemm->n);
    gemm_set_axis(&gemm->k[3], k_count, STRIDE(0, 1), STRIDE(1, 1));
    gemm->batch[1].a = STRIDE(0, k_count);
    gemm->batch[1].b = STRIDE(1, k_count);
    gemm->batch[1].c = ELEMENTS(group_step(p));
}

/* Describes W as the product w = y col' (col' is col transposed): rows are y's channels, columns col's terms, terms
 * positions. Parts of split sums follow col. */
static void set_weights(const struct problem *p, const int32_t *values, struct gemm *gemm,
                        struct solution *solution)
{
    int64_t k_count = p->k / p->groups, row = p->c / p->groups * (int64_t)filter_count(p);

    gemm->splits =
        tile_split_terms(values, (int64_t)position_count(p), values[TILE_SPLITS], &gemm->part);
    gemm_tensor(gemm, &gemm->a, TENSOR_Y);
    gemm_workspace(&gemm->b, 0, col_type(p));
    gemm_tensor(gemm, &gemm->c, TENSOR_W);
    if (gemm->splits > 1)
        gemm_workspace(&gemm->c, col_bytes(p), TYPE_FP32);
    gemm_set_axis(&gemm->m[3], k_count, STRIDE(1, 1),
                  gemm->splits > 1 ? ELEMENTS(row) : STRIDE(0, 1));
    set_terms(p, gemm->splits > 1, 1, gemm->n);
    set_positions(p, 0, gemm->k);
    gemm->batch[1].a = STRIDE(1, k_count);
    gemm->batch[1].b = ELEMENTS(group_step(p));
    gemm->batch[1].c = gemm->splits > 1 ? ELEMENTS(k_count * row) : STRIDE(0, k_count);
    gemm->split_step = p->k * row;
    solution->workspace_bytes += split_sum_bytes(p, gemm->splits);
}

static bool im2col_solve(const struct problem *p, const struct context *context,
                         const struct perf_config *config, struct solution *solution,
                         GError **error)
{
    const int32_t *values = config->values;
    struct gemm gemm;

    (void)error;
    gemm_init(&gemm, p);
    gemm.batch[1].count = p->groups;
    gemm.finishes = p->direction == DIRECTION_F;
    solution->workspace_bytes = col_bytes(p);
    if (p->direction == DIRECTION_F)
        set_forward(p, &gemm);
    else if (p->direction == DIRECTION_B)
        set_backward(p, &gemm);
    else
        set_weights(p, values, &gemm, solution);
    if (p->direction != DIRECTION_B)
        add_unfold_launch(p, context, solution);
    gemm_add_launch(&gemm, context, values, solution);
    if (p->direction == DIRECTION_B)
        add_fold_launch(p, solution);
    if (gemm.splits > 1)
        split_sum_add(p, col_bytes(p), gemm.splits, solution);
    conv_set_full_work(p, solution);
    return true;
}

const struct solver solver_conv_im2col_gemm = {
    .provider = "skipjack",
    .name = "ConvIm2ColGemm",
    .revision = 2,
    .algorithm = "GEMM",
    .dynamic = true,
    .any_strides = true,
    .epilogues = EPILOGUE_DOES_ALL,
    .sources = sources,
    .is_applicable = im2col_is_applicable,
    .workspace_bytes = im2col_workspace_bytes,
    .estimate = im2col_estimate,
    .default_config = im2col_default_config,
    .space = &space,
    .solve = im2col_solve,
};
