/*
 * 3x3 convolutions of stride 1 by Winograd's minimal filtering in tiles of 2x2 or 4x4 positions (TILE) of y, in
 * B of x: F(2x2,3x3) or F(4x4,3x3) for F and B, F(3x3,2x2) or F(3x3,4x4) for W.
 *
 * F, B and W; 2D; every layout whose channels are not in blocks, any strides of tensors; FP32, FP16 and BF16 in
 * any mixture, planes in FP32; groups; any padding; every epilogue. Dynamic. In F and B the transformed filters are
 * packed once. On GPUs the planes may be multiplied by
 * conv_simt.cl (SIMT), whose tile has the same parameters.
 *
 * Winograd's minimal filtering F(m x m, 3 x 3) computes a tile of m by m outputs from (m + 2) by (m + 2) inputs
 * with (m + 2)^2 multiplications instead of 9 m^2. Tiles of the input and the filters are transformed by small
 * constant matrices, multiplied element by element and summed over channels, and transformed back. The
 * element-wise products of all tiles are one matrix product for each of the 16 (m = 2) or 36 (m = 4) places of
 * a tile; a plane holds the values of one place. See Lavin and Gray, "Fast Algorithms for Convolutional Neural
 * Networks" (2015).
 *
 * Accuracy: sums are FP32, but the transforms take differences of neighbours, so that an element's error
 * follows the largest magnitude in its tile. Tiles of 4x4 lose more than those of 2x2: winograd_growth.h has the
 * matrices and what they make of errors, worker/verify/tolerance.h the tolerance. INT8 is not served, because the filters' transforms have halves.
 */
#include <string.h>

#include "solvers/common/conv_common.h"
#include "solvers/common/conv_epilogue.h"
#include "solvers/common/tile_space.h"
#include "solvers/framework/solver_rows.h"
#include "solvers/gemm/gemm.h"
#include "solvers/implicit_gemm/simt_common.h"
#include "solvers/winograd/winograd_growth.h"

/* The planes of one tensor's transformed values in the workspace; winograd.h describes their layout. */
struct winograd_planes {
    enum tensor_role tensor;
    bool by_channel;
    /* images and channels of the planes. For x and y: n and all channels; for the filter: k and c of a group */
    int64_t images, channels;
    int64_t tiles[2]; /* along H and W */
    int64_t rows, columns, pitch;
    int64_t
        filled; /* columns that the transform writes; in W, zeros fill up groups of four terms */
    bool is_packed; /* the planes are the packed filter and not in the workspace */
    uint64_t offset;
};

/* Planes of the transformed operands and of their products, in the workspace's order, and how the sums are split. */
struct winograd_plan {
    int places; /* planes of each operand: one for each value of a transformed tile */
    struct winograd_planes a, b, c;
    uint64_t part_bytes; /* bytes of c's planes, the size of each split-K part */
    int splits;
    int64_t part; /* terms of a part */
};

/* ---- the planes ---- */

static bool channels_are_neighbours(const struct problem *p, enum tensor_role role)
{
    int64_t strides[5];

    problem_packed_strides(p, role, strides);
    return strides[1] < strides[4];
}

/* The number of tiles along H and W: of y for F and W, of x for B. */
static void count_tiles(const struct problem *p, int tile, int64_t tiles[2])
{
    const int64_t *sizes = p->direction == DIRECTION_B ? p->in : p->out;

    tiles[0] = conv_divide_up(sizes[AXIS_H], tile);
    tiles[1] = conv_divide_up(sizes[AXIS_W], tile);
}

/* Sets rows, columns and pitch. The pitch is a whole number of vectors, so that work-items may store vectors past the
 * last column. */
static void set_planes(struct winograd_planes *planes, bool by_channel)
{
    int64_t patches = planes->images * planes->tiles[0] * planes->tiles[1];

    planes->by_channel = by_channel;
    planes->rows = by_channel ? patches : planes->channels;
    planes->columns = by_channel ? planes->channels : patches;
    planes->pitch = conv_divide_up(planes->columns, 16) * 16;
    planes->filled = planes->columns;
}

/* W: patches are the product's terms. Where they are neighbours in a plane their number is rounded up to a multiple
 * of four, for loads of four. */
static void fill_quads(struct winograd_planes *planes)
{
    if (!planes->by_channel)
        planes->filled = conv_divide_up(planes->columns, 4) * 4;
}

