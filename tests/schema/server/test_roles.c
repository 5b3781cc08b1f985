#include "schema/farm/upkeep.h"
#include "schema/server/connection.h"
#include "schema/server/roles.h"
#include "schema/sql/migrate.h"
#include "schema/store/store_campaigns.h"
#include "schema/store/store_events.h"
#include "schema/store/store_kernels.h"
#include "schema/store/store_private.h"
#include "schema/store/store_workers.h"
#include "tests/support/farm/role_farm.h"
#include "tests/support/farm/scratch_db.h"

#include <locale.h>
#include <string.h>

/* ---- the rights of each role ---- */

#define KEY "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"

static void put_and_get_kernel(Store *store, int64_t worker, GError **error)
{
    char key[] = KEY, sha256[] = "";
    const char *const keys[] = {KEY};
    struct kernel_row row = {.key = key, .built_by = worker, .code_sha256 = sha256};
    row.code = g_bytes_new_static("code", 4);
    g_assert_true(store_put_kernel(store, &row, error));
    g_bytes_unref(row.code);
    g_autoptr(GHashTable) known = store_known_kernels(store, keys, 1, error);
    g_assert_true(known != NULL && g_hash_table_size(known) == 1);
    struct kernel_row *got = store_get_kernel(store, KEY, error);
    g_assert_true(got != NULL && g_bytes_get_size(got->code) == 4);
    kernel_row_free(got);
}

static void say_and_take_out(struct role_farm *f, const struct job *job, GError **error)
{
    Store *store = f->farm.store;
    int64_t worker = f->farm.workers[0];
    struct perf_config config = {.count = 2, .values = {0, 1}};
    g_assert_true(store_quarantine(store, job, &config, FAILURE_DEVICE_FAULT, "crash", error));
    g_assert_true(store_event(store, "died", job->campaign, job->id, worker, "eval", error));
    g_assert_true(store_event(store, "disk full", 0, 0, worker, "scratch", error));
    g_assert_true(store_event(store, "disk full", 0, 0, 0, "at start", error));
    g_assert_true(store_add_spent(store, job->campaign, 1.5, error));
    g_autoptr(GPtrArray) rows = store_list_quarantine(store, error);
    g_assert_true(rows != NULL && rows->len == 1);
}

static void ask_around(struct role_farm *f, GError **error)
{
    Store *store = f->farm.store;
    int64_t worker = f->farm.workers[0];
    struct target target;
    g_assert_true(store_heartbeat(store, worker, error));
    g_assert_true(store_listen(store, worker, error));
    g_assert_true(store_get_target(store, "gfx90a68", &target, error));
    g_autoptr(GPtrArray) refusals = store_list_refusals(store, worker, 0, error);
    g_autoptr(GPtrArray) workers = store_list_workers(store, NULL, error);
    g_assert_true(refusals != NULL && workers != NULL && workers->len == 2);
    struct campaign *campaign = store_get_campaign(store, f->farm.campaign, error);
    g_assert_nonnull(campaign);
    campaign_free(campaign);
}

static void test_a_worker_works_a_whole_campaign(void)
{
    struct role_farm f;
    g_autoptr(GError) error = NULL;
    role_farm_init(&f, 3);
    ask_around(&f, &error);
    g_assert_no_error(error);
    put_and_get_kernel(f.farm.store, f.farm.workers[0], &error);
    g_assert_no_error(error);
    struct job *job = farm_claim_one(&f.farm, 0, POOL_BUILD);
    farm_built(&f.farm, job, 0);
    say_and_take_out(&f, job, &error);
    g_assert_no_error(error);
    struct job *eval = farm_claim_one(&f.farm, 0, POOL_EVAL);
    struct round *round = farm_make_round(0);
    farm_evaluate(round, 2);
    g_assert_true(store_partial(f.farm.store, eval, round, &error));
    g_assert_no_error(error);
    round_free(round);
    farm_round(&f.farm, eval, 0, false, 1);
    job_free(job);
    job_free(eval);
    job = farm_claim_one(&f.farm, 0, POOL_BUILD);
    g_assert_true(store_release_job(f.farm.store, job, &error));
    job_free(job);
    job = farm_claim_one(&f.farm, 0, POOL_BUILD);
    g_assert_true(store_fail_job(f.farm.store, job, FAILURE_COMPILE_ERROR, "no", &error));
    job_free(job);
    farm_work(&f.farm, 0, true, 1);
    job = farm_claim_one(&f.farm, 0, POOL_BUILD);
    g_assert_true(store_finish_job(f.farm.store, job, SEARCH_SPACE_TRIED, &error));
    job_free(job);
    g_assert_true(store_worker_ended(f.farm.store, f.farm.workers[0], &error));
    g_assert_no_error(error);
    struct campaign *campaign = store_get_campaign(f.guest, f.farm.campaign, &error);
    g_assert_cmpstr(campaign->state, ==, "done");
    g_assert_cmpfloat(campaign->spent_seconds, ==, 3.5);
    campaign_free(campaign);
    role_farm_clear(&f);
}

