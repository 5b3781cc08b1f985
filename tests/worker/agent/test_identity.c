/* Processes that count as dead, and processes that do not: of this machine, of an earlier boot, and of namespaces that
 * cannot be seen. */
#include "worker/agent/identity.h"

#include <glib/gstdio.h>
#include <locale.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

static void own_process_lives(void)
{
    g_autofree char *own = identity_process();
    g_auto(GStrv) parts = g_strsplit(own, ":", -1);
    g_assert_cmpuint(g_strv_length(parts), ==, 4);
    g_assert_cmpint(atoi(parts[2]), ==, (int)getpid());
    g_assert_false(identity_is_dead(own));
}

/* The text of an identity with one of its four parts changed. */
static char *with_part(int index, const char *text)
{
    g_autofree char *own = identity_process();
    g_auto(GStrv) parts = g_strsplit(own, ":", -1);
    g_free(parts[index]);
    parts[index] = g_strdup(text);
    return g_strjoinv(":", parts);
}

static void others_are_told_apart(void)
{
    static const struct {
        int part;
        const char *text;
        bool dead;
    } cases[] = {
        {0, "00000000-0000-0000-0000-000000000000", true}, /* an earlier boot */
        {1, "1", false},         /* a process of a process namespace that is not ours */
        {2, "2147483646", true}, /* no such process */
        {3, "1", true},          /* the process id was reused by another process */
        {2, "no", false},
    };
    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autofree char *process = with_part(cases[i].part, cases[i].text);
        g_assert_cmpint(identity_is_dead(process), ==, cases[i].dead);
    }
    g_assert_false(identity_is_dead("boot:12:34"));
    g_assert_false(identity_is_dead(""));
}

static void ended_child_is_dead(void)
{
    int ends[2];
    char text[200] = "";
    g_assert_true(pipe(ends) == 0);
    pid_t child = fork();
    if (child == 0) {
        g_autofree char *own = identity_process();
        bool written = write(ends[1], own, strlen(own)) > 0;
        pause();
        _exit(written ? 0 : 1);
    }
    g_assert_cmpint(read(ends[0], text, sizeof text - 1), >, 0);
    g_assert_false(identity_is_dead(text));
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    g_assert_true(identity_is_dead(text));
    close(ends[0]);
    close(ends[1]);
}

/* A worker removes the folders of dead workers, and none of a worker that it cannot see. */
static void scratch_of_the_dead_alone_is_removed(void)
{
    g_autoptr(GError) error = NULL;
    const char *folder = g_get_tmp_dir();
    g_autofree char *dead = with_part(3, "1");
    g_autofree char *unseen = with_part(1, "1");
    g_autofree char *dead_name = g_strconcat("skipjack-worker-", dead, ":a1B2c3", NULL);
    g_autofree char *unseen_name = g_strconcat("skipjack-worker-", unseen, ":a1B2c3", NULL);
    g_autofree char *dead_path = g_build_filename(folder, dead_name, NULL);
    g_autofree char *unseen_path = g_build_filename(folder, unseen_name, NULL);
    g_autofree char *old_name = g_strconcat("skipjack-worker-", dead, NULL);
    g_autofree char *old_path = g_build_filename(folder, old_name, NULL);
    g_assert_cmpint(g_mkdir_with_parents(dead_path, 0700), ==, 0);
    g_assert_cmpint(g_mkdir_with_parents(old_path, 0700), ==, 0);
    g_assert_cmpint(g_mkdir_with_parents(unseen_path, 0700), ==, 0);
    g_autofree char *own = identity_make_scratch(&error);
    g_assert_no_error(error);
    g_assert_true(g_str_has_prefix(own, folder));
    g_assert_false(g_file_test(dead_path, G_FILE_TEST_EXISTS));
    g_assert_false(g_file_test(old_path, G_FILE_TEST_EXISTS));
    g_assert_true(g_file_test(unseen_path, G_FILE_TEST_EXISTS));
    identity_remove_scratch(own);
    identity_remove_scratch(unseen_path);
}

/* Older programs' folders have no random part: they take all of our folder's name for a process's
 * identity, and must find that process alive, so that they do not remove the folder. */
static void scratch_is_left_by_earlier_programs(void)
{
    g_autoptr(GError) error = NULL;
    g_autofree char *own = identity_make_scratch(&error);
    g_assert_no_error(error);
    g_autofree char *name = g_path_get_basename(own);
    g_assert_false(identity_is_dead(name + strlen("skipjack-worker-")));
    identity_remove_scratch(own);
}

