/* Takes over a database of the 66 migrations before the baseline, which holds a farm's work.
 * former_farm.sql.zst is a dump of such a database. It has done, active, paused, build-only and foreign
 * campaigns, rounds, results, golden versions, quarantined configs, networks, devices and events. */
#include "schema/results/store_golden.h"
#include "schema/sql/former.h"
#include "schema/sql/migrate.h"
#include "schema/sql/migrations.h"
#include "schema/store/store_campaigns.h"
#include "schema/store/store_queue.h"
#include "schema/store/store_workers.h"
#include "tests/support/farm/queue_farm.h"
#include "tests/support/farm/scratch_db.h"

#include <fcntl.h>
#include <locale.h>
#include <string.h>
#include <unistd.h>
#include <zstd.h>

#define DUMP "tests/schema/sql/former_farm.sql.zst"

/* Migrations 0001 to 0012 make the same tables as the 66 old migrations. */
#define BASELINE_MIGRATIONS 12

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

static char *read_dump(void)
{
    g_autoptr(GError) error = NULL;
    g_autofree char *packed = NULL;
    gsize length;
    g_assert_true(g_file_get_contents(DUMP, &packed, &length, &error));
    g_assert_no_error(error);
    size_t size = (size_t)ZSTD_getFrameContentSize(packed, length);
    char *text = g_malloc(size + 1);
    g_assert_cmpuint(ZSTD_decompress(text, size, packed, length), ==, size);
    text[size] = '\0';
    return text;
}

/* A database of its own with the farm of the dump. Free the URL with g_free(). */
static char *restore(void)
{
    g_autofree char *text = read_dump();
    char *url = scratch_db_new();
    PGconn *connection = PQconnectdb(url);
    g_free(ask(connection, "SET client_min_messages = warning; DROP SCHEMA skipjack, skipjack_work"
                           " CASCADE"));
    g_free(ask(connection, text));
    PQfinish(connection);
    return url;
}

/* The columns that tables have now: later migrations add others. */
static const char note_columns_sql[] =
    "CREATE TEMP TABLE noted AS SELECT c.relname, a.attname FROM pg_class c JOIN pg_attribute a"
    " ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped"
    " WHERE c.relnamespace = 'skipjack'::regnamespace AND c.relkind = 'r'";

/* Each noted table with its count of rows and a hash of their noted columns, each sequence with its last value. */
static const char contents_sql[] =
    "SELECT string_agg(line, E'\\n' ORDER BY line COLLATE \"C\") FROM ("
    " SELECT c.relname || ' ' || (xpath('/row/rows/text()', query_to_xml(format("
    "  'SELECT count(*) || '' '' || coalesce(md5(string_agg(r.row, '','' ORDER BY r.row)), '''')"
    "   AS rows FROM skipjack.%I t CROSS JOIN LATERAL (SELECT jsonb_object_agg(e.key, e.value)::text"
    "    AS row FROM jsonb_each(to_jsonb(t)) AS e WHERE e.key IN (SELECT n.attname FROM noted n"
    "                                                             WHERE n.relname = %L)) AS r',"
    "  c.relname, c.relname), false, true, '')))[1] AS line"
    " FROM pg_class c WHERE c.relnamespace = 'skipjack'::regnamespace AND c.relkind = 'r'"
    " AND c.relname NOT IN ('schema_migrations', 'schema_functions', 'entry_points')"
    " UNION ALL SELECT sequencename || ' ' || coalesce(last_value, 0) FROM pg_sequences"
    " WHERE schemaname = 'skipjack') AS t";

/* A line for each object of the schema. Constraints are compared without brackets, which dump and
 * restore change, and as if rows from before each constraint had been checked; partitions are left
 * out. */
