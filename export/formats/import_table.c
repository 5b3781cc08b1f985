/*
 * Layer tables: CSV with a header line, a layer a row, columns in any order.
 * Columns that are not known are ignored, and named where they look like one
 * that is; oh and ow, where present, must agree with the others and give a
 * transposed layer's output padding.
 */
#include "export/formats/import_reader.h"

#include <inttypes.h>
#include <string.h>

enum column {
    COLUMN_N,
    COLUMN_C,
    COLUMN_D,
    COLUMN_H,
    COLUMN_W,
    COLUMN_K,
    COLUMN_Z,
    COLUMN_Y,
    COLUMN_X,
    COLUMN_PAD_D,
    COLUMN_PAD_H,
    COLUMN_PAD_W,
    COLUMN_STRIDE_D,
    COLUMN_STRIDE_H,
    COLUMN_STRIDE_W,
    COLUMN_DILATION_H,
    COLUMN_DILATION_W,
    COLUMN_GROUPS,
    COLUMN_OUT_H,
    COLUMN_OUT_W,
    COLUMN_MULT,
    COLUMN_DIMENSIONS,
    COLUMN_NET, /* from here on texts */
    COLUMN_LAYER,
    COLUMN_MODE,
    COLUMN_TYPE,
    COLUMN_LAYOUT,
    COLUMN_DIRECTION,
};
#define COLUMN_COUNT  (COLUMN_DIRECTION + 1)
#define COLUMNS_MAX   64
/* Of shorter names, another one may be a column of somebody's own: "model" is no "mode". */
#define ALIKE_LETTERS 5

static const struct {
    const char *name;
    enum column column;
    bool needed;
    int64_t initial; /* where the column or the cell is empty */
} columns[] = {
    {"n", COLUMN_N, false, 1},
    {"batch", COLUMN_N, false, 1},
    {"batchsize", COLUMN_N, false, 1},
    {"c", COLUMN_C, true, 0},
    {"d", COLUMN_D, false, 1},
    {"h", COLUMN_H, true, 0},
    {"w", COLUMN_W, true, 0},
    {"k", COLUMN_K, true, 0},
    {"z", COLUMN_Z, false, 1},
    {"y", COLUMN_Y, true, 0},
    {"x", COLUMN_X, true, 0},
    {"pd", COLUMN_PAD_D, false, 0},
    {"p", COLUMN_PAD_H, false, 0},
    {"q", COLUMN_PAD_W, false, 0},
    {"sd", COLUMN_STRIDE_D, false, 1},
    {"u", COLUMN_STRIDE_H, false, 1},
    {"v", COLUMN_STRIDE_W, false, 1},
    {"l", COLUMN_DILATION_H, false, 1},
    {"j", COLUMN_DILATION_W, false, 1},
    {"g", COLUMN_GROUPS, false, 1},
    {"oh", COLUMN_OUT_H, false, 0},
    {"ow", COLUMN_OUT_W, false, 0},
    {"mult", COLUMN_MULT, false, 1},
    {"nd", COLUMN_DIMENSIONS, false, 2},
    {"net", COLUMN_NET, false, 0},
    {"layer", COLUMN_LAYER, false, 0},
    {"mode", COLUMN_MODE, false, 0},
    {"type", COLUMN_TYPE, false, 0},
    {"layout", COLUMN_LAYOUT, false, 0},
    {"direction", COLUMN_DIRECTION, false, 0},
};

/* One row: its cells by enum column, "" where there is none. */
struct row {
    char **cells;
    const char *text[COLUMN_COUNT];
    int64_t numbers[COLUMN_COUNT];
};

struct table {
    const struct import_source *source;
    int place[COLUMN_COUNT]; /* where the column stands in a row, -1 where absent */
    int width;               /* columns of the header */
    const char *only;        /* the network whose rows are read, NULL for all */
    char *network;           /* what rows without a name of their own belong to */
};

G_GNUC_PRINTF(2, 3)
static void set_invalid(GError **error, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    GError *made = g_error_new_valist(EXPORT_ERROR, EXPORT_ERROR_SYNTAX, format, arguments);
    va_end(arguments);
    g_propagate_error(error, made);
}

/* Always false, which a reader (and clang-tidy) can see. */
#define invalid(...) (set_invalid(__VA_ARGS__), false)

/* The cell that begins at *at, which moves behind its comma; NULL at the line's end. In quotes a
 * comma belongs to the cell and "" is one quote. */
static char *take_cell(const char **at)
{
    GString *cell = g_string_new(NULL);
    bool quoted = false;
    const char *c = *at;
    for (; *c != '\0' && (quoted || *c != ','); c++) {
        if (*c != '"') {
            g_string_append_c(cell, *c);
        } else if (quoted && c[1] == '"') {
            g_string_append_c(cell, *c++);
        } else {
            quoted = !quoted;
        }
    }
    *at = *c == ',' ? c + 1 : NULL;
    return g_strstrip(g_string_free(cell, FALSE));
}

