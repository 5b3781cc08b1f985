/*
 * The cost of the first rounds of a campaign's jobs. They are measured whatever
 * the budget, so a small one is said to be overrun before the work begins, with
 * what would fit it.
 */
#ifndef COORDINATOR_PLAN_FIRST_ROUNDS_H
#define COORDINATOR_PLAN_FIRST_ROUNDS_H

#include "coordinator/plan/progress.h"

/* Configs of one job. */
struct first_round {
    const struct problem *problem; /* the job's */
    const char *solver;            /* likewise */
    int64_t configs;
    double
        priority; /* as planned: the problem's weight, lowered for solvers that are estimated worse */
};

/* The open jobs (struct job_row *) that had no round yet; they own what the rows point to. GArray of struct
 * first_round. *evaluations: the most that all jobs evaluate in all their rounds. Solvers that this program does
 * not have at the job's revision count one config. */
GArray *first_rounds_list(const GPtrArray *jobs, const struct campaign *campaign,
                          const struct target *target, int64_t *evaluations);
int64_t first_rounds_configs(const GArray *rounds);

/* The words where the first rounds take longer than the budget's rest, NULL where they fit or there is no
 * budget: how long they take, and what fits. config_seconds: working time of a config, which is known from
 * earlier campaigns, or guessed. Free with g_free(). */
char *first_rounds_advice(const GArray *rounds, const struct campaign *campaign,
                          double config_seconds, bool is_guess);

/* Reads the campaign's jobs and says so on standard error, as tune does by itself. A campaign that cannot be read
 * is no failure: only the forecast suffers. */
void first_rounds_say(Store *store, const struct campaign *campaign);

#endif
