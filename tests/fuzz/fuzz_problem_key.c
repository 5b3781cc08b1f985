/* Any bytes as a problem's key: a key that is accepted is written back byte by byte. */
#include "solvers/problem/problem_key.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    g_autofree char *text = g_strndup((const char *)data, size);
    g_autoptr(GError) error = NULL;
    struct problem p;
    char key[PROBLEM_KEY_MAX];
    if (!problem_key_parse(text, &p, &error)) {
        g_assert_error(error, SOLVERS_ERROR, SOLVERS_ERROR_SYNTAX);
        g_assert_true(g_utf8_validate(error->message, -1, NULL));
        return 0;
    }
    problem_key(&p, key);
    if (strlen(text) < PROBLEM_KEY_MAX) {
        g_assert_cmpstr(key, ==, text);
    }
    if (problem_validate(&p, NULL)) {
        g_assert_cmpint(strlen(text), <, PROBLEM_KEY_MAX);
        for (int t = 0; t < TENSOR_COUNT; t++) {
            g_assert_cmpint(problem_tensor_bytes(&p, (enum tensor_role)t), >, 0);
        }
    }
    return 0;
}
