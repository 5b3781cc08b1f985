/*
 * Shared by all SQLite formats: opening a finished file, plain or packed, for reading; making a new
 * one whose bytes depend only on its content; statements; errors as GErrors.
 */
#ifndef EXPORT_FORMATS_SQLITE_FILE_H
#define EXPORT_FORMATS_SQLITE_FILE_H

#include "export/formats/export_error.h"

#include <sqlite3.h>

/* Largest size to which a packed SQLite file may unpack: five times MIOpen's largest kernel-db. */
#define SQLITE_FILE_BYTES_MAX (UINT64_C(4) << 30)

/* Opens a file for reading, without locks. A packed file is unpacked into a temporary one, which
 * goes with the connection. EXPORT_ERROR_DAMAGED if it is no SQLite file; see also
 * sqlite_file_is_finished(). */
sqlite3 *sqlite_file_open(const char *path, GError **error);
/* Opens a plain copy that the caller made of `path`; messages name `path`. The copy may be removed
 * once it is open. */
sqlite3 *sqlite_file_open_copy(const char *copy, const char *path, GError **error);
/* Returns false with EXPORT_ERROR_IO if a write-ahead log or journal beside the file holds changes:
 * the database alone may then miss them or hold half of them. A program is writing it, or was
 * killed while it did. */
bool sqlite_file_is_finished(const char *path, GError **error);

/* Replaces any file at the path by a new one and runs `schema` in it, inside the transaction that
 * sqlite_file_finish() commits. */
sqlite3 *sqlite_file_create(const char *path, const char *schema, GError **error);
/* Makes a database for temporary data and runs `schema` in it. It needs little memory and may be
 * damaged after a crash. Everything is done in one transaction, which is never committed. */
sqlite3 *sqlite_file_scratch(const char *path, const char *schema, GError **error);
/* Commits, vacuums and closes; *db becomes NULL, also on failure. */
bool sqlite_file_finish(sqlite3 **db, GError **error);
/* Closes a database in any state; NULL is allowed. */
void sqlite_file_close(sqlite3 *db);

/* Prepares a statement. NULL with SQLite's message ("no such table: perf_db"). */
sqlite3_stmt *sqlite_statement(sqlite3 *db, const char *sql, GError **error);
/* A statement that a struct has as a member: the offset of the member, and the SQL. A list of
 * these prepares and finalizes all statements of the struct. */
struct sqlite_member {
    size_t offset; /* offset of the holder's sqlite3_stmt * member */
    const char *sql;
};
/* Prepares the statements of `holder`, whose members are NULL. On false, the members after the failing one stay
 * NULL, and sqlite_members_finalize() is still to be called. */
bool sqlite_members_prepare(sqlite3 *db, void *holder, const struct sqlite_member *members,
                            size_t count, GError **error);
void sqlite_members_finalize(void *holder, const struct sqlite_member *members, size_t count);

/* Takes one step of the statement: READ_ROW, READ_END or READ_FAILED. */
enum read_step sqlite_step(sqlite3_stmt *statement, GError **error);
/* Resets the statement, binds one value for each letter of `types`, and takes the first step: t a
 * text or NULL, l an int64_t, d a double, b a blob and its size (const void *, size_t). Values are
 * copied. */
enum read_step sqlite_ask(sqlite3_stmt *statement, GError **error, const char *types, ...);
/* Does the same for a statement without result rows, and resets it. Returns true on success. */
bool sqlite_do(sqlite3_stmt *statement, GError **error, const char *types, ...);
/* Returns the single value of a query as text. NULL with an error, or NULL without one if there is
 * no row. */
char *sqlite_text_value(sqlite3 *db, const char *sql, GError **error);
bool sqlite_run(sqlite3 *db, const char *sql, GError **error);

/* Returns the column as text, "" for NULL. Only for databases that this program wrote: the value's
 * type is not checked. Valid until the next step. */
const char *sqlite_text_at(sqlite3_stmt *statement, int column);
/* Returns the column as text. NULL with EXPORT_ERROR_SYNTAX if the value is no text or contains a
 * NUL byte. */
const char *sqlite_column_word(sqlite3_stmt *statement, int column, GError **error);
bool sqlite_column_number(sqlite3_stmt *statement, int column, int64_t *value, GError **error);

/* Returns the first finding of SQLite's integrity check, NULL for a sound file. Free with g_free().
 * */
char *sqlite_damage(sqlite3 *db);
/* Returns true if an index, unique or not, is over exactly these columns ("solver,config"). */
bool sqlite_has_index(sqlite3 *db, const char *table, const char *columns);

#endif
