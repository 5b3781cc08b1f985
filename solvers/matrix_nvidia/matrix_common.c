#include "solvers/matrix_nvidia/matrix_common.h"

#include <math.h>

#include "solvers/common/conv_common.h"
#include "solvers/common/conv_epilogue.h"
#include "solvers/common/matrix_epilogue.h"
#include "solvers/common/matrix_sum.h"
#include "solvers/common/matrix_transform.h"

#define CHUNK_BYTES       16
#define CHANNELS_LEAST    4
#define GRID_MOST         65535 /* the most workgroups along a grid's third axis on every GPU */
#define BLOCKS_MOST       0x1p24
/* The most positions of a tensor that kernels count in int, including those of a block past the last one. */
#define PLACES_MOST       (INT32_MAX - (1 << 20))
/* Estimated cycles of a workgroup's start. */
#define START_CYCLES      2000
/* The least blocks of terms of a split-K part. */
#define STEPS_A_PART      4
/* The most workgroups for each multiprocessor where terms are split to occupy all of them. */
#define WORKGROUPS_A_UNIT 4
/* The most that TF32's 10 fraction bits change a number, by the number: half a step by rounding, a step by cutting off. */
#define TF32_ROUNDOFF     0x1p-11
#define TF32_CUT          0x1p-10
/* The most that FP8 and BF8 products lose in an instruction's sum, by the largest of them: the last of 13 fraction bits
 * (multiply() of kernels/device/matrix_nvidia/matrix_nvidia.h). */
#define FLOAT8_CUT        0x1p-13
/* The instructions whose sums conv_wgmma.cl adds up with that precision: those of a block of 128 bytes of terms. */
#define FLOAT8_CHAIN      4

/* ---- the product ---- */

/* phase_taps(): the most filter positions along an axis that a phase of B meets. phase_positions(): a phase's
 * positions along an axis. */
static int64_t phase_taps(const struct problem *p, enum axis axis)
{
    return conv_divide_up(p->fil[axis], conv_stride_period(p, axis));
}

static int64_t phase_positions(const struct problem *p, enum axis axis)
{
    return conv_divide_up(p->in[axis], p->stride[axis]);
}

static double taps_of(const struct problem *p)
{
    return (double)p->fil[AXIS_D] * (double)p->fil[AXIS_H] * (double)p->fil[AXIS_W];
}

/* Positions of a tensor of these sizes. */
static double positions_of(const int64_t size[AXIS_COUNT])
{
    return (double)size[AXIS_D] * (double)size[AXIS_H] * (double)size[AXIS_W];
}

/* Channels of one load of 16 bytes. */
static int chunk_of(const struct problem *p)
{
    return CHUNK_BYTES / (int)data_type_bytes(p->type[TENSOR_X]);
}

int64_t matrix_c_of(const struct problem *p)
{
    return matrix_transform_channels(p->c, p, chunk_of(p));
}

int64_t matrix_k_of(const struct problem *p)
{
    return matrix_transform_channels(p->k, p, chunk_of(p));
}

int64_t matrix_elements_of(const struct problem *p, int64_t channels)
{
    return channels * data_type_bytes(p->type[TENSOR_X]) / MATRIX_ELEMENT_BYTES;
}

int matrix_number_elements(const struct problem *p)
{
    return problem_is_tf32(p) ? 2 : 1;
}

/* Whether the filter is copied with k innermost, so that B's terms are. */
static bool filter_is_turned(const struct problem *p, enum matrix_unit unit)
{
    return unit == MATRIX_WGMMA && p->direction == DIRECTION_B && problem_is_tf32(p);
}

struct matrix_product matrix_product_of(const struct problem *p)
{
    double c = (double)matrix_c_of(p), k = (double)matrix_k_of(p), n = (double)p->n;
    double c_terms = (double)matrix_elements_of(p, matrix_c_of(p));
    double k_terms = (double)matrix_elements_of(p, matrix_k_of(p));
    double groups = (double)p->groups, y = n * positions_of(p->out);
    struct matrix_product product = {n, c, k_terms, groups}; /* of B, to which axes come */

