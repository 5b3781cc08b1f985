/* The embedded PostgreSQL: real servers in scratch folders, really killed. */
#include "schema/server/embedded.h"
#include "schema/server/postgres_server.h"
#include "tests/support/farm/own_cluster.h"
#include "tests/support/farm/scratch_db.h"
#include "tests/support/patience.h"

#include <fcntl.h>
#include <glib/gstdio.h>
#include <libpq-fe.h>
#include <locale.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

static void kill_postmaster(void)
{
    struct embedded_status status = own_cluster_status();
    g_assert_cmpint(status.pid, >, 0);
    kill((pid_t)status.pid, SIGKILL);
    gint64 deadline = patience_end();
    while (server_is_alive((pid_t)status.pid) && g_get_monotonic_time() < deadline)
        g_usleep(5000);
    g_assert_false(server_is_alive((pid_t)status.pid));
    embedded_status_clear(&status);
}

static void write_text(const char *path, const char *text)
{
    g_autoptr(GError) error = NULL;
    g_file_set_contents(path, text, -1, &error);
    g_assert_no_error(error);
}

static void test_start_is_repeatable_and_stop_too(void)
{
    struct embedded_status status = own_cluster_status();
    g_assert_false(status.exists);
    g_assert_false(status.running);
    embedded_status_clear(&status);
    own_cluster_stop();
    own_cluster_start();
    status = own_cluster_status();
    long pid = status.pid;
    g_assert_true(status.exists && status.running);
    g_assert_cmpint(atoi(status.version), >=, 15);
    embedded_status_clear(&status);
    own_cluster_start();
    status = own_cluster_status();
    g_assert_cmpint(status.pid, ==, pid);
    embedded_status_clear(&status);
    own_cluster_stop();
    own_cluster_stop();
    status = own_cluster_status();
    g_assert_true(status.exists);
    g_assert_false(status.running);
    g_assert_cmpint(status.pid, ==, 0);
    embedded_status_clear(&status);
    own_cluster_start();
}

static void test_socket_folder_is_private(void)
{
    struct embedded_status status = own_cluster_status();
    struct stat folder;
    g_assert_cmpint(stat(status.socket_dir, &folder), ==, 0);
    g_assert_cmpint(folder.st_mode & 07777, ==, 0700);
    own_cluster_expect("SHOW listen_addresses", "");
    own_cluster_expect("SHOW fsync", "on");
    own_cluster_expect("SHOW synchronous_commit", "on");
    embedded_status_clear(&status);
}

static void test_nothing_committed_is_lost_when_the_server_is_killed(void)
{
    own_cluster_start();
    g_free(own_cluster_ask("CREATE TABLE IF NOT EXISTS kept (n int)"));
    g_free(own_cluster_ask("INSERT INTO kept VALUES (1)"));
    kill_postmaster();
    own_cluster_start();
    own_cluster_expect("SELECT count(*) FROM kept", "1");
}

static void test_busy_backend_of_a_killed_server_is_waited_for(void)
{
    bool embedded;
    g_autofree char *url = database_url(&embedded, NULL);
    PGconn *connection = PQconnectdb(url);
    g_assert_cmpint(PQsendQuery(connection, "SELECT pg_sleep(60)"), ==, 1);
    kill_postmaster();
    own_cluster_start();
    own_cluster_expect("SELECT 1", "1");
    PQfinish(connection);
}

/* The next command finds the server alive, shutting down, or dead with backends that outlive it. */
static void test_server_going_down_is_started_again(void)
{
    static const int signals[] = {SIGKILL, SIGINT, SIGTERM, SIGQUIT};
    for (gsize i = 0; i < G_N_ELEMENTS(signals); i++) {
        own_cluster_start();
        struct embedded_status status = own_cluster_status();
        kill((pid_t)status.pid, signals[i]);
        embedded_status_clear(&status);
        own_cluster_start();
        own_cluster_expect("SELECT 1", "1");
    }
}

/* The shutdown by SIGTERM waits for the server's clients, which may in turn wait for a server to come
 * back. */
