/*
 * A claimed job as the agent works on it: the solver that the job names, its target, and the open round. These
 * functions only compute on the job's stored state: they make no call and wait for nobody.
 */
#ifndef WORKER_WORK_H
#define WORKER_WORK_H

#include "kernels/toolchains/toolchain.h"
#include "schema/monitor/log.h"
#include "schema/results/conditions.h"
#include "schema/store/store.h"
#include "solvers/framework/solver.h"
#include "worker/search/search.h"

/* A config slower than this counts as hung. A slow CPU core reaches fifty times as much. */
#define WORK_SLOWEST_FLOPS 1e8

struct work {
    struct job *job; /* owned */
    const struct solver *solver;
    struct target target;
    struct context context; /* points at target: a work is not copied */
    GArray *prior;          /* struct perf_config: those of the job's prior that are in its space */
    struct round *round;    /* the open one, owned by job->rounds */
    struct conditions conditions; /* of the device while the open round was measured */
    enum pool pool;               /* that claimed it */
    char *key;                    /* of the problem, NULL where the work is refused */
    char *
        refusal; /* why the job can only be failed (work_check.h); NULL where it can be worked on */
};

/* Takes the job over. target is NULL where it is not known. For an eval claim the last round is the open one; configs of
 * it that were quarantined since it was built fail as quarantine (struct quarantine_row *) says. */
void work_init(struct work *work, struct job *job, const struct target *target, enum pool pool,
               const GPtrArray *quarantine);
void work_clear(struct work *work);
/* Whether the deadline of the job's campaign has passed, by this machine's clock. */
bool work_is_overdue(const struct work *work);
/* The members that a line of the log about the job has. */
struct log_about work_about(const struct work *work);

/* Proposes the next round and appends it to the job's rounds as the open one, with no config built yet: the configs
 * that the job wishes to have measured again, or those that its search tries next. False when nothing is left to
 * propose. */
bool work_propose(struct work *work);
/* Whether another round would find something after the open one. */
bool work_more(const struct work *work);
/* Place of the default config in the open round, -1 when it is not there. */
int work_default_index(const struct work *work);

/* The solution of a config of the open round. False where the solver refuses it: the config has that failure then. */
bool work_solve(struct work *work, int index, struct solution *solution);
/* Numbers the solution's distinct kernels by first use: kernel_of[i] is launch i's, *count their number. Launches of
 * equal file, entry and options share a kernel. */
void work_launch_kernels(const struct solution *solution, int kernel_of[SOLUTION_LAUNCHES_MAX],
                         int *count);

/* Sets a config's outcome to a failure; build_seconds stays. */
void work_fail_config(struct work *work, int index, enum failure failure, const char *detail);
/* Has the search leave the config out. */
void work_quarantine(struct work *work, int index);

/* The WORK_KEPT_BEST best verified configs over all rounds, best first, the default config if it was ever verified, and
 * those that the job's wish keeps. The newest measurement of a config counts: a config that failed when it was measured
 * again (struct round's remeasures) is not verified any more. GArray of struct kept; it frees their strings. */
#define WORK_KEPT_BEST 4
GArray *work_kept(struct work *work);
/* Best verified median over all rounds, 0 before a config was verified. */
double work_best_ms(const struct work *work);

/* A copy for a call on another thread, while the original changes. Free with round_free(). */
struct round *work_copy_round(const struct round *round);

/* "12 ok, 3 rejected, best 0.123 ms" of the open round. Free with g_free(). */
char *work_summary(const struct work *work);

#endif
