/*
 * The files of a folder as releases, one a target: what one file needs, another one has to hold. find-dbs
 * are compared with perf-dbs, kernel-dbs and .sjdb files of the same target. Reports are those of check.h;
 * in them `keys` are keys of find-dbs and of .sjdb files, `entries` those that were looked for elsewhere.
 */
#ifndef EXPORT_CHECK_RELEASE_H
#define EXPORT_CHECK_RELEASE_H

#include "export/check/check.h"

/* Names (char *, keys of a set) that manifests of these files list. Files that are no readable manifest
 * are passed over. */
GHashTable *check_names_of_manifests(const GPtrArray *files);
/* The files that a manifest and those beside it are: itself, and what it lists and is there. Appends to
 * files (g_free). */
void check_list_release(const char *manifest, GPtrArray *files);

/* One report (struct check_report *, owned) of each target that has several of the files, which are of one
 * folder; users' own databases (.ufdb.txt, .udb, .ukdb) are no part of a release. ours: names in it that
 * manifests list. */
GPtrArray *check_releases(const char *folder, const GPtrArray *files, GHashTable *ours);

#endif
