/*
 * Checks a farm after chaos against three witnesses: the database, the workers' logs of acknowledged results, and
 * the results of an undisturbed farm.
 */
#ifndef TESTS_SUPPORT_CHAOS_CHAOS_CHECK_H
#define TESTS_SUPPORT_CHAOS_CHAOS_CHECK_H

#include "tests/support/chaos/chaos_farm.h"

enum finding {
    /* neither done nor failed, or an acknowledged round is not in the database under its claim's fence */
    LOST,
    DUPLICATED, /* in two bundles, acknowledged under two claims' fences, or never planned */
    FALSELY_SUCCESSFUL, /* done, or a result kept, where the undisturbed farm's results differ */
    FALSELY_FAILED,     /* failed for a reason that cannot have occurred */
};
#define FINDINGS (FALSELY_FAILED + 1)

struct chaos_check {
    GHashTable *jobs[FINDINGS]; /* by finding: set of the ids (int64_t *) of affected jobs */
    GPtrArray *words;           /* a sentence for each finding */
    int acknowledged, refused;  /* counts of evaluated rounds, from the workers' logs */
    int errors;      /* errors in the logs other than refused results and an unreachable server */
    int worker_lost; /* jobs that failed as worker lost, with three losses in the event log */
    int sim_done, sim_failed, real_done, real_failed;
};

void chaos_check_init(struct chaos_check *check, struct chaos *chaos);
void chaos_check_clear(struct chaos_check *check);

#endif
