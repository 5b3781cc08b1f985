#include "coordinator/nights/steps.h"

#include "coordinator/campaigns/enter.h"
#include "coordinator/cli/cli.h"
#include "coordinator/nights/judge/regression_points.h"
#include "coordinator/nights/judge/regressions.h"
#include "coordinator/nights/night_wait.h"
#include "coordinator/nights/plan/night_show.h"
#include "coordinator/tell/tell.h"
#include "schema/results/store_golden.h"
#include "schema/results/store_history.h"
#include "schema/results/store_remeasure.h"
#include "schema/store/store_problems.h"

#include <string.h>

/* ---- planning ---- */

/* The identity of a campaign of the night. Free with g_free(). */
static char *identity_of(const struct night *night, const char *target, bool backfill)
{
    g_autoptr(GChecksum) sum = g_checksum_new(G_CHECKSUM_SHA256);
    const char *const parts[] = {"night", night->name, night->date, target,
                                 backfill ? "backfill" : "main"};
    for (gsize i = 0; i < G_N_ELEMENTS(parts); i++)
        g_checksum_update(sum, (const guchar *)parts[i], (gssize)strlen(parts[i]) + 1);
    return g_strdup(g_checksum_get_string(sum));
}

/* The jobs of one of the target's two campaigns, with their causes. */
struct part {
    GArray *jobs;        /* struct job_plan */
    GArray *causes;      /* struct job_cause, of the same places */
    double node_seconds; /* estimated working time of the jobs */
};

/* Whether the job goes into the second campaign: if its reason is one of backfill, and backfill has a priority of its
 * own. */
static bool is_backfill(const struct night_file *file, const struct planned_job *job)
{
    return job->backfill && file->backfill_priority != file->priority;
}

static struct part part_of(const struct night_file *file, const struct night_target_plan *plan,
                           bool backfill)
{
    struct part part = {.jobs = g_array_new(FALSE, FALSE, sizeof(struct job_plan)),
                        .causes = g_array_new(FALSE, FALSE, sizeof(struct job_cause))};
    for (guint i = 0; i < plan->jobs->len; i++) {
        const struct planned_job *job = &g_array_index(plan->jobs, struct planned_job, i);
        const struct job_cause cause = {.reason = (int)job->reason,
                                        .detail = job->detail,
                                        .fresh = job->action == NIGHT_ACTION_FRESH,
                                        .again = job->action == NIGHT_ACTION_AGAIN};
        if (is_backfill(file, job) != backfill)
            continue;
        g_array_append_val(part.jobs, job->job);
        g_array_append_val(part.causes, cause);
        part.node_seconds += job->estimate.node_seconds;
    }
    for (guint i = 0; i < part.jobs->len; i++)
        g_array_index(part.jobs, struct job_plan, i).cause =
            &g_array_index(part.causes, struct job_cause, i);
    return part;
}

static void part_clear(struct part *part)
{
    g_array_unref(part->jobs);
    g_array_unref(part->causes);
}

static char **networks_of(const struct night_sources *sources)
{
    char **names = g_new0(char *, sources->networks->len + 1);
    for (guint i = 0; i < sources->networks->len; i++)
        names[i] = g_strdup(sources->networks->pdata[i]);
    return names;
}

/* The budget of a part in seconds, 0 for no limit: that of each campaign, or its share of the night's node hours, by its
 * part of the night's estimate. */
static double budget_of(const struct night_file *file, const struct night_plan *plan,
                        const struct part *part)
{
    double all_seconds = 0, budget = file->budget.seconds;
    for (guint i = 0; i < plan->targets->len; i++)
        all_seconds +=
            ((const struct night_target_plan *)plan->targets->pdata[i])->estimate.node_seconds;
    if (file->budget.node_hours <= 0)
        return budget;
    double share = all_seconds > 0 ? part->node_seconds / all_seconds : 1;
    /* At least a second: a budget of 0 would be none. */
    double cap = MAX(file->budget.node_hours * 3600 * share, 1);
    return budget > 0 ? MIN(budget, cap) : cap;
}

