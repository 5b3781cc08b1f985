#include "schema/migrate.h"

#include "schema/connection.h"
#include "schema/database.h"
#include "schema/store_private.h"

#include <stdlib.h>
#include <string.h>

/* "skipjack" as a number: the key of the advisory lock. */
#define LOCK_SQL   "SELECT pg_advisory_lock(7453010313431182187)"
#define UNLOCK_SQL "SELECT pg_advisory_unlock(7453010313431182187)"

static const char ledger_sql[] = "SET client_min_messages = warning;"
                                 "CREATE SCHEMA IF NOT EXISTS skipjack;"
                                 "CREATE TABLE IF NOT EXISTS skipjack.schema_migrations ("
                                 " number integer PRIMARY KEY, name text NOT NULL,"
                                 " sha256 text NOT NULL,"
                                 " applied_at timestamptz NOT NULL DEFAULT now())";

static PGresult *execute(PGconn *connection, const char *sql, GError **error)
{
    PGresult *rows = PQexec(connection, sql);
    ExecStatusType status = PQresultStatus(rows);
    if (status == PGRES_TUPLES_OK || status == PGRES_COMMAND_OK)
        return rows;
    store_set_error(connection, rows, error);
    PQclear(rows);
    return NULL;
}

/* A question that is answered at once where there is a server. */
static PGresult *ask(PGconn *connection, const char *sql, GError **error)
{
    return store_await(connection, PQsendQuery(connection, sql), STORE_OPEN_SECONDS, error);
}

static bool execute_all(PGconn *connection, const char *sql, GError **error)
{
    g_autoptr(StoreRows) rows = execute(connection, sql, error);
    return rows != NULL;
}

static const struct migration *find(const struct migration *list, size_t count, int number)
{
    for (size_t i = 0; i < count; i++) {
        if (list[i].number == number)
            return &list[i];
    }
    return NULL;
}

/* Everything that was applied must be among ours, unchanged. */
static bool check_ledger(const PGresult *rows, const struct migration *list, size_t count,
                         GError **error)
{
    for (int i = 0; i < PQntuples(rows); i++) {
        const char *name = PQgetvalue(rows, i, 1);
        const struct migration *ours = find(list, count, atoi(PQgetvalue(rows, i, 0)));
        if (ours == NULL) {
            g_set_error(error, STORE_ERROR, STORE_ERROR_SCHEMA,
                        "the database has migration %s, which this program does not know: it is "
                        "of a newer skipjack; use that one",
                        name);
            return false;
        }
        if (strcmp(ours->sha256, PQgetvalue(rows, i, 2)) != 0) {
            g_set_error(error, STORE_ERROR, STORE_ERROR_SCHEMA,
                        "migration %s of this program differs from the %s that the database was "
                        "made with; use the program that made it, or a new database",
                        ours->name, name);
            return false;
        }
    }
    return true;
}

static const char select_ledger[] =
    "SELECT number, name, sha256 FROM skipjack.schema_migrations ORDER BY number";

bool migrations_check(PGconn *connection, GError **error)
{
    g_autoptr(StoreRows) exists =
        ask(connection, "SELECT to_regclass('skipjack.schema_migrations') IS NOT NULL", error);
    if (exists == NULL)
        return false;
    g_autoptr(StoreRows) ledger = NULL;
    if (PQgetvalue(exists, 0, 0)[0] == 't') {
        ledger = ask(connection, select_ledger, error);
        if (ledger == NULL || !check_ledger(ledger, migrations, migrations_count, error))
            return false;
    }
    if (ledger != NULL && (size_t)PQntuples(ledger) == migrations_count)
        return true;
    g_set_error(error, STORE_ERROR, STORE_ERROR_SCHEMA,
                "the database lacks %zu of %zu migrations; apply them with: skipjack db migrate",
                migrations_count - (ledger == NULL ? 0 : (size_t)PQntuples(ledger)),
                migrations_count);
    return false;
}

static bool record(PGconn *connection, const struct migration *migration, GError **error)
{
    g_autofree char *number = g_strdup_printf("%d", migration->number);
    const char *values[] = {number, migration->name, migration->sha256};
    g_autoptr(StoreRows) rows = PQexecParams(
        connection,
        "INSERT INTO skipjack.schema_migrations (number, name, sha256) VALUES ($1, $2, $3)", 3,
        NULL, values, NULL, NULL, 0);
    if (PQresultStatus(rows) == PGRES_COMMAND_OK)
        return true;
    store_set_error(connection, rows, error);
    return false;
}

static bool apply_one(PGconn *connection, const struct migration *migration, GError **error)
{
    if (execute_all(connection, "BEGIN; SET LOCAL search_path = skipjack, pg_temp", error) &&
        execute_all(connection, migration->sql, error) && record(connection, migration, error) &&
        execute_all(connection, "COMMIT", error))
        return true;
    g_prefix_error(error, "migration %s: ", migration->name);
    /* Its own failure would only hide the first one. */
    execute_all(connection, "ROLLBACK", NULL);
    return false;
}

static bool apply_missing(PGconn *connection, const struct migration *list, size_t count,
                          int *applied, GError **error)
{
    if (!execute_all(connection, ledger_sql, error))
        return false;
    g_autoptr(StoreRows) ledger = execute(connection, select_ledger, error);
    if (ledger == NULL || !check_ledger(ledger, list, count, error))
        return false;
    for (size_t i = (size_t)PQntuples(ledger); i < count; i++) {
        if (!apply_one(connection, &list[i], error))
            return false;
        (*applied)++;
    }
    return true;
}

bool migrations_apply(PGconn *connection, const struct migration *list, size_t count, int *applied,
                      GError **error)
{
    *applied = 0;
    if (!execute_all(connection, LOCK_SQL, error))
        return false;
    bool done = apply_missing(connection, list, count, applied, error);
    /* The lock also goes with the connection. */
    execute_all(connection, UNLOCK_SQL, NULL);
    return done;
}

bool database_migrate(const char *url, int *applied, GError **error)
{
    PGconn *connection = connection_open(url, "skipjack migrate", error);
    if (connection == NULL)
        return false;
    bool done = migrations_apply(connection, migrations, migrations_count, applied, error);
    PQfinish(connection);
    return done;
}