static void tensor_planes(const struct problem *p, enum tensor_role role, const int64_t tiles[2],
                          struct winograd_planes *planes)
{
    *planes = (struct winograd_planes){.tensor = role,
                                       .images = p->n,
                                       .channels = role == TENSOR_X ? p->c : p->k,
                                       .tiles = {tiles[0], tiles[1]}};
    set_planes(planes, channels_are_neighbours(p, role));
}

static void filter_planes(const struct problem *p, struct winograd_planes *planes)
{
    *planes = (struct winograd_planes){
        .tensor = TENSOR_W, .images = p->k, .channels = p->c / p->groups, .tiles = {1, 1}};
    set_planes(planes, true);
}

static uint64_t plane_bytes(const struct winograd_planes *planes, int places)
{
    return (uint64_t)planes->rows * (uint64_t)planes->pitch * (uint64_t)places * sizeof(float);
}

/* Sets all fields but splits and part, for tiles of `tile` by `tile` positions (2 or 4) of y, in B of x. */
static void winograd_lay_out(const struct problem *p, int tile, struct winograd_plan *plan)
{
    int64_t tiles[2];

    plan->places = (tile + 2) * (tile + 2);
    count_tiles(p, tile, tiles);
    if (p->direction == DIRECTION_W) {
        tensor_planes(p, TENSOR_Y, tiles, &plan->a);
        tensor_planes(p, TENSOR_X, tiles, &plan->b);
        fill_quads(&plan->a);
        fill_quads(&plan->b);
        filter_planes(p, &plan->c);
    } else {
        enum tensor_role out = problem_output_role(p);
        filter_planes(p, &plan->a);
        tensor_planes(p, out == TENSOR_Y ? TENSOR_X : TENSOR_Y, tiles, &plan->b);
        tensor_planes(p, out, tiles, &plan->c);
    }
    plan->a.is_packed = p->direction != DIRECTION_W;
    plan->a.offset = plan->b.offset = 0;
    if (!plan->a.is_packed)
        plan->b.offset = workspace_align(plane_bytes(&plan->a, plan->places));
    plan->c.offset = plan->b.offset + workspace_align(plane_bytes(&plan->b, plan->places));
    plan->part_bytes = plane_bytes(&plan->c, plan->places);
}

/* ---- the product of the planes ---- */

static struct gemm_step elements(int64_t count)
{
    return (struct gemm_step){GEMM_ELEMENTS, count};
}

/* channel_step(): elements of a plane from channel to channel. patch_step(): from patch to patch. */
static int64_t channel_step(const struct winograd_planes *planes)
{
    return planes->by_channel ? 1 : planes->pitch;
}

static int64_t patch_step(const struct winograd_planes *planes)
{
    return planes->by_channel ? planes->pitch : 1;
}

static int64_t winograd_patches(const struct winograd_planes *planes)
{
    return planes->by_channel ? planes->rows : planes->columns;
}

static void set_batches(const struct problem *p, const struct winograd_plan *plan, int64_t a_group,
                        int64_t b_group, int64_t c_group, struct gemm *gemm)
{
    gemm->batch[0].count = plan->places;
    gemm->batch[0].a = elements(plan->a.rows * plan->a.pitch);
    gemm->batch[0].b = elements(plan->b.rows * plan->b.pitch);
    gemm->batch[0].c = elements(plan->c.rows * plan->c.pitch);
    gemm->batch[1].count = p->groups;
    gemm->batch[1].a = elements(a_group);
    gemm->batch[1].b = elements(b_group);
    gemm->batch[1].c = elements(c_group);
}

/* Describes the product of F and B: rows are the output's channels, columns patches, terms the input's channels. The
 * filters' planes have k in the place of images and a group's c in the place of channels. */
static void set_data_product(const struct problem *p, const struct winograd_plan *plan,
                             struct gemm *gemm)
{
    const struct winograd_planes *a = &plan->a, *b = &plan->b, *c = &plan->c;
    int64_t k_count = p->k / p->groups, c_count = p->c / p->groups;
    bool forward = p->direction == DIRECTION_F;
    int64_t rows = forward ? k_count : c_count, terms = forward ? c_count : k_count;

