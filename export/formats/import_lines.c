#include "export/formats/import_reader.h"

#include "solvers/driver_line.h"
#include "solvers/problem_key.h"

#include <string.h>

void import_lines_init(struct import_lines *lines, const struct import_source *source)
{
    *lines = (struct import_lines){
        .at = source->bytes, .end = source->bytes + source->length, .line = g_string_new(NULL)};
}

void import_lines_clear(struct import_lines *lines)
{
    g_string_free(lines->line, TRUE);
}

static void append_line(struct import_lines *lines)
{
    size_t rest = (size_t)(lines->end - lines->at);
    const char *stop = memchr(lines->at, '\n', rest);
    size_t length = stop != NULL ? (size_t)(stop - lines->at) : rest;
    size_t before = lines->line->len;
    g_string_append_len(lines->line, lines->at, (gssize)length);
    lines->at += stop != NULL ? length + 1 : length;
    for (size_t i = before; i < lines->line->len; i++) {
        if (lines->line->str[i] == '\0') {
            lines->line->str[i] = ' ';
        }
    }
    if (length > 0 && lines->line->str[lines->line->len - 1] == '\r') {
        g_string_truncate(lines->line, lines->line->len - 1);
    }
}

/* Ends in a backslash as a shell's command that the next line goes on with, and that begins with a
 * flag: what does not is a command of its own. */
static bool goes_on(const struct import_lines *lines)
{
    size_t length = lines->line->len;
    const char *next = lines->at;
    while (next < lines->end && (*next == ' ' || *next == '\t')) {
        next++;
    }
    return length > 0 && lines->line->str[length - 1] == '\\' && next < lines->end &&
           *next == '-' && !import_line_is_blank(lines->line->str);
}

const char *import_lines_next(struct import_lines *lines)
{
    if (lines->at == lines->end) {
        return NULL;
    }
    lines->number += 1 + lines->joined;
    lines->joined = 0;
    g_string_truncate(lines->line, 0);
    append_line(lines);
    while (goes_on(lines)) {
        lines->line->str[lines->line->len - 1] = ' ';
        lines->joined++;
        append_line(lines);
    }
    return lines->line->str;
}

bool import_line_is_blank(const char *line)
{
    line += strspn(line, " \t\r\v\f");
    return *line == '\0' || *line == '#';
}

/* Reads one line that is not blank: its layer (problems has room for one a direction), or a
 * reason. */
typedef bool line_reader(const char *line, struct problem problems[DIRECTION_COUNT],
                         struct import_layer *layer, GError **error);

static bool read_lines(Import *import, const struct import_source *source, line_reader *read)
{
    struct import_lines lines;
    import_lines_init(&lines, source);
    for (const char *line; (line = import_lines_next(&lines)) != NULL;) {
        g_autoptr(GError) error = NULL;
        struct problem problems[DIRECTION_COUNT];
        struct import_layer layer = {NULL, "", 1, problems, 1};
        import->lines += 1 + lines.joined;
        if (import_line_is_blank(line)) {
            continue;
        }
        if (read(line, problems, &layer, &error)) {
            import_add(import, source, lines.number, &layer);
        } else {
            import_skip(import, source, lines.number, error->message);
        }
    }
    import_lines_clear(&lines);
    return true;
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

/* What stands in front of the '=', NULL when there is none. */
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
    (void)layer; /* one problem a line, as it was initialised */
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

/* "KEY", or "MULTIPLICITY<TAB>KEY" as import --list prints it. */
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
    (void)error; /* any text is a list of driver lines, if only of unusable ones */
    return read_lines(import, source, read_driver_line);
}

bool import_find_db(Import *import, const struct import_source *source, GError **error)
{
    (void)error; /* bad lines are skipped one by one */
    return read_lines(import, source, read_find_entry);
}

bool import_perf_text(Import *import, const struct import_source *source, GError **error)
{
    (void)error;
    return read_lines(import, source, read_perf_entry);
}

bool import_keys(Import *import, const struct import_source *source, GError **error)
{
    (void)error;
    return read_lines(import, source, read_key);
}

/* A key may be malformed (FORMATS.md 3) and still be seen to be one: a word of numbers with at least
 * that many separators. */
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

#define FIND_KEY_DASHES 14 /* of a 2D key: C-H-W-FIL-K-oH-oW-N-P-S-D-bias-layout-type-direction */

bool import_is_find_db_line(const char *line)
{
    return looks_like_entry(line, '-', FIND_KEY_DASHES);
}

bool import_is_perf_text_line(const char *line)
{
    return looks_like_entry(line, 'x', PERF_ROW_INTS); /* and two more, if it is whole */
}

bool import_is_key_line(const char *line)
{
    const char *tab = strchr(line, '\t');
    const char *key = tab != NULL ? tab + 1 : line;
    return looks_like_key(key, strcspn(key, " \t"), '-', FIND_KEY_DASHES);
}
