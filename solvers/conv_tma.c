/*
 * Convolutions on Hopper's matrix units, their operands brought by its copy engine: workgroups that stay, one warp that
 * orders copies ahead, and groups of four warps that multiply. F, B and W of 2D, all tensors packed, of FP16 or
 * BF16; one group, or groups of channels in 64; stride (up to 8 in F and W), dilation, any padding. Dynamic. NVIDIA's
 * sm_90 alone. What is not NHWC with channels in chunks of 16 bytes is moved first. Terms may be split (SPLITS)
 * into parts, whose sums then lie in the workspace, before the maps of tensors that workgroups make.
 */
#include "solvers/conv_common.h"
#include "solvers/matrix_common.h"
#include "solvers/matrix_sum.h"
#include "solvers/matrix_transform.h"
#include "solvers/solver_rows.h"
#include "solvers/tma_boxes.h"

enum { BLOCK_M, BLOCK_N, RESIDENT, SPLITS, PARAM_COUNT };

#define BLOCK_K          64 /* a line of 128 bytes */
#define LINE_BYTES       128
#define CHUNK_CHANNELS   8
#define GROUP_CHANNELS   64
#define ITEMS_A_GROUP    128
#define ROWS_A_GROUP     64
#define ITEMS_THAT_COPY  128
#define REGISTERS_UNIT   65536
#define REGISTERS_STEP   8
#define REGISTERS_LEAST  26   /* of an item, its sums aside, for the compiler to begin */
#define REGISTERS_FEWEST 72   /* of an item, with which nothing spills */
#define MAPS_BYTES       256  /* of a workgroup */
#define BARRIERS_BYTES   16   /* of a stage */
#define STAGED_BYTES     2048 /* that a warp stores through */
#define STAGES_LEAST     3
#define STAGES_MOST      8
/* A unit's local memory has so much more than a workgroup may have, and keeps so much of each. */
#define LOCAL_KEPT       1024
#define STRIDE_MOST      8
#define TENSOR_BYTES     0x1p40 /* a map's strides are shorter; that of one line is the whole tensor */
#define TILES_MOST       (INT32_MAX - (1 << 20)) /* with room for the step behind the last one */
#define TO_FILL          0 /* as many parts as give each workgroup of a unit a tile */

static const char *const sources[] = {"conv_tma.cl", "conv_matrix_sum.cl", "conv_transpose.cl",
                                      "conv_transpose_blocks.cl", NULL};

static const struct space_param params[PARAM_COUNT] = {
    {"BLOCK_M", 4, (const int32_t[]){64, 128, 192, 256}},
    {"BLOCK_N", 4, (const int32_t[]){64, 128, 192, 256}},
    {"RESIDENT", 2, (const int32_t[]){1, 2}},
    {"SPLITS", 10, (const int32_t[]){TO_FILL, 1, 2, 4, 8, 16, 32, 64, 128, MATRIX_SPLITS_MOST}},
};

/* ---- the workspace ---- */

static uint64_t maps_bytes(const struct context *context)
{
    int most = params[RESIDENT].values[params[RESIDENT].count - 1];

    return workspace_align((uint64_t)context->target->compute_units * (uint64_t)most * MAPS_BYTES);
}

/* The limit for what lies there beside the maps. */
static struct context beside_maps(const struct context *context)
{
    struct context rest = *context;

    rest.workspace_limit -= MIN(maps_bytes(context), rest.workspace_limit);
    return rest;
}

/* Parts that fill the units are fewer than twice as many as the most of those that are named. */
static uint64_t workspace_bytes(const struct problem *p, const struct context *context)
{
    static const struct matrix_blocks largest = {256, 256, BLOCK_K, 1};
    const struct context rest = beside_maps(context);
    uint64_t moved = matrix_transform_bytes(p, CHUNK_CHANNELS);
    uint64_t parts = matrix_workspace_bytes(p, &rest, &largest) - moved;

    return MAX(MIN(moved + 2 * parts, rest.workspace_limit), moved + parts) + maps_bytes(context);
}

/* ---- the space ---- */

static struct matrix_blocks blocks_of(const struct problem *p, const struct context *context,
                                      const int32_t *values)
{
    struct matrix_blocks blocks = {values[BLOCK_M], values[BLOCK_N], BLOCK_K, values[SPLITS]};
    double places = (double)context->target->compute_units * values[RESIDENT];

    if (values[SPLITS] == TO_FILL)
        blocks.splits = (int)CLAMP(places / matrix_workgroups(p, &blocks), 1, MATRIX_SPLITS_MOST);
    return blocks;
}

