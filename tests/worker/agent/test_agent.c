/* Whole campaigns through the program, on a real database with real children. */
#include <glib/gstdio.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "schema/results/store_results.h"
#include "schema/store/store_campaigns.h"
#include "schema/store/store_private.h"
#include "schema/store/store_workers.h"
#include "tests/support/farm/live_farm.h"
#include "tests/support/farm/scratch_db.h"
#include "tests/support/patience.h"
#include "tests/support/temp_folder.h"
#include "worker/agent/agent.h"

static const char problems[] = "8-10-10-1x1-24-10-10-1-0x0-1x1-1x1-0-NCHW-FP32-F\n"
                               "6-9-9-3x3-8-9-9-1-1x1-1x1-1x1-0-NCHW-FP32-F\n";
static const char *const quick[] = {"--sample-seconds", "0.05", NULL};

static const char *program(void)
{
    const char *path = g_getenv("SKIPJACK");
    return path ? path : "build/skipjack";
}

static int64_t tune(const char *solvers, const char *configs, const char *seed)
{
    const char *const arguments[] = {"--solvers", solvers, "--configs", configs,
                                     "--seed",    seed,    NULL};
    int64_t campaign = live_campaign(program(), problems, arguments);
    g_assert_cmpint(live_wait(live_worker(program(), quick)), ==, 0);
    return campaign;
}

static int assert_done(Store *store, int64_t id, int jobs)
{
    g_autoptr(GError) error = NULL;
    struct campaign *campaign = store_get_campaign(store, id, &error);
    g_assert_no_error(error);
    g_assert_cmpfloat(campaign->spent_seconds, >, 0);
    campaign_free(campaign);
    return live_assert_done(store, id, jobs);
}

static void test_a_campaign_comes_to_its_end(void)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(Store) store = scratch_store();
    int64_t id = tune("ConvCpuDirect,ConvDirectNaive", "4", "1");
    int done = assert_done(store, id, 4);
    g_autoptr(GPtrArray) results = store_list_results(store, id, &error);
    g_assert_cmpuint(results->len, >=, done);
    for (guint i = 0; i < results->len; i++) {
        const struct result *result = g_ptr_array_index(results, i);
        const struct outcome *outcome = &result->kept.outcome;
        g_assert_cmpint(outcome->failure, ==, FAILURE_NONE);
        g_assert_cmpfloat(outcome->median_ms, >, 0);
        g_assert_cmpfloat(outcome->min_ms, <=, outcome->median_ms);
        g_assert_cmpfloat(outcome->error, <=, 1);
        g_assert_cmpfloat(result->kept.flops, >, 0);
        g_assert_cmpuint(strlen(result->kept.kernel_keys), >=, 64);
    }
}

static struct progress progress_of(Store *store, int64_t campaign)
{
    g_autoptr(GError) error = NULL;
    struct progress progress;
    g_assert_true(store_progress(store, campaign, &progress, &error));
    g_assert_no_error(error);
    return progress;
}

static void test_kernels_are_compiled_once(void)
{
    static const char *const only_built[] = {"--solvers", "ConvCpuDirect", "--configs",
                                             "1",         "--build-only",  NULL};
    g_autoptr(Store) store = scratch_store();
    int64_t built = live_campaign(program(), problems, only_built);
    g_assert_cmpint(live_wait(live_worker(program(), quick)), ==, 0);
    g_assert_cmpfloat(progress_of(store, built).compile_seconds, >, 0);
    int64_t measured = tune("ConvCpuDirect", "1", "1");
    assert_done(store, measured, 2);
    const struct progress progress = progress_of(store, measured);
    g_assert_cmpfloat(progress.compile_seconds, ==, 0);
    g_assert_cmpint(progress.configs_done, ==, 2);
    g_assert_cmpint(progress.configs_taken, ==, 0);
}

/* Campaigns with different seeds and one config each both try the default config, and the second takes the first one's
 * result over. */
static void test_a_default_config_is_measured_once(void)
{
    int64_t counts[FAILURE_COUNT];
    g_autoptr(Store) store = scratch_store();
    int64_t first = tune("ConvCpuDirect", "1", "1");
    int64_t again = tune("ConvCpuDirect", "1", "2");
    live_assert_done(store, again, 2);
    const struct progress progress = progress_of(store, again);
    g_assert_cmpint(progress.configs_done, ==, 2);
    /* On a busy machine a time may be unstable: it is measured again. */
    g_assert_true(store_count_outcomes(store, first, counts, NULL));
    g_assert_cmpint(progress.configs_taken, ==, counts[FAILURE_NONE]);
}

