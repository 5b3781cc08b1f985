#include "export/export_plan.h"

#include "export/export_entries.h"
#include "export/formats/kernel_db.h"

#include <string.h>

struct planner {
    const struct export_wish *wish;
    struct gate *gate;
    const GPtrArray *results;
    struct export_summary *summary;
    GHashTable *jobs;      /* job id -> GPtrArray of its results */
    GPtrArray *candidates; /* struct candidate *, in the order of results; NULL where dropped */
};

static void refuse(struct planner *planner, const struct result *result, enum refusal why,
                   const char *reason)
{
    char key[PROBLEM_KEY_MAX];
    struct export_refusal *refusal = g_new0(struct export_refusal, 1);
    refusal->why = why;
    refusal->job = result->job;
    refusal->problem = g_strdup(result->problem_id != 0 ? problem_key(&result->problem, key) : "");
    refusal->solver = g_strdup(result->solver);
    refusal->reason = g_strdup(reason);
    g_ptr_array_add(planner->summary->refused, refusal);
    planner->summary->refused_by[why]++;
}

static GPtrArray *results_of_job(const struct planner *planner, const struct result *result)
{
    return g_hash_table_lookup(planner->jobs, &result->job);
}

static void group_by_job(struct planner *planner)
{
    planner->jobs =
        g_hash_table_new_full(g_int64_hash, g_int64_equal, NULL, (GDestroyNotify)g_ptr_array_unref);
    for (guint i = 0; i < planner->results->len; i++) {
        struct result *result = planner->results->pdata[i];
        GPtrArray *group = results_of_job(planner, result);
        if (group == NULL) {
            group = g_ptr_array_new();
            g_hash_table_insert(planner->jobs, &result->job, group);
        }
        g_ptr_array_add(group, result);
    }
}

/* What tuning saves against the default config, or against the slowest config kept where the
 * default's time is not. */
static double saved_ms(const struct planner *planner, const struct result *result)
{
    const GPtrArray *group = results_of_job(planner, result);
    double slowest = 0;
    for (guint i = 0; i < group->len; i++) {
        const struct result *other = group->pdata[i];
        const struct kept *kept = &other->kept;
        if (!other->verified) {
            continue;
        }
        if (kept->is_default) {
            slowest = kept->outcome.median_ms;
            break;
        }
        slowest = MAX(slowest, kept->outcome.median_ms);
    }
    return MAX(0, slowest - result->kept.outcome.median_ms);
}

/* One whose row is damaged or whose job is not known has no problem to judge by. */
static bool is_expressible(const struct result *result)
{
    char key[PROBLEM_KEY_MAX];
    return result->damage != NULL || result->problem_id == 0 ||
           problem_find_key(&result->problem, key);
}

static bool is_within_limits(const struct planner *planner, const struct result *result)
{
    const struct export_wish *wish = planner->wish;
    return (!wish->limits_workspace || result->kept.workspace_bytes <= wish->workspace_bytes) &&
           (!wish->dynamic_only || result->dynamic);
}

/* Of a job's results the one with the lowest rank within the limits is looked at; a job without one
 * counts where its best is. */
static bool is_looked_at(struct planner *planner, const struct result *result)
{
    const GPtrArray *group = results_of_job(planner, result);
    const struct result *first = NULL;
    for (guint i = 0; i < group->len; i++) {
        const struct result *other = group->pdata[i];
        if (is_within_limits(planner, other) && (first == NULL || other->rank < first->rank)) {
            first = other;
        }
    }
    planner->summary->beyond_limits += first == NULL && result->rank == 0;
    return first == result;
}

