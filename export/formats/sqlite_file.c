#include "export/formats/sqlite_file.h"

#include "export/formats/byte_source.h"

#include <glib/gstdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

/* Settings that the bytes of a file depend on. They are stated, since SQLite's defaults depend on
 * how it was built. */
#define CREATE_PRAGMAS                                                                             \
    "PRAGMA page_size = 4096; PRAGMA encoding = 'UTF-8'; PRAGMA auto_vacuum = NONE;"               \
    "PRAGMA journal_mode = MEMORY; PRAGMA synchronous = OFF; BEGIN;"

#define SCRATCH_PRAGMAS                                                                            \
    "PRAGMA page_size = 4096; PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF;"                \
    "PRAGMA locking_mode = EXCLUSIVE; PRAGMA cache_size = -16384; BEGIN;"

static void set_error(sqlite3 *db, const char *what, GError **error)
{
    int code = db != NULL ? sqlite3_errcode(db) : SQLITE_NOMEM;
    bool io = code == SQLITE_IOERR || code == SQLITE_FULL || code == SQLITE_CANTOPEN ||
              code == SQLITE_NOMEM || code == SQLITE_READONLY;
    g_set_error(error, EXPORT_ERROR, io ? EXPORT_ERROR_IO : EXPORT_ERROR_DAMAGED, "%s: %s", what,
                db != NULL ? sqlite3_errmsg(db) : "out of memory");
}

/* Sets the error for a failed write. SQLite reports all of them but a full disk as "disk I/O
 * error", and errno may come from another call. A limit on the size of files is a cause that a user
 * can remove, so the message names the limit if there is one. */
static void set_write_error(sqlite3 *db, GError **error)
{
    struct rlimit limit;
    g_autoptr(GString) what = g_string_new(NULL);
    g_string_printf(what, "cannot write the SQLite file '%s'", sqlite3_db_filename(db, "main"));
    if (sqlite3_errcode(db) == SQLITE_IOERR && getrlimit(RLIMIT_FSIZE, &limit) == 0 &&
        limit.rlim_cur != RLIM_INFINITY)
        g_string_append_printf(what,
                               " (files may grow to %" G_GUINT64_FORMAT " KiB only, ulimit -f)",
                               (guint64)limit.rlim_cur / 1024);
    set_error(db, what->str, error);
}

void sqlite_file_close(sqlite3 *db)
{
    /* Unlike close, close_v2 succeeds while statements are open, and frees the connection when the
     * last one is finalized. */
    sqlite3_close_v2(db);
}

/* Unpacks the file into a temporary copy and returns its path. The caller deletes the copy as soon
 * as it is open. */
static char *unpack(const char *path, GError **error)
{
    g_autoptr(ByteSource) source = byte_source_open(path, error);
    return source != NULL ? byte_source_unpack(source, SQLITE_FILE_BYTES_MAX, error) : NULL;
}

/* Protects against files made to attack the reader: the schema may call no functions with side
 * effects, views cannot be used, and SQLite checks sizes inside of pages. */
static bool distrust(sqlite3 *db)
{
    return sqlite3_db_config(db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL) == SQLITE_OK &&
           sqlite3_db_config(db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL) == SQLITE_OK &&
           sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_VIEW, 0, NULL) == SQLITE_OK &&
           sqlite3_exec(db, "PRAGMA cell_size_check = ON; SELECT count(*) FROM sqlite_schema", NULL,
                        NULL, NULL) == SQLITE_OK;
}

static sqlite3 *open_finished(const char *path, const char *shown, GError **error)
{
    sqlite3 *db = NULL;
    g_autofree char *full = g_canonicalize_filename(path, NULL);
    g_autofree char *plain_uri = g_filename_to_uri(full, NULL, error);
    if (plain_uri == NULL) {
        return NULL;
    }
    g_autofree char *uri = g_strconcat(plain_uri, "?immutable=1", NULL);
    if (sqlite3_open_v2(uri, &db, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI, NULL) != SQLITE_OK ||
        !distrust(db)) {
        g_autofree char *what = g_strdup_printf("cannot read '%s'", shown);
        set_error(db, what, error);
        sqlite_file_close(db);
        return NULL;
    }
    return db;
}

/* Returns true if a log or journal beside the file holds changes that SQLite would apply on
 * opening. A finished journal is empty or begins with a zero byte. */
static bool has_changes(const char *path, const char *ending, char **beside)
{
    *beside = g_strconcat(path, ending, NULL);
    FILE *file = fopen(*beside, "rbe");
    int first = file != NULL ? fgetc(file) : EOF;
    if (file != NULL) {
        fclose(file);
    }
    return first != EOF && first != '\0';
}

