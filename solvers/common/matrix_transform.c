#include "solvers/common/matrix_transform.h"

#include <math.h>
#include <string.h>

#include "solvers/common/conv_common.h"

/* work-items of a workgroup, as conv_transpose.cl declares it */
#define ITEMS         256
#define TILE          64
/* work-items of a workgroup, as conv_transpose_blocks.cl declares it */
#define BLOCK_ITEMS   128
#define CHUNK_BYTES   16
#define CHUNK_MOST    8
#define SLAB_BYTES    8192
/* Chunks (16 bytes) of neighbouring channels that fill a cache line. */
#define CHUNKS_A_LINE 8
/* The least bytes of a plane's positions that one load should have; shorter loads are not worth an instruction. */
#define PART_BYTES    8
/* Planes of fewer positions are copied element by element, since most of a tile would be idle. */
#define TILED_PLANE   16
/* The share of a kernel's speed that is left where copies have as many bytes as all tensors. */
#define USED_BY_MOVES 0.7
/* The most workgroups, and the most elements of a plane: work-items and counts must fit 31 bits. */
#define BLOCKS_MOST   0x1p23
#define ELEMENTS_MOST 0x1p31

/* A tensor as batches of groups of planes, each plane channels by positions. A filter's plane is one k; its batches
 * are the k of a group. */
struct side {
    enum tensor_role role;
    int64_t batches, groups, channels, positions;
    int64_t padded_batches, padded_channels;
    bool is_turned; /* the filter's copy has k innermost */
};

/* Distances in elements between neighbouring batches, groups, channels and positions. */
struct steps {
    int64_t batch, group, channel, position;
};

int64_t matrix_transform_channels(int64_t channels, const struct problem *p, int chunk)
{
    return conv_divide_up(channels / p->groups, chunk) * chunk;
}

static struct side side_of(const struct problem *p, enum tensor_role role, int chunk, bool turned)
{
    const int64_t *plane = role == TENSOR_X ? p->in : role == TENSOR_W ? p->fil : p->out;
    int64_t channels = role == TENSOR_Y ? p->k : p->c, k = p->k / p->groups;
    bool is_filter = role == TENSOR_W;

    return (struct side){
        .role = role,
        .batches = is_filter ? k : p->n,
        .groups = p->groups,
        .channels = channels / p->groups,
        .positions = plane[AXIS_D] * plane[AXIS_H] * plane[AXIS_W],
        .padded_batches = is_filter ? matrix_transform_channels(p->k, p, chunk) : p->n,
        .padded_channels = matrix_transform_channels(channels, p, chunk),
        .is_turned = is_filter && turned,
    };
}

static double padded_elements(const struct side *side)
{
    return (double)side->padded_batches * (double)side->groups * (double)side->padded_channels *
           (double)side->positions;
}

/* Steps from group to group and from batch to batch of a packed tensor. In a filter each group holds several batches (its
 * k); in x and y each batch (image) holds several groups. */
static struct steps steps_of(const struct side *side, bool channels_last, bool is_padded)
{
    int64_t channels = is_padded ? side->padded_channels : side->channels;
    int64_t batches = is_padded ? side->padded_batches : side->batches;
    int64_t lines = side->role == TENSOR_W ? 1 : side->groups;
    struct steps steps = {.channel = 1, .position = lines * channels};

    steps.batch = lines * channels * side->positions;
    steps.group = channels_last ? channels : channels * side->positions;
    if (side->role == TENSOR_W)
        steps.group = batches * steps.batch;
    if (!channels_last) {
        steps.channel = side->positions;
        steps.position = 1;
    }
    return steps;
}

/* Sets the step from one position to the next. Returns false if a plane's positions are not all one step apart. */
static bool find_position_step(const struct problem *p, enum tensor_role role,
                               const int64_t strides[5], int64_t *step)
{
    int64_t sizes[5], passed = 1;

    problem_operand_sizes(p, role, sizes);
    for (int axis = 4; axis >= 2; axis--) {
        if (sizes[axis] == 1)
            continue;
        if (passed == 1)
            *step = strides[axis];
        else if (strides[axis] != passed * *step)
            return false;
        passed *= sizes[axis];
    }
    return true;
}

