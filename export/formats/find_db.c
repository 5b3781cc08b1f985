#include "export/formats/find_db.h"

#include <errno.h>
#include <math.h>
#include <string.h>

struct find_db {
    LineReader *lines;
};

void find_line_init(struct find_line *line)
{
    line->key = NULL;
    line->entries = g_array_new(FALSE, FALSE, sizeof(struct find_entry));
}

void find_line_clear(struct find_line *line)
{
    g_clear_pointer(&line->entries, g_array_unref);
    line->key = NULL;
}

const char *find_time_text(double time_ms, char buffer[FIND_TIME_MAX])
{
    return g_ascii_formatd(buffer, FIND_TIME_MAX, "%.6g", time_ms);
}

/* Cuts *text at the first `stop` and returns what stood in front; NULL, and nothing cut, without
 * one. */
static char *take_until(char **text, char stop)
{
    char *start = *text;
    char *found = strchr(start, stop);
    if (found == NULL) {
        return NULL;
    }
    *found = '\0';
    *text = found + 1;
    return start;
}

static const char *take_time(const char *text, struct find_entry *entry)
{
    char *end = NULL;
    if (text[strspn(text, "0123456789.eE+-")] != '\0') {
        return "the time is not a number";
    }
    entry->time_text = text;
    entry->time_ms = g_ascii_strtod(text, &end);
    return end == text || *end != '\0' || !isfinite(entry->time_ms) ? "the time is not a number"
                                                                    : NULL;
}

static const char *take_workspace(const char *text, struct find_entry *entry)
{
    if (text[0] == '\0' || text[strspn(text, "0123456789")] != '\0') {
        return "the workspace is not a number of bytes";
    }
    errno = 0;
    entry->workspace_bytes = g_ascii_strtoull(text, NULL, 10);
    return errno == ERANGE ? "the workspace is larger than any memory" : NULL;
}

/* rest: "time,workspace,algorithm", or "solver,time,workspace,library,cache key" (older form). */
static const char *take_fields(char *name, char *rest, struct find_entry *entry)
{
    char *fields[4];
    int count = 0;
    while (count < 4 && (fields[count] = take_until(&rest, ',')) != NULL) {
        count++;
    }
    if (count != 2 && count != 4) {
        return "expected solver:time,workspace,algorithm "
               "or algorithm:solver,time,workspace,library,key";
    }
    entry->older = count == 4;
    entry->solver = entry->older ? fields[0] : name;
    entry->algorithm = entry->older ? name : rest;
    entry->library = entry->older ? fields[3] : NULL;
    entry->cache_key = entry->older ? rest : NULL;
    if (entry->solver[0] == '\0' || entry->algorithm[0] == '\0') {
        return "the solver or the algorithm has no name";
    }
    const char *wrong = take_time(fields[entry->older ? 1 : 0], entry);
    return wrong != NULL ? wrong : take_workspace(fields[entry->older ? 2 : 1], entry);
}

static const char *take_entry(char *text, struct find_entry *entry)
{
    char *rest = text;
    char *name = take_until(&rest, ':');
    if (name == NULL) {
        return "expected a ':' behind the first name";
    }
    return take_fields(name, rest, entry);
}

bool find_line_parse(char *text, struct find_line *line, GError **error)
{
    char *rest = text;
    g_array_set_size(line->entries, 0);
    line->key = take_until(&rest, '=');
    if (line->key == NULL || line->key[0] == '\0') {
        g_set_error(error, EXPORT_ERROR, EXPORT_ERROR_SYNTAX, "expected a key and '='");
        return false;
    }
    while (rest != NULL) {
        struct find_entry entry = {0};
        char *next = rest;
        char *one = take_until(&next, ';');
        const char *wrong = take_entry(one != NULL ? one : rest, &entry);
        if (wrong != NULL) {
            g_set_error(error, EXPORT_ERROR, EXPORT_ERROR_SYNTAX, "entry %u: %s",
                        line->entries->len + 1, wrong);
            return false;
        }
        g_array_append_val(line->entries, entry);
        rest = one != NULL ? next : NULL;
    }
    return true;
}

/* Pieces rather than a printf: files have hundreds of thousands of entries. */
static void append_fields(GString *out, const char *name, char separator, const char *time_text,
                          uint64_t workspace_bytes)
{
    char workspace[24];
    g_snprintf(workspace, sizeof workspace, "%" G_GUINT64_FORMAT, workspace_bytes);
    g_string_append(out, name);
    g_string_append_c(out, separator);
    g_string_append(out, time_text);
    g_string_append_c(out, ',');
    g_string_append(out, workspace);
    g_string_append_c(out, ',');
}

static void format_entry(const struct find_entry *entry, GString *out)
{
    if (!entry->older) {
        append_fields(out, entry->solver, ':', entry->time_text, entry->workspace_bytes);
        g_string_append(out, entry->algorithm);
        return;
    }
    g_string_append(out, entry->algorithm);
    g_string_append_c(out, ':');
    append_fields(out, entry->solver, ',', entry->time_text, entry->workspace_bytes);
    g_string_append(out, entry->library);
    g_string_append_c(out, ',');
    g_string_append(out, entry->cache_key);
}

void find_line_format(const struct find_line *line, GString *out)
{
    g_string_append(out, line->key);
    for (guint i = 0; i < line->entries->len; i++) {
        g_string_append_c(out, i == 0 ? '=' : ';');
        format_entry(&g_array_index(line->entries, struct find_entry, i), out);
    }
}

FindDb *find_db_open(const char *path, GError **error)
{
    LineReader *lines = line_reader_open(path, error);
    if (lines == NULL) {
        return NULL;
    }
    FindDb *db = g_new0(FindDb, 1);
    db->lines = lines;
    return db;
}

void find_db_close(FindDb *db)
{
    if (db != NULL) {
        line_reader_close(db->lines);
        g_free(db);
    }
}

enum read_step find_db_next(FindDb *db, struct find_line *line, struct line *at, GError **error)
{
    enum read_step step = line_reader_next(db->lines, at, error);
    if (step == READ_ROW && !find_line_parse(at->text, line, error)) {
        return READ_BAD;
    }
    return step;
}
