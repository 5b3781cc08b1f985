/*
 * Random order. Every config has a rank, a hash of the job's seed and the config's values. Taking the untried
 * configs with the smallest ranks is a uniform draw without replacement (bottom-k sampling), and needs no memory
 * of earlier draws: the next round finds the same order from the seed alone.
 *
 * Local search. It keeps no state: each round reads its position from the history.
 *   1. Until LOCAL_STARTS configs were tried, draw configs at random. A prior replaces these starts.
 *   2. Sort the timed configs, fastest first, and pass over those slower than LOCAL_WITHIN times the fastest.
 *   3. For each of them without a known faster neighbour, propose its untried neighbours. A neighbour differs in
 *      one parameter only.
 *   4. If the round still wants configs: half of them from those that differ from the fastest config in two
 *      parameters, the rest at random, as new starts.
 * A climb thus goes on from round to round, and stops at a local optimum, where another start takes over. This is
 * iterative improvement with restarts (Hoos and Stuetzle, Stochastic Local Search, 2004, chapter 2).
 * `make bench-search` chose the constants.
 */
#include "worker/search/search.h"

#include <math.h>
#include <string.h>

#include "schema/store/store_rounds.h"
#include "solvers/framework/strategy.h"
#include "solvers/problem/problem_key.h"

#define LOCAL_STARTS 8
#define LOCAL_WITHIN 1.5

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

/* SplitMix64's step (Steele, Lea, Flood 2014): every input bit reaches every output bit. */
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

/* The seed of one job's search. A campaign has one seed for all jobs, and each job must draw its
 * own sequence. */
static uint64_t job_seed(const struct search *search)
{
    char key[PROBLEM_KEY_MAX];
    uint64_t hash = mix((uint64_t)search->seed);
    hash = mix_text(hash, problem_key(search->problem, key));
    return mix_text(hash, search->solver->name);
}

/* ---- the history of tried configs ---- */

/* Every config tried so far, in the order of evaluation. A config measured in several rounds, as the default config is
 * in each, counts with its newest time: the lowest of many times would be compared with single times of the other
 * configs. A failure does not replace a time. A config without a time has INFINITY, and so has a quarantined one.
 * Points into the search's rounds. */
struct history {
    GArray *tried;      /* struct tried_config */
    GHashTable *places; /* struct perf_config * -> its index in `tried` */
};

/* Finds a config in the history; NULL if it was never tried. */
static struct tried_config *history_find(const struct history *history,
                                         const struct perf_config *config)
{
    gpointer place = NULL;
    if (!g_hash_table_lookup_extended(history->places, config, NULL, &place))
        return NULL;
    return &g_array_index(history->tried, struct tried_config, GPOINTER_TO_UINT(place));
}

/* Adds a config to the history; the config must outlive it. */
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

/* The time by which the history orders a config. A config dropped early as slow has a rough
 * time, which still places it behind the fast ones. */
static double outcome_time(const struct outcome *outcome)
{
    bool timed = outcome->failure == FAILURE_NONE || outcome->failure == FAILURE_SLOW;
    return timed ? outcome->median_ms : INFINITY;
}

