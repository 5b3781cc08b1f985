/* Homes of the embedded PostgreSQL: half made, with too long a path, closed, or owned by another user. */
#include "schema/server/embedded.h"

#include "schema/store/store_problems.h"
#include "tests/support/farm/own_cluster.h"
#include "tests/support/farm/scratch_db.h"
#include "tests/support/patience.h"

#include <glib/gstdio.h>
#include <grp.h>
#include <linux/capability.h>
#include <locale.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* Runs `body` with another home. Its server is stopped afterwards; the scratch folder keeps its files. */
static void with_home(const char *home, void (*body)(const char *home))
{
    g_setenv("SKIPJACK_HOME", home, TRUE);
    body(home);
    own_cluster_stop();
    g_setenv("SKIPJACK_HOME", scratch_home(), TRUE);
}

static void check_half_made(const char *home)
{
    g_autofree char *folder = g_build_filename(home, "postgres", "data.new", "base", NULL);
    g_autofree char *file = g_build_filename(folder, "half", NULL);
    g_assert_cmpint(g_mkdir_with_parents(folder, 0755), ==, 0);
    g_assert_true(g_file_set_contents(file, "half", -1, NULL));
    own_cluster_start();
    own_cluster_expect("SELECT 1", "1");
    g_autofree char *made = g_build_filename(home, "postgres", "data.new", NULL);
    g_assert_false(g_file_test(made, G_FILE_TEST_EXISTS));
}

static void test_half_made_cluster_is_made_anew(void)
{
    g_autofree char *home = g_build_filename(scratch_home(), "half", NULL);
    with_home(home, check_half_made);
}

/* initdb goes on for seconds after its parent was killed, and must not disturb another command's. */
static void check_killed_initdb(const char *home)
{
    g_autofree char *made = g_build_filename(home, "postgres", "data.new", "base", NULL);
    pid_t child = fork();
    if (child == 0)
        _exit(embedded_start(NULL) ? 0 : 1);
    gint64 deadline = patience_end();
    while (!g_file_test(made, G_FILE_TEST_EXISTS) && g_get_monotonic_time() < deadline)
        g_usleep(1000);
    g_assert_true(g_file_test(made, G_FILE_TEST_EXISTS));
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    own_cluster_start();
    own_cluster_expect("SELECT 1", "1");
}

static void test_killed_initdb_harms_no_other(void)
{
    g_autofree char *home = g_build_filename(scratch_home(), "killed", NULL);
    with_home(home, check_killed_initdb);
}

static void check_long(const char *home)
{
    struct stat folder;
    g_assert_cmpuint(strlen(home), >, 120);
    own_cluster_start();
    own_cluster_expect("SELECT 1", "1");
    struct embedded_status status = own_cluster_status();
    g_assert_cmpuint(strlen(status.socket_dir), <, 90);
    g_assert_cmpint(lstat(status.socket_dir, &folder), ==, 0);
    g_assert_cmpint(folder.st_mode & 07777, ==, 0700);
    own_cluster_stop();
    g_assert_cmpint(g_rmdir(status.socket_dir), ==, 0);
    g_assert_cmpint(symlink("/tmp", status.socket_dir), ==, 0);
    g_autoptr(GError) error = NULL;
    g_assert_false(embedded_start(&error));
    g_assert_nonnull(strstr(error->message, status.socket_dir));
    g_assert_cmpint(unlink(status.socket_dir), ==, 0);
    if (geteuid() == 0) {
        g_clear_error(&error);
        g_assert_cmpint(g_mkdir(status.socket_dir, 0755), ==, 0);
        g_assert_cmpint(chown(status.socket_dir, 12345, 12345), ==, 0);
        g_assert_false(embedded_start(&error));
        g_assert_nonnull(strstr(error->message, "belongs to another user"));
        g_assert_cmpint(g_rmdir(status.socket_dir), ==, 0);
    }
    embedded_status_clear(&status);
}

static void test_long_home_has_its_socket_elsewhere(void)
{
    g_autofree char *name = g_strnfill(110, 'x');
    g_autofree char *home = g_build_filename(scratch_home(), name, NULL);
    with_home(home, check_long);
}

static void test_closed_parent_is_named_with_the_remedy(void)
{
    g_autoptr(GError) error = NULL;
    if (geteuid() != 0) {
        g_test_skip("only root's server runs as another user");
        return;
    }
    g_autofree char *closed = g_build_filename(scratch_home(), "closed", NULL);
    g_autofree char *home = g_build_filename(closed, "home", NULL);
    g_assert_cmpint(g_mkdir(closed, 0700), ==, 0);
    g_setenv("SKIPJACK_HOME", home, TRUE);
    g_assert_false(embedded_start(&error));
    g_assert_nonnull(error);
    g_assert_nonnull(strstr(error->message, closed));
    g_assert_nonnull(strstr(error->message, "chmod o+x"));
    g_setenv("SKIPJACK_HOME", scratch_home(), TRUE);
}

