/*
 * Reading small files: campaign descriptions, passwords, credentials. A limit
 * protects the memory from a device, an endless pipe or a wrong file.
 */
#ifndef SCHEMA_SMALL_FILE_H
#define SCHEMA_SMALL_FILE_H

#include <glib.h>
#include <stdbool.h>

/* Returns the file's bytes followed by a NUL; free with g_free(). *length (may be NULL) is their number
 * without it. NULL with a G_FILE_ERROR that names the path: G_FILE_ERROR_FAILED beyond `limit` bytes,
 * G_FILE_ERROR_INVAL if the file contains a NUL. */
char *small_file_read(const char *path, gsize limit, gsize *length, GError **error);

/* Returns the first line of a file that holds a secret, without its line end; free with g_free(). NULL with a
 * G_FILE_ERROR that names the path: G_FILE_ERROR_PERM if group or others may read the file, G_FILE_ERROR_INVAL if the
 * line is empty. Pipes are taken as they are. */
char *small_file_secret(const char *path, GError **error);

#endif
