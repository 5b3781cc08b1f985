#include "coordinator/import/import_reader.h"

#include "solvers/driver/driver_line.h"
#include "solvers/problem/problem_key.h"

#include <string.h>

void import_lines_init(struct import_lines *lines, Import *import,
                       const struct import_source *source)
{
    *lines = (struct import_lines){.import = import,
                                   .options = import != NULL ? &import->options : NULL,
                                   .source = source,
                                   .line = g_string_new(NULL),
                                   .ahead = g_string_new(NULL)};
    /* import_lines_end() reports a failure */
    (void)line_reader_rewind(source->lines, &lines->failure);
}

bool import_lines_end(struct import_lines *lines, GError **error)
{
    g_string_free(lines->line, TRUE);
    g_string_free(lines->ahead, TRUE);
    if (lines->failure == NULL) {
        return true;
    }
    g_propagate_prefixed_error(error, lines->failure,
                               "cannot read '%s' to its end: ", lines->source->name);
    return false;
}

/* Lines between two calls of goes_on(): they take a few milliseconds to read. */
#define LINES_BETWEEN_LOOKS 4096

static bool stops(struct import_lines *lines, int64_t number)
{
    const struct import_options *options = lines->options;
    if (options == NULL || options->goes_on == NULL || number % LINES_BETWEEN_LOOKS != 0 ||
        options->goes_on(lines->source->name, number)) {
        return false;
    }
    g_set_error_literal(&lines->failure, EXPORT_ERROR, EXPORT_ERROR_STOPPED, "stopped");
    return true;
}

/* Reads the next usable line into `ahead`. ahead_number stays 0 at the end of the file. */
static void read_ahead(struct import_lines *lines)
{
    struct line line;
    enum read_step step = lines->failure == NULL ? READ_BAD : READ_FAILED;
    while (step == READ_BAD && lines->failure == NULL) {
        g_autoptr(GError) error = NULL;
        step = line_reader_next(lines->source->lines, &line, &error);
        if (lines->import != NULL && (step == READ_ROW || step == READ_BAD)) {
            lines->import->lines++;
        }
        if (step == READ_BAD && lines->import != NULL) {
            import_skip(lines->import, lines->source, line.number, error->message);
        } else if (step == READ_FAILED) {
            lines->failure = g_steal_pointer(&error);
        }
    }
    if (step != READ_ROW || stops(lines, line.number)) {
        return;
    }
    g_string_truncate(lines->ahead, 0);
    g_string_append_len(lines->ahead, line.text, (gssize)line.length);
    if (g_str_has_suffix(lines->ahead->str, "\r")) {
        g_string_truncate(lines->ahead, lines->ahead->len - 1);
    }
    lines->ahead_number = line.number;
}

/* Returns true if the command continues in the next line: this line ends in a backslash, and the
 * next one begins with a flag. A next line without a flag is a command of its own. */
static bool goes_on(struct import_lines *lines)
{
    size_t length = lines->line->len;
    if (length == 0 || lines->line->str[length - 1] != '\\' ||
        import_line_is_blank(lines->line->str)) {
        return false;
    }
    if (lines->ahead_number == 0) {
        read_ahead(lines);
    }
    const char *next = lines->ahead->str + strspn(lines->ahead->str, " \t");
    return lines->ahead_number > 0 && *next == '-' &&
           lines->line->len + lines->ahead->len <= LINE_BYTES_MAX;
}

const char *import_lines_next(struct import_lines *lines)
{
    if (lines->ahead_number == 0) {
        read_ahead(lines);
    }
    if (lines->ahead_number == 0) {
        return NULL;
    }
    lines->number = lines->ahead_number;
    lines->joined = 0;
    g_string_assign(lines->line, lines->ahead->str);
    lines->ahead_number = 0;
    while (!lines->plain && goes_on(lines)) {
        lines->line->str[lines->line->len - 1] = ' ';
        g_string_append(lines->line, lines->ahead->str);
        lines->joined = lines->ahead_number - lines->number;
        lines->ahead_number = 0;
    }
    return lines->line->str;
}

bool import_line_is_blank(const char *line)
{
    line += strspn(line, " \t\r\v\f");
    return *line == '\0' || *line == '#';
}

/* Reads a line that is not blank: sets its layer (`problems` has room for one in each direction),
 * or returns false with the reason. */
typedef bool line_reader(const char *line, struct problem problems[DIRECTION_COUNT],
                         struct import_layer *layer, GError **error);

static bool read_lines(Import *import, const struct import_source *source, line_reader *read,
                       bool shipped, GError **error)
{
    struct import_lines lines;
    import_lines_init(&lines, import, source);
    for (const char *line; (line = import_lines_next(&lines)) != NULL;) {
        g_autoptr(GError) wrong = NULL;
        struct problem problems[DIRECTION_COUNT];
        struct import_layer layer = {
            .name = "", .multiplicity = 1, .problems = problems, .count = 1, .shipped = shipped};
        if (import_line_is_blank(line)) {
            continue;
        }
        if (read(line, problems, &layer, &wrong)) {
            import_add_replaced(import, source, lines.number, &layer);
        } else {
            import_skip(import, source, lines.number, wrong->message);
        }
    }
    return import_lines_end(&lines, error);
}

