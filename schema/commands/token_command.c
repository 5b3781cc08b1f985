/* skipjack db token: makes, lists and removes tokens of serve's HTTP API. */
#include "schema/commands/token_command.h"

#include "coordinator/cli/cli.h"
#include "coordinator/cli/table.h"
#include "coordinator/cli/when.h"
#include "schema/server/database.h"
#include "schema/store/store_tokens.h"

#include <stdio.h>

#define DAYS_MOST 36500

static int make_token(const char *name, const char *role_name, int days)
{
    GError *error = NULL;
    enum token_role role = TOKEN_NONE;
    g_autofree char *token = NULL;
    if (!token_name_is_valid(name))
        cli_misuse(&error, "'%s' is no name of a token: 1 to %d letters, digits and ._-", name,
                   TOKEN_NAME_MAX);
    else if (!role_name || !token_role_parse(role_name, &role))
        cli_misuse(&error,
                   "--role takes reader or coordinator; see skipjack db token create --help");
    else if (days < 0 || days > DAYS_MOST)
        cli_misuse(&error, "--days takes a number from 1 to %d", DAYS_MOST);
    if (error)
        return cli_fail("db token create", error);
    g_autoptr(Store) store = database_open(false, &error);
    if (!store || !store_make_token(store, name, role, days, &token, &error))
        return cli_fail("db token create", error);
    printf("%s\n", token);
    cli_note("this is shown once; the database has only its SHA-256\n");
    return CLI_DONE;
}

static int verb_create(int argc, char **argv)
{
    g_autofree char *role = NULL;
    int days = 0;
    const GOptionEntry options[] = {
        {"role", 0, 0, G_OPTION_ARG_STRING, &role, "what it allows: reader or coordinator", "ROLE"},
        {"days", 0, 0, G_OPTION_ARG_INT, &days, "for how long (default: until it is removed)", "N"},
        {0}};
    const struct cli cli = {
        .command = "db token create",
        .arguments = "NAME",
        .summary =
            "Makes a token for serve's HTTP API and prints it. A reader may ask where serve "
            "runs with --require-token; a coordinator may also change campaigns, drain nodes "
            "and clear the quarantine.",
        .example = "skipjack db token create dashboard --role coordinator --days 90",
        .options = options,
        .least = 1,
        .most = 1};
    if (!cli_parse(&cli, &argc, &argv))
        return CLI_USAGE;
    return make_token(argv[1], role, days);
}

static const struct table_column columns[] = {
    {"token", "name", TABLE_TEXT, 0},  {"role", "role", TABLE_TEXT, 0},
    {"made", "made", TABLE_TEXT, 0},   {"by", "made_login", TABLE_TEXT, 0},
    {"until", "until", TABLE_TEXT, 0}, {"last used", "used", TABLE_TEXT, 0},
    {NULL, "made_unix", TABLE_INT, 0}, {NULL, "expires_unix", TABLE_INT, 0},
    {NULL, "used_unix", TABLE_INT, 0}, {NULL, "expired", TABLE_YES, 0},
};

static void cell_time(Table *table, int64_t unix_time, const char *none)
{
    g_autoptr(GDateTime) at = unix_time ? g_date_time_new_from_unix_local(unix_time) : NULL;
    g_autofree char *text = at ? g_date_time_format(at, "%Y-%m-%d %H:%M") : g_strdup(none);
    table_text(table, text);
}

static int verb_list(int argc, char **argv)
{
    gboolean json = FALSE;
    const GOptionEntry options[] = {CLI_JSON_OPTION(&json), {0}};
    const struct cli cli = {.command = "db token list",
                            .summary = "The tokens of serve's HTTP API, without their secrets.",
                            .example = "skipjack db token list --json",
                            .options = options};
    GError *error = NULL;
    if (!cli_parse(&cli, &argc, &argv))
        return CLI_USAGE;
    g_autoptr(Store) store = database_open(json, &error);
    g_autoptr(GPtrArray) rows = store ? store_list_tokens(store, &error) : NULL;
    if (!rows)
        return cli_fail("db token list", error);
    Table *table = table_new(columns, G_N_ELEMENTS(columns));
    for (guint i = 0; i < rows->len; i++) {
        const struct token_row *row = g_ptr_array_index(rows, i);
        table_text(table, row->name);
        table_text(table, row->role);
        cell_time(table, row->made_unix, NULL);
        table_text(table, row->made_login);
        cell_time(table, row->expires_unix, "removed");
        cell_time(table, row->used_unix, "never");
        table_int(table, row->made_unix);
        table_int(table, row->expires_unix);
        table_int(table, row->used_unix);
        table_yes(table, row->expired);
    }
    table_show(table, json);
    table_free(table);
    return CLI_DONE;
}

static int verb_remove(int argc, char **argv)
{
    struct cli_loss loss = {0};
    const GOptionEntry options[] = {CLI_LOSS_OPTIONS(&loss), {0}};
    const struct cli cli = {.command = "db token remove",
                            .arguments = "NAME",
                            .summary = "Ends a token: serve refuses it from then on.",
                            .example = "skipjack db token remove dashboard",
                            .options = options,
                            .least = 1,
                            .most = 1};
    GError *error = NULL;
    int status = CLI_DONE;
    if (!cli_parse(&cli, &argc, &argv))
        return CLI_USAGE;
    g_autoptr(Store) store = database_open(false, &error);
    if (!store)
        return cli_fail("db token remove", error);
    if (!cli_may_lose(&loss, &status, "the token %s", argv[1]))
        return status;
    if (!store_remove_token(store, argv[1], &error))
        return cli_fail("db token remove", error);
    printf("token %s removed\n", argv[1]);
    return CLI_DONE;
}

int command_db_token(int argc, char **argv)
{
    static const struct cli_verb verbs[] = {
        {"create", "make a token, and print it", verb_create},
        {"list", "the tokens, with when each was used last", verb_list},
        {"remove", "end a token", verb_remove},
    };
    static const struct cli_verbs list = {.command = "db token",
                                          .example = "skipjack db token list",
                                          .verbs = verbs,
                                          .count = G_N_ELEMENTS(verbs)};
    return cli_run_verb(&list, argc, argv);
}
