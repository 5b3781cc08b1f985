/*
 * Exports a campaign or a golden version: MIOpen's find-db, perf-db (SQLite and text) and kernel-db, and our .sjdb,
 * named after the target (export/README.md). A build-only campaign gives a kernel-db and a .sjdb whose solutions are
 * marked as never measured. Only results that pass the gate (gate.h) are written. Files are written into a temporary
 * folder, read back, compared and renamed into place. The same results give the same bytes.
 *
 * Results are read a part at a time, and what is chosen waits in a scratch database, so memory does
 * not grow with the number of results. If the campaign is still running, results handed in during
 * the export may or may not be included; the results of one job are always read together.
 */
#ifndef EXPORT_RELEASE_EXPORT_H
#define EXPORT_RELEASE_EXPORT_H

#include "export/formats/export_error.h"
#include "export/release/export_folder.h"
#include "export/release/refusals.h"
#include "schema/farm/completeness.h"
#include "schema/store/store.h"

#include <jansson.h>

#define EXPORT_FIND    1u
#define EXPORT_PERF    2u
#define EXPORT_KERNELS 4u
#define EXPORT_COMPACT 8u
#define EXPORT_ALL     (EXPORT_FIND | EXPORT_PERF | EXPORT_KERNELS | EXPORT_COMPACT)

/* What to export. */
struct export_wish {
    int64_t campaign;
    const char
        *golden_target; /* the target whose golden version is exported; NULL to export a campaign */
    int golden_version; /* its number; that it is approved is for the caller to check */
    unsigned what;      /* bits EXPORT_FIND, EXPORT_PERF, ...: the formats to write */
    int top;            /* most entries of a find-db key, at least 1 (see export_entries.h) */
    bool limits_workspace; /* true: choose only configs that need at most workspace_bytes */
    /* limit on the workspace; each job then gives its fastest kept config within it */
    uint64_t workspace_bytes;
    bool dynamic_only; /* true: choose no solver whose kernels are compiled for one shape */
    /* true: choose results measured while the device drifted or was throttled, too (schema/store/drift.h) */
    bool allow_drift;
    const char *network, *tag; /* only problems of this network or tag; NULL for all */
    bool require_complete;     /* true: fail if the campaign is not complete (completeness.h) */
    bool replace; /* true: remove another release's files of this target from the folder */
    /* about this many results are in memory at a time; 0 for EXPORT_PART_RESULTS */
    int part_results;
};

struct export_summary {
    int find_keys, find_entries;
    int perf_configs, perf_records;
    int kernels;
    /* configs of a build-only campaign, whose export is a kernel-db and a .sjdb, and their problems */
    int built_configs, built_problems;
    /* JSON object: how many configs of each solver the .sjdb cannot hold, since their problems have too many; NULL for
     * what was measured */
    json_t *beyond_sjdb;
    /* perf records that are not written, since another problem with the same row and solver
     * gives the record */
    int merged;
    int beyond_limits; /* jobs that have results, but none within the limits of the wish */
    /* problems that MIOpen's keys cannot name, so only the .sjdb has them; lacks: by the property that keys lack */
    int inexpressible;
    int lacks[FIND_KEY_LACKS];
    struct refusals refused;
    struct completeness completeness; /* of the exported campaign; all 0 for a golden version */
    /* JSON array of the chosen results that were verified in part: problem, solver, verified_share; NULL for none */
    json_t *verified_in_part;
    /* How the chosen results were proved. proved: results with RESULT_PROOF_RUNS runs or more; unproved: results
     * without a run; briefly_proved: a JSON array of those with fewer runs (problem, solver, proof_runs, proof_kinds),
     * NULL for none. */
    int proved, unproved;
    json_t *briefly_proved;
    GPtrArray *files; /* char *: paths of the files written, the manifest last */
    /* char *: paths of another release's files that were removed */
    GPtrArray *removed;
};
/* Frees the summary's content. Also allowed for a zeroed struct. */
void export_summary_clear(struct export_summary *summary);

/*
 * Writes the wished files and their manifest (formats/manifest.h) into `dir`, which is made if it
 * is missing, and replaces older files of those names. Results that the gate refuses are left out
 * and listed in the summary; the call still succeeds.
 *
 * Files are replaced one after another, each as a whole: the manifest first, then the kernel-db,
 * the find-db last. An export that was killed among them is simply repeated. Exports into one
 * folder take turns. *summary is zeroed by the caller, and cleared by the caller also after
 * failure. Its counts are of what was chosen, whatever wish->what says.
 *
 * Returns false, with no file of `dir` changed, if the campaign or version is unknown;
 * EXPORT_ERROR_EMPTY: it has no results within the wish; EXPORT_ERROR_CHECK: the campaign was
 * imported, or it was only built and files with times are wished, or a file does not
 * read back; EXPORT_ERROR_INCOMPLETE: it is not complete and that is required;
 * EXPORT_ERROR_FOLDER: `dir` holds another release's files that must not be replaced;
 * EXPORT_ERROR_IO: a file cannot be written (if removing or renaming a file fails, those removed
 * or renamed before it stay so).
 */
bool export_campaign(Store *store, const struct export_wish *wish, const char *dir,
                     struct export_summary *summary, GError **error);
/* Does the same with a manifest that the caller writes. write() writes it to `path`, for `target` as the database has
 * it, and takes over `files`, the manifest's member "files". The text must be a JSON object with members that ends with
 * a line of one brace: the export puts the member "second_measurements" in front of that brace. */
struct export_manifest {
    bool (*write)(void *data, const struct export_wish *wish, const struct target *target,
                  json_t *files, const char *path, GError **error);
    void *data;
};
bool export_with_manifest(Store *store, const struct export_wish *wish,
                          const struct export_manifest *manifest, const char *dir,
                          struct export_summary *summary, GError **error);

#endif
