/*
 * Why a campaign tunes a job although there were campaigns before: how near the
 * earlier ones came to its answer. The numbers are stored (job_origins) and
 * never reused; a larger number is nearer to an answer.
 */
#ifndef SCHEMA_STORE_JOB_REASON_H
#define SCHEMA_STORE_JOB_REASON_H

#include <stdint.h>

enum job_reason {
    JOB_REASON_UNKNOWN = -1,     /* the campaign is build-only, or older than this record */
    JOB_REASON_NEW_PROBLEM = 0,  /* no earlier campaign of the target had the problem */
    JOB_REASON_NEW_SOLVER = 1,   /* the problem was there, with other solvers */
    JOB_REASON_NEW_REVISION = 2, /* the solver was there, in another revision */
    JOB_REASON_ONLY_BUILT = 3,
    JOB_REASON_OTHER_STACK = 4, /* measured with a stack that this campaign does not admit */
    JOB_REASON_FAILED = 5,
    JOB_REASON_UNFINISHED = 6,   /* still open, or cancelled */
    JOB_REASON_OTHER_SEARCH = 7, /* finished with another strategy, seed or limits */
    JOB_REASON_BUDGET_CUT = 8,
    JOB_REASON_LOST_CODE = 9, /* finished, but the code of its results was dropped */
    JOB_REASON_ANSWERED =
        10, /* finished: this campaign takes its results over and does not tune the job */
};
#define JOB_REASON_COUNT 11

/* "new problem", "budget cut", ...; NULL for JOB_REASON_UNKNOWN. Static. */
const char *job_reason_name(enum job_reason reason);

/* A campaign's jobs by reason. */
struct job_origins {
    int jobs[JOB_REASON_COUNT];
    int64_t configs; /* configs taken over into jobs that are tuned again */
    int64_t drifted; /* configs not taken over because their round drifted */
};

#endif
