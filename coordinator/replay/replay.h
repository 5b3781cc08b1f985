/*
 * Replays of searches on a recorded space: a strategy proposes configs and observes their recorded times with the
 * recorded noise, until it has tried the fastest config. The count of tries includes failed ones. Whether a try is
 * within 5 % of the optimum is asked of the recorded times, without noise.
 */
#ifndef COORDINATOR_REPLAY_REPLAY_H
#define COORDINATOR_REPLAY_REPLAY_H

#include "coordinator/replay/recorded_space.h"
#include "solvers/search/searcher.h"

#include <stdio.h>

/* How close to the optimum: ROW(enum constant, name in JSON, title of the column, factor on the optimum). */
#define REPLAY_MARKS(ROW)                                                                          \
    ROW(REPLAY_5PCT, "to_5pct", "to 5 %", 1.05)                                                    \
    ROW(REPLAY_1PCT, "to_1pct", "to 1 %", 1.01)                                                    \
    ROW(REPLAY_OPTIMUM, "to_optimum", "to optimum", 1.0)

enum replay_mark_id {
#define REPLAY_MARK_ID(id, name, title, factor) id,
    REPLAY_MARKS(REPLAY_MARK_ID)
#undef REPLAY_MARK_ID
        REPLAY_MARK_COUNT,
};
struct replay_mark {
    const char *name, *title;
    double factor;
};
extern const struct replay_mark replay_marks[REPLAY_MARK_COUNT];

/* Configs that a search asks for at once, as a round of a campaign's job does. */
#define REPLAY_BATCH 4

/* The sources of a prior: the best configs of other spaces, as in the product's own priors. */
struct replay_prior {
    const GPtrArray
        *others; /* struct recorded_space *; of equally near ones the earlier comes first */
    int best;    /* how many configs each of them gives, the fastest first; from 1 */
    int most;    /* how many configs the prior holds; from 1 */
    /* Configs that a campaign of the other space has tried, by the strategy `prior`: the best of these are given.
     * 0: all were tried. */
    int tries;
    /* Campaigns of the other space, each afresh and with so many tries; one where it is 0. Every one begins with the
     * best configs of those before it. */
    int campaigns;
};
/* As the product stores and reads them (schema/store/store_winners.h). */
#define REPLAY_PRIOR_BEST 10
#define REPLAY_PRIOR_MOST 16
#define REPLAY_ATTEMPTS   160

struct replay_setup {
    const struct recorded_space *space;
    enum strategy_id strategy;
    const struct replay_prior *prior; /* NULL for none */
    const GArray *given; /* struct perf_config: the prior itself, instead of `prior`; or NULL */
    const GArray
        *hints; /* struct tried_config: what is known from before (searcher_hint()); or NULL */
    struct search_budget budget; /* when a search ends, beside its optimum */
    bool ends_at_1pct;           /* a search ends at 1 %, not at the optimum */
    bool goes_on;                /* only its budget ends a search */
    int night;                   /* equal seeds of other nights search with other noise */
    int batch;                   /* from 1 */
};

struct replay_try {
    int index;          /* of the config in the space */
    double observed_ms; /* the time that the search saw; INFINITY for a failed config */
};

/* One search. */
struct replay_run {
    uint64_t seed;
    GArray *tries; /* struct replay_try, in order */
    /* Tries and recorded seconds until a try was as close; INFINITY if the search ended before. */
    double tries_to[REPLAY_MARK_COUNT], seconds_to[REPLAY_MARK_COUNT];
};
void replay_run_free(struct replay_run *run);

/* Searches once. Equal setups and seeds give equal runs. */
struct replay_run *replay_once(const struct replay_setup *setup, uint64_t seed);
/* Searches with the seeds from 0 to seeds - 1, on all processors. struct replay_run *, by seed. */
GPtrArray *replay_seeds(const struct replay_setup *setup, int seeds);

/* Median, and 95th percentile: the smallest value that at least 95 % of the runs do not exceed. INFINITY where too
 * many searches ended before. */
struct replay_figure {
    double median, p95;
};
struct replay_summary {
    struct replay_figure tries[REPLAY_MARK_COUNT], seconds[REPLAY_MARK_COUNT];
    int reached[REPLAY_MARK_COUNT]; /* runs that came as close */
};
struct replay_summary replay_summarize(const GPtrArray *runs);

/* Writes each try as a line of JSON: strategy, seed, number from 1, config, recorded and observed time in ms (null if it
 * failed), failure, the try's seconds. */
void replay_trace(const struct replay_setup *setup, const GPtrArray *runs, FILE *out);

#endif
