/* What a spool holds, in the order of each file. */
#include "export/release/export_spool.h"
#include "export/release/perf_row_blob.h"

#include <string.h>

/* ---- all of it ---- */

/* Adds the first column of all rows. */
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
                 " || coalesce(params, '')"
                 " FROM candidates ORDER BY line, time_ms, solver, files, params",
                 sum, error) &&
        sum_rows(spool,
                 "SELECT name || ' ' || args || ' ' || sha256 FROM codes WHERE side = 0"
                 " ORDER BY name, args, sha256",
                 sum, error);
    return summed ? g_strdup(g_checksum_get_string(sum)) : NULL;
}

/* ---- lines of a find-db ---- */

struct export_lines {
    sqlite3_stmt *query;
    enum read_step step; /* of the query: READ_ROW where a line begins */
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
                                    "SELECT line, solver, time_text, time_ms, workspace, params"
                                    " FROM candidates WHERE files & ?"
                                    " ORDER BY line, time_ms, solver",
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

static void add_entry(ExportLines *lines)
{
    sqlite3_stmt *query = lines->query;
    struct planned_entry entry = {
        .solver = solver_find(sqlite_text_at(query, 1)), /* the gate has found it, too */
        .time_ms = sqlite3_column_double(query, 3),
        .workspace_bytes = (uint64_t)sqlite3_column_int64(query, 4),
        .params = g_string_chunk_insert(lines->params, sqlite_text_at(query, 5)),
    };
    g_strlcpy(entry.time_text, sqlite_text_at(query, 2), sizeof entry.time_text);
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

/* ---- records of a perf-db ---- */

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
        /* SQLite keeps the texts until the next step; nobody frees this record. */
        records->record.solver = (char *)sqlite_text_at(records->query, 1);
        records->record.params = (char *)sqlite_text_at(records->query, 2);
        *record = &records->record;
    }
    return step;
}

/* ---- rows of a kernel-db ---- */

struct export_kernels {
    sqlite3_stmt *query;
};

/* One row a name: settling names saw to it that all of them are one code object. */
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
