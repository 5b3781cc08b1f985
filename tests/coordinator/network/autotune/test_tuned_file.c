/* The choice of the winner among the combinations of a tuned file. */
#include "coordinator/network/autotune/tuned_file.h"

#include <glib.h>

static void times_of_the_second_measurement_count_first(void)
{
    enum { MEASURED = COMBINATION_MEASURED, WRONG = COMBINATION_WRONG };
    static const struct {
        int states[3];
        double pipeline_ms[3], final_ms[3];
        int winner;
    } rows[] = {
        {{MEASURED, MEASURED, MEASURED}, {3, 2, 4}, {0, 0, 0}, 1},
        {{MEASURED, MEASURED, MEASURED}, {3, 2, 4}, {1.8, 1.9, 0}, 0},
        {{MEASURED, MEASURED, MEASURED}, {3, 2, 1}, {4, 5, 0}, 0}, /* the third had none */
        {{MEASURED, WRONG, MEASURED}, {3, 1, 2}, {0, 0, 0}, 2},
        {{WRONG, WRONG, WRONG}, {3, 1, 2}, {0, 0, 0}, -1},
    };
    for (gsize i = 0; i < G_N_ELEMENTS(rows); i++) {
        struct tuned_combination combinations[3] = {0};
        struct tuned_file file = {.combinations = combinations, .count = 3};
        for (int c = 0; c < 3; c++) {
            combinations[c].state = rows[i].states[c];
            combinations[c].pipeline_ms = rows[i].pipeline_ms[c];
            combinations[c].final_ms = rows[i].final_ms[c];
        }
        tuned_file_choose(&file);
        g_assert_cmpint(file.winner, ==, rows[i].winner);
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/tuned_file/times_of_the_second_measurement_count_first",
                    times_of_the_second_measurement_count_first);
    return g_test_run();
}
