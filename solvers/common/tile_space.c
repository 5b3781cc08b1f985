#include "solvers/common/tile_space.h"

#include <math.h>
#include <string.h>

#include "solvers/common/conv_common.h"

/* Bytes of local memory that the kernel's tables of offsets take for each row, column and term. */
#define TABLE_BYTES 16
/* The most workgroups along a grid's second and third axis on every GPU. */
#define GRID_MOST   65535

int tile_block_m(const int32_t *values)
{
    return values[TILE_THREADS_M] * values[TILE_M] * values[TILE_REPEAT_M];
}

int tile_block_n(const int32_t *values)
{
    return values[TILE_THREADS_N] * values[TILE_VECTORS] * values[TILE_VEC];
}

bool tile_workgroup_suits_target(const struct problem *p, const struct context *context,
                                 const int32_t *values)
{
    int items = values[TILE_THREADS_M] * values[TILE_THREADS_N];

    (void)p;
    if (context_is_cpu(context))
        return items == 1;
    return items >= 64 && items <= MIN(256, context->target->max_workgroup);
}

/* Elements of the best vector: as many as a CPU's register holds, or a GPU's load of 16 bytes. */
static int best_vector(const struct context *context)
{
    return context_is_cpu(context) ? CLAMP(context->target->vector_bytes / 4, 4, 16) : 4;
}

/* Half of the widest vector is allowed as well: compilers often prefer half of the widest registers, of which a
 * CPU has as many. */
bool tile_vector_suits_target(const struct problem *p, const struct context *context,
                              const int32_t *values)
{
    int best = best_vector(context);

    (void)p;
    return values[TILE_VEC] == best || (context_is_cpu(context) && values[TILE_VEC] * 2 == best);
}

/* On a CPU the sums, a row of column vectors and one element of a must fit the vector registers: 32 where they are
 * 64 bytes wide, else 16. On a GPU the tile's sums, rows and columns may take 128 of a work-item's 255 registers;
 * the others are kept for addresses and loads. */
bool tile_sums_fit_registers(const struct problem *p, const struct context *context,
                             const int32_t *values)
{
    int rows = values[TILE_M], vectors = values[TILE_VECTORS], vec = values[TILE_VEC];

    (void)p;
    if (context_is_cpu(context))
        return rows * vectors + vectors + 1 <= (context->target->vector_bytes >= 64 ? 32 : 16);
    return rows * vectors * vec + rows + vectors * vec <= 128;
}

/* A CPU needs 8 independent sums: two multiply-add units times four cycles of latency. On a GPU other waves fill the
 * time. */
bool tile_sums_hide_latency(const struct problem *p, const struct context *context,
                            const int32_t *values)
{
    (void)p;
    return values[TILE_M] * values[TILE_VECTORS] >= (context_is_cpu(context) ? 8 : 2);
}

/* Several tiles for a work-item are valid only on a CPU: they would push a GPU's sums out of its registers. */
bool tile_repeats_suit_target(const struct problem *p, const struct context *context,
                              const int32_t *values)
{
    (void)p;
    return context_is_cpu(context) ? values[TILE_REPEAT_M] > 1 : values[TILE_REPEAT_M] == 1;
}

bool tile_block_suits(const struct tile_product *product, const struct context *context,
                      const int32_t *values)
{
    int least_m = 32, least_n = context_is_cpu(context) ? 48 : 64;

    return (tile_block_m(values) <= least_m || tile_block_m(values) <= 2 * product->m) &&
           (tile_block_n(values) <= least_n || tile_block_n(values) <= 2 * product->n);
}

bool tile_block_fits_local_memory(const struct problem *p, const struct context *context,
                                  const int32_t *values)
{
    int64_t lines = tile_block_m(values) + tile_block_n(values), terms = values[TILE_BLOCK_K];
    int64_t bytes = lines * terms * (int64_t)sizeof(float) + (lines + terms) * TABLE_BYTES;

    (void)p;
    /* CPUs take many terms at once, since their tile stays in the first-level cache. GPUs take few, since they load
     * the next terms meanwhile. */
    if (context_is_cpu(context))
        return terms >= 64 && bytes <= 128 * 1024;
    return terms <= 32 && bytes <= MIN(context->target->local_bytes, 48 * 1024);
}

