#include "export/merge/merge_perf.h"

#include "export/check/check.h"
#include "solvers/framework/solver.h"

#include <string.h>

struct merge_perfs {
    GArray *items; /* struct perf_item, in the order of reading */
};

static void item_clear(void *item)
{
    perf_record_free(((struct perf_item *)item)->record);
}

static void perfs_init(struct merge *merge)
{
    struct merge_perfs *perfs = g_new0(struct merge_perfs, 1);
    perfs->items = g_array_new(FALSE, FALSE, sizeof(struct perf_item));
    g_array_set_clear_func(perfs->items, item_clear);
    merge->perfs = perfs;
}

static void perfs_clear(struct merge *merge)
{
    struct merge_perfs *perfs = merge->perfs;
    g_array_unref(perfs->items);
    g_free(perfs);
}

static int64_t perfs_count(const struct merge *merge)
{
    return merge->perfs->items->len;
}

const struct merge_part merge_perf_part = {LOSS_PERF, perfs_init, perfs_clear, perfs_count};

/* ---- reading ---- */

static const char *judge_texts(const char *solver, const char *params)
{
    if (solver[0] == '\0') {
        return "the solver has no name";
    }
    if (params[0] == '\0') {
        return "the params are missing";
    }
    return check_printable(solver) && check_printable(params)
               ? NULL
               : "the solver or the params hold a byte that is not printable ASCII";
}

/* Returns the reason why the solver cannot run on the target (g_free()), or NULL. Several problems
 * share a perf-db row: they differ only in output size; whether a solver runs on a target
 * never depends on that size. */
static char *judge_target(struct merge *merge, const struct perf_row *row, const char *solver)
{
    struct problem problem;
    return merge->bounds.target != NULL && perf_row_to_problem(row, &problem, NULL)
               ? target_other_solver(&merge->bounds, &problem, solver, strlen(solver))
               : NULL;
}

void merge_perfs_add(struct merge *merge, struct perf_item *item, const struct perf_row *row,
                     const char *solver, const char *params)
{
    const char *wrong = judge_texts(solver, params);
    if (wrong != NULL) {
        merge_left_out(merge, item->input, item->noun, item->number, "%s", wrong);
        return;
    }
    g_autofree char *doubt = judge_target(merge, row, solver);
    if (doubt != NULL) {
        merge_doubt(merge, item->input, item->noun, item->number, doubt);
        return;
    }
    const struct solver *known = solver_find(solver);
    item->trusted = known == NULL || solver_config_possible(known, params, NULL);
    item->record = perf_record_new(row, solver, params);
    g_array_append_val(merge->perfs->items, *item);
    merge_input(merge, item->input)->entries++;
}

static bool judge_row(struct merge *merge, guint input, const char *noun, int64_t number,
                      const struct perf_row *row)
{
    struct problem problem;
    g_autoptr(GError) error = NULL;
    if (!perf_row_to_problem(row, &problem, &error)) {
        merge_left_out(merge, input, noun, number, "%s", error->message);
        return false;
    }
    merge_input(merge, input)->keys++;
    return true;
}

struct config {
    int64_t id;
    bool used;
    struct perf_row row;
};

static void read_configs(struct merge *merge, guint input, PerfDb *db, GHashTable *configs)
{
    enum read_step step = READ_ROW;
    while (step != READ_END && step != READ_FAILED) {
        g_autoptr(GError) error = NULL;
        struct config config = {0};
        step = perf_db_next_config(db, &config.id, &config.row, &error);
        if (step == READ_BAD || step == READ_FAILED) {
            merge_left_out(merge, input, "config", config.id, "%s", error->message);
        } else if (step == READ_ROW && judge_row(merge, input, "config", config.id, &config.row)) {
            struct config *kept = g_memdup2(&config, sizeof config);
            g_hash_table_replace(configs, &kept->id, kept);
        }
    }
}

static void read_entries(struct merge *merge, guint input, PerfDb *db, GHashTable *configs)
{
    enum read_step step = READ_ROW;
    struct perf_entry entry = {0};
    while (step != READ_END && step != READ_FAILED) {
        g_autoptr(GError) error = NULL;
        step = perf_db_next_entry(db, &entry, &error);
        struct config *config =
            step == READ_ROW ? g_hash_table_lookup(configs, &entry.config) : NULL;
        if (step == READ_BAD || step == READ_FAILED) {
            merge_left_out(merge, input, "perf_db", entry.id, "%s", error->message);
        } else if (step == READ_ROW && config == NULL) {
            merge_left_out(merge, input, "perf_db", entry.id,
                           "its config %" G_GINT64_FORMAT " is missing or cannot be read",
                           entry.config);
        } else if (step == READ_ROW) {
            struct perf_item item = {.input = input, .noun = "perf_db", .number = entry.id};
            config->used = true;
            merge_perfs_add(merge, &item, &config->row, entry.solver, entry.params);
        }
    }
}

