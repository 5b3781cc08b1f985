/*
 * Convolutions as one matrix product for each group on a GPU's vector units, close to their peak. F, B and W in two
 * and three dimensions, all tensors FP32 and of one layout, channels or positions innermost; groups, stride,
 * dilation, any padding. Dynamic. Where depth can be flattened the kernel for two dimensions computes it (flatten()).
 * B with a stride computes each phase of input positions apart, so that nothing is multiplied by zeros. Long
 * sums may be split (SPLITS, split_sum.h).
 *
 * Tensors may be strided: strides are arguments of the launch. They decide whether four elements may be loaded or stored
 * at once (quads_are_aligned()), and whether depth is flattened, so each solution is for its problem's own strides. A slice
 * of channels has its groups of four wherever the packed tensor has, if images, channels of planes and pixels are whole
 * groups of four elements apart.
 *
 * Parameters: LOAD_A and LOAD_B: neighbours of a and of b that are loaded at once; ASYNC: copies to local memory need
 * no registers and run while the work-item computes (NVIDIA from sm_80 on); STAGES: blocks of terms in local memory
 * at once.
 */
#include <string.h>

#include "solvers/common/conv_common.h"
#include "solvers/common/conv_epilogue.h"
#include "solvers/common/split_sum.h"
#include "solvers/common/tile_space.h"
#include "solvers/framework/solver_rows.h"
#include "solvers/framework/space.h"
#include "solvers/implicit_gemm/simt_common.h"
#include "solvers/problem/problem.h"

/* The indices of the config's parameters, in order. */
enum {
    SIMT_BLOCK_M,
    SIMT_BLOCK_N,
    SIMT_TILE_M,
    SIMT_TILE_N,
    SIMT_BLOCK_K,
    SIMT_LOAD_A,
    SIMT_LOAD_B,
    SIMT_ASYNC,
    SIMT_STAGES,
    SIMT_SPLITS,
    SIMT_PARAM_COUNT
};

/* The most workgroups along a grid's third axis on every GPU. */
#define SIMT_GRID_MOST 65535

#define SPLITS_MOST   512
/* The least rows and columns of a block. */
#define LEAST_ROWS    32
#define LEAST_COLUMNS 64
/* Blocks of this few columns, and blocks of this many terms, are for W only, whose products may have few rows and
 * columns. */
#define FEW_COLUMNS   32
#define MANY_TERMS    32
/* The most work-items for each compute unit that splitting may lead to: about twice what a unit holds at once. */
#define ITEMS_A_UNIT  1024.0
static const struct space_param params[SIMT_PARAM_COUNT] = {
    {"BLOCK_M", 4, (const int32_t[]){32, 64, 128, 256}},
    {"BLOCK_N", 4, (const int32_t[]){FEW_COLUMNS, 64, 128, 256}},
    {"TILE_M", 3, (const int32_t[]){4, 8, 16}},
    {"TILE_N", 3, (const int32_t[]){4, 8, 16}},
    {"BLOCK_K", 3, (const int32_t[]){8, 16, MANY_TERMS}},
    {"LOAD_A", 2, (const int32_t[]){1, 4}},
    {"LOAD_B", 2, (const int32_t[]){1, 4}},
    {"ASYNC", 2, (const int32_t[]){0, 1}},
    {"STAGES", 3, (const int32_t[]){2, 3, 4}},
    {"SPLITS", 10, (const int32_t[]){1, 2, 4, 8, 16, 32, 64, 128, 256, SPLITS_MOST}},
};

/* How the kernel stores its sums: values of its argument c_quads. */
enum simt_store {
    SIMT_STORE_EACH,
    SIMT_STORE_QUADS, /* each store writes a complete aligned group of four */
    /* B of a 1x1 filter of stride 2: two sums of one line are stored with the zeros between them */
    SIMT_STORE_PAIRS_SPREAD,
    /* B of a 1x1 filter of stride 2: four sums of one line are stored with the zeros between them */
    SIMT_STORE_QUADS_SPREAD,
};

/* ---- the problem as matrix products ---- */

/* Operand a is the filter (F, B) or y (W); operand b is gathered from the other tensor. */

static bool simt_is_nhwc(const struct problem *p)
{
    return conv_is_channels_last(p->layout[TENSOR_X]);
}

/* Sets *flat to the convolution of two dimensions that the kernel computes in place of p, else to p: with channels
 * innermost, planes of depth are images or rows (conv_flatten()); with positions innermost they can only be rows. */
