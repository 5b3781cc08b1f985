/*
 * 1x1 convolutions on Hopper's matrix units, which take operands with either axis innermost, so that NCHW
 * tensors need no copy. F, B and W, all tensors packed, NCHW or NCDHW, FP16 or BF16; groups; one
 * stride for height and width (in B at most 2, of which the image's height and width must be multiples), none for
 * depth; no padding. Planes of depth are more rows of an image. Static: shapes are compiled into the kernel. sm_90
 * only.
 *
 * In F and B a workgroup computes CHAIN blocks of positions one after the other; with RESIDENT the filter's
 * rows stay in local memory meanwhile. In W terms may be split into parts (SPLITS), whose sums are added up
 * from the workspace.
 *
 * Epilogues: all, with a residual of the output's layout; backward by the data with a stride of 1 alone.
 */
#include <string.h>

#include "solvers/common/conv_common.h"
#include "solvers/common/conv_epilogue.h"
#include "solvers/common/matrix_sum.h"
#include "solvers/framework/solver_rows.h"
#include "solvers/matrix_nvidia/matrix_common.h"

enum { BLOCK_M, BLOCK_N, STAGES, RESIDENT, CHAIN, SPLITS, PARAM_COUNT };

#define BLOCK_K           64 /* terms of a block of terms: a line of 128 bytes */
#define ELEMENT_BYTES     2
#define ITEMS_A_GROUP     128
#define ROWS_A_GROUP      64
#define REGISTERS_UNIT    65536
#define REGISTERS_BESIDE  64 /* registers of a work-item beside its sums */
#define STAGES_LEAST      3
#define CHANNELS_LEAST    8
#define GRID_MOST         65535 /* the most workgroups along a grid's third axis on every GPU */
#define BLOCKS_MOST       0x1p24
/* the most positions: twice as many plus a block still fit an int */
#define POSITIONS_MOST    (0x1p30 - 0x1p12)
/* Cycles of a workgroup's start. They are fewer than ConvWgmma's, because addresses are pointers and constants. */
#define START_CYCLES      1000
/* Split-K: the least blocks of terms of a part, and the most workgroups for each multiprocessor. */
#define STEPS_A_PART      4
#define WORKGROUPS_A_UNIT 4
/* conv_matrix_sum.cl adds up four elements at a time, so a part has a multiple of four. */
#define SUMS_AT_ONCE      4
#define VECTOR_MOST       8 /* 16 bytes */

static const char *const sources[] = {"conv_wgmma_1x1.cl", "conv_matrix_sum.cl", NULL};

static const struct space_param params[PARAM_COUNT] = {
    {"BLOCK_M", 3, (const int32_t[]){64, 128, 256}},
    {"BLOCK_N", 4, (const int32_t[]){64, 128, 192, 256}},
    {"STAGES", 4, (const int32_t[]){STAGES_LEAST, 4, 5, 6}},
    {"RESIDENT", 2, (const int32_t[]){0, 1}},
    {"CHAIN", 4, (const int32_t[]){1, 2, 4, 8}},
    {"SPLITS", MATRIX_SPLITS_VALUES},
};

/* The number of rows of an image, those of all its planes. */
static int64_t image_rows(const int64_t size[AXIS_COUNT])
{
    return size[AXIS_D] * size[AXIS_H];
}

/* The number of positions of one image of y. */
static int64_t plane_of(const struct problem *p)
{
    return image_rows(p->out) * p->out[AXIS_W];
}

/* Rows, columns and terms of each group's product, as matrix_planes.h defines them. */
struct product {
    int64_t rows, columns, terms;
};

static struct product product_of(const struct problem *p)
{
    int64_t c = p->c / p->groups, k = p->k / p->groups, positions = p->n * plane_of(p);

    if (p->direction == DIRECTION_F)
        return (struct product){k, positions, c};
    if (p->direction == DIRECTION_B)
        return (struct product){c, positions, k};
    return (struct product){k, c, positions};
}

static int64_t all_steps(const struct problem *p)
{
    return conv_divide_up(product_of(p).terms, BLOCK_K);
}

