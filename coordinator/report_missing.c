/* Why a time that a report compares with is not there. */
#include "coordinator/plan.h"
#include "coordinator/problem_text.h"
#include "coordinator/report.h"
#include "solvers/problem_key.h"

#include <math.h>
#include <string.h>

static const struct table_column columns[] = {
    {"problem", "problem", TABLE_TEXT, 0}, {NULL, "key", TABLE_TEXT, 0},
    {"solver", "solver", TABLE_TEXT, 0},   {"default config", "config", TABLE_TEXT, 0},
    {"why", "reason", TABLE_TEXT, 0},
};

/* What the reasons are sought in. */
struct evidence {
    const GPtrArray *jobs, *rejections;
    struct context context;
};

static const struct job_row *find_job(const GPtrArray *jobs, const struct problem *problem,
                                      const char *solver)
{
    for (guint i = 0; i < jobs->len; i++) {
        const struct job_row *job = g_ptr_array_index(jobs, i);
        if (strcmp(job->solver, solver) == 0 && problem_equal(&job->problem, problem))
            return job;
    }
    return NULL;
}

/* The last one: a default config is measured again in every round. */
static const struct config_outcome *find_rejection(const GPtrArray *rejections,
                                                   const struct problem *problem,
                                                   const char *solver, const char *config)
{
    for (guint i = rejections->len; i > 0; i--) {
        const struct config_outcome *rejection = g_ptr_array_index(rejections, i - 1);
        if (strcmp(rejection->solver, solver) == 0 && strcmp(rejection->config_text, config) == 0 &&
            problem_equal(&rejection->problem, problem))
            return rejection;
    }
    return NULL;
}

static char *reason_text(enum failure failure, const char *detail)
{
    return g_strdup_printf("%s%s%s", failure_name(failure), detail && detail[0] ? ": " : "",
                           detail ? detail : "");
}

static char *find_reason(const struct evidence *evidence, const struct job_row *job,
                         const char *config)
{
    const struct config_outcome *rejection =
        find_rejection(evidence->rejections, &job->problem, job->solver, config);
    if (rejection)
        return reason_text(rejection->failure, rejection->detail);
    if (g_strcmp0(job->state, "failed") == 0)
        return reason_text(job->failure, job->detail);
    return g_strdup("not measured");
}

/* This program's default config, where the job was of the solver as this program has it: another
 * revision's default is not known here. */
static const char *default_text(const struct evidence *evidence, const struct solver *solver,
                                const struct job_row *job, char text[CONFIG_TEXT_MAX])
{
    struct perf_config config = {0};
    if (solver->revision != job->revision)
        return NULL;
    solver->default_config(&job->problem, &evidence->context, &config);
    return perf_config_format(&config, text);
}

static void add_missing(Table *table, const struct evidence *evidence,
                        const struct problem *problem, const char *name)
{
    const struct job_row *job = find_job(evidence->jobs, problem, name);
    const struct solver *solver = solver_find(name);
    if (!job || !solver)
        return;
    char key[PROBLEM_KEY_MAX], buffer[CONFIG_TEXT_MAX];
    const char *config_text = default_text(evidence, solver, job, buffer);
    g_autofree char *text = problem_text(problem);
    g_autofree char *reason =
        config_text ? find_reason(evidence, job, config_text)
                    : g_strdup_printf("measured at revision %d, this program has %d: tune it again",
                                      job->revision, solver->revision);
    table_text(table, text);
    table_text(table, problem_key(problem, key));
    table_text(table, name);
    table_text(table, config_text && config_text[0] ? config_text : NULL);
    table_text(table, reason);
}

Table *report_missing(const GArray *rows, const GPtrArray *jobs, const GPtrArray *rejections,
                      const char *target_id)
{
    Table *table = table_new(columns, G_N_ELEMENTS(columns));
    struct evidence evidence = {.jobs = jobs, .rejections = rejections};
    struct target target;
    if (!target_parse(target_id, &target, NULL))
        return table;
    context_init(&evidence.context, &target);
    for (guint i = 0; i < rows->len; i++) {
        const struct report_row *row = &g_array_index(rows, struct report_row, i);
        if (!row->won)
            continue;
        if (!isfinite(row->naive_ms))
            add_missing(table, &evidence, &row->problem, PLAN_NAIVE_SOLVER);
        if (!isfinite(row->default_ms) && strcmp(row->solver, PLAN_NAIVE_SOLVER) != 0)
            add_missing(table, &evidence, &row->problem, row->solver);
        if (!isfinite(row->untuned_ms) && row->untuned_solver &&
            strcmp(row->untuned_solver, row->solver) != 0 &&
            strcmp(row->untuned_solver, PLAN_NAIVE_SOLVER) != 0)
            add_missing(table, &evidence, &row->problem, row->untuned_solver);
    }
    return table;
}
