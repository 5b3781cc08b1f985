/*
 * Convolutions on Hopper's matrix units with operands brought by the copy engine (TMA). F, B and W of 2D, all
 * tensors packed, FP16 or BF16; one group, or groups with channels in 64; stride (up to 8 in F and W),
 * dilation, any padding. Dynamic. sm_90 only. Tensors that are not NHWC with channels in chunks of 16 bytes are
 * copied first.
 *
 * Workgroups are persistent: each takes tile after tile until none is left. Within a workgroup one warp orders
 * copies of blocks of terms into a ring of stages, some blocks ahead; warpgroups of four warps multiply the
 * blocks (wgmma) and then store the tile. This is the persistent, warp-specialised scheme of NVIDIA's CUTLASS.
 *
 * Terms may be split (split-K) in two ways. A team is a cluster of workgroups, each of which sums a part of a
 * tile's terms; they add up their sums through each other's local memory (distributed shared memory), so that
 * nothing goes through the workspace. Other parts are added up from the workspace, in front of the tensor maps
 * that workgroups make there.
 */
#include "solvers/matrix_nvidia/conv_tma.h"
#include "solvers/common/conv_common.h"
#include "solvers/common/matrix_sum.h"
#include "solvers/common/matrix_transform.h"
#include "solvers/framework/solver_rows.h"

#define GROUP_CHANNELS 64
#define STRIDE_MOST    8
/* a tensor map's strides are shorter; the map of a single line has the whole tensor as stride */
#define TENSOR_BYTES   0x1p40
#define TILES_MOST     (INT32_MAX - (1 << 20)) /* leaves room for the step past the last tile */

static const char *const sources[] = {"conv_tma.cl", "conv_matrix_sum.cl", "conv_transpose.cl",
                                      "conv_transpose_blocks.cl", NULL};

/* ---- what it serves ---- */

static bool tensors_are_served(const struct problem *p, const char **reason)
{
    bool is_strided =
        p->direction != DIRECTION_B && MAX(p->stride[AXIS_H], p->stride[AXIS_W]) > STRIDE_MOST;
    double c = (double)matrix_c_of(p), k = (double)matrix_k_of(p), n = (double)p->n;
    double x = n * (double)p->in[AXIS_H] * (double)p->in[AXIS_W] * c;
    double y = n * (double)p->out[AXIS_H] * (double)p->out[AXIS_W] * k;
    double w = (double)p->fil[AXIS_H] * (double)p->fil[AXIS_W] * c * k;

    *reason = "needs one group, or groups of channels in 64";
    if (p->groups > 1 &&
        (p->c / p->groups % GROUP_CHANNELS != 0 || p->k / p->groups % GROUP_CHANNELS != 0))
        return false;
    *reason = "needs strides up to 8";
    if (is_strided)
        return false;
    *reason = "needs tensors of less than 2^40 bytes";
    return MAX(MAX(x, y), w) * (double)p->groups * MATRIX_ELEMENT_BYTES < TENSOR_BYTES;
}

/* Workgroups count the tiles of all layers and parts in int; the smallest tiles are the most. */
static bool tiles_are_served(const struct problem *p, const struct context *context,
                             const char **reason)
{
    static const struct matrix_blocks smallest = {MATRIX_SMALLEST, MATRIX_SMALLEST, TMA_BLOCK_K, 1};
    struct tma_boxes boxes;
    struct tma_grid grid;

    *reason = "needs fewer than 2^31 tiles: fewer images, or shorter strides";
    tma_boxes_init(&boxes, p);
    tma_grid_init(&grid, p, &boxes, smallest.m, smallest.n,
                  matrix_default_splits(p, context, &smallest), 1);
    return grid.tiles <= TILES_MOST;
}

static bool is_applicable(const struct problem *p, const struct context *context,
                          const char **reason)
{
    const struct context rest = conv_tma_beside_maps(context);

    *reason = "needs Hopper's copy engine (sm_90)";
    if (target_compute_capability(context->target) != 90)
        return false;
    *reason = "needs FP16 or BF16 tensors";
    if (p->type[TENSOR_X] != TYPE_FP16 && p->type[TENSOR_X] != TYPE_BF16)
        return false;
    if (!tensors_are_served(p, reason))
        return false;
    *reason = "needs a workspace for tensor maps";
    return conv_tma_maps_bytes(context) <= context->workspace_limit &&
           matrix_serves(p, &rest, reason) && tiles_are_served(p, &rest, reason);
}

/* Above ConvWgmma, whose work-items compute the addresses of all they load. */
static double estimate(const struct problem *p, const struct context *context)
{
    struct perf_config config;
    struct matrix_blocks blocks;

    conv_tma_default_config(p, context, &config);
    blocks = conv_tma_blocks(p, context, config.values);
    return 400.0 * matrix_used_part(p, &blocks);
}

