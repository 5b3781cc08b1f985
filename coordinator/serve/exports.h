/*
 * The folder of --exports: files to download. Only regular files below it are
 * served; symbolic links and names that begin with a dot are not, neither as
 * files nor as folders. Any thread may call.
 */
#ifndef COORDINATOR_SERVE_EXPORTS_H
#define COORDINATOR_SERVE_EXPORTS_H

#include <glib.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct exports Exports;

/* NULL with G_FILE_ERROR if the folder cannot be opened. */
Exports *exports_open(const char *folder, GError **error);
void exports_close(Exports *exports);

/* The files behind the path `after` (NULL: from the first) in the order of their paths, `limit` at most: the schema
 * ExportFile. *more: there are others. SHA-256 is computed for EXPORTS_HASH_BYTES a call and kept; a file whose turn
 * has not come has null. At most EXPORTS_FILES_MOST files are looked at. */
#define EXPORTS_HASH_BYTES ((int64_t)256 * 1024 * 1024)
#define EXPORTS_FILES_MOST 10000
json_t *exports_list(Exports *exports, const char *after, int limit, bool *more);

/* Opens a file by its path below the folder. Returns -1 if no file of that path is served. *etag: free with g_free(). */
int exports_file(Exports *exports, const char *path, uint64_t *bytes, char **etag);

#endif