    gemm_set_axis(&gemm->m[3], rows, elements(forward ? a->pitch : 1), elements(channel_step(c)));
    gemm_set_axis(&gemm->n[3], winograd_patches(b), elements(patch_step(b)),
                  elements(patch_step(c)));
    gemm_set_axis(&gemm->k[3], terms, elements(forward ? 1 : a->pitch), elements(channel_step(b)));
    set_batches(p, plan, k_count * a->pitch, terms * channel_step(b), rows * channel_step(c), gemm);
}

/* Describes the product of W: rows are y's channels, columns x's channels, terms patches. */
static void set_weights_product(const struct problem *p, const struct winograd_plan *plan,
                                struct gemm *gemm)
{
    const struct winograd_planes *a = &plan->a, *b = &plan->b, *c = &plan->c;
    int64_t k_count = p->k / p->groups, c_count = p->c / p->groups;

    gemm_set_axis(&gemm->m[3], k_count, elements(channel_step(a)), elements(c->pitch));
    gemm_set_axis(&gemm->n[3], c_count, elements(channel_step(b)), elements(1));
    gemm_set_axis(&gemm->k[3], winograd_patches(b), elements(patch_step(a)),
                  elements(patch_step(b)));
    set_batches(p, plan, k_count * channel_step(a), c_count * channel_step(b), k_count * c->pitch,
                gemm);
    gemm->splits = plan->splits;
    gemm->part = plan->part;
    gemm->split_step = plan->places * c->rows * c->pitch;
}

/* ---- by the kernel of ConvSimt ---- */

static bool groups_fill_quads(const struct problem *p, int64_t count)
{
    return p->groups == 1 || count % 4 == 0;
}

/* W: the number of terms: the patches, with the zeros that fill up groups of four where both operands have such
 * zeros. */
static int64_t weights_terms(const struct winograd_plan *plan)
{
    return plan->a.by_channel || plan->b.by_channel ? winograd_patches(&plan->b) : plan->b.filled;
}

/* Whether each operand's elements come in complete aligned groups of four, as simt_add_product() requires:
 * neighbouring terms, and neighbouring channels of a group, must come in fours. Pitches always do; W's patches do
 * where both operands are filled up to fours. */
static bool winograd_has_quads(const struct problem *p, const struct winograd_plan *plan)
{
    int64_t c = p->c / p->groups, k = p->k / p->groups;
    bool fours = weights_terms(plan) % 4 == 0;

    switch (p->direction) {
    case DIRECTION_F: return c % 4 == 0 && (!plan->c.by_channel || groups_fill_quads(p, k));
    case DIRECTION_B:
        return (!plan->b.by_channel || k % 4 == 0) &&
               (!plan->c.by_channel || groups_fill_quads(p, c));
    default:
        return (plan->a.by_channel ? groups_fill_quads(p, k) : fours) &&
               (plan->b.by_channel ? groups_fill_quads(p, c) : fours);
    }
}

/* The block of conv_simt.cl that the config's tile parameters describe. */
static struct simt_block winograd_simt_block(const struct problem *p, const int32_t *values,
                                             const struct winograd_plan *plan)
{
    bool weights = p->direction == DIRECTION_W;

    return (struct simt_block){
        .block_m = tile_block_m(values),
        .block_n = tile_block_n(values),
        .tile_m = values[TILE_M],
        .tile_n = values[TILE_VECTORS] * values[TILE_VEC],
        .block_k = values[TILE_BLOCK_K],
        .load_a = 4,
        .load_b = 4,
        .stages = 2,
        .a_by_term = weights ? !plan->a.by_channel : p->direction == DIRECTION_F,
        .b_by_term = weights ? !plan->b.by_channel : plan->b.by_channel,
        .c_by_row = !weights && plan->c.by_channel,
    };
}

static struct simt_operand simt_operand_of(const struct winograd_planes *planes, int64_t line,
                                           int64_t other, int64_t group)
{
    return (struct simt_operand){planes->is_packed,           planes->offset, line, other, group,
                                 planes->rows * planes->pitch};
}

