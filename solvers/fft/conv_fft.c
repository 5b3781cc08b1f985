/*
 * Forward convolution through Fourier transforms of overlapping tiles
 * (overlap-save); kernels/device/fft/conv_fft.cl says how.
 *
 * Covers: F, 2D; every layout whose channels do not lie in blocks, packed or
 * not; FP32, FP16 and BF16 in any mixture, computed in FP32; groups, any
 * padding, stride and dilation. Filters of 5 or more positions along an axis,
 * whose reach over the stride leaves a transform of 64 a tile that is worth it.
 * The spectra lie in workspace.
 *
 * Accuracy: an output carries the rounding of its whole tile, so errors go by
 * the largest output, not by its own size. They stay below a quarter of what
 * FFTs are allowed: 16 (1 + log2(L + 1)) units of 2^-24 times the tensor's
 * largest magnitude, L the products of a sum (worker/verify/tolerance.h).
 * Measured for L from 5 to 36300: up to 6 units with values of either sign, 14
 * with values of one sign; that is at least 11 times below.
 */
#include <math.h>

#include "solvers/common/conv_common.h"
#include "solvers/fft/conv_fft.h"
#include "solvers/framework/solver_rows.h"

/* Positions along an axis from which a filter is large. */
#define LARGE_FILTER 5
/* Strides and dilations up to this keep positions within 31 bits where the reach fits. */
#define STEP_MOST    (1 << 19)

static const char *const sources[] = {"conv_fft.cl", "conv_fft_product.cl", NULL};

static bool filter_is_served(const struct problem *p, const char **reason)
{
    struct fft_plan plan;

    if (p->fil[AXIS_H] < LARGE_FILTER && p->fil[AXIS_W] < LARGE_FILTER) {
        *reason = "needs a filter of 5 or more positions along an axis";
        return false;
    }
    for (int a = AXIS_H; a <= AXIS_W; a++) {
        if (p->stride[a] > STEP_MOST || p->dilation[a] > STEP_MOST) {
            *reason = "needs strides and dilations of at most 2^19";
            return false;
        }
    }
    fft_plan_init(p, FFT_SIZE_MAX, &plan);
    if (!fft_plan_is_useful(p, &plan)) {
        *reason =
            "needs a filter short enough for a transform of 64 to yield 16 outputs along each axis, or all of them";
        return false;
    }
    /* Otherwise inputs that no output reads, between filter positions, could outweigh all others, and their
     * rounding errors would show in small sums. */
    if (p->out[AXIS_H] < p->dilation[AXIS_H] / plan.h.step ||
        p->out[AXIS_W] < p->dilation[AXIS_W] / plan.w.step) {
        *reason = "needs at least as many outputs along each axis as the dilation skips positions";
        return false;
    }
    return true;
}

/* Work-items that every device counts in 32 bits. */
#define ITEMS_MOST INT32_MAX

/* A work-item transforms two rows of a plane; LANES planes are transformed together. */
static bool transforms_fit(const struct fft_plan *plan)
{
    for (int t = 0; t < TENSOR_COUNT; t++) {
        double rows = plan->groups * (t == TENSOR_Y ? plan->channels : plan->terms);
        double planes = fft_plan_planes(plan, (enum tensor_role)t) + 15 * rows;
        if (planes * (plan->size / 2) > ITEMS_MOST)
            return false;
    }
    return true;
}

/* A work-item of the product computes at least 8 sums, and padding may make blocks four times too many. */
static bool product_fits(const struct fft_plan *plan)
{
    return (plan->channels + 15) * (plan->columns + 15) * plan->groups * 4 / 8 <= ITEMS_MOST &&
           plan->groups * plan->terms <= INT32_MAX;
}

static bool plans_fit(const struct problem *p, const char **reason)
{
    for (int size = FFT_SIZE_MIN; size <= FFT_SIZE_MAX; size *= 2) {
        struct fft_plan plan;
        fft_plan_init(p, size, &plan);
        if (!fft_plan_is_useful(p, &plan))
            continue;
        if (!transforms_fit(&plan) || !product_fits(&plan)) {
            *reason = "needs fewer planes: 32 bits count the work-items that transform them";
            return false;
        }
        /* Up to this, sizes in doubles are exact. */
        if (fft_default_bytes(&plan) > 0x1p52) {
            *reason = "needs spectra of fewer than 2^52 bytes";
            return false;
        }
    }
    return true;
}

