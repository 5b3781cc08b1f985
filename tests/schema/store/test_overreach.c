#include "schema/store/store_campaigns.h"
#include "schema/store/store_events.h"
#include "schema/store/store_kernels.h"
#include "schema/store/store_private.h"
#include "schema/store/store_workers.h"
#include "tests/support/farm/role_farm.h"
#include "tests/support/farm/scratch_db.h"

#include <locale.h>
#include <math.h>
#include <string.h>

#define KEY "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"

/* ---- statements that a login may not run ---- */

static PGconn *connect_as(const char *login)
{
    g_autofree char *url = role_url(login);
    PGconn *connection = PQconnectdb(url);
    g_assert_cmpint(PQstatus(connection), ==, CONNECTION_OK);
    return connection;
}

static const struct overreach {
    const char *login, *sql;
} overreaches[] = {
    /* A worker may use neither tables nor inner functions. */
    {"node1", "SELECT * FROM skipjack.workers"},
    {"node1", "SELECT * FROM skipjack.worker_secrets"},
    {"node1", "SELECT * FROM skipjack.jobs"},
    {"node1", "SELECT * FROM skipjack.winners"},
    {"node1", "SELECT * FROM skipjack.priors"},
    {"node1", "SELECT skipjack.nearest_winners('ConvTest', NULL, 'gfx90a68')"},
    {"node1", "SELECT skipjack.gather_winners(1, 0, 1)"},
    {"node1", "SELECT skipjack_work.priors(NULL, 1, '[1]')"},
    {"node1", "SELECT skipjack.claim_jobs(1, true, 0, NULL, NULL, 1, 1, 1, 0, 0, 0)"},
    {"node1", "SELECT skipjack.store_rounds(1, '{}', '{}', '{}', '{}', '{}')"},
    {"node1", "SELECT skipjack.take_rounds(1, '{}', '{}', '{}', '{}')"},
    {"node1", "SELECT skipjack.take_built(1, '{}')"},
    {"node1", "SELECT skipjack.check_handed_built(1, '{}')"},
    {"node1", "SELECT skipjack.end_worker(1, true)"},
    {"node1", "SELECT skipjack.change_campaign(1, 'cancel')"},
    {"node1", "SELECT skipjack.extend_campaign(1, 0)"},
    {"node1", "SELECT skipjack.drain_node('two')"},
    {"node1", "SELECT skipjack.put_target('{}')"},
    {"node1", "SELECT skipjack.clear_quarantine(NULL)"},
    {"node1", "SELECT skipjack.my_workers()"},
    {"node1", "SELECT skipjack.set_privileges()"},
    {"node1", "SELECT skipjack.heartbeat(1)"},
    {"node1", "SELECT * FROM skipjack.history_points"},
    {"node1", "SELECT * FROM skipjack.night_rows"},
    {"node1", "SELECT * FROM skipjack.outbox"},
    {"node1", "SELECT * FROM skipjack.usage_winners"},
    {"node1", "SELECT skipjack.claim_message(1)"},
    {"node1", "SELECT skipjack.api_token(1)"},
    {"node1", "SELECT skipjack.gather_history(1, 0, 1)"},
    {"node1", "SELECT skipjack.newest_history('gfx90a68', NULL, 'infinity', 1)"},
    /* A reader reads neither URLs of webhooks nor hashes of tokens, and changes nothing. */
    {"guest", "SELECT * FROM skipjack.outbox_receivers"},
    {"guest", "SELECT * FROM skipjack.api_tokens"},
    {"guest", "SELECT skipjack.claim_message(1)"},
    {"guest", "SELECT skipjack.change_messages(NULL, 'dropped')"},
    {"guest", "SELECT skipjack.api_token(1)"},
    {"guest", "SELECT skipjack.list_api_tokens()"},
    {"guest", "SELECT skipjack.make_api_token('mine', 'coordinator', sha256('x'), NULL)"},
    {"guest", "SELECT skipjack.begin_night('mine', '2027-01-01', '{}', 0)"},
    {"guest", "SELECT skipjack.gather_history(1, 0, 1)"},
    {"guest", "SELECT skipjack.thin_history('week', '2027-01-04', '2027-01-11', 0, 1)"},
    {"guest", "SELECT skipjack.set_history_retention(7, 7)"},
    {"guest", "SELECT skipjack.remeasure_jobs(1, '[]', '[1]', 2, '[]', 0)"},
    {"guest", "DELETE FROM skipjack.history"},
    {"guest", "UPDATE skipjack.nights SET findings = 0"},
    {"guest", "INSERT INTO skipjack.usage_sums VALUES (1, 1, '{1}', '{1}')"},
    {"boss", "SELECT * FROM skipjack.outbox_receivers"},
    {"boss", "SELECT * FROM skipjack.api_tokens"},
    {"boss", "UPDATE skipjack.history SET median_ms = 0"},
    {"boss", "UPDATE skipjack.nights SET findings = 0"},
    {"node1", "CREATE FUNCTION skipjack_work.my() RETURNS int LANGUAGE sql AS 'SELECT 1'"},
    {"node1", "CREATE TABLE skipjack_work.workers (id bigint)"},
    {"node1", "CREATE TABLE skipjack.mine (id bigint)"},
    {"node1", "CREATE SCHEMA mine"},
    {"node1", "ALTER FUNCTION skipjack_work.heartbeat(bigint) SECURITY INVOKER"},
    {"node1", "SET ROLE skipjack_coordinator"},
    {"node1", "SET SESSION AUTHORIZATION skipjack"},
    {"node1", "GRANT skipjack_coordinator TO node1"},
    /* Without a worker's secret the session may not act as a worker. */
    {"node1", "CREATE TEMP TABLE mine (id bigint)"},
    {"guest", "CREATE TEMP TABLE mine (id bigint)"},
    {"node1", "SELECT lo_create(0)"},
    {"node1", "SELECT lo_creat(-1)"},
    {"node1", "SELECT lo_from_bytea(0, 'x')"},
    {"node1", "SELECT skipjack_work.register_worker('n', 'p', '', '', true, '[]', NULL)"},
    {"node1", "SET skipjack.secret = 'short';"
              "SELECT skipjack_work.register_worker('n', 'p', '', '', true, '[]', NULL)"},
    {"node1", "SELECT skipjack_work.heartbeat(id) FROM generate_series(1, 500) AS id"},
    {"node1", "SELECT skipjack_work.heartbeat(NULL)"},
    {"node1", "SELECT skipjack_work.end_worker(NULL, true)"},
    {"node1", "SELECT skipjack_work.refusals(0, 0)"},
    {"node1", "SELECT skipjack_work.put_devices(0, '[]')"},
    {"node1", "SELECT skipjack_work.set_device_service(0, 0, 'it smells')"},
    /* A reader may read, and nothing else. */
    {"guest", "SELECT * FROM skipjack.worker_secrets"},
    {"guest", "UPDATE skipjack.campaigns SET state = 'done'"},
    {"guest", "INSERT INTO skipjack.events (kind, detail) VALUES ('x', 'y')"},
    {"guest", "DELETE FROM skipjack.results"},
    {"guest", "SELECT skipjack.change_campaign(1, 'cancel')"},
    {"guest", "SELECT skipjack_work.priors(1, 1, '[1]')"},
    {"guest", "SELECT skipjack.put_problems('[]')"},
    {"guest", "SELECT skipjack_work.register_worker('n', 'p', '', '', true, '[]', NULL)"},
    {"guest", "SELECT skipjack_work.add_event('x', 0, 0, 0, 'y')"},
    {"guest", "SELECT nextval('skipjack.fences')"},
    {"guest", "SELECT skipjack.drop_code('', now(), 1, true)"},
    {"guest", "BEGIN; LOCK TABLE skipjack.bundles IN EXCLUSIVE MODE"},
    /* A coordinator changes campaigns by functions, and nothing of the schema. */
    {"boss", "SELECT * FROM skipjack.worker_secrets"},
    {"boss", "UPDATE skipjack.campaigns SET state = 'done'"},
    {"boss", "UPDATE skipjack.kernels SET key = ''"},
    {"boss", "INSERT INTO skipjack.results SELECT * FROM skipjack.results"},
    {"boss", "DELETE FROM skipjack.jobs"},
    {"boss", "UPDATE skipjack.winners SET config_text = ''"},
    {"boss", "INSERT INTO skipjack.priors VALUES (1, 1, '{}')"},
    {"boss", "INSERT INTO skipjack.schema_migrations VALUES (99, 'x', 'y')"},
    {"boss", "ALTER TABLE skipjack.jobs ADD COLUMN mine int"},
    {"boss", "DROP TABLE skipjack.events"},
    {"boss", "TRUNCATE skipjack.events"},
    {"boss", "CREATE TABLE skipjack.mine (id bigint)"},
    {"boss", "SELECT skipjack.set_privileges()"},
    {"boss", "SELECT skipjack.add_partitions(1)"},
    {"boss", "SELECT skipjack.write_outcomes(NULL, NULL, false)"},
    {"boss", "INSERT INTO skipjack.schema_functions SELECT * FROM skipjack.schema_functions"},
    {"boss", "CREATE OR REPLACE VIEW skipjack.entry_points AS"
             " SELECT 'skipjack_reader' AS role, 'x' AS name, true AS as_owner"},
    {"boss", "CREATE TRIGGER t AFTER INSERT ON skipjack.events EXECUTE FUNCTION pg_temp.f()"},
    /* A login without any of the roles. */
    {"stranger", "SELECT * FROM skipjack.campaigns"},
    {"stranger", "SELECT skipjack_work.migrations()"},
    {"stranger", "SELECT skipjack_work.list_workers(NULL)"},
};

