/*
 * Why a campaign tunes a job although campaigns were there before: what of its
 * question they had met. The numbers are stored (job_origins) and never reused;
 * a larger one is nearer to an answer.
 */
#ifndef SCHEMA_STORE_JOB_REASON_H
#define SCHEMA_STORE_JOB_REASON_H

#include <stdint.h>

enum job_reason {
    JOB_REASON_UNKNOWN = -1,    /* the campaign was made before reasons were kept, or only builds */
    JOB_REASON_NEW_PROBLEM = 0, /* no campaign of the target had the problem */
    JOB_REASON_NEW_SOLVER = 1,  /* they had it with other solvers */
    JOB_REASON_NEW_REVISION = 2, /* ... with another revision of the solver */
    JOB_REASON_ONLY_BUILT = 3,
    JOB_REASON_OTHER_STACK = 4, /* measured with software that this campaign does not admit */
    JOB_REASON_FAILED = 5,
    JOB_REASON_UNFINISHED = 6,   /* still at work, or cancelled */
    JOB_REASON_OTHER_SEARCH = 7, /* finished with another strategy, seed or limits */
    JOB_REASON_BUDGET_CUT = 8,
    JOB_REASON_LOST_CODE = 9, /* finished, but nobody has the code of its results any more */
    JOB_REASON_ANSWERED = 10, /* finished: its results are taken over, and it is not tuned again */
};
#define JOB_REASON_COUNT 11

/* "new problem", "budget cut", ...; NULL for JOB_REASON_UNKNOWN. Static. */
const char *job_reason_name(enum job_reason reason);

/* A campaign's jobs by reason. */
struct job_origins {
    int jobs[JOB_REASON_COUNT];
    int64_t configs; /* taken over one by one, into jobs that are tuned again */
    int64_t drifted; /* not taken over, since their device drifted while they were measured */
};

#endif
