/*
 * Convolutions on the matrix units of AMD's GPUs. Two solvers share one kernel, conv_matrix_amd.cl, and one space:
 *
 *   ConvMfma   CDNA (gfx908, gfx90a, gfx942): MFMA instructions, waves of 64
 *   ConvWmma   RDNA 3 and 4 (gfx110x, gfx120x): WMMA instructions, waves of 32, 16 by 16 by 16; no FP32
 *
 * F, B and W in two and three dimensions, tensors packed or strided, channels or positions innermost; FP32, FP16 and BF16, all
 * tensors alike; FP8 and BF8 in any mixture to any floating type but FP64 (gfx942, gfx120x); in F INT8 to INT32; FP32 in
 * XF32 on gfx942 where the problem permits TF32; groups, stride, dilation, any padding. Sums are FP32 or INT32. The
 * kernel reads NHWC or NDHWC with the channels of a group in whole chunks of 16 bytes of the inputs' type; other tensors
 * are first copied to that layout (matrix_transform.h). W may split its long sums (split-K, SPLITS), whose parts are added
 * up from the workspace.
 * Epilogues: all, with a residual of the output's layout. An INT8 product then has any output but FP64.
 */
#include <math.h>
#include <string.h>

#include "solvers/common/conv_common.h"
#include "solvers/common/conv_epilogue.h"
#include "solvers/common/matrix_epilogue.h"
#include "solvers/common/matrix_sum.h"
#include "solvers/common/matrix_transform.h"
#include "solvers/framework/solver_rows.h"
#include "solvers/matrix_amd/matrix_amd_shape.h"

#define BLOCK_M MATRIX_AMD_BLOCK_M
#define BLOCK_N MATRIX_AMD_BLOCK_N
#define WAVE_M  MATRIX_AMD_WAVE_M
#define WAVE_N  MATRIX_AMD_WAVE_N
#define UNIT    MATRIX_AMD_UNIT
#define BLOCK_K MATRIX_AMD_BLOCK_K
#define BUFFERS MATRIX_AMD_BUFFERS
#define SPLITS  MATRIX_AMD_SPLITS
#define PARAMS  MATRIX_AMD_PARAMS

#define CHUNK_BYTES       MATRIX_AMD_CHUNK_BYTES
#define GRID_MOST         65535 /* the most workgroups along a grid's second and third axis on every GPU */
/* The most rows of the product: work-items along the first axis are counted in 32 bits, and the shortest block has 16
 * work-items for each row. */
#define ROWS_MOST         0x0ff00000
/* The most channels of all groups at a position, which the kernel counts in int. */
#define CHANNELS_MOST     (INT32_MAX - (1 << 20))
#define WAVES_MOST        8
/* The most that XF32 takes of a number, by the number: AMD's documents do not say whether the unit rounds to 10 fraction
 * bits or cuts the others off. */
#define XF32_CUT          0x1p-10
#define LOADS_MOST        8 /* the most chunks of one operand that a work-item loads at once */
/* Vector registers of a lane that are not for sums, fragments and loads. WMMA's compiler has more fragments in
 * flight, so its number is larger. */
#define REGISTERS_MFMA    80
#define REGISTERS_WMMA    112
/* Smallest sizes of a block: rows or columns; 16-byte chunks of a row. */
#define BLOCK_LEAST       32
#define ROW_CHUNKS_LEAST  4
#define ROW_CHUNKS_MOST   8
/* Split-K: the least blocks of terms of a part; half the number of workgroups for each compute unit up to which
 * sums are split. */
#define STEPS_A_PART      4
#define WORKGROUPS_A_UNIT 2

/* The least channels of a group. Fewer would mostly be padding in the matrix instructions. */
#define CHANNELS_LEAST   4
#define SPLIT_BYTES_MOST 0x1p50

static const char *const sources[] = {"conv_matrix_amd.cl", "conv_matrix_sum.cl",
                                      "conv_transpose.cl", "conv_transpose_blocks.cl", NULL};

/* ---- the space ---- */

