/*
 * Convolutions with up to 64 channels in a group on NVIDIA's matrix units. A workgroup holds a patch of the
 * source in local memory, which all filter positions share. F, B and W of 2D, all tensors packed, NHWC or NCHW,
 * FP16 or BF16; any filter, stride, dilation and padding whose patch fits local memory, in W filters whose sums
 * fit registers. Static: all but the number of images is compiled in. sm_80 and later. Tensors that are not
 * NHWC with the channels of a group in chunks of 16 bytes are copied first. W may divide positions into parts
 * (SPLITS), whose sums are added up from the workspace.
 */
#include <string.h>

#include "solvers/common/conv_common.h"
#include "solvers/common/matrix_epilogue.h"
#include "solvers/common/matrix_sum.h"
#include "solvers/common/matrix_transform.h"
#include "solvers/framework/solver_rows.h"
#include "solvers/grouped/grouped_shape.h"

/* The least channels of a group. Fewer would mostly be padding in the matrix instructions. */
#define CHANNELS_LEAST   4
#define ITEMS_MOST       512
#define REGISTERS_UNIT   65536
/* Registers of a work-item: limit for sums and filter, and what everything else needs. */
#define REGISTERS_MOST   176
#define REGISTERS_BESIDE 48
/* The most matrix instructions unrolled in a kernel: more do not fit the instruction cache. */
#define PRODUCTS_MOST    1536
#define BLOCKS_MOST      0x1p30
/* The most columns of all images together, including the columns of a tile that passes the last image. */
#define COLUMNS_MOST     0x1p30
#define SIZE_MOST        (1 << 24)
/* The most elements of the filter that the solver serves; kernels count them in int. */
#define ELEMENTS_MOST    0x1p30

/* W: the least tiles of a split-K part, and the most workgroups for each multiprocessor. */
#define TILES_A_PART      2
#define WORKGROUPS_A_UNIT 8
/* F and B: workgroups wanted on each multiprocessor at once, so that some load while others compute. */
#define WORKGROUPS_WANTED 3

static const char *const sources[] = {"conv_grouped.cl",          "conv_grouped_w.cl",
                                      "conv_matrix_sum.cl",       "conv_transpose.cl",
                                      "conv_transpose_blocks.cl", NULL};

static const struct space_param params[GROUPED_PARAM_COUNT] = {
    {"TILE_H", 8, (const int32_t[]){1, 2, 4, 7, 8, 14, 16, 28}},
    {"TILE_W", 4, (const int32_t[]){16, 32, 64, 128}},
    {"GROUPS", 5, (const int32_t[]){1, 2, 4, 8, 16}},
    {"WARP_TILES", 6, (const int32_t[]){1, 2, 3, 4, 6, 8}},
    {"KEEP", 2, (const int32_t[]){0, 1}},
    {"SPLITS", MATRIX_SPLITS_VALUES},
};

/* ---- the space ---- */

static bool tile_suits_sizes(const struct problem *p, const struct context *context,
                             const int32_t *values)
{
    (void)context;
    return values[GROUPED_TILE_H] * values[GROUPED_TILE_W] == 16 ||
           grouped_used_part(p, values) > 0.4;
}

static bool groups_are_whole(const struct problem *p, const struct context *context,
                             const int32_t *values)
{
    int64_t groups = values[GROUPED_GROUPS];

    (void)context;
    return p->groups % groups == 0 &&
           (groups == 1 || groups * MAX(grouped_c(p), grouped_k(p)) <= 2 * GROUPED_CHANNELS_MOST);
}

/* A warp must compute whole groups, or an even part of one group. */
static bool warps_share_channels(const struct problem *p, const struct context *context,
                                 const int32_t *values)
{
    int64_t result = grouped_result(p), warp = (int64_t)values[GROUPED_WARP_TILES] * GROUPED_CHUNK;

    (void)context;
    return result * values[GROUPED_GROUPS] % warp == 0 &&
           (result % warp == 0 || warp % result == 0);
}

