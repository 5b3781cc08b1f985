#include "export/merge/merge_report.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

static const char *const loss_names[LOSS_COUNT] = {
    [LOSS_FIND] = "keys of find-dbs",
    [LOSS_INTERVALS] = "intervals of times",
    [LOSS_PERF] = "rows of perf-dbs",
    [LOSS_KERNELS] = "kernels",
    [LOSS_SOLUTIONS] = "solutions",
    [LOSS_SOLUTION_ALONE] = "solutions whose entry gave way to one without",
    [LOSS_UNMEASURED] = "solutions that were never measured",
    [LOSS_OPERATOR] = "keys of operators other than convolutions",
    [LOSS_STRIDES] = "keys with strided tensors",
    [LOSS_EPILOGUE] = "keys with an epilogue",
    [LOSS_CACHE_KEY_ALONE] = "cache keys of the older form",
    [LOSS_ROW] = "params of rows that no problem has",
    [LOSS_CACHE_KEY] = "libraries and cache keys of the older form",
    [LOSS_NEWER_FORM] = "entries of the newer form, which have no library and cache key",
    [LOSS_SEPARATOR] = "entries with a ':' or ';' that the text form divides by",
    [LOSS_UNUSED_CONFIG] = "config rows without an entry",
};

const char *merge_loss_name(enum merge_loss loss)
{
    return loss_names[loss];
}

struct file_target merge_input_target(const struct merge_input *input)
{
    return input->named.known == TARGET_WHOLE || input->content.known == TARGET_UNKNOWN
               ? input->named
               : input->content;
}

static void input_clear(void *input)
{
    struct merge_input *at = input;
    g_free(at->path);
    g_free(at->other);
    g_free(at->doubt);
}

static void place_clear(void *place)
{
    g_free(((struct merge_place *)place)->reason);
}

struct merge_report *merge_report_new(const char *out)
{
    struct merge_report *report = g_new0(struct merge_report, 1);
    report->out = g_strdup(out);
    report->inputs = g_array_new(FALSE, FALSE, sizeof(struct merge_input));
    g_array_set_clear_func(report->inputs, input_clear);
    report->places = g_array_new(FALSE, FALSE, sizeof(struct merge_place));
    g_array_set_clear_func(report->places, place_clear);
    report->conflicts = g_array_new(FALSE, FALSE, sizeof(struct merge_conflict));
    report->texts = g_string_chunk_new(1 << 14);
    return report;
}

void merge_report_free(struct merge_report *report)
{
    if (report != NULL) {
        g_array_unref(report->inputs);
        g_array_unref(report->places);
        g_array_unref(report->conflicts);
        g_string_chunk_free(report->texts);
        g_free(report->out);
        g_free(report);
    }
}

static int compare_places(const void *a, const void *b)
{
    const struct merge_place *left = a, *right = b;
    if (left->input != right->input) {
        return left->input < right->input ? -1 : 1;
    }
    return (left->number > right->number) - (left->number < right->number);
}

void merge_report_finish(struct merge_report *report)
{
    g_array_sort(report->places, compare_places);
}

bool merge_report_clean(const struct merge_report *report)
{
    return report->place_count == 0;
}

/* ---- printing ---- */

static const char *path_of(const struct merge_report *report, guint input)
{
    return g_array_index(report->inputs, struct merge_input, input).path;
}

static void print_places(const struct merge_report *report, FILE *out)
{
    guint named = MIN(report->places->len, MERGE_NAMED_MAX);
    if (report->place_count > 0) {
        fprintf(out, "  left out: %" G_GINT64_FORMAT "\n", report->place_count);
    }
    for (guint i = 0; i < named; i++) {
        const struct merge_place *place = &g_array_index(report->places, struct merge_place, i);
        fprintf(out, "    %s %s %" G_GINT64_FORMAT ": %s\n", path_of(report, place->input),
                place->noun, place->number, place->reason);
    }
    if (report->place_count > named) {
        fprintf(out, "    and %" G_GINT64_FORMAT " more, see --json\n",
                report->place_count - named);
    }
}

static void print_conflicts(const struct merge_report *report, FILE *out)
{
    guint named = MIN(report->conflicts->len, MERGE_NAMED_MAX);
    if (report->conflict_count > 0) {
        fprintf(out, "  conflicts: %" G_GINT64_FORMAT "\n", report->conflict_count);
    }
    for (guint i = 0; i < named; i++) {
        const struct merge_conflict *at =
            &g_array_index(report->conflicts, struct merge_conflict, i);
        fprintf(out,
                "    %s %s: %s of %s %s %" G_GINT64_FORMAT ", not %s of %s %s %" G_GINT64_FORMAT
                "\n",
                at->key, at->solver, at->kept, path_of(report, at->kept_input), at->kept_noun,
                at->kept_number, at->dropped, path_of(report, at->dropped_input), at->dropped_noun,
                at->dropped_number);
    }
    if (report->conflict_count > named) {
        fprintf(out, "    and %" G_GINT64_FORMAT " more, see --json\n",
                report->conflict_count - named);
    }
}

