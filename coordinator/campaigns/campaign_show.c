/* `skipjack campaign list` and `show`. */
#include "coordinator/campaigns/campaign_verbs.h"
#include "coordinator/campaigns/enter.h"
#include "coordinator/campaigns/lists.h"
#include "coordinator/campaigns/origins.h"
#include "coordinator/campaigns/request.h"
#include "coordinator/campaigns/watch.h"
#include "coordinator/cli/cli.h"
#include "coordinator/cli/when.h"
#include "coordinator/plan/progress.h"
#include "schema/results/store_foreign.h"
#include "schema/server/database.h"
#include "schema/store/store_campaigns.h"
#include "schema/store/store_winners.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define SHOWN_EVENTS 10

static const struct table_column campaign_columns[] = {
    LIST_CAMPAIGN_COLUMNS,
    {"worked s", "spent_seconds", TABLE_NUMBER, 0},
    {"budget s", "budget_seconds", TABLE_NUMBER, 0},
    {"deadline", "deadline", TABLE_TEXT, 0},
    {NULL, "deadline_unix", TABLE_INT, 0},
    {"strategy", "strategy", TABLE_TEXT, 0},
    {"configs", "configs_limit", TABLE_INT, 0},
    {NULL, "close_configs", TABLE_INT, 0},
    {NULL, "search_seconds", TABLE_NUMBER, 0},
    {NULL, "min_gain", TABLE_NUMBER, 0},
    {"priority", "priority", TABLE_INT, 0},
    {"share", "share", TABLE_NUMBER, 0},
    {"pool", "pool", TABLE_TEXT, 0},
    {NULL, "seed", TABLE_INT, 0},
    {NULL, "build_only", TABLE_YES, 0},
    {NULL, "stack", TABLE_TEXT, 0},
    {NULL, "solvers", TABLE_TEXT, 0},
    {NULL, "limits", TABLE_TEXT, 0},
    {NULL, "created_unix", TABLE_INT, 0},
    {NULL, "foreign", TABLE_YES, 0},
};

static Table *list_campaigns(Store *store, GError **error)
{
    g_autoptr(GPtrArray) campaigns = store_list_campaigns(store, error);
    if (!campaigns)
        return NULL;
    Table *table = table_new(campaign_columns, G_N_ELEMENTS(campaign_columns));
    for (guint i = 0; i < campaigns->len; i++) {
        const struct campaign *campaign = g_ptr_array_index(campaigns, i);
        const struct list_campaign first = {
            campaign->id,   campaign->name,      campaign->target,      campaign->state,
            campaign->jobs, campaign->jobs_done, campaign->jobs_failed, campaign->jobs_open};
        list_campaign_cells(table, &first);
        table_number(table, campaign->spent_seconds);
        table_number(table, campaign->budget_seconds);
        g_autofree char *deadline =
            campaign->deadline_unix ? when_format(campaign->deadline_unix) : NULL;
        table_text(table, deadline);
        table_int(table, campaign->deadline_unix);
        table_text(table, campaign->strategy);
        table_int(table, campaign->configs_limit);
        table_int(table, campaign->close_configs);
        table_number(table, campaign->search_seconds);
        table_number(table, campaign->min_gain);
        table_int(table, campaign->priority);
        table_number(table, campaign->share);
        table_text(table, campaign->pool);
        table_int(table, campaign->seed);
        table_yes(table, campaign->build_only);
        g_autofree char *limits = context_limits_text(&campaign->limits);
        table_text(table, campaign->stack);
        table_text(table, campaign->solvers);
        table_text(table, limits);
        table_int(table, campaign->created_unix);
        table_yes(table, campaign_is_foreign(campaign));
    }
    return table;
}

int campaign_verb_list(int argc, char **argv)
{
    const struct cli cli = {
        .command = "campaign list",
        .summary = "All campaigns that were not dropped.",
        .example = "skipjack campaign list",
    };
    return list_command(&cli, list_campaigns, argc, argv);
}

/* ---- show ---- */

static const struct table_column state_columns[] = {
    {"state", "state", TABLE_TEXT, 0},
    {"jobs", "jobs", TABLE_INT, 0},
};

static Table *list_job_states(const struct progress *progress)
{
    const struct {
        const char *name;
        int jobs;
    } states[] = {
        {"ready", progress->ready}, {"building", progress->building},
        {"built", progress->built}, {"evaluating", progress->evaluating},
        {"done", progress->done},   {"failed", progress->failed},
    };
    Table *table = table_new(state_columns, G_N_ELEMENTS(state_columns));
    for (gsize i = 0; i < G_N_ELEMENTS(states); i++) {
        table_text(table, states[i].name);
        table_int(table, states[i].jobs);
    }
    return table;
}

static const struct table_column failure_columns[] = {
    {"jobs failed", "jobs", TABLE_INT, 0},
    {"reason", "reason", TABLE_TEXT, 0},
    {"one of them", "detail", TABLE_TEXT, 0},
};

