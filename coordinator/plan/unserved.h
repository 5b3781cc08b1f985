/*
 * Problems that no solver serves (FP8 and BF8, casts, epilogues): users hear
 * of them when they import a list and when they make a campaign, with the
 * reason, and not only from a report.
 */
#ifndef COORDINATOR_PLAN_UNSERVED_H
#define COORDINATOR_PLAN_UNSERVED_H

#include "solvers/framework/solver.h"

#include <jansson.h>

/* Such problems by their reason. */
typedef struct unserved Unserved;

Unserved *unserved_new(void);
void unserved_free(Unserved *unserved);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Unserved, unserved_free)

/* Adds the problem where no solver serves it on the target, or for target NULL on any kind of target. */
void unserved_ask(Unserved *unserved, const struct problem *p, const struct target *target);
int unserved_count(const Unserved *unserved);

/* Says on standard error how many there are, each reason in a line with an example. Prints nothing where every
 * problem is served. */
void unserved_say(const Unserved *unserved);
/* The same as an array of objects: reason, problems (how many), example (a key). */
json_t *unserved_json(const Unserved *unserved);

#endif
