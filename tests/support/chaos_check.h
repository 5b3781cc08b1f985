/*
 * Checks a farm after chaos against three witnesses: the database, the workers' logs of acknowledged results, and
 * the results of an undisturbed farm.
 */
#ifndef TESTS_SUPPORT_CHAOS_CHECK_H
#define TESTS_SUPPORT_CHAOS_CHECK_H

#include "tests/support/chaos_farm.h"

enum finding {
    LOST,       /* neither done nor failed, or what was acknowledged as stored is not there */
    DUPLICATED, /* in two places, or stored under two claims */
    FALSELY_SUCCESSFUL, /* done or kept though an undisturbed farm says otherwise */
    FALSELY_FAILED,     /* failed for a reason that is not true */
};
#define FINDINGS (FALSELY_FAILED + 1)

struct chaos_check {
    GHashTable *jobs[FINDINGS]; /* int64_t *: their ids */
    GPtrArray *words;           /* of each finding, in people's words */
    int acknowledged, refused;  /* evaluated rounds, by the logs */
    int errors;                 /* in the logs, neither a refusal nor a server that is away */
    int worker_lost; /* jobs that failed truly so: three times, each with its line in events */
    int sim_done, sim_failed, real_done, real_failed;
};

void chaos_check_init(struct chaos_check *check, struct chaos *chaos);
void chaos_check_clear(struct chaos_check *check);

#endif
