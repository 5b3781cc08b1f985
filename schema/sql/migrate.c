#include "schema/sql/migrate.h"

#include "schema/server/connection.h"
#include "schema/server/database.h"
#include "schema/sql/former.h"
#include "schema/sql/lay.h"
#include "schema/store/blockers.h"
#include "schema/store/store_private.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* How long a try waits for sessions that use a table. Other sessions queue behind it meanwhile, so a try that waited
 * in vain lets them go on, and the next one waits longer: longer than an idle transaction of a worker may be open
 * (functions/blockers.sql), then longer than a busy one may. */
static const char *const lock_seconds[] = {"5", "15", "75"};

#define PATIENCE_SECONDS 600
#define PAUSE_US         (G_USEC_PER_SEC / 2)

static const char ledger_sql[] = "SET client_min_messages = warning;"
                                 "CREATE SCHEMA IF NOT EXISTS skipjack;"
                                 "CREATE TABLE IF NOT EXISTS skipjack.schema_migrations ("
                                 " number integer PRIMARY KEY, name text NOT NULL,"
                                 " sha256 text NOT NULL,"
                                 " applied_at timestamptz NOT NULL DEFAULT now(),"
                                 " oldest integer)";

/* One row: whose functions the database has. names: of the functions, views and triggers that were laid. */
static const char functions_ledger_sql[] =
    "CREATE TABLE IF NOT EXISTS skipjack.schema_functions ("
    " revision integer NOT NULL, oldest integer NOT NULL, sha256 text NOT NULL,"
    " triggers_sha256 text NOT NULL, laid_at timestamptz NOT NULL DEFAULT now(),"
    " views_sha256 text NOT NULL DEFAULT '', names text[]);"
    /* The first program with this ledger made it without the last columns. */
    "DO $$ BEGIN IF NOT EXISTS (SELECT 1 FROM pg_attribute"
    " WHERE attrelid = 'skipjack.schema_functions'::regclass AND attname = 'names') THEN"
    " ALTER TABLE skipjack.schema_functions"
    "  ADD COLUMN IF NOT EXISTS views_sha256 text NOT NULL DEFAULT '', ADD COLUMN names text[];"
    " END IF; END $$";

/* A line of a migration that says which programs may go on beside it. */
#define OLDEST_LINE "-- oldest program: "

struct schema_sql schema_sql_own(void)
{
    return (struct schema_sql){migrations, migrations_count, &own_definitions};
}

/* ---- statements ---- */

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

/* For a query that a server answers at once. */
static PGresult *ask(PGconn *connection, const char *sql, GError **error)
{
    return store_await(connection, PQsendQuery(connection, sql), STORE_OPEN_SECONDS, error);
}

static bool execute_all(PGconn *connection, const char *sql, GError **error)
{
    g_autoptr(StoreRows) rows = execute(connection, sql, error);
    return rows != NULL;
}

static bool execute_with(PGconn *connection, const char *sql, int count, const char *const *values,
                         GError **error)
{
    g_autoptr(StoreRows) rows = PQexecParams(connection, sql, count, NULL, values, NULL, NULL, 0);
    if (PQresultStatus(rows) == PGRES_COMMAND_OK)
        return true;
    store_set_error(connection, rows, error);
    return false;
}

/* ---- migrations that the database has ---- */

