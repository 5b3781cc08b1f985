/* How workers register, and which campaigns admit them: real processes over doubles of the vendors' libraries. */
#include <glib/gstdio.h>
#include <locale.h>
#include <signal.h>
#include <string.h>

#include "kernels/toolchains/toolchain.h"
#include "schema/store/store_campaigns.h"
#include "schema/store/store_private.h"
#include "tests/support/farm/live_farm.h"
#include "tests/support/farm/scratch_db.h"
#include "tests/support/patience.h"
#include "tests/support/temp_folder.h"
#include "worker/device/device.h"

#define PROBLEM "4-6-6-1x1-5-6-6-1-0x0-1x1-1x1-0-NCHW-FP32-F\n"

static const char *library(const char *setting, const char *usual)
{
    const char *path = g_getenv(setting);
    return path ? path : usual;
}

static const char *program(void)
{
    return library("SKIPJACK", "build/skipjack");
}

/* Returns the first text of a query's result; free with g_free(). */
static char *ask(Store *store, const char *sql)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(StoreRows) rows = store_read(store, &error, sql, "");
    g_assert_no_error(error);
    return g_strdup(PQntuples(rows) > 0 ? PQgetvalue(rows, 0, 0) : "");
}

static void await_worker(Store *store)
{
    gint64 limit = patience_end();
    for (;;) {
        g_autofree char *count =
            ask(store, "SELECT count(*) FROM workers w WHERE ended_at IS NULL AND (w.target = ''"
                       " OR EXISTS (SELECT 1 FROM worker_devices d WHERE d.worker_id = w.id))");
        if (strcmp(count, "1") == 0)
            return;
        if (g_get_monotonic_time() > limit)
            g_error("no worker registered");
        g_usleep(10000);
    }
}

static void end_worker(pid_t worker)
{
    kill(worker, SIGTERM);
    g_assert_cmpint(live_wait(worker), ==, 0);
}

/* A paused campaign for the target; its stack is set by expect_reason(). */
static int64_t add_campaign(Store *store, const char *target)
{
    g_autoptr(GError) error = NULL;
    const char *const arguments[] = {"--solvers", "ConvDirectNaive", "--target", target, NULL};
    int64_t campaign = live_campaign(program(), PROBLEM, arguments);
    g_assert_true(store_change_campaign(store, campaign, "pause", &error));
    g_assert_no_error(error);
    return campaign;
}

/* Asserts why the campaign with the constraint `stack` refuses the running worker; `reason` is the
 * reason's beginning, "" for no reason. */
static void expect_reason(Store *store, const char *stack, const char *reason)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(StoreRows) rows =
        store_read(store, &error,
                   "SELECT coalesce(refusal(jsonb_populate_record(c, jsonb_build_object('stack',"
                   " $1::text)), w), '') FROM campaigns c, workers w WHERE w.ended_at IS NULL",
                   "s", stack);
    g_assert_no_error(error);
    const char *said = PQgetvalue(rows, 0, 0);
    g_test_message("'%s': %s", stack, said);
    if (*reason ? !g_str_has_prefix(said, reason) : *said != '\0')
        g_test_fail_printf("'%s' gives '%s', not '%s'", stack, said, reason);
}

struct expectation {
    const char *stack, *reason;
};

/* The software stacks that nodes with an H200 (driver 580.159.03) and with ROCm 6.4 report for
 * their devices. */
static const struct maker {
    const char *setting, *other, *target, *stack;
    struct expectation expected[8];
} makers[] = {
    {"SKIPJACK_CUDA",
     "SKIPJACK_HIP",
     "sm_90_132_80g",
     "cuda 13.2; driver 580.159.03",
     {{"driver >= 535", ""},
      {"driver >= 535 < 581; cuda >= 13; runtime 13", ""},
      {"driver >= 590", "its driver is 580.159.03, asked for is \"driver >= 590\""},
      {"runtime >= 13 < 13.2", "its runtime is 13.2, asked for"},
      {"hip >= 6", "its stack has no hip, asked for is \"hip >= 6\": it is \"cuda 13.2; driver"},
      {"clang >= 99; nvrtc >= 99", ""}}},
    {"SKIPJACK_HIP",
     "SKIPJACK_CUDA",
     "gfx90a_xnack84",
     "hip 6.4; driver 6.10.5",
     {{"driver >= 6.3", ""},
      {"runtime = 6.4; hip 6.4", ""},
      {"driver >= 535", "its driver is 6.10.5, asked for is \"driver >= 535\""},
      {"cuda >= 12", "its stack has no cuda"},
      {"hiprtc >= 99; clang >= 99", ""}}},
};

static void use_doubles(const struct maker *maker)
{
    g_setenv(maker->other, "libnowhere.so", TRUE);
    g_setenv(maker->setting, library("SKIPJACK_GPU_DOUBLE", "build/tests/gpu_double.so"), TRUE);
    g_setenv("SKIPJACK_NVML", library("SKIPJACK_MONITOR_DOUBLE", "build/tests/monitor_double.so"),
             TRUE);
    g_setenv("SKIPJACK_ROCM_SMI",
             library("SKIPJACK_MONITOR_DOUBLE", "build/tests/monitor_double.so"), TRUE);
}

