/*
 * A night's plan as tables for people and as JSON.
 */
#ifndef COORDINATOR_NIGHTS_PLAN_NIGHT_SHOW_H
#define COORDINATOR_NIGHTS_PLAN_NIGHT_SHOW_H

#include "coordinator/nights/plan/night_plan.h"

/* One target's counts by reason, its estimate and what it leaves out, a new reference; the database keeps it with the
 * night. */
json_t *night_target_plan_json(const struct night_target_plan *plan);
/* The object that `run --dry-run --json` prints: sources, caps, and for each target the above with its jobs. */
json_t *night_plan_json(const struct night_file *file, const struct night_sources *sources,
                        const struct night_plan *plan);
/* Prints the plan to standard output. */
void night_plan_print(const struct night_file *file, const struct night_sources *sources,
                      const struct night_plan *plan);

/* Prints for each target of a plan, which was made for the problem alone, why its solvers are worked on or not. in_night:
 * the night has the problem. */
bool night_why_show(const struct night_file *file, const struct night_plan *plan,
                    const struct problem *problem, bool in_night, bool as_json, GError **error);

#endif
