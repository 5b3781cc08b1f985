/*
 * MIOpen's perf-db (export/formats/FORMATS.md): the best config ("params") of each tunable solver
 * for a config row. A row is a problem without its output size, so problems may share one. Two
 * forms hold the same records: SQLite, and text with one line a row.
 */
#ifndef EXPORT_FORMATS_PERF_DB_H
#define EXPORT_FORMATS_PERF_DB_H

#include "export/formats/line_reader.h"
#include "solvers/problem/problem_key.h"

#include <sqlite3.h>

#define PERF_TEXTS 3 /* columns of the table config that hold text; its other columns are numbers */
/* Returns the columns of the table config in struct perf_row's order, texts last: 24 names joined
 * by ','. Free with g_free(). */
char *perf_column_list(void);

struct perf_record {
    struct perf_row row;
    char *solver, *params; /* owned */
};
struct perf_record *perf_record_new(const struct perf_row *row, const char *solver,
                                    const char *params);
void perf_record_free(struct perf_record *record);
bool perf_row_equal(const struct perf_row *a, const struct perf_row *b);
/* The order of records in written files: by config row (its text columns first, as in MIOpen's
 * index), then by solver name. */
int perf_record_compare(const struct perf_record *a, const struct perf_record *b);

/* An iterator over records, sorted by perf_record_compare() and without duplicates: READ_ROW with
 * *record (valid until the next call), READ_END or READ_FAILED. */
struct perf_source {
    enum read_step (*next)(void *data, const struct perf_record **record, GError **error);
    void *data;
};

/* A perf_source that walks an array of sorted records (struct perf_record *) once. Valid in the
 * enclosing block. */
struct perf_list {
    const GPtrArray *records;
    guint at;
};
enum read_step perf_list_next(void *list, const struct perf_record **record, GError **error);
#define PERF_LIST(array) (&(struct perf_source){perf_list_next, &(struct perf_list){array, 0}})

/* Writes a new SQLite perf-db: MIOpen's tables and indices, and an index on perf_db(config), which
 * makes MIOpen's lookups about 500 times faster. Ids follow the order of the records, so equal
 * records give equal bytes. */
bool perf_db_write(const char *path, const struct perf_source *source, GError **error);
/* Writes the same records in the text form. */
bool perf_text_write(const char *path, const struct perf_source *source, GError **error);

/* Reads a written file back and returns true if it holds exactly these records in this order.
 * Otherwise *at is the index of the first record that differs, and *error is set if the file could
 * not be read. */
bool perf_db_holds(const char *path, const struct perf_source *source, guint *at, GError **error);
bool perf_text_holds(const char *path, const struct perf_source *source, guint *at, GError **error);

/* ---- reading SQLite ---- */

typedef struct perf_db PerfDb;
PerfDb *perf_db_open(const char *path, GError **error);
void perf_db_close(PerfDb *db);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(PerfDb, perf_db_close)

/* Reads a row of perf_column_list()'s columns. EXPORT_ERROR_SYNTAX if a value's type is not
 * MIOpen's: SQLite would convert any text to a number. */
bool perf_row_read(sqlite3_stmt *statement, struct perf_row *row, GError **error);
/* Reads the next row of the table config in the order of ids; *id is also set for READ_BAD. */
enum read_step perf_db_next_config(PerfDb *db, int64_t *id, struct perf_row *row, GError **error);

/* Reads the row with this id, independent of perf_db_next_config(). READ_END if no row has it. */
enum read_step perf_db_config_at(PerfDb *db, int64_t id, struct perf_row *row, GError **error);

struct perf_entry {
    int64_t id, config;
    const char *solver, *params; /* valid until the next call */
};
/* Reads the next row of the table perf_db in the order of ids; entry->id is also set for READ_BAD.
 * */
enum read_step perf_db_next_entry(PerfDb *db, struct perf_entry *entry, GError **error);

/* Returns the first finding of SQLite's integrity check, NULL for a sound file. Free with g_free().
 * */
char *perf_db_damage(PerfDb *db);
/* Returns true if the file has indices over the columns of both of MIOpen's unique indices; whether
 * they are unique is not checked. In a file without MIOpen's indices MIOpen would insert a row
 * twice. */
bool perf_db_has_indices(PerfDb *db);

/* ---- reading text ---- */

struct perf_text_line {
    struct perf_row row;
    const char *key;
    /* char *: names and params in the order of the line, pointers into the parsed text */
    GPtrArray *solvers, *params;
};
void perf_text_line_init(struct perf_text_line *line);
void perf_text_line_clear(struct perf_text_line *line);
/* Parses `text`, which has no line end and is overwritten. EXPORT_ERROR_SYNTAX if the line is
 * malformed, SOLVERS_ERROR_SYNTAX if its key is. */
bool perf_text_line_parse(char *text, struct perf_text_line *line, GError **error);
/* Appends the line to `out`, without a line end; the key is made from the row, not from the parsed
 * text. */
void perf_text_line_format(const struct perf_text_line *line, GString *out);

#endif