static int items_of(const int32_t *values)
{
    return values[BLOCK_M] / ROWS_A_GROUP * ITEMS_A_GROUP + ITEMS_THAT_COPY;
}

/* Beside the stages: maps, and what warps store through, 16 rows each. */
static int64_t bytes_beside(const int32_t *values)
{
    return (int64_t)values[BLOCK_M] / 16 * STAGED_BYTES + MAPS_BYTES;
}

/* As many as there is room for, whatever the problem. */
static int stages_of(const struct context *context, const int32_t *values)
{
    int64_t local = target_dynamic_local_bytes(context->target) + LOCAL_KEPT;
    int64_t room = local / values[RESIDENT] - LOCAL_KEPT - bytes_beside(values);
    int64_t stage = (int64_t)(values[BLOCK_M] + values[BLOCK_N]) * LINE_BYTES + BARRIERS_BYTES;

    return (int)CLAMP(room / stage, 0, STAGES_MOST);
}

static int64_t local_bytes_of(const struct context *context, const int32_t *values)
{
    int64_t stage = (int64_t)(values[BLOCK_M] + values[BLOCK_N]) * LINE_BYTES + BARRIERS_BYTES;

    return stages_of(context, values) * stage + bytes_beside(values);
}

static bool block_suits_sizes(const struct problem *p, const struct context *context,
                              const int32_t *values)
{
    const struct matrix_blocks blocks = {values[BLOCK_M], values[BLOCK_N], BLOCK_K, 1};

    (void)context;
    return matrix_block_suits(p, &blocks);
}

static bool sums_fit_registers(const struct problem *p, const struct context *context,
                               const int32_t *values)
{
    int sums = values[BLOCK_N] * ROWS_A_GROUP / ITEMS_A_GROUP;
    int registers = REGISTERS_UNIT / values[RESIDENT] / items_of(values);

    (void)p;
    (void)context;
    registers -= registers % REGISTERS_STEP;
    return registers >= MAX(REGISTERS_FEWEST, sums + REGISTERS_LEAST);
}

static bool stages_fit_local_memory(const struct problem *p, const struct context *context,
                                    const int32_t *values)
{
    (void)p;
    return stages_of(context, values) >= STAGES_LEAST;
}

/* What fills the units is no other number of parts than those that are named anyway. */
static bool splits_suit_target(const struct problem *p, const struct context *context,
                               const int32_t *values)
{
    const struct matrix_blocks blocks = blocks_of(p, context, values);
    const struct context rest = beside_maps(context);
    bool is_another = values[SPLITS] != TO_FILL || (blocks.splits & (blocks.splits - 1)) != 0;

    return is_another && matrix_splits_suit(p, &rest, &blocks);
}

static const struct space_constraint constraints[] = {
    {"block_suits_sizes", "arithmetic", BLOCK_N + 1, block_suits_sizes},
    {"sums_fit_registers", "registers", RESIDENT + 1, sums_fit_registers},
    {"stages_fit_local_memory", "local memory", RESIDENT + 1, stages_fit_local_memory},
    {"splits_suit_target", "compute units", SPLITS + 1, splits_suit_target},
};

static const struct space space = {PARAM_COUNT, params, G_N_ELEMENTS(constraints), constraints};

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

/* Workgroups count the tiles of all layers and parts; the smallest tiles are the most. */
static bool tiles_are_served(const struct problem *p, const struct context *context,
                             const char **reason)
{
    static const struct matrix_blocks smallest = {ROWS_A_GROUP, MATRIX_SMALLEST, BLOCK_K, 1};
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
    const struct context rest = beside_maps(context);

    *reason = "needs Hopper's copy engine (sm_90)";
    if (target_compute_capability(context->target) != 90)
        return false;
    *reason = "needs FP16 or BF16 tensors";
    if (p->type[TENSOR_X] != TYPE_FP16 && p->type[TENSOR_X] != TYPE_BF16)
        return false;
    if (!tensors_are_served(p, reason))
        return false;
    *reason = "needs a workspace for its maps of tensors";
    return maps_bytes(context) <= context->workspace_limit && matrix_serves(p, &rest, reason) &&
           tiles_are_served(p, &rest, reason);
}

/* The smallest comes first: it suits every problem. Parts are best as many as leave no unit idle. */
static void default_config(const struct problem *p, const struct context *context,
                           struct perf_config *config)
{
    static const struct matrix_blocks candidates[] = {
        {64, 64, BLOCK_K, 1},   {64, 128, BLOCK_K, 1},  {128, 64, BLOCK_K, 1},
        {256, 64, BLOCK_K, 1},  {128, 128, BLOCK_K, 1}, {128, 192, BLOCK_K, 1},
        {192, 128, BLOCK_K, 1}, {128, 256, BLOCK_K, 1}};
    const struct context rest = beside_maps(context);
    struct matrix_blocks best = candidates[0];
    double least = G_MAXDOUBLE;

