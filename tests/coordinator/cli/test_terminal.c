#include "coordinator/cli/terminal.h"

static void the_nearest_word_is_found(void)
{
    static const char *const words[] = {"create", "list", "show", "cancel", "status", NULL};
    static const struct {
        const char *given, *nearest;
    } rows[] = {
        {"crete", "create"},  {"lst", "list"}, {"sh", "show"},       {"stat", "status"},
        {"cancle", "cancel"}, {"xyzzy", NULL}, {"frobnicate", NULL},
    };
    for (gsize i = 0; i < G_N_ELEMENTS(rows); i++)
        g_assert_cmpstr(nearest_word(rows[i].given, words), ==, rows[i].nearest);
}

static void columns_are_those_of_the_environment(void)
{
    g_setenv("COLUMNS", "77", TRUE);
    g_assert_cmpint(terminal_columns(), ==, 77);
    g_setenv("COLUMNS", "wide", TRUE);
    g_assert_cmpint(terminal_columns(), !=, 77);
    g_unsetenv("COLUMNS");
}

static void yes_needs_no_question(void)
{
    g_assert_true(terminal_confirm("drop it?", true));
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_set_nonfatal_assertions();
    g_test_add_func("/terminal/the_nearest_word_is_found", the_nearest_word_is_found);
    g_test_add_func("/terminal/columns_are_those_of_the_environment",
                    columns_are_those_of_the_environment);
    g_test_add_func("/terminal/yes_needs_no_question", yes_needs_no_question);
    return g_test_run();
}