static void test_overreaching_statements_are_refused(void)
{
    struct role_farm f;
    role_farm_init(&f, 1);
    for (gsize i = 0; i < G_N_ELEMENTS(overreaches); i++) {
        const struct overreach *o = &overreaches[i];
        PGconn *connection = connect_as(o->login);
        PGresult *rows = PQexec(connection, o->sql);
        const char *state = PQresultErrorField(rows, PG_DIAG_SQLSTATE);
        if (g_strcmp0(state, "42501") != 0)
            g_test_fail_printf("%s: %s: %s", o->login, o->sql, state ? state : "done");
        PQclear(rows);
        PQfinish(connection);
    }
    role_farm_clear(&f);
}

/* ---- jobs and rows of other logins ---- */

/* Node two knows the job and its fence, and is refused all the same. */
static void expect_foreign(struct role_farm *f, const struct job *job, GError **error)
{
    static const char *const words = "claimed by another worker";
    struct perf_config config = {.count = 1};
    struct round *round = farm_make_round(0);
    farm_evaluate(round, 1);
    struct kept kept = farm_make_kept(round);
    role_expect_refused(store_built(f->two, job, round, error), error, STORE_ERROR_FENCE, words);
    role_expect_refused(store_partial(f->two, job, round, error), error, STORE_ERROR_FENCE, words);
    role_expect_refused(store_round(f->two, job, round, &kept, 1, false, 1, error), error,
                        STORE_ERROR_FENCE, words);
    role_expect_refused(store_fail_job(f->two, job, FAILURE_RUN_TIMEOUT, "", error), error,
                        STORE_ERROR_FENCE, words);
    role_expect_refused(store_finish_job(f->two, job, SEARCH_SPACE_TRIED, error), error,
                        STORE_ERROR_FENCE, words);
    role_expect_refused(store_release_job(f->two, job, error), error, STORE_ERROR_FENCE, words);
    role_expect_refused(store_quarantine(f->two, job, &config, FAILURE_DEVICE_FAULT, "", error),
                        error, STORE_ERROR_FENCE, words);
    role_expect_refused(store_lift_quarantine(f->two, job, &config, error), error,
                        STORE_ERROR_FENCE, words);
    round_free(round);
}

