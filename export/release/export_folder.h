/*
 * Puts files into a folder all at once: they are made in a temporary folder inside it and renamed.
 * Processes that do so take turns by a lock, and remove what a killed one left. Internal to the
 * folder.
 */
#ifndef EXPORT_EXPORT_FOLDER_H
#define EXPORT_EXPORT_FOLDER_H

#include "export/formats/export_error.h"

struct export_folder {
    char *dir;
    char *temp; /* temporary folder to write into; NULL until export_folder_begin() */
    int fd;
    bool is_new; /* made by export_folder_take(); removed again if nothing comes into it */
};

/* Makes the folder if it is missing and locks it, waiting for other processes. */
bool export_folder_take(struct export_folder *folder, const char *dir, GError **error);
/* Makes an empty temporary folder; an earlier one is removed. */
bool export_folder_begin(struct export_folder *folder, GError **error);
/* Renames the named files from the temporary folder into the folder, the last one first, then the
 * others in order, and appends their new paths to `moved`. Stale files that are not replaced are
 * removed before, and their paths appended to `removed`. */
bool export_folder_keep(struct export_folder *folder, const GPtrArray *names,
                        const GPtrArray *stale, GPtrArray *moved, GPtrArray *removed,
                        GError **error);
/* Removes the temporary folder and releases the lock. Does nothing for a folder that was not taken.
 * */
void export_folder_leave(struct export_folder *folder);

#endif
