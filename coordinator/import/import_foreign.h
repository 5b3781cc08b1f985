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

/* As many rows that were left out are kept with their reason; all are counted. */
#define FOREIGN_SKIPS_KEPT 1000

struct foreign_request {
    char **paths;       /* NULL-terminated, at least one */
    const char *target; /* NULL: as the names say, which must agree */
    const char *name;   /* of the campaign; NULL: the first file's, up to its first dot */
    /* Called now and then, with the entries of this file so far; or NULL. */
    void (*progress)(const char *path, int64_t entries);
};

/* A row that was left out. */
struct foreign_skip {
    const char *file; /* the request's */
    int64_t line;     /* from 1; in SQLite files the row's id */
    char *reason;
};

struct foreign_file {
    const char *path, *format; /* "find-db", "perf-db", "perf-db text" */
    int64_t problems;          /* lines or config rows that were read */
    int64_t entries;           /* times or perf configs of them that can be used */
    int64_t repeated;          /* of these, solvers that the campaign had for the problem */
    int64_t left_out;
};

struct foreign_import {
    int64_t campaign;
    bool is_new; /* false: these files were imported before, and nothing has changed */
    struct target target;
    GArray *files;    /* struct foreign_file; without counts where not is_new */
    GPtrArray *skips; /* struct foreign_skip *, the first FOREIGN_SKIPS_KEPT */
    int64_t left_out;
};

/* store NULL: nothing is stored, but all is read and counted. COORDINATOR_ERROR_USAGE where the target
 * is not to be told, EXPORT_ERROR where a file cannot be read to its end; then nothing was stored. The
 * import is to be cleared in any case. */
bool import_foreign(Store *store, const struct foreign_request *request,
                    struct foreign_import *import, GError **error);
void foreign_import_clear(struct foreign_import *import);

#endif
