#include "worker/search/search_private.h"

#include <math.h>

guint config_hash(gconstpointer key)
{
    const struct perf_config *config = key;
    guint hash = (guint)config->count;
    for (int i = 0; i < config->count; i++)
        hash = hash * 31 + (guint)config->values[i];
    return hash;
}

gboolean config_equal(gconstpointer a, gconstpointer b)
{
    return perf_config_equal(a, b);
}

uint64_t search_mix(uint64_t value)
{
    value += 0x9e3779b97f4a7c15u;
    value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9u;
    value = (value ^ (value >> 27)) * 0x94d049bb133111ebu;
    return value ^ (value >> 31);
}

uint64_t config_rank(uint64_t seed, const struct perf_config *config)
{
    for (int i = 0; i < config->count; i++)
        seed = search_mix(seed ^ (uint32_t)config->values[i]);
    return seed;
}

int compare_ranks(gconstpointer a, gconstpointer b)
{
    const struct ranked *left = a, *right = b;
    return (left->rank > right->rank) - (left->rank < right->rank);
}

static struct tried_config *find(const struct history *history, const struct perf_config *config)
{
    gpointer place = NULL;
    if (!g_hash_table_lookup_extended(history->places, config, NULL, &place))
        return NULL;
    return &g_array_index(history->tried, struct tried_config, GPOINTER_TO_UINT(place));
}

const struct tried_config *history_find(const struct history *history,
                                        const struct perf_config *config)
{
    return find(history, config);
}

/* The config must outlive the history. */
static struct tried_config *history_add(struct history *history, struct perf_config *config)
{
    struct tried_config *known = find(history, config);
    if (known)
        return known;
    struct tried_config added = {.config = *config, .time_ms = INFINITY};
    g_hash_table_insert(history->places, config, GUINT_TO_POINTER(history->tried->len));
    g_array_append_val(history->tried, added);
    return &g_array_index(history->tried, struct tried_config, history->tried->len - 1);
}

static double outcome_time(const struct outcome *outcome)
{
    bool timed = outcome->failure == FAILURE_NONE || outcome->failure == FAILURE_SLOW;
    return timed ? outcome->median_ms : INFINITY;
}

void history_init(struct history *history, const struct search *search)
{
    history->tried = g_array_new(FALSE, FALSE, sizeof(struct tried_config));
    history->places = g_hash_table_new(config_hash, config_equal);
    for (guint r = 0; search->rounds && r < search->rounds->len; r++) {
        const struct round *round = g_ptr_array_index(search->rounds, r);
        for (int i = 0; i < round->config_count; i++) {
            struct tried_config *tried = history_add(history, &round->configs[i]);
            tried->time_ms = fmin(tried->time_ms, outcome_time(&round->outcomes[i]));
        }
    }
    for (guint i = 0; search->quarantined && i < search->quarantined->len; i++)
        history_add(history, &g_array_index(search->quarantined, struct perf_config, i))->time_ms =
            INFINITY;
}

void history_clear(struct history *history)
{
    g_hash_table_unref(history->places);
    g_array_unref(history->tried);
}