static char **split(const char *line)
{
    GPtrArray *cells = g_ptr_array_new();
    while (line != NULL && cells->len < COLUMNS_MAX) {
        g_ptr_array_add(cells, take_cell(&line));
    }
    g_ptr_array_add(cells, NULL);
    return (char **)g_ptr_array_free(cells, FALSE);
}

static void read_header(struct table *table, char **cells)
{
    for (int i = 0; i < COLUMN_COUNT; i++) {
        table->place[i] = -1;
    }
    table->width = (int)g_strv_length(cells);
    for (int i = 0; i < table->width; i++) {
        for (size_t c = 0; c < G_N_ELEMENTS(columns); c++) {
            if (strcmp(cells[i], columns[c].name) == 0) {
                table->place[columns[c].column] = i;
            }
        }
    }
}

/* In lower case, without what joins words. */
static char *bare_name(const char *name)
{
    GString *bare = g_string_new(NULL);
    for (; *name != '\0'; name++) {
        if (strchr("_- ", *name) == NULL) {
            g_string_append_c(bare, g_ascii_tolower(*name));
        }
    }
    return g_string_free(bare, FALSE);
}

/* The same but for one letter that is missing, too many or another, or two that changed places. */
static bool is_alike(const char *a, const char *b)
{
    while (*a != '\0' && *a == *b) {
        a++;
        b++;
    }
    if (*a == '\0' || *b == '\0') {
        return strlen(a) + strlen(b) <= 1;
    }
    return strcmp(a + 1, b) == 0 || strcmp(a, b + 1) == 0 || strcmp(a + 1, b + 1) == 0 ||
           (a[0] == b[1] && a[1] == b[0] && strcmp(a + 2, b + 2) == 0);
}

/* The column that the table lacks and this name may stand for; NULL for none. */
static const char *meant_column(const struct table *table, const char *name)
{
    g_autofree char *bare = bare_name(name);
    for (size_t c = 0; c < G_N_ELEMENTS(columns); c++) {
        const char *known = columns[c].name;
        bool alike =
            strlen(known) < ALIKE_LETTERS ? strcmp(bare, known) == 0 : is_alike(bare, known);
        /* P and Q of an output are no padding. */
        alike = alike && strlen(name) > 1;
        if (alike && table->place[columns[c].column] < 0) {
            return known;
        }
    }
    return NULL;
}

/* Tells of the header's columns that look mistyped. */
static void judge_header(Import *import, const struct table *table, int64_t number,
                         const char *line)
{
    g_auto(GStrv) cells = split(line);
    g_autoptr(GString) reason = g_string_new(NULL);
    for (int i = 0; cells[i] != NULL; i++) {
        const char *meant = meant_column(table, cells[i]);
        if (meant != NULL) {
            g_string_append_printf(reason, "%s '%.40s' (is '%s' meant?)",
                                   reason->len > 0 ? "," : "columns that are not read:", cells[i],
                                   meant);
        }
    }
    if (reason->len > 0) {
        import_skip(import, table->source, number, reason->str);
    }
}

bool import_is_table_header(const char *line)
{
    g_auto(GStrv) cells = split(line);
    for (size_t c = 0; c < G_N_ELEMENTS(columns); c++) {
        if (columns[c].needed && !g_strv_contains((const char *const *)cells, columns[c].name)) {
            return false;
        }
    }
    return true;
}

static void row_clear(struct row *row)
{
    g_strfreev(row->cells);
}

static bool read_number(struct row *row, size_t c, GError **error)
{
    enum column column = columns[c].column;
    const char *text = row->text[column];
    row->numbers[column] = columns[c].initial;
    if (text[0] == '\0') {
        return !columns[c].needed || invalid(error, "column %s is empty", columns[c].name);
    }
    if (!g_ascii_string_to_signed(text, 10, 0, INT32_MAX, &row->numbers[column], NULL)) {
        return invalid(error, "column %s is '%.40s', it must be a number from 0 to %d",
                       columns[c].name, text, INT32_MAX);
    }
    return true;
}

static bool row_read(const struct table *table, const char *line, struct row *row, GError **error)
{
    row->cells = split(line);
    int width = (int)g_strv_length(row->cells);
    if (width != table->width) {
        return invalid(error, "it has %d cells, the header has %d", width, table->width);
    }
    for (int i = 0; i < COLUMN_COUNT; i++) {
        row->text[i] = table->place[i] >= 0 ? row->cells[table->place[i]] : "";
    }
    for (size_t c = 0; c < G_N_ELEMENTS(columns); c++) {
        if (columns[c].column < COLUMN_NET && !read_number(row, c, error)) {
            return false;
        }
    }
    return true;
}

