/*
 * Layer tables: a header that names the columns, then a layer a row. The
 * separator is the header's own: a comma, a semicolon or a tab. layer_columns.h
 * says what the columns are, layer_row.h what a row means.
 */
#include "coordinator/import/import_reader.h"
#include "coordinator/import/layer_cells.h"
#include "coordinator/import/layer_records.h"
#include "coordinator/import/layer_row.h"

#include <inttypes.h>
#include <string.h>

#define NAMES_LEAST 3 /* a line is a header if at least this many of its names are known columns */
/* a line of at least this many cells looks like a row of a table without a header */
#define CELLS_LEAST 4

static const char separators[] = {',', ';', '\t'};

struct table {
    const struct import_source *source;
    struct layer_header header;
    char separator;
    bool commented;             /* true if the header follows a '#' */
    const char *only;           /* name of the only network whose rows are read; NULL for all */
    char *network;              /* name of the network to which rows belong that name none */
    struct network_facts facts; /* what the lines above the rows state of their networks */
    bool has_rows;              /* rows were read since these lines */
};

/* ---- finding the header ---- */

static int known_names(const char *line, char separator, int *count)
{
    g_autoptr(GString) text = g_string_new(NULL);
    g_autoptr(GPtrArray) cells = g_ptr_array_new();
    layer_split_line(line, separator, text, cells);
    *count = (int)cells->len;
    return layer_names_known((const char *const *)cells->pdata, (int)cells->len);
}

/* Returns the separator of a header line, 0 if the line is no header. */
static char header_separator(const char *line)
{
    char best = 0;
    int best_known = NAMES_LEAST - 1;
    for (size_t i = 0; i < sizeof separators; i++) {
        int count = 0, known = known_names(line, separators[i], &count);
        if (known > best_known) {
            best = separators[i];
            best_known = known;
        }
    }
    return best;
}

bool import_is_table_header(const char *line)
{
    return !import_line_is_blank(line) && header_separator(line) != 0;
}

/* Returns the text of a comment line, behind '#' and blanks; NULL for other lines. */
static const char *comment_text(const char *line)
{
    line += strspn(line, " \t");
    return *line == '#' ? line + 1 + strspn(line + 1, " \t") : NULL;
}

/* NumPy writes a header behind '#'. A comment counts as a header only if every column is
 * understood. */
bool import_is_commented_header(const char *line)
{
    const char *text = comment_text(line);
    char separator = text != NULL ? header_separator(text) : 0;
    if (separator == 0) {
        return false;
    }
    g_autoptr(GString) buffer = g_string_new(NULL);
    g_autoptr(GPtrArray) cells = g_ptr_array_new();
    struct layer_header header;
    layer_split_line(text, separator, buffer, cells);
    bool understood =
        layer_header_init(&header, (const char *const *)cells->pdata, (int)cells->len, NULL);
    layer_header_clear(&header);
    return understood;
}

static bool has_flag(const char *line)
{
    for (const char *dash = strchr(line, '-'); dash != NULL; dash = strchr(dash + 1, '-')) {
        bool begins = dash == line || strchr(" \t\"'", dash[-1]) != NULL;
        if (begins && dash[1] != '\0' && !g_ascii_isdigit(dash[1]) && !g_ascii_isspace(dash[1])) {
            return true;
        }
    }
    return false;
}

/* Returns true for a line with many cells and without a driver line's flag. */
bool import_is_table_row(const char *line)
{
    for (size_t i = 0; !has_flag(line) && i < sizeof separators; i++) {
        int count = 0;
        known_names(line, separators[i], &count);
        if (count >= CELLS_LEAST) {
            return true;
        }
    }
    return false;
}

/* Returns true for "sep=;", by which a file tells Excel its separator. */
static bool is_separator_line(const char *line)
{
    return g_ascii_strncasecmp(line + strspn(line, "\""), "sep=", 4) == 0;
}

G_GNUC_PRINTF(4, 5)
static bool fail(const struct import_source *source, int64_t line, GError **error,
                 const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    g_autofree char *why = g_strdup_vprintf(format, arguments);
    va_end(arguments);
    g_set_error(error, EXPORT_ERROR, EXPORT_ERROR_KIND,
                "cannot read problems from '%s', line %" PRId64 ": %s", source->name, line, why);
    return false;
}

static bool understand(struct table *table, const struct layer_records *records, GError **error)
{
    g_autoptr(GError) wrong = NULL;
    layer_header_clear(&table->header);
    return layer_header_init(&table->header, (const char *const *)records->cells->pdata,
                             (int)records->cells->len, &wrong) ||
           fail(table->source, records->number, error, "%s", wrong->message);
}

