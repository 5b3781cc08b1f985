/* Tables of which candidates become a problem's find-db entries. */
#include "export/release/export_entries.h"

#include <string.h>

#define MOST 8

/* candidates: a letter each, the fastest first. w needs no workspace, d is dynamic, b is both, x is
 * neither. */
static const struct {
    const char *candidates;
    int top;
    const char *taken; /* 1 where taken */
} cases[] = {
    {"x", 4, "1"},           {"xxxxxx", 4, "111100"},  {"bxxxxx", 4, "111100"},
    {"xxxxxb", 4, "111001"}, {"xxxxwd", 4, "110011"},  {"xxxxdw", 4, "110011"},
    {"xwxxxd", 4, "111001"}, {"xxxdxw", 4, "110101"},  {"wxxxxd", 4, "111001"},
    {"dxxxxx", 4, "111100"}, {"xxwd", 3, "1011"},      {"xxb", 2, "101"},
    {"xwdb", 2, "1001"},     {"xwd", 2, "110"},        {"dxw", 2, "101"},
    {"xb", 1, "10"},         {"xxwwdd", 64, "111111"},
};

static void a_problem_keeps_one_without_workspace_and_one_dynamic(void)
{
    for (size_t c = 0; c < G_N_ELEMENTS(cases); c++) {
        struct solver solvers[MOST] = {0};
        struct planned_entry entries[MOST] = {0};
        char taken[MOST + 1] = "";
        int count = (int)strlen(cases[c].candidates), expected = 0;
        for (int i = 0; i < count; i++) {
            char kind = cases[c].candidates[i];
            solvers[i].dynamic = kind == 'd' || kind == 'b';
            entries[i].solver = &solvers[i];
            entries[i].workspace_bytes = kind == 'w' || kind == 'b' ? 0 : 4096;
            expected += cases[c].taken[i] == '1';
        }
        int chosen = export_entries_choose(entries, count, cases[c].top);
        for (int i = 0; i < count; i++) {
            taken[i] = entries[i].is_taken ? '1' : '0';
        }
        g_test_message("%s, top %d", cases[c].candidates, cases[c].top);
        g_assert_cmpstr(taken, ==, cases[c].taken);
        g_assert_cmpint(chosen, ==, expected);
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_set_nonfatal_assertions();
    g_test_add_func("/export_entries/a_problem_keeps_one_without_workspace_and_one_dynamic",
                    a_problem_keeps_one_without_workspace_and_one_dynamic);
    return g_test_run();
}