static void test_results_of_anothers_claim_are_refused(void)
{
    struct role_farm f;
    g_autoptr(GError) error = NULL;
    role_farm_init(&f, 1);
    struct job *job = farm_claim_one(&f.farm, 0, POOL_BUILD);
    expect_foreign(&f, job, &error);
    farm_built(&f.farm, job, 0);
    job_free(job);
    job = farm_claim_one(&f.farm, 0, POOL_EVAL);
    expect_foreign(&f, job, &error);
    /* A lost job has no holder. Its fence is still the first node's, and no other login may use
     * it. */
    g_assert_true(store_worker_lost(f.farm.store, f.farm.workers[0], &error));
    expect_foreign(&f, job, &error);
    farm_round(&f.farm, job, 0, false, 1);
    job_free(job);
    role_farm_clear(&f);
}

static void test_late_result_of_a_job_given_up_is_its_workers(void)
{
    struct role_farm f;
    struct job *job = NULL;
    g_autoptr(GError) error = NULL;
    role_farm_init(&f, 1);
    for (int strike = 0; strike < 3; strike++) {
        job_free(job);
        job = farm_claim_one(&f.farm, 0, POOL_BUILD);
        g_assert_true(store_worker_lost(f.farm.store, f.farm.workers[0], &error));
    }
    role_expect_count(f.guest, "SELECT failure FROM job_ends", "13");
    expect_foreign(&f, job, &error);
    role_expect_count(f.guest, "SELECT failure FROM job_ends", "13");
    farm_built(&f.farm, job, 0);
    role_expect_count(f.guest, "SELECT state FROM bundles", "built");
    job_free(job);
    role_farm_clear(&f);
}