    if (p->direction == DIRECTION_F)
        return (struct matrix_product){y, k, c_terms * taps_of(p), groups};
    if (p->direction == DIRECTION_W)
        return (struct matrix_product){k, c * taps_of(p), y * matrix_number_elements(p), groups};
    for (int axis = AXIS_D; axis <= AXIS_W; axis++) {
        product.rows *= (double)phase_positions(p, (enum axis)axis);
        product.terms *= (double)phase_taps(p, (enum axis)axis);
        product.layers *= (double)p->stride[axis];
    }
    return product;
}

static double blocks_of(double count, int block)
{
    return (double)conv_divide_up((int64_t)count, block);
}

double matrix_workgroups(const struct problem *p, const struct matrix_blocks *blocks)
{
    const struct matrix_product product = matrix_product_of(p);

    return blocks_of(product.rows, blocks->m) * blocks_of(product.columns, blocks->n) *
           product.layers;
}

/* Blocks of terms of the whole sum. In B each filter position begins a new block of channels. */
static double all_steps(const struct problem *p, int block_k)
{
    const struct matrix_product product = matrix_product_of(p);
    double k = (double)matrix_elements_of(p, matrix_k_of(p));

    if (p->direction != DIRECTION_B)
        return blocks_of(product.terms, block_k);
    return product.terms / k * blocks_of(k, block_k);
}

double matrix_steps(const struct problem *p, const struct matrix_blocks *blocks)
{
    return blocks_of(all_steps(p, blocks->k), blocks->splits);
}

bool matrix_block_suits(const struct problem *p, const struct matrix_blocks *blocks)
{
    const struct matrix_product product = matrix_product_of(p);

    return (blocks->m == MATRIX_SMALLEST || blocks->m < 2 * product.rows) &&
           (blocks->n == MATRIX_SMALLEST || blocks->n < 2 * product.columns);
}

double matrix_used_part(const struct problem *p, const struct matrix_blocks *blocks)
{
    const struct matrix_product product = matrix_product_of(p);
    double channels = (double)p->c * (double)p->k / (double)(p->groups * p->groups);

    return conv_used_part(product.rows, blocks->m) * conv_used_part(product.columns, blocks->n) *
           channels / (double)(matrix_c_of(p) * matrix_k_of(p)) *
           matrix_transform_used_part(p, chunk_of(p));
}

/* ---- parts ---- */

/* Channels of the result in all groups, rounded up. */
static int64_t matrix_row_elements(const struct problem *p)
{
    return (p->direction == DIRECTION_B ? matrix_c_of(p) : matrix_k_of(p)) * p->groups;
}

/* Numbers of the result, with channels rounded up to whole loads of 16 bytes. */
double matrix_result_elements(const struct problem *p)
{
    double c = (double)matrix_c_of(p) * (double)p->groups,
           k = (double)matrix_k_of(p) * (double)p->groups;
    double n = (double)p->n;

    if (p->direction == DIRECTION_F)
        return n * k * positions_of(p->out);
    if (p->direction == DIRECTION_B)
        return n * c * positions_of(p->in);
    return k * (double)matrix_c_of(p) * taps_of(p);
}

/* A term of FP8 or BF8 is a pair, so its sums have two products for each. */
static double products_of_a_sum(const struct problem *p)
{
    return matrix_product_of(p).terms * (conv_is_float8(p) ? 2 : 1);
}

static int least_splits(const struct problem *p)
{
    return matrix_least_splits(products_of_a_sum(p));
}

static double split_bytes(const struct problem *p, int splits)
{
    return splits > 1 ? splits * matrix_result_elements(p) * (double)sizeof(float) : 0;
}

uint64_t matrix_copies_bytes(const struct problem *p, enum matrix_unit unit)
{
    return filter_is_turned(p, unit) ? matrix_transform_turned_bytes(p, chunk_of(p))
                                     : matrix_transform_bytes(p, chunk_of(p));
}

