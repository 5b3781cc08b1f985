/* A GPU's lock, held by one process at a time, and the cores near the GPU. */
#include "worker/device/gpu_place.h"

#include <glib/gstdio.h>
#include <sched.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/patience.h"
#include "tests/support/temp_folder.h"

static const struct device_identity card = {.uuid = "GPU-1", .address = "0000:65:00.0"},
                                    other = {.address = "0000:66:00.0"}, nobody;

/* Tries to lock the GPU in another process, and returns the result. */
static int try_elsewhere(const struct device_identity *identity)
{
    pid_t child = fork();
    if (child == 0) {
        bool held;
        g_autoptr(GError) error = NULL;
        gpu_place_hold(identity, 0, &held, &error);
        _exit(held ? 0 : error ? 1 : 2);
    }
    int status = -1;
    waitpid(child, &status, 0);
    return WEXITSTATUS(status);
}

static void test_one_process_holds_a_gpu(void)
{
    g_autoptr(TempFolder) folder = temp_folder_new();
    g_autoptr(GError) error = NULL;
    bool held;
    g_setenv("SKIPJACK_LOCKS", temp_folder_path(folder, ""), TRUE);
    int hold = gpu_place_hold(&card, 0, &held, &error);
    g_assert_no_error(error);
    g_assert_true(held && hold >= 0);
    g_assert_cmpint(try_elsewhere(&card), ==, 1);
    g_assert_cmpint(try_elsewhere(&other), ==, 0);
    close(hold);
    g_assert_cmpint(try_elsewhere(&card), ==, 0);
    g_assert_cmpint(try_elsewhere(&nobody), ==, 2);
}

/* The second process waits until the first one, which holds the lock, has ended. */
static void test_who_comes_second_waits(void)
{
    g_autoptr(TempFolder) folder = temp_folder_new();
    g_autoptr(GError) error = NULL;
    bool held = false;
    int ready[2], leash[2];
    char byte;
    g_setenv("SKIPJACK_LOCKS", temp_folder_path(folder, ""), TRUE);
    g_assert_true(pipe(ready) == 0 && pipe(leash) == 0);
    pid_t child = fork();
    if (child == 0) {
        close(leash[1]);
        gpu_place_hold(&card, 0, &held, NULL);
        if (write(ready[1], "", 1) == 1 && read(leash[0], &byte, 1) == 0)
            g_usleep(300000); /* the other process waits by then */
        _exit(0);
    }
    g_assert_true(read(ready[0], &byte, 1) == 1);
    gpu_place_hold(&card, 0.05, &held, &error);
    g_assert_error(error, DEVICE_ERROR, DEVICE_ERROR_UNAVAILABLE);
    g_assert_nonnull(strstr(error->message, "GPU-1"));
    g_clear_error(&error);
    close(leash[1]);
    int hold = gpu_place_hold(&card, PATIENCE_SECONDS, &held, &error);
    g_assert_no_error(error);
    g_assert_true(held);
    close(hold);
    close(leash[0]);
    close(ready[0]);
    close(ready[1]);
    waitpid(child, NULL, 0);
}

/* The folder of locks is writable for all: a file or link of another user in a lock's place is not
 * followed. */
static void test_what_somebody_laid_there_is_not_followed(void)
{
    g_autoptr(TempFolder) folder = temp_folder_new();
    g_autoptr(GError) error = NULL;
    bool held;
    const char *there = temp_folder_write(folder, "elsewhere", "words", -1);
    g_setenv("SKIPJACK_LOCKS", temp_folder_path(folder, ""), TRUE);
    g_assert_true(symlink(there, temp_folder_path(folder, "skipjack-GPU-1.lock")) == 0);
    g_assert_cmpint(gpu_place_hold(&card, 0, &held, &error), ==, -1);
    g_assert_false(held);
    g_assert_error(error, DEVICE_ERROR, DEVICE_ERROR_UNAVAILABLE);
    g_assert_nonnull(strstr(error->message, "SKIPJACK_LOCKS"));
}

#define HIDDEN 2 /* TMPDIR is a folder that only its owner can read */

/* A process of another user with its own umask, which keeps a lock until it is asked to release it. */
struct other_user {
    pid_t process;
    int leash, result;
};

