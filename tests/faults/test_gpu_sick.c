/* A GPU on which one config after the other fails, over the double of its library. A known kernel
 * first tests whether the device computes rightly. A device that does not is taken out of service,
 * and its jobs go to other devices; on a device that does, the failing configs are quarantined. */
#include <signal.h>
#include <string.h>
#include <sys/wait.h>

#include "schema/results/store_results.h"
#include "schema/store/store_campaigns.h"
#include "schema/store/store_events.h"
#include "tests/support/farm/gpu_farm.h"
#include "tests/support/farm/live_farm.h"
#include "tests/support/farm/scratch_db.h"

#define PROBLEM "4-6-6-1x1-5-6-6-1-0x0-1x1-1x1-0-NCHW-FP32-F\n"
#define MANY    10
#define JOBS    2 /* jobs for each problem: one for each solver */

static const char *const ways[] = {"--configs", "6", "--seed", "3", "--solvers", "ConvWays", NULL};
static const char *const both_solvers[] = {
    "--configs", "6", "--seed", "3", "--solvers", "ConvWays,ConvDirectNaive", NULL};

/* The worker uses one of the double's two GPUs, so that nothing runs beside the failing device. */
static const char *const patient[] = {"--eval",
                                      "0",
                                      "--fault-limit",
                                      "2",
                                      "--sample-seconds",
                                      "0.01",
                                      "--run-timeout",
                                      "2",
                                      "--build",
                                      "1",
                                      NULL};
static const char *const second[] = {
    "--eval", "1", "--fault-limit", "2", "--sample-seconds", "0.01", "--build", "1", NULL};
/* A worker that builds nothing: it loads the kernel that tests the device from the database. */
static const char *const hasty[] = {"--eval",
                                    "0",
                                    "--fault-limit",
                                    "1",
                                    "--sample-seconds",
                                    "0.01",
                                    "--run-timeout",
                                    "0.7",
                                    "--build",
                                    "0",
                                    NULL};
/* The campaign's target is named, since the worker that builds has another driver than the one that
 * measures. */
static const char *const apart[] = {
    "--configs", "6", "--solvers", "ConvWays,ConvDirectNaive", "--target", "gfx90a_xnack84", NULL};
static const char *const builds[] = {"--eval", "none", "--build", "1", NULL};

static int work(const char *const *arguments)
{
    int status = live_wait(live_worker(gpu_farm_program(), arguments));
    g_assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static guint count_quarantine(Store *store)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(GPtrArray) rows = store_list_quarantine(store, &error);
    g_assert_no_error(error);
    return rows->len;
}

static void assert_progress(Store *store, int64_t campaign, int done, int failed)
{
    g_autoptr(GError) error = NULL;
    struct progress progress = {0};
    g_assert_true(store_progress(store, campaign, &progress, &error));
    g_assert_no_error(error);
    g_assert_cmpint(progress.done, ==, done);
    g_assert_cmpint(progress.failed, ==, failed);
}

/* Device faults that appear with one solver only, so that the solver could be the cause as well. */
static const struct sickness {
    const char *path, *words, *why;
    const char *const *solvers, *const *worker;
    int jobs;
} sicknesses[] = {
    {"by_faults", "fault", "it failed 2 times in a row, with 1 solver", ways, patient, 1},
    {"by_wrong_results", "fault@0,fault@1,fault@2,fault@3,fault@4,fault@5,wrong",
     "it failed 2 times in a row, with 1 solver", ways, patient, 1},
    {"by_hanging", "hang", "it failed 1 time in a row, with 1 solver", apart, hasty, JOBS},
};

static void test_a_sick_device_is_taken_out_of_service(gconstpointer data)
{
    const struct sickness *sickness = data;
    if (!gpu_farm_use(&gpu_hip))
        return;
    g_autoptr(Store) store = scratch_store();
    gpu_farm_say(sickness->words);
    int64_t campaign = live_campaign(gpu_farm_program(), PROBLEM, sickness->solvers);
    if (sickness->worker == hasty)
        g_assert_cmpint(work(builds), ==, 0);
    pid_t agent = live_agent(gpu_farm_program(), sickness->worker);
    g_free(gpu_farm_await_event(store, "device out of service"));
    gpu_farm_await_release(store, campaign);
    g_assert_true(gpu_farm_is_out(store, sickness->why));
    g_assert_true(gpu_farm_is_out(store, "and the plain convolution fails on it"));
    live_child_ends(agent,
                    "child eval"); /* no process may hold the device while a tool resets it */
    kill(agent, SIGTERM);
    g_assert_cmpint(live_wait(agent), ==, 0);
    g_assert_cmpuint(count_quarantine(store), ==, 0);
    gpu_farm_say("");
    g_assert_cmpint(work(patient), ==, 0);
    g_assert_false(gpu_farm_is_out(store, ""));
    g_assert_cmpint(live_assert_done(store, campaign, sickness->jobs), ==, sickness->jobs);
}