/* Blocks of terms that the longest split-K part has. */
static int64_t steps_of(const struct problem *p, const int32_t *values)
{
    return conv_divide_up(all_steps(p), values[SPLITS]);
}

static int64_t column_blocks(const struct problem *p, const int32_t *values)
{
    return conv_divide_up(product_of(p).columns, values[BLOCK_N]);
}

/* Workgroups for one group of one split-K part. */
static int64_t layer_blocks(const struct problem *p, const int32_t *values)
{
    return conv_divide_up(product_of(p).rows, values[BLOCK_M]) *
           conv_divide_up(column_blocks(p, values), values[CHAIN]);
}

static double workgroups_of(const struct problem *p, const int32_t *values)
{
    return (double)layer_blocks(p, values) * (double)p->groups * values[SPLITS];
}

static int items_of(const int32_t *values)
{
    return values[BLOCK_M] / ROWS_A_GROUP * ITEMS_A_GROUP;
}

/* Neighbours that are loaded at once (8, 4, 2 or 1), where lines of `line` elements follow each other without gaps.
 * */
static int vector_of(int64_t line)
{
    int vector = VECTOR_MOST;

    while (line % vector != 0)
        vector /= 2;
    return vector;
}

/* Bytes of local memory: results before they are stored, the filter's resident rows, and the blocks of terms. */
static int64_t local_bytes_of(const struct problem *p, const int32_t *values)
{
    int64_t staging = values[SPLITS] > 1 ? 0 : (int64_t)values[BLOCK_M] * BLOCK_K * ELEMENT_BYTES;
    int64_t rows = (int64_t)values[BLOCK_M] * BLOCK_K * ELEMENT_BYTES;
    int64_t columns = (int64_t)values[BLOCK_N] * BLOCK_K * ELEMENT_BYTES;
    int64_t stages = MIN(values[STAGES], steps_of(p, values) * values[CHAIN]);

    if (values[RESIDENT])
        return staging + all_steps(p) * rows + stages * columns;
    return staging + stages * (rows + columns);
}

/* ---- the space ---- */

/* A block may have at most twice the product's rows and columns; the smallest block is always valid. */
static bool block_suits_sizes(const struct problem *p, const struct context *context,
                              const int32_t *values)
{
    const struct product product = product_of(p);

    (void)context;
    return (values[BLOCK_M] == ROWS_A_GROUP || values[BLOCK_M] < 2 * product.rows) &&
           (values[BLOCK_N] == BLOCK_K || values[BLOCK_N] < 2 * product.columns);
}

static bool sums_fit_registers(const struct problem *p, const struct context *context,
                               const int32_t *values)
{
    int sums = values[BLOCK_N] * ROWS_A_GROUP / ITEMS_A_GROUP;

    (void)p;
    (void)context;
    return items_of(values) * (sums + REGISTERS_BESIDE) <= REGISTERS_UNIT;
}

/* CHAIN above 1 (blocks of columns that a workgroup computes one after the other) is not valid in W, whose columns
 * are channels. In F and B at least half of the multiprocessors must still get a chain. */
static bool chain_suits_target(const struct problem *p, const struct context *context,
                               const int32_t *values)
{
    const double units = context->target->compute_units;

    if (values[CHAIN] == 1)
        return true;
    return p->direction != DIRECTION_W &&
           (double)layer_blocks(p, values) * (double)p->groups >= units / 2;
}

/* RESIDENT (keeping the filter's rows in local memory) is valid only where a chain of blocks reuses the rows. */
static bool resident_suits_chain(const struct problem *p, const struct context *context,
                                 const int32_t *values)
{
    (void)p;
    (void)context;
    return values[RESIDENT] == 0 || values[CHAIN] > 1;
}

static int least_splits(const struct problem *p)
{
    return matrix_least_splits((double)product_of(p).terms);
}

static double parts_bytes(const struct problem *p, int splits)
{
    return splits > 1 ? (double)p->k * (double)(p->c / p->groups) * splits * sizeof(float) : 0;
}

static bool parts_fit(const struct problem *p, const struct context *context, int splits)
{
    double elements = (double)p->k * (double)(p->c / p->groups);

    return parts_bytes(p, splits) <= (double)context->workspace_limit &&
           (splits == 1 || elements <= MATRIX_SUM_MOST) && (double)p->groups * splits <= GRID_MOST;
}

