/*
 * The implicit matrix product partly specialised: which parts of the shape are compiled in is a choice
 * of the config, by parameters FIX_<PART>. By default these are the filter's size and the
 * convolution's strides, padding and dilation, of which networks have few; images and batches come in
 * many sizes and stay arguments. Covers what the dynamic form does (conv_implicit_gemm_common.h).
 *
 * Its own search tries tiles with the default choice, then each part alone with the best tile, so that
 * what a part gains is measured with all else equal, then together those that gained.
 */
#include <math.h>

#include "solvers/framework/solver_rows.h"
#include "solvers/implicit_gemm/conv_implicit_gemm_common.h"

/* Parameters that choose what is fixed, in the order of enum implicit_gemm_fix's bits. */
enum { FIRST_FIX = IMPLICIT_GEMM_PARAM_COUNT, FIX_COUNT = 5, PARAM_COUNT = FIRST_FIX + FIX_COUNT };

#define OFF_ON                                                                                     \
    2, (const int32_t[])                                                                           \
    {                                                                                              \
        0, 1                                                                                       \
    }

static const struct space_param params[PARAM_COUNT] = {
    IMPLICIT_GEMM_PARAMS,     {"FIX_FILTER", OFF_ON}, {"FIX_CONV", OFF_ON},
    {"FIX_CHANNELS", OFF_ON}, {"FIX_IMAGE", OFF_ON},  {"FIX_BATCH", OFF_ON},
};
static const int32_t default_fix[FIX_COUNT] = {1, 1, 0, 0, 0};

static const struct space_constraint constraints[] = {IMPLICIT_GEMM_CONSTRAINTS};
static const struct space space = {PARAM_COUNT, params, G_N_ELEMENTS(constraints), constraints};
/* The same without the choice of what is fixed. */
static const struct space tiles = {IMPLICIT_GEMM_PARAM_COUNT, params, G_N_ELEMENTS(constraints),
                                   constraints};

/* Between the two forms that fix nothing and all. */
static double estimate(const struct problem *p, const struct context *context)
{
    return (context_is_cpu(context) ? 0.97 : 1.05) * implicit_gemm_estimate(p, context);
}

static void add_default_fix(struct perf_config *config)
{
    config->count = PARAM_COUNT;
    for (int i = 0; i < FIX_COUNT; i++)
        config->values[FIRST_FIX + i] = default_fix[i];
}

static void default_config(const struct problem *p, const struct context *context,
                           struct perf_config *config)
{
    implicit_gemm_default_config(p, context, config);
    add_default_fix(config);
}

static bool solve(const struct problem *p, const struct context *context,
                  const struct perf_config *config, struct solution *solution, GError **error)
{
    unsigned fixed = FIX_NOTHING;

    (void)error;
    for (int i = 0; i < FIX_COUNT; i++)
        fixed |= config->values[FIRST_FIX + i] ? 1u << i : 0;
    implicit_gemm_solve(p, context, config, fixed, solution);
    return true;
}

/* ---- its own search ---- */

/* Tiles spread over their space in its order, and how many may be tried with the best's neighbours. */
#define TILES_SPREAD 16
#define TILES_MOST   26 /* with five choices and one of them together: a job's 32 configs */
/* Less than this share of a time is noise. */
#define GAIN         0.99

struct search {
    const struct problem *p;
    const struct context *context;
    const struct tried_config *tried;
    int tried_count;
    int wanted;
    struct perf_config *configs;
    int found;
};

static const struct tried_config *find_tried(const struct search *search,
                                             const struct perf_config *config)
{
    for (int i = 0; i < search->tried_count; i++) {
        if (perf_config_equal(&search->tried[i].config, config))
            return &search->tried[i];
    }
    return NULL;
}

static void offer(struct search *search, const struct perf_config *config)
{
    if (search->found < search->wanted && !find_tried(search, config))
        search->configs[search->found++] = *config;
}

