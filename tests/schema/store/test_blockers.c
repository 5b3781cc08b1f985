/* A worker's login that keeps a transaction open blocks other sessions only briefly, and `status` names
 * it. */
#include "schema/store/blockers.h"

#include "schema/blobs/blobs.h"
#include "schema/farm/farm.h"
#include "schema/farm/upkeep.h"
#include "schema/server/connection.h"
#include "schema/sql/migrate.h"
#include "schema/store/store_campaigns.h"
#include "schema/store/store_kernels.h"
#include "schema/store/store_private.h"
#include "schema/store/store_queue.h"
#include "schema/store/store_workers.h"
#include "tests/support/farm/role_farm.h"
#include "tests/support/farm/scratch_db.h"
#include "tests/support/patience.h"

#include <locale.h>
#include <string.h>

#define KEY   "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"
#define OTHER "cccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccc"

/* ---- a session of node2's login that keeps its locks ---- */

static void say(PGconn *connection, const char *sql)
{
    PGresult *rows = PQexec(connection, sql);
    ExecStatusType status = PQresultStatus(rows);
    if (status != PGRES_TUPLES_OK && status != PGRES_COMMAND_OK)
        g_error("%s: %s", sql, PQresultErrorMessage(rows));
    PQclear(rows);
}

/* Runs a statement as node2's worker, in a transaction that stays open. */
G_GNUC_PRINTF(1, 2)
static PGconn *keep_open(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    g_autofree char *sql = g_strdup_vprintf(format, arguments);
    va_end(arguments);
    g_autofree char *url = role_url("node2");
    PGconn *connection = PQconnectdb(url);
    g_assert_cmpint(PQstatus(connection), ==, CONNECTION_OK);
    say(connection, "SET skipjack.secret ="
                    " '2222222222222222222222222222222222222222222222222222222222222222'");
    /* A session may change its login's timeout. */
    say(connection, "SET idle_in_transaction_session_timeout = 0");
    say(connection, "BEGIN");
    say(connection, sql);
    return connection;
}

static void owner_do(const char *sql)
{
    g_autoptr(GError) error = NULL;
    Store *owner = store_open(scratch_db_url(), &error);
    store_do(owner, &error, sql, "");
    g_assert_no_error(error);
    store_close(owner);
}

static void init(struct role_farm *f, int jobs)
{
    role_farm_init(f, jobs);
    /* A limit so long that no session is ended: a blocked call waits until its own limit and gives
     * up. */
    owner_do("UPDATE lease_watch SET open_seconds = 1e6");
    store_set_patience(f->farm.store, PATIENCE_SECONDS);
    store_set_patience(f->boss, PATIENCE_SECONDS);
}

static void clear(struct role_farm *f)
{
    owner_do("UPDATE lease_watch SET open_seconds = 10");
    role_farm_clear(f);
}

static void put(Store *store, int64_t worker, const char *its_key, GError **error)
{
    char key[65], sha256[] = "", file[] = "a.cl";
    g_strlcpy(key, its_key, sizeof key);
    struct kernel_row row = {.key = key, .file = file, .built_by = worker, .code_sha256 = sha256};
    row.code = g_bytes_new_static("code", 4);
    store_put_kernel(store, &row, error);
    g_bytes_unref(row.code);
}

/* As on a server where no superuser has run `db roles` (roles.c). */
static void allow_advisory_locks(void)
{
    owner_do(
        "DO $$ BEGIN EXECUTE (SELECT string_agg(format('GRANT EXECUTE ON FUNCTION %s TO node2',"
        " p.oid::regprocedure), ';') FROM pg_proc p WHERE p.proname = 'pg_advisory_lock'); "
        "END $$");
}

static void expect_state(PGconn *connection, const char *sql, const char *state)
{
    PGresult *rows = PQexec(connection, sql);
    g_assert_cmpstr(PQresultErrorField(rows, PG_DIAG_SQLSTATE), ==, state);
    PQclear(rows);
}

/* ---- other sessions while the transaction is open ---- */

