/*
 * Convolutions on Hopper's matrix units with operands brought by the copy engine (TMA). F, B and W in two and
 * three dimensions, tensors packed or strided, FP16 or BF16; F and B also FP32 where the problem permits TF32 (B's filter is then
 * copied with k innermost); one group, or groups with channels in 64; stride (up to 8
 * in F and W), dilation, any padding. Dynamic. sm_90 only. Tensors that are not NHWC or NDHWC with channels in
 * chunks of 16 bytes are copied first.
 *
 * Workgroups are persistent: each takes tile after tile until none is left. Within a workgroup one warp orders
 * copies of blocks of terms into a ring of stages, some blocks ahead; warpgroups of four warps multiply the
 * blocks (wgmma) and then store the tile. This is the persistent, warp-specialised scheme of NVIDIA's CUTLASS.
 *
 * Terms may be split (split-K) in two ways. A team is a cluster of workgroups, each of which sums a part of a
 * tile's terms; they add up their sums in distributed shared memory, so that nothing goes through the workspace. Other
 * parts are added up from the workspace, in front of the tensor maps that workgroups make there.
 *
 * Epilogues: all, with a residual of the output's layout.
 */
#include "solvers/matrix_nvidia/conv_tma.h"

#include <math.h>
#include <string.h>

#include "solvers/common/conv_common.h"
#include "solvers/common/conv_epilogue.h"
#include "solvers/common/matrix_epilogue.h"
#include "solvers/common/matrix_sum.h"
#include "solvers/framework/solver_rows.h"

#define GROUP_CHANNELS   64
#define STRIDE_MOST      8
/* The most bytes of a tensor: larger strides do not fit a tensor map, and a map of a single line has the whole tensor
 * as stride. */
#define TENSOR_BYTES     0x1p40
/* the most tiles; workgroups also count one step past the last tile in int */
#define TILES_MOST       (INT32_MAX - (1 << 20))
#define LINE_BYTES       128
#define ITEMS_A_GROUP    128
#define ROWS_A_GROUP     64
#define ITEMS_THAT_COPY  128
#define REGISTERS_UNIT   65536
#define REGISTERS_STEP   8
/* the least registers of a work-item, beside its sums, with which the compiler succeeds */
#define REGISTERS_LEAST  26
/* registers of a work-item with which nothing spills, whatever its sums */
#define REGISTERS_FEWEST 72
/* Registers of a work-item that multiplies, beside its sums, with which an epilogue spills two at most, and B with depth
 * nothing; with fewer they spill. */
#define REGISTERS_FUSED  56
/* If work-items have at most REGISTERS_MOVED registers each, the copying warps keep REGISTERS_KEPT and give the rest to
 * the multiplying warps, as in conv_tma.cl. With depth the copying warps keep eight more, which does not change the
 * fewest registers that the multiplying warps get. */
#define REGISTERS_MOVED  168
#define REGISTERS_KEPT   24
#define BARRIERS_BYTES   16   /* of a stage */
#define STAGED_BYTES     2048 /* bytes of a warp's buffer for storing results */
#define STAGES_LEAST     3
#define STAGES_MOST      8
/* Bytes of local memory that a multiprocessor reserves for each workgroup, and that it has beyond the most a
 * workgroup may use. */
#define LOCAL_KEPT       1024
/* value of SPLITS: as many parts as give each workgroup that can run at once a tile */
#define TO_FILL          0
/* An H200's 132 multiprocessors hold 30 clusters of four workgroups and 15 of eight, instead of 33 and 16. The
 * default therefore assumes that one of this many multiprocessors stays unused by teams. */
#define UNITS_LEFT       11

/* Constants of the estimate of cycles, fitted to configs measured on an H200 (25 problems of ResNet-50 and
 * MobileNetV2). The config with the fewest estimated cycles is 2 % slower than the fastest. */