static bool splits_suit_target(const struct problem *p, const struct context *context,
                               const int32_t *values)
{
    int least = least_splits(p);

    if (values[SPLITS] <= least)
        return values[SPLITS] == least;
    return p->direction == DIRECTION_W && parts_fit(p, context, values[SPLITS]) &&
           (int64_t)values[SPLITS] * STEPS_A_PART <= all_steps(p) &&
           workgroups_of(p, values) <= (double)WORKGROUPS_A_UNIT * context->target->compute_units;
}

/* A kernel may not have more stages than blocks of terms to put into them. */
static bool stages_suit_terms(const struct problem *p, const struct context *context,
                              const int32_t *values)
{
    (void)context;
    return values[STAGES] == STAGES_LEAST || values[STAGES] <= steps_of(p, values) * values[CHAIN];
}

static bool stages_fit_local_memory(const struct problem *p, const struct context *context,
                                    const int32_t *values)
{
    return local_bytes_of(p, values) <= target_dynamic_local_bytes(context->target);
}

static const struct space_constraint constraints[] = {
    {"block_suits_sizes", "arithmetic", BLOCK_N + 1, block_suits_sizes},
    {"sums_fit_registers", "registers", BLOCK_N + 1, sums_fit_registers},
    {"chain_suits_target", "compute units", CHAIN + 1, chain_suits_target},
    {"resident_suits_chain", "arithmetic", CHAIN + 1, resident_suits_chain},
    {"splits_suit_target", "compute units", SPLITS + 1, splits_suit_target},
    {"stages_suit_terms", "arithmetic", SPLITS + 1, stages_suit_terms},
    {"stages_fit_local_memory", "local memory", SPLITS + 1, stages_fit_local_memory},
};

static const struct space space = {PARAM_COUNT, params, G_N_ELEMENTS(constraints), constraints};

/* ---- what it serves ---- */

static bool tensors_are_served(const struct problem *p, const char **reason)
{
    *reason = "needs the layout NCHW or NCDHW, and tensors of one type, FP16 or BF16";
    if (p->type[TENSOR_X] != TYPE_FP16 && p->type[TENSOR_X] != TYPE_BF16)
        return false;
    for (int t = 0; t < TENSOR_COUNT; t++) {
        if (!conv_is_planes(p->layout[t]) || p->type[t] != p->type[TENSOR_X])
            return false;
    }
    return true;
}

static bool filter_is_served(const struct problem *p, const char **reason)
{
    const int64_t stride = p->stride[AXIS_H];

    *reason =
        "needs a filter, stride and padding that leave depth as it is, and planes of whole strides";
    if (p->fil[AXIS_D] != 1 || p->stride[AXIS_D] != 1 || p->pad[AXIS_D] != 0 ||
        (p->in[AXIS_D] > 1 && p->in[AXIS_H] != stride * p->out[AXIS_H]))
        return false;
    *reason =
        "needs a 1x1 filter, one stride for both axes, and no padding; backward by the data a stride of 1, or "
        "of 2 with images of even sides";
    for (int a = AXIS_H; a <= AXIS_W; a++) {
        if (p->fil[a] != 1 || p->stride[a] != stride || p->pad[a] != 0)
            return false;
        if (p->direction == DIRECTION_B && (stride > 2 || p->in[a] != stride * p->out[a]))
            return false;
    }
    /* Positions of x that no position of y meets are stored as zeros, to which no step is done. */
    *reason = "needs a stride of 1 for an epilogue backward by the data";
    if (p->direction == DIRECTION_B && stride > 1 && p->epilogue[0] != '\0')
        return false;
    *reason = "needs groups of at least eight channels";
    return p->c / p->groups >= CHANNELS_LEAST && p->k / p->groups >= CHANNELS_LEAST;
}