/* Runs the test as a user other than root, in a child, since dropping root is final. Only one of the
 * user's groups can pass the folders above the home. */
static void test_user_without_privileges_has_a_database_too(void)
{
    const struct passwd *nobody = getpwnam("nobody");
    const gid_t team = 12345;
    if (geteuid() != 0 || nobody == NULL) {
        g_test_skip("only root can become another user");
        return;
    }
    g_autofree char *shared = g_build_filename(scratch_home(), "team", NULL);
    g_autofree char *home = g_build_filename(shared, "nobody", NULL);
    g_assert_cmpint(g_mkdir_with_parents(home, 0700), ==, 0);
    g_assert_cmpint(chown(home, nobody->pw_uid, nobody->pw_gid), ==, 0);
    g_assert_cmpint(chown(shared, 0, team), ==, 0);
    g_assert_cmpint(g_chmod(shared, 0770), ==, 0);
    g_setenv("SKIPJACK_HOME", home, TRUE);
    pid_t child = fork();
    if (child == 0) {
        if (setgroups(1, &team) != 0 || setgid(nobody->pw_gid) != 0 || setuid(nobody->pw_uid) != 0)
            _exit(2);
        Store *store = database_open(true, NULL);
        bool done = store != NULL && store_put_problems(store, NULL, 0, NULL, NULL, NULL);
        store_close(store);
        _exit(done && embedded_stop(NULL) ? 0 : 1);
    }
    int status = -1;
    waitpid(child, &status, 0);
    g_assert_cmpint(status, ==, 0);
    g_setenv("SKIPJACK_HOME", scratch_home(), TRUE);
}

/* PostgreSQL and libpq take a list of socket folders separated by commas, so a comma in the home's
 * path must be handled. */
static void check_comma(const char *home)
{
    g_assert_nonnull(strchr(home, ','));
    own_cluster_start();
    own_cluster_expect("SELECT 1", "1");
    struct embedded_status status = own_cluster_status();
    g_assert_null(strchr(status.socket_dir, ','));
    own_cluster_stop();
    g_assert_cmpint(g_rmdir(status.socket_dir), ==, 0);
    embedded_status_clear(&status);
}

static void test_home_may_have_a_comma(void)
{
    g_autofree char *home = g_build_filename(scratch_home(), "one,two", NULL);
    g_autofree char *made = g_build_filename(scratch_home(), "half", NULL);
    /* The finished cluster is renamed to the next home, since another initdb would take seconds. */
    if (g_rename(made, home) != 0)
        g_test_message("'%s' is not there: another one is made", made);
    with_home(home, check_comma);
}

/* A user number without an entry in /etc/passwd. */
static uid_t nameless_user(void)
{
    uid_t uid = 54321;
    while (getpwuid(uid) != NULL)
        uid++;
    return uid;
}

/* Runs `body` in a child as that user. Returns its error, or "done". Free with g_free(). */
static char *as_user(uid_t uid, bool (*body)(GError **error))
{
    int ends[2];
    char text[2000] = "";
    g_assert_cmpint(pipe(ends), ==, 0);
    pid_t child = fork();
    if (child == 0) {
        g_autoptr(GError) error = NULL;
        if (setgroups(0, NULL) != 0 || setgid(uid) != 0 || setuid(uid) != 0)
            _exit(2);
        bool done = body(&error);
        dprintf(ends[1], "%s", done ? "done" : error->message);
        _exit(0);
    }
    close(ends[1]);
    gsize length = 0;
    ssize_t got;
    while ((got = read(ends[0], text + length, sizeof text - 1 - length)) > 0)
        length += (gsize)got;
    close(ends[0]);
    waitpid(child, NULL, 0);
    return g_strdup(text);
}

static bool use_and_stop(GError **error)
{
    Store *store = database_open(true, error);
    bool done = store != NULL && store_put_problems(store, NULL, 0, NULL, NULL, error);
    store_close(store);
    return done && embedded_stop(error);
}

static bool start_without_home(GError **error)
{
    g_unsetenv("SKIPJACK_HOME");
    g_unsetenv("XDG_DATA_HOME");
    g_unsetenv("HOME");
    return embedded_start(error);
}

