/*
 * Convolutions on CPUs with vectors of output channels (conv_cpu_blocked.cl, conv_cpu_pad.cl). F and B, 2D and
 * 3D, every layout (channels in blocks too), FP32, FP16 and BF16 in any mixture and INT8 to INT32 (F), groups,
 * stride, dilation, tensors that are not packed, every epilogue. The filter is packed once: by blocks of output
 * channels, in the order of terms. The input is copied with its padding first, unless it is FP32
 * without padding and stride. For B with a stride the copy has zeros between the numbers, which costs that much
 * more arithmetic. Dynamic: one binary for a config and types.
 */
#include "solvers/common/conv_common.h"
#include "solvers/common/conv_epilogue.h"
#include "solvers/cpu/conv_cpu_tile.h"
#include "solvers/framework/solver_rows.h"

enum { VEC, TILE_V, TILE_W, CRS_BLOCK, PARAM_COUNT };

#define VEC_MIN        8
#define TILE_W_MIN     4
#define TILE_W_MAX     28
#define CRS_BLOCK_MIN  256
/* Output positions that a work-item computes, in whole tiles: enough to reuse its weights, few enough that their sums
 * stay in a CPU's second-level cache. */
#define ITEM_POSITIONS 448
/* The least number of work-items for each CPU thread, where there are enough tiles. */
#define ITEMS_A_THREAD 4
/* Input channels that a work-item of conv_cpu_pad.cl copies. */
#define PAD_CHANNELS   16

static const char *const sources[] = {"conv_cpu_blocked.cl", "conv_cpu_pad.cl", NULL};

static const struct space_param params[PARAM_COUNT] = {
    [VEC] = {"VEC", 2, (const int32_t[]){VEC_MIN, 16}},
    [TILE_V] = {"TILE_V", 4, (const int32_t[]){1, 2, 3, 4}},
    [TILE_W] = {"TILE_W", 7, (const int32_t[]){TILE_W_MIN, 6, 7, 8, 12, 14, TILE_W_MAX}},
    [CRS_BLOCK] = {"CRS_BLOCK", 2, (const int32_t[]){CRS_BLOCK_MIN, 512}},
};

/* The convolution as the kernel computes it. Its input (x for F, y for B) is copied with padding into phases; its
 * output is the other tensor. */
struct view {
    enum tensor_role in, out;
    int64_t channels, k;         /* of all groups */
    int64_t in_size[AXIS_COUNT]; /* without padding */
    int64_t out_size[AXIS_COUNT];
    int64_t pad[AXIS_COUNT], stride[AXIS_COUNT];
    /* distance in the copy between neighbouring input elements: B's stride, with zeros between them */
    int64_t spread[AXIS_COUNT];
    int64_t phases[AXIS_COUNT], size[AXIS_COUNT]; /* of the copy */
    double elements;                              /* of the copy */
};

static void view_init(struct view *view, const struct problem *p)
{
    bool forward = p->direction == DIRECTION_F;

    view->in = forward ? TENSOR_X : TENSOR_Y;
    view->out = forward ? TENSOR_Y : TENSOR_X;
    view->channels = forward ? p->c : p->k;
    view->k = forward ? p->k : p->c;
    view->elements = (double)p->n * (double)view->channels;
    for (int a = 0; a < AXIS_COUNT; a++) {
        int64_t reach = (p->fil[a] - 1) * p->dilation[a];
        view->in_size[a] = forward ? p->in[a] : p->out[a];
        view->out_size[a] = forward ? p->out[a] : p->in[a];
        view->pad[a] = forward ? p->pad[a] : reach - p->pad[a];
        view->stride[a] = forward ? p->stride[a] : 1;
        view->spread[a] = forward ? 1 : p->stride[a];
        view->phases[a] = forward ? MIN(p->fil[a], conv_stride_period(p, (enum axis)a)) : 1;
        view->size[a] = view->out_size[a] + reach / view->stride[a];
        view->elements *= (double)view->phases[a] * (double)view->size[a];
    }
}

