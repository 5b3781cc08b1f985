#include "export/formats/byte_source.h"
#include "export/merge/merge_parts.h"

#include "export/check/check.h"

#include <errno.h>
#include <fcntl.h>
#include <glib/gstdio.h>
#include <string.h>
#include <unistd.h>

/* A row a format: how it is read, how it is written, which of the parts it cannot hold. */
static const struct merge_format {
    enum file_kind kind;
    bool find, perf, kernels, solutions;
    bool (*read)(struct merge *merge, guint input, GError **error);
    bool (*write)(struct merge *merge, const char *path, GError **error);
} formats[] = {
    {FILE_FIND_DB, true, false, false, false, merge_finds_read, merge_finds_write},
    {FILE_PERF_DB, false, true, false, false, merge_perfs_read, merge_perfs_write},
    {FILE_PERF_TEXT, false, true, false, false, merge_perfs_read_text, merge_perfs_write_text},
    {FILE_KERNEL_DB, false, false, true, false, merge_kernels_read, merge_kernels_write},
    {FILE_SJDB, true, true, true, true, merge_sjdb_read, merge_sjdb_write},
};

static const struct merge_format *find_format(enum file_kind kind, GError **error)
{
    for (size_t i = 0; i < G_N_ELEMENTS(formats); i++) {
        if (formats[i].kind == kind) {
            return &formats[i];
        }
    }
    g_set_error(error, EXPORT_ERROR, EXPORT_ERROR_KIND, "a %s cannot be merged",
                file_kind_name(kind));
    return NULL;
}

struct merge_input *merge_input(const struct merge *merge, guint input)
{
    return &g_array_index(merge->report->inputs, struct merge_input, input);
}

/* ---- reading ---- */

bool merge_read(struct merge *merge, const char *path, GError **error)
{
    guint input = merge->report->inputs->len;
    struct merge_input added = {.path = g_strdup(path), .named = file_name_target(path)};
    g_array_append_val(merge->report->inputs, added);
    GError *failure = NULL;
    const struct merge_format *format =
        check_file_kind(path, &merge_input(merge, input)->kind, &failure)
            ? find_format(merge_input(merge, input)->kind, &failure)
            : NULL;
    if (format != NULL && format->read(merge, input, &failure)) {
        return true;
    }
    if (strstr(failure->message, path) == NULL) {
        g_prefix_error(&failure, "cannot read '%s': ", path);
    }
    g_propagate_error(error, failure);
    return false;
}

/* ---- writing ---- */

static const struct merge_format *out_format(const char *out, GError **error)
{
    enum file_kind kind;
    g_autofree char *name = g_path_get_basename(out);
    const char *packing = name + packed_name_length(name);
    if (*packing != '\0') {
        g_set_error(error, EXPORT_ERROR, EXPORT_ERROR_KIND,
                    "'%s' would be compressed: name it without %s and compress it afterwards", out,
                    packing);
        return NULL;
    }
    if (!file_name_kind(name, &kind)) {
        g_set_error(
            error, EXPORT_ERROR, EXPORT_ERROR_KIND,
            "the name '%s' says no format: let it end in .fdb.txt, .db, .db.txt, .kdb or .sjdb",
            out);
        return NULL;
    }
    return find_format(kind, error);
}

static void count_lost_parts(const struct merge *merge, const struct merge_format *format)
{
    int64_t *losses = merge->report->losses;
    losses[LOSS_FIND] = format->find ? 0 : merge_finds_count(merge);
    losses[LOSS_PERF] = format->perf ? 0 : merge_perfs_count(merge);
    losses[LOSS_KERNELS] = format->kernels ? 0 : merge_kernels_count(merge);
    losses[LOSS_SOLUTIONS] = format->solutions ? 0 : merge_solutions_count(merge);
}

