/* Simulated jobs: solvers whose configs' times and failures are a hash of problem, solver and
 * config. A campaign's results are therefore known, whichever workers run it and whatever happens
 * to them. A job has two rounds of four configs. All configs of one job in 16, chosen by the hash, are
 * wrong, so that job has to fail. */
#ifndef TESTS_SUPPORT_CHAOS_SIM_SOLVER_H
#define TESTS_SUPPORT_CHAOS_SIM_SOLVER_H

#include "schema/store/store.h"
#include "schema/store/store_queue.h"

#define SIM_TARGET "gfx90a68"
#define SIM_KEPT   3

/* "name:revision:hash" of the solvers, NULL-terminated. */
extern const char *const sim_carried[];

/* Creates a campaign of `jobs` jobs and returns its id. Aborts on failure. */
int64_t sim_campaign(Store *store, int jobs);

/* The next round to build of a claimed job. */
struct round *sim_build(const struct job *job);
/* Evaluates the open round of a claimed job, and returns it; borrowed from the job. */
struct round *sim_evaluate(const struct job *job);
/* Chooses the job's kept results, best first, from its rounds; returns their number (0 to
 * SIM_KEPT). The results borrow from the job; texts holds their configs' texts. */
struct sim_texts {
    char text[SIM_KEPT][32];
};
int sim_keep(const struct job *job, struct kept kept[SIM_KEPT], struct sim_texts *texts);
/* Whether the job goes on after its open round. */
bool sim_has_more(const struct job *job);

/* A campaign's results in a form without ids, to compare campaigns: the table maps a job's problem
 * key and solver to lines: one for its end, then one for each kept result. Free with g_hash_table_unref(). */
GHashTable *sim_results(Store *store, int64_t campaign);

#endif