static void test_an_empty_queue_ends_at_once(void)
{
    g_autoptr(Store) store = scratch_store();
    g_assert_cmpint(live_wait(live_worker(program(), quick)), ==, 0);
    g_autoptr(GPtrArray) workers = store_list_workers(store, NULL, NULL);
    g_assert_cmpuint(workers->len, ==, 1);
    g_assert_true(((const struct worker_row *)g_ptr_array_index(workers, 0))->ended);
}

static bool has_begun(Store *store, int64_t campaign)
{
    g_autoptr(GError) error = NULL;
    struct progress progress;
    g_assert_true(store_progress(store, campaign, &progress, &error));
    return progress.ready < progress.jobs;
}

/* PoCL's threads have stacks of 8 MiB each, and a compiler may have 4 GiB. */
static void test_a_cpu_of_600_threads_is_built_for(void)
{
    static const char *const request[] = {"--solvers", "ConvDirectNaive", "--build-only", NULL};
    g_autofree char *threads = g_strdup(g_getenv("POCL_MAX_PTHREAD_COUNT"));
    g_autoptr(Store) store = scratch_store();
    g_setenv("POCL_MAX_PTHREAD_COUNT", "600", TRUE);
    int64_t id = live_campaign(program(), problems, request);
    g_assert_cmpint(live_wait(live_worker(program(), quick)), ==, 0);
    if (threads != NULL)
        g_setenv("POCL_MAX_PTHREAD_COUNT", threads, TRUE);
    else
        g_unsetenv("POCL_MAX_PTHREAD_COUNT");
    g_assert_cmpint(live_assert_done(store, id, 2), ==, 2);
}

/* Runs a worker, which must end well, and returns its standard error. */
static char *run_worker(const char *label)
{
    g_autoptr(GError) error = NULL;
    char *words = NULL;
    int status;
    const char *const line[] = {program(), "worker", "--embedded", "--until-empty",
                                "--label", label,    NULL};
    g_assert_true(g_spawn_sync(NULL, (char **)(gpointer)line, NULL, G_SPAWN_DEFAULT, NULL, NULL,
                               NULL, &words, &status, &error));
    g_assert_cmpint(status, ==, 0);
    return words;
}

static void test_a_pool_admits_its_label(void)
{
    static const char *const request[] = {"--solvers", "ConvDirectNaive", "--pool", "night", NULL};
    g_autoptr(Store) store = scratch_store();
    int64_t id = live_campaign(program(), problems, request);
    g_autofree char *refused = run_worker("day");
    g_assert_nonnull(strstr(refused, "does not admit this worker: it has no label night"));
    g_assert_false(has_begun(store, id));
    g_autofree char *admitted = run_worker("night");
    g_assert_null(strstr(admitted, "does not admit"));
    assert_done(store, id, 2);
}

/* Waits for the running worker's row. */
static struct worker_row *running(GPtrArray **workers, Store *store)
{
    g_autoptr(GError) error = NULL;
    gint64 limit = patience_end();
    while (g_get_monotonic_time() < limit) {
        *workers = store_list_workers(store, NULL, &error);
        g_assert_no_error(error);
        if ((*workers)->len > 0)
            return (*workers)->pdata[0];
        g_ptr_array_unref(*workers);
        g_usleep(50000);
    }
    g_error("no worker registered");
}

/* Claims of all agents since count_functions(). */
static int64_t claims_made(Store *store)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(StoreRows) rows = store_read(
        store, &error,
        "SELECT coalesce(sum(calls), 0) FROM pg_stat_user_functions WHERE funcname = 'claim'", "");
    g_assert_no_error(error);
    return strtoll(PQgetvalue(rows, 0, 0), NULL, 10);
}

static void count_functions(Store *store)
{
    g_autoptr(GError) error = NULL;
    store_do(store, &error,
             "DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET track_functions = ''pl''',"
             " current_database()); END $$",
             "");
    g_assert_no_error(error);
}

