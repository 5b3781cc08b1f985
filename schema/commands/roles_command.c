/* skipjack db roles: creates the roles of a farm's database and logins in them. */
#include "schema/commands/roles_command.h"

#include "coordinator/cli/cli.h"
#include "schema/server/connection.h"
#include "schema/server/database.h"
#include "schema/server/embedded.h"
#include "schema/server/roles.h"
#include "schema/small_file.h"

#include <stdio.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

struct request {
    char *login, *role, *password_file;
    int connections; /* 0 if not given */
};

/* ---- passwords, from files and terminals only ---- */

/* Reads a line from the terminal without echo. */
static char *ask_terminal(const char *prompt)
{
    struct termios shown, hidden;
    char line[1024] = "";
    if (tcgetattr(STDIN_FILENO, &shown) != 0)
        return g_strdup("");
    hidden = shown;
    hidden.c_lflag &= ~(tcflag_t)ECHO;
    fputs(prompt, stderr);
    fflush(stderr);
    tcsetattr(STDIN_FILENO, TCSAFLUSH, &hidden);
    bool read_line = fgets(line, sizeof line, stdin) != NULL;
    tcsetattr(STDIN_FILENO, TCSAFLUSH, &shown);
    fputc('\n', stderr);
    line[strcspn(line, "\n")] = '\0';
    return g_strdup(read_line ? line : "");
}

/* Returns NULL without an error if there is no password: no file, no terminal, or an empty line. */
static char *read_password(const struct request *request, GError **error)
{
    if (request->password_file != NULL)
        return small_file_secret(request->password_file, error);
    if (isatty(STDIN_FILENO) == 0)
        return NULL;
    g_autofree char *first = ask_terminal("Its password, empty to leave it as it is: ");
    if (*first == '\0')
        return NULL;
    g_autofree char *second = ask_terminal("The same again: ");
    if (strcmp(first, second) == 0)
        return g_steal_pointer(&first);
    g_set_error(error, STORE_ERROR, STORE_ERROR_ACCESS, "the two passwords differ");
    return NULL;
}

/* ---- the command ---- */

static bool parse(int argc, char **argv, struct request *request)
{
    const GOptionEntry entries[] = {
        {"login", 0, 0, G_OPTION_ARG_STRING, &request->login,
         "create this login, or add an existing one to the role", "NAME"},
        {"role", 0, 0, G_OPTION_ARG_STRING, &request->role,
         "its role: reader, worker or coordinator", "reader|worker|coordinator"},
        {"password-file", 0, 0, G_OPTION_ARG_FILENAME, &request->password_file,
         "its password is the first line of FILE (default: ask on the terminal)", "FILE"},
        {"connections", 0, 0, G_OPTION_ARG_INT, &request->connections,
         "how many it may have at once; a worker holds two (default for a new worker's login: half "
         "of the server's)",
         "N"},
        {0}};
    const struct cli cli = {
        .command = "db roles",
        .summary =
            "Creates the roles of a farm's database that are missing (skipjack_reader, skipjack_worker, "
            "skipjack_coordinator) and grants each its rights. May be repeated. Run by the database's "
            "owner with CREATEROLE, or a superuser.",
        .example = "skipjack db roles --login node17 --role worker --password-file node17.pw",
        .options = entries};
    return cli_parse(&cli, &argc, &argv);
}

static const char *what_is_wrong(const struct request *request)
{
    if ((request->login == NULL) != (request->role == NULL))
        return "--login and --role need each other";
    if (request->login == NULL && (request->password_file != NULL || request->connections != 0))
        return "--password-file and --connections need --login";
    if (request->connections < 0 || request->connections > 100000)
        return "--connections takes a number from 1 on";
    if (request->role != NULL && role_find(request->role) == NULL)
        return "--role takes reader, worker or coordinator";
    if (request->login != NULL && role_find(request->login) != NULL)
        return "--login takes a new name, not a role's";
    return NULL;
}

static void print_next(const struct request *request, PGconn *connection)
{
    if (request->login == NULL) {
        printf("\nA login for a node: skipjack db roles --login node17 --role worker\n");
        return;
    }
    const char *host = PQhost(connection);
    bool socket = host == NULL || *host == '/' || *host == '\0';
    printf("It uses: SKIPJACK_DB=postgresql://%s@%s/%s\n", request->login, socket ? "HOST" : host,
           PQdb(connection));
    printf("and ~/.pgpass (mode 600): %s:%s:%s:%s:PASSWORD\n", socket ? "HOST" : host,
           PQport(connection), PQdb(connection), request->login);
}

static int create(const struct request *request)
{
    GError *error = NULL;
    bool embedded;
    g_autofree char *password = NULL;
    g_autofree char *url = database_url(&embedded, &error);
    if (url == NULL || (embedded && !embedded_start(&error)))
        return cli_fail("db roles", error);
    if (request->login != NULL)
        password = read_password(request, &error);
    if (error != NULL)
        return cli_fail("db roles", error);
    PGconn *connection = connection_open(url, "skipjack roles", &error);
    const struct role_login login = {.name = request->login,
                                     .role = request->role ? role_find(request->role) : NULL,
                                     .password = password,
                                     .connections = request->connections};
    bool done = connection != NULL && roles_create(connection, &error) &&
                (request->login == NULL || roles_login(connection, &login, &error));
    if (done)
        print_next(request, connection);
    PQfinish(connection);
    return done ? CLI_DONE : cli_fail("db roles", error);
}

int command_db_roles(int argc, char **argv)
{
    struct request request = {0};
    if (!parse(argc, argv, &request))
        return CLI_USAGE;
    GError *error = NULL;
    const char *wrong = what_is_wrong(&request);
    if (wrong != NULL)
        cli_misuse(&error, "%s; see skipjack db roles --help", wrong);
    int status = wrong != NULL ? cli_fail("db roles", error) : create(&request);
    g_free(request.login);
    g_free(request.role);
    g_free(request.password_file);
    return status;
}
