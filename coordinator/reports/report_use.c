/* Prints the GPU time that a campaign took. */
#include "coordinator/reports/report.h"
#include "solvers/problem/problem_key.h"

static void add_use(struct device_use *all, const struct device_use *more)
{
    all->seconds += more->seconds;
    all->busy_seconds += more->busy_seconds;
}

/* Returns a table from problem to struct report_row *. The rows must not move while it is used. */
static GHashTable *rows_by_problem(GArray *rows)
{
    GHashTable *by_problem = problem_table_new(NULL);
    for (guint i = 0; i < rows->len; i++) {
        struct report_row *row = &g_array_index(rows, struct report_row, i);
        g_hash_table_insert(by_problem, &row->problem, row);
    }
    return by_problem;
}

void report_take_use(GArray *rows, const GPtrArray *jobs, const GPtrArray *uses)
{
    g_autoptr(GHashTable) by_id = g_hash_table_new(g_int64_hash, g_int64_equal);
    g_autoptr(GHashTable) by_problem = rows_by_problem(rows);
    for (guint i = 0; i < jobs->len; i++) {
        struct job_row *job = g_ptr_array_index(jobs, i);
        g_hash_table_insert(by_id, &job->id, job);
    }
    for (guint i = 0; i < uses->len; i++) {
        const struct job_device_use *use = g_ptr_array_index(uses, i);
        const struct job_row *job = g_hash_table_lookup(by_id, &use->job);
        struct report_row *row = job ? g_hash_table_lookup(by_problem, &job->problem) : NULL;
        if (row)
            add_use(&row->use, &use->use);
    }
}

static const struct report_row *costliest(const GArray *rows)
{
    const struct report_row *most = NULL;
    for (guint i = 0; i < rows->len; i++) {
        const struct report_row *row = &g_array_index(rows, struct report_row, i);
        if (!most || row->use.busy_seconds > most->use.busy_seconds)
            most = row;
    }
    return most;
}

void report_print_use(const struct report *report, FILE *out)
{
    const struct device_use *use = &report->totals.use;
    const struct report_row *most = costliest(report->rows);
    char key[PROBLEM_KEY_MAX];
    if (report->totals.used == 0)
        return;
    fprintf(out,
            "GPU: busy in %.1f of %.1f seconds of evaluation (%.0f %%); %.2f GPU seconds a "
            "problem, at most %.2f:\n  %s\n",
            use->busy_seconds, use->seconds, 100 * use->busy_seconds / use->seconds,
            use->busy_seconds / report->totals.used, most->use.busy_seconds,
            problem_key(&most->problem, key));
}

json_t *report_use_json(const struct report *report)
{
    const struct device_use *use = &report->totals.use;
    if (report->totals.used == 0)
        return json_null();
    return json_pack("{s:i, s:f, s:f, s:f, s:f}", "problems", report->totals.used,
                     "evaluation_seconds", use->seconds, "busy_seconds", use->busy_seconds,
                     "busy_share", use->busy_seconds / use->seconds, "seconds_a_problem",
                     use->busy_seconds / report->totals.used);
}