static void gate_results(struct planner *planner)
{
    enum refusal why = REFUSAL_DAMAGED;
    const struct problem *last_inexpressible = NULL;
    for (guint i = 0; i < planner->results->len; i++) {
        const struct result *result = planner->results->pdata[i];
        g_autofree char *reason = NULL;
        if (!is_looked_at(planner, result)) {
            continue;
        }
        if (!is_expressible(result)) {
            if (last_inexpressible == NULL ||
                !problem_equal(last_inexpressible, &result->problem)) {
                planner->summary->inexpressible++;
            }
            last_inexpressible = &result->problem;
            continue;
        }
        struct candidate *candidate = gate_pass(planner->gate, result, &why, &reason);
        if (candidate == NULL) {
            refuse(planner, result, why, reason);
            continue;
        }
        candidate->weight = saved_ms(planner, result) * result->multiplicity;
        g_ptr_array_add(planner->candidates, candidate);
    }
}

/* ---- perf records: one a row and solver ---- */

static bool outweighs(const struct candidate *a, const struct candidate *b)
{
    if (a->weight != b->weight) {
        return a->weight > b->weight;
    }
    return problem_compare(&a->result->problem, &b->result->problem) < 0;
}

static char *record_key(const struct candidate *candidate)
{
    char key[PROBLEM_KEY_MAX];
    return g_strconcat(perf_row_key(&candidate->row, key), "\n", candidate->solver->name, NULL);
}

/* "row\nsolver" -> the candidate whose params stand there. */
static GHashTable *choose_params(const struct planner *planner)
{
    GHashTable *chosen = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    for (guint i = 0; i < planner->candidates->len; i++) {
        struct candidate *candidate = planner->candidates->pdata[i];
        if (!candidate->tunable) {
            continue;
        }
        char *key = record_key(candidate);
        const struct candidate *other = g_hash_table_lookup(chosen, key);
        if (other == NULL || outweighs(candidate, other)) {
            g_hash_table_replace(chosen, key, candidate);
        } else {
            g_free(key);
        }
    }
    return chosen;
}

/* The result of the same job that was measured with these params, NULL when it was not kept. */
static const struct result *measured_with(const struct planner *planner,
                                          const struct result *result, const char *params)
{
    const GPtrArray *group = results_of_job(planner, result);
    for (guint i = 0; i < group->len; i++) {
        const struct result *other = group->pdata[i];
        if (other->verified && strcmp(other->kept.config_text, params) == 0) {
            return other;
        }
    }
    return NULL;
}

/* A problem whose row holds another's params: they must be valid for it too, and where its time
 * with them was measured, that is the time to state. NULL (and *reason) when it may not stay. */
static struct candidate *give_way(struct planner *planner, const struct candidate *loser,
                                  const char *params, enum refusal *why, char **reason)
{
    struct perf_config config;
    g_autoptr(GError) error = NULL;
    const struct result *result = loser->result;
    if (!solver_config_parse(loser->solver, &result->problem, &planner->gate->context, params,
                             &config, &error)) {
        *reason = g_strdup_printf("the params that its perf-db row holds for another problem are "
                                  "not valid for it: %s",
                                  error->message);
        *why = REFUSAL_SHARED_ROW;
        return NULL;
    }
    const struct result *measured = measured_with(planner, result, params);
    return gate_pass(planner->gate, measured != NULL ? measured : result, why, reason);
}

static void merge_rows(struct planner *planner, GHashTable *chosen)
{
    for (guint i = 0; i < planner->candidates->len; i++) {
        struct candidate *candidate = planner->candidates->pdata[i];
        g_autofree char *key = record_key(candidate);
        const struct candidate *winner = g_hash_table_lookup(chosen, key);
        g_autofree char *reason = NULL;
        if (!candidate->tunable || winner == candidate) {
            continue;
        }
        planner->summary->merged++;
        enum refusal why = REFUSAL_SHARED_ROW;
        struct candidate *other =
            give_way(planner, candidate, winner->result->kept.config_text, &why, &reason);
        if (other == NULL) {
            refuse(planner, candidate->result, why, reason);
        }
        planner->candidates->pdata[i] = other;
        candidate_free(candidate);
    }
    while (g_ptr_array_remove(planner->candidates, NULL)) {
    }
}

