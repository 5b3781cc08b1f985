#include "export/sjdb/sjdb_sort.h"

#include "export/formats/sqlite_file.h"

#include <errno.h>
#include <glib/gstdio.h>
#include <unistd.h>

/* The cache makes SQLite sort in runs of 4 MiB. */
#define SCHEMA "PRAGMA cache_size = -4096; CREATE TABLE strings (bytes BLOB, number INTEGER)"

struct sjdb_sorter {
    sqlite3 *db;
    sqlite3_stmt *add, *next;
};

/* Makes the file under a random name and removes the name once the file is open, so that it is
 * deleted when it is closed. */
static bool open_beside(SjdbSorter *sorter, const char *beside, GError **error)
{
    g_autofree char *name = g_strdup_printf("%s.sort-XXXXXX", beside);
    int fd = g_mkstemp(name);
    if (fd < 0) {
        g_set_error(error, EXPORT_ERROR, EXPORT_ERROR_IO,
                    "cannot make a temporary file beside '%s': %s", beside, g_strerror(errno));
        return false;
    }
    close(fd);
    sorter->db = sqlite_file_scratch(name, SCHEMA, error);
    g_unlink(name);
    return sorter->db != NULL;
}

SjdbSorter *sjdb_sorter_new(const char *beside, GError **error)
{
    g_autoptr(SjdbSorter) sorter = g_new0(SjdbSorter, 1);
    if (!open_beside(sorter, beside, error)) {
        return NULL;
    }
    sorter->add = sqlite_statement(sorter->db, "INSERT INTO strings VALUES (?, ?)", error);
    return sorter->add != NULL ? g_steal_pointer(&sorter) : NULL;
}

void sjdb_sorter_free(SjdbSorter *sorter)
{
    sqlite3_finalize(sorter->add);
    sqlite3_finalize(sorter->next);
    sqlite_file_close(sorter->db);
    g_free(sorter);
}

bool sjdb_sorter_add(SjdbSorter *sorter, const void *bytes, gsize count, guint32 number,
                     GError **error)
{
    return sqlite_do(sorter->add, error, "bl", bytes, (size_t)count, (int64_t)number);
}

enum read_step sjdb_sorter_next(SjdbSorter *sorter, const guint8 **bytes, gsize *count,
                                guint32 *number, GError **error)
{
    if (sorter->next == NULL) {
        sorter->next =
            sqlite_statement(sorter->db, "SELECT bytes, number FROM strings ORDER BY bytes", error);
    }
    enum read_step step = sorter->next != NULL ? sqlite_step(sorter->next, error) : READ_FAILED;
    if (step == READ_ROW) {
        *bytes = sqlite3_column_blob(sorter->next, 0);
        *count = (gsize)sqlite3_column_bytes(sorter->next, 0);
        *number = (guint32)sqlite3_column_int64(sorter->next, 1);
    }
    return step;
}
