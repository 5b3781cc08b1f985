/*
 * Whole campaigns on a GPU whose library is a double (tests/support/gpu_double.c): kernels are compiled by AMD's
 * real toolchain, computed on the host, and fail as they are told. Whatever fails is named, the rest of its
 * job goes on, and no job is lost.
 */
#include <glib/gstdio.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>

#include "kernels/toolchain.h"
#include "schema/device_use.h"
#include "schema/farm.h"
#include "tests/faults/solver_ways.h"
#include "tests/support/live_farm.h"
#include "tests/support/scratch_db.h"
#include "tests/support/temp_folder.h"

#define PROBLEM "4-6-6-1x1-5-6-6-1-0x0-1x1-1x1-0-NCHW-FP32-F\n"
#define MANY    10
#define JOBS    2 /* of a problem, by the solvers below */

static const char *const request[] = {
    "--configs", "6", "--seed", "3", "--solvers", "ConvWays,ConvDirectNaive", NULL};
/* One of the double's two GPUs, so that nothing goes on beside what fails. */
static const char *const quick[] = {
    "--eval", "0", "--sample-seconds", "0.01", "--run-timeout", "2", "--build", "1", NULL};

static const struct maker {
    const char *setting, *other, *toolchain, *target;
} cuda = {"SKIPJACK_CUDA", "SKIPJACK_HIP", "nvrtc", "sm_90_132_80g"},
  hip = {"SKIPJACK_HIP", "SKIPJACK_CUDA", "clang", "gfx90a_xnack84"};

static TempFolder *folder;

/* This machine's device from now on; false, and the test skipped, where its compiler is not here. */
static bool use(const struct maker *maker)
{
    const char *library = g_getenv("SKIPJACK_GPU_DOUBLE");
    g_autoptr(GError) error = NULL;
    struct target target;
    g_assert_true(target_parse(maker->target, &target, NULL));
    if (!toolchain_find(maker->toolchain)->version(&target, &error)) {
        g_test_skip(error->message);
        return false;
    }
    g_setenv(maker->other, "libnowhere.so", TRUE);
    g_setenv(maker->setting, library ? library : "build/tests/gpu_double.so", TRUE);
    g_setenv("SKIPJACK_TOOLCHAIN", maker->toolchain, TRUE);
    return true;
}

static const char *program(void)
{
    const char *path = g_getenv("SKIPJACK_FAULTS");
    return path ? path : "build/skipjack-faults";
}

/* What goes wrong from now on. */
static void say(const char *words)
{
    g_remove(temp_folder_path(folder, "double.glitched"));
    g_remove(temp_folder_path(folder, "double.gone"));
    temp_folder_write(folder, "double", words, -1);
}

static int work(void)
{
    int status = live_wait(live_worker(program(), quick), 60);
    g_assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static bool is_good(enum failure failure)
{
    return failure == FAILURE_NONE || failure == FAILURE_SLOW || failure == FAILURE_UNSTABLE;
}

/* Each outcome of ConvWays' configs, by way; FAILURE_NONE stands for all that were verified. */
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

/* The device had work in a part of the time that each job took. */
static void assert_use(Store *store, int64_t campaign)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(GPtrArray) uses = store_list_device_use(store, campaign, &error);
    g_assert_no_error(error);
    g_assert_cmpuint(uses->len, ==, JOBS);
    for (guint i = 0; i < uses->len; i++) {
        const struct device_use *use = &((const struct job_device_use *)uses->pdata[i])->use;
        g_assert_cmpfloat(use->busy_seconds, >, 0);
        g_assert_cmpfloat(use->busy_seconds, <, use->seconds);
    }
}