static int compare_records(const void *a, const void *b)
{
    return perf_record_compare(*(const struct perf_record *const *)a,
                               *(const struct perf_record *const *)b);
}

static void plan_records(struct export_plan *plan, GHashTable *chosen,
                         struct export_summary *summary)
{
    GHashTableIter iter;
    gpointer value;
    g_hash_table_iter_init(&iter, chosen);
    while (g_hash_table_iter_next(&iter, NULL, &value)) {
        const struct candidate *winner = value;
        g_ptr_array_add(plan->records, perf_record_new(&winner->row, winner->solver->name,
                                                       winner->result->kept.config_text));
    }
    g_ptr_array_sort(plan->records, compare_records);
    summary->perf_records = (int)plan->records->len;
    for (guint i = 0; i < plan->records->len; i++) {
        const struct perf_record *record = plan->records->pdata[i];
        const struct perf_record *before = i > 0 ? plan->records->pdata[i - 1] : NULL;
        summary->perf_configs += before == NULL || !perf_row_equal(&before->row, &record->row);
    }
}

/* ---- find lines ---- */

static int compare_candidates(const void *a, const void *b)
{
    const struct candidate *one = *(const struct candidate *const *)a;
    const struct candidate *other = *(const struct candidate *const *)b;
    int order = problem_compare(&one->result->problem, &other->result->problem);
    if (order == 0) {
        order = (one->time_ms > other->time_ms) - (one->time_ms < other->time_ms);
    }
    return order != 0 ? order : strcmp(one->solver->name, other->solver->name);
}

static void add_entry(GString *text, const struct candidate *candidate)
{
    char algorithm[64];
    solver_algorithm(candidate->solver, candidate->result->problem.direction, algorithm);
    g_string_append_printf(text, "%s:%s,%" G_GUINT64_FORMAT ",%s", candidate->solver->name,
                           candidate->time_text, candidate->result->kept.workspace_bytes,
                           algorithm);
}

/* How many candidates from there on are of one problem. */
static int count_of_problem(const struct planner *planner, guint first)
{
    const struct candidate *const *all =
        (const struct candidate *const *)(void *)planner->candidates->pdata;
    guint end = first + 1;
    while (end < planner->candidates->len &&
           problem_equal(&all[end]->result->problem, &all[first]->result->problem)) {
        end++;
    }
    return (int)(end - first);
}

/* From the candidate at *index on, all of its problem; the index moves behind them. */
static struct planned_line *plan_line(const struct planner *planner, guint *index)
{
    char key[PROBLEM_KEY_MAX];
    const struct candidate *first = planner->candidates->pdata[*index];
    struct planned_line *line = g_new0(struct planned_line, 1);
    GString *text = g_string_new(problem_key(&first->result->problem, key));
    struct candidate **all = (struct candidate **)&planner->candidates->pdata[*index];
    int count = count_of_problem(planner, *index);
    g_autofree bool *take = g_new0(bool, (gsize)count);
    line->problem = first->result->problem;
    planner->summary->find_entries += export_entries_choose(all, count, planner->wish->top, take);
    char before = '=';
    for (int i = 0; i < count; i++) {
        if (take[i]) {
            g_string_append_c(text, before);
            add_entry(text, all[i]);
            before = ';';
        }
    }
    *index += (guint)count;
    line->text = g_string_free(text, FALSE);
    return line;
}

static int compare_lines(const void *a, const void *b)
{
    return strcmp((*(const struct planned_line *const *)a)->text,
                  (*(const struct planned_line *const *)b)->text);
}

static void plan_lines(struct export_plan *plan, struct planner *planner)
{
    g_ptr_array_sort(planner->candidates, compare_candidates);
    for (guint i = 0; i < planner->candidates->len;) {
        g_ptr_array_add(plan->lines, plan_line(planner, &i));
    }
    g_ptr_array_sort(plan->lines, compare_lines);
    planner->summary->find_keys = (int)plan->lines->len;
}

