/*
 * The table of faults of a chaos farm. A fault strikes a random process or host and reports the jobs that it held at
 * that moment.
 */
#ifndef TESTS_SUPPORT_CHAOS_CHAOS_FAULTS_H
#define TESTS_SUPPORT_CHAOS_CHAOS_FAULTS_H

#include "tests/support/chaos/chaos_farm.h"

struct fault_row {
    const char *name;
    /* Returns why the fault cannot be made on this machine, or NULL. */
    const char *(*why_not)(const struct chaos *chaos);
    /* Makes the fault. Returns the name of the node that it hits ("host0-sim1", or an SQL LIKE
     * pattern for several nodes), valid until the next call; NULL if there is nothing to hit
     * now. */
    const char *(*strike)(struct chaos *chaos);
};

int fault_count(void);
const struct fault_row *fault_at(int index);

struct fault_tally {
    int times;
    /* set of the ids (int64_t *) of jobs that nodes held when the fault hit them */
    GHashTable *touched;
};

/* Makes the fault once; counts it and notes the jobs that it touches. Returns whether it hit a
 * node. */
bool fault_do(struct chaos *chaos, int index, struct fault_tally *tally);

#endif
