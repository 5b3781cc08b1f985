#include "export/formats/perf_db.h"

#include <stdio.h>
#include <string.h>

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

bool perf_text_write_from(const char *path, const struct perf_source *source, GError **error)
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

bool perf_text_write(const char *path, const GPtrArray *records, GError **error)
{
    struct perf_list list = {records, 0};
    const struct perf_source source = {perf_list_next, &list};
    return perf_text_write_from(path, &source, error);
}