static void flatten(const struct problem *p, struct problem *flat)
{
    if (simt_is_nhwc(p))
        conv_flatten(p, flat);
    else
        conv_flatten_rows(p, flat);
}

/* Whether the kernel has an axis of depth. */
static bool has_depth(const struct problem *p)
{
    struct problem flat;

    if (p->spatial_dim == 2)
        return false;
    flatten(p, &flat);
    return flat.spatial_dim == 3;
}

static int64_t count_positions(const int64_t sizes[AXIS_COUNT])
{
    return sizes[AXIS_D] * sizes[AXIS_H] * sizes[AXIS_W];
}

static bool has_stride_1(const struct problem *p)
{
    return count_positions(p->stride) == 1;
}

/* The number of filter positions. */
static int64_t simt_taps(const struct problem *p)
{
    return count_positions(p->fil);
}

static bool is_packed(const struct problem *p, enum tensor_role role)
{
    static const int64_t packed[5];

    return memcmp(p->strides[role], packed, sizeof packed) == 0;
}

/* Whether the problem is B of an NCHW 1x1 filter with stride 2 and even images, so that the kernel stores zeros
 * between the sums, in a packed x. (With an epilogue other numbers are between them.) Planes of depth are all
 * computed. */
static bool is_spread(const struct problem *p)
{
    if (p->epilogue[0] != '\0' || p->stride[AXIS_D] != 1 || p->pad[AXIS_D] != 0 ||
        !is_packed(p, TENSOR_X))
        return false;
    for (int a = AXIS_H; a <= AXIS_W; a++) {
        if (p->stride[a] != 2 || p->pad[a] != 0 || p->in[a] != 2 * p->out[a])
            return false;
    }
    return p->direction == DIRECTION_B && simt_taps(p) == 1 && !simt_is_nhwc(p);
}

/* The most filter positions along an axis that reach one input position, computed as walk_along() of conv_walk.h
 * does. */
static int64_t reaching_taps(const struct problem *p, int axis)
{
    return conv_divide_up(p->fil[axis],
                          p->stride[axis] / conv_gcd(p->stride[axis], p->dilation[axis]));
}

/* Sizes of the products. Layers, products in one grid, are groups; in B times the phases of input positions, without
 * phases whose zeros the first phase stores. Columns are those of the first phase, which has the most; terms are the
 * most of any phase. */
static struct tile_product simt_product_sizes(const struct problem *p)
{
    struct tile_product product = {.layers = (double)p->groups};

    conv_gemm_sizes(p, &product.m, &product.n, &product.k);
    if (!is_spread(p))
        product.part_bytes =
            (uint64_t)problem_tensor_elements(p, problem_output_role(p)) * sizeof(float);
    if (p->direction != DIRECTION_B)
        return product;
    product.n = (double)p->n;
    product.k = (double)(p->k / p->groups);
    for (int a = AXIS_D; a <= AXIS_W; a++) {
        product.n *= (double)((p->in[a] - 1) / p->stride[a] + 1);
        product.k *= (double)reaching_taps(p, a);
        if (!is_spread(p))
            product.layers *= (double)MIN(p->stride[a], p->in[a]);
    }
    return product;
}

/* Whether the positions of each plane follow each other without gaps, as in a packed tensor. */
static bool planes_are_dense(const int64_t sizes[5], const int64_t strides[5])
{
    int64_t step = 1;

    for (int axis = 4; axis >= 2; axis--) {
        if (sizes[axis] > 1 && strides[axis] != step)
            return false;
        step *= sizes[axis];
    }
    return true;
}

/* Whether groups of four neighbours that begin at multiples of four are together in memory and aligned to 16 bytes, as
 * they are in a packed tensor with complete groups. Neighbours are channels in NHWC, positions in NCHW. A tensor begins at
 * a multiple of 16 bytes. The elements of a w that is not packed are always loaded and stored one by one. */
static bool quads_are_aligned(const struct problem *p, enum tensor_role role)
{
    int64_t sizes[5], strides[5];

    if (is_packed(p, role))
        return true;
    if (role == TENSOR_W)
        return false;
    problem_operand_sizes(p, role, sizes);
    problem_strides(p, role, strides);
    if (simt_is_nhwc(p) ? strides[1] != 1 : !planes_are_dense(sizes, strides))
        return false;
    for (int axis = 0; axis < 5; axis++) {
        bool is_between_groups = simt_is_nhwc(p) ? axis != 1 : axis < 2;
        if (is_between_groups && strides[axis] % 4 != 0)
            return false;
    }
    return true;
}

