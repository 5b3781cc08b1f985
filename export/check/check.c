#include "export/check/check.h"

#include "export/check/check_formats.h"
#include "export/formats/byte_source.h"
#include "export/formats/file_name.h"
#include "export/formats/manifest.h"
#include "export/formats/sqlite_file.h"
#include "export/sjdb/reader/layout.h"

#include <string.h>

/* bytes at a file's beginning that are read to recognise its text format */
#define HEAD_BYTES 65536

static void (*const checks[FILE_KIND_COUNT])(const char *path, struct check_report *report) = {
    [FILE_FIND_DB] = check_find_db,     [FILE_PERF_DB] = check_perf_db,
    [FILE_PERF_TEXT] = check_perf_text, [FILE_KERNEL_DB] = check_kernel_db,
    [FILE_SJDB] = check_sjdb,
};

static bool is_manifest(const char *path)
{
    g_autofree char *name = g_path_get_basename(path);
    return manifest_is_name(name);
}

static bool read_head(const char *path, GString *head, GError **error)
{
    char piece[4096];
    size_t length = 0;
    g_autoptr(ByteSource) source = byte_source_open(path, error);
    if (source == NULL) {
        return false;
    }
    do {
        if (!byte_source_read(source, piece, sizeof piece, &length, error)) {
            /* A file that breaks off is recognised by the bytes before the damage; the check of its
             * format then reports the damage. */
            if (head->len > 0) {
                g_clear_error(error);
            }
            return head->len > 0;
        }
        g_string_append_len(head, piece, (gssize)length);
    } while (length > 0 && head->len < HEAD_BYTES);
    return true;
}

static bool sqlite_kind(const char *path, enum file_kind *kind, GError **error)
{
    sqlite3 *db = sqlite_file_open(path, error);
    if (db == NULL) {
        return false;
    }
    g_autoptr(GError) failure = NULL;
    g_autofree char *table = sqlite_text_value(
        db, "SELECT name FROM sqlite_schema WHERE name IN ('kern_db', 'perf_db', 'config')",
        &failure);
    sqlite_file_close(db);
    if (table == NULL) {
        g_set_error(error, EXPORT_ERROR, EXPORT_ERROR_KIND, "it is an SQLite file without %s: %s",
                    "MIOpen's tables (config and perf_db, or kern_db)",
                    failure != NULL ? failure->message : "it has others or none");
        return false;
    }
    *kind = strcmp(table, "kern_db") == 0 ? FILE_KERNEL_DB : FILE_PERF_DB;
    return true;
}

/* A find-db's key begins with numbers joined by '-', a perf-db's with numbers joined by 'x'. */
static bool line_kind(const char *line, enum file_kind *kind)
{
    size_t digits = strspn(line, "0123456789");
    size_t length = strcspn(line, "\n");
    if (digits == 0 || memchr(line, '=', length) == NULL ||
        (line[digits] != '-' && line[digits] != 'x')) {
        return false;
    }
    *kind = line[digits] == '-' ? FILE_FIND_DB : FILE_PERF_TEXT;
    return true;
}

static bool any_line_kind(const char *text, enum file_kind *kind)
{
    for (;;) {
        if (line_kind(text, kind)) {
            return true;
        }
        const char *end = strchr(text, '\n');
        if (end == NULL) {
            return false;
        }
        text = end + 1;
    }
}

static bool text_kind(const char *path, const GString *head, enum file_kind *kind, GError **error)
{
    if (any_line_kind(head->str + byte_order_mark_length(head->str, head->len), kind)) {
        return true;
    }
    /* A name decides the format in two cases only: the file is empty, or all its first lines are
     * damaged. */
    g_autofree char *name = g_path_get_basename(path);
    if (file_name_kind(name, kind) && (*kind == FILE_FIND_DB || *kind == FILE_PERF_TEXT) &&
        memchr(head->str, '\0', head->len) == NULL) {
        return true;
    }
    g_set_error(error, EXPORT_ERROR, EXPORT_ERROR_KIND,
                "its content is neither a find-db, a perf-db nor a kernel-db");
    return false;
}

bool check_file_kind(const char *path, enum file_kind *kind, GError **error)
{
    g_autoptr(GString) head = g_string_new(NULL);
    if (!read_head(path, head, error)) {
        return false;
    }
    if (head->len >= SJDB_MAGIC_BYTES && memcmp(head->str, SJDB_MAGIC, SJDB_MAGIC_BYTES) == 0) {
        *kind = FILE_SJDB;
        return true;
    }
    /* SQLite files begin with 16 bytes, of which the last is a NUL. C ends the literal with this
     * NUL. */
    if (head->len >= 16 && memcmp(head->str, "SQLite format 3", 16) == 0) {
        return sqlite_kind(path, kind, error);
    }
    return text_kind(path, head, kind, error);
}

struct check_report *check_file(const char *path)
{
    struct check_report *report = check_report_new(path);
    enum file_kind kind = FILE_FIND_DB;
    GError *error = NULL;
    if (is_manifest(path)) {
        report->format = "manifest";
        check_manifest(path, report);
        return report;
    }
    if (!check_file_kind(path, &kind, &error)) {
        check_unreadable(report, error, "file");
        return report;
    }
    report->format = file_kind_name(kind);
    report->by_order = true;
    checks[kind](path, report);
    if (report->out_of_order) {
        check_begin_anew(report);
        checks[kind](path, report);
    }
    return report;
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Broken links are listed, too: check_file() then reports them as unreadable. */
static void list_entry(const char *path, const char *name, GPtrArray *files)
{
    enum file_kind kind;
    bool leads_nowhere =
        g_file_test(path, G_FILE_TEST_IS_SYMLINK) && !g_file_test(path, G_FILE_TEST_EXISTS);
    if ((g_file_test(path, G_FILE_TEST_IS_REGULAR) || leads_nowhere) &&
        (file_name_kind(name, &kind) || manifest_is_name(name))) {
        g_ptr_array_add(files, g_strdup(path));
    }
}

bool check_list_files(const char *path, GPtrArray *files, GError **error)
{
    if (!g_file_test(path, G_FILE_TEST_IS_DIR)) {
        g_ptr_array_add(files, g_strdup(path));
        return true;
    }
    GDir *dir = g_dir_open(path, 0, error);
    if (dir == NULL) {
        return false;
    }
    g_autoptr(GPtrArray) names = g_ptr_array_new_with_free_func(g_free);
    for (const char *name = g_dir_read_name(dir); name != NULL; name = g_dir_read_name(dir)) {
        g_ptr_array_add(names, g_strdup(name));
    }
    g_dir_close(dir);
    g_ptr_array_sort(names, compare_names);
    for (guint i = 0; i < names->len; i++) {
        g_autofree char *entry = g_build_filename(path, names->pdata[i], NULL);
        list_entry(entry, names->pdata[i], files);
    }
    return true;
}
