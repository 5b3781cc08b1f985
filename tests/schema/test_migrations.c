/* Migrations against a real PostgreSQL. */
#include "schema/migrate.h"
#include "tests/support/scratch_db.h"

#include <locale.h>
#include <string.h>

#define HASH_A "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define HASH_B "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"

static const struct migration list[] = {
    {1, "0001_one", "CREATE TABLE one (n integer);", HASH_A},
    {2, "0002_two", "CREATE TABLE two (n integer); INSERT INTO two VALUES (2);", HASH_B},
};

static void execute(PGconn *connection, const char *sql, const char *expected)
{
    PGresult *rows = PQexec(connection, sql);
    g_assert_cmpstr(PQresultErrorMessage(rows), ==, "");
    if (expected != NULL && PQntuples(rows) > 0)
        g_assert_cmpstr(PQgetvalue(rows, 0, 0), ==, expected);
    PQclear(rows);
}

/* A connection to an empty database: without the migrations of the program. */
static PGconn *connect_empty(void)
{
    g_autofree char *url = scratch_db_new();
    PGconn *connection = PQconnectdb(url);
    execute(connection, "SET client_min_messages = warning; DROP SCHEMA skipjack CASCADE", NULL);
    return connection;
}

static void test_each_is_applied_once(void)
{
    g_autoptr(GError) error = NULL;
    PGconn *connection = connect_empty();
    int applied = -1;
    g_assert_true(migrations_apply(connection, list, 1, &applied, &error));
    g_assert_cmpint(applied, ==, 1);
    g_assert_true(migrations_apply(connection, list, 2, &applied, &error));
    g_assert_cmpint(applied, ==, 1);
    g_assert_true(migrations_apply(connection, list, 2, &applied, &error));
    g_assert_cmpint(applied, ==, 0);
    g_assert_no_error(error);
    execute(connection, "SELECT count(*) FROM skipjack.two", "1");
    execute(connection,
            "SELECT string_agg(number || name || left(sha256, 1), ' ' ORDER BY number)"
            " FROM skipjack.schema_migrations",
            "10001_onea 20002_twob");
    PQfinish(connection);
}

static void test_failing_one_leaves_nothing_behind(void)
{
    static const struct migration broken[] = {
        {1, "0001_one", "CREATE TABLE one (n integer);", HASH_A},
        {2, "0002_broken", "CREATE TABLE half (n integer); SELECT no_such_thing;", HASH_B},
    };
    g_autoptr(GError) error = NULL;
    PGconn *connection = connect_empty();
    int applied = -1;
    g_assert_false(migrations_apply(connection, broken, 2, &applied, &error));
    g_assert_nonnull(strstr(error->message, "0002_broken"));
    g_assert_nonnull(strstr(error->message, "no_such_thing"));
    execute(connection, "SELECT to_regclass('skipjack.half') IS NULL", "t");
    g_clear_error(&error);
    g_assert_true(migrations_apply(connection, list, 2, &applied, &error));
    g_assert_cmpint(applied, ==, 1);
    PQfinish(connection);
}

static void test_changed_one_is_refused(void)
{
    g_autoptr(GError) error = NULL;
    PGconn *connection = connect_empty();
    int applied;
    g_assert_true(migrations_apply(connection, list, 1, &applied, &error));
    struct migration changed[2] = {list[0], list[1]};
    changed[0].sha256 = HASH_B;
    g_assert_false(migrations_apply(connection, changed, 2, &applied, &error));
    g_assert_error(error, STORE_ERROR, STORE_ERROR_SCHEMA);
    g_assert_nonnull(strstr(error->message, "0001_one"));
    execute(connection, "SELECT to_regclass('skipjack.two') IS NULL", "t");
    PQfinish(connection);
}

