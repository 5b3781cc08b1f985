#include "coordinator/import/layer_records.h"

#include <string.h>

struct ahead_line {
    char *text;
    int64_t number;
};

static void ahead_line_free(gpointer data)
{
    struct ahead_line *line = data;
    g_free(line->text);
    g_free(line);
}

static void fact_line_free(gpointer data)
{
    struct fact_line *fact = data;
    g_free(fact->text);
    g_free(fact);
}

void layer_records_init(struct layer_records *records, Import *import,
                        const struct import_source *source)
{
    *records = (struct layer_records){.text = g_string_new(NULL),
                                      .cells = g_ptr_array_new(),
                                      .facts = g_ptr_array_new_with_free_func(fact_line_free)};
    g_queue_init(&records->ahead);
    import_lines_init(&records->lines, import, source);
    records->lines.plain = true;
}

bool layer_records_end(struct layer_records *records, GError **error)
{
    g_queue_clear_full(&records->ahead, ahead_line_free);
    g_string_free(records->text, TRUE);
    g_ptr_array_unref(records->cells);
    g_ptr_array_unref(records->facts);
    return import_lines_end(&records->lines, error);
}

/* Returns the line `place` lines behind the next one, NULL behind the end of the file. */
static const struct ahead_line *look_ahead(struct layer_records *records, guint place)
{
    while (records->ahead.length <= place) {
        const char *text = import_lines_next(&records->lines);
        if (text == NULL) {
            return NULL;
        }
        struct ahead_line *line = g_new0(struct ahead_line, 1);
        *line = (struct ahead_line){g_strdup(text), records->lines.number};
        g_queue_push_tail(&records->ahead, line);
    }
    return g_queue_peek_nth(&records->ahead, place);
}

static void drop_lines(struct layer_records *records, guint count)
{
    for (guint i = 0; i < count; i++) {
        struct ahead_line *line = g_queue_pop_head(&records->ahead);
        records->last = line->number;
        ahead_line_free(line);
    }
}

/* Returns true for a line of separators alone, which is an empty row of a spreadsheet. */
static bool is_empty(const char *line)
{
    return line[strspn(line, " \t\r\v\f,;\"")] == '\0';
}

/* Drops the next line, and keeps the fact that it states. */
static void pass_over(struct layer_records *records)
{
    const struct ahead_line *line = look_ahead(records, 0);
    const char *text = line->text + strspn(line->text, " \t");
    if (g_str_has_prefix(text, FACT_MARK)) {
        struct fact_line *fact = g_new0(struct fact_line, 1);
        *fact = (struct fact_line){g_strdup(text + strlen(FACT_MARK)), line->number};
        g_ptr_array_add(records->facts, fact);
    }
    drop_lines(records, 1);
}

const char *layer_records_peek(struct layer_records *records, bool comments)
{
    const struct ahead_line *line;
    while ((line = look_ahead(records, 0)) != NULL) {
        if (!is_empty(line->text) && (comments || !import_line_is_blank(line->text))) {
            records->number = line->number;
            return line->text;
        }
        pass_over(records);
    }
    return NULL;
}

void layer_records_skip_line(struct layer_records *records)
{
    pass_over(records);
}

/* ---- cells ---- */

struct splitter {
    char separator;
    GString *text;
    GArray *starts; /* gsize: offset of each cell in the text */
    bool quoted;    /* within quotes */
    bool joined;    /* true if a quoted cell went on over a line end */
    /* true if text follows such a cell's closing quote: the record is refused, since the two
     * quotes are stray ones of two cells */
    bool torn;
};

static bool is_blank_byte(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\v' || c == '\f';
}

static void begin_cell(struct splitter *splitter)
{
    gsize start = splitter->text->len;
    g_array_append_val(splitter->starts, start);
}

/* Removes blanks, also U+00A0, at both ends of the cell. */
static void end_cell(struct splitter *splitter)
{
    GString *text = splitter->text;
    gsize start = g_array_index(splitter->starts, gsize, splitter->starts->len - 1);
    for (;;) {
        if (text->len > start && is_blank_byte(text->str[text->len - 1])) {
            g_string_truncate(text, text->len - 1);
        } else if (text->len >= start + 2 && strcmp(text->str + text->len - 2, "\xc2\xa0") == 0) {
            g_string_truncate(text, text->len - 2);
        } else {
            break;
        }
    }
    gsize blank = 0;
    for (;;) {
        const char *at = text->str + start + blank;
        if (is_blank_byte(*at)) {
            blank++;
        } else if (strncmp(at, "\xc2\xa0", 2) == 0) {
            blank += 2;
        } else {
            break;
        }
    }
    g_string_erase(text, (gssize)start, (gssize)blank);
    g_string_append_c(text, '\0');
}

