/* Any bytes as a driver line: no crash; a problem that is read is valid, and the line written of it
 * gives the same problem. */
#include "solvers/driver/driver_line.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_problem(const struct problem *p)
{
    struct driver_line again;
    g_assert_true(problem_validate(p, NULL));
    g_autofree char *line = driver_line_format(p);
    if (line != NULL) {
        driver_line_parse(line, &again);
        g_assert_cmpint(again.problem_count, ==, 1);
        g_assert_true(problem_equal(&again.problems[0], p));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    g_autofree char *text = g_strndup((const char *)data, size);
    struct driver_line line;
    driver_line_parse(text, &line);
    g_assert_true((line.kind == DRIVER_LINE_CONV) == (line.problem_count > 0));
    g_assert_true((line.kind == DRIVER_LINE_CONV || line.kind == DRIVER_LINE_BLANK) ==
                  (line.reason[0] == '\0'));
    g_assert_true(g_utf8_validate(line.reason, -1, NULL));
    for (int i = 0; i < line.problem_count; i++) {
        g_assert_true(i == 0 || line.problems[i - 1].direction < line.problems[i].direction);
        check_problem(&line.problems[i]);
    }
    return 0;
}