static void test_store_refuses_an_older_and_a_newer_database(void)
{
    g_autoptr(GError) error = NULL;
    g_autofree char *url = scratch_db_new();
    PGconn *connection = PQconnectdb(url);
    execute(connection, "INSERT INTO skipjack.schema_migrations VALUES (9999, '9999_future', 'x')",
            NULL);
    g_assert_null(store_open(url, &error));
    g_assert_error(error, STORE_ERROR, STORE_ERROR_SCHEMA);
    g_assert_nonnull(strstr(error->message, "newer skipjack"));
    g_clear_error(&error);
    execute(connection, "DELETE FROM skipjack.schema_migrations WHERE number > 1", NULL);
    g_assert_null(store_open(url, &error));
    g_assert_error(error, STORE_ERROR, STORE_ERROR_SCHEMA);
    g_assert_nonnull(strstr(error->message, "skipjack db migrate"));
    g_clear_error(&error);
    execute(connection, "SET client_min_messages = warning; DROP SCHEMA skipjack CASCADE", NULL);
    g_assert_null(store_open(url, &error));
    g_assert_error(error, STORE_ERROR, STORE_ERROR_SCHEMA);
    PQfinish(connection);
}

static gpointer migrate_thread(gpointer url)
{
    int applied = -1;
    return GINT_TO_POINTER(database_migrate(url, &applied, NULL) ? applied : -100);
}

static void test_two_programs_at_once_apply_each_once(void)
{
    g_autofree char *url = scratch_db_new();
    PGconn *connection = PQconnectdb(url);
    GThread *threads[3];
    int sum = 0;
    execute(connection, "SET client_min_messages = warning; DROP SCHEMA skipjack CASCADE", NULL);
    for (gsize i = 0; i < G_N_ELEMENTS(threads); i++)
        threads[i] = g_thread_new("migrate", migrate_thread, url);
    for (gsize i = 0; i < G_N_ELEMENTS(threads); i++)
        sum += GPOINTER_TO_INT(g_thread_join(threads[i]));
    g_assert_cmpint(sum, ==, (int)migrations_count);
    PQfinish(connection);
}

static void test_functions_are_closed_to_public(void)
{
    PGconn *connection = PQconnectdb(scratch_db_url());
    execute(connection,
            "SELECT count(*) FROM pg_proc p WHERE p.pronamespace = 'skipjack'::regnamespace"
            " AND (p.proacl IS NULL OR EXISTS (SELECT 1 FROM aclexplode(p.proacl) a"
            "      WHERE a.grantee = 0))",
            "0");
    execute(connection,
            "SELECT count(*) FROM pg_proc p WHERE p.pronamespace = 'skipjack'::regnamespace"
            " AND NOT 'search_path=skipjack, pg_temp' = ANY (coalesce(p.proconfig, '{}'))",
            "0");
    PQfinish(connection);
}

static void test_forbidden_moves_are_refused_by_the_database(void)
{
    PGconn *connection = PQconnectdb(scratch_db_url());
    execute(connection,
            "SELECT count(*) FROM skipjack.job_moves WHERE old IN ('cancelled') AND new <> old",
            "0");
    execute(connection,
            "SELECT count(*) FROM skipjack.job_moves WHERE old = 'failed' AND new = 'evaluating'",
            "0");
    execute(connection,
            "SELECT string_agg(old::text, ' ' ORDER BY old) FROM skipjack.job_moves"
            " WHERE new = 'evaluating' AND old <> new",
            "built");
    PQfinish(connection);
}

int main(int argc, char **argv)
{
    setlocale(LC_ALL, "C");
    g_test_init(&argc, &argv, NULL);
    g_test_set_nonfatal_assertions();
    g_test_add_func("/migrations/each_is_applied_once", test_each_is_applied_once);
    g_test_add_func("/migrations/failing_one_leaves_nothing_behind",
                    test_failing_one_leaves_nothing_behind);
    g_test_add_func("/migrations/changed_one_is_refused", test_changed_one_is_refused);
    g_test_add_func("/migrations/store_refuses_an_older_and_a_newer_database",
                    test_store_refuses_an_older_and_a_newer_database);
    g_test_add_func("/migrations/two_programs_at_once_apply_each_once",
                    test_two_programs_at_once_apply_each_once);
    g_test_add_func("/migrations/functions_are_closed_to_public",
                    test_functions_are_closed_to_public);
    g_test_add_func("/migrations/forbidden_moves_are_refused_by_the_database",
                    test_forbidden_moves_are_refused_by_the_database);
    return g_test_run();
}