/* Returns true while the cell has only blanks: a quote opens a quoted cell only there. */
static bool cell_is_blank(const struct splitter *splitter)
{
    gsize start = g_array_index(splitter->starts, gsize, splitter->starts->len - 1);
    for (gsize i = start; i < splitter->text->len; i++) {
        if (!is_blank_byte(splitter->text->str[i])) {
            return false;
        }
    }
    return true;
}

/* Splits one more line of a record. The last cell stays open for the next line. */
static void split_part(struct splitter *splitter, const char *line)
{
    for (const char *c = line; *c != '\0'; c++) {
        if (splitter->quoted) {
            if (*c != '"') {
                g_string_append_c(splitter->text, *c);
            } else if (c[1] == '"') {
                g_string_append_c(splitter->text, *c++);
            } else {
                splitter->quoted = false;
            }
        } else if (*c == splitter->separator) {
            end_cell(splitter);
            begin_cell(splitter);
            splitter->joined = false;
        } else if (*c == '"' && cell_is_blank(splitter)) {
            splitter->quoted = true;
        } else {
            splitter->torn = splitter->torn || (splitter->joined && !is_blank_byte(*c));
            g_string_append_c(splitter->text, *c);
        }
    }
}

static void splitter_init(struct splitter *splitter, char separator, GString *text)
{
    g_string_truncate(text, 0);
    *splitter = (struct splitter){
        .separator = separator, .text = text, .starts = g_array_new(FALSE, FALSE, sizeof(gsize))};
    begin_cell(splitter);
}

static void splitter_end(struct splitter *splitter, GPtrArray *cells)
{
    end_cell(splitter);
    g_ptr_array_set_size(cells, 0);
    for (guint i = 0; i < splitter->starts->len; i++) {
        g_ptr_array_add(cells, splitter->text->str + g_array_index(splitter->starts, gsize, i));
    }
    g_array_unref(splitter->starts);
}

bool layer_split_line(const char *line, char separator, GString *text, GPtrArray *cells)
{
    struct splitter splitter;
    splitter_init(&splitter, separator, text);
    split_part(&splitter, line);
    bool closed = !splitter.quoted;
    splitter_end(&splitter, cells);
    return closed;
}

/* Splits the record that begins at the next line; *used becomes the number of its lines. Returns
 * false if a quote is not closed. */
static bool split_record(struct layer_records *records, char separator, guint *used)
{
    struct splitter splitter;
    *used = 1;
    splitter_init(&splitter, separator, records->text);
    split_part(&splitter, look_ahead(records, 0)->text);
    while (splitter.quoted && !splitter.torn && *used < RECORD_LINES_MAX &&
           records->text->len < LINE_BYTES_MAX) {
        const struct ahead_line *more = look_ahead(records, *used);
        if (more == NULL) {
            break;
        }
        g_string_append_c(records->text, ' ');
        splitter.joined = true;
        split_part(&splitter, more->text);
        ++*used;
    }
    bool closed = !splitter.quoted && !splitter.torn;
    splitter_end(&splitter, records->cells);
    return closed;
}

bool layer_records_look(struct layer_records *records, char separator)
{
    guint used = 0;
    return layer_records_peek(records, false) != NULL && split_record(records, separator, &used);
}

enum read_step layer_records_next(struct layer_records *records, char separator, GError **error)
{
    guint used = 0;
    if (layer_records_peek(records, false) == NULL) {
        return READ_END;
    }
    if (!split_record(records, separator, &used)) {
        drop_lines(records, 1);
        g_set_error_literal(error, EXPORT_ERROR, EXPORT_ERROR_SYNTAX,
                            "a quote (\") is opened in it and not closed");
        return READ_BAD;
    }
    drop_lines(records, used);
    if (records->cells->len > RECORD_CELLS_MAX) {
        g_set_error(error, EXPORT_ERROR, EXPORT_ERROR_SYNTAX,
                    "it has %u cells, more than %d are not read", records->cells->len,
                    RECORD_CELLS_MAX);
        return READ_BAD;
    }
    return READ_ROW;
}