static bool sizes_are_served(const struct problem *p, const struct context *context,
                             const char **reason)
{
    static const int32_t smallest[] = {ROWS_A_GROUP, BLOCK_K, STAGES_LEAST, 0, 1, 1};
    int least = least_splits(p);

    if (!conv_counts_fit_32_bits(p, reason))
        return false;
    *reason = "needs fewer positions or groups";
    if ((double)p->n * (double)plane_of(p) > POSITIONS_MOST ||
        (double)image_rows(p->in) * (double)p->in[AXIS_W] > POSITIONS_MOST ||
        (double)layer_blocks(p, smallest) > BLOCKS_MOST || p->groups > GRID_MOST)
        return false;
    *reason = "by the weights needs filters of a multiple of four elements";
    if (p->direction == DIRECTION_W && p->k * (p->c / p->groups) % SUMS_AT_ONCE != 0)
        return false;
    *reason = "needs shorter sums, or a workspace for their parts";
    return (least == 1 || p->direction == DIRECTION_W) &&
           matrix_parts_are_short((double)product_of(p).terms, least) &&
           parts_fit(p, context, least);
}

static bool is_applicable(const struct problem *p, const struct context *context,
                          const char **reason)
{
    *reason = "needs Hopper's matrix units (sm_90)";
    if (target_compute_capability(context->target) != 90)
        return false;
    return conv_is_plain(p, reason) && tensors_are_served(p, reason) &&
           filter_is_served(p, reason) && sizes_are_served(p, context, reason);
}

/* ---- choosing without measuring ---- */

static double cycles_of(const struct problem *p, const struct context *context,
                        const int32_t *values)
{
    const struct matrix_blocks blocks = {values[BLOCK_M], values[BLOCK_N], BLOCK_K, values[SPLITS],
                                         MATRIX_WGMMA};
    const struct matrix_effort effort = {.workgroups = workgroups_of(p, values),
                                         .steps = (double)steps_of(p, values),
                                         .start = START_CYCLES,
                                         .parts_bytes = parts_bytes(p, values[SPLITS])};

    return matrix_cycles(context, &blocks, &effort);
}

/* Tries all splits of the candidate's block, and keeps the config with the fewest estimated cycles so far. */
static void consider(const struct problem *p, const struct context *context, int32_t *values,
                     struct perf_config *config, double *least)
{
    for (values[SPLITS] = least_splits(p); values[SPLITS] <= MATRIX_SPLITS_MOST;
         values[SPLITS] *= 2) {
        double cycles = cycles_of(p, context, values);
        values[STAGES] = 4;
        if (!stages_suit_terms(p, context, values))
            values[STAGES] = STAGES_LEAST;
        if (cycles >= *least || !splits_suit_target(p, context, values))
            continue;
        *least = cycles;
        memcpy(config->values, values, PARAM_COUNT * sizeof(values[0]));
    }
}

/* Chooses chains of 4 blocks with resident rows, or else chains of 2, where all multiprocessors still have work. A
 * chain hides the start and end of blocks, and resident rows are read less often. */
static void lengthen(const struct problem *p, const struct context *context,
                     struct perf_config *config)
{
    static const int32_t choices[][2] = {{1, 4}, {0, 2}}; /* RESIDENT, CHAIN */

    if (p->direction == DIRECTION_W)
        return;
    for (size_t i = 0; i < G_N_ELEMENTS(choices); i++) {
        struct perf_config longer = *config;
        longer.values[RESIDENT] = choices[i][0];
        longer.values[CHAIN] = choices[i][1];
        longer.values[STAGES] = STAGES_LEAST + 1;
        if (stages_suit_terms(p, context, longer.values) &&
            workgroups_of(p, longer.values) >= context->target->compute_units &&
            stages_fit_local_memory(p, context, longer.values)) {
            *config = longer;
            return;
        }
    }
}

/* Sets the default: the block with the fewest estimated cycles. The smallest block is tried first, because it is
 * valid for every problem. */
static void default_config(const struct problem *p, const struct context *context,
                           struct perf_config *config)
{
    static const int32_t blocks[][2] = {{64, 64},  {64, 128},  {128, 64},  {64, 256}, {128, 128},
                                        {256, 64}, {128, 192}, {128, 256}, {256, 128}};
    double least = G_MAXDOUBLE;

