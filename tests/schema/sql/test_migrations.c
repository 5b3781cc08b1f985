/* Migrations against a real PostgreSQL. */
#include "schema/sql/migrate.h"
#include "schema/store/store_campaigns.h"
#include "tests/support/farm/scratch_db.h"

#include <locale.h>
#include <stdio.h>
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

static bool apply(PGconn *connection, const struct migration *some, size_t count, int *applied,
                  GError **error)
{
    struct migrated done;
    bool migrated =
        migrations_apply(connection, &(struct schema_sql){some, count, NULL}, &done, error);
    *applied = done.migrations;
    return migrated;
}

static void test_each_is_applied_once(void)
{
    g_autoptr(GError) error = NULL;
    PGconn *connection = connect_empty();
    int applied = -1;
    g_assert_true(apply(connection, list, 1, &applied, &error));
    g_assert_cmpint(applied, ==, 1);
    g_assert_true(apply(connection, list, 2, &applied, &error));
    g_assert_cmpint(applied, ==, 1);
    g_assert_true(apply(connection, list, 2, &applied, &error));
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
    g_assert_false(apply(connection, broken, 2, &applied, &error));
    g_assert_nonnull(strstr(error->message, "0002_broken"));
    g_assert_nonnull(strstr(error->message, "no_such_thing"));
    execute(connection,
            "SELECT to_regclass('skipjack.half') IS NULL AND to_regclass('skipjack.one') IS NULL"
            " AND NOT EXISTS (SELECT 1 FROM skipjack.schema_migrations)",
            "t");
    g_clear_error(&error);
    g_assert_true(apply(connection, list, 2, &applied, &error));
    g_assert_cmpint(applied, ==, 2);
    PQfinish(connection);
}