/* Sets the steps of the problem's own tensor. Returns false if it is strided so that copies and kernels cannot reach its
 * elements: channels, or positions, must be neighbours. */
static bool find_own_steps(const struct problem *p, const struct side *side, struct steps *steps)
{
    bool is_last = conv_is_channels_last(p->layout[side->role]);
    int64_t strides[5];

    *steps = steps_of(side, is_last, false);
    if (!problem_operand_is_strided(p, side->role))
        return true;
    problem_strides(p, side->role, strides);
    if (side->role == TENSOR_W || !find_position_step(p, side->role, strides, &steps->position))
        return false;
    steps->batch = strides[0];
    if (side->channels * side->groups > 1)
        steps->channel = strides[1];
    steps->group = side->channels * steps->channel;
    return is_last ? steps->channel == 1 : steps->position == 1;
}

static bool has_padding(const struct side *side)
{
    return side->padded_channels != side->channels || side->padded_batches != side->batches;
}

/* The step from one position to the next, over all images, of a result that kernels write where it is: channels are
 * neighbours, and each position begins at a multiple of a chunk's bytes. 0: there is none. */
static int64_t pitch_in_place(const struct problem *p, const struct side *side)
{
    struct steps steps;

    if (has_padding(side) || !find_own_steps(p, side, &steps) || steps.channel != 1)
        return 0;
    int64_t pitch = side->positions > 1 ? steps.position
                    : side->batches > 1 ? steps.batch
                                        : side->channels * side->groups;
    bool images_follow = side->batches == 1 || steps.batch == side->positions * pitch;
    return images_follow && pitch * data_type_bytes(p->type[side->role]) % CHUNK_BYTES == 0 ? pitch
                                                                                            : 0;
}

static bool is_moved(const struct problem *p, const struct side *side)
{
    if (side->is_turned || has_padding(side) ||
        (conv_is_planes(p->layout[side->role]) && side->positions > 1 &&
         side->channels * side->groups > 1))
        return true;
    return problem_operand_is_strided(p, side->role) &&
           (side->role != problem_output_role(p) || pitch_in_place(p, side) == 0);
}

int64_t matrix_transform_pitch(const struct problem *p, int chunk)
{
    const struct side side = side_of(p, problem_output_role(p), chunk, false);

    return is_moved(p, &side) || !problem_operand_is_strided(p, side.role)
               ? side.padded_channels * side.groups
               : pitch_in_place(p, &side);
}

static uint64_t moved_bytes(const struct problem *p, const struct side *side)
{
    return workspace_align((uint64_t)padded_elements(side) *
                           (uint64_t)data_type_bytes(p->type[side->role]));
}

static uint64_t all_bytes(const struct problem *p, int chunk, bool turned)
{
    uint64_t bytes = 0;

    for (int t = 0; t < TENSOR_COUNT; t++) {
        const struct side side = side_of(p, (enum tensor_role)t, chunk, turned);
        if (is_moved(p, &side))
            bytes += moved_bytes(p, &side);
    }
    return bytes;
}

uint64_t matrix_transform_bytes(const struct problem *p, int chunk)
{
    return all_bytes(p, chunk, false);
}

double matrix_transform_used_part(const struct problem *p, int chunk)
{
    double own = 0;

    for (int t = 0; t < TENSOR_COUNT; t++)
        own += (double)problem_tensor_bytes(p, (enum tensor_role)t);
    return 1 / (1 + (1 / USED_BY_MOVES - 1) * (double)matrix_transform_bytes(p, chunk) / own);
}

uint64_t matrix_transform_turned_bytes(const struct problem *p, int chunk)
{
    return all_bytes(p, chunk, true);
}

/* Whether both ways of copying (whole tiles, and element by element) can serve the tensor; its layout decides which
 * one is used. */
static bool move_is_served(const struct side *side)
{
    double plane = (double)side->padded_channels * (double)side->positions;
    double planes = (double)side->padded_batches * (double)side->groups;
    double tiled =
        ceil((double)side->padded_channels / TILE) * ceil((double)side->positions / TILE);

    return plane < ELEMENTS_MOST && planes * fmax(tiled, ceil(plane / ITEMS)) <= BLOCKS_MOST;
}

