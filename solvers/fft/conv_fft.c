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
 * the largest output, not by its own size; worker/verify/tolerance.h derives the tolerance from set_rounding().
 * Measured for sums of 5 to 36300 products, in units of 2^-24 times the tensor's largest magnitude: up to 6 with
 * values of either sign, 14 with values of one sign.
 */
#include <math.h>

#include "solvers/common/conv_common.h"
#include "solvers/common/conv_epilogue.h"
#include "solvers/fft/conv_fft.h"
#include "solvers/framework/solver_rows.h"
#include "solvers/problem/problem.h"

#define BLOCK_MIN     16
#define GPU_VEC       4
#define GPU_ITEMS_MIN 64
#define GPU_ITEMS_MAX 256

static const struct space_param params[FFT_PARAM_COUNT] = {
    [FFT_SIZE] = {"SIZE", 3, (const int32_t[]){FFT_SIZE_MIN, 32, FFT_SIZE_MAX}},
    [FFT_LANES] = {"LANES", 4, (const int32_t[]){2, 4, 8, 16}},
    [FFT_BLOCK_K] = {"BLOCK_K", 3, (const int32_t[]){BLOCK_MIN, 32, 64}},
    [FFT_BLOCK_N] = {"BLOCK_N", 3, (const int32_t[]){BLOCK_MIN, 32, 64}},
    [FFT_TILE_K] = {"TILE_K", 3, (const int32_t[]){2, 4, 8}},
    [FFT_TILE_N] = {"TILE_N", 4, (const int32_t[]){4, 8, 16, 32}},
    [FFT_STAGE] = {"STAGE", 3, (const int32_t[]){0, 8, 16}},
};

/* ---- the plan ---- */

/* How a problem is cut into transforms of size by size elements (overlap-save), and the cost.
 *
 * A strided axis is the sum of `stride` convolutions of stride 1, its phases: phase i convolves every stride-th
 * input element with every stride-th filter element, both from i. Each phase's plane is cut into overlapping
 * pieces of `size` elements; a piece of a filter with `taps` elements yields size - taps + 1 outputs, its tile.
 * The spectra of input pieces and filter are multiplied, summed over channels and phases, and transformed back.
 * See conv_fft.cl, and Vasilache et al., "Fast Convolutional Nets With fbfft" (2014). Numbers are doubles,
 * which cannot overflow here; below 2^53 they are exact. */

/* How one axis is cut into transforms. */
struct fft_cut {
    /* phases: the convolutions of stride 1 whose sum is the axis' strided convolution */
    int64_t phases;
    int64_t step; /* input positions from the first one of a phase to the first one of the next */
    /* the most elements of a phase's filter, with the zeros that dilation puts between filter positions */
    int64_t taps;
    /* outputs along the axis that one transform yields; below 1 where the filter is too long for it */
    int64_t tile;
    int64_t tiles; /* transforms that cover the output; 0 where tile is below 1 */
};

struct fft_plan {
    struct fft_cut h, w;
    int size;
    double groups;
    double frequencies; /* complex numbers kept of a real plane's spectrum */
    double terms;       /* products summed for one output plane of a group */
    double channels;    /* output channels of a group */
    double columns;     /* columns of the spectra of x and y: tiles of all images */
};

static void cut_axis(const struct problem *p, enum axis axis, int size, struct fft_cut *cut)
{
    int64_t stride = p->stride[axis], last = p->dilation[axis] * (p->fil[axis] - 1);

    cut->step = stride / conv_stride_period(p, axis);
    cut->phases = MIN(stride, last + cut->step) / cut->step;
    cut->taps = last / stride + 1;
    cut->tile = size - cut->taps + 1;
    cut->tiles = cut->tile < 1 ? 0 : conv_divide_up(p->out[axis], cut->tile);
}

/* Makes the plan. The problem's strides, dilations, sizes and reach must fit 31 bits. */
static void fft_plan_init(const struct problem *p, int size, struct fft_plan *plan)
{
    cut_axis(p, AXIS_H, size, &plan->h);
    cut_axis(p, AXIS_W, size, &plan->w);
    plan->size = size;
    plan->groups = (double)p->groups;
    plan->frequencies = size * size / 2 + 2;
    plan->terms = (double)(p->c / p->groups) * (double)plan->h.phases * (double)plan->w.phases;
    plan->channels = (double)(p->k / p->groups);
    plan->columns = (double)p->n * (double)plan->h.tiles * (double)plan->w.tiles;
}