/* Whether a 1x1 filter without padding has positions in complete groups of four, in memory order. With any_stride the
 * stride does not matter, because the operand's own positions follow each other. */
static bool positions_are_plain(const struct problem *p, bool any_stride)
{
    return simt_taps(p) == 1 && p->pad[AXIS_D] == 0 && p->pad[AXIS_H] == 0 && p->pad[AXIS_W] == 0 &&
           (any_stride || has_stride_1(p)) && count_positions(p->out) % 4 == 0;
}

/* Whether a's elements come in aligned groups of four that are complete. */
static bool simt_a_has_quads(const struct problem *p)
{
    int64_t c = p->c / p->groups, k = p->k / p->groups;

    if (!quads_are_aligned(p, p->direction == DIRECTION_W ? TENSOR_Y : TENSOR_W))
        return false;
    switch (p->direction) {
    case DIRECTION_F: return c * simt_taps(p) % 4 == 0;
    case DIRECTION_B: return c % 4 == 0 && (simt_is_nhwc(p) || simt_taps(p) == 1);
    default: return (simt_is_nhwc(p) ? k : count_positions(p->out)) % 4 == 0;
    }
}

/* Whether b's elements come in complete aligned groups of four; its neighbours are channels in NHWC, positions in
 * NCHW. */
static bool simt_b_has_quads(const struct problem *p)
{
    bool backward = p->direction == DIRECTION_B;

    if (!quads_are_aligned(p, backward ? TENSOR_Y : TENSOR_X))
        return false;
    if (simt_is_nhwc(p))
        return (backward ? p->k : p->c) / p->groups % 4 == 0;
    return positions_are_plain(p, backward);
}

/* Whether c's elements come in complete aligned groups of four; with is_split, those of the split-K parts, which are
 * packed. The parts of w have NCHW's layout. */
static bool c_has_quads(const struct problem *p, bool is_split)
{
    int64_t c = p->c / p->groups, k = p->k / p->groups;

    if (!is_split && !quads_are_aligned(p, problem_output_role(p)))
        return false;
    switch (p->direction) {
    case DIRECTION_F: return (simt_is_nhwc(p) ? k : count_positions(p->out)) % 4 == 0;
    case DIRECTION_B:
        return simt_is_nhwc(p) ? c % 4 == 0 : has_stride_1(p) && count_positions(p->in) % 4 == 0;
    default: return c * simt_taps(p) % 4 == 0 && !(is_split && simt_is_nhwc(p) && simt_taps(p) > 1);
    }
}

static enum simt_store simt_store_of(const struct problem *p, bool is_split)
{
    if (is_spread(p))
        return p->out[AXIS_W] % 4 == 0 ? SIMT_STORE_QUADS_SPREAD : SIMT_STORE_PAIRS_SPREAD;
    return c_has_quads(p, is_split) ? SIMT_STORE_QUADS : SIMT_STORE_EACH;
}

/* ---- the product ---- */

static double blocks_of(double count, int32_t block)
{
    return (double)conv_divide_up((int64_t)count, block);
}

/* conv_simt_items(): work-items of a workgroup. conv_simt_workgroups(): workgroups of one split-K part. Both depend
 * on a config's first four values only. */
static int conv_simt_items(const int32_t *values)
{
    return values[SIMT_BLOCK_M] / values[SIMT_TILE_M] *
           (values[SIMT_BLOCK_N] / values[SIMT_TILE_N]);
}

static double conv_simt_workgroups(const struct tile_product *product, const int32_t *values)
{
    return blocks_of(product->m, values[SIMT_BLOCK_M]) *
           blocks_of(product->n, values[SIMT_BLOCK_N]) * product->layers;
}

/* ---- how operands lie ---- */

/* Whether terms are neighbours in memory in operand a (b_is_by_term(): in b). Layout and config alone decide, so that
 * one binary serves all shapes. In B of NCHW, loading single elements of a means that terms are neighbours, loading
 * four means that rows are. */
static bool a_is_by_term(const struct problem *p, const int32_t *values)
{
    if (simt_is_nhwc(p))
        return p->direction == DIRECTION_F;
    return p->direction != DIRECTION_B || values[SIMT_LOAD_A] == 1;
}

static bool b_is_by_term(const struct problem *p)
{
    return simt_is_nhwc(p) == (p->direction != DIRECTION_W);
}