/* Returns the separator of the next record if this is a header, else 0. */
static char record_separator(struct layer_records *records)
{
    char best = 0;
    int best_known = NAMES_LEAST - 1;
    for (size_t i = 0; i < sizeof separators; i++) {
        bool closed = layer_records_look(records, separators[i]);
        int count = (int)records->cells->len;
        int known = layer_names_known((const char *const *)records->cells->pdata, count);
        if (closed && known > best_known) {
            best = separators[i];
            best_known = known;
        }
    }
    return best;
}

static bool has_number(const GPtrArray *cells)
{
    for (guint i = 0; i < cells->len; i++) {
        int64_t value = 0;
        if (cell_number(cells->pdata[i], &value, NULL)) {
            return true;
        }
    }
    return false;
}

/* Returns true for a header: several cells are names of columns, and no cell is a number, of which
 * every row has at least one. */
static bool is_header(const GPtrArray *cells)
{
    return !has_number(cells) &&
           layer_names_known((const char *const *)cells->pdata, (int)cells->len) >= NAMES_LEAST;
}

/* ---- facts of the networks ---- */

/* Reads "name: value". */
static bool read_fact(struct network_facts *facts, const char *text, GError **error)
{
    g_auto(GStrv) parts = g_strsplit(text, ":", 2);
    enum network_fact fact;
    if (g_strv_length(parts) < 2) {
        g_set_error(error, EXPORT_ERROR, EXPORT_ERROR_KIND,
                    "a line that begins with " FACT_MARK
                    " states a fact of the network, as " FACT_MARK
                    " framework: PyTorch, not '%.40s'",
                    text + strspn(text, " \t"));
        return false;
    }
    const char *name = g_strstrip(parts[0]), *value = g_strstrip(parts[1]);
    if (!network_fact_from_name(name, &fact)) {
        g_autofree char *known = network_fact_names();
        bool batch = g_ascii_strcasecmp(name, "batch") == 0;
        g_set_error(error, EXPORT_ERROR, EXPORT_ERROR_KIND,
                    "'%.40s' is no fact of a network that a table states (%s)%s", name, known,
                    batch ? "; the batch size is the column n or --batch" : "");
        return false;
    }
    if (!network_fact_check(fact, value, error)) {
        return false;
    }
    g_free(facts->texts[fact]);
    facts->texts[fact] = g_strdup(value);
    return true;
}

/* Takes the facts that were passed over since the last call. They hold for the rows below them, down to the next
 * header or to the next facts. */
static bool take_facts(struct layer_records *records, struct table *table, bool header,
                       GError **error)
{
    if (table->has_rows && (header || records->facts->len > 0)) {
        network_facts_clear(&table->facts);
        table->has_rows = false;
    }
    for (guint i = 0; i < records->facts->len; i++) {
        const struct fact_line *line = records->facts->pdata[i];
        g_autoptr(GError) wrong = NULL;
        if (!read_fact(&table->facts, line->text, &wrong)) {
            return fail(table->source, line->number, error, "%s", wrong->message);
        }
    }
    g_ptr_array_set_size(records->facts, 0);
    return true;
}

static void skip_lines(Import *import, const struct table *table, const GArray *numbers)
{
    for (guint i = 0; import != NULL && i < numbers->len; i++) {
        import_skip(import, table->source, g_array_index(numbers, int64_t, i),
                    "it stands above the table's header");
    }
}

/* Reads up to the header and interprets it. Lines above it become skipped lines of the import
 * (which may be NULL). */
static bool find_header(struct layer_records *records, Import *import, struct table *table,
                        GError **error)
{
    g_autoptr(GArray) above = g_array_new(FALSE, FALSE, sizeof(int64_t));
    for (const char *line; (line = layer_records_peek(records, table->commented)) != NULL;) {
        g_autoptr(GError) wrong = NULL;
        if (table->commented && import_is_commented_header(line)) {
            table->separator = header_separator(comment_text(line));
            layer_split_line(comment_text(line), table->separator, records->text, records->cells);
            layer_records_skip_line(records);
            return take_facts(records, table, true, error) && understand(table, records, error);
        }
        table->separator = table->commented ? 0 : record_separator(records);
        if (table->separator == 0) {
            if (!import_line_is_blank(line) && !is_separator_line(line)) {
                g_array_append_val(above, records->number);
            }
            layer_records_skip_line(records);
            continue;
        }
        if (layer_records_next(records, table->separator, &wrong) != READ_ROW) {
            return fail(table->source, records->number, error, "its header cannot be read: %s",
                        wrong->message);
        }
        if (!take_facts(records, table, true, error) || !understand(table, records, error)) {
            return false;
        }
        skip_lines(import, table, above);
        return true;
    }
    return fail(table->source, 1, error,
                "no line is a layer table's header that can be read: is a quote in it not closed?");
}