static bool read_driver_line(const char *line, struct problem problems[DIRECTION_COUNT],
                             struct import_layer *layer, GError **error)
{
    struct driver_line parsed;
    driver_line_parse(line, &parsed);
    if (parsed.kind != DRIVER_LINE_CONV) {
        g_set_error_literal(error, EXPORT_ERROR, EXPORT_ERROR_SYNTAX, parsed.reason);
        return false;
    }
    memcpy(problems, parsed.problems, sizeof parsed.problems);
    layer->count = parsed.problem_count;
    return true;
}

static bool parse_key(const char *key, struct problem *p, GError **error)
{
    return problem_key_parse(key, p, error) && problem_validate(p, error);
}

/* Returns the text before the '=', or NULL when the line has no '='. */
static char *key_of_entry(const char *line)
{
    const char *end = strchr(line, '=');
    return end != NULL ? g_strndup(line, (gsize)(end - line)) : NULL;
}

static bool needs_equals(GError **error)
{
    g_set_error_literal(error, EXPORT_ERROR, EXPORT_ERROR_SYNTAX,
                        "there is no '=' between key and entries");
    return false;
}

static bool read_find_entry(const char *line, struct problem *p, struct import_layer *layer,
                            GError **error)
{
    g_autofree char *key = key_of_entry(line);
    (void)layer; /* these formats have one problem in each line */
    return key != NULL ? parse_key(key, p, error) : needs_equals(error);
}

static bool parse_row_key(const char *key, struct problem *p, GError **error)
{
    struct perf_row row;
    return perf_row_key_parse(key, &row, error) && perf_row_to_problem(&row, p, error);
}

static bool read_perf_entry(const char *line, struct problem *p, struct import_layer *layer,
                            GError **error)
{
    g_autofree char *key = key_of_entry(line);
    (void)layer;
    return key != NULL ? parse_row_key(key, p, error) : needs_equals(error);
}

/* Reads "KEY", or "MULTIPLICITY<TAB>KEY", as `import --list` prints it. */
static bool read_key(const char *line, struct problem *p, struct import_layer *layer,
                     GError **error)
{
    g_autofree char *text = g_strstrip(g_strdup(line));
    char *tab = strchr(text, '\t');
    if (tab == NULL) {
        return parse_key(text, p, error);
    }
    *tab = '\0';
    if (!g_ascii_string_to_signed(text, 10, 1, INT32_MAX, &layer->multiplicity, NULL)) {
        g_set_error(error, EXPORT_ERROR, EXPORT_ERROR_SYNTAX, "'%.40s' is no multiplicity", text);
        return false;
    }
    return parse_key(tab + 1, p, error);
}

bool import_driver_lines(Import *import, const struct import_source *source, GError **error)
{
    return read_lines(import, source, read_driver_line, false, error);
}

bool import_find_db(Import *import, const struct import_source *source, GError **error)
{
    return read_lines(import, source, read_find_entry, true, error);
}

bool import_perf_text(Import *import, const struct import_source *source, GError **error)
{
    return read_lines(import, source, read_perf_entry, true, error);
}

bool import_keys(Import *import, const struct import_source *source, GError **error)
{
    return read_lines(import, source, read_key, false, error);
}

/* Returns true if the text is a key, even a malformed one: it begins with a digit, has at least `least` separators and
 * no white space. */
static bool looks_like_key(const char *text, size_t length, char separator, int least)
{
    int count = 0;
    for (size_t i = 0; i < length; i++) {
        if (g_ascii_isspace(text[i])) {
            return false;
        }
        count += text[i] == separator;
    }
    return count >= least && g_ascii_isdigit(text[0]);
}

static bool looks_like_entry(const char *line, char separator, int least)
{
    const char *end = strchr(line, '=');
    return end != NULL && looks_like_key(line, (size_t)(end - line), separator, least);
}

/* number of '-' in the find-db key of a 2D problem: C-H-W-FIL-K-oH-oW-N-P-S-D-bias-layout-type-
 * direction */
#define FIND_KEY_DASHES 14

bool import_is_find_db_line(const char *line)
{
    return looks_like_entry(line, '-', FIND_KEY_DASHES);
}

bool import_is_perf_text_line(const char *line)
{
    return looks_like_entry(line, 'x', PERF_ROW_INTS); /* a complete perf-db key has two more 'x' */
}

/* Returns the key without the operator in front of it ("pool(max)-", "softmax-"), or the whole key if it names no
 * operator. */
static const char *behind_operator(const char *key)
{
    char name[16] = "";
    enum op_kind kind;
    size_t length = strcspn(key, "(-");
    const char *end = key + length;
    if (length >= sizeof name) {
        return key;
    }
    memcpy(name, key, length);
    if (!op_kind_parse(name, &kind)) {
        return key;
    }
    end = *end == '(' ? strchr(end, ')') : end - 1;
    return end != NULL && end[1] == '-' ? end + 2 : key;
}

bool import_is_key_line(const char *line)
{
    const char *tab = strchr(line, '\t');
    const char *key = behind_operator(tab != NULL ? tab + 1 : line);
    return looks_like_key(key, strcspn(key, " \t"), '-', FIND_KEY_DASHES);
}