static void test_nobody_acts_as_another_worker(void)
{
    static const char *const words = "does not act for worker";
    struct role_farm f;
    g_autoptr(GError) error = NULL;
    role_farm_init(&f, 1);
    int64_t one = f.farm.workers[0];
    char key[] = KEY;
    struct claim claim = {.worker = one,
                          .pool = POOL_BUILD,
                          .solvers = farm_carried,
                          .batch = 1,
                          .lease_seconds = 60};
    struct kernel_row kernel = {.key = key, .failure = FAILURE_COMPILE_ERROR, .built_by = one};
    role_expect_refused(store_claim(f.two, &claim, &error) != NULL, &error, STORE_ERROR_ACCESS,
                        words);
    role_expect_refused(store_heartbeat(f.two, one, &error), &error, STORE_ERROR_ACCESS, words);
    role_expect_refused(store_worker_ended(f.two, one, &error), &error, STORE_ERROR_ACCESS, words);
    role_expect_refused(store_worker_lost(f.two, one, &error), &error, STORE_ERROR_ACCESS, words);
    role_expect_refused(store_put_kernel(f.two, &kernel, &error), &error, STORE_ERROR_ACCESS,
                        words);
    role_expect_refused(store_event(f.two, "x", 0, 0, one, "", &error), &error, STORE_ERROR_ACCESS,
                        words);
    role_expect_refused(store_list_refusals(f.two, one, 0, &error) != NULL, &error,
                        STORE_ERROR_ACCESS, words);
    /* A worker cannot spend time, or write events, for campaigns that it never worked on. */
    role_expect_refused(store_add_spent(f.two, f.farm.campaign, 1e6, &error), &error,
                        STORE_ERROR_ACCESS, "never had a job");
    role_expect_refused(store_event(f.two, "x", f.farm.campaign, 0, f.farm.workers[1], "", &error),
                        &error, STORE_ERROR_ACCESS, "never had a job");
    role_farm_clear(&f);
}

static void test_registering_again_takes_the_same_secret(void)
{
    struct role_farm f;
    g_autoptr(GError) error = NULL;
    role_farm_init(&f, 1);
    int64_t worker;
    struct worker_info info = {.node = "one", .process = "p1"};
    g_assert_cmpint(role_enter(f.farm.store, "one", "p1"), ==, f.farm.workers[0]);
    Store *next = role_open("node1");
    g_assert_true(store_act_as(next, "nextnextnextnextnextnextnextnextnext", &error));
    role_expect_refused(store_register_worker(next, &info, &worker, &error), &error,
                        STORE_ERROR_ACCESS, "another secret");
    store_close(next);
    g_assert_true(store_heartbeat(f.farm.store, f.farm.workers[0], &error));
    role_farm_clear(&f);
}

/* Another login registers the same process first, with data read from the list of workers: the real
 * worker still registers under its own login. */
static void test_each_login_has_its_own_registrations(void)
{
    struct role_farm f;
    g_autoptr(GError) error = NULL;
    role_farm_init(&f, 1);
    int64_t forged = role_enter(f.two, "three", "p3");
    int64_t own = role_enter(f.farm.store, "three", "p3");
    g_assert_cmpint(own, !=, forged);
    g_assert_true(store_heartbeat(f.farm.store, own, &error));
    g_assert_no_error(error);
    g_autoptr(GPtrArray) rows = store_list_workers(f.farm.store, "three", &error);
    g_assert_cmpuint(rows->len, ==, 2);
    for (guint i = 0; i < rows->len; i++) {
        const struct worker_row *row = rows->pdata[i];
        g_assert_true(row->ours == (row->id == own));
    }
    role_farm_clear(&f);
}

static void owner_do(const char *sql)
{
    g_autoptr(GError) error = NULL;
    Store *owner = store_open(scratch_db_url(), &error);
    store_do(owner, &error, sql, "");
    g_assert_no_error(error);
    store_close(owner);
}

static bool enter_numbered(Store *store, int number, GError **error)
{
    int64_t worker;
    g_autofree char *process = g_strdup_printf("forged%d", number);
    struct worker_info info = {.node = "forged", .process = process, .target = "gfx90a68"};
    return store_register_worker(store, &info, &worker, error);
}

