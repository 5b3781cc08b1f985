/* Any bytes as a perf-db key: a row that is read is written back the same, and the problem made of
 * the row has that row. */
#include "solvers/problem/problem_key.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    g_autofree char *text = g_strndup((const char *)data, size);
    g_autoptr(GError) error = NULL;
    struct perf_row row, again;
    struct problem p;
    char key[PROBLEM_KEY_MAX];
    if (!perf_row_key_parse(text, &row, &error)) {
        g_assert_error(error, SOLVERS_ERROR, SOLVERS_ERROR_SYNTAX);
        g_assert_true(g_utf8_validate(error->message, -1, NULL));
        return 0;
    }
    g_assert_cmpstr(perf_row_key(&row, key), ==, text);
    if (perf_row_to_problem(&row, &p, &error)) {
        g_assert_true(problem_validate(&p, NULL));
        perf_row_from_problem(&p, &again);
        g_assert_cmpmem(&row, sizeof row, &again, sizeof again);
    } else {
        g_assert_nonnull(error);
    }
    return 0;
}