static bool set_texts(const struct row *row, struct problem *p, GError **error)
{
    enum layout layout = p->spatial_dim == 3 ? LAYOUT_NCDHW : LAYOUT_NCHW;
    enum data_type type = TYPE_FP32;
    if (row->text[COLUMN_TYPE][0] != '\0' && !data_type_parse(row->text[COLUMN_TYPE], &type)) {
        return invalid(error, "column type is '%.40s', no data type", row->text[COLUMN_TYPE]);
    }
    if (row->text[COLUMN_LAYOUT][0] != '\0' && !layout_parse(row->text[COLUMN_LAYOUT], &layout)) {
        return invalid(error, "column layout is '%.40s', no layout", row->text[COLUMN_LAYOUT]);
    }
    for (int t = 0; t < TENSOR_COUNT; t++) {
        p->layout[t] = layout;
        p->type[t] = type == TYPE_INT8 && t == TENSOR_Y ? TYPE_INT32 : type;
    }
    return true;
}

static bool row_problem(const struct row *row, struct problem *p, GError **error)
{
    const int64_t *cells = row->numbers;
    problem_init(p);
    if (cells[COLUMN_DIMENSIONS] != 2 && cells[COLUMN_DIMENSIONS] != 3) {
        return invalid(error, "column nd is %" PRId64 ", it must be 2 or 3",
                       cells[COLUMN_DIMENSIONS]);
    }
    if (cells[COLUMN_MULT] < 1) {
        return invalid(error, "column mult is 0, it must be at least 1");
    }
    p->spatial_dim = (int)cells[COLUMN_DIMENSIONS];
    p->n = cells[COLUMN_N];
    p->c = cells[COLUMN_C];
    p->k = cells[COLUMN_K];
    p->groups = cells[COLUMN_GROUPS];
    for (int a = p->spatial_dim == 3 ? AXIS_D : AXIS_H; a < AXIS_COUNT; a++) {
        p->in[a] = cells[COLUMN_D + a];
        p->fil[a] = cells[COLUMN_Z + a];
        p->pad[a] = cells[COLUMN_PAD_D + a];
        p->stride[a] = cells[COLUMN_STRIDE_D + a];
    }
    p->dilation[AXIS_H] = cells[COLUMN_DILATION_H];
    p->dilation[AXIS_W] = cells[COLUMN_DILATION_W];
    return set_texts(row, p, error);
}

/* What a transposed layer's output has beyond the formula's, where the table says its size. */
static void output_padding(const struct row *row, const struct problem *p,
                           int64_t padding[AXIS_COUNT])
{
    padding[AXIS_D] = 0;
    for (int a = AXIS_H; a < AXIS_COUNT; a++) {
        int64_t given = row->numbers[COLUMN_OUT_H + a - AXIS_H];
        int64_t base =
            p->stride[a] * (p->in[a] - 1) + p->dilation[a] * (p->fil[a] - 1) + 1 - 2 * p->pad[a];
        padding[a] = given == 0 ? 0 : given - base;
    }
}

static bool check_output(const struct row *row, const struct problem *p, GError **error)
{
    for (int a = AXIS_H; a < AXIS_COUNT; a++) {
        int64_t given = row->numbers[COLUMN_OUT_H + a - AXIS_H];
        if (given != 0 && given != p->out[a]) {
            return invalid(error, "column o%c is %" PRId64 ", the other columns make it %" PRId64,
                           a == AXIS_H ? 'h' : 'w', given, p->out[a]);
        }
    }
    return true;
}

static bool make_problem(const struct row *row, const struct problem *layer,
                         enum direction direction, struct problem *p, GError **error)
{
    struct problem given = *layer;
    int64_t padding[AXIS_COUNT];
    given.direction = direction;
    if (strcmp(row->text[COLUMN_MODE], "trans") == 0) {
        output_padding(row, &given, padding);
        return problem_from_transposed(&given, padding, p, error);
    }
    problem_set_output(&given);
    *p = given;
    return problem_validate(p, error) && check_output(row, p, error);
}

/* The column's directions, else the options', else F. INT8 has F alone. */
static int row_directions(const Import *import, const struct row *row, const struct problem *p)
{
    int wanted = import->options.directions != 0 ? import->options.directions : 1 << DIRECTION_F;
    if (row->text[COLUMN_DIRECTION][0] != '\0') {
        wanted = import_parse_directions(row->text[COLUMN_DIRECTION]);
    }
    return p->type[TENSOR_X] == TYPE_INT8 ? wanted & 1 << DIRECTION_F : wanted;
}

