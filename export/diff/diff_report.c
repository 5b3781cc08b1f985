#include "export/diff/diff.h"

#include <jansson.h>
#include <stdlib.h>

static const struct {
    const char *name, *title;
} whats[DIFF_COUNT] = {
    [DIFF_GAINED] = {"gained", "keys gained"},
    [DIFF_LOST] = {"lost", "keys lost"},
    [DIFF_WINNER] = {"winner", "winners changed"},
    [DIFF_NOISE] = {"noise", "within the noise, not counted as differences"},
    [DIFF_CHANGED] = {"changed", "otherwise changed"},
};

const char *diff_what_name(enum diff_what what)
{
    return whats[what].name;
}

bool diff_report_equal(const struct diff_report *report)
{
    for (int i = 0; i < DIFF_COUNT; i++) {
        if (i != DIFF_NOISE && report->counts[i] > 0) {
            return false;
        }
    }
    return true;
}

bool diff_report_two_targets(const struct diff_report *report)
{
    return !file_targets_fit(&report->targets[0], &report->targets[1]);
}

/* ---- for people ---- */

static void print_place(const struct diff_place *place, FILE *out)
{
    fprintf(out, "    %s%s%s", place->key, place->solver[0] != '\0' ? " " : "", place->solver);
    if (place->first[0] != '\0' || place->second[0] != '\0') {
        fprintf(out, ": %s -> %s", place->first[0] != '\0' ? place->first : "none",
                place->second[0] != '\0' ? place->second : "none");
    }
    fputc('\n', out);
}

static void print_what(const struct diff_report *report, enum diff_what what, FILE *out)
{
    int64_t named = 0;
    if (report->counts[what] == 0) {
        return;
    }
    fprintf(out, "  %s: %" G_GINT64_FORMAT "\n", whats[what].title, report->counts[what]);
    for (guint i = 0; i < report->places->len && named < MERGE_NAMED_MAX; i++) {
        const struct diff_place *place = &g_array_index(report->places, struct diff_place, i);
        if (place->what == what) {
            print_place(place, out);
            named++;
        }
    }
    if (report->counts[what] > named) {
        fprintf(out, "    and %" G_GINT64_FORMAT " more, see --json\n",
                report->counts[what] - named);
    }
}

static void print_times(const struct diff_times *times, const char *name, FILE *out)
{
    fprintf(out, "  %-30s %8" G_GINT64_FORMAT " %8" G_GINT64_FORMAT, name, times->problems,
            times->both);
    if (times->both > 0) {
        fprintf(out, " %12.6g %12.6g %+9.2f %% %+9.2f %%", times->first_ms, times->second_ms,
                100 * (times->second_ms / times->first_ms - 1), 100 * (times->ratio - 1));
    }
    fputc('\n', out);
}

static void print_all_times(const struct diff_report *report, FILE *out)
{
    const struct diff_times *times = &report->times;
    fprintf(out, "  %-30s %8s %8s %12s %12s %11s %11s\n", "time of the fastest", "problems",
            "in both", "first ms", "second ms", "sum", "mean");
    print_times(times, "all keys", out);
    for (guint i = 0; i < report->networks->len; i++) {
        const struct diff_times *network = &g_array_index(report->networks, struct diff_times, i);
        print_times(network, network->name, out);
    }
    if (report->networks->len > 1) {
        print_times(&report->all_networks, "all networks", out);
    }
    fprintf(out,
            "  sum and geometric mean are of what is in both, networks' by multiplicity; of all "
            "keys %" G_GINT64_FORMAT " are faster, %" G_GINT64_FORMAT " slower\n",
            times->faster, times->slower);
}

static void print_left_out(const struct diff_report *report, FILE *out)
{
    const struct merge_report *read = report->read;
    for (guint i = 0; i < MIN(read->places->len, MERGE_NAMED_MAX); i++) {
        const struct merge_place *place = &g_array_index(read->places, struct merge_place, i);
        fprintf(out, "  not compared: %s %s %" G_GINT64_FORMAT ": %s\n",
                report->files[place->input], place->noun, place->number, place->reason);
    }
    if (read->place_count > MERGE_NAMED_MAX) {
        fprintf(out, "  not compared: %" G_GINT64_FORMAT " more, see --json\n",
                read->place_count - MERGE_NAMED_MAX);
    }
}

