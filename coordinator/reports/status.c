/* `skipjack status`: the farm at a glance. */
#include "coordinator/campaigns/lists.h"
#include "coordinator/cli/cli.h"
#include "coordinator/cli/table.h"
#include "coordinator/cli/when.h"
#include "coordinator/commands.h"
#include "coordinator/plan/progress.h"
#include "schema/farm/farm.h"
#include "schema/server/database.h"
#include "schema/store/store_events.h"
#include "schema/store/store_workers.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static void cell_duration(Table *table, double seconds)
{
    g_autofree char *text = isnan(seconds) ? NULL : when_duration(seconds);
    table_text(table, text);
}

/* ---- campaigns ---- */

static const struct table_column campaign_columns[] = {
    LIST_CAMPAIGN_COLUMNS,
    {"workers", "workers", TABLE_INT, 0},
    {"worked s", "spent_seconds", TABLE_NUMBER, 0},
    {"budget s", "budget_seconds", TABLE_NUMBER, 0},
    {"untried", "jobs_untried", TABLE_INT, 0},
    {"left", "left", TABLE_TEXT, 0},
    {"deadline in", "deadline_in", TABLE_TEXT, 0},
    {NULL, "deadline_seconds", TABLE_NUMBER, 0},
    {NULL, "eta_seconds", TABLE_NUMBER, 0},
    {NULL, "age_seconds", TABLE_NUMBER, 0},
};

static Table *farm_campaigns(const struct farm_state *farm)
{
    Table *table = table_new(campaign_columns, G_N_ELEMENTS(campaign_columns));
    for (guint i = 0; i < farm->campaigns->len; i++) {
        const struct farm_campaign *campaign = g_ptr_array_index(farm->campaigns, i);
        double eta = progress_farm_eta(campaign);
        const struct list_campaign first = {
            campaign->id,     campaign->name,
            campaign->target, campaign->state,
            campaign->jobs,   campaign->done,
            campaign->failed, campaign->jobs - campaign->done - campaign->failed};
        list_campaign_cells(table, &first);
        table_int(table, campaign->workers);
        table_number(table, campaign->spent_seconds);
        table_number(table, campaign->budget_seconds);
        table_int(table, campaign->untried);
        cell_duration(table, eta);
        double until = campaign->has_deadline ? campaign->deadline_seconds : NAN;
        if (until <= 0)
            table_text(table, "passed");
        else
            cell_duration(table, until);
        table_number(table, until);
        table_number(table, eta);
        table_number(table, campaign->age_seconds);
    }
    return table;
}

/* Returns the longest forecast of all campaigns, in seconds; NAN if none has a forecast. */
static double farm_eta(const struct farm_state *farm)
{
    double longest = NAN;
    for (guint i = 0; i < farm->campaigns->len; i++)
        longest = fmax(longest, progress_farm_eta(g_ptr_array_index(farm->campaigns, i)));
    return longest;
}

static const struct table_column job_columns[] = {
    {"state", "state", TABLE_TEXT, 0},
    {"jobs", "jobs", TABLE_INT, 0},
};

static Table *farm_jobs(const struct farm_state *farm)
{
    static const char *const names[] = {"ready",      "building", "built",
                                        "evaluating", "done",     "failed"};
    int64_t sums[G_N_ELEMENTS(names)] = {0};
    for (guint i = 0; i < farm->campaigns->len; i++) {
        const struct farm_campaign *c = g_ptr_array_index(farm->campaigns, i);
        const int64_t counts[] = {c->ready,      c->building, c->built,
                                  c->evaluating, c->done,     c->failed};
        for (size_t s = 0; s < G_N_ELEMENTS(names); s++)
            sums[s] += counts[s];
    }
    Table *table = table_new(job_columns, G_N_ELEMENTS(job_columns));
    for (size_t s = 0; s < G_N_ELEMENTS(names); s++) {
        table_text(table, names[s]);
        table_int(table, sums[s]);
    }
    return table;
}