#define MACS_A_CYCLE     2048
#define CYCLES_ROW       4.0 /* for loading the 64 terms of one row of a block of terms */
/* for loading the 64 terms of one column; less, as neighbouring workgroups load the same columns */
#define CYCLES_COLUMN    1.7
#define CYCLES_SUM       0.18 /* for storing one sum */
#define CYCLES_TEAM      1000.0
#define CYCLES_TEAM_SUM  0.4
#define CYCLES_SPLIT     11500.0 /* for the second launch, which adds up parts */
/* for writing and reading a byte of parts, on one multiprocessor */
#define CYCLES_PART_BYTE 0.12

const struct space_param conv_tma_params[TMA_PARAM_COUNT] = {
    {"BLOCK_M", 4, (const int32_t[]){64, 128, 192, 256}},
    {"BLOCK_N", 4, (const int32_t[]){64, 128, 192, 256}},
    {"RESIDENT", 2, (const int32_t[]){1, 2}},
    {"TEAM", 4, (const int32_t[]){1, 2, 4, 8}},
    {"SPLITS", 10, (const int32_t[]){TO_FILL, 1, 2, 4, 8, 16, 32, 64, 128, MATRIX_SPLITS_MOST}},
};

static const char *const sources[] = {"conv_tma.cl", "conv_matrix_sum.cl", "conv_transpose.cl",
                                      "conv_transpose_blocks.cl", NULL};

/* ---- the workspace ---- */

uint64_t conv_tma_maps_bytes(const struct context *context)
{
    int most = conv_tma_params[TMA_RESIDENT].values[conv_tma_params[TMA_RESIDENT].count - 1];

    return workspace_align((uint64_t)context->target->compute_units * (uint64_t)most *
                           TMA_MAPS_BYTES);
}

/* The context with its workspace limit less the maps. */
static struct context conv_tma_beside_maps(const struct context *context)
{
    struct context rest = *context;

    rest.workspace_limit -= MIN(conv_tma_maps_bytes(context), rest.workspace_limit);
    return rest;
}

/* A bound of the workspace of all valid configs: copies, split-K parts and tensor maps. TO_FILL gives fewer than
 * twice as many parts as the largest valid number of the list. */
static uint64_t conv_tma_workspace_bytes(const struct problem *p, const struct context *context)
{
    static const struct matrix_blocks largest = {256, 256, TMA_BLOCK_K, 1, MATRIX_WGMMA};
    const struct context rest = conv_tma_beside_maps(context);
    uint64_t moved = matrix_copies_bytes(p, MATRIX_WGMMA);
    uint64_t parts = matrix_workspace_bytes(p, &rest, &largest) - moved;

    return MAX(MIN(moved + 2 * parts, rest.workspace_limit), moved + parts) +
           conv_tma_maps_bytes(context);
}

/* ---- how a config divides the work ---- */

/* Workgroups that can run on the whole device at once. */
static int places_of(const struct context *context, const int32_t *values)
{
    return context->target->compute_units * values[TMA_RESIDENT];
}

/* How a config divides the product. `splits` counts all parts of the terms: TMA_TEAM parts, which the workgroups of one
 * cluster (a team) add up in local memory, times TMA_SPLITS parts, which another kernel adds up from the workspace. */
static struct matrix_blocks conv_tma_blocks(const struct problem *p, const struct context *context,
                                            const int32_t *values)
{
    struct matrix_blocks blocks = {values[TMA_BLOCK_M], values[TMA_BLOCK_N], TMA_BLOCK_K,
                                   values[TMA_SPLITS] * values[TMA_TEAM], MATRIX_WGMMA};

    if (values[TMA_SPLITS] == TO_FILL)
        blocks.splits = (int)CLAMP(places_of(context, values) / matrix_workgroups(p, &blocks), 1,
                                   MATRIX_SPLITS_MOST);
    return blocks;
}