static const struct fault {
    const struct maker *maker;
    const char *path, *words, *winner;
    enum failure expected[WAYS];
    int quarantined;
} faults[] = {
    {&cuda, "nothing_goes_wrong", "", "5", {FAILURE_NONE}, 0},
    {&hip,
     "what_a_config_answers",
     "launch@1,wrong@2,zero@3,elapsed@4,fast@5",
     "0",
     {[1] = FAILURE_LAUNCH_ERROR,
      [2] = FAILURE_WRONG_RESULT,
      [3] = FAILURE_TIME_IMPOSSIBLE,
      [4] = FAILURE_TIME_IMPOSSIBLE,
      [5] = FAILURE_TIME_IMPOSSIBLE},
     0},
    {&hip,
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
    if (!use(fault->maker))
        return;
    g_autoptr(Store) store = scratch_store();
    say(fault->words);
    int64_t campaign = live_campaign(program(), PROBLEM, request);
    g_assert_cmpint(work(), ==, 0);
    g_assert_cmpint(live_assert_done(store, campaign, JOBS), ==, JOBS);
    assert_outcomes(store, campaign, fault->expected);
    assert_winner(store, campaign, fault->winner);
    assert_use(store, campaign);
    g_autoptr(GPtrArray) rows = store_list_quarantine(store, &error);
    g_assert_cmpuint(rows->len, ==, (guint)fault->quarantined);
}

/* ---- the device itself ---- */

static guint count_events(Store *store, const char *kind)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(GPtrArray) rows = store_list_events(store, 0, 1000, &error);
    guint count = 0;
    g_assert_no_error(error);
    for (guint i = 0; i < rows->len; i++)
        count += strcmp(((const struct event_row *)rows->pdata[i])->kind, kind) == 0;
    return count;
}

static void await_event(Store *store, const char *kind)
{
    gint64 limit = g_get_monotonic_time() + 60 * G_USEC_PER_SEC;
    while (count_events(store, kind) == 0) {
        if (g_get_monotonic_time() > limit)
            g_error("there was no event '%s'", kind);
        g_usleep(10000);
    }
}

/* Whether the farm lists a device as out of service, with those words. */
static bool is_out(Store *store, const char *words)
{
    g_autoptr(GError) error = NULL;
    struct farm_state *farm = farm_read(store, &error);
    g_assert_no_error(error);
    bool out = false;
    for (guint i = 0; i < farm->devices_out->len; i++) {
        const struct farm_trouble *row = farm->devices_out->pdata[i];
        g_test_message("%s: %s", row->name, row->detail);
        out |= strstr(row->name, "Double 0") && strstr(row->detail, words);
    }
    farm_free(farm);
    return out;
}

/* Nobody holds a job any more: what was claimed went back. */
static void await_release(Store *store, int64_t campaign)
{
    gint64 limit = g_get_monotonic_time() + 30 * G_USEC_PER_SEC;
    struct progress progress = {0};
    do {
        if (g_get_monotonic_time() > limit)
            g_error("jobs are still held");
        g_usleep(10000);
        g_assert_true(store_progress(store, campaign, &progress, NULL));
    } while (progress.building + progress.evaluating > 0);
}

static void await_end(Store *store, int64_t campaign)
{
    gint64 limit = g_get_monotonic_time() + 60 * G_USEC_PER_SEC;
    struct progress progress = {0};
    do {
        if (g_get_monotonic_time() > limit)
            g_error("the campaign does not end");
        g_usleep(10000);
        g_assert_true(store_progress(store, campaign, &progress, NULL));
    } while (progress.done + progress.failed < JOBS);
}

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
    if (!use(&hip))
        return;
    g_autoptr(Store) store = scratch_store();
    say("gone@2");
    int64_t campaign = live_campaign(program(), PROBLEM, request);
    pid_t agent = live_agent(program(), quick);
    await_event(store, "device out of service");
    await_release(store, campaign);
    g_assert_true(is_out(store, "was gfx90a_xnack84 GPU-d0d1d2d3d4d5d600 and is"));
    say("");
    await_event(store, "device in service");
    g_assert_false(is_out(store, ""));
    await_end(store, campaign);
    kill(agent, SIGTERM);
    g_assert_cmpint(live_wait(agent, 30), ==, 0);
    assert_all_good(store, campaign);
}

static void test_a_sick_device_is_taken_out_of_service(void)
{
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
    g_autoptr(GError) error = NULL;
    if (!use(&hip))
        return;
    g_autoptr(Store) store = scratch_store();
    say("fault");
    int64_t campaign = live_campaign(program(), PROBLEM, request);
    pid_t agent = live_agent(program(), patient);
    await_event(store, "device out of service");
    await_release(store, campaign);
    g_assert_true(is_out(store, "with 2 solvers"));
    kill(agent, SIGTERM);
    g_assert_cmpint(live_wait(agent, 30), ==, 0);
    g_autoptr(GPtrArray) rows = store_list_quarantine(store, &error);
    g_assert_no_error(error);
    g_assert_cmpuint(rows->len, ==, 0); /* of the job before the last one neither */
    say("");
    g_assert_cmpint(work(), ==, 0);
    g_assert_false(is_out(store, ""));
    g_assert_cmpint(live_assert_done(store, campaign, JOBS), ==, JOBS);
}