static void test_a_reader_sees_everything(void)
{
    struct role_farm f;
    struct progress progress;
    int64_t counts[FAILURE_COUNT];
    const char *const keys[] = {KEY};
    g_autoptr(GError) error = NULL;
    role_farm_init(&f, 1);
    put_and_get_kernel(f.farm.store, f.farm.workers[0], &error);
    farm_work(&f.farm, 0, false, 1);
    g_autoptr(GPtrArray) lists = g_ptr_array_new_with_free_func((GDestroyNotify)g_ptr_array_unref);
    g_ptr_array_add(lists, store_list_campaigns(f.guest, &error));
    g_ptr_array_add(lists, store_list_jobs(f.guest, f.farm.campaign, &error));
    g_ptr_array_add(lists, store_list_results(f.guest, f.farm.campaign, &error));
    g_ptr_array_add(lists, store_list_outcomes(f.guest, f.farm.campaign, &error));
    g_ptr_array_add(lists, store_list_workers(f.guest, NULL, &error));
    g_ptr_array_add(lists, store_list_refusals(f.guest, 0, 0, &error));
    g_ptr_array_add(lists, store_list_events(f.guest, 0, 9, &error));
    g_ptr_array_add(lists, store_list_targets(f.guest, &error));
    g_ptr_array_add(lists, store_list_networks(f.guest, false, &error));
    g_ptr_array_add(lists, store_list_quarantine(f.guest, &error));
    g_assert_no_error(error);
    g_assert_true(store_progress(f.guest, f.farm.campaign, &progress, &error));
    g_assert_true(store_count_outcomes(f.guest, f.farm.campaign, counts, &error));
    G_GNUC_UNUSED g_autoptr(GHashTable) costs = store_kernel_costs(f.guest, keys, 1, &error);
    struct kernel_row *kernel = store_get_kernel(f.guest, KEY, &error);
    g_assert_nonnull(kernel);
    kernel_row_free(kernel);
    g_assert_no_error(error);
    role_farm_clear(&f);
}

static void store_change(struct role_farm *f, const char *verb)
{
    g_autoptr(GError) error = NULL;
    store_change_campaign(f->boss, f->farm.campaign, verb, &error);
    g_assert_no_error(error);
}

static void test_a_coordinator_runs_campaigns(void)
{
    struct role_farm f;
    struct upkeep_report report;
    const struct upkeep_options options = UPKEEP_DEFAULTS;
    int number = 5;
    double share = 2;
    g_autoptr(GError) error = NULL;
    role_farm_init(&f, 2);
    struct problem problem;
    farm_problem(&problem, 8);
    struct layer layer = {.multiplicity = 1, .problem = problem};
    int64_t id;
    g_assert_true(store_put_problems(f.boss, &problem, 1, "tag", &id, &error));
    g_assert_true(store_put_network(f.boss, "net", &layer, 1, NULL, &error));
    g_assert_true(store_set_campaign(
        f.boss, f.farm.campaign, &(struct campaign_changes){.priority = &number, .share = &share},
        &error));
    g_assert_true(store_set_campaign(f.boss, f.farm.campaign,
                                     &(struct campaign_changes){.budget_seconds = &(double){100}},
                                     &error));
    g_assert_true(store_drain_node(f.boss, "one", &number, &error));
    g_assert_true(store_clear_quarantine(f.boss, NULL, NULL, &number, &error));
    g_assert_no_error(error);
    store_change(&f, "pause");
    store_change(&f, "resume");
    farm_work(&f.farm, 0, false, 1);
    g_assert_true(upkeep_run(f.boss, &options, &report, &error));
    g_assert_no_error(error);
    /* A coordinator may act as a worker, also for workers of other logins. */
    g_assert_true(store_heartbeat(f.boss, f.farm.workers[1], &error));
    store_change(&f, "retry");
    store_change(&f, "cancel");
    store_change(&f, "drop");
    /* The detached tables are empty, and only the database's owner can drop them. */
    role_expect_count(f.boss, "SELECT count(*) FROM dropped_partitions", "7");
    role_expect_count(f.boss,
                      "SELECT sum(pg_relation_size(format('%I', child)::regclass))"
                      " FROM dropped_partitions",
                      "0");
    store_close(scratch_store());
    role_expect_count(f.boss, "SELECT count(*) FROM dropped_partitions", "0");
    role_farm_clear(&f);
}

