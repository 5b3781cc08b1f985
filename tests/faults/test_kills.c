/*
 * kill -9 of every process of a farm in the middle of its work: the campaign
 * completes each time with the outcomes of an undisturbed run.
 */
#include <errno.h>
#include <signal.h>
#include <sys/wait.h>

#include "schema/results/store_results.h"
#include "schema/server/embedded.h"
#include "schema/store/store_campaigns.h"
#include "schema/store/store_workers.h"
#include "tests/support/farm/live_farm.h"
#include "tests/support/farm/scratch_db.h"
#include "tests/support/patience.h"
#include "tests/support/temp_folder.h"
#include "worker/device/device.h"

static const char problems[] = "16-12-12-3x3-16-12-12-1-1x1-1x1-1x1-0-NCHW-FP32-F\n"
                               "8-10-10-1x1-24-10-10-1-0x0-1x1-1x1-0-NCHW-FP32-F\n"
                               "12-9-9-3x3-8-9-9-1-1x1-1x1-1x1-0-NCHW-FP32-F\n";
/* The options of a campaign on a CPU and, with SKIPJACK_TEST_DEVICE=gpu, on a GPU: one solver with
 * a space and one with a single config. */
static const struct kind {
    const char *request[7], *tune[7];
} on_cpu = {{"--configs", "3", "--seed", "3", "--solvers", "ConvCpuDirect,ConvDirectNaive", NULL},
            {"--configs", "3", "--seed", "3", "--solvers",
             "ConvCpuDirect,ConvCpuGemm,ConvDirectNaive", NULL}},
  on_gpu = {{"--configs", "5", "--seed", "3", "--solvers", "ConvDirectTiled,ConvDirectNaive", NULL},
            {"--configs", "5", "--seed", "3", "--solvers",
             "ConvDirectTiled,ConvImplicitGemm,ConvDirectNaive", NULL}};
static const struct kind *kind = &on_cpu;

static const char *const quick[] = {"--eval", "0", "--sample-seconds", "0.05", "--lease",
                                    "120",    NULL};

/* The outcomes of the same campaign without kills, to compare with. */
static char *undisturbed;

static const char *program(void)
{
    const char *path = g_getenv("SKIPJACK");
    return path ? path : "build/skipjack";
}

struct farm {
    Store *store;
    int64_t campaign;
    int jobs;
    pid_t worker; /* or tune */
};

static void farm_start(struct farm *farm)
{
    farm->store = scratch_store();
    farm->jobs = 6;
    farm->campaign = live_campaign(program(), problems, kind->request);
    farm->worker = live_worker(program(), quick);
}

/* Polls until jobs are being evaluated and an outcome is stored; without `evaluating`, until jobs
 * are being built and a kernel is stored. */
static void await(const struct farm *farm, bool evaluating)
{
    gint64 limit = patience_end();
    struct progress progress;
    while (g_get_monotonic_time() < limit) {
        if (store_progress(farm->store, farm->campaign, &progress, NULL) &&
            (evaluating ? progress.evaluating : progress.building) > 0 &&
            (evaluating ? progress.configs_done : progress.kernels_built) > 0)
            return;
        g_usleep(2000);
    }
    g_error("the farm never came to where it is to be disturbed");
}

static void assert_whole(struct farm *farm)
{
    g_autoptr(GError) error = NULL;
    int status = live_wait(farm->worker);
    g_assert_true(WIFEXITED(status));
    g_assert_cmpint(WEXITSTATUS(status), ==, 0);
    g_assert_true(embedded_start(&error));
    live_assert_done(farm->store, farm->campaign, farm->jobs);
    g_autofree char *outcomes = live_outcomes(farm->store, farm->campaign);
    if (undisturbed)
        g_assert_cmpstr(outcomes, ==, undisturbed);
    else
        undisturbed = g_steal_pointer(&outcomes);
    store_close(farm->store);
}

static void test_nobody_is_killed(void)
{
    struct farm farm;
    farm_start(&farm);
    assert_whole(&farm);
}

static void kill_child(pid_t worker, const char *words)
{
    g_assert_cmpint(kill(live_child(worker, words), SIGKILL), ==, 0);
}

static void test_eval_child_is_killed(void)
{
    struct farm farm;
    farm_start(&farm);
    await(&farm, true);
    kill_child(farm.worker, "child eval");
    assert_whole(&farm);
}

static void test_eval_child_is_killed_while_it_opens(void)
{
    struct farm farm;
    farm_start(&farm);
    kill_child(farm.worker, "child eval");
    assert_whole(&farm);
}