/* The kernels of one crash on whatever problem; the other's are measured all the same. */
static void test_a_solver_that_crashes_is_not_the_devices_fault(void)
{
    static const char problems[] = "4-6-6-1x1-5-6-6-1-0x0-1x1-1x1-0-NCHW-FP32-F\n"
                                   "4-6-6-1x1-6-6-6-1-0x0-1x1-1x1-0-NCHW-FP32-F\n"
                                   "4-6-6-1x1-7-6-6-1-0x0-1x1-1x1-0-NCHW-FP32-F\n";
    g_autoptr(GError) error = NULL;
    struct progress progress = {0};
    if (!use(&hip))
        return;
    g_autoptr(Store) store = scratch_store();
    say("fault@0,fault@1,fault@2,fault@3,fault@4,fault@5");
    int64_t campaign = live_campaign(program(), problems, request);
    g_assert_cmpint(work(), ==, 0);
    g_assert_cmpuint(count_events(store, "device out of service"), ==, 0);
    g_assert_true(store_progress(store, campaign, &progress, &error));
    g_assert_cmpint(progress.done + progress.failed, ==, 3 * JOBS);
    g_assert_cmpint(progress.done, ==, 3);
}

/* Until another one crashed, too, it might have been that solver. */
static void assert_one_solver_failed(Store *store, int64_t campaign)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(GPtrArray) jobs = store_list_jobs(store, campaign, &error);
    const char *solver = NULL;
    g_assert_no_error(error);
    for (guint i = 0; i < jobs->len; i++) {
        const struct job_row *job = jobs->pdata[i];
        if (strcmp(job->state, "failed") != 0)
            continue;
        g_assert_cmpstr(job->solver, ==, solver ? solver : job->solver);
        solver = job->solver;
    }
}

/* The jobs are ready one by one, as they are built, so both devices get some. */
static void test_others_go_on_beside_a_sick_device(void)
{
    static const char *const two[] = {"--configs", "1", "--solvers", "ConvWays,ConvDirectNaive",
                                      NULL};
    static const char *const both[] = {
        "--batch", "1", "--build", "1", "--fault-limit", "2", "--sample-seconds", "0.01", NULL};
    g_autoptr(GError) error = NULL;
    struct progress progress = {0};
    if (!use(&hip))
        return;
    g_autoptr(Store) store = scratch_store();
    g_autoptr(GString) problems = g_string_new(NULL);
    for (int k = 5; k < 5 + MANY; k++)
        g_string_append_printf(problems, "4-6-6-1x1-%d-6-6-1-0x0-1x1-1x1-0-NCHW-FP32-F\n", k);
    say("fault#1");
    int64_t campaign = live_campaign(program(), problems->str, two);
    int status = live_wait(live_worker(program(), both), 60);
    g_assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    g_assert_cmpuint(count_events(store, "device out of service"), ==, 1);
    g_assert_true(store_progress(store, campaign, &progress, &error));
    g_assert_cmpint(progress.done + progress.failed, ==, MANY * JOBS);
    assert_one_solver_failed(store, campaign);
}

/* Of two devices so many are out, and the farm knows what so many are. */
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

/* The first of two; what became of it before the worker was entered is told then. */
static void test_a_device_that_never_opened_keeps_nobody_waiting(void)
{
    static const char *const both[] = {"--eval", "1,0", "--sample-seconds", "0.01", "--build",
                                       "1",      NULL};
    if (!use(&hip))
        return;
    g_autoptr(Store) store = scratch_store();
    say("dead#1");
    int64_t campaign = live_campaign(program(), PROBLEM, request);
    pid_t agent = live_agent(program(), both);
    await_end(store, campaign);
    assert_all_good(store, campaign);
    await_event(store, "device out of service");
    assert_devices(store, 1, 1);
    say("");
    await_event(store, "device in service");
    assert_devices(store, 0, 2);
    kill(agent, SIGTERM);
    g_assert_cmpint(live_wait(agent, 30), ==, 0);
}

static void test_a_worker_ends_where_no_device_opens(void)
{
    static const char *const both[] = {"--eval", "0,1", "--build", "1", NULL};
    if (!use(&hip))
        return;
    store_close(scratch_store());
    say("dead");
    int status = live_wait(live_agent(program(), both), 30);
    g_assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 1);
}