bool sqlite_file_is_finished(const char *path, GError **error)
{
    static const char *const endings[] = {"-wal", "-journal"};
    for (size_t i = 0; i < G_N_ELEMENTS(endings); i++) {
        g_autofree char *beside = NULL;
        if (has_changes(path, endings[i], &beside)) {
            g_set_error(error, EXPORT_ERROR, EXPORT_ERROR_IO,
                        "cannot read '%s': '%s' holds changes that are not in it yet; end the "
                        "program that writes it, then open it once: sqlite3 '%s' .tables",
                        path, beside, path);
            return false;
        }
    }
    return true;
}

static bool is_plain(const char *path)
{
    char start[16] = "";
    FILE *file = fopen(path, "rbe");
    size_t got = file != NULL ? fread(start, 1, sizeof start, file) : 0;
    if (file != NULL) {
        fclose(file);
    }
    return got == sizeof start && memcmp(start, "SQLite format 3", 16) == 0;
}

sqlite3 *sqlite_file_open_copy(const char *copy, const char *path, GError **error)
{
    return open_finished(copy, path, error);
}

sqlite3 *sqlite_file_open(const char *path, GError **error)
{
    if (is_plain(path)) {
        return sqlite_file_is_finished(path, error) ? open_finished(path, path, error) : NULL;
    }
    g_autofree char *copy = unpack(path, error);
    if (copy == NULL) {
        return NULL;
    }
    sqlite3 *db = sqlite_file_open_copy(copy, path, error);
    g_unlink(copy);
    return db;
}

static sqlite3 *create(const char *path, const char *pragmas, const char *schema, GError **error)
{
    sqlite3 *db = NULL;
    g_unlink(path);
    if (sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, NULL) != SQLITE_OK ||
        sqlite3_exec(db, pragmas, NULL, NULL, NULL) != SQLITE_OK ||
        sqlite3_exec(db, schema, NULL, NULL, NULL) != SQLITE_OK) {
        g_autofree char *what = g_strdup_printf("cannot create '%s'", path);
        set_error(db, what, error);
        sqlite_file_close(db);
        return NULL;
    }
    return db;
}

sqlite3 *sqlite_file_create(const char *path, const char *schema, GError **error)
{
    return create(path, CREATE_PRAGMAS, schema, error);
}

sqlite3 *sqlite_file_scratch(const char *path, const char *schema, GError **error)
{
    return create(path, SCRATCH_PRAGMAS, schema, error);
}

/* VACUUM rewrites every page. A rollback journal would hold all old pages in memory, for a file
 * that is deleted on failure anyway. */
bool sqlite_file_finish(sqlite3 **db, GError **error)
{
    bool done = sqlite_run(*db, "COMMIT; PRAGMA journal_mode = OFF; VACUUM", error);
    sqlite_file_close(*db);
    *db = NULL;
    return done;
}

sqlite3_stmt *sqlite_statement(sqlite3 *db, const char *sql, GError **error)
{
    sqlite3_stmt *statement = NULL;
    if (sqlite3_prepare_v2(db, sql, -1, &statement, NULL) != SQLITE_OK) {
        set_error(db, "cannot use the SQLite file", error);
        return NULL;
    }
    return statement;
}

static sqlite3_stmt **member_of(void *holder, const struct sqlite_member *member)
{
    return (sqlite3_stmt **)(void *)((char *)holder + member->offset);
}

bool sqlite_members_prepare(sqlite3 *db, void *holder, const struct sqlite_member *members,
                            size_t count, GError **error)
{
    for (size_t i = 0; i < count; i++) {
        sqlite3_stmt **statement = member_of(holder, &members[i]);
        *statement = sqlite_statement(db, members[i].sql, error);
        if (*statement == NULL) {
            return false;
        }
    }
    return true;
}

void sqlite_members_finalize(void *holder, const struct sqlite_member *members, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        sqlite3_stmt **statement = member_of(holder, &members[i]);
        sqlite3_finalize(*statement);
        *statement = NULL;
    }
}

enum read_step sqlite_step(sqlite3_stmt *statement, GError **error)
{
    switch (sqlite3_step(statement)) {
    case SQLITE_ROW: return READ_ROW;
    case SQLITE_DONE: return READ_END;
    default: break;
    }
    if (sqlite3_stmt_readonly(statement))
        set_error(sqlite3_db_handle(statement), "cannot go through the SQLite file", error);
    else
        set_write_error(sqlite3_db_handle(statement), error);
    return READ_FAILED;
}

