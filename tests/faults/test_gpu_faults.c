/*
 * Whole campaigns on a GPU whose library is a double (tests/support/doubles/gpu_double.c): kernels are compiled by AMD's
 * real toolchain, computed on the host, and fail on command. Each failure is reported by name, the rest of its
 * job goes on, and no job is lost.
 */
#include <signal.h>
#include <string.h>
#include <sys/wait.h>

#include "schema/farm/farm.h"
#include "schema/results/conditions.h"
#include "schema/results/store_results.h"
#include "schema/store/store_campaigns.h"
#include "schema/store/store_events.h"
#include "tests/faults/solver_ways.h"
#include "tests/support/farm/gpu_farm.h"
#include "tests/support/farm/live_farm.h"
#include "tests/support/farm/scratch_db.h"

#define PROBLEM "4-6-6-1x1-5-6-6-1-0x0-1x1-1x1-0-NCHW-FP32-F\n"
#define JOBS    2 /* jobs for each problem: one for each of the two solvers below */

static const struct problem_part all_problems = PROBLEM_PART_ALL;

static const char *const request[] = {
    "--configs", "6", "--seed", "3", "--solvers", "ConvWays,ConvDirectNaive", NULL};
/* The worker uses one of the double's two GPUs, so that nothing runs beside the failing device. */
static const char *const quick[] = {
    "--eval", "0", "--sample-seconds", "0.01", "--run-timeout", "2", "--build", "1", NULL};

static int work(void)
{
    int status = live_wait(live_worker(gpu_farm_program(), quick));
    g_assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static bool is_good(enum failure failure)
{
    return failure == FAILURE_NONE || failure == FAILURE_SLOW || failure == FAILURE_UNSTABLE;
}

/* Asserts the outcome of each of ConvWays' configs; FAILURE_NONE means any outcome of a
 * verified config. */
static void assert_outcomes(Store *store, int64_t campaign, const enum failure expected[WAYS])
{
    g_autoptr(GError) error = NULL;
    g_autoptr(GPtrArray) outcomes = store_list_outcomes(store, campaign, &error);
    bool seen[WAYS] = {false};
    g_assert_no_error(error);
    for (guint i = 0; i < outcomes->len; i++) {
        const struct config_outcome *row = g_ptr_array_index(outcomes, i);
        bool ways = strcmp(row->solver, "ConvWays") == 0;
        int way = ways ? (int)g_ascii_strtoll(row->config_text, NULL, 10) : 0;
        enum failure wanted = ways ? expected[way] : FAILURE_NONE;
        enum failure got = is_good(row->failure) ? FAILURE_NONE : row->failure;
        if (got != wanted)
            g_test_message("way %d: %s", way, row->detail);
        g_assert_cmpstr(failure_name(got), ==, failure_name(wanted));
        seen[way] |= ways;
    }
    for (int way = 0; way < WAYS; way++)
        g_assert_true(seen[way]);
}

static void assert_winner(Store *store, int64_t campaign, const char *config)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(GPtrArray) results = store_list_results(store, campaign, &error);
    g_assert_no_error(error);
    for (guint i = 0; i < results->len; i++) {
        const struct result *row = results->pdata[i];
        if (row->rank == 0 && strcmp(row->solver, "ConvWays") == 0) {
            g_assert_cmpstr(row->kept.config_text, ==, config);
            return;
        }
    }
    g_assert_not_reached();
}

/* Asserts that the device was busy for a part of each job's time. */
static void assert_use(Store *store, int64_t campaign)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(GPtrArray) uses = store_list_part_device_use(store, campaign, &all_problems, &error);
    g_assert_no_error(error);
    g_assert_cmpuint(uses->len, ==, JOBS);
    for (guint i = 0; i < uses->len; i++) {
        const struct device_use *use = &((const struct job_device_use *)uses->pdata[i])->use;
        g_assert_cmpfloat(use->busy_seconds, >, 0);
        g_assert_cmpfloat(use->busy_seconds, <, use->seconds);
    }
}

static const struct fault {
    const struct gpu_maker *maker;
    const char *path, *words, *winner;
    enum failure expected[WAYS];
    int quarantined;
} faults[] = {
    {&gpu_cuda, "nothing_goes_wrong", "", "5", {FAILURE_NONE}, 0},
    {&gpu_hip,
     "what_a_config_answers",
     "launch@1,wrong@2,zero@3,elapsed@4,fast@5",
     "0",
     {[1] = FAILURE_LAUNCH_ERROR,
      [2] = FAILURE_WRONG_RESULT,
      [3] = FAILURE_TIME_IMPOSSIBLE,
      [4] = FAILURE_TIME_IMPOSSIBLE,
      [5] = FAILURE_TIME_IMPOSSIBLE},
     0},
    {&gpu_hip,
     "what_ends_the_process",
     "fault@1,hang@2,nan@3,glitch@4",
     "5",
     {[1] = FAILURE_DEVICE_FAULT, [2] = FAILURE_RUN_TIMEOUT, [3] = FAILURE_TIME_IMPOSSIBLE},
     2},
};