static bool nothing_left(const struct merge_report *report, GError **error)
{
    g_autoptr(GString) why = g_string_new(NULL);
    for (int i = 0; i < LOSS_COUNT; i++) {
        if (report->losses[i] > 0) {
            g_string_append_printf(why, "%s %" G_GINT64_FORMAT " %s",
                                   why->len == 0 ? "; not expressible there:" : ",",
                                   report->losses[i], merge_loss_name((enum merge_loss)i));
        }
    }
    g_set_error(error, EXPORT_ERROR, EXPORT_ERROR_EMPTY,
                "nothing can be written as a %s: of the inputs nothing is left%s",
                file_kind_name(report->kind), why->str);
    if (report->places->len > 0) {
        const struct merge_place *place = &g_array_index(report->places, struct merge_place, 0);
        g_prefix_error(error, "%s %s %" G_GINT64_FORMAT ": %s; ",
                       g_array_index(report->inputs, struct merge_input, place->input).path,
                       place->noun, place->number, place->reason);
    }
    return false;
}

static bool write_beside(struct merge *merge, const struct merge_format *format, const char *temp,
                         GError **error)
{
    const char *out = merge->report->out;
    if (!format->write(merge, temp, error) || !merge_targets_judge(merge, error)) {
        return false;
    }
    if (merge->report->keys == 0) {
        return nothing_left(merge->report, error);
    }
    if (!export_sync_file(temp, error)) {
        return false;
    }
    if (g_rename(temp, out) != 0) {
        g_set_error(error, EXPORT_ERROR, EXPORT_ERROR_IO, "cannot rename '%s' to '%s': %s", temp,
                    out, g_strerror(errno));
        return false;
    }
    return true;
}

static bool write_out(struct merge *merge, const struct merge_format *format, GError **error)
{
    g_autofree char *temp = g_strconcat(merge->report->out, ".XXXXXX", NULL);
    int fd = g_mkstemp_full(temp, O_WRONLY | O_CLOEXEC, 0666);
    if (fd < 0) {
        g_set_error(error, EXPORT_ERROR, EXPORT_ERROR_IO, "cannot write beside '%s': %s",
                    merge->report->out, g_strerror(errno));
        return false;
    }
    close(fd);
    count_lost_parts(merge, format);
    if (!write_beside(merge, format, temp, error)) {
        g_unlink(temp);
        return false;
    }
    return true;
}

static bool merge_all(struct merge *merge, char *const *paths, const char *out, GError **error)
{
    const struct merge_format *format = out_format(out, error);
    if (format == NULL) {
        return false;
    }
    merge->report->kind = format->kind;
    if (!merge_targets_begin(merge, paths, error)) {
        return false;
    }
    for (char *const *path = paths; *path != NULL; path++) {
        if (!merge_read(merge, *path, error)) {
            return false;
        }
    }
    return merge_targets_settle(merge, error) && write_out(merge, format, error);
}

void merge_init(struct merge *merge, const struct merge_options *options, const char *out)
{
    *merge = (struct merge){
        .options = options,
        .report = merge_report_new(out),
        .finds = merge_finds_new(),
        .perfs = merge_perfs_new(),
        .kernels = merge_kernels_new(),
        .solutions = merge_solutions_new(),
        .solvers = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free),
        .judged_by = {.known = TARGET_UNKNOWN},
    };
}

void merge_clear(struct merge *merge)
{
    merge_finds_free(merge->finds);
    merge_perfs_free(merge->perfs);
    merge_solutions_free(merge->solutions);
    merge_kernels_free(merge->kernels);
    g_hash_table_unref(merge->solvers);
    merge_report_free(merge->report);
}

struct merge_report *merge_files(char *const *paths, const char *out,
                                 const struct merge_options *options, GError **error)
{
    struct merge merge;
    MergeReport *report = NULL;
    merge_init(&merge, options, out);
    if (merge_all(&merge, paths, out, error)) {
        report = g_steal_pointer(&merge.report);
        merge_report_finish(report);
    }
    merge_clear(&merge);
    return report;
}