/* The block of a config of which only the values before parameter `known` are set, as in a walk's constraints. */
static struct simt_block block_of(const struct problem *p, const int32_t *values, int known)
{
    struct simt_block block = {.block_m = values[SIMT_BLOCK_M],
                               .block_n = values[SIMT_BLOCK_N],
                               .tile_m = values[SIMT_TILE_M],
                               .tile_n = values[SIMT_TILE_N],
                               .c_by_row = simt_is_nhwc(p) && p->direction != DIRECTION_W,
                               .b_by_term = b_is_by_term(p),
                               .has_depth = has_depth(p)};

    if (known > SIMT_BLOCK_K)
        block.block_k = values[SIMT_BLOCK_K];
    if (known > SIMT_LOAD_A) {
        block.load_a = values[SIMT_LOAD_A];
        block.a_by_term = a_is_by_term(p, values);
    }
    if (known > SIMT_LOAD_B)
        block.load_b = values[SIMT_LOAD_B];
    if (known > SIMT_STAGES) {
        block.async = values[SIMT_ASYNC] != 0;
        block.stages = values[SIMT_STAGES];
    }
    return block;
}

/* The block of a whole config, with the way its operands are loaded. */
static struct simt_block conv_simt_block(const struct problem *p, const int32_t *values)
{
    return block_of(p, values, SIMT_STAGES + 1);
}

/* ---- the space ---- */

static bool items_suit_target(const struct problem *p, const struct context *context,
                              const int32_t *values)
{
    const struct simt_block block = block_of(p, values, SIMT_TILE_N + 1);

    return simt_items_suit(&block, context->target->max_workgroup);
}

/* A work-item's tile must give enough products for each element that it reads, and leave registers free. */
static bool sums_fit_registers(const struct problem *p, const struct context *context,
                               const int32_t *values)
{
    int sums = values[SIMT_TILE_M] * values[SIMT_TILE_N];

    (void)p;
    (void)context;
    return sums >= 32 && sums <= 128;
}

static bool block_suits_sizes(const struct problem *p, const struct context *context,
                              const int32_t *values)
{
    const struct tile_product product = simt_product_sizes(p);

    (void)context;
    if (values[SIMT_BLOCK_N] == FEW_COLUMNS &&
        (p->direction != DIRECTION_W || blocks_of(product.n, FEW_COLUMNS) * FEW_COLUMNS ==
                                            blocks_of(product.n, LEAST_COLUMNS) * LEAST_COLUMNS))
        return false;
    return (values[SIMT_BLOCK_M] == LEAST_ROWS || values[SIMT_BLOCK_M] < 2 * product.m) &&
           (values[SIMT_BLOCK_N] <= LEAST_COLUMNS || values[SIMT_BLOCK_N] < 2 * product.n);
}

/* A long block of terms (BLOCK_K 32) reads longer pieces of memory. It is valid only in W with tiles of 32 sums,
 * which have few products for each element read, so that it pays. */
static bool terms_suit_block(const struct problem *p, const struct context *context,
                             const int32_t *values)
{
    (void)context;
    return values[SIMT_BLOCK_K] < MANY_TERMS ||
           (p->direction == DIRECTION_W && values[SIMT_TILE_M] * values[SIMT_TILE_N] == 32);
}

static bool blocks_fit_grid(const struct problem *p, const struct context *context,
                            const int32_t *values)
{
    const struct tile_product product = simt_product_sizes(p);

    (void)context;
    return conv_simt_workgroups(&product, values) / product.layers * conv_simt_items(values) <=
           UINT32_MAX / 2;
}

/* Whether an operand's load width is worth trying. Where four neighbours can be loaded at once other widths are
 * slower, except single terms that are copied without registers. */
static bool load_suits(bool has_quads, bool by_term, const struct context *context, int32_t load)
{
    if (load == 4)
        return has_quads;
    return !has_quads || (by_term && context->target->vendor == VENDOR_NVIDIA);
}

static bool a_suits_items(const struct problem *p, const struct context *context,
                          const int32_t *values)
{
    const struct simt_block block = block_of(p, values, SIMT_LOAD_A + 1);

    return load_suits(simt_a_has_quads(p), simt_is_nhwc(p) || p->direction != DIRECTION_B, context,
                      values[SIMT_LOAD_A]) &&
           simt_items_share_a(&block);
}

