#include "coordinator/cli/table.h"

#include "coordinator/cli/cli.h"
#include "coordinator/cli/terminal.h"

#include <glib.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

/* Most lines that the text in a last column fills; longer texts, such as a compiler's message, are
 * cut. */
#define LAST_COLUMN_LINES  4
#define LAST_COLUMN_LEAST  30
#define LAST_COLUMN_INDENT 8

struct table {
    const struct table_column *columns;
    int column_count;
    GPtrArray *texts; /* char *: the cells' texts, row by row */
    json_t *values;   /* JSON array: the cells' values, in the same order */
};

Table *table_new(const struct table_column *columns, int count)
{
    Table *table = g_new0(Table, 1);
    table->columns = columns;
    table->column_count = count;
    table->texts = g_ptr_array_new_with_free_func(g_free);
    table->values = json_array();
    return table;
}

void table_free(Table *table)
{
    if (!table)
        return;
    g_ptr_array_unref(table->texts);
    json_decref(table->values);
    g_free(table);
}

static const struct table_column *next_column(const Table *table, enum table_kind kind)
{
    const struct table_column *column =
        &table->columns[(int)table->texts->len % table->column_count];
    g_assert(column->kind == kind);
    return column;
}

static void add_cell(Table *table, char *text, json_t *value)
{
    g_ptr_array_add(table->texts, text);
    json_array_append_new(table->values, value);
}

/* Returns the text with control characters blanked: they could move a terminal's cursor or colour
 * it. */
static char *without_controls(const char *text)
{
    char *plain = g_strdup(text);
    for (char *at = plain; *at; at = g_utf8_next_char(at))
        if (g_unichar_iscntrl(g_utf8_get_char(at)))
            memset(at, ' ', (size_t)(g_utf8_next_char(at) - at));
    return plain;
}

void table_text(Table *table, const char *text)
{
    next_column(table, TABLE_TEXT);
    g_autofree char *valid = text ? g_utf8_make_valid(text, -1) : NULL;
    add_cell(table, without_controls(valid ? valid : "-"),
             valid ? json_string(valid) : json_null());
}

void table_text_as(Table *table, const char *text, json_t *value)
{
    next_column(table, TABLE_TEXT);
    add_cell(table, without_controls(text), value);
}

void table_count(Table *table, int64_t value)
{
    if (value >= 0) {
        table_int(table, value);
        return;
    }
    next_column(table, TABLE_INT);
    add_cell(table, g_strdup("-"), json_null());
}

void table_int(Table *table, int64_t value)
{
    next_column(table, TABLE_INT);
    add_cell(table, g_strdup_printf("%" G_GINT64_FORMAT, value), json_integer(value));
}

char *table_significant(double value, int digits)
{
    if (!isfinite(value))
        return g_strdup("-");
    int before = value == 0 ? 1 : (int)floor(log10(fabs(value))) + 1;
    return g_strdup_printf("%.*f", CLAMP(digits - before, 0, 9), value);
}

void table_number(Table *table, double value)
{
    const struct table_column *column = next_column(table, TABLE_NUMBER);
    char *text = column->decimals < 0 || !isfinite(value)
                     ? table_significant(value, -column->decimals)
                     : g_strdup_printf("%.*f", column->decimals, value);
    add_cell(table, text, isfinite(value) ? json_real(value) : json_null());
}

void table_yes(Table *table, bool value)
{
    next_column(table, TABLE_YES);
    add_cell(table, g_strdup(value ? "yes" : "no"), json_boolean(value));
}

int table_rows(const Table *table)
{
    return (int)table->texts->len / table->column_count;
}

static const char *cell(const Table *table, int row, int column)
{
    return g_ptr_array_index(table->texts, (guint)(row * table->column_count + column));
}

static int column_width(const Table *table, int column)
{
    glong width = g_utf8_strlen(table->columns[column].title, -1);
    for (int row = 0; row < table_rows(table); row++)
        width = MAX(width, g_utf8_strlen(cell(table, row, column), -1));
    return (int)width;
}

static int last_shown(const Table *table)
{
    int last = table->column_count - 1;
    while (last > 0 && !table->columns[last].title)
        last--;
    return last;
}

int table_width(void)
{
    int columns = terminal_columns();
    return columns > 0 ? columns : isatty(STDOUT_FILENO) ? TABLE_WIDTH : G_MAXINT;
}

