/*
 * The table of faults of a chaos farm. A fault strikes a random process or host and reports the jobs that it held at
 * that moment.
 */
#ifndef TESTS_SUPPORT_CHAOS_FAULTS_H
#define TESTS_SUPPORT_CHAOS_FAULTS_H

#include "tests/support/chaos_farm.h"

struct fault_row {
    const char *name;
    /* Why it cannot be done here, or NULL. */
    const char *(*why_not)(const struct chaos *chaos);
    /* Returns the node it strikes ("host0-sim1", a pattern of SQL's LIKE for several), or NULL where it
     * strikes nobody now. Static until the next call. */
    const char *(*strike)(struct chaos *chaos);
};

int fault_count(void);
const struct fault_row *fault_at(int index);

struct fault_tally {
    int times;
    GHashTable *touched; /* int64_t *: ids of jobs */
};

/* Does one, counted, and notes whose jobs it touches; whether it struck anybody. */
bool fault_do(struct chaos *chaos, int index, struct fault_tally *tally);

#endif
