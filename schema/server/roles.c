/*
 * Roles and logins, created by statements with names quoted by libpq. Every
 * statement may be repeated: an existing role or login is altered instead.
 */
#include "schema/server/roles.h"

#include "schema/sql/migrate.h"
#include "schema/store/store_private.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const struct role roles[] = {
    {"skipjack_reader", "reads all but secrets: status, report, export"},
    {"skipjack_worker", "works: changes only what it claimed, by functions"},
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

/* Formats a statement with its names quoted by PQescapeIdentifier(). */
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

/* Takes the migrations' lock: both change the same rows of the catalogue. */
static const char give_sql[] =
    "BEGIN; LOCK TABLE skipjack.schema_migrations IN SHARE ROW EXCLUSIVE MODE;"
    "SET LOCAL client_min_messages = warning;"
    "SELECT skipjack.set_privileges(); COMMIT";

static bool give_privileges(PGconn *connection, GError **error)
{
    g_autoptr(StoreRows) rows = PQexec(connection, give_sql);
    if (PQresultStatus(rows) == PGRES_COMMAND_OK)
        return true;
    store_set_error(connection, rows, error);
    g_prefix_error(error, "the database's owner grants roles their rights: ");
    return false;
}

/* Functions of PostgreSQL that every login may call and that we do not use. A large object belongs to its
 * maker, without a limit. Advisory locks fill the lock table of the whole server, which then admits no
 * connection. Only a superuser can revoke them. */
static const char open_functions_sql[] =
    "SELECT rolsuper, (SELECT format('REVOKE EXECUTE ON FUNCTION %s FROM PUBLIC',"
    "    string_agg('pg_catalog.' || p.oid::regprocedure::text, ', ' ORDER BY p.oid))"
    "  FROM pg_proc p WHERE p.pronamespace = 'pg_catalog'::regnamespace"
    "  AND (p.proname IN ('lo_creat', 'lo_create', 'lo_from_bytea')"
    "       OR p.proname ~ '^pg_(try_)?advisory_.*lock(_shared)?$' AND p.proname !~ 'unlock')"
    "  AND has_function_privilege('public', p.oid, 'EXECUTE') HAVING count(*) > 0)"
    " FROM pg_roles WHERE rolname = current_user";

static bool close_functions(PGconn *connection, GError **error)
{
    g_autoptr(StoreRows) rows = ask(connection, open_functions_sql, NULL, error);
    if (rows == NULL)
        return false;
    bool may = PQgetvalue(rows, 0, 0)[0] == 't', open = !PQgetisnull(rows, 0, 1);
    const char *close = PQgetvalue(rows, 0, 1);
    if (open && !may)
        printf(
            "\nEvery login can still fill the disk with large objects, and the server's table of "
            "locks with\nadvisory locks, so that nobody connects; a superuser ends that in this "
            "database by:\n%s\n",
            close);
    return !open || !may || tell(connection, close, error);
}

bool roles_create(PGconn *connection, GError **error)
{
    if (!migrations_check(connection, error))
        return false;
    for (gsize i = 0; i < G_N_ELEMENTS(roles); i++)
        if (!create_missing(connection, &roles[i], error))
            return false;
    if (!give_privileges(connection, error) || !close_functions(connection, error))
        return false;
    printf("\nIn database %s each may now do its part:\n", PQdb(connection));
    for (gsize i = 0; i < G_N_ELEMENTS(roles); i++)
        printf("  %-21s %s\n", roles[i].name, roles[i].may);
    return true;
}

/* Sets the password by its verifier, so that the server never sees the password. NULL leaves it as it is. */
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

/* One worker's login must not take all connections: readers and coordinators need some. */
static bool limit_connections(PGconn *connection, const struct role_login *login, bool is_new,
                              GError **error)
{
    bool is_worker = login->role == role_find("skipjack_worker");
    int limit = login->connections;
    if (limit == 0 && (!is_worker || !is_new))
        return true;
    if (limit == 0) {
        g_autoptr(StoreRows) rows = ask(connection, "SHOW max_connections", NULL, error);
        if (rows == NULL)
            return false;
        limit = MAX(atoi(PQgetvalue(rows, 0, 0)) / 2, 1);
    }
    g_autofree char *alter = with_names(connection, "ALTER ROLE %", login->name, "");
    g_autofree char *sql = g_strdup_printf("%s CONNECTION LIMIT %d", alter, limit);
    if (!tell(connection, sql, error))
        return false;
    printf("at most %d connections at once\n", limit);
    return true;
}

