#include "export/check/check_formats.h"

#include "export/formats/perf_db.h"
#include "solvers/framework/solver.h"

#include <string.h>

/* ---- SQLite ---- */

struct perf_check {
    struct check_report *report;
    /* filled only if the file is not sorted, so that comparing neighbours is not enough */
    GStringChunk *texts;
    GHashTable *keys;    /* keys of the config table's rows */
    GHashTable *configs; /* config row's id -> 1 if an entry uses the row, else 0 */
    GHashTable *pairs;   /* "solver config" */
    /* for a sorted file: how many config rows were read, and the last config row that an entry
     * uses */
    int64_t rows, used;
    struct perf_row row;
    char *solver;
};

/* Reports a solver that cannot run on the target. Several problems share a config row: they
 * differ only in output size. Whether a solver runs on a target never depends on that size, so one
 * of the problems is enough. */
static void check_row_solver(struct check_report *report, const struct perf_row *row,
                             const char *solver, const char *noun, int64_t number)
{
    struct problem problem;
    if (report->bounds.target != NULL && perf_row_to_problem(row, &problem, NULL)) {
        check_target_solver(report, &problem, solver, "%s %" G_GINT64_FORMAT, noun, number);
    }
}

static bool row_round_trips(const struct perf_row *row, GError **error, bool *same)
{
    struct problem problem;
    struct perf_row again;
    if (!perf_row_to_problem(row, &problem, error)) {
        return false;
    }
    perf_row_from_problem(&problem, &again);
    *same = perf_row_equal(row, &again);
    return true;
}

static int compare_rows(const struct perf_row *a, const struct perf_row *b)
{
    char none[] = "";
    const struct perf_record left = {.row = *a, .solver = none};
    const struct perf_record right = {.row = *b, .solver = none};
    return perf_record_compare(&left, &right);
}

static void check_config(struct perf_check *check, int64_t id, const struct perf_row *row)
{
    char key[PROBLEM_KEY_MAX];
    bool same = false;
    GError *error = NULL;
    if (!row_round_trips(row, &error, &same)) {
        check_unreadable(check->report, error, "config %" G_GINT64_FORMAT, id);
        return;
    }
    check->report->keys++;
    if (!same) {
        check_changed(check->report, "config %" G_GINT64_FORMAT, id);
    }
    perf_row_key(row, key);
    if (!check->report->by_order &&
        !g_hash_table_add(check->keys, g_string_chunk_insert(check->texts, key))) {
        check_found(check->report, FINDING_DUPLICATE_KEY, "config %" G_GINT64_FORMAT, id);
    }
}

/* Notes a config row. A sorted file has ids 1, 2, 3... and ascending rows, so no row is doubled or
 * missing; otherwise the report's out_of_order is set. */
static void note_config(struct perf_check *check, int64_t id, const struct perf_row *row)
{
    if (!check->report->by_order) {
        g_hash_table_insert(check->configs, g_memdup2(&id, sizeof id), GINT_TO_POINTER(0));
        return;
    }
    check->report->out_of_order =
        row == NULL || id != check->rows + 1 || (id > 1 && compare_rows(&check->row, row) >= 0);
    if (row != NULL) {
        check->row = *row;
        check->rows = id;
    }
}

static bool check_configs(struct perf_check *check, PerfDb *db)
{
    struct perf_row row;
    int64_t id = 0;
    while (!check->report->out_of_order) {
        GError *error = NULL;
        enum read_step step = perf_db_next_config(db, &id, &row, &error);
        if (step == READ_END) {
            return true;
        }
        if (step == READ_FAILED) {
            check_unreadable(check->report, error, "config after %" G_GINT64_FORMAT, id);
            return false;
        }
        note_config(check, id, step == READ_ROW ? &row : NULL);
        if (step == READ_BAD) {
            check_unreadable(check->report, error, "config %" G_GINT64_FORMAT, id);
        } else {
            check_config(check, id, &row);
        }
    }
    return false;
}

/* Checks the order of entries in a sorted file: each config row has at least one entry, and its
 * entries are sorted by solver. Otherwise the report's out_of_order is set. */
static void note_entry_in_order(struct perf_check *check, const struct perf_entry *entry)
{
    bool same = entry->config == check->used && check->solver != NULL;
    bool next = entry->config == check->used + 1 && entry->config <= check->rows;
    check->report->out_of_order = !next && !(same && strcmp(entry->solver, check->solver) > 0);
    check->used = entry->config;
    g_free(check->solver);
    check->solver = g_strdup(entry->solver);
}

