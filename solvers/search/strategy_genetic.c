/*
 * A genetic search without generations (a steady state; Whitley, The GENITOR algorithm, 1989). The population is the
 * GENETIC_POPULATION fastest configs so far. Each parent is the faster of two that were drawn from it. A child takes
 * each value from either parent, and then, with one chance in as many as there are parameters, another value of the
 * parameter. Children that are invalid or known are made again, GENETIC_ATTEMPTS times; then a config is drawn.
 */
#include "solvers/search/strategy_rows.h"

#define GENETIC_POPULATION 20
#define GENETIC_ATTEMPTS   100

static int draw_below(uint64_t *state, int count)
{
    return (int)(search_uniform(state) * count);
}

static const struct perf_config *draw_parent(const GArray *order, uint64_t *state)
{
    int most = MIN((int)order->len, GENETIC_POPULATION);
    int a = draw_below(state, most), b = draw_below(state, most);
    return &g_array_index(order, const struct tried_config *, MIN(a, b))->config;
}

static void make_child(const struct search_space *space, const GArray *order, uint64_t *state,
                       struct perf_config *child)
{
    const struct perf_config *mother = draw_parent(order, state);
    const struct perf_config *father = draw_parent(order, state);
    *child = (struct perf_config){.count = space->param_count};
    for (int i = 0; i < space->param_count; i++) {
        const struct space_param *param = &space->params[i];
        child->values[i] = search_uniform(state) < 0.5 ? mother->values[i] : father->values[i];
        if (draw_below(state, space->param_count) == 0)
            child->values[i] = param->values[draw_below(state, param->count)];
    }
}

static void take_child(struct proposal *proposal, const GArray *order, uint64_t *state)
{
    for (int attempt = 0; attempt < GENETIC_ATTEMPTS; attempt++) {
        struct perf_config child;
        make_child(proposal->space, order, state, &child);
        if (proposal->space->contains(proposal->space, &child) && proposal_take(proposal, &child))
            return;
    }
    propose_drawn(proposal, 1);
}

/* Removes configs that are not of the space's form: a default config may lie outside of it. */
static void keep_parents(const struct search_space *space, GArray *order)
{
    for (guint i = order->len; i > 0; i--)
        if (g_array_index(order, const struct tried_config *, i - 1)->config.count !=
            space->param_count)
            g_array_remove_index(order, i - 1);
}

void propose_genetic(struct proposal *proposal)
{
    g_autoptr(GArray) order = proposal_order(proposal);
    uint64_t state = search_mix(proposal->seed, proposal->tries->len);
    keep_parents(proposal->space, order);
    propose_drawn(proposal, GENETIC_POPULATION - proposal_count(proposal));
    for (int left = proposal->wanted; left > 0 && order->len > 0; left--)
        take_child(proposal, order, &state);
    propose_drawn(proposal, proposal->wanted);
}