static bool db_read(struct merge *merge, guint input, GError **error)
{
    g_autoptr(PerfDb) db = perf_db_open(merge_input(merge, input)->path, error);
    if (db == NULL) {
        return false;
    }
    g_autoptr(GHashTable) configs =
        g_hash_table_new_full(g_int64_hash, g_int64_equal, NULL, g_free);
    GHashTableIter iter;
    gpointer config;
    read_configs(merge, input, db, configs);
    read_entries(merge, input, db, configs);
    g_hash_table_iter_init(&iter, configs);
    while (g_hash_table_iter_next(&iter, NULL, &config)) {
        merge->report->losses[LOSS_UNUSED_CONFIG] += !((struct config *)config)->used;
    }
    return true;
}

static void read_text_line(struct merge *merge, guint input, struct line *at,
                           struct perf_text_line *line)
{
    g_autoptr(GError) error = NULL;
    if (at->length > 0 && at->text[at->length - 1] == '\r') {
        at->text[--at->length] = '\0';
    }
    if (!perf_text_line_parse(at->text, line, &error)) {
        merge_left_out(merge, input, "line", at->number, "%s", error->message);
        return;
    }
    if (!judge_row(merge, input, "line", at->number, &line->row)) {
        return;
    }
    for (guint i = 0; i < line->solvers->len; i++) {
        struct perf_item item = {.input = input, .noun = "line", .number = at->number};
        merge_perfs_add(merge, &item, &line->row, line->solvers->pdata[i], line->params->pdata[i]);
    }
}

static bool text_read(struct merge *merge, guint input, GError **error)
{
    struct perf_text_line line;
    struct line at = {0};
    enum read_step step = READ_ROW;
    g_autoptr(LineReader) lines = line_reader_open(merge_input(merge, input)->path, error);
    if (lines == NULL) {
        return false;
    }
    perf_text_line_init(&line);
    while (step != READ_END && step != READ_FAILED) {
        g_autoptr(GError) wrong = NULL;
        step = line_reader_next(lines, &at, &wrong);
        if (step == READ_ROW) {
            read_text_line(merge, input, &at, &line);
        } else if (step != READ_END) {
            merge_left_out(merge, input, "line", at.number, "%s", wrong->message);
        }
    }
    perf_text_line_clear(&line);
    return true;
}

/* ---- choosing ---- */

/* Sorts by row and solver; records that share both stay in the order of reading. */
static int compare_items(const void *a, const void *b)
{
    const struct perf_item *left = *(struct perf_item *const *)a;
    const struct perf_item *right = *(struct perf_item *const *)b;
    int order = perf_record_compare(left->record, right->record);
    return order != 0 ? order : (left > right) - (left < right);
}

static bool preferred(const struct merge *merge, const struct perf_item *a,
                      const struct perf_item *b)
{
    if (merge->options->prefer == MERGE_TRUST && a->trusted != b->trusted) {
        return a->trusted;
    }
    return merge->options->prefer == MERGE_NEWEST ? a > b : a < b;
}

/* Returns the preferred one of the records. If `only` is not NULL, only records of the same input
 * as `only` count; NULL if that input has none. */
static const struct perf_item *best_of(const struct merge *merge, struct perf_item **items,
                                       guint count, const struct perf_item *only)
{
    const struct perf_item *best = NULL;
    for (guint i = 0; i < count; i++) {
        if ((only == NULL || items[i]->input == only->input) &&
            (best == NULL || preferred(merge, items[i], best))) {
            best = items[i];
        }
    }
    return best;
}

static struct span span_of(const char *text)
{
    return (struct span){text, strlen(text)};
}

static struct merge_side side_of(const struct perf_item *item)
{
    return (struct merge_side){item->input, item->noun, item->number,
                               span_of(item->record->params)};
}