static bool fft_is_applicable(const struct problem *p, const struct context *context,
                              const char **reason)
{
    (void)context;
    if (!conv_is_plain(p, reason))
        return false;
    if (p->direction != DIRECTION_F || p->spatial_dim != 2) {
        *reason = "needs a 2D forward convolution";
        return false;
    }
    if (p->type[TENSOR_X] == TYPE_INT8) {
        *reason = "needs FP32, FP16 or BF16 tensors";
        return false;
    }
    return conv_types_are_served(p, reason) && conv_layouts_are_plain(p, reason) &&
           conv_counts_fit_32_bits(p, reason) && filter_is_served(p, reason) &&
           plans_fit(p, reason);
}

static uint64_t fft_workspace_bytes(const struct problem *p, const struct context *context)
{
    (void)context;
    return (uint64_t)fft_most_bytes(p);
}

/* Measured on a CPU: 14 times the naive kernel's speed for equal operations. On a GPU relative to the other
 * portable kernels: a 5x5 on an H200 took a tenth of ConvIm2ColGemm's time. */
static double fft_estimate(const struct problem *p, const struct context *context)
{
    double speed = context_is_cpu(context) ? 14 : 20;
    struct fft_plan plan;

    fft_plan_choose(p, &plan);
    return speed * 2 * problem_macs(p) / fft_plan_cost(&plan);
}

struct recipe {
    const struct problem *p;
    const struct context *context;
    const int32_t *values;
    struct fft_plan plan;
    uint64_t offset[TENSOR_COUNT]; /* of the spectra, by role */
    struct solution *solution;
};

static void add_pair(struct launch *launch, int64_t h, int64_t w)
{
    launch_arg_int32(launch, h);
    launch_arg_int32(launch, w);
}

static void add_axes(struct launch *launch, const int64_t sizes[AXIS_COUNT])
{
    add_pair(launch, sizes[AXIS_H], sizes[AXIS_W]);
}

/* Adds the launch that transforms tensor `role`: LANES planes at once, `count` planes for each of `rows` of
 * each group. */
static struct launch *add_transform(const struct recipe *recipe, enum tensor_role role,
                                    const char *entry, double count, double rows)
{
    static const char *const parts[TENSOR_COUNT] = {"PART_X", "PART_W", "PART_Y"};
    static const char *const types[TENSOR_COUNT] = {"TYPE_X", "TYPE_W", "TYPE_Y"};
    const int32_t *values = recipe->values;
    struct launch *launch = solution_add_launch(recipe->solution, "conv_fft.cl", entry);
    bool on_cpu = context_is_cpu(recipe->context);
    int jobs = fft_plane_items(recipe->context, values[FFT_SIZE]);
    int items = on_cpu ? 1 : values[FFT_LANES] * jobs;
    int64_t groups = (int64_t)(ceil(count / values[FFT_LANES]) * rows * recipe->plan.groups);

    launch_option_int(launch, parts[role], 1);
    launch_option_text(launch, types[role], data_type_name(recipe->p->type[role]));
    launch_option_int(launch, "SIZE", values[FFT_SIZE]);
    launch_option_int(launch, "LANES", values[FFT_LANES]);
    launch_option_int(launch, "JOBS", jobs);
    launch_option_int(launch, "BLOCK", values[role == TENSOR_W ? FFT_BLOCK_K : FFT_BLOCK_N]);
    if (on_cpu)
        launch_option_int(launch, "VEC", values[FFT_LANES]);
    launch_sort_options(launch);
    launch_set_line(launch, groups * items, items);
    return launch;
}

static void add_w(const struct recipe *recipe)
{
    const struct problem *p = recipe->p;
    const struct fft_plan *plan = &recipe->plan;
    struct launch *launch =
        add_transform(recipe, TENSOR_W, "conv_fft_w", plan->channels, plan->terms);

    launch_arg_tensor(launch, TENSOR_W);
    launch_arg_workspace(launch, recipe->offset[TENSOR_W]);
    conv_add_plane_strides(launch, TENSOR_W);
    launch_arg_int32(launch, p->groups);
    launch_arg_int32(launch, p->c / p->groups);
    launch_arg_int32(launch, p->k / p->groups);
    add_pair(launch, plan->h.phases, plan->w.phases);
    add_pair(launch, plan->h.step, plan->w.step);
    add_axes(launch, p->fil);
    add_axes(launch, p->stride);
    add_axes(launch, p->dilation);
    add_pair(launch, plan->h.taps, plan->w.taps);
}

