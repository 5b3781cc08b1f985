/*
 * The SQLite formats of this room share this file: opening a finished file
 * (plain or packed) to read, making a new one whose bytes depend on nothing but
 * what is put into it, and errors as GErrors.
 */
#ifndef EXPORT_SQLITE_FILE_H
#define EXPORT_SQLITE_FILE_H

#include "export/formats/export_error.h"

#include <sqlite3.h>

/* Bytes a compressed file may unfold to: five times MIOpen's largest kernel-db. */
#define SQLITE_FILE_BYTES_MAX (UINT64_C(4) << 30)

/* Opens to read, without locks. The file is to be finished, as below. A packed file is unpacked
 * into a temporary one that is gone when the connection is. EXPORT_ERROR_DAMAGED when it is no
 * SQLite file. */
sqlite3 *sqlite_file_open(const char *path, GError **error);
/* The same of a plain copy that the caller made of `path`, and which errors name by that path. The copy
 * may be removed once it is open. */
sqlite3 *sqlite_file_open_copy(const char *copy, const char *path, GError **error);
/* False with EXPORT_ERROR_IO when a write-ahead log or a journal beside it holds changes, whose part
 * in the file may be missing or half done: a program writes it, or was killed while it did. */
bool sqlite_file_is_finished(const char *path, GError **error);

/* Makes a new file (an old one of that name is lost) and runs `schema` in it, inside the
 * transaction that sqlite_file_finish() ends. */
sqlite3 *sqlite_file_create(const char *path, const char *schema, GError **error);
/* Makes a new file for a while, and runs `schema` in it: what spools into it needs little memory, and a
 * crash may leave it spoilt. In a transaction that nobody has to end. */
sqlite3 *sqlite_file_scratch(const char *path, const char *schema, GError **error);
/* Commits, packs, closes: *db is NULL afterwards, also on failure. */
bool sqlite_file_finish(sqlite3 **db, GError **error);
/* Closes whatever state *db is in; NULL is fine. */
void sqlite_file_close(sqlite3 *db);

/* NULL and an error that has SQLite's words ("no such table: perf_db"). */
sqlite3_stmt *sqlite_statement(sqlite3 *db, const char *sql, GError **error);
/* A prepared statement that a struct keeps: where in the struct, and its SQL. One list prepares and ends them all. */
struct sqlite_member {
    size_t offset; /* of a sqlite3_stmt * */
    const char *sql;
};
/* Prepares the statements of `holder`, whose members are NULL. On false, the members after the failing one stay
 * NULL, and sqlite_members_finalize() is still to be called. */
bool sqlite_members_prepare(sqlite3 *db, void *holder, const struct sqlite_member *members,
                            size_t count, GError **error);
void sqlite_members_finalize(void *holder, const struct sqlite_member *members, size_t count);

/* READ_ROW, READ_END or READ_FAILED. */
enum read_step sqlite_step(sqlite3_stmt *statement, GError **error);
/* Binds a value for each letter: t a text or NULL, l an int64_t, d a double, b a blob with its size
 * (const void *, size_t); and takes the first step. What was bound is copied. */
enum read_step sqlite_ask(sqlite3_stmt *statement, GError **error, const char *types, ...);
/* The same for what gives no rows. */
bool sqlite_do(sqlite3_stmt *statement, GError **error, const char *types, ...);
/* The single value of a query, as text; NULL with an error, or NULL without one where there is no
 * row. */
char *sqlite_text_value(sqlite3 *db, const char *sql, GError **error);
bool sqlite_run(sqlite3 *db, const char *sql, GError **error);

/* The column as text, "" for NULL: for databases that this program has written. Valid until the next step. */
const char *sqlite_text_at(sqlite3_stmt *statement, int column);
/* The column as text. NULL and EXPORT_ERROR_SYNTAX for another type, or a NUL inside. */
const char *sqlite_column_word(sqlite3_stmt *statement, int column, GError **error);
bool sqlite_column_number(sqlite3_stmt *statement, int column, int64_t *value, GError **error);

/* What SQLite's integrity check says first, NULL when the file is sound. Free with g_free(). */
char *sqlite_damage(sqlite3 *db);
/* Is there an index (unique or not) over exactly these columns ("solver,config")? */
bool sqlite_has_index(sqlite3 *db, const char *table, const char *columns);

#endif
