/* The embedded PostgreSQL: real ones in scratch folders, really killed. */
#include "schema/embedded.h"
#include "tests/support/scratch_db.h"

#include <fcntl.h>
#include <glib/gstdio.h>
#include <grp.h>
#include <libpq-fe.h>
#include <locale.h>
#include <poll.h>
#include <pwd.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

static void start(void)
{
    g_autoptr(GError) error = NULL;
    database_start(&error);
    g_assert_no_error(error);
}

static void stop(void)
{
    g_autoptr(GError) error = NULL;
    database_stop(&error);
    g_assert_no_error(error);
}

static struct database_status status_now(void)
{
    g_autoptr(GError) error = NULL;
    struct database_status status;
    database_status(&status, &error);
    g_assert_no_error(error);
    return status;
}

/* Runs one statement on the database in use; its first value. Free with g_free(). */
static char *ask(const char *sql)
{
    bool embedded;
    g_autofree char *url = database_url(&embedded, NULL);
    PGconn *connection = PQconnectdb(url);
    PGresult *rows = PQexec(connection, sql);
    char *value =
        g_strdup(PQntuples(rows) > 0 ? PQgetvalue(rows, 0, 0) : PQerrorMessage(connection));
    PQclear(rows);
    PQfinish(connection);
    return value;
}

static void expect_answer(const char *sql, const char *expected)
{
    g_autofree char *answer = ask(sql);
    g_assert_cmpstr(answer, ==, expected);
}

static void kill_postmaster(void)
{
    struct database_status status = status_now();
    g_assert_cmpint(status.pid, >, 0);
    kill((pid_t)status.pid, SIGKILL);
    gint64 deadline = g_get_monotonic_time() + 10 * G_USEC_PER_SEC;
    while (server_is_alive((pid_t)status.pid) && g_get_monotonic_time() < deadline)
        g_usleep(5000);
    g_assert_false(server_is_alive((pid_t)status.pid));
    database_status_clear(&status);
}

static void write_text(const char *path, const char *text)
{
    g_autoptr(GError) error = NULL;
    g_file_set_contents(path, text, -1, &error);
    g_assert_no_error(error);
}

static void test_start_is_repeatable_and_stop_too(void)
{
    struct database_status status = status_now();
    g_assert_false(status.exists);
    g_assert_false(status.running);
    database_status_clear(&status);
    stop();
    start();
    status = status_now();
    long pid = status.pid;
    g_assert_true(status.exists && status.running);
    g_assert_cmpint(atoi(status.version), >=, 15);
    database_status_clear(&status);
    start();
    status = status_now();
    g_assert_cmpint(status.pid, ==, pid);
    database_status_clear(&status);
    stop();
    stop();
    status = status_now();
    g_assert_true(status.exists);
    g_assert_false(status.running);
    g_assert_cmpint(status.pid, ==, 0);
    database_status_clear(&status);
    start();
}

static void test_socket_folder_is_private(void)
{
    struct database_status status = status_now();
    struct stat folder;
    g_assert_cmpint(stat(status.socket_dir, &folder), ==, 0);
    g_assert_cmpint(folder.st_mode & 07777, ==, 0700);
    expect_answer("SHOW listen_addresses", "");
    expect_answer("SHOW fsync", "on");
    expect_answer("SHOW synchronous_commit", "on");
    database_status_clear(&status);
}

static void test_nothing_committed_is_lost_when_the_server_is_killed(void)
{
    start();
    g_free(ask("CREATE TABLE IF NOT EXISTS kept (n int)"));
    g_free(ask("INSERT INTO kept VALUES (1)"));
    kill_postmaster();
    start();
    expect_answer("SELECT count(*) FROM kept", "1");
}

static void test_busy_backend_of_a_killed_server_is_waited_for(void)
{
    bool embedded;
    g_autofree char *url = database_url(&embedded, NULL);
    PGconn *connection = PQconnectdb(url);
    g_assert_cmpint(PQsendQuery(connection, "SELECT pg_sleep(60)"), ==, 1);
    kill_postmaster();
    start();
    expect_answer("SELECT 1", "1");
    PQfinish(connection);
}

/* Whoever starts next finds it alive still, shutting down, or gone with its backends behind it. */
static void test_server_going_down_is_started_again(void)
{
    static const int signals[] = {SIGKILL, SIGINT, SIGTERM, SIGQUIT};
    for (gsize i = 0; i < G_N_ELEMENTS(signals); i++) {
        start();
        struct database_status status = status_now();
        kill((pid_t)status.pid, signals[i]);
        database_status_clear(&status);
        start();
        expect_answer("SELECT 1", "1");
    }
}

