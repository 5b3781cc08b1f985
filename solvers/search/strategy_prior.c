/*
 * The configs that did well elsewhere, in the order given, and then the model, which has learned from them. They replace
 * the draws with which the model begins on its own; so do hints about earlier tries.
 */
#include "solvers/search/strategy_rows.h"

/* A prior may use half of a limited number of tries: the other half looks for configs that it does not know. */
void propose_from_prior(struct proposal *proposal)
{
    guint most = proposal->prior->len;
    bool any = proposal->hints->len > 0;
    if (proposal->tries_limit > 0)
        most = MIN(most, (guint)(proposal->tries_limit + 1) / 2);
    for (guint i = 0; i < most; i++) {
        const struct perf_config *config = &g_array_index(proposal->prior, struct perf_config, i);
        if (!proposal->space->contains(proposal->space, config))
            continue;
        proposal_take(proposal, config);
        any = true;
    }
    if (any)
        propose_modelled(proposal);
    else
        propose_by_model(proposal);
}
