/*
 * Puts files into a folder: they are written into a temporary folder inside of it and then renamed.
 * Processes that do this take turns by a lock, and the next process removes the temporary folder of
 * one that was killed. Internal to the folder.
 */
#ifndef EXPORT_RELEASE_EXPORT_FOLDER_H
#define EXPORT_RELEASE_EXPORT_FOLDER_H

#include "export/formats/export_error.h"

struct export_folder {
    char *dir;
    char *temp; /* path of the temporary folder to write into; NULL before export_folder_begin() */
    int fd;
    /* true if export_folder_take() made the folder: it is removed again if no file was put into
     * it */
    bool is_new;
};

/* Makes the folder if it is missing and locks it, waiting for other processes. On a file system
 * without locks it stays unlocked, and the temporary folders of others are left alone. */
bool export_folder_take(struct export_folder *folder, const char *dir, GError **error);
/* Makes an empty temporary folder; one that exists already is removed first. */
bool export_folder_begin(struct export_folder *folder, GError **error);
/* Removes stale files that are not replaced, and appends their paths to `removed`. Then renames the
 * named files from the temporary folder into the folder, the last name first and the others in
 * order, and appends their new paths to `moved`. */
bool export_folder_keep(struct export_folder *folder, const GPtrArray *names,
                        const GPtrArray *stale, GPtrArray *moved, GPtrArray *removed,
                        GError **error);
/* Removes the temporary folder and releases the lock. Does nothing for a folder that was not taken.
 * */
void export_folder_leave(struct export_folder *folder);

#endif
