/*
 * A campaign's kernels: registers and memory by their compilers' reports, the occupancy that
 * follows, and matrix instructions.
 */
#ifndef COORDINATOR_REPORTS_REPORT_KERNELS_H
#define COORDINATOR_REPORTS_REPORT_KERNELS_H

#include "coordinator/cli/table.h"
#include "schema/store/store.h"

/* A row a kernel; people see their instructions or their options, JSON has both. Free with table_free(). */
Table *report_kernels(Store *store, int64_t campaign, bool instructions, GError **error);

/* The instructions of matrix units among the kernels' (struct kernel_row *), a row each: in how many
 * kernels, and how often in all. */
Table *report_matrix_instructions(const GPtrArray *kernels);

#endif
