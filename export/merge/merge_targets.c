/*
 * Results of one target say nothing of another, and no format but .sjdb holds its target: so the names of
 * inputs and output are compared, and what the content tells is compared with them.
 */
#include "export/merge/merge_parts.h"

#include <stdarg.h>
#include <string.h>

#define REMEDY                                                                                     \
    "name the files after their targets, or merge with --mixed-targets, which compares none"

/* An input where one entry in so many cannot be of its target is another target's. MIOpen's files for
 * gfx1030, gfx942 and gfx900 have 276,643 entries that can be judged, and all are possible; under the name
 * of a slower target one in 260 or more is not. */
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

/* ---- what targets there are ---- */

struct file_target merge_input_target(const struct merge_input *input)
{
    return input->named.known == TARGET_WHOLE || input->content.known == TARGET_UNKNOWN
               ? input->named
               : input->content;
}

/* Adds what the file is of to what is known so far, which is of the file `whose`. */
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

/* Compares all inputs, as far as their targets are known by now, and the output. */
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

bool merge_targets_begin(struct merge *merge, char *const *paths, GError **error)
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

bool merge_targets_settle(struct merge *merge, GError **error)
{
    struct merge_report *report = merge->report;
    report->mixed = merge->options->mixed_targets;
    if (report->mixed) {
        return true;
    }
    for (guint i = 0; i < report->inputs->len; i++) {
        const struct merge_input *input = merge_input(merge, i);
        if (input->others > 0) {
            return refuse(error, "'%s' holds what is of another target: %s%s", input->path,
                          input->other, input->others > 1 ? ", and more" : "");
        }
    }
    if (!compare_all(merge, error)) {
        return false;
    }
    judge_by(merge, &report->target);
    return true;
}

/* ---- what content tells ---- */

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

bool merge_targets_judge(const struct merge *merge, GError **error)
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
