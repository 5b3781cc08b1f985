#include "export/formats/perf_db.h"

#include "export/formats/sqlite_file.h"

#include <stdio.h>
#include <string.h>

/* MIOpen's own SQL statements, with its quotes and spaces, and one more: an index on
 * perf_db(config), which makes MIOpen's lookups fast. */
#define PERF_SCHEMA                                                                                \
    "CREATE TABLE `config` (`id` INTEGER PRIMARY KEY ASC,`layout` TEXT NOT NULL,"                  \
    "`data_type` TEXT NOT NULL,`direction` TEXT NOT NULL,`spatial_dim` INT NOT NULL,"              \
    "`in_channels` INT NOT NULL,`in_h` INT NOT NULL,`in_w` INT NOT NULL,`in_d` INT NOT NULL,"      \
    "`fil_h` INT NOT NULL,`fil_w` INT NOT NULL,`fil_d` INT NOT NULL,"                              \
    "`out_channels` INT NOT NULL, `batchsize` INT NOT NULL,`pad_h` INT NOT NULL,"                  \
    "`pad_w` INT NOT NULL,`pad_d` INT NOT NULL,`conv_stride_h` INT NOT NULL,"                      \
    "`conv_stride_w` INT NOT NULL,`conv_stride_d` INT NOT NULL,`dilation_h` INT NOT NULL,"         \
    "`dilation_w` INT NOT NULL,`dilation_d` INT NOT NULL,`bias` INT NOT NULL,"                     \
    "`group_count` INT NOT NULL);"                                                                 \
    "CREATE TABLE `perf_db` (`id` INTEGER PRIMARY KEY ASC,`solver` TEXT NOT NULL,"                 \
    "`config` INTEGER NOT NULL, `params` TEXT NOT NULL);"                                          \
    "CREATE UNIQUE INDEX `idx_config` ON config( " CONFIG_INDEX " );"                              \
    "CREATE UNIQUE INDEX `idx_perf_db` ON perf_db(solver, config);"                                \
    "CREATE INDEX `idx_perf_db_config` ON perf_db(config);"
#define CONFIG_INDEX                                                                               \
    "layout,data_type,direction,spatial_dim,in_channels,in_h,in_w,in_d,fil_h,fil_w,fil_d,"         \
    "out_channels,batchsize,pad_h,pad_w,pad_d,conv_stride_h,conv_stride_w,conv_stride_d,"          \
    "dilation_h,dilation_w,dilation_d,bias,group_count"

#define CONFIG_COLUMNS (PERF_ROW_INTS + PERF_TEXTS)

struct perf_db {
    sqlite3 *db;
    sqlite3_stmt *configs, *config, *entries;
};

char *perf_column_list(void)
{
    GString *list = g_string_new(NULL);
    for (int i = 0; i < PERF_ROW_INTS; i++) {
        g_string_append_printf(list, "%s,", perf_row_columns[i]);
    }
    g_string_append(list, "layout,data_type,direction");
    return g_string_free(list, FALSE);
}

struct perf_record *perf_record_new(const struct perf_row *row, const char *solver,
                                    const char *params)
{
    struct perf_record *record = g_new0(struct perf_record, 1);
    record->row = *row;
    record->solver = g_strdup(solver);
    record->params = g_strdup(params);
    return record;
}

void perf_record_free(struct perf_record *record)
{
    if (record != NULL) {
        g_free(record->solver);
        g_free(record->params);
        g_free(record);
    }
}

static int compare_rows(const struct perf_row *a, const struct perf_row *b)
{
    int order = strcmp(a->layout, b->layout);
    order = order != 0 ? order : strcmp(a->data_type, b->data_type);
    order = order != 0 ? order : strcmp(a->direction, b->direction);
    for (int i = 0; order == 0 && i < PERF_ROW_INTS; i++) {
        order = (a->values[i] > b->values[i]) - (a->values[i] < b->values[i]);
    }
    return order;
}

