/* A store and real agents whose connection to PostgreSQL goes silent: they stop waiting, keep their
 * results, and hand them in when the connection works again, unless another worker has claimed the
 * jobs meanwhile. Children that are stopped are ended by their deadlines while their agent goes on
 * sending heartbeats. */
#include "schema/store/failure.h"
#include "schema/store/store_private.h"
#include "schema/store/store_workers.h"
#include "tests/support/chaos/chaos_room.h"
#include "tests/support/chaos/chaos_server.h"
#include "tests/support/farm/live_farm.h"
#include "tests/support/patience.h"

#include <locale.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define HANG_SECONDS 1200 /* a test that hangs fails after this time */

static struct {
    char *programs, *skipjack;
    char *url;       /* past the proxy */
    char *proxy_url; /* through it */
    pid_t proxy;
    int to_proxy;
    Store *store; /* past the proxy */
} farm;

static char *start_proxy(void)
{
    char line[16] = "";
    int from;
    g_autofree char *program = g_build_filename(farm.programs, "proxy", NULL);
    g_autofree char *port = g_strdup_printf("%d", server_port());
    const char *const argv[] = {program, "127.0.0.1", "127.0.0.1", port, NULL};
    farm.proxy = room_start(&(struct room_process){
        .argv = argv, .host = -1, .to_fd = &farm.to_proxy, .from_fd = &from});
    g_assert_cmpint(read(from, line, sizeof line - 1), >, 0);
    close(from);
    return g_strdup_printf("postgresql://skipjack@127.0.0.1:%d/outage", atoi(line));
}

static void proxy_tell(const char *command)
{
    g_autofree char *line = g_strconcat(command, "\n", NULL);
    g_assert_cmpint(write(farm.to_proxy, line, strlen(line)), ==, (ssize_t)strlen(line));
}

/* ---- the store ---- */

static Store *open_store(const char *url)
{
    g_autoptr(GError) error = NULL;
    Store *store = store_open(url, &error);
    g_assert_no_error(error);
    return store;
}

static void assert_works_again(Store *store)
{
    g_autoptr(GError) error = NULL;
    store_set_patience(store, 60);
    g_assert_true(store_do(store, &error, "SELECT 1", ""));
    g_assert_no_error(error);
}

static void test_an_answer_that_does_not_come_is_not_waited_for(void)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(Store) store = open_store(farm.proxy_url);
    store_set_patience(store, 0.3);
    proxy_tell("half-open");
    g_assert_false(store_heartbeat(store, 1, &error));
    g_assert_error(error, STORE_ERROR, STORE_ERROR_CONNECTION);
    g_assert_cmpint(store_socket(store), ==, -1);
    proxy_tell("open");
    assert_works_again(store);
}

/* A stopped server's kernel accepts bytes until its buffers are full; the store must not wait for
 * the rest to be taken. */
static void test_bytes_that_nobody_takes_are_not_waited_for(void)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(Store) store = open_store(farm.proxy_url);
    g_autoptr(GBytes) much = g_bytes_new_take(g_malloc0(32 << 20), 32 << 20);
    store_set_patience(store, 0.3);
    kill(farm.proxy, SIGSTOP);
    g_assert_false(store_do(store, &error, "SELECT length($1)", "y", much));
    g_assert_error(error, STORE_ERROR, STORE_ERROR_CONNECTION);
    kill(farm.proxy, SIGCONT);
    assert_works_again(store);
}

static void test_a_slow_answer_is_waited_for(void)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(Store) store = open_store(farm.proxy_url);
    g_autoptr(GBytes) much = g_bytes_new_take(g_malloc0(8 << 20), 8 << 20);
    g_autoptr(StoreRows) rows =
        store_read(store, &error, "SELECT length($1) FROM pg_sleep(0.2)", "y", much);
    g_assert_no_error(error);
    g_assert_cmpstr(PQgetvalue(rows, 0, 0), ==, "8388608");
}

/* ---- agents ---- */