static bool enter_part(struct night_run *run, const struct night_sources *sources,
                       const struct night_plan *whole, const struct night_target_plan *plan,
                       bool backfill, GError **error)
{
    struct request request;
    struct entered entered = {0};
    struct part part = part_of(run->file, plan, backfill);
    const char *target = plan->machine.target.id;
    g_autofree char *identity = identity_of(run->night, target, backfill);
    g_autofree char *name =
        g_strdup_printf("%s %s%s", run->night->name, run->night->date, backfill ? " backfill" : "");
    const struct enter_order order = {
        .night = run->night->id,
        .backfill = backfill,
        .name = name,
        .identity = identity,
        .jobs = (const struct job_plan *)(const void *)part.jobs->data,
        .count = (int)part.jobs->len,
        .uncovered = plan->uncovered,
        .left_out = plan->left_out,
    };
    request_init(&request, 0);
    night_file_request(run->file, plan->wanted, &request);
    request.networks = networks_of(sources);
    request.budget_seconds = budget_of(run->file, whole, &part);
    /* The backfill goes on beside other work after the deadline; the next night takes it over. */
    request.deadline_unix = backfill ? 0 : run->night->deadline_unix;
    if (backfill)
        request.priority = (int)run->file->backfill_priority;
    bool ok = order.count == 0 ||
              (enter_night(run->store, &request, &plan->machine, &order, &entered, error) &&
               store_name_night(run->store, entered.campaign->id, run->night->date, error));
    if (ok && entered.campaign)
        cli_note("  campaign %" G_GINT64_FORMAT " on %s: %d jobs%s%s\n", entered.campaign->id,
                 target, order.count, backfill ? ", backfill" : "",
                 entered.existed ? ", made before" : "");
    entered_clear(&entered);
    request_clear(&request);
    part_clear(&part);
    return ok;
}

/* The night's row of the target, if its campaigns were made by a process that ended before the step did; else NULL. */
static const struct night_target *find_entered(const GPtrArray *made, const char *target)
{
    for (guint i = 0; i < made->len; i++) {
        const struct night_target *each = made->pdata[i];
        if (strcmp(each->target, target) == 0 && (each->campaign || each->backfill_campaign))
            return each;
    }
    return NULL;
}

static bool put_target(struct night_run *run, const struct night_target_plan *plan, GError **error)
{
    g_autofree char *id = g_strdup(plan->machine.target.id);
    g_autofree char *stack = g_strdup(plan->wanted->stack ? plan->wanted->stack : "");
    struct night_target target = {
        .target = id, .stack = stack, .baseline = (int)run->file->golden.version};
    if (target.baseline == NIGHT_GOLDEN_LATEST &&
        !store_newest_golden(run->store, id, &target.baseline, error))
        return false;
    target.plan = night_target_plan_json(plan);
    bool ok = store_put_night_target(run->store, run->night->id, &target, error);
    json_decref(target.plan);
    return ok;
}

/* Makes the target's campaigns. Where they were made before, workers may have done jobs since, so that tonight's plan
 * would not have them any more: the plan that the campaigns were made from stays. */
static bool enter_target(struct night_run *run, const struct night_sources *sources,
                         const struct night_plan *whole, const struct night_target_plan *plan,
                         const GPtrArray *made, GError **error)
{
    const struct night_target *entered = find_entered(made, plan->machine.target.id);
    if (!entered && !put_target(run, plan, error))
        return false;
    /* The main campaign is made first. */
    return (entered || enter_part(run, sources, whole, plan, false, error)) &&
           ((entered && entered->backfill_campaign) ||
            enter_part(run, sources, whole, plan, true, error));
}

