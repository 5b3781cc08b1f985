#include "export/release/export_spool.h"

#include "export/release/perf_row_blob.h"

#include <string.h>

/* SQL that makes the tables. candidates: results that passed; `line` is the problem's key with '=',
 * since this sorts as lines of a find-db do; `row` is NULL for a candidate without a perf-db
 * record; `place` is 0 for the winner of a second measurement and else 1; low_ms, high_ms: the interval of
 * its time, or NULL; `estimate` is above 0 for a config that was not measured alone. losers: candidates whose perf-db row holds the params of another problem. */
#define SCHEMA                                                                                     \
    "CREATE TABLE candidates (id INTEGER PRIMARY KEY, job INTEGER, line TEXT, solver TEXT,"        \
    " time_text TEXT, time_ms REAL, workspace INTEGER, row BLOB, params TEXT, weight REAL,"        \
    " files INTEGER, unnamed INTEGER, place INTEGER, low_ms REAL, high_ms REAL, estimate REAL);"   \
    "CREATE TABLE unnamed (line TEXT PRIMARY KEY, lack INTEGER) WITHOUT ROWID;"                    \
    "CREATE TABLE records (row BLOB, solver TEXT, params TEXT, PRIMARY KEY (row, solver))"         \
    " WITHOUT ROWID;"                                                                              \
    "CREATE TABLE losers (job INTEGER PRIMARY KEY, candidate INTEGER, params TEXT);"               \
    "CREATE TABLE rivals (id INTEGER PRIMARY KEY, candidate INTEGER);"
#define SORT                                                                                       \
    "CREATE INDEX candidates_lines ON candidates (line, place, time_ms, estimate DESC, solver,"    \
    " files);"                                                                                     \
    "CREATE INDEX uses_codes ON uses (code);"

static const struct sqlite_member members[] = {
    {offsetof(struct export_spool, add),
     "INSERT INTO candidates VALUES (NULL, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, nullif(?, 0),"
     " nullif(?, 0), ?)"},
    {offsetof(struct export_spool, move), "UPDATE candidates SET files = ?2 WHERE id = ?1"},
    {offsetof(struct export_spool, remove), "DELETE FROM candidates WHERE id = ?"},
    {offsetof(struct export_spool, unnamed), "INSERT OR IGNORE INTO unnamed VALUES (?, ?)"},
    {offsetof(struct export_spool, record), "INSERT INTO records VALUES (?, ?, ?)"},
    {offsetof(struct export_spool, loser), "INSERT OR REPLACE INTO losers VALUES (?, ?, ?)"},
};

bool export_spool_open(struct export_spool *spool, const char *path, GError **error)
{
    memset(spool, 0, sizeof *spool);
    spool->db = sqlite_file_scratch(path, CODE_NAMES_SCHEMA SCHEMA, error);
    bool open = spool->db != NULL && code_names_init(&spool->names, spool->db, 0, error);
    return open && sqlite_members_prepare(spool->db, spool, members, G_N_ELEMENTS(members), error);
}

void export_spool_close(struct export_spool *spool)
{
    sqlite_members_finalize(spool, members, G_N_ELEMENTS(members));
    code_names_clear(&spool->names);
    sqlite_file_close(spool->db);
    memset(spool, 0, sizeof *spool);
}

static bool line_of(const struct problem *problem, char line[PROBLEM_KEY_MAX + 1], GError **error)
{
    struct problem again;
    problem_key(problem, line);
    if (!problem_key_parse(line, &again, NULL) || !problem_equal(problem, &again)) {
        g_set_error(error, EXPORT_ERROR, EXPORT_ERROR_CHECK,
                    "the problem '%s' does not come back from its key", line);
        return false;
    }
    strcat(line, "=");
    return true;
}