/* False where the filter leaves a transform few outputs although the image has more. */
static bool fft_plan_is_useful(const struct problem *p, const struct fft_plan *plan)
{
    return plan->h.tile >= MIN(p->out[AXIS_H], plan->size / 4) &&
           plan->w.tile >= MIN(p->out[AXIS_W], plan->size / 4);
}

static double rounded_up(double count, double unit)
{
    return ceil(count / unit) * unit;
}

/* Bytes of the spectra of x, w and y by role, each aligned as a slice of the workspace, with channels and
 * columns rounded up to blocks. */
static void fft_plan_slices(const struct fft_plan *plan, int block_k, int block_n,
                            double bytes[TENSOR_COUNT])
{
    double row = plan->frequencies * plan->groups * 2 * sizeof(float);
    double channels = rounded_up(plan->channels, block_k);
    double columns = rounded_up(plan->columns, block_n);

    bytes[TENSOR_X] = rounded_up(row * plan->terms * columns, WORKSPACE_ALIGNMENT);
    bytes[TENSOR_W] = rounded_up(row * plan->terms * channels, WORKSPACE_ALIGNMENT);
    bytes[TENSOR_Y] = rounded_up(row * plan->channels * columns, WORKSPACE_ALIGNMENT);
}

/* Planes of x, w or y that are transformed. */
static double fft_plan_planes(const struct fft_plan *plan, enum tensor_role role)
{
    double terms = role == TENSOR_Y ? 1 : plan->terms;
    double channels = role == TENSOR_X ? 1 : plan->channels;
    double columns = role == TENSOR_W ? 1 : plan->columns;

    return plan->groups * terms * channels * columns;
}

/* Operations for one complex row, as the stages of fft.h do them: each butterfly adds, subtracts and rotates by
 * its angle. A multiple of a quarter turn costs nothing, a multiple of an eighth little. */
static double row_flops(int size)
{
    double flops = 0;

    for (int half = size / 2; half > 0; half /= 2) {
        int free_turns = half >= 2 ? 2 : 1, cheap_turns = half >= 4 ? 2 : 0;
        double turns = 4 * cheap_turns + 6 * (half - free_turns - cheap_turns);
        flops += size / 2 * 4 + size / 2 / half * turns;
    }
    return flops;
}

/* Operations to transform one plane, of whose rows `pairs` pairs are transformed: rows, all columns, and the step
 * that separates or joins pairs of real rows. */
static double plane_flops(int size, double pairs)
{
    int half = size / 2;

    return (pairs + half) * row_flops(size) + pairs * 4 * (half - 1) + 4 * (half + 1);
}

/* Operations of all transforms. */
static double fft_plan_transform_flops(const struct fft_plan *plan)
{
    double pairs = plan->size / 2, kept_pairs = ceil((double)plan->h.tile / 2);
    double forward = fft_plan_planes(plan, TENSOR_X) + fft_plan_planes(plan, TENSOR_W);
    double inverse = fft_plan_planes(plan, TENSOR_Y);

    return forward * plane_flops(plan->size, pairs) + inverse * plane_flops(plan->size, kept_pairs);
}

static double fft_plan_product_flops(const struct fft_plan *plan)
{
    /* A complex multiply-add is four real ones. */
    return 8 * plan->frequencies * plan->groups * plan->terms * plan->channels * plan->columns;
}

/* The cost of a plan: its operations, with those of transforms counted four times because they run that much slower
 * than the product. */
static double fft_plan_cost(const struct fft_plan *plan)
{
    return fft_plan_product_flops(plan) + 4 * fft_plan_transform_flops(plan);
}

/* The useful plan of the least cost. The largest size is always useful. */
static void fft_plan_choose(const struct problem *p, struct fft_plan *plan)
{
    fft_plan_init(p, FFT_SIZE_MAX, plan);
    for (int size = FFT_SIZE_MAX / 2; size >= FFT_SIZE_MIN; size /= 2) {
        struct fft_plan smaller;
        fft_plan_init(p, size, &smaller);
        if (fft_plan_is_useful(p, &smaller) && fft_plan_cost(&smaller) <= fft_plan_cost(plan))
            *plan = smaller;
    }
}

/* Lanes of a vector in the kernel that multiplies spectra. */
static int fft_vector_lanes(const struct context *context)
{
    return context_is_cpu(context) ? CLAMP(context->target->vector_bytes / 4, 4, 16) : GPU_VEC;
}