static struct other_user try_as_nobody(const char *const *folders, mode_t mask)
{
    struct other_user other_user = {.result = -1};
    int leash[2], answers[2];
    unsigned char answer = 255;
    g_assert_true(pipe(leash) == 0 && pipe(answers) == 0);
    other_user.process = fork();
    if (other_user.process == 0) {
        g_autoptr(GError) error = NULL;
        bool held = false;
        close(leash[1]);
        umask(mask);
        if (geteuid() == 0 && setuid(65534) != 0)
            _exit(1);
        gpu_place_hold_in(folders, &card, 0, &held, &error);
        answer = held ? 0 : access(folders[1], W_OK) == 0 ? 1 : HIDDEN;
        if (write(answers[1], &answer, 1) == 1)
            _exit(read(leash[0], &answer, 1) > 0);
        _exit(1);
    }
    close(leash[0]);
    close(answers[1]);
    if (read(answers[0], &answer, 1) == 1)
        other_user.result = answer;
    close(answers[0]);
    other_user.leash = leash[1];
    return other_user;
}

static void end_other(const struct other_user *other_user)
{
    close(other_user->leash);
    waitpid(other_user->process, NULL, 0);
}

static int mode_of(const char *path)
{
    GStatBuf status;
    return g_stat(path, &status) == 0 ? (int)(status.st_mode & 0777) : -1;
}

/* Only one user can write to the first folder; all users can write to the second. */
static void test_users_with_other_rights_exclude_each_other(void)
{
    g_autoptr(TempFolder) folder = temp_folder_new();
    g_autoptr(GError) error = NULL;
    bool held = false;
    g_autofree char *narrow = g_strdup(temp_folder_path(folder, "narrow")),
                    *open_to_all = g_strdup(temp_folder_path(folder, "all"));
    const char *const folders[] = {narrow, open_to_all, NULL};
    g_chmod(temp_folder_path(folder, ""), 0755);
    g_assert_true(g_mkdir(narrow, 0755) == 0 && g_mkdir(open_to_all, 0755) == 0);
    g_chmod(open_to_all, 01777);
    g_chmod(narrow, 0555);
    struct other_user first = try_as_nobody(folders, 0077);
    if (first.result == HIDDEN) {
        g_test_skip("another user does not get into the folder of temporary files");
        end_other(&first);
        return;
    }
    g_assert_cmpint(first.result, ==, 0);
    g_chmod(narrow, 0755);
    g_assert_cmpint(mode_of(temp_folder_path(folder, "all/skipjack-GPU-1.lock")), ==, 0644);
    g_assert_cmpint(gpu_place_hold_in(folders, &card, 0, &held, &error), ==, -1);
    g_assert_error(error, DEVICE_ERROR, DEVICE_ERROR_UNAVAILABLE);
    g_clear_error(&error);
    end_other(&first);
    mode_t mask = umask(0077);
    int hold = gpu_place_hold_in(folders, &card, 0, &held, &error);
    umask(mask);
    g_assert_no_error(error);
    g_assert_true(held);
    g_assert_cmpint(mode_of(temp_folder_path(folder, "narrow/skipjack-GPU-1.lock")), ==, 0644);
    g_chmod(narrow, 0555);
    struct other_user second = try_as_nobody(folders, 0077);
    g_assert_cmpint(second.result, ==, 1);
    end_other(&second);
    close(hold);
    struct other_user third = try_as_nobody(folders, 0077);
    g_assert_cmpint(third.result, ==, 0);
    g_assert_cmpint(gpu_place_hold_in(folders, &card, 0, &held, NULL), ==, -1);
    end_other(&third);
    g_chmod(narrow, 0755);
}

/* A lock file that cannot be opened is an error: a lock in the next folder would not exclude the
 * process that holds the first. */
static void test_a_lock_that_cannot_be_opened_is_not_passed_by(void)
{
    g_autoptr(TempFolder) folder = temp_folder_new();
    g_autoptr(GError) error = NULL;
    bool held = true;
    g_autofree char *none = g_strdup(temp_folder_path(folder, "none")),
                    *there = g_strdup(temp_folder_path(folder, ""));
    const char *const beside[] = {none, there, NULL}, *const behind[] = {there, none, NULL};
    int hold = gpu_place_hold_in(beside, &card, 0, &held, &error);
    g_assert_no_error(error);
    g_assert_true(held);
    close(hold);
    g_assert_true(g_unlink(temp_folder_path(folder, "skipjack-GPU-1.lock")) == 0);
    g_assert_true(symlink("/dev/null", temp_folder_path(folder, "skipjack-GPU-1.lock")) == 0);
    g_assert_cmpint(gpu_place_hold_in(behind, &card, 0, &held, &error), ==, -1);
    g_assert_error(error, DEVICE_ERROR, DEVICE_ERROR_UNAVAILABLE);
    g_assert_false(held);
}

