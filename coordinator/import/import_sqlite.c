#include "coordinator/import/import_reader.h"
#include "export/formats/perf_db.h"

#include <sqlite3.h>

typedef sqlite3_stmt Statement;
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Statement, sqlite3_finalize)

static bool fail(const struct import_source *source, GError **error)
{
    g_set_error(error, EXPORT_ERROR, EXPORT_ERROR_KIND,
                "cannot read '%s' as a perf-db of MIOpen (SQLite with a table 'config'): %s",
                source->name, sqlite3_errmsg(source->database));
    return false;
}

static void read_row(Import *import, const struct import_source *source, Statement *statement)
{
    g_autoptr(GError) error = NULL;
    struct perf_row row;
    struct problem p;
    struct import_layer layer = {NULL, "", 1, &p, 1, false, true};
    int64_t id = sqlite3_column_int64(statement, PERF_ROW_INTS + PERF_TEXTS);
    import->lines++;
    if (perf_row_read(statement, &row, &error) && perf_row_to_problem(&row, &p, &error)) {
        import_add_replaced(import, source, id, &layer);
    } else {
        import_skip(import, source, id, error->message);
    }
}

bool import_sqlite(Import *import, const struct import_source *source, GError **error)
{
    g_autoptr(Statement) statement = NULL;
    g_autofree char *columns = perf_column_list();
    g_autofree char *sql = g_strdup_printf("SELECT %s,id FROM config ORDER BY id", columns);
    if (sqlite3_prepare_v2(source->database, sql, -1, &statement, NULL) != SQLITE_OK) {
        return fail(source, error);
    }
    int status;
    while ((status = sqlite3_step(statement)) == SQLITE_ROW) {
        read_row(import, source, statement);
    }
    return status == SQLITE_DONE || fail(source, error);
}
