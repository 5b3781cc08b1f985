/* Winners beside what their devices did, in a campaign as large as they come. */
#include "coordinator/report.h"

#include <locale.h>
#include <time.h>

/* Looking through all jobs for each winner would take minutes of it. */
#define JOBS        400000
#define WINNERS     40000
#define CPU_SECONDS 10

static void test_a_large_campaign_takes_no_longer_a_winner(void)
{
    g_autoptr(GArray) rows = g_array_new(FALSE, TRUE, sizeof(struct report_row));
    g_autoptr(GPtrArray) conditions = g_ptr_array_new_with_free_func(g_free);
    for (int i = 0; i < JOBS; i++) {
        struct job_conditions *row = g_new0(struct job_conditions, 1);
        row->job = 1 + i;
        row->seen =
            (struct conditions){.samples = 1, .temperature_c = 1 + i, .throttle = THROTTLE_HEAT};
        g_ptr_array_add(conditions, row);
    }
    for (int i = 0; i < WINNERS; i++) {
        struct report_row row = {.won = true, .job = JOBS - i};
        g_array_append_val(rows, row);
    }
    clock_t start = clock();
    g_assert_cmpint(report_take_conditions(rows, conditions), ==, WINNERS);
    double seconds = (double)(clock() - start) / CLOCKS_PER_SEC;
    g_assert_cmpfloat(seconds, <, CPU_SECONDS);
    for (int i = 0; i < WINNERS; i++) {
        const struct report_row *row = &g_array_index(rows, struct report_row, i);
        g_assert_cmpint(row->conditions.temperature_c, ==, row->job);
    }
}

int main(int argc, char **argv)
{
    setlocale(LC_ALL, "");
    g_test_init(&argc, &argv, NULL);
    g_test_set_nonfatal_assertions();
    g_test_add_func("/report_conditions/a_large_campaign_takes_no_longer_a_winner",
                    test_a_large_campaign_takes_no_longer_a_winner);
    return g_test_run();
}
