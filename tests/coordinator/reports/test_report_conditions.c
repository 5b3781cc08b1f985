/* Winners with their devices' conditions (clocks, heat), in a campaign of the largest size. */
#include "coordinator/reports/report.h"

#include <locale.h>
#include <time.h>

/* With as many jobs, searching all of them for each winner would take minutes of CPU time;
 * CPU_SECONDS is the limit. */
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
    report_take_conditions(rows, conditions);
    double seconds = (double)(clock() - start) / CLOCKS_PER_SEC;
    g_assert_cmpfloat(seconds, <, CPU_SECONDS);
    g_assert_cmpint(report_sum(rows).throttled, ==, WINNERS);
    for (int i = 0; i < WINNERS; i++) {
        const struct report_row *row = &g_array_index(rows, struct report_row, i);
        g_assert_cmpint(row->conditions.temperature_c, ==, row->job);
    }
}

/* The order of devices does not depend on which part of the rows holds a device's first job. */
static void test_devices_stand_in_the_order_of_their_first_jobs(void)
{
    static const struct {
        int64_t job;
        const char *device;
    } parts[][2] = {{{5, "GPU-b"}, {7, "GPU-c"}}, {{2, "GPU-c"}, {6, "GPU-a"}}};
    static const char *const expected[] = {"GPU-c", "GPU-b", "GPU-a"};
    g_autoptr(GArray) devices = g_array_new(FALSE, TRUE, sizeof(struct job_conditions));
    for (gsize part = 0; part < G_N_ELEMENTS(parts); part++) {
        g_autoptr(GPtrArray) conditions = g_ptr_array_new_with_free_func(g_free);
        for (gsize i = 0; i < G_N_ELEMENTS(parts[part]); i++) {
            struct job_conditions *row = g_new0(struct job_conditions, 1);
            row->job = parts[part][i].job;
            row->seen.samples = 1;
            g_strlcpy(row->seen.device, parts[part][i].device, sizeof row->seen.device);
            g_ptr_array_add(conditions, row);
        }
        report_add_devices(devices, conditions);
    }
    g_assert_cmpuint(devices->len, ==, G_N_ELEMENTS(expected));
    for (guint i = 0; i < devices->len; i++)
        g_assert_cmpstr(g_array_index(devices, struct job_conditions, i).seen.device, ==,
                        expected[i]);
    g_assert_cmpint(g_array_index(devices, struct job_conditions, 0).seen.samples, ==, 2);
}

int main(int argc, char **argv)
{
    setlocale(LC_ALL, "");
    g_test_init(&argc, &argv, NULL);
    g_test_set_nonfatal_assertions();
    g_test_add_func("/report_conditions/a_large_campaign_takes_no_longer_a_winner",
                    test_a_large_campaign_takes_no_longer_a_winner);
    g_test_add_func("/report_conditions/devices_stand_in_the_order_of_their_first_jobs",
                    test_devices_stand_in_the_order_of_their_first_jobs);
    return g_test_run();
}
