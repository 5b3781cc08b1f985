#include "solvers/search/searcher.h"

#include <math.h>
#include <string.h>

#include "solvers/search/expected_gain.h"
#include "solvers/search/strategy_rows.h"

struct searcher {
    const struct search_space *space;
    enum strategy_id strategy;
    uint64_t seed;
    bool has_first;
    struct perf_config first;
    GArray *prior; /* struct perf_config */
    GArray *hints; /* struct tried_config: each config once */
    struct search_budget budget;
    search_own_fn *own;
    gconstpointer own_of;
    GArray *tries;      /* struct tried_config: each config once, in the order of the first try */
    GHashTable *places; /* struct perf_config *, owned -> index in `tries` */
    GHashTable
        *counted;   /* set of struct perf_config * of `places`: count for the budget of tries */
    double seconds; /* spent by tries that count */
};

static const struct {
    const char *name, *words;
} ends[SEARCH_END_COUNT] = {
#define SEARCH_END_ROW(id, name, words) [id] = {name, words},
    SEARCH_ENDS(SEARCH_END_ROW)
#undef SEARCH_END_ROW
};

const char *search_end_name(enum search_end end)
{
    return ends[end].name;
}

const char *search_end_text(enum search_end end)
{
    return ends[end].words;
}

enum search_end search_end_find(const char *name)
{
    for (int end = 0; name && end < SEARCH_END_COUNT; end++)
        if (strcmp(ends[end].name, name) == 0)
            return (enum search_end)end;
    return SEARCH_GOES_ON;
}

Searcher *searcher_new(const struct searcher_setup *setup)
{
    Searcher *searcher = g_new0(Searcher, 1);
    searcher->space = setup->space;
    searcher->strategy = setup->strategy;
    searcher->seed = setup->seed;
    searcher->budget = setup->budget;
    searcher->own = setup->own;
    searcher->own_of = setup->own_of;
    searcher->has_first = setup->first != NULL;
    if (setup->first)
        searcher->first = *setup->first;
    searcher->prior = g_array_new(FALSE, FALSE, sizeof(struct perf_config));
    if (setup->prior_count > 0)
        g_array_append_vals(searcher->prior, setup->prior, (guint)setup->prior_count);
    searcher->hints = g_array_new(FALSE, FALSE, sizeof(struct tried_config));
    searcher->tries = g_array_new(FALSE, FALSE, sizeof(struct tried_config));
    searcher->places = g_hash_table_new_full(config_hash, config_equal, g_free, NULL);
    searcher->counted = g_hash_table_new(config_hash, config_equal);
    return searcher;
}

void searcher_free(Searcher *searcher)
{
    if (!searcher)
        return;
    g_hash_table_unref(searcher->counted);
    g_hash_table_unref(searcher->places);
    g_array_unref(searcher->tries);
    g_array_unref(searcher->hints);
    g_array_unref(searcher->prior);
    g_free(searcher);
}

/* The place of the config among the tries, which it joins as a failed one if it is new. *key is the set's own copy. */
static guint place_of(Searcher *searcher, const struct perf_config *config, gpointer *key)
{
    gpointer place;
    if (g_hash_table_lookup_extended(searcher->places, config, key, &place))
        return GPOINTER_TO_UINT(place);
    struct tried_config added = {.config = *config, .time_ms = INFINITY};
    g_array_append_val(searcher->tries, added);
    *key = g_memdup2(config, sizeof *config);
    g_hash_table_insert(searcher->places, *key, GUINT_TO_POINTER(searcher->tries->len - 1));
    return searcher->tries->len - 1;
}

void searcher_observe(Searcher *searcher, const struct search_try *tried)
{
    gpointer key;
    guint place = place_of(searcher, &tried->config, &key);
    struct tried_config *known = &g_array_index(searcher->tries, struct tried_config, place);
    if (isfinite(tried->time))
        known->time_ms = tried->time;
    if (tried->beyond_budget)
        return;
    g_hash_table_add(searcher->counted, key);
    searcher->seconds += tried->seconds;
}