/* Work-items that share a plane's rows and columns. */
static int fft_plane_items(const struct context *context, int size)
{
    return context_is_cpu(context) ? 1 : size / 2;
}

static int tiles_of(const int32_t *values)
{
    return values[FFT_BLOCK_K] / values[FFT_TILE_K] * (values[FFT_BLOCK_N] / values[FFT_TILE_N]);
}

/* Work-items of a workgroup of the kernel that multiplies spectra. */
static int fft_product_items(const struct context *context, const int32_t *values)
{
    return context_is_cpu(context) ? 1 : tiles_of(values);
}

/* As in fft.h. */
static int64_t planes_bytes(int size, int lanes)
{
    return (int64_t)2 * size * (size / 2 + 1) * lanes * (int64_t)sizeof(float);
}

static double slices_bytes(const struct fft_plan *plan, int block_k, int block_n)
{
    double bytes[TENSOR_COUNT];

    fft_plan_slices(plan, block_k, block_n, bytes);
    return bytes[TENSOR_X] + bytes[TENSOR_W] + bytes[TENSOR_Y];
}

/* ---- the default config, whose size of spectra also bounds the workspace of all configs ---- */

static int default_block(double count)
{
    return count > 32 ? 64 : count > 16 ? 32 : BLOCK_MIN;
}

/* Bytes of the spectra of x, w and y, rounded up to the default config's blocks. */
static double fft_default_bytes(const struct fft_plan *plan)
{
    return slices_bytes(plan, default_block(plan->channels), default_block(plan->columns));
}

/* The largest fft_default_bytes() over all useful transform sizes. No valid config needs more workspace. */
static double fft_most_bytes(const struct problem *p)
{
    double most = 0;

    for (int size = FFT_SIZE_MIN; size <= FFT_SIZE_MAX; size *= 2) {
        struct fft_plan plan;
        fft_plan_init(p, size, &plan);
        if (fft_plan_is_useful(p, &plan))
            most = MAX(most, fft_default_bytes(&plan));
    }
    return most;
}

static int default_lanes(const struct context *context, int size)
{
    int lanes = fft_vector_lanes(context);

    if (!context_is_cpu(context))
        return size == 16 ? 16 : size == 32 ? 8 : 2;
    while (lanes > 4 && planes_bytes(size, lanes) > context->target->local_bytes)
        lanes /= 2;
    return lanes;
}

/* Sets the default tile: on a CPU it fills the registers, on a GPU it is as tall as the number of work-items allows.
 * */
static void set_default_tile(const struct context *context, int32_t *values)
{
    int vec = fft_vector_lanes(context);

    values[FFT_TILE_N] = vec;
    values[FFT_TILE_K] = context_is_cpu(context) && vec < 16 ? 4 : 8;
    while (!context_is_cpu(context) && values[FFT_TILE_K] > 2 && tiles_of(values) < GPU_ITEMS_MIN)
        values[FFT_TILE_K] /= 2;
}

static void fft_default_config(const struct problem *p, const struct context *context,
                               struct perf_config *config)
{
    struct fft_plan plan;

    fft_plan_choose(p, &plan);
    *config = (struct perf_config){.count = FFT_PARAM_COUNT};
    config->values[FFT_SIZE] = plan.size;
    config->values[FFT_LANES] = default_lanes(context, plan.size);
    config->values[FFT_BLOCK_K] = default_block(plan.channels);
    config->values[FFT_BLOCK_N] = default_block(plan.columns);
    set_default_tile(context, config->values);
    config->values[FFT_STAGE] = context_is_cpu(context) ? 0 : 8;
}

/* ---- the space ---- */

static bool size_is_useful(const struct problem *p, const struct context *context,
                           const int32_t *values)
{
    struct fft_plan plan;

    (void)context;
    fft_plan_init(p, values[FFT_SIZE], &plan);
    return fft_plan_is_useful(p, &plan);
}

/* A transform size is valid only if the next smaller one cannot hold an image in one tile: a larger transform would
 * only cost more. */
static bool size_is_needed(const struct problem *p, const struct context *context,
                           const int32_t *values)
{
    struct fft_plan plan;

    (void)context;
    fft_plan_init(p, values[FFT_SIZE] / 2, &plan);
    return values[FFT_SIZE] == FFT_SIZE_MIN || plan.h.tiles * plan.w.tiles != 1;
}

