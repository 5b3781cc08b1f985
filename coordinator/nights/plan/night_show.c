#include "coordinator/nights/plan/night_show.h"

#include "coordinator/cli/table.h"
#include "coordinator/cli/when.h"
#include "coordinator/plan/problem_text.h"
#include "solvers/problem/problem_key.h"
#include "solvers/search/searcher.h"

#include <stdio.h>

#define HOUR 3600.0

/* The order in which reasons are shown: by priority, those without work last. */
static int list_reasons(enum night_reason reasons[NIGHT_REASON_COUNT])
{
    int count = 0;
    for (int r = 1; r <= NIGHT_REASON_COUNT; r++) {
        const struct night_reason_row *row = night_reason_row((enum night_reason)r);
        int place = count++;
        for (; place > 0; place--) {
            const struct night_reason_row *before = night_reason_row(reasons[place - 1]);
            bool after = (row->action == NIGHT_ACTION_NONE) == (before->action == NIGHT_ACTION_NONE)
                             ? row->priority <= before->priority
                             : row->action == NIGHT_ACTION_NONE;
            if (after)
                break;
            reasons[place] = reasons[place - 1];
        }
        reasons[place] = (enum night_reason)r;
    }
    return count;
}

/* Distinct problems with a pair of that reason. */
static int count_problems(const struct night_target_plan *plan, enum night_reason reason)
{
    g_autoptr(GHashTable) problems = problem_table_new(NULL);
    const GArray *lists[] = {plan->jobs, plan->idle};
    for (gsize l = 0; l < G_N_ELEMENTS(lists); l++)
        for (guint i = 0; i < lists[l]->len; i++) {
            struct planned_job *job = &g_array_index(lists[l], struct planned_job, i);
            if (job->reason == reason)
                g_hash_table_add(problems, &job->job.problem);
        }
    return (int)g_hash_table_size(problems);
}

/* The detail that the most pairs of the reason have, or NULL. */
static const char *common_detail(const struct night_target_plan *plan, enum night_reason reason)
{
    g_autoptr(GHashTable) counts = g_hash_table_new(g_str_hash, g_str_equal);
    const char *most = NULL;
    guint most_count = 0;
    for (guint i = 0; i < plan->jobs->len; i++) {
        const struct planned_job *job = &g_array_index(plan->jobs, struct planned_job, i);
        if (job->reason != reason || !job->detail)
            continue;
        guint count = GPOINTER_TO_UINT(g_hash_table_lookup(counts, job->detail)) + 1;
        g_hash_table_insert(counts, job->detail, GUINT_TO_POINTER(count));
        if (count > most_count) {
            most_count = count;
            most = job->detail;
        }
    }
    return most;
}

/* ---- JSON ---- */

static json_t *estimate_json(const struct night_estimate *estimate)
{
    json_t *by = json_object();
    for (int i = 0; i < ESTIMATE_SOURCE_COUNT; i++)
        json_object_set_new(by, estimate_source_name((enum estimate_source)i),
                            json_integer(estimate->by[i]));
    return json_pack("{s:i, s:I, s:f, s:f, s:f, s:o}", "jobs", estimate->jobs, "configs",
                     (json_int_t)estimate->configs, "gpu_hours", estimate->eval_seconds / HOUR,
                     "compile_hours", estimate->compile_seconds / HOUR, "node_hours",
                     estimate->node_seconds / HOUR, "jobs_by", by);
}

static json_t *reasons_json(const struct night_target_plan *plan)
{
    enum night_reason reasons[NIGHT_REASON_COUNT];
    int count = list_reasons(reasons);
    json_t *all = json_array();
    for (int i = 0; i < count; i++) {
        enum night_reason reason = reasons[i];
        const struct night_reason_row *row = night_reason_row(reason);
        if (plan->counts[reason] == 0)
            continue;
        json_t *each = json_pack(
            "{s:s, s:i, s:s, s:s, s:b, s:i, s:i, s:s?, s:o}", "reason", night_reason_name(reason),
            "number", (int)reason, "means", row->sentence, "action", night_action_name(row->action),
            "backfill", row->backfill, "problems", count_problems(plan, reason), "pairs",
            plan->counts[reason], "detail", common_detail(plan, reason), "estimate",
            estimate_json(&plan->estimates[reason]));
        json_array_append_new(all, each);
    }
    return all;
}

