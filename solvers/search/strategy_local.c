/*
 * Local search reads its position from the tries:
 *   1. Until LOCAL_STARTS configs were tried, draw configs at random.
 *   2. Sort the configs that succeeded, fastest first, and pass over those slower than LOCAL_WITHIN times the fastest.
 *   3. For each of them without a known faster neighbour, propose its untried neighbours. A neighbour differs in
 *      one parameter only.
 *   4. If more configs are wanted: half of them from those that differ from the fastest config in two
 *      parameters, the rest at random, as new starts.
 * A climb thus goes on from batch to batch, and stops at a local optimum, where another start takes over. This is
 * iterative improvement with restarts (Hoos and Stuetzle, Stochastic Local Search, 2004, chapter 2).
 */
#include "solvers/search/strategy_rows.h"

#define LOCAL_STARTS 8
#define LOCAL_WITHIN 1.5

static GArray *neighbours_of(const struct proposal *proposal, const struct perf_config *config)
{
    GArray *neighbours = g_array_new(FALSE, FALSE, sizeof(struct perf_config));
    search_space_neighbours(proposal->space, config, neighbours);
    return neighbours;
}

static bool has_faster(const struct proposal *proposal, const GArray *neighbours, double time_ms)
{
    for (guint i = 0; i < neighbours->len; i++) {
        const struct tried_config *known =
            proposal_try(proposal, &g_array_index(neighbours, struct perf_config, i));
        if (known && known->time_ms < time_ms)
            return true;
    }
    return false;
}

/* A config with a faster neighbour is passed over: the climb has moved on to that neighbour. */
static void take_neighbours(struct proposal *proposal, const struct tried_config *tried)
{
    g_autoptr(GArray) neighbours = neighbours_of(proposal, &tried->config);
    if (!has_faster(proposal, neighbours, tried->time_ms))
        proposal_take_ranked(proposal, neighbours, proposal->wanted);
}

/* Proposes configs that differ from the fastest one in two parameters. */
static void take_second_neighbours(struct proposal *proposal, const struct perf_config *fastest,
                                   int most)
{
    g_autoptr(GArray) neighbours = neighbours_of(proposal, fastest);
    g_autoptr(GArray) second = g_array_new(FALSE, FALSE, sizeof(struct perf_config));
    for (guint i = 0; i < neighbours->len; i++)
        search_space_neighbours(proposal->space, &g_array_index(neighbours, struct perf_config, i),
                                second);
    proposal_take_ranked(proposal, second, most);
}

/* Local search without random starts: steps 2 to 4. */
static void propose_climb(struct proposal *proposal)
{
    g_autoptr(GArray) order = proposal_order(proposal);
    const struct tried_config *const *at = (const struct tried_config *const *)(void *)order->data;
    for (guint i = 0; i < order->len && proposal->wanted > 0; i++) {
        if (at[i]->time_ms > LOCAL_WITHIN * at[0]->time_ms)
            break;
        take_neighbours(proposal, at[i]);
    }
    if (proposal->wanted > 0 && order->len > 0)
        take_second_neighbours(proposal, &at[0]->config, (proposal->wanted + 1) / 2);
    propose_drawn(proposal, proposal->wanted);
}

void propose_locally(struct proposal *proposal)
{
    propose_drawn(proposal, LOCAL_STARTS - proposal_count(proposal));
    propose_climb(proposal);
}
