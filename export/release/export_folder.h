/*
 * A folder that files come into whole or not at all: they are made in a temporary folder inside it, and
 * renamed. Those who do so take turns, and remove what one that was killed left. Internal to the room.
 */
#ifndef EXPORT_EXPORT_FOLDER_H
#define EXPORT_EXPORT_FOLDER_H

#include "export/formats/export_error.h"

struct export_folder {
    char *dir;
    char *temp; /* where to write; NULL until export_folder_begin() */
    int fd;
    bool is_new; /* it was made here, and goes again when nothing comes into it */
};

/* Makes the folder when it is missing, and waits for those who have it. */
bool export_folder_take(struct export_folder *folder, const char *dir, GError **error);
/* An empty temporary folder; an earlier one is lost. */
bool export_folder_begin(struct export_folder *folder, GError **error);
/* Moves files of these names to where they belong, the last one first and then the others in their order,
 * and adds their new paths to moved. The stale files are removed before, except those that are replaced;
 * their paths are added to removed. */
bool export_folder_keep(struct export_folder *folder, const GPtrArray *names,
                        const GPtrArray *stale, GPtrArray *moved, GPtrArray *removed,
                        GError **error);
/* Removes what is temporary. For a folder that was not taken it does nothing. */
void export_folder_leave(struct export_folder *folder);

#endif
