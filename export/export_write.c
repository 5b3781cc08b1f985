#include "export/export_plan.h"

#include "export/check.h"
#include "export/formats/file_name.h"
#include "export/formats/kernel_db.h"

#include <string.h>

struct writer {
    const struct export_plan *plan;
    Store *store;
};

/* ---- writing ---- */

static bool write_find_db(const struct writer *writer, const char *path, GError **error)
{
    g_autoptr(GString) text = g_string_new(NULL);
    for (guint i = 0; i < writer->plan->lines->len; i++) {
        const struct planned_line *line = writer->plan->lines->pdata[i];
        g_string_append_printf(text, "%s\n", line->text);
    }
    return g_file_set_contents(path, text->str, (gssize)text->len, error);
}

static bool write_perf_db(const struct writer *writer, const char *path, GError **error)
{
    return perf_db_write(path, writer->plan->records, error);
}

static bool write_perf_text(const struct writer *writer, const char *path, GError **error)
{
    return perf_text_write(path, writer->plan->records, error);
}

static bool add_kernel(const struct writer *writer, KernelDbWriter *file,
                       const struct planned_kernel *kernel, GError **error)
{
    struct kernel_row *row = store_get_kernel(writer->store, kernel->key, error);
    if (row == NULL) {
        return false;
    }
    bool added = false;
    if (row->code == NULL) {
        g_set_error(error, EXPORT_ERROR, EXPORT_ERROR_CHECK,
                    "the code object of kernel %.12s was dropped meanwhile: export again",
                    kernel->key);
    } else if (strcmp(row->code_sha256, kernel->sha256) != 0) {
        g_set_error(error, EXPORT_ERROR, EXPORT_ERROR_CHECK,
                    "kernel %.12s was built anew meanwhile: export again", kernel->key);
    } else {
        added = kernel_db_add(file, kernel->name, kernel->args, row->code, error);
    }
    kernel_row_free(row);
    return added;
}

static bool write_kernel_db(const struct writer *writer, const char *path, GError **error)
{
    g_autoptr(KernelDbWriter) file = kernel_db_create(path, error);
    for (guint i = 0; file != NULL && i < writer->plan->kernels->len; i++) {
        if (!add_kernel(writer, file, writer->plan->kernels->pdata[i], error)) {
            return false;
        }
    }
    return file != NULL && kernel_db_finish(file, error);
}

/* ---- reading back ---- */

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
    return strcmp(text->str, planned->text) == 0 && problem_key_parse(line->key, &problem, NULL) &&
           problem_equal(&problem, &planned->problem);
}

static bool verify_find_db(const struct writer *writer, const char *path, GError **error)
{
    struct find_line line;
    struct line at;
    guint row = 0;
    const GPtrArray *lines = writer->plan->lines;
    g_autoptr(FindDb) db = find_db_open(path, error);
    if (db == NULL) {
        return false;
    }
    find_line_init(&line);
    enum read_step step = find_db_next(db, &line, &at, error);
    while (step == READ_ROW && row < lines->len && same_find_line(lines->pdata[row], &line)) {
        row++;
        step = find_db_next(db, &line, &at, error);
    }
    find_line_clear(&line);
    return (step == READ_END && row == lines->len) || differs(path, "line", row, error);
}

static bool verify_perf_db(const struct writer *writer, const char *path, GError **error)
{
    guint at = 0;
    return perf_db_holds(path, writer->plan->records, &at, error) ||
           differs(path, "record", at, error);
}

static bool verify_perf_text(const struct writer *writer, const char *path, GError **error)
{
    guint at = 0;
    return perf_text_holds(path, writer->plan->records, &at, error) ||
           differs(path, "record", at, error);
}

static bool same_kernel(const struct planned_kernel *planned, const struct kernel_entry *entry,
                        GError **error)
{
    char md5[33], sha256[65];
    return strcmp(entry->name, planned->name) == 0 && strcmp(entry->args, planned->args) == 0 &&
           kernel_entry_digest(entry, md5, sha256, error) && strcmp(md5, entry->hash) == 0 &&
           strcmp(sha256, planned->sha256) == 0;
}

static bool verify_kernel_db(const struct writer *writer, const char *path, GError **error)
{
    struct kernel_entry entry;
    guint row = 0;
    const GPtrArray *kernels = writer->plan->kernels;
    g_autoptr(KernelDb) db = kernel_db_open(path, error);
    if (db == NULL) {
        return false;
    }
    enum read_step step = kernel_db_next(db, &entry, error);
    while (step == READ_ROW && row < kernels->len &&
           same_kernel(kernels->pdata[row], &entry, error)) {
        row++;
        step = kernel_db_next(db, &entry, error);
    }
    return (step == READ_END && row == kernels->len) || differs(path, "kernel", row, error);
}

/* ---- all files ---- */

/* In the order in which they get their names: what an entry needs is there before the entry. */
static const struct {
    enum file_kind kind;
    unsigned what;
    bool (*write)(const struct writer *writer, const char *path, GError **error);
    bool (*verify)(const struct writer *writer, const char *path, GError **error);
} files[] = {
    {FILE_KERNEL_DB, EXPORT_KERNELS, write_kernel_db, verify_kernel_db},
    {FILE_PERF_DB, EXPORT_PERF, write_perf_db, verify_perf_db},
    {FILE_PERF_TEXT, EXPORT_PERF, write_perf_text, verify_perf_text},
    {FILE_FIND_DB, EXPORT_FIND, write_find_db, verify_find_db},
};

/* Beside what the plan says: what `check` says of any file. */
static bool passes_check(const char *path, GError **error)
{
    g_autoptr(CheckReport) report = check_file(path);
    if (check_report_clean(report)) {
        return true;
    }
    const struct unreadable *place =
        report->unreadable->len > 0 ? report->unreadable->pdata[0] : NULL;
    g_set_error(error, EXPORT_ERROR, EXPORT_ERROR_CHECK,
                "'%s' was written and is not fit to ship: %s", path,
                place != NULL ? place->reason : "see what `check` says of such files");
    return false;
}

bool export_plan_write(const struct export_plan *plan, Store *store, const struct target *target,
                       unsigned what, const char *folder, GPtrArray *names, GError **error)
{
    const struct writer writer = {plan, store};
    for (size_t i = 0; i < G_N_ELEMENTS(files); i++) {
        if ((files[i].what & what) == 0) {
            continue;
        }
        char *name = file_name(target, files[i].kind);
        g_ptr_array_add(names, name);
        g_autofree char *path = g_build_filename(folder, name, NULL);
        if (!files[i].write(&writer, path, error) || !files[i].verify(&writer, path, error) ||
            !passes_check(path, error)) {
            return false;
        }
    }
    return true;
}