/* ---- the launch ---- */

static void add_options(const struct problem *p, const struct context *context,
                        const int32_t *values, int parts, struct launch *launch)
{
    for (int i = 0; i < TMA_SPLITS; i++)
        launch_option_int(launch, conv_tma_space.params[i].name, values[i]);
    launch_option_int(launch, "STAGES", conv_tma_stages(context, values));
    launch_option_int(launch, "SPLIT", parts > 1);
    conv_add_direction_option(p, launch);
    launch_option_text(launch, "LANE", conv_sum_type(p));
    launch_option_text(launch, "TYPE", data_type_name(p->type[TENSOR_X]));
    launch_sort_options(launch);
}

static void add_plane(struct launch *launch, const int64_t size[AXIS_COUNT])
{
    launch_arg_int32(launch, size[AXIS_W]);
    launch_arg_int32(launch, size[AXIS_H]);
}

/* In the order of the kernel's SHAPE_PARAMETERS. */
static void add_shape(const struct problem *p, const struct tma_boxes *boxes,
                      const struct tma_grid *grid, int splits, struct launch *launch)
{
    const int64_t period[AXIS_COUNT] = {
        [AXIS_H] = conv_stride_period(p, AXIS_H), [AXIS_W] = conv_stride_period(p, AXIS_W)};
    const int64_t *planes[] = {boxes->in, boxes->out,  p->fil, p->pad,
                               p->stride, p->dilation, period};
    const int64_t counts[] = {boxes->box[AXIS_W],   boxes->box[AXIS_H],
                              boxes->box_n,         boxes->along[AXIS_W],
                              boxes->along[AXIS_H], boxes->count,
                              grid->columns,        grid->rows,
                              grid->tiles,          splits,
                              grid->workgroups};

    launch_arg_int32(launch, boxes->n);
    launch_arg_int32(launch, matrix_c_of(p));
    launch_arg_int32(launch, matrix_k_of(p));
    launch_arg_int32(launch, p->groups);
    for (size_t i = 0; i < G_N_ELEMENTS(planes); i++)
        add_plane(launch, planes[i]);
    for (size_t i = 0; i < G_N_ELEMENTS(counts); i++)
        launch_arg_int32(launch, counts[i]);
    matrix_add_divisor(launch, grid->columns);
    matrix_add_divisor(launch, grid->rows);
    matrix_add_divisor(launch, boxes->along[AXIS_W] * boxes->along[AXIS_H]);
    matrix_add_divisor(launch, boxes->along[AXIS_W]);
}

static bool solve(const struct problem *p, const struct context *context,
                  const struct perf_config *config, struct solution *solution, GError **error)
{
    const int32_t *values = config->values;
    const int64_t elements = (int64_t)matrix_result_elements(p);
    const int splits = conv_tma_blocks(p, context, values).splits, items = conv_tma_items(values);
    const int parts = splits / values[TMA_TEAM]; /* in the workspace, if more than one */
    struct launch *launch = solution_add_launch(solution, "conv_tma.cl", "conv_tma");
    struct tma_boxes boxes;
    struct tma_grid grid;
    uint64_t maps = 0;

    (void)error;
    tma_boxes_init(&boxes, p);
    conv_tma_grid(p, context, values, &boxes, &grid);
    if (parts > 1)
        maps = workspace_align((uint64_t)elements * (uint64_t)parts * sizeof(float));
    add_options(p, context, values, parts, launch);
    conv_add_product_args(p, false, parts > 1, launch);
    launch_arg_workspace(launch, maps);
    add_shape(p, &boxes, &grid, splits, launch);
    launch_arg_int64(launch, elements);
    launch->local_bytes = conv_tma_local_bytes(context, values);
    launch_set_line(launch, grid.workgroups * items, items);
    if (parts > 1)
        matrix_add_sum(p, elements, parts, solution);
    solution->workspace_bytes = maps + (uint64_t)grid.workgroups * TMA_MAPS_BYTES;
    matrix_transform_solution(p, TMA_CHUNK_CHANNELS, solution);
    conv_set_exact_work(p, solution);
    return true;
}

const struct solver solver_conv_tma = {
    .provider = "skipjack",
    .name = "ConvTma",
    .revision = 4,
    .algorithm = "ImplicitGEMM",
    .dynamic = true,
    .native = true,
    .sources = sources,
    .is_applicable = is_applicable,
    .workspace_bytes = conv_tma_workspace_bytes,
    .estimate = estimate,
    .default_config = conv_tma_default_config,
    .space = &conv_tma_space,
    .solve = solve,
};
