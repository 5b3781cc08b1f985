/*
 * Checks the files of each target in a folder together: find-db entries need their rows in a
 * perf-db, their code objects in a kernel-db, and their counterpart in a .sjdb. In the reports of
 * check_report.h, `keys` counts keys of find-dbs and .sjdb files, `entries` the entries that were
 * looked for in other files.
 */
#ifndef EXPORT_CHECK_CHECK_RELEASE_H
#define EXPORT_CHECK_CHECK_RELEASE_H

#include "export/check/check.h"

/* Returns the set of file names (char *) that the manifests among these files list. Unreadable
 * manifests are ignored. */
GHashTable *check_names_of_manifests(const GPtrArray *files);
/* Appends the manifest and the files that it lists and that exist. Elements are freed with
 * g_free(). */
void check_list_release(const char *manifest, GPtrArray *files);

/* Returns a report (struct check_report *, owned) for each target with several of the files, which
 * are all in `folder`. Databases of users (.ufdb.txt, .udb, .ukdb) belong to no release. `ours`:
 * file names that manifests list. */
GPtrArray *check_releases(const char *folder, const GPtrArray *files, GHashTable *ours);

#endif
