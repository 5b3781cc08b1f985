/* `skipjack pages`, which the build calls, and `skipjack complete`, which bash calls. */
#include "coordinator/cli/cli.h"
#include "coordinator/commands.h"
#include "coordinator/pages/completion.h"
#include "coordinator/pages/man.h"
#include "coordinator/pages/walk.h"
#include "schema/server/database.h"
#include "schema/server/embedded.h"
#include "schema/store/store_campaigns.h"
#include "schema/store/store_problems.h"

#include <stdio.h>
#include <string.h>

int command_pages(int argc, char **argv)
{
    char *man = NULL;
    GError *error = NULL;
    const GOptionEntry options[] = {
        {"man", 0, 0, G_OPTION_ARG_FILENAME, &man, "write the man pages into this folder", "DIR"},
        {0},
    };
    const struct cli cli = {
        .command = "pages",
        .summary = "Prints the words of the completion for bash, or writes the man pages.",
        .example = "skipjack pages --man build/man",
        .options = options,
    };
    if (!cli_parse(&cli, &argc, &argv))
        return CLI_USAGE;
    g_autofree char *folder = man;
    json_t *program = pages_walk(&error);
    if (!program)
        return cli_fail("pages", error);
    if (!folder) {
        g_autofree char *text = completion_text(program);
        fputs(text, stdout);
    } else {
        man_write(program, folder, &error);
    }
    json_decref(program);
    return error ? cli_fail("pages", error) : CLI_DONE;
}

static GPtrArray *list_networks(Store *store, GError **error)
{
    return store_list_networks(store, false, error);
}

static void print_network(gconstpointer row)
{
    puts(((const struct network_row *)row)->name);
}

static void print_target(gconstpointer row)
{
    puts(((const struct target *)row)->id);
}

static void print_campaign(gconstpointer row)
{
    printf("%" G_GINT64_FORMAT "\n", (gint64)((const struct campaign *)row)->id);
}

static const struct {
    const char *what;
    GPtrArray *(*list)(Store *store, GError **error);
    void (*print)(gconstpointer row);
} lists[] = {
    {"networks", list_networks, print_network},
    {"targets", store_list_targets, print_target},
    {"campaigns", store_list_campaigns, print_campaign},
};

/* Prints nothing, and succeeds, if the database cannot be asked now: nobody wants an error while typing. The embedded
 * database is not started for it. */
int command_complete(int argc, char **argv)
{
    static const struct cli cli = {
        .command = "complete",
        .arguments = "networks|targets|campaigns",
        .summary = "Prints names in the database, a line each.",
        .example = "skipjack complete targets",
        .least = 1,
        .most = 1,
    };
    bool embedded = false;
    if (!cli_parse(&cli, &argc, &argv))
        return CLI_USAGE;
    g_autofree char *url = database_url(&embedded, NULL);
    g_autoptr(Store) store =
        url && (!embedded || embedded_answers(url)) ? store_open(url, NULL) : NULL;
    for (gsize i = 0; store && i < G_N_ELEMENTS(lists); i++) {
        g_autoptr(GPtrArray) rows = NULL;
        if (strcmp(argv[1], lists[i].what) == 0)
            rows = lists[i].list(store, NULL);
        for (guint r = 0; rows && r < rows->len; r++)
            lists[i].print(rows->pdata[r]);
    }
    return CLI_DONE;
}
