#include "export/check/check_formats.h"

#include "export/formats/find_db.h"
#include "export/formats/find_scan.h"
#include "solvers/framework/solver.h"
#include "solvers/problem/problem_key.h"

#include <string.h>

struct find_check {
    struct check_report *report;
    /* keys: of all lines so far, once the order is not relied on; solvers: of the current line */
    GHashTable *keys, *solvers;
    GString *last; /* the key of the line before */
    GString *raw, *written;
    int64_t line; /* number of the current line, from 1 */
    /* least milliseconds that the current line's problem can take on the target; 0 if unknown */
    double least_ms;
};

static void found(struct find_check *check, enum finding finding)
{
    check_found(check->report, finding, "line %" G_GINT64_FORMAT, check->line);
}

/* Returns true if the key, which cannot be parsed, was meant for a 3D problem: its filter has three
 * numbers. Such a key is malformed because its other sizes have two numbers, or its layout is a 2D
 * one. */
static bool looks_3d(const char *key)
{
    const char *x = strchr(key, 'x');
    return x != NULL && x[1 + strspn(x + 1, "0123456789")] == 'x';
}

static void judge_problem(struct find_check *check, const struct problem *p)
{
    struct problem formula = *p;
    problem_set_output(&formula);
    if (memcmp(formula.out, p->out, sizeof p->out) != 0) {
        found(check, FINDING_OUTPUT_OFF_FORMULA);
    } else if (!problem_validate(p, NULL)) {
        found(check, FINDING_INVALID_PROBLEM);
    }
}

static void judge_entry(struct find_check *check, const struct problem *problem,
                        const struct find_line *line, guint index)
{
    const struct find_entry *entry = &g_array_index(line->entries, struct find_entry, index);
    if (entry->time_ms == 0) {
        found(check, FINDING_ZERO_TIME);
    } else if (entry->time_ms < 0) {
        found(check, FINDING_NEGATIVE_TIME);
    }
    if (!g_hash_table_add(check->solvers, (gpointer)entry->solver)) {
        found(check, FINDING_DUPLICATE_SOLVER);
    }
    if (solver_find(entry->solver) == NULL) {
        found(check, FINDING_UNKNOWN_SOLVER);
    }
    if (!find_algorithm_known((struct span){entry->algorithm, strlen(entry->algorithm)})) {
        found(check, FINDING_UNKNOWN_ALGORITHM);
    }
    if (entry->time_ms > 0 && entry->time_ms < check->least_ms &&
        algorithm_does_all(entry->algorithm, strlen(entry->algorithm))) {
        check_found(check->report, FINDING_IMPOSSIBLE_TIME,
                    "line %" G_GINT64_FORMAT " (%s: %g ms, the target needs %.3g)", check->line,
                    entry->solver, entry->time_ms, check->least_ms);
    }
    check_target_solver(check->report, problem, entry->solver, "line %" G_GINT64_FORMAT,
                        check->line);
}

static void judge_entries(struct find_check *check, const struct problem *problem,
                          const struct find_line *line)
{
    const struct find_entry *entries = (const struct find_entry *)(void *)line->entries->data;
    bool sorted = true;
    double best = entries[0].time_ms;
    check->least_ms = target_least_problem_ms(&check->report->bounds, problem);
    g_hash_table_remove_all(check->solvers);
    for (guint i = 0; i < line->entries->len; i++) {
        judge_entry(check, problem, line, i);
        sorted = sorted && (i == 0 || entries[i - 1].time_ms <= entries[i].time_ms);
        best = MIN(best, entries[i].time_ms);
    }
    if (best == 0) {
        found(check, FINDING_ZERO_TIME_WINS);
    }
    if (!sorted) {
        found(check, FINDING_UNSORTED_ENTRIES);
    }
    if (line->entries->len > FIND_ENTRIES_MAX) {
        found(check, FINDING_TOO_MANY_ENTRIES);
    }
}

static void check_line(struct find_check *check, struct find_line *line)
{
    char key[PROBLEM_KEY_MAX];
    struct problem problem;
    GError *error = NULL;
    if (!problem_key_parse(line->key, &problem, &error)) {
        if (looks_3d(line->key)) {
            found(check, FINDING_MALFORMED_3D_KEY);
        }
        check_unreadable(check->report, error, "line %" G_GINT64_FORMAT, check->line);
        return;
    }
    if (!problem_has_find_key(&problem)) {
        g_set_error(&error, EXPORT_ERROR, EXPORT_ERROR_SYNTAX,
                    "MIOpen cannot read the key '%s': it names %s", line->key,
                    find_key_lack_words(problem_find_key_lack(&problem)));
        check_unreadable(check->report, error, "line %" G_GINT64_FORMAT, check->line);
        return;
    }
    check->report->keys++;
    check->report->entries += line->entries->len;
    line->key = problem_key(&problem, key);
    g_string_truncate(check->written, 0);
    find_line_format(line, check->written);
    if (!g_string_equal(check->raw, check->written)) {
        check_changed(check->report, "line %" G_GINT64_FORMAT, check->line);
    }
    if (check_twice(check->report, check->keys, &check->last, line->key)) {
        found(check, FINDING_DUPLICATE_KEY);
    }
    judge_problem(check, &problem);
    judge_entries(check, &problem, line);
}

static void check_text(struct find_check *check, const struct line *at, struct find_line *line)
{
    GError *error = NULL;
    check->line = at->number;
    g_string_truncate(check->raw, 0);
    g_string_append_len(check->raw, at->text, (gssize)at->length);
    check_bytes(check->report, at);
    if (!find_line_parse(at->text, line, &error)) {
        check_unreadable(check->report, error, "line %" G_GINT64_FORMAT, at->number);
    } else {
        check_line(check, line);
    }
}

/* Reads raw lines, since the check formats each parsed line again and compares the two texts. */
static void check_lines(struct find_check *check, LineReader *lines, struct find_line *line)
{
    struct line at = {0};
    while (!check->report->out_of_order) {
        GError *error = NULL;
        enum read_step step = line_reader_next(lines, &at, &error);
        if (step == READ_END) {
            return;
        }
        if (step == READ_ROW) {
            check_text(check, &at, line);
            continue;
        }
        check_unreadable(check->report, error, "line %" G_GINT64_FORMAT, at.number);
        if (step == READ_FAILED) {
            return;
        }
    }
}

void check_find_db(const char *path, struct check_report *report)
{
    GError *error = NULL;
    g_autoptr(LineReader) lines = line_reader_open(path, &error);
    if (lines == NULL) {
        check_unreadable(report, error, "file");
        return;
    }
    struct find_check check = {.report = report,
                               .keys = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL),
                               .solvers = g_hash_table_new(g_str_hash, g_str_equal),
                               .raw = g_string_new(NULL),
                               .written = g_string_new(NULL)};
    struct find_line line;
    find_line_init(&line);
    check_lines(&check, lines, &line);
    find_line_clear(&line);
    g_hash_table_unref(check.keys);
    g_hash_table_unref(check.solvers);
    if (check.last != NULL) {
        g_string_free(check.last, TRUE);
    }
    g_string_free(check.raw, TRUE);
    g_string_free(check.written, TRUE);
}