/* All kernels of one solver crash; the other solver's kernels are still measured. */
static void test_a_solver_that_crashes_is_not_the_devices_fault(void)
{
    static const char *const four[] = {
        "--eval", "0", "--fault-limit", "4", "--sample-seconds", "0.01", "--build", "1", NULL};
    if (!gpu_farm_use(&gpu_hip))
        return;
    g_autoptr(Store) store = scratch_store();
    gpu_farm_say("fault@0,fault@1,fault@2,fault@3,fault@4,fault@5");
    int64_t campaign = live_campaign(gpu_farm_program(), PROBLEM, both_solvers);
    g_assert_cmpint(work(four), ==, 0);
    g_assert_cmpuint(gpu_farm_events(store, "device out of service"), ==, 0);
    g_autofree char *proved = gpu_farm_await_event(store, "device proved");
    g_assert_nonnull(strstr(proved, "the plain convolution is right on it"));
    g_assert_cmpuint(count_quarantine(store), ==, 6);
    assert_progress(store, campaign, 1, 1);
}

/* Jobs become ready one by one as they are built, so both devices get some. */
static void test_others_go_on_beside_a_sick_device(void)
{
    static const char *const two[] = {"--configs", "1", "--solvers", "ConvWays,ConvDirectNaive",
                                      NULL};
    static const char *const both[] = {
        "--batch", "1", "--build", "1", "--fault-limit", "2", "--sample-seconds", "0.01", NULL};
    if (!gpu_farm_use(&gpu_hip))
        return;
    g_autoptr(Store) store = scratch_store();
    g_autoptr(GString) problems = g_string_new(NULL);
    for (int k = 5; k < 5 + MANY; k++)
        g_string_append_printf(problems, "4-6-6-1x1-%d-6-6-1-0x0-1x1-1x1-0-NCHW-FP32-F\n", k);
    gpu_farm_say("fault#1");
    int64_t campaign = live_campaign(gpu_farm_program(), problems->str, two);
    g_assert_cmpint(work(both), ==, 0);
    g_assert_cmpuint(gpu_farm_events(store, "device out of service"), ==, 1);
    g_assert_cmpuint(gpu_farm_events(store, "job returned"), ==, 1);
    g_assert_cmpint(live_assert_done(store, campaign, MANY * JOBS), ==, MANY * JOBS);
    g_assert_cmpuint(count_quarantine(store), ==, 0);
}

/* A campaign of one job takes first one GPU and then the other out of service, and fails then.
 * Returns the job's failure text; free with g_free(). */
static char *lose_both_devices(Store *store, const char *words)
{
    gpu_farm_say(words);
    int64_t campaign = live_campaign(gpu_farm_program(), PROBLEM, ways);
    g_assert_cmpint(work(patient), ==, 1);
    g_assert_cmpuint(count_quarantine(store), ==, 0);
    g_assert_cmpint(work(second), ==, 1);
    g_assert_cmpuint(gpu_farm_events(store, "device out of service"), ==, 2);
    assert_progress(store, campaign, 0, 1);
    return gpu_farm_await_event(store, "job failed");
}

/* The double fails every launch: after the first GPU is out of service, the job goes to the second
 * one. */
static void test_a_config_breaks_two_devices_at_most(void)
{
    if (!gpu_farm_use(&gpu_hip))
        return;
    g_autoptr(Store) store = scratch_store();
    g_autofree char *failed = lose_both_devices(store, "fault");
    g_assert_nonnull(strstr(failed, "which is out of service; before that it failed on "));
    g_assert_cmpuint(count_quarantine(store), ==, 2);
}

