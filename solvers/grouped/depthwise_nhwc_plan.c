#include "solvers/grouped/depthwise_nhwc_plan.h"

#include <string.h>

#include "solvers/common/conv_common.h"
#include "solvers/common/split_sum.h"

/* Registers of a work-item for what the config decides; others hold addresses. */
#define REGISTERS   200
/* The most elements of w, or sums of W, that a work-item keeps. */
#define SUMS_MOST   104
/* The most multiply-accumulates of a tile, which is unrolled: they take about a second to compile. */
#define MACS_MOST   2400
#define VECTOR_MOST 8
#define PIECE_BYTES 16
#define LOAD_MOST   8

static const struct space_param params[NHWC_PARAM_COUNT] = {
    [NHWC_ITEMS] = {"ITEMS", 3, (const int32_t[]){64, 128, 256}},
    [NHWC_VECTOR] = {"VECTOR", 4, (const int32_t[]){1, 2, 4, VECTOR_MOST}},
    [NHWC_TILE_H] = {"TILE_H", 4, (const int32_t[]){1, 2, 4, 7}},
    [NHWC_TILE_W] = {"TILE_W", 4, (const int32_t[]){1, 2, 4, 7}},
    [NHWC_LOAD] = {"LOAD", 7, (const int32_t[]){0, 1, 2, 3, 4, 6, LOAD_MOST}},
};

/* ---- what the kernels make of a problem ---- */

static enum tensor_role source_of(const struct problem *p)
{
    return p->direction == DIRECTION_B ? TENSOR_Y : TENSOR_X;
}

static int64_t count_taps(const struct problem *p)
{
    return p->fil[AXIS_H] * p->fil[AXIS_W];
}

/* Tiles along an axis. B's tiles begin at whole strides of the padded axis. */
static int64_t count_tiles(const struct problem *p, enum axis axis, int32_t tile)
{
    int64_t stride = p->stride[axis];

    if (p->direction != DIRECTION_B)
        return conv_divide_up(p->out[axis], tile);
    return conv_divide_up(p->in[axis] + p->pad[axis] % stride, tile * stride);
}

/* Positions along an axis that a tile reads, and the most results that one of them meets. */
static int64_t span_of(const struct problem *p, enum axis axis, int32_t tile, int64_t filter)
{
    int64_t reach = (filter - 1) * p->dilation[axis];

    if (p->direction == DIRECTION_B)
        return tile + reach / p->stride[axis];
    return (tile - 1) * p->stride[axis] + reach + 1;
}

static int64_t rows_under_way(const struct problem *p, int32_t tile)
{
    int64_t reach = (p->fil[AXIS_H] - 1) * p->dilation[AXIS_H];

    if (p->direction == DIRECTION_B)
        return MIN(tile * p->stride[AXIS_H], reach + 1);
    return MIN(tile, reach / p->stride[AXIS_H] + 1);
}

static int64_t words_of(const struct problem *p, enum tensor_role role, int32_t vector)
{
    return conv_divide_up((int64_t)vector * data_type_bytes(p->type[role]), 4);
}

/* W: filter rows whose sums fit a work-item's registers, evenly over the passes. */
static int64_t filter_rows(const struct problem *p, int32_t vector)
{
    int64_t most = MAX(SUMS_MOST / (p->fil[AXIS_W] * vector), 1);

    return conv_divide_up(p->fil[AXIS_H], conv_divide_up(p->fil[AXIS_H], most));
}

static bool keeps_weights(const struct problem *p, int32_t vector)
{
    return count_taps(p) * vector <= SUMS_MOST;
}

/* Registers of a work-item. The current row is packed, with one position unpacked; W has its outputs in both
 * forms. */
static int64_t count_registers(const struct problem *p, const int32_t *values)
{
    int32_t vector = values[NHWC_VECTOR], tile_h = values[NHWC_TILE_H],
            tile_w = values[NHWC_TILE_W];
    int64_t rows = rows_under_way(p, tile_h);
    int64_t count =
        vector + span_of(p, AXIS_W, tile_w, p->fil[AXIS_W]) * words_of(p, source_of(p), vector);

    if (p->direction == DIRECTION_W)
        return count + vector * (filter_rows(p, vector) * p->fil[AXIS_W] + rows * tile_w) +
               tile_h * tile_w * words_of(p, TENSOR_Y, vector);
    if (p->direction == DIRECTION_B)
        rows *= p->stride[AXIS_W];
    return count + vector * ((keeps_weights(p, vector) ? count_taps(p) : 2) + rows * tile_w);
}

