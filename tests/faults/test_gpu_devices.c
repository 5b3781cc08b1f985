/* Nodes with GPUs, over doubles of the vendors' libraries: throttling, clocks and identity of a
 * device reach the reports. */
#include <signal.h>
#include <string.h>
#include <sys/wait.h>

#include "kernels/toolchains/toolchain.h"
#include "schema/results/conditions.h"
#include "schema/results/store_results.h"
#include "schema/store/store_campaigns.h"
#include "tests/support/farm/live_farm.h"
#include "tests/support/farm/scratch_db.h"
#include "tests/support/patience.h"
#include "tests/support/temp_folder.h"

#define PROBLEM "4-6-6-1x1-5-6-6-1-0x0-1x1-1x1-0-NCHW-FP32-F\n"
#define TARGET  "gfx90a_xnack84"
#define UUIDS   "GPU-d0d1d2d3d4d5d60" /* UUIDs of both GPUs, without the last digit */

#define SEVERAL 8

static const struct problem_part all_problems = PROBLEM_PART_ALL;

static const char *const request[] = {"--configs", "2", "--solvers", "ConvDirectNaive", NULL};
static const char *const quick[] = {"--sample-seconds", "0.01", "--build", "1",
                                    "--lock-clocks",    "1700", NULL};

static TempFolder *folder;

static const char *program(void)
{
    const char *path = g_getenv("SKIPJACK");
    return path ? path : "build/skipjack";
}

static const char *library(const char *setting, const char *usual)
{
    const char *path = g_getenv(setting);
    return path ? path : usual;
}

/* Makes the double's two AMD GPUs this machine's devices. Returns false, after skipping the test,
 * if no compiler here serves them. */
static bool use_doubles(const char *words)
{
    g_autoptr(GError) error = NULL;
    struct target target;
    g_assert_true(target_parse(TARGET, &target, NULL));
    if (!toolchain_find("clang")->version(&target, &error)) {
        g_test_skip(error->message);
        return false;
    }
    g_setenv("SKIPJACK_CUDA", "libnowhere.so", TRUE);
    g_setenv("SKIPJACK_HIP", library("SKIPJACK_GPU_DOUBLE", "build/tests/gpu_double.so"), TRUE);
    g_setenv("SKIPJACK_ROCM_SMI",
             library("SKIPJACK_MONITOR_DOUBLE", "build/tests/monitor_double.so"), TRUE);
    g_setenv("SKIPJACK_TOOLCHAIN", "clang", TRUE);
    g_setenv("MONITOR_DOUBLE", words, TRUE);
    g_setenv("MONITOR_DOUBLE_LOG", temp_folder_write(folder, "clocks", "", 0), TRUE);
    return true;
}

/* Asserts that both GPUs' clocks were locked once, and unlocked again. */
static bool clocks_are(const char *what)
{
    g_autofree char *text = NULL;
    g_autofree char *first = g_strdup_printf("%s 0", what), *second = g_strdup_printf("%s 1", what);
    g_file_get_contents(temp_folder_path(folder, "clocks"), &text, NULL, NULL);
    return strstr(text, first) && strstr(text, second);
}

static void wait_for_clocks(const char *what)
{
    gint64 limit = patience_end();
    while (!clocks_are(what) && g_get_monotonic_time() < limit)
        g_usleep(50000);
    g_assert_true(clocks_are(what));
}

/* Returns the output of a command; `words` are the command and its arguments, separated by
 * blanks. */
static char *said_by(const char *words)
{
    g_auto(GStrv) argv = NULL;
    g_autofree char *line = g_strdup_printf("%s %s", program(), words);
    g_autoptr(GError) error = NULL;
    char *text = NULL;
    int status = -1;
    argv = g_strsplit(line, " ", -1);
    g_spawn_sync(NULL, argv, NULL, G_SPAWN_STDERR_TO_DEV_NULL, NULL, NULL, &text, NULL, &status,
                 &error);
    g_assert_no_error(error);
    g_assert_cmpint(status, ==, 0);
    return text;
}

static void assert_says(const char *text, const char *words)
{
    if (!strstr(text, words))
        g_test_fail_printf("'%s' is not in: %s", words, text);
}