static bool waves_suit_block(const struct problem *p, const struct context *context,
                             const int32_t *values)
{
    struct matrix_amd_shape shape;

    if (values[WAVE_M] > values[BLOCK_M] || values[WAVE_N] > values[BLOCK_N] ||
        !matrix_amd_find_shape(p, context->target, values, &shape))
        return false;
    return shape.waves >= 1 && shape.waves <= WAVES_MOST &&
           shape.items <= context->target->max_workgroup;
}

/* A block must have whole steps of terms (as many as the lanes' fragments hold), and not more terms than the problem.
 * */
static bool terms_suit_unit(const struct problem *p, const struct context *context,
                            const int32_t *values)
{
    struct matrix_amd_shape shape;

    if (!matrix_amd_find_shape(p, context->target, values, &shape))
        return false;
    return shape.row_chunks >= ROW_CHUNKS_LEAST && shape.row_chunks <= ROW_CHUNKS_MOST &&
           shape.row_chunks % shape.step_chunks == 0 &&
           (shape.row_chunks == ROW_CHUNKS_LEAST ||
            values[BLOCK_K] <= matrix_amd_product_of(p).terms);
}

/* A work-item that transposes an operand in registers stores the terms of a row at once, at least two of a narrow type: 16
 * bits of an 8-bit type, 32 bits of a 16-bit type. */
static bool items_share_loads(const struct problem *p, const struct context *context,
                              const int32_t *values)
{
    struct matrix_amd_shape shape;
    int least = matrix_amd_element_bytes(p) == 4 ? 1 : 2;

    if (!matrix_amd_find_shape(p, context->target, values, &shape))
        return false;
    return shape.a_loads >= (p->direction == DIRECTION_W ? least : 1) &&
           shape.b_loads >= (p->direction == DIRECTION_F ? 1 : least) &&
           shape.a_loads <= LOADS_MOST && shape.b_loads <= LOADS_MOST;
}

static bool sums_fit_registers(const struct problem *p, const struct context *context,
                               const int32_t *values)
{
    struct matrix_amd_shape shape;
    int words = CHUNK_BYTES / 4, fragments, loads, beside;

    if (!matrix_amd_find_shape(p, context->target, values, &shape))
        return false;
    fragments = (shape.tiles_m + shape.tiles_n) * shape.fragment_chunks * words;
    loads = (shape.a_loads + shape.b_loads) * words;
    beside = shape.unit.wmma == 0 ? REGISTERS_MFMA : REGISTERS_WMMA;
    return matrix_amd_registers_suffice(context->target, &shape,
                                        values[WAVE_M] * values[WAVE_N] / shape.unit.wave,
                                        fragments + loads + beside);
}

static bool is_filled(double count, int block)
{
    return block == BLOCK_LEAST || block < 2 * count;
}

static bool block_suits_sizes(const struct problem *p, const struct context *context,
                              const int32_t *values)
{
    const struct matrix_amd_product product = matrix_amd_product_of(p);

    (void)context;
    return is_filled(product.rows, values[BLOCK_M]) && is_filled(product.columns, values[BLOCK_N]);
}

static bool blocks_fit_local_memory(const struct problem *p, const struct context *context,
                                    const int32_t *values)
{
    struct matrix_amd_shape shape;

    return matrix_amd_find_shape(p, context->target, values, &shape) &&
           matrix_amd_local_bytes(&shape, values) <= context->target->local_bytes;
}

/* ---- the workspace ---- */

/* Elements of w, the size of a split-K part, with channels rounded up to whole chunks. */
static double part_elements(const struct problem *p)
{
    return (double)p->groups * (double)matrix_amd_group_k(p) * (double)matrix_amd_group_c(p) *
           (double)p->fil[AXIS_D] * (double)p->fil[AXIS_H] * (double)p->fil[AXIS_W];
}

static double split_bytes(const struct problem *p, int splits)
{
    return splits > 1 ? splits * part_elements(p) * (double)sizeof(float) : 0;
}

static uint64_t transform_bytes(const struct problem *p)
{
    return matrix_transform_bytes(p, matrix_amd_chunk(p));
}