void conv_tma_grid(const struct problem *p, const struct context *context, const int32_t *values,
                   const struct tma_boxes *boxes, struct tma_grid *grid)
{
    const struct matrix_blocks blocks = conv_tma_blocks(p, context, values);
    int team = values[TMA_TEAM];

    tma_grid_init(grid, p, boxes, blocks.m, blocks.n, blocks.splits / team,
                  places_of(context, values) / team);
    grid->workgroups *= team;
}

/* Work-items of a workgroup. */
static int conv_tma_items(const int32_t *values)
{
    return values[TMA_BLOCK_M] / ROWS_A_GROUP * ITEMS_A_GROUP + ITEMS_THAT_COPY;
}

/* Bytes of a workgroup's local memory beside the stages: tensor maps, and a buffer of 16 rows for each warp that
 * stores. */
static int64_t bytes_beside(const int32_t *values)
{
    return (int64_t)values[TMA_BLOCK_M] / 16 * STAGED_BYTES + TMA_MAPS_BYTES;
}

/* Bytes of a stage: one block of terms of both operands. */
static int64_t operands_bytes(const int32_t *values)
{
    return (int64_t)(values[TMA_BLOCK_M] + values[TMA_BLOCK_N]) * LINE_BYTES;
}

/* Stages of a workgroup (blocks of terms in local memory): as many as local memory holds, whatever the problem. */
static int conv_tma_stages(const struct context *context, const int32_t *values)
{
    int64_t local = target_dynamic_local_bytes(context->target) + LOCAL_KEPT;
    int64_t room = local / values[TMA_RESIDENT] - LOCAL_KEPT - bytes_beside(values);
    int64_t stage = operands_bytes(values) + BARRIERS_BYTES;

    return (int)CLAMP(room / stage, 0, STAGES_MOST);
}

int64_t conv_tma_local_bytes(const struct context *context, const int32_t *values)
{
    return conv_tma_stages(context, values) * (operands_bytes(values) + BARRIERS_BYTES) +
           bytes_beside(values);
}

/* ---- the space ---- */

static bool block_suits_sizes(const struct problem *p, const struct context *context,
                              const int32_t *values)
{
    const struct matrix_blocks blocks = {values[TMA_BLOCK_M], values[TMA_BLOCK_N], TMA_BLOCK_K, 1,
                                         MATRIX_WGMMA};

    (void)context;
    return matrix_block_suits(p, &blocks);
}

/* Registers of a work-item that multiplies. */
static int multiplying_registers(const int32_t *values, int registers)
{
    int groups = values[TMA_BLOCK_M] / ROWS_A_GROUP;

    if (registers > REGISTERS_MOVED)
        return registers;
    registers += (registers - REGISTERS_KEPT) / groups;
    return registers - registers % REGISTERS_STEP;
}

static bool sums_fit_registers(const struct problem *p, const struct context *context,
                               const int32_t *values)
{
    int sums = values[TMA_BLOCK_N] * ROWS_A_GROUP / ITEMS_A_GROUP;
    int registers = REGISTERS_UNIT / values[TMA_RESIDENT] / conv_tma_items(values);

    (void)context;
    registers -= registers % REGISTERS_STEP;
    if ((p->epilogue[0] != '\0' || (p->direction == DIRECTION_B && conv_has_depth(p))) &&
        multiplying_registers(values, registers) < sums + REGISTERS_FUSED)
        return false;
    return registers >= MAX(REGISTERS_FEWEST, sums + REGISTERS_LEAST);
}

static bool stages_fit_local_memory(const struct problem *p, const struct context *context,
                                    const int32_t *values)
{
    (void)p;
    return conv_tma_stages(context, values) >= STAGES_LEAST;
}

/* Whether a team's sums fit the memory of its stages, into which they are written. */
static bool sums_fit_stages(const struct problem *p, const struct context *context,
                            const int32_t *values)
{
    int64_t sums = (int64_t)values[TMA_BLOCK_M] * values[TMA_BLOCK_N] * (int64_t)sizeof(float);

    (void)p;
    return values[TMA_TEAM] == 1 ||
           sums <= conv_tma_stages(context, values) * operands_bytes(values);
}

