/*
 * A claimed job as the agent works on it: the solver that the job names, its
 * target, and the open round, on which the claim works. These functions only
 * compute on the job's stored state: they make no call and wait for nobody.
 */
#ifndef WORKER_AGENT_WORK_H
#define WORKER_AGENT_WORK_H

#include "kernels/toolchains/toolchain.h"
#include "schema/monitor/log.h"
#include "schema/results/conditions.h"
#include "schema/store/store.h"
#include "solvers/framework/solver.h"
#include "worker/search/search.h"

/* Multiply-adds and other operations a second: a config slower than this counts as hung. A slow
 * CPU core reaches fifty times as much. */
#define WORK_SLOWEST_FLOPS 1e8

struct work {
    struct job *job; /* owned */
    const struct solver *solver;
    struct target target;
    struct context context; /* refers to `target`, so a struct work must not be copied or moved */
    /* struct perf_config: the configs of the job's prior that are valid for the job. */
    GArray *prior;
    /* struct tried_config: those of the job's attempts that are of configs of the job. */
    GArray *attempts;
    struct round *round; /* the open round, owned by job->rounds */
    /* Clocks, temperature and load of the device while the open round was measured. */
    struct conditions conditions;
    enum pool pool; /* that claimed it */
    char *key;      /* the problem's key; NULL if the work is refused */
    char *refusal; /* Why the job can only be failed (work_check.h); NULL if it can be worked on. */
};

/* Takes the job over. target: NULL if the job's target is not known. In an eval claim the job's
 * last round is the open one; configs of this round that were quarantined since it was built
 * fail with the reasons in quarantine (struct quarantine_row *). */
void work_init(struct work *work, struct job *job, const struct target *target, enum pool pool,
               const GPtrArray *quarantine);
void work_clear(struct work *work);
/* Whether the deadline of the job's campaign has passed, by this machine's clock. */
bool work_is_overdue(const struct work *work);
/* The names that a log line about the job has: campaign, job, attempt, round, problem and solver. */
struct log_about work_about(const struct work *work);

/* Proposes the next round, with no config built yet, and appends it to the job's rounds as the
 * open one. Its configs are the ones that the job's wish lists to be measured again, or else the
 * next ones of its search. Returns false if nothing is left to propose. */
bool work_propose(struct work *work);
/* The best time of the problem that a build claim says, for work_more(); INFINITY where it says none: then the worker that
 * measured the last round has asked whether the search goes on. */
double work_problem_ms(const struct work *work);
/* Whether the search would propose another config after the job's rounds. problem_ms: the best time of the problem, by
 * any job of the campaign; 0 for none, INFINITY if unknown (struct search_budget's `rival`). *end: why not; SEARCH_GOES_ON
 * if it would, or if the open round measures again, which says nothing of the search. */
bool work_more(const struct work *work, double problem_ms, enum search_end *end);
/* Index of the default config in the open round, -1 if the round does not have it, or is a final. */
int work_default_index(const struct work *work);

/* The solver of a config of the open round: the job's own, except in a final. */
const struct solver *work_solver(const struct work *work, int index);
/* Makes the solution of a config of the open round. Returns false if the solver refuses the
 * config, which then has failed. */
bool work_solve(struct work *work, int index, struct solution *solution);
/* Gives the solution's distinct kernels numbers in the order of first use. kernel_of[i] becomes
 * the number of launch i's kernel, *count how many distinct kernels there are. Launches with
 * equal file, entry and options share a kernel. */
void work_launch_kernels(const struct solution *solution, int kernel_of[SOLUTION_LAUNCHES_MAX],
                         int *count);

/* Sets a config's outcome to a failure. Its times are cleared, but its build_seconds and
 * eval_seconds stay. */
void work_fail_config(struct work *work, int index, enum failure failure, const char *detail);
/* Excludes the open round's config from the job's search. */
void work_quarantine(struct work *work, int index);

/* The configs to keep as results: the WORK_KEPT_BEST best verified configs over all rounds, best
 * first; the default config if it was ever verified; and the configs that the job's wish keeps.
 * A config's newest measurement counts: a config that failed when it was measured again (struct
 * round's remeasures) is no longer verified. GArray of struct kept; it frees their strings. */
#define WORK_KEPT_BEST 4
GArray *work_kept(struct work *work);
/* The lowest verified median time over all rounds, in ms; 0 before a config was verified. */
double work_best_ms(const struct work *work);

/* A copy of the round, for a call on another thread while the original changes. Free with
 * round_free(). */
struct round *work_copy_round(const struct round *round);

/* A text such as "12 ok, 3 rejected, best 0.123 ms" about the open round. Free with g_free(). */
char *work_summary(const struct work *work);

#endif