static void test_a_login_has_its_own_connections(void)
{
    PGconn *open[4] = {NULL};
    g_autoptr(GError) error = NULL;
    store_close(scratch_store());
    PGconn *owner = connection_open(scratch_db_url(), "test", &error);
    const struct role_login crowd = {
        .name = "crowd", .role = role_find("worker"), .connections = 3};
    g_assert_true(roles_login(owner, &crowd, &error));
    g_assert_no_error(error);
    PQfinish(owner);
    g_autofree char *url = role_url("crowd");
    for (gsize i = 0; i < G_N_ELEMENTS(open); i++)
        open[i] = PQconnectdb(url);
    g_assert_cmpint(PQstatus(open[2]), ==, CONNECTION_OK);
    g_assert_cmpint(PQstatus(open[3]), ==, CONNECTION_BAD);
    g_assert_nonnull(strstr(PQerrorMessage(open[3]), "too many connections for role"));
    for (gsize i = 0; i < G_N_ELEMENTS(open); i++)
        PQfinish(open[i]);
    Store *reader = role_open("guest");
    /* A new worker's login gets a limit of connections by default. */
    role_expect_count(reader,
                      "SELECT string_agg(rolname || ' ' || CASE WHEN rolconnlimit ="
                      " current_setting('max_connections')::integer / 2 THEN 'half'"
                      " ELSE rolconnlimit::text END, ',' ORDER BY rolname)"
                      " FROM pg_roles WHERE rolname IN ('boss', 'crowd', 'node1')",
                      "boss -1,crowd 3,node1 half");
    role_expect_count(reader,
                      "SELECT array_to_string(setconfig, ' ') FROM pg_db_role_setting s"
                      " JOIN pg_roles r ON r.oid = s.setrole WHERE r.rolname = 'crowd'",
                      "idle_in_transaction_session_timeout=15s statement_timeout=10min"
                      " temp_file_limit=1GB");
    store_close(reader);
}

static void test_what_comes_later_is_covered(void)
{
    struct role_farm f;
    struct migrated done;
    g_autoptr(GError) error = NULL;
    role_farm_init(&f, 1);
    PGconn *owner = connection_open(scratch_db_url(), "test", &error);
    PQclear(PQexec(owner, "DELETE FROM skipjack.schema_migrations WHERE number > 9000"));
    struct migration *more = g_new(struct migration, migrations_count + 1);
    memcpy(more, migrations, migrations_count * sizeof *more);
    more[migrations_count] = (struct migration){
        9001, "9001_later",
        "CREATE TABLE later (id int); CREATE FUNCTION skipjack_work.later() RETURNS bigint"
        " LANGUAGE sql SECURITY DEFINER SET search_path = skipjack, pg_temp AS"
        " 'SELECT count(*) FROM later';",
        "sha"};
    const struct schema_sql wanted = {more, migrations_count + 1, NULL};
    g_assert_true(migrations_apply(owner, &wanted, &done, &error));
    g_assert_no_error(error);
    role_expect_count(f.guest, "SELECT count(*) FROM later", "0");
    role_expect_count(f.farm.store, "SELECT skipjack_work.later()", "0");
    role_expect_refused(store_do(f.guest, &error, "SELECT skipjack_work.later()", ""), &error,
                        STORE_ERROR_ACCESS, "lacks the role");
    PQclear(PQexec(owner, "DROP TABLE skipjack.later; DROP FUNCTION skipjack_work.later();"
                          "DELETE FROM skipjack.schema_migrations WHERE number > 9000"));
    PQfinish(owner);
    g_free(more);
    role_farm_clear(&f);
}