/* ---- rows ---- */

static void import_row(Import *import, const struct table *table, int64_t number,
                       const char *const *cells)
{
    g_autoptr(GError) error = NULL;
    struct layer_row row;
    bool usable = layer_row_read(&table->header, cells, &import->options, &row, &error);
    if (table->only != NULL && strcmp(row.network, table->only) != 0) {
        return;
    }
    g_autoptr(GArray) problems = usable ? layer_row_problems(&row, &import->options, &error) : NULL;
    if (problems == NULL) {
        import_skip(import, table->source, number, error->message);
        return;
    }
    struct network_facts facts = table->facts; /* borrows the texts */
    for (int i = 0; i < FACT_COUNT; i++) {
        facts.texts[i] = row.facts[i] != NULL ? (char *)row.facts[i] : facts.texts[i];
    }
    const struct import_layer layer = {
        .network = row.network[0] != '\0' ? row.network : table->network,
        .name = row.name,
        .multiplicity = layer_row_multiplicity(&row),
        .problems = (const struct problem *)(const void *)problems->data,
        .count = (int)problems->len,
        .directed = true,
        .facts = &facts,
        .per_image = layer_row_per_image(&row),
    };
    import_add(import, table->source, number, &layer);
}

static bool has_width(const struct table *table, const struct layer_records *records,
                      GError **error)
{
    if ((int)records->cells->len == table->header.width) {
        return true;
    }
    g_set_error(error, EXPORT_ERROR, EXPORT_ERROR_SYNTAX, "it has %u cells, the header has %d",
                records->cells->len, table->header.width);
    return false;
}

/* Returns true if the record is the table's own header once more. */
static bool is_header_again(const struct table *table, const GPtrArray *cells)
{
    bool same = (int)cells->len == table->header.width;
    for (guint i = 0; same && i < cells->len; i++) {
        g_autofree char *name = g_utf8_make_valid(cells->pdata[i], -1);
        same = strcmp(name, table->header.cells[i].name) == 0;
    }
    return same;
}

/* Reads the next record that is a row. Tables may have been joined by `cat`: each header in the
 * middle applies to the rows below it. READ_FAILED if a header is not understood. */
static enum read_step next_row(struct layer_records *records, struct table *table, GError **error)
{
    for (;;) {
        const char *line = table->commented ? layer_records_peek(records, true) : NULL;
        if (line != NULL && import_is_commented_header(line)) {
            layer_split_line(comment_text(line), table->separator, records->text, records->cells);
            layer_records_skip_line(records);
        } else if (line != NULL && import_line_is_blank(line)) {
            layer_records_skip_line(records);
            continue;
        } else {
            enum read_step step = layer_records_next(records, table->separator, error);
            bool header = step == READ_ROW && is_header(records->cells);
            if (!header) {
                g_autoptr(GError) wrong = NULL;
                if (!take_facts(records, table, false, &wrong)) {
                    g_clear_error(error);
                    g_propagate_error(error, g_steal_pointer(&wrong));
                    return READ_FAILED;
                }
                table->has_rows = true;
                return step;
            }
        }
        if (!take_facts(records, table, true, error)) {
            return READ_FAILED;
        }
        if (!is_header_again(table, records->cells) && !understand(table, records, error)) {
            return READ_FAILED;
        }
    }
}

static bool import_rows(Import *import, struct layer_records *records, struct table *table,
                        GError **error)
{
    for (;;) {
        g_autoptr(GError) wrong = NULL;
        enum read_step step = next_row(records, table, &wrong);
        if (step == READ_FAILED) {
            g_propagate_error(error, g_steal_pointer(&wrong));
            return false;
        }
        if (step == READ_END) {
            return true;
        }
        if (step == READ_BAD || !has_width(table, records, &wrong)) {
            import_skip(import, table->source, records->number, wrong->message);
        } else {
            import_row(import, table, records->number, (const char *const *)records->cells->pdata);
        }
    }
}

/* ---- checks before anything is imported ---- */

/* Returns true if the options give values that a table may state itself. */
static bool options_say(const struct import_options *options)
{
    return options->network != NULL || options->batch_count > 0 || options->type_count > 0 ||
           options->has_layout;
}

/* Collects the networks that rows name, each once, in the file's order. Returns false if a header
 * is not understood, or a row contradicts the options. */
