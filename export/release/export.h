/*
 * Export of a campaign or a golden version into MIOpen's files: find-db, perf-db (SQLite and
 * text) and kernel-db, and into our own .sjdb, named after the target. Everything passes
 * the gate first (gate.h); the files are written into a temporary folder, read
 * back, compared, and only then renamed into place. The same results give the
 * same bytes. Memory does not grow with their number: they are read a part at a
 * time, and what is chosen lies in a scratch database in the temporary folder.
 * Of a campaign at work what is handed in meanwhile may be in them or not; a
 * job's results are read together.
 */
#ifndef EXPORT_EXPORT_H
#define EXPORT_EXPORT_H

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

/* What goes into the files, of a campaign or of a golden version. */
struct export_wish {
    int64_t campaign;
    const char *golden_target; /* not NULL: of its version, which is approved, and of no campaign */
    int golden_version;
    unsigned what;            /* EXPORT_FIND, ... or'ed */
    int top;                  /* entries of a find-db key, at least 1: see export_entries.h */
    bool limits_workspace;    /* nothing that needs more than: */
    uint64_t workspace_bytes; /* of the configs of a job the fastest one within it is taken */
    bool dynamic_only;        /* nothing whose kernels are compiled for a shape */
    bool allow_drift; /* also what was measured while the device drifted (schema/store/drift.h) */
    const char *network, *tag; /* problems of these alone; NULL for all */
    bool require_complete;     /* of a campaign: nothing, unless it is complete (completeness.h) */
    bool replace;              /* files of another release of the target in the folder give way */
    int part_results;          /* as many are in memory at a time; 0 for what is usual */
};

struct export_summary {
    int find_keys, find_entries;
    int perf_configs, perf_records;
    int kernels;
    int built_configs; /* of a build-only campaign, which fills a kernel-db alone */
    int merged;        /* perf records that gave way to another problem's of the same row */
    int beyond_limits; /* jobs without a result within the wish's limits */
    int inexpressible; /* problems that MIOpen's keys cannot express: they have an epilogue, and are in
                           the .sjdb alone */
    struct refusals refused;
    struct completeness completeness; /* of a campaign; of a golden version all 0 */
    GPtrArray *files;                 /* paths written, the manifest last */
    GPtrArray *removed;               /* paths of another release that were removed */
};
/* For a zeroed summary: frees what is in it. */
void export_summary_clear(struct export_summary *summary);

/*
 * Writes the files that are wished for into dir, which is made when it is missing, and their manifest
 * (formats/manifest.h); older files of those names are replaced. Results refused by the gate are left out and
 * listed, the call still returns true. False, and no file of dir is changed, when the campaign or version is
 * unknown; has no results, or none within the wish (EXPORT_ERROR_EMPTY); was only built and other files than a
 * kernel-db are named (EXPORT_ERROR_CHECK); is not complete where that is asked for (EXPORT_ERROR_INCOMPLETE);
 * when dir holds files of another release of the target that are not to be replaced (EXPORT_ERROR_FOLDER); or
 * when a file cannot be written or does not read back. Each file is replaced whole, but one after
 * another: the manifest first, then a kernel-db, the find-db last; an export that was killed among them is
 * repeated. Exports into one folder take turns. Fills *summary (zeroed by the caller, also on failure the
 * caller's to clear). Counts are of what was chosen, whatever `what` says.
 */
bool export_campaign(Store *store, const struct export_wish *wish, const char *dir,
                     struct export_summary *summary, GError **error);
/* Likewise, with another manifest: `write` makes it at path, and takes its member "files"; target is the
 * one that the database knows. */
struct export_manifest {
    bool (*write)(void *data, const struct export_wish *wish, const struct target *target,
                  json_t *files, const char *path, GError **error);
    void *data;
};
bool export_with_manifest(Store *store, const struct export_wish *wish,
                          const struct export_manifest *manifest, const char *dir,
                          struct export_summary *summary, GError **error);

#endif