void searcher_hint(Searcher *searcher, const struct perf_config *config, double time)
{
    struct tried_config hint = {.config = *config, .time_ms = time};
    for (guint i = 0; i < searcher->hints->len; i++)
        if (config_equal(&g_array_index(searcher->hints, struct tried_config, i).config, config)) {
            g_array_remove_index(searcher->hints, i);
            break;
        }
    g_array_append_val(searcher->hints, hint);
}

void searcher_forbid(Searcher *searcher, const struct perf_config *config)
{
    gpointer key;
    guint place = place_of(searcher, config, &key);
    g_array_index(searcher->tries, struct tried_config, place).time_ms = INFINITY;
}

/* ---- proposals ---- */

bool proposal_knows(const struct proposal *proposal, const struct perf_config *config)
{
    return g_hash_table_contains(proposal->places, config) ||
           g_hash_table_contains(proposal->taken, config);
}

bool proposal_take(struct proposal *proposal, const struct perf_config *config)
{
    if (proposal->wanted <= 0 || proposal_knows(proposal, config))
        return false;
    /* `configs` has room for all that are wanted, so that the set's keys stay in their place. */
    g_array_append_vals(proposal->configs, config, 1);
    g_hash_table_add(proposal->taken, &g_array_index(proposal->configs, struct perf_config,
                                                     proposal->configs->len - 1));
    proposal->wanted--;
    return true;
}

const struct tried_config *proposal_try(const struct proposal *proposal,
                                        const struct perf_config *config)
{
    gpointer place;
    if (!g_hash_table_lookup_extended(proposal->places, config, NULL, &place))
        return NULL;
    return &g_array_index(proposal->tries, struct tried_config, GPOINTER_TO_UINT(place));
}

int proposal_count(const struct proposal *proposal)
{
    return proposal->counted + (int)proposal->configs->len;
}

static gint compare_times(gconstpointer a, gconstpointer b)
{
    const struct tried_config *left = *(const struct tried_config *const *)a;
    const struct tried_config *right = *(const struct tried_config *const *)b;
    if (left->time_ms != right->time_ms)
        return left->time_ms > right->time_ms ? 1 : -1;
    /* Both point into one array, so equal times stay in its order whatever the library's sort does. */
    return (left > right) - (left < right);
}

GArray *order_of(const GArray *tries)
{
    GArray *order = g_array_new(FALSE, FALSE, sizeof(struct tried_config *));
    for (guint i = 0; i < tries->len; i++) {
        const struct tried_config *tried = &g_array_index(tries, struct tried_config, i);
        if (isfinite(tried->time_ms))
            g_array_append_val(order, tried);
    }
    g_array_sort(order, compare_times);
    return order;
}

GArray *proposal_order(const struct proposal *proposal)
{
    return order_of(proposal->tries);
}

typedef void propose_fn(struct proposal *proposal);

static propose_fn *const proposers[STRATEGY_COUNT] = {
    [SEARCH_EXHAUSTIVE] = propose_in_order, [SEARCH_RANDOM] = propose_at_random,
    [SEARCH_LOCAL] = propose_locally,       [SEARCH_PRIOR] = propose_from_prior,
    [SEARCH_ANNEALING] = propose_annealing, [SEARCH_GENETIC] = propose_genetic,
    [SEARCH_MODEL] = propose_by_model,
};

/* ---- budgets ---- */

static bool is_close(const Searcher *searcher)
{
    double best = INFINITY, rival = searcher->budget.rival;
    for (guint i = 0; i < searcher->tries->len; i++)
        best = fmin(best, g_array_index(searcher->tries, struct tried_config, i).time_ms);
    return rival > 0 ? best <= SEARCH_CLOSE * rival : isfinite(best);
}

/* Most configs that count; 0 for no limit. Whether the search is close is asked when its `tries` are spent. */
static int tries_allowed(const Searcher *searcher)
{
    const struct search_budget *budget = &searcher->budget;
    bool is_spent = budget->tries > 0 && (int)g_hash_table_size(searcher->counted) >= budget->tries;
    if (is_spent && budget->close_tries > budget->tries && is_close(searcher))
        return budget->close_tries;
    return budget->tries;
}