/* Whether a team suits the target: a team computes one tile only, so there must not be more tiles of one part than
 * teams. */
static bool team_suits(const struct context *context, int64_t tiles, const int32_t *values)
{
    int places = places_of(context, values);

    if (values[TMA_TEAM] > 2)
        places -= places / UNITS_LEFT;
    return values[TMA_TEAM] == 1 || tiles * values[TMA_TEAM] <= places;
}

static int64_t tiles_of(const struct problem *p, const struct tma_boxes *boxes,
                        const int32_t *values)
{
    struct tma_grid grid;

    tma_grid_init(&grid, p, boxes, values[TMA_BLOCK_M], values[TMA_BLOCK_N], 1, 1);
    return grid.tiles;
}

static bool teams_suit_target(const struct problem *p, const struct context *context,
                              const int32_t *values)
{
    struct tma_boxes boxes;

    if (values[TMA_TEAM] == 1)
        return true;
    tma_boxes_init(&boxes, p);
    return team_suits(context, tiles_of(p, &boxes, values), values);
}

/* TO_FILL is valid only where it gives a number of parts that the parameter does not list, that is no power of two. A
 * team's parts need no workspace. */
static bool splits_suit_target(const struct problem *p, const struct context *context,
                               const int32_t *values)
{
    const struct matrix_blocks blocks = conv_tma_blocks(p, context, values);
    struct context rest = conv_tma_beside_maps(context);
    bool is_another = values[TMA_SPLITS] != TO_FILL || (blocks.splits & (blocks.splits - 1)) != 0;

    if (values[TMA_TEAM] > 1)
        rest.workspace_limit = UINT64_MAX;
    return (values[TMA_TEAM] == 1 || values[TMA_SPLITS] == 1) && is_another &&
           matrix_splits_suit(p, &rest, &blocks);
}

static const struct space_constraint constraints[] = {
    {"block_suits_sizes", "arithmetic", TMA_BLOCK_N + 1, block_suits_sizes},
    {"sums_fit_registers", "registers", TMA_RESIDENT + 1, sums_fit_registers},
    {"stages_fit_local_memory", "local memory", TMA_RESIDENT + 1, stages_fit_local_memory},
    {"sums_fit_stages", "local memory", TMA_TEAM + 1, sums_fit_stages},
    {"teams_suit_target", "compute units", TMA_TEAM + 1, teams_suit_target},
    {"splits_suit_target", "compute units", TMA_SPLITS + 1, splits_suit_target},
};

static const struct space conv_tma_space = {TMA_PARAM_COUNT, conv_tma_params,
                                            G_N_ELEMENTS(constraints), constraints};

/* ---- the default ---- */

struct choice {
    struct tma_boxes boxes;
    /* steps: blocks of terms of a tile; sums: elements of the result */
    double steps, sums;
    /* tiles of one split-K part, with the blocks that are being tried */
    int64_t tiles;
    double least;                    /* the fewest estimated cycles so far */
    int32_t values[TMA_PARAM_COUNT]; /* the config with the fewest estimated cycles */
};

/* Blocks of terms that a tile multiplies; in B the average of all phases. */
static double steps_of(const struct problem *p, const struct tma_boxes *boxes)
{
    double taps = (double)p->fil[AXIS_D] * (double)p->fil[AXIS_H] * (double)p->fil[AXIS_W];

    if (p->direction == DIRECTION_W)
        return (double)boxes->count;
    if (p->direction == DIRECTION_F)
        return taps * ceil((double)matrix_elements_of(p, matrix_c_of(p)) / TMA_BLOCK_K);
    return ceil(taps / (double)(p->stride[AXIS_D] * p->stride[AXIS_H] * p->stride[AXIS_W])) *
           ceil((double)matrix_elements_of(p, matrix_k_of(p)) / TMA_BLOCK_K);
}

