/* Any line as a find-db's: refused with a reason, or written back such that it reads the same
 * again. */
#include "export/formats/find_db.h"

#include "solvers/problem/problem_key.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char *parse_and_format(const char *text)
{
    struct find_line line;
    struct problem problem;
    g_autofree char *copy = g_strdup(text);
    g_autoptr(GError) error = NULL;
    GString *written = g_string_new(NULL);
    find_line_init(&line);
    bool parsed = find_line_parse(copy, &line, &error);
    g_assert(parsed == (error == NULL));
    if (parsed) {
        find_line_format(&line, written);
        problem_key_parse(line.key, &problem, NULL);
    }
    find_line_clear(&line);
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