static void bind(sqlite3_stmt *statement, int index, char type, va_list *values)
{
    const void *bytes;
    switch (type) {
    case 't':
        sqlite3_bind_text(statement, index, va_arg(*values, const char *), -1, SQLITE_TRANSIENT);
        return;
    case 'l': sqlite3_bind_int64(statement, index, va_arg(*values, int64_t)); return;
    case 'd': sqlite3_bind_double(statement, index, va_arg(*values, double)); return;
    case 'b':
        bytes = va_arg(*values, const void *);
        sqlite3_bind_blob64(statement, index, bytes, va_arg(*values, size_t), SQLITE_TRANSIENT);
        return;
    default: g_assert_not_reached();
    }
}

static enum read_step bind_and_step(sqlite3_stmt *statement, const char *types, va_list *values,
                                    GError **error)
{
    sqlite3_reset(statement);
    for (int i = 0; types[i] != '\0'; i++) {
        bind(statement, i + 1, types[i], values);
    }
    return sqlite_step(statement, error);
}

enum read_step sqlite_ask(sqlite3_stmt *statement, GError **error, const char *types, ...)
{
    va_list values;
    va_start(values, types);
    enum read_step step = bind_and_step(statement, types, &values, error);
    va_end(values);
    return step;
}

bool sqlite_do(sqlite3_stmt *statement, GError **error, const char *types, ...)
{
    va_list values;
    va_start(values, types);
    enum read_step step = bind_and_step(statement, types, &values, error);
    va_end(values);
    sqlite3_reset(statement);
    return step == READ_END;
}

bool sqlite_run(sqlite3 *db, const char *sql, GError **error)
{
    if (sqlite3_exec(db, sql, NULL, NULL, NULL) != SQLITE_OK) {
        set_write_error(db, error);
        return false;
    }
    return true;
}

char *sqlite_text_value(sqlite3 *db, const char *sql, GError **error)
{
    char *value = NULL;
    sqlite3_stmt *statement = sqlite_statement(db, sql, error);
    if (statement != NULL && sqlite_step(statement, error) == READ_ROW) {
        value = g_strdup((const char *)sqlite3_column_text(statement, 0));
    }
    sqlite3_finalize(statement);
    return value;
}

static const char *type_name(int type)
{
    switch (type) {
    case SQLITE_INTEGER: return "a number";
    case SQLITE_FLOAT: return "a fraction";
    case SQLITE_TEXT: return "a text";
    case SQLITE_BLOB: return "a blob";
    default: return "NULL";
    }
}

static bool check_type(sqlite3_stmt *statement, int column, int wanted, GError **error)
{
    int type = sqlite3_column_type(statement, column);
    if (type != wanted) {
        g_set_error(error, EXPORT_ERROR, EXPORT_ERROR_SYNTAX, "%s is %s instead of %s",
                    sqlite3_column_name(statement, column), type_name(type), type_name(wanted));
        return false;
    }
    return true;
}

const char *sqlite_text_at(sqlite3_stmt *statement, int column)
{
    const char *text = (const char *)sqlite3_column_text(statement, column);
    return text != NULL ? text : "";
}

const char *sqlite_column_word(sqlite3_stmt *statement, int column, GError **error)
{
    if (!check_type(statement, column, SQLITE_TEXT, error)) {
        return NULL;
    }
    const char *word = (const char *)sqlite3_column_text(statement, column);
    if (word == NULL || strlen(word) != (size_t)sqlite3_column_bytes(statement, column)) {
        g_set_error(error, EXPORT_ERROR, EXPORT_ERROR_SYNTAX, "%s holds a NUL byte",
                    sqlite3_column_name(statement, column));
        return NULL;
    }
    return word;
}

bool sqlite_column_number(sqlite3_stmt *statement, int column, int64_t *value, GError **error)
{
    if (!check_type(statement, column, SQLITE_INTEGER, error)) {
        return false;
    }
    *value = sqlite3_column_int64(statement, column);
    return true;
}

char *sqlite_damage(sqlite3 *db)
{
    g_autoptr(GError) error = NULL;
    char *said = sqlite_text_value(db, "PRAGMA integrity_check(1)", &error);
    if (said == NULL) {
        return g_strdup(error != NULL ? error->message : "the integrity check says nothing");
    }
    if (strcmp(said, "ok") == 0) {
        g_clear_pointer(&said, g_free);
    }
    return said;
}

bool sqlite_has_index(sqlite3 *db, const char *table, const char *columns)
{
    g_autofree char *sql = g_strdup_printf(
        "SELECT 1 FROM pragma_index_list('%s') AS l WHERE (SELECT group_concat(name) FROM (SELECT "
        "name FROM pragma_index_info(l.name) ORDER BY seqno)) = '%s'",
        table, columns);
    g_autofree char *found = sqlite_text_value(db, sql, NULL);
    return found != NULL;
}