/* The parts are so large that all compute units finish at about the same time. */
static void plan_weights(struct depthwise_nhwc_plan *plan, const struct problem *p,
                         const struct context *context, const int32_t *values, int64_t units)
{
    int64_t workgroups = (int64_t)context->target->compute_units * values[NHWC_LOAD];
    int64_t vectors = conv_divide_up(p->c, values[NHWC_VECTOR]);
    int64_t blocks = conv_divide_up(vectors, values[NHWC_ITEMS]);

    plan->filter_rows = filter_rows(p, values[NHWC_VECTOR]);
    plan->channel_items = conv_divide_up(vectors, blocks);
    plan->position_items = values[NHWC_ITEMS] / plan->channel_items;
    plan->workgroups = conv_divide_up(vectors, plan->channel_items) *
                       conv_divide_up(p->fil[AXIS_H], plan->filter_rows);
    plan->units = units;
    plan->part = conv_divide_up(units, MAX(workgroups / plan->workgroups, 1));
    plan->splits = conv_divide_up(units, plan->part);
}

void depthwise_nhwc_plan_init(struct depthwise_nhwc_plan *plan, const struct problem *p,
                              const struct context *context, const int32_t *values)
{
    int64_t tiles = p->n * count_tiles(p, AXIS_H, values[NHWC_TILE_H]) *
                    count_tiles(p, AXIS_W, values[NHWC_TILE_W]);

    memset(plan, 0, sizeof(*plan));
    plan->items = tiles * conv_divide_up(p->c, values[NHWC_VECTOR]);
    plan->keep_weights = keeps_weights(p, values[NHWC_VECTOR]);
    if (p->direction == DIRECTION_W)
        plan_weights(plan, p, context, values, tiles);
}

/* ---- space ---- */

static bool items_suit_target(const struct problem *p, const struct context *context,
                              const int32_t *values)
{
    (void)p;
    return values[NHWC_ITEMS] <= context->target->max_workgroup;
}

/* The widest vector that is loaded in one piece, half of it, and less where there are many filter positions. */
static bool vector_suits_channels(const struct problem *p, const struct context *context,
                                  const int32_t *values)
{
    int32_t widest =
        MIN(VECTOR_MOST, PIECE_BYTES / (int32_t)data_type_bytes(p->type[source_of(p)]));
    int32_t vector = values[NHWC_VECTOR];

    (void)context;
    while (p->c % widest != 0)
        widest /= 2;
    return vector <= widest && (vector * 2 >= widest || count_taps(p) * vector * 2 > SUMS_MOST);
}

static bool tile_suits_size(const struct problem *p, enum axis axis, int32_t tile)
{
    int64_t size =
        p->direction == DIRECTION_B ? conv_divide_up(p->in[axis], p->stride[axis]) : p->out[axis];

    return tile == 1 || tile < 2 * size;
}

/* Rows that do not fit registers are read at each use; then a tile has one row. */
static bool rows_are_shared(const struct problem *p, const struct context *context,
                            const int32_t *values)
{
    (void)context;
    return values[NHWC_TILE_H] == 1 ||
           (tile_suits_size(p, AXIS_H, values[NHWC_TILE_H]) &&
            (p->direction == DIRECTION_W || keeps_weights(p, values[NHWC_VECTOR])));
}

static bool tile_fits_registers(const struct problem *p, const struct context *context,
                                const int32_t *values)
{
    (void)context;
    if (values[NHWC_TILE_W] == 1 && values[NHWC_TILE_H] == 1 && values[NHWC_VECTOR] == 1)
        return true;
    return tile_suits_size(p, AXIS_W, values[NHWC_TILE_W]) &&
           count_registers(p, values) <= REGISTERS &&
           count_taps(p) * values[NHWC_TILE_H] * values[NHWC_TILE_W] * values[NHWC_VECTOR] <=
               MACS_MOST;
}

/* W: work-items of a workgroup add up one filter row at a time in local memory. */
static bool sums_fit_local_memory(const struct problem *p, const struct context *context,
                                  const int32_t *values)
{
    return p->direction != DIRECTION_W ||
           p->fil[AXIS_W] * values[NHWC_VECTOR] * values[NHWC_ITEMS] * 4 <=
               context->target->local_bytes;
}

static bool parts_fit_workspace(const struct problem *p, const struct context *context,
                                const int32_t *values)
{
    struct depthwise_nhwc_plan plan;

    depthwise_nhwc_plan_init(&plan, p, context, values);
    return split_sum_bytes(p, (int)plan.splits) <= context->workspace_limit;
}