/* Adds the pairs of a target's plan, as night_target_plan_json() made it, to the counts by reason. */
static void count_reasons(const json_t *plan, int counts[NIGHT_REASON_COUNT + 1])
{
    size_t i;
    json_t *each;
    json_array_foreach (json_object_get(plan, "reasons"), i, each) {
        json_int_t reason = json_integer_value(json_object_get(each, "number"));
        if (reason >= 1 && reason <= NIGHT_REASON_COUNT)
            counts[reason] += (int)json_integer_value(json_object_get(each, "pairs"));
    }
}

/* Names targets with problems that none of the night's solvers serves: nobody tunes these, on any night. */
static void say_uncovered(const GPtrArray *targets, GString *detail)
{
    for (guint i = 0; i < targets->len; i++) {
        const struct night_target *target = targets->pdata[i];
        int uncovered = (int)json_integer_value(json_object_get(target->plan, "uncovered"));
        if (uncovered > 0)
            g_string_append_printf(detail, "; no solver serves %d problems on %s", uncovered,
                                   target->target);
    }
}

/* Says how many jobs the night has, and why. *jobs: how many. */
static bool say_planned(struct night_run *run, GString *detail, int *jobs, GError **error)
{
    g_autoptr(GPtrArray) targets = store_list_night_targets(run->store, run->night->id, error);
    int counts[NIGHT_REASON_COUNT + 1] = {0};
    *jobs = 0;
    for (guint i = 0; targets && i < targets->len; i++) {
        const struct night_target *target = targets->pdata[i];
        if (target->campaign || target->backfill_campaign)
            *jobs += (int)json_integer_value(json_object_get(target->plan, "jobs"));
        count_reasons(target->plan, counts);
    }
    g_string_append_printf(detail, "%d jobs", *jobs);
    const char *between = ": ";
    for (int reason = 1; reason <= NIGHT_REASON_COUNT; reason++) {
        if (counts[reason] == 0)
            continue;
        g_string_append_printf(detail, "%s%d %s", between, counts[reason],
                               night_reason_name((enum night_reason)reason));
        between = ", ";
    }
    if (targets)
        say_uncovered(targets, detail);
    return targets != NULL;
}

static enum night_outcome enter_all(struct night_run *run, const struct night_sources *sources,
                                    const struct night_plan *plan, GString *detail, GError **error)
{
    int ended = 0, jobs = 0;
    if (!store_end_earlier_nights(run->store, run->night->id, &ended, error))
        return NIGHT_STEP_FAILED;
    if (ended > 0)
        cli_note("  %d campaigns of earlier nights end; tonight's take over what they measured\n",
                 ended);
    g_autoptr(GPtrArray) made = store_list_night_targets(run->store, run->night->id, error);
    if (!made)
        return NIGHT_STEP_FAILED;
    for (guint i = 0; i < plan->targets->len; i++)
        if (!enter_target(run, sources, plan, plan->targets->pdata[i], made, error))
            return NIGHT_STEP_FAILED;
    if (!say_planned(run, detail, &jobs, error))
        return NIGHT_STEP_FAILED;
    return jobs > 0 ? NIGHT_STEP_DONE : NIGHT_STEP_EMPTY;
}

enum night_outcome night_step_plan(struct night_run *run, GString *detail, GError **error)
{
    enum night_outcome outcome = NIGHT_STEP_FAILED;
    for (int i = 0; i < run->file->tell_count; i++) {
        const struct night_tell *tell = &run->file->tells[i];
        const struct tell_receiver receiver = {.webhook = tell->webhook,
                                               .secret_file = tell->secret_file};
        if (!tell_check(&receiver, error))
            return NIGHT_STEP_FAILED;
    }
    struct night_sources *sources = night_sources_read(run->store, run->file, error);
    struct night_plan *plan =
        sources ? night_plan_new(run->store, run->file, sources, run->night->date, error) : NULL;
    if (plan)
        outcome = enter_all(run, sources, plan, detail, error);
    if (plan)
        night_plan_free(plan);
    if (sources)
        night_sources_free(sources);
    return outcome;
}

