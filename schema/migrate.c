#include "schema/migrate.h"

#include "schema/server/connection.h"
#include "schema/server/database.h"
#include "schema/store/blockers.h"
#include "schema/store/store_private.h"

#include <stdlib.h>
#include <string.h>

/* A migration waits so long for sessions that use a table. Others wait behind it meanwhile, so it lets them go on
 * then, and tries again: for longer than an idle transaction of a worker's may be open (0070_blockers.sql), and
 * then than a busy one. */
static const char *const lock_seconds[] = {"5", "15", "75"};

#define PATIENCE_SECONDS 600
#define PAUSE_US         (G_USEC_PER_SEC / 2)

static const char ledger_sql[] =
    "SET client_min_messages = warning;"
    "CREATE SCHEMA IF NOT EXISTS skipjack;"
    "CREATE TABLE IF NOT EXISTS skipjack.schema_migrations ("
    " number integer PRIMARY KEY, name text NOT NULL,"
    " sha256 text NOT NULL,"
    " applied_at timestamptz NOT NULL DEFAULT now(),"
    " oldest integer);"
    /* Ledgers of the first programs have no such column. */
    "DO $$ BEGIN IF NOT EXISTS (SELECT 1 FROM pg_attribute"
    " WHERE attrelid = 'skipjack.schema_migrations'::regclass"
    " AND attname = 'oldest' AND NOT attisdropped) THEN"
    " ALTER TABLE skipjack.schema_migrations ADD COLUMN oldest integer;"
    " END IF; END $$";

/* A line of a migration that says which programs may go on beside it. */
#define OLDEST_LINE "-- oldest program: "

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

/* The number of the last migration of the oldest program that may use a database with this one. */
static int oldest_program(const struct migration *migration)
{
    const char *line = strstr(migration->sql, OLDEST_LINE);
    bool stated = line != NULL && (line == migration->sql || line[-1] == '\n');
    return stated ? atoi(line + strlen(OLDEST_LINE)) : migration->number;
}

/* One that we do not know is of a newer program, which says whether older ones may go on. */
static bool check_unknown(const char *name, int number, int oldest, int newest, GError **error)
{
    if (number > newest && oldest <= newest)
        return true;
    if (number > newest)
        g_set_error(error, STORE_ERROR, STORE_ERROR_SCHEMA,
                    "the database has migration %s, which ends programs before schema %04d, and "
                    "this one has %04d: it is of a newer skipjack; use that one",
                    name, oldest, newest);
    else
        g_set_error(error, STORE_ERROR, STORE_ERROR_SCHEMA,
                    "the database has migration %s, which this program with schema %04d should "
                    "have but lacks; use the program that made it, or a new database",
                    name, newest);
    return false;
}

/* What was applied must be ours, unchanged, or of newer programs that let us go on. */
static bool check_ledger(const PGresult *rows, const struct migration *list, size_t count,
                         GError **error)
{
    int newest = count > 0 ? list[count - 1].number : 0;
    for (int i = 0; i < PQntuples(rows); i++) {
        int number = atoi(PQgetvalue(rows, i, 0));
        const char *name = PQgetvalue(rows, i, 1);
        const struct migration *ours = find(list, count, number);
        if (ours == NULL) {
            if (!check_unknown(name, number, atoi(PQgetvalue(rows, i, 3)), newest, error))
                return false;
        } else if (strcmp(ours->sha256, PQgetvalue(rows, i, 2)) != 0) {
            g_set_error(error, STORE_ERROR, STORE_ERROR_SCHEMA,
                        "migration %s of this program differs from the %s that the database was "
                        "made with; use the program that made it, or a new database",
                        ours->name, name);
            return false;
        }
    }
    return true;
}

static bool is_applied(const PGresult *ledger, int number)
{
    for (int i = 0; ledger != NULL && i < PQntuples(ledger); i++) {
        if (atoi(PQgetvalue(ledger, i, 0)) == number)
            return true;
    }
    return false;
}

static const char select_ledger[] =
    "SELECT number, name, sha256, coalesce((to_jsonb(m)->>'oldest')::integer, number)"
    " FROM skipjack.schema_migrations m ORDER BY number";

/* Which of our schemas there are and which of them the login may use: a worker has the second alone. */
static const char select_schemas[] =
    "SELECT count(*) > 0,"
    " coalesce(bool_or(nspname = 'skipjack' AND has_schema_privilege(oid, 'USAGE')), false),"
    " coalesce(bool_or(nspname = 'skipjack_work' AND has_schema_privilege(oid, 'USAGE')), false)"
    " FROM pg_namespace WHERE nspname IN ('skipjack', 'skipjack_work')";

/* The ledger as far as there is one: *ledger stays NULL in a database that has none. */
static bool find_ledger(PGconn *connection, PGresult **ledger, GError **error)
{
    g_autoptr(StoreRows) schemas = ask(connection, select_schemas, error);
    if (schemas == NULL)
        return false;
    const char *sql = select_ledger;
    if (PQgetvalue(schemas, 0, 0)[0] == 'f')
        return true;
    if (PQgetvalue(schemas, 0, 1)[0] == 't') {
        g_autoptr(StoreRows) exists =
            ask(connection, "SELECT to_regclass('skipjack.schema_migrations') IS NOT NULL", error);
        if (exists == NULL || PQgetvalue(exists, 0, 0)[0] == 'f')
            return exists != NULL;
    } else if (PQgetvalue(schemas, 0, 2)[0] == 't') {
        sql = "SELECT number, name, sha256, oldest FROM skipjack_work.migrations()";
    } else {
        g_set_error(error, STORE_ERROR, STORE_ERROR_ACCESS,
                    "the login '%s' has no role in this database; its owner gives it one: skipjack "
                    "db roles --login %s --role skipjack_worker",
                    PQuser(connection), PQuser(connection));
        return false;
    }
    *ledger = ask(connection, sql, error);
    return *ledger != NULL;
}