/* Adds the product of set_data_product() or set_weights_product() as a launch of conv_simt.cl. */
static void add_simt_product(const struct problem *p, const int32_t *values,
                             const struct winograd_plan *plan, struct solution *solution)
{
    const struct winograd_planes *a = &plan->a, *b = &plan->b, *c = &plan->c;
    const struct simt_block block = winograd_simt_block(p, values, plan);
    int64_t k_count = p->k / p->groups, c_count = p->c / p->groups;
    bool forward = p->direction == DIRECTION_F;
    int64_t rows = p->direction == DIRECTION_B ? c_count : k_count;
    int64_t terms = forward ? c_count : k_count;
    struct simt_product product = {.rows = rows, .groups = p->groups, .places = plan->places};

    product.splits = plan->splits;
    if (p->direction == DIRECTION_W) {
        product.columns = c_count;
        product.terms = weights_terms(plan);
        product.a = simt_operand_of(a, channel_step(a), patch_step(a), k_count * channel_step(a));
        product.b = simt_operand_of(b, channel_step(b), patch_step(b), c_count * channel_step(b));
        product.c = simt_operand_of(c, c->pitch, 1, k_count * c->pitch);
        product.part = plan->part;
        product.split_step = plan->splits > 1 ? plan->places * c->rows * c->pitch : 0;
    } else {
        product.columns = winograd_patches(b);
        product.terms = terms;
        product.a =
            simt_operand_of(a, forward ? a->pitch : 1, forward ? 1 : a->pitch, k_count * a->pitch);
        product.b = simt_operand_of(b, patch_step(b), channel_step(b), terms * channel_step(b));
        product.c = simt_operand_of(c, channel_step(c), patch_step(c), rows * channel_step(c));
    }
    simt_add_product(&product, &block, solution);
}

/* Adds the launch that multiplies the planes, of conv_simt.cl or gemm.cl. The config begins with the tile's
 * parameters. */
static void winograd_add_product(const struct problem *p, const struct context *context,
                                 const int32_t *values, bool is_simt,
                                 const struct winograd_plan *plan, struct solution *solution)
{
    struct gemm gemm;

    if (is_simt) {
        add_simt_product(p, values, plan, solution);
        return;
    }
    gemm_init(&gemm, p);
    if (plan->a.is_packed)
        gemm.a = (struct gemm_operand){.tensor = TENSOR_PACKED, .type = TYPE_FP32};
    else
        gemm_workspace(&gemm.a, plan->a.offset, TYPE_FP32);
    gemm_workspace(&gemm.b, plan->b.offset, TYPE_FP32);
    gemm_workspace(&gemm.c, plan->c.offset, TYPE_FP32);
    if (p->direction == DIRECTION_W)
        set_weights_product(p, plan, &gemm);
    else
        set_data_product(p, plan, &gemm);
    gemm_add_launch(&gemm, context, values, solution);
}

#define TILE        (TILE_SPLITS + 1)
#define SIMT        (TILE + 1)
#define PARAM_COUNT (SIMT + 1)

static const char *const sources[] = {"gemm.cl", "conv_simt.cl", "conv_winograd_in.cl",
                                      "conv_winograd_out.cl", NULL};

static const struct space_param params[PARAM_COUNT] = {
    TILE_PARAMS,
    {"SPLITS", 7, (const int32_t[]){1, 2, 4, 8, 16, 32, TILE_SPLITS_MAX}},
    {"TILE", 2, (const int32_t[]){2, 4}},
    {"SIMT", 2, (const int32_t[]){0, 1}},
};

/* Columns that a work-item of a transform has: on a CPU a vector's lanes, on a GPU one. */
static int lanes_of(const struct context *context)
{
    return context_is_cpu(context) ? 8 : 1;
}

/* ---- what it serves ---- */

/* Whether sizes are within limits: the workspace's elements, and a transform's work-items (a plane's row has whole
 * workgroups of 64). Both are bounded from above in doubles, before any integer can overflow, by 36 planes of tensors
 * rounded up to whole tiles and pitches. */
static bool sizes_fit(const struct problem *p, const char **reason)
{
    double patches = (double)p->n * (double)(MAX(p->in[AXIS_H], p->out[AXIS_H]) + 4) *
                     (double)(MAX(p->in[AXIS_W], p->out[AXIS_W]) + 4) / 4;
    double channels = (double)p->c + (double)p->k + 32;
    double weights = (double)p->k * ((double)p->c / (double)p->groups + 16);

    *reason = "needs fewer tiles and channels: transforms are counted in 31 bits";
    return patches * channels < 0x1p31 && weights < 0x1p31 && 64 * patches < 0x1p31 &&
           64 * channels < 0x1p31;
}