/* Each login has a limit of registered workers, also for workers of one secret. Silent workers do
 * not count, and a login's oldest ended workers are forgotten. */
static void test_registrations_have_a_limit(void)
{
    enum { MOST = 64 };
    struct role_farm f;
    g_autoptr(GError) error = NULL;
    role_farm_init(&f, 1);
    owner_do("ALTER ROLE node1 CONNECTION LIMIT 8");
    for (int i = 1; i < MOST; i++)
        g_assert_true(enter_numbered(f.farm.store, i, &error));
    g_assert_no_error(error);
    role_expect_refused(enter_numbered(f.farm.store, MOST, &error), &error, STORE_ERROR_STATE,
                        "64 workers of the login node1 run already");
    g_assert_true(enter_numbered(f.two, MOST, &error));
    owner_do("UPDATE workers SET beat_at = now() - interval '2 hours' WHERE node = 'forged'");
    owner_do("INSERT INTO workers (node, process, target, stack, login, ended_at)"
             " SELECT 'old', i::text, '', '', 'node1', now() FROM generate_series(1, 10000) AS i");
    g_assert_true(enter_numbered(f.farm.store, MOST, &error));
    g_assert_no_error(error);
    role_expect_count(f.guest, "SELECT count(*) < 10000 FROM workers WHERE login = 'node1'", "t");
    owner_do("ALTER ROLE node1 CONNECTION LIMIT -1");
    role_farm_clear(&f);
}

/* A worker's reported working time is at most the time that has passed since its first claim. */
static void test_working_time_has_passed(void)
{
    struct role_farm f;
    g_autoptr(GError) error = NULL;
    role_farm_init(&f, 2);
    g_autofree char *devices =
        g_strdup_printf("SELECT skipjack_work.put_devices(%" G_GINT64_FORMAT
                        ", (SELECT jsonb_agg('{}'::jsonb) FROM generate_series(1, 64)))",
                        (gint64)f.farm.workers[0]);
    store_do(f.farm.store, &error, devices, "");
    struct job *job = farm_claim_one(&f.farm, 0, POOL_BUILD);
    g_assert_true(store_add_spent(f.farm.store, f.farm.campaign, 2, &error));
    g_assert_true(store_add_spent(f.farm.store, f.farm.campaign, 1e6, &error));
    farm_built(&f.farm, job, 0);
    job_free(job);
    job = farm_claim_one(&f.farm, 0, POOL_EVAL);
    farm_round(&f.farm, job, 0, true, 1e7);
    job_free(job);
    g_assert_no_error(error);
    role_expect_count(f.guest,
                      "SELECT sum(seconds) >= 2 AND sum(seconds) < 60 + 65 * (SELECT extract(epoch"
                      " FROM clock_timestamp() - min(since)) FROM claimed_campaigns)"
                      " FROM campaign_spent",
                      "t");
    role_farm_clear(&f);
}

static void test_only_the_dead_of_the_same_node_and_login_are_buried(void)
{
    struct role_farm f;
    g_autoptr(GError) error = NULL;
    role_farm_init(&f, 1);
    Store *next = role_open("node1");
    store_act_as(next, "nextnextnextnextnextnextnextnextnext", &error);
    int64_t after = role_enter(next, "one", "p9");
    g_assert_cmpint(after, >, 0);
    g_assert_true(store_worker_lost(next, f.farm.workers[0], &error));
    g_assert_no_error(error);
    role_expect_refused(store_worker_ended(next, f.farm.workers[0], &error), &error,
                        STORE_ERROR_ACCESS, "does not act");
    /* A login that only claims to belong to the same node gets nothing of it. */
    role_enter(f.two, "one", "p10");
    role_expect_refused(store_worker_lost(f.two, f.farm.workers[0], &error), &error,
                        STORE_ERROR_ACCESS, "does not act");
    store_close(next);
    role_farm_clear(&f);
}

/* ---- the sizes of what a worker reports ---- */

static void expect_bounded(bool done, GError **error, const char *words)
{
    role_expect_refused(done, error, STORE_ERROR_STATE, words);
}

static void expect_impossible(bool done, GError **error, const char *words)
{
    role_expect_refused(done, error, STORE_ERROR_REFUSED, words);
}

