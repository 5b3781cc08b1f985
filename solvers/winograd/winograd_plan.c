#include "solvers/winograd/winograd_plan.h"

#include "solvers/common/conv_common.h"
#include "solvers/gemm/gemm.h"

/* ---- the planes ---- */

static bool channels_are_neighbours(const struct problem *p, enum tensor_role role)
{
    int64_t strides[5];

    problem_packed_strides(p, role, strides);
    return strides[1] < strides[4];
}

/* Tiles of y for F and W, of x for B. */
static void count_tiles(const struct problem *p, int tile, int64_t tiles[2])
{
    const int64_t *sizes = p->direction == DIRECTION_B ? p->in : p->out;

    tiles[0] = conv_divide_up(sizes[AXIS_H], tile);
    tiles[1] = conv_divide_up(sizes[AXIS_W], tile);
}

/* A pitch of whole vectors, so that work-items may store vectors past the last column. */
static void set_planes(struct winograd_planes *planes, bool by_channel)
{
    int64_t patches = planes->images * planes->tiles[0] * planes->tiles[1];

    planes->by_channel = by_channel;
    planes->rows = by_channel ? patches : planes->channels;
    planes->columns = by_channel ? planes->channels : patches;
    planes->pitch = conv_divide_up(planes->columns, 16) * 16;
    planes->filled = planes->columns;
}

/* W: patches are terms, rounded up to fours where they are neighbours. */
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

void winograd_lay_out(const struct problem *p, int tile, struct winograd_plan *plan)
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
    plan->a.offset = 0;
    plan->b.offset = workspace_align(plane_bytes(&plan->a, plan->places));
    plan->c.offset = plan->b.offset + workspace_align(plane_bytes(&plan->b, plan->places));
    plan->part_bytes = plane_bytes(&plan->c, plan->places);
}

/* ---- the product of the planes ---- */

static struct gemm_step elements(int64_t count)
{
    return (struct gemm_step){GEMM_ELEMENTS, count};
}

/* Elements between channels, and between patches, in a plane. */
static int64_t channel_step(const struct winograd_planes *planes)
{
    return planes->by_channel ? 1 : planes->pitch;
}

static int64_t patch_step(const struct winograd_planes *planes)
{
    return planes->by_channel ? planes->pitch : 1;
}

int64_t winograd_patches(const struct winograd_planes *planes)
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

/* F and B: rows are the output's channels, columns patches, terms the input's channels. In the filters' planes
 * k are images and a group's c channels. */
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

/* W: rows are y's channels, columns x's channels, terms patches. */
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

/* W: patches, with the zeros behind them where both operands have them. */
static int64_t weights_terms(const struct winograd_plan *plan)
{
    return plan->a.by_channel || plan->b.by_channel ? winograd_patches(&plan->b) : plan->b.filled;
}

/* Neighbouring terms must come in fours, and neighbouring channels of a group too. Pitches always do; W's
 * patches are rounded up where both operands have them so. */
bool winograd_has_quads(const struct problem *p, const struct winograd_plan *plan)
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

struct simt_block winograd_simt_block(const struct problem *p, const int32_t *values,
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
    return (struct simt_operand){planes->offset, line, other, group, planes->rows * planes->pitch};
}

/* The same products as set_data_product() and set_weights_product() say. */
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

void winograd_add_product(const struct problem *p, const struct context *context,
                          const int32_t *values, bool is_simt, const struct winograd_plan *plan,
                          struct solution *solution)
{
    struct gemm gemm;

    if (is_simt) {
        add_simt_product(p, values, plan, solution);
        return;
    }
    gemm_init(&gemm, p);
    gemm_workspace(&gemm.a, plan->a.offset, TYPE_FP32);
    gemm_workspace(&gemm.b, plan->b.offset, TYPE_FP32);
    gemm_workspace(&gemm.c, plan->c.offset, TYPE_FP32);
    if (p->direction == DIRECTION_W)
        set_weights_product(p, plan, &gemm);
    else
        set_data_product(p, plan, &gemm);
    gemm_add_launch(&gemm, context, values, solution);
}