static void wait_for_end(Store *store, int64_t campaign)
{
    struct progress progress = {0};
    for (gint64 limit = patience_end(); g_get_monotonic_time() < limit;) {
        g_assert_true(store_progress(store, campaign, &progress, NULL));
        if (progress.jobs > 0 && progress.done + progress.failed == progress.jobs)
            return;
        g_usleep(50000);
    }
    g_test_fail_printf("campaign %" G_GINT64_FORMAT " did not end", (gint64)campaign);
}

/* Without --eval a worker measures on both GPUs, and reports distinguish the two. */
static void test_a_throttled_device_is_reported(void)
{
    g_autoptr(GError) error = NULL;
    if (!use_doubles("moved,hot"))
        return;
    g_autoptr(Store) store = scratch_store();
    int64_t campaign = live_campaign(program(), PROBLEM, request);
    pid_t worker = live_agent(program(), quick);
    wait_for_end(store, campaign);
    g_autofree char *status = said_by("status");
    assert_says(status, "0000:3b:00.0  " UUIDS "0");
    assert_says(status, "0000:3c:00.0  " UUIDS "1");
    kill(worker, SIGTERM);
    g_assert_cmpint(live_wait(worker), ==, 0);
    g_assert_true(clocks_are("lock"));
    wait_for_clocks("reset");
    g_autoptr(GPtrArray) rows = store_list_part_conditions(store, campaign, &all_problems, &error);
    g_assert_no_error(error);
    g_assert_cmpuint(rows->len, ==, 1);
    if (rows->len == 0)
        return;
    const struct conditions *seen = &((const struct job_conditions *)rows->pdata[0])->seen;
    g_assert_true(g_str_has_prefix(seen->device, UUIDS));
    g_assert_cmpint(seen->sm_mhz_min, ==, 1700);
    g_assert_cmpint(seen->temperature_c, ==, 71);
    g_assert_cmphex(seen->throttle, ==, THROTTLE_HEAT);
    g_assert_cmpint(seen->locked_mhz, ==, 1700);
    g_autofree char *report = said_by("report");
    assert_says(report, ": units 1700 MHz (locked), memory 1600 MHz, up to 71 C, up to 300 W");
    assert_says(report, "1 of 1 winners were measured while their device was throttled");
}

static void test_a_killed_worker_leaves_no_locked_clocks(void)
{
    if (!use_doubles(""))
        return;
    store_close(scratch_store());
    pid_t worker = live_agent(program(), quick);
    wait_for_clocks("lock");
    g_assert_false(clocks_are("reset"));
    kill(worker, SIGKILL);
    live_wait(worker);
    wait_for_clocks("reset");
}

/* `worker --probe` prints the devices that `worker` and `tune` use: all without --eval, else the
 * named one. */
static void test_a_probe_tells_of_each(void)
{
    if (!use_doubles(""))
        return;
    g_autofree char *both = said_by("worker --probe");
    assert_says(both, "\"device\":\"Double 0\",\"identity\":{\"uuid\":\"" UUIDS "0\"");
    assert_says(both, "\n{\"target\":{");
    assert_says(both, "\"device\":\"Double 1\",\"identity\":{\"uuid\":\"" UUIDS "1\"");
    g_autofree char *one = said_by("worker --probe --eval " UUIDS "1");
    assert_says(one, "Double 1");
    g_assert_null(strstr(one, "Double 0"));
}