static bool take_out(struct role_farm *f, const struct job *job, int32_t value, GError **error)
{
    struct perf_config config = {.count = 2, .values = {0, value}};
    return store_quarantine(f->farm.store, job, &config, FAILURE_DEVICE_FAULT, "boom", error);
}

static void test_only_configs_of_its_rounds_are_quarantined(void)
{
    struct role_farm f;
    g_autoptr(GError) error = NULL;
    role_farm_init(&f, 1);
    struct job *job = farm_claim_one(&f.farm, 0, POOL_BUILD);
    expect_impossible(take_out(&f, job, 1, &error), &error, "no round of the job has it");
    farm_built(&f.farm, job, 0);
    for (int value = 2; value < 5; value++)
        expect_impossible(take_out(&f, job, value, &error), &error, "no round of the job has it");
    role_expect_count(f.guest, "SELECT count(*) FROM quarantine", "0");
    g_assert_true(take_out(&f, job, 1, &error));
    g_assert_no_error(error);
    role_expect_count(f.guest,
                      "SELECT concat_ws(' ', q.config, w.node, q.login, q.job_id = j.id)"
                      " FROM quarantine q JOIN workers w ON w.id = q.worker_id, jobs j",
                      "{0,1} one node1 t");
    job_free(job);
    role_farm_clear(&f);
}

static void test_a_job_has_a_limit_of_quarantined_configs(void)
{
    enum { MOST = 100 };
    struct role_farm f;
    g_autoptr(GError) error = NULL;
    role_farm_init(&f, 1);
    Store *owner = store_open(scratch_db_url(), &error);
    g_assert_true(store_do(owner, &error, "UPDATE campaigns SET round_configs = 1000", ""));
    store_close(owner);
    struct job *job = farm_claim_one(&f.farm, 0, POOL_BUILD);
    struct round *round = round_new(MOST + 1);
    round->stack = g_strdup("clang 15.0.6");
    for (int i = 0; i <= MOST; i++) {
        round->configs[i] = (struct perf_config){.count = 2, .values = {0, i}};
        round->kernel_keys[i] = g_strdup("");
        round->outcomes[i].failure = FAILURE_PENDING;
    }
    g_assert_true(store_built(f.farm.store, job, round, &error));
    for (int i = 0; i < MOST; i++)
        g_assert_true(take_out(&f, job, i, &error));
    g_assert_no_error(error);
    expect_impossible(take_out(&f, job, MOST, &error), &error, "are quarantined already");
    round_free(round);
    job_free(job);
    role_farm_clear(&f);
}

static void test_what_another_worker_quarantined_stays(void)
{
    struct role_farm f;
    struct perf_config config = {.count = 2, .values = {0, 1}};
    g_autoptr(GError) error = NULL;
    role_farm_init(&f, 1);
    struct job *job = farm_claim_one(&f.farm, 0, POOL_BUILD);
    farm_built(&f.farm, job, 0);
    g_assert_true(take_out(&f, job, 1, &error));
    job_free(job);
    g_autoptr(GPtrArray) jobs = farm_claim(f.two, f.farm.workers[1], POOL_EVAL, 1, 60);
    g_assert_true(store_lift_quarantine(f.two, jobs->pdata[0], &config, &error));
    g_assert_no_error(error);
    role_expect_count(f.guest, "SELECT login FROM quarantine", "node1");
    role_farm_clear(&f);
}

/* A job without an evaluated round cannot be marked done: later campaigns would take it over. */
static void test_a_job_without_a_round_is_not_done(void)
{
    struct role_farm f;
    g_autoptr(GError) error = NULL;
    int reused = -1;
    role_farm_init(&f, 1);
    struct job *job = farm_claim_one(&f.farm, 0, POOL_BUILD);
    expect_impossible(store_finish_job(f.farm.store, job, SEARCH_SPACE_TRIED, &error), &error,
                      "before its first round");
    role_expect_count(f.guest, "SELECT count(*) FROM job_ends", "0");
    farm_create(f.boss, &(struct order){.jobs = 1}, &reused);
    g_assert_cmpint(reused, ==, 0);
    /* A worker that has no config to propose from the beginning reports the job as failed. */
    g_assert_true(store_fail_job(f.farm.store, job, FAILURE_REFUSED_BY_CHECK, "none", &error));
    g_assert_no_error(error);
    role_expect_count(f.guest, "SELECT state || ' ' || failure FROM job_ends", "failed 14");
    job_free(job);
    role_farm_clear(&f);
}