static bool b_suits_items(const struct problem *p, const struct context *context,
                          const int32_t *values)
{
    const struct simt_block block = block_of(p, values, SIMT_LOAD_B + 1);

    return load_suits(simt_b_has_quads(p), b_is_by_term(p), context, values[SIMT_LOAD_B]) &&
           simt_items_share_b(&block);
}

/* ASYNC needs sm_80 or later, and at least one operand that is copied without registers; an operand whose terms are
 * loaded in fours is not, since its fours are turned around in registers. Without ASYNC, loading single terms is
 * valid only where terms do not come in complete groups of four. */
static bool async_suits_target(const struct problem *p, const struct context *context,
                               const int32_t *values)
{
    bool a_by_term = a_is_by_term(p, values), b_by_term = b_is_by_term(p);

    if (!values[SIMT_ASYNC])
        return (values[SIMT_LOAD_A] == 4 || !a_by_term || !simt_a_has_quads(p)) &&
               (values[SIMT_LOAD_B] == 4 || !b_by_term || !simt_b_has_quads(p));
    return target_compute_capability(context->target) >= 80 &&
           !(a_by_term && values[SIMT_LOAD_A] == 4 && b_by_term && values[SIMT_LOAD_B] == 4);
}

static bool stages_fit_local_memory(const struct problem *p, const struct context *context,
                                    const int32_t *values)
{
    const struct simt_block block = block_of(p, values, SIMT_STAGES + 1);

    return (values[SIMT_STAGES] == 2 || values[SIMT_ASYNC]) &&
           simt_fits_local_memory(&block, context->target->local_bytes);
}

/* Splitting is valid only where there are too few workgroups for the compute units, and enough terms for all parts.
 * */
static bool splits_suit_target(const struct problem *p, const struct context *context,
                               const int32_t *values)
{
    const struct tile_product product = simt_product_sizes(p);

    return values[SIMT_SPLITS] == 1 ||
           (tile_may_split(&product, context, values[SIMT_SPLITS], values[SIMT_BLOCK_K]) &&
            conv_simt_workgroups(&product, values) * conv_simt_items(values) *
                    values[SIMT_SPLITS] <=
                ITEMS_A_UNIT * context->target->compute_units);
}

static const struct space_constraint constraints[] = {
    {"items_suit_target", "workgroup size", SIMT_TILE_N + 1, items_suit_target},
    {"sums_fit_registers", "registers", SIMT_TILE_N + 1, sums_fit_registers},
    {"block_suits_sizes", "arithmetic", SIMT_TILE_N + 1, block_suits_sizes},
    {"blocks_fit_grid", "work-items of a launch", SIMT_TILE_N + 1, blocks_fit_grid},
    {"terms_suit_block", "registers", SIMT_BLOCK_K + 1, terms_suit_block},
    {"a_suits_items", "alignment", SIMT_LOAD_A + 1, a_suits_items},
    {"b_suits_items", "alignment", SIMT_LOAD_B + 1, b_suits_items},
    {"async_suits_target", "copy units", SIMT_ASYNC + 1, async_suits_target},
    {"stages_fit_local_memory", "local memory", SIMT_STAGES + 1, stages_fit_local_memory},
    {"splits_suit_target", "compute units", SIMT_SPLITS + 1, splits_suit_target},
};

static const struct space conv_simt_space = {SIMT_PARAM_COUNT, params, G_N_ELEMENTS(constraints),
                                             constraints};

/* Whether every block of the space gives a grid that GPUs take. */
static bool conv_simt_fits_grid(const struct problem *p, const struct context *context)
{
    const int32_t least[SIMT_PARAM_COUNT] = {LEAST_ROWS, LEAST_COLUMNS, 4, 8};

    return simt_product_sizes(p).layers <= SIMT_GRID_MOST && blocks_fit_grid(p, context, least);
}

/* ---- the default ---- */

/* The least terms of a split-K part in F and B, where a part is as large as a tensor and parts should be few. */
#define DATA_PART_TERMS 256

static int32_t default_terms(const struct problem *p, const int32_t *block)
{
    return p->direction == DIRECTION_W && block[SIMT_TILE_M] * block[SIMT_TILE_N] == 32 ? MANY_TERMS
                                                                                        : 16;
}

