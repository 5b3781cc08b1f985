#include "worker/search/search.h"

#include <string.h>

#include "schema/store/store_winners.h"
#include "solvers/problem/problem_key.h"
#include "worker/search/search_private.h"

static uint64_t mix_text(uint64_t hash, const char *text)
{
    for (; *text; text++)
        hash = search_mix(hash ^ (unsigned char)*text);
    return hash;
}

/* One seed serves a whole campaign; each job must still draw its own sequence. */
static uint64_t job_seed(const struct search *search)
{
    char key[PROBLEM_KEY_MAX];
    uint64_t hash = search_mix((uint64_t)search->seed);
    hash = mix_text(hash, problem_key(search->problem, key));
    return mix_text(hash, search->solver->name);
}

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
    /* Every search begins with the default config, so this search would have tried it, too. */
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

bool proposal_take(struct proposal *proposal, const struct perf_config *config)
{
    if (proposal->wanted <= 0 || g_hash_table_contains(proposal->seen, config))
        return false;
    g_array_append_vals(proposal->configs, config, 1);
    g_hash_table_add(proposal->seen, &g_array_index(proposal->configs, struct perf_config,
                                                    proposal->configs->len - 1));
    proposal->wanted--;
    return true;
}

/* The first configs of the space that were not tried. */
static void propose_in_order(struct proposal *proposal)
{
    const struct search *search = proposal->search;
    struct perf_config config;
    struct space_walk walk;
    space_walk_init(&walk, proposal->space, search->problem, search->context);
    while (proposal->wanted > 0 && space_walk_next(&walk, &config))
        proposal_take(proposal, &config);
}

/* ---- at random ---- */

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

/* Of all configs that were not tried those of the smallest ranks. */
void propose_drawn(struct proposal *proposal, int most)
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

/* ---- a solver's own search ---- */

/* Whatever a solver proposes, only what is valid and new is taken, each config once. */
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
    for (int i = 0; i < count; i++)
        if (space_contains(proposal->space, search->problem, search->context, &asked[i], NULL))
            proposal_take(proposal, &asked[i]);
}

/* ---- strategies ---- */

/* A prior takes the place of starts that are drawn. Of few configs it may use half: the rest is for
 * what it does not know. */
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

typedef void propose_fn(struct proposal *proposal);

static const struct strategy {
    const char *name;
    propose_fn *propose;
} strategies[] = {
    {"exhaustive", propose_in_order},
    {"random", propose_at_random},
    {"local", propose_locally},
    {STRATEGY_PRIOR, propose_from_prior},
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

/* otherwise: how the campaign's strategy takes configs from the space. */
static void propose_new(struct proposal *proposal, propose_fn *otherwise)
{
    const struct search *search = proposal->search;
    proposal_take(proposal, &proposal->first);
    if (!proposal->space || proposal->wanted <= 0)
        return;
    if (solver_searches(search->solver, search->strategy))
        propose_as_solver(proposal);
    else
        otherwise(proposal);
}

GArray *search_propose(const struct search *search, int *default_index)
{
    struct proposal proposal;
    const struct strategy *strategy = strategy_find(search->strategy);
    g_assert(strategy);
    proposal_init(&proposal, search);
    propose_new(&proposal, strategy->propose);
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
    /* Of a strategy any config answers, so a walk may end at the first; a solver's search is asked for
     * as many as search_propose() will ask it for. */
    if (!solver_searches(search->solver, search->strategy))
        proposal.wanted = MIN(proposal.wanted, 1);
    propose_new(&proposal, propose_in_order);
    bool more = proposal.configs->len > 0;
    proposal_clear(&proposal);
    return more;
}
