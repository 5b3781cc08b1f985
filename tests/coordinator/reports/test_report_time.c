/* The table of `report --time`. */
#include "coordinator/reports/report_time.h"
#include "schema/results/store_prospects.h"

#include <locale.h>
#include <math.h>

static struct problem_time *time_of(int64_t channels, double seconds, double best_ms)
{
    struct problem_time *time = g_new0(struct problem_time, 1);
    problem_init(&time->problem);
    time->problem.c = channels;
    time->problem.k = 8;
    time->problem.in[AXIS_H] = time->problem.in[AXIS_W] = 8;
    problem_set_output(&time->problem);
    time->multiplicity = 2;
    time->seconds = seconds;
    time->first_ms = 2 * best_ms;
    time->best_ms = best_ms;
    time->next_saves_ms = time->next_seconds = NAN;
    return time;
}

static void free_time(gpointer time)
{
    problem_time_free(time);
}

static double cell(const json_t *rows, size_t row, const char *key)
{
    return json_number_value(json_object_get(json_array_get(rows, row), key));
}

static void what_took_most_comes_first_with_its_shares(void)
{
    g_autoptr(GPtrArray) times = g_ptr_array_new_with_free_func(free_time);
    g_ptr_array_add(times, time_of(8, 10, 1));
    g_ptr_array_add(times, time_of(16, 30, 3));
    Table *table = report_time_table(times);
    json_t *rows = table_json(table);
    g_assert_cmpuint(json_array_size(rows), ==, 2);
    g_assert_cmpfloat(cell(rows, 0, "seconds"), ==, 30);
    g_assert_cmpfloat(cell(rows, 0, "time_percent"), ==, 75);
    g_assert_cmpfloat(cell(rows, 1, "network_percent"), ==, 25);
    g_assert_cmpfloat(cell(rows, 0, "saved_ms"), ==, 6);
    json_decref(rows);
    table_free(table);
}

/* Its time is unknown, and the others' shares do not count it. */
static void a_problem_without_a_time_has_no_share(void)
{
    g_autoptr(GPtrArray) times = g_ptr_array_new_with_free_func(free_time);
    g_ptr_array_add(times, time_of(8, 10, 1));
    g_ptr_array_add(times, time_of(16, 30, NAN));
    Table *table = report_time_table(times);
    json_t *rows = table_json(table);
    g_assert_true(json_is_null(json_object_get(json_array_get(rows, 0), "network_percent")));
    g_assert_true(json_is_null(json_object_get(json_array_get(rows, 0), "saved_ms")));
    g_assert_cmpfloat(cell(rows, 1, "network_percent"), ==, 100);
    json_decref(rows);
    table_free(table);
}

int main(int argc, char **argv)
{
    setlocale(LC_ALL, "");
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/report_time/what_took_most_comes_first_with_its_shares",
                    what_took_most_comes_first_with_its_shares);
    g_test_add_func("/report_time/a_problem_without_a_time_has_no_share",
                    a_problem_without_a_time_has_no_share);
    return g_test_run();
}