/* Starts an agent with one more option and its value. lease: in seconds. */
static pid_t start_agent_with(const char *option, const char *value, const char *lease,
                              const char *url, const char *node, const char *log)
{
    g_autofree char *database = g_strconcat("SKIPJACK_DB=", url, NULL);
    g_autofree char *name = g_strconcat("SKIPJACK_NODE=", node, NULL);
    g_autofree char *scratch = g_strconcat("TMPDIR=", room_folder(), NULL);
    const char *const argv[] = {farm.skipjack,      "worker", "--build", "1",   "--lease", lease,
                                "--sample-seconds", "0.02",   option,    value, NULL};
    const char *const environment[] = {database, name, scratch, NULL};
    return room_start(
        &(struct room_process){.argv = argv, .environment = environment, .host = -1, .log = log});
}

static pid_t start_agent(const char *url, const char *node, const char *log)
{
    return start_agent_with(NULL, NULL, "2", url, node, log);
}

static void end_agent(pid_t agent)
{
    kill(agent, SIGTERM);
    g_assert_cmpint(live_wait(agent), ==, 0);
}

static char *log_of(const char *node)
{
    return g_strdup_printf("%s/%s.log", room_folder(), node);
}

static bool log_has(const char *log, const char *words)
{
    g_autofree char *text = NULL;
    g_file_get_contents(log, &text, NULL, NULL);
    return text != NULL && strstr(text, words) != NULL;
}

static void await_log(const char *log, const char *words)
{
    gint64 limit = patience_end();
    while (!log_has(log, words)) {
        if (g_get_monotonic_time() > limit)
            g_error("the worker never said '%s'", words);
        g_usleep(5000);
    }
}

static int64_t ask(const char *sql, int64_t campaign)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(StoreRows) rows = store_read(farm.store, &error, sql, "l", campaign);
    g_assert_no_error(error);
    return strtoll(PQgetvalue(rows, 0, 0), NULL, 10);
}

static void await(const char *sql, int64_t campaign)
{
    gint64 limit = patience_end();
    while (ask(sql, campaign) == 0) {
        if (g_get_monotonic_time() > limit)
            g_error("never came true for campaign %" G_GINT64_FORMAT ": %s", (gint64)campaign, sql);
        g_usleep(5000);
    }
}

static const char is_done[] = "SELECT count(*) FROM campaigns WHERE id = $1 AND state = 'done'";

/* Creates a campaign of one job with one config. Another number of channels makes another job. */
static int64_t make_campaign(const char *solver, int channels)
{
    const char *const arguments[] = {"--configs", "1", "--solvers", solver, NULL};
    g_autofree char *problems =
        g_strdup_printf("%d-6-6-1x1-4-6-6-1-0x0-1x1-1x1-0-NCHW-FP32-F\n", channels);
    return live_campaign(farm.skipjack, problems, arguments);
}

/* Waits until the agent is ready to claim, and returns the process id of its child of that role. */
static pid_t child_of(pid_t agent, const char *node, const char *role)
{
    g_autofree char *registered =
        g_strdup_printf("SELECT count(*) FROM workers WHERE node = '%s' AND $1 = 0", node);
    await(registered, 0);
    return live_child(agent, role);
}

/* Waits until the agent has claimed the job and loaded its code, so that it can measure without the
 * database. PostgreSQL's log has every statement. */
static void await_loaded(int64_t campaign, gsize log_before)
{
    g_autofree char *path = g_strdup_printf("%s/postgres.log", room_folder());
    await("SELECT count(*) FROM bundles WHERE campaign_id = $1 AND state = 'evaluating'", campaign);
    for (gint64 limit = patience_end();; g_usleep(5000)) {
        g_autofree char *text = NULL;
        g_file_get_contents(path, &text, NULL, NULL);
        if (text != NULL && strstr(text + log_before, "skipjack_work.kernel_code") != NULL)
            break;
        if (g_get_monotonic_time() > limit)
            g_error("the worker never read a kernel");
    }
    await(
        "SELECT count(*) FROM (SELECT count(*) FROM pg_stat_activity WHERE state = 'active'"
        " AND query LIKE 'SELECT skipjack_work.kernel_code%' AND $1 > 0) AS a(reading) WHERE reading = 0",
        campaign);
}

static gsize log_length(void)
{
    g_autofree char *path = g_strdup_printf("%s/postgres.log", room_folder());
    g_autofree char *text = NULL;
    gsize length = 0;
    g_file_get_contents(path, &text, &length, NULL);
    return length;
}