static void note_entry(struct perf_check *check, const struct perf_entry *entry)
{
    struct check_report *report = check->report;
    g_autofree char *pair = g_strdup_printf("%s %" G_GINT64_FORMAT, entry->solver, entry->config);
    if (!g_hash_table_contains(check->configs, &entry->config)) {
        check_found(report, FINDING_CONFIG_MISSING, "perf_db %" G_GINT64_FORMAT, entry->id);
    } else {
        g_hash_table_insert(check->configs, g_memdup2(&entry->config, sizeof entry->config),
                            GINT_TO_POINTER(1));
    }
    if (!g_hash_table_add(check->pairs, g_string_chunk_insert(check->texts, pair))) {
        check_found(report, FINDING_DUPLICATE_SOLVER, "perf_db %" G_GINT64_FORMAT, entry->id);
    }
}

static void check_entry(struct perf_check *check, PerfDb *db, const struct perf_entry *entry)
{
    struct check_report *report = check->report;
    struct perf_row row;
    report->entries++;
    if (report->bounds.target != NULL &&
        perf_db_config_at(db, entry->config, &row, NULL) == READ_ROW) {
        check_row_solver(report, &row, entry->solver, "perf_db", entry->id);
    }
    if (report->by_order) {
        note_entry_in_order(check, entry);
    } else {
        note_entry(check, entry);
    }
    if (!check_printable(entry->solver) || !check_printable(entry->params)) {
        check_found(report, FINDING_UNPRINTABLE_BYTE, "perf_db %" G_GINT64_FORMAT, entry->id);
    }
    check_params(report, entry->solver, entry->params, "perf_db %" G_GINT64_FORMAT, entry->id);
    if (solver_find(entry->solver) == NULL) {
        check_found(report, FINDING_UNKNOWN_SOLVER, "perf_db %" G_GINT64_FORMAT, entry->id);
    }
}

static void check_entries(struct perf_check *check, PerfDb *db)
{
    struct perf_entry entry = {0};
    while (!check->report->out_of_order) {
        GError *error = NULL;
        enum read_step step = perf_db_next_entry(db, &entry, &error);
        if (step == READ_END) {
            check->report->out_of_order = check->report->by_order && check->used < check->rows;
            return;
        }
        if (step == READ_ROW) {
            check_entry(check, db, &entry);
        } else {
            check_unreadable(check->report, error, "perf_db %s%" G_GINT64_FORMAT,
                             step == READ_BAD ? "" : "after ", entry.id);
        }
        if (step == READ_FAILED) {
            return;
        }
    }
}

static void count_unused(struct perf_check *check)
{
    GHashTableIter iter;
    gpointer id, used;
    int64_t first = INT64_MAX, count = 0;
    g_hash_table_iter_init(&iter, check->configs);
    while (g_hash_table_iter_next(&iter, &id, &used)) {
        if (GPOINTER_TO_INT(used) == 0) {
            count++;
            first = MIN(first, *(int64_t *)id);
        }
    }
    for (int64_t i = 0; i < count; i++) {
        check_found(check->report, FINDING_UNUSED_CONFIG, "config %" G_GINT64_FORMAT, first);
    }
}

static void check_soundness(struct check_report *report, PerfDb *db)
{
    g_autofree char *damage = perf_db_damage(db);
    if (damage != NULL) {
        check_unreadable(report,
                         g_error_new(EXPORT_ERROR, EXPORT_ERROR_DAMAGED,
                                     "SQLite's integrity check says: %s", damage),
                         "file");
    }
    if (!perf_db_has_indices(db)) {
        check_found(report, FINDING_INDEX_MISSING, "file");
    }
}

void check_perf_db(const char *path, struct check_report *report)
{
    GError *error = NULL;
    g_autoptr(PerfDb) db = perf_db_open(path, &error);
    if (db == NULL) {
        check_unreadable(report, error, "file");
        return;
    }
    struct perf_check check = {.report = report,
                               .texts = g_string_chunk_new(1 << 16),
                               .keys = g_hash_table_new(g_str_hash, g_str_equal),
                               .configs =
                                   g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, NULL),
                               .pairs = g_hash_table_new(g_str_hash, g_str_equal)};
    if (check_configs(&check, db)) {
        check_entries(&check, db);
        count_unused(&check);
    }
    if (!report->out_of_order) {
        check_soundness(report, db);
    }
    g_free(check.solver);
    g_hash_table_unref(check.keys);
    g_hash_table_unref(check.configs);
    g_hash_table_unref(check.pairs);
    g_string_chunk_free(check.texts);
}

