#include "export/formats/import_reader.h"
#include "export/formats/perf_db.h"

#include <sqlite3.h>
#include <string.h>

/* Offsets in a database's header of the versions to write and to read it: 2 with a log, else 1. */
#define WAL_WRITE 18
#define WAL_READ  19

typedef sqlite3 Database;
typedef sqlite3_stmt Statement;
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Database, sqlite3_close)
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Statement, sqlite3_finalize)

static bool fail(Database *database, const struct import_source *source, GError **error)
{
    g_set_error(error, EXPORT_ERROR, EXPORT_ERROR_KIND,
                "cannot read '%s' as a perf-db of MIOpen (SQLite with a table 'config'): %s",
                source->name, sqlite3_errmsg(database));
    return false;
}

/* A database is read from memory, so that a compressed one is read the same way. One that was last
 * written with a write-ahead log says so in two bytes of its header (SQLite's file format, 1.3.3),
 * and SQLite opens no such database in memory: the copy says that it has none. */
static unsigned char *copy_source(const struct import_source *source)
{
    unsigned char *copy = sqlite3_malloc64(source->length);
    g_assert(copy != NULL); /* as GLib ends the program */
    memcpy(copy, source->bytes, source->length);
    if (source->length > WAL_READ) {
        copy[WAL_WRITE] = copy[WAL_READ] = 1;
    }
    return copy;
}

static bool open_source(const struct import_source *source, Database **database, GError **error)
{
    if (sqlite3_open(":memory:", database) != SQLITE_OK ||
        sqlite3_deserialize(*database, "main", copy_source(source), (sqlite3_int64)source->length,
                            (sqlite3_int64)source->length,
                            SQLITE_DESERIALIZE_READONLY | SQLITE_DESERIALIZE_FREEONCLOSE) !=
            SQLITE_OK) {
        return fail(*database, source, error);
    }
    return true;
}

static void read_row(Import *import, const struct import_source *source, Statement *statement)
{
    g_autoptr(GError) error = NULL;
    struct perf_row row;
    struct problem p;
    struct import_layer layer = {NULL, "", 1, &p, 1};
    int64_t id = sqlite3_column_int64(statement, PERF_ROW_INTS + PERF_TEXTS);
    import->lines++;
    if (perf_row_read(statement, &row, &error) && perf_row_to_problem(&row, &p, &error)) {
        import_add(import, source, id, &layer);
    } else {
        import_skip(import, source, id, error->message);
    }
}

bool import_sqlite(Import *import, const struct import_source *source, GError **error)
{
    g_autoptr(Database) database = NULL;
    g_autoptr(Statement) statement = NULL;
    g_autofree char *columns = perf_column_list();
    g_autofree char *sql = g_strdup_printf("SELECT %s,id FROM config ORDER BY id", columns);
    if (!open_source(source, &database, error)) {
        return false;
    }
    if (sqlite3_prepare_v2(database, sql, -1, &statement, NULL) != SQLITE_OK) {
        return fail(database, source, error);
    }
    int status;
    while ((status = sqlite3_step(statement)) == SQLITE_ROW) {
        read_row(import, source, statement);
    }
    return status == SQLITE_DONE || fail(database, source, error);
}