/* Every heartbeat reads the leases: one with an invalid time would make all heartbeats fail. */
static struct job *claim_for(struct role_farm *f, double lease_seconds)
{
    GPtrArray *jobs = farm_claim(f->farm.store, f->farm.workers[0], POOL_BUILD, 1, lease_seconds);
    struct job *job = g_ptr_array_steal_index(jobs, 0);
    g_ptr_array_unref(jobs);
    return job;
}

static void test_leases_are_bounded(void)
{
    static const double leases[] = {NAN, INFINITY, -INFINITY, 1e300};
    struct role_farm f;
    g_autoptr(GError) error = NULL;
    role_farm_init(&f, G_N_ELEMENTS(leases));
    for (gsize i = 0; i < G_N_ELEMENTS(leases); i++)
        job_free(claim_for(&f, leases[i]));
    role_expect_count(
        f.guest, "SELECT min(lease_seconds) || ' ' || max(lease_seconds) FROM bundles", "0 86400");
    Store *owner = store_open(scratch_db_url(), &error);
    g_assert_no_error(error);
    farm_look_at_leases(&(struct farm){.store = owner, .workers = {0, f.farm.workers[1]}});
    store_close(owner);
    role_farm_clear(&f);
}

static void test_values_that_cannot_be_are_refused(void)
{
    struct role_farm f;
    g_autoptr(GError) error = NULL;
    char key[] = KEY;
    int64_t worker;
    role_farm_init(&f, 1);
    struct job *job = claim_for(&f, 60);
    struct perf_config config = {.count = 1};
    enum failure unknown = (enum failure)99;
    struct kernel_row kernel = {.key = key, .failure = unknown, .built_by = f.farm.workers[0]};
    expect_bounded(store_fail_job(f.farm.store, job, unknown, "", &error), &error, "no failure");
    expect_bounded(store_fail_job(f.farm.store, job, FAILURE_SLOW, "", &error), &error,
                   "no failure");
    expect_bounded(store_quarantine(f.farm.store, job, &config, unknown, "", &error), &error,
                   "no failure");
    expect_bounded(store_put_kernel(f.farm.store, &kernel, &error), &error, "no failure");
    expect_bounded(store_add_spent(f.farm.store, f.farm.campaign, NAN, &error), &error,
                   "working time");
    expect_bounded(store_add_spent(f.farm.store, f.farm.campaign, -1, &error), &error,
                   "working time");
    /* Numbers of this length in a version are refused instead of compared. */
    g_autofree char *digits = g_strnfill(200000, '9');
    struct worker_info info = {.node = "one", .process = "p1", .stack = digits};
    expect_bounded(store_register_worker(f.farm.store, &info, &worker, &error), &error, "words");

    struct round *round = farm_make_round(0);
    round->outcomes[0].failure = unknown;
    expect_impossible(store_built(f.farm.store, job, round, &error), &error, "no such failure");
    farm_built(&f.farm, job, 0);
    job_free(job);
    job = farm_claim_one(&f.farm, 0, POOL_EVAL);
    expect_impossible(store_partial(f.farm.store, job, round, &error), &error, "no such failure");
    farm_evaluate(round, 1);
    struct kept kept = farm_make_kept(round);
    kept.outcome.min_ms = 0;
    expect_impossible(store_round(f.farm.store, job, round, &kept, 1, false, 1, &error), &error,
                      "no time");
    kept.outcome.min_ms = kept.outcome.median_ms * 2;
    expect_impossible(store_round(f.farm.store, job, round, &kept, 1, false, 1, &error), &error,
                      "no time");
    round->outcomes[0].eval_seconds = -1;
    expect_impossible(store_round(f.farm.store, job, round, &kept, 0, false, 1, &error), &error,
                      "negative");
    farm_round(&f.farm, job, 0, false, 1);
    round_free(round);
    job_free(job);
    role_farm_clear(&f);
}

/* ---- objects that a session creates for itself ---- */