bool export_spool_add(struct export_spool *spool, const struct gate *gate,
                      const struct spool_item *item, int64_t *id, GError **error)
{
    const struct candidate *candidate = item->candidate;
    const struct result *result = candidate->result;
    bool unnamed = !problem_has_perf_row(&result->problem);
    bool shares = candidate->tunable && (item->files & SPOOL_MIOPEN) != 0;
    char line[PROBLEM_KEY_MAX + 1];
    guint8 blob[PERF_ROW_BLOB_MAX];
    struct perf_row row;
    perf_row_from_problem(&result->problem, &row);
    size_t bytes = perf_row_to_blob(&row, blob);
    if (!line_of(&result->problem, line, error) ||
        !sqlite_do(spool->add, error, "ltttdlbtdlllddd", result->job, line, candidate->solver->name,
                   candidate->time_text, candidate->time_ms, (int64_t)candidate->workspace_bytes,
                   shares ? blob : NULL, shares ? bytes : (size_t)0, result->kept.config_text,
                   item->weight, (int64_t)item->files, (int64_t)unnamed,
                   (int64_t)!result->kept.wins, candidate->low_ms, candidate->high_ms,
                   candidate->estimate)) {
        return false;
    }
    *id = sqlite3_last_insert_rowid(spool->db);
    return code_names_add(&spool->names, *id, gate, candidate->kernels, error);
}

bool export_spool_set_files(struct export_spool *spool, int64_t id, int files, GError **error)
{
    return files != 0 ? sqlite_do(spool->move, error, "ll", id, (int64_t)files)
                      : sqlite_do(spool->remove, error, "l", id) &&
                            code_names_release(&spool->names, id, error);
}

bool export_spool_add_unnamed(struct export_spool *spool, const struct problem *problem,
                              GError **error)
{
    char key[PROBLEM_KEY_MAX];
    return sqlite_do(spool->unnamed, error, "tl", problem_key(problem, key),
                     (int64_t)problem_perf_row_lack(problem));
}

bool export_spool_sort(struct export_spool *spool, GError **error)
{
    return sqlite_run(spool->db, SORT, error);
}

bool export_spool_count(struct export_spool *spool, const char *sql, int value, int *count,
                        GError **error)
{
    sqlite3_stmt *query = sqlite_statement(spool->db, sql, error);
    if (query != NULL && sqlite3_bind_parameter_count(query) > 0) {
        sqlite3_bind_int(query, 1, value);
    }
    bool counted = query != NULL && sqlite_step(query, error) == READ_ROW;
    if (counted) {
        *count = sqlite3_column_int(query, 0);
    }
    sqlite3_finalize(query);
    return counted;
}

/* ---- what a .sjdb holds of one problem ---- */

/* The order in which the candidates of a problem are read. */
#define LINE_ORDER "place, time_ms, estimate DESC, solver, id"

/* `turn`: a candidate's place among those of its solver. The first ones of all solvers are kept first, then the second
 * ones, and so on. */
#define BEYOND                                                                                     \
    "SELECT id, files, solver FROM"                                                                \
    " (SELECT *, row_number() OVER (PARTITION BY line ORDER BY turn, " LINE_ORDER ") AS n FROM"    \
    "  (SELECT *, row_number() OVER (PARTITION BY line, solver ORDER BY " LINE_ORDER ") AS turn"   \
    "   FROM candidates WHERE files & 2))"                                                         \
    " WHERE n > ? ORDER BY solver"

struct beyond {
    int64_t id, files;
};

static void count_one(json_t *counts, const char *solver)
{
    json_int_t before = json_integer_value(json_object_get(counts, solver));
    json_object_set_new(counts, solver, json_integer(before + 1));
}

json_t *export_spool_limit_own(struct export_spool *spool, int most, GError **error)
{
    g_autoptr(GArray) list = g_array_new(FALSE, FALSE, sizeof(struct beyond));
    json_t *counts = json_object();
    sqlite3_stmt *query = sqlite_statement(spool->db, BEYOND, error);
    enum read_step step =
        query != NULL ? sqlite_ask(query, error, "l", (int64_t)most) : READ_FAILED;
    for (; step == READ_ROW; step = sqlite_step(query, error)) {
        const struct beyond at = {sqlite3_column_int64(query, 0), sqlite3_column_int64(query, 1)};
        g_array_append_val(list, at);
        count_one(counts, sqlite_text_at(query, 2));
    }
    sqlite3_finalize(query);
    bool done = step == READ_END;
    for (guint i = 0; done && i < list->len; i++) {
        const struct beyond *at = &g_array_index(list, struct beyond, i);
        done = export_spool_set_files(spool, at->id, (int)at->files & ~SPOOL_OWN, error);
    }
    if (!done) {
        json_decref(counts);
        return NULL;
    }
    return counts;
}

/* ---- one perf record for each row and solver ---- */

