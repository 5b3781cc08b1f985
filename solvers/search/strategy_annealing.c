/*
 * Simulated annealing (Kirkpatrick, Gelatt and Vecchi, Optimization by Simulated Annealing, 1983). The search is at one
 * config and tries its neighbours, which differ in one parameter. It moves to a faster one always, and to one that is
 * slower by the factor f with the chance f^(-1/T). The temperature T falls from ANNEALING_HOT by a constant factor from
 * try to try, and is ANNEALING_COLD after ANNEALING_TRIES of them; then the next descent begins, hot, at the fastest
 * config. Logarithms of times make T a number without a unit, the same for all spaces.
 *
 * The config that the search is at follows from the tries: they are gone through again, in their order, with the same
 * random numbers.
 */
#include "solvers/search/strategy_rows.h"

#include <math.h>

#define ANNEALING_HOT    0.3
#define ANNEALING_COLD   0.01
#define ANNEALING_TRIES  100
/* configs drawn before the first descent */
#define ANNEALING_STARTS 8

static double temperature(guint tries)
{
    double part = (double)(tries % ANNEALING_TRIES) / ANNEALING_TRIES;
    return ANNEALING_HOT * pow(ANNEALING_COLD / ANNEALING_HOT, part);
}

/* The try at which the search stands, NULL before one succeeded. */
static const struct tried_config *standing(const struct proposal *proposal)
{
    const struct tried_config *at = NULL, *best = NULL;
    for (guint i = 0; i < proposal->tries->len; i++) {
        const struct tried_config *next = &g_array_index(proposal->tries, struct tried_config, i);
        uint64_t state = search_mix(proposal->seed, i);
        if (!isfinite(next->time_ms))
            continue;
        if (!best || next->time_ms < best->time_ms)
            best = next;
        if (i % ANNEALING_TRIES == 0)
            at = best;
        double chance = at ? pow(next->time_ms / at->time_ms, -1 / temperature(i)) : 1;
        if (search_uniform(&state) < chance)
            at = next;
    }
    return at;
}

static void take_neighbours(struct proposal *proposal, const struct tried_config *tried)
{
    g_autoptr(GArray) neighbours = g_array_new(FALSE, FALSE, sizeof(struct perf_config));
    search_space_neighbours(proposal->space, &tried->config, neighbours);
    proposal_take_ranked(proposal, neighbours, proposal->wanted);
}

/* Where all neighbours were tried, the search goes on beside the fastest config that has others, and at last anywhere. */
void propose_annealing(struct proposal *proposal)
{
    propose_drawn(proposal, ANNEALING_STARTS - proposal_count(proposal));
    const struct tried_config *at = standing(proposal);
    if (at && proposal->wanted > 0)
        take_neighbours(proposal, at);
    g_autoptr(GArray) order = proposal_order(proposal);
    for (guint i = 0; i < order->len && proposal->wanted > 0; i++)
        take_neighbours(proposal, g_array_index(order, const struct tried_config *, i));
    propose_drawn(proposal, proposal->wanted);
}
