#include "solvers/fft/conv_fft.h"

#define BLOCK_MIN     16
#define GPU_VEC       4
#define GPU_ITEMS_MIN 64
#define GPU_ITEMS_MAX 256

static const struct space_param params[FFT_PARAM_COUNT] = {
    [FFT_SIZE] = {"SIZE", 3, (const int32_t[]){FFT_SIZE_MIN, 32, FFT_SIZE_MAX}},
    [FFT_LANES] = {"LANES", 4, (const int32_t[]){2, 4, 8, 16}},
    [FFT_BLOCK_K] = {"BLOCK_K", 3, (const int32_t[]){BLOCK_MIN, 32, 64}},
    [FFT_BLOCK_N] = {"BLOCK_N", 3, (const int32_t[]){BLOCK_MIN, 32, 64}},
    [FFT_TILE_K] = {"TILE_K", 3, (const int32_t[]){2, 4, 8}},
    [FFT_TILE_N] = {"TILE_N", 4, (const int32_t[]){4, 8, 16, 32}},
    [FFT_STAGE] = {"STAGE", 3, (const int32_t[]){0, 8, 16}},
};

int fft_vector_lanes(const struct context *context)
{
    return context_is_cpu(context) ? CLAMP(context->target->vector_bytes / 4, 4, 16) : GPU_VEC;
}

int fft_plane_items(const struct context *context, int size)
{
    return context_is_cpu(context) ? 1 : size / 2;
}

static int tiles_of(const int32_t *values)
{
    return values[FFT_BLOCK_K] / values[FFT_TILE_K] * (values[FFT_BLOCK_N] / values[FFT_TILE_N]);
}

int fft_product_items(const struct context *context, const int32_t *values)
{
    return context_is_cpu(context) ? 1 : tiles_of(values);
}

/* As in fft.h. */
static int64_t planes_bytes(int size, int lanes)
{
    return (int64_t)2 * size * (size / 2 + 1) * lanes * (int64_t)sizeof(float);
}

static double slices_bytes(const struct fft_plan *plan, int block_k, int block_n)
{
    double bytes[TENSOR_COUNT];

    fft_plan_slices(plan, block_k, block_n, bytes);
    return bytes[TENSOR_X] + bytes[TENSOR_W] + bytes[TENSOR_Y];
}

/* ---- the default, which also says how much workspace there is ---- */

static int default_block(double count)
{
    return count > 32 ? 64 : count > 16 ? 32 : BLOCK_MIN;
}

double fft_default_bytes(const struct fft_plan *plan)
{
    return slices_bytes(plan, default_block(plan->channels), default_block(plan->columns));
}

double fft_most_bytes(const struct problem *p)
{
    double most = 0;

    for (int size = FFT_SIZE_MIN; size <= FFT_SIZE_MAX; size *= 2) {
        struct fft_plan plan;
        fft_plan_init(p, size, &plan);
        if (fft_plan_is_useful(p, &plan))
            most = MAX(most, fft_default_bytes(&plan));
    }
    return most;
}

static int default_lanes(const struct context *context, int size)
{
    int lanes = fft_vector_lanes(context);

    if (!context_is_cpu(context))
        return size == 16 ? 16 : size == 32 ? 8 : 2;
    while (lanes > 4 && planes_bytes(size, lanes) > context->target->local_bytes)
        lanes /= 2;
    return lanes;
}

/* Tiles fill a CPU's registers. A GPU's tiles are as tall as the number of work-items allows. */
static void set_default_tile(const struct context *context, int32_t *values)
{
    int vec = fft_vector_lanes(context);

    values[FFT_TILE_N] = vec;
    values[FFT_TILE_K] = context_is_cpu(context) && vec < 16 ? 4 : 8;
    while (!context_is_cpu(context) && values[FFT_TILE_K] > 2 && tiles_of(values) < GPU_ITEMS_MIN)
        values[FFT_TILE_K] /= 2;
}

void fft_default_config(const struct problem *p, const struct context *context,
                        struct perf_config *config)
{
    struct fft_plan plan;

    fft_plan_choose(p, &plan);
    *config = (struct perf_config){.count = FFT_PARAM_COUNT};
    config->values[FFT_SIZE] = plan.size;
    config->values[FFT_LANES] = default_lanes(context, plan.size);
    config->values[FFT_BLOCK_K] = default_block(plan.channels);
    config->values[FFT_BLOCK_N] = default_block(plan.columns);
    set_default_tile(context, config->values);
    config->values[FFT_STAGE] = context_is_cpu(context) ? 0 : 8;
}

/* ---- the space ---- */

static bool size_is_useful(const struct problem *p, const struct context *context,
                           const int32_t *values)
{
    struct fft_plan plan;

    (void)context;
    fft_plan_init(p, values[FFT_SIZE], &plan);
    return fft_plan_is_useful(p, &plan);
}

/* Where a smaller transform holds an image in one tile, a larger one only costs more. */
static bool size_is_needed(const struct problem *p, const struct context *context,
                           const int32_t *values)
{
    struct fft_plan plan;

    (void)context;
    fft_plan_init(p, values[FFT_SIZE] / 2, &plan);
    return values[FFT_SIZE] == FFT_SIZE_MIN || plan.h.tiles * plan.w.tiles != 1;
}