static void test_the_best_of_what_is_right_wins(gconstpointer data)
{
    const struct fault *fault = data;
    g_autoptr(GError) error = NULL;
    if (!gpu_farm_use(fault->maker))
        return;
    g_autoptr(Store) store = scratch_store();
    gpu_farm_say(fault->words);
    int64_t campaign = live_campaign(gpu_farm_program(), PROBLEM, request);
    g_assert_cmpint(work(), ==, 0);
    g_assert_cmpint(live_assert_done(store, campaign, JOBS), ==, JOBS);
    assert_outcomes(store, campaign, fault->expected);
    assert_winner(store, campaign, fault->winner);
    assert_use(store, campaign);
    g_autoptr(GPtrArray) rows = store_list_quarantine(store, &error);
    g_assert_cmpuint(rows->len, ==, (guint)fault->quarantined);
}

/* ---- faults of the device itself ---- */

static void assert_all_good(Store *store, int64_t campaign)
{
    static const enum failure none[WAYS] = {FAILURE_NONE};
    g_autoptr(GError) error = NULL;
    g_assert_cmpint(live_assert_done(store, campaign, JOBS), ==, JOBS);
    assert_outcomes(store, campaign, none);
    g_autoptr(GPtrArray) rows = store_list_quarantine(store, &error);
    g_assert_cmpuint(rows->len, ==, 0);
}

static void test_a_device_that_vanishes_is_awaited(void)
{
    if (!gpu_farm_use(&gpu_hip))
        return;
    g_autoptr(Store) store = scratch_store();
    gpu_farm_say("gone@2");
    int64_t campaign = live_campaign(gpu_farm_program(), PROBLEM, request);
    pid_t agent = live_agent(gpu_farm_program(), quick);
    g_free(gpu_farm_await_event(store, "device out of service"));
    gpu_farm_await_release(store, campaign);
    g_assert_true(gpu_farm_is_out(store, "was gfx90a_xnack84 GPU-d0d1d2d3d4d5d600 and is"));
    gpu_farm_say("");
    g_free(gpu_farm_await_event(store, "device in service"));
    g_assert_false(gpu_farm_is_out(store, ""));
    gpu_farm_await_end(store, campaign, JOBS);
    kill(agent, SIGTERM);
    g_assert_cmpint(live_wait(agent), ==, 0);
    assert_all_good(store, campaign);
}

/* Asserts that the farm knows two devices, of which `out` are out of service and `known` have a
 * UUID. */
static void assert_devices(Store *store, guint out, guint known)
{
    g_autoptr(GError) error = NULL;
    struct farm_state *farm = farm_read(store, &error);
    g_assert_no_error(error);
    for (guint i = 0; i < farm->devices->len; i++)
        known -= *((const struct farm_device *)farm->devices->pdata[i])->uuid != '\0';
    g_assert_cmpuint(farm->devices->len, ==, 2);
    g_assert_cmpuint(known, ==, 0);
    g_assert_cmpuint(farm->devices_out->len, ==, out);
    farm_free(farm);
}

/* The first of two devices cannot be opened before the worker is registered; the event of that is
 * written after the registration. */
static void test_a_device_that_never_opened_keeps_nobody_waiting(void)
{
    static const char *const both[] = {"--eval", "1,0", "--sample-seconds", "0.01", "--build",
                                       "1",      NULL};
    if (!gpu_farm_use(&gpu_hip))
        return;
    g_autoptr(Store) store = scratch_store();
    gpu_farm_say("dead#1");
    int64_t campaign = live_campaign(gpu_farm_program(), PROBLEM, request);
    pid_t agent = live_agent(gpu_farm_program(), both);
    gpu_farm_await_end(store, campaign, JOBS);
    assert_all_good(store, campaign);
    g_free(gpu_farm_await_event(store, "device out of service"));
    assert_devices(store, 1, 1);
    gpu_farm_say("");
    g_free(gpu_farm_await_event(store, "device in service"));
    assert_devices(store, 0, 2);
    kill(agent, SIGTERM);
    g_assert_cmpint(live_wait(agent), ==, 0);
}

