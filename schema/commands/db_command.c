/* skipjack db: starting, stopping, migrating and inspecting the database. */
#include "schema/commands/commands.h"

#include "coordinator/cli/cli.h"
#include "coordinator/cli/describe.h"
#include "coordinator/cli/table.h"
#include "schema/commands/blobs_command.h"
#include "schema/commands/collect_command.h"
#include "schema/commands/roles_command.h"
#include "schema/commands/token_command.h"
#include "schema/server/connection.h"
#include "schema/server/database.h"
#include "schema/server/embedded.h"
#include "schema/server/postgres_server.h"
#include "schema/sql/migrations.h"
#include "schema/store/store_campaigns.h"
#include "schema/store/store_workers.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static int fail(const char *verb, GError *error)
{
    g_autofree char *command = g_strdup_printf("db %s", verb);
    return cli_fail(command, error);
}

/* Refuses a verb for an external database: `start` and `stop` are for the embedded one. */
static bool refuse_external(const char *verb)
{
    const char *named = g_getenv("SKIPJACK_DB");
    if (named == NULL || *named == '\0')
        return false;
    fprintf(
        stderr,
        "skipjack db %s: SKIPJACK_DB names another database than the embedded one; unset it, or "
        "use that server's own tools\n",
        verb);
    return true;
}

static int db_start(bool json)
{
    (void)json;
    GError *error = NULL;
    struct embedded_status status;
    if (refuse_external("start"))
        return CLI_FAILED;
    if (!embedded_start(&error) || !embedded_status(&status, &error))
        return fail("start", error);
    if (status.elsewhere != NULL)
        printf("the embedded database under %s runs %s, and answers here\n", status.home,
               status.elsewhere);
    else
        printf("the embedded database runs as process %ld under %s\n", status.pid, status.home);
    embedded_status_clear(&status);
    return CLI_DONE;
}

static int db_stop(bool json)
{
    (void)json;
    GError *error = NULL;
    if (refuse_external("stop"))
        return CLI_FAILED;
    if (!embedded_stop(&error))
        return fail("stop", error);
    printf("the embedded database is stopped\n");
    return CLI_DONE;
}

static void print_status(const struct embedded_status *status)
{
    printf("home     %s\n", status->home);
    printf("state    %s\n", status->running  ? "running"
                            : status->exists ? "stopped"
                                             : "not created");
    if (status->elsewhere != NULL)
        printf("running  %s\n", status->elsewhere);
    else if (status->running)
        printf("process  %ld\n", status->pid);
    if (*status->version != '\0')
        printf("version  PostgreSQL %s\n", status->version);
    printf("socket   %s\n", status->socket_dir);
    printf("url      %s\n", status->url);
}

static int db_status(bool json)
{
    GError *error = NULL;
    struct embedded_status status;
    if (!embedded_status(&status, &error))
        return fail("status", error);
    if (json) {
        json_t *object = json_pack("{sb sb ss ss ss ss sI ss?}", "exists", status.exists, "running",
                                   status.running, "home", status.home, "socket_dir",
                                   status.socket_dir, "url", status.url, "version", status.version,
                                   "pid", (json_int_t)status.pid, "elsewhere", status.elsewhere);
        table_show_json(object);
    } else {
        print_status(&status);
    }
    const char *named = g_getenv("SKIPJACK_DB");
    if (named != NULL && *named != '\0')
        fprintf(stderr, "skipjack db status: note: commands use SKIPJACK_DB, not this database\n");
    embedded_status_clear(&status);
    return CLI_DONE;
}

/* Drops the tables of dropped campaigns that other logins could not drop: only the tables' owner
 * can. */
static bool finish_drops(const char *url, GError **error)
{
    g_autoptr(Store) store = store_open(url, error);
    return store != NULL && store_drop_partitions(store, error);
}

static int db_migrate(bool json)
{
    (void)json;
    GError *error = NULL;
    bool embedded;
    struct migrated done = {0};
    g_autofree char *url = database_url(&embedded, &error);
    if (url == NULL)
        return fail("migrate", error);
    if ((embedded ? !embedded_start(&error) : !database_migrate(url, &done, &error)) ||
        !finish_drops(url, &error))
        return fail("migrate", error);
    if (done.migrations > 0)
        printf("applied %d migration%s\n", done.migrations, done.migrations == 1 ? "" : "s");
    else if (done.functions)
        printf("laid the functions of revision %d\n", own_definitions.revision);
    else
        printf("the database has all migrations\n");
    return CLI_DONE;
}

static int db_url(bool json)
{
    (void)json;
    GError *error = NULL;
    bool embedded;
    g_autofree char *url = database_url(&embedded, &error);
    if (url == NULL)
        return fail("url", error);
    g_autofree char *shown = connection_without_password(url);
    printf("%s\n", shown);
    return CLI_DONE;
}

/* Finds psql, which may be in the folder of the server's programs, or in PATH. */
static char *find_psql(void)
{
    char *found = g_find_program_in_path("psql");
    if (found == NULL) {
        g_autofree char *programs = postgres_find_programs(0, NULL);
        found = programs == NULL ? NULL : g_build_filename(programs, "psql", NULL);
    }
    return found;
}

#define PSQL_EXAMPLE "skipjack db psql -c 'SELECT id, name, state FROM campaigns'"