static void test_a_node_with_gpus_is_asked_for_their_software(gconstpointer data)
{
    static const char *const measures[] = {"--build", "0", NULL};
    const struct maker *maker = data;
    use_doubles(maker);
    g_autoptr(Store) store = scratch_store();
    add_campaign(store, maker->target);
    pid_t worker = live_agent(program(), measures);
    await_worker(store);
    g_autofree char *of_worker = ask(store, "SELECT stack FROM workers");
    g_autofree char *of_device = ask(store, "SELECT stack FROM worker_devices WHERE place = 0");
    g_assert_cmpstr(of_worker, ==, maker->stack);
    g_assert_cmpstr(of_device, ==, maker->stack);
    for (gsize i = 0; maker->expected[i].stack; i++)
        expect_reason(store, maker->expected[i].stack, maker->expected[i].reason);
    end_worker(worker);
}

/* A card that is divided is another target, also where it has as many units. */
static void test_a_part_of_a_card_is_its_own_target(void)
{
    static const char *const measures[] = {"--build", "0", "--eval", "0", NULL};
    g_autoptr(TempFolder) folder = temp_folder_new();
    g_assert_true(g_mkdir(temp_folder_path(folder, "0000:3b:00.0"), 0755) == 0);
    temp_folder_write(folder, "0000:3b:00.0/current_compute_partition", "CPX\n", -1);
    temp_folder_write(folder, "0000:3b:00.0/current_memory_partition", "NPS4\n", -1);
    use_doubles(&makers[1]);
    g_autoptr(Store) store = scratch_store();
    int64_t whole = add_campaign(store, "gfx90a_xnack84");
    g_setenv("SKIPJACK_PCI", temp_folder_path(folder, ""), TRUE);
    pid_t worker = live_agent(program(), measures);
    g_unsetenv("SKIPJACK_PCI");
    await_worker(store);
    expect_reason(store, "",
                  "its target is gfx90a_xnack84_cpx_nps4, the campaign is for gfx90a_xnack84");
    g_assert_true(store_change_campaign(store, whole, "drop", NULL));
    add_campaign(store, "gfx90a_xnack84_cpx_nps4");
    expect_reason(store, "", "");
    end_worker(worker);
}

static void test_a_node_that_builds_is_asked_for_compilers_alone(void)
{
    static const char *const builds[] = {"--eval", "none", "--build", "1", NULL};
    static const struct expectation expected[] = {
        {"driver >= 535; cuda >= 13; runtime >= 13; hip >= 6", ""},
        {"driver >= 535; clang >= 99", "its "},
        {"hiprtc >= 99", "its "},
        {"nvrtc >= 99", "its "},
    };
    use_doubles(&makers[0]);
    g_autoptr(Store) store = scratch_store();
    add_campaign(store, makers[0].target);
    pid_t worker = live_agent(program(), builds);
    await_worker(store);
    for (gsize i = 0; i < G_N_ELEMENTS(expected); i++)
        expect_reason(store, expected[i].stack, expected[i].reason);
    end_worker(worker);
}

static void expect_name(Store *store, const char *name, const char *kind)
{
    g_autofree char *sql =
        g_strdup_printf("SELECT name FROM stack_names() WHERE name = '%s' AND %s", name, kind);
    g_autofree char *found = ask(store, sql);
    g_assert_cmpstr(found, ==, name);
}

/* A campaign may require each software that workers report: the database knows each name. */
static void test_constraints_may_name_all_that_workers_report(void)
{
    g_autoptr(Store) store = scratch_store();
    for (int i = 0; i < toolchain_table_count; i++)
        expect_name(store, toolchain_table[i]->name, "of_builders");
    const struct device_row *const devices[] = {&device_cuda, &device_hip, &device_opencl};
    for (gsize i = 0; i < G_N_ELEMENTS(devices); i++)
        expect_name(store, devices[i]->name, "is_runtime");
}

int main(int argc, char **argv)
{
    setlocale(LC_ALL, "C");
    g_test_init(&argc, &argv, NULL);
    g_test_set_nonfatal_assertions();
    for (gsize i = 0; i < G_N_ELEMENTS(makers); i++) {
        g_autofree char *path = g_strdup_printf(
            "/agent_row/a_node_with_gpus_is_asked_for_their_software/%s", i == 0 ? "cuda" : "hip");
        g_test_add_data_func(path, &makers[i], test_a_node_with_gpus_is_asked_for_their_software);
    }
    g_test_add_func("/agent_row/a_part_of_a_card_is_its_own_target",
                    test_a_part_of_a_card_is_its_own_target);
    g_test_add_func("/agent_row/a_node_that_builds_is_asked_for_compilers_alone",
                    test_a_node_that_builds_is_asked_for_compilers_alone);
    g_test_add_func("/agent_row/constraints_may_name_all_that_workers_report",
                    test_constraints_may_name_all_that_workers_report);
    return g_test_run();
}