static const char schema_sql[] =
    "SET search_path = skipjack, pg_temp; WITH tables AS ("
    " SELECT c.*, c.oid AS id FROM pg_class c WHERE c.relnamespace = 'skipjack'::regnamespace"
    "  AND NOT c.relispartition AND c.relkind IN ('r', 'p', 'v', 'S'))"
    " SELECT string_agg(line, E'\\n' ORDER BY line COLLATE \"C\") FROM ("
    " SELECT format('%s %s %s %s', relkind, relname, reloptions, relacl) AS line FROM tables"
    " UNION ALL SELECT pg_get_functiondef(p.oid) || coalesce(p.proacl::text, 'no acl') FROM pg_proc p"
    "  WHERE p.pronamespace IN ('skipjack'::regnamespace, 'skipjack_work'::regnamespace)"
    " UNION ALL SELECT relname || pg_get_viewdef(id) FROM tables WHERE relkind = 'v'"
    " UNION ALL SELECT relname || pg_get_triggerdef(t.oid) FROM pg_trigger t JOIN tables c"
    "  ON c.id = t.tgrelid WHERE NOT t.tgisinternal"
    " UNION ALL SELECT format('%s %s %s', relname, conname,"
    "   translate(replace(pg_get_constraintdef(o.oid), ' NOT VALID', ''), '()', '')) FROM pg_constraint o JOIN tables c"
    "  ON c.id = o.conrelid"
    " UNION ALL SELECT pg_get_indexdef(i.indexrelid) FROM pg_index i JOIN tables c"
    "  ON c.id = i.indrelid"
    " UNION ALL SELECT format('%s.%s %s %s %s %s %s %s', relname, attname, attnum,"
    "   format_type(atttypid, atttypmod), attnotnull, attstorage, attidentity,"
    "   (SELECT pg_get_expr(d.adbin, d.adrelid) FROM pg_attrdef d WHERE d.adrelid = c.id"
    "    AND d.adnum = a.attnum))"
    "  FROM pg_attribute a JOIN tables c ON c.id = a.attrelid WHERE a.attnum > 0"
    " UNION ALL SELECT t.typname || ' ' || string_agg(e.enumlabel, ',' ORDER BY e.enumsortorder)"
    "  FROM pg_type t JOIN pg_enum e ON e.enumtypid = t.oid"
    "  WHERE t.typnamespace = 'skipjack'::regnamespace GROUP BY t.typname) AS t";

static void expect_same_lines(const char *left, const char *right)
{
    g_auto(GStrv) lefts = g_strsplit(left, "\n", -1);
    g_auto(GStrv) rights = g_strsplit(right, "\n", -1);
    for (guint i = 0; lefts[i] != NULL && rights[i] != NULL; i++) {
        if (strcmp(lefts[i], rights[i]) != 0) {
            g_assert_cmpstr(lefts[i], ==, rights[i]);
            return;
        }
    }
    g_assert_cmpuint(g_strv_length(lefts), ==, g_strv_length(rights));
}

/* Expects each line among the others: migrations after the baseline have added tables. */
static void expect_all_lines(const char *wanted, const char *found)
{
    g_auto(GStrv) lines = g_strsplit(wanted, "\n", -1);
    g_auto(GStrv) others = g_strsplit(found, "\n", -1);
    for (guint i = 0; lines[i] != NULL; i++) {
        if (!g_strv_contains((const char *const *)others, lines[i]))
            g_error("'%s' is missing in:\n%s", lines[i], found);
    }
}

/* Migrates the database. Returns what was written to stderr; free with g_free(). */
static char *migrate(const char *url, struct migrated *done)
{
    g_autoptr(GError) error = NULL;
    g_autofree char *path = g_build_filename(scratch_home(), "said", NULL);
    char *said = NULL;
    int kept = dup(STDERR_FILENO), file = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
    g_assert_true(kept >= 0 && file >= 0 && dup2(file, STDERR_FILENO) >= 0);
    g_assert_true(database_migrate(url, done, &error));
    g_assert_no_error(error);
    g_assert_true(dup2(kept, STDERR_FILENO) >= 0);
    close(kept);
    close(file);
    g_assert_true(g_file_get_contents(path, &said, NULL, &error));
    return said;
}