/* The default number of split-K parts: in W as many as allowed, in F and B until units have two workgroups each. */
static int32_t default_splits(const struct problem *p, const struct context *context,
                              const int32_t *block)
{
    const struct tile_product product = simt_product_sizes(p);
    double workgroups = conv_simt_workgroups(&product, block);
    int32_t values[SIMT_PARAM_COUNT], splits = 1;

    memcpy(values, block, SIMT_BLOCK_K * sizeof *values);
    values[SIMT_BLOCK_K] = default_terms(p, block);
    for (values[SIMT_SPLITS] = 2; values[SIMT_SPLITS] <= SPLITS_MOST; values[SIMT_SPLITS] *= 2) {
        if (!splits_suit_target(p, context, values))
            break;
        if (p->direction != DIRECTION_W &&
            (workgroups * splits >= 2.0 * context->target->compute_units ||
             product.k < (double)DATA_PART_TERMS * values[SIMT_SPLITS]))
            break;
        splits = values[SIMT_SPLITS];
    }
    return splits;
}

/* Estimates a block's relative speed from the share of its work that is not padding, how evenly compute units get
 * blocks, the reads for each product (fewer in large blocks), and the cost of adding up split-K parts. */
static double block_worth(const struct problem *p, const struct context *context,
                          const int32_t *values)
{
    const struct tile_product product = simt_product_sizes(p);
    int items = conv_simt_items(values), splits = default_splits(p, context, values);
    double workgroups = conv_simt_workgroups(&product, values) * splits;
    double at_once = (double)context->target->compute_units * (items <= 128 ? 4 : 2);
    double filled = p->direction == DIRECTION_W ? 1 : conv_used_part(workgroups, (int)at_once);
    double lines = values[SIMT_BLOCK_M] * values[SIMT_BLOCK_N] /
                   (double)(values[SIMT_BLOCK_M] + values[SIMT_BLOCK_N]) / 64;

    if (splits > 1 && p->direction != DIRECTION_W)
        filled *= 0.9;
    return conv_used_part(product.m, values[SIMT_BLOCK_M]) *
           conv_used_part(product.n, values[SIMT_BLOCK_N]) *
           (workgroups < at_once ? filled : (1 + filled) / 2) * (0.7 + 0.3 * lines);
}

/* Blocks among which defaults are chosen. W often has few rows and columns; its list also has small blocks with half
 * the sums in a work-item, so that more work-items wait for memory at once. */
static const int32_t data_blocks[][SIMT_BLOCK_K] = {
    {128, 128, 8, 8}, {64, 128, 8, 8}, {64, 64, 8, 4}, {32, 128, 8, 8}};
static const int32_t weights_blocks[][SIMT_BLOCK_K] = {
    {128, 128, 8, 8}, {64, 128, 8, 8}, {64, 64, 4, 8}, {32, 128, 4, 8},
    {128, 32, 8, 4},  {64, 32, 8, 4},  {32, 64, 4, 8}};

static void choose_block(const struct problem *p, const struct context *context, int32_t *values)
{
    bool weights = p->direction == DIRECTION_W;
    const int32_t(*blocks)[SIMT_BLOCK_K] = weights ? weights_blocks : data_blocks;
    gsize count = weights ? G_N_ELEMENTS(weights_blocks) : G_N_ELEMENTS(data_blocks), which = 0;
    double best = 0;

    for (gsize i = 0; i < count; i++) {
        double worth = block_worth(p, context, blocks[i]);
        if (blocks_fit_grid(p, context, blocks[i]) && worth > best) {
            best = worth;
            which = i;
        }
    }
    memcpy(values, blocks[which], sizeof blocks[which]);
}

static void conv_simt_default_config(const struct problem *p, const struct context *context,
                                     struct perf_config *config)
{
    int32_t *values = config->values;

    config->count = SIMT_PARAM_COUNT;
    choose_block(p, context, values);
    values[SIMT_BLOCK_K] = default_terms(p, values);
    values[SIMT_LOAD_A] = simt_a_has_quads(p) ? 4 : 1;
    values[SIMT_LOAD_B] = simt_b_has_quads(p) ? 4 : 1;
    values[SIMT_ASYNC] = 0;
    values[SIMT_STAGES] = 2;
    values[SIMT_SPLITS] = default_splits(p, context, values);
}

/* The workspace of the config that needs the most. For each size of block, tiles as large as possible leave the
 * fewest work-items, which allows the most split-K parts. */
