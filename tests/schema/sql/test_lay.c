/* Functions, views and triggers that a migration lays anew. */
#include "schema/sql/migrate.h"
#include "tests/support/farm/scratch_db.h"
#include "tests/support/patience.h"

#include <locale.h>
#include <string.h>

static const struct migration tables[] = {
    {1, "0001_one",
     "CREATE TABLE one (n integer); CREATE FUNCTION most() RETURNS integer LANGUAGE sql IMMUTABLE"
     " AS 'SELECT 9'; ALTER TABLE one ADD CHECK (n < most());",
     "sha"},
    {2, "0002_one_anew", "DROP TABLE one; CREATE TABLE one (n integer);", "sha"},
};

static char *ask(PGconn *connection, const char *sql)
{
    PGresult *rows = PQexec(connection, sql);
    g_assert_cmpstr(PQresultErrorMessage(rows), ==, "");
    char *value = g_strdup(PQntuples(rows) > 0 ? PQgetvalue(rows, 0, 0) : "");
    PQclear(rows);
    return value;
}

static void expect(PGconn *connection, const char *sql, const char *expected)
{
    g_autofree char *value = ask(connection, sql);
    g_assert_cmpstr(value, ==, expected);
}

/* A connection to an empty database. */
static PGconn *connect_empty(char **url)
{
    g_autofree char *fresh = scratch_db_new();
    PGconn *connection = PQconnectdb(fresh);
    g_free(ask(connection,
               "SET client_min_messages = warning;"
               "DROP SCHEMA skipjack, skipjack_work CASCADE; SET search_path = skipjack"));
    if (url != NULL)
        *url = g_steal_pointer(&fresh);
    return connection;
}

/* A program's definitions, as a list of statements: "f NAME SQL" for a function, v and t for the others. */
struct program {
    int revision, oldest;
    const char *const statements[6];
};

static bool lay_beside(PGconn *connection, size_t tables_count, const struct program *program,
                       struct migrated *done, GError **error)
{
    struct definition list[6];
    struct definitions definitions = {
        .revision = program->revision, .oldest = program->oldest, .list = list};
    g_autoptr(GString) all = g_string_new(NULL);
    g_autoptr(GString) triggers = g_string_new(NULL);
    g_autoptr(GString) views = g_string_new(NULL);
    g_autoptr(GPtrArray) names = g_ptr_array_new_with_free_func(g_free);
    for (size_t i = 0; i < 6 && program->statements[i] != NULL; i++) {
        const char *text = program->statements[i];
        const char *sql = strchr(text + 2, ' ') + 1;
        g_ptr_array_add(names, g_strndup(text + 2, (gsize)(sql - text) - 3));
        list[i] = (struct definition){text[0] == 'f'   ? DEFINITION_FUNCTION
                                      : text[0] == 'v' ? DEFINITION_VIEW
                                                       : DEFINITION_TRIGGER,
                                      names->pdata[i], sql};
        g_string_append(all, sql);
        if (text[0] != 'f')
            g_string_append(text[0] == 't' ? triggers : views, sql);
        definitions.count++;
    }
    g_autofree char *sha256 = g_compute_checksum_for_string(G_CHECKSUM_SHA256, all->str, -1);
    g_autofree char *of_triggers =
        g_compute_checksum_for_string(G_CHECKSUM_SHA256, triggers->str, -1);
    g_autofree char *of_views = g_compute_checksum_for_string(G_CHECKSUM_SHA256, views->str, -1);
    definitions.sha256 = sha256;
    definitions.triggers_sha256 = of_triggers;
    definitions.views_sha256 = of_views;
    return migrations_apply(connection, &(struct schema_sql){tables, tables_count, &definitions},
                            done, error);
}

static bool lay(PGconn *connection, const struct program *program, struct migrated *done,
                GError **error)
{
    return lay_beside(connection, 1, program, done, error);
}

static void must_lay(PGconn *connection, const struct program *program, bool anew)
{
    g_autoptr(GError) error = NULL;
    struct migrated done;
    g_assert_true(lay(connection, program, &done, &error));
    g_assert_no_error(error);
    g_assert_true(done.functions == anew);
}

#define SQL "LANGUAGE sql AS"

/* The statement that lays function a() anew, with another body. */
static const char function_a_gives_5[] =
    "f a CREATE OR REPLACE FUNCTION a() RETURNS integer " SQL " 'SELECT 5'";
