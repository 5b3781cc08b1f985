#include "worker/agent/search.h"

#include <math.h>
#include <string.h>

#include "solvers/problem_key.h"

/* A candidate of the random strategy: the configs of the smallest ranks are proposed. */
struct ranked {
    uint64_t rank;
    struct perf_config config;
};

struct proposal {
    const struct search *search;
    GHashTable *seen;         /* struct perf_config *: tried before, or not to be tried */
    struct perf_config first; /* the default */
    bool first_allowed;       /* the default is not quarantined */
    int distinct;             /* configs of the history, the default counted once */
    int wanted;               /* new configs that may be proposed now */
};

static guint config_hash(gconstpointer key)
{
    const struct perf_config *config = key;
    guint hash = (guint)config->count;
    for (int i = 0; i < config->count; i++)
        hash = hash * 31 + (guint)config->values[i];
    return hash;
}

static gboolean config_equal(gconstpointer a, gconstpointer b)
{
    return perf_config_equal(a, b);
}

/* splitmix64's finalizer: every input bit reaches every output bit. */
static uint64_t mix(uint64_t value)
{
    value += 0x9e3779b97f4a7c15u;
    value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9u;
    value = (value ^ (value >> 27)) * 0x94d049bb133111ebu;
    return value ^ (value >> 31);
}

static uint64_t mix_text(uint64_t hash, const char *text)
{
    for (; *text; text++)
        hash = mix(hash ^ (unsigned char)*text);
    return hash;
}

/* One seed serves a whole campaign; each job must still draw its own sequence. */
static uint64_t job_seed(const struct search *search)
{
    char key[PROBLEM_KEY_MAX];
    uint64_t hash = mix((uint64_t)search->seed);
    hash = mix_text(hash, problem_key(search->problem, key));
    return mix_text(hash, search->solver->name);
}

static uint64_t config_rank(uint64_t seed, const struct perf_config *config)
{
    for (int i = 0; i < config->count; i++)
        seed = mix(seed ^ (uint32_t)config->values[i]);
    return seed;
}

static void collect_seen(struct proposal *proposal)
{
    const struct search *search = proposal->search;
    for (guint r = 0; search->rounds && r < search->rounds->len; r++) {
        const struct round *round = g_ptr_array_index(search->rounds, r);
        for (int i = 0; i < round->config_count; i++)
            g_hash_table_add(proposal->seen, &round->configs[i]);
    }
    proposal->distinct = (int)g_hash_table_size(proposal->seen);
    for (guint i = 0; search->quarantined && i < search->quarantined->len; i++) {
        struct perf_config *config = &g_array_index(search->quarantined, struct perf_config, i);
        if (config_equal(config, &proposal->first))
            proposal->first_allowed = false;
        g_hash_table_add(proposal->seen, config);
    }
}

static void proposal_init(struct proposal *proposal, const struct search *search)
{
    *proposal = (struct proposal){.search = search, .first_allowed = true};
    proposal->seen = g_hash_table_new(config_hash, config_equal);
    if (search->solver->default_config)
        search->solver->default_config(search->problem, search->context, &proposal->first);
    collect_seen(proposal);
    proposal->wanted = MAX(search->round_configs, 1);
    if (search->configs_limit > 0)
        proposal->wanted = MIN(proposal->wanted, search->configs_limit - proposal->distinct);
}

static void proposal_clear(struct proposal *proposal)
{
    g_hash_table_unref(proposal->seen);
}

/* The first `wanted` configs of the walk that were not tried. */
static void propose_in_order(struct proposal *proposal, struct space_walk *walk, GArray *configs)
{
    struct perf_config config;
    int left = proposal->wanted;
    while (left > 0 && space_walk_next(walk, &config)) {
        if (g_hash_table_contains(proposal->seen, &config))
            continue;
        g_array_append_val(configs, config);
        left--;
    }
}

/* Puts the largest rank back on top after heap->data[0] was replaced. */
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

static gint compare_ranks(gconstpointer a, gconstpointer b)
{
    const struct ranked *left = a, *right = b;
    return (left->rank > right->rank) - (left->rank < right->rank);
}

/*
 * Every config has a rank that depends on the job's seed and its values alone;
 * the untried ones of the smallest ranks are next. That is a uniform draw
 * without replacement which needs no memory of what was drawn before.
 */
static void propose_at_random(struct proposal *proposal, struct space_walk *walk, GArray *configs)
{
    g_autoptr(GArray) heap = g_array_new(FALSE, FALSE, sizeof(struct ranked));
    uint64_t seed = job_seed(proposal->search);
    struct ranked next;
    while (proposal->wanted > 0 && space_walk_next(walk, &next.config)) {
        if (g_hash_table_contains(proposal->seen, &next.config))
            continue;
        next.rank = config_rank(seed, &next.config);
        if ((int)heap->len < proposal->wanted) {
            g_array_append_val(heap, next);
            heap_rise(heap);
        } else if (next.rank < g_array_index(heap, struct ranked, 0).rank) {
            g_array_index(heap, struct ranked, 0) = next;
            heap_sink(heap);
        }
    }
    g_array_sort(heap, compare_ranks);
    for (guint i = 0; i < heap->len; i++)
        g_array_append_val(configs, g_array_index(heap, struct ranked, i).config);
}