static bool winograd_is_applicable(const struct problem *p, const struct context *context,
                                   const char **reason)
{
    const int planes_most = 36;

    (void)context;
    if (!conv_is_plain(p, reason) || !conv_types_are_served(p, reason) ||
        !conv_layouts_are_plain(p, reason))
        return false;
    if (p->type[TENSOR_X] == TYPE_INT8) {
        *reason = "needs floating-point tensors: the transforms have fractions";
        return false;
    }
    if (p->spatial_dim != 2 || p->fil[AXIS_H] != 3 || p->fil[AXIS_W] != 3) {
        *reason = "needs a 2D convolution with 3x3 filters";
        return false;
    }
    if (p->stride[AXIS_H] != 1 || p->stride[AXIS_W] != 1 || p->dilation[AXIS_H] != 1 ||
        p->dilation[AXIS_W] != 1) {
        *reason = "needs stride 1 and dilation 1";
        return false;
    }
    return conv_counts_fit_32_bits(p, reason) && sizes_fit(p, reason) &&
           gemm_grid_fits(p, (double)MAX(p->c, p->k) / (double)p->groups,
                          (double)p->groups * planes_most, reason);
}

/* ---- the space ---- */

/* Sizes of the planes' product. Rows are channels. In F and B columns are patches, in W terms are patches. */
static struct tile_product product_of(const struct problem *p, int tile)
{
    double k_count = (double)(p->k / p->groups), c_count = (double)(p->c / p->groups), patches;
    struct tile_product product;
    struct winograd_plan plan;

    winograd_lay_out(p, tile, &plan);
    patches = (double)p->n * (double)plan.b.tiles[0] * (double)plan.b.tiles[1];
    product.m = p->direction == DIRECTION_B ? c_count : k_count;
    product.n = p->direction == DIRECTION_W ? c_count : patches;
    product.k = p->direction == DIRECTION_W   ? patches
                : p->direction == DIRECTION_F ? c_count
                                              : k_count;
    product.layers = (double)p->groups * plan.places;
    product.part_bytes = p->direction == DIRECTION_W ? plan.part_bytes : 0;
    product.beside_bytes = plan.c.offset;
    return product;
}

static bool tile_fits_workspace(const struct problem *p, const struct context *context, int tile)
{
    struct winograd_plan plan;

    winograd_lay_out(p, tile, &plan);
    return plan.c.offset + plan.part_bytes <= context->workspace_limit;
}

/* The block must suit the product of the smallest tiles, which make the most patches and the largest grid. */
static bool block_suits_sizes(const struct problem *p, const struct context *context,
                              const int32_t *values)
{
    const struct tile_product product = product_of(p, 2);

    return tile_block_suits(&product, context, values);
}

static bool blocks_fit_grid(const struct problem *p, const struct context *context,
                            const int32_t *values)
{
    const struct tile_product product = product_of(p, 2);

    return tile_fits_grid(&product, context, values);
}

static bool parts_fit(const struct problem *p, const struct context *context, const int32_t *values)
{
    const struct tile_product product = product_of(p, values[TILE]);

    return tile_may_split(&product, context, values[TILE_SPLITS], values[TILE_BLOCK_K]);
}

static bool planes_fit_workspace(const struct problem *p, const struct context *context,
                                 const int32_t *values)
{
    return tile_fits_workspace(p, context, values[TILE]);
}

static bool block_suits_patches(const struct problem *p, const struct context *context,
                                const int32_t *values)
{
    const struct tile_product product = product_of(p, values[TILE]);

    return tile_block_suits(&product, context, values);
}

static bool simt_suits(const struct problem *p, const struct context *context,
                       const int32_t *values)
{
    const struct tile_product product = product_of(p, values[TILE]);
    struct simt_block block;
    struct winograd_plan plan;

    if (values[SIMT] == 0)
        return true;
    winograd_lay_out(p, values[TILE], &plan);
    block = winograd_simt_block(p, values, &plan);
    return !context_is_cpu(context) && winograd_has_quads(p, &plan) && block.tile_m % 4 == 0 &&
           (block.tile_n == 4 || block.tile_n == 8) && block.tile_m * block.tile_n >= 32 &&
           (block.block_k == 8 || block.block_k == 16) &&
           simt_items_suit(&block, context->target->max_workgroup) && simt_items_share_a(&block) &&
           simt_items_share_b(&block) &&
           simt_fits_local_memory(&block, context->target->local_bytes) &&
           tile_workgroups(&product, values) / product.layers * simt_items(&block) <=
               UINT32_MAX / 2;
}