/* On a CPU LANES is at least the vector's lanes, or 8 where the vector has more. On a GPU lanes times the
 * work-items of a plane are the workgroup. */
static bool lanes_suit_target(const struct problem *p, const struct context *context,
                              const int32_t *values)
{
    int items = values[FFT_LANES] * fft_plane_items(context, values[FFT_SIZE]);

    (void)p;
    if (context_is_cpu(context))
        return values[FFT_LANES] >= MIN(fft_vector_lanes(context), 8);
    return items >= GPU_ITEMS_MIN && items <= MIN(GPU_ITEMS_MAX, context->target->max_workgroup);
}

static bool planes_fit_local_memory(const struct problem *p, const struct context *context,
                                    const int32_t *values)
{
    (void)p;
    return planes_bytes(values[FFT_SIZE], values[FFT_LANES]) <= context->target->local_bytes;
}

static bool blocks_waste_little(const struct problem *p, const struct context *context,
                                const int32_t *values)
{
    struct fft_plan plan;

    (void)context;
    fft_plan_init(p, values[FFT_SIZE], &plan);
    return (values[FFT_BLOCK_K] == BLOCK_MIN || values[FFT_BLOCK_K] < 2 * plan.channels) &&
           (values[FFT_BLOCK_N] == BLOCK_MIN || values[FFT_BLOCK_N] < 2 * plan.columns);
}

static bool spectra_fit_workspace(const struct problem *p, const struct context *context,
                                  const int32_t *values)
{
    struct fft_plan plan;

    (void)context;
    fft_plan_init(p, values[FFT_SIZE], &plan);
    return slices_bytes(&plan, values[FFT_BLOCK_K], values[FFT_BLOCK_N]) <= fft_most_bytes(p);
}

/* Whether a tile's numbers fit registers. A CPU's sums, columns and one weight must fit 32 vector registers of 64
 * bytes, or 16 shorter ones; a GPU's sums, rows and columns half of 255 registers. */
static bool sums_fit_registers(const struct problem *p, const struct context *context,
                               const int32_t *values)
{
    int vec = fft_vector_lanes(context), rows = values[FFT_TILE_K], columns = values[FFT_TILE_N];

    (void)p;
    if (columns % vec != 0)
        return false;
    if (!context_is_cpu(context))
        return 2 * (rows * columns + rows + columns) <= 128;
    return 2 * (rows + 1) * (columns / vec) + 2 <= (context->target->vector_bytes >= 64 ? 32 : 16);
}

/* A CPU needs 8 independent sums: two multiply-add units times four cycles of latency. On a GPU other waves fill the
 * time. */
static bool sums_hide_latency(const struct problem *p, const struct context *context,
                              const int32_t *values)
{
    (void)p;
    return !context_is_cpu(context) ||
           2 * values[FFT_TILE_K] * values[FFT_TILE_N] / fft_vector_lanes(context) >= 8;
}

/* Whether a GPU's workgroup has a good number of work-items; half of the wanted least is allowed, for the smallest
 * blocks. */
static bool items_fit_workgroup(const struct problem *p, const struct context *context,
                                const int32_t *values)
{
    int items = fft_product_items(context, values);

    (void)p;
    if (values[FFT_BLOCK_N] % values[FFT_TILE_N] != 0)
        return false;
    if (context_is_cpu(context))
        return true;
    return items >= GPU_ITEMS_MIN / 2 &&
           items <= MIN(GPU_ITEMS_MAX, context->target->max_workgroup);
}

/* STAGE is 0 on CPUs, which have caches and need no staging in local memory. */
static bool stage_suits_target(const struct problem *p, const struct context *context,
                               const int32_t *values)
{
    int64_t bytes = (int64_t)values[FFT_STAGE] * 2 * (values[FFT_BLOCK_K] + values[FFT_BLOCK_N]) *
                    (int64_t)sizeof(float);

    (void)p;
    if (context_is_cpu(context))
        return values[FFT_STAGE] == 0;
    return values[FFT_STAGE] > 0 && bytes <= context->target->local_bytes;
}

