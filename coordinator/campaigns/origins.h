/*
 * Why a new campaign's jobs have to be tuned although earlier campaigns exist, and how many configs
 * the jobs take over from these. In total, and job by job.
 */
#ifndef COORDINATOR_CAMPAIGNS_ORIGINS_H
#define COORDINATOR_CAMPAIGNS_ORIGINS_H

#include "coordinator/cli/table.h"
#include "schema/results/store_results.h"

/* Returns how many jobs there are for each reason to tune them, the largest number first: "30 budget cut, 12 new
 * problem"; "none" without jobs. Free with g_free(). */
char *origins_text(const struct job_origins *origins);
/* Prints the numbers of origins_text(), and how many configs are taken over, as a notice. */
void origins_say(const struct job_origins *origins);
/* Returns the number of jobs for each reason that occurs: {"budget cut": 30, ...}. A new
 * reference. */
json_t *origins_json(const struct job_origins *origins);

/* One row per job of the campaign: problem, solver, state, the reason why it is tuned, and the
 * configs taken over. Free with table_free(). */
Table *origins_list_jobs(Store *store, int64_t campaign, GError **error);

#endif
