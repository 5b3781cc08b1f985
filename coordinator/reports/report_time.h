/*
 * Where a campaign's time went, and why: what each problem took, what that gained, and what its next
 * round is expected to gain (coordinator/CAMPAIGNS.md).
 */
#ifndef COORDINATOR_REPORTS_REPORT_TIME_H
#define COORDINATOR_REPORTS_REPORT_TIME_H

#include "coordinator/cli/table.h"
#include "schema/store/store.h"

/* Returns a table with one row for each of these problems (struct problem_time *), the one that took most time first.
 * Sorts `times`. Shares of the network's time count the problems that have one. Free with table_free(). */
Table *report_time_table(GPtrArray *times);

/* Reads a campaign's problems, some at a time. Free with table_free(). */
Table *report_time(Store *store, int64_t campaign, GError **error);

#endif