/* Cuts the line to the width and removes blanks at its end. */
static void print_line(GString *line, FILE *out)
{
    int width = MAX(table_width(), LAST_COLUMN_LEAST);
    g_strchomp(line->str);
    if (g_utf8_strlen(line->str, -1) > width) {
        const char *cut = g_utf8_offset_to_pointer(line->str, width - 3);
        g_string_truncate(line, (gsize)(cut - line->str));
        g_string_append(line, "...");
    }
    fprintf(out, "%s\n", line->str);
}

/* Returns how many characters of the text fit into `room` columns without breaking a word, or a
 * member of a list joined by commas. */
static glong piece_length(const char *text, glong room)
{
    glong length = g_utf8_strlen(text, -1), blank = 0, member = 0;
    if (length <= room)
        return length;
    const char *at = text;
    for (glong i = 0; i <= room; i++, at = g_utf8_next_char(at)) {
        blank = *at == ' ' ? i : blank;
        member = *at == ',' && i < room ? i + 1 : member;
    }
    return blank > 0 ? blank : member > 0 ? member : room;
}

/* Prints the last column at the current position, or on the next line when little room is left.
 * Long text continues below. */
static void print_last(GString *line, const char *text, FILE *out)
{
    int indent = (int)g_utf8_strlen(line->str, -1);
    int width = MAX(table_width(), LAST_COLUMN_LEAST);
    if (indent > 0 && width - indent < MIN(g_utf8_strlen(text, -1), LAST_COLUMN_LEAST)) {
        print_line(line, out);
        indent = LAST_COLUMN_INDENT;
        g_string_printf(line, "%*s", indent, "");
    }
    for (int lines = 1;; lines++) {
        bool more = g_utf8_strlen(text, -1) > width - indent;
        if (!more || lines == LAST_COLUMN_LINES) {
            g_string_append(line, text);
            print_line(line, out);
            return;
        }
        const char *rest = g_utf8_offset_to_pointer(text, piece_length(text, width - indent));
        g_string_append_len(line, text, rest - text);
        print_line(line, out);
        text = rest + strspn(rest, " ");
        g_string_printf(line, "%*s", indent, "");
    }
}

/* Prints a row of the table; row -1 is the line of titles. */
static void print_row(const Table *table, const int *widths, int row, FILE *out)
{
    g_autoptr(GString) line = g_string_new(NULL);
    int last = last_shown(table);
    for (int c = 0; c <= last; c++) {
        const struct table_column *column = &table->columns[c];
        if (!column->title)
            continue;
        const char *text = row < 0 ? column->title : cell(table, row, c);
        int blanks = widths[c] - (int)g_utf8_strlen(text, -1);
        bool right = column->kind == TABLE_INT || column->kind == TABLE_NUMBER;
        g_string_append_printf(line, "%*s", right ? blanks : 0, "");
        if (c == last)
            print_last(line, text, out);
        else
            g_string_append_printf(line, "%s%*s  ", text, right ? 0 : blanks, "");
    }
}

void table_print(const Table *table, FILE *out)
{
    g_autofree int *widths = g_new0(int, table->column_count);
    for (int c = 0; c < table->column_count; c++)
        widths[c] = table->columns[c].title ? column_width(table, c) : 0;
    for (int row = -1; row < table_rows(table); row++)
        print_row(table, widths, row, out);
}

json_t *table_json(const Table *table)
{
    json_t *rows = json_array();
    for (int row = 0; row < table_rows(table); row++) {
        json_t *object = json_object();
        for (int c = 0; c < table->column_count; c++) {
            size_t index = (size_t)row * (size_t)table->column_count + (size_t)c;
            json_object_set(object, table->columns[c].key, json_array_get(table->values, index));
        }
        json_array_append_new(rows, object);
    }
    return rows;
}

void table_show_json(json_t *json)
{
    json_dumpf(json, stdout, JSON_INDENT(2) | JSON_REAL_PRECISION(9));
    putchar('\n');
    json_decref(json);
}

void table_show(const Table *table, bool as_json)
{
    if (as_json)
        table_show_json(table_json(table));
    else
        table_print(table, stdout);
}

int table_finish(const char *command, Table *table, bool as_json, GError *error)
{
    if (!table)
        return cli_fail(command, error);
    table_show(table, as_json);
    table_free(table);
    return CLI_DONE;
}

void table_section(const char *title, const Table *table)
{
    if (table_rows(table) == 0)
        return;
    printf("\n%s:\n", title);
    table_print(table, stdout);
}