static void test_all_data_stay(void)
{
    struct migrated done;
    g_autofree char *url = restore();
    PGconn *connection = PQconnectdb(url);
    g_free(ask(connection, note_columns_sql));
    g_autofree char *before = ask(connection, contents_sql);
    g_assert_nonnull(strstr(before, "\nresults_1 "));
    g_autofree char *said = migrate(url, &done);
    g_assert_true(done.was_former && done.functions);
    g_assert_cmpint(done.migrations, ==, (int)migrations_count - BASELINE_MIGRATIONS);
    g_assert_nonnull(strstr(said, "took the database over from schema 0071"));
    g_autofree char *after = ask(connection, contents_sql);
    expect_all_lines(before, after);
    g_autofree char *more = migrate(url, &done);
    g_assert_true(!done.was_former && !done.functions);
    g_assert_cmpstr(more, ==, "");
    PQfinish(connection);
}

static void test_schema_is_that_of_a_new_database(void)
{
    struct migrated done;
    g_autofree char *former_url = restore();
    g_autofree char *fresh_url = scratch_db_new();
    PGconn *former = PQconnectdb(former_url), *fresh = PQconnectdb(fresh_url);
    g_free(migrate(former_url, &done));
    g_autofree char *taken = ask(former, schema_sql);
    g_autofree char *wanted = ask(fresh, schema_sql);
    expect_same_lines(taken, wanted);
    g_autofree char *ledger =
        ask(fresh, "SELECT string_agg(number || name || sha256 || oldest, ',' ORDER BY number)"
                   " FROM skipjack.schema_migrations");
    expect(former,
           "SELECT string_agg(number || name || sha256 || oldest, ',' ORDER BY number)"
           " FROM skipjack.schema_migrations",
           ledger);
    PQfinish(former);
    PQfinish(fresh);
}

/* Claims jobs of the campaign that was active in the dump, as the dump's last worker would. */
static void claim_open_jobs(PGconn *connection, Store *store)
{
    g_autoptr(GError) error = NULL;
    g_autofree char *carried =
        ask(connection,
            "SELECT string_agg(name || ':' || revision || ':' || hash, ' ') FROM skipjack.solvers");
    g_autofree char *stack = ask(connection, "SELECT stack FROM skipjack.workers ORDER BY id DESC");
    g_autofree char *target = ask(connection, "SELECT target FROM skipjack.campaigns WHERE id = 3");
    g_auto(GStrv) solvers = g_strsplit(carried, " ", -1);
    struct worker_info info = {.node = "n", .process = "p", .target = target, .stack = stack};
    struct claim claim = {.campaign = 3,
                          .target = target,
                          .solvers = (const char *const *)solvers,
                          .batch = 100,
                          .lease_seconds = 60};
    g_assert_true(store_register_worker(store, &info, &claim.worker, &error));
    g_assert_no_error(error);
    for (int i = 0; i < 2; i++) {
        claim.pool = i == 0 ? POOL_BUILD : POOL_EVAL;
        g_autoptr(GPtrArray) jobs = store_claim(store, &claim, &error);
        g_assert_no_error(error);
        g_assert_cmpuint(jobs->len, >, 0);
        for (guint k = 0; k < jobs->len; k++) {
            const struct job *job = jobs->pdata[k];
            g_assert_null(job->damage);
            g_assert_true(job->rounds->len > 0 || claim.pool == POOL_BUILD);
            g_assert_true(store_release_job(store, job, &error));
        }
    }
    g_assert_no_error(error);
}