/* Whether the grid and the workspace limit allow so many split-K parts. The workspace is divided as in the solution.
 * */
static bool parts_fit(const struct problem *p, const struct context *context, enum matrix_unit unit,
                      int splits)
{
    if (matrix_product_of(p).layers * splits > GRID_MOST ||
        (splits > 1 && matrix_result_elements(p) > MATRIX_SUM_MOST))
        return false;
    return workspace_align((uint64_t)split_bytes(p, splits)) + matrix_copies_bytes(p, unit) <=
           context->workspace_limit;
}

bool matrix_splits_suit(const struct problem *p, const struct context *context,
                        const struct matrix_blocks *blocks)
{
    int least = least_splits(p);

    if (blocks->splits <= least)
        return blocks->splits == least;
    return parts_fit(p, context, blocks->unit, blocks->splits) &&
           blocks->splits * STEPS_A_PART <= all_steps(p, blocks->k) &&
           matrix_workgroups(p, blocks) * blocks->splits <=
               (double)WORKGROUPS_A_UNIT * context->target->compute_units;
}

/* The default number of split-K parts. W's result is small compared with its operands, so W splits freely; in F and B
 * parts pay only where multiprocessors would be idle. */
int matrix_default_splits(const struct problem *p, const struct context *context,
                          const struct matrix_blocks *blocks)
{
    struct matrix_blocks parts = *blocks;
    double most = context->target->compute_units * (p->direction == DIRECTION_W ? 2.0 : 1.0);

    parts.splits = least_splits(p);
    while (parts.splits < MATRIX_SPLITS_MOST) {
        parts.splits *= 2;
        if (!matrix_splits_suit(p, context, &parts) ||
            matrix_workgroups(p, blocks) * parts.splits > most)
            return parts.splits / 2;
    }
    return parts.splits;
}

/* Estimates cycles. A block of terms costs the larger of two: its operations, at 4096 a cycle, and its loads from the
 * second-level cache, at 28 bytes a cycle for each multiprocessor. To this come a workgroup's start and stores, and
 * the writing and reading of split-K parts. */
double matrix_cycles(const struct context *context, const struct matrix_blocks *blocks,
                     const struct matrix_effort *effort)
{
    double m = blocks->m, n = blocks->n, k = blocks->k, units = context->target->compute_units;
    double step = fmax(2 * m * n * k / 4096, (m + n) * k * MATRIX_ELEMENT_BYTES / 28);
    double waves = ceil(effort->workgroups / units);
    double parts = 2 * effort->parts_bytes / (units * 14) + 3000;

    return waves * (effort->steps * step + effort->start + m * n / 8) +
           (blocks->splits > 1 ? parts : 0);
}

static double cycles_of(const struct problem *p, const struct context *context,
                        const struct matrix_blocks *blocks)
{
    const struct matrix_effort effort = {.workgroups =
                                             matrix_workgroups(p, blocks) * blocks->splits,
                                         .steps = matrix_steps(p, blocks),
                                         .start = START_CYCLES,
                                         .parts_bytes = split_bytes(p, blocks->splits)};

    return matrix_cycles(context, blocks, &effort);
}

bool matrix_choose(const struct problem *p, const struct context *context,
                   const struct matrix_blocks *candidate, struct matrix_blocks *best, double *least)
{
    struct matrix_blocks parts = *candidate;
    bool found = false;

    if (!matrix_block_suits(p, candidate))
        return false;
    for (parts.splits = least_splits(p); parts.splits <= MATRIX_SPLITS_MOST; parts.splits *= 2) {
        double cycles = cycles_of(p, context, &parts);
        if (cycles >= *least || !matrix_splits_suit(p, context, &parts))
            continue;
        *least = cycles;
        *best = parts;
        found = true;
    }
    return found;
}

