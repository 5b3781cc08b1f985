/* skipjack db: the database itself, the embedded one above all. */
#include "schema/commands/commands.h"

#include "coordinator/cli/terminal.h"
#include "schema/commands/blobs_command.h"
#include "schema/commands/collect_command.h"
#include "schema/commands/roles_command.h"
#include "schema/server/connection.h"
#include "schema/server/database.h"
#include "schema/server/embedded.h"
#include "schema/server/postgres_server.h"
#include "schema/store/store_campaigns.h"
#include "schema/store/store_workers.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { EXIT_DONE = 0, EXIT_FAILED = 1, EXIT_USAGE = 2 };

static int fail(const char *verb, GError *error)
{
    fprintf(stderr, "skipjack db %s: %s\n", verb, error->message);
    g_error_free(error);
    return EXIT_FAILED;
}

/* The verbs that start and stop something do so to the embedded database alone. */
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

static int db_start(bool json, int argc, char **argv)
{
    (void)json;
    (void)argc;
    (void)argv;
    GError *error = NULL;
    struct embedded_status status;
    if (refuse_external("start"))
        return EXIT_FAILED;
    if (!embedded_start(&error) || !embedded_status(&status, &error))
        return fail("start", error);
    if (status.elsewhere != NULL)
        printf("the embedded database under %s runs %s, and answers here\n", status.home,
               status.elsewhere);
    else
        printf("the embedded database runs as process %ld under %s\n", status.pid, status.home);
    embedded_status_clear(&status);
    return EXIT_DONE;
}

static int db_stop(bool json, int argc, char **argv)
{
    (void)json;
    (void)argc;
    (void)argv;
    GError *error = NULL;
    if (refuse_external("stop"))
        return EXIT_FAILED;
    if (!embedded_stop(&error))
        return fail("stop", error);
    printf("the embedded database is stopped\n");
    return EXIT_DONE;
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

static int db_status(bool json, int argc, char **argv)
{
    (void)argc;
    (void)argv;
    GError *error = NULL;
    struct embedded_status status;
    if (!embedded_status(&status, &error))
        return fail("status", error);
    if (json) {
        json_t *object = json_pack("{sb sb ss ss ss ss sI ss?}", "exists", status.exists, "running",
                                   status.running, "home", status.home, "socket_dir",
                                   status.socket_dir, "url", status.url, "version", status.version,
                                   "pid", (json_int_t)status.pid, "elsewhere", status.elsewhere);
        json_dumpf(object, stdout, JSON_INDENT(2));
        putchar('\n');
        json_decref(object);
    } else {
        print_status(&status);
    }
    const char *named = g_getenv("SKIPJACK_DB");
    if (named != NULL && *named != '\0')
        fprintf(stderr, "skipjack db status: note: commands use SKIPJACK_DB, not this database\n");
    embedded_status_clear(&status);
    return EXIT_DONE;
}

/* Who is not the owner can drop a campaign, but not its tables. */
static bool finish_drops(const char *url, GError **error)
{
    g_autoptr(Store) store = store_open(url, error);
    return store != NULL && store_drop_partitions(store, error);
}

static int db_migrate(bool json, int argc, char **argv)
{
    (void)json;
    (void)argc;
    (void)argv;
    GError *error = NULL;
    bool embedded;
    int applied = 0;
    g_autofree char *url = database_url(&embedded, &error);
    if (url == NULL)
        return fail("migrate", error);
    if ((embedded ? !embedded_start(&error) : !database_migrate(url, &applied, &error)) ||
        !finish_drops(url, &error))
        return fail("migrate", error);
    if (applied == 0)
        printf("the database has all migrations\n");
    else
        printf("applied %d migration%s\n", applied, applied == 1 ? "" : "s");
    return EXIT_DONE;
}

static int db_url(bool json, int argc, char **argv)
{
    (void)json;
    (void)argc;
    (void)argv;
    GError *error = NULL;
    bool embedded;
    g_autofree char *url = database_url(&embedded, &error);
    if (url == NULL)
        return fail("url", error);
    g_autofree char *shown = connection_without_password(url);
    printf("%s\n", shown);
    return EXIT_DONE;
}

/* psql may lie beside the server's programs only, or in PATH only. */
static char *find_psql(void)
{
    char *found = g_find_program_in_path("psql");
    if (found == NULL) {
        g_autofree char *programs = postgres_find_programs(0, NULL);
        found = programs == NULL ? NULL : g_build_filename(programs, "psql", NULL);
    }
    return found;
}

/* Becomes psql; what follows the verb is psql's. */
static int db_psql(bool json, int argc, char **argv)
{
    (void)json;
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
        return EXIT_FAILED;
    }
    char **psql_argv = g_new0(char *, (gsize)argc + 3);
    psql_argv[0] = program;
    psql_argv[1] = shown;
    for (int i = 0; i < argc; i++)
        psql_argv[i + 2] = argv[i];
    if (password != NULL)
        g_setenv("PGPASSWORD", password, TRUE);
    g_setenv("PGOPTIONS", "-c search_path=skipjack", TRUE);
    execv(program, psql_argv);
    fprintf(stderr, "skipjack db psql: cannot run '%s': %s\n", program, g_strerror(errno));
    g_free(psql_argv);
    return EXIT_FAILED;
}

