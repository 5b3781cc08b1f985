#include "export/formats/perf_db.h"

#include <string.h>

/* Reads entries beside the rows they belong to: both come in the order of their ids, and the rows
 * were given ids in the order of records. */
static bool same_records(PerfDb *db, const GPtrArray *records, guint *at, GError **error)
{
    struct perf_row row;
    struct perf_entry entry;
    int64_t config = 0;
    for (*at = 0; *at < records->len; (*at)++) {
        const struct perf_record *record = records->pdata[*at];
        if (perf_db_next_entry(db, &entry, error) != READ_ROW) {
            return false;
        }
        while (config < entry.config) {
            if (perf_db_next_config(db, &config, &row, error) != READ_ROW) {
                return false;
            }
        }
        if (config != entry.config || !perf_row_equal(&row, &record->row) ||
            strcmp(entry.solver, record->solver) != 0 ||
            strcmp(entry.params, record->params) != 0) {
            return false;
        }
    }
    return perf_db_next_entry(db, &entry, error) == READ_END &&
           perf_db_next_config(db, &config, &row, error) == READ_END;
}

bool perf_db_holds(const char *path, const GPtrArray *records, guint *at, GError **error)
{
    *at = 0;
    g_autoptr(PerfDb) db = perf_db_open(path, error);
    return db != NULL && same_records(db, records, at, error);
}

/* How many records one line of the text form holds, 0 when it says anything else than they do. */
static guint matching_records(const struct perf_text_line *line, const GPtrArray *records,
                              guint from)
{
    for (guint i = 0; i < line->solvers->len; i++) {
        const struct perf_record *record =
            from + i < records->len ? records->pdata[from + i] : NULL;
        if (record == NULL || !perf_row_equal(&record->row, &line->row) ||
            strcmp(record->solver, line->solvers->pdata[i]) != 0 ||
            strcmp(record->params, line->params->pdata[i]) != 0) {
            return 0;
        }
    }
    return line->solvers->len;
}

bool perf_text_holds(const char *path, const GPtrArray *records, guint *at, GError **error)
{
    struct perf_text_line line;
    struct line text;
    enum read_step step = READ_ROW;
    *at = 0;
    g_autoptr(LineReader) lines = line_reader_open(path, error);
    if (lines == NULL) {
        return false;
    }
    perf_text_line_init(&line);
    while ((step = line_reader_next(lines, &text, error)) == READ_ROW) {
        guint matching = perf_text_line_parse(text.text, &line, error)
                             ? matching_records(&line, records, *at)
                             : 0;
        *at += matching;
        if (matching == 0) {
            break;
        }
    }
    perf_text_line_clear(&line);
    return step == READ_END && *at == records->len;
}