uint64_t matrix_workspace_bytes(const struct problem *p, const struct context *context,
                                const struct matrix_blocks *largest)
{
    struct matrix_blocks parts = *largest;

    for (parts.splits = MATRIX_SPLITS_MOST; parts.splits > least_splits(p); parts.splits /= 2) {
        if (matrix_splits_suit(p, context, &parts))
            break;
    }
    return workspace_align((uint64_t)split_bytes(p, parts.splits)) +
           matrix_copies_bytes(p, largest->unit);
}

/* ---- what is served ---- */

static bool tensors_are_served(const struct problem *p, enum matrix_unit unit, const char **reason)
{
    if (conv_is_float8(p)) {
        *reason = "multiplies FP8 and BF8 in direction F alone";
        return p->direction == DIRECTION_F && matrix_transform_serves(p, chunk_of(p), reason);
    }
    if (problem_is_tf32(p)) {
        *reason = "computes in TF32 in directions F and B alone";
        return (unit == MATRIX_MMA || p->direction != DIRECTION_W) &&
               matrix_transform_serves(p, chunk_of(p), reason);
    }
    *reason = p->epilogue[0] != '\0'
                  ? "needs FP16 or BF16 tensors of one type, or forward INT8"
                  : "needs FP16 or BF16 tensors of one type, or forward INT8 with an INT32 output";
    if (conv_is_int8(p))
        return p->direction == DIRECTION_F && matrix_transform_serves(p, chunk_of(p), reason);
    if (p->type[TENSOR_X] != TYPE_FP16 && p->type[TENSOR_X] != TYPE_BF16)
        return false;
    for (int t = 0; t < TENSOR_COUNT; t++) {
        if (p->type[t] != p->type[TENSOR_X])
            return false;
    }
    return matrix_transform_serves(p, chunk_of(p), reason);
}

/* Whether groups have at least CHANNELS_LEAST channels. Fewer would mostly be padding in the matrix instructions. */
static bool groups_are_served(const struct problem *p, const char **reason)
{
    *reason = "needs groups of at least four channels";
    return p->groups == 1 ||
           (p->c / p->groups >= CHANNELS_LEAST && p->k / p->groups >= CHANNELS_LEAST);
}

/* The most positions along an axis from a tensor's end to a position in its padding. */
static double margin(const struct problem *p, enum axis axis)
{
    double span = ((double)p->fil[axis] - 1) * (double)p->dilation[axis] + 1;

    return (double)p->pad[axis] + span + 1;
}

/* A bound for the position numbers that the kernel computes in the gathered tensor: it adds a filter position's
 * number to a position's, also for positions in the padding. */
static double places_of(const struct problem *p)
{
    struct problem flat;
    const int64_t *size = p->direction == DIRECTION_B ? flat.out : flat.in;
    double planes;

    conv_flatten(p, &flat);
    planes = (double)flat.n * (double)size[AXIS_D];
    if (flat.spatial_dim == 3)
        planes += margin(&flat, AXIS_D);
    return (planes * (double)size[AXIS_H] + margin(&flat, AXIS_H)) * (double)size[AXIS_W] +
           margin(&flat, AXIS_W);
}

/* Whether everything that kernels count in int fits 31 bits: positions, a position's channels of all groups, and
 * elements of a filter, in every direction. */
static bool places_fit_32_bits(const struct problem *p, const char **reason)
{
    double c = (double)matrix_elements_of(p, matrix_c_of(p)), k = (double)matrix_k_of(p);
    double k_elements = (double)matrix_elements_of(p, matrix_k_of(p));
    double pitch = (double)matrix_transform_pitch(p, chunk_of(p));
    double channels = fmax(fmax(c, fmax(k, k_elements)) * (double)p->groups, pitch);

    *reason = "needs tensors of fewer than 2^31 positions, channels and elements of a filter";
    return places_of(p) <= PLACES_MOST && channels <= PLACES_MOST && c * taps_of(p) <= PLACES_MOST;
}