/* The record made last. Candidates come by row and solver, so those with the same row and solver
 * follow each other. */
struct last_record {
    guint8 row[PERF_ROW_BLOB_MAX];
    size_t bytes;
    char *solver, *params;
};

static bool is_same(const struct last_record *last, sqlite3_stmt *query)
{
    return last->solver != NULL && (size_t)sqlite3_column_bytes(query, 0) == last->bytes &&
           memcmp(sqlite3_column_blob(query, 0), last->row, last->bytes) == 0 &&
           strcmp(sqlite_text_at(query, 1), last->solver) == 0;
}

static bool add_record(struct export_spool *spool, struct last_record *last, sqlite3_stmt *query,
                       GError **error)
{
    last->bytes = MIN((size_t)sqlite3_column_bytes(query, 0), sizeof last->row);
    memcpy(last->row, sqlite3_column_blob(query, 0), last->bytes);
    g_free(last->solver);
    g_free(last->params);
    last->solver = g_strdup(sqlite_text_at(query, 1));
    last->params = g_strdup(sqlite_text_at(query, 2));
    return sqlite_do(spool->record, error, "btt", last->row, last->bytes, last->solver,
                     last->params);
}

bool export_spool_choose_params(struct export_spool *spool, GError **error)
{
    struct last_record last = {.solver = NULL};
    sqlite3_stmt *query =
        sqlite_statement(spool->db,
                         "SELECT row, solver, params, id, job FROM candidates WHERE row IS NOT NULL"
                         " ORDER BY row, solver, weight DESC, line, time_ms, job",
                         error);
    enum read_step step = query != NULL ? sqlite_step(query, error) : READ_FAILED;
    while (step == READ_ROW) {
        bool done = is_same(&last, query)
                        ? sqlite_do(spool->loser, error, "llt", sqlite3_column_int64(query, 4),
                                    sqlite3_column_int64(query, 3), last.params)
                        : add_record(spool, &last, query, error);
        step = done ? sqlite_step(query, error) : READ_FAILED;
    }
    sqlite3_finalize(query);
    g_free(last.solver);
    g_free(last.params);
    return step == READ_END;
}

static void free_loser(void *data)
{
    struct spool_loser *loser = data;
    g_free(loser->own_params);
    g_free(loser->params);
    g_free(loser);
}

GPtrArray *export_spool_list_losers(struct export_spool *spool, int64_t after_job, int most,
                                    GError **error)
{
    g_autoptr(GPtrArray) list = g_ptr_array_new_with_free_func(free_loser);
    sqlite3_stmt *query = sqlite_statement(
        spool->db,
        "SELECT l.job, l.candidate, k.params, l.params FROM losers l"
        " JOIN candidates k ON k.id = l.candidate WHERE l.job > ? ORDER BY l.job LIMIT ?",
        error);
    enum read_step step =
        query != NULL ? sqlite_ask(query, error, "ll", after_job, (int64_t)most) : READ_FAILED;
    for (; step == READ_ROW; step = sqlite_step(query, error)) {
        struct spool_loser *loser = g_new0(struct spool_loser, 1);
        *loser = (struct spool_loser){
            sqlite3_column_int64(query, 0), sqlite3_column_int64(query, 1),
            g_strdup(sqlite_text_at(query, 2)), g_strdup(sqlite_text_at(query, 3))};
        g_ptr_array_add(list, loser);
    }
    sqlite3_finalize(query);
    return step == READ_END ? g_steal_pointer(&list) : NULL;
}

/* ---- conflicts of kernel names ---- */

#define FIND_RIVALS                                                                                \
    "INSERT INTO rivals (candidate) SELECT k.id FROM candidates k"                                 \
    " WHERE k.unnamed = ? AND " CODE_NAMES_CONTESTED(                                              \
        "k.id") " ORDER BY line, place, time_ms, solver, job"
#define RIVALS                                                                                     \
    "SELECT k.id, k.job, k.line, k.solver FROM rivals r JOIN candidates k ON k.id = r.candidate"   \
    " ORDER BY r.id"

static bool find_rivals(struct export_spool *spool, bool unnamed, GError **error)
{
    sqlite3_stmt *find = NULL;
    bool found = code_names_contest(&spool->names, error) &&
                 sqlite_run(spool->db, "DELETE FROM rivals", error) &&
                 (find = sqlite_statement(spool->db, FIND_RIVALS, error)) != NULL &&
                 sqlite_do(find, error, "l", (int64_t)unnamed);
    sqlite3_finalize(find);
    return found;
}