/* Output positions that a work-item treats as one row: those of a row, or for a 1x1 filter those of a whole plane. */
static int64_t row_width(const struct problem *p, const struct view *view)
{
    bool is_pointwise = p->fil[AXIS_D] == 1 && p->fil[AXIS_H] == 1 && p->fil[AXIS_W] == 1;

    return is_pointwise ? view->out_size[AXIS_H] * view->out_size[AXIS_W] : view->out_size[AXIS_W];
}

static bool sums_fit_registers(const struct problem *p, const struct context *context,
                               const int32_t *values)
{
    (void)p;
    return tile_fits_registers(context->target, values[VEC], values[TILE_V], values[TILE_W]);
}

static bool sums_hide_latency(const struct problem *p, const struct context *context,
                              const int32_t *values)
{
    (void)p;
    return tile_hides_latency(context->target, values[VEC], values[TILE_V], values[TILE_W]);
}

static bool channels_fill_tiles(const struct problem *p, const struct context *context,
                                const int32_t *values)
{
    struct view view;

    (void)context;
    view_init(&view, p);
    return tile_wastes_little(view.k / p->groups, values[VEC] * values[TILE_V], VEC_MIN);
}

static bool positions_fill_tiles(const struct problem *p, const struct context *context,
                                 const int32_t *values)
{
    struct view view;

    (void)context;
    view_init(&view, p);
    return tile_wastes_little(row_width(p, &view), values[TILE_W], TILE_W_MIN);
}

/* Only the smallest of the blocks that hold all terms of the problem is valid: larger ones give the same kernel. */
static bool crs_block_is_distinct(const struct problem *p, const struct context *context,
                                  const int32_t *values)
{
    int64_t terms = p->fil[AXIS_D] * p->fil[AXIS_H] * p->fil[AXIS_W];
    struct view view;

    (void)context;
    view_init(&view, p);
    return values[CRS_BLOCK] == CRS_BLOCK_MIN ||
           view.channels / p->groups * terms > values[CRS_BLOCK] / 2;
}

static const struct space_constraint constraints[] = {
    {"channels_fill_tiles", "arithmetic", TILE_V + 1, channels_fill_tiles},
    {"sums_fit_registers", "vector registers", TILE_W + 1, sums_fit_registers},
    {"sums_hide_latency", "multiply-add units", TILE_W + 1, sums_hide_latency},
    {"positions_fill_tiles", "arithmetic", TILE_W + 1, positions_fill_tiles},
    {"crs_block_is_distinct", "tuning time", CRS_BLOCK + 1, crs_block_is_distinct},
};

static const struct space space = {PARAM_COUNT, params, G_N_ELEMENTS(constraints), constraints};

/* The input is read in place where a copy would hold the same numbers, and where a tile wider than a row stays
 * inside a plane, either from the row's start or to its end. (A copy is larger where the filter reaches past
 * the input.) */
static bool reads_in_place(const struct problem *p, const struct view *view, int tile_w)
{
    if (p->type[view->in] != TYPE_FP32 || problem_layout_block(p->layout[view->in]) > 1 ||
        (view->out_size[AXIS_W] < tile_w &&
         view->out_size[AXIS_W] * view->out_size[AXIS_H] < 2 * tile_w))
        return false;
    for (int a = 0; a < AXIS_COUNT; a++) {
        if (view->pad[a] != 0 || view->stride[a] != 1 || view->spread[a] != 1 ||
            view->size[a] != view->in_size[a])
            return false;
    }
    return true;
}

static uint64_t blocked_workspace_bytes(const struct problem *p, const struct context *context)
{
    struct view view;

    (void)context;
    view_init(&view, p);
    if (reads_in_place(p, &view, TILE_W_MAX))
        return 0;
    /* Room for one tile more, because the last tile may read past the copy's end. */
    return ((uint64_t)view.elements + TILE_W_MAX) * sizeof(float);
}

static bool blocked_is_applicable(const struct problem *p, const struct context *context,
                                  const char **reason)
{
    const double most = (double)(INT64_C(1) << 40);
    struct view view;

    if (!context_is_cpu(context)) {
        *reason = "needs a CPU: one work-item computes a whole tile in vector registers";
        return false;
    }
    if (!conv_is_plain(p, reason))
        return false;
    if (p->direction == DIRECTION_W) {
        *reason = "needs direction F or B";
        return false;
    }
    if (!conv_types_are_served(p, reason) || !conv_counts_fit_32_bits(p, reason))
        return false;
    view_init(&view, p);
    if (view.elements > most) {
        *reason = "needs a padded copy of the input of fewer than 2^40 elements";
        return false;
    }
    return true;
}