/* ---- a solver's own search ---- */

/* What is known of every config, in the order of the history. */
struct history {
    GArray *tried;      /* struct tried_config */
    GHashTable *places; /* struct perf_config * -> its place in tried */
};

static struct tried_config *history_find(const struct history *history,
                                         const struct perf_config *config)
{
    gpointer place = NULL;
    if (!g_hash_table_lookup_extended(history->places, config, NULL, &place))
        return NULL;
    return &g_array_index(history->tried, struct tried_config, GPOINTER_TO_UINT(place));
}

/* The config must outlive the history. */
static struct tried_config *history_add(struct history *history, struct perf_config *config)
{
    struct tried_config *known = history_find(history, config);
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

/* A config measured in several rounds counts with its lowest time, one taken out as failed. */
static void history_init(struct history *history, const struct search *search)
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

static void history_clear(struct history *history)
{
    g_hash_table_unref(history->places);
    g_array_unref(history->tried);
}

/* Whatever a solver proposes, only what is valid and new is taken, each config once. */
static void propose_as_solver(struct proposal *proposal, const struct space *space, GArray *configs)
{
    const struct search *search = proposal->search;
    g_autofree struct perf_config *asked = g_new0(struct perf_config, proposal->wanted);
    struct history history;
    history_init(&history, search);
    int count =
        search->solver->propose(search->problem, search->context,
                                (const struct tried_config *)(const void *)history.tried->data,
                                (int)history.tried->len, proposal->wanted, asked);
    history_clear(&history);
    g_assert(count >= 0 && count <= proposal->wanted);
    g_autoptr(GHashTable) taken = g_hash_table_new(config_hash, config_equal);
    for (int i = 0; i < count; i++)
        if (!g_hash_table_contains(proposal->seen, &asked[i]) &&
            space_contains(space, search->problem, search->context, &asked[i], NULL) &&
            g_hash_table_add(taken, &asked[i]))
            g_array_append_val(configs, asked[i]);
}

/* ---- strategies ---- */

typedef void propose_fn(struct proposal *proposal, struct space_walk *walk, GArray *configs);

static const struct strategy {
    const char *name;
    propose_fn *propose;
} strategies[] = {
    {"exhaustive", propose_in_order},
    {"random", propose_at_random},
};

static const struct strategy *strategy_find(const char *name)
{
    for (size_t i = 0; i < G_N_ELEMENTS(strategies); i++)
        if (strcmp(strategies[i].name, name) == 0)
            return &strategies[i];
    return NULL;
}

bool search_strategy_known(const char *strategy)
{
    return strategy_find(strategy) != NULL;
}

/* walked: how the campaign's strategy takes configs from the space. */
static void propose_new(struct proposal *proposal, propose_fn *walked, GArray *configs)
{
    const struct search *search = proposal->search;
    bool first_is_new = !g_hash_table_contains(proposal->seen, &proposal->first);
    if (proposal->wanted > 0 && first_is_new) {
        g_array_append_val(configs, proposal->first);
        g_hash_table_add(proposal->seen, &proposal->first);
        proposal->wanted--;
    }
    const struct space *space = solver_space(search->solver, search->problem, search->context);
    if (!space || proposal->wanted <= 0)
        return;
    if (solver_searches(search->solver, search->strategy)) {
        propose_as_solver(proposal, space, configs);
        return;
    }
    struct space_walk walk;
    space_walk_init(&walk, space, search->problem, search->context);
    walked(proposal, &walk, configs);
}

GArray *search_propose(const struct search *search, int *default_index)
{
    GArray *configs = g_array_new(FALSE, FALSE, sizeof(struct perf_config));
    struct proposal proposal;
    proposal_init(&proposal, search);
    const struct strategy *strategy = strategy_find(search->strategy);
    g_assert(strategy);
    propose_new(&proposal, strategy->propose, configs);
    *default_index = configs->len > 0 && proposal.first_allowed ? 0 : -1;
    if (*default_index == 0 &&
        !perf_config_equal(&g_array_index(configs, struct perf_config, 0), &proposal.first))
        g_array_prepend_val(configs, proposal.first);
    proposal_clear(&proposal);
    return configs;
}

bool search_more(const struct search *search)
{
    struct proposal proposal;
    proposal_init(&proposal, search);
    /* Of a walk any config answers, so it may end at the first; a solver's search is asked for as
     * many as search_propose() will ask it for. */
    if (!solver_searches(search->solver, search->strategy))
        proposal.wanted = MIN(proposal.wanted, 1);
    g_autoptr(GArray) configs = g_array_new(FALSE, FALSE, sizeof(struct perf_config));
    propose_new(&proposal, propose_in_order, configs);
    proposal_clear(&proposal);
    return configs->len > 0;
}