/* Somebody else has the memory: the first job says so, the second one goes back. */
static void test_memory_that_is_taken_fails_few_jobs(void)
{
    static const char *const hasty[] = {"--eval", "0", "--fault-limit", "2", "--build", "1", NULL};
    g_autoptr(GError) error = NULL;
    struct progress progress = {0};
    if (!use(&hip))
        return;
    g_autoptr(Store) store = scratch_store();
    say("crowded");
    int64_t campaign = live_campaign(program(), PROBLEM, request);
    int status = live_wait(live_worker(program(), hasty), 60);
    g_assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 1);
    g_assert_true(store_progress(store, campaign, &progress, &error));
    g_assert_cmpint(progress.failed, ==, 1);
    g_assert_cmpint(progress.built, ==, 1);
    g_autoptr(GPtrArray) jobs = store_list_jobs(store, campaign, &error);
    for (guint i = 0; i < jobs->len; i++) {
        const struct job_row *job = jobs->pdata[i];
        g_assert_true(strcmp(job->state, "failed") != 0 || strstr(job->detail, "OUT_OF_MEMORY"));
    }
    say("");
    g_assert_true(store_change_campaign(store, campaign, "retry", &error));
    g_assert_cmpint(work(), ==, 0);
    assert_all_good(store, campaign);
}

/* Of 64 MiB half is somebody else's: of the one problem the device has hardly enough in all, the other one may
 * be luckier some other time, and the third is as good as ever. */
static void test_a_problem_too_large_for_what_is_left_fails_alone(void)
{
    static const char problems[] =
        "64-320-384-1x1-64-320-384-1-0x0-1x1-1x1-0-NCHW-FP32-F\n"
        "64-256-320-1x1-64-256-320-1-0x0-1x1-1x1-0-NCHW-FP32-F\n" PROBLEM;
    static const char *const second[] = {
        "--eval", "1", "--fault-limit", "2", "--sample-seconds", "0.01", "--build", "1", NULL};
    g_autoptr(GError) error = NULL;
    struct progress progress = {0};
    if (!use(&hip))
        return;
    g_autoptr(Store) store = scratch_store();
    say("shared");
    int64_t campaign = live_campaign(program(), problems, request);
    int status = live_wait(live_worker(program(), second), 60);
    g_assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    g_assert_cmpuint(count_events(store, "device out of service"), ==, 0);
    g_assert_cmpuint(count_events(store, "eval child died"), ==, 3 * JOBS);
    g_assert_true(store_progress(store, campaign, &progress, &error));
    g_assert_cmpint(progress.done, ==, JOBS);
    g_assert_cmpint(progress.failed, ==, 2 * JOBS);
}

int main(int argc, char **argv)
{
    int failed;

    g_test_init(&argc, &argv, NULL);
    g_test_set_nonfatal_assertions();
    folder = temp_folder_new();
    g_setenv("GPU_DOUBLE_FILE", temp_folder_path(folder, "double"), TRUE);
    for (gsize i = 0; i < G_N_ELEMENTS(faults); i++) {
        g_autofree char *path =
            g_strdup_printf("/gpu_faults/%s/the_best_wins/%s",
                            faults[i].maker == &cuda ? "cuda" : "hip", faults[i].path);
        g_test_add_data_func(path, &faults[i], test_the_best_of_what_is_right_wins);
    }
    g_test_add_func("/gpu_faults/hip/a_device_that_vanishes_is_awaited",
                    test_a_device_that_vanishes_is_awaited);
    g_test_add_func("/gpu_faults/hip/a_sick_device_is_taken_out_of_service",
                    test_a_sick_device_is_taken_out_of_service);
    g_test_add_func("/gpu_faults/hip/a_solver_that_crashes_is_not_the_devices_fault",
                    test_a_solver_that_crashes_is_not_the_devices_fault);
    g_test_add_func("/gpu_faults/hip/others_go_on_beside_a_sick_device",
                    test_others_go_on_beside_a_sick_device);
    g_test_add_func("/gpu_faults/hip/a_device_that_never_opened_keeps_nobody_waiting",
                    test_a_device_that_never_opened_keeps_nobody_waiting);
    g_test_add_func("/gpu_faults/hip/a_worker_ends_where_no_device_opens",
                    test_a_worker_ends_where_no_device_opens);
    g_test_add_func("/gpu_faults/hip/memory_that_is_taken_fails_few_jobs",
                    test_memory_that_is_taken_fails_few_jobs);
    g_test_add_func("/gpu_faults/hip/a_problem_too_large_for_what_is_left_fails_alone",
                    test_a_problem_too_large_for_what_is_left_fails_alone);
    failed = g_test_run();
    temp_folder_free(folder);
    return failed;
}
