#include "export/formats/byte_source.h"

#include "export/check/check.h"
#include "export/merge/merge_find.h"
#include "export/merge/merge_kernel.h"
#include "export/merge/merge_perf.h"
#include "export/merge/merge_sjdb.h"
#include "export/merge/merge_state.h"

#include <errno.h>
#include <fcntl.h>
#include <glib/gstdio.h>
#include <stdarg.h>
#include <string.h>
#include <unistd.h>

#define REMEDY                                                                                     \
    "name the files after their targets, or merge with --mixed-targets, which compares none"

/* An input is of another target if at least one entry in this many is impossible on its target.
 * MIOpen's files of gfx1030, gfx942 and gfx900 have 276,643 entries that can be judged, and all are
 * possible; under a slower target's name one in 260 or more is not. */
#define DOUBTS_ONE_IN 1000

static bool refuse(GError **error, const char *format, ...) G_GNUC_PRINTF(2, 3);

static bool refuse(GError **error, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    g_autofree char *message = g_strdup_vprintf(format, arguments);
    va_end(arguments);
    g_set_error(error, EXPORT_ERROR, EXPORT_ERROR_TARGET, "%s: " REMEDY, message);
    return false;
}

/* ---- comparing targets ---- */

/* Compares a file's target with the target of the files before it, and keeps the more precise of
 * the two in *common. `whose` names the file that *common was read from. */
static bool add_target(struct file_target *common, const char **whose,
                       const struct file_target *target, const char *path, GError **error)
{
    if (!file_targets_fit(common, target)) {
        return refuse(error, "'%s' is of the target %s and '%s' of %s", *whose,
                      file_target_text(common), path, file_target_text(target));
    }
    if (target->known > common->known) {
        *common = *target;
        *whose = path;
    }
    return true;
}

static bool add_output(struct file_target *common, const char *whose, const char *out,
                       GError **error)
{
    struct file_target target = file_name_target(out);
    if (!file_targets_fit(common, &target)) {
        return refuse(error, "'%s' is of the target %s, and the output's name, '%s', of %s", whose,
                      file_target_text(common), out, file_target_text(&target));
    }
    if (target.known > common->known) {
        *common = target;
    }
    return true;
}

/* Compares the targets of the output and of all inputs, as far as they have been read. */
static bool compare_all(struct merge *merge, GError **error)
{
    struct merge_report *report = merge->report;
    struct file_target common = {.known = TARGET_UNKNOWN};
    const char *whose = NULL;
    for (guint i = 0; i < report->inputs->len; i++) {
        const struct merge_input *input = merge_input(merge, i);
        struct file_target target = merge_input_target(input);
        if (!add_target(&common, &whose, &target, input->path, error)) {
            return false;
        }
    }
    report->target = common;
    return add_output(&report->target, whose, report->out, error);
}

static void judge_by(struct merge *merge, const struct file_target *target)
{
    merge->judged_by = *target;
    target_bounds_init(&merge->bounds,
                       target->known == TARGET_WHOLE ? &merge->judged_by.target : NULL);
}

static bool targets_begin(struct merge *merge, char *const *paths, GError **error)
{
    struct file_target common = {.known = TARGET_UNKNOWN};
    const char *whose = NULL;
    if (merge->options->mixed_targets) {
        return true;
    }
    for (char *const *path = paths; *path != NULL; path++) {
        struct file_target named = file_name_target(*path);
        if (!add_target(&common, &whose, &named, *path, error)) {
            return false;
        }
    }
    if (!add_output(&common, whose, merge->report->out, error)) {
        return false;
    }
    judge_by(merge, &common);
    return true;
}

static bool targets_settle(struct merge *merge, GError **error)
{
    struct merge_report *report = merge->report;
    report->mixed = merge->options->mixed_targets;
    if (report->mixed) {
        return true;
    }
    for (guint i = 0; i < report->inputs->len; i++) {
        const struct merge_input *input = merge_input(merge, i);
        if (input->others > 0) {
            return refuse(error, "'%s' holds parts of another target: %s%s", input->path,
                          input->other, input->others > 1 ? ", and more" : "");
        }
    }
    if (!compare_all(merge, error)) {
        return false;
    }
    judge_by(merge, &report->target);
    return true;
}

/* ---- targets that the content states ---- */

void merge_other_target(struct merge *merge, guint input, const char *noun, int64_t number,
                        const char *what)
{
    struct merge_input *at = merge_input(merge, input);
    if (at->others++ == 0) {
        at->other = g_strdup_printf(
            "%s %" G_GINT64_FORMAT " is for %s, not %s", noun, number, what,
            file_target_text(at->named.known != TARGET_UNKNOWN ? &at->named : &at->content));
    }
}