static bool workspace_fits(const struct problem *p, const struct context *context, int splits)
{
    double bytes = split_bytes(p, splits);

    return bytes < SPLIT_BYTES_MOST &&
           workspace_align((uint64_t)bytes) + transform_bytes(p) <= context->workspace_limit;
}

/* Only W is split into parts: where there are too few workgroups for the compute units, and enough terms. */
static bool splits_suit_target(const struct problem *p, const struct context *context,
                               const int32_t *values)
{
    const struct matrix_amd_product product = matrix_amd_product_of(p);
    int splits = values[SPLITS];

    if (splits == 1)
        return true;
    return p->direction == DIRECTION_W &&
           splits * STEPS_A_PART <= matrix_amd_blocks(product.terms, values[BLOCK_K]) &&
           product.layers * splits <= GRID_MOST &&
           matrix_amd_workgroups(p, values) * splits <=
               2.0 * WORKGROUPS_A_UNIT * context->target->compute_units &&
           workspace_fits(p, context, splits);
}

static const struct space_constraint constraints[] = {
    {"block_suits_sizes", "arithmetic", BLOCK_N + 1, block_suits_sizes},
    {"waves_suit_block", "workgroup size", UNIT + 1, waves_suit_block},
    {"terms_suit_unit", "arithmetic", BLOCK_K + 1, terms_suit_unit},
    {"items_share_loads", "arithmetic", BLOCK_K + 1, items_share_loads},
    {"sums_fit_registers", "registers", BLOCK_K + 1, sums_fit_registers},
    {"blocks_fit_local_memory", "local memory", BUFFERS + 1, blocks_fit_local_memory},
    {"splits_suit_target", "compute units", SPLITS + 1, splits_suit_target},
};

#define BLOCK_VALUES                                                                               \
    4, (const int32_t[])                                                                           \
    {                                                                                              \
        32, 64, 128, 256                                                                           \
    }
#define SPLITS_VALUES                                                                              \
    7, (const int32_t[])                                                                           \
    {                                                                                              \
        1, 2, 4, 8, 16, 32, 64                                                                     \
    }

static const struct space_param mfma_params[PARAMS] = {
    {"BLOCK_M", BLOCK_VALUES},
    {"BLOCK_N", BLOCK_VALUES},
    {"WAVE_M", 3, (const int32_t[]){32, 64, 128}},
    {"WAVE_N", 3, (const int32_t[]){32, 64, 128}},
    {"UNIT", 2, (const int32_t[]){16, 32}},
    {"BLOCK_K", 4, (const int32_t[]){16, 32, 64, 128}},
    {"BUFFERS", 2, (const int32_t[]){1, 2}},
    {"SPLITS", SPLITS_VALUES},
};

static const struct space_param wmma_params[PARAMS] = {
    {"BLOCK_M", BLOCK_VALUES},
    {"BLOCK_N", BLOCK_VALUES},
    {"WAVE_M", 3, (const int32_t[]){16, 32, 64}},
    {"WAVE_N", 3, (const int32_t[]){16, 32, 64}},
    {"UNIT", 1, (const int32_t[]){WMMA_SIZE}},
    {"BLOCK_K", 3, (const int32_t[]){32, 64, 128}},
    {"BUFFERS", 2, (const int32_t[]){1, 2}},
    {"SPLITS", SPLITS_VALUES},
};

static const struct space mfma_space = {PARAMS, mfma_params, G_N_ELEMENTS(constraints),
                                        constraints};
static const struct space wmma_space = {PARAMS, wmma_params, G_N_ELEMENTS(constraints),
                                        constraints};

/* ---- what is served ---- */