static const struct space_constraint constraints[] = {
    {"size_is_useful", "arithmetic", FFT_SIZE + 1, size_is_useful},
    {"size_is_needed", "tuning time", FFT_SIZE + 1, size_is_needed},
    {"lanes_suit_target", "workgroup size", FFT_LANES + 1, lanes_suit_target},
    {"planes_fit_local_memory", "local memory", FFT_LANES + 1, planes_fit_local_memory},
    {"blocks_waste_little", "arithmetic", FFT_BLOCK_N + 1, blocks_waste_little},
    {"spectra_fit_workspace", "workspace", FFT_BLOCK_N + 1, spectra_fit_workspace},
    {"items_fit_workgroup", "workgroup size", FFT_TILE_N + 1, items_fit_workgroup},
    {"sums_fit_registers", "registers", FFT_TILE_N + 1, sums_fit_registers},
    {"sums_hide_latency", "multiply-add units", FFT_TILE_N + 1, sums_hide_latency},
    {"stage_suits_target", "local memory", FFT_STAGE + 1, stage_suits_target},
};

static const struct space fft_space = {FFT_PARAM_COUNT, params, G_N_ELEMENTS(constraints),
                                       constraints};

/* Filter positions along an axis from which the solver calls a filter large and serves it. */
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

/* The most work-items of a launch: every device counts them in 32 bits. */
#define ITEMS_MOST INT32_MAX

/* Whether the transforms' launches are within limits. A work-item transforms two rows of a plane; a workgroup
 * transforms LANES planes together. */
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

/* Whether the product's launch is within limits. A work-item computes at least 8 sums, and padding may make blocks up
 * to four times too many. */
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
        /* The sizes are computed in doubles, which are exact up to this. */
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
    uint64_t offset[TENSOR_COUNT]; /* offset in the workspace of each tensor's spectra, by role */
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
    if (role == TENSOR_Y)
        conv_add_epilogue_options(recipe->p, launch);
    launch_sort_options(launch);
    launch_set_line(launch, groups * items, items);
    return launch;
}

/* Adds the launch that transforms tensor `role`, x or w, with the arguments that both entries begin with. */
static struct launch *add_input_transform(const struct recipe *recipe, enum tensor_role role,
                                          const char *entry, double count)
{
    const struct problem *p = recipe->p;
    struct launch *launch = add_transform(recipe, role, entry, count, recipe->plan.terms);

    launch_arg_tensor(launch, role);
    launch_arg_workspace(launch, recipe->offset[role]);
    conv_add_plane_strides(launch, role);
    launch_arg_int32(launch, p->groups);
    launch_arg_int32(launch, p->c / p->groups);
    return launch;
}

/* Adds as arguments an image's tile size and tile count along each axis, and the tile count of all images. */
static void add_tiles(struct launch *launch, const struct fft_plan *plan)
{
    add_pair(launch, plan->h.tile, plan->w.tile);
    add_pair(launch, plan->h.tiles, plan->w.tiles);
    launch_arg_int32(launch, (int64_t)plan->columns);
}

static void add_w(const struct recipe *recipe)
{
    const struct problem *p = recipe->p;
    const struct fft_plan *plan = &recipe->plan;
    struct launch *launch = add_input_transform(recipe, TENSOR_W, "conv_fft_w", plan->channels);

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
    struct launch *launch = add_input_transform(recipe, TENSOR_X, "conv_fft_x", plan->columns);

    add_pair(launch, plan->h.phases, plan->w.phases);
    add_pair(launch, plan->h.step, plan->w.step);
    add_axes(launch, p->in);
    add_axes(launch, p->pad);
    add_axes(launch, p->stride);
    add_tiles(launch, plan);
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
    add_tiles(launch, plan);
    conv_add_epilogue_args(p, launch);
}

/* A value is transformed along two axes in log2(size) stages, and there are three transforms. A stage adds, and rotates
 * half of the values (two products and their sum); pairs of real rows are separated by one addition more. */
static void set_rounding(const struct problem *p, const struct fft_plan *plan,
                         struct solution *solution)
{
    const double stage = 1 + 3.0 / 2;
    double taps = (double)p->fil[AXIS_H] * (double)p->fil[AXIS_W] /
                  ((double)plan->h.phases * (double)plan->w.phases);

    solution->rounding = (struct solution_rounding){
        .transforms = true,
        .terms = plan->terms,
        .growth = sqrt(2 / fmax(taps, 1)),
        .roundings = 3 * (2 * stage * log2(plan->size) + 1),
    };
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
    set_rounding(p, &recipe.plan, solution);
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
    .epilogues = EPILOGUE_DOES_ALL,
    .sources = sources,
    .is_applicable = fft_is_applicable,
    .workspace_bytes = fft_workspace_bytes,
    .estimate = fft_estimate,
    .default_config = fft_default_config,
    .space = &fft_space,
    .solve = fft_solve,
};