static void test_leases_end_beside_an_open_heartbeat(void)
{
    struct role_farm f;
    g_autoptr(GError) error = NULL;
    init(&f, 1);
    int64_t other = role_enter(f.farm.store, "one", "p3");
    PGconn *open = keep_open("SELECT skipjack_work.heartbeat(%" G_GINT64_FORMAT ")",
                             (gint64)f.farm.workers[1]);
    g_autoptr(GPtrArray) jobs = farm_claim(f.farm.store, f.farm.workers[0], POOL_BUILD, 1, 0.001);
    g_assert_cmpuint(jobs->len, ==, 1);
    gint64 end = patience_end();
    const char *state = "building";
    while (strcmp(state, "building") == 0 && g_get_monotonic_time() < end) {
        g_usleep(20000);
        g_assert_true(store_heartbeat(f.farm.store, other, &error));
        g_assert_no_error(error);
        g_autoptr(StoreRows) rows = store_read(f.guest, &error, "SELECT state FROM bundles", "");
        state = strcmp(PQgetvalue(rows, 0, 0), "ready") == 0 ? "ready" : "building";
    }
    g_assert_cmpstr(state, ==, "ready");
    g_assert_cmpint(PQstatus(open), ==, CONNECTION_OK);
    PQfinish(open);
    clear(&f);
}

static void test_kernels_are_known_beside_an_open_question(void)
{
    static const char *const keys[] = {KEY, OTHER};
    struct role_farm f;
    g_autoptr(GError) error = NULL;
    init(&f, 1);
    put(f.farm.store, f.farm.workers[0], KEY, &error);
    put(f.farm.store, f.farm.workers[0], OTHER, &error);
    g_assert_no_error(error);
    PGconn *open = keep_open("SELECT skipjack_work.known_kernels('[\"%s\", \"%s\"]')", KEY, OTHER);
    g_autoptr(GHashTable) known = store_known_kernels(f.farm.store, keys, 2, &error);
    g_assert_no_error(error);
    g_assert_true(known != NULL && g_hash_table_size(known) == 2);
    PQfinish(open);
    clear(&f);
}

static void test_reports_come_beside_an_open_one(void)
{
    const struct farm_counts counts = {.jobs = 1};
    struct role_farm f;
    g_autoptr(GError) error = NULL;
    init(&f, 1);
    owner_do("INSERT INTO farm_samples SELECT now() - i * interval '3 hours', 0, 0, 0"
             " FROM generate_series(1, 3) AS i");
    PGconn *open = keep_open("SELECT skipjack_work.report_worker(%" G_GINT64_FORMAT ","
                             " '{\"jobs\": 1, \"configs\": 1, \"kernels\": 1, \"failures\": {}}')",
                             (gint64)f.farm.workers[1]);
    g_assert_true(farm_report_worker(f.farm.store, f.farm.workers[0], &counts, &error));
    g_assert_no_error(error);
    role_expect_count(f.guest, "SELECT count(*) FROM farm_samples WHERE jobs = 1", "1");
    PQfinish(open);
    clear(&f);
}

/* A worker that gives work back wakes idle workers, and holds their rows until its transaction ends. */
static void test_woken_workers_claim_beside_an_open_release(void)
{
    struct role_farm f;
    g_autoptr(GError) error = NULL;
    init(&f, 2);
    g_autoptr(GPtrArray) all = farm_claim(f.two, f.farm.workers[1], POOL_BUILD, 2, 600);
    g_assert_cmpuint(all->len, ==, 2);
    g_autoptr(GPtrArray) none = farm_claim(f.farm.store, f.farm.workers[0], POOL_BUILD, 1, 60);
    g_assert_cmpuint(none->len, ==, 0);
    const struct job *job = all->pdata[0], *next = all->pdata[1];
    PGconn *open = keep_open("SELECT skipjack_work.release_job(%" G_GINT64_FORMAT
                             ", %" G_GINT64_FORMAT ", %" G_GINT64_FORMAT ")",
                             (gint64)job->campaign, (gint64)job->id, (gint64)job->fence);
    g_assert_true(store_release_job(f.two, next, &error));
    g_autoptr(GPtrArray) one = farm_claim(f.farm.store, f.farm.workers[0], POOL_BUILD, 1, 60);
    g_assert_cmpuint(one->len, ==, 1);
    g_assert_true(store_worker_ended(f.farm.store, f.farm.workers[0], &error));
    g_assert_no_error(error);
    PQfinish(open);
    clear(&f);
}