static const struct program first = {
    1,
    1,
    {"v pair CREATE OR REPLACE VIEW pair AS SELECT a() AS a, b AS b FROM inner_view",
     "v inner_view CREATE OR REPLACE VIEW inner_view AS SELECT b() AS b",
     "f a CREATE OR REPLACE FUNCTION a() RETURNS integer " SQL " 'SELECT 1'",
     "f b CREATE OR REPLACE FUNCTION b() RETURNS integer " SQL " 'SELECT a() + 1'",
     "t keep CREATE OR REPLACE TRIGGER keep AFTER INSERT ON one FOR EACH ROW EXECUTE FUNCTION t()",
     "f t CREATE OR REPLACE FUNCTION t() RETURNS trigger LANGUAGE plpgsql AS"
     " 'BEGIN RAISE EXCEPTION ''kept''; END'"}};

static void test_order_does_not_matter(void)
{
    PGconn *connection = connect_empty(NULL);
    must_lay(connection, &first, true);
    expect(connection, "SELECT a || ' ' || b FROM pair", "1 2");
    PGresult *rows = PQexec(connection, "INSERT INTO one VALUES (1)");
    g_assert_nonnull(strstr(PQresultErrorMessage(rows), "kept"));
    PQclear(rows);
    must_lay(connection, &first, false);
    PQfinish(connection);
}

static void test_changed_body_is_replaced_in_place(void)
{
    PGconn *connection = connect_empty(NULL);
    const struct program changed = {1,
                                    1,
                                    {first.statements[0], first.statements[1], function_a_gives_5,
                                     first.statements[3], first.statements[4],
                                     first.statements[5]}};
    must_lay(connection, &first, true);
    g_autofree char *before = ask(connection, "SELECT 'a()'::regprocedure::oid");
    must_lay(connection, &changed, true);
    expect(connection, "SELECT 'a()'::regprocedure::oid", before);
    expect(connection, "SELECT a || ' ' || b FROM pair", "5 6");
    PQfinish(connection);
}

/* The result's type changes: the function cannot be replaced in place. */
static void test_changed_result_is_made_anew(void)
{
    PGconn *connection = connect_empty(NULL);
    const struct program changed = {
        1,
        1,
        {"v pair CREATE OR REPLACE VIEW pair AS SELECT b() AS b, a() AS a",
         "f a CREATE OR REPLACE FUNCTION a() RETURNS text " SQL " 'SELECT ''x'''",
         "f b CREATE OR REPLACE FUNCTION b() RETURNS text " SQL " 'SELECT a() || 1'"}};
    must_lay(connection, &first, true);
    must_lay(connection, &changed, true);
    expect(connection, "SELECT a || ' ' || b FROM pair", "x x1");
    PQfinish(connection);
}

static void test_undefined_ones_are_dropped(void)
{
    PGconn *connection = connect_empty(NULL);
    const struct program fewer = {
        1, 1, {"f a CREATE OR REPLACE FUNCTION a() RETURNS integer " SQL " 'SELECT 1'"}};
    must_lay(connection, &first, true);
    g_free(ask(connection, "CREATE FUNCTION by_hand() RETURNS integer LANGUAGE sql AS 'SELECT 1'"));
    must_lay(connection, &fewer, true);
    expect(connection,
           "SELECT string_agg(proname, ' ' ORDER BY proname) FROM pg_proc"
           " WHERE pronamespace = 'skipjack'::regnamespace",
           "a by_hand most"); /* a constraint calls most() */
    expect(connection,
           "SELECT count(*) FROM pg_class WHERE relkind = 'v' AND relnamespace ="
           " 'skipjack'::regnamespace",
           "0");
    g_free(ask(connection, "INSERT INTO one VALUES (1)"));
    PQfinish(connection);
}

/* "skipjack db psql" makes things in our schema. */
static void test_things_made_by_hand_stay(void)
{
    PGconn *connection = connect_empty(NULL);
    const struct program fewer = {1, 1, {first.statements[2]}};
    must_lay(connection, &first, true);
    g_free(ask(connection,
               "CREATE VIEW my_view AS SELECT 1 AS n; CREATE PROCEDURE mine() LANGUAGE sql AS"
               " 'SELECT 1'; CREATE FUNCTION my_trigger() RETURNS trigger LANGUAGE plpgsql AS"
               " 'BEGIN RETURN NULL; END'; CREATE TRIGGER mine BEFORE INSERT ON one FOR EACH ROW"
               " EXECUTE FUNCTION my_trigger()"));
    must_lay(connection, &fewer, true);
    g_free(ask(connection, "INSERT INTO one VALUES (1); CALL mine()"));
    expect(connection, "SELECT count(*) FROM one", "0");
    expect(connection, "SELECT n FROM my_view", "1");
    PQfinish(connection);
}