void merge_report_print(const struct merge_report *report, FILE *out)
{
    fprintf(out, "%s: %s, %s%s, %" G_GINT64_FORMAT " keys, %" G_GINT64_FORMAT " entries, from\n",
            report->out, file_kind_name(report->kind), report->mixed ? "" : "target ",
            report->mixed ? "targets not compared" : file_target_text(&report->target),
            report->keys, report->entries);
    for (guint i = 0; i < report->inputs->len; i++) {
        const struct merge_input *input = &g_array_index(report->inputs, struct merge_input, i);
        struct file_target target = merge_input_target(input);
        fprintf(out,
                "  %s: %s, target %s, %" G_GINT64_FORMAT " keys, %" G_GINT64_FORMAT " entries\n",
                input->path, file_kind_name(input->kind), file_target_text(&target), input->keys,
                input->entries);
    }
    if (report->unmeasured > 0) {
        fprintf(out, "  never measured: %" G_GINT64_FORMAT " solutions\n", report->unmeasured);
    }
    if (report->gave_way > 0) {
        fprintf(out, "  gave way to what was measured: %" G_GINT64_FORMAT " solutions\n",
                report->gave_way);
    }
    for (int i = 0; i < LOSS_COUNT; i++) {
        if (report->losses[i] > 0) {
            fprintf(out, "  not expressible here: %" G_GINT64_FORMAT " %s\n", report->losses[i],
                    loss_names[i]);
        }
    }
    print_conflicts(report, out);
    print_places(report, out);
}

/* Prints one element of a JSON array, with a comma if it is not the first. Elements are printed one
 * by one, since there may be as many as the inputs have entries. */
static void print_element(json_t *element, bool first, FILE *out)
{
    char *dumped = json_dumps(element, JSON_COMPACT);
    fprintf(out, "%s%s", first ? "" : ",", dumped);
    free(dumped);
    json_decref(element);
}

static json_t *json_target(const struct file_target *target)
{
    return target->known == TARGET_UNKNOWN ? json_null() : json_string(file_target_text(target));
}

static json_t *json_input(const struct merge_input *input)
{
    g_autofree char *file = g_utf8_make_valid(input->path, -1);
    struct file_target target = merge_input_target(input);
    return json_pack("{s:s, s:s, s:o, s:I, s:I}", "file", file, "format",
                     file_kind_name(input->kind), "target", json_target(&target), "keys",
                     (json_int_t)input->keys, "entries", (json_int_t)input->entries);
}

static json_t *json_place(const struct merge_report *report, const struct merge_place *place)
{
    g_autofree char *file = g_utf8_make_valid(path_of(report, place->input), -1);
    g_autofree char *where = g_strdup_printf("%s %" G_GINT64_FORMAT, place->noun, place->number);
    return json_pack("{s:s, s:s, s:s}", "file", file, "where", where, "reason", place->reason);
}

static json_t *json_conflict(const struct merge_report *report, const struct merge_conflict *at)
{
    const char *texts[4] = {at->key, at->solver, at->kept, at->dropped};
    char *valid[4];
    for (int i = 0; i < 4; i++) {
        valid[i] = g_utf8_make_valid(texts[i], -1);
    }
    g_autofree char *kept = g_strdup_printf(
        "%s %s %" G_GINT64_FORMAT, path_of(report, at->kept_input), at->kept_noun, at->kept_number);
    g_autofree char *dropped =
        g_strdup_printf("%s %s %" G_GINT64_FORMAT, path_of(report, at->dropped_input),
                        at->dropped_noun, at->dropped_number);
    g_autofree char *kept_at = g_utf8_make_valid(kept, -1);
    g_autofree char *dropped_at = g_utf8_make_valid(dropped, -1);
    json_t *object =
        json_pack("{s:s, s:s, s:s, s:s, s:s, s:s}", "key", valid[0], "solver", valid[1], "kept",
                  valid[2], "kept_at", kept_at, "dropped", valid[3], "dropped_at", dropped_at);
    for (int i = 0; i < 4; i++) {
        g_free(valid[i]);
    }
    return object;
}

static json_t *json_losses(const struct merge_report *report)
{
    json_t *list = json_array();
    for (int i = 0; i < LOSS_COUNT; i++) {
        if (report->losses[i] > 0) {
            json_array_append_new(list, json_pack("{s:s, s:I}", "what", loss_names[i], "count",
                                                  (json_int_t)report->losses[i]));
        }
    }
    return list;
}

static void print_arrays(const struct merge_report *report, FILE *out)
{
    fputs(",\"inputs\":[", out);
    for (guint i = 0; i < report->inputs->len; i++) {
        print_element(json_input(&g_array_index(report->inputs, struct merge_input, i)), i == 0,
                      out);
    }
    fputs("],\"left_out\":[", out);
    for (guint i = 0; i < report->places->len; i++) {
        print_element(json_place(report, &g_array_index(report->places, struct merge_place, i)),
                      i == 0, out);
    }
    fputs("],\"conflicts\":[", out);
    for (guint i = 0; i < report->conflicts->len; i++) {
        print_element(
            json_conflict(report, &g_array_index(report->conflicts, struct merge_conflict, i)),
            i == 0, out);
    }
    fputs("]}\n", out);
}

void merge_report_print_json(const struct merge_report *report, FILE *out)
{
    g_autofree char *file = g_utf8_make_valid(report->out, -1);
    json_t *head = json_pack(
        "{s:s, s:s, s:o, s:b, s:I, s:I, s:I, s:I, s:I, s:I, s:o, s:b}", "out", file, "format",
        file_kind_name(report->kind), "target", json_target(&report->target), "mixed_targets",
        report->mixed, "keys", (json_int_t)report->keys, "entries", (json_int_t)report->entries,
        "left_out_count", (json_int_t)report->place_count, "conflict_count",
        (json_int_t)report->conflict_count, "unmeasured", (json_int_t)report->unmeasured,
        "unmeasured_gave_way", (json_int_t)report->gave_way, "not_expressible", json_losses(report),
        "clean", merge_report_clean(report));
    char *dumped = json_dumps(head, JSON_COMPACT);
    /* Prints the object without its closing brace, which follows behind the arrays. */
    fwrite(dumped, 1, strlen(dumped) - 1, out);
    free(dumped);
    json_decref(head);
    print_arrays(report, out);
}