static void test_a_worker_ends_where_no_device_opens(void)
{
    static const char *const both[] = {"--eval", "0,1", "--build", "1", NULL};
    if (!gpu_farm_use(&gpu_hip))
        return;
    store_close(scratch_store());
    gpu_farm_say("dead");
    int status = live_wait(live_agent(gpu_farm_program(), both));
    g_assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 1);
}

/* Another process holds all device memory, also during the test whether the device works: both jobs
 * go back to the queue. */
static void test_memory_that_is_taken_fails_few_jobs(void)
{
    static const char *const hasty[] = {"--eval", "0", "--fault-limit", "2", "--build", "1", NULL};
    g_autoptr(GError) error = NULL;
    struct progress progress = {0};
    if (!gpu_farm_use(&gpu_hip))
        return;
    g_autoptr(Store) store = scratch_store();
    gpu_farm_say("crowded");
    int64_t campaign = live_campaign(gpu_farm_program(), PROBLEM, request);
    int status = live_wait(live_worker(gpu_farm_program(), hasty));
    g_assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 1);
    g_assert_true(store_progress(store, campaign, &progress, &error));
    g_assert_cmpint(progress.done + progress.failed, ==, 0);
    g_autofree char *returned = gpu_farm_await_event(store, "job returned");
    g_assert_nonnull(
        strstr(returned, "it failed on GPU-d0d1d2d3d4d5d600, which is out of service"));
    gpu_farm_say("");
    g_assert_cmpint(work(), ==, 0);
    assert_all_good(store, campaign);
}

/* Another process holds half of the device's 64 MiB. The first problem barely fits into 64 MiB, the
 * second fits only without the other process, the third always fits. */
static void test_a_problem_too_large_for_what_is_left_fails_alone(void)
{
    static const char problems[] =
        "64-320-384-1x1-64-320-384-1-0x0-1x1-1x1-0-NCHW-FP32-F\n"
        "64-256-320-1x1-64-256-320-1-0x0-1x1-1x1-0-NCHW-FP32-F\n" PROBLEM;
    static const char *const second[] = {
        "--eval", "1", "--fault-limit", "2", "--sample-seconds", "0.01", "--build", "1", NULL};
    g_autoptr(GError) error = NULL;
    struct progress progress = {0};
    if (!gpu_farm_use(&gpu_hip))
        return;
    g_autoptr(Store) store = scratch_store();
    gpu_farm_say("shared");
    int64_t campaign = live_campaign(gpu_farm_program(), problems, request);
    int status = live_wait(live_worker(gpu_farm_program(), second));
    g_assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    g_assert_cmpuint(gpu_farm_events(store, "device out of service"), ==, 0);
    g_assert_cmpuint(gpu_farm_events(store, "eval child died"), ==, 3 * JOBS);
    g_assert_true(store_progress(store, campaign, &progress, &error));
    g_assert_cmpint(progress.done, ==, JOBS);
    g_assert_cmpint(progress.failed, ==, 2 * JOBS);
}

int main(int argc, char **argv)
{
    int failed;

    g_test_init(&argc, &argv, NULL);
    g_test_set_nonfatal_assertions();
    gpu_farm_open();
    for (gsize i = 0; i < G_N_ELEMENTS(faults); i++) {
        g_autofree char *path =
            g_strdup_printf("/gpu_faults/%s/the_best_wins/%s",
                            faults[i].maker == &gpu_cuda ? "cuda" : "hip", faults[i].path);
        g_test_add_data_func(path, &faults[i], test_the_best_of_what_is_right_wins);
    }
    g_test_add_func("/gpu_faults/hip/a_device_that_vanishes_is_awaited",
                    test_a_device_that_vanishes_is_awaited);
    g_test_add_func("/gpu_faults/hip/a_device_that_never_opened_keeps_nobody_waiting",
                    test_a_device_that_never_opened_keeps_nobody_waiting);
    g_test_add_func("/gpu_faults/hip/a_worker_ends_where_no_device_opens",
                    test_a_worker_ends_where_no_device_opens);
    g_test_add_func("/gpu_faults/hip/memory_that_is_taken_fails_few_jobs",
                    test_memory_that_is_taken_fails_few_jobs);
    g_test_add_func("/gpu_faults/hip/a_problem_too_large_for_what_is_left_fails_alone",
                    test_a_problem_too_large_for_what_is_left_fails_alone);
    failed = g_test_run();
    gpu_farm_close();
    return failed;
}