bool matrix_transform_serves(const struct problem *p, int chunk, const char **reason)
{
    struct steps steps;

    for (int t = 0; t < TENSOR_COUNT; t++) {
        const struct side side = side_of(p, (enum tensor_role)t, chunk, false);
        *reason = "needs channels innermost (NHWC, NDHWC) or planes (NCHW, NCDHW)";
        if (!conv_is_channels_last(p->layout[t]) && !conv_is_planes(p->layout[t]))
            return false;
        *reason = "needs fewer elements, or a layout that needs no copy";
        if (is_moved(p, &side) && !move_is_served(&side))
            return false;
        *reason = "needs strided tensors whose positions are one step apart, and a packed filter";
        if (!find_own_steps(p, &side, &steps))
            return false;
    }
    *reason = "needs a packed second tensor of the epilogue";
    return !problem_operand_is_strided(p, TENSOR_RESIDUAL);
}

/* ---- the launches ---- */

static struct steps own_steps(const struct problem *p, const struct side *side)
{
    struct steps steps;

    if (!find_own_steps(p, side, &steps))
        g_assert_not_reached();
    return steps;
}

/* One copy of planes: rows by columns as in conv_transpose.cl. */
struct move {
    struct steps from, to;
    int64_t rows, columns, fill, from_row, from_column, to_row, planes, blocks;
    bool is_tiled;
};

/* The copy into the workspace, where channels are innermost and rounded up to chunks. */
static struct move move_in(const struct problem *p, const struct side *side)
{
    bool is_last = conv_is_channels_last(p->layout[side->role]);
    struct move move = {.from = own_steps(p, side), .to = steps_of(side, true, true)};

    move.is_tiled = !is_last && side->positions >= TILED_PLANE;
    move.rows = move.is_tiled ? side->channels : side->positions;
    move.columns = move.is_tiled ? side->positions : side->channels;
    move.fill = side->padded_channels;
    move.from_row = move.is_tiled ? move.from.channel : move.from.position;
    move.from_column = move.is_tiled ? 1 : move.from.channel;
    move.to_row = move.to.position;
    move.planes = side->padded_batches * side->groups;
    return move;
}

/* The copy of the filter with k innermost. Where channels are innermost it is a transposition of k and c for each filter
 * position; else one of k and of c and filter positions together, which follow each other in both. */
static struct move move_turned(const struct problem *p, const struct side *side)
{
    bool is_last = conv_is_channels_last(p->layout[side->role]);
    struct move move = {.rows = side->batches, .fill = side->padded_batches, .is_tiled = true};
    int64_t batch = side->channels * side->positions;

    move.planes = side->groups * (is_last ? side->positions : 1);
    move.columns = is_last ? side->channels : batch;
    move.from = (struct steps){.batch = side->channels, .group = side->batches * batch};
    move.from_row = batch;
    move.from_column = 1;
    move.to =
        (struct steps){.batch = side->padded_batches,
                       .group = side->padded_channels * side->positions * side->padded_batches};
    move.to_row = side->padded_batches * (is_last ? side->positions : 1);
    return move;
}

/* The copy of a result from the workspace back into the tensor. */
static struct move move_out(const struct problem *p, const struct side *side)
{
    bool is_last = conv_is_channels_last(p->layout[side->role]);
    struct move move = {.from = steps_of(side, true, true), .to = own_steps(p, side)};

    move.is_tiled = !is_last && side->positions >= TILED_PLANE;
    move.rows = move.is_tiled || is_last ? side->positions : side->channels;
    move.columns = move.is_tiled || is_last ? side->channels : side->positions;
    move.fill = move.is_tiled ? move.rows : move.columns;
    move.from_row = move.is_tiled || is_last ? move.from.position : 1;
    move.from_column = move.is_tiled || is_last ? 1 : move.from.position;
    move.to_row = is_last ? move.to.position : move.to.channel;
    move.planes = side->batches * side->groups;
    return move;
}

static int64_t blocks_of(const struct move *move)
{
    if (move->is_tiled)
        return conv_divide_up(move->fill, TILE) * conv_divide_up(move->columns, TILE);
    return conv_divide_up(move->rows * move->fill, ITEMS);
}

