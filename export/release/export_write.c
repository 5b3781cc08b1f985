#include "export/release/export_write.h"

#include "export/check/check.h"
#include "export/formats/file_name.h"
#include "export/formats/kernel_db.h"
#include "export/release/export_compact.h"
#include "schema/store/store_kernels.h"

#include <stdio.h>
#include <string.h>

/* ---- writing ---- */

static enum read_step put_lines(FILE *file, ExportLines *lines, GError **error)
{
    const struct planned_line *line = NULL;
    enum read_step step;
    while ((step = export_lines_next(lines, &line, error)) == READ_ROW) {
        fprintf(file, "%s\n", line->text->str);
    }
    return step;
}

static bool write_find_db(const struct export_files *files, const char *path, GError **error)
{
    g_autoptr(ExportLines) lines =
        export_lines_open(files->spool, SPOOL_MIOPEN, files->wish->top, error);
    FILE *file = lines != NULL ? fopen(path, "wbe") : NULL;
    if (file == NULL) {
        return lines != NULL && export_io_error("write", path, error);
    }
    bool written = put_lines(file, lines, error) == READ_END;
    bool whole = ferror(file) == 0;
    whole = fclose(file) == 0 && whole;
    return written && (whole || export_io_error("write", path, error));
}

static bool write_perf_db(const struct export_files *files, const char *path, GError **error)
{
    g_autoptr(ExportRecords) records = export_records_open(files->spool, error);
    const struct perf_source source = {export_records_next, records};
    return records != NULL && perf_db_write(path, &source, error);
}

static bool write_perf_text(const struct export_files *files, const char *path, GError **error)
{
    g_autoptr(ExportRecords) records = export_records_open(files->spool, error);
    const struct perf_source source = {export_records_next, records};
    return records != NULL && perf_text_write(path, &source, error);
}

GBytes *export_get_code(Store *store, const struct planned_kernel *kernel, GError **error)
{
    struct kernel_row *row = store_get_kernel(store, kernel->key, error);
    if (row == NULL) {
        return NULL;
    }
    GBytes *code = NULL;
    if (row->code == NULL) {
        g_set_error(error, EXPORT_ERROR, EXPORT_ERROR_CHECK,
                    "the code object of kernel %.12s was dropped meanwhile: export again",
                    kernel->key);
    } else if (strcmp(row->code_sha256, kernel->sha256) != 0) {
        g_set_error(error, EXPORT_ERROR, EXPORT_ERROR_CHECK,
                    "kernel %.12s was built anew meanwhile: export again", kernel->key);
    } else {
        code = g_bytes_ref(row->code);
    }
    kernel_row_free(row);
    return code;
}

static bool write_kernel_db(const struct export_files *files, const char *path, GError **error)
{
    struct planned_kernel kernel;
    enum read_step step = READ_FAILED;
    g_autoptr(ExportKernels) kernels = export_kernels_open(files->spool, SPOOL_MIOPEN, error);
    g_autoptr(KernelDbWriter) file = kernels != NULL ? kernel_db_create(path, error) : NULL;
    while (file != NULL && (step = export_kernels_next(kernels, &kernel, error)) == READ_ROW) {
        g_autoptr(GBytes) code = export_get_code(files->store, &kernel, error);
        if (code == NULL || !kernel_db_add(file, kernel.name, kernel.args, code, error)) {
            return false;
        }
    }
    return step == READ_END && kernel_db_finish(file, error);
}

/* ---- reading files back and comparing them with the plan ---- */

static bool differs(const char *path, const char *what, guint row, GError **error)
{
    g_autofree char *name = g_path_get_basename(path);
    g_clear_error(error);
    g_set_error(error, EXPORT_ERROR, EXPORT_ERROR_CHECK,
                "'%s' does not read back as it was written: %s %u differs", name, what, row + 1);
    return false;
}

static bool same_find_line(const struct planned_line *planned, const struct find_line *line)
{
    struct problem problem;
    g_autoptr(GString) text = g_string_new(NULL);
    find_line_format(line, text);
    return g_string_equal(text, planned->text) && problem_key_parse(line->key, &problem, NULL) &&
           problem_equal(&problem, &planned->problem);
}

/* Compares a find-db with the plan. *row becomes the number of lines that are equal. */
static bool same_find_lines(FindDb *db, ExportLines *lines, guint *row, GError **error)
{
    const struct planned_line *planned = NULL;
    struct find_line line;
    struct line at;
    find_line_init(&line);
    enum read_step step = find_db_next(db, &line, &at, error);
    enum read_step wanted = export_lines_next(lines, &planned, error);
    while (step == READ_ROW && wanted == READ_ROW && same_find_line(planned, &line)) {
        (*row)++;
        step = find_db_next(db, &line, &at, error);
        wanted = export_lines_next(lines, &planned, error);
    }
    find_line_clear(&line);
    return step == READ_END && wanted == READ_END;
}

