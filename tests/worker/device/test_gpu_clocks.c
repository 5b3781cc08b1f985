/* Locked clocks are unlocked, however the process that locked them ends; over a test double of the vendor's library.
 * This program is its own guard. */
#include "worker/device/gpu_clocks.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/temp_folder.h"
#include "worker/device/gpu_place.h"
#include "worker/protocol/protocol.h"

static const struct device_identity card = {.uuid = "GPU-d0d1d2d3-d4d5-d6d7-d8d9-dadbdcddde01",
                                            .address = "0000:3c:00.0"};

static const char *use_double(TempFolder *folder, const char *words)
{
    const char *library = g_getenv("SKIPJACK_MONITOR_DOUBLE");
    const char *log = temp_folder_path(folder, "clocks");
    g_setenv("SKIPJACK_NVML", library ? library : "build/tests/monitor_double.so", TRUE);
    g_setenv("SKIPJACK_LOCKS", temp_folder_path(folder, ""), TRUE);
    g_setenv("MONITOR_DOUBLE", words, TRUE);
    g_setenv("MONITOR_DOUBLE_LOG", log, TRUE);
    return log;
}

static void assert_log(const char *path, const char *expected)
{
    g_autofree char *text = NULL;
    g_file_get_contents(path, &text, NULL, NULL);
    g_assert_cmpstr(text ? text : "", ==, expected);
}

static void test_what_is_locked_is_given_back(void)
{
    g_autoptr(TempFolder) folder = temp_folder_new();
    g_autoptr(GError) error = NULL;
    struct gpu_clocks clocks;
    const char *log = use_double(folder, "talks");
    g_assert_true(gpu_clocks_lock(&clocks, VENDOR_NVIDIA, &card, 1410, -1, &error));
    g_assert_no_error(error);
    assert_log(log, "lock 1 1410\n");
    gpu_clocks_release(&clocks);
    assert_log(log, "lock 1 1410\nreset 1\n");
    gpu_clocks_release(&clocks);
    assert_log(log, "lock 1 1410\nreset 1\n");
}

/* The next process gets the GPU's lock only after the clocks are unlocked. */
static void test_who_is_killed_gives_back_too(void)
{
    g_autoptr(TempFolder) folder = temp_folder_new();
    g_autoptr(GError) error = NULL;
    const char *log = use_double(folder, "");
    bool held = false;
    pid_t child = fork();
    if (child == 0) {
        struct gpu_clocks clocks;
        int hold = gpu_place_hold(&card, 0, &held, NULL);
        gpu_clocks_lock(&clocks, VENDOR_NVIDIA, &card, 1410, hold, NULL);
        kill(getpid(), SIGKILL);
    }
    waitpid(child, NULL, 0);
    int hold = gpu_place_hold(&card, 20, &held, &error);
    g_assert_no_error(error);
    assert_log(log, "lock 1 1410\nreset 1\n");
    close(hold);
}

/* A container's end kills the guard, too: the next process that measures on the GPU unlocks the clocks. */
static void test_what_a_killed_guard_left_is_given_back(void)
{
    g_autoptr(TempFolder) folder = temp_folder_new();
    g_autoptr(GError) error = NULL;
    struct gpu_clocks clocks;
    const char *log = use_double(folder, "");
    g_assert_false(gpu_clocks_mend(VENDOR_NVIDIA, &card, &error));
    g_assert_true(gpu_clocks_lock(&clocks, VENDOR_NVIDIA, &card, 1410, -1, &error));
    kill((pid_t)clocks.guard, SIGKILL);
    gpu_clocks_release(&clocks);
    assert_log(log, "lock 1 1410\n");
    use_double(folder, "refused");
    g_assert_true(gpu_clocks_mend(VENDOR_NVIDIA, &card, &error));
    g_assert_error(error, DEVICE_ERROR, DEVICE_ERROR_UNAVAILABLE);
    g_clear_error(&error);
    use_double(folder, "");
    g_assert_true(gpu_clocks_mend(VENDOR_NVIDIA, &card, &error));
    g_assert_no_error(error);
    assert_log(log, "lock 1 1410\nreset 1\n");
    g_assert_false(gpu_clocks_mend(VENDOR_NVIDIA, &card, &error));
    g_assert_true(gpu_clocks_lock(&clocks, VENDOR_NVIDIA, &card, 1410, -1, &error));
    gpu_clocks_release(&clocks);
    g_assert_false(gpu_clocks_mend(VENDOR_NVIDIA, &card, &error));
}

static void test_a_refusal_is_told(void)
{
    static const struct {
        const char *words, *library, *told;
    } cases[] = {{"refused", NULL, "Insufficient Permissions"},
                 {"", "libnowhere.so", "SKIPJACK_NVML"},
                 {"", "libm.so.6", "too old"}};
    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autoptr(TempFolder) folder = temp_folder_new();
        g_autoptr(GError) error = NULL;
        struct gpu_clocks clocks;
        const char *log = use_double(folder, cases[i].words);
        if (cases[i].library)
            g_setenv("SKIPJACK_NVML", cases[i].library, TRUE);
        g_assert_false(gpu_clocks_lock(&clocks, VENDOR_NVIDIA, &card, 1410, -1, &error));
        g_assert_error(error, DEVICE_ERROR, DEVICE_ERROR_UNAVAILABLE);
        if (!strstr(error->message, cases[i].told))
            g_test_fail_printf("'%s' lacks '%s'", error->message, cases[i].told);
        gpu_clocks_release(&clocks);
        assert_log(log, "");
    }
}

