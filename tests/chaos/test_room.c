/* The room of chaos (chaos_room.h) on machines that lack something: a root folder that is no mount,
 * as in a chroot, and a root without /dev/shm. The test makes such roots by mounting this machine's
 * folders into a new one. */
#include "tests/support/chaos/chaos_room.h"

#include <errno.h>
#include <glib/gstdio.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

static char *self;

static bool is_link(const char *path)
{
    return g_file_test(path, G_FILE_TEST_IS_SYMLINK);
}

/* Makes everything below / except `left_out` available below `root`, whether it is a folder, a link
 * or a mount. Returns false with errno. */
static bool furnish_root(const char *root, const char *left_out)
{
    g_autoptr(GDir) folder = g_dir_open("/", 0, NULL);
    const char *name;
    while ((name = g_dir_read_name(folder)) != NULL) {
        g_autofree char *from = g_build_filename("/", name, NULL);
        g_autofree char *to = g_build_filename(root, name, NULL);
        g_autofree char *link = is_link(from) ? g_file_read_link(from, NULL) : NULL;
        if (strcmp(from, left_out) == 0)
            continue;
        if (link != NULL ? symlink(link, to) != 0
                         : g_file_test(from, G_FILE_TEST_IS_DIR) &&
                               (g_mkdir(to, 0755) != 0 ||
                                mount(from, to, NULL, MS_BIND | MS_REC, NULL) != 0))
            return false;
    }
    return true;
}

/* Removes the empty folders and links of `root`; the mounts in it went with their namespace. */
static void remove_root(const char *root)
{
    g_autoptr(GDir) folder = g_dir_open(root, 0, NULL);
    const char *name;
    while ((name = g_dir_read_name(folder)) != NULL) {
        g_autofree char *path = g_build_filename(root, name, NULL);
        g_assert_cmpint(is_link(path) ? g_unlink(path) : g_rmdir(path), ==, 0);
    }
    g_assert_cmpint(g_rmdir(root), ==, 0);
}

/* Mounts of this process's namespace; free with g_free(). */
static char *mounts(void)
{
    char *text = NULL;
    g_file_get_contents("/proc/self/mounts", &text, NULL, NULL);
    return text;
}

/* Starts the program in a new root and reports whether it left mounts. Runs in a namespace whose
 * mounts are shared with its peers, as a host's are. */
static int enter_in_root(const char *root, const char *left_out)
{
    int status;
    if (unshare(CLONE_NEWNS) != 0 || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
        mount("none", "/", NULL, MS_REC | MS_SHARED, NULL) != 0 || !furnish_root(root, left_out))
        return 77;
    g_autofree char *before = mounts();
    pid_t pid = fork();
    if (pid == 0) {
        if (chroot(root) != 0 || chdir("/") != 0)
            _exit(77);
        execl(self, self, "--enter", NULL);
        _exit(127);
    }
    if (pid < 0 || waitpid(pid, &status, 0) != pid)
        return 77;
    g_autofree char *after = mounts();
    if (strcmp(before, after) != 0)
        dprintf(1, "mounts are left: %s", after);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* Runs the program in a root folder like this machine's but without `left_out`; returns its output
 * and exit status. Returns NULL, after skipping the test, if such a root or a room cannot be made
 * here. */
static char *words_in_root(const char *left_out)
{
    const char *const argv[] = {self, "--enter", NULL};
    g_autofree char *here = NULL, *root = g_dir_make_tmp("skipjack-root-XXXXXX", NULL);
    g_autoptr(GString) words = g_string_new("");
    char bytes[512];
    int fds[2], status;
    ssize_t count;

    g_spawn_sync(NULL, (char **)(uintptr_t)argv, NULL, G_SPAWN_DEFAULT, NULL, NULL, &here, NULL,
                 NULL, NULL);
    g_assert_cmpint(pipe(fds), ==, 0);
    pid_t pid = fork();
    if (pid == 0) {
        dup2(fds[1], 1);
        dup2(fds[1], 2);
        _exit(enter_in_root(root, left_out));
    }
    close(fds[1]);
    while ((count = read(fds[0], bytes, sizeof bytes)) > 0)
        g_string_append_len(words, bytes, count);
    close(fds[0]);
    g_assert_cmpint(waitpid(pid, &status, 0), ==, pid);
    remove_root(root);
    g_string_append_printf(words, "it ended with %d\n", WEXITSTATUS(status));
    if (g_str_has_prefix(here ? here : "", "loopback"))
        g_test_skip(here);
    else if (WEXITSTATUS(status) == 77)
        g_test_skip("this root folder is itself no mount");
    else
        return g_strdup(words->str);
    return NULL;
}

static void test_a_root_that_is_no_mount_has_all_of_it(void)
{
    g_autofree char *words = words_in_root("/none");
    if (words != NULL)
        g_assert_cmpstr(words, ==,
                        "a room of its own, with a disk, a host and its folder\nit ended with 0\n");
}

static void test_what_cannot_be_had_is_skipped_with_its_reason(void)
{
    g_autofree char *words = words_in_root("/dev");
    if (words != NULL)
        g_assert_cmpstr(words, ==,
                        "loopback: namespaces of its own: cannot mount /dev/shm: No such file or "
                        "directory\nit ended with 0\n");
}

/* Prints what the room offers here. */
static int enter(void)
{
    const char *reason;
    bool own_disk, own = room_enter(&reason);
    if (!own) {
        printf("loopback: %s\n", reason);
        return 0;
    }
    g_autofree char *disk = room_make_disk("disk", 8, &own_disk);
    g_autofree char *host = room_make_host(0);
    printf("a room of its own, with %s, %s and %s\n", own_disk ? "a disk" : "no disk",
           strcmp(host, "10.77.0.1") == 0 ? "a host" : "no host",
           g_access(room_folder(), R_OK | W_OK) == 0 ? "its folder" : "no folder");
    return 0;
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "--enter") == 0)
        return enter();
    self = realpath(argv[0], NULL);
    g_test_init(&argc, &argv, NULL);
    g_test_set_nonfatal_assertions();
    g_test_add_func("/room/a_root_that_is_no_mount_has_all_of_it",
                    test_a_root_that_is_no_mount_has_all_of_it);
    g_test_add_func("/room/what_cannot_be_had_is_skipped_with_its_reason",
                    test_what_cannot_be_had_is_skipped_with_its_reason);
    return g_test_run();
}