static void test_objects_of_the_session_are_not_looked_at(void)
{
    static const char traps[] =
        "SET search_path = pg_temp, skipjack, public;"
        "CREATE TEMP TABLE workers (id bigint, node text); INSERT INTO workers VALUES (1, 'x');"
        "CREATE TEMP TABLE worker_secrets (worker_id bigint, sha256 bytea);"
        "INSERT INTO worker_secrets SELECT i, sha256('me') FROM generate_series(1, 500) AS i;"
        "CREATE FUNCTION pg_temp.my_workers() RETURNS bigint[] LANGUAGE sql AS 'SELECT NULL::bigint[]';"
        "CREATE FUNCTION pg_temp.acts_for_all() RETURNS boolean LANGUAGE sql AS 'SELECT true';"
        "CREATE FUNCTION pg_temp.check_worker(bigint) RETURNS void LANGUAGE sql AS 'SELECT';"
        "CREATE FUNCTION pg_temp.same(bigint, bigint) RETURNS boolean LANGUAGE sql AS 'SELECT true';"
        "CREATE OPERATOR pg_temp.= (FUNCTION = pg_temp.same, LEFTARG = bigint, RIGHTARG = bigint);"
        "SET skipjack.secret = 'me'";
    struct role_farm f;
    role_farm_init(&f, 1);
    owner_do("GRANT TEMPORARY ON DATABASE skipjack TO node2");
    PGconn *connection = connect_as("node2");
    PGresult *rows = PQexec(connection, traps);
    g_assert_cmpstr(PQresultErrorMessage(rows), ==, "");
    PQclear(rows);
    g_autofree char *beat = g_strdup_printf("SELECT skipjack_work.heartbeat(%" G_GINT64_FORMAT ")",
                                            (gint64)f.farm.workers[0]);
    rows = PQexec(connection, beat);
    g_assert_cmpstr(PQresultErrorField(rows, PG_DIAG_SQLSTATE), ==, "42501");
    PQclear(rows);
    PQfinish(connection);
    owner_do("REVOKE TEMPORARY ON DATABASE skipjack FROM node2");
    role_farm_clear(&f);
}

static void test_what_runs_as_the_owner_is_fixed_and_closed(void)
{
    struct role_farm f;
    role_farm_init(&f, 1);
    role_expect_count(
        f.guest,
        "SELECT count(*) FROM pg_proc p WHERE p.prosecdef AND p.pronamespace IN"
        " ('skipjack'::regnamespace, 'skipjack_work'::regnamespace)"
        " AND (p.proacl IS NULL OR NOT 'search_path=skipjack, pg_temp' = ANY (p.proconfig)"
        "      OR EXISTS (SELECT 1 FROM aclexplode(p.proacl) a WHERE a.grantee = 0))",
        "0");
    role_expect_count(f.guest,
                      "SELECT count(*) FROM pg_proc WHERE NOT prosecdef"
                      " AND pronamespace = 'skipjack_work'::regnamespace",
                      "0");
    /* Every name in entry_points is that of an existing function. */
    role_expect_count(f.guest,
                      "SELECT string_agg(name, ' ') FROM entry_points e WHERE NOT EXISTS (SELECT 1"
                      " FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace"
                      " WHERE e.name IN (p.proname, n.nspname || '.' || p.proname)"
                      " AND n.nspname IN ('skipjack', 'skipjack_work'))",
                      "");
    /* Only upkeep's functions run with the rights of the coordinator that calls them. */
    role_expect_count(f.guest,
                      "SELECT count(*) FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace"
                      " WHERE n.nspname = 'skipjack' AND NOT p.prosecdef"
                      " AND has_function_privilege('boss', p.oid, 'EXECUTE')",
                      "7");
    role_farm_clear(&f);
}

int main(int argc, char **argv)
{
    setlocale(LC_ALL, "C");
    g_test_init(&argc, &argv, NULL);
    g_test_set_nonfatal_assertions();
    role_farm_make_logins();
#define TEST(name) g_test_add_func("/overreach/" #name, test_##name)
    TEST(overreaching_statements_are_refused);
    TEST(results_of_anothers_claim_are_refused);
    TEST(late_result_of_a_job_given_up_is_its_workers);
    TEST(nobody_acts_as_another_worker);
    TEST(registering_again_takes_the_same_secret);
    TEST(each_login_has_its_own_registrations);
    TEST(registrations_have_a_limit);
    TEST(working_time_has_passed);
    TEST(only_the_dead_of_the_same_node_and_login_are_buried);
    TEST(only_configs_of_its_rounds_are_quarantined);
    TEST(a_job_has_a_limit_of_quarantined_configs);
    TEST(what_another_worker_quarantined_stays);
    TEST(a_job_without_a_round_is_not_done);
    TEST(leases_are_bounded);
    TEST(values_that_cannot_be_are_refused);
    TEST(objects_of_the_session_are_not_looked_at);
    TEST(what_runs_as_the_owner_is_fixed_and_closed);
    return g_test_run();
}
