/*
 * What is known of a campaign's kernels: what their compilers say they need, how many waves that leaves
 * room for, and which instructions they have.
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