static void history_init(struct history *history, const struct search *search)
{
    history->tried = g_array_new(FALSE, FALSE, sizeof(struct tried_config));
    history->places = g_hash_table_new(config_hash, config_equal);
    for (guint r = 0; search->rounds && r < search->rounds->len; r++) {
        const struct round *round = g_ptr_array_index(search->rounds, r);
        for (int i = 0; i < round->config_count; i++) {
            struct tried_config *tried = history_add(history, &round->configs[i]);
            double time_ms = outcome_time(&round->outcomes[i]);
            if (isfinite(time_ms))
                tried->time_ms = time_ms;
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

/* ---- a proposal while it is made ---- */

struct proposal {
    const struct search *search;
    const struct space *space; /* the space that the search uses; NULL for none */
    uint64_t seed;             /* the job's own seed, job_seed() */
    /* Set of struct perf_config *: configs that were tried, proposed or quarantined, so that they are not
     * proposed again. */
    GHashTable *seen;
    /* struct perf_config: the proposal; not reallocated while `seen` points into it. */
    GArray *configs;
    struct perf_config first; /* the default config, which begins each round */
    bool first_allowed;       /* the default config is not quarantined */
    /* Configs tried so far that count against the limit; the default config counts once. */
    int distinct;
    int wanted; /* how many new configs may still be proposed */
};

static void collect_rounds(struct proposal *proposal, bool beyond_limit)
{
    const struct search *search = proposal->search;
    for (guint r = 0; search->rounds && r < search->rounds->len; r++) {
        const struct round *round = g_ptr_array_index(search->rounds, r);
        for (int i = 0; round->beyond_limit == beyond_limit && i < round->config_count; i++)
            g_hash_table_add(proposal->seen, &round->configs[i]);
    }
}

static void collect_seen(struct proposal *proposal)
{
    const struct search *search = proposal->search;
    collect_rounds(proposal, false);
    bool has_first = g_hash_table_contains(proposal->seen, &proposal->first);
    proposal->distinct = (int)g_hash_table_size(proposal->seen);
    collect_rounds(proposal, true);
    /* The default config counts against the limit even if only another search tried it: this
     * search would have begun with it, too. */
    if (!has_first && g_hash_table_contains(proposal->seen, &proposal->first))
        proposal->distinct++;
    for (guint i = 0; search->quarantined && i < search->quarantined->len; i++) {
        struct perf_config *config = &g_array_index(search->quarantined, struct perf_config, i);
        if (config_equal(config, &proposal->first))
            proposal->first_allowed = false;
        g_hash_table_add(proposal->seen, config);
    }
}

static void proposal_init(struct proposal *proposal, const struct search *search)
{
    *proposal =
        (struct proposal){.search = search, .first_allowed = true, .seed = job_seed(search)};
    proposal->space = solver_space(search->solver, search->problem, search->context);
    proposal->seen = g_hash_table_new(config_hash, config_equal);
    if (search->solver->default_config)
        search->solver->default_config(search->problem, search->context, &proposal->first);
    collect_seen(proposal);
    proposal->wanted = MAX(search->round_configs, 1);
    if (search->configs_limit > 0)
        proposal->wanted = MIN(proposal->wanted, search->configs_limit - proposal->distinct);
    proposal->configs = g_array_sized_new(FALSE, FALSE, sizeof(struct perf_config),
                                          (guint)MAX(proposal->wanted, 0) + 1);
}

static void proposal_clear(struct proposal *proposal)
{
    g_hash_table_unref(proposal->seen);
    g_array_unref(proposal->configs);
}

/* Adds the config to the proposal if it is new and one more is wanted. */
static bool proposal_take(struct proposal *proposal, const struct perf_config *config)
{
    if (proposal->wanted <= 0 || g_hash_table_contains(proposal->seen, config))
        return false;
    g_array_append_vals(proposal->configs, config, 1);
    g_hash_table_add(proposal->seen, &g_array_index(proposal->configs, struct perf_config,
                                                    proposal->configs->len - 1));
    proposal->wanted--;
    return true;
}

/* ---- in order, and at random ---- */

static void propose_in_order(struct proposal *proposal)
{
    const struct search *search = proposal->search;
    struct perf_config config;
    struct space_walk walk;
    space_walk_init(&walk, proposal->space, search->problem, search->context);
    while (proposal->wanted > 0 && space_walk_next(&walk, &config))
        proposal_take(proposal, &config);
}

struct ranked {
    uint64_t rank;
    struct perf_config config;
};

static uint64_t config_rank(uint64_t seed, const struct perf_config *config)
{
    for (int i = 0; i < config->count; i++)
        seed = mix(seed ^ (uint32_t)config->values[i]);
    return seed;
}

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

/* Proposes up to `most` untried configs of the whole space, those with the smallest ranks. The heap keeps the
 * `most` smallest seen so far, so a walk through a space of any size needs little memory. */
static void propose_drawn(struct proposal *proposal, int most)
{
    const struct search *search = proposal->search;
    g_autoptr(GArray) heap = g_array_new(FALSE, FALSE, sizeof(struct ranked));
    struct ranked next;
    struct space_walk walk;
    most = MIN(most, proposal->wanted);
    space_walk_init(&walk, proposal->space, search->problem, search->context);
    while (most > 0 && space_walk_next(&walk, &next.config)) {
        if (g_hash_table_contains(proposal->seen, &next.config))
            continue;
        next.rank = config_rank(proposal->seed, &next.config);
        if ((int)heap->len < most) {
            g_array_append_val(heap, next);
            heap_rise(heap);
        } else if (next.rank < g_array_index(heap, struct ranked, 0).rank) {
            g_array_index(heap, struct ranked, 0) = next;
            heap_sink(heap);
        }
    }
    g_array_sort(heap, compare_ranks);
    for (guint i = 0; i < heap->len; i++)
        proposal_take(proposal, &g_array_index(heap, struct ranked, i).config);
}

static void propose_at_random(struct proposal *proposal)
{
    propose_drawn(proposal, proposal->wanted);
}

/* ---- local search ---- */

struct climb {
    struct proposal *proposal;
    struct history history;
    GArray *order; /* struct tried_config *: the configs with a time, fastest first */
};

static gint compare_times(gconstpointer a, gconstpointer b)
{
    const struct tried_config *left = *(const struct tried_config *const *)a;
    const struct tried_config *right = *(const struct tried_config *const *)b;
    if (left->time_ms != right->time_ms)
        return left->time_ms > right->time_ms ? 1 : -1;
    /* Configs of equal time stay in the order of evaluation, so that the result does not depend
     * on the library's sort. */
    return (left > right) - (left < right);
}

static void climb_init(struct climb *climb, struct proposal *proposal)
{
    climb->proposal = proposal;
    history_init(&climb->history, proposal->search);
    climb->order = g_array_new(FALSE, FALSE, sizeof(struct tried_config *));
    for (guint i = 0; i < climb->history.tried->len; i++) {
        const struct tried_config *tried =
            &g_array_index(climb->history.tried, struct tried_config, i);
        if (isfinite(tried->time_ms))
            g_array_append_val(climb->order, tried);
    }
    g_array_sort(climb->order, compare_times);
}

static void climb_clear(struct climb *climb)
{
    g_array_unref(climb->order);
    history_clear(&climb->history);
}

static const struct tried_config *climb_at(const struct climb *climb, guint place)
{
    return g_array_index(climb->order, const struct tried_config *, place);
}

static GArray *neighbours_of(const struct climb *climb, const struct perf_config *config)
{
    const struct proposal *proposal = climb->proposal;
    GArray *neighbours = g_array_new(FALSE, FALSE, sizeof(struct perf_config));
    /* A default config may lie outside of the space and have another number of values: it then
     * has no neighbours. */
    if (config->count == proposal->space->param_count)
        space_neighbours(proposal->space, proposal->search->problem, proposal->search->context,
                         config, false, neighbours);
    return neighbours;
}

/* Appends to `found` the neighbours that were neither tried nor proposed, with their ranks. */
static void add_new(const struct climb *climb, const GArray *neighbours, GArray *found)
{
    struct ranked ranked;
    for (guint i = 0; i < neighbours->len; i++) {
        ranked.config = g_array_index(neighbours, struct perf_config, i);
        if (g_hash_table_contains(climb->proposal->seen, &ranked.config))
            continue;
        ranked.rank = config_rank(climb->proposal->seed, &ranked.config);
        g_array_append_val(found, ranked);
    }
}

static void take_ranked(const struct climb *climb, GArray *found, int most)
{
    g_array_sort(found, compare_ranks);
    for (guint i = 0; i < found->len && most > 0; i++)
        most -=
            proposal_take(climb->proposal, &g_array_index(found, struct ranked, i).config) ? 1 : 0;
}

static bool has_faster(const struct climb *climb, const GArray *neighbours, double time_ms)
{
    for (guint i = 0; i < neighbours->len; i++) {
        const struct tried_config *known =
            history_find(&climb->history, &g_array_index(neighbours, struct perf_config, i));
        if (known && known->time_ms < time_ms)
            return true;
    }
    return false;
}

static void take_neighbours(const struct climb *climb, const struct tried_config *tried)
{
    g_autoptr(GArray) neighbours = neighbours_of(climb, &tried->config);
    g_autoptr(GArray) found = g_array_new(FALSE, FALSE, sizeof(struct ranked));
    /* A config with a faster neighbour is passed over: the climb has moved on to that neighbour. */
    if (has_faster(climb, neighbours, tried->time_ms))
        return;
    add_new(climb, neighbours, found);
    take_ranked(climb, found, climb->proposal->wanted);
}

/* Proposes configs that differ from the fastest one in two parameters. */
static void take_second_neighbours(const struct climb *climb, int most)
{
    g_autoptr(GArray) neighbours = neighbours_of(climb, &climb_at(climb, 0)->config);
    g_autoptr(GArray) found = g_array_new(FALSE, FALSE, sizeof(struct ranked));
    for (guint i = 0; i < neighbours->len; i++) {
        g_autoptr(GArray) second =
            neighbours_of(climb, &g_array_index(neighbours, struct perf_config, i));
        add_new(climb, second, found);
    }
    take_ranked(climb, found, most);
}

/* Proposes by local search without random starts: steps 2 to 4 of the description at the top of
 * this file. The space must not be NULL. */
static void propose_climb(struct proposal *proposal)
{
    struct climb climb;
    climb_init(&climb, proposal);
    for (guint i = 0; i < climb.order->len && proposal->wanted > 0; i++) {
        if (climb_at(&climb, i)->time_ms > LOCAL_WITHIN * climb_at(&climb, 0)->time_ms)
            break;
        take_neighbours(&climb, climb_at(&climb, i));
    }
    if (proposal->wanted > 0 && climb.order->len > 0)
        take_second_neighbours(&climb, (proposal->wanted + 1) / 2);
    if (proposal->wanted > 0)
        propose_drawn(proposal, proposal->wanted);
    climb_clear(&climb);
}

static void propose_locally(struct proposal *proposal)
{
    int known = proposal->distinct + (int)proposal->configs->len;
    if (known < LOCAL_STARTS)
        propose_drawn(proposal, LOCAL_STARTS - known);
    propose_climb(proposal);
}

/* Proposes configs of the prior, which replaces the random starts. It may use half of a limited
 * number of configs: the other half looks for configs that the prior does not know. */
static void propose_from_prior(struct proposal *proposal)
{
    const struct search *search = proposal->search;
    guint most = search->prior ? search->prior->len : 0;
    bool any = false;
    if (search->configs_limit > 0)
        most = MIN(most, (guint)(search->configs_limit + 1) / 2);
    for (guint i = 0; i < most; i++) {
        const struct perf_config *config = &g_array_index(search->prior, struct perf_config, i);
        if (!space_contains(proposal->space, search->problem, search->context, config, NULL))
            continue;
        proposal_take(proposal, config);
        any = true;
    }
    if (any)
        propose_climb(proposal);
    else
        propose_locally(proposal);
}

/* ---- a solver's own search ---- */

static void propose_as_solver(struct proposal *proposal)
{
    const struct search *search = proposal->search;
    int wanted = proposal->wanted;
    g_autofree struct perf_config *asked = g_new0(struct perf_config, wanted);
    struct history history;
    history_init(&history, search);
    int count =
        search->solver->propose(search->problem, search->context,
                                (const struct tried_config *)(const void *)history.tried->data,
                                (int)history.tried->len, wanted, asked);
    history_clear(&history);
    g_assert(count >= 0 && count <= wanted);
    /* A solver may propose an invalid config, or one twice: only valid new configs are taken. */
    for (int i = 0; i < count; i++)
        if (space_contains(proposal->space, search->problem, search->context, &asked[i], NULL))
            proposal_take(proposal, &asked[i]);
}

/* ---- proposing ---- */

typedef void propose_fn(struct proposal *proposal);

static propose_fn *const proposers[STRATEGY_COUNT] = {
    [SEARCH_EXHAUSTIVE] = propose_in_order,
    [SEARCH_RANDOM] = propose_at_random,
    [SEARCH_LOCAL] = propose_locally,
    [SEARCH_PRIOR] = propose_from_prior,
};

/* Proposes new configs by the solver's own search if it has one, else by by_strategy. */
static void propose_new(struct proposal *proposal, propose_fn *by_strategy)
{
    const struct search *search = proposal->search;
    proposal_take(proposal, &proposal->first);
    if (!proposal->space || proposal->wanted <= 0)
        return;
    if (solver_searches(search->solver, search->strategy))
        propose_as_solver(proposal);
    else
        by_strategy(proposal);
}

GArray *search_propose(const struct search *search, int *default_index)
{
    struct proposal proposal;
    int strategy = strategy_find(search->strategy);
    g_assert(strategy >= 0);
    proposal_init(&proposal, search);
    propose_new(&proposal, proposers[strategy]);
    GArray *configs = g_array_ref(proposal.configs);
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
    /* Whether a strategy finds a new config is known after one, so the walk through the space
     * may end there. A solver's own search is asked for as many configs as search_propose() will
     * ask it for. */
    if (!solver_searches(search->solver, search->strategy))
        proposal.wanted = MIN(proposal.wanted, 1);
    propose_new(&proposal, propose_in_order);
    bool more = proposal.configs->len > 0;
    proposal_clear(&proposal);
    return more;
}