static Table *list_failures(Store *store, int64_t campaign, GError **error)
{
    g_autoptr(GPtrArray) rows = store_list_job_failures(store, campaign, error);
    if (!rows)
        return NULL;
    Table *table = table_new(failure_columns, G_N_ELEMENTS(failure_columns));
    for (guint i = 0; i < rows->len; i++) {
        const struct job_failures *row = g_ptr_array_index(rows, i);
        table_int(table, row->jobs);
        table_text(table, failure_name(row->failure));
        table_text(table, row->detail);
    }
    return table;
}

/* All values that `campaign show` prints. */
struct shown {
    struct campaign *campaign;
    struct progress progress;
    struct enter_notes notes;
    /* what a foreign campaign holds: imported times and params; zeros for other campaigns */
    struct foreign_counts foreign;
    /* number of jobs whose search began with winners of earlier campaigns */
    int64_t priors;
    /* NULL-terminated: the versions of networks ("NAME@NUMBER") that the campaign was made for */
    char **networks;
    struct job_origins origins;
    bool has_origins;
    char *nobody; /* why no running worker takes the campaign's jobs; NULL if one may */
    Table *failures, *events;
    Table *jobs; /* the campaign's jobs one by one; NULL if not asked for */
};

static void shown_clear(struct shown *shown)
{
    if (shown->campaign)
        campaign_free(shown->campaign);
    g_strfreev(shown->networks);
    g_free(shown->nobody);
    enter_notes_clear(&shown->notes);
    table_free(shown->failures);
    table_free(shown->events);
    table_free(shown->jobs);
}

static bool shown_read(struct shown *shown, Store *store, int64_t id, bool with_jobs,
                       GError **error)
{
    shown->campaign = store_get_campaign(store, id, error);
    if (!shown->campaign || !store_count_foreign(store, id, &shown->foreign, error) ||
        !store_progress(store, id, &shown->progress, error) ||
        !store_count_priors(store, id, &shown->priors, error) ||
        !store_count_origins(store, id, &shown->origins, &shown->has_origins, error) ||
        !(shown->networks = store_campaign_networks(store, id, error)) ||
        !enter_read_notes(store, id, &shown->notes, error))
        return false;
    if (strcmp(shown->campaign->state, "active") == 0)
        shown->nobody = watch_why_nobody(store, id);
    shown->failures = list_failures(store, id, error);
    shown->events = shown->failures ? list_events(store, id, SHOWN_EVENTS, error) : NULL;
    if (shown->events && with_jobs && !campaign_is_foreign(shown->campaign))
        shown->jobs = origins_list_jobs(store, id, error);
    return shown->events && (shown->jobs || !with_jobs || campaign_is_foreign(shown->campaign));
}

static void print_foreign(const struct shown *shown)
{
    const struct campaign *campaign = shown->campaign;
    printf("Campaign %" G_GINT64_FORMAT " %s on %s, foreign: somebody else measured it, nothing of "
           "it was verified here\n%" G_GINT64_FORMAT " times of %" G_GINT64_FORMAT
           " problems, %" G_GINT64_FORMAT " perf configs\n",
           campaign->id, campaign->name, campaign->target, shown->foreign.times,
           shown->foreign.problems, shown->foreign.params);
}

static void print_head(const struct shown *shown)
{
    const struct campaign *campaign = shown->campaign;
    g_autofree char *text = progress_text(&shown->progress, 0, NAN);
    printf("Campaign %" G_GINT64_FORMAT "%s%s on %s, %s%s\n", campaign->id,
           campaign->name[0] ? " " : "", campaign->name, campaign->target, campaign->state,
           campaign->build_only ? ", build only" : "");
    printf("priority %d, share %g, pool %s\n", campaign->priority, campaign->share,
           campaign->pool[0] ? campaign->pool : "any");
    g_autofree char *ends = request_search_ends_text(campaign);
    printf("%s, seed %" G_GINT64_FORMAT ", at most %d configs a job (0: all)%s, stack %s\n%s\n",
           campaign->strategy, campaign->seed, campaign->configs_limit, ends,
           campaign->stack[0] ? campaign->stack : "any", text);
    g_autofree char *networks = g_strjoinv(", ", shown->networks);
    if (networks[0])
        printf("made for %s\n", networks);
    g_autofree char *deadline = when_format(campaign->deadline_unix);
    if (campaign->deadline_unix)
        printf("deadline %s\n", deadline);
    g_autofree char *limits = context_limits_text(&campaign->limits);
    printf("solvers: %s\n", campaign->solvers[0] ? campaign->solvers : "all");
    if (limits)
        printf("limits: %s\n", limits);
    g_autofree char *trusted = g_strjoinv(", ", campaign->trusted);
    if (trusted[0])
        printf("trusted to build code for CPUs: %s\n", trusted);
    g_autofree char *origins = origins_text(&shown->origins);
    if (shown->has_origins)
        printf("finished before: %d jobs; to tune: %s; %" G_GINT64_FORMAT " configs taken over\n",
               shown->origins.jobs[JOB_REASON_ANSWERED], origins, shown->origins.configs);
    if (shown->priors > 0)
        printf("%" G_GINT64_FORMAT " jobs began with configs that won nearby\n", shown->priors);
    g_autofree char *left_out = enter_left_out_text(shown->notes.left_out);
    if (shown->notes.left_out > 0)
        printf("not planned: %s\n", left_out);
    if (shown->nobody)
        printf("%s\n", shown->nobody);
    putchar('\n');
}