/* Most work-items of a part have a unit. */
static bool parts_leave_work(const struct problem *p, const struct context *context,
                             const int32_t *values)
{
    struct depthwise_nhwc_plan plan;

    depthwise_nhwc_plan_init(&plan, p, context, values);
    return plan.splits > 1 && plan.part * 2 >= plan.position_items;
}

/* One part is valid only where it fills a good share of the target, or cannot be split. */
static bool load_suits_target(const struct problem *p, const struct context *context,
                              const int32_t *values)
{
    int32_t least[NHWC_PARAM_COUNT];
    struct depthwise_nhwc_plan plan;

    if (p->direction != DIRECTION_W)
        return values[NHWC_LOAD] == 0;
    if (values[NHWC_LOAD] > 0)
        return parts_leave_work(p, context, values);
    memcpy(least, values, sizeof(least));
    least[NHWC_LOAD] = 1;
    depthwise_nhwc_plan_init(&plan, p, context, values);
    return plan.workgroups * 4 >= context->target->compute_units ||
           !parts_leave_work(p, context, least) || !parts_fit_workspace(p, context, least);
}

static const struct space_constraint constraints[] = {
    {"items_suit_target", "workgroup size", NHWC_ITEMS + 1, items_suit_target},
    {"vector_suits_channels", "alignment", NHWC_VECTOR + 1, vector_suits_channels},
    {"sums_fit_local_memory", "local memory", NHWC_VECTOR + 1, sums_fit_local_memory},
    {"rows_are_shared", "arithmetic", NHWC_TILE_H + 1, rows_are_shared},
    {"tile_fits_registers", "registers", NHWC_TILE_W + 1, tile_fits_registers},
    {"load_suits_target", "arithmetic", NHWC_LOAD + 1, load_suits_target},
    {"parts_fit_workspace", "workspace", NHWC_LOAD + 1, parts_fit_workspace},
};

const struct space depthwise_nhwc_space = {NHWC_PARAM_COUNT, params, G_N_ELEMENTS(constraints),
                                           constraints};

uint64_t depthwise_nhwc_workspace_bytes(const struct problem *p, const struct context *context)
{
    uint64_t parts = (uint64_t)context->target->compute_units * LOAD_MOST;

    if (p->direction != DIRECTION_W)
        return 0;
    parts = MIN(parts, (uint64_t)(p->n * p->out[AXIS_H] * p->out[AXIS_W]));
    parts = MIN(parts, context->workspace_limit / split_sum_part_bytes(p));
    return split_sum_bytes(p, (int)parts);
}

/* Few large parts leave units of a GPU idle; many small ones write more than they read. */
static void choose_load(const struct problem *p, const struct context *context, int32_t *values)
{
    for (int32_t load = 3; load > 0; load--) {
        values[NHWC_LOAD] = load;
        if (parts_leave_work(p, context, values) && parts_fit_workspace(p, context, values))
            return;
    }
    values[NHWC_LOAD] = 0;
}

/* W: many work-items, unless they leave too few workgroups. */
static void choose_items(const struct problem *p, const struct context *context, int32_t *values)
{
    for (int i = params[NHWC_ITEMS].count - 1; i >= 0 && values[NHWC_LOAD] == 0; i--) {
        values[NHWC_ITEMS] = params[NHWC_ITEMS].values[i];
        choose_load(p, context, values);
    }
}

/* Defaults, measured on an H200; four channels allow many work-items. */
void depthwise_nhwc_default_config(const struct problem *p, const struct context *context,
                                   struct perf_config *config)
{
    static const int32_t tiles[][2] = {{4, 4}, {4, 2}, {2, 4}, {2, 2}, {1, 4}, {1, 2}, {1, 1}};
    static const int32_t vectors[] = {4, 8, 2, 1};
    /* The largest tiles pay in W only where rows of x, widened by the stride, leave registers. */
    bool is_narrow = p->stride[AXIS_H] * p->stride[AXIS_W] == 1;
    gsize first = p->direction != DIRECTION_W ? 2 : is_narrow ? 0 : 1;
    gsize count = G_N_ELEMENTS(tiles) - first;

    config->count = NHWC_PARAM_COUNT;
    for (gsize i = 0; i < G_N_ELEMENTS(vectors) * count; i++) {
        const int32_t *tile = tiles[first + i % count];
        const int32_t values[NHWC_PARAM_COUNT] = {64, vectors[i / count], tile[0], tile[1], 0};
        memcpy(config->values, values, sizeof(values));
        if (p->c % vectors[i / count] != 0)
            continue;
        if (p->direction == DIRECTION_W)
            choose_items(p, context, config->values);
        if (space_contains(&depthwise_nhwc_space, p, context, config, NULL))
            return;
    }
}