/* ---- kernels ---- */

static void planned_kernel_free(void *data)
{
    struct planned_kernel *kernel = data;
    g_free(kernel->name);
    g_free(kernel->args);
    g_free(kernel->key);
    g_free(kernel->sha256);
    g_free(kernel);
}

static struct planned_kernel *planned_kernel_new(const struct gate *gate, const char *key)
{
    const struct kernel_row *row = g_hash_table_lookup(gate->kernels, key);
    struct planned_kernel *kernel = g_new0(struct planned_kernel, 1);
    kernel->name = kernel_db_name(row->file);
    kernel->args = kernel_db_args(row->options, gate->target.arch);
    kernel->key = g_strdup(key);
    kernel->sha256 = g_strdup(row->code_sha256);
    return kernel;
}

static int compare_kernels(const void *a, const void *b)
{
    const struct planned_kernel *one = *(const struct planned_kernel *const *)a;
    const struct planned_kernel *other = *(const struct planned_kernel *const *)b;
    int order = strcmp(one->name, other->name);
    return order != 0 ? order : strcmp(one->args, other->args);
}

/* One row a name and options: the gate saw to it that all of them are one code object. */
static void plan_kernels(struct export_plan *plan, const struct planner *planner)
{
    g_autoptr(GPtrArray) all = g_ptr_array_new();
    for (guint i = 0; i < planner->candidates->len; i++) {
        const struct candidate *candidate = planner->candidates->pdata[i];
        for (char **key = candidate->kernels; *key != NULL; key++) {
            g_ptr_array_add(all, planned_kernel_new(planner->gate, *key));
        }
    }
    g_ptr_array_sort(all, compare_kernels);
    for (guint i = 0; i < all->len; i++) {
        guint taken = plan->kernels->len;
        if (taken > 0 && compare_kernels(&all->pdata[i], &plan->kernels->pdata[taken - 1]) == 0) {
            planned_kernel_free(all->pdata[i]);
        } else {
            g_ptr_array_add(plan->kernels, all->pdata[i]);
        }
    }
    planner->summary->kernels = (int)plan->kernels->len;
}

static void planned_line_free(void *data)
{
    struct planned_line *line = data;
    g_free(line->text);
    g_free(line);
}

static void free_candidate(void *candidate)
{
    candidate_free(candidate);
}

static void free_record(void *record)
{
    perf_record_free(record);
}

void export_plan_init(struct export_plan *plan, const struct export_wish *wish, struct gate *gate,
                      const GPtrArray *results, struct export_summary *summary)
{
    struct planner planner = {.wish = wish, .gate = gate, .results = results, .summary = summary};
    plan->lines = g_ptr_array_new_with_free_func(planned_line_free);
    plan->records = g_ptr_array_new_with_free_func(free_record);
    plan->kernels = g_ptr_array_new_with_free_func(planned_kernel_free);
    planner.candidates = g_ptr_array_new();
    group_by_job(&planner);
    gate_results(&planner);
    GHashTable *chosen = choose_params(&planner);
    plan_records(plan, chosen, summary);
    merge_rows(&planner, chosen);
    plan_lines(plan, &planner);
    plan_kernels(plan, &planner);
    g_hash_table_unref(chosen);
    g_hash_table_unref(planner.jobs);
    g_ptr_array_set_free_func(planner.candidates, free_candidate);
    g_ptr_array_unref(planner.candidates);
}

void export_plan_clear(struct export_plan *plan)
{
    g_clear_pointer(&plan->lines, g_ptr_array_unref);
    g_clear_pointer(&plan->records, g_ptr_array_unref);
    g_clear_pointer(&plan->kernels, g_ptr_array_unref);
}
