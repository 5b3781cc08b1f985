/* Finds out why a time that the report compares with is missing. */
#include "coordinator/plan/plan.h"
#include "coordinator/plan/problem_text.h"
#include "coordinator/reports/report.h"
#include "solvers/problem/problem_key.h"

#include <math.h>
#include <string.h>

static const struct table_column columns[] = {
    {"problem", "problem", TABLE_TEXT, 0}, {NULL, "key", TABLE_TEXT, 0},
    {"solver", "solver", TABLE_TEXT, 0},   {"default config", "config", TABLE_TEXT, 0},
    {"why", "reason", TABLE_TEXT, 0},
};

/* The key by which a job or a rejected config is found. Its strings belong to the job or the
 * config. */
struct name {
    const struct problem *problem;
    const char *solver, *config; /* "" for a job */
};

/* Jobs (struct job_row *) and rejected configs (struct config_outcome *) by struct name *, which
 * explain missing times. There may be many times as many as missing times. */
struct evidence {
    GHashTable *jobs, *rejections;
    struct context context;
};

static guint name_hash(gconstpointer key)
{
    const struct name *name = key;
    return (problem_hash(name->problem) * 31 + g_str_hash(name->solver)) * 31 +
           g_str_hash(name->config);
}

static gboolean name_equal(gconstpointer a, gconstpointer b)
{
    const struct name *left = a, *right = b;
    return strcmp(left->solver, right->solver) == 0 && strcmp(left->config, right->config) == 0 &&
           problem_equal(left->problem, right->problem);
}

static void add_name(GHashTable *table, const struct problem *problem, const char *solver,
                     const char *config, const void *row)
{
    const struct name name = {problem, solver, config};
    g_hash_table_replace(table, g_memdup2(&name, sizeof(name)), (void *)(uintptr_t)row);
}

static const void *find_name(GHashTable *table, const struct problem *problem, const char *solver,
                             const char *config)
{
    const struct name name = {problem, solver, config};
    return g_hash_table_lookup(table, &name);
}

/* Indexes jobs and rejected configs. The last rejection of a config
 * counts: a default config is measured again in every round. */
static void evidence_init(struct evidence *evidence, const GPtrArray *jobs,
                          const GPtrArray *rejections, const struct target *target,
                          const struct context_limits *limits)
{
    evidence->jobs = g_hash_table_new_full(name_hash, name_equal, g_free, NULL);
    evidence->rejections = g_hash_table_new_full(name_hash, name_equal, g_free, NULL);
    for (guint i = 0; i < jobs->len; i++) {
        const struct job_row *job = g_ptr_array_index(jobs, i);
        add_name(evidence->jobs, &job->problem, job->solver, "", job);
    }
    for (guint i = 0; i < rejections->len; i++) {
        const struct config_outcome *row = g_ptr_array_index(rejections, i);
        add_name(evidence->rejections, &row->problem, row->solver, row->config_text, row);
    }
    context_init(&evidence->context, target);
    context_set_limits(&evidence->context, limits);
}

static void evidence_clear(struct evidence *evidence)
{
    g_hash_table_unref(evidence->jobs);
    g_hash_table_unref(evidence->rejections);
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
        find_name(evidence->rejections, &job->problem, job->solver, config);
    if (rejection)
        return reason_text(rejection->failure, rejection->detail);
    if (g_strcmp0(job->state, "failed") == 0)
        return reason_text(job->failure, job->detail);
    return g_strdup(job->by_budget ? "not measured: the campaign's budget was spent"
                                   : "not measured");
}

/* Returns the default config of the job's solver. NULL if the job has another revision, whose
 * default config this program does not know. */
static const char *default_text(const struct evidence *evidence, const struct solver *solver,
                                const struct job_row *job, char text[CONFIG_TEXT_MAX])
{
    struct perf_config config = {0};
    if (solver->revision != job->revision)
        return NULL;
    solver->default_config(&job->problem, &evidence->context, &config);
    return perf_config_format(&config, text);
}

static void missing_free(gpointer data)
{
    struct missing_time *missing = data;
    g_free(missing->config);
    g_free(missing->reason);
    g_free(missing);
}

static void explain(const struct evidence *evidence, struct report_row *row, const char *name)
{
    const struct job_row *job = find_name(evidence->jobs, &row->problem, name, "");
    const struct solver *solver = solver_find(name);
    if (!job || !solver)
        return;
    char buffer[CONFIG_TEXT_MAX];
    const char *config = default_text(evidence, solver, job, buffer);
    struct missing_time *missing = g_new0(struct missing_time, 1);
    missing->solver = solver->name;
    missing->config = config && config[0] ? g_strdup(config) : NULL;
    missing->reason =
        config ? find_reason(evidence, job, config)
               : g_strdup_printf("measured at revision %d, this program has %d: tune it again",
                                 job->revision, solver->revision);
    g_ptr_array_add(row->missing, missing);
}

static void explain_row(const struct evidence *evidence, struct report_row *row)
{
    if (!isfinite(row->naive_ms))
        explain(evidence, row, PLAN_NAIVE_SOLVER);
    if (!isfinite(row->own_default_ms) && strcmp(row->solver, PLAN_NAIVE_SOLVER) != 0)
        explain(evidence, row, row->solver);
    if (!isfinite(row->default_ms) && row->default_solver &&
        strcmp(row->default_solver, row->solver) != 0 &&
        strcmp(row->default_solver, PLAN_NAIVE_SOLVER) != 0)
        explain(evidence, row, row->default_solver);
}

void report_explain(GArray *rows, const GPtrArray *jobs, const GPtrArray *rejections,
                    const struct campaign *campaign)
{
    struct evidence evidence;
    struct target target;
    if (!target_parse(campaign->target, &target, NULL))
        return;
    evidence_init(&evidence, jobs, rejections, &target, &campaign->limits);
    for (guint i = 0; i < rows->len; i++) {
        struct report_row *row = &g_array_index(rows, struct report_row, i);
        row->missing = g_ptr_array_new_with_free_func(missing_free);
        if (row->won)
            explain_row(&evidence, row);
    }
    evidence_clear(&evidence);
}

static void add_lines(Table *table, const struct report_row *row)
{
    g_autofree char *text = problem_text(&row->problem);
    char key[PROBLEM_KEY_MAX];
    for (guint i = 0; i < row->missing->len; i++) {
        const struct missing_time *missing = g_ptr_array_index(row->missing, i);
        table_text(table, text);
        table_text(table, problem_key(&row->problem, key));
        table_text(table, missing->solver);
        table_text(table, missing->config);
        table_text(table, missing->reason);
    }
}

Table *report_missing(const GArray *rows)
{
    Table *table = table_new(columns, G_N_ELEMENTS(columns));
    for (guint i = 0; i < rows->len; i++) {
        const struct report_row *row = &g_array_index(rows, struct report_row, i);
        if (row->missing)
            add_lines(table, row);
    }
    return table;
}
