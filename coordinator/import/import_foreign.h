/*
 * Foreign campaigns: find-dbs (both grammars) and perf-dbs (SQLite and text) of one target become
 * one campaign of times and perf configs that somebody else measured. The files are read row by
 * row and stored in pieces of one transaction, so that memory does not grow with the files, and
 * an import that fails stores nothing. The same content, under whatever names and in whatever
 * order, is imported once. Rows that cannot be used are listed with file, line and reason.
 */
#ifndef COORDINATOR_IMPORT_IMPORT_FOREIGN_H
#define COORDINATOR_IMPORT_IMPORT_FOREIGN_H

#include "schema/store/store.h"
#include "solvers/framework/target.h"

/* most rows that are kept with the reason why they were left out; further rows are only counted */
#define FOREIGN_SKIPS_KEPT 1000

struct foreign_request {
    char **paths; /* paths of the files, NULL-terminated, at least one */
    /* the target's id; NULL to take it from the files' names, which must agree */
    const char *target;
    /* name of the campaign; NULL to take the first file's name up to its first dot */
    const char *name;
    /* Called after every few thousand rows, and at a file's end, with the file's path and the number of its entries so
     * far; may be NULL. */
    void (*progress)(const char *path, int64_t entries);
};

/* A row that was left out. */
struct foreign_skip {
    const char *file; /* path of the file; belongs to the request */
    int64_t line;     /* number of the line, from 1; in a SQLite file the row's id */
    char *reason;
};

struct foreign_file {
    const char *path, *format; /* path: the file; format: "find-db", "perf-db" or "perf-db text" */
    int64_t problems;          /* number of usable lines, or config rows, that name a problem */
    int64_t entries;           /* number of usable times or perf configs in them */
    /* number of these entries that were not stored, since the campaign already had one for their problem and solver; 0
     * in a dry run */
    int64_t repeated;
    int64_t left_out;
};

struct foreign_import {
    int64_t campaign;
    bool
        is_new; /* true if the campaign was stored; false in a dry run, or if these files were imported before */
    struct target target;
    GArray *files; /* struct foreign_file; empty if these files were imported before */
    /* struct foreign_skip *: the first FOREIGN_SKIPS_KEPT rows that were left out */
    GPtrArray *skips;
    int64_t left_out;
};

/* Imports the files of the request. With store NULL, a dry run, they are only read and counted. Returns false with
 * COORDINATOR_ERROR_USAGE if the target does not follow from --target or the files' names, with EXPORT_ERROR if a file
 * cannot be read to its end, or with the store's error: nothing is stored then. Clear *import in any case. */
bool import_foreign(Store *store, const struct foreign_request *request,
                    struct foreign_import *import, GError **error);
void foreign_import_clear(struct foreign_import *import);

#endif