static void test_working_time_counts_beside_open_parts(void)
{
    struct role_farm f;
    g_autoptr(GError) error = NULL;
    init(&f, 2);
    job_free(farm_claim_one(&f.farm, 0, POOL_BUILD));
    g_autoptr(GPtrArray) own = farm_claim(f.two, f.farm.workers[1], POOL_BUILD, 1, 60);
    g_assert_cmpuint(own->len, ==, 1);
    g_assert_true(store_add_spent(f.farm.store, f.farm.campaign, 1, &error));
    /* Locks all rows in which a campaign's working time is added up, as sessions with other numbers
     * would. */
    PGconn *open = PQconnectdb(scratch_db_url());
    say(open, "BEGIN; UPDATE skipjack.campaign_spent SET seconds = seconds + 1");
    g_assert_true(store_add_spent(f.farm.store, f.farm.campaign, 2, &error));
    g_assert_no_error(error);
    say(open, "COMMIT");
    role_expect_count(f.guest, "SELECT sum(seconds) FROM campaign_spent", "4");
    PQfinish(open);
    clear(&f);
}

static void test_campaigns_are_changed_beside_an_open_claim(void)
{
    struct role_farm f;
    g_autoptr(GError) error = NULL;
    init(&f, 2);
    PGconn *open = keep_open("SELECT skipjack_work.claim(%" G_GINT64_FORMAT
                             ", true, 0, 'gfx90a68', '[\"ConvTest:1:h1\"]', 1, 60, 1, 0, 0, 0)",
                             (gint64)f.farm.workers[1]);
    g_assert_true(store_change_campaign(f.boss, f.farm.campaign, "pause", &error));
    g_assert_true(store_change_campaign(f.boss, f.farm.campaign, "resume", &error));
    g_assert_no_error(error);
    PQfinish(open);
    clear(&f);
}

/* Advisory locks with the keys that earlier programs used, and with keys of identities, block no
 * session. */
static void test_advisory_locks_stop_nobody(void)
{
    struct role_farm f;
    struct upkeep_report report;
    const struct upkeep_options options = UPKEEP_DEFAULTS;
    bool begun = false;
    struct migrated done;
    g_autoptr(GError) error = NULL;
    init(&f, 1);
    allow_advisory_locks();
    PGconn *open = keep_open("SELECT pg_advisory_lock(7453010313431182187 + i)"
                             " FROM generate_series(0, 3) AS i");
    say(open, "SELECT pg_advisory_lock(1936485744, hashtext('id'))");
    g_assert_true(store_hold_identity(f.boss, "id", &error));
    store_leave_identity(f.boss, "id");
    put(f.farm.store, f.farm.workers[0], KEY, &error);
    g_assert_no_error(error);
    g_assert_true(farm_begin_upkeep(f.boss, 0, &begun, &error));
    g_assert_true(begun);
    g_assert_true(upkeep_run(f.boss, &options, &report, &error));
    g_assert_true(farm_end_upkeep(f.boss, 1, "all", &error));
    g_assert_no_error(error);
    Store *owner = store_open(scratch_db_url(), &error);
    g_assert_true(store_change_campaign(owner, f.farm.campaign, "drop", &error));
    g_assert_no_error(error);
    role_expect_count(owner, "SELECT count(*) FROM dropped_partitions", "0");
    store_close(owner);
    g_assert_true(database_migrate(scratch_db_url(), &done, &error));
    g_assert_no_error(error);
    PQfinish(open);
    clear(&f);
}

/* Advisory locks fill a table of the server, which then refuses connections. A session's files must not
 * fill the disk either. */
static void test_workers_take_no_advisory_locks(void)
{
    struct role_farm f;
    init(&f, 1);
    PGconn *open = keep_open("SELECT 1");
    say(open, "ROLLBACK");
    owner_do("REVOKE EXECUTE ON FUNCTION pg_advisory_lock(bigint), pg_advisory_lock(int, int)"
             " FROM node2");
    expect_state(open, "SELECT pg_advisory_lock(i) FROM generate_series(1, 20000) AS i", "42501");
    expect_state(open, "SELECT pg_try_advisory_xact_lock_shared(1, 2)", "42501");
    expect_state(open, "SET temp_file_limit = -1", "42501");
    PQfinish(open);
    clear(&f);
}

/* Failing another worker's job needs no lock of the campaign's row, and a job that is not measured
 * needs no lock of a kernel's row: holding those rows blocks nobody. */
