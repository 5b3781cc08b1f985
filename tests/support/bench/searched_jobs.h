/*
 * Replayed searches of a campaign's jobs. The spaces of one problem, one of each solver, are its jobs; each job searches its
 * space by the strategy `prior` with nothing known, in rounds of REPLAY_BATCH configs.
 */
#ifndef TESTS_SUPPORT_BENCH_SEARCHED_JOBS_H
#define TESTS_SUPPORT_BENCH_SEARCHED_JOBS_H

#include "coordinator/replay/recorded_space.h"

#define SEARCHED_PROBLEMS_MAX 64
#define SEARCHED_TRIES_MAX    400 /* of a job */

struct searched_job {
    int problem;                         /* number of its problem, from 0 */
    int tries;                           /* of the arrays */
    double tried_ms[SEARCHED_TRIES_MAX]; /* the times that the search saw; INFINITY for a failure */
    double true_ms[SEARCHED_TRIES_MAX];  /* the recorded times of the same configs */
    double
        seconds[SEARCHED_TRIES_MAX]; /* what they took, recorded: compiling, verifying, measuring */
};

struct searched_jobs {
    struct searched_job *jobs;
    int job_count, problem_count;
    double optima
        [SEARCHED_PROBLEMS_MAX]; /* the shortest recorded time of each problem, by any solver */
    const GPtrArray *spaces;
    GPtrArray *runs;      /* for each space the runs of all seeds */
    double whole_seconds; /* what all configs of all spaces took, recorded */
};

/* Searches each space (struct recorded_space *) with the seeds from 0 on, up to so many tries, at most
 * SEARCHED_TRIES_MAX. The spaces must outlive it. A space whose file names no problem is one of its own. */
void searched_jobs_init(struct searched_jobs *searched, const GPtrArray *spaces, int seeds,
                        int tries);
void searched_jobs_clear(struct searched_jobs *searched);
/* Sets the tries of each job to those of this seed. */
void searched_jobs_take(struct searched_jobs *searched, int seed);

/* The shortest of the job's first `tries` recorded times; INFINITY if all failed. */
double searched_job_best(const struct searched_job *job, int tries);

#endif