static json_t *shown_json(const struct shown *shown, Table *states)
{
    const struct campaign *campaign = shown->campaign;
    const struct progress *progress = &shown->progress;
    json_t *json = json_pack(
        "{s:I, s:s, s:s, s:s, s:f, s:f, s:I, s:i, s:i, s:i, s:o, s:o, s:o, s:b, s:I}", "id",
        (json_int_t)campaign->id, "name", campaign->name, "target", campaign->target, "state",
        campaign->state, "spent_seconds", progress->spent_seconds, "budget_seconds",
        progress->budget_seconds, "configs_done", (json_int_t)progress->configs_done,
        "ended_by_budget", progress->ended_by_budget, "untried", progress->untried_by_budget,
        "left_out", shown->notes.left_out, "jobs", table_json(states), "failures",
        table_json(shown->failures), "events", table_json(shown->events), "foreign",
        campaign_is_foreign(campaign), "priors", (json_int_t)shown->priors);
    json_t *networks = json_array();
    for (char **network = shown->networks; *network; network++)
        json_array_append_new(networks, json_string(*network));
    json_object_set_new(json, "networks", networks);
    json_t *trusted = json_array();
    for (char **login = campaign->trusted; *login; login++)
        json_array_append_new(trusted, json_string(*login));
    json_object_set_new(json, "trusted", trusted);
    if (shown->has_origins) {
        json_object_set_new(json, "reasons", origins_json(&shown->origins));
        json_object_set_new(json, "configs_taken", json_integer(shown->origins.configs));
    }
    if (shown->jobs)
        json_object_set_new(json, "job_list", table_json(shown->jobs));
    json_object_set_new(json, "nobody_works",
                        shown->nobody ? json_string(shown->nobody) : json_null());
    if (campaign->deadline_unix)
        json_object_set_new(json, "deadline_unix", json_integer(campaign->deadline_unix));
    json_object_set_new(json, "final_seconds", json_real(campaign->final_seconds));
    json_object_set_new(json, "finals_left", json_integer(progress->finals_left));
    json_object_update_new(json, request_limits_json(campaign));
    if (campaign_is_foreign(campaign)) {
        json_object_set_new(json, "times", json_integer(shown->foreign.times));
        json_object_set_new(json, "problems", json_integer(shown->foreign.problems));
        json_object_set_new(json, "params", json_integer(shown->foreign.params));
    }
    return json;
}

static void show_all(const struct shown *shown, bool as_json)
{
    Table *states = list_job_states(&shown->progress);
    if (as_json) {
        table_show_json(shown_json(shown, states));
    } else if (campaign_is_foreign(shown->campaign)) {
        print_foreign(shown);
    } else {
        print_head(shown);
        table_print(states, stdout);
        if (shown->jobs)
            table_section("its jobs", shown->jobs);
        table_section("failures", shown->failures);
        table_section("latest events", shown->events);
    }
    table_free(states);
}

static int show(int64_t id, bool with_jobs, bool as_json)
{
    GError *error = NULL;
    struct shown shown = {0};
    g_autoptr(Store) store = database_open(as_json, &error);
    bool ok = store && shown_read(&shown, store, id, with_jobs, &error);
    if (ok)
        show_all(&shown, as_json);
    shown_clear(&shown);
    return ok ? CLI_DONE : cli_fail("campaign show", error);
}

int campaign_verb_show(int argc, char **argv)
{
    gboolean as_json = FALSE, with_jobs = FALSE;
    const GOptionEntry options[] = {
        {"jobs", 0, 0, G_OPTION_ARG_NONE, &with_jobs,
         "each job too: why it is tuned, and how many configs it took over", NULL},
        CLI_JSON_OPTION(&as_json),
        {0},
    };
    const struct cli cli = {
        .command = "campaign show",
        .arguments = "ID",
        .summary = "One campaign: its jobs by state, failures by reason, latest events.",
        .example = "skipjack campaign show 3",
        .options = options,
        .least = 1,
        .most = 1,
    };
    int64_t id = 0;
    GError *error = NULL;
    if (!cli_parse(&cli, &argc, &argv))
        return CLI_USAGE;
    return cli_parse_id(argv[1], &id, &error) ? show(id, with_jobs, as_json)
                                              : cli_fail("campaign show", error);
}
