/* The report's GPU time of jobs, computed for a campaign of realistic size. */
#include "coordinator/reports/report.h"

#include <locale.h>
#include <time.h>

/* With as many problems, searching all of them for each job would take minutes of CPU time. */
#define PROBLEMS    20000
#define JOBS_EACH   5
#define CPU_SECONDS 10

static void add_row(GArray *rows, int64_t channels)
{
    struct report_row row = {.won = true};
    problem_init(&row.problem);
    row.problem.c = row.problem.k = channels;
    g_array_append_val(rows, row);
}

static void test_a_large_campaign_takes_no_longer_a_job(void)
{
    g_autoptr(GArray) rows = g_array_new(FALSE, TRUE, sizeof(struct report_row));
    g_autoptr(GPtrArray) jobs = g_ptr_array_new_with_free_func(g_free);
    g_autoptr(GPtrArray) uses = g_ptr_array_new_with_free_func(g_free);
    for (int i = 0; i < PROBLEMS; i++)
        add_row(rows, 1 + i);
    for (int i = 0; i < PROBLEMS * JOBS_EACH; i++) {
        struct job_row *job = g_new0(struct job_row, 1);
        struct job_device_use *use = g_new0(struct job_device_use, 1);
        job->id = 1 + i;
        job->problem = g_array_index(rows, struct report_row, PROBLEMS - 1 - i % PROBLEMS).problem;
        *use = (struct job_device_use){job->id, {2, 1}};
        g_ptr_array_add(jobs, job);
        g_ptr_array_add(uses, use);
    }
    clock_t start = clock();
    report_take_use(rows, jobs, uses);
    double seconds = (double)(clock() - start) / CLOCKS_PER_SEC;
    g_assert_cmpfloat(seconds, <, CPU_SECONDS);
    struct report_totals totals = report_sum(rows);
    g_assert_cmpint(totals.used, ==, PROBLEMS);
    g_assert_cmpfloat(totals.use.seconds, ==, 2.0 * PROBLEMS * JOBS_EACH);
    for (int i = 0; i < PROBLEMS; i++)
        g_assert_cmpfloat(g_array_index(rows, struct report_row, i).use.busy_seconds, ==,
                          JOBS_EACH);
}

int main(int argc, char **argv)
{
    setlocale(LC_ALL, "");
    g_test_init(&argc, &argv, NULL);
    g_test_set_nonfatal_assertions();
    g_test_add_func("/report_use/a_large_campaign_takes_no_longer_a_job",
                    test_a_large_campaign_takes_no_longer_a_job);
    return g_test_run();
}