/* Adds two pointer arguments: source and destination of the copy. is_in: from the tensor into the workspace, else
 * back. */
static void add_ends(const struct side *side, uint64_t offset, bool is_in, struct launch *launch)
{
    if (!is_in)
        launch_arg_workspace(launch, offset);
    launch_arg_tensor(launch, side->role);
    if (is_in)
        launch_arg_workspace(launch, offset);
}

static void add_move(const struct problem *p, const struct side *side, const struct move *move,
                     uint64_t offset, bool is_in, struct solution *solution)
{
    static const char *const entries[][2] = {
        [TENSOR_X] = {"conv_transpose_x", "x"},
        [TENSOR_W] = {"conv_transpose_w", "w"},
        [TENSOR_Y] = {"conv_transpose_y", "y"},
    };
    struct launch *launch =
        solution_add_launch(solution, "conv_transpose.cl", entries[side->role][0]);
    /* planes of a turned filter are its positions, which are all there */
    const int64_t batches = side->is_turned ? side->positions : side->batches;
    const int64_t sizes[] = {blocks_of(move), side->groups,  batches,
                             move->rows,      move->columns, move->fill};
    const int64_t steps[] = {move->from.batch, move->from.group, move->from_row, move->from_column,
                             move->to.batch,   move->to.group,   move->to_row};

    launch_option_int(launch, "BYTES", data_type_bytes(p->type[side->role]));
    launch_option_text(launch, "TENSOR", entries[side->role][1]);
    launch_option_int(launch, "TILED", move->is_tiled);
    launch_sort_options(launch);
    add_ends(side, offset, is_in, launch);
    for (size_t i = 0; i < G_N_ELEMENTS(sizes); i++)
        launch_arg_int32(launch, sizes[i]);
    for (size_t i = 0; i < G_N_ELEMENTS(steps); i++)
        launch_arg_int64(launch, steps[i]);
    launch_set_line(launch, sizes[0] * move->planes * ITEMS, ITEMS);
}

/* The parameters with which conv_transpose_blocks.cl copies a tensor. */
struct block_move {
    int vector, channel_blocks;
    bool is_slab;
    int64_t blocks;
};

/* The least power of 2 that is at least `count`; at most `most`. */
static int power_within(int64_t count, int most)
{
    int power = 1;

    while (power < most && power < count)
        power *= 2;
    return power;
}

static bool find_block_move(const struct problem *p, const struct side *side,
                            struct block_move *move)
{
    const int bytes = (int)data_type_bytes(p->type[side->role]);
    const int chunk = MIN(CHUNK_BYTES / bytes, CHUNK_MOST);
    const int64_t chunks = conv_divide_up(side->padded_channels, chunk);
    const int64_t slab = SLAB_BYTES / bytes / chunk / side->positions;
    const struct steps steps = own_steps(p, side);

    /* Planes follow each other, and images begin where whole chunks do. */
    if (problem_operand_is_strided(p, side->role) &&
        (steps.channel != side->positions || steps.batch % chunk != 0))
        return false;
    move->vector = (int)conv_gcd(side->positions, chunk);
    move->is_slab = move->vector * bytes < PART_BYTES || side->positions < 2 * chunk;
    if (!move->is_slab) {
        move->channel_blocks = power_within(chunks, CHUNKS_A_LINE);
        move->blocks = conv_divide_up(chunks, move->channel_blocks) *
                       conv_divide_up(side->positions, BLOCK_ITEMS / move->channel_blocks * chunk);
        return true;
    }
    if (slab < 1 || side->channels * side->positions % chunk != 0)
        return false;
    move->channel_blocks = power_within(chunks, BLOCK_ITEMS);
    while (move->channel_blocks > slab)
        move->channel_blocks /= 2;
    move->blocks = conv_divide_up(chunks, move->channel_blocks);
    return true;
}