static bool items_fit_workgroup(const struct problem *p, const struct context *context,
                                const int32_t *values)
{
    return grouped_items(p, values) <= MIN(context->target->max_workgroup, ITEMS_MOST);
}

static bool patch_fits_local_memory(const struct problem *p, const struct context *context,
                                    const int32_t *values)
{
    return grouped_local_bytes(p, values) <= (double)target_dynamic_local_bytes(context->target);
}

static bool values_fit_registers(const struct problem *p, const struct context *context,
                                 const int32_t *values)
{
    double registers = grouped_registers(p, values);

    (void)context;
    return registers <= REGISTERS_MOST &&
           (registers + REGISTERS_BESIDE) * (double)grouped_items(p, values) <= REGISTERS_UNIT;
}

static bool products_fit_cache(const struct problem *p, const struct context *context,
                               const int32_t *values)
{
    (void)context;
    return grouped_products(p, values) <= PRODUCTS_MOST;
}

static bool keep_suits_direction(const struct problem *p, const struct context *context,
                                 const int32_t *values)
{
    (void)context;
    return values[GROUPED_KEEP] || p->direction != DIRECTION_W;
}

/* Terms of each sum in W, which may be too many for FP32; sums of F and B are short. */
static double terms_of(const struct problem *p)
{
    return p->direction == DIRECTION_W
               ? (double)p->n * (double)p->out[AXIS_H] * (double)p->out[AXIS_W]
               : 0;
}

static int least_splits(const struct problem *p)
{
    return matrix_least_splits(terms_of(p));
}

static bool splits_suit_positions(const struct problem *p, const struct context *context,
                                  const int32_t *values)
{
    int splits = values[GROUPED_SPLITS], least = least_splits(p);

    if (splits <= least)
        return splits == least;
    return p->direction == DIRECTION_W &&
           (double)splits * TILES_A_PART <= grouped_tiles(p, values) &&
           (double)splits * (double)grouped_bundles(p, values) <=
               (double)WORKGROUPS_A_UNIT * context->target->compute_units;
}

static double filter_elements(const struct problem *p)
{
    return (double)p->groups * (double)grouped_k(p) * (double)grouped_c(p) *
           (double)p->fil[AXIS_H] * (double)p->fil[AXIS_W];
}

static uint64_t parts_bytes(const struct problem *p, int splits)
{
    return splits > 1 ? workspace_align((uint64_t)(filter_elements(p) * splits * sizeof(float)))
                      : 0;
}

static bool splits_fit(const struct problem *p, const struct context *context, int splits)
{
    return parts_bytes(p, splits) + matrix_transform_bytes(p, GROUPED_CHUNK) <=
           context->workspace_limit;
}

static bool parts_fit_workspace(const struct problem *p, const struct context *context,
                                const int32_t *values)
{
    return splits_fit(p, context, values[GROUPED_SPLITS]);
}

static const struct space_constraint constraints[] = {
    {"tile_suits_sizes", "arithmetic", GROUPED_TILE_W + 1, tile_suits_sizes},
    {"groups_are_whole", "arithmetic", GROUPED_GROUPS + 1, groups_are_whole},
    {"warps_share_channels", "arithmetic", GROUPED_WARP_TILES + 1, warps_share_channels},
    {"items_fit_workgroup", "workgroup size", GROUPED_WARP_TILES + 1, items_fit_workgroup},
    {"patch_fits_local_memory", "local memory", GROUPED_WARP_TILES + 1, patch_fits_local_memory},
    {"products_fit_cache", "instructions", GROUPED_KEEP + 1, products_fit_cache},
    {"values_fit_registers", "registers", GROUPED_KEEP + 1, values_fit_registers},
    {"keep_suits_direction", "arithmetic", GROUPED_KEEP + 1, keep_suits_direction},
    {"splits_suit_positions", "compute units", GROUPED_SPLITS + 1, splits_suit_positions},
    {"parts_fit_workspace", "workspace", GROUPED_SPLITS + 1, parts_fit_workspace},
};

static const struct space space = {GROUPED_PARAM_COUNT, params, G_N_ELEMENTS(constraints),
                                   constraints};

/* ---- what it serves ---- */

