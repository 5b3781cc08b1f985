/*
 * What a .sjdb file holds and where its bytes go: sections, solvers with what they win, which
 * directions and data types its problems are of.
 */
#ifndef EXPORT_LOOKUP_STATS_H
#define EXPORT_LOOKUP_STATS_H

#include "export/sjdb/reader/skipjackdb.h"

#include <jansson.h>

/* An object: problems, entries, perf_rows, perf_entries, kernels, bytes, meta, sections [{name, items,
 * width, bytes}], solvers [{solver, entries, wins, params}], coverage [{direction, type, problems}].
 * NULL with the library's code where the file is damaged. Free with json_decref(). */
json_t *lookup_stats(const skipjackdb *db, int *code);
void lookup_stats_print(const json_t *stats);

#endif