static bool has_default_fix(const struct perf_config *config)
{
    for (int i = 0; i < FIX_COUNT; i++) {
        if (config->values[FIRST_FIX + i] != default_fix[i])
            return false;
    }
    return true;
}

static void offer_spread_tiles(struct search *search)
{
    int64_t count = space_count(&tiles, search->p, search->context), at = 0;
    int64_t chosen = 0, spread = MIN(count, TILES_SPREAD);
    struct space_walk walk;
    struct perf_config config;

    space_walk_init(&walk, &tiles, search->p, search->context);
    while (space_walk_next(&walk, &config)) {
        if (at++ != (2 * chosen + 1) * count / (2 * spread))
            continue;
        chosen++;
        add_default_fix(&config);
        offer(search, &config);
    }
}

/* The fastest of those with the default choice, the earliest of equals; NULL where all failed. *count
 * is how many were tried. */
static const struct tried_config *best_tile(const struct search *search, int *count)
{
    const struct tried_config *best = NULL;

    *count = 0;
    for (int i = 0; i < search->tried_count; i++) {
        const struct tried_config *tried = &search->tried[i];
        if (!has_default_fix(&tried->config))
            continue;
        ++*count;
        if (isfinite(tried->time_ms) && (!best || tried->time_ms < best->time_ms))
            best = tried;
    }
    return best;
}

static void offer_neighbours(struct search *search, const struct perf_config *best, int allowed)
{
    g_autoptr(GArray) neighbours = g_array_new(FALSE, FALSE, sizeof(struct perf_config));
    struct perf_config tile = *best;

    tile.count = IMPLICIT_GEMM_PARAM_COUNT;
    space_neighbours(&tiles, search->p, search->context, &tile, true, neighbours);
    for (guint i = 0; i < neighbours->len && search->found < allowed; i++) {
        struct perf_config *config = &g_array_index(neighbours, struct perf_config, i);
        add_default_fix(config);
        offer(search, config);
    }
}

static struct perf_config flip(const struct perf_config *config, int fix)
{
    struct perf_config flipped = *config;

    flipped.values[FIRST_FIX + fix] ^= 1;
    return flipped;
}

static void offer_flips(struct search *search, const struct perf_config *best)
{
    for (int i = 0; i < FIX_COUNT; i++) {
        const struct perf_config flipped = flip(best, i);
        offer(search, &flipped);
    }
}

static void offer_what_gained(struct search *search, const struct tried_config *best)
{
    struct perf_config together = best->config;

    for (int i = 0; i < FIX_COUNT; i++) {
        const struct perf_config flipped = flip(&best->config, i);
        const struct tried_config *tried = find_tried(search, &flipped);
        if (tried && tried->time_ms < GAIN * best->time_ms)
            together = flip(&together, i);
    }
    offer(search, &together);
}

/* Each step is taken where the ones before have nothing left to try. */
static int propose(const struct problem *p, const struct context *context,
                   const struct tried_config *tried, int tried_count, int wanted,
                   struct perf_config *configs)
{
    struct search search = {p, context, tried, tried_count, wanted, configs, 0};
    const struct tried_config *best;
    int tile_count;

    offer_spread_tiles(&search);
    best = best_tile(&search, &tile_count);
    if (search.found > 0 || !best)
        return search.found;
    offer_neighbours(&search, &best->config, TILES_MOST - tile_count);
    if (search.found == 0)
        offer_flips(&search, &best->config);
    if (search.found == 0)
        offer_what_gained(&search, best);
    return search.found;
}

const struct solver solver_conv_implicit_gemm_partial = {
    .provider = "skipjack",
    .name = "ConvImplicitGemmPartial",
    .revision = 2,
    .algorithm = "ImplicitGEMM",
    .partial = true,
    .any_strides = true,
    .sources = implicit_gemm_sources,
    .is_applicable = implicit_gemm_is_applicable,
    .workspace_bytes = implicit_gemm_workspace_bytes,
    .estimate = estimate,
    .default_config = default_config,
    .space = &space,
    .propose = propose,
    .solve = solve,
};