static bool look_at_rows(struct layer_records *records, struct table *table,
                         const struct import_options *options, GPtrArray *networks, GError **error)
{
    g_autoptr(GHashTable) known = g_hash_table_new(g_str_hash, g_str_equal);
    for (;;) {
        g_autoptr(GError) wrong = NULL;
        struct layer_row row;
        enum read_step step = next_row(records, table, &wrong);
        if (step == READ_FAILED) {
            g_propagate_error(error, g_steal_pointer(&wrong));
            return false;
        }
        if (step == READ_END) {
            return true;
        }
        if (step == READ_BAD || !options_say(options) || !has_width(table, records, NULL)) {
            continue;
        }
        bool usable = layer_row_read(&table->header, (const char *const *)records->cells->pdata,
                                     options, &row, NULL);
        if (row.network[0] != '\0' && !g_hash_table_contains(known, row.network)) {
            g_ptr_array_add(networks, g_strdup(row.network));
            g_hash_table_add(known, networks->pdata[networks->len - 1]);
        }
        if (usable && !layer_row_suits(&row, options, &wrong)) {
            return fail(table->source, records->number, error, "%s", wrong->message);
        }
    }
}

/* Applies --network. If rows name networks, it selects the one of that name; if they name none, it
 * becomes their name. */
static bool choose_network(const struct import_options *options, struct table *table,
                           GPtrArray *names, GError **error)
{
    if (options->network == NULL || names->len == 0) {
        return true;
    }
    table->only = options->network;
    if (g_ptr_array_find_with_equal_func(names, options->network, g_str_equal, NULL)) {
        return true;
    }
    g_ptr_array_add(names, NULL);
    g_autofree char *list = g_strjoinv(", ", (char **)names->pdata);
    g_set_error(error, EXPORT_ERROR, EXPORT_ERROR_KIND,
                "cannot read problems from '%s': it names the networks %s, and --network asks for "
                "'%s': leave the option out, or remove the column to name them so",
                table->source->name, list, options->network);
    return false;
}

/* Reads the table once without importing anything. It is refused as a whole if a header is not
 * understood, if a row contradicts the options, or if no row names the network that the options ask for. */
static bool is_understood(const struct import_options *options, struct table *table, GError **error)
{
    g_autoptr(GPtrArray) networks = g_ptr_array_new_with_free_func(g_free);
    struct layer_records records;
    layer_records_init(&records, NULL, table->source);
    records.lines.options = options;
    bool suits = find_header(&records, NULL, table, error) &&
                 look_at_rows(&records, table, options, networks, error);
    layer_records_end(&records, NULL); /* an error is reported by the second reading */
    return suits && choose_network(options, table, networks, error);
}

static bool read_table(Import *import, const struct import_source *source, bool commented,
                       GError **error)
{
    const char *network = import->options.network;
    struct table table = {.source = source, .commented = commented};
    struct layer_records records;
    if (!is_understood(&import->options, &table, error)) {
        layer_header_clear(&table.header);
        network_facts_clear(&table.facts);
        return false;
    }
    network_facts_clear(&table.facts);
    table.has_rows = false;
    table.network = network != NULL ? g_strdup(network) : import_file_name(source->name);
    layer_records_init(&records, import, source);
    bool read = find_header(&records, import, &table, error) &&
                import_rows(import, &records, &table, error);
    layer_header_clear(&table.header);
    network_facts_clear(&table.facts);
    g_free(table.network);
    return layer_records_end(&records, read ? error : NULL) && read;
}

bool import_table(Import *import, const struct import_source *source, GError **error)
{
    return read_table(import, source, false, error);
}

bool import_commented_table(Import *import, const struct import_source *source, GError **error)
{
    return read_table(import, source, true, error);
}

/* Sets the error for a file whose first line is no header: it is a row, or has too few known
 * columns. */
static bool refuse_headless(struct layer_records *records, struct table *table, GError **error)
{
    const char *line = layer_records_peek(records, false);
    int most = 0;
    for (size_t i = 0; line != NULL && i < sizeof separators; i++) {
        int count = 0;
        known_names(line, separators[i], &count);
        if (count > most) {
            most = count;
            table->separator = separators[i];
        }
    }
    if (layer_records_next(records, table->separator, NULL) == READ_ROW &&
        !has_number(records->cells) && !understand(table, records, error)) {
        return false;
    }
    return fail(
        table->source, records->number, error,
        "it has %d cells, and no header stands above it: a layer table begins with one that names "
        "its columns, as n,c,h,w,k,y,x,p,q,u,v; skipjack import --help lists them",
        most);
}

bool import_headless_table(Import *import, const struct import_source *source, GError **error)
{
    struct table table = {.source = source};
    struct layer_records records;
    (void)import; /* no row of the file is read */
    layer_records_init(&records, NULL, source);
    bool read = refuse_headless(&records, &table, error);
    layer_header_clear(&table.header);
    layer_records_end(&records, NULL);
    return read;
}