static void test_client_does_not_hold_up_a_shutdown(void)
{
    bool embedded;
    own_cluster_start();
    g_autofree char *url = database_url(&embedded, NULL);
    PGconn *connection = PQconnectdb(url);
    g_assert_cmpint(PQstatus(connection), ==, CONNECTION_OK);
    struct embedded_status status = own_cluster_status();
    kill((pid_t)status.pid, SIGTERM);
    gint64 deadline = patience_end();
    while (PQping(url) == PQPING_OK && g_get_monotonic_time() < deadline)
        g_usleep(1000);
    embedded_status_clear(&status);
    own_cluster_start();
    own_cluster_expect("SELECT 1", "1");
    PQfinish(connection);
}

static void test_stale_pid_file_of_another_process_is_seen_through(void)
{
    struct embedded embedded;
    g_autoptr(GError) error = NULL;
    own_cluster_stop();
    g_assert_true(embedded_init(&embedded, &error));
    g_autofree char *path = g_build_filename(embedded.data, "postmaster.pid", NULL);
    g_autofree char *text =
        g_strdup_printf("%d\n%s\n1\n5432\n\n\n 1 1\n", (int)getpid(), embedded.data);
    write_text(path, text);
    struct embedded_status status = own_cluster_status();
    g_assert_false(status.running);
    embedded_status_clear(&status);
    own_cluster_start();
    own_cluster_expect("SELECT 1", "1");
    embedded_clear(&embedded);
}

/* Two processes find no server and both start it. */
static void test_two_processes_at_once_make_one_server(void)
{
    pid_t children[3];
    own_cluster_stop();
    for (gsize i = 0; i < G_N_ELEMENTS(children); i++) {
        children[i] = fork();
        if (children[i] == 0)
            _exit(embedded_start(NULL) ? 0 : 1);
    }
    for (gsize i = 0; i < G_N_ELEMENTS(children); i++) {
        int status = -1;
        g_assert_cmpint(waitpid(children[i], &status, 0), ==, children[i]);
        g_assert_cmpint(status, ==, 0);
    }
    own_cluster_expect("SELECT 1", "1");
}

/* Ctrl-C goes to the process group; and a reader of our output waits until every writer has closed it. */
static void test_server_neither_dies_with_its_starter_nor_holds_its_pipe(void)
{
    int ends[2];
    own_cluster_stop();
    g_assert_cmpint(pipe(ends), ==, 0);
    pid_t child = fork();
    if (child == 0) {
        setpgid(0, 0);
        dup2(ends[1], STDOUT_FILENO);
        bool done = embedded_start(NULL);
        _exit(done ? 0 : 1);
    }
    close(ends[1]);
    int status = -1;
    waitpid(child, &status, 0);
    g_assert_cmpint(status, ==, 0);
    kill(-child, SIGINT);
    struct pollfd end = {.fd = ends[0], .events = POLLIN};
    g_assert_cmpint(poll(&end, 1, PATIENCE_SECONDS * 1000), ==, 1);
    g_assert_true((end.revents & POLLHUP) != 0);
    close(ends[0]);
    own_cluster_expect("SELECT 1", "1");
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
    own_cluster_stop();
    g_setenv("SKIPJACK_DB_SETTINGS", "max_connections", TRUE);
    g_assert_false(embedded_start(&error));
    g_assert_nonnull(strstr(error->message, "SKIPJACK_DB_SETTINGS: 'max_connections'"));
    g_assert_nonnull(strstr(error->message, "name=value"));
    g_clear_error(&error);
    g_setenv("SKIPJACK_DB_SETTINGS", " max_connections=17  work_mem=9MB ", TRUE);
    own_cluster_start();
    g_autofree char *url = database_url(&embedded, &error);
    PGconn *connection = PQconnectdb(url);
    PGresult *rows = PQexec(connection, "SELECT current_setting('max_connections') || ' ' ||"
                                        " current_setting('work_mem')");
    g_assert_cmpstr(PQgetvalue(rows, 0, 0), ==, "17 9MB");
    PQclear(rows);
    PQfinish(connection);
    g_unsetenv("SKIPJACK_DB_SETTINGS");
    own_cluster_stop();
    own_cluster_start();
}