/* SIGTERM's shutdown lasts as long as its clients, who may be waiting for a server to come back. */
static void test_client_does_not_hold_up_a_shutdown(void)
{
    bool embedded;
    start();
    g_autofree char *url = database_url(&embedded, NULL);
    PGconn *connection = PQconnectdb(url);
    g_assert_cmpint(PQstatus(connection), ==, CONNECTION_OK);
    struct database_status status = status_now();
    kill((pid_t)status.pid, SIGTERM);
    gint64 deadline = g_get_monotonic_time() + 10 * G_USEC_PER_SEC;
    while (PQping(url) == PQPING_OK && g_get_monotonic_time() < deadline)
        g_usleep(1000);
    database_status_clear(&status);
    start();
    expect_answer("SELECT 1", "1");
    PQfinish(connection);
}

static void test_stale_pid_file_of_another_process_is_seen_through(void)
{
    struct embedded embedded;
    g_autoptr(GError) error = NULL;
    stop();
    g_assert_true(embedded_init(&embedded, &error));
    g_autofree char *path = g_build_filename(embedded.data, "postmaster.pid", NULL);
    g_autofree char *text =
        g_strdup_printf("%d\n%s\n1\n5432\n\n\n 1 1\n", (int)getpid(), embedded.data);
    write_text(path, text);
    struct database_status status = status_now();
    g_assert_false(status.running);
    database_status_clear(&status);
    start();
    expect_answer("SELECT 1", "1");
    embedded_clear(&embedded);
}

/* Two processes find nothing and both start it. */
static void test_two_processes_at_once_make_one_server(void)
{
    pid_t children[3];
    stop();
    for (gsize i = 0; i < G_N_ELEMENTS(children); i++) {
        children[i] = fork();
        if (children[i] == 0)
            _exit(database_start(NULL) ? 0 : 1);
    }
    for (gsize i = 0; i < G_N_ELEMENTS(children); i++) {
        int status = -1;
        g_assert_cmpint(waitpid(children[i], &status, 0), ==, children[i]);
        g_assert_cmpint(status, ==, 0);
    }
    expect_answer("SELECT 1", "1");
}

/* Ctrl-C goes to the group, and whoever reads our output waits for the end of every writer. */
static void test_server_neither_dies_with_its_starter_nor_holds_its_pipe(void)
{
    int ends[2];
    stop();
    g_assert_cmpint(pipe(ends), ==, 0);
    pid_t child = fork();
    if (child == 0) {
        setpgid(0, 0);
        dup2(ends[1], STDOUT_FILENO);
        bool done = database_start(NULL);
        _exit(done ? 0 : 1);
    }
    close(ends[1]);
    int status = -1;
    waitpid(child, &status, 0);
    g_assert_cmpint(status, ==, 0);
    kill(-child, SIGINT);
    struct pollfd end = {.fd = ends[0], .events = POLLIN};
    g_assert_cmpint(poll(&end, 1, 2000), ==, 1);
    g_assert_true((end.revents & POLLHUP) != 0);
    close(ends[0]);
    expect_answer("SELECT 1", "1");
}

/* Runs `body` with another home, which is stopped and left to the scratch folder's end. */
static void with_home(const char *home, void (*body)(const char *home))
{
    g_setenv("SKIPJACK_HOME", home, TRUE);
    body(home);
    stop();
    g_setenv("SKIPJACK_HOME", scratch_home(), TRUE);
}

static void check_half_made(const char *home)
{
    g_autofree char *folder = g_build_filename(home, "postgres", "data.new", "base", NULL);
    g_autofree char *file = g_build_filename(folder, "half", NULL);
    g_assert_cmpint(g_mkdir_with_parents(folder, 0755), ==, 0);
    write_text(file, "half");
    start();
    expect_answer("SELECT 1", "1");
    g_autofree char *made = g_build_filename(home, "postgres", "data.new", NULL);
    g_assert_false(g_file_test(made, G_FILE_TEST_EXISTS));
}

static void test_half_made_cluster_is_made_anew(void)
{
    g_autofree char *home = g_build_filename(scratch_home(), "half", NULL);
    with_home(home, check_half_made);
}

