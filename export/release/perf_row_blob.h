/* A perf-db row as bytes whose order by memcmp() is that of perf_record_compare(). Internal to the room. */
#ifndef EXPORT_PERF_ROW_BLOB_H
#define EXPORT_PERF_ROW_BLOB_H

#include "solvers/problem/problem_key.h"

#define PERF_ROW_BLOB_MAX (sizeof(struct perf_row))

/* Returns how many bytes. */
size_t perf_row_to_blob(const struct perf_row *row, guint8 blob[PERF_ROW_BLOB_MAX]);
/* For what that made. */
void perf_row_from_blob(struct perf_row *row, const guint8 *blob);

#endif