static bool tensors_are_served(const struct problem *p, const char **reason)
{
    enum data_type type = matrix_amd_operand_type(p);
    bool is_alike =
        p->type[TENSOR_X] == type && p->type[TENSOR_W] == type && p->type[TENSOR_Y] == type;

    *reason =
        "needs FP32, FP16 or BF16, and one type for all tensors, INT8 with an INT32 output, or "
        "FP8 and BF8 with an output of at most 32 bits";
    if (!conv_is_int8(p) && !conv_is_float8(p) &&
        (!is_alike || (type != TYPE_FP32 && type != TYPE_FP16 && type != TYPE_BF16)))
        return false;
    *reason = "needs the forward direction for INT8";
    if (conv_is_int8(p) && p->direction != DIRECTION_F)
        return false;
    *reason = "needs groups of at least four channels";
    if (p->groups > 1 && (p->c / p->groups < CHANNELS_LEAST || p->k / p->groups < CHANNELS_LEAST))
        return false;
    return matrix_transform_serves(p, matrix_amd_chunk(p), reason);
}

static bool serves(const struct problem *p, const char **reason)
{
    if (!conv_is_uncast(p, reason) || !conv_epilogue_is_served(p, true, reason) ||
        !tensors_are_served(p, reason) || !conv_counts_fit_32_bits(p, reason))
        return false;
    const struct matrix_amd_product product = matrix_amd_product_of(p);
    double channels = fmax((double)matrix_amd_group_c(p), (double)matrix_amd_group_k(p));
    double pitch = (double)matrix_transform_pitch(p, matrix_amd_chunk(p));
    *reason = "needs fewer than 2^31 channels";
    if (fmax(channels * (double)p->groups, pitch) > CHANNELS_MOST)
        return false;
    *reason =
        "needs fewer positions, groups, channels or filter positions: a grid's axes hold 65535 blocks";
    return product.layers <= GRID_MOST && product.columns <= (double)BLOCK_LEAST * GRID_MOST &&
           product.rows <= ROWS_MOST;
}

static bool all_hold(const struct problem *p, const struct context *context, const int32_t *values)
{
    for (gsize i = 0; i < G_N_ELEMENTS(constraints); i++) {
        if (!constraints[i].holds(p, context, values))
            return false;
    }
    return true;
}

/* Chooses the first of `configs` that is valid and, except in W, gives every compute unit a workgroup; the last one
 * is valid for every problem. Then chooses the most split-K parts that are valid. */
static void choose_default(const struct problem *p, const struct context *context,
                           const int32_t (*configs)[MATRIX_AMD_PARAMS], int count,
                           struct perf_config *config)
{
    int32_t *values = config->values;

    config->count = PARAMS;
    for (int i = 0; i < count; i++) {
        memcpy(values, configs[i], sizeof configs[i]);
        values[BLOCK_K] = ROW_CHUNKS_LEAST * CHUNK_BYTES / matrix_amd_element_bytes(p);
        if (all_hold(p, context, values) &&
            (p->direction == DIRECTION_W ||
             matrix_amd_workgroups(p, values) >= context->target->compute_units))
            break;
    }
    for (int32_t splits = 64; splits > 1 && values[SPLITS] == 1; splits /= 2) {
        values[SPLITS] = splits;
        if (!splits_suit_target(p, context, values))
            values[SPLITS] = 1;
    }
}

/* The workspace of the config that needs the most: the largest blocks leave the most parts to split. */
static uint64_t workspace_bytes(const struct problem *p, const struct context *context)
{
    int32_t values[PARAMS] = {[BLOCK_M] = 256, [BLOCK_N] = 256, [BLOCK_K] = 16, [SPLITS] = 64};

    while (values[SPLITS] > 1 && !splits_suit_target(p, context, values))
        values[SPLITS] /= 2;
    return workspace_align((uint64_t)split_bytes(p, values[SPLITS])) + transform_bytes(p);
}

static double used_part(const struct problem *p, const struct perf_config *config)
{
    const struct matrix_amd_product product = matrix_amd_product_of(p);
    double channels = (double)(p->c / p->groups) * (double)(p->k / p->groups);

    return conv_used_part(product.rows, config->values[BLOCK_M]) *
           conv_used_part(product.columns, config->values[BLOCK_N]) * channels /
           ((double)matrix_amd_group_c(p) * (double)matrix_amd_group_k(p)) *
           matrix_transform_used_part(p, matrix_amd_chunk(p));
}

/* ---- the launch ---- */