static const struct space_constraint constraints[] = {
    TILE_CONSTRAINTS(block_suits_sizes, blocks_fit_grid),
    {"parts_fit", "arithmetic, grid size and workspace", TILE + 1, parts_fit},
    {"planes_fit_workspace", "workspace", TILE + 1, planes_fit_workspace},
    {"block_suits_patches", "arithmetic", TILE + 1, block_suits_patches},
    {"simt_suits", "alignment and items of a tile", SIMT + 1, simt_suits},
};

static const struct space space = {PARAM_COUNT, params, G_N_ELEMENTS(constraints), constraints};

static int most_parts(const struct tile_product *product, const struct context *context)
{
    int least_block_k = context_is_cpu(context) ? 64 : 8, parts = TILE_SPLITS_MAX;

    while (!tile_may_split(product, context, parts, least_block_k))
        parts /= 2;
    return parts;
}

/* The workspace of the config that needs the most within the context's limit; where all configs need more, that of
 * the smallest. Both values of TILE are tried, since either may need more. */
static uint64_t winograd_workspace_bytes(const struct problem *p, const struct context *context)
{
    uint64_t most = 0, least = UINT64_MAX;

    for (int tile = 2; tile <= 4; tile += 2) {
        const struct tile_product product = product_of(p, tile);
        struct winograd_plan plan;
        uint64_t bytes;
        winograd_lay_out(p, tile, &plan);
        bytes = plan.c.offset + plan.part_bytes * (uint64_t)most_parts(&product, context);
        least = MIN(least, bytes);
        if (bytes <= context->workspace_limit)
            most = MAX(most, bytes);
    }
    return most > 0 ? most : least;
}

/* Estimates a block's relative speed from the share of its work that is not padding, how evenly compute units get
 * blocks, and the reads for each product (fewer in large blocks). */
static double block_worth(const struct context *context, const struct tile_product *product,
                          const int32_t *values)
{
    int block_m = tile_block_m(values), block_n = tile_block_n(values);
    double workgroups = tile_workgroups(product, values) * values[TILE_SPLITS];
    double lines = block_m * block_n / (double)(block_m + block_n) / 64;

    return conv_used_part(product->m, block_m) * conv_used_part(product->n, block_n) *
           conv_used_part(workgroups, context->target->compute_units) * (0.7 + 0.3 * lines);
}

/* The default number of split-K parts: enough to give each compute unit four workgroups. */
static int32_t parts_of(const struct context *context, const struct tile_product *product,
                        const int32_t *values)
{
    int32_t splits = 1;

    while (splits < TILE_SPLITS_MAX &&
           tile_workgroups(product, values) * splits < 4.0 * context->target->compute_units &&
           tile_may_split(product, context, 2 * splits, values[TILE_BLOCK_K]))
        splits *= 2;
    return splits;
}

/* Chooses the best block of conv_simt.cl, where the elements come in groups of four as that kernel needs. Blocks of
 * 128 work-items were the fastest on an H200. */
static void choose_simt(const struct problem *p, const struct context *context,
                        const struct tile_product *product, int32_t *values)
{
    static const int32_t blocks[][TILE_PARAM_COUNT] = {
        {8, 16, 4, 8, 2, 1, 16}, {8, 8, 4, 8, 2, 1, 16}, {4, 16, 4, 8, 2, 1, 16}};
    int32_t simt[PARAM_COUNT];
    double best = 0;

    values[SIMT] = 0;
    memcpy(simt, values, sizeof simt);
    simt[SIMT] = 1;
    for (gsize i = 0; i < G_N_ELEMENTS(blocks); i++) {
        double worth;
        memcpy(simt, blocks[i], sizeof blocks[i]);
        simt[TILE_SPLITS] = parts_of(context, product, simt);
        worth = block_worth(context, product, simt);
        if (worth > best && tile_block_suits(product, context, simt) &&
            tile_fits_grid(product, context, simt) && simt_suits(p, context, simt)) {
            memcpy(values, simt, sizeof simt);
            best = worth;
        }
    }
}

/* A tile's cost in operations, memory accesses included: a GPU does ten or more operations while it moves a byte, and
 * each value of a plane is written and read once. */