/* A CPU's lanes are a vector's. On a GPU lanes times work-items of a plane make the workgroup. */
static bool lanes_suit_target(const struct problem *p, const struct context *context,
                              const int32_t *values)
{
    int items = values[FFT_LANES] * fft_plane_items(context, values[FFT_SIZE]);

    (void)p;
    if (context_is_cpu(context))
        return values[FFT_LANES] >= MIN(fft_vector_lanes(context), 8);
    return items >= GPU_ITEMS_MIN && items <= MIN(GPU_ITEMS_MAX, context->target->max_workgroup);
}

static bool planes_fit_local_memory(const struct problem *p, const struct context *context,
                                    const int32_t *values)
{
    (void)p;
    return planes_bytes(values[FFT_SIZE], values[FFT_LANES]) <= context->target->local_bytes;
}

static bool blocks_waste_little(const struct problem *p, const struct context *context,
                                const int32_t *values)
{
    struct fft_plan plan;

    (void)context;
    fft_plan_init(p, values[FFT_SIZE], &plan);
    return (values[FFT_BLOCK_K] == BLOCK_MIN || values[FFT_BLOCK_K] < 2 * plan.channels) &&
           (values[FFT_BLOCK_N] == BLOCK_MIN || values[FFT_BLOCK_N] < 2 * plan.columns);
}

static bool spectra_fit_workspace(const struct problem *p, const struct context *context,
                                  const int32_t *values)
{
    struct fft_plan plan;

    (void)context;
    fft_plan_init(p, values[FFT_SIZE], &plan);
    return slices_bytes(&plan, values[FFT_BLOCK_K], values[FFT_BLOCK_N]) <= fft_most_bytes(p);
}

/* A CPU's sums, columns and one weight must fit 32 vector registers of 64 bytes, or 16 shorter ones; a GPU's
 * half of 255 registers. */
static bool sums_fit_registers(const struct problem *p, const struct context *context,
                               const int32_t *values)
{
    int vec = fft_vector_lanes(context), rows = values[FFT_TILE_K], columns = values[FFT_TILE_N];

    (void)p;
    if (columns % vec != 0)
        return false;
    if (!context_is_cpu(context))
        return 2 * (rows * columns + rows + columns) <= 128;
    return 2 * (rows + 1) * (columns / vec) + 2 <= (context->target->vector_bytes >= 64 ? 32 : 16);
}

/* A CPU needs sums for two units with a latency of four cycles. On a GPU other waves fill the time. */
static bool sums_hide_latency(const struct problem *p, const struct context *context,
                              const int32_t *values)
{
    (void)p;
    return !context_is_cpu(context) ||
           2 * values[FFT_TILE_K] * values[FFT_TILE_N] / fft_vector_lanes(context) >= 8;
}

/* The smallest blocks may have half of the wanted work-items. */
static bool items_fit_workgroup(const struct problem *p, const struct context *context,
                                const int32_t *values)
{
    int items = fft_product_items(context, values);

    (void)p;
    if (values[FFT_BLOCK_N] % values[FFT_TILE_N] != 0)
        return false;
    if (context_is_cpu(context))
        return true;
    return items >= GPU_ITEMS_MIN / 2 &&
           items <= MIN(GPU_ITEMS_MAX, context->target->max_workgroup);
}

/* CPUs have caches and need no staging in local memory. */
static bool stage_suits_target(const struct problem *p, const struct context *context,
                               const int32_t *values)
{
    int64_t bytes = (int64_t)values[FFT_STAGE] * 2 * (values[FFT_BLOCK_K] + values[FFT_BLOCK_N]) *
                    (int64_t)sizeof(float);

    (void)p;
    if (context_is_cpu(context))
        return values[FFT_STAGE] == 0;
    return values[FFT_STAGE] > 0 && bytes <= context->target->local_bytes;
}

static const struct space_constraint constraints[] = {
    {"size_is_useful", "arithmetic", FFT_SIZE + 1, size_is_useful},
    {"size_is_needed", "tuning time", FFT_SIZE + 1, size_is_needed},
    {"lanes_suit_target", "workgroup size", FFT_LANES + 1, lanes_suit_target},
    {"planes_fit_local_memory", "local memory", FFT_LANES + 1, planes_fit_local_memory},
    {"blocks_waste_little", "arithmetic", FFT_BLOCK_N + 1, blocks_waste_little},
    {"spectra_fit_workspace", "workspace", FFT_BLOCK_N + 1, spectra_fit_workspace},
    {"items_fit_workgroup", "workgroup size", FFT_TILE_N + 1, items_fit_workgroup},
    {"sums_fit_registers", "registers", FFT_TILE_N + 1, sums_fit_registers},
    {"sums_hide_latency", "multiply-add units", FFT_TILE_N + 1, sums_hide_latency},
    {"stage_suits_target", "local memory", FFT_STAGE + 1, stage_suits_target},
};

const struct space fft_space = {FFT_PARAM_COUNT, params, G_N_ELEMENTS(constraints), constraints};