static bool types_are_served(const struct problem *p, const char **reason)
{
    *reason = "needs FP16 or BF16 tensors of one type";
    for (int t = 0; t < TENSOR_COUNT; t++) {
        if (p->type[t] != p->type[TENSOR_X] || (p->type[t] != TYPE_FP16 && p->type[t] != TYPE_BF16))
            return false;
    }
    return true;
}

/* A config that is valid for every served problem, except that some need KEEP 0, and W may need more parts. */
static const struct perf_config smallest = {GROUPED_PARAM_COUNT, {1, 16, 1, 1, 1, 1}};

static bool sizes_are_served(const struct problem *p, const char **reason)
{
    const int64_t *const sizes[] = {p->in, p->out, p->fil, p->pad, p->stride, p->dilation};

    *reason = "needs groups of four to 64 channels";
    if ((p->groups > 1 && MIN(p->c, p->k) / p->groups < CHANNELS_LEAST) ||
        MAX(grouped_c(p), grouped_k(p)) > GROUPED_CHANNELS_MOST)
        return false;
    *reason = "needs sizes below 2^24";
    for (size_t i = 0; i < G_N_ELEMENTS(sizes); i++) {
        if (sizes[i][AXIS_H] >= SIZE_MOST || sizes[i][AXIS_W] >= SIZE_MOST)
            return false;
    }
    *reason = "needs fewer images, or smaller ones";
    return matrix_parts_are_short(terms_of(p), least_splits(p)) &&
           filter_elements(p) <= ELEMENTS_MOST &&
           grouped_tiles(p, smallest.values) * (double)p->groups <= BLOCKS_MOST &&
           grouped_columns(p) <= COLUMNS_MOST;
}

static bool any_config_fits(const struct problem *p, const struct context *context,
                            const char **reason)
{
    struct perf_config config = smallest;

    config.values[GROUPED_SPLITS] = least_splits(p);
    *reason = "needs a workspace for parts of long sums and for copies of tensors";
    if (!splits_fit(p, context, config.values[GROUPED_SPLITS]))
        return false;
    *reason = "needs a smaller filter or shorter strides, or fewer channels of a group";
    if (space_contains(&space, p, context, &config, NULL))
        return true;
    config.values[GROUPED_KEEP] = 0;
    return space_contains(&space, p, context, &config, NULL);
}

static bool dimensions_are_served(const struct problem *p, const char **reason)
{
    *reason = "needs two dimensions";
    return p->spatial_dim == 2;
}

static bool is_applicable(const struct problem *p, const struct context *context,
                          const char **reason)
{
    *reason = "needs NVIDIA's matrix units, sm_80 or later";
    return target_compute_capability(context->target) >= 80 && conv_is_plain(p, reason) &&
           types_are_served(p, reason) && dimensions_are_served(p, reason) &&
           matrix_transform_serves(p, GROUPED_CHUNK, reason) &&
           conv_counts_fit_32_bits(p, reason) && sizes_are_served(p, reason) &&
           any_config_fits(p, context, reason);
}

/* Defaults of F and B for groups whose channels fill lines of 128 bytes, fastest on an H200 first; the last is valid
 * for every served problem. */
static const int32_t data_defaults[][GROUPED_SPLITS] = {
    {8, 32, 8, 4, 1}, {8, 32, 4, 4, 1}, {4, 32, 8, 4, 1}, {4, 32, 4, 4, 1}, {7, 32, 2, 2, 1},
    {4, 32, 2, 2, 1}, {7, 32, 1, 4, 0}, {4, 32, 2, 4, 0}, {4, 32, 1, 4, 0}, {4, 16, 1, 1, 1},
    {4, 16, 1, 2, 0}, {2, 16, 1, 2, 0}, {1, 16, 1, 1, 1}, {1, 16, 1, 1, 0},
};
static const int32_t weights_defaults[][GROUPED_SPLITS] = {
    {8, 32, 8, 2, 1}, {8, 32, 4, 2, 1}, {4, 32, 8, 2, 1}, {4, 32, 4, 2, 1},
    {7, 16, 1, 1, 1}, {4, 16, 1, 1, 1}, {2, 16, 1, 1, 1}, {1, 16, 1, 1, 1},
};

