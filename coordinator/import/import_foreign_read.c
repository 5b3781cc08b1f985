/* The formats that foreign campaigns are read from. */
#include "coordinator/import/import_foreign_rows.h"
#include "export/formats/find_db.h"
#include "export/formats/perf_db.h"
#include "schema/store/store_foreign.h"
#include "solvers/problem/problem_key.h"

#define CONFIGS_AT_ONCE 5000
#define TIME_MAX_MS     1e12 /* the store's own limit, some decades */

/* ---- what is left out ---- */

G_GNUC_PRINTF(3, 4)
static void leave_out(struct foreign_reading *reading, int64_t line, const char *format, ...)
{
    reading->file->left_out++;
    if (reading->import->left_out++ >= FOREIGN_SKIPS_KEPT) {
        return;
    }
    struct foreign_skip *skip = g_new0(struct foreign_skip, 1);
    va_list arguments;
    va_start(arguments, format);
    g_autofree char *reason = g_strdup_vprintf(format, arguments);
    va_end(arguments);
    skip->file = reading->file->path;
    skip->line = line;
    skip->reason = g_utf8_make_valid(reason, -1);
    g_ptr_array_add(reading->import->skips, skip);
}

/* ---- find-dbs ---- */

/* The problem that a perf-db names for this one and for all that share its row. */
static int64_t row_place(struct foreign_rows *rows, const struct problem *problem, int64_t place)
{
    struct perf_row row;
    struct problem stands;
    perf_row_from_problem(problem, &row);
    if (!perf_row_to_problem(&row, &stands, NULL) || problem_equal(&stands, problem)) {
        return place;
    }
    return foreign_rows_problem(rows, &stands);
}

static void add_time(struct foreign_reading *reading, int64_t line, const struct find_entry *entry,
                     int64_t place, int64_t stands)
{
    if (!(entry->time_ms > 0 && entry->time_ms < TIME_MAX_MS)) {
        leave_out(reading, line, "%s: a time of %s ms was never measured", entry->solver,
                  entry->time_text);
    } else if (entry->workspace_bytes > INT64_MAX) {
        leave_out(reading, line, "%s: no memory has a workspace of %" G_GUINT64_FORMAT " bytes",
                  entry->solver, entry->workspace_bytes);
    } else {
        const struct foreign_time time = {place,          stands,
                                          entry->time_ms, (int64_t)entry->workspace_bytes,
                                          entry->solver,  entry->algorithm};
        foreign_rows_time(&reading->rows, &time);
    }
}

static void add_find_line(struct foreign_reading *reading, int64_t number,
                          const struct find_line *line)
{
    struct problem problem;
    g_autoptr(GError) error = NULL;
    if (!problem_key_parse(line->key, &problem, &error) || !problem_validate(&problem, &error)) {
        leave_out(reading, number, "%s", error->message);
        return;
    }
    int64_t place = foreign_rows_problem(&reading->rows, &problem);
    int64_t stands = row_place(&reading->rows, &problem, place);
    reading->file->problems++;
    for (guint i = 0; i < line->entries->len; i++) {
        add_time(reading, number, &g_array_index(line->entries, struct find_entry, i), place,
                 stands);
    }
}

bool foreign_read_find_db(struct foreign_reading *reading, GError **error)
{
    g_autoptr(FindDb) db = find_db_open(reading->file->path, error);
    struct find_line line;
    struct line at;
    enum read_step step = READ_ROW;
    bool stored = db != NULL;
    find_line_init(&line);
    while (stored && (step == READ_ROW || step == READ_BAD)) {
        g_autoptr(GError) reason = NULL;
        step = find_db_next(db, &line, &at, &reason);
        if (step == READ_ROW) {
            add_find_line(reading, at.number, &line);
        } else if (step == READ_BAD) {
            leave_out(reading, at.number, "%s", reason->message);
        } else if (step == READ_FAILED) {
            g_propagate_error(error, g_steal_pointer(&reason));
        }
        stored = step != READ_FAILED && foreign_rows_store(&reading->rows, step == READ_END, error);
    }
    find_line_clear(&line);
    return stored;
}

/* ---- perf-dbs, text ---- */

static void add_params(struct foreign_reading *reading, int64_t line, int64_t problem,
                       const char *solver, const char *params)
{
    if (solver[0] == '\0' || params[0] == '\0') {
        leave_out(reading, line, "%s has no params", solver[0] != '\0' ? solver : "a solver");
        return;
    }
    const struct foreign_params row = {problem, solver, params};
    foreign_rows_params(&reading->rows, &row);
}