    for (size_t i = 0; i < G_N_ELEMENTS(candidates); i++)
        matrix_choose(p, &rest, &candidates[i], &best, &least);
    config->count = PARAM_COUNT;
    config->values[BLOCK_M] = best.m;
    config->values[BLOCK_N] = best.n;
    config->values[RESIDENT] = best.m * best.n <= 8192 ? 2 : 1;
    config->values[SPLITS] = TO_FILL;
    if (best.splits == 1 || !splits_suit_target(p, context, config->values))
        config->values[SPLITS] = best.splits;
}

/* Beside ConvWgmma, whose items find the addresses of all that they load. */
static double estimate(const struct problem *p, const struct context *context)
{
    struct perf_config config;
    struct matrix_blocks blocks;

    default_config(p, context, &config);
    blocks = blocks_of(p, context, config.values);
    return 400.0 * matrix_used_part(p, &blocks);
}

/* ---- the launch ---- */

static void add_options(const struct problem *p, const struct context *context,
                        const int32_t *values, int splits, struct launch *launch)
{
    for (int i = 0; i < SPLITS; i++)
        launch_option_int(launch, params[i].name, values[i]);
    launch_option_int(launch, "STAGES", stages_of(context, values));
    launch_option_int(launch, "SPLIT", splits > 1);
    conv_add_direction_option(p, launch);
    launch_option_text(launch, "LANE", conv_sum_type(p));
    launch_option_text(launch, "TYPE", data_type_name(p->type[TENSOR_X]));
    launch_sort_options(launch);
}

static void add_operands(const struct problem *p, int splits, uint64_t maps, struct launch *launch)
{
    static const enum tensor_role operands[][2] = {
        [DIRECTION_F] = {TENSOR_X, TENSOR_W},
        [DIRECTION_B] = {TENSOR_Y, TENSOR_W},
        [DIRECTION_W] = {TENSOR_Y, TENSOR_X},
    };

    launch_arg_tensor(launch, operands[p->direction][0]);
    launch_arg_tensor(launch, operands[p->direction][1]);
    if (splits > 1)
        launch_arg_workspace(launch, 0);
    else
        launch_arg_tensor(launch, problem_output_role(p));
    launch_arg_workspace(launch, maps);
}

static void add_plane(struct launch *launch, const int64_t size[AXIS_COUNT])
{
    launch_arg_int32(launch, size[AXIS_W]);
    launch_arg_int32(launch, size[AXIS_H]);
}

/* As the kernel's SHAPE_PARAMETERS has them. */
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
    const int splits = blocks_of(p, context, values).splits, items = items_of(values);
    const int units = context->target->compute_units * values[RESIDENT];
    struct launch *launch = solution_add_launch(solution, "conv_tma.cl", "conv_tma");
    struct tma_boxes boxes;
    struct tma_grid grid;
    uint64_t maps = 0;

    (void)error;
    tma_boxes_init(&boxes, p);
    tma_grid_init(&grid, p, &boxes, values[BLOCK_M], values[BLOCK_N], splits, units);
    if (splits > 1)
        maps = workspace_align((uint64_t)elements * (uint64_t)splits * sizeof(float));
    add_options(p, context, values, splits, launch);
    add_operands(p, splits, maps, launch);
    add_shape(p, &boxes, &grid, splits, launch);
    launch_arg_int64(launch, elements);
    launch->local_bytes = local_bytes_of(context, values);
    launch_set_grid(launch, (const int64_t[]){grid.workgroups * items, 1, 1},
                    (const int[]){items, 1, 1});
    if (splits > 1)
        matrix_add_sum(p, elements, splits, solution);
    solution->workspace_bytes = maps + (uint64_t)grid.workgroups * MAPS_BYTES;
    matrix_transform_solution(p, CHUNK_CHANNELS, solution);
    solution->flops = 2 * conv_exact_macs(p);
    conv_set_compulsory_bytes(p, solution);
    return true;
}

const struct solver solver_conv_tma = {
    .provider = "skipjack",
    .name = "ConvTma",
    .revision = 3,
    .algorithm = "ImplicitGEMM",
    .dynamic = true,
    .native = true,
    .sources = sources,
    .is_applicable = is_applicable,
    .workspace_bytes = workspace_bytes,
    .estimate = estimate,
    .default_config = default_config,
    .space = &space,
    .solve = solve,
};
