/*
 * The files of a target's release in a folder, and whose they are. Files of other targets may lie beside
 * them: libraries read one folder for all targets.
 */
#ifndef EXPORT_RELEASE_FOLDER_H
#define EXPORT_RELEASE_FOLDER_H

#include "export/formats/manifest.h"

struct release_folder {
    GPtrArray
        *names; /* char *: the release's files of the target that are there, its manifests too */
    Manifest *manifest; /* of the same release, or NULL */
    bool other_part;    /* the manifest is of another part of it */
    GPtrArray *stale;   /* char *: names that are another release's and are to be removed */
};

/*
 * Looks into the folder, which need not be there. False with EXPORT_ERROR_FOLDER where it holds files of the
 * target that are not this release's: a manifest says so, or a .sjdb in a folder without one, or a file is in
 * no manifest. With replace they are listed as stale instead. Only files with names that a release has are ever
 * listed: TARGET and .kdb, .db, .db.txt, .sjdb, .HIP.fdb.txt, .export.json or .golden.json.
 * Clear *folder also after failure.
 */
bool release_folder_read(struct release_folder *folder, const char *dir,
                         const struct release_name *release, bool replace, GError **error);
void release_folder_clear(struct release_folder *folder);
/* Once it is known which files are written: files of another part of the release that stay beside them are
 * refused with EXPORT_ERROR_FOLDER, or become stale; likewise those with other results of the campaign. *kept: files of the same part that stay, and stay in the
 * manifest (struct manifest_file *, the folder's own). */
bool release_folder_settle(struct release_folder *folder, const char *dir,
                           const struct release_name *release, const GPtrArray *written,
                           bool replace, GPtrArray **kept, GError **error);

#endif