/* The pauses between an idle agent's claims double: after twelve seconds it claims at most three times in the next half
 * minute, for each of both pools, unless the database notifies it. */
static void test_an_idle_agent_is_woken(void)
{
    enum { CLAIMS = 12, CALLS = 24 };
    static const char *const request[] = {"--solvers", "ConvDirectNaive", NULL};
    g_autoptr(Store) store = scratch_store();
    GPtrArray *workers = NULL;
    count_functions(store);
    pid_t agent = live_agent(program(), quick);
    int64_t worker = running(&workers, store)->id;
    g_usleep(12 * G_USEC_PER_SEC);
    int64_t before = claims_made(store);
    int calls = 0;
    for (; claims_made(store) < before + CLAIMS && calls < CALLS; calls++) {
        store_do(store, NULL, "SELECT pg_notify('skipjack_worker_' || $1, '')", "l", worker);
        g_usleep(G_USEC_PER_SEC);
    }
    g_assert_cmpint(calls, <, CALLS);
    int64_t id = live_campaign(program(), problems, request);
    for (gint64 limit = patience_end(); !has_begun(store, id); g_usleep(20000))
        g_assert_cmpint(g_get_monotonic_time(), <, limit);
    kill(agent, SIGTERM);
    g_assert_cmpint(live_wait(agent), ==, 0);
    g_ptr_array_unref(workers);
}

static int ask_to_drain(const char *node)
{
    g_autoptr(GError) error = NULL;
    int status;
    const char *const line[] = {program(), "worker", "--drain", node, NULL};
    g_assert_true(g_spawn_sync(NULL, (char **)(gpointer)line, NULL, G_SPAWN_DEFAULT, NULL, NULL,
                               NULL, NULL, &status, &error));
    return WEXITSTATUS(status);
}

static void forge_drain(Store *store, int64_t worker)
{
    g_autoptr(GError) error = NULL;
    g_autofree char *sql =
        g_strdup_printf("NOTIFY skipjack_worker_%" G_GINT64_FORMAT ", 'drain'", (gint64)worker);
    store_do(store, &error, sql, "");
    g_assert_no_error(error);
}

/* A lease of four seconds means a heartbeat each second, and every third second while the agent is idle. */
static void test_a_node_drains_when_it_is_asked(void)
{
    static const char *const idle[] = {"--lease", "4", NULL};
    g_autoptr(Store) store = scratch_store();
    GPtrArray *workers = NULL;
    pid_t agent = live_agent(program(), idle);
    const struct worker_row *row = running(&workers, store);
    g_assert_cmpint(ask_to_drain("another node"), ==, 1);
    /* Any login of the database can send this notification: the agent must not drain for it. */
    forge_drain(store, row->id);
    g_usleep(2 * G_USEC_PER_SEC);
    g_assert_cmpint(waitpid(agent, NULL, WNOHANG), ==, 0);
    g_assert_cmpint(ask_to_drain(row->node), ==, 0);
    g_assert_cmpint(live_wait(agent), ==, 0);
    g_ptr_array_unref(workers);
    g_assert_true(running(&workers, store)->ended);
    g_ptr_array_unref(workers);
}

static void test_a_node_drains_at_its_time(void)
{
    G_GNUC_UNUSED g_autoptr(Store) store = scratch_store();
    g_autoptr(GDateTime) now = g_date_time_new_now_local();
    g_autoptr(GDateTime) soon = g_date_time_add_seconds(now, 20);
    g_autofree char *time = g_date_time_format(soon, "%H:%M:%S");
    const char *const window[] = {"--drain-at", time, NULL};
    pid_t agent = live_agent(program(), window);
    g_assert_cmpint(live_wait(agent), ==, 0);
    g_assert_cmpint(g_get_real_time() / G_USEC_PER_SEC, >=, g_date_time_to_unix(soon));
}

static void test_cores_stay_free_beside_gpus(void)
{
    static const struct {
        int build, gpus, beside;
    } cases[] = {{16, 0, 16}, {16, 1, 14}, {16, 8, 7}, {4, 8, 1}, {2, 1, 1}, {0, 1, 0}};
    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++)
        g_assert_cmpint(agent_build_beside(cases[i].build, cases[i].gpus), ==, cases[i].beside);
}