static json_t *stacks_json(const struct night_target_plan *plan)
{
    json_t *all = json_array();
    for (guint i = 0; i < plan->stacks->len; i++) {
        const struct night_stack *stack = g_ptr_array_index(plan->stacks, i);
        json_array_append_new(all, json_pack("{s:s, s:s, s:s, s:i}", "of",
                                             stack->builds ? "builders" : "devices", "stack",
                                             stack->stack, "nodes", stack->nodes, "devices",
                                             stack->devices));
    }
    return all;
}

json_t *night_target_plan_json(const struct night_target_plan *plan)
{
    return json_pack("{s:s, s:i, s:o, s:i, s:o, s:o, s:i, s:i, s:s?}", "target",
                     plan->machine.target.id, "jobs", (int)plan->jobs->len, "reasons",
                     reasons_json(plan), "devices", plan->devices, "stacks", stacks_json(plan),
                     "estimate", estimate_json(&plan->estimate), "left_out", plan->left_out,
                     "uncovered", (int)plan->uncovered->len, "nearest", plan->nearest);
}

static json_t *job_json(const struct planned_job *job)
{
    char key[PROBLEM_KEY_MAX];
    return json_pack("{s:s, s:s, s:i, s:i, s:s, s:s?, s:s, s:b, s:I, s:I, s:s?, s:f}", "key",
                     problem_key(&job->job.problem, key), "solver", job->job.solver, "revision",
                     job->job.revision, "multiplicity", job->job.multiplicity, "reason",
                     night_reason_name(job->reason), "detail", job->detail, "action",
                     night_action_name(job->action), "backfill", job->backfill, "configs",
                     (json_int_t)job->configs, "campaign", (json_int_t)job->campaign, "last_night",
                     job->last_night, "node_seconds", job->estimate.node_seconds);
}

static json_t *sources_json(const struct night_sources *sources)
{
    json_t *all = json_array();
    for (guint i = 0; i < sources->states->len; i++) {
        const struct night_source_state *state =
            &g_array_index(sources->states, struct night_source_state, i);
        json_array_append_new(all, json_pack("{s:s, s:s, s:i, s:f, s:b, s:s?}", "source",
                                             state->name, "network", state->network, "problems",
                                             state->problems, "runs", state->source->runs, "stale",
                                             state->stale, "detail", state->detail));
    }
    return all;
}

json_t *night_plan_json(const struct night_file *file, const struct night_sources *sources,
                        const struct night_plan *plan)
{
    json_t *targets = json_array();
    for (guint t = 0; t < plan->targets->len; t++) {
        const struct night_target_plan *target = g_ptr_array_index(plan->targets, t);
        json_t *json = night_target_plan_json(target), *jobs = json_array();
        for (guint i = 0; i < target->jobs->len; i++)
            json_array_append_new(jobs,
                                  job_json(&g_array_index(target->jobs, struct planned_job, i)));
        json_object_set_new(json, "job_list", jobs);
        json_array_append_new(targets, json);
    }
    const struct night_caps *caps = &plan->caps;
    return json_pack("{s:s, s:s, s:o, s:i, s:{s:f, s:f, s:i, s:i}, s:{s:i, s:i, s:f, s:f}, s:o}",
                     "name", file->name, "night", plan->night, "sources", sources_json(sources),
                     "problems", (int)sources->problems->len, "caps", "node_hours",
                     caps->node_seconds / HOUR, "deadline_seconds", caps->deadline_seconds, "jobs",
                     caps->jobs, "fitting", caps->fitting, "search", "configs",
                     (int)file->search.configs, "close_configs",
                     request_close_of((int)file->search.configs, (int)file->search.close_configs),
                     "search_seconds", file->search.search_seconds, "min_gain",
                     file->search.min_gain, "targets", targets);
}

/* ---- for people ---- */

static const struct table_column source_columns[] = {
    {"source", "source", TABLE_TEXT, 0},
    {"problems", "problems", TABLE_INT, 0},
    {"runs", "runs", TABLE_NUMBER, -4},
    {"note", "note", TABLE_TEXT, 0},
};

