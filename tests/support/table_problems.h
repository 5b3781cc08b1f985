/* Problems and targets for tests that ask every row of the solver table. */
#ifndef TESTS_SUPPORT_TABLE_PROBLEMS_H
#define TESTS_SUPPORT_TABLE_PROBLEMS_H

#include <glib.h>

#include "solvers/framework/target.h"
#include "solvers/problem/problem.h"

#define TABLE_TARGETS 4

/* Convolutions (struct problem *), each in all three directions: `common` ones, of which most solvers
 * serve some, and `rare` ones for the solvers that serve none of these. All fingerprints are
 * computed over them. */
GPtrArray *table_problems_common(void);
GPtrArray *table_problems_rare(void);

/* Problems of the operators that are not convolutions, forward only. */
GPtrArray *table_problems_operators(void);

void table_targets(struct target targets[TABLE_TARGETS]);

#endif