    config->count = PARAM_COUNT;
    for (size_t i = 0; i < G_N_ELEMENTS(blocks); i++) {
        int32_t values[PARAM_COUNT] = {blocks[i][0], blocks[i][1], STAGES_LEAST, 0, 1, 1};
        if (block_suits_sizes(p, context, values))
            consider(p, context, values, config, &least);
    }
    lengthen(p, context, config);
}

/* The workspace of the config with the most split-K parts. */
static uint64_t workspace_bytes(const struct problem *p, const struct context *context)
{
    int32_t values[] = {256, 256, STAGES_LEAST, 0, 1, MATRIX_SPLITS_MOST};

    while (values[SPLITS] > least_splits(p) && !splits_suit_target(p, context, values))
        values[SPLITS] /= 2;
    return (uint64_t)parts_bytes(p, values[SPLITS]);
}

/* The estimate is above ConvWgmma's, which copies NCHW tensors first. */
static double estimate(const struct problem *p, const struct context *context)
{
    const struct product product = product_of(p);
    struct perf_config config;

    default_config(p, context, &config);
    return 400.0 * conv_used_part((double)product.rows, config.values[BLOCK_M]) *
           conv_used_part((double)product.columns, config.values[BLOCK_N]);
}

/* ---- the launches ---- */

static void add_options(const struct problem *p, const int32_t *values, struct launch *launch)
{
    for (int i = 0; i < CHAIN; i++)
        launch_option_int(launch, params[i].name, values[i]);
    conv_add_direction_option(p, launch);
    launch_option_int(launch, "FILTER_VECTOR", vector_of(p->c / p->groups));
    launch_option_int(launch, "GROUPS", p->groups);
    launch_option_int(launch, "IN_H", image_rows(p->in));
    launch_option_int(launch, "IN_W", p->in[AXIS_W]);
    launch_option_text(launch, "LANE", "float");
    launch_option_int(launch, "OUT_H", image_rows(p->out));
    launch_option_int(launch, "OUT_W", p->out[AXIS_W]);
    launch_option_int(launch, "PLANE_VECTOR", vector_of(plane_of(p)));
    launch_option_int(launch, "SIZE_C", p->c / p->groups);
    launch_option_int(launch, "SIZE_K", p->k / p->groups);
    launch_option_int(launch, "SPLIT", values[SPLITS] > 1);
    launch_option_int(launch, "STRIDE", p->stride[AXIS_H]);
    launch_option_text(launch, "TYPE", data_type_name(p->type[TENSOR_X]));
    conv_add_epilogue_options(p, launch);
    launch_sort_options(launch);
}

static bool solve(const struct problem *p, const struct context *context,
                  const struct perf_config *config, struct solution *solution, GError **error)
{
    const int32_t *values = config->values;
    const int64_t elements = p->k * (p->c / p->groups);
    const int items = items_of(values);
    struct launch *launch = solution_add_launch(solution, "conv_wgmma_1x1.cl", "conv_wgmma_1x1");

    (void)context;
    (void)error;
    add_options(p, values, launch);
    launch->local_bytes = local_bytes_of(p, values);
    conv_add_product_args(p, true, values[SPLITS] > 1, launch);
    launch_arg_int32(launch, p->n);
    launch_arg_int32(launch, conv_divide_up(column_blocks(p, values), values[CHAIN]));
    launch_arg_int32(launch, values[SPLITS]);
    launch_arg_int64(launch, elements);
    conv_add_epilogue_args(p, launch);
    launch_set_grid(
        launch, (const int64_t[]){layer_blocks(p, values) * items, 1, p->groups * values[SPLITS]},
        (const int[]){items, 1, 1});
    if (values[SPLITS] > 1)
        matrix_add_sum(p, elements, values[SPLITS], solution);
    conv_set_exact_work(p, solution);
    return true;
}

const struct solver solver_conv_wgmma_1x1 = {
    .provider = "skipjack",
    .name = "ConvWgmma1x1",
    .revision = 4,
    .algorithm = "GEMM",
    .epilogues = EPILOGUE_DOES_ALL,
    .native = true,
    .sources = sources,
    .is_applicable = is_applicable,
    .workspace_bytes = workspace_bytes,
    .estimate = estimate,
    .default_config = default_config,
    .space = &space,
    .solve = solve,
};