static bool verify_find_db(const struct export_files *files, const char *path, GError **error)
{
    guint row = 0;
    g_autoptr(ExportLines) lines =
        export_lines_open(files->spool, SPOOL_MIOPEN, files->wish->top, error);
    g_autoptr(FindDb) db = lines != NULL ? find_db_open(path, error) : NULL;
    return db != NULL &&
           (same_find_lines(db, lines, &row, error) || differs(path, "line", row, error));
}

static bool verify_perf_db(const struct export_files *files, const char *path, GError **error)
{
    guint at = 0;
    g_autoptr(ExportRecords) records = export_records_open(files->spool, error);
    const struct perf_source source = {export_records_next, records};
    return records != NULL &&
           (perf_db_holds(path, &source, &at, error) || differs(path, "record", at, error));
}

static bool verify_perf_text(const struct export_files *files, const char *path, GError **error)
{
    guint at = 0;
    g_autoptr(ExportRecords) records = export_records_open(files->spool, error);
    const struct perf_source source = {export_records_next, records};
    return records != NULL &&
           (perf_text_holds(path, &source, &at, error) || differs(path, "record", at, error));
}

static bool same_kernel(const struct planned_kernel *planned, const struct kernel_entry *entry,
                        GError **error)
{
    char md5[33], sha256[65];
    return strcmp(entry->name, planned->name) == 0 && strcmp(entry->args, planned->args) == 0 &&
           kernel_entry_digest(entry, md5, sha256, error) && strcmp(md5, entry->hash) == 0 &&
           strcmp(sha256, planned->sha256) == 0;
}

static bool verify_kernel_db(const struct export_files *files, const char *path, GError **error)
{
    struct kernel_entry entry;
    struct planned_kernel planned;
    guint row = 0;
    g_autoptr(ExportKernels) kernels = export_kernels_open(files->spool, SPOOL_MIOPEN, error);
    g_autoptr(KernelDb) db = kernels != NULL ? kernel_db_open(path, error) : NULL;
    if (db == NULL) {
        return false;
    }
    enum read_step step = kernel_db_next(db, &entry, error);
    enum read_step wanted = export_kernels_next(kernels, &planned, error);
    while (step == READ_ROW && wanted == READ_ROW && same_kernel(&planned, &entry, error)) {
        row++;
        step = kernel_db_next(db, &entry, error);
        wanted = export_kernels_next(kernels, &planned, error);
    }
    return (step == READ_END && wanted == READ_END) || differs(path, "kernel", row, error);
}

/* ---- writing all files ---- */

/* One row for each file, in the order of renaming: a kernel is in the folder before the entry that
 * needs it. */
static const struct {
    enum file_kind kind;
    unsigned what;
    bool (*write)(const struct export_files *files, const char *path, GError **error);
    bool (*verify)(const struct export_files *files, const char *path, GError **error);
} formats[] = {
    {FILE_KERNEL_DB, EXPORT_KERNELS, write_kernel_db, verify_kernel_db},
    {FILE_PERF_DB, EXPORT_PERF, write_perf_db, verify_perf_db},
    {FILE_PERF_TEXT, EXPORT_PERF, write_perf_text, verify_perf_text},
    {FILE_SJDB, EXPORT_COMPACT, export_compact_write, export_compact_verify},
    {FILE_FIND_DB, EXPORT_FIND, write_find_db, verify_find_db},
};

/* Checks the file as `skipjack check` does. The comparison with the plan cannot find errors in the
 * plan itself. */
static bool passes_check(const char *path, GError **error)
{
    g_autoptr(CheckReport) report = check_file(path);
    if (check_report_clean(report)) {
        return true;
    }
    g_autofree char *fault = check_report_fault(report);
    g_set_error(error, EXPORT_ERROR, EXPORT_ERROR_CHECK,
                "'%s' was written and is not fit to ship: %s", path, fault);
    return false;
}

bool export_files_write(const struct export_files *files, const char *folder, GPtrArray *names,
                        GError **error)
{
    for (size_t i = 0; i < G_N_ELEMENTS(formats); i++) {
        if ((formats[i].what & files->what) == 0) {
            continue;
        }
        char *name = file_name(files->target, formats[i].kind);
        g_ptr_array_add(names, name);
        g_autofree char *path = g_build_filename(folder, name, NULL);
        if (!formats[i].write(files, path, error) || !formats[i].verify(files, path, error) ||
            !passes_check(path, error)) {
            return false;
        }
    }
    return true;
}
