/*
 * Proposes the configs that a job's next round tries. A proposal is a pure function of struct search: the same
 * strategy, seed, prior, attempts and stored history give the same configs on any node, so a job replays exactly. How
 * many a close job tries also depends on what other jobs of the problem found (rival_ms).
 *
 * A job's first round begins with the default config. Every later round measures the default again before
 * anything else, as the baseline that shows drift; this repetition does not count against the limit.
 *
 * The history may hold rounds of another campaign's search (round->beyond_limit). Their configs are not proposed
 * again and do not count against the limits; only the default config counts as a try, since every search begins with
 * it. Rounds that measured again take none of the search's seconds.
 *
 * This is the job's side of solvers/search/searcher.h, which has the strategies (solvers/framework/strategy.h): its
 * space is the solver's, its tries are the stored rounds, in their order.
 *
 * A solver with a search of its own (struct solver's propose) replaces every strategy but "exhaustive". It gets
 * the whole history, each config once with its lowest median; failed and quarantined configs have the time
 * INFINITY. Only its proposals that are new configs of the space in force are taken. Default, limits and rounds hold
 * as they do for a strategy, and the job ends when the solver proposes nothing more.
 */
#ifndef WORKER_SEARCH_SEARCH_H
#define WORKER_SEARCH_SEARCH_H

#include "schema/store/store.h"
#include "solvers/framework/solver.h"
#include "solvers/search/search_space.h"
#include "solvers/search/searcher.h"

struct search {
    const struct solver *solver;
    const struct problem *problem;
    const struct context *context;
    const char *strategy; /* a name of solvers/framework/strategy.h */
    int64_t seed;
    /* Most distinct configs that the job's own search may try; 0 for no limit. */
    int configs_limit;
    /* The same of a search that is close to the best time of its problem, and this time in ms, by whichever job (struct
     * search_budget's `close_tries` and `rival`). */
    int close_configs;
    double rival_ms;
    /* Device time that the job's own search may take: the evaluation of all its rounds so far, by any worker; 0 for no
     * limit. A round is not cut short. */
    double search_seconds;
    /* The search ends when its next tries are expected to save less than so many per cent of the best time
     * (solvers/search/expected_gain.h); 0 for no limit. */
    double min_gain;
    int round_configs; /* most new configs in a round, at least 1 */
    /* struct perf_config: configs to try first, the most promising first; NULL for none. */
    const GArray *prior;
    /* struct tried_config: how configs did before on the target, the newest last, which the strategy `prior` learns
     * from (searcher_hint()); NULL for none. */
    const GArray *attempts;
    const GPtrArray *rounds;   /* struct round *: the job's rounds so far, NULL for none */
    const GArray *quarantined; /* struct perf_config: never proposed, NULL for none */
};

/* The next round's configs, empty when the job has nothing left to try. *default_index is the place of
 * the default config among them, -1 when it is quarantined or nothing is proposed. The caller frees the
 * array of struct perf_config with g_array_unref(). */
GArray *search_propose(const struct search *search, int *default_index);

/* Why the search has ended; SEARCH_GOES_ON if search_propose() would find a config that was never tried. */
enum search_end search_end_now(const struct search *search);

#endif