static void print_sources(const struct night_sources *sources)
{
    Table *table = table_new(source_columns, G_N_ELEMENTS(source_columns));
    for (guint i = 0; i < sources->states->len; i++) {
        const struct night_source_state *state =
            &g_array_index(sources->states, struct night_source_state, i);
        table_text(table, state->name);
        table_int(table, state->problems);
        table_number(table, state->source->runs);
        table_text(table, state->detail ? state->detail : "");
    }
    table_print(table, stdout);
    table_free(table);
}

static const struct table_column reason_columns[] = {
    {"reason", "reason", TABLE_TEXT, 0},
    {"problems", "problems", TABLE_INT, 0},
    {"jobs", "jobs", TABLE_INT, 0},
    {"configs", "configs", TABLE_INT, 0},
    {"GPU hours", "gpu_hours", TABLE_NUMBER, -4},
    {"compile hours", "compile_hours", TABLE_NUMBER, -4},
    {"action", "action", TABLE_TEXT, 0},
    {"such as", "detail", TABLE_TEXT, 0},
};

static void add_row(Table *table, const char *name, int problems, int jobs,
                    const struct night_estimate *estimate, const char *action, const char *detail)
{
    table_text(table, name);
    table_count(table, problems);
    table_int(table, jobs);
    table_int(table, estimate->configs);
    table_number(table, estimate->eval_seconds / HOUR);
    table_number(table, estimate->compile_seconds / HOUR);
    table_text(table, action);
    table_text(table, detail ? detail : "");
}

static void print_reasons(const struct night_target_plan *plan)
{
    enum night_reason reasons[NIGHT_REASON_COUNT];
    int count = list_reasons(reasons);
    Table *table = table_new(reason_columns, G_N_ELEMENTS(reason_columns));
    for (int i = 0; i < count; i++) {
        enum night_reason reason = reasons[i];
        const struct night_reason_row *row = night_reason_row(reason);
        g_autofree char *action =
            g_strdup_printf("%s%s", night_action_name(row->action), row->backfill ? ", last" : "");
        /* Pairs that are left out are only counted: the plan does not list them. */
        int problems = reason == NIGHT_REASON_LEFT_OUT ? -1 : count_problems(plan, reason);
        if (plan->counts[reason] > 0)
            add_row(table, night_reason_name(reason), problems, plan->counts[reason],
                    &plan->estimates[reason], action, common_detail(plan, reason));
    }
    add_row(table, "all work", -1, (int)plan->jobs->len, &plan->estimate, "", NULL);
    table_print(table, stdout);
    table_free(table);
}

static void print_stacks(const struct night_target_plan *plan)
{
    if (plan->stacks->len == 0)
        printf("no worker of the target was seen: software is not compared\n");
    for (guint i = 0; i < plan->stacks->len; i++) {
        const struct night_stack *stack = g_ptr_array_index(plan->stacks, i);
        printf("%s have %s (%s)\n", stack->builds ? "builders" : "devices",
               *stack->stack ? stack->stack : "unknown software", stack->nodes);
    }
}

static void print_target(const struct night_target_plan *plan)
{
    const struct night_estimate *estimate = &plan->estimate;
    printf("\ntarget %s: %d devices of running workers\n", plan->machine.target.id, plan->devices);
    print_stacks(plan);
    if (plan->nearest)
        printf("searches begin with the winners of %s\n", plan->nearest);
    print_reasons(plan);
    if (estimate->jobs > 0)
        printf("about %.3g node hours; %d jobs are estimated by their solver's rates, %d by the "
               "target's, %d by a guess\n",
               estimate->node_seconds / HOUR, estimate->by[ESTIMATE_BY_SOLVER],
               estimate->by[ESTIMATE_BY_TARGET], estimate->by[ESTIMATE_BY_GUESS]);
    if (plan->uncovered->len > 0)
        printf("no solver serves %u problems\n", plan->uncovered->len);
}

/* Says what ends searches before their last config. */
static void print_search_ends(const struct night_file *file)
{
    int close = request_close_of((int)file->search.configs, (int)file->search.close_configs);
    if (close > 0)
        printf(
            "\na job within %d %% of its problem's best tries up to %d configs: the estimates count one for each problem\n",
            SEARCH_CLOSE_PERCENT, close);
    if (file->search.search_seconds > 0)
        printf(
            "\na job's search ends after %g s of its device: the estimates count no more configs\n",
            file->search.search_seconds);
    if (file->search.min_gain > 0)
        printf("\nless where a job's search ends sooner, at an expected gain below %g %%\n",
               file->search.min_gain);
}

