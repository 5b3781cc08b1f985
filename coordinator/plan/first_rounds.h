/*
 * The cost of a campaign's first rounds. A budget may end before all jobs had theirs: then the jobs that have not begun end
 * untried, and each problem gets one verified config. The user hears that before the work begins, and which options would do.
 */
#ifndef COORDINATOR_PLAN_FIRST_ROUNDS_H
#define COORDINATOR_PLAN_FIRST_ROUNDS_H

#include "coordinator/plan/progress.h"

/* One job, and how many configs its first round evaluates. */
struct first_round {
    const struct problem *problem; /* belongs to the job */
    const char *solver;            /* name of the solver; belongs to the job */
    int64_t configs;               /* number of configs in the first round */
    /* the job's priority: the problem's weight in the network, lowered for solvers whose
     * estimate is worse */
    double priority;
    bool has_winner; /* true if another job of the problem had a round and did not fail */
};

/* Lists the open jobs (struct job_row *) that had no round yet; the entries point into the jobs.
 * Returns a GArray of struct first_round. *evaluations: how many configs all jobs evaluate in all their rounds, each as
 * many as it may; one job of each problem counts as close. A search that a time on the device ends gets as many as it has
 * time for, at eval_seconds each (0 where that is not known). A solver that this program lacks at the job's revision
 * counts one config. */
GArray *first_rounds_list(const GPtrArray *jobs, const struct campaign *campaign,
                          const struct target *target, double eval_seconds, int64_t *evaluations);
int64_t first_rounds_configs(const GArray *rounds);
/* The number of different problems among them that have no winner yet: each gets a config whatever the budget. */
int64_t first_rounds_problems(const GArray *rounds);

/* Returns a message on how long the first rounds take and what would fit, or NULL when they fit
 * the budget's rest or there is no budget. config_seconds: working time of a config, measured by
 * earlier campaigns or guessed. Free with g_free(). */
char *first_rounds_advice(const GArray *rounds, const struct campaign *campaign,
                          double config_seconds, bool is_guess);

/* Prints the message of first_rounds_advice() on standard error. Prints nothing if the campaign
 * cannot be read. */
void first_rounds_say(Store *store, const struct campaign *campaign);

#endif