/* ---- tuning ---- */

/* The night's campaigns, those of the backfill, too. GArray of int64_t. */
static GArray *campaigns_of(const GPtrArray *targets)
{
    GArray *ids = g_array_new(FALSE, FALSE, sizeof(int64_t));
    for (guint i = 0; i < targets->len; i++) {
        const struct night_target *target = targets->pdata[i];
        if (target->campaign != 0)
            g_array_append_val(ids, target->campaign);
        if (target->backfill_campaign != 0)
            g_array_append_val(ids, target->backfill_campaign);
    }
    return ids;
}

/* Has jobs measured again that were planned so: those whose campaign could take them over. The others are tuned. */
static bool measure_again(struct night_run *run, GError **error)
{
    g_autoptr(GArray) jobs = store_list_night_jobs_again(run->store, run->night->id, error);
    g_auto(GStrv) solvers = solver_pins();
    if (!jobs)
        return false;
    for (guint first = 0, last; first < jobs->len; first = last) {
        int64_t campaign = g_array_index(jobs, struct night_again_job, first).campaign;
        g_autoptr(GArray) chosen = g_array_new(FALSE, TRUE, sizeof(struct remeasure_job));
        struct remeasure_counts counts;
        for (last = first; last < jobs->len; last++) {
            const struct night_again_job *job = &g_array_index(jobs, struct night_again_job, last);
            const struct remeasure_job one = {.job = job->job};
            if (job->campaign != campaign)
                break;
            g_array_append_val(chosen, one);
        }
        if (!store_remeasure_jobs(run->store, campaign,
                                  (const struct remeasure_job *)(const void *)chosen->data,
                                  (int)chosen->len, REMEASURE_WINNERS | REMEASURE_DEFAULTS,
                                  (const char *const *)solvers, 0, &counts, error))
            return false;
    }
    return true;
}

/* Has unstable times, and those of rounds whose device drifted or was throttled, measured once more: neither a golden version nor an
 * export takes them. *jobs: how many. */
static bool measure_unstable(struct night_run *run, const GArray *campaigns, int64_t *jobs,
                             GError **error)
{
    g_auto(GStrv) solvers = solver_pins();
    const struct remeasure_wish wish = {.what = REMEASURE_UNSTABLE,
                                        .solvers = (const char *const *)solvers};
    for (guint i = 0; i < campaigns->len; i++) {
        int64_t id = g_array_index(campaigns, int64_t, i);
        struct remeasure_counts counts = {0};
        struct campaign *campaign = store_get_campaign(run->store, id, error);
        bool done = campaign && strcmp(campaign->state, "done") == 0;
        if (!campaign)
            return false;
        campaign_free(campaign);
        if (done && !store_remeasure(run->store, id, &wish, &counts, error))
            return false;
        *jobs += counts.jobs;
    }
    return true;
}

static bool say_tuned(struct night_run *run, GString *detail, GError **error)
{
    struct night *night = store_get_night(run->store, run->night->id, error);
    if (!night)
        return false;
    g_string_append_printf(detail, "%d jobs done, %d failed, %d unfinished", night->jobs_done,
                           night->jobs_failed, night->jobs_unfinished);
    if (night->jobs_open > 0)
        g_string_append_printf(detail, ", %d of the backfill go on", night->jobs_open);
    night_free(night);
    return true;
}