static void test_rows_of_others_are_not_held(void)
{
    struct role_farm f;
    g_autoptr(GError) error = NULL;
    init(&f, 2);
    struct job *job = farm_claim_one(&f.farm, 0, POOL_BUILD);
    g_assert_true(store_fail_job(f.farm.store, job, FAILURE_RUN_TIMEOUT, "", &error));
    put(f.farm.store, f.farm.workers[0], KEY, &error);
    g_assert_no_error(error);
    PGconn *open = keep_open("SELECT skipjack_work.return_job(%" G_GINT64_FORMAT
                             ", %" G_GINT64_FORMAT ", %" G_GINT64_FORMAT ", 'gpu')",
                             (gint64)f.farm.campaign, (gint64)job->id, (gint64)f.farm.workers[1]);
    g_autofree char *displace =
        g_strdup_printf("SELECT skipjack_work.displace_kernel('" KEY "', %" G_GINT64_FORMAT ")",
                        (gint64)f.farm.workers[1]);
    say(open, displace);
    owner_do("SELECT 1 FROM campaigns FOR NO KEY UPDATE NOWAIT");
    owner_do("SELECT 1 FROM kernels FOR UPDATE NOWAIT");
    job_free(job);
    PQfinish(open);
    clear(&f);
}

/* Creating a campaign holds locks on tables until it ends: another creation waits, and then succeeds. */
static void test_campaigns_that_are_made_wait_for_each_other(void)
{
    struct role_farm f;
    g_autoptr(GError) error = NULL;
    init(&f, 1);
    PGconn *other = PQconnectdb(scratch_db_url());
    say(other, "BEGIN; LOCK TABLE skipjack.jobs IN SHARE UPDATE EXCLUSIVE MODE");
    g_assert_true(PQsendQuery(other, "SELECT pg_sleep(0.5); COMMIT"));
    store_do(f.boss, &error, "SET lock_timeout = '20ms'", "");
    g_assert_no_error(error);
    g_assert_cmpint(farm_create(f.boss, &(struct order){.jobs = 2}, NULL), >, 0);
    PQfinish(other);
    clear(&f);
}

/* ---- the session is ended ---- */

/* From here on a session that keeps a transaction open is ended. */
static void be_strict(void)
{
    owner_do("UPDATE lease_watch SET open_seconds = 0.2, watched_at = '-infinity'");
}

static bool is_ended(PGconn *connection)
{
    PQconsumeInput(connection);
    return PQstatus(connection) != CONNECTION_OK;
}

static void expect_ended(struct role_farm *f, PGconn *connection, const char *words)
{
    gint64 end = patience_end();
    while (!is_ended(connection) && g_get_monotonic_time() < end)
        g_usleep(10000);
    g_assert_true(is_ended(connection));
    g_autofree char *sql =
        g_strdup_printf("SELECT count(*) > 0 FROM events WHERE kind = 'session ended'"
                        " AND detail LIKE 'a session of the login node2 %s%%'",
                        words);
    role_expect_count(f->guest, sql, "t");
}

static void test_beats_end_what_stays_open(void)
{
    struct role_farm f;
    g_autoptr(GError) error = NULL;
    init(&f, 1);
    be_strict(); /* before the session locks the row */
    PGconn *open = keep_open("SELECT skipjack_work.heartbeat(%" G_GINT64_FORMAT ")",
                             (gint64)f.farm.workers[1]);
    gint64 end = patience_end();
    while (!is_ended(open) && g_get_monotonic_time() < end) {
        g_assert_true(store_heartbeat(f.farm.store, f.farm.workers[0], &error));
        g_assert_no_error(error);
        g_usleep(20000);
    }
    expect_ended(&f, open, "left a transaction open");
    PQfinish(open);
    clear(&f);
}

/* A call that waits for a lock longer than lock_timeout ends the session that holds it, is repeated and succeeds: a put
 * behind another put of the same key, and a drop behind a claim of the campaign's jobs. */
