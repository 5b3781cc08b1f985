/*
 * Shared by the files of the foreign importer: rows that gather until some thousand go to the
 * database at once, and the readers of the formats.
 */
#ifndef COORDINATOR_IMPORT_IMPORT_FOREIGN_ROWS_H
#define COORDINATOR_IMPORT_IMPORT_FOREIGN_ROWS_H

#include "coordinator/import/import_foreign.h"
#include "schema/store/store_foreign.h"

struct foreign_rows {
    Store *store; /* NULL: rows are counted and forgotten */
    int64_t campaign;
    struct foreign_file *file;
    void (*progress)(const char *path, int64_t entries);
    GArray *problems; /* struct problem */
    GArray *times;    /* struct foreign_time; its problems are places in `problems` until stored */
    GArray *params;   /* struct foreign_params, likewise; with no problem there, rows of problems */
    GStringChunk *names;
};

void foreign_rows_init(struct foreign_rows *rows, Store *store, int64_t campaign);
void foreign_rows_clear(struct foreign_rows *rows);

/* Returns the problem's place. */
int64_t foreign_rows_problem(struct foreign_rows *rows, const struct problem *problem);
/* Texts are copied. */
void foreign_rows_time(struct foreign_rows *rows, const struct foreign_time *time);
void foreign_rows_params(struct foreign_rows *rows, const struct foreign_params *params);

/* Stores what has gathered: all of it, or where that is not much yet nothing. After it places begin
 * anew. */
bool foreign_rows_store(struct foreign_rows *rows, bool all, GError **error);
/* Stores the problems that gathered (and nothing else did) and appends their ids. */
bool foreign_rows_store_problems(struct foreign_rows *rows, GArray *ids, GError **error);

/* ---- the single formats ---- */

struct foreign_reading {
    struct foreign_import *import;
    struct foreign_file *file;
    struct foreign_rows rows;
};

/* Each reads the whole of reading->file; EXPORT_ERROR, or the store's. */
bool foreign_read_find_db(struct foreign_reading *reading, GError **error);
bool foreign_read_perf_text(struct foreign_reading *reading, GError **error);
bool foreign_read_perf_db(struct foreign_reading *reading, GError **error);

#endif