static void test_user_without_a_name_has_a_database_too(void)
{
    if (geteuid() != 0) {
        g_test_skip("only root can become another user");
        return;
    }
    uid_t uid = nameless_user();
    g_autofree char *home = g_build_filename(scratch_home(), "nameless", NULL);
    g_assert_cmpint(g_mkdir(home, 0700), ==, 0);
    g_assert_cmpint(chown(home, uid, uid), ==, 0);
    g_setenv("SKIPJACK_HOME", home, TRUE);
    g_autofree char *said = as_user(uid, use_and_stop);
    if (strstr(said, "install libnss-wrapper") != NULL &&
        access("/usr/share/doc/libnss-wrapper", F_OK) != 0)
        g_test_skip("initdb wants a name for its user, and libnss-wrapper is not installed");
    else
        g_assert_cmpstr(said, ==, "done");
    g_setenv("SKIPJACK_HOME", scratch_home(), TRUE);
}

static bool drop_ptrace(void)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct sets[2];
    if (syscall(SYS_capget, &header, sets) != 0)
        return false;
    sets[0].effective &= ~(1U << CAP_SYS_PTRACE);
    return syscall(SYS_capset, &header, sets) == 0;
}

/* Without CAP_SYS_PTRACE, which containers seldom give, root cannot see the working folder of another
 * user's process. */
static void test_server_is_found_without_ptrace(void)
{
    own_cluster_start();
    struct embedded_status before = own_cluster_status();
    pid_t child = fork();
    if (child == 0) {
        struct embedded_status status = {0};
        bool looked = drop_ptrace() && embedded_status(&status, NULL);
        _exit(looked && status.running && status.pid == before.pid && embedded_stop(NULL) ? 0 : 1);
    }
    int ended = -1;
    g_assert_cmpint(waitpid(child, &ended, 0), ==, child);
    g_assert_cmpint(ended, ==, 0);
    struct embedded_status after = own_cluster_status();
    g_assert_false(after.running);
    embedded_status_clear(&before);
    embedded_status_clear(&after);
}

static bool start_with_an_empty_home(GError **error)
{
    g_unsetenv("SKIPJACK_HOME");
    g_setenv("XDG_DATA_HOME", "relative", TRUE);
    g_setenv("HOME", "", TRUE);
    return embedded_start(error);
}

/* A path without a slash has no last folder: walking up from it must end. */
static void test_empty_home_is_the_one_of_the_user(void)
{
    const struct passwd *nobody = getpwnam("nobody");
    if (geteuid() != 0 || nobody == NULL || g_file_test(nobody->pw_dir, G_FILE_TEST_EXISTS)) {
        g_test_skip("it takes root, and a user whose home is not there");
        return;
    }
    g_autofree char *said = as_user(nobody->pw_uid, start_with_an_empty_home);
    g_assert_nonnull(strstr(said, "cannot create the folder"));
    g_assert_nonnull(strstr(said, nobody->pw_dir));
}

static void test_user_without_a_home_is_told_what_to_name(void)
{
    if (geteuid() != 0) {
        g_test_skip("only root can become another user");
        return;
    }
    g_autofree char *said = as_user(nameless_user(), start_without_home);
    g_assert_nonnull(strstr(said, "has no home"));
    g_assert_nonnull(strstr(said, "SKIPJACK_HOME"));
}

static const struct {
    const char *name;
    void (*run)(void);
} tests[] = {
    {"/database/half_made_cluster_is_made_anew", test_half_made_cluster_is_made_anew},
    {"/database/killed_initdb_harms_no_other", test_killed_initdb_harms_no_other},
    {"/database/long_home_has_its_socket_elsewhere", test_long_home_has_its_socket_elsewhere},
    {"/database/closed_parent_is_named_with_the_remedy",
     test_closed_parent_is_named_with_the_remedy},
    {"/database/user_without_privileges_has_one_too",
     test_user_without_privileges_has_a_database_too},
    {"/database/home_may_have_a_comma", test_home_may_have_a_comma},
    {"/database/user_without_a_name_has_one_too", test_user_without_a_name_has_a_database_too},
    {"/database/server_is_found_without_ptrace", test_server_is_found_without_ptrace},
    {"/database/empty_home_is_the_one_of_the_user", test_empty_home_is_the_one_of_the_user},
    {"/database/user_without_a_home_is_told_what_to_name",
     test_user_without_a_home_is_told_what_to_name},
};

int main(int argc, char **argv)
{
    setlocale(LC_ALL, "C");
    g_test_init(&argc, &argv, NULL);
    g_test_set_nonfatal_assertions();
    scratch_home();
    for (gsize i = 0; i < G_N_ELEMENTS(tests); i++)
        g_test_add_func(tests[i].name, tests[i].run);
    return g_test_run();
}