/* The first program with this ledger kept no names and no hash of the views. */
static void test_ledger_without_names_is_completed(void)
{
    PGconn *connection = connect_empty(NULL);
    const struct program fewer = {1, 1, {first.statements[2]}};
    must_lay(connection, &first, true);
    g_free(ask(connection,
               "ALTER TABLE schema_functions DROP COLUMN views_sha256, DROP COLUMN names"));
    must_lay(connection, &fewer, true);
    expect(connection, "SELECT count(*) FROM pg_proc WHERE pronamespace = 'skipjack'::regnamespace",
           "2");
    expect(connection, "SELECT names IS NOT NULL AND views_sha256 <> '' FROM schema_functions",
           "t");
    PQfinish(connection);
}

/* Migrations and functions come together or not at all. */
static void test_failing_one_leaves_nothing_behind(void)
{
    g_autoptr(GError) error = NULL;
    struct migrated done;
    PGconn *connection = connect_empty(NULL);
    const struct program broken = {1,
                                   1,
                                   {"f a CREATE OR REPLACE FUNCTION a() RETURNS integer " SQL
                                    " 'SELECT 1'",
                                    "v bad CREATE OR REPLACE VIEW bad AS SELECT no_such_thing()"}};
    g_assert_false(lay(connection, &broken, &done, &error));
    g_assert_nonnull(strstr(error->message, "bad"));
    g_assert_nonnull(strstr(error->message, "no_such_thing"));
    g_assert_true(done.migrations == 0 && !done.functions);
    expect(connection, "SELECT count(*) FROM pg_class WHERE relname IN ('one', 'schema_functions')",
           "0");
    PQfinish(connection);
}

/* Where triggers stay as they are, their tables are not locked. */
static void test_tables_at_work_are_left_alone(void)
{
    g_autofree char *url = NULL;
    PGconn *connection = connect_empty(&url), *busy = PQconnectdb(url);
    const struct program changed = {
        1,
        1,
        {first.statements[2], first.statements[3], first.statements[4],
         "f t CREATE OR REPLACE FUNCTION t() RETURNS trigger LANGUAGE plpgsql AS"
         " 'BEGIN RETURN NULL; END'"}};
    must_lay(connection, &first, true);
    g_free(ask(busy, "BEGIN; LOCK TABLE skipjack.one IN ROW EXCLUSIVE MODE"));
    must_lay(connection, &changed, true);
    g_free(ask(busy, "SET search_path = skipjack; INSERT INTO one VALUES (1); COMMIT"));
    PQfinish(busy);
    PQfinish(connection);
}

/* Holds a table while a migration waits for it, and then waits for the migration. */
static gpointer work_on_table(gpointer connection)
{
    gint64 end_us = patience_end();
    for (bool waits = false; !waits && g_get_monotonic_time() < end_us;) {
        g_autofree char *count = ask(connection, "SELECT count(*) FROM pg_locks WHERE NOT granted"
                                                 " AND relation = 'skipjack.one'::regclass");
        waits = strcmp(count, "1") == 0;
        g_usleep(20000);
    }
    g_free(ask(connection, "LOCK TABLE skipjack.schema_migrations IN ROW EXCLUSIVE MODE; COMMIT"));
    return NULL;
}

/* One transaction locks several tables, so it may deadlock with workers. */
static void test_deadlock_is_tried_again(void)
{
    g_autofree char *url = NULL;
    PGconn *connection = connect_empty(&url), *busy = PQconnectdb(url);
    const struct program changed = {
        1,
        1,
        {first.statements[5],
         "t keep CREATE OR REPLACE TRIGGER keep BEFORE INSERT ON one FOR EACH ROW EXECUTE"
         " FUNCTION t()"}};
    must_lay(connection, &first, true);
    g_free(ask(connection, "SET deadlock_timeout = '3s'"));
    g_free(ask(
        busy, "SET deadlock_timeout = '1h'; BEGIN; LOCK TABLE skipjack.one IN ROW EXCLUSIVE MODE"));
    GThread *thread = g_thread_new("busy", work_on_table, busy);
    must_lay(connection, &changed, true);
    g_thread_join(thread);
    PQfinish(busy);
    PQfinish(connection);
}

/* A session that reads views for hours, such as pg_dump, delays no change of functions. The server ends it if it has to
 * wait. */