/* Refuses a candidate because another code object keeps the name of one of its kernels; `reason`
 * says which. */
static bool refuse_rival(sqlite3_stmt *query, char *reason,
                         bool (*refuse)(void *data, const struct export_refusal *refusal,
                                        GError **error),
                         void *data, GError **error)
{
    g_autofree char *problem = g_strdup(sqlite_text_at(query, 2));
    g_autofree char *solver = g_strdup(sqlite_text_at(query, 3));
    problem[strlen(problem) - 1] = '\0'; /* drops the '=' */
    const struct export_refusal refusal = {.why = REFUSAL_KERNEL,
                                           .job = sqlite3_column_int64(query, 1),
                                           .problem = problem,
                                           .solver = solver,
                                           .reason = reason};
    return refuse(data, &refusal, error);
}

bool export_spool_settle_names(struct export_spool *spool, bool unnamed,
                               bool (*refuse)(void *data, const struct export_refusal *refusal,
                                              GError **error),
                               void *data, GError **error)
{
    if (!find_rivals(spool, unnamed, error)) {
        return false;
    }
    sqlite3_stmt *query = sqlite_statement(spool->db, RIVALS, error);
    enum read_step step = query != NULL ? sqlite_step(query, error) : READ_FAILED;
    while (step == READ_ROW) {
        g_autofree char *reason = NULL;
        int64_t id = sqlite3_column_int64(query, 0);
        bool done = code_names_bind(&spool->names, id, &reason, error) &&
                    (reason == NULL || (refuse_rival(query, reason, refuse, data, error) &&
                                        export_spool_set_files(spool, id, 0, error)));
        step = done ? sqlite_step(query, error) : READ_FAILED;
    }
    sqlite3_finalize(query);
    return step == READ_END;
}

bool export_spool_bind_names(struct export_spool *spool, GError **error)
{
    return sqlite_run(spool->db,
                      "UPDATE codes SET bound = EXISTS (SELECT 1 FROM uses u JOIN candidates k"
                      " ON k.id = u.owner WHERE u.code = codes.id AND k.files & 1)",
                      error);
}

/* ---- the checksum over all that was chosen ---- */

/* Adds the first column of all rows of a query to the checksum. */
static bool sum_rows(struct export_spool *spool, const char *sql, GChecksum *sum, GError **error)
{
    sqlite3_stmt *query = sqlite_statement(spool->db, sql, error);
    enum read_step step = query != NULL ? sqlite_step(query, error) : READ_FAILED;
    for (; step == READ_ROW; step = sqlite_step(query, error)) {
        const char *text = sqlite_text_at(query, 0);
        g_checksum_update(sum, (const guchar *)text, (gssize)strlen(text) + 1);
    }
    sqlite3_finalize(query);
    return step == READ_END;
}

char *export_spool_sum(struct export_spool *spool, GError **error)
{
    g_autoptr(GChecksum) sum = g_checksum_new(G_CHECKSUM_SHA256);
    bool summed =
        sum_rows(spool,
                 "SELECT line || ' ' || solver || ' ' || time_text || ' ' || workspace || ' '"
                 " || coalesce(params, '') || coalesce(' ' || low_ms || ' ' || high_ms, '')"
                 " FROM candidates ORDER BY line, place, time_ms, solver, files, params",
                 sum, error) &&
        sum_rows(spool,
                 "SELECT name || ' ' || args || ' ' || sha256 FROM codes WHERE side = 0"
                 " ORDER BY name, args, sha256",
                 sum, error);
    return summed ? g_strdup(g_checksum_get_string(sum)) : NULL;
}

/* ---- reading second measurements ---- */

struct export_finals {
    sqlite3_stmt *query;
};

ExportFinals *export_finals_open(struct export_spool *spool, GError **error)
{
    g_autoptr(ExportFinals) finals = g_new0(ExportFinals, 1);
    finals->query = sqlite_statement(spool->db,
                                     "SELECT line, solver, params, time_ms, low_ms, high_ms"
                                     " FROM candidates WHERE place = 0 AND low_ms IS NOT NULL"
                                     " GROUP BY line, solver, params ORDER BY line, solver, params",
                                     error);
    return finals->query != NULL ? g_steal_pointer(&finals) : NULL;
}

