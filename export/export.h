/*
 * Export of a campaign into MIOpen's files: find-db, perf-db (SQLite and
 * text) and kernel-db, named after the campaign's target. Everything passes
 * the gate first (gate.h); the files are written into a temporary folder, read
 * back, compared, and only then renamed into place. The same results give the
 * same bytes.
 */
#ifndef EXPORT_EXPORT_H
#define EXPORT_EXPORT_H

#include "export/export_error.h"
#include "schema/store.h"

#define EXPORT_FIND    1u
#define EXPORT_PERF    2u
#define EXPORT_KERNELS 4u
#define EXPORT_ALL     (EXPORT_FIND | EXPORT_PERF | EXPORT_KERNELS)

/* A result that was left out: FAILURE_REFUSED_BY_CHECK. */
struct export_refusal {
    char *problem, *solver, *reason;
};

struct export_summary {
    int find_keys, find_entries;
    int perf_configs, perf_records;
    int kernels;
    int merged;         /* perf records that gave way to another problem's of the same row */
    int inexpressible;  /* problems that MIOpen's keys cannot express: they have an epilogue */
    GPtrArray *refused; /* struct export_refusal * */
    GPtrArray *files;   /* paths written */
};
/* For a zeroed summary: frees what is in it. */
void export_summary_clear(struct export_summary *summary);

/*
 * Writes the files of `what` (EXPORT_FIND, ... or'ed) into dir, which is made when it is missing;
 * older files of those names are replaced. Results refused by the gate are left out and listed,
 * the call still returns true. False when the campaign is unknown, has no results
 * (EXPORT_ERROR_EMPTY), or a file cannot be written or does not read back: no file of dir is
 * changed then. Each file is replaced whole, but one after another: a kernel-db first, the find-db
 * last; an export that was killed among them is repeated. Exports into one folder take turns. Fills *summary (zeroed by the caller, also on failure the caller's to clear).
 * Counts are of what was chosen, whatever `what` says.
 */
bool export_campaign(Store *store, int64_t campaign, unsigned what, const char *dir,
                     struct export_summary *summary, GError **error);

#endif