static bool sizes_are_served(const struct problem *p, const struct context *context,
                             enum matrix_unit unit, const char **reason)
{
    const struct matrix_product product = matrix_product_of(p);
    const struct matrix_blocks smallest = {MATRIX_SMALLEST, MATRIX_SMALLEST, 1, 1, unit};
    int least = least_splits(p);

    *reason =
        "needs fewer groups, shorter strides or fewer positions: a grid's axes hold 65535 blocks";
    if (product.layers > GRID_MOST || product.rows >= INT32_MAX - 256 ||
        matrix_workgroups(p, &smallest) / product.layers > BLOCKS_MOST)
        return false;
    *reason = "needs shorter sums, or a workspace for their parts and for copies of tensors";
    return matrix_parts_are_short(products_of_a_sum(p), least) &&
           parts_fit(p, context, unit, least);
}

bool matrix_serves(const struct problem *p, const struct context *context, enum matrix_unit unit,
                   const char **reason)
{
    /* The kernels and conv_matrix_sum.cl include float8.h, so an epilogue's second tensor may be FP8 or BF8. */
    return conv_is_uncast(p, reason) && conv_epilogue_is_served(p, true, reason) &&
           tensors_are_served(p, unit, reason) && groups_are_served(p, reason) &&
           conv_counts_fit_32_bits(p, reason) && places_fit_32_bits(p, reason) &&
           sizes_are_served(p, context, unit, reason);
}

/* ---- the launches ---- */

void matrix_add_options(const struct problem *p, enum matrix_unit unit, int splits,
                        struct launch *launch)
{
    if (conv_has_depth(p))
        launch_option_int(launch, "DEPTH", 1);
    launch_option_int(launch, "SPLIT", splits > 1);
    conv_add_direction_option(p, launch);
    launch_option_text(launch, "LANE", conv_sum_type(p));
    launch_option_text(launch, "TYPE",
                       problem_is_tf32(p) ? OP_MODE_TF32 : data_type_name(p->type[TENSOR_X]));
    if (conv_is_float8(p)) {
        launch_option_text(launch, "TYPE_B", data_type_name(p->type[TENSOR_W]));
        launch_option_text(launch, "TYPE_Y", data_type_name(p->type[TENSOR_Y]));
    }
    if (filter_is_turned(p, unit))
        launch_option_int(launch, "TURNED", 1);
    if (splits == 1)
        matrix_add_epilogue_options(p, launch);
    launch_sort_options(launch);
}

static void add_plane(struct launch *launch, const int64_t size[AXIS_COUNT])
{
    launch_arg_int32(launch, size[AXIS_H]);
    launch_arg_int32(launch, size[AXIS_W]);
}

/* A number below 2^31 divided by `by` is (high(number * multiplier) + number) >> shift, where high() is the
 * upper 32 bits of a 64-bit product (Granlund and Montgomery, "Division by Invariant Integers using
 * Multiplication", 1994). */
void matrix_add_divisor(struct launch *launch, int64_t by)
{
    int shift = 0;
    uint64_t multiplier;

    while ((int64_t)1 << shift < by)
        shift++;
    multiplier = (((((uint64_t)1 << shift) - (uint64_t)by) << 32) / (uint64_t)by) + 1;
    launch_arg_int32(launch, (int32_t)(uint32_t)multiplier);
    launch_arg_int32(launch, shift);
}

int64_t matrix_pitch(const struct problem *p, int splits)
{
    return splits > 1 || p->direction == DIRECTION_W ? matrix_row_elements(p)
                                                     : matrix_transform_pitch(p, chunk_of(p));
}

void matrix_add_parts_sum(const struct problem *p, int splits, struct solution *solution)
{
    int64_t pitch = matrix_pitch(p, 1);
    bool has_gaps = pitch != matrix_row_elements(p);

    matrix_add_pitched_sum(p, (int64_t)matrix_result_elements(p), splits, has_gaps ? pitch : 0,
                           solution);
}

