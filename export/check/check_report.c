#include "export/check/check_report.h"

#include "export/formats/code_target.h"
#include "export/formats/kernel_db.h"
#include "solvers/framework/solver.h"

#include <jansson.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *name;
    /* unfit: a file with this finding must not be shipped; in_ours: only if the file is one of
     * ours */
    bool unfit, in_ours;
    bool listed; /* the report keeps every place of the finding, not only the first one */
} kinds[FINDING_COUNT] = {
    [FINDING_ZERO_TIME_WINS] = {"zero time wins", true, false, false},
    [FINDING_ZERO_TIME] = {"zero time", true, false, false},
    [FINDING_NEGATIVE_TIME] = {"negative time", true, false, false},
    [FINDING_DUPLICATE_KEY] = {"duplicate key", true, false, false},
    [FINDING_DUPLICATE_SOLVER] = {"duplicate solver", true, false, false},
    [FINDING_PARAMS_MISSING] = {"params missing", true, false, false},
    [FINDING_STALE_PARAMS] = {"stale params", true, false, false},
    [FINDING_CONFIG_MISSING] = {"config missing", true, false, false},
    [FINDING_MD5_MISMATCH] = {"md5 mismatch", true, false, false},
    [FINDING_WORKSPACE_MISMATCH] = {"workspace mismatch", true, false, false},
    [FINDING_OTHER_TARGET] = {"other target", true, false, false},
    [FINDING_OTHER_SOLVER] = {"solver of another target", true, false, false},
    [FINDING_IMPOSSIBLE_TIME] = {"impossible time", true, false, false},
    [FINDING_NEVER_MEASURED] = {"never measured", true, false, false},
    [FINDING_MEASURED_BESIDE] = {"measurement in a build-only export", true, false, false},
    [FINDING_INDEX_MISSING] = {"index missing", true, false, false},
    [FINDING_MALFORMED_3D_KEY] = {"malformed 3D key", true, false, false},
    [FINDING_OUTPUT_OFF_FORMULA] = {"output size off formula", false, false, false},
    [FINDING_INVALID_PROBLEM] = {"invalid problem", false, false, false},
    [FINDING_UNSORTED_ENTRIES] = {"unsorted entries", false, false, false},
    [FINDING_TOO_MANY_ENTRIES] = {"more than 4 entries", false, false, false},
    [FINDING_UNKNOWN_SOLVER] = {"unknown solver", false, true, false},
    [FINDING_UNKNOWN_ALGORITHM] = {"unknown algorithm", true, false, false},
    [FINDING_UNUSED_CONFIG] = {"unused config", false, false, false},
    [FINDING_UNEXPECTED_NAME] = {"unexpected name", false, false, false},
    [FINDING_CARRIAGE_RETURN] = {"carriage return", false, false, false},
    [FINDING_UNPRINTABLE_BYTE] = {"unprintable byte", true, false, false},
    [FINDING_NO_FINAL_NEWLINE] = {"no final newline", true, false, false},
    [FINDING_FILE_MISSING] = {"listed file missing", true, false, true},
    [FINDING_FILE_DIFFERS] = {"file differs from the manifest", true, false, true},
    [FINDING_FILE_UNLISTED] = {"file not in the manifest", true, false, true},
    [FINDING_INCOMPLETE] = {"incomplete campaign", false, false, false},
    [FINDING_WINNER_UNTUNED] = {"winner without perf-db row", true, false, true},
    [FINDING_ENTRY_UNTUNED] = {"entry without perf-db row", false, true, true},
    [FINDING_WINNER_NO_CODE] = {"winner without its kernel", true, false, true},
    [FINDING_ENTRY_NO_CODE] = {"entry without its kernel", false, true, true},
    [FINDING_SHARED_NO_CODE] = {"kernel of a shared row missing", false, false, true},
    [FINDING_WINNER_NOT_IN_SJDB] = {"winner not in the .sjdb", true, false, true},
    [FINDING_PARAMS_INVALID] = {"params not valid for the problem", false, true, true},
    [FINDING_NO_PERF_DB] = {"winner with no perf-db beside it", false, false, false},
    [FINDING_NO_KERNELS] = {"winner with no kernel-db beside it", false, false, false},
    [FINDING_CODE_UNSURE] = {"kernel unsure without the device's limits", false, false, true},
};

static bool is_unfit(const struct check_report *report, int finding)
{
    return kinds[finding].unfit || (report->ours && kinds[finding].in_ours);
}

static void unreadable_free(void *place)
{
    struct unreadable *unreadable = place;
    g_free(unreadable->where);
    g_free(unreadable->reason);
    g_free(unreadable);
}

struct check_report *check_report_new(const char *path)
{
    struct check_report *report = g_new0(struct check_report, 1);
    report->file = g_strdup(path);
    report->named = file_name_target(path);
    target_bounds_init(&report->bounds,
                       report->named.known == TARGET_WHOLE ? &report->named.target : NULL);
    report->unreadable = g_ptr_array_new_with_free_func(unreadable_free);
    report->changed_at = g_ptr_array_new_with_free_func(g_free);
    return report;
}

