/*
 * Reading files that hold settings: descriptions of campaigns, passwords,
 * credentials. They are small, so a device, a pipe without end or a wrong file
 * ends at a limit instead of filling the memory.
 */
#ifndef SCHEMA_SMALL_FILE_H
#define SCHEMA_SMALL_FILE_H

#include <glib.h>
#include <stdbool.h>

/* Returns the file's bytes with a NUL behind them, to be freed with g_free(), and sets *length (which may
 * be NULL). NULL with a G_FILE_ERROR that names the path: G_FILE_ERROR_FAILED past limit bytes, and
 * G_FILE_ERROR_INVAL where there is a NUL byte among them. */
char *small_file_read(const char *path, gsize limit, gsize *length, GError **error);

#endif