/* When a worker last asked for the kernel that verifies on devices, "" where it is not stored. */
static char *judge_used_at(Store *store)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(StoreRows) rows = store_read(
        store, &error,
        "SELECT coalesce(max(used_at)::text, '') FROM kernels WHERE file = 'judge.cl'", "");
    g_assert_no_error(error);
    return g_strdup(PQgetvalue(rows, 0, 0));
}

/* A build-only node compiles everything and measures nothing. An eval-only node does the rest; it loads the kernel that
 * verifies on its device from the database. */
static void test_building_and_evaluating_may_be_two_nodes(void)
{
    static const char *const build[] = {"--eval", "none", "--build", "1", NULL};
    static const char *const eval[] = {"--build", "0", "--sample-seconds", "0.05", NULL};
    static const char *const request[] = {"--solvers", "ConvDirectNaive", NULL};
    g_autoptr(GError) error = NULL;
    g_autoptr(Store) store = scratch_store();
    struct progress progress;
    int64_t id = live_campaign(program(), problems, request);
    g_setenv("SKIPJACK_JUDGE", "device", TRUE);
    g_assert_cmpint(live_wait(live_worker(program(), build)), ==, 0);
    g_assert_true(store_progress(store, id, &progress, &error));
    g_assert_cmpint(progress.built, ==, 2);
    g_assert_cmpint(progress.configs_done, ==, 0);
    g_autofree char *built = judge_used_at(store);
    g_assert_cmpint(live_wait(live_worker(program(), eval)), ==, 0);
    g_unsetenv("SKIPJACK_JUDGE");
    assert_done(store, id, 2);
    g_autofree char *used = judge_used_at(store);
    g_assert_cmpstr(built, !=, "");
    g_assert_cmpstr(used, >, built);
}

static int refused_by_check(Store *store, int64_t campaign)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(StoreRows) rows = store_read(
        store, &error, "SELECT count(*) FROM job_ends WHERE campaign_id = $1 AND failure = $2",
        "li", campaign, (int)FAILURE_REFUSED_BY_CHECK);
    g_assert_no_error(error);
    return atoi(PQgetvalue(rows, 0, 0));
}

/* One campaign has an invalid problem and a kernel with other options than its solver's: its jobs are refused. Jobs of a
 * valid campaign are done by the same workers. */
static void test_what_the_database_says_is_checked(void)
{
    static const char *const build[] = {"--eval", "none", "--build", "1", NULL};
    static const char *const request[] = {"--solvers", "ConvDirectNaive", NULL};
    static const char *const other[] = {"--solvers", "ConvCpuDirect", "--configs", "1", NULL};
    g_autoptr(Store) store = scratch_store();
    int64_t bad = live_campaign(program(), problems, request);
    store_do(store, NULL, "UPDATE problems SET stride = '{1,0,1}' WHERE fil[2] = 3", "");
    g_assert_cmpint(live_wait(live_worker(program(), build)), ==, 0);
    g_assert_cmpint(refused_by_check(store, bad), ==, 1);
    store_do(store, NULL, "UPDATE kernels SET options = options || ' -DN=1'", "");
    store_do(store, NULL, "DELETE FROM problem_tags", "");
    int64_t good = live_campaign(program(), problems, other);
    g_assert_cmpint(live_wait(live_worker(program(), quick)), ==, 0);
    g_assert_cmpint(refused_by_check(store, bad), ==, 2);
    assert_done(store, good, 2);
}