/* An agent measured its job's only round while its connection was silent for longer than the lease:
 * the job was taken from it. */
struct outage {
    int64_t campaign, fence;
    pid_t agent;
    char *log;
};

static void outage_begin(struct outage *outage, const char *node, int channels)
{
    outage->log = log_of(node);
    outage->agent = start_agent(farm.proxy_url, node, outage->log);
    pid_t child = child_of(outage->agent, node, "child eval");
    kill(child, SIGSTOP);
    gsize log_before = log_length();
    outage->campaign = make_campaign("ConvDirectNaive", channels);
    await_loaded(outage->campaign, log_before);
    outage->fence = ask("SELECT fence FROM bundles WHERE campaign_id = $1", outage->campaign);
    proxy_tell("blackhole");
    kill(child, SIGCONT);
    await_log(outage->log, "round 0: ");
    await("SELECT count(*) FROM (SELECT lose_expired()) AS l, events"
          " WHERE kind = 'lease lost' AND campaign_id = $1",
          outage->campaign);
}

static void outage_end(struct outage *outage)
{
    proxy_tell("open");
    await_log(outage->log, "the store is back");
}

static void outage_clear(struct outage *outage)
{
    end_agent(outage->agent);
    g_free(outage->log);
}

static const char stored_fence[] =
    "SELECT fence FROM outcomes WHERE campaign_id = $1 AND NOT is_open";
static const char outcomes_count[] = "SELECT count(*) FROM outcomes WHERE campaign_id = $1";

static void test_measured_in_an_outage_is_handed_in_after_it(void)
{
    struct outage outage;
    outage_begin(&outage, "keeper", 4);
    g_assert_cmpint(ask(outcomes_count, outage.campaign), ==, 0);
    outage_end(&outage);
    await(is_done, outage.campaign);
    g_assert_cmpint(ask(stored_fence, outage.campaign), ==, outage.fence);
    g_assert_cmpint(ask(outcomes_count, outage.campaign), ==, 1);
    g_assert_false(log_has(outage.log, "not wanted any more"));
    outage_clear(&outage);
}

static void test_measured_in_an_outage_is_refused_where_another_claimed(void)
{
    struct outage outage;
    outage_begin(&outage, "loser", 5);
    g_autofree char *log = log_of("winner");
    pid_t winner = start_agent(farm.url, "winner", log);
    await(is_done, outage.campaign);
    int64_t fence = ask(stored_fence, outage.campaign);
    int64_t spent = ask("SELECT (1e6 * spent_seconds($1))::bigint", outage.campaign);
    outage_end(&outage);
    await_log(outage.log, "not wanted any more");
    g_assert_cmpint(fence, >, outage.fence);
    g_assert_cmpint(ask(stored_fence, outage.campaign), ==, fence);
    g_assert_cmpint(ask(outcomes_count, outage.campaign), ==, 1);
    g_assert_cmpint(ask("SELECT (1e6 * spent_seconds($1))::bigint", outage.campaign), ==, spent);
    end_agent(winner);
    outage_clear(&outage);
}

static bool was_lost(int64_t campaign)
{
    return ask("SELECT count(*) FROM events WHERE kind = 'lease lost' AND campaign_id = $1",
               campaign) > 0;
}

/* The agent goes on sending heartbeats, so only the child's deadline ends the stopped child. */
static void test_a_stopped_eval_child_is_ended_by_its_deadline(void)
{
    g_autofree char *log = log_of("patient");
    pid_t agent = start_agent_with("--run-timeout", "5", "60", farm.url, "patient", log);
    kill(child_of(agent, "patient", "child eval"), SIGSTOP);
    int64_t campaign = make_campaign("ConvDirectNaive", 6);
    await(is_done, campaign);
    g_assert_true(log_has(log, "did not answer in time"));
    g_assert_false(was_lost(campaign));
    live_assert_done(farm.store, campaign, 1);
    end_agent(agent);
}

