/* `skipjack report`. */
#include "coordinator/cli.h"
#include "coordinator/commands.h"
#include "coordinator/lists.h"
#include "coordinator/problem_text.h"
#include "coordinator/report.h"
#include "schema/database.h"
#include "solvers/problem_key.h"

static const struct table_column rejection_columns[] = {
    {"reason", "reason", TABLE_TEXT, 0}, {"solver", "solver", TABLE_TEXT, 0},
    {"config", "config", TABLE_TEXT, 0}, {"problem", "problem", TABLE_TEXT, 0},
    {"detail", "detail", TABLE_TEXT, 0}, {NULL, "key", TABLE_TEXT, 0},
};

static Table *list_rejections(Store *store, int64_t campaign, GError **error)
{
    g_autoptr(GPtrArray) rejections = store_list_rejections(store, campaign, error);
    if (!rejections)
        return NULL;
    Table *table = table_new(rejection_columns, G_N_ELEMENTS(rejection_columns));
    for (guint i = 0; i < rejections->len; i++) {
        const struct config_outcome *rejection = g_ptr_array_index(rejections, i);
        char key[PROBLEM_KEY_MAX];
        g_autofree char *text = problem_text(&rejection->problem);
        table_text(table, failure_name(rejection->failure));
        table_text(table, rejection->solver);
        table_text(table, rejection->config_text);
        table_text(table, text);
        table_text(table, rejection->detail);
        table_text(table, problem_key(&rejection->problem, key));
    }
    return table;
}

/* The newest campaign's id; 0 and a set error when there is none. */
static int64_t newest_campaign(Store *store, GError **error)
{
    g_autoptr(GPtrArray) campaigns = store_list_campaigns(store, error);
    if (!campaigns)
        return 0;
    int64_t newest = 0;
    for (guint i = 0; i < campaigns->len; i++)
        newest = MAX(newest, ((const struct campaign *)g_ptr_array_index(campaigns, i))->id);
    if (newest == 0)
        g_set_error(error, COORDINATOR_ERROR, COORDINATOR_ERROR_EMPTY,
                    "there is no campaign yet; skipjack tune FILE makes one");
    return newest;
}

static int show_report(Store *store, int64_t campaign, bool as_json)
{
    GError *error = NULL;
    struct report *report = report_new(store, campaign, &error);
    if (!report)
        return cli_fail("report", error);
    if (as_json)
        table_show_json(report_json(report));
    else
        report_print(report, stdout);
    report_free(report);
    return CLI_DONE;
}

int command_report(int argc, char **argv)
{
    g_autofree char *campaign = NULL;
    gboolean as_json = FALSE, rejected = FALSE;
    const GOptionEntry options[] = {
        {"campaign", 'c', 0, G_OPTION_ARG_STRING, &campaign, "of this campaign (the newest)", "ID"},
        {"rejected", 'r', 0, G_OPTION_ARG_NONE, &rejected, "each rejected config with its reason",
         NULL},
        LIST_JSON_OPTION(&as_json),
        {0},
    };
    const struct cli cli = {
        .command = "report",
        .summary = "What tuning gained: a row a problem, the whole network, and what was rejected.",
        .example = "skipjack report --campaign 3 --rejected",
        .options = options,
    };
    if (!cli_parse(&cli, &argc, &argv))
        return CLI_USAGE;
    GError *error = NULL;
    int64_t id = 0;
    bool usable = !campaign || cli_parse_id(campaign, &id, &error);
    g_autoptr(Store) store = usable ? database_open(as_json, &error) : NULL;
    if (store && id == 0)
        id = newest_campaign(store, &error);
    if (!store || id == 0)
        return cli_fail("report", error);
    if (!rejected)
        return show_report(store, id, as_json);
    return list_finish("report", list_rejections(store, id, &error), as_json, error);
}