static uint64_t conv_simt_workspace_bytes(const struct problem *p, const struct context *context)
{
    int32_t splits = 1;

    for (int m = 0; m < params[SIMT_BLOCK_M].count; m++) {
        for (int n = 0; n < params[SIMT_BLOCK_N].count; n++) {
            int32_t block_m = params[SIMT_BLOCK_M].values[m],
                    block_n = params[SIMT_BLOCK_N].values[n];
            int32_t tile = CLAMP(block_m * block_n / 512, 4, 16);
            int32_t values[SIMT_PARAM_COUNT] = {block_m, block_n, 8, tile, 8,
                                                1,       1,       0, 2,    2 * splits};
            while (splits < SPLITS_MOST && splits_suit_target(p, context, values)) {
                splits = values[SIMT_SPLITS];
                values[SIMT_SPLITS] *= 2;
            }
        }
    }
    return splits > 1 ? (uint64_t)splits * simt_product_sizes(p).part_bytes : 0;
}

/* Elements of a tensor whose offsets, a little past the end too, fit 32 bits. */
#define ELEMENTS_MOST ((INT64_C(1) << 31) - (1 << 24))

static const char *const sources[] = {"conv_simt.cl", "conv_sum_splits.cl", NULL};

/* ---- what it serves ---- */

static bool tensors_are_served(const struct problem *p, const char **reason)
{
    for (int t = 0; t < TENSOR_COUNT; t++) {
        *reason = "needs FP32 tensors";
        if (p->type[t] != TYPE_FP32)
            return false;
        *reason = "needs one layout for all tensors: NCHW, NHWC, NCDHW or NDHWC";
        if (p->layout[t] != p->layout[TENSOR_X] ||
            (!conv_is_channels_last(p->layout[t]) && !conv_is_planes(p->layout[t])))
            return false;
    }
    return true;
}

static bool conv_simt_is_applicable(const struct problem *p, const struct context *context,
                                    const char **reason)
{
    *reason = "needs a GPU";
    if (context_is_cpu(context) || !conv_is_plain(p, reason) || !tensors_are_served(p, reason) ||
        !conv_counts_fit_32_bits(p, reason))
        return false;
    *reason = "needs tensors that span fewer than 2^31 elements";
    for (int t = 0; t < TENSOR_COUNT; t++) {
        if (problem_tensor_span(p, (enum tensor_role)t) > ELEMENTS_MOST)
            return false;
    }
    *reason =
        "needs fewer channels and groups, or shorter strides: a grid's axes hold 65535 blocks";
    return conv_simt_fits_grid(p, context);
}

/* The estimate is relative to ConvImplicitGemm (34), which loads element by element. */
static double conv_simt_estimate(const struct problem *p, const struct context *context)
{
    const struct tile_product product = simt_product_sizes(p);
    struct perf_config config;

    conv_simt_default_config(p, context, &config);
    return 90.0 * conv_used_part(product.m, config.values[SIMT_BLOCK_M]) *
           conv_used_part(product.n, config.values[SIMT_BLOCK_N]);
}

/* ---- the launch ---- */

static void add_options(const struct problem *p, const int32_t *values, bool is_split,
                        struct launch *launch)
{
    const struct simt_block block = conv_simt_block(p, values);

    simt_add_options(&block, launch);
    launch_option_int(launch, "INNER_CHANNEL", simt_is_nhwc(p));
    conv_add_direction_option(p, launch);
    if (!is_split)
        conv_add_epilogue_options(p, launch);
    launch_sort_options(launch);
}

/* The strides by which the kernel addresses a tensor. The output's split-K parts are packed; those of w have positions
 * innermost. */
static void kernel_strides(const struct problem *p, enum tensor_role role, bool is_split,
                           int64_t strides[5])
{
    struct problem parts = *p;

    if (!is_split || role != problem_output_role(p)) {
        problem_strides(p, role, strides);
        return;
    }
    if (role == TENSOR_W)
        parts.layout[role] = LAYOUT_NCDHW;
    problem_packed_strides(&parts, role, strides);
}

/* Adds strides n c h w as arguments, with depth n c d h w. */
static void add_strides(const struct problem *p, enum tensor_role role, bool is_split,
                        struct launch *launch)
{
    int64_t strides[5];

    kernel_strides(p, role, is_split, strides);
    for (int axis = 0; axis < 5; axis++) {
        if (axis != 2 || p->spatial_dim == 3)
            launch_arg_int32(launch, strides[axis]);
    }
}

/* Adds the distances in elements from group to group of a, b and c, then zeros for the distances of a batch's
 * products ("places"), of which a convolution has one. */