void export_finals_close(ExportFinals *finals)
{
    if (finals != NULL) {
        sqlite3_finalize(finals->query);
        g_free(finals);
    }
}

enum read_step export_finals_next(ExportFinals *finals, struct planned_final *final, GError **error)
{
    enum read_step step = sqlite_step(finals->query, error);
    if (step == READ_ROW) {
        const char *line = sqlite_text_at(finals->query, 0);
        *final = (struct planned_final){.solver = sqlite_text_at(finals->query, 1),
                                        .config = sqlite_text_at(finals->query, 2),
                                        .time_ms = sqlite3_column_double(finals->query, 3),
                                        .low_ms = sqlite3_column_double(finals->query, 4),
                                        .high_ms = sqlite3_column_double(finals->query, 5)};
        g_strlcpy(final->problem, line, MIN(sizeof final->problem, strlen(line)));
    }
    return step;
}

/* ---- reading lines of the find-db ---- */

struct export_lines {
    sqlite3_stmt *query;
    /* result of the query's last step; READ_ROW while the query is at the first row of a further
     * problem */
    enum read_step step;
    int top;
    struct planned_line line;
    GStringChunk *params;
};

ExportLines *export_lines_open(struct export_spool *spool, int files, int top, GError **error)
{
    g_autoptr(ExportLines) lines = g_new0(ExportLines, 1);
    lines->top = top;
    lines->line.key = g_string_new(NULL);
    lines->line.text = g_string_new(NULL);
    lines->line.entries = g_array_new(FALSE, TRUE, sizeof(struct planned_entry));
    lines->params = g_string_chunk_new(1024);
    lines->query = sqlite_statement(spool->db,
                                    "SELECT line, solver, time_text, time_ms, workspace, params,"
                                    " low_ms, high_ms FROM candidates WHERE files & ?"
                                    " ORDER BY line, " LINE_ORDER,
                                    error);
    if (lines->query == NULL) {
        return NULL;
    }
    lines->step = sqlite_ask(lines->query, error, "l", (int64_t)files);
    return lines->step != READ_FAILED ? g_steal_pointer(&lines) : NULL;
}

void export_lines_close(ExportLines *lines)
{
    if (lines != NULL) {
        sqlite3_finalize(lines->query);
        g_string_free(lines->line.key, TRUE);
        g_string_free(lines->line.text, TRUE);
        g_array_unref(lines->line.entries);
        g_string_chunk_free(lines->params);
        g_free(lines);
    }
}

/* No entry is faster than the winner of the second measurement, as far as that could tell: a tie states the winner's
 * time, and the winner's interval if it was measured a second time itself. Readers choose by time, and so choose the
 * winner. */
static void state_tie(struct planned_entry *entry, const struct planned_entry *winner)
{
    bool second = entry->low_ms > 0;
    entry->time_ms = winner->time_ms;
    g_strlcpy(entry->time_text, winner->time_text, sizeof entry->time_text);
    entry->low_ms = second ? winner->low_ms : 0;
    entry->high_ms = second ? winner->high_ms : 0;
}

static void add_entry(ExportLines *lines)
{
    sqlite3_stmt *query = lines->query;
    struct planned_entry entry = {
        /* never NULL: the gate accepts solvers of this program only */
        .solver = solver_find(sqlite_text_at(query, 1)),
        .time_ms = sqlite3_column_double(query, 3),
        .workspace_bytes = (uint64_t)sqlite3_column_int64(query, 4),
        .params = g_string_chunk_insert(lines->params, sqlite_text_at(query, 5)),
        .low_ms = sqlite3_column_double(query, 6), /* 0 for NULL */
        .high_ms = sqlite3_column_double(query, 7),
    };
    g_strlcpy(entry.time_text, sqlite_text_at(query, 2), sizeof entry.time_text);
    const struct planned_entry *first =
        lines->line.entries->len > 0 ? &g_array_index(lines->line.entries, struct planned_entry, 0)
                                     : NULL;
    if (first != NULL && entry.time_ms < first->time_ms) {
        state_tie(&entry, first);
    }
    g_array_append_val(lines->line.entries, entry);
}