static void test_readers_of_views_are_left_alone(void)
{
    g_autofree char *url = NULL;
    PGconn *connection = connect_empty(&url), *reader = PQconnectdb(url);
    const struct program changed = {1,
                                    1,
                                    {first.statements[0], first.statements[1], function_a_gives_5,
                                     first.statements[3], first.statements[4],
                                     first.statements[5]}};
    must_lay(connection, &first, true);
    g_free(ask(
        reader,
        "SET idle_in_transaction_session_timeout = '" G_STRINGIFY(
            PATIENCE_SECONDS) "s'; BEGIN; LOCK TABLE skipjack.pair, skipjack.inner_view IN ACCESS SHARE MODE"));
    must_lay(connection, &changed, true);
    g_free(ask(reader, "COMMIT"));
    expect(connection, "SELECT a || ' ' || b FROM pair", "5 6");
    PQfinish(reader);
    PQfinish(connection);
}

/* A view that gets a column keeps its readers' privileges and the views that others made of it. */
static void test_changed_view_is_replaced_in_place(void)
{
    PGconn *connection = connect_empty(NULL);
    const struct program changed = {
        1,
        1,
        {"v pair CREATE OR REPLACE VIEW pair AS SELECT b() AS a, b() AS b, a() AS c",
         first.statements[2], first.statements[3]}};
    const struct program without = {1, 1, {first.statements[2]}};
    must_lay(connection, &first, true);
    g_free(ask(connection,
               "CREATE SCHEMA board; CREATE VIEW board.sums AS SELECT a + b AS sum FROM pair;"
               "GRANT SELECT ON pair TO pg_monitor"));
    must_lay(connection, &changed, true);
    expect(
        connection,
        "SELECT sum || ' ' || has_table_privilege('pg_monitor', 'pair', 'SELECT') FROM board.sums",
        "4 true");
    expect(connection, "SELECT to_regclass('inner_view') IS NULL", "t");
    must_lay(connection, &without, true);
    expect(connection, "SELECT to_regclass('pair') IS NULL", "t");
    PQfinish(connection);
}

/* Also where the ledger has no names. */
static void test_extensions_in_the_schema_stay(void)
{
    PGconn *connection = connect_empty(NULL);
    const struct program fewer = {1, 1, {first.statements[2]}};
    must_lay(connection, &first, true);
    g_free(ask(connection, "UPDATE schema_functions SET names = NULL;"
                           "CREATE EXTENSION pg_stat_statements SCHEMA skipjack;"
                           "CREATE PROCEDURE by_hand() LANGUAGE sql AS 'SELECT 1'"));
    must_lay(connection, &fewer, true);
    expect(connection,
           "SELECT string_agg(proname, ' ' ORDER BY proname) FROM pg_proc"
           " WHERE pronamespace = 'skipjack'::regnamespace AND proname !~ '^pg_stat'",
           "a most");
    expect(connection, "SELECT to_regclass('skipjack.pg_stat_statements') IS NOT NULL", "t");
    PQfinish(connection);
}

/* A migration makes a table anew, and its triggers and views go with the old one. */
static void test_triggers_come_back_after_a_migration(void)
{
    PGconn *connection = connect_empty(NULL);
    g_autoptr(GError) error = NULL;
    struct migrated done;
    must_lay(connection, &first, true);
    g_assert_true(lay_beside(connection, 2, &first, &done, &error));
    g_assert_no_error(error);
    PGresult *rows = PQexec(connection, "INSERT INTO one VALUES (1)");
    g_assert_nonnull(strstr(PQresultErrorMessage(rows), "kept"));
    PQclear(rows);
    PQfinish(connection);
}

/* A program of revision 3 lays its functions, and says by `oldest` whether one of revision 2 may go on. */
static const struct {
    int oldest;
    const char *refusal;
} newer[] = {{2, NULL}, {1, NULL}, {3, "ends programs before revision 3"}};

static void test_older_program_leaves_newer_functions(void)
{
    for (gsize i = 0; i < G_N_ELEMENTS(newer); i++) {
        g_autoptr(GError) error = NULL;
        struct migrated done;
        PGconn *connection = connect_empty(NULL);
        const struct program of_3 = {
            3,
            newer[i].oldest,
            {"f a CREATE OR REPLACE FUNCTION a() RETURNS integer " SQL " 'SELECT 3'"}};
        const struct program of_2 = {
            2, 2, {"f a CREATE OR REPLACE FUNCTION a() RETURNS integer " SQL " 'SELECT 2'"}};
        must_lay(connection, &of_2, true);
        must_lay(connection, &of_3, true);
        bool let_in = lay(connection, &of_2, &done, &error);
        g_assert_true(let_in == (newer[i].refusal == NULL));
        g_assert_false(done.functions);
        if (!let_in)
            g_assert_nonnull(strstr(error->message, newer[i].refusal));
        expect(connection, "SELECT a()", "3");
        PQfinish(connection);
    }
}

