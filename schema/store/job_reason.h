/*
 * Why a campaign tunes a job although there were campaigns before: how near the
 * earlier ones came to its answer. The numbers are stored (job_origins) and
 * never reused; a larger number is nearer to an answer.
 */
#ifndef SCHEMA_STORE_JOB_REASON_H
#define SCHEMA_STORE_JOB_REASON_H

#include "schema/sql/numbers.h"

#include <stdint.h>

/*
 * JOB_REASON_NEW_PROBLEM: no earlier campaign of the target had the problem.
 * NEW_SOLVER: the problem was there, with other solvers. NEW_REVISION: the solver was
 * there, in another revision. ONLY_BUILT: the earlier campaign was build-only. OTHER_STACK:
 * measured with a stack that this campaign does not admit. FAILED: the earlier job failed.
 * UNFINISHED: still open, or cancelled. OTHER_SEARCH: finished with another strategy, seed
 * or limits. BUDGET_CUT: the earlier campaign's budget ended the job before its search was
 * over. LOST_CODE: finished, but the code of its results was dropped.
 * ANSWERED: this campaign takes its results over and does not tune the job.
 */
enum job_reason {
    JOB_REASON_UNKNOWN = -1, /* the campaign is build-only, or older than this record */
#define X(name, number, text) name = number,
    JOB_REASON_NUMBERS(X)
#undef X
};
#define JOB_REASON_COUNT 11

/* "new problem", "budget cut", ...; NULL for JOB_REASON_UNKNOWN. Static. */
const char *job_reason_name(enum job_reason reason);

/* A campaign's jobs by reason. */
struct job_origins {
    int jobs[JOB_REASON_COUNT];
    int64_t configs; /* configs that jobs took over, although the jobs are tuned again */
    int64_t drifted; /* configs that were not taken over, because their round drifted */
};

#endif