static double tile_cost(const struct problem *p, int tile)
{
    struct winograd_plan plan;
    double product, bytes;

    winograd_lay_out(p, tile, &plan);
    product = 2.0 * plan.places * (double)winograd_patches(&plan.b) * (double)p->k *
              (double)(p->c / p->groups);
    bytes = 2.0 * (double)(plan.c.offset + plan.part_bytes);
    return product + 10 * bytes;
}

/* The default tile. CPUs take 2x2 tiles, whose patches stay in registers. */
static int default_tile(const struct problem *p, const struct context *context)
{
    bool large = !context_is_cpu(context) && tile_cost(p, 4) < tile_cost(p, 2);

    if (!tile_fits_workspace(p, context, large ? 4 : 2))
        large = !large;
    return large ? 4 : 2;
}

static void winograd_default_config(const struct problem *p, const struct context *context,
                                    struct perf_config *config)
{
    int tile = default_tile(p, context);
    const struct tile_product product = product_of(p, tile);
    int32_t *values = config->values;

    tile_default_config(&product, context, config);
    config->count = PARAM_COUNT;
    values[TILE] = tile;
    values[TILE_SPLITS] =
        tile_default_splits(&product, context, values, tile_workgroups(&product, values));
    choose_simt(p, context, &product, values);
}

static double winograd_estimate(const struct problem *p, const struct context *context)
{
    bool many_channels = p->c / p->groups >= 16 && p->k / p->groups >= 16;
    struct perf_config config;

    if (!many_channels)
        return 2.0;
    winograd_default_config(p, context, &config);
    return context_is_cpu(context) ? 10.0 : config.values[SIMT] ? 120.0 : 50.0;
}

/* ---- launches ---- */

/* Height and width of the tensor's images; filters count as images of 3x3. */
static const int64_t *sizes_of(const struct problem *p, enum tensor_role role)
{
    return role == TENSOR_X ? p->in : role == TENSOR_W ? p->fil : p->out;
}

static void add_tensor_args(const struct problem *p, const struct winograd_planes *planes,
                            struct launch *launch)
{
    const int64_t *sizes = sizes_of(p, planes->tensor);

    conv_add_plane_strides(launch, planes->tensor);
    launch_arg_int32(launch, planes->columns);
    launch_arg_int32(launch, sizes[AXIS_H]);
    launch_arg_int32(launch, sizes[AXIS_W]);
    launch_arg_int32(launch, planes->tiles[0]);
    launch_arg_int32(launch, planes->tiles[1]);
}

/* Adds the options that both transforms have, and the grid. Returns the workgroups for a row of a plane. */
static int64_t set_up(const struct problem *p, const struct context *context,
                      const struct winograd_planes *planes, const char *transform,
                      struct launch *launch)
{
    bool is_cpu = context_is_cpu(context);
    int lanes = lanes_of(context), items = is_cpu ? 1 : 64;
    int64_t blocks = conv_divide_up(planes->filled, items * lanes);

    launch_option_text(launch, "TYPE", data_type_name(p->type[planes->tensor]));
    launch_option_int(launch, "BY_CHANNEL", planes->by_channel);
    launch_option_int(launch, "VEC", lanes);
    launch_option_int(launch, "ITEMS", items);
    launch_option_text(launch, "TRANSFORM", transform);
    launch_set_line(launch, planes->rows * blocks * items, items);
    return blocks;
}

static void add_in_launch(const struct problem *p, const struct context *context,
                          const struct winograd_planes *planes, const char *transform, int step,
                          const int64_t pad[AXIS_COUNT], struct solution *solution)
{
    struct launch *launch =
        solution_add_launch(solution, "conv_winograd_in.cl", "conv_winograd_in");
    int64_t blocks = set_up(p, context, planes, transform, launch);

    launch_option_int(launch, "FLIP", planes->tensor == TENSOR_W && p->direction == DIRECTION_B);
    launch_sort_options(launch);
    launch_arg_tensor(launch, planes->tensor);
    if (planes->is_packed)
        launch_arg_tensor(launch, TENSOR_PACKED);
    else
        launch_arg_workspace(launch, planes->offset);
    add_tensor_args(p, planes, launch);
    launch_arg_int32(launch, step);
    launch_arg_int32(launch, pad[AXIS_H]);
    launch_arg_int32(launch, pad[AXIS_W]);
    launch_arg_int32(launch, planes->filled);
    launch_arg_int32(launch, blocks);
    launch_arg_int64(launch, planes->pitch);
    launch_arg_int64(launch, planes->rows * planes->pitch);
}

