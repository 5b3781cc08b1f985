#include "schema/store/job_reason.h"

#include <glib.h>

const char *job_reason_name(enum job_reason reason)
{
    static const char *const names[JOB_REASON_COUNT] = {
#define X(name, number, text) [number] = text,
        JOB_REASON_NUMBERS(X)
#undef X
    };
    g_assert((int)reason < JOB_REASON_COUNT);
    return reason == JOB_REASON_UNKNOWN ? NULL : names[reason];
}