static void add_perf_line(struct foreign_reading *reading, const struct line *at,
                          struct perf_text_line *line)
{
    struct problem problem;
    g_autoptr(GError) error = NULL;
    if (!perf_text_line_parse(at->text, line, &error) ||
        !perf_row_to_problem(&line->row, &problem, &error)) {
        leave_out(reading, at->number, "%s", error->message);
        return;
    }
    int64_t place = foreign_rows_problem(&reading->rows, &problem);
    reading->file->problems++;
    for (guint i = 0; i < line->solvers->len; i++) {
        add_params(reading, at->number, place, line->solvers->pdata[i], line->params->pdata[i]);
    }
}

bool foreign_read_perf_text(struct foreign_reading *reading, GError **error)
{
    g_autoptr(LineReader) lines = line_reader_open(reading->file->path, error);
    struct perf_text_line line;
    struct line at;
    enum read_step step = READ_ROW;
    bool stored = lines != NULL;
    perf_text_line_init(&line);
    while (stored && (step == READ_ROW || step == READ_BAD)) {
        g_autoptr(GError) reason = NULL;
        step = line_reader_next(lines, &at, &reason);
        if (step == READ_ROW) {
            add_perf_line(reading, &at, &line);
        } else if (step == READ_BAD) {
            leave_out(reading, at.number, "%s", reason->message);
        } else if (step == READ_FAILED) {
            g_propagate_error(error, g_steal_pointer(&reason));
        }
        stored = step != READ_FAILED && foreign_rows_store(&reading->rows, step == READ_END, error);
    }
    perf_text_line_clear(&line);
    return stored;
}

/* ---- perf-dbs, SQLite ---- */

/* The rows of the table config come in the order of their ids, so both arrays are sorted: 16 bytes a
 * row are all that stays of it. */
struct config_rows {
    GArray *ids, *problems; /* int64_t: of config, of problems */
};

static bool store_configs(struct foreign_reading *reading, struct config_rows *configs,
                          GError **error)
{
    return foreign_rows_store_problems(&reading->rows, configs->problems, error);
}

static bool read_configs(struct foreign_reading *reading, PerfDb *db, struct config_rows *configs,
                         GError **error)
{
    for (;;) {
        g_autoptr(GError) reason = NULL;
        struct perf_row row;
        struct problem problem;
        int64_t id = 0;
        enum read_step step = perf_db_next_config(db, &id, &row, &reason);
        if (step == READ_FAILED) {
            g_propagate_error(error, g_steal_pointer(&reason));
            return false;
        }
        if (step == READ_END) {
            return store_configs(reading, configs, error);
        }
        if (step == READ_BAD || !perf_row_to_problem(&row, &problem, &reason)) {
            leave_out(reading, id, "config: %s", reason->message);
            continue;
        }
        foreign_rows_problem(&reading->rows, &problem);
        g_array_append_val(configs->ids, id);
        reading->file->problems++;
        if (reading->rows.problems->len >= CONFIGS_AT_ONCE &&
            !store_configs(reading, configs, error)) {
            return false;
        }
    }
}

static int compare_ids(gconstpointer a, gconstpointer b)
{
    int64_t one = *(const int64_t *)a, other = *(const int64_t *)b;
    return (one > other) - (one < other);
}

static void add_perf_entry(struct foreign_reading *reading, const struct config_rows *configs,
                           const struct perf_entry *entry)
{
    guint place;
    if (!g_array_binary_search(configs->ids, &entry->config, compare_ids, &place)) {
        leave_out(reading, entry->id,
                  "perf_db: %s has params for config %" G_GINT64_FORMAT
                  ", which is not there or cannot be used",
                  entry->solver, entry->config);
        return;
    }
    add_params(reading, entry->id, g_array_index(configs->problems, int64_t, place), entry->solver,
               entry->params);
}

static bool read_entries(struct foreign_reading *reading, PerfDb *db,
                         const struct config_rows *configs, GError **error)
{
    enum read_step step;
    do {
        g_autoptr(GError) reason = NULL;
        struct perf_entry entry = {0};
        step = perf_db_next_entry(db, &entry, &reason);
        if (step == READ_ROW) {
            add_perf_entry(reading, configs, &entry);
        } else if (step == READ_BAD) {
            leave_out(reading, entry.id, "perf_db: %s", reason->message);
        } else if (step == READ_FAILED) {
            g_propagate_error(error, g_steal_pointer(&reason));
            return false;
        }
        if (!foreign_rows_store(&reading->rows, step == READ_END, error)) {
            return false;
        }
    } while (step != READ_END);
    return true;
}

bool foreign_read_perf_db(struct foreign_reading *reading, GError **error)
{
    g_autoptr(PerfDb) db = perf_db_open(reading->file->path, error);
    if (db == NULL) {
        return false;
    }
    struct config_rows configs = {g_array_new(FALSE, FALSE, sizeof(int64_t)),
                                  g_array_new(FALSE, TRUE, sizeof(int64_t))};
    bool read =
        read_configs(reading, db, &configs, error) && read_entries(reading, db, &configs, error);
    g_array_unref(configs.ids);
    g_array_unref(configs.problems);
    return read;
}