enum night_outcome night_step_tune(struct night_run *run, GString *detail, GError **error)
{
    g_autoptr(GPtrArray) targets = store_list_night_targets(run->store, run->night->id, error);
    if (!targets)
        return NIGHT_STEP_FAILED;
    g_autoptr(GArray) campaigns = campaigns_of(targets);
    if (!night_is_overdue(run->night) && !measure_again(run, error))
        return NIGHT_STEP_FAILED;
    enum night_outcome outcome = night_wait(run, campaigns, error);
    int64_t unstable = 0;
    if (outcome == NIGHT_STEP_DONE && !night_is_overdue(run->night)) {
        if (!measure_unstable(run, campaigns, &unstable, error))
            return NIGHT_STEP_FAILED;
        if (unstable > 0) {
            cli_note("  %" G_GINT64_FORMAT " jobs with unstable times are measured once more\n",
                     (gint64)unstable);
            outcome = night_wait(run, campaigns, error);
        }
    }
    if (outcome != NIGHT_STEP_DONE)
        return outcome;
    return store_end_night_jobs(run->store, run->night->id, error) && say_tuned(run, detail, error)
               ? NIGHT_STEP_DONE
               : NIGHT_STEP_FAILED;
}

/* ---- gathering and judging ---- */

static bool gather(struct night_run *run, const GPtrArray *targets, GError **error)
{
    g_autoptr(GArray) campaigns = campaigns_of(targets);
    for (guint i = 0; i < campaigns->len; i++)
        if (!store_gather_history(run->store, g_array_index(campaigns, int64_t, i), NULL, error))
            return false;
    return true;
}

enum night_outcome night_step_gather(struct night_run *run, GString *detail, GError **error)
{
    g_autoptr(GPtrArray) targets = store_list_night_targets(run->store, run->night->id, error);
    if (!targets || !gather(run, targets, error))
        return NIGHT_STEP_FAILED;
    g_string_append_printf(detail, "the history of %u targets", targets->len);
    return NIGHT_STEP_DONE;
}

/* Judges the target's night. Suspects that the last judged night could not measure again are compared with the same
 * reference as in that night: a slow-down would be its own reference otherwise, and never be reported. */
static Regressions *judge_target(struct night_run *run, const struct night_sources *sources,
                                 const struct night_target *target, GError **error)
{
    g_autoptr(Regressions) last = NULL;
    if (!regressions_read_last(run->store, run->file->name, run->night->date, target->target, &last,
                               error))
        return NULL;
    struct regression_limits limits = REGRESSION_LIMITS;
    limits.percent = run->file->regressions.percent;
    limits.alpha = run->file->regressions.alpha;
    limits.nodes = (int)run->file->regressions.nodes;
    const struct regression_question question = {.target = target->target,
                                                 .night = run->night->date,
                                                 .golden = target->baseline,
                                                 .sources = sources,
                                                 .last = last};
    g_autoptr(GPtrArray) problems = regression_points_read(run->store, &question, error);
    return problems ? regressions_judge(target->target, target->baseline, problems, &limits) : NULL;
}

static bool keep_judgement(struct night_run *run, const char *target, const Regressions *judged,
                           GError **error)
{
    json_t *json = regressions_to_json(judged);
    bool kept = store_judge_night_target(run->store, run->night->id, target, json, error);
    json_decref(json);
    return kept;
}

static int count_state(const Regressions *judged, enum regression_state state)
{
    return regressions_count(judged, REGRESSION_SLOWER, state) +
           regressions_count(judged, REGRESSION_FASTER, state) +
           regressions_count(judged, REGRESSION_FAILED, state);
}

enum night_outcome night_step_judge(struct night_run *run, GString *detail, GError **error)
{
    g_autoptr(GPtrArray) targets = store_list_night_targets(run->store, run->night->id, error);
    struct night_sources *sources =
        targets ? night_sources_read(run->store, run->file, error) : NULL;
    int suspects = 0, tests = 0;
    bool ok = sources != NULL;
    for (guint i = 0; ok && i < targets->len; i++) {
        const struct night_target *target = targets->pdata[i];
        g_autoptr(Regressions) judged = judge_target(run, sources, target, error);
        ok = judged && keep_judgement(run, target->target, judged, error);
        if (ok) {
            suspects += count_state(judged, REGRESSION_SUSPECT);
            tests += judged->tests;
        }
    }
    if (sources)
        night_sources_free(sources);
    g_string_append_printf(detail, "%d suspects in %d tests", suspects, tests);
    return !ok ? NIGHT_STEP_FAILED : suspects > 0 ? NIGHT_STEP_DONE : NIGHT_STEP_EMPTY;
}