static void test_a_stopped_build_child_is_ended_by_its_deadline(void)
{
    g_autofree char *log = log_of("builder");
    pid_t agent = start_agent_with("--compile-timeout", "20", "60", farm.url, "builder", log);
    await(is_done, make_campaign("ConvDirectNaive", 7));
    kill(child_of(agent, "builder", "child build"), SIGSTOP);
    int64_t campaign = make_campaign("ConvCpuDirect", 8);
    await(is_done, campaign);
    g_assert_true(log_has(log, "the build child did not answer in time"));
    g_assert_cmpint(ask("SELECT failure FROM job_ends WHERE campaign_id = $1", campaign), ==,
                    FAILURE_COMPILE_TIMEOUT);
    g_assert_false(was_lost(campaign));
    end_agent(agent);
}

/* A worker evaluates the jobs that are built before it builds others: if it is restarted often, it
 * would otherwise only build, and never hand in a result. */
static void test_what_is_built_already_is_evaluated_first(void)
{
    g_autofree char *building_log = log_of("ahead");
    pid_t building = start_agent_with("--eval", "none", "2", farm.url, "ahead", building_log);
    int64_t campaign = make_campaign("ConvDirectNaive", 9);
    await("SELECT count(*) FROM bundles WHERE campaign_id = $1 AND state = 'built'", campaign);
    end_agent(building);
    int64_t next = make_campaign("ConvDirectNaive", 10);
    g_autofree char *log = log_of("starter");
    pid_t agent = start_agent(farm.url, "starter", log);
    await(is_done, campaign);
    await(is_done, next);
    g_assert_cmpint(ask(stored_fence, campaign), <,
                    ask("SELECT fence FROM rounds WHERE campaign_id = $1", next));
    end_agent(agent);
}

/* ---- setting up ---- */

static void furnish(const char *argv0)
{
    g_autofree char *folder = g_path_get_dirname(argv0);
    const char *skipjack = g_getenv("SKIPJACK");
    farm.programs = realpath(folder, NULL);
    farm.skipjack = realpath(skipjack ? skipjack : "build/skipjack", NULL);
    if (farm.skipjack == NULL)
        g_error("no program 'build/skipjack': run make, or set SKIPJACK");
    signal(SIGPIPE, SIG_IGN);
    server_create(200);
    farm.url = server_add_database("outage");
    farm.proxy_url = start_proxy();
    farm.store = open_store(farm.url);
    g_assert_true(
        store_do(farm.store, NULL, "ALTER DATABASE outage SET log_statement = 'all'", ""));
    g_assert_true(
        store_do(farm.store, NULL, "ALTER DATABASE outage SET log_parameter_max_length = 0", ""));
    g_setenv("SKIPJACK_DB", farm.url, TRUE);
}

int main(int argc, char **argv)
{
    const char *reason;
    setlocale(LC_ALL, "C");
    g_test_init(&argc, &argv, NULL);
    g_test_set_nonfatal_assertions();
    room_enter(&reason);
    alarm(HANG_SECONDS);
    furnish(argv[0]);
    g_test_add_func("/outage/an_answer_that_does_not_come_is_not_waited_for",
                    test_an_answer_that_does_not_come_is_not_waited_for);
    g_test_add_func("/outage/bytes_that_nobody_takes_are_not_waited_for",
                    test_bytes_that_nobody_takes_are_not_waited_for);
    g_test_add_func("/outage/a_slow_answer_is_waited_for", test_a_slow_answer_is_waited_for);
    g_test_add_func("/outage/measured_in_an_outage_is_handed_in_after_it",
                    test_measured_in_an_outage_is_handed_in_after_it);
    g_test_add_func("/outage/measured_in_an_outage_is_refused_where_another_claimed",
                    test_measured_in_an_outage_is_refused_where_another_claimed);
    g_test_add_func("/outage/a_stopped_eval_child_is_ended_by_its_deadline",
                    test_a_stopped_eval_child_is_ended_by_its_deadline);
    g_test_add_func("/outage/a_stopped_build_child_is_ended_by_its_deadline",
                    test_a_stopped_build_child_is_ended_by_its_deadline);
    g_test_add_func("/outage/what_is_built_already_is_evaluated_first",
                    test_what_is_built_already_is_evaluated_first);
    int failed = g_test_run();
    store_close(farm.store);
    server_stop(SERVER_FAST);
    return failed;
}