void check_begin_anew(struct check_report *report)
{
    for (int i = 0; i < FINDING_COUNT; i++) {
        g_clear_pointer(&report->first[i], g_free);
        g_clear_pointer(&report->places[i], g_ptr_array_unref);
        report->findings[i] = 0;
    }
    g_ptr_array_set_size(report->unreadable, 0);
    g_ptr_array_set_size(report->changed_at, 0);
    report->keys = report->entries = report->unreadable_count = report->changed = 0;
    report->content = (struct file_target){.known = TARGET_UNKNOWN};
    target_bounds_init(&report->bounds,
                       report->named.known == TARGET_WHOLE ? &report->named.target : NULL);
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
    bool first = report->findings[finding]++ == 0;
    if (!first && !kinds[finding].listed) {
        return;
    }
    va_start(arguments, where_format);
    g_autofree char *place = g_strdup_vprintf(where_format, arguments);
    va_end(arguments);
    if (first) {
        report->first[finding] = g_strdup(place);
    }
    if (kinds[finding].listed) {
        if (report->places[finding] == NULL) {
            report->places[finding] = g_ptr_array_new_with_free_func(g_free);
        }
        g_ptr_array_add(report->places[finding], g_steal_pointer(&place));
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

/* ---- findings that several checks add ---- */

void check_content_target(struct check_report *report, const struct file_target *target)
{
    report->content = *target;
    if (report->bounds.target == NULL && target->known == TARGET_WHOLE) {
        target_bounds_init(&report->bounds, &report->content.target);
    }
}

void check_target_solver(struct check_report *report, const struct problem *problem,
                         const char *solver, const char *where_format, ...)
{
    g_autofree char *why = target_other_solver(&report->bounds, problem, solver, strlen(solver));
    if (why != NULL) {
        va_list arguments;
        va_start(arguments, where_format);
        g_autofree char *where = g_strdup_vprintf(where_format, arguments);
        va_end(arguments);
        check_found(report, FINDING_OTHER_SOLVER, "%s (%s)", where, why);
    }
}

bool check_printable(const char *text)
{
    while (g_ascii_isprint(*text)) {
        text++;
    }
    return *text == '\0';
}

void check_params(struct check_report *report, const char *solver, const char *params,
                  const char *where_format, ...)
{
    const struct solver *known = solver_find(solver);
    g_autoptr(GError) error = NULL;
    va_list arguments;
    va_start(arguments, where_format);
    g_autofree char *where = g_strdup_vprintf(where_format, arguments);
    va_end(arguments);
    if (params[0] == '\0') {
        check_found(report, FINDING_PARAMS_MISSING, "%s", where);
    } else if (known != NULL && !solver_config_possible(known, params, &error)) {
        g_autofree char *reason = g_utf8_make_valid(error->message, -1);
        check_found(report, FINDING_STALE_PARAMS, "%s (%s)", where, reason);
    }
}

void check_bytes(struct check_report *report, const struct line *line)
{
    size_t length = line->length;
    if (length > 0 && line->text[length - 1] == '\r') {
        check_found(report, FINDING_CARRIAGE_RETURN, "line %" G_GINT64_FORMAT, line->number);
        length--;
    }
    while (length > 0 && g_ascii_isprint(line->text[length - 1])) {
        length--;
    }
    if (length > 0 || line->marked) {
        check_found(report, FINDING_UNPRINTABLE_BYTE, "line %" G_GINT64_FORMAT, line->number);
    }
    if (!line->ended) {
        check_found(report, FINDING_NO_FINAL_NEWLINE, "line %" G_GINT64_FORMAT, line->number);
    }
}

void check_kernel_name(struct check_report *report, const char *name, const char *args,
                       const char *noun, int64_t number)
{
    const char *arch = strrchr(args, ' ');
    if (!g_str_has_suffix(name, ".o") || arch == NULL || !g_str_has_prefix(arch, " -mcpu=")) {
        check_found(report, FINDING_UNEXPECTED_NAME, "%s %" G_GINT64_FORMAT, noun, number);
    }
}

void check_kernel_target(struct check_report *report, const char *args, const void *code,
                         size_t length, const char *noun, int64_t number)
{
    const struct file_target *named = &report->named;
    struct file_target said = kernel_args_target(args);
    if (report->content.known == TARGET_UNKNOWN) {
        check_content_target(report, &said);
    }
    const struct file_target *wanted = named->known != TARGET_UNKNOWN ? named : &report->content;
    if (!file_targets_fit(wanted, &said)) {
        check_found(report, FINDING_OTHER_TARGET,
                    "%s %" G_GINT64_FORMAT " (compiled for %s, not %s)", noun, number,
                    said.target.id, wanted->target.id);
        return;
    }
    if (wanted->known != TARGET_UNKNOWN) {
        g_autofree char *other = code_other_target(code, length, &wanted->target);
        if (other != NULL) {
            check_found(report, FINDING_OTHER_TARGET,
                        "%s %" G_GINT64_FORMAT " (its code object is for %s, not %s)", noun, number,
                        other, wanted->target.id);
        }
    }
}

/* ---- showing the report ---- */

bool check_report_clean(const struct check_report *report)
{
    for (int i = 0; i < FINDING_COUNT; i++) {
        if (is_unfit(report, i) && report->findings[i] > 0) {
            return false;
        }
    }
    return report->unreadable_count == 0 && report->changed == 0;
}

char *check_report_fault(const struct check_report *report)
{
    if (report->unreadable->len > 0) {
        const struct unreadable *place = report->unreadable->pdata[0];
        return g_strdup_printf("%s: %s", place->where, place->reason);
    }
    for (int i = 0; i < FINDING_COUNT; i++) {
        if (is_unfit(report, i) && report->findings[i] > 0) {
            return g_strdup_printf("%s in %s", kinds[i].name, report->first[i]);
        }
    }
    return report->changed_at->len > 0 ? g_strdup_printf("%s is written back otherwise",
                                                         (const char *)report->changed_at->pdata[0])
                                       : NULL;
}

/* places of a finding that are printed as text; --json prints all that the report keeps */
#define PRINTED_MAX 10

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

/* Prints the first places of a finding, one a line. */
static void print_finding(const struct check_report *report, int finding, FILE *out)
{
    const GPtrArray *places = report->places[finding];
    const char *unfit = is_unfit(report, finding) ? " (unfit to ship)" : "";
    if (places == NULL) {
        fprintf(out, "  %s: %" G_GINT64_FORMAT ", first in %s%s\n", kinds[finding].name,
                report->findings[finding], report->first[finding], unfit);
        return;
    }
    fprintf(out, "  %s: %" G_GINT64_FORMAT "%s\n", kinds[finding].name, report->findings[finding],
            unfit);
    for (guint i = 0; i < MIN(places->len, PRINTED_MAX); i++) {
        fprintf(out, "    %s\n", (const char *)places->pdata[i]);
    }
    if (places->len > PRINTED_MAX) {
        fprintf(out, "    and %u more, see --json\n", places->len - PRINTED_MAX);
    }
}

/* Returns the target that the report names: the one in the file's name, or else the one in its
 * content. */
static const struct file_target *target_said(const struct check_report *report)
{
    return report->named.known != TARGET_UNKNOWN ? &report->named : &report->content;
}

void check_report_print(const struct check_report *report, FILE *out)
{
    const struct file_target *target = target_said(report);
    fprintf(out, "%s: %s, target %s, %" G_GINT64_FORMAT " keys, %" G_GINT64_FORMAT " entries, %s\n",
            report->file, report->format != NULL ? report->format : "unknown",
            file_target_text(target), report->keys, report->entries,
            check_report_clean(report) ? "clean" : "NOT clean");
    for (int i = 0; i < FINDING_COUNT; i++) {
        if (report->findings[i] > 0) {
            print_finding(report, i, out);
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

static json_t *json_text(const char *text)
{
    g_autofree char *valid = g_utf8_make_valid(text, -1);
    return json_string(valid);
}

static json_t *json_texts(const GPtrArray *texts)
{
    json_t *list = json_array();
    for (guint i = 0; i < texts->len; i++) {
        json_array_append_new(list, json_text(texts->pdata[i]));
    }
    return list;
}

static json_t *json_findings(const struct check_report *report)
{
    json_t *list = json_array();
    for (int i = 0; i < FINDING_COUNT; i++) {
        if (report->findings[i] > 0) {
            json_t *finding = json_pack("{s:s, s:I, s:o, s:b}", "kind", kinds[i].name, "count",
                                        (json_int_t)report->findings[i], "first",
                                        json_text(report->first[i]), "unfit", is_unfit(report, i));
            if (report->places[i] != NULL) {
                json_object_set_new(finding, "places", json_texts(report->places[i]));
            }
            json_array_append_new(list, finding);
        }
    }
    return list;
}

void check_report_print_json(const struct check_report *report, FILE *out)
{
    g_autofree char *file = g_utf8_make_valid(report->file, -1);
    const struct file_target *target = target_said(report);
    bool known = target->known != TARGET_UNKNOWN;
    json_t *object = json_pack(
        "{s:s, s:s?, s:s?, s:s?, s:b, s:I, s:I, s:o, s:I, s:I, s:o, s:o, s:b}", "file", file,
        "format", report->format, "target", known ? file_target_text(target) : NULL, "target_by",
        !known                       ? NULL
        : target == &report->content ? "content"
                                     : "name",
        "ours", report->ours, "keys", (json_int_t)report->keys, "entries",
        (json_int_t)report->entries, "unreadable", json_places(report), "unreadable_count",
        (json_int_t)report->unreadable_count, "changed", (json_int_t)report->changed, "changed_at",
        json_texts(report->changed_at), "findings", json_findings(report), "clean",
        check_report_clean(report));
    char *dumped = json_dumps(object, JSON_COMPACT);
    fprintf(out, "%s\n", dumped);
    free(dumped);
    json_decref(object);
}