static void add_options(const struct problem *p, const struct matrix_amd_shape *shape,
                        const int32_t *values, struct launch *launch)
{
    if (conv_has_depth(p))
        launch_option_int(launch, "DEPTH", 1);
    for (int i = 0; i < SPLITS; i++)
        launch_option_int(launch, mfma_params[i].name, values[i]);
    launch_option_int(launch, "SPLIT", values[SPLITS] > 1);
    launch_option_int(launch, "UNIT_K", shape->unit.terms);
    launch_option_int(launch, "WMMA", shape->unit.wmma);
    conv_add_direction_option(p, launch);
    launch_option_text(launch, "TYPE", data_type_name(matrix_amd_operand_type(p)));
    if (conv_is_float8(p)) {
        launch_option_text(launch, "TYPE_B", data_type_name(p->type[conv_second_input(p)]));
        launch_option_text(launch, "TYPE_RESULT", data_type_name(p->type[problem_output_role(p)]));
    }
    matrix_add_epilogue_options(p, launch);
    launch_sort_options(launch);
}

static void add_plane(struct launch *launch, const int64_t *sizes)
{
    launch_arg_int32(launch, sizes[AXIS_H]);
    launch_arg_int32(launch, sizes[AXIS_W]);
}

/* Adds 17 counts as arguments, with depth six more; c and k are a group's. */
static void add_shape(const struct problem *p, struct launch *launch)
{
    struct problem flat;
    const int64_t *const sizes[] = {flat.in,  flat.out,    flat.fil,
                                    flat.pad, flat.stride, flat.dilation};

    conv_flatten(p, &flat);
    launch_arg_int32(launch, flat.n);
    launch_arg_int32(launch, matrix_amd_group_c(p));
    launch_arg_int32(launch, matrix_amd_group_k(p));
    launch_arg_int32(launch, p->groups);
    launch_arg_int32(launch, matrix_transform_pitch(p, matrix_amd_chunk(p)));
    for (gsize i = 0; i < G_N_ELEMENTS(sizes); i++)
        add_plane(launch, sizes[i]);
    for (gsize i = 0; flat.spatial_dim == 3 && i < G_N_ELEMENTS(sizes); i++)
        launch_arg_int32(launch, sizes[i][AXIS_D]);
}

static void add_arguments(const struct problem *p, const int32_t *values, int64_t part_terms,
                          struct launch *launch)
{
    conv_add_product_args(p, false, values[SPLITS] > 1, launch);
    add_shape(p, launch);
    launch_arg_int32(launch, values[SPLITS]);
    launch_arg_int32(launch, part_terms);
    matrix_add_epilogue_args(p, launch);
}

static void set_grid(const struct problem *p, const struct matrix_amd_shape *shape,
                     const int32_t *values, struct launch *launch)
{
    const struct matrix_amd_product product = matrix_amd_product_of(p);
    const int64_t grid[] = {matrix_amd_blocks(product.rows, values[BLOCK_M]) * shape->items,
                            matrix_amd_blocks(product.columns, values[BLOCK_N]),
                            (int64_t)product.layers * values[SPLITS]};
    const int block[] = {shape->items, 1, 1};

    launch_set_grid(launch, grid, block);
}

static bool solve(const struct problem *p, const struct context *context,
                  const struct perf_config *config, struct solution *solution, GError **error)
{
    const int32_t *values = config->values;
    struct launch *launch = solution_add_launch(solution, "conv_matrix_amd.cl", "conv_matrix_amd");
    int64_t steps = matrix_amd_blocks(matrix_amd_product_of(p).terms, values[BLOCK_K]);
    struct matrix_amd_shape shape;
    bool is_found = matrix_amd_find_shape(p, context->target, values, &shape);

    (void)error;
    g_assert(is_found);
    add_options(p, &shape, values, launch);
    add_arguments(p, values, matrix_amd_blocks((double)steps, values[SPLITS]) * values[BLOCK_K],
                  launch);
    set_grid(p, &shape, values, launch);
    if (values[SPLITS] > 1)
        matrix_add_sum(p, (int64_t)part_elements(p), values[SPLITS], solution);
    matrix_transform_solution(p, matrix_amd_chunk(p), solution);
    conv_set_exact_work(p, solution);
    if (matrix_amd_is_xf32(p, context->target))
        solution->rounding =
            (struct solution_rounding){.inputs = XF32_CUT, .terms = conv_shortest_sum(p)};
    return true;
}

