/*
 * The configs that did well elsewhere, in the order given, and then the model, which has learned from them. They replace
 * the draws with which the model begins on its own; so do hints about earlier tries, by which the model knows all but the
 * first few of the prior that were tried before.
 */
#include "solvers/search/strategy_rows.h"

/* Configs of the prior that are tried again although a hint tells how they did: as many as a round of a campaign has. The
 * others would cost tries and teach little; the model knows them by their hints. */
#define PRIOR_AGAIN 4

static bool is_hinted(const struct proposal *proposal, const struct perf_config *config)
{
    for (guint i = 0; i < proposal->hints->len; i++)
        if (config_equal(&g_array_index(proposal->hints, struct tried_config, i).config, config))
            return true;
    return false;
}

/* A prior may use half of a limited number of tries: the other half looks for configs that it does not know. */
void propose_from_prior(struct proposal *proposal)
{
    guint most = proposal->prior->len;
    int again = 0;
    bool any = proposal->hints->len > 0;
    if (proposal->tries_limit > 0)
        most = MIN(most, (guint)(proposal->tries_limit + 1) / 2);
    for (guint i = 0; i < most; i++) {
        const struct perf_config *config = &g_array_index(proposal->prior, struct perf_config, i);
        if (!proposal->space->contains(proposal->space, config))
            continue;
        if (is_hinted(proposal, config) && again++ >= PRIOR_AGAIN)
            continue;
        proposal_take(proposal, config);
        any = true;
    }
    if (any)
        propose_modelled(proposal);
    else
        propose_by_model(proposal);
}