static void add_out_launch(const struct problem *p, const struct context *context,
                           const struct winograd_plan *plan, const char *transform,
                           struct solution *solution)
{
    const struct winograd_planes *planes = &plan->c;
    struct launch *launch =
        solution_add_launch(solution, "conv_winograd_out.cl", "conv_winograd_out");
    int64_t blocks = set_up(p, context, planes, transform, launch);

    conv_add_epilogue_options(p, launch);
    launch_sort_options(launch);
    launch_arg_workspace(launch, planes->offset);
    launch_arg_tensor(launch, planes->tensor);
    add_tensor_args(p, planes, launch);
    launch_arg_int32(launch, blocks);
    launch_arg_int64(launch, planes->pitch);
    launch_arg_int64(launch, planes->rows * planes->pitch);
    launch_arg_int32(launch, plan->splits);
    launch_arg_int64(launch, plan->places * planes->rows * planes->pitch);
    conv_add_epilogue_args(p, launch);
}

static const char *out_transform(enum direction direction, bool large)
{
    if (direction == DIRECTION_W)
        return large ? "Y3_6" : "Y3_4";
    return large ? "Y4_6" : "Y2_4";
}

/* Sums are over the other channels of a group, in W over patches. */
static void set_rounding(const struct problem *p, int tile, const struct winograd_plan *plan,
                         struct solution *solution)
{
    const struct winograd_filtering *filtering =
        winograd_filtering(p->direction == DIRECTION_W, tile);
    int64_t channels = p->direction == DIRECTION_F ? p->c : p->k;

    solution->rounding = (struct solution_rounding){
        .transforms = true,
        .terms = (double)(p->direction == DIRECTION_W ? winograd_patches(&plan->b)
                                                      : channels / p->groups),
        .growth = winograd_growth(filtering),
        .roundings = winograd_roundings(filtering),
    };
}

static bool winograd_solve(const struct problem *p, const struct context *context,
                           const struct perf_config *config, struct solution *solution,
                           GError **error)
{
    const int64_t none[AXIS_COUNT] = {0};
    const int64_t full[AXIS_COUNT] = {0, 2 - p->pad[AXIS_H], 2 - p->pad[AXIS_W]};
    const int32_t *values = config->values;
    const int tile = values[TILE];
    const bool large = tile == 4;
    struct winograd_plan plan;

    (void)error;
    winograd_lay_out(p, tile, &plan);
    plan.splits = 1;
    if (p->direction == DIRECTION_W) {
        plan.splits =
            tile_split_terms(values, winograd_patches(&plan.b), values[TILE_SPLITS], &plan.part);
        add_in_launch(p, context, &plan.a, large ? "W4_6" : "W2_4", tile, none, solution);
        add_in_launch(p, context, &plan.b, large ? "X6" : "X4", tile, p->pad, solution);
    } else {
        add_in_launch(p, context, &plan.a, large ? "W3_6" : "W3_4", 0, none, solution);
        solution->pack_count = 1;
        solution->packed_bytes = plane_bytes(&plan.a, plan.places);
        add_in_launch(p, context, &plan.b, large ? "X6" : "X4", tile,
                      p->direction == DIRECTION_F ? p->pad : full, solution);
    }
    winograd_add_product(p, context, values, values[SIMT], &plan, solution);
    add_out_launch(p, context, &plan, out_transform(p->direction, large), solution);
    solution->workspace_bytes = plan.c.offset + plan.part_bytes * (uint64_t)plan.splits;
    solution->flops = 2.0 * plan.places * (double)winograd_patches(&plan.b) * (double)p->k *
                      (double)(p->c / p->groups);
    set_rounding(p, tile, &plan, solution);
    conv_set_compulsory_bytes(p, solution);
    return true;
}

const struct solver solver_conv_winograd = {
    .provider = "skipjack",
    .name = "ConvWinograd",
    .revision = 7,
    .algorithm = "Winograd",
    .dynamic = true,
    .any_strides = true,
    .epilogues = EPILOGUE_DOES_ALL,
    .sources = sources,
    .is_applicable = winograd_is_applicable,
    .workspace_bytes = winograd_workspace_bytes,
    .estimate = winograd_estimate,
    .default_config = winograd_default_config,
    .space = &space,
    .solve = winograd_solve,
};
