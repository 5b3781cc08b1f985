/* A folder for a test's files, removed with its content when the test ends. */
#ifndef TESTS_SUPPORT_TEMP_FOLDER_H
#define TESTS_SUPPORT_TEMP_FOLDER_H

#include <glib.h>

typedef struct temp_folder TempFolder;
TempFolder *temp_folder_new(void);
void temp_folder_free(TempFolder *folder);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(TempFolder, temp_folder_free)

/* The path of the folder, or of `name` in it; owned by the folder. */
const char *temp_folder_path(TempFolder *folder, const char *name);
/* Writes a file and returns its path; length -1: bytes is a C string. */
const char *temp_folder_write(TempFolder *folder, const char *name, const void *bytes,
                              gssize length);
/* Writes a file compressed by bzip2 and returns its path. */
const char *temp_folder_write_bzip2(TempFolder *folder, const char *name, const void *bytes,
                                    gsize length);
/* Returns a file's whole content; aborts if it cannot be read. */
GBytes *temp_folder_read(const char *path);

#endif