static void test_a_clock_above_its_lock_is_not_locked(void)
{
    static const struct {
        int locked_mhz, sm_mhz, recorded;
    } cases[] = {{1410, 1410, 1410}, {1410, 1425, 1410}, {1410, 1200, 1410}, {1410, 1980, 0},
                 {1410, 0, 1410},    {0, 1980, 0},       {210, 225, 0},      {1980, 1980, 1980}};
    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
        struct conditions sample = {.sm_mhz_min = cases[i].sm_mhz, .sm_mhz_max = cases[i].sm_mhz};
        g_assert_cmpint(gpu_clocks_seen(cases[i].locked_mhz, &sample), ==, cases[i].recorded);
    }
}

/* The standard error of a process that locks clocks. */
static char *said_by_lock(const char *file)
{
    g_autoptr(GError) error = NULL;
    struct gpu_clocks clocks;
    char *text = NULL;
    int before = dup(STDERR_FILENO),
        to = open(file, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    fflush(stderr);
    dup2(to, STDERR_FILENO);
    g_assert_true(gpu_clocks_lock(&clocks, VENDOR_NVIDIA, &card, 1410, -1, &error));
    fflush(stderr);
    dup2(before, STDERR_FILENO);
    close(before);
    close(to);
    gpu_clocks_release(&clocks);
    g_assert_true(g_file_get_contents(file, &text, NULL, NULL));
    return text;
}

/* The file that records locked clocks must survive the process. In a container its usual folder
 * vanishes; the program then warns. */
static void test_a_mark_that_would_be_lost_is_told(void)
{
    g_autoptr(TempFolder) folder = temp_folder_new();
    for (int i = 0; i < 2; i++) {
        use_double(folder, "");
        if (i == 1)
            g_unsetenv("SKIPJACK_LOCKS");
        bool lasts = gpu_place_lasts(NULL);
        g_autofree char *said = said_by_lock(temp_folder_path(folder, "said"));
        g_assert_cmpint(strstr(said, "SKIPJACK_LOCKS") == NULL, ==, lasts);
        g_test_message("%s", lasts ? "lasts" : "is lost");
    }
}

/* Devices that are partitions of one card share its clocks, so their clocks are not locked. CUDA,
 * NVML or AMD's driver reports that a device is a partition. */
static void test_a_part_of_a_card_leaves_the_clocks_alone(void)
{
    static const struct {
        const char *words, *partition;
        bool locked;
    } cases[] = {
        {"", "MIG 1g.10gb", false}, {"instance", "", false}, {"", "CPX", false}, {"", "SPX", true}};
    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autoptr(TempFolder) folder = temp_folder_new();
        g_autoptr(GError) error = NULL;
        struct gpu_clocks clocks;
        struct device_identity device = card;
        const char *log = use_double(folder, cases[i].words);
        g_strlcpy(device.partition, cases[i].partition, sizeof(device.partition));
        bool locked = gpu_clocks_lock(&clocks, VENDOR_NVIDIA, &device, 1410, -1, &error);
        g_assert_cmpint(locked, ==, cases[i].locked);
        if (!locked && !(error && strstr(error->message, "part of a card")))
            g_test_fail_printf("%zu: %s", i, error ? error->message : "no error");
        if (!locked)
            g_assert_false(gpu_clocks_mend(VENDOR_NVIDIA, &device, NULL));
        gpu_clocks_release(&clocks);
        assert_log(log, locked ? "lock 1 1410\nreset 1\n" : "");
    }
}

int main(int argc, char **argv)
{
    if (argc > 2 && strcmp(argv[1], CHILD_COMMAND) == 0 && strcmp(argv[2], GPU_CLOCKS_ROLE) == 0)
        return gpu_clocks_guard(argc - 3, argv + 3);
    g_test_init(&argc, &argv, NULL);
    g_test_set_nonfatal_assertions();
    g_test_add_func("/gpu_clocks/locked_clocks_are_unlocked", test_what_is_locked_is_given_back);
    g_test_add_func("/gpu_clocks/clocks_of_a_killed_process_are_unlocked",
                    test_who_is_killed_gives_back_too);
    g_test_add_func("/gpu_clocks/clocks_of_a_killed_guard_are_unlocked_by_the_next_process",
                    test_what_a_killed_guard_left_is_given_back);
    g_test_add_func("/gpu_clocks/refusal_of_the_driver_is_an_error", test_a_refusal_is_told);
    g_test_add_func("/gpu_clocks/clock_above_its_lock_counts_as_unlocked",
                    test_a_clock_above_its_lock_is_not_locked);
    g_test_add_func("/gpu_clocks/folder_that_is_lost_with_the_container_is_warned_of",
                    test_a_mark_that_would_be_lost_is_told);
    g_test_add_func("/gpu_clocks/parts_of_a_card_are_refused",
                    test_a_part_of_a_card_leaves_the_clocks_alone);
    return g_test_run();
}
