/*
 * A claimed job as the agent works on it: the solver that the job names, the
 * target it is for, and the open round. Everything here is plain computing on
 * the job's stored state; nothing waits.
 */
#ifndef WORKER_WORK_H
#define WORKER_WORK_H

#include "kernels/toolchains/toolchain.h"
#include "schema/monitor/log.h"
#include "schema/store/conditions.h"
#include "schema/store/store.h"
#include "solvers/framework/solver.h"
#include "worker/search/search.h"

/* What computes less hangs: a slow CPU core does fifty times as much. */
#define WORK_SLOWEST_FLOPS 1e8

struct work {
    struct job *job; /* owned */
    const struct solver *solver;
    struct target target;
    struct context context; /* points at target: a work is not copied */
    GArray *prior;       /* struct perf_config: those of the job's prior that are configs of it */
    struct round *round; /* the open one, owned by job->rounds */
    struct conditions conditions; /* of the device while the open one was measured */
    enum pool pool;               /* that claimed it */
    char *key;                    /* of the problem, NULL where the work is refused */
    char *
        refusal; /* why it cannot be worked on (work_check.h), and then only failed; NULL if it can */
};

/* Takes the job over. target NULL where it is not known. For an eval claim the last round is the open one, and its configs that were
 * quarantined meanwhile get their outcome from quarantine (struct quarantine_row *). */
void work_init(struct work *work, struct job *job, const struct target *target, enum pool pool,
               const GPtrArray *quarantine);
void work_clear(struct work *work);
/* Whether the deadline of its campaign has passed, by this machine's clock. */
bool work_is_overdue(const struct work *work);
/* What a line of the log about it names. */
struct log_about work_about(const struct work *work);

/* Proposes the next round and appends it to the job's rounds as the open one, no config built yet: what the
 * job wishes to have measured again, or what its search tries next. False when nothing is left to propose. */
bool work_propose(struct work *work);
/* Whether another round would find something after the open one. */
bool work_more(const struct work *work);
/* Place of the default config in the open round, -1 when it is not there. */
int work_default_index(const struct work *work);

/* The recipe of a config of the open round; sets the config's outcome when the solver refuses. */
bool work_solve(struct work *work, int index, struct solution *solution);
/* Which of the solution's distinct kernels a launch uses: launches of equal file, entry and options
 * share one. Numbered by first use; *count tells how many there are. */
void work_launch_kernels(const struct solution *solution, int kernel_of[SOLUTION_LAUNCHES_MAX],
                         int *count);

/* Sets a config's outcome to a failure; build_seconds stays. */
void work_fail_config(struct work *work, int index, enum failure failure, const char *detail);
/* Has the search leave the config out. */
void work_quarantine(struct work *work, int index);

/* The best verified configs over all rounds, best first, the default config if it was ever verified, and what
 * a wish keeps. The newest measurement of a config counts, and one that failed when it was measured again
 * (struct round's remeasures) is not verified any more. GArray of struct kept whose strings the array frees. */
#define WORK_KEPT_BEST 4
GArray *work_kept(struct work *work);
/* Best verified median over all rounds, 0 when there is none. */
double work_best_ms(const struct work *work);

/* For a call on another thread while the original goes on changing. */
struct round *work_copy_round(const struct round *round);

/* "12 ok, 3 rejected, best 0.123 ms" of the open round. Free with g_free(). */
char *work_summary(const struct work *work);

#endif