static void add_block_move(const struct problem *p, const struct side *side,
                           const struct block_move *move, uint64_t offset, bool is_in,
                           struct solution *solution)
{
    static const char *const entries[][2] = {
        [TENSOR_X] = {"conv_transpose_blocks_x", "x"},
        [TENSOR_W] = {"conv_transpose_blocks_w", "w"},
        [TENSOR_Y] = {"conv_transpose_blocks_y", "y"},
    };
    const struct steps first = own_steps(p, side), last = steps_of(side, true, true);
    const struct steps *from = is_in ? &first : &last, *to = is_in ? &last : &first;
    struct launch *launch =
        solution_add_launch(solution, "conv_transpose_blocks.cl", entries[side->role][0]);
    const int64_t sizes[] = {move->blocks,    side->groups,          side->batches, side->channels,
                             side->positions, side->padded_channels, last.position};
    const int64_t steps[] = {from->batch, from->group, to->batch, to->group};
    const int64_t planes = side->groups * (is_in ? side->padded_batches : side->batches);

    launch_option_int(launch, "BYTES", data_type_bytes(p->type[side->role]));
    launch_option_int(launch, "CHANNEL_BLOCKS", move->channel_blocks);
    launch_option_int(launch, "IN", is_in);
    launch_option_int(launch, "SLAB", move->is_slab);
    launch_option_text(launch, "TENSOR", entries[side->role][1]);
    launch_option_int(launch, "VECTOR", move->vector);
    launch_sort_options(launch);
    add_ends(side, offset, is_in, launch);
    for (size_t i = 0; i < G_N_ELEMENTS(sizes); i++)
        launch_arg_int32(launch, sizes[i]);
    for (size_t i = 0; i < G_N_ELEMENTS(steps); i++)
        launch_arg_int64(launch, steps[i]);
    launch_set_line(launch, move->blocks * planes * BLOCK_ITEMS, BLOCK_ITEMS);
}

/* Adds the copy of a tensor into the workspace or out of it. */
static void add_side(const struct problem *p, const struct side *side, uint64_t offset, bool is_in,
                     struct solution *solution)
{
    struct block_move blocks;

    if (!side->is_turned && conv_is_planes(p->layout[side->role]) &&
        find_block_move(p, side, &blocks)) {
        add_block_move(p, side, &blocks, offset, is_in, solution);
        return;
    }
    const struct move move = side->is_turned ? move_turned(p, side)
                             : is_in         ? move_in(p, side)
                                             : move_out(p, side);
    add_move(p, side, &move, offset, is_in, solution);
}

static void find_in_workspace(struct launch *launch, enum tensor_role role, uint64_t offset)
{
    for (int i = 0; i < launch->arg_count; i++) {
        struct launch_arg *arg = &launch->args[i];
        if (arg->kind != ARG_TENSOR || arg->tensor != role)
            continue;
        arg->kind = ARG_WORKSPACE;
        arg->value = (int64_t)offset;
    }
}

static void transform_solution(const struct problem *p, int chunk, bool turned,
                               struct solution *solution)
{
    struct solution inner = *solution;
    uint64_t offsets[TENSOR_COUNT], at = workspace_align(inner.workspace_bytes);
    enum tensor_role output = problem_output_role(p);
    struct side sides[TENSOR_COUNT];

    if (all_bytes(p, chunk, turned) == 0)
        return;
    memset(solution->launches, 0, sizeof(solution->launches));
    solution->launch_count = 0;
    for (int t = 0; t < TENSOR_COUNT; t++) {
        sides[t] = side_of(p, (enum tensor_role)t, chunk, turned);
        if (!is_moved(p, &sides[t]))
            continue;
        offsets[t] = at;
        at += moved_bytes(p, &sides[t]);
        for (int i = 0; i < inner.launch_count; i++)
            find_in_workspace(&inner.launches[i], sides[t].role, offsets[t]);
        solution->workspace_bytes = at;
        if (sides[t].role == output)
            continue;
        add_side(p, &sides[t], offsets[t], true, solution);
    }
    for (int i = 0; i < inner.launch_count; i++)
        *solution_add_launch(solution, inner.launches[i].file, inner.launches[i].entry) =
            inner.launches[i];
    if (is_moved(p, &sides[output]))
        add_side(p, &sides[output], offsets[output], false, solution);
}

void matrix_transform_solution(const struct problem *p, int chunk, struct solution *solution)
{
    transform_solution(p, chunk, false, solution);
}

void matrix_transform_turned_solution(const struct problem *p, int chunk, struct solution *solution)
{
    transform_solution(p, chunk, true, solution);
}
