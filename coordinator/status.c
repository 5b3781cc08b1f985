/* `skipjack status`: the farm at a glance. */
#include "coordinator/cli.h"
#include "coordinator/commands.h"
#include "coordinator/lists.h"
#include "schema/database.h"

#include <stdio.h>
#include <string.h>

#define SHOWN_EVENTS 8

static const struct table_column worker_columns[] = {
    {"worker", "id", TABLE_INT, 0},
    {"node", "node", TABLE_TEXT, 0},
    {"target", "target", TABLE_TEXT, 0},
    {"leases", "leases", TABLE_INT, 0},
    {"last beat s", "beat_age_seconds", TABLE_NUMBER, 0},
    {NULL, "process", TABLE_TEXT, 0},
};

Table *list_workers(Store *store, GError **error)
{
    g_autoptr(GPtrArray) workers = store_list_workers(store, NULL, error);
    if (!workers)
        return NULL;
    Table *table = table_new(worker_columns, G_N_ELEMENTS(worker_columns));
    for (guint i = 0; i < workers->len; i++) {
        const struct worker_row *worker = g_ptr_array_index(workers, i);
        if (worker->ended)
            continue;
        table_int(table, worker->id);
        table_text(table, worker->node);
        table_text(table, worker->target[0] ? worker->target : "builds only");
        table_int(table, worker->leases);
        table_number(table, worker->beat_age_seconds);
        table_text(table, worker->process);
    }
    return table;
}

static const struct table_column event_columns[] = {
    {"when", "when", TABLE_TEXT, 0},        {NULL, "at_unix", TABLE_INT, 0},
    {"campaign", "campaign", TABLE_INT, 0}, {"job", "job", TABLE_INT, 0},
    {"worker", "worker", TABLE_INT, 0},     {"event", "event", TABLE_TEXT, 0},
    {"detail", "detail", TABLE_TEXT, 0},
};

Table *list_events(Store *store, int64_t campaign, int limit, GError **error)
{
    g_autoptr(GPtrArray) events = store_list_events(store, campaign, limit, error);
    if (!events)
        return NULL;
    Table *table = table_new(event_columns, G_N_ELEMENTS(event_columns));
    for (guint i = 0; i < events->len; i++) {
        const struct event_row *event = g_ptr_array_index(events, i);
        g_autofree char *when = list_time_text(event->at_unix);
        table_text(table, when);
        table_int(table, event->at_unix);
        table_int(table, event->campaign);
        table_int(table, event->job);
        table_int(table, event->worker);
        table_text(table, event->kind);
        table_text(table, event->detail);
    }
    return table;
}

static const struct table_column refusal_columns[] = {
    {"campaign", "campaign", TABLE_INT, 0},
    {"workers", "workers", TABLE_INT, 0},
    {"one of them", "node", TABLE_TEXT, 0},
    {"is not admitted, for", "reason", TABLE_TEXT, 0},
};

/* A row for each reason of a campaign: they stand next to each other. */
static Table *list_refusals(Store *store, GError **error)
{
    g_autoptr(GPtrArray) refusals = store_list_refusals(store, 0, 0, error);
    if (!refusals)
        return NULL;
    Table *table = table_new(refusal_columns, G_N_ELEMENTS(refusal_columns));
    for (guint i = 0, same; i < refusals->len; i += same) {
        const struct refusal_row *first = g_ptr_array_index(refusals, i);
        for (same = 1; i + same < refusals->len; same++) {
            const struct refusal_row *next = g_ptr_array_index(refusals, i + same);
            if (next->campaign != first->campaign || strcmp(next->reason, first->reason) != 0)
                break;
        }
        table_int(table, first->campaign);
        table_int(table, same);
        table_text(table, first->node);
        table_text(table, first->reason);
    }
    return table;
}

/* ---- status ---- */

struct farm {
    char *database;
    bool embedded;
    struct progress sum; /* over the campaigns that are active or paused */
    Table *campaigns, *workers, *refusals, *events;
};

static void farm_clear(struct farm *farm)
{
    g_free(farm->database);
    table_free(farm->campaigns);
    table_free(farm->workers);
    table_free(farm->refusals);
    table_free(farm->events);
}

static bool sum_jobs(Store *store, struct progress *sum, GError **error)
{
    g_autoptr(GPtrArray) campaigns = store_list_campaigns(store, error);
    for (guint i = 0; campaigns && i < campaigns->len; i++) {
        const struct campaign *campaign = g_ptr_array_index(campaigns, i);
        struct progress one = {0};
        if (campaign->jobs_open == 0)
            continue;
        if (!store_progress(store, campaign->id, &one, error))
            return false;
        sum->ready += one.ready;
        sum->building += one.building;
        sum->built += one.built;
        sum->evaluating += one.evaluating;
        sum->done += one.done;
        sum->failed += one.failed;
    }
    return campaigns != NULL;
}

static bool farm_read(Store *store, struct farm *farm, GError **error)
{
    farm->database = database_url(&farm->embedded, error);
    return farm->database && sum_jobs(store, &farm->sum, error) &&
           (farm->campaigns = list_campaigns(store, true, error)) &&
           (farm->workers = list_workers(store, error)) &&
           (farm->refusals = list_refusals(store, error)) &&
           (farm->events = list_events(store, 0, SHOWN_EVENTS, error));
}

static void farm_print(const struct farm *farm, const char *database)
{
    printf("Database: %s%s\n", database, farm->embedded ? " (embedded)" : "");
    if (table_rows(farm->campaigns) == 0)
        printf("\nNo campaign is active.\n");
    list_section("Campaigns", farm->campaigns);
    if (table_rows(farm->campaigns) > 0) {
        Table *states = list_job_states(&farm->sum);
        list_section("Their jobs", states);
        table_free(states);
    }
    if (table_rows(farm->workers) == 0)
        printf("\nNo worker is running; skipjack worker starts one.\n");
    list_section("Workers", farm->workers);
    list_section("Refused", farm->refusals);
    list_section("Latest events", farm->events);
}

static void farm_show_json(const struct farm *farm, const char *database)
{
    Table *states = list_job_states(&farm->sum);
    table_show_json(json_pack("{s:s, s:b, s:o, s:o, s:o, s:o, s:o}", "database", database,
                              "embedded", farm->embedded, "campaigns", table_json(farm->campaigns),
                              "jobs", table_json(states), "workers", table_json(farm->workers),
                              "refused", table_json(farm->refusals), "events",
                              table_json(farm->events)));
    table_free(states);
}

int command_status(int argc, char **argv)
{
    gboolean as_json = FALSE;
    const GOptionEntry options[] = {LIST_JSON_OPTION(&as_json), {0}};
    const struct cli cli = {
        .command = "status",
        .summary =
            "The farm at a glance: database, active campaigns, their jobs, workers, which of them a "
            "campaign does not admit and why, events.",
        .example = "skipjack status",
        .options = options,
    };
    if (!cli_parse(&cli, &argc, &argv))
        return CLI_USAGE;
    GError *error = NULL;
    struct farm farm = {0};
    g_autoptr(Store) store = database_open(true, &error);
    bool ok = store && farm_read(store, &farm, &error);
    if (ok) {
        g_autofree char *database = cli_hide_password(farm.database);
        if (as_json)
            farm_show_json(&farm, database);
        else
            farm_print(&farm, database);
    }
    farm_clear(&farm);
    return ok ? CLI_DONE : cli_fail("status", error);
}
