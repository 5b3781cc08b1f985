/*
 * A campaign's kernels: registers and memory by their compilers' reports, the occupancy that
 * follows, and matrix instructions.
 */
#ifndef COORDINATOR_REPORTS_REPORT_KERNELS_H
#define COORDINATOR_REPORTS_REPORT_KERNELS_H

#include "coordinator/cli/table.h"
#include "schema/store/store.h"

/* Returns a table with one row for each kernel. People see the column with instructions, or the one
 * with options; JSON has both. Free with table_free(). */
Table *report_kernels(Store *store, int64_t campaign, bool instructions, GError **error);

/* Returns a table with one row for each matrix-unit instruction that occurs in the kernels (struct
 * kernel_row *): in how many kernels it occurs, and how often in all. */
Table *report_matrix_instructions(const GPtrArray *kernels);

#endif
