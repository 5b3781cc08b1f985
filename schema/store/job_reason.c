#include "schema/store/job_reason.h"

#include <glib.h>

const char *job_reason_name(enum job_reason reason)
{
    static const char *const names[JOB_REASON_COUNT] = {
        [JOB_REASON_NEW_PROBLEM] = "new problem",
        [JOB_REASON_NEW_SOLVER] = "new solver",
        [JOB_REASON_NEW_REVISION] = "new solver revision",
        [JOB_REASON_ONLY_BUILT] = "only built before",
        [JOB_REASON_OTHER_STACK] = "other stack",
        [JOB_REASON_FAILED] = "failed before",
        [JOB_REASON_UNFINISHED] = "not finished before",
        [JOB_REASON_OTHER_SEARCH] = "other search",
        [JOB_REASON_BUDGET_CUT] = "budget cut",
        [JOB_REASON_LOST_CODE] = "lost code",
        [JOB_REASON_ANSWERED] = "finished before",
    };
    g_assert((int)reason < JOB_REASON_COUNT);
    return reason == JOB_REASON_UNKNOWN ? NULL : names[reason];
}
