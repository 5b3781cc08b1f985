/*
 * Numbers that C and SQL share. They are stored, so a number is never changed
 * and never used again. C makes its enums of these lists; in the files of
 * schema/sql kernels/tools/embed.c replaces a name after an @ (@FAILURE_WORKER_LOST)
 * by its number when the program is built.
 *
 * Each list calls X(NAME, NUMBER, TEXT). This header includes nothing, since a
 * tool of the build reads it.
 */
#ifndef SCHEMA_SQL_NUMBERS_H
#define SCHEMA_SQL_NUMBERS_H

/* Why a config, a job or an export row failed: enum failure in schema/store/failure.h. */
#define FAILURE_NUMBERS(X)                                                                         \
    X(FAILURE_NONE, 0, "ok")                                                                       \
    X(FAILURE_NOT_APPLICABLE, 1, "not applicable")                                                 \
    X(FAILURE_COMPILE_ERROR, 2, "compile error")                                                   \
    X(FAILURE_COMPILE_TIMEOUT, 3, "compile timeout")                                               \
    X(FAILURE_COMPILER_CRASH, 4, "compiler crash")                                                 \
    X(FAILURE_LOAD_ERROR, 5, "load error")                                                         \
    X(FAILURE_LAUNCH_ERROR, 6, "launch error")                                                     \
    X(FAILURE_DEVICE_FAULT, 7, "device fault")                                                     \
    X(FAILURE_RUN_TIMEOUT, 8, "run timeout")                                                       \
    X(FAILURE_WRONG_RESULT, 9, "wrong result")                                                     \
    X(FAILURE_OUT_OF_BOUNDS, 10, "wrote out of bounds")                                            \
    X(FAILURE_TIME_IMPOSSIBLE, 11, "time impossible")                                              \
    X(FAILURE_UNSTABLE, 12, "unstable")                                                            \
    X(FAILURE_WORKER_LOST, 13, "worker lost")                                                      \
    X(FAILURE_REFUSED_BY_CHECK, 14, "refused by check")                                            \
    X(FAILURE_PENDING, 15, "pending")                                                              \
    X(FAILURE_SLOW, 16, "slow")                                                                    \
    X(FAILURE_OVER_LIMITS, 17, "over limits")

/* Why a campaign tunes a job although there were campaigns before: enum job_reason in schema/store/job_reason.h. A
 * larger number is nearer to an answer. */
#define JOB_REASON_NUMBERS(X)                                                                      \
    X(JOB_REASON_NEW_PROBLEM, 0, "new problem")                                                    \
    X(JOB_REASON_NEW_SOLVER, 1, "new solver")                                                      \
    X(JOB_REASON_NEW_REVISION, 2, "new solver revision")                                           \
    X(JOB_REASON_ONLY_BUILT, 3, "only built before")                                               \
    X(JOB_REASON_OTHER_STACK, 4, "other stack")                                                    \
    X(JOB_REASON_FAILED, 5, "failed before")                                                       \
    X(JOB_REASON_UNFINISHED, 6, "not finished before")                                             \
    X(JOB_REASON_OTHER_SEARCH, 7, "other search")                                                  \
    X(JOB_REASON_BUDGET_CUT, 8, "budget cut")                                                      \
    X(JOB_REASON_LOST_CODE, 9, "lost code")                                                        \
    X(JOB_REASON_ANSWERED, 10, "finished before")

/* Kinds of configs that are measured again, as remeasurable() gets them; schema/results/store_remeasure.h has a bit for
 * each. A config of several kinds counts for the first. */
#define REMEASURE_NUMBERS(X)                                                                       \
    X(REMEASURE_KIND_WINNERS, 1, "winners")                                                        \
    X(REMEASURE_KIND_DEFAULTS, 2, "defaults")                                                      \
    X(REMEASURE_KIND_UNSTABLE, 3, "unstable")

/* Why a night works on a problem with a solver, or why not: enum night_reason in coordinator/nights/plan/night_reasons.h. */
#define NIGHT_REASON_NUMBERS(X)                                                                    \
    X(NIGHT_REASON_NEW_PROBLEM, 1, "new problem")                                                  \
    X(NIGHT_REASON_NEW_SOLVER, 2, "new solver")                                                    \
    X(NIGHT_REASON_NEW_TARGET, 3, "new target")                                                    \
    X(NIGHT_REASON_SOLVER_REVISION, 4, "solver revision")                                          \
    X(NIGHT_REASON_KERNEL_SOURCE, 5, "kernel source")                                              \
    X(NIGHT_REASON_TOOLCHAIN, 6, "toolchain")                                                      \
    X(NIGHT_REASON_RUNTIME, 7, "runtime")                                                          \
    X(NIGHT_REASON_DRIVER, 8, "driver")                                                            \
    X(NIGHT_REASON_FAILED, 9, "failed")                                                            \
    X(NIGHT_REASON_UNFINISHED, 10, "unfinished")                                                   \
    X(NIGHT_REASON_SUSPECT, 11, "suspect")                                                         \
    X(NIGHT_REASON_NOISY, 12, "noisy")                                                             \
    X(NIGHT_REASON_TOO_OLD, 13, "too old")                                                         \
    X(NIGHT_REASON_SAMPLE, 14, "sample")                                                           \
    X(NIGHT_REASON_UNCHANGED, 15, "unchanged")                                                     \
    X(NIGHT_REASON_FAILED_FOR_GOOD, 16, "failed for good")                                         \
    X(NIGHT_REASON_LEFT_OUT, 17, "left out")                                                       \
    X(NIGHT_REASON_NOT_APPLICABLE, 18, "not applicable")

/* All lists, for the tool. */
#define SQL_NUMBERS(X)                                                                             \
    FAILURE_NUMBERS(X) JOB_REASON_NUMBERS(X) REMEASURE_NUMBERS(X) NIGHT_REASON_NUMBERS(X)

#endif