/* Makes the owner of our functions a member of the login, so that watch_sessions() may end the worker's
 * sessions that block others. If this login may not do so, a message says it, and the call goes on. */
static bool let_owner_end(PGconn *connection, const char *name, GError **error)
{
    static const char owner_sql[] =
        "SELECT o.rolname, o.rolsuper OR pg_has_role(o.oid, $1::name, 'USAGE')"
        "  OR pg_has_role(o.oid, 'pg_signal_backend', 'USAGE')"
        " FROM pg_namespace n JOIN pg_roles o ON o.oid = n.nspowner WHERE n.nspname = 'skipjack'";
    g_autoptr(StoreRows) rows = ask(connection, owner_sql, name, error);
    if (rows == NULL)
        return false;
    g_autoptr(GError) refused = NULL;
    const char *owner = PQgetvalue(rows, 0, 0);
    g_autofree char *grant = with_names(connection, "GRANT % TO %", name, owner);
    if (PQgetvalue(rows, 0, 1)[0] == 'f' && !tell(connection, grant, &refused))
        printf("its sessions that block others will not be ended: a superuser lets the owner do so "
               "by: %s\n",
               grant);
    return true;
}

/* Names the other databases that the login may connect to: its bounds hold in this one only. */
static bool say_other_databases(PGconn *connection, const char *name, GError **error)
{
    static const char others_sql[] =
        "SELECT string_agg(quote_ident(d.datname), ', ' ORDER BY d.datname), current_database()"
        " FROM pg_database d WHERE d.datallowconn AND d.datname <> current_database()"
        " AND has_database_privilege($1::name, d.oid, 'CONNECT')";
    g_autoptr(StoreRows) rows = ask(connection, others_sql, name, error);
    if (rows == NULL)
        return false;
    const char *others = PQgetvalue(rows, 0, 0);
    if (*others != '\0')
        printf("it can also connect to %s, where it is not bounded: let pg_hba.conf admit it to %s "
               "alone, or:\nREVOKE CONNECT ON DATABASE %s FROM PUBLIC\n",
               others, PQgetvalue(rows, 0, 1), others);
    return true;
}

/* Timeouts are defaults, which a session may change: they end transactions and sessions left open by
 * mistake, for instance in psql. Our programs set their own. Only a superuser may limit a session's
 * temporary files. If this login may not alter the other one, its settings stay. */
static void set_defaults(PGconn *connection, const char *name)
{
    static const char *const settings[] = {
        "ALTER ROLE % SET idle_in_transaction_session_timeout = '15s'",
        "ALTER ROLE % SET statement_timeout = '10min'", "ALTER ROLE % SET temp_file_limit = '1GB'"};
    for (gsize i = 0; i < G_N_ELEMENTS(settings); i++) {
        g_autofree char *sql = with_names(connection, settings[i], name, "");
        tell(connection, sql, NULL);
    }
}

bool roles_login(PGconn *connection, const struct role_login *login, GError **error)
{
    bool exists;
    const char *name = login->name, *role = login->role->name;
    if (!role_exists(connection, name, &exists, error))
        return false;
    g_autofree char *enter =
        with_names(connection, exists ? "GRANT % TO %" : "CREATE ROLE % LOGIN IN ROLE %",
                   exists ? role : name, exists ? name : role);
    if (!tell(connection, enter, error) || !set_password(connection, name, login->password, error))
        return false;
    printf("\nlogin %s: %s in %s%s\n", name, exists ? "was there, now" : "created", role,
           login->password == NULL ? exists ? "" : ", without a password" : ", password set");
    bool is_worker = login->role == role_find("skipjack_worker");
    if (is_worker)
        set_defaults(connection, name);
    return limit_connections(connection, login, !exists, error) &&
           (!is_worker || (let_owner_end(connection, name, error) &&
                           say_other_databases(connection, name, error)));
}