/* ---- text ---- */

struct text_check {
    struct check_report *report;
    /* keys: of all lines so far, once the order is not relied on; solvers: of the current line */
    GHashTable *keys, *solvers;
    struct perf_row last;
    GString *raw, *written;
};

/* Returns true if the line's key occurred before. A sorted file is in the order of the key's
 * numbers, not of its text. */
static bool is_twice(struct text_check *check, const struct perf_text_line *line)
{
    struct check_report *report = check->report;
    if (!report->by_order) {
        return !g_hash_table_add(check->keys, g_strdup(line->key));
    }
    report->out_of_order = report->keys > 1 && compare_rows(&check->last, &line->row) >= 0;
    check->last = line->row;
    return false;
}

static void judge_text(struct text_check *check, const struct perf_text_line *line, int64_t number)
{
    struct check_report *report = check->report;
    g_hash_table_remove_all(check->solvers);
    for (guint i = 0; i < line->solvers->len; i++) {
        check_params(report, line->solvers->pdata[i], line->params->pdata[i],
                     "line %" G_GINT64_FORMAT, number);
        check_row_solver(report, &line->row, line->solvers->pdata[i], "line", number);
        if (solver_find(line->solvers->pdata[i]) == NULL) {
            check_found(report, FINDING_UNKNOWN_SOLVER, "line %" G_GINT64_FORMAT, number);
        }
        if (!g_hash_table_add(check->solvers, line->solvers->pdata[i])) {
            check_found(report, FINDING_DUPLICATE_SOLVER, "line %" G_GINT64_FORMAT, number);
        }
    }
    if (is_twice(check, line)) {
        check_found(report, FINDING_DUPLICATE_KEY, "line %" G_GINT64_FORMAT, number);
    }
}

static void check_text_line(struct text_check *check, struct line *at, struct perf_text_line *line)
{
    GError *error = NULL;
    bool same = false;
    g_string_assign(check->raw, at->text);
    check_bytes(check->report, at);
    if (!perf_text_line_parse(at->text, line, &error) ||
        !row_round_trips(&line->row, &error, &same)) {
        check_unreadable(check->report, error, "line %" G_GINT64_FORMAT, at->number);
        return;
    }
    check->report->keys++;
    check->report->entries += line->solvers->len;
    g_string_truncate(check->written, 0);
    perf_text_line_format(line, check->written);
    if (!same || !g_string_equal(check->raw, check->written)) {
        check_changed(check->report, "line %" G_GINT64_FORMAT, at->number);
    }
    judge_text(check, line, at->number);
}

static void check_text_lines(struct text_check *check, LineReader *lines)
{
    struct perf_text_line line;
    struct line at = {0};
    enum read_step step = READ_ROW;
    perf_text_line_init(&line);
    while (step != READ_END && step != READ_FAILED && !check->report->out_of_order) {
        GError *error = NULL;
        step = line_reader_next(lines, &at, &error);
        if (step == READ_ROW) {
            check_text_line(check, &at, &line);
        } else if (step != READ_END) {
            check_unreadable(check->report, error, "line %" G_GINT64_FORMAT, at.number);
        }
    }
    perf_text_line_clear(&line);
}

void check_perf_text(const char *path, struct check_report *report)
{
    GError *error = NULL;
    g_autoptr(LineReader) lines = line_reader_open(path, &error);
    if (lines == NULL) {
        check_unreadable(report, error, "file");
        return;
    }
    struct text_check check = {.report = report,
                               .keys = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL),
                               .solvers = g_hash_table_new(g_str_hash, g_str_equal),
                               .raw = g_string_new(NULL),
                               .written = g_string_new(NULL)};
    check_text_lines(&check, lines);
    g_hash_table_unref(check.keys);
    g_hash_table_unref(check.solvers);
    g_string_free(check.raw, TRUE);
    g_string_free(check.written, TRUE);
}
