/*
 * Lists the files in a folder that belong to a target, and finds out whose they are. A folder may
 * hold files of several targets, since libraries read one folder for all; files of other targets
 * are ignored.
 */
#ifndef EXPORT_RELEASE_RELEASE_FOLDER_H
#define EXPORT_RELEASE_RELEASE_FOLDER_H

#include "export/formats/manifest.h"

struct release_folder {
    /* char *: names of all files of this target in the folder, with its manifests */
    GPtrArray *names;
    Manifest *manifest; /* the manifest of this release, NULL if the folder has none */
    /* true if the manifest was written for other options ("part") than this export's */
    bool other_part;
    /* char *: file names of another release of the target, which the export removes */
    GPtrArray *stale;
};

/*
 * Looks into the folder, which may be missing. False with EXPORT_ERROR_FOLDER if it holds files of
 * the target from another release (a manifest says whose they are; without a manifest, the .sjdb
 * does), or a file that no manifest lists. With `replace` such files are listed as stale instead.
 * Only names that a release has are listed: TARGET and .kdb, .db, .db.txt, .sjdb, .HIP.fdb.txt,
 * .export.json or .golden.json. Clear *folder also after failure.
 */
bool release_folder_read(struct release_folder *folder, const char *dir,
                         const struct release_name *release, bool replace, GError **error);
void release_folder_clear(struct release_folder *folder);
/* To be called when the written files are known. Files that stay beside them but belong to another
 * part of the release, or to other results of the campaign, are refused with EXPORT_ERROR_FOLDER,
 * or become stale with `replace`. *kept: files of the same part, which stay in the manifest (struct
 * manifest_file *, owned by *folder). */
bool release_folder_settle(struct release_folder *folder, const char *dir,
                           const struct release_name *release, const GPtrArray *written,
                           bool replace, GPtrArray **kept, GError **error);

#endif