/* Cycles for adding up split-K sums: a team's parts of a tile, or the parts in the workspace. */
static double adding_cycles(const struct choice *choice, const struct context *context,
                            const int32_t *values, int splits)
{
    double parts_bytes = choice->sums * splits * (double)sizeof(float);

    if (values[TMA_TEAM] > 1)
        return CYCLES_TEAM + CYCLES_TEAM_SUM * values[TMA_BLOCK_M] * values[TMA_BLOCK_N];
    if (splits == 1)
        return 0;
    return CYCLES_SPLIT + CYCLES_PART_BYTE * 2 * parts_bytes / context->target->compute_units;
}

/* Estimated cycles of the slowest multiprocessor, without a launch's start, which is equal for all configs. */
static double cycles_of(const struct choice *choice, const struct context *context,
                        const int32_t *values, int splits)
{
    double m = values[TMA_BLOCK_M], n = values[TMA_BLOCK_N];
    double step = fmax(m * n * TMA_BLOCK_K / MACS_A_CYCLE, CYCLES_ROW * m + CYCLES_COLUMN * n);
    double workgroups = (double)choice->tiles * splits;
    double waves = ceil(workgroups / places_of(context, values));
    double beside = fmin(ceil(workgroups / context->target->compute_units), values[TMA_RESIDENT]);

    return waves * beside * (ceil(choice->steps / splits) * step + CYCLES_SUM * m * n) +
           adding_cycles(choice, context, values, splits);
}

static void try_values(const struct problem *p, const struct context *context,
                       const int32_t *values, struct choice *choice)
{
    int splits = conv_tma_blocks(p, context, values).splits;
    double cycles = cycles_of(choice, context, values, splits);

    if (cycles >= choice->least || !team_suits(context, choice->tiles, values) ||
        !sums_fit_stages(p, context, values) || !splits_suit_target(p, context, values))
        return;
    choice->least = cycles;
    memcpy(choice->values, values, sizeof(choice->values));
}

/* Estimates each way to split the terms with these blocks, and keeps the config with the fewest cycles. */
static void try_parts(const struct problem *p, const struct context *context, int32_t *values,
                      struct choice *choice)
{
    const struct space_param *teams = &conv_tma_params[TMA_TEAM],
                             *splits = &conv_tma_params[TMA_SPLITS];

    if (!sums_fit_registers(p, context, values) || !block_suits_sizes(p, context, values) ||
        !stages_fit_local_memory(p, context, values))
        return;
    choice->tiles = tiles_of(p, &choice->boxes, values);
    values[TMA_TEAM] = 1;
    for (int i = 0; i < splits->count; i++) {
        values[TMA_SPLITS] = splits->values[i];
        try_values(p, context, values, choice);
    }
    values[TMA_SPLITS] = 1;
    for (int i = 1; i < teams->count; i++) {
        values[TMA_TEAM] = teams->values[i];
        try_values(p, context, values, choice);
    }
}

/* Sets the config with the fewest estimated cycles. It is right for every problem that the solver serves. */
static void conv_tma_default_config(const struct problem *p, const struct context *context,
                                    struct perf_config *config)
{
    const struct space_param *m = &conv_tma_params[TMA_BLOCK_M], *n = &conv_tma_params[TMA_BLOCK_N];
    const struct space_param *resident = &conv_tma_params[TMA_RESIDENT];
    struct choice choice = {.least = G_MAXDOUBLE};

    tma_boxes_init(&choice.boxes, p);
    choice.steps = steps_of(p, &choice.boxes);
    choice.sums = matrix_result_elements(p);
    for (int i = 0; i < m->count * n->count * resident->count; i++) {
        int32_t values[TMA_PARAM_COUNT] = {
            [TMA_BLOCK_M] = m->values[i / (n->count * resident->count)],
            [TMA_BLOCK_N] = n->values[i / resident->count % n->count],
            [TMA_RESIDENT] = resident->values[i % resident->count],
        };
        try_parts(p, context, values, &choice);
    }
    config->count = TMA_PARAM_COUNT;
    memcpy(config->values, choice.values, sizeof(choice.values));
}