/* A program with fewer migrations leaves functions alone also where nobody raised their revision. */
static void test_program_with_fewer_migrations_leaves_functions(void)
{
    g_autoptr(GError) error = NULL;
    struct migrated done;
    PGconn *connection = connect_empty(NULL);
    const struct program later = {
        1, 1, {"f a CREATE OR REPLACE FUNCTION a() RETURNS integer " SQL " 'SELECT 2'"}};
    const struct program earlier = {
        1, 1, {"f a CREATE OR REPLACE FUNCTION a() RETURNS integer " SQL " 'SELECT 1'"}};
    g_assert_true(lay_beside(connection, 2, &later, &done, &error));
    g_assert_no_error(error);
    g_free(ask(connection, "UPDATE schema_migrations SET oldest = 1"));
    g_assert_false(lay(connection, &earlier, &done, &error));
    g_assert_error(error, STORE_ERROR, STORE_ERROR_SCHEMA);
    g_assert_nonnull(strstr(error->message, "0002_one_anew"));
    expect(connection, "SELECT a()", "2");
    PQfinish(connection);
}

static void test_store_looks_whose_functions_there_are(void)
{
    static const struct {
        const char *change, *refusal;
    } changes[] = {
        {"SET sha256 = 'x'", "skipjack db migrate"},
        {"SET sha256 = 'x', revision = revision + 1", NULL},
        {"SET sha256 = 'x', revision = revision + 1, oldest = revision + 1", "newer skipjack"},
    };
    g_autofree char *url = scratch_db_new();
    PGconn *connection = PQconnectdb(url);
    for (gsize i = 0; i < G_N_ELEMENTS(changes); i++) {
        g_autoptr(GError) error = NULL;
        g_autofree char *sql = g_strdup_printf("BEGIN; UPDATE skipjack.schema_functions %s; COMMIT",
                                               changes[i].change);
        g_free(ask(connection, sql));
        Store *store = store_open(url, &error);
        g_assert_true((store != NULL) == (changes[i].refusal == NULL));
        if (store == NULL)
            g_assert_nonnull(strstr(error->message, changes[i].refusal));
        store_close(store);
        g_autofree char *back =
            g_strdup_printf("UPDATE skipjack.schema_functions SET revision = %d, oldest = %d",
                            own_definitions.revision, own_definitions.oldest);
        g_free(ask(connection, back));
    }
    PQfinish(connection);
}

/* Laying does not check bodies, since they call what is laid later. */
static void test_our_functions_are_whole(void)
{
    PGconn *connection = PQconnectdb(scratch_db_url());
    g_free(ask(connection, "BEGIN; SET LOCAL search_path = skipjack, pg_temp"));
    for (size_t i = 0; i < own_definitions.count; i++)
        g_free(ask(connection, own_definitions.list[i].sql));
    g_free(ask(connection, "ROLLBACK"));
    PQfinish(connection);
}

int main(int argc, char **argv)
{
    setlocale(LC_ALL, "C");
    g_test_init(&argc, &argv, NULL);
    g_test_set_nonfatal_assertions();
#define TEST(name) g_test_add_func("/lay/" #name, test_##name)
    TEST(order_does_not_matter);
    TEST(changed_body_is_replaced_in_place);
    TEST(changed_result_is_made_anew);
    TEST(undefined_ones_are_dropped);
    TEST(things_made_by_hand_stay);
    TEST(ledger_without_names_is_completed);
    TEST(failing_one_leaves_nothing_behind);
    TEST(tables_at_work_are_left_alone);
    TEST(deadlock_is_tried_again);
    TEST(readers_of_views_are_left_alone);
    TEST(changed_view_is_replaced_in_place);
    TEST(extensions_in_the_schema_stay);
    TEST(triggers_come_back_after_a_migration);
    TEST(older_program_leaves_newer_functions);
    TEST(program_with_fewer_migrations_leaves_functions);
    TEST(store_looks_whose_functions_there_are);
    TEST(our_functions_are_whole);
    return g_test_run();
}