static const struct migration *find(const struct schema_sql *wanted, int number)
{
    for (size_t i = 0; i < wanted->migrations_count; i++) {
        if (wanted->migrations[i].number == number)
            return &wanted->migrations[i];
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

/* A migration above the program's newest is a newer program's, which says whether older programs may go on. */
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

/* Applied migrations must be the program's, unchanged, or of newer programs that let this one go on. */
static bool check_ledger(const PGresult *rows, const struct schema_sql *wanted, GError **error)
{
    size_t count = wanted->migrations_count;
    int newest = count > 0 ? wanted->migrations[count - 1].number : 0;
    for (int i = 0; i < PQntuples(rows); i++) {
        int number = atoi(PQgetvalue(rows, i, 0));
        const char *name = PQgetvalue(rows, i, 1);
        const struct migration *ours = find(wanted, number);
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

static size_t count_missing(const PGresult *ledger, const struct schema_sql *wanted)
{
    size_t missing = 0;
    for (size_t i = 0; i < wanted->migrations_count; i++)
        missing += !is_applied(ledger, wanted->migrations[i].number);
    return missing;
}

/* A former database is taken over as a whole or not at all. */
static bool check_former(const PGresult *ledger, GError **error)
{
    if (former_is_complete(ledger))
        return true;
    int count = PQntuples(ledger);
    if (count >= FORMER_COUNT || atoi(PQgetvalue(ledger, count - 1, 0)) >= FORMER_LAST) {
        g_set_error(error, STORE_ERROR, STORE_ERROR_SCHEMA,
                    "the database has %d migrations up to %s, which differ from the %d of the last "
                    "program before this schema (commit cee873e); use the program that made it, or "
                    "a new database",
                    count, PQgetvalue(ledger, count - 1, 1), FORMER_COUNT);
        return false;
    }
    g_set_error(error, STORE_ERROR, STORE_ERROR_SCHEMA,
                "the database is of an older skipjack, with migrations up to %s of 0071_barred; %s",
                PQgetvalue(ledger, PQntuples(ledger) - 1, 1), former_remedy);
    return false;
}

/* ---- functions that the database has ---- */

enum whose_functions {
    FUNCTIONS_OWN,
    FUNCTIONS_NEWER, /* of a newer program, which lets this one go on */
    FUNCTIONS_OTHER, /* older, or of another program of the same revision: to be laid anew */
    FUNCTIONS_END_US /* of a newer program, which ends this one */
};

/* row: revision, oldest, sha256, triggers_sha256. */
static enum whose_functions whose(const PGresult *row, const struct definitions *ours)
{
    if (PQntuples(row) == 0)
        return FUNCTIONS_OTHER;
    if (strcmp(PQgetvalue(row, 0, 2), ours->sha256) == 0)
        return FUNCTIONS_OWN;
    if (atoi(PQgetvalue(row, 0, 0)) <= ours->revision)
        return FUNCTIONS_OTHER;
    return atoi(PQgetvalue(row, 0, 1)) <= ours->revision ? FUNCTIONS_NEWER : FUNCTIONS_END_US;
}

static void refuse_newer(const PGresult *row, const struct definitions *ours, GError **error)
{
    g_set_error(error, STORE_ERROR, STORE_ERROR_SCHEMA,
                "the database has functions of revision %s, which ends programs before revision "
                "%s, and this one has %d: it is of a newer skipjack; use that one",
                PQgetvalue(row, 0, 0), PQgetvalue(row, 0, 1), ours->revision);
}

static const char select_functions[] =
    "SELECT revision, oldest, sha256, triggers_sha256 FROM skipjack.schema_functions";

/* ---- checking ---- */

static const char select_ledger[] =
    "SELECT number, name, sha256, coalesce((to_jsonb(m)->>'oldest')::integer, number)"
    " FROM skipjack.schema_migrations m ORDER BY number";

/* Whether one of our schemas exists, and which of the two the login may use: a worker may use skipjack_work alone. */
static const char select_schemas[] =
    "SELECT count(*) > 0,"
    " coalesce(bool_or(nspname = 'skipjack' AND has_schema_privilege(oid, 'USAGE')), false),"
    " coalesce(bool_or(nspname = 'skipjack_work' AND has_schema_privilege(oid, 'USAGE')), false)"
    " FROM pg_namespace WHERE nspname IN ('skipjack', 'skipjack_work')";

/* Sets *ledger, NULL for a database without one, and *functions_sql, which selects the row of its functions. */
static bool find_ledger(PGconn *connection, PGresult **ledger, const char **functions_sql,
                        GError **error)
{
    g_autoptr(StoreRows) schemas = ask(connection, select_schemas, error);
    if (schemas == NULL)
        return false;
    const char *sql = select_ledger;
    *functions_sql = select_functions;
    if (PQgetvalue(schemas, 0, 0)[0] == 'f')
        return true;
    if (PQgetvalue(schemas, 0, 1)[0] == 't') {
        g_autoptr(StoreRows) exists =
            ask(connection, "SELECT to_regclass('skipjack.schema_migrations') IS NOT NULL", error);
        if (exists == NULL || PQgetvalue(exists, 0, 0)[0] == 'f')
            return exists != NULL;
    } else if (PQgetvalue(schemas, 0, 2)[0] == 't') {
        sql = "SELECT number, name, sha256, oldest FROM skipjack_work.migrations()";
        *functions_sql =
            "SELECT revision, oldest, sha256, triggers_sha256 FROM skipjack_work.functions_laid()";
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

static bool check_functions(PGconn *connection, const char *functions_sql, GError **error)
{
    g_autoptr(StoreRows) row = ask(connection, functions_sql, error);
    if (row == NULL)
        return false;
    switch (whose(row, &own_definitions)) {
    case FUNCTIONS_OWN:
    case FUNCTIONS_NEWER: return true;
    case FUNCTIONS_END_US: refuse_newer(row, &own_definitions, error); return false;
    case FUNCTIONS_OTHER: break;
    }
    g_set_error(error, STORE_ERROR, STORE_ERROR_SCHEMA,
                "the database's functions are not those of this program; lay them with: skipjack "
                "db migrate");
    return false;
}

bool migrations_check(PGconn *connection, GError **error)
{
    const struct schema_sql own = schema_sql_own();
    const char *functions_sql;
    g_autoptr(StoreRows) ledger = NULL;
    if (!find_ledger(connection, &ledger, &functions_sql, error))
        return false;
    if (ledger != NULL && former_is(ledger)) {
        if (check_former(ledger, error))
            g_set_error(error, STORE_ERROR, STORE_ERROR_SCHEMA,
                        "the database is of an older skipjack; bring it to this one, with all its "
                        "data, by: skipjack db migrate");
        return false;
    }
    if (ledger != NULL && !check_ledger(ledger, &own, error))
        return false;
    size_t missing = count_missing(ledger, &own);
    if (missing == 0)
        return check_functions(connection, functions_sql, error);
    g_set_error(error, STORE_ERROR, STORE_ERROR_SCHEMA,
                "the database lacks %zu of %zu migrations; apply them with: skipjack db migrate",
                missing, migrations_count);
    return false;
}

/* ---- applying ---- */

static bool record(PGconn *connection, const struct migration *migration, GError **error)
{
    g_autofree char *number = g_strdup_printf("%d", migration->number);
    g_autofree char *oldest = g_strdup_printf("%d", oldest_program(migration));
    const char *values[] = {number, migration->name, migration->sha256, oldest};
    return execute_with(connection,
                        "INSERT INTO skipjack.schema_migrations (number, name, sha256, oldest)"
                        " VALUES ($1, $2, $3, $4)",
                        4, values, error);
}

static bool record_functions(PGconn *connection, const struct definitions *ours, GError **error)
{
    g_autofree char *revision = g_strdup_printf("%d", ours->revision);
    g_autofree char *oldest = g_strdup_printf("%d", ours->oldest);
    g_autoptr(GString) names = g_string_new("{");
    for (size_t i = 0; i < ours->count; i++)
        g_string_append_printf(names, "%s%s", i > 0 ? "," : "", ours->list[i].name);
    g_string_append_c(names, '}');
    const char *values[] = {revision,           oldest,    ours->sha256, ours->triggers_sha256,
                            ours->views_sha256, names->str};
    return execute_all(connection, "DELETE FROM skipjack.schema_functions", error) &&
           execute_with(connection,
                        "INSERT INTO skipjack.schema_functions"
                        " (revision, oldest, sha256, triggers_sha256, views_sha256, names)"
                        " VALUES ($1, $2, $3, $4, $5, $6)",
                        6, values, error);
}

/* New tables and functions are closed to PUBLIC and open to their roles in the same transaction. */
static const char finish_sql[] =
    "DO $$ BEGIN IF to_regproc('skipjack.finish_migration') IS NOT NULL"
    " THEN PERFORM skipjack.finish_migration(); END IF; END $$";

/* One program migrates at a time: it holds the ledger until its transaction ends. Others may read the ledger. */
static const char begin_sql[] = "BEGIN; SET LOCAL search_path = skipjack, pg_temp;"
                                "SET LOCAL client_min_messages = warning;"
                                "SET LOCAL lock_timeout = '%ss';"
                                "LOCK TABLE skipjack.schema_migrations IN SHARE ROW EXCLUSIVE MODE";

/* The ledger as it is now, with which no other program meddles until the transaction ends. */
static PGresult *begin(PGconn *connection, const struct schema_sql *wanted, int tries,
                       GError **error)
{
    int wait = MIN(tries, (int)G_N_ELEMENTS(lock_seconds) - 1);
    g_autofree char *sql = g_strdup_printf(begin_sql, lock_seconds[wait]);
    if (!execute_all(connection, sql, error))
        return NULL;
    g_autoptr(StoreRows) ledger = execute(connection, select_ledger, error);
    if (ledger == NULL)
        return NULL;
    bool fits =
        former_is(ledger) ? check_former(ledger, error) : check_ledger(ledger, wanted, error);
    return fits ? g_steal_pointer(&ledger) : NULL;
}

/* The tables are the baseline's already, so its migrations are recorded and not applied. */
static bool take_over(PGconn *connection, const struct schema_sql *wanted, GError **error)
{
    if (!execute_all(connection, former_take_over_sql, error))
        return false;
    for (size_t i = 0;
         i < wanted->migrations_count && wanted->migrations[i].number <= FORMER_BASELINE; i++) {
        if (!record(connection, &wanted->migrations[i], error))
            return false;
    }
    return true;
}

static bool apply_tables(PGconn *connection, const struct schema_sql *wanted,
                         const PGresult *ledger, struct migrated *done, GError **error)
{
    for (size_t i = 0; i < wanted->migrations_count; i++) {
        const struct migration *migration = &wanted->migrations[i];
        bool had = done->was_former ? migration->number <= FORMER_BASELINE
                                    : is_applied(ledger, migration->number);
        if (had)
            continue;
        if (!execute_all(connection, migration->sql, error) ||
            !record(connection, migration, error)) {
            g_prefix_error(error, "migration %s: ", migration->name);
            return false;
        }
        done->migrations++;
    }
    return true;
}

/* Views and triggers are laid only where they changed. A migration may have dropped some with their tables, so all
 * are laid after it. */
static struct lay_parts changed_parts(const PGresult *row, const struct definitions *ours,
                                      const struct migrated *done)
{
    bool all = PQntuples(row) == 0 || done->migrations > 0 || done->was_former;
    return (struct lay_parts){
        .views = all || strcmp(PQgetvalue(row, 0, 4), ours->views_sha256) != 0,
        .triggers = all || strcmp(PQgetvalue(row, 0, 3), ours->triggers_sha256) != 0};
}

/* Functions beside migrations of a newer program are newer, too, also where their revision was not raised. */
static bool check_not_newer(const struct schema_sql *wanted, const PGresult *ledger,
                            const struct migrated *done, GError **error)
{
    int last = PQntuples(ledger) - 1;
    size_t count = wanted->migrations_count;
    int newest = count > 0 ? wanted->migrations[count - 1].number : 0;
    if (done->was_former || last < 0 || atoi(PQgetvalue(ledger, last, 0)) <= newest)
        return true;
    g_set_error(error, STORE_ERROR, STORE_ERROR_SCHEMA,
                "the database has migration %s and functions other than this program's, which ends "
                "at schema %04d: they are of a newer skipjack; use that one",
                PQgetvalue(ledger, last, 1), newest);
    return false;
}

static bool apply_functions(PGconn *connection, const struct schema_sql *wanted,
                            const PGresult *ledger, struct migrated *done, GError **error)
{
    const struct definitions *ours = wanted->definitions;
    if (ours == NULL)
        return true;
    if (!execute_all(connection, functions_ledger_sql, error))
        return false;
    g_autoptr(StoreRows) row =
        execute(connection,
                "SELECT revision, oldest, sha256, triggers_sha256, views_sha256"
                " FROM skipjack.schema_functions",
                error);
    if (row == NULL)
        return false;
    enum whose_functions whose_are = whose(row, ours);
    if (whose_are == FUNCTIONS_END_US)
        refuse_newer(row, ours, error);
    if (whose_are == FUNCTIONS_END_US || whose_are == FUNCTIONS_NEWER)
        return whose_are == FUNCTIONS_NEWER;
    if (whose_are == FUNCTIONS_OWN && done->migrations == 0)
        return true;
    if (!check_not_newer(wanted, ledger, done, error))
        return false;
    if (!definitions_lay(connection, ours, changed_parts(row, ours, done), error) ||
        !record_functions(connection, ours, error)) {
        g_prefix_error(error, "functions of revision %d: ", ours->revision);
        return false;
    }
    done->functions = true;
    return true;
}

static bool try_apply(PGconn *connection, const struct schema_sql *wanted, int tries,
                      struct migrated *done, GError **error)
{
    *done = (struct migrated){0};
    g_autoptr(StoreRows) ledger = begin(connection, wanted, tries, error);
    if (ledger != NULL) {
        done->was_former = former_is(ledger);
        if ((!done->was_former || take_over(connection, wanted, error)) &&
            apply_tables(connection, wanted, ledger, done, error) &&
            apply_functions(connection, wanted, ledger, done, error) &&
            execute_all(connection, finish_sql, error) && execute_all(connection, "COMMIT", error))
            return true;
    }
    /* A failure of the rollback would only hide the first one. */
    execute_all(connection, "ROLLBACK", NULL);
    *done = (struct migrated){0};
    return false;
}

/* Tables are in use while workers work. Sessions of workers that keep a transaction open are ended. The one transaction
 * locks several tables, so it may deadlock with workers: it is then tried again. */
static bool apply(PGconn *connection, const struct schema_sql *wanted, struct migrated *done,
                  GError **error)
{
    gint64 end_us = g_get_monotonic_time() + (gint64)PATIENCE_SECONDS * G_USEC_PER_SEC;
    for (int tries = 0;; tries++) {
        g_autoptr(GError) failure = NULL;
        if (try_apply(connection, wanted, tries, done, &failure))
            return true;
        bool is_locked = g_error_matches(failure, STORE_ERROR, STORE_ERROR_LOCKED);
        bool may_pass = is_locked || store_is_deadlock(failure);
        if (!may_pass || g_get_monotonic_time() > end_us) {
            g_propagate_prefixed_error(
                error, g_steal_pointer(&failure), "%s",
                is_locked ? "another session holds a table, skipjack status says which: " : "");
            return false;
        }
        if (is_locked)
            blockers_end(connection, STORE_OPEN_SECONDS);
        g_usleep(PAUSE_US);
    }
}

/* Two programs that found the same new database both make the ledger: the second one finds what the first one made. */
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

/* Whether nothing is missing, so that no lock need be taken. *is_done is unset where it fails. */
static bool look(PGconn *connection, const struct schema_sql *wanted, bool *is_done, GError **error)
{
    g_autoptr(StoreRows) ledger = execute(connection, select_ledger, error);
    *is_done = false;
    if (ledger == NULL || former_is(ledger))
        return ledger != NULL;
    if (!check_ledger(ledger, wanted, error))
        return false;
    if (count_missing(ledger, wanted) > 0)
        return true;
    if (wanted->definitions == NULL) {
        *is_done = true;
        return true;
    }
    g_autoptr(StoreRows) exists =
        execute(connection, "SELECT to_regclass('skipjack.schema_functions') IS NOT NULL", error);
    if (exists == NULL || PQgetvalue(exists, 0, 0)[0] == 'f')
        return exists != NULL;
    g_autoptr(StoreRows) row = execute(connection, select_functions, error);
    if (row == NULL)
        return false;
    enum whose_functions whose_are = whose(row, wanted->definitions);
    *is_done = whose_are == FUNCTIONS_OWN || whose_are == FUNCTIONS_NEWER;
    return true;
}

bool migrations_apply(PGconn *connection, const struct schema_sql *wanted, struct migrated *done,
                      GError **error)
{
    bool is_done;
    *done = (struct migrated){0};
    if (!make_ledger(connection, error) || !look(connection, wanted, &is_done, error))
        return false;
    return is_done || apply(connection, wanted, done, error);
}

bool database_migrate(const char *url, struct migrated *done, GError **error)
{
    PGconn *connection = connection_open(url, "skipjack migrate", error);
    if (connection == NULL)
        return false;
    const struct schema_sql own = schema_sql_own();
    bool migrated = migrations_apply(connection, &own, done, error);
    PQfinish(connection);
    if (migrated && done->was_former)
        fprintf(stderr, "skipjack: took the database over from schema 0071, with all its data: its "
                        "ledger begins anew with schema 0001\n");
    return migrated;
}