/* The initdb of a starter that was killed goes on for seconds, and nobody else's may suffer. */
static void check_killed_initdb(const char *home)
{
    g_autofree char *made = g_build_filename(home, "postgres", "data.new", "base", NULL);
    pid_t child = fork();
    if (child == 0)
        _exit(database_start(NULL) ? 0 : 1);
    gint64 deadline = g_get_monotonic_time() + 30 * G_USEC_PER_SEC;
    while (!g_file_test(made, G_FILE_TEST_EXISTS) && g_get_monotonic_time() < deadline)
        g_usleep(1000);
    g_assert_true(g_file_test(made, G_FILE_TEST_EXISTS));
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    start();
    expect_answer("SELECT 1", "1");
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
    start();
    expect_answer("SELECT 1", "1");
    struct database_status status = status_now();
    g_assert_cmpuint(strlen(status.socket_dir), <, 90);
    g_assert_cmpint(lstat(status.socket_dir, &folder), ==, 0);
    g_assert_cmpint(folder.st_mode & 07777, ==, 0700);
    stop();
    g_assert_cmpint(g_rmdir(status.socket_dir), ==, 0);
    g_assert_cmpint(symlink("/tmp", status.socket_dir), ==, 0);
    g_autoptr(GError) error = NULL;
    g_assert_false(database_start(&error));
    g_assert_nonnull(strstr(error->message, status.socket_dir));
    g_assert_cmpint(unlink(status.socket_dir), ==, 0);
    database_status_clear(&status);
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
    g_assert_false(database_start(&error));
    g_assert_nonnull(error);
    g_assert_nonnull(strstr(error->message, closed));
    g_assert_nonnull(strstr(error->message, "chmod o+x"));
    g_setenv("SKIPJACK_HOME", scratch_home(), TRUE);
}

static void test_missing_programs_are_named_with_the_remedy(void)
{
    g_autoptr(GError) error = NULL;
    g_setenv("SKIPJACK_PG_BIN", "/nonexistent", TRUE);
    g_assert_null(postgres_find_programs(0, &error));
    g_assert_nonnull(strstr(error->message, "/nonexistent"));
    g_clear_error(&error);
    g_unsetenv("SKIPJACK_PG_BIN");
    g_assert_null(postgres_find_programs(99, &error));
    g_assert_nonnull(strstr(error->message, "postgresql-99"));
    g_clear_error(&error);
    g_autofree char *path = g_strdup(g_getenv("PATH"));
    g_setenv("PATH", "/nonexistent", TRUE);
    g_autofree char *found = postgres_find_programs(0, &error);
    g_setenv("PATH", path, TRUE);
    g_assert_no_error(error);
    g_assert_nonnull(found);
}

static void test_own_settings_are_used(void)
{
    g_autoptr(GError) error = NULL;
    bool embedded;
    stop();
    g_setenv("SKIPJACK_DB_SETTINGS", "max_connections", TRUE);
    g_assert_false(database_start(&error));
    g_assert_nonnull(strstr(error->message, "SKIPJACK_DB_SETTINGS: 'max_connections'"));
    g_assert_nonnull(strstr(error->message, "name=value"));
    g_clear_error(&error);
    g_setenv("SKIPJACK_DB_SETTINGS", " max_connections=17  work_mem=9MB ", TRUE);
    start();
    g_autofree char *url = database_url(&embedded, &error);
    PGconn *connection = PQconnectdb(url);
    PGresult *rows = PQexec(connection, "SELECT current_setting('max_connections') || ' ' ||"
                                        " current_setting('work_mem')");
    g_assert_cmpstr(PQgetvalue(rows, 0, 0), ==, "17 9MB");
    PQclear(rows);
    PQfinish(connection);
    g_unsetenv("SKIPJACK_DB_SETTINGS");
    stop();
    start();
}

static void test_server_that_does_not_start_says_why(void)
{
    struct embedded embedded;
    g_autoptr(GError) error = NULL;
    g_autofree char *text = NULL;
    stop();
    g_assert_true(embedded_init(&embedded, &error));
    g_autofree char *path = g_build_filename(embedded.data, "postgresql.conf", NULL);
    g_assert_true(g_file_get_contents(path, &text, NULL, &error));
    g_autofree char *broken = g_strconcat(text, "\nno_such_setting = on\n", NULL);
    struct stat before;
    g_assert_cmpint(stat(path, &before), ==, 0);
    write_text(path, broken);
    g_assert_cmpint(chown(path, before.st_uid, before.st_gid), ==, 0);
    g_assert_false(database_start(&error));
    g_assert_nonnull(strstr(error->message, "no_such_setting"));
    write_text(path, text);
    g_assert_cmpint(chown(path, before.st_uid, before.st_gid), ==, 0);
    start();
    embedded_clear(&embedded);
}

