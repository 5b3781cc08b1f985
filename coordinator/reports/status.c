/* `skipjack status`: the farm at a glance. */
#include "coordinator/campaigns/lists.h"
#include "coordinator/cli/cli.h"
#include "coordinator/cli/when.h"
#include "coordinator/commands.h"
#include "coordinator/plan/progress.h"
#include "coordinator/reports/farm_tables.h"
#include "schema/server/database.h"
#include "schema/store/store_events.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define SHOWN_EVENTS 8

/* The sections, in their order. */
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
    char *database; /* its URL as it may be shown */
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

/* Sections that say nothing without a campaign or a worker are left out then. */
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
        printf("\nNo worker is running; skipjack worker starts one.\n");
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