/* Few channels need few lanes. Measured on ResNet-50 with AVX-512, 16,2,7 is near the best for every layer.
 * Without AVX-512 there are half as many registers, and without AVX a vector takes two. */
static void blocked_default_config(const struct problem *p, const struct context *context,
                                   struct perf_config *config)
{
    int bytes = context->target->vector_bytes;
    int vec = bytes >= 64 ? 16 : VEC_MIN, vectors = bytes >= 64 ? 14 : bytes >= 32 ? 12 : 6;
    struct view view;
    int tile_v;

    view_init(&view, p);
    tile_v = bytes >= 32 && view.k / p->groups > vec ? 2 : 1;
    *config = (struct perf_config){PARAM_COUNT, {vec, tile_v, vectors / tile_v, CRS_BLOCK_MIN}};
}

/* The factors were measured relative to the naive kernel, for full tiles and without multiplications by zero. */
static double blocked_estimate(const struct problem *p, const struct context *context)
{
    struct perf_config config;
    struct view view;
    double worth = 48.0;

    view_init(&view, p);
    blocked_default_config(p, context, &config);
    for (int a = 0; a < AXIS_COUNT; a++)
        worth /= (double)view.spread[a];
    worth *=
        conv_used_part((double)(view.k / p->groups), config.values[VEC] * config.values[TILE_V]);
    return worth * conv_used_part((double)row_width(p, &view), config.values[TILE_W]);
}

/* ---- the solution ---- */

static void add_sizes(struct launch *launch, const int64_t sizes[AXIS_COUNT])
{
    for (int a = 0; a < AXIS_COUNT; a++)
        launch_arg_int32(launch, sizes[a]);
}

static void add_strides(struct launch *launch, enum tensor_role role)
{
    for (int axis = 0; axis < 5; axis++)
        launch_arg_stride(launch, role, axis);
}

static void add_pad_launch(const struct problem *p, const struct view *view,
                           struct solution *solution)
{
    struct launch *launch = solution_add_launch(solution, "conv_cpu_pad.cl", "conv_cpu_pad");

    launch_option_text(launch, "TYPE", data_type_name(p->type[view->in]));
    launch_option_text(launch, "LANE", conv_sum_type(p));
    launch_sort_options(launch);
    launch_arg_tensor(launch, view->in);
    launch_arg_workspace(launch, 0);
    add_strides(launch, view->in);
    launch_arg_int32(launch, problem_layout_block(p->layout[view->in]));
    launch_arg_int32(launch, view->channels);
    add_sizes(launch, view->in_size);
    add_sizes(launch, view->phases);
    add_sizes(launch, view->size);
    add_sizes(launch, view->pad);
    add_sizes(launch, view->stride);
    add_sizes(launch, p->dilation);
    add_sizes(launch, view->spread);
    launch_set_grid(
        launch,
        (const int64_t[3]){view->phases[AXIS_D] * view->phases[AXIS_H] * view->phases[AXIS_W],
                           conv_divide_up(view->channels, PAD_CHANNELS), p->n},
        (const int[3]){1, 1, 1});
}

/* Adds as arguments the padded copy's strides n c d h w, then the distances between its phases d h w. */
static void add_copy_strides(const struct view *view, struct launch *launch)
{
    int64_t strides[8];

    strides[4] = 1;
    strides[3] = view->size[AXIS_W];
    strides[2] = strides[3] * view->size[AXIS_H];
    strides[7] = strides[2] * view->size[AXIS_D];
    strides[6] = strides[7] * view->phases[AXIS_W];
    strides[5] = strides[6] * view->phases[AXIS_H];
    strides[1] = strides[5] * view->phases[AXIS_D];
    strides[0] = strides[1] * view->channels;
    for (int i = 0; i < 8; i++)
        launch_arg_int64(launch, strides[i]);
}