/* Adds the sizes as arguments, in the order of the kernel's SIZE_PARAMETERS. `p`: flattened; pitch: matrix_pitch(). */
static void add_shape(const struct problem *p, int64_t pitch, struct launch *launch)
{
    int64_t period[AXIS_COUNT], plane[AXIS_COUNT];
    const int64_t *sizes[] = {p->in, p->out, p->fil, p->pad, p->stride, p->dilation, period, plane};

    for (int axis = AXIS_D; axis <= AXIS_W; axis++) {
        period[axis] = conv_stride_period(p, (enum axis)axis);
        plane[axis] =
            p->direction == DIRECTION_B ? phase_positions(p, (enum axis)axis) : p->out[axis];
    }
    launch_arg_int32(launch, p->n);
    launch_arg_int32(launch, matrix_elements_of(p, matrix_c_of(p)));
    launch_arg_int32(launch, matrix_k_of(p));
    launch_arg_int32(launch, p->groups);
    launch_arg_int32(launch, pitch);
    for (size_t i = 0; i < G_N_ELEMENTS(sizes); i++)
        add_plane(launch, sizes[i]);
    matrix_add_divisor(launch, plane[AXIS_H] * plane[AXIS_W]);
    matrix_add_divisor(launch, plane[AXIS_W]);
    matrix_add_divisor(launch, matrix_c_of(p) / chunk_of(p));
    matrix_add_divisor(launch, p->fil[AXIS_W]);
    if (p->spatial_dim == 2)
        return;
    for (size_t i = 0; i < G_N_ELEMENTS(sizes); i++)
        launch_arg_int32(launch, sizes[i][AXIS_D]);
    matrix_add_divisor(launch, plane[AXIS_D]);
    matrix_add_divisor(launch, p->fil[AXIS_H]);
}

void matrix_finish_launch(const struct problem *p, const struct matrix_blocks *blocks, int items,
                          struct launch *launch)
{
    const struct matrix_product product = matrix_product_of(p);
    int64_t columns = (int64_t)blocks_of(product.columns, blocks->n);
    int64_t rows = (int64_t)blocks_of(product.rows, blocks->m);
    const int64_t grid[] = {rows * columns * items, 1, (int64_t)product.layers * blocks->splits};
    struct problem flat;

    conv_flatten(p, &flat);
    matrix_add_options(p, blocks->unit, blocks->splits, launch);
    conv_add_product_args(p, false, blocks->splits > 1, launch);
    add_shape(&flat, matrix_pitch(p, blocks->splits), launch);
    launch_arg_int32(launch, columns);
    launch_arg_int32(launch, blocks->splits);
    launch_arg_int64(launch, (int64_t)matrix_result_elements(p));
    if (blocks->splits == 1)
        matrix_add_epilogue_args(p, launch);
    launch_set_grid(launch, grid, (const int[]){items, 1, 1});
}

void matrix_add_copies(const struct problem *p, enum matrix_unit unit, struct solution *solution)
{
    if (filter_is_turned(p, unit))
        matrix_transform_turned_solution(p, chunk_of(p), solution);
    else
        matrix_transform_solution(p, chunk_of(p), solution);
    conv_set_exact_work(p, solution);
    if (problem_is_tf32(p))
        solution->rounding =
            (struct solution_rounding){.inputs = unit == MATRIX_WGMMA ? TF32_CUT : TF32_ROUNDOFF,
                                       .terms = conv_shortest_sum(p)};
    if (conv_is_float8(p))
        solution->rounding.products = FLOAT8_CUT;
    if (conv_is_float8(p) && unit == MATRIX_WGMMA) {
        solution->rounding.terms = conv_shortest_sum(p);
        solution->rounding.chain = FLOAT8_CHAIN;
    }
}

void matrix_finish_solution(const struct problem *p, const struct matrix_blocks *blocks,
                            struct solution *solution)
{
    if (blocks->splits > 1)
        matrix_add_parts_sum(p, blocks->splits, solution);
    matrix_add_copies(p, blocks->unit, solution);
}
