#include "schema/store/failure.h"

#include <glib.h>
#include <string.h>

static const char *const names[FAILURE_COUNT] = {
    [FAILURE_NONE] = "ok",
    [FAILURE_NOT_APPLICABLE] = "not applicable",
    [FAILURE_COMPILE_ERROR] = "compile error",
    [FAILURE_COMPILE_TIMEOUT] = "compile timeout",
    [FAILURE_COMPILER_CRASH] = "compiler crash",
    [FAILURE_LOAD_ERROR] = "load error",
    [FAILURE_LAUNCH_ERROR] = "launch error",
    [FAILURE_DEVICE_FAULT] = "device fault",
    [FAILURE_RUN_TIMEOUT] = "run timeout",
    [FAILURE_WRONG_RESULT] = "wrong result",
    [FAILURE_OUT_OF_BOUNDS] = "wrote out of bounds",
    [FAILURE_TIME_IMPOSSIBLE] = "time impossible",
    [FAILURE_UNSTABLE] = "unstable",
    [FAILURE_WORKER_LOST] = "worker lost",
    [FAILURE_REFUSED_BY_CHECK] = "refused by check",
    [FAILURE_PENDING] = "pending",
    [FAILURE_SLOW] = "slow",
    [FAILURE_OVER_LIMITS] = "over limits",
};

const char *failure_name(enum failure failure)
{
    g_assert((unsigned)failure < FAILURE_COUNT);
    return names[failure];
}

bool failure_parse(const char *name, enum failure *failure)
{
    for (int i = 0; i < FAILURE_COUNT; i++) {
        if (strcmp(name, names[i]) == 0) {
            *failure = (enum failure)i;
            return true;
        }
    }
    return false;
}
