/*
 * The reasons why a campaign's jobs must be tuned although earlier campaigns exist, and the
 * configs taken over from those: in total for the plan's notice, and job by job.
 */
#ifndef COORDINATOR_CAMPAIGNS_ORIGINS_H
#define COORDINATOR_CAMPAIGNS_ORIGINS_H

#include "coordinator/cli/table.h"
#include "schema/results/store_results.h"

/* The number of jobs by reason, the largest first: "30 budget cut, 12 new problem"; "none"
 * without jobs. Free with g_free(). */
char *origins_text(const struct job_origins *origins);
/* Prints these numbers, and the configs that are taken over, as a notice. */
void origins_say(const struct job_origins *origins);
/* {"budget cut": 30, ..}: the reasons that occur. */
json_t *origins_json(const struct job_origins *origins);

/* One row per job of the campaign: problem, solver, state, the reason why it is tuned, and the
 * configs taken over. Free with table_free(). */
Table *origins_list_jobs(Store *store, int64_t campaign, GError **error);

#endif