/* Options of both kernels in conv_cpu_blocked.cl. */
static void add_options(const struct problem *p, const int32_t *values, struct launch *launch)
{
    for (int i = 0; i < PARAM_COUNT; i++)
        launch_option_int(launch, params[i].name, values[i]);
    launch_option_text(launch, "LANE", conv_sum_type(p));
}

/* Vectors of sums are stored as they are where they have the output's type, which sums of INT8 do not have after an
 * epilogue. */
static bool stores_vectors(const struct problem *p, const struct view *view)
{
    if (conv_is_int8(p))
        return p->type[view->out] == TYPE_INT32 && p->epilogue[0] == '\0';
    return p->type[view->out] == TYPE_FP32;
}

static void add_main_options(const struct problem *p, const struct view *view,
                             const int32_t *values, struct launch *launch)
{
    add_options(p, values, launch);
    launch_option_int(launch, "TILES", conv_divide_up(ITEM_POSITIONS, values[TILE_W]));
    launch_option_text(launch, "TYPE_OUT", data_type_name(p->type[view->out]));
    launch_option_int(launch, "PLAIN_OUT", stores_vectors(p, view));
    conv_add_epilogue_options(p, launch);
    launch_sort_options(launch);
}

static void add_strides_of_all(const struct problem *p, const struct view *view, bool in_place,
                               struct launch *launch)
{
    bool forward = p->direction == DIRECTION_F;

    if (in_place) {
        add_strides(launch, view->in);
        for (int a = 0; a < AXIS_COUNT; a++)
            launch_arg_int64(launch, 0);
    } else {
        add_copy_strides(view, launch);
    }
    launch_arg_stride(launch, TENSOR_W, forward ? 1 : 0);
    for (int axis = 2; axis < 5; axis++)
        launch_arg_stride(launch, TENSOR_W, axis);
    add_strides(launch, view->out);
}

/* The channel block of the filter's output and of its input channels (layouts block only c). */
static int filter_out_block(const struct problem *p)
{
    return p->direction == DIRECTION_F ? 1 : problem_layout_block(p->layout[TENSOR_W]);
}

static int filter_in_block(const struct problem *p)
{
    return p->direction == DIRECTION_F ? problem_layout_block(p->layout[TENSOR_W]) : 1;
}

/* Packs the filter in pieces of CRS_BLOCK terms of a block of output channels. */
static void add_pack_launch(const struct problem *p, const struct view *view, const int32_t *values,
                            struct solution *solution)
{
    struct launch *launch = solution_add_launch(solution, "conv_cpu_blocked.cl", "conv_cpu_pack_w");
    bool forward = p->direction == DIRECTION_F;
    int64_t tile_k = values[VEC] * values[TILE_V], k_count = view->k / p->groups;
    int64_t terms = view->channels / p->groups * p->fil[AXIS_D] * p->fil[AXIS_H] * p->fil[AXIS_W];
    int64_t blocks = conv_divide_up(k_count, tile_k);

    add_options(p, values, launch);
    launch_option_int(launch, "PACK", 1);
    launch_option_text(launch, "TYPE_W", data_type_name(p->type[TENSOR_W]));
    launch_option_int(launch, "PLAIN_W", p->type[TENSOR_W] == TYPE_FP32);
    launch_sort_options(launch);
    launch_arg_tensor(launch, TENSOR_W);
    launch_arg_tensor(launch, TENSOR_PACKED);
    launch_arg_stride(launch, TENSOR_W, forward ? 0 : 1);
    launch_arg_stride(launch, TENSOR_W, forward ? 1 : 0);
    launch_arg_scaled_stride(launch, TENSOR_W, 0, p->k / p->groups);
    for (int axis = 2; axis < 5; axis++)
        launch_arg_stride(launch, TENSOR_W, axis);
    launch_arg_int32(launch, view->channels / p->groups);
    launch_arg_int32(launch, k_count);
    launch_arg_int32(launch, filter_out_block(p));
    launch_arg_int32(launch, filter_in_block(p));
    launch_arg_int32(launch, !forward);
    add_sizes(launch, p->fil);
    launch_set_grid(launch,
                    (const int64_t[3]){conv_divide_up(terms, values[CRS_BLOCK]), blocks, p->groups},
                    (const int[3]){1, 1, 1});
    solution->pack_count = 1;
    solution->packed_bytes = (uint64_t)(p->groups * blocks * tile_k * terms) * sizeof(float);
}