static void add_x(const struct recipe *recipe)
{
    const struct problem *p = recipe->p;
    const struct fft_plan *plan = &recipe->plan;
    struct launch *launch =
        add_transform(recipe, TENSOR_X, "conv_fft_x", plan->columns, plan->terms);

    launch_arg_tensor(launch, TENSOR_X);
    launch_arg_workspace(launch, recipe->offset[TENSOR_X]);
    conv_add_plane_strides(launch, TENSOR_X);
    launch_arg_int32(launch, p->groups);
    launch_arg_int32(launch, p->c / p->groups);
    add_pair(launch, plan->h.phases, plan->w.phases);
    add_pair(launch, plan->h.step, plan->w.step);
    add_axes(launch, p->in);
    add_axes(launch, p->pad);
    add_axes(launch, p->stride);
    add_pair(launch, plan->h.tile, plan->w.tile);
    add_pair(launch, plan->h.tiles, plan->w.tiles);
    launch_arg_int32(launch, (int64_t)plan->columns);
}

static void add_product(const struct recipe *recipe)
{
    const int32_t *values = recipe->values;
    const struct fft_plan *plan = &recipe->plan;
    struct launch *launch =
        solution_add_launch(recipe->solution, "conv_fft_product.cl", "conv_fft_product");
    int items = fft_product_items(recipe->context, values);
    double k_blocks = ceil(plan->channels / values[FFT_BLOCK_K]);
    double n_blocks = ceil(plan->columns / values[FFT_BLOCK_N]);

    launch_option_int(launch, "VEC", fft_vector_lanes(recipe->context));
    for (int i = FFT_BLOCK_K; i < FFT_PARAM_COUNT; i++)
        launch_option_int(launch, fft_space.params[i].name, values[i]);
    launch_sort_options(launch);
    launch_arg_workspace(launch, recipe->offset[TENSOR_W]);
    launch_arg_workspace(launch, recipe->offset[TENSOR_X]);
    launch_arg_workspace(launch, recipe->offset[TENSOR_Y]);
    launch_arg_int32(launch, recipe->p->groups);
    launch_arg_int32(launch, (int64_t)plan->terms);
    launch_arg_int32(launch, (int64_t)plan->channels);
    launch_arg_int32(launch, (int64_t)n_blocks);
    launch_set_grid(launch,
                    (const int64_t[3]){(int64_t)(k_blocks * n_blocks * plan->groups) * items,
                                       (int64_t)plan->frequencies, 1},
                    (const int[3]){items, 1, 1});
}

static void add_y(const struct recipe *recipe)
{
    const struct problem *p = recipe->p;
    const struct fft_plan *plan = &recipe->plan;
    struct launch *launch =
        add_transform(recipe, TENSOR_Y, "conv_fft_y", plan->columns, plan->channels);

    launch_arg_workspace(launch, recipe->offset[TENSOR_Y]);
    launch_arg_tensor(launch, TENSOR_Y);
    conv_add_plane_strides(launch, TENSOR_Y);
    launch_arg_int32(launch, p->groups);
    launch_arg_int32(launch, p->k / p->groups);
    add_axes(launch, p->out);
    add_pair(launch, plan->h.tile, plan->w.tile);
    add_pair(launch, plan->h.tiles, plan->w.tiles);
    launch_arg_int32(launch, (int64_t)plan->columns);
}

static bool fft_solve(const struct problem *p, const struct context *context,
                      const struct perf_config *config, struct solution *solution, GError **error)
{
    struct recipe recipe = {
        .p = p, .context = context, .values = config->values, .solution = solution};
    double bytes[TENSOR_COUNT];

    (void)error;
    fft_plan_init(p, config->values[FFT_SIZE], &recipe.plan);
    fft_plan_slices(&recipe.plan, config->values[FFT_BLOCK_K], config->values[FFT_BLOCK_N], bytes);
    for (int t = 0; t < TENSOR_COUNT; t++) {
        recipe.offset[t] = solution->workspace_bytes;
        solution->workspace_bytes += (uint64_t)bytes[t];
    }
    add_w(&recipe);
    add_x(&recipe);
    add_product(&recipe);
    add_y(&recipe);
    solution->flops = fft_plan_transform_flops(&recipe.plan) + fft_plan_product_flops(&recipe.plan);
    conv_set_compulsory_bytes(p, solution);
    return true;
}

const struct solver solver_conv_fft = {
    .provider = "skipjack",
    .name = "ConvFft",
    .revision = 1,
    .algorithm = "FFT",
    .dynamic = true,
    .any_strides = true,
    .sources = sources,
    .is_applicable = fft_is_applicable,
    .workspace_bytes = fft_workspace_bytes,
    .estimate = fft_estimate,
    .default_config = fft_default_config,
    .space = &fft_space,
    .solve = fft_solve,
};