/* ---- confirming ---- */

/* Finds the job of the wish in its campaign; 0 if it is not of this night. */
static int64_t job_of_wish(const GPtrArray *jobs, const struct regression_wish *wish)
{
    for (guint i = 0; i < jobs->len; i++) {
        const struct night_job *job = jobs->pdata[i];
        if (job->campaign == wish->campaign && job->problem_id == wish->problem_id &&
            strcmp(job->solver, wish->solver) == 0)
            return job->job;
    }
    return 0;
}

/* Reads configs as texts. GArray of struct perf_config. */
static GArray *configs_of_wish(const struct regression_wish *wish)
{
    GArray *configs = g_array_new(FALSE, FALSE, sizeof(struct perf_config));
    for (guint i = 0; i < wish->configs->len; i++) {
        const char *text = wish->configs->pdata[i];
        struct perf_config config;
        int count = text[0] == '\0' ? 0 : 1;
        for (const char *at = text; *at; at++)
            count += *at == ',';
        if (count <= CONFIG_MAX && perf_config_parse(text, count, &config, NULL))
            g_array_append_val(configs, config);
    }
    return configs;
}

/* The wishes of one campaign, as jobs to measure again. */
struct asked {
    GArray *jobs;       /* struct remeasure_job */
    GPtrArray *configs; /* GArray *: those of the jobs */
};

/* Asks for the wish on its node, if the node has a worker, and on another one, if it is wanted and there is one. */
static void add_wish(struct asked *asked, const struct regression_wish *wish, int64_t job,
                     char *const *nodes)
{
    GArray *configs = configs_of_wish(wish);
    const char *node = wish->node && wish->node[0] ? wish->node : NULL;
    bool has_other = false;
    g_ptr_array_add(asked->configs, configs);
    if (configs->len == 0)
        return;
    struct remeasure_job one = {.job = job,
                                .configs = (const struct perf_config *)(const void *)configs->data,
                                .config_count = (int)configs->len};
    for (char *const *other = nodes; *other; other++)
        has_other = has_other || g_strcmp0(*other, node) != 0;
    if (!node || g_strv_contains((const char *const *)nodes, node)) {
        one.only_node = node;
        g_array_append_val(asked->jobs, one);
    }
    one.only_node = NULL;
    one.not_node = node;
    if (node && wish->elsewhere && has_other)
        g_array_append_val(asked->jobs, one);
}

/* Returns true if the campaign has measured the job again before: a process asked for it, and was killed. */
static bool was_measured(const GPtrArray *measured, int64_t job)
{
    for (guint i = 0; i < measured->len; i++)
        if (((const struct remeasured *)measured->pdata[i])->job == job)
            return true;
    return false;
}

static void free_configs(gpointer data)
{
    g_array_unref(data);
}

/* Has the target's suspects measured again. Adds to *jobs how many are. Jobs that are measured again already are left
 * as they are. */
