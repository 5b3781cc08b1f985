/*
 * What goes into the files, chosen from the results that pass the gate: a few
 * find-db entries a key, one perf record a config row and solver, and
 * every kernel that any of them needs. Results are gone through a part at a
 * time; what is chosen lies in the spool. Internal to the room.
 */
#ifndef EXPORT_EXPORT_PLAN_H
#define EXPORT_EXPORT_PLAN_H

#include "export/release/export.h"
#include "export/release/export_source.h"
#include "export/release/export_spool.h"
#include "export/release/gate.h"

/* Fills the spool, which is open and empty. Counts into *summary, whose refused must be there; *results is how
 * many there were at all. */
bool export_plan_make(const struct export_source *source, struct export_spool *spool,
                      struct export_summary *summary, int64_t *results, GError **error);

#endif