bool perf_row_equal(const struct perf_row *a, const struct perf_row *b)
{
    return compare_rows(a, b) == 0;
}

int perf_record_compare(const struct perf_record *a, const struct perf_record *b)
{
    int order = compare_rows(&a->row, &b->row);
    return order != 0 ? order : strcmp(a->solver, b->solver);
}

/* ---- writing ---- */

static bool insert_config(sqlite3_stmt *insert, int64_t id, const struct perf_row *row,
                          GError **error)
{
    const char *texts[PERF_TEXTS] = {row->layout, row->data_type, row->direction};
    sqlite3_reset(insert);
    for (int i = 0; i < PERF_ROW_INTS; i++) {
        sqlite3_bind_int64(insert, i + 1, row->values[i]);
    }
    for (int i = 0; i < PERF_TEXTS; i++) {
        sqlite3_bind_text(insert, PERF_ROW_INTS + i + 1, texts[i], -1, SQLITE_STATIC);
    }
    sqlite3_bind_int64(insert, CONFIG_COLUMNS + 1, id);
    return sqlite_step(insert, error) == READ_END;
}

static bool insert_entry(sqlite3_stmt *insert, int64_t config, const struct perf_record *record,
                         GError **error)
{
    sqlite3_reset(insert);
    sqlite3_bind_text(insert, 1, record->solver, -1, SQLITE_STATIC);
    sqlite3_bind_int64(insert, 2, config);
    sqlite3_bind_text(insert, 3, record->params, -1, SQLITE_STATIC);
    return sqlite_step(insert, error) == READ_END;
}

static bool insert_records(sqlite3_stmt *configs, sqlite3_stmt *entries,
                           const struct perf_source *source, GError **error)
{
    const struct perf_record *record = NULL;
    struct perf_row last;
    int64_t config = 0;
    enum read_step step;
    while ((step = source->next(source->data, &record, error)) == READ_ROW) {
        if (config == 0 || !perf_row_equal(&last, &record->row)) {
            config++;
            last = record->row;
            if (!insert_config(configs, config, &record->row, error)) {
                return false;
            }
        }
        if (!insert_entry(entries, config, record, error)) {
            return false;
        }
    }
    return step == READ_END;
}

enum read_step perf_list_next(void *data, const struct perf_record **record, GError **error)
{
    struct perf_list *list = data;
    (void)error;
    if (list->at == list->records->len) {
        return READ_END;
    }
    *record = list->records->pdata[list->at++];
    return READ_ROW;
}

bool perf_db_write(const char *path, const struct perf_source *source, GError **error)
{
    sqlite3 *db = sqlite_file_create(path, PERF_SCHEMA, error);
    if (db == NULL) {
        return false;
    }
    g_autofree char *columns = perf_column_list();
    g_autofree char *sql =
        g_strdup_printf("INSERT INTO config(%s,id) VALUES(?,?,?,?,?,?,?,?,?,?,?,?,"
                        "?,?,?,?,?,?,?,?,?,?,?,?,?)",
                        columns);
    sqlite3_stmt *configs = sqlite_statement(db, sql, error);
    sqlite3_stmt *entries =
        configs == NULL ? NULL
                        : sqlite_statement(
                              db, "INSERT INTO perf_db(solver,config,params) VALUES(?,?,?)", error);
    bool written = entries != NULL && insert_records(configs, entries, source, error);
    sqlite3_finalize(configs);
    sqlite3_finalize(entries);
    if (!written) {
        sqlite_file_close(db);
        return false;
    }
    return sqlite_file_finish(&db, error);
}

/* ---- reading ---- */

