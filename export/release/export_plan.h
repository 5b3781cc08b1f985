/*
 * Chooses from the results that pass the gate what goes into the files: a few find-db entries for
 * each key, one perf record for each row and solver, and all kernels that these need. Results are
 * read a part at a time; what is chosen is kept in the spool. Internal to the folder.
 */
#ifndef EXPORT_RELEASE_EXPORT_PLAN_H
#define EXPORT_RELEASE_EXPORT_PLAN_H

#include "export/release/export.h"
#include "export/release/export_source.h"
#include "export/release/export_spool.h"
#include "export/release/gate.h"

/* Fills the spool, which is open and empty, and adds the counts to *summary. The caller has
 * initialised summary->refused. *results becomes the number of results read. */
bool export_plan_make(const struct export_source *source, struct export_spool *spool,
                      struct export_summary *summary, int64_t *results, GError **error);

#endif