/* ---- what it serves ---- */

static bool tensors_are_served(const struct problem *p, const char **reason)
{
    int64_t stride = MAX(p->stride[AXIS_D], MAX(p->stride[AXIS_H], p->stride[AXIS_W]));
    bool is_strided = p->direction != DIRECTION_B && stride > STRIDE_MOST;
    double c = (double)matrix_c_of(p), k = (double)matrix_k_of(p);
    double x = (double)p->n * c, y = (double)p->n * k, w = c * k;
    double bytes = (double)p->groups * (double)data_type_bytes(p->type[TENSOR_X]);

    for (int axis = AXIS_D; axis <= AXIS_W; axis++) {
        x *= (double)p->in[axis];
        y *= (double)p->out[axis];
        w *= (double)p->fil[axis];
    }
    *reason = "needs one group, or groups of channels in 64";
    if (p->groups > 1 &&
        (p->c / p->groups % GROUP_CHANNELS != 0 || p->k / p->groups % GROUP_CHANNELS != 0))
        return false;
    *reason = "needs strides up to 8";
    if (is_strided)
        return false;
    *reason = "needs tensors of less than 2^40 bytes";
    return MAX(MAX(x, y), w) * bytes < TENSOR_BYTES;
}

/* Whether all tiles can be counted in int: those of the smallest blocks, for all groups, phases and split-K parts. */
static bool tiles_are_served(const struct problem *p, const struct context *context,
                             const char **reason)
{
    static const struct matrix_blocks smallest = {MATRIX_SMALLEST, MATRIX_SMALLEST, TMA_BLOCK_K, 1,
                                                  MATRIX_WGMMA};
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
    *reason = "needs FP16 or BF16 tensors, or FP32 where TF32 is permitted";
    if (p->type[TENSOR_X] != TYPE_FP16 && p->type[TENSOR_X] != TYPE_BF16 && !problem_is_tf32(p))
        return false;
    if (!conv_epilogue_is_served(p, false, reason) || !tensors_are_served(p, reason))
        return false;
    *reason = "needs a workspace for tensor maps";
    return conv_tma_maps_bytes(context) <= context->workspace_limit &&
           matrix_serves(p, &rest, MATRIX_WGMMA, reason) && tiles_are_served(p, &rest, reason);
}

/* The estimate is above ConvWgmma's, whose work-items compute the addresses of all they load. TF32 is half as fast as FP16.
 */
static double estimate(const struct problem *p, const struct context *context)
{
    struct perf_config config;
    struct matrix_blocks blocks;

    conv_tma_default_config(p, context, &config);
    blocks = conv_tma_blocks(p, context, config.values);
    return (problem_is_tf32(p) ? 200.0 : 400.0) * matrix_used_part(p, &blocks);
}

/* ---- the launch ---- */

static void add_options(const struct problem *p, const struct context *context,
                        const int32_t *values, int parts, struct launch *launch)
{
    for (int i = 0; i < TMA_SPLITS; i++)
        launch_option_int(launch, conv_tma_params[i].name, values[i]);
    launch_option_int(launch, "STAGES", conv_tma_stages(context, values));
    matrix_add_options(p, MATRIX_WGMMA, parts, launch);
}

static void add_plane(struct launch *launch, const int64_t size[AXIS_COUNT])
{
    launch_arg_int32(launch, size[AXIS_W]);
    launch_arg_int32(launch, size[AXIS_H]);
}

/* Adds what the kernel has with depth only: the sizes of add_shape() along it. */
static void add_depth(const int64_t *const *planes, size_t count, const struct tma_boxes *boxes,
                      struct launch *launch)
{
    for (size_t i = 0; i < count; i++)
        launch_arg_int32(launch, planes[i][AXIS_D]);
    launch_arg_int32(launch, boxes->box[AXIS_D]);
    launch_arg_int32(launch, boxes->along[AXIS_D]);
    matrix_add_divisor(launch, boxes->along[AXIS_D]);
}

