/*
 * Simulated jobs: solvers whose configs' times and failures are a hash of problem, solver and config,
 * so that a campaign's results are known, whichever workers run it and whatever happens to them. A job has two
 * rounds of four configs. All configs of every 16th job are wrong, so that job has to fail.
 */
#ifndef TESTS_SUPPORT_SIM_SOLVER_H
#define TESTS_SUPPORT_SIM_SOLVER_H

#include "schema/store/store.h"
#include "schema/store/store_queue.h"

#define SIM_TARGET "gfx90a68"
#define SIM_KEPT   3

/* "name:revision:hash" of the solvers, NULL-terminated. */
extern const char *const sim_carried[];

/* A campaign of so many jobs; returns its id. Aborts where that fails. */
int64_t sim_campaign(Store *store, int jobs);

/* The next round of a job that was claimed for building. */
struct round *sim_build(const struct job *job);
/* The open round of a job that was claimed for evaluating, evaluated. Borrowed from the job. */
struct round *sim_evaluate(const struct job *job);
/* Chooses the results of the job's rounds that are kept, best first; returns their number (0 to SIM_KEPT). They
 * borrow from the job; texts holds their configs' text. */
struct sim_texts {
    char text[SIM_KEPT][32];
};
int sim_keep(const struct job *job, struct kept kept[SIM_KEPT], struct sim_texts *texts);
/* Whether the job goes on after its open round. */
bool sim_has_more(const struct job *job);

/* The results of a campaign without ids: per job a line with its end and a line for each kept result, sorted. The
 * table maps a job's key to its lines. Free with g_hash_table_unref(). */
GHashTable *sim_results(Store *store, int64_t campaign);

#endif
