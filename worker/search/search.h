/*
 * Proposes the configs that a job's next round tries. A proposal is a pure function of
 * what struct search holds: the same strategy, seed, prior and stored history give
 * the same configs on any node, so a job replays exactly.
 *
 * A job's first round begins with the default config. Every later round
 * measures the default again before anything else, as the baseline that shows
 * drift; that repetition does not count against the limit.
 *
 * The history also has configs that another campaign's search tried. They do not count against the limit,
 * but for the default config, with which every search begins. Configs of the same search (strategy and
 * seed) count: it goes on where it was.
 *
 * Strategies, each until its job's limit or until nothing of the space is left:
 *   exhaustive  the space in its order
 *   random      the space in an order that is the job's own
 *   local       from several starts, the fastest first, to whatever is faster and differs in one
 *               parameter alone; where that ends, two parameters away and from new starts
 *   prior       the configs that won nearby first, at most half of the job's, and then local
 *
 * A solver that brings its own search (struct solver's propose) replaces every
 * strategy but "exhaustive", which stays exhaustive: whoever names it wants
 * the whole space. The own search is shown all that was tried, in the order of
 * the history, each config once with its lowest median; quarantined configs
 * stand among them as failed. Of what it proposes only configs of the space in
 * force that are new are taken. Default, limits and rounds hold as they do for
 * a strategy, and the job ends where nothing is left of its proposals.
 */
#ifndef WORKER_SEARCH_H
#define WORKER_SEARCH_H

#include "schema/store/store.h"
#include "solvers/framework/solver.h"

struct search {
    const struct solver *solver;
    const struct problem *problem;
    const struct context *context;
    const char *strategy; /* a name of the above */
    int64_t seed;
    int configs_limit;         /* distinct configs of the job's own search; 0 for no limit */
    int round_configs;         /* new configs in a round, at least 1 */
    const GArray *prior;       /* struct perf_config: the most promising first, NULL for none */
    const GPtrArray *rounds;   /* struct round *: the history, NULL for none */
    const GArray *quarantined; /* struct perf_config: never proposed, NULL for none */
};

bool search_strategy_known(const char *strategy);

/* The next round's configs, empty when the job has nothing left to try. *default_index is the place of
 * the default config among them, -1 when it is quarantined or nothing is proposed. The caller frees the
 * array of struct perf_config with g_array_unref(). */
GArray *search_propose(const struct search *search, int *default_index);

/* Whether search_propose() would find a config that was never tried. */
bool search_more(const struct search *search);

#endif
