#include "coordinator/campaigns/lists.h"

#include "coordinator/cli/when.h"
#include "schema/results/store_foreign.h"
#include "schema/server/database.h"
#include "schema/store/store_events.h"

int list_command(const struct cli *cli, Table *(*make)(Store *store, GError **error), int argc,
                 char **argv)
{
    gboolean as_json = FALSE;
    const GOptionEntry options[] = {CLI_JSON_OPTION(&as_json), {0}};
    struct cli listing = *cli;
    listing.options = options;
    if (!cli_parse(&listing, &argc, &argv))
        return CLI_USAGE;
    GError *error = NULL;
    g_autoptr(Store) store = database_open(as_json, &error);
    Table *table = store ? make(store, &error) : NULL;
    return table_finish(cli->command, table, as_json, error);
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
        g_autofree char *when = when_text(event->at_unix);
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

static gint newer_first(gconstpointer a, gconstpointer b)
{
    const struct campaign *one = *(struct campaign *const *)a,
                          *other = *(struct campaign *const *)b;
    return (other->id > one->id) - (other->id < one->id);
}

GPtrArray *list_own_campaigns(Store *store, GError **error)
{
    GPtrArray *campaigns = store_list_campaigns(store, error);
    if (!campaigns)
        return NULL;
    for (guint i = campaigns->len; i > 0; i--) {
        if (campaign_is_foreign(g_ptr_array_index(campaigns, i - 1)))
            g_ptr_array_remove_index(campaigns, i - 1);
    }
    if (campaigns->len > 0) {
        g_ptr_array_sort(campaigns, newer_first);
        return campaigns;
    }
    g_ptr_array_unref(campaigns);
    g_set_error(error, COORDINATOR_ERROR, COORDINATOR_ERROR_EMPTY,
                "there is no campaign of this farm's own yet; skipjack tune FILE makes one");
    return NULL;
}

void list_campaign_cells(Table *table, const struct list_campaign *campaign)
{
    table_int(table, campaign->id);
    table_text(table, campaign->name);
    table_text(table, campaign->target);
    table_text(table, campaign->state);
    table_int(table, campaign->jobs);
    table_int(table, campaign->done);
    table_int(table, campaign->failed);
    table_int(table, campaign->open);
}