static void note_conflicts(struct merge *merge, const struct perf_item *kept,
                           struct perf_item **items, guint count)
{
    char key[PROBLEM_KEY_MAX];
    for (guint i = 0; i < count; i++) {
        if (strcmp(kept->record->params, items[i]->record->params) != 0) {
            struct merge_side stays = side_of(kept), goes = side_of(items[i]);
            merge_conflict(merge, span_of(perf_row_key(&kept->record->row, key)),
                           span_of(kept->record->solver), &stays, &goes);
        }
    }
}

/* Returns how many items, from `first` on, have the same row as item `first`; if `solver` is true,
 * the same row and solver. */
static guint run_length(struct perf_item **items, guint count, guint first, bool solver)
{
    guint end = first + 1;
    while (end < count &&
           (solver ? perf_record_compare(items[first]->record, items[end]->record) == 0
                   : perf_row_equal(&items[first]->record->row, &items[end]->record->row))) {
        end++;
    }
    return end - first;
}

static void choose_row(struct merge *merge, struct perf_item **items, guint count,
                       GPtrArray *records)
{
    const struct perf_item *only =
        merge->options->replace_others ? best_of(merge, items, count, NULL) : NULL;
    for (guint at = 0, run = 0; at < count; at += run) {
        run = run_length(items, count, at, true);
        const struct perf_item *kept = best_of(merge, items + at, run, only);
        if (kept != NULL) {
            g_ptr_array_add(records, kept->record);
            note_conflicts(merge, kept, items + at, run);
        }
    }
}

GPtrArray *merge_perfs_sorted(const struct merge *merge)
{
    GArray *all = merge->perfs->items;
    GPtrArray *order = g_ptr_array_new();
    for (guint i = 0; i < all->len; i++) {
        g_ptr_array_add(order, &g_array_index(all, struct perf_item, i));
    }
    g_ptr_array_sort(order, compare_items);
    return order;
}

GPtrArray *merge_perfs_choose(struct merge *merge)
{
    g_autoptr(GPtrArray) order = merge_perfs_sorted(merge);
    GPtrArray *records = g_ptr_array_new();
    struct perf_item **items = (struct perf_item **)order->pdata;
    for (guint at = 0, run = 0; at < order->len; at += run) {
        run = run_length(items, order->len, at, false);
        choose_row(merge, items + at, run, records);
    }
    return records;
}

/* ---- writing ---- */

static void count_records(struct merge_report *report, const GPtrArray *records)
{
    const struct perf_record *last = NULL;
    for (guint i = 0; i < records->len; i++) {
        const struct perf_record *record = records->pdata[i];
        report->keys += last == NULL || !perf_row_equal(&last->row, &record->row);
        last = record;
    }
    report->entries += records->len;
}

static bool differs(guint record, GError **error)
{
    g_clear_error(error);
    g_set_error(error, EXPORT_ERROR, EXPORT_ERROR_CHECK,
                "what was written does not read back: record %u differs; is the disk sound?",
                record + 1);
    return false;
}

static bool db_write(struct merge *merge, const char *path, GError **error)
{
    guint at = 0;
    g_autoptr(GPtrArray) records = merge_perfs_choose(merge);
    count_records(merge->report, records);
    return perf_db_write(path, PERF_LIST(records), error) &&
           (perf_db_holds(path, PERF_LIST(records), &at, error) || differs(at, error));
}

/* Returns false if the text form cannot hold the record: ':' separates a solver's name from its
 * params there, ';' entries, so a name may contain neither, and params no ';'. */
static bool text_can_say(const struct perf_record *record)
{
    return strpbrk(record->solver, ":;") == NULL && strchr(record->params, ';') == NULL;
}

static bool text_write(struct merge *merge, const char *path, GError **error)
{
    guint at = 0, before = merge->perfs->items->len;
    for (guint i = before; i-- > 0;) {
        if (!text_can_say(g_array_index(merge->perfs->items, struct perf_item, i).record)) {
            g_array_remove_index(merge->perfs->items, i);
        }
    }
    merge->report->losses[LOSS_SEPARATOR] += before - merge->perfs->items->len;
    g_autoptr(GPtrArray) records = merge_perfs_choose(merge);
    count_records(merge->report, records);
    return perf_text_write(path, PERF_LIST(records), error) &&
           (perf_text_holds(path, PERF_LIST(records), &at, error) || differs(at, error));
}

const struct merge_format merge_perf_format = {FILE_PERF_DB, 1 << LOSS_PERF, db_read, db_write};

const struct merge_format merge_perf_text_format = {FILE_PERF_TEXT, 1 << LOSS_PERF, text_read,
                                                    text_write};