/* A config that makes each device drop off the bus is not given to a third device. */
static void test_a_config_takes_two_devices_off_at_most(void)
{
    if (!gpu_farm_use(&gpu_hip))
        return;
    g_autoptr(Store) store = scratch_store();
    g_autofree char *failed = lose_both_devices(store, "off@2");
    g_assert_cmpstr(failed, ==,
                    "it failed on GPU-d0d1d2d3d4d5d601, which is out of service; before that it "
                    "failed on GPU-d0d1d2d3d4d5d600");
    g_assert_cmpuint(count_quarantine(store), ==, 1);
    gpu_farm_say("off@2");
    int64_t campaign = live_campaign(gpu_farm_program(), PROBLEM, both_solvers);
    g_assert_cmpint(work(patient), ==, 0);
    assert_progress(store, campaign, JOBS, 0);
    g_assert_cmpuint(gpu_farm_events(store, "device out of service"), ==, 2);
}

/* A farm's only device comes back after a reset. Its job is tried again, and fails when the device
 * is lost again. */
static void test_a_device_that_comes_back_is_lost_once_more(void)
{
    if (!gpu_farm_use(&gpu_hip))
        return;
    g_autoptr(Store) store = scratch_store();
    gpu_farm_say("off@2");
    int64_t campaign = live_campaign(gpu_farm_program(), PROBLEM, both_solvers);
    pid_t agent = live_agent(gpu_farm_program(), patient);
    g_free(gpu_farm_await_event(store, "device out of service"));
    gpu_farm_await_release(store, campaign);
    gpu_farm_say("off@2");
    g_free(gpu_farm_await_event(store, "job failed"));
    gpu_farm_say("off@2");
    gpu_farm_await_end(store, campaign, JOBS);
    kill(agent, SIGTERM);
    g_assert_cmpint(live_wait(agent), ==, 0);
    assert_progress(store, campaign, JOBS - 1, 1);
    g_assert_cmpuint(gpu_farm_events(store, "device out of service"), ==, 2);
    g_assert_cmpuint(count_quarantine(store), ==, 1);
}

/* A config hung just before its device was lost: it is not quarantined, since the device may have
 * been the cause. */
static void test_what_a_lost_device_condemned_is_free_again(void)
{
    if (!gpu_farm_use(&gpu_hip))
        return;
    g_autoptr(Store) store = scratch_store();
    gpu_farm_say("hang@2,off@2");
    int64_t campaign = live_campaign(gpu_farm_program(), PROBLEM, ways);
    g_assert_cmpint(work(patient), ==, 1);
    g_assert_cmpuint(count_quarantine(store), ==, 0);
    gpu_farm_say("");
    g_assert_cmpint(work(patient), ==, 0);
    g_assert_cmpint(live_assert_done(store, campaign, 1), ==, 1);
}

int main(int argc, char **argv)
{
    int failed;

    g_test_init(&argc, &argv, NULL);
    g_test_set_nonfatal_assertions();
    gpu_farm_open();
    for (gsize i = 0; i < G_N_ELEMENTS(sicknesses); i++) {
        g_autofree char *path =
            g_strdup_printf("/gpu_sick/it_is_taken_out_of_service/%s", sicknesses[i].path);
        g_test_add_data_func(path, &sicknesses[i], test_a_sick_device_is_taken_out_of_service);
    }
    g_test_add_func("/gpu_sick/a_solver_that_crashes_is_not_the_devices_fault",
                    test_a_solver_that_crashes_is_not_the_devices_fault);
    g_test_add_func("/gpu_sick/others_go_on_beside_a_sick_device",
                    test_others_go_on_beside_a_sick_device);
    g_test_add_func("/gpu_sick/a_config_breaks_two_devices_at_most",
                    test_a_config_breaks_two_devices_at_most);
    g_test_add_func("/gpu_sick/a_config_takes_two_devices_off_at_most",
                    test_a_config_takes_two_devices_off_at_most);
    g_test_add_func("/gpu_sick/a_device_that_comes_back_is_lost_once_more",
                    test_a_device_that_comes_back_is_lost_once_more);
    g_test_add_func("/gpu_sick/what_a_lost_device_condemned_is_free_again",
                    test_what_a_lost_device_condemned_is_free_again);
    failed = g_test_run();
    gpu_farm_close();
    return failed;
}