/* Chooses the first row of defaults that is valid, takes at most 64 channels (128 bytes) of several groups
 * together, and lets at least this many workgroups share a multiprocessor's local memory. Returns whether there is
 * one. */
static bool choose_default(const struct problem *p, const struct context *context,
                           const int32_t rows[][GROUPED_SPLITS], size_t count, int workgroups,
                           struct perf_config *config)
{
    double local = (double)target_dynamic_local_bytes(context->target) / workgroups;
    int64_t channels = MAX(grouped_c(p), grouped_k(p));

    for (size_t i = 0; i < count; i++) {
        int32_t groups = rows[i][GROUPED_GROUPS];
        memcpy(config->values, rows[i], sizeof rows[i]);
        if ((groups == 1 || groups * channels <= GROUPED_CHANNELS_MOST) &&
            space_contains(&space, p, context, config, NULL) &&
            grouped_local_bytes(p, config->values) <= local)
            return true;
    }
    return false;
}

/* Sets as many split-K parts as give each multiprocessor two workgroups. */
static void choose_splits(const struct problem *p, const struct context *context,
                          struct perf_config *config)
{
    double bundles = (double)grouped_bundles(p, config->values);
    struct perf_config more = *config;

    while (bundles * config->values[GROUPED_SPLITS] < 2.0 * context->target->compute_units) {
        more.values[GROUPED_SPLITS] *= 2;
        if (!space_contains(&space, p, context, &more, NULL))
            return;
        *config = more;
    }
}

static void default_config(const struct problem *p, const struct context *context,
                           struct perf_config *config)
{
    config->count = GROUPED_PARAM_COUNT;
    config->values[GROUPED_SPLITS] = least_splits(p);
    if (p->direction == DIRECTION_W) {
        choose_default(p, context, weights_defaults, G_N_ELEMENTS(weights_defaults), 1, config);
    } else {
        size_t count = G_N_ELEMENTS(data_defaults);
        if (!choose_default(p, context, data_defaults, count, WORKGROUPS_WANTED, config))
            choose_default(p, context, data_defaults, count, 1, config);
    }
    choose_splits(p, context, config);
}

static uint64_t workspace_bytes(const struct problem *p, const struct context *context)
{
    int splits = MATRIX_SPLITS_MOST;

    if (p->direction != DIRECTION_W)
        return matrix_transform_bytes(p, GROUPED_CHUNK);
    while (splits > least_splits(p) && !splits_fit(p, context, splits))
        splits /= 2;
    return parts_bytes(p, splits) + matrix_transform_bytes(p, GROUPED_CHUNK);
}

/* Groups of eight channels take a quarter of the work of solvers that pad them to a block; from 64 channels on
 * padding costs nothing. Fewer channels than eight are padded here, too. */
static double estimate(const struct problem *p, const struct context *context)
{
    struct perf_config config;
    double least = (double)MIN(grouped_c(p), grouped_k(p));
    double channels = (double)p->c * (double)p->k / (double)(p->groups * p->groups);

    default_config(p, context, &config);
    return (least < 48 ? 300.0 : 150.0) * grouped_used_part(p, config.values) * channels /
           (double)(grouped_c(p) * grouped_k(p)) * matrix_transform_used_part(p, GROUPED_CHUNK);
}

/* ---- the launch ---- */

static void add_axis_options(const struct problem *p, struct launch *launch)
{
    static const char *const names[][2] = {{"IN_H", "IN_W"},         {"OUT_H", "OUT_W"},
                                           {"FIL_H", "FIL_W"},       {"PAD_H", "PAD_W"},
                                           {"STRIDE_H", "STRIDE_W"}, {"DILATION_H", "DILATION_W"}};
    const int64_t *const sizes[] = {p->in, p->out, p->fil, p->pad, p->stride, p->dilation};

    for (size_t i = 0; i < G_N_ELEMENTS(names); i++) {
        launch_option_int(launch, names[i][0], sizes[i][AXIS_H]);
        launch_option_int(launch, names[i][1], sizes[i][AXIS_W]);
    }
}