static const struct table_column failure_columns[] = {
    {"reason", "reason", TABLE_TEXT, 0},
    {"jobs", "jobs", TABLE_INT, 0},
    {"configs of running workers", "configs", TABLE_INT, 0},
};

/* Returns the table of failures. Configs that were slow, or that wait to be measured, are not
 * failures. */
static Table *farm_failures(const struct farm_state *farm)
{
    Table *table = table_new(failure_columns, G_N_ELEMENTS(failure_columns));
    for (int f = FAILURE_NONE + 1; f < FAILURE_COUNT; f++) {
        int64_t jobs = 0, configs = 0;
        for (guint i = 0; i < farm->campaigns->len; i++)
            jobs +=
                ((const struct farm_campaign *)g_ptr_array_index(farm->campaigns, i))->failures[f];
        for (guint i = 0; i < farm->workers->len; i++)
            configs +=
                ((const struct farm_worker *)g_ptr_array_index(farm->workers, i))->failures[f];
        if ((jobs == 0 && configs == 0) || f == FAILURE_PENDING || f == FAILURE_SLOW)
            continue;
        table_text(table, failure_name((enum failure)f));
        table_int(table, jobs);
        table_int(table, configs);
    }
    return table;
}

/* ---- workers ---- */

static const struct table_column worker_columns[] = {
    {"worker", "id", TABLE_INT, 0},
    {"node", "node", TABLE_TEXT, 0},
    {"login", "login", TABLE_TEXT, 0},
    {"state", "state", TABLE_TEXT, 0},
    {"device", "target", TABLE_TEXT, 0},
    {"pools", "labels", TABLE_TEXT, 0},
    {"campaigns", "campaigns", TABLE_TEXT, 0},
    {"jobs", "leases", TABLE_INT, 0},
    {"last beat s", "beat_age_seconds", TABLE_NUMBER, 0},
};

static Table *farm_workers(const struct farm_state *farm)
{
    Table *table = table_new(worker_columns, G_N_ELEMENTS(worker_columns));
    for (guint i = 0; i < farm->workers->len; i++) {
        const struct farm_worker *worker = g_ptr_array_index(farm->workers, i);
        table_int(table, worker->id);
        table_text(table, worker->node);
        table_text(table, *worker->login ? worker->login : NULL);
        table_text(table, worker->state);
        table_text(table, *worker->target ? worker->target : "builds only");
        table_text(table, *worker->labels ? worker->labels : NULL);
        table_text(table, *worker->campaigns ? worker->campaigns : NULL);
        table_int(table, worker->jobs);
        table_number(table, worker->beat_age_seconds);
    }
    return table;
}

static const struct table_column device_columns[] = {
    {"worker", "worker", TABLE_INT, 0},   {"node", "node", TABLE_TEXT, 0},
    {"device", "device", TABLE_TEXT, 0},  {"target", "target", TABLE_TEXT, 0},
    {"PCI", "address", TABLE_TEXT, 0},    {"UUID", "uuid", TABLE_TEXT, 0},
    {"part", "partition", TABLE_TEXT, 0}, {"name", "name", TABLE_TEXT, 0},
    {"software", "stack", TABLE_TEXT, 0},
};

static Table *farm_devices(const struct farm_state *farm)
{
    Table *table = table_new(device_columns, G_N_ELEMENTS(device_columns));
    for (guint i = 0; i < farm->devices->len; i++) {
        const struct farm_device *device = g_ptr_array_index(farm->devices, i);
        const char *texts[] = {device->node, device->device,    device->target, device->address,
                               device->uuid, device->partition, device->name,   device->stack};
        table_int(table, device->worker);
        for (size_t t = 0; t < G_N_ELEMENTS(texts); t++)
            table_text(table, *texts[t] ? texts[t] : NULL);
    }
    return table;
}

static const struct table_column refusal_columns[] = {
    {"campaign", "campaign", TABLE_INT, 0},
    {"workers", "workers", TABLE_INT, 0},
    {"one of them", "node", TABLE_TEXT, 0},
    {"is not admitted, for", "reason", TABLE_TEXT, 0},
};

