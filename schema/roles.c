#include "schema/roles.h"

#include "schema/migrate.h"
#include "schema/store_private.h"

#include <stdio.h>
#include <string.h>

const struct role roles[] = {
    {"skipjack_reader", "sees all but secrets: status, report, export"},
    {"skipjack_worker", "works: touches what it claimed itself, by functions alone"},
    {"skipjack_coordinator", "reads, works, creates and changes campaigns, collects"},
};
const gsize roles_count = G_N_ELEMENTS(roles);

const struct role *role_find(const char *name)
{
    for (gsize i = 0; i < G_N_ELEMENTS(roles); i++)
        if (strcmp(name, roles[i].name) == 0 || strcmp(name, strchr(roles[i].name, '_') + 1) == 0)
            return &roles[i];
    return NULL;
}

static PGresult *ask(PGconn *connection, const char *sql, const char *value, GError **error)
{
    PGresult *rows = PQexecParams(connection, sql, value != NULL, NULL, &value, NULL, NULL, 0);
    ExecStatusType status = PQresultStatus(rows);
    if (status == PGRES_TUPLES_OK || status == PGRES_COMMAND_OK)
        return rows;
    store_set_error(connection, rows, error);
    PQclear(rows);
    return NULL;
}

static bool tell(PGconn *connection, const char *sql, GError **error)
{
    g_autoptr(StoreRows) rows = ask(connection, sql, NULL, error);
    return rows != NULL;
}

static bool role_exists(PGconn *connection, const char *name, bool *exists, GError **error)
{
    g_autoptr(StoreRows) rows =
        ask(connection, "SELECT 1 FROM pg_roles WHERE rolname = $1", name, error);
    *exists = rows != NULL && PQntuples(rows) > 0;
    return rows != NULL;
}

/* "words" with the names quoted, by PQescapeIdentifier(). */
static char *with_names(PGconn *connection, const char *format, const char *first,
                        const char *second)
{
    char *quoted[2] = {PQescapeIdentifier(connection, first, strlen(first)),
                       PQescapeIdentifier(connection, second, strlen(second))};
    g_auto(GStrv) parts = g_strsplit(format, "%", -1);
    GString *sql = g_string_new(parts[0]);
    for (int i = 1; parts[i] != NULL; i++)
        g_string_append_printf(sql, "%s%s", quoted[MIN(i - 1, 1)], parts[i]);
    PQfreemem(quoted[0]);
    PQfreemem(quoted[1]);
    return g_string_free(sql, FALSE);
}

static bool create_missing(PGconn *connection, const struct role *role, GError **error)
{
    bool exists;
    g_autofree char *sql = with_names(connection, "CREATE ROLE % NOLOGIN", role->name, "");
    if (!role_exists(connection, role->name, &exists, error))
        return false;
    if (!exists && !tell(connection, sql, error)) {
        g_prefix_error(error,
                       "the role %s is missing; somebody with CREATEROLE can do '%s', and "
                       "then this again: ",
                       role->name, sql);
        return false;
    }
    printf("%-21s %s\n", role->name, exists ? "was there" : "created");
    return true;
}

/* The same lock as migrations have, since both change the same rows of the catalogue. */
static const char give_sql[] = "BEGIN; SELECT pg_advisory_xact_lock(7453010313431182187);"
                               "SET LOCAL client_min_messages = warning;"
                               "SELECT skipjack.set_privileges(); COMMIT";

static bool give_privileges(PGconn *connection, GError **error)
{
    g_autoptr(StoreRows) rows = PQexec(connection, give_sql);
    if (PQresultStatus(rows) == PGRES_COMMAND_OK)
        return true;
    store_set_error(connection, rows, error);
    g_prefix_error(error, "the database's owner gives roles what they may: ");
    return false;
}

bool roles_create(PGconn *connection, GError **error)
{
    if (!migrations_check(connection, error))
        return false;
    for (gsize i = 0; i < G_N_ELEMENTS(roles); i++)
        if (!create_missing(connection, &roles[i], error))
            return false;
    if (!give_privileges(connection, error))
        return false;
    printf("\nIn database %s each may now do its part:\n", PQdb(connection));
    for (gsize i = 0; i < G_N_ELEMENTS(roles); i++)
        printf("  %-21s %s\n", roles[i].name, roles[i].may);
    return true;
}

/* An empty literal where no password is to be set. */
static bool set_password(PGconn *connection, const char *login, const char *password,
                         GError **error)
{
    if (password == NULL)
        return true;
    char *verifier = PQencryptPasswordConn(connection, password, login, NULL);
    if (verifier == NULL) {
        store_set_error(connection, NULL, error);
        return false;
    }
    char *literal = PQescapeLiteral(connection, verifier, strlen(verifier));
    g_autofree char *alter = with_names(connection, "ALTER ROLE %", login, "");
    g_autofree char *sql = g_strconcat(alter, " PASSWORD ", literal, NULL);
    PQfreemem(verifier);
    PQfreemem(literal);
    return tell(connection, sql, error);
}

bool roles_login(PGconn *connection, const char *login, const struct role *role,
                 const char *password, GError **error)
{
    bool exists;
    if (!role_exists(connection, login, &exists, error))
        return false;
    g_autofree char *enter =
        with_names(connection, exists ? "GRANT % TO %" : "CREATE ROLE % LOGIN IN ROLE %",
                   exists ? role->name : login, exists ? login : role->name);
    if (!tell(connection, enter, error) || !set_password(connection, login, password, error))
        return false;
    printf("\nlogin %s: %s in %s%s\n", login, exists ? "was there, now" : "created", role->name,
           password == NULL ? exists ? "" : ", without a password" : ", password set");
    return true;
}
