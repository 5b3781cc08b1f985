/*
 * One search of one space: propose configs, observe how they did, ask whether it has ended.
 *
 *     Searcher *searcher = searcher_new(&setup);
 *     while ((count = searcher_propose(searcher, 4, configs)) > 0)
 *         for (int i = 0; i < count; i++)
 *             searcher_observe(searcher, &(struct search_try){configs[i], measure(&configs[i])});
 *     searcher_free(searcher);
 *
 * A searcher has no state but its setup and the tries that it observed, in their order. Proposing changes nothing. So
 * a search goes on anywhere: a new searcher with the same setup that observes the stored tries in the same order
 * proposes what the old one would have proposed. Times may be in any unit, as long as it is the same for all.
 *
 * The strategy is a row of solvers/framework/strategy.h; strategy_rows.h says how to write one. No strategy proposes a
 * config twice, or a config outside of the space, except `first`. Each goes on until a budget is spent or every config
 * of the space was tried. Failed configs count as tries.
 */
#ifndef SOLVERS_SEARCH_SEARCHER_H
#define SOLVERS_SEARCH_SEARCHER_H

#include "solvers/framework/strategy.h"
#include "solvers/search/search_space.h"

/* Limits at which a search ends before it has tried its whole space. 0: no limit. */
struct search_budget {
    int tries; /* most configs that count (struct search_try's `beyond_budget`) */
    /* Most configs of a search that is close: its best time is at most SEARCH_CLOSE times `rival`, the best time that
     * any search of the same problem found. Below `tries`: as many. rival 0: no other search found any; INFINITY: the
     * search counts as close. */
    int close_tries;
    double rival;
    double seconds; /* ends when the tries that count took so long; a batch is not cut short */
    /* Ends when the next SEARCH_GAIN_TRIES tries are expected to make the best time shorter by less than this part of it
     * (0.01 is one per cent); expected_gain.h derives the rule. */
    double gain;
};

/* One search of several for the same problem wins. One that came so close in its first tries may still win
 * (coordinator/CAMPAIGNS.md has the figures). */
#define SEARCH_CLOSE_PERCENT 10
#define SEARCH_CLOSE         (1 + SEARCH_CLOSE_PERCENT / 100.0)

/* A search of a solver's own, which replaces the strategy's: writes at most `wanted` configs, the most promising
 * first, and returns how many; 0 when it is over. tries: each config once, in the order of the first try. The searcher
 * ignores configs that are not new or not in the space. */
typedef int search_own_fn(gconstpointer of, const struct tried_config *tries, int count, int wanted,
                          struct perf_config *configs);

/* A number that depends on all bits of both, to make seeds (SplitMix64's step; Steele, Lea, Flood, 2014). */
uint64_t search_mix(uint64_t a, uint64_t b);

struct searcher_setup {
    const struct search_space *space; /* must outlive the searcher; NULL for only `first` */
    enum strategy_id strategy;
    uint64_t seed; /* equal seeds give equal searches */
    /* Proposed before all else, the default config; the space need not contain it. NULL for none. */
    const struct perf_config *first;
    /* Configs that did well elsewhere, the most promising first, prior_count of them. Those that the space does not
     * contain are passed over. Only the strategy `prior` reads them. */
    const struct perf_config *prior;
    int prior_count;
    struct search_budget budget;
    search_own_fn *own;   /* NULL for the strategy */
    gconstpointer own_of; /* its first argument */
};

/* One config that was tried. */
struct search_try {
    struct perf_config config;
    double time;    /* INFINITY for a config that failed */
    double seconds; /* what the try cost, for the budget; 0 where it is not known */
    /* Known from elsewhere: the search knows the result and does not propose the config, but it counts for no budget. */
    bool beyond_budget;
};

/*
 * Why a search has ended, the first that holds: ROW(enum constant, name, words). Jobs keep it by its name (table job_ends).
 * The words have no full stop.
 */
#define SEARCH_ENDS(ROW)                                                                           \
    ROW(SEARCH_GOES_ON, "", "the search goes on")                                                  \
    ROW(SEARCH_TRIES_SPENT, "tries", "as many configs were tried as the job may try")              \
    ROW(SEARCH_SECONDS_SPENT, "seconds", "the job's seconds are spent")                            \
    ROW(SEARCH_SPACE_TRIED, "space", "every config was tried")                                     \
    ROW(SEARCH_GAIN_SMALL, "gain", "more tries are not expected to gain enough")

enum search_end {
#define SEARCH_END_ID(id, name, words) id,
    SEARCH_ENDS(SEARCH_END_ID)
#undef SEARCH_END_ID
        SEARCH_END_COUNT,
};
/* "space", "tries", "seconds" or "gain"; "" for SEARCH_GOES_ON. */
const char *search_end_name(enum search_end end);
/* The reason in words, without a full stop: "every config was tried". */
const char *search_end_text(enum search_end end);
/* The end of that name; SEARCH_GOES_ON for "", NULL and names that no end has. */
enum search_end search_end_find(const char *name);

typedef struct searcher Searcher;
/* Copies `first`, the prior and the budget. */
Searcher *searcher_new(const struct searcher_setup *setup);
void searcher_free(Searcher *searcher);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Searcher, searcher_free)

/* Takes a result. A config that is observed again counts once, with its newest time: the lowest of many times would be
 * compared with single times of the others. A failure does not replace a time. */
void searcher_observe(Searcher *searcher, const struct search_try *tried);

/* Tells how the config did before, on the same device in another state of its software: the model of `prior` and
 * `model` learns from it. It is no result: the config is proposed as any other, and counts for no budget before it is
 * tried. Times may be in another unit than those of results, all hints in the same; INFINITY for a failure. The newest
 * hint of a config counts. */
void searcher_hint(Searcher *searcher, const struct perf_config *config, double time);

/* Excludes a config: it is never proposed, counts as failed whatever was observed of it, and for no budget. */
void searcher_forbid(Searcher *searcher, const struct perf_config *config);

/* Writes the next configs to try, at most `wanted`, the most promising first, and returns how many; 0 when
 * the search has ended. */
int searcher_propose(const Searcher *searcher, int wanted, struct perf_config *configs);

/* Whether and why the search has ended: SEARCH_GOES_ON as long as searcher_propose() finds a config. wanted: as many
 * as it will be asked for, since a search of a solver's own may find none among so many. */
enum search_end searcher_end(const Searcher *searcher, int wanted);

/* The part of the best time that `more` further tries are expected to save, from 0 to 1 (expected_gain.h). */
double searcher_expected_gain(const Searcher *searcher, int more);

#endif