static void add_options(const struct problem *p, const int32_t *values, struct launch *launch)
{
    bool is_backward = p->direction == DIRECTION_B;

    if (p->direction == DIRECTION_W)
        launch_option_int(launch, "SPLIT", values[GROUPED_SPLITS] > 1);
    else
        launch_option_int(launch, "KEEP", values[GROUPED_KEEP]);
    for (int i = 0; i < GROUPED_KEEP; i++)
        launch_option_int(launch, params[i].name, values[i]);
    add_axis_options(p, launch);
    launch_option_int(launch, "ALL_GROUPS", p->groups);
    launch_option_int(launch, "GROUP_C", grouped_c(p));
    launch_option_int(launch, "GROUP_K", grouped_k(p));
    conv_add_direction_option(p, launch);
    launch_option_int(launch, "PERIOD_W", is_backward ? conv_stride_period(p, AXIS_W) : 1);
    launch_option_text(launch, "LANE", conv_sum_type(p));
    launch_option_text(launch, "TYPE", data_type_name(p->type[TENSOR_X]));
    matrix_add_epilogue_options(p, launch);
    launch_sort_options(launch);
}

static void add_data_launch(const struct problem *p, const int32_t *values,
                            struct solution *solution)
{
    struct launch *launch = solution_add_launch(solution, "conv_grouped.cl", "conv_grouped");
    int64_t items = grouped_items(p, values);
    int64_t workgroups = (int64_t)grouped_tiles(p, values) * grouped_bundles(p, values);

    add_options(p, values, launch);
    launch->local_bytes = (int64_t)grouped_local_bytes(p, values);
    launch_arg_tensor(launch, p->direction == DIRECTION_B ? TENSOR_Y : TENSOR_X);
    launch_arg_tensor(launch, TENSOR_W);
    launch_arg_tensor(launch, problem_output_role(p));
    launch_arg_int32(launch, p->n);
    matrix_add_epilogue_args(p, launch);
    launch_set_line(launch, workgroups * items, (int)items);
}

static void add_weights_launches(const struct problem *p, const int32_t *values,
                                 struct solution *solution)
{
    struct launch *launch = solution_add_launch(solution, "conv_grouped_w.cl", "conv_grouped_w");
    int splits = values[GROUPED_SPLITS];
    int64_t items = grouped_items(p, values), workgroups = splits * grouped_bundles(p, values);

    add_options(p, values, launch);
    launch->local_bytes = (int64_t)grouped_local_bytes(p, values);
    launch_arg_tensor(launch, TENSOR_X);
    launch_arg_tensor(launch, TENSOR_Y);
    if (splits > 1)
        launch_arg_workspace(launch, 0);
    else
        launch_arg_tensor(launch, TENSOR_W);
    launch_arg_int32(launch, p->n);
    launch_arg_int32(launch, (int64_t)grouped_tiles(p, values));
    launch_arg_int32(launch, splits);
    launch_set_line(launch, workgroups * items, (int)items);
    if (splits > 1)
        matrix_add_sum(p, (int64_t)filter_elements(p), splits, solution);
}

static bool solve(const struct problem *p, const struct context *context,
                  const struct perf_config *config, struct solution *solution, GError **error)
{
    (void)context;
    (void)error;
    if (p->direction == DIRECTION_W)
        add_weights_launches(p, config->values, solution);
    else
        add_data_launch(p, config->values, solution);
    matrix_transform_solution(p, GROUPED_CHUNK, solution);
    conv_set_exact_work(p, solution);
    return true;
}

const struct solver solver_conv_grouped = {
    .provider = "skipjack",
    .name = "ConvGrouped",
    .revision = 2,
    .algorithm = "ImplicitGEMM",
    .native = true,
    .epilogues = EPILOGUE_DOES_ALL,
    .sources = sources,
    .is_applicable = is_applicable,
    .workspace_bytes = workspace_bytes,
    .estimate = estimate,
    .default_config = default_config,
    .space = &space,
    .solve = solve,
};