/* Returns a table with a row for each reason why a campaign refuses workers; rows of one campaign
 * follow each other. */
static Table *farm_refusals(const struct farm_state *farm)
{
    const GPtrArray *refusals = farm->refusals;
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

static const struct table_column rate_columns[] = {
    {"a minute", "what", TABLE_TEXT, 0},
    {"rate", "per_minute", TABLE_NUMBER, 1},
};

static Table *farm_rates(const struct farm_state *farm)
{
    const struct {
        const char *what;
        double per_second;
    } rates[] = {
        {"jobs", farm->database.jobs_rate},
        {"configs", farm->database.configs_rate},
        {"kernels", farm->database.kernels_rate},
    };
    Table *table = table_new(rate_columns, G_N_ELEMENTS(rate_columns));
    for (size_t i = 0; i < G_N_ELEMENTS(rates); i++) {
        table_text(table, rates[i].what);
        table_number(table, rates[i].per_second * 60);
    }
    return table;
}

/* ---- trouble ---- */

static const struct table_column service_columns[] = {
    {"what", "what", TABLE_TEXT, 0},        {"which", "which", TABLE_TEXT, 0},
    {"count", "count", TABLE_INT, 0},       {"since", "since", TABLE_TEXT, 0},
    {NULL, "age_seconds", TABLE_NUMBER, 0}, {"why", "why", TABLE_TEXT, 0},
};

static void add_trouble(Table *table, const char *what, const char *which, int64_t count,
                        double age, const char *why)
{
    table_text(table, what);
    table_text(table, which);
    table_int(table, count);
    cell_duration(table, age);
    table_number(table, age);
    table_text(table, why);
}

/* Returns a table of all that is out of service: devices, quarantined configs, targets that a node has no
 * toolchain for, and workers that failed or are lost. */
static Table *farm_out_of_service(const struct farm_state *farm)
{
    Table *table = table_new(service_columns, G_N_ELEMENTS(service_columns));
    for (guint i = 0; i < farm->devices_out->len; i++) {
        const struct farm_trouble *row = g_ptr_array_index(farm->devices_out, i);
        add_trouble(table, "device", row->name, row->count, row->age_seconds, row->detail);
    }
    for (guint i = 0; i < farm->quarantine->len; i++) {
        const struct farm_trouble *row = g_ptr_array_index(farm->quarantine, i);
        add_trouble(table, "quarantined configs", row->name, row->count, row->age_seconds,
                    "they crashed or hung; skipjack quarantine list");
    }
    for (guint i = 0; i < farm->no_toolchain->len; i++) {
        const struct farm_trouble *row = g_ptr_array_index(farm->no_toolchain, i);
        add_trouble(table, "no toolchain", row->name, row->count, row->age_seconds, row->detail);
    }
    for (guint i = 0; i < farm->failed_workers->len; i++) {
        const struct farm_trouble *row = g_ptr_array_index(farm->failed_workers, i);
        add_trouble(table, "worker failed", row->name, row->count, row->age_seconds, row->detail);
    }
    for (guint i = 0; i < farm->workers->len; i++) {
        const struct farm_worker *row = g_ptr_array_index(farm->workers, i);
        if (strcmp(row->state, "lost") == 0)
            add_trouble(table, "worker lost", row->node, 1, row->beat_age_seconds,
                        "it does not beat: its node, its network or the worker is gone");
    }
    return table;
}

static const struct table_column blocker_columns[] = {
    {"login", "login", TABLE_TEXT, 0},
    {"node", "nodes", TABLE_TEXT, 0},
    {"since", "since", TABLE_TEXT, 0},
    {NULL, "age_seconds", TABLE_NUMBER, 0},
    {"waiting", "waiting", TABLE_INT, 0},
    {NULL, "waited_seconds", TABLE_NUMBER, 0},
    {NULL, "pid", TABLE_INT, 0},
    {"ended by", "remedy", TABLE_TEXT, 0},
    {"what it does", "what", TABLE_TEXT, 0},
};

/* Returns a table of database sessions that block others, and how to end them. */
static Table *farm_blockers(const struct farm_state *farm)
{
    Table *table = table_new(blocker_columns, G_N_ELEMENTS(blocker_columns));
    for (guint i = 0; i < farm->blockers->len; i++) {
        const struct blocker *blocker = g_ptr_array_index(farm->blockers, i);
        double seconds = blocker->seconds < 0 ? NAN : blocker->seconds;
        g_autofree char *what = blocker_describe(blocker);
        g_autofree char *remedy = blocker_remedy(blocker);
        table_text(table, blocker->login);
        table_text(table, *blocker->nodes ? blocker->nodes : NULL);
        cell_duration(table, seconds);
        table_number(table, seconds);
        table_int(table, blocker->waiting);
        table_number(table, blocker->waited_seconds);
        table_int(table, blocker->pid);
        table_text(table, remedy);
        table_text(table, *what ? what : NULL);
    }
    return table;
}

static const struct table_column database_columns[] = {
    {"what", "what", TABLE_TEXT, 0},
    {"value", "value", TABLE_TEXT, 0},
};

static void add_fact(Table *table, const char *what, char *value)
{
    table_text(table, what);
    table_text(table, value);
    g_free(value);
}

static Table *farm_database(const struct farm_state *farm)
{
    const struct farm_database *database = &farm->database;
    Table *table = table_new(database_columns, G_N_ELEMENTS(database_columns));
    add_fact(table, "size", g_format_size((guint64)database->bytes));
    add_fact(table, "of it kernels", g_format_size((guint64)database->kernels_bytes));
    add_fact(table, "code objects in", g_strdup(database->blob_place));
    add_fact(table, "objects without a kernel",
             g_strdup_printf("%" G_GINT64_FORMAT, (gint64)database->blobs_loose));
    add_fact(table, "connections",
             g_strdup_printf("%d of %d", database->connections, database->connections_limit));
    add_fact(table, "oldest transaction", when_duration(database->oldest_transaction_seconds));
    add_fact(table, "dead rows of bundles", g_strdup_printf("%.0f", database->dead_bundles));
    add_fact(table, "last upkeep",
             database->upkeep_age_seconds < 0
                 ? g_strdup("never")
                 : g_strdup_printf("%.0f s ago", database->upkeep_age_seconds));
    return table;
}

#define SHOWN_EVENTS 8

/* The sections of the command's output, in their order. */
static const struct section {
    const char *key, *title;
    Table *(*make)(const struct farm_state *farm);
} sections[] = {
    {"campaigns", "Campaigns", farm_campaigns},
    {"jobs", "Their jobs", farm_jobs},
    {"failures", "Failures", farm_failures},
    {"workers", "Workers", farm_workers},
    {"devices", "Their devices", farm_devices},
    {"rates", "Over the last five minutes", farm_rates},
    {"refused", "Refused", farm_refusals},
    {"out_of_service", "Out of service", farm_out_of_service},
    {"blocking", "Sessions that keep others waiting", farm_blockers},
    {"health", "Database", farm_database},
};

struct status {
    char *database; /* the database's URL without its password */
    bool embedded;
    struct farm_state *farm;
    Table *events;
};

static bool status_read(Store *store, struct status *status, GError **error)
{
    g_autofree char *url = database_url(&status->embedded, error);
    g_autofree char *shown = url ? database_without_password(url) : NULL;
    status->database = shown ? g_utf8_make_valid(shown, -1) : NULL;
    return url && (status->farm = farm_read(store, error)) &&
           (status->events = list_events(store, 0, SHOWN_EVENTS, error));
}

/* Returns false for sections that are left out because they are empty without a campaign or a
 * worker. */
static bool is_shown(const struct status *status, const struct section *section)
{
    if (section->make == farm_jobs)
        return status->farm->campaigns->len > 0;
    if (section->make == farm_devices)
        return status->farm->devices->len > 0;
    if (section->make == farm_blockers)
        return status->farm->blockers->len > 0;
    return section->make != farm_rates || status->farm->workers->len > 0;
}

/* The forecast covers campaigns that have one; others may take longer. */
static void print_eta(const struct farm_state *farm)
{
    double eta = farm_eta(farm);
    guint unknown = 0;
    g_autofree char *left = when_duration(eta);
    for (guint i = 0; i < farm->campaigns->len; i++)
        unknown += isnan(progress_farm_eta(g_ptr_array_index(farm->campaigns, i)));
    if (isnan(eta))
        return;
    if (unknown == 0)
        printf("\nAbout %s left.\n", left);
    else
        printf("\nAt least %s left: %u of %u campaigns have no forecast yet.\n", left, unknown,
               farm->campaigns->len);
}

static void status_print(const struct status *status)
{
    const struct farm_state *farm = status->farm;
    printf("Database: %s%s\n", status->database, status->embedded ? " (embedded)" : "");
    if (farm->campaigns->len == 0)
        printf("\nNo campaign is active.\n");
    print_eta(farm);
    if (farm->workers->len == 0)
        printf("\nNo worker is running; %s starts one.\n", database_worker_command());
    for (size_t i = 0; i < G_N_ELEMENTS(sections); i++) {
        Table *table = sections[i].make(farm);
        if (is_shown(status, &sections[i]))
            table_section(sections[i].title, table);
        table_free(table);
    }
    table_section("Latest events", status->events);
}

static json_t *number_or_null(double value)
{
    return isnan(value) ? json_null() : json_real(value);
}

static json_t *health_json(const struct farm_database *d)
{
    return json_pack("{s:f, s:f, s:s, s:I, s:i, s:i, s:f, s:f, s:o, s:f}", "bytes", d->bytes,
                     "kernels_bytes", d->kernels_bytes, "blob_place", d->blob_place, "blobs_loose",
                     (json_int_t)d->blobs_loose, "connections", d->connections, "connections_limit",
                     d->connections_limit, "oldest_transaction_seconds",
                     d->oldest_transaction_seconds, "dead_bundles", d->dead_bundles,
                     "upkeep_age_seconds",
                     number_or_null(d->upkeep_age_seconds < 0 ? NAN : d->upkeep_age_seconds),
                     "oldest_claim_seconds", d->oldest_claim_seconds);
}

static void status_show_json(const struct status *status)
{
    json_t *all =
        json_pack("{s:s, s:b, s:o}", "database", status->database, "embedded", status->embedded,
                  "eta_seconds", number_or_null(farm_eta(status->farm)));
    for (size_t i = 0; i < G_N_ELEMENTS(sections); i++) {
        Table *table = sections[i].make(status->farm);
        json_object_set_new(all, sections[i].key,
                            sections[i].make == farm_database ? health_json(&status->farm->database)
                                                              : table_json(table));
        table_free(table);
    }
    json_object_set_new(all, "events", table_json(status->events));
    table_show_json(all);
}

static void status_clear(struct status *status)
{
    g_free(status->database);
    farm_free(status->farm);
    table_free(status->events);
}

int command_status(int argc, char **argv)
{
    gboolean as_json = FALSE;
    const GOptionEntry options[] = {CLI_JSON_OPTION(&as_json), {0}};
    const struct cli cli = {
        .command = "status",
        .summary =
            "The farm at a glance: active campaigns and how long they still take, failures by "
            "reason, workers and what they work on, rates, which workers a campaign does not "
            "admit and why, what is out of service, how the database is, events.",
        .example = "skipjack status",
        .options = options,
    };
    if (!cli_parse(&cli, &argc, &argv))
        return CLI_USAGE;
    GError *error = NULL;
    struct status status = {0};
    g_autoptr(Store) store = database_open(true, &error);
    bool ok = store && status_read(store, &status, &error);
    if (ok && as_json)
        status_show_json(&status);
    else if (ok)
        status_print(&status);
    status_clear(&status);
    return ok ? CLI_DONE : cli_fail("status", error);
}