bool merge_content_target(struct merge *merge, guint input, const struct file_target *said,
                          const char *noun, int64_t number)
{
    struct merge_input *at = merge_input(merge, input);
    if (at->content.known == TARGET_UNKNOWN) {
        at->content = *said;
    }
    if (!file_targets_fit(&at->named, said) || !file_targets_fit(&at->content, said)) {
        merge_other_target(merge, input, noun, number, file_target_text(said));
        return false;
    }
    return true;
}

void merge_doubt(struct merge *merge, guint input, const char *noun, int64_t number,
                 const char *reason)
{
    struct merge_input *at = merge_input(merge, input);
    merge_left_out(merge, input, noun, number, "%s", reason);
    if (at->doubts++ == 0) {
        at->doubt = g_strdup_printf("%s %" G_GINT64_FORMAT ": %s", noun, number, reason);
    }
}

static bool targets_judge(const struct merge *merge, GError **error)
{
    for (guint i = 0; i < merge->report->inputs->len; i++) {
        const struct merge_input *input = merge_input(merge, i);
        int64_t all = input->entries + input->doubts;
        if (input->doubts > 0 && input->doubts >= all / DOUBTS_ONE_IN) {
            return refuse(error,
                          "'%s' is not of the target %s: %" G_GINT64_FORMAT
                          " of its %" G_GINT64_FORMAT " entries cannot be, the first in %s",
                          input->path, file_target_text(&merge->judged_by), input->doubts, all,
                          input->doubt);
        }
    }
    return true;
}

/* Solutions are cleared before kernels, which own the files that solutions point into. */
static const struct merge_part *const parts[] = {&merge_find_part,       &merge_perf_part,
                                                 &merge_solution_part,   &merge_interval_part,
                                                 &merge_unmeasured_part, &merge_kernel_part};

static const struct merge_format *const formats[] = {
    &merge_find_format,   &merge_perf_format, &merge_perf_text_format,
    &merge_kernel_format, &merge_sjdb_format,
};

static const struct merge_format *find_format(enum file_kind kind, GError **error)
{
    for (size_t i = 0; i < G_N_ELEMENTS(formats); i++) {
        if (formats[i]->kind == kind) {
            return formats[i];
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

/* ---- reporting what is left out, and conflicts ---- */

void merge_left_out(struct merge *merge, guint input, const char *noun, int64_t number,
                    const char *format, ...)
{
    struct merge_report *report = merge->report;
    va_list arguments;
    if (report->place_count++ < MERGE_PLACES_MAX) {
        va_start(arguments, format);
        g_autofree char *reason = g_strdup_vprintf(format, arguments);
        va_end(arguments);
        struct merge_place place = {input, noun, number, g_utf8_make_valid(reason, -1)};
        g_array_append_val(report->places, place);
    }
}

static const char *keep(struct merge_report *report, struct span text)
{
    return g_string_chunk_insert_len(report->texts, text.at, (gssize)text.length);
}

void merge_conflict(struct merge *merge, struct span key, struct span solver,
                    const struct merge_side *kept, const struct merge_side *dropped)
{
    struct merge_report *report = merge->report;
    if (report->conflict_count++ >= MERGE_NAMED_MAX && !merge->options->all_conflicts) {
        return;
    }
    struct merge_conflict conflict = {.key = keep(report, key),
                                      .solver = keep(report, solver),
                                      .kept = keep(report, kept->value),
                                      .dropped = keep(report, dropped->value),
                                      .kept_input = kept->input,
                                      .dropped_input = dropped->input,
                                      .kept_number = kept->number,
                                      .dropped_number = dropped->number,
                                      .kept_noun = kept->noun,
                                      .dropped_noun = dropped->noun};
    g_array_append_val(report->conflicts, conflict);
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

/* ---- writing the output ---- */

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
    for (size_t i = 0; i < G_N_ELEMENTS(parts); i++) {
        bool is_held = (format->parts & 1u << parts[i]->loss) != 0;
        merge->report->losses[parts[i]->loss] = is_held ? 0 : parts[i]->count(merge);
    }
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
    if (!format->write(merge, temp, error) || !targets_judge(merge, error)) {
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
    if (!targets_begin(merge, paths, error)) {
        return false;
    }
    for (char *const *path = paths; *path != NULL; path++) {
        if (!merge_read(merge, *path, error)) {
            return false;
        }
    }
    return targets_settle(merge, error) && write_out(merge, format, error);
}

void merge_init(struct merge *merge, const struct merge_options *options, const char *out)
{
    *merge = (struct merge){
        .options = options,
        .report = merge_report_new(out),
        .solvers = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free),
        .judged_by = {.known = TARGET_UNKNOWN},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(parts); i++) {
        parts[i]->init(merge);
    }
}

void merge_clear(struct merge *merge)
{
    for (size_t i = 0; i < G_N_ELEMENTS(parts); i++) {
        parts[i]->clear(merge);
    }
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