/* Another user knows how the folder is named and has created it to put code into it: it is not
 * used. */
static void scratch_that_was_made_first_is_not_used(void)
{
    g_autoptr(GError) error = NULL;
    struct stat status;
    g_autofree char *process = identity_process();
    g_autofree char *name = g_strconcat("skipjack-worker-", process, NULL);
    g_autofree char *first = g_build_filename(g_get_tmp_dir(), name, NULL);
    g_assert_cmpint(g_mkdir(first, 0777), ==, 0);
    g_assert_cmpint(g_chmod(first, 0777), ==, 0);
    if (geteuid() == 0)
        g_assert_cmpint(chown(first, 65534, 65534), ==, 0);
    g_autofree char *own = identity_make_scratch(&error);
    g_assert_no_error(error);
    g_assert_cmpstr(own, !=, first);
    g_assert_cmpint(lstat(own, &status), ==, 0);
    g_assert_true(S_ISDIR(status.st_mode));
    g_assert_cmpint(status.st_mode & 07777, ==, 0700);
    g_assert_cmpint(status.st_uid, ==, geteuid());
    g_autofree char *second = identity_make_scratch(&error);
    g_assert_cmpstr(own, !=, second);
    identity_remove_scratch(second);
    identity_remove_scratch(own);
    identity_remove_scratch(first);
}

/* Returns the scratch folder (or the error) chosen by a process that sees such folders mounted
 * noexec; NULL if such mounts cannot be made. */
static char *scratch_under_noexec(bool both)
{
    int ends[2];
    char text[512] = "";
    g_assert_true(pipe(ends) == 0);
    pid_t child = fork();
    if (child == 0) {
        g_autoptr(GError) error = NULL;
        if (unshare(CLONE_NEWNS) != 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
            mount("tmpfs", g_get_tmp_dir(), "tmpfs", MS_NOEXEC, NULL) != 0 ||
            mount("tmpfs", "/var/tmp", "tmpfs", both ? MS_NOEXEC : 0, NULL) != 0)
            _exit(1);
        g_autofree char *own = identity_make_scratch(&error);
        const char *said = own ? own : error->message;
        _exit(write(ends[1], said, strlen(said)) > 0 ? 0 : 1);
    }
    close(ends[1]);
    ssize_t length = read(ends[0], text, sizeof text - 1);
    close(ends[0]);
    waitpid(child, NULL, 0);
    return length > 0 ? g_strdup(text) : NULL;
}

/* Code cannot be loaded from a folder mounted noexec, so another folder is chosen: otherwise each
 * kernel for CPUs would count as crashing its compiler. */
static void scratch_is_where_code_may_be_loaded(void)
{
    g_autofree char *other = scratch_under_noexec(false);
    g_autofree char *none = scratch_under_noexec(true);
    if (!other || !none) {
        g_test_skip("mounts of its own cannot be made here");
        return;
    }
    g_assert_true(g_str_has_prefix(other, "/var/tmp/skipjack-worker-"));
    g_assert_nonnull(strstr(none, "noexec"));
    g_assert_nonnull(strstr(none, "TMPDIR"));
}

int main(int argc, char **argv)
{
    /* GLib reads TMPDIR once in a process. */
    char folder[] = "/tmp/skipjack-test-XXXXXX";
    g_assert_nonnull(mkdtemp(folder));
    g_setenv("TMPDIR", folder, TRUE);
    setlocale(LC_ALL, "C");
    g_test_init(&argc, &argv, NULL);
    g_test_set_nonfatal_assertions();
    g_test_add_func("/identity/own_process_lives", own_process_lives);
    g_test_add_func("/identity/others_are_told_apart", others_are_told_apart);
    g_test_add_func("/identity/ended_child_is_dead", ended_child_is_dead);
    g_test_add_func("/identity/scratch_of_the_dead_alone_is_removed",
                    scratch_of_the_dead_alone_is_removed);
    g_test_add_func("/identity/scratch_is_left_by_earlier_programs",
                    scratch_is_left_by_earlier_programs);
    g_test_add_func("/identity/scratch_that_was_made_first_is_not_used",
                    scratch_that_was_made_first_is_not_used);
    g_test_add_func("/identity/scratch_is_where_code_may_be_loaded",
                    scratch_is_where_code_may_be_loaded);
    int status = g_test_run();
    rmdir(folder);
    return status;
}