static bool ask_campaign(struct night_run *run, int64_t campaign, const GPtrArray *wishes,
                         const GPtrArray *jobs, int64_t *count, GError **error)
{
    g_auto(GStrv) nodes = store_list_measuring_nodes(run->store, campaign, error);
    g_autoptr(GPtrArray) measured =
        nodes ? store_list_remeasured(run->store, campaign, error) : NULL;
    g_auto(GStrv) solvers = solver_pins();
    struct remeasure_counts counts = {0};
    if (!measured)
        return false;
    struct asked asked = {.jobs = g_array_new(FALSE, TRUE, sizeof(struct remeasure_job)),
                          .configs = g_ptr_array_new_with_free_func(free_configs)};
    for (guint i = 0; i < wishes->len; i++) {
        const struct regression_wish *wish = wishes->pdata[i];
        int64_t job = wish->campaign == campaign ? job_of_wish(jobs, wish) : 0;
        if (job != 0 && !was_measured(measured, job))
            add_wish(&asked, wish, job, nodes);
    }
    bool ok = asked.jobs->len == 0 ||
              store_remeasure_jobs(run->store, campaign,
                                   (const struct remeasure_job *)(const void *)asked.jobs->data,
                                   (int)asked.jobs->len, 0, (const char *const *)solvers,
                                   NIGHT_NODE_WAIT_SECONDS, &counts, error);
    *count += counts.jobs + counts.under_way;
    g_array_unref(asked.jobs);
    g_ptr_array_unref(asked.configs);
    return ok;
}

static bool ask_target(struct night_run *run, const struct night_target *target, int64_t *count,
                       GError **error)
{
    const struct night_job_query query = {
        .night = run->night->id, .target = target->target, .reason = -1};
    g_autoptr(Regressions) judged = regressions_from_json(target->judged, error);
    g_autoptr(GPtrArray) jobs = judged ? store_list_night_jobs(run->store, &query, error) : NULL;
    if (!jobs)
        return false;
    g_autoptr(GPtrArray) wishes = regressions_wishes(judged);
    return (target->campaign == 0 ||
            ask_campaign(run, target->campaign, wishes, jobs, count, error)) &&
           (target->backfill_campaign == 0 ||
            ask_campaign(run, target->backfill_campaign, wishes, jobs, count, error));
}

enum night_outcome night_step_confirm(struct night_run *run, GString *detail, GError **error)
{
    g_autoptr(GPtrArray) targets = store_list_night_targets(run->store, run->night->id, error);
    int64_t asked = 0;
    if (!targets)
        return NIGHT_STEP_FAILED;
    if (night_is_overdue(run->night)) {
        g_string_append(detail, "the deadline has passed: no suspect is measured again");
        return NIGHT_STEP_DONE;
    }
    if (run->file->regressions.nodes == 0) {
        g_string_append(detail, "suspects are not to be measured again");
        return NIGHT_STEP_DONE;
    }
    for (guint i = 0; i < targets->len; i++)
        if (!ask_target(run, targets->pdata[i], &asked, error))
            return NIGHT_STEP_FAILED;
    g_autoptr(GArray) campaigns = campaigns_of(targets);
    g_string_append_printf(detail, "%" G_GINT64_FORMAT " suspects measured again", (gint64)asked);
    return night_wait(run, campaigns, error);
}

static bool settle_target(struct night_run *run, const struct night_target *target, int *confirmed,
                          GError **error)
{
    g_autoptr(Regressions) judged = regressions_from_json(target->judged, error);
    const int64_t campaigns[] = {target->campaign, target->backfill_campaign};
    if (!judged)
        return false;
    for (gsize i = 0; i < G_N_ELEMENTS(campaigns); i++)
        if (campaigns[i] != 0 &&
            !regression_points_again(run->store, judged, campaigns[i], NULL, error))
            return false;
    regressions_judge_again(judged);
    *confirmed += count_state(judged, REGRESSION_CONFIRMED);
    return keep_judgement(run, target->target, judged, error);
}

enum night_outcome night_step_settle(struct night_run *run, GString *detail, GError **error)
{
    g_autoptr(GPtrArray) targets = store_list_night_targets(run->store, run->night->id, error);
    int confirmed = 0;
    if (!targets || !gather(run, targets, error))
        return NIGHT_STEP_FAILED;
    for (guint i = 0; i < targets->len; i++)
        if (!settle_target(run, targets->pdata[i], &confirmed, error))
            return NIGHT_STEP_FAILED;
    g_string_append_printf(detail, "%d suspects are confirmed", confirmed);
    return NIGHT_STEP_DONE;
}