static bool row_problems(const Import *import, const struct row *row,
                         struct problem problems[DIRECTION_COUNT], int *count, GError **error)
{
    struct problem layer;
    const char *mode = row->text[COLUMN_MODE];
    if (!row_problem(row, &layer, error)) {
        return false;
    }
    if (mode[0] != '\0' && strcmp(mode, "conv") != 0 && strcmp(mode, "trans") != 0) {
        return invalid(error, "column mode is '%.40s', it must be conv or trans", mode);
    }
    int directions = row_directions(import, row, &layer);
    for (int d = 0; d < DIRECTION_COUNT; d++) {
        if ((directions & 1 << d) != 0 &&
            !make_problem(row, &layer, (enum direction)d, &problems[(*count)++], error)) {
            return false;
        }
    }
    return *count > 0 ||
           invalid(error, "column direction is '%.40s', it must hold F, B or W (INT8: F)",
                   row->text[COLUMN_DIRECTION]);
}

static void import_row(Import *import, const struct table *table, int64_t number, const char *line)
{
    g_autoptr(GError) error = NULL;
    struct problem problems[DIRECTION_COUNT];
    struct import_layer layer = {table->network, "", 1, problems, 0};
    struct row row = {0};
    bool usable = row_read(table, line, &row, &error);
    if (usable && table->only != NULL && strcmp(row.text[COLUMN_NET], table->only) != 0) {
        row_clear(&row);
        return;
    }
    if (usable && row_problems(import, &row, problems, &layer.count, &error)) {
        layer.name = row.text[COLUMN_LAYER];
        layer.multiplicity = row.numbers[COLUMN_MULT];
        if (import->options.network == NULL && row.text[COLUMN_NET][0] != '\0') {
            layer.network = row.text[COLUMN_NET];
        }
        import_add(import, table->source, number, &layer);
    } else {
        import_skip(import, table->source, number, error->message);
    }
    row_clear(&row);
}

static bool next_row(struct import_lines *lines, const char **line)
{
    do {
        *line = import_lines_next(lines);
    } while (*line != NULL && import_line_is_blank(*line));
    return *line != NULL;
}

static bool find_header(struct import_lines *lines, struct table *table)
{
    for (const char *line; next_row(lines, &line);) {
        if (import_is_table_header(line)) {
            g_auto(GStrv) cells = split(line);
            read_header(table, cells);
            return true;
        }
    }
    return false;
}

/* The names in column net, each once, in the file's order. */
static GPtrArray *table_networks(const struct import_source *source)
{
    GPtrArray *names = g_ptr_array_new_with_free_func(g_free);
    g_autoptr(GHashTable) known = g_hash_table_new(g_str_hash, g_str_equal);
    struct table table = {.source = source};
    struct import_lines lines;
    import_lines_init(&lines, source);
    bool found = find_header(&lines, &table) && table.place[COLUMN_NET] >= 0;
    for (const char *line; found && next_row(&lines, &line);) {
        g_auto(GStrv) cells = split(line);
        if ((int)g_strv_length(cells) == table.width) {
            char *name = cells[table.place[COLUMN_NET]];
            if (!g_hash_table_contains(known, name)) {
                name = g_strdup(name);
                g_ptr_array_add(names, name);
                g_hash_table_add(known, name);
            }
        }
    }
    import_lines_clear(&lines);
    return names;
}

/* --network picks one of several networks by its name, or names the table's only one. */
static bool choose_network(const Import *import, struct table *table, GError **error)
{
    const char *wanted = import->options.network;
    g_autoptr(GPtrArray) names = table_networks(table->source);
    table->network = wanted != NULL ? g_strdup(wanted) : import_file_name(table->source->name);
    if (wanted == NULL || names->len <= 1) {
        return true;
    }
    table->only = wanted;
    if (g_ptr_array_find_with_equal_func(names, wanted, g_str_equal, NULL)) {
        return true;
    }
    g_ptr_array_add(names, NULL);
    g_autofree char *list = g_strjoinv(", ", (char **)names->pdata);
    g_set_error(error, EXPORT_ERROR, EXPORT_ERROR_KIND,
                "'%s' holds several networks and none is '%s'; it has %s", table->source->name,
                wanted, list);
    return false;
}

bool import_table(Import *import, const struct import_source *source, GError **error)
{
    struct table table = {.source = source};
    struct import_lines lines;
    if (!choose_network(import, &table, error)) {
        g_free(table.network);
        return false;
    }
    import_lines_init(&lines, source);
    bool found = find_header(&lines, &table);
    g_assert(found); /* it is what tells a table from other files */
    judge_header(import, &table, lines.number, lines.line->str);
    for (const char *line; next_row(&lines, &line);) {
        import_row(import, &table, lines.number, line);
    }
    import->lines += lines.number + lines.joined;
    import_lines_clear(&lines);
    g_free(table.network);
    return true;
}
