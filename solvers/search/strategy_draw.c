/*
 * In order, and at random. Every config has a rank, a hash of the seed and the config's values. Taking the untried
 * configs with the smallest ranks is a uniform draw without replacement (bottom-k sampling), and needs no memory
 * of earlier draws: the next batch finds the same order from the seed alone.
 */
#include "solvers/search/strategy_rows.h"

uint64_t search_mix(uint64_t a, uint64_t b)
{
    uint64_t value = a ^ b;
    value += 0x9e3779b97f4a7c15u;
    value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9u;
    value = (value ^ (value >> 27)) * 0x94d049bb133111ebu;
    return value ^ (value >> 31);
}

double search_uniform(uint64_t *state)
{
    *state += 0x9e3779b97f4a7c15u;
    return (double)(search_mix(*state, 0) >> 11) / (double)(UINT64_C(1) << 53);
}

uint64_t config_rank(uint64_t seed, const struct perf_config *config)
{
    for (int i = 0; i < config->count; i++)
        seed = search_mix(seed, (uint32_t)config->values[i]);
    return seed;
}

static bool take_next(const struct perf_config *config, gpointer data)
{
    struct proposal *proposal = data;
    proposal_take(proposal, config);
    return proposal->wanted > 0;
}

void propose_in_order(struct proposal *proposal)
{
    if (proposal->wanted > 0)
        proposal->space->walk(proposal->space, take_next, proposal);
}

struct ranked {
    uint64_t rank;
    struct perf_config config;
};

static int compare_ranks(gconstpointer a, gconstpointer b)
{
    const struct ranked *left = a, *right = b;
    return (left->rank > right->rank) - (left->rank < right->rank);
}

/* Restores a binary heap with the largest rank on top, after heap->data[0] was replaced. */
static void heap_sink(GArray *heap)
{
    struct ranked *at = (struct ranked *)(void *)heap->data;
    guint i = 0;
    for (;;) {
        guint largest = i;
        for (guint child = 2 * i + 1; child <= 2 * i + 2 && child < heap->len; child++)
            if (at[child].rank > at[largest].rank)
                largest = child;
        if (largest == i)
            return;
        struct ranked moved = at[i];
        at[i] = at[largest];
        at[largest] = moved;
        i = largest;
    }
}

static void heap_rise(GArray *heap)
{
    struct ranked *at = (struct ranked *)(void *)heap->data;
    guint i = heap->len - 1;
    while (i > 0 && at[(i - 1) / 2].rank < at[i].rank) {
        struct ranked moved = at[i];
        at[i] = at[(i - 1) / 2];
        at[(i - 1) / 2] = moved;
        i = (i - 1) / 2;
    }
}

/* A draw while the space is walked. The heap keeps the `most` smallest ranks seen so far, so a walk through a space
 * of any size needs little memory. */
struct draw {
    const struct proposal *proposal;
    uint64_t seed;
    GArray *heap; /* struct ranked */
    guint most;
};

static bool draw_visit(const struct perf_config *config, gpointer data)
{
    struct draw *draw = data;
    struct ranked next = {.rank = config_rank(draw->seed, config), .config = *config};
    bool full = draw->heap->len == draw->most;
    if (full && next.rank >= g_array_index(draw->heap, struct ranked, 0).rank)
        return true;
    if (proposal_knows(draw->proposal, config))
        return true;
    if (full) {
        g_array_index(draw->heap, struct ranked, 0) = next;
        heap_sink(draw->heap);
    } else {
        g_array_append_val(draw->heap, next);
        heap_rise(draw->heap);
    }
    return true;
}

void draw_configs(const struct proposal *proposal, uint64_t seed, int most, GArray *configs)
{
    g_autoptr(GArray) heap = g_array_new(FALSE, FALSE, sizeof(struct ranked));
    struct draw draw = {.proposal = proposal, .seed = seed, .heap = heap, .most = (guint)most};
    proposal->space->walk(proposal->space, draw_visit, &draw);
    g_array_sort(heap, compare_ranks);
    for (guint i = 0; i < heap->len; i++)
        g_array_append_val(configs, g_array_index(heap, struct ranked, i).config);
}

void propose_drawn(struct proposal *proposal, int most)
{
    most = MIN(most, proposal->wanted);
    if (most <= 0)
        return;
    g_autoptr(GArray) drawn = g_array_new(FALSE, FALSE, sizeof(struct perf_config));
    draw_configs(proposal, proposal->seed, most, drawn);
    for (guint i = 0; i < drawn->len; i++)
        proposal_take(proposal, &g_array_index(drawn, struct perf_config, i));
}

void propose_at_random(struct proposal *proposal)
{
    propose_drawn(proposal, proposal->wanted);
}

void proposal_take_ranked(struct proposal *proposal, const GArray *configs, int most)
{
    g_autoptr(GArray) ranked = g_array_new(FALSE, FALSE, sizeof(struct ranked));
    for (guint i = 0; i < configs->len; i++) {
        struct ranked next = {.config = g_array_index(configs, struct perf_config, i)};
        next.rank = config_rank(proposal->seed, &next.config);
        g_array_append_val(ranked, next);
    }
    g_array_sort(ranked, compare_ranks);
    for (guint i = 0; i < ranked->len && most > 0; i++)
        most -= proposal_take(proposal, &g_array_index(ranked, struct ranked, i).config) ? 1 : 0;
}
