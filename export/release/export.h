/*
 * Exports a campaign or a golden version: MIOpen's find-db, perf-db (SQLite and text) and
 * kernel-db, and our .sjdb, named after the target (export/README.md). Every result passes the gate
 * first (gate.h). Files are written into a temporary folder, read back, compared and renamed into
 * place. The same results give the same bytes.
 *
 * Memory does not grow with the number of results: they are read a part at a time, and what is
 * chosen waits in a scratch database. If the campaign is still running, results handed in meanwhile
 * may or may not be included, but a job's results are read together.
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

/* What to export. */
struct export_wish {
    int64_t campaign;
    const char *
        golden_target; /* if not NULL: this target's golden version, which is approved, instead of a campaign */
    int golden_version;
    unsigned what;            /* bits: EXPORT_FIND, ... */
    int top;                  /* entries of a find-db key, at least 1 (export_entries.h) */
    bool limits_workspace;    /* take no config that needs more workspace than: */
    uint64_t workspace_bytes; /* the limit; a job's fastest kept config within it is taken */
    bool dynamic_only;        /* take no solver whose kernels are compiled for one shape */
    bool
        allow_drift; /* also take results measured while the device drifted (schema/store/drift.h) */
    const char *network, *tag; /* only problems of this network or tag; NULL for all */
    bool
        require_complete; /* export nothing from a campaign that is not complete (completeness.h) */
    bool replace;         /* remove files of another release of the target from the folder */
    int part_results;     /* results in memory at a time; 0 for the default */
};

struct export_summary {
    int find_keys, find_entries;
    int perf_configs, perf_records;
    int kernels;
    int built_configs; /* of a build-only campaign, which gives a kernel-db alone */
    int merged;        /* perf records replaced by another problem's of the same row */
    int beyond_limits; /* jobs without a result within the wish's limits */
    int inexpressible; /* problems with an epilogue, which MIOpen's keys cannot express: in the .sjdb alone */
    struct refusals refused;
    struct completeness completeness; /* of a campaign; all 0 for a golden version */
    GPtrArray *files;                 /* paths written, the manifest last */
    GPtrArray *removed;               /* removed paths of another release */
};
/* Frees what the summary holds; allowed for a zeroed one. */
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
 * EXPORT_ERROR_EMPTY: it has no results within the wish; EXPORT_ERROR_CHECK: it was only built and
 * other files than a kernel-db are wished, or a file does not read back; EXPORT_ERROR_INCOMPLETE:
 * it is not complete and that is required; EXPORT_ERROR_FOLDER: `dir` holds another release's files
 * that must not be replaced; EXPORT_ERROR_IO: a file cannot be written.
 */
bool export_campaign(Store *store, const struct export_wish *wish, const char *dir,
                     struct export_summary *summary, GError **error);
/* The same with another manifest. `write` writes it to `path` and takes `files`, its member of that
 * name; `target` is the one that the database knows. */
struct export_manifest {
    bool (*write)(void *data, const struct export_wish *wish, const struct target *target,
                  json_t *files, const char *path, GError **error);
    void *data;
};
bool export_with_manifest(Store *store, const struct export_wish *wish,
                          const struct export_manifest *manifest, const char *dir,
                          struct export_summary *summary, GError **error);

#endif
