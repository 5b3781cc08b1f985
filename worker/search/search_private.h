/*
 * What the files of the search share: search.c has the strategies that walk the
 * space, search_local.c the local search, search_history.c what rounds say of
 * each config. Internal.
 */
#ifndef WORKER_SEARCH_PRIVATE_H
#define WORKER_SEARCH_PRIVATE_H

#include "worker/search/search.h"

/* ---- configs ---- */

/* For hash tables whose keys are struct perf_config *. */
guint config_hash(gconstpointer config);
gboolean config_equal(gconstpointer a, gconstpointer b);

/* splitmix64's finalizer: every input bit reaches every output bit. */
uint64_t search_mix(uint64_t value);

/* A config at its place in an order that the seed and its values alone decide: to take the smallest
 * ranks first is a uniform draw without replacement that needs no memory of what was drawn before. */
struct ranked {
    uint64_t rank;
    struct perf_config config;
};
uint64_t config_rank(uint64_t seed, const struct perf_config *config);
int compare_ranks(gconstpointer a, gconstpointer b);

/* ---- the history ---- */

/* What is known of every config, in the order of evaluation. One measured in several rounds counts with
 * its lowest time, one that failed or was taken out with INFINITY. Points into the search's rounds. */
struct history {
    GArray *tried;      /* struct tried_config */
    GHashTable *places; /* struct perf_config * -> its place in tried */
};

void history_init(struct history *history, const struct search *search);
void history_clear(struct history *history);
/* NULL where the config was never tried. */
const struct tried_config *history_find(const struct history *history,
                                        const struct perf_config *config);

/* ---- a proposal in the making ---- */

struct proposal {
    const struct search *search;
    const struct space *space; /* in force; NULL for none */
    uint64_t seed;             /* the job's own */
    GHashTable *seen;         /* struct perf_config *: tried before, proposed, or not to be tried */
    GArray *configs;          /* struct perf_config: proposed; never moves while `seen` is used */
    struct perf_config first; /* the default */
    bool first_allowed;       /* the default is not quarantined */
    int distinct;             /* configs of the history, the default counted once */
    int wanted;               /* new configs that may still be proposed */
};

/* Proposes the config if it is new and one more is wanted. */
bool proposal_take(struct proposal *proposal, const struct perf_config *config);
/* Proposes up to `most` configs of the whole space, drawn at random. */
void propose_drawn(struct proposal *proposal, int most);
/* Local search, from starts that are drawn until enough are known; or from what is known alone. The
 * space is not NULL. */
void propose_locally(struct proposal *proposal);
void propose_climb(struct proposal *proposal);

#endif
