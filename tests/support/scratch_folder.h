/* A folder for a test's own files, below the system's temporary folder. */
#ifndef TESTS_SUPPORT_SCRATCH_FOLDER_H
#define TESTS_SUPPORT_SCRATCH_FOLDER_H

/* Makes it and returns its path, to be given to scratch_folder_remove(). Aborts when it cannot. */
char *scratch_folder_new(void);

/* Removes it with all it holds and frees the path. */
void scratch_folder_remove(char *path);

#endif
