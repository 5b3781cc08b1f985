/*
 * Why a campaign's jobs are tuned although campaigns were there before, and
 * what these measured for them: for the plan's notice, and job by job.
 */
#ifndef COORDINATOR_CAMPAIGNS_ORIGINS_H
#define COORDINATOR_CAMPAIGNS_ORIGINS_H

#include "coordinator/cli/table.h"
#include "schema/store/store_results.h"

/* The jobs that are tuned, by reason: "30 budget cut, 12 new problem", the most first; "none". Free with
 * g_free(). */
char *origins_text(const struct job_origins *origins);
/* Says so as a notice, with the configs that are taken over. */
void origins_say(const struct job_origins *origins);
/* {"budget cut": 30, ..}, all reasons that are there. */
json_t *origins_json(const struct job_origins *origins);

/* A row a job of the campaign: problem, solver, state, why it is tuned, and the configs that it took over.
 * Free with table_free(). */
Table *origins_list_jobs(Store *store, int64_t campaign, GError **error);

#endif
