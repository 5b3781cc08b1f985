#include "export/formats/find_db.h"

#include "export/formats/find_scan.h"

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

/* Makes a NUL-terminated string of a piece of `text`: overwrites the separator behind the piece,
 * which the scan no longer needs. */
static const char *end_piece(char *text, struct span piece)
{
    char *start = text + (piece.at - text);
    start[piece.length] = '\0';
    return start;
}

static struct find_entry entry_of(char *text, const struct find_part *part)
{
    return (struct find_entry){
        .older = part->older,
        .solver = end_piece(text, part->solver),
        .time_text = end_piece(text, part->time),
        .time_ms = part->time_ms,
        .workspace_bytes = part->workspace_bytes,
        .algorithm = end_piece(text, part->algorithm),
        .library = part->older ? end_piece(text, part->library) : NULL,
        .cache_key = part->older ? end_piece(text, part->cache_key) : NULL,
    };
}

bool find_line_parse(char *text, struct find_line *line, GError **error)
{
    struct span key, rest = {text, strlen(text)};
    const char *wrong = find_key_scan(&rest, &key);
    g_array_set_size(line->entries, 0);
    line->key = NULL;
    if (wrong != NULL) {
        g_set_error_literal(error, EXPORT_ERROR, EXPORT_ERROR_SYNTAX, wrong);
        return false;
    }
    line->key = end_piece(text, key);
    while (rest.at != NULL) {
        struct find_part part;
        wrong = find_part_scan(&rest, &part);
        if (wrong != NULL) {
            g_set_error(error, EXPORT_ERROR, EXPORT_ERROR_SYNTAX, "entry %u: %s",
                        line->entries->len + 1, wrong);
            return false;
        }
        struct find_entry entry = entry_of(text, &part);
        g_array_append_val(line->entries, entry);
    }
    return true;
}

/* Appends an entry's fields one by one, which is faster than printf(): a file has hundreds of
 * thousands of entries. */
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
