#include "solvers/framework/strategy.h"

#include <glib.h>
#include <string.h>

static void names_are_found_as_they_are_spelled(void)
{
    for (int i = 0; i < STRATEGY_COUNT; i++)
        g_assert_cmpint(strategy_find(strategy_table[i].name), ==, i);
    g_assert_cmpint(strategy_find("luck"), ==, -1);
    g_assert_cmpint(strategy_find("Random"), ==, -1);
    g_assert_cmpint(strategy_find(""), ==, -1);
}

/* Databases store these names: strategies may be added, but not renamed. */
static void stored_names_stay(void)
{
    static const char *const stored[] = {"prior",   "model",  "local",     "annealing",
                                         "genetic", "random", "exhaustive"};

    for (gsize i = 0; i < G_N_ELEMENTS(stored); i++)
        g_assert_cmpint(strategy_find(stored[i]), >=, 0);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_set_nonfatal_assertions();
    g_test_add_func("/strategy/names_are_found_as_they_are_spelled",
                    names_are_found_as_they_are_spelled);
    g_test_add_func("/strategy/stored_names_stay", stored_names_stay);
    return g_test_run();
}