PerfDb *perf_db_open(const char *path, GError **error)
{
    g_autoptr(PerfDb) db = g_new0(PerfDb, 1);
    g_autofree char *columns = perf_column_list();
    g_autofree char *sql = g_strdup_printf("SELECT %s,id FROM config ORDER BY id", columns);
    g_autofree char *one = g_strdup_printf("SELECT %s FROM config WHERE id = ?", columns);
    db->db = sqlite_file_open(path, error);
    if (db->db == NULL) {
        return NULL;
    }
    db->configs = sqlite_statement(db->db, sql, error);
    if (db->configs == NULL) {
        return NULL;
    }
    db->config = sqlite_statement(db->db, one, error);
    if (db->config == NULL) {
        return NULL;
    }
    db->entries = sqlite_statement(
        db->db, "SELECT id, config, solver, params FROM perf_db ORDER BY id", error);
    return db->entries == NULL ? NULL : g_steal_pointer(&db);
}

void perf_db_close(PerfDb *db)
{
    if (db != NULL) {
        sqlite3_finalize(db->configs);
        sqlite3_finalize(db->config);
        sqlite3_finalize(db->entries);
        sqlite_file_close(db->db);
        g_free(db);
    }
}

static bool take_text(sqlite3_stmt *statement, int column, char *to, size_t size, GError **error)
{
    const char *word = sqlite_column_word(statement, column, error);
    if (word == NULL) {
        return false;
    }
    if (g_strlcpy(to, word, size) >= size) {
        g_set_error(error, EXPORT_ERROR, EXPORT_ERROR_SYNTAX, "%s is longer than %zu bytes",
                    sqlite3_column_name(statement, column), size - 1);
        return false;
    }
    return true;
}

bool perf_row_read(sqlite3_stmt *statement, struct perf_row *row, GError **error)
{
    for (int i = 0; i < PERF_ROW_INTS; i++) {
        if (!sqlite_column_number(statement, i, &row->values[i], error)) {
            return false;
        }
    }
    return take_text(statement, PERF_ROW_INTS, row->layout, sizeof row->layout, error) &&
           take_text(statement, PERF_ROW_INTS + 1, row->data_type, sizeof row->data_type, error) &&
           take_text(statement, PERF_ROW_INTS + 2, row->direction, sizeof row->direction, error);
}

enum read_step perf_db_next_config(PerfDb *db, int64_t *id, struct perf_row *row, GError **error)
{
    enum read_step step = sqlite_step(db->configs, error);
    if (step != READ_ROW) {
        return step;
    }
    *id = sqlite3_column_int64(db->configs, CONFIG_COLUMNS);
    return perf_row_read(db->configs, row, error) ? READ_ROW : READ_BAD;
}

enum read_step perf_db_config_at(PerfDb *db, int64_t id, struct perf_row *row, GError **error)
{
    sqlite3_reset(db->config);
    sqlite3_bind_int64(db->config, 1, id);
    enum read_step step = sqlite_step(db->config, error);
    return step != READ_ROW || perf_row_read(db->config, row, error) ? step : READ_BAD;
}

enum read_step perf_db_next_entry(PerfDb *db, struct perf_entry *entry, GError **error)
{
    enum read_step step = sqlite_step(db->entries, error);
    if (step != READ_ROW) {
        return step;
    }
    entry->id = sqlite3_column_int64(db->entries, 0);
    if (!sqlite_column_number(db->entries, 1, &entry->config, error) ||
        (entry->solver = sqlite_column_word(db->entries, 2, error)) == NULL ||
        (entry->params = sqlite_column_word(db->entries, 3, error)) == NULL) {
        return READ_BAD;
    }
    return READ_ROW;
}

bool perf_db_has_indices(PerfDb *db)
{
    return sqlite_has_index(db->db, "config", CONFIG_INDEX) &&
           sqlite_has_index(db->db, "perf_db", "solver,config");
}

char *perf_db_damage(PerfDb *db)
{
    return sqlite_damage(db->db);
}

/* ---- the text form ---- */

void perf_text_line_init(struct perf_text_line *line)
{
    line->key = NULL;
    line->solvers = g_ptr_array_new();
    line->params = g_ptr_array_new();
}

