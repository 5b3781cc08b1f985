/*
 * Lists that several commands show, read from the database.
 */
#ifndef COORDINATOR_CAMPAIGNS_LISTS_H
#define COORDINATOR_CAMPAIGNS_LISTS_H

#include "coordinator/cli/cli.h"
#include "coordinator/cli/table.h"
#include "schema/results/store_results.h"

/* Runs a whole command whose only option is --json: opens the database and shows the table that `make` returns.
 * `cli` has no options of its own. Returns the exit status. */
int list_command(const struct cli *cli, Table *(*make)(Store *store, GError **error), int argc,
                 char **argv);

/* Lists the newest `limit` events of a campaign, or of all campaigns if the id is 0. NULL with an
 * error if the database refuses. Free with table_free(). */
Table *list_events(Store *store, int64_t campaign, int limit, GError **error);

/* Returns all campaigns (struct campaign *) except foreign ones, the newest first. NULL with
 * COORDINATOR_ERROR_EMPTY if the database has no such campaign. */
GPtrArray *list_own_campaigns(Store *store, GError **error);

/* The first columns of every table of campaigns, and the function that fills them. */
#define LIST_CAMPAIGN_COLUMNS                                                                      \
    {"id", "id", TABLE_INT, 0}, {"name", "name", TABLE_TEXT, 0},                                   \
        {"target", "target", TABLE_TEXT, 0}, {"state", "state", TABLE_TEXT, 0},                    \
        {"jobs", "jobs", TABLE_INT, 0}, {"done", "jobs_done", TABLE_INT, 0},                       \
        {"failed", "jobs_failed", TABLE_INT, 0},                                                   \
    {                                                                                              \
        "open", "jobs_open", TABLE_INT, 0                                                          \
    }
struct list_campaign {
    int64_t id;
    const char *name, *target, *state;
    int jobs, done, failed, open;
};
void list_campaign_cells(Table *table, const struct list_campaign *campaign);

#endif
