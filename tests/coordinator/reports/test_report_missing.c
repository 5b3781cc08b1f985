/* The reasons why a problem has no time, for rows and rejections made up in memory. */
#include "coordinator/plan/plan.h"
#include "coordinator/reports/report.h"

#include <math.h>

#define TARGET "cpu-znver4_2"

enum {
    PROBLEMS = 10000,
    EACH = 10
}; /* EACH: rejections of each problem's naive default config, of which the newest counts */

static char naive[] = PLAN_NAIVE_SOLVER, other[] = "ConvCpuDirect", empty[] = "", done[] = "done";

static void make_problem(struct problem *p, int number)
{
    problem_init(p);
    p->n = 1;
    p->c = p->k = 1 + number;
    p->in[AXIS_H] = p->in[AXIS_W] = 16;
    problem_set_output(p);
}

static void clear_row(gpointer data)
{
    struct report_row *row = data;
    g_clear_pointer(&row->missing, g_ptr_array_unref);
}

static GArray *new_rows(void)
{
    GArray *rows = g_array_new(FALSE, TRUE, sizeof(struct report_row));
    g_array_set_clear_func(rows, clear_row);
    return rows;
}

static void add_row(GArray *rows, GPtrArray *jobs, int number)
{
    struct report_row row = {
        .won = true, .solver = other, .naive_ms = NAN, .own_default_ms = 1, .default_ms = 1};
    struct job_row *job = g_new0(struct job_row, 1);
    make_problem(&row.problem, number);
    job->problem = row.problem;
    job->solver = naive;
    job->state = done;
    job->revision = solver_find(naive)->revision;
    g_array_append_val(rows, row);
    g_ptr_array_add(jobs, job);
}

static void add_rejection(GPtrArray *rejections, int number, char *solver, enum failure failure)
{
    struct config_outcome *row = g_new0(struct config_outcome, 1);
    make_problem(&row->problem, number);
    row->solver = solver;
    row->config_text = empty;
    row->detail = empty;
    row->failure = failure;
    g_ptr_array_add(rejections, row);
}

/* 10,000 problems with 10 rejections each: comparing every problem with every rejection would be
 * 1e9 comparisons. */
static void test_each_of_many_finds_its_own_last_rejection(void)
{
    g_autoptr(GArray) rows = new_rows();
    g_autoptr(GPtrArray) jobs = g_ptr_array_new_with_free_func(g_free);
    g_autoptr(GPtrArray) rejections = g_ptr_array_new_with_free_func(g_free);
    for (int i = 0; i < PROBLEMS; i++)
        add_row(rows, jobs, i);
    for (int i = 0; i < PROBLEMS * EACH; i++) {
        bool last = i >= PROBLEMS * (EACH - 1);
        enum failure failure = i % 3 == 0 ? FAILURE_WRONG_RESULT : FAILURE_UNSTABLE;
        add_rejection(rejections, i % PROBLEMS, naive, last ? failure : FAILURE_LOAD_ERROR);
    }
    report_explain(rows, jobs, rejections, &(struct campaign){.target = (char *)TARGET});
    Table *table = report_missing(rows);
    json_t *json = table_json(table);
    g_assert_cmpuint(json_array_size(json), ==, PROBLEMS);
    for (int i = 0; i < PROBLEMS; i++) {
        bool is_wrong = (PROBLEMS * (EACH - 1) + i) % 3 == 0;
        const char *reason =
            json_string_value(json_object_get(json_array_get(json, (size_t)i), "reason"));
        g_assert_cmpstr(reason, ==, is_wrong ? "wrong result" : "unstable");
    }
    json_decref(json);
    table_free(table);
}

static void test_rejections_of_other_configs_are_no_reason(void)
{
    g_autoptr(GArray) rows = new_rows();
    g_autoptr(GPtrArray) jobs = g_ptr_array_new_with_free_func(g_free);
    g_autoptr(GPtrArray) rejections = g_ptr_array_new_with_free_func(g_free);
    add_row(rows, jobs, 0);
    add_rejection(rejections, 1, naive, FAILURE_WRONG_RESULT);
    add_rejection(rejections, 0, other, FAILURE_WRONG_RESULT);
    report_explain(rows, jobs, rejections, &(struct campaign){.target = (char *)TARGET});
    Table *table = report_missing(rows);
    json_t *json = table_json(table);
    g_assert_cmpuint(json_array_size(json), ==, 1);
    g_assert_cmpstr(json_string_value(json_object_get(json_array_get(json, 0), "reason")), ==,
                    "not measured");
    json_decref(json);
    table_free(table);
}

/* A job of another revision has another default config than this program would make, so its
 * rejections are not searched for that config. */
static void test_a_job_of_another_revision_is_named_as_stale(void)
{
    g_autoptr(GArray) rows = new_rows();
    g_autoptr(GPtrArray) jobs = g_ptr_array_new_with_free_func(g_free);
    g_autoptr(GPtrArray) rejections = g_ptr_array_new();
    add_row(rows, jobs, 0);
    struct report_row *row = &g_array_index(rows, struct report_row, 0);
    struct job_row *job = g_ptr_array_index(jobs, 0);
    int known = solver_find(other)->revision;
    row->naive_ms = 1;
    row->own_default_ms = NAN;
    job->solver = other;
    job->revision = known + 1;
    report_explain(rows, jobs, rejections, &(struct campaign){.target = (char *)TARGET});
    Table *table = report_missing(rows);
    json_t *json = table_json(table);
    g_assert_cmpuint(json_array_size(json), ==, 1);
    const json_t *line = json_array_get(json, 0);
    g_autofree char *expected = g_strdup_printf(
        "measured at revision %d, this program has %d: tune it again", job->revision, known);
    g_assert_cmpstr(json_string_value(json_object_get(line, "reason")), ==, expected);
    g_assert_true(json_is_null(json_object_get(line, "config")));
    json_decref(json);
    table_free(table);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_set_nonfatal_assertions();
    g_test_add_func("/report_missing/each_of_many_finds_its_own_last_rejection",
                    test_each_of_many_finds_its_own_last_rejection);
    g_test_add_func("/report_missing/rejections_of_other_configs_are_no_reason",
                    test_rejections_of_other_configs_are_no_reason);
    g_test_add_func("/report_missing/a_job_of_another_revision_is_named_as_stale",
                    test_a_job_of_another_revision_is_named_as_stale);
    return g_test_run();
}