void perf_text_line_clear(struct perf_text_line *line)
{
    g_clear_pointer(&line->solvers, g_ptr_array_unref);
    g_clear_pointer(&line->params, g_ptr_array_unref);
}

static bool take_entry(char *text, struct perf_text_line *line, GError **error)
{
    char *colon = strchr(text, ':');
    if (colon == NULL || colon == text) {
        g_set_error(error, EXPORT_ERROR, EXPORT_ERROR_SYNTAX, "entry %u: expected solver:params",
                    line->solvers->len + 1);
        return false;
    }
    *colon = '\0';
    g_ptr_array_add(line->solvers, text);
    g_ptr_array_add(line->params, colon + 1);
    return true;
}

bool perf_text_line_parse(char *text, struct perf_text_line *line, GError **error)
{
    g_ptr_array_set_size(line->solvers, 0);
    g_ptr_array_set_size(line->params, 0);
    char *equals = strchr(text, '=');
    if (equals == NULL) {
        g_set_error(error, EXPORT_ERROR, EXPORT_ERROR_SYNTAX, "expected a key and '='");
        return false;
    }
    *equals = '\0';
    line->key = text;
    if (!perf_row_key_parse(line->key, &line->row, error)) {
        return false;
    }
    for (char *rest = equals + 1; rest != NULL;) {
        char *end = strchr(rest, ';');
        if (end != NULL) {
            *end = '\0';
        }
        if (!take_entry(rest, line, error)) {
            return false;
        }
        rest = end != NULL ? end + 1 : NULL;
    }
    return true;
}

void perf_text_line_format(const struct perf_text_line *line, GString *out)
{
    char key[PROBLEM_KEY_MAX];
    g_string_append(out, perf_row_key(&line->row, key));
    for (guint i = 0; i < line->solvers->len; i++) {
        g_string_append_printf(out, "%c%s:%s", i == 0 ? '=' : ';',
                               (const char *)line->solvers->pdata[i],
                               (const char *)line->params->pdata[i]);
    }
}

static enum read_step write_records(FILE *file, const struct perf_source *source, GError **error)
{
    const struct perf_record *record = NULL;
    struct perf_row last;
    bool any = false;
    enum read_step step;
    while ((step = source->next(source->data, &record, error)) == READ_ROW) {
        char key[PROBLEM_KEY_MAX];
        bool same = any && perf_row_equal(&last, &record->row);
        if (!same) {
            fprintf(file, "%s%s", any ? "\n" : "", perf_row_key(&record->row, key));
            last = record->row;
            any = true;
        }
        fprintf(file, "%c%s:%s", same ? ';' : '=', record->solver, record->params);
    }
    if (any) {
        fputc('\n', file);
    }
    return step;
}

bool perf_text_write(const char *path, const struct perf_source *source, GError **error)
{
    FILE *file = fopen(path, "wbe");
    if (file == NULL) {
        return export_io_error("write", path, error);
    }
    bool written = write_records(file, source, error) == READ_END;
    bool whole = ferror(file) == 0;
    whole = fclose(file) == 0 && whole;
    return written && (whole || export_io_error("write", path, error));
}

/* ---- reading back what was written ---- */

static bool same_record(const struct perf_record *record, const struct perf_row *row,
                        const char *solver, const char *params)
{
    return perf_row_equal(row, &record->row) && strcmp(solver, record->solver) == 0 &&
           strcmp(params, record->params) == 0;
}

/* Reads entries and config rows side by side and compares them with the records. Both tables are in
 * the order of their ids, and config rows got their ids in the order of the records. */
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

bool perf_db_holds(const char *path, const struct perf_source *source, guint *at, GError **error)
{
    *at = 0;
    g_autoptr(PerfDb) db = perf_db_open(path, error);
    return db != NULL && same_records(db, source, at, error);
}

/* Returns true if this line of the text form holds exactly the source's next records. */
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

bool perf_text_holds(const char *path, const struct perf_source *source, guint *at, GError **error)
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