static void print_caps(const struct night_file *file, const struct night_caps *caps)
{
    bool capped = caps->node_seconds > 0 || caps->deadline_seconds > 0 || file->budget.seconds > 0;
    if (!capped || caps->jobs == 0)
        return;
    g_autoptr(GString) text = g_string_new(NULL);
    if (caps->node_seconds > 0)
        g_string_append_printf(text, "%g node hours", caps->node_seconds / HOUR);
    if (file->budget.seconds > 0)
        g_string_append_printf(text, "%s%g seconds a target", text->len > 0 ? ", " : "",
                               file->budget.seconds);
    if (caps->deadline_seconds > 0) {
        g_autofree char *left = when_duration(caps->deadline_seconds);
        g_string_append_printf(text, "%sthe deadline %s in %s", text->len > 0 ? ", " : "",
                               file->deadline, left);
    }
    printf("\nwithin %s: about %d of %d jobs fit\n", text->str, caps->fitting, caps->jobs);
}

void night_plan_print(const struct night_file *file, const struct night_sources *sources,
                      const struct night_plan *plan)
{
    printf("night %s of %s: %u problems\n", plan->night, file->name, sources->problems->len);
    print_sources(sources);
    for (guint t = 0; t < plan->targets->len; t++)
        print_target(g_ptr_array_index(plan->targets, t));
    print_search_ends(file);
    print_caps(file, &plan->caps);
}

/* ---- why ---- */

static const struct table_column why_columns[] = {
    {"target", "target", TABLE_TEXT, 0},    {"solver", "solver", TABLE_TEXT, 0},
    {"revision", "revision", TABLE_INT, 0}, {"reason", "reason", TABLE_TEXT, 0},
    {"action", "action", TABLE_TEXT, 0},    {NULL, "last_night", TABLE_TEXT, 0},
    {NULL, "last_stack", TABLE_TEXT, 0},    {NULL, "campaign", TABLE_INT, 0},
    {NULL, "means", TABLE_TEXT, 0},         {"detail", "detail", TABLE_TEXT, 0},
};

static void add_why(Table *table, const struct night_target_plan *target,
                    const struct night_why *why)
{
    const struct night_reason_row *row = night_reason_row(why->reason);
    table_text(table, target->machine.target.id);
    table_text(table, why->solver->name);
    table_int(table, why->solver->revision);
    table_text(table, night_reason_name(why->reason));
    table_text(table, night_action_name(row->action));
    table_text(table, why->job ? why->job->last_night : NULL);
    table_text(table, why->job ? why->job->last_stack : NULL);
    table_count(table, why->job && why->job->campaign ? why->job->campaign : -1);
    table_text(table, row->sentence);
    table_text(table, why->detail ? why->detail : row->sentence);
}

bool night_why_show(const struct night_file *file, const struct night_plan *plan,
                    const struct problem *problem, bool in_night, bool as_json, GError **error)
{
    g_autofree char *text = problem_text(problem);
    char key[PROBLEM_KEY_MAX];
    Table *table = table_new(why_columns, G_N_ELEMENTS(why_columns));
    bool ok = true;
    for (guint t = 0; t < plan->targets->len && ok; t++) {
        const struct night_target_plan *target = g_ptr_array_index(plan->targets, t);
        g_autoptr(GPtrArray) all = night_why(file, target, problem, error);
        ok = all != NULL;
        for (guint i = 0; ok && i < all->len; i++)
            add_why(table, target, g_ptr_array_index(all, i));
    }
    if (ok && as_json)
        table_show_json(json_pack("{s:s, s:s, s:s, s:b, s:o}", "night", plan->night, "key",
                                  problem_key(problem, key), "problem", text, "in_night", in_night,
                                  "solvers", table_json(table)));
    else if (ok) {
        printf("%s%s\n", text,
               in_night ? ""
                        : ": no source of the night has it, so nothing is done; if one had it:");
        table_print(table, stdout);
    }
    table_free(table);
    return ok;
}
