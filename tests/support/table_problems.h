/*
 * Problems and targets that the rows of the solver table are looked at with.
 */
#ifndef TESTS_SUPPORT_TABLE_PROBLEMS_H
#define TESTS_SUPPORT_TABLE_PROBLEMS_H

#include <glib.h>

#include "solvers/framework/target.h"
#include "solvers/problem/problem.h"

#define TABLE_TARGETS 4

/* struct problem *, each in all directions: what most solvers serve some of, and a few for those that
 * serve none of these. The fingerprints of all solvers are of them. */
GPtrArray *table_problems_common(void);
GPtrArray *table_problems_rare(void);

void table_targets(struct target targets[TABLE_TARGETS]);

#endif