/* Why no budget allows another try; SEARCH_GOES_ON if all do. */
static enum search_end budget_end(const Searcher *searcher)
{
    const struct search_budget *budget = &searcher->budget;
    int allowed = tries_allowed(searcher);
    if (allowed > 0 && (int)g_hash_table_size(searcher->counted) >= allowed)
        return SEARCH_TRIES_SPENT;
    if (budget->seconds > 0 && searcher->seconds >= budget->seconds)
        return SEARCH_SECONDS_SPENT;
    if (budget->gain > 0 && searcher_expected_gain(searcher, SEARCH_GAIN_TRIES) < budget->gain)
        return SEARCH_GAIN_SMALL;
    return SEARCH_GOES_ON;
}

double searcher_expected_gain(const Searcher *searcher, int more)
{
    g_autofree double *times = g_new(double, searcher->tries->len + 1);
    for (guint i = 0; i < searcher->tries->len; i++)
        times[i] = g_array_index(searcher->tries, struct tried_config, i).time_ms;
    return expected_gain(times, (int)searcher->tries->len, more);
}

static int tries_left(const Searcher *searcher, int wanted)
{
    if (budget_end(searcher) != SEARCH_GOES_ON)
        return 0;
    int allowed = tries_allowed(searcher);
    return allowed > 0 ? MIN(wanted, allowed - (int)g_hash_table_size(searcher->counted)) : wanted;
}

/* ---- proposing ---- */

static void propose_own(const Searcher *searcher, struct proposal *proposal)
{
    int wanted = proposal->wanted;
    g_autofree struct perf_config *asked = g_new0(struct perf_config, wanted);
    int count = searcher->own(searcher->own_of,
                              (const struct tried_config *)(const void *)searcher->tries->data,
                              (int)searcher->tries->len, wanted, asked);
    g_assert(count >= 0 && count <= wanted);
    for (int i = 0; i < count; i++)
        if (searcher->space->contains(searcher->space, &asked[i]))
            proposal_take(proposal, &asked[i]);
}

/* Proposes by the solver's own search if there is one, else by the function. */
static int propose_by(const Searcher *searcher, propose_fn *propose, int wanted,
                      struct perf_config *configs)
{
    wanted = tries_left(searcher, wanted);
    if (wanted <= 0)
        return 0;
    g_autoptr(GArray) taken = g_array_sized_new(FALSE, FALSE, sizeof *configs, (guint)wanted);
    g_autoptr(GHashTable) set = g_hash_table_new(config_hash, config_equal);
    struct proposal proposal = {
        .space = searcher->space,
        .seed = searcher->seed,
        .tries = searcher->tries,
        .prior = searcher->prior,
        .hints = searcher->hints,
        .counted = (int)g_hash_table_size(searcher->counted),
        .tries_limit = searcher->budget.tries,
        .wanted = wanted,
        .configs = taken,
        .places = searcher->places,
        .taken = set,
    };
    if (searcher->has_first)
        proposal_take(&proposal, &searcher->first);
    if (searcher->space && proposal.wanted > 0 && searcher->own)
        propose_own(searcher, &proposal);
    else if (searcher->space && proposal.wanted > 0)
        propose(&proposal);
    for (guint i = 0; i < taken->len; i++)
        configs[i] = g_array_index(taken, struct perf_config, i);
    return (int)taken->len;
}

int searcher_propose(const Searcher *searcher, int wanted, struct perf_config *configs)
{
    return propose_by(searcher, proposers[searcher->strategy], wanted, configs);
}

/* Each strategy finds a new config as long as there is one, so the first one in the space's order tells. */
enum search_end searcher_end(const Searcher *searcher, int wanted)
{
    enum search_end end = budget_end(searcher);
    if (end != SEARCH_GOES_ON)
        return end;
    wanted = searcher->own ? wanted : 1;
    g_autofree struct perf_config *configs = g_new(struct perf_config, wanted);
    bool more = propose_by(searcher, propose_in_order, wanted, configs) > 0;
    return more ? SEARCH_GOES_ON : SEARCH_SPACE_TRIED;
}
