/*
 * MIOpen's perf-db (FORMATS.md 4): the best config ("params") of each tunable
 * solver for a config row, which is a problem as far as perf-db tells problems
 * apart. Two forms of the same records: SQLite, and text with one line a row.
 */
#ifndef EXPORT_PERF_DB_H
#define EXPORT_PERF_DB_H

#include "export/formats/line_reader.h"
#include "solvers/problem/problem_key.h"

#include <sqlite3.h>

/* Columns of the table config in struct perf_row's order, texts last; 24 names joined by ','. */
#define PERF_TEXTS 3
char *perf_column_list(void);

struct perf_record {
    struct perf_row row;
    char *solver, *params; /* owned */
};
struct perf_record *perf_record_new(const struct perf_row *row, const char *solver,
                                    const char *params);
void perf_record_free(struct perf_record *record);
bool perf_row_equal(const struct perf_row *a, const struct perf_row *b);
/* The order of files: rows by column, texts first as in MIOpen's index, then solvers by name. */
int perf_record_compare(const struct perf_record *a, const struct perf_record *b);

/* Gives records one after the other, in order without equals: READ_ROW with *record (valid until the next
 * call), READ_END or READ_FAILED. */
struct perf_source {
    enum read_step (*next)(void *data, const struct perf_record **record, GError **error);
    void *data;
};

/* Writes a new SQLite perf-db: MIOpen's tables and indices, and an index on perf_db(config) that
 * MIOpen does not ask for but whose join it makes about 500 times faster. Records must be sorted by
 * perf_record_compare() without equals: ids follow it, so equal records give equal bytes. */
bool perf_db_write(const char *path, const GPtrArray *records, GError **error);
bool perf_db_write_from(const char *path, const struct perf_source *source, GError **error);
/* The text form, likewise. */
bool perf_text_write(const char *path, const GPtrArray *records, GError **error);
bool perf_text_write_from(const char *path, const struct perf_source *source, GError **error);

/* Reads a file back: it holds these records in this order and nothing else. *at is the first that
 * differs; *error is set where the file could not be read, or not so far. */
bool perf_db_holds(const char *path, const GPtrArray *records, guint *at, GError **error);
bool perf_text_holds(const char *path, const GPtrArray *records, guint *at, GError **error);
bool perf_db_holds_from(const char *path, const struct perf_source *source, guint *at,
                        GError **error);
bool perf_text_holds_from(const char *path, const struct perf_source *source, guint *at,
                          GError **error);

/* A list as a source. */
struct perf_list {
    const GPtrArray *records;
    guint at;
};
enum read_step perf_list_next(void *list, const struct perf_record **record, GError **error);

/* ---- reading SQLite ---- */

typedef struct perf_db PerfDb;
PerfDb *perf_db_open(const char *path, GError **error);
void perf_db_close(PerfDb *db);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(PerfDb, perf_db_close)

/* A row of perf_column_list()'s columns. EXPORT_ERROR_SYNTAX where a value has another type than
 * MIOpen's: SQLite would make a number of anything. */
bool perf_row_read(sqlite3_stmt *statement, struct perf_row *row, GError **error);
/* The next row of the table config, in the order of ids; *id is set for READ_BAD too. */
enum read_step perf_db_next_config(PerfDb *db, int64_t *id, struct perf_row *row, GError **error);

/* The row of that id, whatever was read before. READ_END when no row has it. */
enum read_step perf_db_config_at(PerfDb *db, int64_t id, struct perf_row *row, GError **error);

struct perf_entry {
    int64_t id, config;
    const char *solver, *params; /* valid until the next call */
};
/* The next row of the table perf_db, in the order of ids; entry->id is set for READ_BAD too. */
enum read_step perf_db_next_entry(PerfDb *db, struct perf_entry *entry, GError **error);

/* What SQLite's own integrity check says, NULL when that is nothing. Free with g_free(). */
char *perf_db_damage(PerfDb *db);
/* Both unique indices of MIOpen's files are there: without them it would insert rows twice. */
bool perf_db_has_indices(PerfDb *db);

/* ---- reading text ---- */

struct perf_text_line {
    struct perf_row row;
    const char *key;
    GPtrArray *solvers, *params; /* texts inside the line that was parsed */
};
void perf_text_line_init(struct perf_text_line *line);
void perf_text_line_clear(struct perf_text_line *line);
/* Takes text (no line end) apart in place. EXPORT_ERROR_SYNTAX, or SOLVERS_ERROR_SYNTAX for the
 * key. */
bool perf_text_line_parse(char *text, struct perf_text_line *line, GError **error);
/* Its inverse, made from the row rather than from the key's text, appended to out without a line
 * end. */
void perf_text_line_format(const struct perf_text_line *line, GString *out);

#endif