static void test_a_call_that_was_blocked_is_repeated_and_succeeds(void)
{
    struct role_farm f;
    g_autoptr(GError) error = NULL;
    init(&f, 2);
    PGconn *puts =
        keep_open("SELECT skipjack_work.put_kernel('" KEY
                  "', 'a.cl', '', '', '', '', '', 0::smallint, '', 0, NULL, '', %" G_GINT64_FORMAT
                  ", NULL, NULL, NULL)",
                  (gint64)f.farm.workers[1]);
    PGconn *claims = keep_open("SELECT skipjack_work.claim(%" G_GINT64_FORMAT
                               ", true, 0, 'gfx90a68', '[\"ConvTest:1:h1\"]', 1, 60, 1, 0, 0, 0)",
                               (gint64)f.farm.workers[1]);
    be_strict();
    store_do(f.farm.store, &error, "SET lock_timeout = '300ms'", "");
    store_do(f.boss, &error, "SET lock_timeout = '300ms'", "");
    put(f.farm.store, f.farm.workers[0], KEY, &error);
    g_assert_no_error(error);
    expect_ended(&f, puts, "left a transaction open");
    g_assert_true(store_change_campaign(f.boss, f.farm.campaign, "drop", &error));
    g_assert_no_error(error);
    expect_ended(&f, claims, "left a transaction open");
    PQfinish(puts);
    PQfinish(claims);
    clear(&f);
}

/* Other sessions of the same login may be queued for the lock: all sessions of the login are
 * ended. */
static void test_all_sessions_of_the_login_end(void)
{
    struct role_farm f;
    init(&f, 1);
    be_strict();
    PGconn *open = keep_open("SELECT skipjack_work.heartbeat(%" G_GINT64_FORMAT ")",
                             (gint64)f.farm.workers[1]);
    g_autofree char *url = role_url("node2"), *other_url = role_url("node1");
    PGconn *second = PQconnectdb(url), *other = PQconnectdb(other_url);
    g_usleep(G_USEC_PER_SEC / 4);
    owner_do("SELECT watch_sessions()");
    expect_ended(&f, open, "left a transaction open");
    gint64 end = patience_end();
    while (!is_ended(second) && g_get_monotonic_time() < end)
        g_usleep(10000);
    g_assert_true(is_ended(second));
    g_assert_false(is_ended(other));
    PQfinish(open);
    PQfinish(second);
    PQfinish(other);
    clear(&f);
}

static gint stop_holding;

/* Runs in several threads: each session holds the key for less than the limit of a transaction, so
 * that one of them always holds it. */
static gpointer hold_now_and_then(gpointer data)
{
    PGconn *connection = data;
    while (!g_atomic_int_get(&stop_holding) && PQstatus(connection) == CONNECTION_OK) {
        PQclear(PQexec(connection, "BEGIN"));
        PQclear(PQexec(connection, "SELECT skipjack_work.known_kernels('[\"" KEY "\"]')"));
        PQclear(PQexec(connection, "UPDATE skipjack.workers SET drain = drain WHERE node = 'one'"));
        PQclear(PQexec(connection, "SELECT pg_sleep(0.15)"));
        PQclear(PQexec(connection, "ROLLBACK"));
    }
    return NULL;
}

static void test_sessions_that_take_turns_keep_nobody_waiting(void)
{
    struct role_farm f;
    g_autoptr(GError) error = NULL;
    init(&f, 1);
    owner_do("UPDATE lease_watch SET open_seconds = 1");
    PGconn *holders[4];
    GThread *threads[4];
    g_atomic_int_set(&stop_holding, 0);
    for (gsize i = 0; i < G_N_ELEMENTS(holders); i++) {
        holders[i] = PQconnectdb(scratch_db_url());
        threads[i] = g_thread_new("holder", hold_now_and_then, holders[i]);
    }
    g_usleep(G_USEC_PER_SEC / 2);
    /* shorter than the time that the sessions in the queue hold the lock */
    store_do(f.farm.store, &error, "SET lock_timeout = '200ms'", "");
    g_assert_true(store_heartbeat(f.farm.store, f.farm.workers[0], &error));
    g_assert_no_error(error);
    g_atomic_int_set(&stop_holding, 1);
    for (gsize i = 0; i < G_N_ELEMENTS(holders); i++) {
        g_thread_join(threads[i]);
        PQfinish(holders[i]);
    }
    clear(&f);
}

