/* Converts a perf-db row to bytes. Comparing such bytes with memcmp() gives the order of
 * perf_record_compare(), so SQLite can sort them. Internal to the folder. */
#ifndef EXPORT_RELEASE_PERF_ROW_BLOB_H
#define EXPORT_RELEASE_PERF_ROW_BLOB_H

#include "solvers/problem/problem_key.h"

#define PERF_ROW_BLOB_MAX (sizeof(struct perf_row))

/* Returns the number of bytes. */
size_t perf_row_to_blob(const struct perf_row *row, guint8 blob[PERF_ROW_BLOB_MAX]);
/* Reads the row back from bytes that perf_row_to_blob() made. */
void perf_row_from_blob(struct perf_row *row, const guint8 *blob);

#endif