static void work(const char *const *arguments)
{
    int status = live_wait(live_worker(program(), arguments));
    g_assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

/* Creates a campaign, builds it, measures it on `devices` and exports it to the folder `name`. One
 * claim takes all jobs, so an idle device takes over some jobs of the other one. Returns the
 * campaign's id. */
static int64_t work_on(Store *store, const char *devices, const char *name)
{
    static const char *const named[] = {"--solvers", "ConvDirectNaive", "--target", TARGET, NULL};
    static const char *const builds[] = {"--eval", "none", "--build", "1", NULL};
    const char *const measures[] = {"--sample-seconds", "0.01",  "--build", "0", "--batch", "99",
                                    "--eval",           devices, NULL};
    g_autoptr(GString) problems = g_string_new(NULL);
    for (int k = 5; k < 5 + SEVERAL; k++)
        g_string_append_printf(problems, "4-6-6-1x1-%d-6-6-1-0x0-1x1-1x1-0-NCHW-FP32-F\n", k);
    int64_t campaign = live_campaign(program(), problems->str, named);
    work(builds);
    work(measures);
    g_assert_cmpint(live_assert_done(store, campaign, SEVERAL), ==, SEVERAL);
    g_autofree char *words =
        g_strdup_printf("export --campaign %" G_GINT64_FORMAT " --perf --find --kernels -o %s",
                        (gint64)campaign, temp_folder_path(folder, name));
    g_free(said_by(words));
    return campaign;
}

static void assert_same_files(const char *one, const char *other)
{
    g_autoptr(GDir) dir = g_dir_open(temp_folder_path(folder, one), 0, NULL);
    const char *name;
    int files = 0;
    for (; dir && (name = g_dir_read_name(dir)); files++) {
        g_autofree char *first = NULL, *second = NULL;
        gsize length = 0, wanted = 0;
        /* the manifest states the campaign and the time, so it differs */
        if (g_str_has_suffix(name, ".export.json"))
            continue;
        g_autofree char *path = g_build_filename(temp_folder_path(folder, one), name, NULL);
        g_autofree char *beside = g_build_filename(temp_folder_path(folder, other), name, NULL);
        g_file_get_contents(path, &first, &wanted, NULL);
        g_file_get_contents(beside, &second, &length, NULL);
        g_test_message("%s", name);
        g_assert_cmpmem(second, length, first, wanted);
    }
    g_assert_cmpint(files, >=, 3);
}

/* Two devices give the same results as one. Only the report states which device measured. */
static void test_two_devices_find_what_one_does(void)
{
    if (!use_doubles(""))
        return;
    g_autoptr(Store) alone = scratch_store();
    work_on(alone, "0", "alone");
    g_autoptr(Store) store = scratch_store();
    work_on(store, "all", "both");
    g_autofree char *report = said_by("report");
    assert_says(report, UUIDS "0: units");
    assert_says(report, UUIDS "1: units");
    assert_same_files("alone", "both");
}

/* A campaign's constraint on the driver concerns only nodes that measure: a node without devices
 * builds for it. */
static void test_nodes_without_a_gpu_build_where_a_driver_is_asked_for(void)
{
    static const char *const wanted[] = {"--solvers", "ConvDirectNaive",
                                         "--target",  TARGET,
                                         "--stack",   "clang >= 9; driver >= 6.3; runtime >= 6",
                                         NULL};
    static const char *const builds[] = {"--eval", "none", "--build", "1", NULL};
    static const char *const measures[] = {"--sample-seconds", "0.01", "--build", "0",
                                           "--eval",           "0",    NULL};
    g_autoptr(GError) error = NULL;
    if (!use_doubles(""))
        return;
    g_autoptr(Store) store = scratch_store();
    int64_t campaign = live_campaign(program(), PROBLEM, wanted);
    g_autofree char *double_library = g_strdup(g_getenv("SKIPJACK_HIP"));
    g_setenv("SKIPJACK_HIP", "libnowhere.so", TRUE);
    work(builds);
    g_setenv("SKIPJACK_HIP", double_library, TRUE);
    work(measures);
    g_assert_cmpint(live_assert_done(store, campaign, 1), ==, 1);
    g_autoptr(GPtrArray) results = store_list_results(store, campaign, &error);
    g_assert_no_error(error);
    g_assert_cmpuint(results->len, >=, 1);
    const char *stack = ((const struct result *)results->pdata[0])->stack;
    g_assert_true(g_str_has_prefix(stack, "clang "));
    g_assert_true(g_str_has_suffix(stack, "; hip 6.4; driver 6.10.5"));
}

int main(int argc, char **argv)
{
    int failed;

    g_test_init(&argc, &argv, NULL);
    g_test_set_nonfatal_assertions();
    folder = temp_folder_new();
    g_test_add_func("/gpu_devices/a_throttled_device_is_reported",
                    test_a_throttled_device_is_reported);
    g_test_add_func("/gpu_devices/a_killed_worker_leaves_no_locked_clocks",
                    test_a_killed_worker_leaves_no_locked_clocks);
    g_test_add_func("/gpu_devices/a_probe_tells_of_each", test_a_probe_tells_of_each);
    g_test_add_func("/gpu_devices/two_devices_find_what_one_does",
                    test_two_devices_find_what_one_does);
    g_test_add_func("/gpu_devices/nodes_without_a_gpu_build_where_a_driver_is_asked_for",
                    test_nodes_without_a_gpu_build_where_a_driver_is_asked_for);
    failed = g_test_run();
    temp_folder_free(folder);
    return failed;
}