/* The first campaign's jobs cannot be claimed and the second's rounds cannot be stored; the third is done. */
static void test_an_error_of_one_campaign_ends_no_worker(void)
{
    static const char *const request[] = {"--solvers", "ConvDirectNaive", "--priority", "2", NULL};
    static const char *const second[] = {
        "--solvers", "ConvDirectNaive", "--seed", "2", "--priority", "1", NULL};
    static const char *const third[] = {"--solvers", "ConvDirectNaive", "--seed", "3", NULL};
    g_autoptr(GError) error = NULL;
    g_autoptr(Store) store = scratch_store();
    int64_t unclaimable = live_campaign(program(), problems, request);
    int64_t unstorable = live_campaign(program(), problems, second);
    int64_t good = live_campaign(program(), problems, third);
    g_autofree char *sql = g_strdup_printf(
        "DO $do$ BEGIN CREATE FUNCTION breaks() RETURNS trigger LANGUAGE plpgsql AS"
        " $$ BEGIN PERFORM 1 / 0; END $$;"
        "CREATE TRIGGER breaks BEFORE UPDATE ON bundles FOR EACH ROW"
        " WHEN (NEW.campaign_id = %" G_GINT64_FORMAT ") EXECUTE FUNCTION breaks();"
        "CREATE TRIGGER breaks BEFORE INSERT ON rounds_%" G_GINT64_FORMAT " FOR EACH ROW"
        " EXECUTE FUNCTION breaks(); END $do$",
        (gint64)unclaimable, (gint64)unstorable);
    store_do(store, &error, sql, "");
    g_assert_no_error(error);
    g_assert_cmpint(live_wait(live_worker(program(), quick)), ==, 0);
    assert_done(store, good, 2);
    g_assert_cmpint(refused_by_check(store, unstorable), ==, 2);
    g_assert_false(has_begun(store, unclaimable));
    store_do(store, &error, "DROP FUNCTION breaks CASCADE", "");
    g_assert_no_error(error);
}

/* Compilers need no device. Where no compiler serves the target, the jobs stay for another node. */
static void test_kernels_of_a_gpu_are_built_without_one(void)
{
    static const char *const build[] = {"--eval", "none", "--build", "2", NULL};
    static const char *const request[] = {
        "--solvers", "ConvDirectNaive,ConvGemm1x1", "--target", "gfx90a68", "--configs", "2", NULL};
    g_autofree char *clang = g_find_program_in_path("clang-15");
    g_autoptr(GError) error = NULL;
    struct progress progress;
    if (!clang) {
        g_test_skip("no clang-15 on this machine");
        return;
    }
    g_autoptr(Store) store = scratch_store();
    int64_t id = live_campaign(program(), problems, request);
    g_setenv("SKIPJACK_CLANG", "clang-of-nobody", TRUE);
    g_setenv("SKIPJACK_HIPRTC", "library-of-nobody", TRUE);
    g_assert_cmpint(live_wait(live_worker(program(), build)), !=, 0);
    g_unsetenv("SKIPJACK_HIPRTC");
    g_assert_true(store_progress(store, id, &progress, &error));
    g_assert_cmpint(progress.built + progress.failed, ==, 0);
    g_setenv("SKIPJACK_CLANG", "clang-15", TRUE);
    g_assert_cmpint(live_wait(live_worker(program(), build)), ==, 0);
    g_unsetenv("SKIPJACK_CLANG");
    g_assert_true(store_progress(store, id, &progress, &error));
    g_assert_cmpint(progress.built, ==, 3);
    g_assert_cmpint(progress.kernels_built, >=, 3);
}

/* A clang, in a process of its own, dies over its first kernel; the build child does not. */
static void test_a_compiler_that_died_is_asked_once_more(void)
{
    static const char *const build[] = {"--eval", "none", "--build", "1", NULL};
    static const char *const request[] = {"--solvers", "ConvDirectNaive", "--target", "gfx90a68",
                                          NULL};
    g_autofree char *clang = g_find_program_in_path("clang-15");
    g_autoptr(GError) error = NULL;
    struct progress progress;
    if (!clang) {
        g_test_skip("no clang-15 on this machine");
        return;
    }
    g_autoptr(TempFolder) folder = temp_folder_new();
    const char *died = temp_folder_path(folder, "died");
    g_autofree char *script =
        g_strdup_printf("#!/bin/sh\n[ $1 = --version ] || grep -q 'void nothing()' kernel.cl || "
                        "! mkdir '%s' 2>/dev/null || kill -KILL $$\nexec '%s' \"$@\"\n",
                        died, clang);
    const char *path = temp_folder_write(folder, "clang", script, -1);
    g_chmod(path, 0700);
    g_chmod(temp_folder_write(folder, "ld.lld", "", 0), 0700);
    g_autoptr(Store) store = scratch_store();
    int64_t id = live_campaign(program(), problems, request);
    g_setenv("SKIPJACK_CLANG", path, TRUE);
    g_assert_cmpint(live_wait(live_worker(program(), build)), ==, 0);
    g_unsetenv("SKIPJACK_CLANG");
    g_assert_true(g_file_test(died, G_FILE_TEST_IS_DIR));
    g_assert_true(store_progress(store, id, &progress, &error));
    g_assert_cmpint(progress.built, ==, 2);
    g_assert_cmpint(progress.configs_open, ==, 2); /* no config has failed */
}