/* The number of work-items that share an output plane's tiles: at least so many that the private sums of each hold
 * its tiles, and so many that, times `others` (the output planes: blocks of channels, images and groups), they occupy
 * all threads. */
static int64_t count_items(const struct view *view, const struct context *context, int tile_w,
                           int64_t others)
{
    int64_t tiles = conv_divide_up(view->out_size[AXIS_W], tile_w) * view->out_size[AXIS_H] *
                    view->out_size[AXIS_D];
    int64_t least = conv_divide_up(tiles, conv_divide_up(ITEM_POSITIONS, tile_w));
    int64_t wanted =
        conv_divide_up((int64_t)context->target->compute_units * ITEMS_A_THREAD, others);

    return CLAMP(wanted, least, tiles);
}

static void add_blocked_launch(const struct problem *p, const struct context *context,
                               const struct view *view, const int32_t *values, bool in_place,
                               struct solution *solution)
{
    struct launch *launch =
        solution_add_launch(solution, "conv_cpu_blocked.cl", "conv_cpu_blocked");
    int64_t k_count = view->k / p->groups;
    int64_t blocks = conv_divide_up(k_count, values[VEC] * values[TILE_V]);
    int64_t items = count_items(view, context, values[TILE_W], blocks * p->n * p->groups);

    add_main_options(p, view, values, launch);
    if (in_place)
        launch_arg_tensor(launch, view->in);
    else
        launch_arg_workspace(launch, 0);
    launch_arg_tensor(launch, TENSOR_PACKED);
    launch_arg_tensor(launch, view->out);
    add_strides_of_all(p, view, in_place, launch);
    launch_arg_int32(launch, p->groups);
    launch_arg_int32(launch, view->channels / p->groups);
    launch_arg_int32(launch, k_count);
    launch_arg_int32(launch, items);
    launch_arg_int32(launch, !in_place);
    launch_arg_int32(launch, filter_in_block(p));
    launch_arg_int32(launch, problem_layout_block(p->layout[view->out]));
    launch_arg_int32(launch, p->direction == DIRECTION_B);
    add_sizes(launch, p->fil);
    add_sizes(launch, view->out_size);
    add_sizes(launch, view->phases);
    add_sizes(launch, view->stride);
    add_sizes(launch, p->dilation);
    conv_add_epilogue_args(p, launch);
    launch_set_grid(launch, (const int64_t[3]){items, blocks, p->n * p->groups},
                    (const int[3]){1, 1, 1});
}

static bool blocked_solve(const struct problem *p, const struct context *context,
                          const struct perf_config *config, struct solution *solution,
                          GError **error)
{
    struct view view;
    bool in_place;

    (void)error;
    view_init(&view, p);
    in_place = reads_in_place(p, &view, config->values[TILE_W]);
    add_pack_launch(p, &view, config->values, solution);
    if (!in_place) {
        add_pad_launch(p, &view, solution);
        solution->workspace_bytes = blocked_workspace_bytes(p, context);
    }
    add_blocked_launch(p, context, &view, config->values, in_place, solution);
    solution->flops = 2 * (double)p->n * (double)view.k * (double)(view.channels / p->groups);
    for (int a = 0; a < AXIS_COUNT; a++)
        solution->flops *= (double)view.out_size[a] * (double)p->fil[a];
    conv_set_compulsory_bytes(p, solution);
    return true;
}

const struct solver solver_conv_cpu_blocked = {
    .provider = "skipjack",
    .name = "ConvCpuBlocked",
    .revision = 2,
    .algorithm = "ImplicitGEMM",
    .dynamic = true,
    .any_strides = true,
    .epilogues = EPILOGUE_DOES_ALL,
    .sources = sources,
    .is_applicable = blocked_is_applicable,
    .workspace_bytes = blocked_workspace_bytes,
    .estimate = blocked_estimate,
    .default_config = blocked_default_config,
    .space = &space,
    .solve = blocked_solve,
};