static void test_build_child_is_killed(void)
{
    struct farm farm;
    farm_start(&farm);
    await(&farm, false);
    kill_child(farm.worker, "child build");
    assert_whole(&farm);
}

/* An agent that starts on the node returns the dead agent's jobs at once, long before their leases
 * end. */
static void test_agent_is_killed_and_started_again(void)
{
    struct farm farm;
    int status;
    farm_start(&farm);
    await(&farm, true);
    kill(farm.worker, SIGKILL);
    g_assert_cmpint(waitpid(farm.worker, &status, 0), ==, farm.worker);
    farm.worker = live_worker(program(), quick);
    assert_whole(&farm);
}

static void test_agent_is_stopped_and_started_again(void)
{
    struct farm farm;
    farm_start(&farm);
    await(&farm, true);
    kill(farm.worker, SIGTERM);
    g_assert_cmpint(live_wait(farm.worker), ==, 0);
    g_autoptr(GPtrArray) workers = store_list_workers(farm.store, NULL, NULL);
    for (guint i = 0; i < workers->len; i++)
        g_assert_cmpint(((const struct worker_row *)g_ptr_array_index(workers, i))->leases, ==, 0);
    farm.worker = live_worker(program(), quick);
    assert_whole(&farm);
}

static void kill_postgresql(void)
{
    g_autoptr(GError) error = NULL;
    struct embedded_status status = {0};
    g_assert_true(embedded_status(&status, &error));
    g_assert_cmpint(status.pid, >, 1);
    g_assert_cmpint(kill((pid_t)status.pid, SIGKILL), ==, 0);
    embedded_status_clear(&status);
}

static void test_postgresql_is_killed(void)
{
    struct farm farm;
    farm_start(&farm);
    await(&farm, true);
    kill_postgresql();
    assert_whole(&farm);
}

/* Waits until a tune has created its campaign; returns the id. */
static int64_t made_campaign(Store *store)
{
    gint64 limit = patience_end();
    while (g_get_monotonic_time() < limit) {
        g_autoptr(GPtrArray) list = store_list_campaigns(store, NULL);
        if (list && list->len == 1)
            return ((const struct campaign *)list->pdata[0])->id;
        g_usleep(20000);
    }
    g_error("tune has made no campaign");
}

/* One tune: its build child, its database, its eval child and its agent are killed, one after the
 * other. */
static void test_all_are_killed_during_tune(void)
{
    static const char agent[] = "worker --until-empty";
    struct farm farm = {.store = scratch_store(), .jobs = 9};
    g_autoptr(TempFolder) folder = temp_folder_new();

    g_clear_pointer(&undisturbed, g_free);
    for (int disturbed = 0; disturbed <= 1; disturbed++) {
        farm.worker = live_tune(program(), problems, temp_folder_path(folder, NULL), kind->tune);
        farm.campaign = made_campaign(farm.store);
        if (disturbed) {
            await(&farm, false);
            kill_child(live_child(farm.worker, agent), "child build");
            await(&farm, true);
            kill_postgresql();
            kill_child(live_child(farm.worker, agent), "child eval");
            kill_child(farm.worker, agent);
        }
        assert_whole(&farm);
        farm.store = scratch_store();
    }
    store_close(farm.store);
}

static void test_nothing(void)
{
    g_test_skip("there is no GPU here");
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_set_nonfatal_assertions();
    if (g_strcmp0(g_getenv("SKIPJACK_TEST_DEVICE"), "gpu") == 0) {
        kind = &on_gpu;
        if (device_count_gpus() == 0) {
            g_test_add_func("/kills/on_a_gpu", test_nothing);
            return g_test_run();
        }
    }
    g_test_add_func("/kills/nobody_is_killed", test_nobody_is_killed);
    g_test_add_func("/kills/the_eval_child", test_eval_child_is_killed);
    g_test_add_func("/kills/the_eval_child_while_it_opens",
                    test_eval_child_is_killed_while_it_opens);
    g_test_add_func("/kills/a_build_child", test_build_child_is_killed);
    g_test_add_func("/kills/the_agent_which_is_started_again",
                    test_agent_is_killed_and_started_again);
    g_test_add_func("/kills/the_agent_in_good_order", test_agent_is_stopped_and_started_again);
    g_test_add_func("/kills/postgresql", test_postgresql_is_killed);
    g_test_add_func("/kills/all_of_them_during_tune", test_all_are_killed_during_tune);
    return g_test_run();
}