static void test_migrations_go_on_beside_an_open_question(void)
{
    struct role_farm f;
    struct migrated done;
    g_autoptr(GError) error = NULL;
    init(&f, 1);
    PGconn *open = keep_open("SELECT skipjack_work.list_workers(NULL)");
    be_strict();
    PGconn *owner = connection_open(scratch_db_url(), "test", &error);
    struct migration *more = g_new(struct migration, migrations_count + 1);
    memcpy(more, migrations, migrations_count * sizeof *more);
    more[migrations_count] = (struct migration){
        9002, "9002_later", "ALTER TABLE workers ADD COLUMN later integer", "sha"};
    const struct schema_sql wanted = {more, migrations_count + 1, NULL};
    g_assert_true(migrations_apply(owner, &wanted, &done, &error));
    g_assert_no_error(error);
    g_assert_cmpint(done.migrations, ==, 1);
    expect_ended(&f, open, "left a transaction open");
    say(owner, "ALTER TABLE skipjack.workers DROP COLUMN later");
    say(owner, "DELETE FROM skipjack.schema_migrations WHERE number > 9000");
    PQfinish(owner);
    PQfinish(open);
    g_free(more);
    clear(&f);
}

static void test_holders_of_advisory_locks_are_ended(void)
{
    struct role_farm f;
    init(&f, 1);
    allow_advisory_locks();
    PGconn *open = keep_open("SELECT pg_advisory_lock(77)");
    say(open, "COMMIT");
    owner_do("SELECT watch_sessions()");
    expect_ended(&f, open, "held an advisory lock");
    PQfinish(open);
    clear(&f);
}

/* ---- naming the blocking login ---- */

static void test_who_is_waited_for_is_named(void)
{
    struct role_farm f;
    g_autoptr(GError) error = NULL;
    init(&f, 1);
    PGconn *open = keep_open("SELECT skipjack_work.heartbeat(%" G_GINT64_FORMAT ")",
                             (gint64)f.farm.workers[1]);
    PGconn *waits = PQconnectdb(scratch_db_url());
    g_assert_true(PQsendQuery(waits, "UPDATE skipjack.workers SET drain = true"));
    gint64 end = patience_end();
    guint count = 0;
    while (count == 0 && g_get_monotonic_time() < end) {
        g_autoptr(GPtrArray) list = blockers_list(f.guest, &error);
        g_assert_no_error(error);
        count = list->len;
        const struct blocker *blocker = count > 0 ? list->pdata[0] : NULL;
        if (blocker) {
            g_assert_cmpint(blocker->pid, ==, PQbackendPID(open));
            g_assert_cmpstr(blocker->login, ==, "node2");
            g_assert_cmpstr(blocker->nodes, ==, "two");
            g_assert_cmpint(blocker->waiting, ==, 1);
            g_assert_cmpfloat(blocker->seconds, >, 0);
            g_assert_true(blocker->is_worker && blocker->may_end);
            g_autofree char *what = blocker_describe(blocker);
            g_assert_true(
                g_str_has_prefix(what, "idle in transaction: SELECT skipjack_work.heartbeat("));
        }
        g_usleep(50000);
    }
    g_assert_cmpuint(count, ==, 1);
    struct farm_state *farm = farm_read(f.guest, &error);
    g_assert_no_error(error);
    g_assert_cmpuint(farm->blockers->len, ==, 1);
    farm_free(farm);
    PQfinish(waits);
    PQfinish(open);
    clear(&f);
}

int main(int argc, char **argv)
{
    setlocale(LC_ALL, "C");
    g_test_init(&argc, &argv, NULL);
    g_test_set_nonfatal_assertions();
    role_farm_make_logins();
#define TEST(name) g_test_add_func("/blockers/" #name, test_##name)
    TEST(leases_end_beside_an_open_heartbeat);
    TEST(kernels_are_known_beside_an_open_question);
    TEST(reports_come_beside_an_open_one);
    TEST(woken_workers_claim_beside_an_open_release);
    TEST(working_time_counts_beside_open_parts);
    TEST(campaigns_are_changed_beside_an_open_claim);
    TEST(advisory_locks_stop_nobody);
    TEST(workers_take_no_advisory_locks);
    TEST(rows_of_others_are_not_held);
    TEST(campaigns_that_are_made_wait_for_each_other);
    TEST(beats_end_what_stays_open);
    TEST(a_call_that_was_blocked_is_repeated_and_succeeds);
    TEST(all_sessions_of_the_login_end);
    TEST(sessions_that_take_turns_keep_nobody_waiting);
    TEST(migrations_go_on_beside_an_open_question);
    TEST(holders_of_advisory_locks_are_ended);
    TEST(who_is_waited_for_is_named);
    return g_test_run();
}