/* ---- CDNA ---- */

static const int32_t mfma_defaults[][MATRIX_AMD_PARAMS] = {
    {128, 128, 64, 64, 32, 0, 1, 1},
    {64, 64, 32, 64, 32, 0, 1, 1},
};

static bool mfma_is_applicable(const struct problem *p, const struct context *context,
                               const char **reason)
{
    struct matrix_amd_unit unit;

    *reason = "needs AMD's MFMA for the type (gfx908, gfx90a, gfx942; FP8 and BF8: gfx942)";
    return matrix_amd_find_unit(context->target, matrix_amd_operand_type(p), 32, &unit) &&
           serves(p, reason);
}

static void mfma_default_config(const struct problem *p, const struct context *context,
                                struct perf_config *config)
{
    choose_default(p, context, mfma_defaults, G_N_ELEMENTS(mfma_defaults), config);
}

/* The estimate: FP32 on matrix units is twice as fast as on vector units (ConvSimt: 90), narrower types are up to
 * sixteen times as fast. */
static double mfma_estimate(const struct problem *p, const struct context *context)
{
    struct perf_config config;

    mfma_default_config(p, context, &config);
    bool is_slow =
        matrix_amd_operand_type(p) == TYPE_FP32 && !matrix_amd_is_xf32(p, context->target);
    return (is_slow ? 120.0 : 200.0) * used_part(p, &config);
}

const struct solver solver_conv_mfma = {
    .provider = "skipjack",
    .name = "ConvMfma",
    .revision = 5,
    .algorithm = "ImplicitGEMM",
    .own_strides = true,
    .epilogues = EPILOGUE_DOES_ALL,
    .dynamic = true,
    .native = true,
    .sources = sources,
    .is_applicable = mfma_is_applicable,
    .workspace_bytes = workspace_bytes,
    .estimate = mfma_estimate,
    .default_config = mfma_default_config,
    .space = &mfma_space,
    .solve = solve,
};

/* ---- RDNA ---- */

static const int32_t wmma_defaults[][MATRIX_AMD_PARAMS] = {
    {128, 128, 64, 32, 16, 0, 1, 1},
    {64, 64, 32, 32, 16, 0, 1, 1},
};

static bool wmma_is_applicable(const struct problem *p, const struct context *context,
                               const char **reason)
{
    struct matrix_amd_unit unit;

    *reason =
        "needs AMD's WMMA for the type (gfx110x, gfx120x: FP16, BF16, INT8; gfx120x: FP8, BF8)";
    return matrix_amd_find_unit(context->target, matrix_amd_operand_type(p), 16, &unit) &&
           unit.wmma != 0 && serves(p, reason);
}

static void wmma_default_config(const struct problem *p, const struct context *context,
                                struct perf_config *config)
{
    choose_default(p, context, wmma_defaults, G_N_ELEMENTS(wmma_defaults), config);
}

/* The estimate: matrix units are up to eight times as fast as vector units. */
static double wmma_estimate(const struct problem *p, const struct context *context)
{
    struct perf_config config;

    wmma_default_config(p, context, &config);
    return 150.0 * used_part(p, &config);
}

const struct solver solver_conv_wmma = {
    .provider = "skipjack",
    .name = "ConvWmma",
    .revision = 5,
    .algorithm = "ImplicitGEMM",
    .own_strides = true,
    .epilogues = EPILOGUE_DOES_ALL,
    .dynamic = true,
    .native = true,
    .sources = sources,
    .is_applicable = wmma_is_applicable,
    .workspace_bytes = workspace_bytes,
    .estimate = wmma_estimate,
    .default_config = wmma_default_config,
    .space = &wmma_space,
    .solve = solve,
};