/* Whether a folder is the host's own, and so outlives a container: the second root lacks the
 * folder, the third has another folder of that name. */
static void test_a_folder_of_the_hosts_lasts(void)
{
    g_autoptr(TempFolder) folder = temp_folder_new();
    g_autofree char *locks = g_strdup(temp_folder_path(folder, "locks")),
                    *empty = g_strdup(temp_folder_path(folder, "empty")),
                    *others = g_strdup(temp_folder_path(folder, "others"));
    g_autofree char *same_name = g_strconcat(others, locks, NULL);
    g_assert_true(g_mkdir(locks, 0755) == 0 && g_mkdir(empty, 0755) == 0 &&
                  g_mkdir_with_parents(same_name, 0755) == 0);
    g_setenv("SKIPJACK_LOCKS", locks, TRUE);
    g_assert_true(gpu_place_lasts(""));
    g_assert_false(gpu_place_lasts(empty));
    g_assert_false(gpu_place_lasts(others));
}

static int pinned_to(const char *cpus, cpu_set_t *after)
{
    g_autoptr(TempFolder) folder = temp_folder_new();
    cpu_set_t before;
    g_assert_true(g_mkdir(temp_folder_path(folder, card.address), 0700) == 0);
    if (cpus)
        temp_folder_write(folder, "0000:65:00.0/local_cpulist", cpus, -1);
    g_setenv("SKIPJACK_PCI", temp_folder_path(folder, ""), TRUE);
    sched_getaffinity(0, sizeof(before), &before);
    int cores = gpu_place_pin(&card);
    sched_getaffinity(0, sizeof(*after), after);
    sched_setaffinity(0, sizeof(before), &before);
    return cores;
}

static void test_it_stays_near_its_gpu(void)
{
    cpu_set_t mine, after;
    int last = -1;
    sched_getaffinity(0, sizeof(mine), &mine);
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
        last = CPU_ISSET(cpu, &mine) ? cpu : last;
    g_autofree char *one = g_strdup_printf("%d,1000-1100\n", last);
    g_autofree char *all = g_strdup_printf("0-%d\n", CPU_SETSIZE - 1);
    if (CPU_COUNT(&mine) > 1) {
        g_assert_cmpint(pinned_to(one, &after), ==, 1);
        g_assert_true(CPU_COUNT(&after) == 1 && CPU_ISSET(last, &after));
    }
    const char *const nothing[] = {all, "1000-1001\n", "\n", "none of it\n", NULL};
    for (gsize i = 0; i < G_N_ELEMENTS(nothing); i++) {
        g_assert_cmpint(pinned_to(nothing[i], &after), ==, 0);
        g_assert_true(CPU_EQUAL(&after, &mine));
    }
    g_assert_cmpint(gpu_place_pin(&nobody), ==, 0);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_set_nonfatal_assertions();
    g_test_add_func("/gpu_place/one_process_holds_a_gpu", test_one_process_holds_a_gpu);
    g_test_add_func("/gpu_place/second_process_waits", test_who_comes_second_waits);
    g_test_add_func("/gpu_place/links_and_fifos_of_others_are_refused",
                    test_what_somebody_laid_there_is_not_followed);
    g_test_add_func("/gpu_place/users_with_other_rights_exclude_each_other",
                    test_users_with_other_rights_exclude_each_other);
    g_test_add_func("/gpu_place/lock_that_cannot_be_opened_is_an_error",
                    test_a_lock_that_cannot_be_opened_is_not_passed_by);
    g_test_add_func("/gpu_place/folder_of_the_host_lasts", test_a_folder_of_the_hosts_lasts);
    g_test_add_func("/gpu_place/process_stays_near_its_gpu", test_it_stays_near_its_gpu);
    return g_test_run();
}