static void test_work_goes_on(void)
{
    struct migrated done;
    struct farm f;
    g_autoptr(GError) error = NULL;
    g_autofree char *url = restore();
    PGconn *connection = PQconnectdb(url);
    g_assert_null(store_open(url, &error));
    g_assert_error(error, STORE_ERROR, STORE_ERROR_SCHEMA);
    g_assert_nonnull(strstr(error->message, "skipjack db migrate"));
    g_clear_error(&error);
    g_free(migrate(url, &done));
    Store *store = store_open(url, &error);
    g_assert_no_error(error);
    claim_open_jobs(connection, store);
    g_autofree char *target = ask(connection, "SELECT target FROM skipjack.golden_versions");
    g_assert_true(store_approve_golden(store, target, 2, "bob", &error));
    g_assert_no_error(error);
    g_autoptr(GPtrArray) campaigns = store_list_campaigns(store, &error);
    g_assert_no_error(error);
    g_assert_cmpuint(campaigns->len, ==, 7);
    farm_init_at(&f, store, &(struct order){.jobs = 2});
    farm_work(&f, 0, false, 1);
    farm_work(&f, 0, false, 1);
    farm_expect_campaign(&f, f.campaign, "done");
    farm_clear(&f);
    PQfinish(connection);
}

static void test_older_database_is_refused(void)
{
    struct migrated done;
    g_autoptr(GError) error = NULL;
    g_autofree char *url = restore();
    PGconn *connection = PQconnectdb(url);
    g_free(ask(connection, "DELETE FROM skipjack.schema_migrations WHERE number = 71"));
    g_free(ask(connection, note_columns_sql));
    g_autofree char *before = ask(connection, contents_sql);
    g_assert_false(database_migrate(url, &done, &error));
    g_assert_error(error, STORE_ERROR, STORE_ERROR_SCHEMA);
    g_assert_nonnull(strstr(error->message, former_remedy));
    g_clear_error(&error);
    g_assert_null(store_open(url, &error));
    g_assert_error(error, STORE_ERROR, STORE_ERROR_SCHEMA);
    g_assert_nonnull(strstr(error->message, former_remedy));
    g_autofree char *after = ask(connection, contents_sql);
    expect_same_lines(before, after);
    expect(connection, "SELECT count(*) FROM skipjack.schema_migrations", "65");
    PQfinish(connection);
}

/* The remedy for missing migrations would not help. */
static void test_other_migrations_are_refused(void)
{
    static const char *const changes[] = {
        "UPDATE skipjack.schema_migrations SET sha256 = 'x' WHERE number = 30",
        "INSERT INTO skipjack.schema_migrations VALUES (72, '0072_mine', 'x')",
        "DELETE FROM skipjack.schema_migrations WHERE number = 30",
    };
    struct migrated done;
    g_autofree char *url = restore();
    PGconn *connection = PQconnectdb(url);
    for (gsize i = 0; i < G_N_ELEMENTS(changes); i++) {
        g_autoptr(GError) error = NULL;
        g_free(ask(connection, changes[i]));
        g_assert_false(database_migrate(url, &done, &error));
        g_assert_error(error, STORE_ERROR, STORE_ERROR_SCHEMA);
        g_assert_nonnull(strstr(error->message, "differ"));
        g_assert_null(strstr(error->message, former_remedy));
    }
    PQfinish(connection);
}

static gpointer migrate_thread(gpointer url)
{
    struct migrated done;
    return GINT_TO_POINTER(database_migrate(url, &done, NULL) ? (int)done.was_former : -100);
}

static void test_one_program_takes_it_over(void)
{
    g_autofree char *url = restore();
    GThread *threads[3];
    int sum = 0;
    for (gsize i = 0; i < G_N_ELEMENTS(threads); i++)
        threads[i] = g_thread_new("migrate", migrate_thread, url);
    for (gsize i = 0; i < G_N_ELEMENTS(threads); i++)
        sum += GPOINTER_TO_INT(g_thread_join(threads[i]));
    g_assert_cmpint(sum, ==, 1);
}

int main(int argc, char **argv)
{
    setlocale(LC_ALL, "C");
    g_test_init(&argc, &argv, NULL);
    g_test_set_nonfatal_assertions();
#define TEST(name) g_test_add_func("/former/" #name, test_##name)
    TEST(all_data_stay);
    TEST(schema_is_that_of_a_new_database);
    TEST(work_goes_on);
    TEST(older_database_is_refused);
    TEST(other_migrations_are_refused);
    TEST(one_program_takes_it_over);
    return g_test_run();
}