bool migrations_check(PGconn *connection, GError **error)
{
    g_autoptr(StoreRows) ledger = NULL;
    if (!find_ledger(connection, &ledger, error) ||
        (ledger != NULL && !check_ledger(ledger, migrations, migrations_count, error)))
        return false;
    size_t missing = 0;
    for (size_t i = 0; i < migrations_count; i++)
        missing += !is_applied(ledger, migrations[i].number);
    if (missing == 0)
        return true;
    g_set_error(error, STORE_ERROR, STORE_ERROR_SCHEMA,
                "the database lacks %zu of %zu migrations; apply them with: skipjack db migrate",
                missing, migrations_count);
    return false;
}

static bool record(PGconn *connection, const struct migration *migration, GError **error)
{
    g_autofree char *number = g_strdup_printf("%d", migration->number);
    g_autofree char *oldest = g_strdup_printf("%d", oldest_program(migration));
    const char *values[] = {number, migration->name, migration->sha256, oldest};
    g_autoptr(StoreRows) rows =
        PQexecParams(connection,
                     "INSERT INTO skipjack.schema_migrations (number, name, sha256, oldest)"
                     " VALUES ($1, $2, $3, $4)",
                     4, NULL, values, NULL, NULL, 0);
    if (PQresultStatus(rows) == PGRES_COMMAND_OK)
        return true;
    store_set_error(connection, rows, error);
    return false;
}

/* What a migration made is closed to PUBLIC and open to its roles in the same transaction; before
 * 0013_roles there is nothing to call. */
static const char privileges_sql[] =
    "DO $$ BEGIN IF to_regproc('skipjack.set_privileges') IS NOT NULL"
    " THEN PERFORM skipjack.set_privileges(); END IF; END $$";

/* One program migrates at a time: the ledger is its own until the transaction ends. Others may read it. */
static const char begin_sql[] = "BEGIN; SET LOCAL search_path = skipjack, pg_temp;"
                                "SET LOCAL lock_timeout = '%ss';"
                                "LOCK TABLE skipjack.schema_migrations IN SHARE ROW EXCLUSIVE MODE";

/* *is_new: it was not applied by another program meanwhile. */
static bool begin_one(PGconn *connection, const struct migration *migration, int tries,
                      bool *is_new, GError **error)
{
    int wait = MIN(tries, (int)G_N_ELEMENTS(lock_seconds) - 1);
    g_autofree char *begin = g_strdup_printf(begin_sql, lock_seconds[wait]);
    if (!execute_all(connection, begin, error))
        return false;
    g_autoptr(StoreRows) ledger = execute(connection, select_ledger, error);
    *is_new = !is_applied(ledger, migration->number);
    return ledger != NULL;
}

static bool try_one(PGconn *connection, const struct migration *migration, int tries, int *applied,
                    GError **error)
{
    bool is_new = true;
    if (begin_one(connection, migration, tries, &is_new, error) &&
        (!is_new || (execute_all(connection, migration->sql, error) &&
                     execute_all(connection, privileges_sql, error) &&
                     record(connection, migration, error))) &&
        execute_all(connection, "COMMIT", error)) {
        *applied += is_new;
        return true;
    }
    g_prefix_error(error, "migration %s: ", migration->name);
    /* Its own failure would only hide the first one. */
    execute_all(connection, "ROLLBACK", NULL);
    return false;
}

/* Tables are in use while workers work. Sessions of workers that keep a transaction open are ended. */
static bool apply_one(PGconn *connection, const struct migration *migration, int *applied,
                      GError **error)
{
    gint64 end_us = g_get_monotonic_time() + (gint64)PATIENCE_SECONDS * G_USEC_PER_SEC;
    for (int tries = 0;; tries++) {
        g_autoptr(GError) failure = NULL;
        if (try_one(connection, migration, tries, applied, &failure))
            return true;
        bool is_locked = g_error_matches(failure, STORE_ERROR, STORE_ERROR_LOCKED);
        if (!is_locked || g_get_monotonic_time() > end_us) {
            g_propagate_prefixed_error(
                error, g_steal_pointer(&failure), "%s",
                is_locked ? "another session holds a table, skipjack status says which: " : "");
            return false;
        }
        blockers_end(connection, STORE_OPEN_SECONDS);
        g_usleep(PAUSE_US);
    }
}

/* Two that found the same new database both make the ledger: the second one finds what the first one made. */
static bool make_ledger(PGconn *connection, GError **error)
{
    for (int tries = 0;; tries++) {
        g_autoptr(GError) failure = NULL;
        if (execute_all(connection, ledger_sql, &failure))
            return true;
        if (tries == 5 || !g_error_matches(failure, STORE_ERROR, STORE_ERROR_QUERY)) {
            g_propagate_error(error, g_steal_pointer(&failure));
            return false;
        }
        g_usleep(PAUSE_US);
    }
}

static bool apply_missing(PGconn *connection, const struct migration *list, size_t count,
                          int *applied, GError **error)
{
    if (!make_ledger(connection, error))
        return false;
    g_autoptr(StoreRows) ledger = execute(connection, select_ledger, error);
    if (ledger == NULL || !check_ledger(ledger, list, count, error))
        return false;
    for (size_t i = 0; i < count; i++) {
        if (is_applied(ledger, list[i].number))
            continue;
        if (!apply_one(connection, &list[i], applied, error))
            return false;
    }
    return true;
}

bool migrations_apply(PGconn *connection, const struct migration *list, size_t count, int *applied,
                      GError **error)
{
    *applied = 0;
    return apply_missing(connection, list, count, applied, error);
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
