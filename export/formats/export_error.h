/*
 * Errors of this room, and the results of reading a file row by row.
 */
#ifndef EXPORT_FORMATS_EXPORT_ERROR_H
#define EXPORT_FORMATS_EXPORT_ERROR_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#define EXPORT_ERROR (export_error_quark())
GQuark export_error_quark(void);

enum export_error {
    EXPORT_ERROR_IO,         /* A file cannot be opened, read, written or renamed. */
    EXPORT_ERROR_SYNTAX,     /* A line or row does not follow its format. */
    EXPORT_ERROR_DAMAGED,    /* Compressed or SQLite data is cut off or spoilt. */
    EXPORT_ERROR_KIND,       /* The content has no format that is known here. */
    EXPORT_ERROR_EMPTY,      /* There is nothing to export. */
    EXPORT_ERROR_USAGE,      /* The options contradict each other. */
    EXPORT_ERROR_STOPPED,    /* The caller's callback told the reader to stop. */
    EXPORT_ERROR_TARGET,     /* Files are of different targets. */
    EXPORT_ERROR_FOLDER,     /* A folder holds another release's files. */
    EXPORT_ERROR_INCOMPLETE, /* A campaign is not done, or has problems without a winner. */
    EXPORT_ERROR_CHECK,      /* A written file, read back, differs from what was meant. */
};

/* Sets EXPORT_ERROR_IO: "cannot DOING 'PATH': " and the reason in errno. Always returns false. */
bool export_io_error(const char *doing, const char *path, GError **error);

/* Flushes a file to disk. Called before the file is renamed into place, so that a crash leaves
 * either the old file or the whole new one. */
bool export_sync_file(const char *path, GError **error);

/* The result of a reader's _next function. */
enum read_step {
    READ_ROW, /* A row was read. */
    READ_BAD, /* The row cannot be used: *error says why. The next call reads the row after it. */
    READ_END, /* No more rows. */
    READ_FAILED, /* Reading ended early: *error says why, and no call can follow. */
};

#endif