static void test_changed_one_is_refused(void)
{
    g_autoptr(GError) error = NULL;
    PGconn *connection = connect_empty();
    int applied;
    g_assert_true(apply(connection, list, 1, &applied, &error));
    struct migration changed[2] = {list[0], list[1]};
    changed[0].sha256 = HASH_B;
    g_assert_false(apply(connection, changed, 2, &applied, &error));
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

/* A newer program applies migration 0003; then a program migrates whose last migration is 0002. */
static const struct {
    const char *newer; /* the text of migration 0003 */
    const char *refusal;
} newer_programs[] = {
    {"-- oldest program: 0001\nALTER TABLE two ADD COLUMN m integer;", NULL},
    {"SELECT 1;\n-- oldest program: 0002\n", NULL},
    {"-- oldest program: 0003\nDROP TABLE two;", "ends programs before schema 0003"},
    {"DROP TABLE two; -- oldest program: 0001", "this one has 0002"},
};

static void test_older_program_goes_on_where_newer_ones_let_it(void)
{
    for (gsize i = 0; i < G_N_ELEMENTS(newer_programs); i++) {
        const struct migration newer[] = {
            list[0], list[1], {3, "0003_three", newer_programs[i].newer, HASH_A}};
        g_autoptr(GError) error = NULL;
        PGconn *connection = connect_empty();
        int applied = -1;
        g_assert_true(apply(connection, newer, 3, &applied, &error));
        g_assert_no_error(error);
        bool let_in = apply(connection, list, 2, &applied, &error);
        g_assert_true(let_in == (newer_programs[i].refusal == NULL));
        g_assert_cmpint(applied, ==, 0);
        if (newer_programs[i].refusal != NULL) {
            g_assert_error(error, STORE_ERROR, STORE_ERROR_SCHEMA);
            g_assert_nonnull(strstr(error->message, newer_programs[i].refusal));
        }
        PQfinish(connection);
    }
}

/* A program that works while a newer one migrates goes on, and comes in again, or is refused. */
static void test_store_that_connects_again_looks_at_the_ledger(void)
{
    g_autoptr(GError) error = NULL;
    g_autofree char *url = scratch_db_new();
    g_autoptr(Store) store = store_open(url, &error);
    g_assert_no_error(error);
    PGconn *connection = PQconnectdb(url);
    for (int i = 0; i < 2; i++) {
        execute(connection,
                i == 0 ? "INSERT INTO skipjack.schema_migrations"
                         " VALUES (9998, '9998_kind', 'x', now(), 12)"
                       : "INSERT INTO skipjack.schema_migrations"
                         " VALUES (9999, '9999_unkind', 'x', now(), 9999)",
                NULL);
        execute(connection,
                "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity"
                " WHERE datname = current_database() AND pid <> pg_backend_pid()",
                "1");
        g_autoptr(GPtrArray) campaigns = store_list_campaigns(store, &error);
        g_assert_true((campaigns != NULL) == (i == 0));
    }
    g_assert_error(error, STORE_ERROR, STORE_ERROR_SCHEMA);
    g_assert_nonnull(strstr(error->message, "9999_unkind"));
    PQfinish(connection);
}

static void test_no_migration_of_ours_lets_in_what_is_newer(void)
{
    for (size_t i = 0; i < migrations_count; i++) {
        const char *line = strstr(migrations[i].sql, "-- oldest program:");
        if (line == NULL)
            continue;
        int oldest = -1;
        g_assert_cmpint(sscanf(line, "-- oldest program: %4d\n", &oldest), ==, 1);
        g_assert_cmpint(oldest, >, 0);
        g_assert_cmpint(oldest, <=, migrations[i].number);
    }
}

static gpointer migrate_thread(gpointer url)
{
    struct migrated done;
    return GINT_TO_POINTER(database_migrate(url, &done, NULL) ? done.migrations + done.functions
                                                              : -100);
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
    g_assert_cmpint(sum, ==, (int)migrations_count + 1);
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

/* The ways of planning that each function forbids. */
static const struct planned {
    const char *function, *without;
} planned[] = {
    {"answers_of", "bitmapscan hashjoin mergejoin seqscan"},
    {"ask_due_finals", "seqscan"},
    {"ask_final", "seqscan"},
    {"check_measured", "bitmapscan hashjoin mergejoin seqscan"},
    {"check_measurements", "bitmapscan hashjoin mergejoin seqscan"},
    {"check_results_possible", "bitmapscan hashjoin mergejoin seqscan"},
    {"claim_bundles", "bitmapscan seqscan sort"},
    {"claimed_jobs", "bitmapscan hashjoin mergejoin seqscan"},
    {"copy_answers", "bitmapscan hashjoin mergejoin seqscan"},
    {"copy_deliveries", "nestloop"},
    {"drop_code", "seqscan"},
    {"drop_open_rounds", "bitmapscan seqscan"},
    {"end_bundles", "bitmapscan hashjoin mergejoin seqscan"},
    {"end_later_rounds", "bitmapscan seqscan sort"},
    {"end_unclaimed_jobs", "bitmapscan seqscan sort"},
    {"final_entrants", "hashjoin mergejoin seqscan"},
    {"find_problem_rows", "hashjoin mergejoin seqscan"},
    {"foreign_page", "bitmapscan hashjoin mergejoin seqscan"},
    {"forget_kernels", "seqscan"},
    {"forget_outcomes", "bitmapscan seqscan"},
    {"forget_winners", "seqscan"},
    {"former_results", "bitmapscan seqscan"},
    {"gather_attempts", "bitmapscan hashjoin mergejoin seqscan"},
    {"gather_contenders", "bitmapscan hashjoin mergejoin seqscan"},
    {"gather_foreign_winners", "bitmapscan hashjoin mergejoin seqscan"},
    {"gather_history", "bitmapscan mergejoin nestloop seqscan"},
    {"gather_winners", "bitmapscan hashjoin mergejoin seqscan"},
    {"has_open_jobs", "bitmapscan seqscan sort"},
    {"has_winner", "bitmapscan hashjoin mergejoin seqscan"},
    {"held_bundles", "bitmapscan seqscan"},
    {"history_text_ids", "seqscan"},
    {"nearest_winners", "bitmapscan hashjoin mergejoin seqscan"},
    {"needless_jobs", "bitmapscan hashjoin mergejoin seqscan"},
    {"newest_history", "bitmapscan hashjoin mergejoin seqscan"},
    {"note_delivery", "bitmapscan hashjoin mergejoin seqscan"},
    {"note_kernels_of_rounds", "hashjoin mergejoin"},
    {"priors", "bitmapscan hashjoin mergejoin seqscan"},
    {"propose_asked_golden", "hashjoin mergejoin"},
    {"prospects", "bitmapscan hashjoin mergejoin seqscan"},
    {"put_problem_rows", "hashjoin mergejoin seqscan"},
    {"rank_results", "bitmapscan seqscan"},
    {"reopen_job", "bitmapscan seqscan"},
    {"revive_jobs", "bitmapscan seqscan"},
    {"rounds_payable", "bitmapscan seqscan"},
    {"same_jobs_of", "bitmapscan hashjoin mergejoin seqscan"},
    {"same_problems_of", "bitmapscan hashjoin mergejoin seqscan"},
    {"set_history_winners", "bitmapscan hashjoin mergejoin seqscan"},
    {"take_over", "bitmapscan mergejoin seqscan"},
    {"thin_history", "bitmapscan hashjoin mergejoin seqscan"},
    {"tried_configs", "bitmapscan hashjoin mergejoin seqscan"},
    {"worth_building", "bitmapscan seqscan"},
};

/* The planner has no statistics of tables that are a minute old, and would read all of them for one job. So these
 * functions forbid some ways of planning, and a change of a function must keep its settings. */
static void test_functions_keep_how_they_are_planned(void)
{
    g_autoptr(GString) listed = g_string_new(NULL);
    PGconn *connection = PQconnectdb(scratch_db_url());
    for (gsize i = 0; i < G_N_ELEMENTS(planned); i++)
        g_string_append_printf(listed, "%s%s: %s", i > 0 ? "\n" : "", planned[i].function,
                               planned[i].without);
    execute(connection,
            "SELECT string_agg(line, E'\\n' ORDER BY line COLLATE \"C\") FROM ("
            " SELECT p.proname || ': ' || string_agg(substring(c, '^enable_(.*)=off$'), ' '"
            "                                        ORDER BY c COLLATE \"C\") AS line"
            " FROM pg_proc p, unnest(p.proconfig) AS c"
            " WHERE p.pronamespace IN ('skipjack'::regnamespace, 'skipjack_work'::regnamespace)"
            " AND c LIKE 'enable\\_%' GROUP BY p.oid) AS t",
            listed->str);
    PQfinish(connection);
}

static void execute_refused(PGconn *connection, const char *sql, const char *words)
{
    PGresult *rows = PQexec(connection, sql);
    g_assert_nonnull(strstr(PQresultErrorMessage(rows), words));
    PQclear(rows);
}

static void test_forbidden_moves_are_refused_by_the_database(void)
{
    PGconn *connection = PQconnectdb(scratch_db_url());
    execute(
        connection,
        "SET search_path = skipjack;"
        "INSERT INTO bundles (campaign_id, solver_id, state, round_no, position, job_ids, fence)"
        " VALUES (1, 1, 'ready', 0, 1, '{1}', 5)",
        NULL);
    execute_refused(connection, "UPDATE bundles SET state = 'evaluating', worker_id = 1",
                    "cannot go from ready to evaluating");
    execute_refused(connection, "UPDATE bundles SET state = 'built'",
                    "cannot go from ready to built");
    execute_refused(connection, "UPDATE bundles SET fence = 4", "cannot go back");
    execute_refused(connection, "UPDATE bundles SET job_ids = '{}'", "check constraint");
    execute_refused(connection, "UPDATE bundles SET worker_id = 1", "check constraint");
    execute(connection, "DELETE FROM bundles", NULL);
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
    g_test_add_func("/migrations/older_program_goes_on_where_newer_ones_let_it",
                    test_older_program_goes_on_where_newer_ones_let_it);
    g_test_add_func("/migrations/store_that_connects_again_looks_at_the_ledger",
                    test_store_that_connects_again_looks_at_the_ledger);
    g_test_add_func("/migrations/no_migration_of_ours_lets_in_what_is_newer",
                    test_no_migration_of_ours_lets_in_what_is_newer);
    g_test_add_func("/migrations/two_programs_at_once_apply_each_once",
                    test_two_programs_at_once_apply_each_once);
    g_test_add_func("/migrations/functions_are_closed_to_public",
                    test_functions_are_closed_to_public);
    g_test_add_func("/migrations/functions_keep_how_they_are_planned",
                    test_functions_keep_how_they_are_planned);
    g_test_add_func("/migrations/forbidden_moves_are_refused_by_the_database",
                    test_forbidden_moves_are_refused_by_the_database);
    return g_test_run();
}
