/* `skipjack quarantine`: lists and clears configs that are not measured any more, since they
 * crashed or hung. */
#include "coordinator/campaigns/lists.h"
#include "coordinator/cli/cli.h"
#include "coordinator/cli/when.h"
#include "coordinator/commands.h"
#include "coordinator/plan/problem_text.h"
#include "schema/server/database.h"
#include "schema/store/store_events.h"
#include "solvers/problem/problem_key.h"

#include <stdio.h>

static const struct table_column quarantine_columns[] = {
    {"since", "since", TABLE_TEXT, 0},   {NULL, "since_unix", TABLE_INT, 0},
    {"target", "target", TABLE_TEXT, 0}, {"solver", "solver", TABLE_TEXT, 0},
    {NULL, "revision", TABLE_INT, 0},    {"config", "config", TABLE_TEXT, 0},
    {"reason", "reason", TABLE_TEXT, 0}, {"by node", "node", TABLE_TEXT, 0},
    {"login", "login", TABLE_TEXT, 0},   {"problem", "problem", TABLE_TEXT, 0},
    {NULL, "key", TABLE_TEXT, 0},        {NULL, "campaign", TABLE_INT, 0},
    {NULL, "job", TABLE_INT, 0},         {NULL, "worker", TABLE_INT, 0},
    {NULL, "detail", TABLE_TEXT, 0},
};

static Table *list_quarantine(Store *store, GError **error)
{
    g_autoptr(GPtrArray) rows = store_list_quarantine(store, error);
    if (!rows)
        return NULL;
    Table *table = table_new(quarantine_columns, G_N_ELEMENTS(quarantine_columns));
    for (guint i = 0; i < rows->len; i++) {
        const struct quarantine_row *row = g_ptr_array_index(rows, i);
        char key[PROBLEM_KEY_MAX];
        g_autofree char *since = when_text(row->since_unix);
        g_autofree char *problem = problem_text(&row->problem);
        table_text(table, since);
        table_int(table, row->since_unix);
        table_text(table, row->target);
        table_text(table, row->solver);
        table_int(table, row->revision);
        table_text(table, row->config_text);
        table_text(table, failure_name(row->failure));
        table_text(table, *row->node ? row->node : NULL);
        table_text(table, *row->login ? row->login : NULL);
        table_text(table, problem);
        table_text(table, problem_key(&row->problem, key));
        table_int(table, row->campaign);
        table_int(table, row->job);
        table_int(table, row->worker);
        table_text(table, row->detail);
    }
    return table;
}

static int verb_list(int argc, char **argv)
{
    const struct cli cli = {
        .command = "quarantine list",
        .summary =
            "Configs that crashed or hung, and whose worker found that: never proposed again for that "
            "problem and target.",
        .example = "skipjack quarantine list --json",
    };
    return list_command(&cli, list_quarantine, argc, argv);
}

/* Counts the configs that would be cleared: clears them in a transaction and rolls it back. */
static bool count_cleared(Store *store, const char *target, const char *login, int *cleared,
                          GError **error)
{
    if (!store_begin(store, error))
        return false;
    bool done = store_clear_quarantine(store, target, login, cleared, error);
    return store_end(store, false, done ? error : NULL) && done;
}

static int verb_clear(int argc, char **argv)
{
    g_autofree char *target = NULL, *login = NULL;
    struct cli_loss loss = {0};
    const GOptionEntry options[] = {
        {"target", 't', 0, G_OPTION_ARG_STRING, &target, "only those of this target", "T"},
        {"login", 0, 0, G_OPTION_ARG_STRING, &login, "only those that this login took out", "NAME"},
        CLI_LOSS_OPTIONS(&loss),
        {0},
    };
    const struct cli cli = {
        .command = "quarantine clear",
        .summary =
            "Lets quarantined configs be proposed again, for instance after a driver update.",
        .example = "skipjack quarantine clear --target gfx90a68",
        .options = options,
    };
    if (!cli_parse(&cli, &argc, &argv))
        return CLI_USAGE;
    GError *error = NULL;
    int cleared = 0, status = CLI_DONE;
    g_autoptr(Store) store = database_open(false, &error);
    if (!store || !count_cleared(store, target, login, &cleared, &error))
        return cli_fail("quarantine clear", error);
    if (!cli_may_lose(&loss, &status, "the quarantine of %d configs", cleared))
        return status;
    if (!store_clear_quarantine(store, target, login, &cleared, &error))
        return cli_fail("quarantine clear", error);
    printf("%d configs cleared\n", cleared);
    return CLI_DONE;
}

int command_quarantine(int argc, char **argv)
{
    static const struct cli_verb verbs[] = {
        {"list", "what was taken out, and why", verb_list},
        {"clear", "let it be proposed again", verb_clear},
    };
    static const struct cli_verbs list = {.command = "quarantine",
                                          .example = "skipjack quarantine list",
                                          .verbs = verbs,
                                          .count = G_N_ELEMENTS(verbs)};
    return cli_run_verb(&list, argc, argv);
}
