/*
 * The folder of a night's releases: one folder for each night, named by its date, and the link "latest", which is
 * replaced in one step. A reader of latest/ sees the old release or the new one as a whole. A folder belongs to one name
 * of nights.
 */
#ifndef COORDINATOR_NIGHTS_RELEASE_DIR_H
#define COORDINATOR_NIGHTS_RELEASE_DIR_H

#include <glib.h>
#include <stdbool.h>

struct release_dir {
    char *folder; /* of all releases */
    char *
        place; /* FOLDER/DATE; after publishing an unchanged release the folder that "latest" names */
    char *part; /* FOLDER/.part-DATE, where the files are written */
};

enum release_change {
    RELEASE_EMPTY, /* nothing was written */
    RELEASE_SAME,  /* the files are those of "latest", which stays */
    RELEASE_NEW,   /* the files are in FOLDER/DATE, and "latest" names it */
};

/* Makes the folder, and an empty part in it; what an earlier process left in the part is removed. Clear *dir also
 * after failure. */
bool release_dir_begin(struct release_dir *dir, const char *folder, const char *date,
                       GError **error);
/* Puts the part into the release's place, lets "latest" name it, and removes all but the newest `keep` nights (0:
 * none). If "latest" has the same files with the same bytes, the part is removed and nothing else changes. */
bool release_dir_publish(struct release_dir *dir, int keep, enum release_change *change,
                         GError **error);
/* Removes the part. */
void release_dir_drop(const struct release_dir *dir);
void release_dir_clear(struct release_dir *dir);

#endif