static int db_blobs(bool json, int argc, char **argv)
{
    (void)json; /* reads its own arguments */
    return command_db_blobs(argc, argv);
}

static int db_collect(bool json, int argc, char **argv)
{
    (void)json; /* reads its own arguments */
    return command_db_collect(argc, argv);
}

/* A store restored from a copy of its files looks as it did: only people know. */
static int db_restored(bool json, int argc, char **argv)
{
    (void)json;
    (void)argc;
    (void)argv;
    GError *error = NULL;
    int epoch = 0;
    g_autoptr(Store) store = database_open(false, &error);
    if (store == NULL || !store_begin_epoch(store, &epoch, &error))
        return fail("restored", error);
    printf("epoch %d: no number is given out twice, and nobody holds a job; code objects that are "
           "outside the database: skipjack db blobs --check --drop-damaged\n",
           epoch);
    return EXIT_DONE;
}

static int db_roles(bool json, int argc, char **argv)
{
    (void)json; /* reads its own arguments */
    return command_db_roles(argc, argv);
}

static const struct verb {
    const char *name, *summary;
    bool takes_arguments;
    int (*run)(bool json, int argc, char **argv);
} verbs[] = {
    {"start", "create the embedded database where needed, start it, migrate it", false, db_start},
    {"stop", "stop the embedded database; nothing is lost", false, db_stop},
    {"status", "whether it exists and runs, and where (--json)", false, db_status},
    {"migrate", "bring the database in use to this program's schema", false, db_migrate},
    {"roles", "create the roles of a farm's database, and logins in them", true, db_roles},
    {"url", "print the URL of the database in use, without its password", false, db_url},
    {"blobs", "where code objects are; --move URL, --check", true, db_blobs},
    {"collect", "drop what nobody needs any more (--dry-run: only count)", true, db_collect},
    {"restored", "after a restore: give out no number twice, end all leases", false, db_restored},
    {"psql", "open psql on it; further arguments are psql's", true, db_psql},
};

static void print_help(FILE *stream)
{
    fprintf(stream, "usage: skipjack db VERB\n\n"
                    "The database in use is the one that SKIPJACK_DB names, else an embedded\n"
                    "PostgreSQL under SKIPJACK_HOME that commands start on demand.\n\n");
    for (gsize i = 0; i < G_N_ELEMENTS(verbs); i++)
        fprintf(stream, "  %-9s %s\n", verbs[i].name, verbs[i].summary);
    fprintf(stream, "\nexample: skipjack db psql -c 'SELECT id, name, state FROM campaigns'\n");
}

static bool is_help(const char *argument)
{
    return strcmp(argument, "--help") == 0 || strcmp(argument, "-h") == 0;
}

static int run_verb(const struct verb *verb, int argc, char **argv)
{
    bool json = false;
    for (int i = 0; !verb->takes_arguments && i < argc; i++) {
        if (is_help(argv[i])) {
            print_help(stdout);
            return EXIT_DONE;
        }
        if (verb->run != db_status || strcmp(argv[i], "--json") != 0) {
            fprintf(stderr, "skipjack db %s: unknown argument '%s', see: skipjack db --help\n",
                    verb->name, argv[i]);
            return EXIT_USAGE;
        }
        json = true;
    }
    /* psql's own help needs no database, so none is made for it. */
    for (int i = 0; verb->run == db_psql && i < argc; i++) {
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-?") == 0) {
            print_help(stdout);
            printf("\nWhat follows 'db psql' is given to psql; 'psql --help' lists its options.\n");
            return EXIT_DONE;
        }
    }
    return verb->run(json, argc, argv);
}

int command_db(int argc, char **argv)
{
    if (argc < 2) {
        print_help(stderr);
        return EXIT_USAGE;
    }
    if (is_help(argv[1])) {
        print_help(stdout);
        return EXIT_DONE;
    }
    for (gsize i = 0; i < G_N_ELEMENTS(verbs); i++) {
        if (strcmp(argv[1], verbs[i].name) == 0)
            return run_verb(&verbs[i], argc - 2, argv + 2);
    }
    const char *names[G_N_ELEMENTS(verbs) + 1] = {NULL};
    for (gsize i = 0; i < G_N_ELEMENTS(verbs); i++)
        names[i] = verbs[i].name;
    const char *nearest = nearest_word(argv[1], names);
    fprintf(stderr, "skipjack db: there is no '%s' here%s%s%s See skipjack db --help\n", argv[1],
            nearest != NULL ? ", did you mean '" : "", nearest != NULL ? nearest : "",
            nearest != NULL ? "'?" : ".");
    return EXIT_USAGE;
}
