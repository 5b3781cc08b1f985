#include "export/check.h"

#include <jansson.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *name;
    bool unfit;
} kinds[FINDING_COUNT] = {
    [FINDING_ZERO_TIME_WINS] = {"zero time wins", true},
    [FINDING_ZERO_TIME] = {"zero time", true},
    [FINDING_NEGATIVE_TIME] = {"negative time", true},
    [FINDING_DUPLICATE_KEY] = {"duplicate key", true},
    [FINDING_DUPLICATE_SOLVER] = {"duplicate solver", true},
    [FINDING_PARAMS_MISSING] = {"params missing", true},
    [FINDING_STALE_PARAMS] = {"stale params", true},
    [FINDING_CONFIG_MISSING] = {"config missing", true},
    [FINDING_MD5_MISMATCH] = {"md5 mismatch", true},
    [FINDING_WORKSPACE_MISMATCH] = {"workspace mismatch", true},
    [FINDING_INDEX_MISSING] = {"index missing", true},
    [FINDING_MALFORMED_3D_KEY] = {"malformed 3D key", true},
    [FINDING_OUTPUT_OFF_FORMULA] = {"output size off formula", false},
    [FINDING_INVALID_PROBLEM] = {"invalid problem", false},
    [FINDING_UNSORTED_ENTRIES] = {"unsorted entries", false},
    [FINDING_TOO_MANY_ENTRIES] = {"more than 4 entries", false},
    [FINDING_UNKNOWN_SOLVER] = {"unknown solver", false},
    [FINDING_UNKNOWN_ALGORITHM] = {"unknown algorithm", true},
    [FINDING_UNUSED_CONFIG] = {"unused config", false},
    [FINDING_UNEXPECTED_NAME] = {"unexpected name", false},
    [FINDING_CARRIAGE_RETURN] = {"carriage return", false},
    [FINDING_UNPRINTABLE_BYTE] = {"unprintable byte", true},
    [FINDING_NO_FINAL_NEWLINE] = {"no final newline", true},
};

const char *finding_name(enum finding finding)
{
    return kinds[finding].name;
}

bool finding_unfit(enum finding finding)
{
    return kinds[finding].unfit;
}

void check_begin_anew(struct check_report *report)
{
    for (int i = 0; i < FINDING_COUNT; i++) {
        g_clear_pointer(&report->first[i], g_free);
        report->findings[i] = 0;
    }
    g_ptr_array_set_size(report->unreadable, 0);
    g_ptr_array_set_size(report->changed_at, 0);
    report->keys = report->entries = report->unreadable_count = report->changed = 0;
    report->by_order = report->out_of_order = false;
}

bool check_twice(struct check_report *report, GHashTable *all, GString **last, const char *text)
{
    if (!report->by_order) {
        return !g_hash_table_add(all, g_strdup(text));
    }
    bool is_first = *last == NULL;
    int order = is_first ? 1 : strcmp(text, (*last)->str);
    if (is_first) {
        *last = g_string_new(NULL);
    }
    g_string_assign(*last, text);
    report->out_of_order = report->out_of_order || order < 0;
    return order == 0;
}

void check_report_free(struct check_report *report)
{
    if (report == NULL) {
        return;
    }
    check_begin_anew(report);
    g_ptr_array_unref(report->unreadable);
    g_ptr_array_unref(report->changed_at);
    g_free(report->file);
    g_free(report);
}

G_GNUC_PRINTF(1, 0)
static struct unreadable *unreadable_new(const char *where_format, va_list arguments,
                                         const char *reason)
{
    struct unreadable *place = g_new0(struct unreadable, 1);
    place->where = g_strdup_vprintf(where_format, arguments);
    place->reason = g_utf8_make_valid(reason, -1);
    return place;
}

void check_unreadable(struct check_report *report, GError *error, const char *where_format, ...)
{
    va_list arguments;
    report->unreadable_count++;
    if (report->unreadable->len < CHECK_PLACES_MAX) {
        va_start(arguments, where_format);
        g_ptr_array_add(report->unreadable,
                        unreadable_new(where_format, arguments, error->message));
        va_end(arguments);
    }
    g_error_free(error);
}

void check_found(struct check_report *report, enum finding finding, const char *where_format, ...)
{
    va_list arguments;
    if (report->findings[finding]++ == 0) {
        va_start(arguments, where_format);
        report->first[finding] = g_strdup_vprintf(where_format, arguments);
        va_end(arguments);
    }
}

