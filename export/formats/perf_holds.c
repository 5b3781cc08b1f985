#include "export/formats/perf_db.h"

#include <string.h>

static bool same_record(const struct perf_record *record, const struct perf_row *row,
                        const char *solver, const char *params)
{
    return perf_row_equal(row, &record->row) && strcmp(solver, record->solver) == 0 &&
           strcmp(params, record->params) == 0;
}

/* Reads entries beside the rows they belong to: both come in the order of their ids, and the rows
 * were given ids in the order of records. */
static bool same_records(PerfDb *db, const struct perf_source *source, guint *at, GError **error)
{
    const struct perf_record *record = NULL;
    struct perf_row row;
    struct perf_entry entry;
    int64_t config = 0;
    enum read_step step;
    for (; (step = source->next(source->data, &record, error)) == READ_ROW; (*at)++) {
        if (perf_db_next_entry(db, &entry, error) != READ_ROW) {
            return false;
        }
        while (config < entry.config) {
            if (perf_db_next_config(db, &config, &row, error) != READ_ROW) {
                return false;
            }
        }
        if (config != entry.config || !same_record(record, &row, entry.solver, entry.params)) {
            return false;
        }
    }
    return step == READ_END && perf_db_next_entry(db, &entry, error) == READ_END &&
           perf_db_next_config(db, &config, &row, error) == READ_END;
}

bool perf_db_holds_from(const char *path, const struct perf_source *source, guint *at,
                        GError **error)
{
    *at = 0;
    g_autoptr(PerfDb) db = perf_db_open(path, error);
    return db != NULL && same_records(db, source, at, error);
}

bool perf_db_holds(const char *path, const GPtrArray *records, guint *at, GError **error)
{
    struct perf_list list = {records, 0};
    const struct perf_source source = {perf_list_next, &list};
    return perf_db_holds_from(path, &source, at, error);
}

/* A line of the text form says what the next records do. */
static bool same_line(const struct perf_text_line *line, const struct perf_source *source,
                      guint *at, GError **error)
{
    for (guint i = 0; i < line->solvers->len; i++) {
        const struct perf_record *record = NULL;
        if (source->next(source->data, &record, error) != READ_ROW ||
            !same_record(record, &line->row, line->solvers->pdata[i], line->params->pdata[i])) {
            return false;
        }
        (*at)++;
    }
    return line->solvers->len > 0;
}

bool perf_text_holds_from(const char *path, const struct perf_source *source, guint *at,
                          GError **error)
{
    const struct perf_record *more = NULL;
    struct perf_text_line line;
    struct line text;
    enum read_step step = READ_ROW;
    *at = 0;
    g_autoptr(LineReader) lines = line_reader_open(path, error);
    if (lines == NULL) {
        return false;
    }
    perf_text_line_init(&line);
    while ((step = line_reader_next(lines, &text, error)) == READ_ROW &&
           perf_text_line_parse(text.text, &line, error) && same_line(&line, source, at, error)) {
    }
    perf_text_line_clear(&line);
    return step == READ_END && source->next(source->data, &more, error) == READ_END;
}

bool perf_text_holds(const char *path, const GPtrArray *records, guint *at, GError **error)
{
    struct perf_list list = {records, 0};
    const struct perf_source source = {perf_list_next, &list};
    return perf_text_holds_from(path, &source, at, error);
}