static void add_groups(const struct problem *p, bool is_split, struct launch *launch)
{
    int64_t x[5], w[5], y[5], c = p->c / p->groups, k = p->k / p->groups;

    kernel_strides(p, TENSOR_X, is_split, x);
    kernel_strides(p, TENSOR_W, is_split, w);
    kernel_strides(p, TENSOR_Y, is_split, y);
    const int64_t groups[DIRECTION_COUNT][3] = {
        [DIRECTION_F] = {k * w[0], c * x[1], k * y[1]},
        [DIRECTION_B] = {k * w[0], k * y[1], c * x[1]},
        [DIRECTION_W] = {k * y[1], c * x[1], k * w[0]},
    };
    for (int i = 0; i < 3; i++)
        launch_arg_int64(launch, groups[p->direction][i]);
    for (int i = 0; i < 3; i++)
        launch_arg_int64(launch, 0);
    launch_arg_int32(launch, 1);
}

static void add_arguments(const struct problem *p, const int32_t *values, int64_t part_terms,
                          bool is_split, struct launch *launch)
{
    static const enum tensor_role operands[][3] = {
        [DIRECTION_F] = {TENSOR_W, TENSOR_X, TENSOR_Y},
        [DIRECTION_B] = {TENSOR_W, TENSOR_Y, TENSOR_X},
        [DIRECTION_W] = {TENSOR_Y, TENSOR_X, TENSOR_W},
    };
    const enum tensor_role *roles = operands[p->direction];
    const struct tile_product product = simt_product_sizes(p);
    struct problem flat;

    flatten(p, &flat);
    launch_arg_tensor(launch, roles[0]);
    launch_arg_tensor(launch, roles[1]);
    if (is_split)
        launch_arg_workspace(launch, 0);
    else
        launch_arg_tensor(launch, roles[2]);
    for (int t = 0; t < TENSOR_COUNT; t++)
        add_strides(&flat, (enum tensor_role)t, is_split, launch);
    conv_add_shape_args(&flat, launch);
    add_groups(&flat, is_split, launch);
    launch_arg_int32(launch, conv_divide_up((int64_t)product.m, values[SIMT_BLOCK_M]));
    launch_arg_int32(launch, part_terms);
    launch_arg_int64(launch, is_split ? (int64_t)(product.part_bytes / sizeof(float)) : 0);
    launch_arg_int32(launch, simt_store_of(p, is_split));
    if (!is_split)
        conv_add_epilogue_args(p, launch);
}

static bool conv_simt_solve(const struct problem *p, const struct context *context,
                            const struct perf_config *config, struct solution *solution,
                            GError **error)
{
    const struct tile_product product = simt_product_sizes(p);
    const int32_t *values = config->values;
    const int64_t blocks = conv_divide_up((int64_t)product.k, values[SIMT_BLOCK_K]);
    const int64_t part_blocks = conv_divide_up(blocks, values[SIMT_SPLITS]);
    const int splits = (int)conv_divide_up(blocks, part_blocks);
    struct launch *launch = solution_add_launch(solution, "conv_simt.cl", "conv_simt");
    int items = conv_simt_items(values);

    (void)context;
    (void)error;
    add_options(p, values, splits > 1, launch);
    add_arguments(p, values, part_blocks * values[SIMT_BLOCK_K], splits > 1, launch);
    launch_set_grid(launch,
                    (const int64_t[3]){
                        (int64_t)(conv_simt_workgroups(&product, values) / product.layers) * items,
                        1, (int64_t)product.layers * splits},
                    (const int[3]){items, 1, 1});
    if (splits > 1) {
        if (p->direction == DIRECTION_W)
            split_sum_add(p, 0, splits, solution);
        else
            split_sum_add_output(p, 0, splits, solution);
        solution->workspace_bytes = (uint64_t)splits * product.part_bytes;
    }
    conv_set_exact_work(p, solution);
    return true;
}

const struct solver solver_conv_simt = {
    .provider = "skipjack",
    .name = "ConvSimt",
    .revision = 5,
    .algorithm = "ImplicitGEMM",
    .dynamic = true,
    .own_strides = true,
    .epilogues = EPILOGUE_DOES_ALL,
    .sources = sources,
    .is_applicable = conv_simt_is_applicable,
    .workspace_bytes = conv_simt_workspace_bytes,
    .estimate = conv_simt_estimate,
    .default_config = conv_simt_default_config,
    .space = &conv_simt_space,
    .solve = conv_simt_solve,
};
