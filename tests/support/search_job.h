/*
 * A job for tests of the search: a problem, a history of rounds, and the search over both.
 */
#ifndef TESTS_SUPPORT_SEARCH_JOB_H
#define TESTS_SUPPORT_SEARCH_JOB_H

#include "worker/search/search.h"

struct search_job {
    struct problem problem;
    struct target target;
    struct context context;
    GPtrArray *rounds;           /* struct round * */
    GArray *quarantined, *prior; /* struct perf_config */
    struct search search;        /* the search over this job's problem and history */
};

/* The job points into itself: do not move it. */
void search_job_init(struct search_job *job, const struct solver *solver, const char *strategy,
                     int64_t seed, int configs_limit, int round_configs);
void search_job_clear(struct search_job *job);

/* Proposes the next round and appends it to the history with pending outcomes. Returns its configs
 * as text, joined by blanks; "" if nothing is left to try. */
char *search_job_next(struct search_job *job, int *default_index);

/* is_applicable of a made-up solver: true for every problem. */
bool search_job_applies(const struct problem *p, const struct context *context,
                        const char **reason);

#endif
