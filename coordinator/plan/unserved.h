/*
 * Problems that no solver serves (epilogues in FP64, pools in FP8, huge tensors): users hear
 * of them when they import a list and when they make a campaign, with the
 * reason, and not only from a report.
 */
#ifndef COORDINATOR_PLAN_UNSERVED_H
#define COORDINATOR_PLAN_UNSERVED_H

#include "solvers/framework/solver.h"

#include <jansson.h>

/* Problems that no solver serves, grouped by the reason. */
typedef struct unserved Unserved;

Unserved *unserved_new(void);
void unserved_free(Unserved *unserved);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Unserved, unserved_free)

/* Adds the problem if no solver serves it on the target; for NULL, if no solver serves it on any
 * kind of target. */
void unserved_ask(Unserved *unserved, const struct problem *p, const struct target *target);
int unserved_count(const Unserved *unserved);

/* Prints on standard error how many problems there are, and for each reason a line with an example.
 * Prints nothing if every problem is served. */
void unserved_say(const Unserved *unserved);
/* Returns an array with an object for each reason: solver (the one that is nearest to serving the
 * problems; null if none computes the operator), reason (what it lacks), problems (how many), example
 * (a key). A new reference. */
json_t *unserved_json(const Unserved *unserved);

#endif