/* Replaces this process by psql, with the arguments behind the verb. */
static int db_psql(int argc, char **argv)
{
    static const struct cli cli = {
        .command = "db psql",
        .arguments = "[ARGUMENT...]",
        .summary =
            "Opens psql on the database in use. The arguments are psql's: 'psql --help' lists them.",
        .example = PSQL_EXAMPLE,
    };
    if (describe_asked(argc, argv)) {
        describe_print(describe_command(&cli));
        return CLI_DONE;
    }
    for (int i = 1; i < argc; i++) { /* psql's help needs no database */
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-?") == 0) {
            printf("Usage:\n  skipjack %s %s\n\n%s\n\nExample:\n  %s\n", cli.command, cli.arguments,
                   cli.summary, cli.example);
            return CLI_DONE;
        }
    }
    GError *error = NULL;
    bool embedded;
    g_autofree char *url = database_url(&embedded, &error);
    g_autofree char *password = NULL;
    g_autofree char *shown = NULL;
    if (url == NULL || (embedded && !embedded_start(&error)) ||
        (shown = connection_for_child(url, &password, &error)) == NULL)
        return fail("psql", error);
    g_autofree char *program = find_psql();
    if (program == NULL) {
        fprintf(stderr, "skipjack db psql: psql is not installed; run: deploy/install-deps run\n");
        return CLI_FAILED;
    }
    char **psql_argv = g_new0(char *, (gsize)argc + 2);
    psql_argv[0] = program;
    psql_argv[1] = shown;
    for (int i = 1; i < argc; i++)
        psql_argv[i + 1] = argv[i];
    if (password != NULL)
        g_setenv("PGPASSWORD", password, TRUE);
    g_setenv("PGOPTIONS", "-c search_path=skipjack", TRUE);
    execv(program, psql_argv);
    fprintf(stderr, "skipjack db psql: cannot run '%s': %s\n", program, g_strerror(errno));
    g_free(psql_argv);
    return CLI_FAILED;
}

/* Begins a new epoch of a database that was restored from a copy of its files. It cannot notice
 * the restore itself, so its operator has to give this command. */
static int db_restored(bool json)
{
    (void)json;
    GError *error = NULL;
    int epoch = 0;
    g_autoptr(Store) store = database_open(false, &error);
    if (store == NULL || !store_begin_epoch(store, &epoch, &error))
        return fail("restored", error);
    printf("epoch %d: no number is given out twice, and nobody holds a job; code objects that are "
           "outside the database: skipjack db blobs --check --drop-damaged\n",
           epoch);
    return CLI_DONE;
}

/* Verbs without arguments. */
static const struct plain_verb {
    const char *name, *summary;
    bool has_json;
    int (*run)(bool json);
} plain_verbs[] = {
    {"start", "start the embedded database (created at first) and migrate it", false, db_start},
    {"stop", "stop the embedded database; nothing is lost", false, db_stop},
    {"status", "whether it exists and runs, and where (--json)", true, db_status},
    {"migrate", "bring the database in use to this program's schema", false, db_migrate},
    {"url", "print the URL of the database in use, without its password", false, db_url},
    {"restored", "after a restore: give out no number twice, end all leases", false, db_restored},
};

static const struct plain_verb *plain_verb(const char *name)
{
    const struct plain_verb *verb = plain_verbs;
    while (strcmp(verb->name, name) != 0)
        verb++;
    return verb;
}

static int run_plain(int argc, char **argv)
{
    const struct plain_verb *verb = plain_verb(argv[0]);
    gboolean json = FALSE;
    const GOptionEntry options[] = {CLI_JSON_OPTION(&json), {0}};
    g_autofree char *command = g_strdup_printf("db %s", verb->name);
    g_autofree char *example = g_strdup_printf("skipjack db %s", verb->name);
    const struct cli cli = {.command = command,
                            .summary = verb->summary,
                            .example = example,
                            .options = verb->has_json ? options : NULL};
    return cli_parse(&cli, &argc, &argv) ? verb->run(json) : CLI_USAGE;
}

int command_db(int argc, char **argv)
{
    struct cli_verb verbs[] = {
        {"start", NULL, run_plain},
        {"stop", NULL, run_plain},
        {"status", NULL, run_plain},
        {"migrate", NULL, run_plain},
        {"roles", "create the roles of a farm's database, and logins in them", command_db_roles},
        {"token", "tokens of serve's HTTP API", command_db_token},
        {"url", NULL, run_plain},
        {"blobs", "where code objects are; --move URL, --check", command_db_blobs},
        {"collect", "drop what is no longer needed (--dry-run: only count)", command_db_collect},
        {"restored", NULL, run_plain},
        {"psql", "open psql on it; further arguments are psql's", db_psql},
    };
    for (gsize i = 0; i < G_N_ELEMENTS(verbs); i++)
        if (verbs[i].run == run_plain)
            verbs[i].summary = plain_verb(verbs[i].name)->summary;
    const struct cli_verbs list = {
        .command = "db",
        .about = "The database in use is the one that SKIPJACK_DB names, else an embedded\n"
                 "PostgreSQL under SKIPJACK_HOME that commands start on demand.",
        .example = PSQL_EXAMPLE,
        .verbs = verbs,
        .count = G_N_ELEMENTS(verbs)};
    return cli_run_verb(&list, argc, argv);
}