void check_changed(struct check_report *report, const char *where_format, ...)
{
    va_list arguments;
    if (report->changed++ < CHECK_PLACES_MAX) {
        va_start(arguments, where_format);
        g_ptr_array_add(report->changed_at, g_strdup_vprintf(where_format, arguments));
        va_end(arguments);
    }
}

bool check_report_clean(const struct check_report *report)
{
    for (int i = 0; i < FINDING_COUNT; i++) {
        if (kinds[i].unfit && report->findings[i] > 0) {
            return false;
        }
    }
    return report->unreadable_count == 0 && report->changed == 0;
}

#define PRINTED_MAX 10 /* places on a terminal; --json has CHECK_PLACES_MAX */

static void print_places(const struct check_report *report, FILE *out)
{
    for (guint i = 0; i < MIN(report->unreadable->len, PRINTED_MAX); i++) {
        const struct unreadable *place = report->unreadable->pdata[i];
        fprintf(out, "  cannot read %s: %s\n", place->where, place->reason);
    }
    if (report->unreadable_count > PRINTED_MAX) {
        fprintf(out, "  cannot read %" G_GINT64_FORMAT " more\n",
                report->unreadable_count - PRINTED_MAX);
    }
    for (guint i = 0; i < MIN(report->changed_at->len, PRINTED_MAX); i++) {
        fprintf(out, "  written back differently: %s\n",
                (const char *)report->changed_at->pdata[i]);
    }
    if (report->changed > PRINTED_MAX) {
        fprintf(out, "  written back differently: %" G_GINT64_FORMAT " more\n",
                report->changed - PRINTED_MAX);
    }
}

void check_report_print(const struct check_report *report, FILE *out)
{
    fprintf(out, "%s: %s, %" G_GINT64_FORMAT " keys, %" G_GINT64_FORMAT " entries, %s\n",
            report->file, report->format != NULL ? report->format : "unknown", report->keys,
            report->entries, check_report_clean(report) ? "clean" : "NOT clean");
    for (int i = 0; i < FINDING_COUNT; i++) {
        if (report->findings[i] > 0) {
            fprintf(out, "  %s: %" G_GINT64_FORMAT ", first in %s%s\n", kinds[i].name,
                    report->findings[i], report->first[i],
                    kinds[i].unfit ? " (unfit to ship)" : "");
        }
    }
    print_places(report, out);
}

static json_t *json_places(const struct check_report *report)
{
    json_t *list = json_array();
    for (guint i = 0; i < report->unreadable->len; i++) {
        const struct unreadable *place = report->unreadable->pdata[i];
        json_array_append_new(
            list, json_pack("{s:s, s:s}", "where", place->where, "reason", place->reason));
    }
    return list;
}

static json_t *json_changed(const struct check_report *report)
{
    json_t *list = json_array();
    for (guint i = 0; i < report->changed_at->len; i++) {
        json_array_append_new(list, json_string(report->changed_at->pdata[i]));
    }
    return list;
}

static json_t *json_findings(const struct check_report *report)
{
    json_t *list = json_array();
    for (int i = 0; i < FINDING_COUNT; i++) {
        if (report->findings[i] > 0) {
            json_array_append_new(list, json_pack("{s:s, s:I, s:s, s:b}", "kind", kinds[i].name,
                                                  "count", (json_int_t)report->findings[i], "first",
                                                  report->first[i], "unfit", kinds[i].unfit));
        }
    }
    return list;
}

void check_report_print_json(const struct check_report *report, FILE *out)
{
    g_autofree char *file = g_utf8_make_valid(report->file, -1);
    json_t *object = json_pack(
        "{s:s, s:s?, s:I, s:I, s:o, s:I, s:I, s:o, s:o, s:b}", "file", file, "format",
        report->format, "keys", (json_int_t)report->keys, "entries", (json_int_t)report->entries,
        "unreadable", json_places(report), "unreadable_count", (json_int_t)report->unreadable_count,
        "changed", (json_int_t)report->changed, "changed_at", json_changed(report), "findings",
        json_findings(report), "clean", check_report_clean(report));
    char *dumped = json_dumps(object, JSON_COMPACT);
    fprintf(out, "%s\n", dumped);
    free(dumped);
    json_decref(object);
}
