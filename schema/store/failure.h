/*
 * Why a config, a job or an export row failed. The numbers are stored and never
 * reused. Only FAILURE_NONE can become a result.
 */
#ifndef SCHEMA_STORE_FAILURE_H
#define SCHEMA_STORE_FAILURE_H

#include <stdbool.h>

enum failure {
    FAILURE_NONE = 0,
    FAILURE_NOT_APPLICABLE = 1,
    FAILURE_COMPILE_ERROR = 2,
    FAILURE_COMPILE_TIMEOUT = 3,
    FAILURE_COMPILER_CRASH = 4,
    FAILURE_LOAD_ERROR = 5,
    FAILURE_LAUNCH_ERROR = 6,
    FAILURE_DEVICE_FAULT = 7,
    FAILURE_RUN_TIMEOUT = 8,
    FAILURE_WRONG_RESULT = 9,
    FAILURE_OUT_OF_BOUNDS = 10,
    FAILURE_TIME_IMPOSSIBLE = 11,
    FAILURE_UNSTABLE = 12,
    FAILURE_WORKER_LOST = 13,
    FAILURE_REFUSED_BY_CHECK = 14,
    FAILURE_PENDING = 15, /* not evaluated yet: only inside an open round */
    FAILURE_SLOW = 16,    /* dropped early: clearly slower than the best; verified, not a fault */
    FAILURE_OVER_LIMITS =
        17, /* the compiler reports more registers or memory than the limit for running
                               * it */
};
#define FAILURE_COUNT 18

/* "compile error", "wrote out of bounds", ...; "ok" for FAILURE_NONE. Static. */
const char *failure_name(enum failure failure);
bool failure_parse(const char *name, enum failure *failure);

#endif