bool tile_fits_grid(const struct tile_product *product, const struct context *context,
                    const int32_t *values)
{
    double rows = ceil(product->m / tile_block_m(values));
    double columns = ceil(product->n / tile_block_n(values));
    double items = columns * values[TILE_THREADS_M] * values[TILE_THREADS_N];

    return context_is_cpu(context) || (items <= (double)UINT32_MAX && rows <= GRID_MOST);
}

void tile_default_config(const struct tile_product *product, const struct context *context,
                         struct perf_config *config)
{
    static const int32_t gpu[TILE_PARAM_COUNT] = {16, 16, 4, 4, 1, 1, 16};
    static const int32_t wide[TILE_PARAM_COUNT] = {8, 32, 4, 4, 2, 1, 16};
    const int32_t cpu[TILE_PARAM_COUNT] = {1, 1, best_vector(context), 4, 2, 8, 64};

    config->count = TILE_PARAM_COUNT;
    memcpy(config->values, context_is_cpu(context) ? cpu : gpu, sizeof(cpu));
    if (!tile_fits_grid(product, context, config->values))
        memcpy(config->values, wide, sizeof(wide));
}

void tile_add_options(const int32_t *values, struct launch *launch)
{
    static const char *const names[TILE_PARAM_COUNT] = {
        "THREADS_M", "THREADS_N", "VEC", "TILE_M", "TILE_VECTORS", "REPEAT_M", "BLOCK_K"};

    for (int i = 0; i < TILE_PARAM_COUNT; i++)
        launch_option_int(launch, names[i], values[i]);
}

void tile_set_grid(const int32_t *values, int64_t m, int64_t n, int64_t batches,
                   struct launch *launch)
{
    int items = values[TILE_THREADS_M] * values[TILE_THREADS_N];

    launch_set_grid(launch,
                    (const int64_t[3]){conv_divide_up(n, tile_block_n(values)) * items,
                                       conv_divide_up(m, tile_block_m(values)), batches},
                    (const int[3]){items, 1, 1});
}

bool tile_may_split(const struct tile_product *product, const struct context *context, int splits,
                    int block_k)
{
    if (splits == 1)
        return true;
    return product->part_bytes > 0 && product->k >= 2.0 * splits * block_k &&
           product->layers * splits <= GRID_MOST &&
           product->beside_bytes + (uint64_t)splits * product->part_bytes <=
               context->workspace_limit;
}

int tile_most_splits(const struct tile_product *product, const struct context *context)
{
    int least_block_k = context_is_cpu(context) ? 64 : 8, splits = TILE_SPLITS_MAX;

    while (!tile_may_split(product, context, splits, least_block_k))
        splits /= TILE_SPLITS_STEP;
    return splits;
}

bool tile_splits_are_needed(const struct context *context, int splits, double workgroups)
{
    return splits == 1 ||
           workgroups * splits / TILE_SPLITS_STEP < 2.0 * context->target->compute_units;
}

int tile_default_splits(const struct tile_product *product, const struct context *context,
                        const int32_t *values, double workgroups)
{
    int splits = 1;

    while (splits < TILE_SPLITS_MAX &&
           tile_splits_are_needed(context, splits * TILE_SPLITS_STEP, workgroups) &&
           tile_may_split(product, context, splits * TILE_SPLITS_STEP, values[TILE_BLOCK_K]))
        splits *= TILE_SPLITS_STEP;
    return splits;
}

double tile_workgroups(const struct tile_product *product, const int32_t *values)
{
    return ceil(product->m / tile_block_m(values)) * ceil(product->n / tile_block_n(values)) *
           product->layers;
}

int tile_split_terms(const int32_t *values, int64_t k, int splits, int64_t *part)
{
    int64_t blocks = conv_divide_up(k, values[TILE_BLOCK_K]);
    int64_t part_blocks = conv_divide_up(blocks, splits);

    *part = part_blocks * values[TILE_BLOCK_K];
    return (int)conv_divide_up(blocks, part_blocks);
}