static void test_the_embedded_database_is_asked_for(void)
{
    g_autoptr(GError) error = NULL;
    g_autofree char *words = NULL;
    int status;
    char worker[] = "worker", until_empty[] = "--until-empty";
    g_autofree char *path = g_strdup(program());
    char *line[] = {path, worker, until_empty, NULL};
    scratch_db_url();
    g_assert_true(
        g_spawn_sync(NULL, line, NULL, G_SPAWN_DEFAULT, NULL, NULL, NULL, &words, &status, &error));
    g_assert_cmpint(WEXITSTATUS(status), ==, 2);
    g_assert_nonnull(strstr(words, "SKIPJACK_DB"));
    g_assert_nonnull(strstr(words, "--embedded"));
}

static void test_a_campaign_that_is_not_there_is_said(void)
{
    static const char *const unknown[] = {"--campaign", "99", NULL};
    G_GNUC_UNUSED g_autoptr(Store) store = scratch_store();
    int status = live_wait(live_worker(program(), unknown));
    g_assert_true(WIFEXITED(status));
    g_assert_cmpint(WEXITSTATUS(status), ==, 1);
}

static void test_probe_names_the_device(void)
{
    g_autoptr(GError) error = NULL;
    g_autofree char *out = NULL;
    int status;
    char worker[] = "worker", probe[] = "--probe";
    g_autofree char *path = g_strdup(program());
    char *line[] = {path, worker, probe, NULL};
    g_assert_true(
        g_spawn_sync(NULL, line, NULL, G_SPAWN_DEFAULT, NULL, NULL, &out, NULL, &status, &error));
    g_assert_cmpint(status, ==, 0);
    g_assert_nonnull(strstr(out, "\"target\":{"));
    g_assert_nonnull(strstr(out, "\"stack\":\""));
    g_assert_true(g_str_has_suffix(out, "\n"));
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_set_nonfatal_assertions();
    g_test_add_func("/agent/a_campaign_comes_to_its_end", test_a_campaign_comes_to_its_end);
    g_test_add_func("/agent/kernels_are_compiled_once", test_kernels_are_compiled_once);
    g_test_add_func("/agent/a_default_config_is_measured_once",
                    test_a_default_config_is_measured_once);
    g_test_add_func("/agent/a_cpu_of_600_threads_is_built_for",
                    test_a_cpu_of_600_threads_is_built_for);
    g_test_add_func("/agent/an_empty_queue_ends_at_once", test_an_empty_queue_ends_at_once);
    g_test_add_func("/agent/an_idle_agent_is_woken", test_an_idle_agent_is_woken);
    g_test_add_func("/agent/a_pool_admits_its_label", test_a_pool_admits_its_label);
    g_test_add_func("/agent/a_node_drains_when_it_is_asked", test_a_node_drains_when_it_is_asked);
    g_test_add_func("/agent/a_node_drains_at_its_time", test_a_node_drains_at_its_time);
    g_test_add_func("/agent/cores_stay_free_beside_gpus", test_cores_stay_free_beside_gpus);
    g_test_add_func("/agent/building_and_evaluating_may_be_two_nodes",
                    test_building_and_evaluating_may_be_two_nodes);
    g_test_add_func("/agent/what_the_database_says_is_checked",
                    test_what_the_database_says_is_checked);
    g_test_add_func("/agent/an_error_of_one_campaign_ends_no_worker",
                    test_an_error_of_one_campaign_ends_no_worker);
    g_test_add_func("/agent/kernels_of_a_gpu_are_built_without_one",
                    test_kernels_of_a_gpu_are_built_without_one);
    g_test_add_func("/agent/a_compiler_that_died_is_asked_once_more",
                    test_a_compiler_that_died_is_asked_once_more);
    g_test_add_func("/agent/the_embedded_database_is_asked_for",
                    test_the_embedded_database_is_asked_for);
    g_test_add_func("/agent/a_campaign_that_is_not_there_is_said",
                    test_a_campaign_that_is_not_there_is_said);
    g_test_add_func("/agent/probe_names_the_device", test_probe_names_the_device);
    return g_test_run();
}