static void test_server_that_does_not_start_says_why(void)
{
    struct embedded embedded;
    g_autoptr(GError) error = NULL;
    g_autofree char *text = NULL;
    own_cluster_stop();
    g_assert_true(embedded_init(&embedded, &error));
    g_autofree char *path = g_build_filename(embedded.data, "postgresql.conf", NULL);
    g_assert_true(g_file_get_contents(path, &text, NULL, &error));
    g_autofree char *broken = g_strconcat(text, "\nno_such_setting = on\n", NULL);
    struct stat before;
    g_assert_cmpint(stat(path, &before), ==, 0);
    write_text(path, broken);
    g_assert_cmpint(chown(path, before.st_uid, before.st_gid), ==, 0);
    g_assert_false(embedded_start(&error));
    g_assert_nonnull(strstr(error->message, "no_such_setting"));
    write_text(path, text);
    g_assert_cmpint(chown(path, before.st_uid, before.st_gid), ==, 0);
    own_cluster_start();
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
    struct embedded_status status = own_cluster_status();
    g_autofree char *path = g_build_filename(status.socket_dir, ".s.PGSQL.5432", NULL);
    g_assert_false(can_connect_as(65534, path));
    g_assert_true(can_connect_as(0, path));
    embedded_status_clear(&status);
}

static void execute_in_postgres(const char *sql)
{
    struct embedded embedded;
    g_assert_true(embedded_init(&embedded, NULL));
    g_autofree char *url = embedded_url(&embedded, "postgres");
    PGconn *connection = PQconnectdb(url);
    PGresult *rows = PQexec(connection, sql);
    g_assert_cmpint(PQresultStatus(rows), ==, PGRES_COMMAND_OK);
    PQclear(rows);
    PQfinish(connection);
    embedded_clear(&embedded);
}

/* PostgreSQL makes a folder for each database. */
static int count_databases(const struct embedded *embedded)
{
    g_autofree char *path = g_build_filename(embedded->data, "base", NULL);
    g_autoptr(GDir) folder = g_dir_open(path, 0, NULL);
    int count = 0;
    while (folder != NULL && g_dir_read_name(folder) != NULL)
        count++;
    return count;
}

/* The server goes on creating the database when the command that asked for it is killed. */
static void test_killed_creation_of_the_database_is_made_good(void)
{
    struct embedded embedded;
    own_cluster_start();
    g_assert_true(embedded_init(&embedded, NULL));
    execute_in_postgres("DROP DATABASE skipjack");
    int before = count_databases(&embedded);
    pid_t child = fork();
    if (child == 0)
        _exit(embedded_start(NULL) ? 0 : 1);
    gint64 deadline = patience_end();
    while (count_databases(&embedded) == before && g_get_monotonic_time() < deadline)
        g_usleep(100);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    own_cluster_start();
    own_cluster_expect("SELECT count(*) > 0 FROM skipjack.schema_migrations", "t");
    embedded_clear(&embedded);
}

/* An interrupted DROP DATABASE leaves a database that refuses connections. */
static void test_half_removed_database_is_made_again(void)
{
    own_cluster_start();
    execute_in_postgres("UPDATE pg_database SET datconnlimit = -2 WHERE datname = 'skipjack'");
    own_cluster_start();
    own_cluster_expect("SELECT count(*) > 0 FROM skipjack.schema_migrations", "t");
    own_cluster_expect("SELECT datconnlimit FROM pg_database WHERE datname = 'skipjack'", "-1");
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
    {"/database/killed_creation_of_the_database_is_made_good",
     test_killed_creation_of_the_database_is_made_good},
    {"/database/half_removed_database_is_made_again", test_half_removed_database_is_made_again},
    {"/database/missing_programs_are_named_with_the_remedy",
     test_missing_programs_are_named_with_the_remedy},
    {"/database/external_one_is_used_as_named", test_external_database_is_used_as_named},
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