static void write_text(struct planned_line *line)
{
    char before = '=';
    g_string_assign(line->text, line->key->str);
    for (guint i = 0; i < line->entries->len; i++) {
        const struct planned_entry *entry = &g_array_index(line->entries, struct planned_entry, i);
        char algorithm[64];
        if (entry->is_taken) {
            solver_algorithm(entry->solver, line->problem.direction, algorithm);
            g_string_append_printf(line->text, "%c%s:%s,%" G_GUINT64_FORMAT ",%s", before,
                                   entry->solver->name, entry->time_text, entry->workspace_bytes,
                                   algorithm);
            before = ';';
        }
    }
}

enum read_step export_lines_next(ExportLines *lines, const struct planned_line **found,
                                 GError **error)
{
    struct planned_line *line = &lines->line;
    if (lines->step != READ_ROW) {
        return lines->step;
    }
    g_string_assign(line->key, sqlite_text_at(lines->query, 0));
    g_array_set_size(line->entries, 0);
    g_string_chunk_clear(lines->params);
    while (lines->step == READ_ROW &&
           strcmp(sqlite_text_at(lines->query, 0), line->key->str) == 0) {
        add_entry(lines);
        lines->step = sqlite_step(lines->query, error);
    }
    g_string_truncate(line->key, line->key->len - 1);
    if (lines->step == READ_FAILED || !problem_key_parse(line->key->str, &line->problem, error)) {
        return READ_FAILED;
    }
    export_entries_choose((struct planned_entry *)(void *)line->entries->data,
                          (int)line->entries->len, lines->top);
    write_text(line);
    *found = line;
    return READ_ROW;
}

/* ---- reading records of the perf-db ---- */

struct export_records {
    sqlite3_stmt *query;
    struct perf_record record;
};

ExportRecords *export_records_open(struct export_spool *spool, GError **error)
{
    g_autoptr(ExportRecords) records = g_new0(ExportRecords, 1);
    records->query = sqlite_statement(
        spool->db, "SELECT row, solver, params FROM records ORDER BY row, solver", error);
    return records->query != NULL ? g_steal_pointer(&records) : NULL;
}

void export_records_close(ExportRecords *records)
{
    if (records != NULL) {
        sqlite3_finalize(records->query);
        g_free(records);
    }
}

enum read_step export_records_next(void *data, const struct perf_record **record, GError **error)
{
    ExportRecords *records = data;
    enum read_step step = sqlite_step(records->query, error);
    if (step == READ_ROW) {
        perf_row_from_blob(&records->record.row, sqlite3_column_blob(records->query, 0));
        /* These texts belong to SQLite until the next step, so the record must not be freed. */
        records->record.solver = (char *)sqlite_text_at(records->query, 1);
        records->record.params = (char *)sqlite_text_at(records->query, 2);
        *record = &records->record;
    }
    return step;
}

/* ---- reading rows of the kernel-db ---- */

struct export_kernels {
    sqlite3_stmt *query;
};

/* Each kernel's name gives one row: export_spool_settle_names() has left one code object for each
 * name. */
ExportKernels *export_kernels_open(struct export_spool *spool, int files, GError **error)
{
    g_autoptr(ExportKernels) kernels = g_new0(ExportKernels, 1);
    kernels->query =
        sqlite_statement(spool->db,
                         "SELECT name, args, min(key), sha256 FROM codes c WHERE side = 0"
                         " AND EXISTS (SELECT 1 FROM uses u JOIN candidates k ON k.id = u.owner"
                         "             WHERE u.code = c.id AND k.files & ?)"
                         " GROUP BY name, args ORDER BY name, args",
                         error);
    if (kernels->query == NULL) {
        return NULL;
    }
    sqlite3_bind_int(kernels->query, 1, files);
    return g_steal_pointer(&kernels);
}

void export_kernels_close(ExportKernels *kernels)
{
    if (kernels != NULL) {
        sqlite3_finalize(kernels->query);
        g_free(kernels);
    }
}

enum read_step export_kernels_next(ExportKernels *kernels, struct planned_kernel *kernel,
                                   GError **error)
{
    enum read_step step = sqlite_step(kernels->query, error);
    if (step == READ_ROW) {
        *kernel = (struct planned_kernel){
            sqlite_text_at(kernels->query, 0), sqlite_text_at(kernels->query, 1),
            sqlite_text_at(kernels->query, 2), sqlite_text_at(kernels->query, 3)};
    }
    return step;
}