/* Adds the sizes as arguments, in the order of the kernel's SHAPE_PARAMETERS. `p`: flattened. */
static void add_shape(const struct problem *p, const struct tma_boxes *boxes,
                      const struct tma_grid *grid, int splits, int64_t pitch, struct launch *launch)
{
    const int64_t period[AXIS_COUNT] = {conv_stride_period(p, AXIS_D),
                                        conv_stride_period(p, AXIS_H),
                                        conv_stride_period(p, AXIS_W)};
    const int64_t *const planes[] = {boxes->in, boxes->out,  p->fil, p->pad,
                                     p->stride, p->dilation, period};
    const int64_t counts[] = {boxes->box[AXIS_W],   boxes->box[AXIS_H],
                              boxes->box_n,         boxes->along[AXIS_W],
                              boxes->along[AXIS_H], boxes->count,
                              grid->columns,        grid->rows,
                              grid->tiles,          splits,
                              grid->workgroups};

    launch_arg_int32(launch, boxes->n);
    launch_arg_int32(launch, matrix_elements_of(p, matrix_c_of(p)));
    launch_arg_int32(launch, matrix_k_of(p));
    launch_arg_int32(launch, p->groups);
    launch_arg_int32(launch, pitch);
    for (size_t i = 0; i < G_N_ELEMENTS(planes); i++)
        add_plane(launch, planes[i]);
    for (size_t i = 0; i < G_N_ELEMENTS(counts); i++)
        launch_arg_int32(launch, counts[i]);
    matrix_add_divisor(launch, grid->columns);
    matrix_add_divisor(launch, grid->rows);
    matrix_add_divisor(launch, boxes->along[AXIS_W] * boxes->along[AXIS_H]);
    matrix_add_divisor(launch, boxes->along[AXIS_W]);
    if (p->spatial_dim == 3)
        add_depth(planes, G_N_ELEMENTS(planes), boxes, launch);
}

static bool solve(const struct problem *p, const struct context *context,
                  const struct perf_config *config, struct solution *solution, GError **error)
{
    const int32_t *values = config->values;
    const int64_t elements = (int64_t)matrix_result_elements(p);
    const int splits = conv_tma_blocks(p, context, values).splits, items = conv_tma_items(values);
    /* parts that are added up from the workspace; a team adds up its own */
    const int parts = splits / values[TMA_TEAM];
    struct launch *launch = solution_add_launch(solution, "conv_tma.cl", "conv_tma");
    struct problem flat;
    struct tma_boxes boxes;
    struct tma_grid grid;
    uint64_t maps = 0;

    (void)error;
    conv_flatten(p, &flat);
    tma_boxes_init(&boxes, p);
    conv_tma_grid(p, context, values, &boxes, &grid);
    if (parts > 1)
        maps = workspace_align((uint64_t)elements * (uint64_t)parts * sizeof(float));
    add_options(p, context, values, parts, launch);
    conv_add_product_args(p, false, parts > 1, launch);
    launch_arg_workspace(launch, maps);
    add_shape(&flat, &boxes, &grid, splits, matrix_pitch(p, parts), launch);
    launch_arg_int64(launch, elements);
    if (parts == 1)
        matrix_add_epilogue_args(p, launch);
    launch->local_bytes = conv_tma_local_bytes(context, values);
    launch_set_line(launch, grid.workgroups * items, items);
    if (parts > 1)
        matrix_add_parts_sum(p, parts, solution);
    solution->workspace_bytes = maps + (uint64_t)grid.workgroups * TMA_MAPS_BYTES;
    matrix_add_copies(p, MATRIX_WGMMA, solution);
    return true;
}

const struct solver solver_conv_tma = {
    .provider = "skipjack",
    .name = "ConvTma",
    .revision = 5,
    .algorithm = "ImplicitGEMM",
    .own_strides = true,
    .epilogues = EPILOGUE_DOES_ALL,
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
