/* Any line as a perf-db's: refused with a reason, or written back such that it reads and writes the
 * same again. */
#include "export/formats/perf_db.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char *parse_and_format(const char *text)
{
    struct perf_text_line line;
    struct problem problem;
    g_autofree char *copy = g_strdup(text);
    g_autoptr(GError) error = NULL;
    GString *written = g_string_new(NULL);
    perf_text_line_init(&line);
    bool parsed = perf_text_line_parse(copy, &line, &error);
    g_assert(parsed == (error == NULL));
    if (parsed) {
        perf_text_line_format(&line, written);
        perf_row_to_problem(&line.row, &problem, NULL);
    }
    perf_text_line_clear(&line);
    return g_string_free(written, !parsed);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    g_autofree char *text = g_strndup((const char *)data, size);
    g_autofree char *written = parse_and_format(text);
    if (written == NULL) {
        return 0;
    }
    g_autofree char *again = parse_and_format(written);
    g_assert_cmpstr(again, ==, written);
    return 0;
}