void diff_report_print(const struct diff_report *report, FILE *out)
{
    for (int i = 0; i < 2; i++) {
        fprintf(out, "%s: %s, target %s, %" G_GINT64_FORMAT " keys, %" G_GINT64_FORMAT " entries\n",
                report->files[i], file_kind_name(report->kinds[i]),
                file_target_text(&report->targets[i]), report->keys[i], report->entries[i]);
    }
    if (diff_report_two_targets(report)) {
        fprintf(out,
                "  they are of two targets, %s and %s: other winners and times are no changes\n",
                file_target_text(&report->targets[0]), file_target_text(&report->targets[1]));
    }
    if (diff_report_equal(report)) {
        fputs("  they say the same\n", out);
    }
    for (int what = 0; what < DIFF_COUNT; what++) {
        print_what(report, (enum diff_what)what, out);
    }
    if (report->timed) {
        print_all_times(report, out);
    }
    print_left_out(report, out);
}

/* ---- JSON ---- */

static json_t *json_text(const char *text)
{
    g_autofree char *valid = g_utf8_make_valid(text, -1);
    return json_string(valid);
}

static json_t *json_times(const struct diff_times *times)
{
    json_t *object = json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:f, s:f, s:f}", "problems",
                               (json_int_t)times->problems, "both", (json_int_t)times->both,
                               "only_first", (json_int_t)times->only_first, "only_second",
                               (json_int_t)times->only_second, "faster", (json_int_t)times->faster,
                               "slower", (json_int_t)times->slower, "first_ms", times->first_ms,
                               "second_ms", times->second_ms, "ratio", times->ratio);
    if (times->name != NULL) {
        json_object_set_new(object, "network", json_text(times->name));
    }
    return object;
}

static json_t *json_files(const struct diff_report *report)
{
    json_t *list = json_array();
    for (int i = 0; i < 2; i++) {
        json_array_append_new(list, json_pack("{s:o, s:s, s:s?, s:I, s:I}", "file",
                                              json_text(report->files[i]), "format",
                                              file_kind_name(report->kinds[i]), "target",
                                              report->targets[i].known == TARGET_UNKNOWN
                                                  ? NULL
                                                  : file_target_text(&report->targets[i]),
                                              "keys", (json_int_t)report->keys[i], "entries",
                                              (json_int_t)report->entries[i]));
    }
    return list;
}

static json_t *json_counts(const struct diff_report *report)
{
    json_t *object = json_object();
    for (int i = 0; i < DIFF_COUNT; i++) {
        json_object_set_new(object, whats[i].name, json_integer((json_int_t)report->counts[i]));
    }
    return object;
}

static json_t *json_places(const struct diff_report *report)
{
    json_t *list = json_array();
    for (guint i = 0; i < report->places->len; i++) {
        const struct diff_place *place = &g_array_index(report->places, struct diff_place, i);
        json_t *object = json_pack("{s:s, s:o, s:o, s:o}", "what", whats[place->what].name, "key",
                                   json_text(place->key), "first", json_text(place->first),
                                   "second", json_text(place->second));
        if (place->solver[0] != '\0') {
            json_object_set_new(object, "solver", json_text(place->solver));
        }
        json_array_append_new(list, object);
    }
    return list;
}

static json_t *json_networks(const struct diff_report *report)
{
    json_t *list = json_array();
    for (guint i = 0; i < report->networks->len; i++) {
        json_array_append_new(list,
                              json_times(&g_array_index(report->networks, struct diff_times, i)));
    }
    return list;
}

static json_t *json_left_out(const struct diff_report *report)
{
    json_t *list = json_array();
    for (guint i = 0; i < report->read->places->len; i++) {
        const struct merge_place *place =
            &g_array_index(report->read->places, struct merge_place, i);
        g_autofree char *where =
            g_strdup_printf("%s %" G_GINT64_FORMAT, place->noun, place->number);
        json_array_append_new(list, json_pack("{s:o, s:s, s:s}", "file",
                                              json_text(report->files[place->input]), "where",
                                              where, "reason", place->reason));
    }
    return list;
}

void diff_report_print_json(const struct diff_report *report, FILE *out)
{
    json_t *object =
        json_pack("{s:o, s:b, s:o, s:o, s:o, s:I, s:b}", "files", json_files(report), "two_targets",
                  diff_report_two_targets(report), "counts", json_counts(report), "differences",
                  json_places(report), "left_out", json_left_out(report), "left_out_count",
                  (json_int_t)report->read->place_count, "equal", diff_report_equal(report));
    if (report->timed) {
        json_object_set_new(object, "times", json_times(&report->times));
    }
    if (report->networks->len > 0) {
        json_object_set_new(object, "networks", json_networks(report));
        json_object_set_new(object, "all_networks", json_times(&report->all_networks));
    }
    char *dumped = json_dumps(object, JSON_COMPACT);
    fprintf(out, "%s\n", dumped);
    free(dumped);
    json_decref(object);
}