static void test_external_database_is_used_as_named(void)
{
    g_autoptr(GError) error = NULL;
    bool embedded = true;
    g_setenv("SKIPJACK_DB", "postgresql://user@example.org/farm", TRUE);
    g_autofree char *url = database_url(&embedded, &error);
    g_assert_cmpstr(url, ==, "postgresql://user@example.org/farm");
    g_assert_false(embedded);
    g_unsetenv("SKIPJACK_DB");
}

/* All of it as a user who is not root: in a child, since there is no way back. The way to the home
 * is open to one of the user's groups alone. */
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
        _exit(done && database_stop(NULL) ? 0 : 1);
    }
    int status = -1;
    waitpid(child, &status, 0);
    g_assert_cmpint(status, ==, 0);
    g_setenv("SKIPJACK_HOME", scratch_home(), TRUE);
}

static bool can_connect_as(uid_t uid, const char *socket_path)
{
    pid_t child = fork();
    if (child == 0) {
        struct sockaddr_un address = {.sun_family = AF_UNIX};
        g_strlcpy(address.sun_path, socket_path, sizeof address.sun_path);
        int fd = socket(AF_UNIX, SOCK_STREAM, 0);
        if (setgid(65534) != 0 || setuid(uid) != 0)
            _exit(2);
        _exit(connect(fd, (struct sockaddr *)&address, sizeof address) == 0 ? 0 : 1);
    }
    int status = -1;
    waitpid(child, &status, 0);
    g_assert_true(WIFEXITED(status) && WEXITSTATUS(status) != 2);
    return status == 0;
}

static void test_other_users_cannot_reach_the_socket(void)
{
    if (geteuid() != 0) {
        g_test_skip("only root can become another user");
        return;
    }
    struct database_status status = status_now();
    g_autofree char *path = g_build_filename(status.socket_dir, ".s.PGSQL.5432", NULL);
    g_assert_false(can_connect_as(65534, path));
    g_assert_true(can_connect_as(0, path));
    database_status_clear(&status);
}

static const struct {
    const char *name;
    void (*run)(void);
} tests[] = {
    {"/database/start_is_repeatable_and_stop_too", test_start_is_repeatable_and_stop_too},
    {"/database/socket_folder_is_private", test_socket_folder_is_private},
    {"/database/other_users_cannot_reach_the_socket", test_other_users_cannot_reach_the_socket},
    {"/database/nothing_committed_is_lost_when_the_server_is_killed",
     test_nothing_committed_is_lost_when_the_server_is_killed},
    {"/database/busy_backend_of_a_killed_server_is_waited_for",
     test_busy_backend_of_a_killed_server_is_waited_for},
    {"/database/server_going_down_is_started_again", test_server_going_down_is_started_again},
    {"/database/client_does_not_hold_up_a_shutdown", test_client_does_not_hold_up_a_shutdown},
    {"/database/stale_pid_file_of_another_process_is_seen_through",
     test_stale_pid_file_of_another_process_is_seen_through},
    {"/database/two_processes_at_once_make_one_server", test_two_processes_at_once_make_one_server},
    {"/database/server_neither_dies_with_its_starter_nor_holds_its_pipe",
     test_server_neither_dies_with_its_starter_nor_holds_its_pipe},
    {"/database/server_that_does_not_start_says_why", test_server_that_does_not_start_says_why},
    {"/database/own_settings_are_used", test_own_settings_are_used},
    {"/database/half_made_cluster_is_made_anew", test_half_made_cluster_is_made_anew},
    {"/database/killed_initdb_harms_no_other", test_killed_initdb_harms_no_other},
    {"/database/long_home_has_its_socket_elsewhere", test_long_home_has_its_socket_elsewhere},
    {"/database/closed_parent_is_named_with_the_remedy",
     test_closed_parent_is_named_with_the_remedy},
    {"/database/missing_programs_are_named_with_the_remedy",
     test_missing_programs_are_named_with_the_remedy},
    {"/database/external_one_is_used_as_named", test_external_database_is_used_as_named},
    {"/database/user_without_privileges_has_one_too",
     test_user_without_privileges_has_a_database_too},
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