static void test_who_lacks_a_role_is_told(void)
{
    struct role_farm f;
    struct migrated done;
    g_autoptr(GError) error = NULL;
    role_farm_init(&f, 1);
    g_autofree char *stranger = role_url("stranger");
    g_autofree char *boss = role_url("boss");
    role_expect_refused(store_open(stranger, &error) != NULL, &error, STORE_ERROR_ACCESS,
                        "skipjack db roles --login stranger");
    role_expect_refused(store_change_campaign(f.guest, f.farm.campaign, "pause", &error), &error,
                        STORE_ERROR_ACCESS, "skipjack_coordinator");
    role_expect_refused(store_change_campaign(f.farm.store, f.farm.campaign, "pause", &error),
                        &error, STORE_ERROR_ACCESS, "skipjack_coordinator");
    role_expect_refused(store_list_campaigns(f.farm.store, &error) != NULL, &error,
                        STORE_ERROR_ACCESS, "skipjack_reader");
    role_expect_refused(database_migrate(boss, &done, &error), &error, STORE_ERROR_ACCESS,
                        "only the owner migrates");
    role_farm_clear(&f);
}

/* The number of sessions that the owner ends while the node's login keeps a transaction open. */
static void expect_ends(const char *owner_url, const char *node_url, const char *count)
{
    g_autoptr(GError) error = NULL;
    Store *owner = store_open(owner_url, &error);
    PGconn *open = PQconnectdb(node_url);
    PQclear(PQexec(open, "BEGIN; SELECT skipjack_work.migrations()"));
    store_do(owner, &error, "UPDATE lease_watch SET open_seconds = 0.001", "");
    g_usleep(10000);
    role_expect_count(owner, "SELECT watch_sessions()", count);
    g_assert_no_error(error);
    PQfinish(open);
    store_close(owner);
}

/* A farm's database belongs to an ordinary login, without rights over the server. */
static void test_a_plain_owner_migrates_and_gives(void)
{
    struct role_farm f;
    struct migrated done;
    g_autoptr(GError) error = NULL;
    role_farm_init(&f, 1);
    PGconn *server = connection_open(scratch_db_url(), "test", &error);
    PQclear(PQexec(server, "CREATE ROLE keeper LOGIN"));
    PQclear(PQexec(server, "CREATE DATABASE kept OWNER keeper"));
    PQfinish(server);
    g_auto(GStrv) parts = g_strsplit(scratch_db_url(), "skipjack@/skipjack?", 2);
    g_autofree char *keeper = g_strconcat(parts[0], "keeper@/kept?", parts[1], NULL);
    g_autofree char *boss = g_strconcat(parts[0], "boss@/kept?", parts[1], NULL);
    g_autofree char *node = g_strconcat(parts[0], "node1@/kept?", parts[1], NULL);
    g_assert_true(database_migrate(keeper, &done, &error));
    g_assert_no_error(error);
    Store *coordinator = store_open(boss, &error);
    Store *worker = store_open(node, &error);
    g_assert_no_error(error);
    g_assert_cmpint(farm_create(coordinator, &(struct order){.jobs = 1}, NULL), >, 0);
    int64_t id = role_enter(worker, "one", "p1");
    g_autoptr(GPtrArray) jobs = farm_claim(worker, id, POOL_BUILD, 1, 60);
    g_assert_cmpint(jobs->len, ==, 1);
    expect_ends(keeper, node, "0");
    /* "db roles --login" of a superuser lets this database's owner end the login's sessions. */
    g_autofree char *super = g_strconcat(parts[0], "skipjack@/kept?", parts[1], NULL);
    server = connection_open(super, "test", &error);
    g_assert_true(roles_login(
        server, &(struct role_login){.name = "node1", .role = role_find("worker")}, &error));
    g_assert_no_error(error);
    PQfinish(server);
    expect_ends(keeper, node, "1");
    store_close(coordinator);
    store_close(worker);
    role_farm_clear(&f);
}

int main(int argc, char **argv)
{
    setlocale(LC_ALL, "C");
    g_test_init(&argc, &argv, NULL);
    g_test_set_nonfatal_assertions();
    role_farm_make_logins();
#define TEST(name) g_test_add_func("/roles/" #name, test_##name)
    TEST(a_worker_works_a_whole_campaign);
    TEST(a_reader_sees_everything);
    TEST(a_coordinator_runs_campaigns);
    TEST(a_login_has_its_own_connections);
    TEST(what_comes_later_is_covered);
    TEST(who_lacks_a_role_is_told);
    TEST(a_plain_owner_migrates_and_gives);
    return g_test_run();
}
