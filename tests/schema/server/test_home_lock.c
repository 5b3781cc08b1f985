/* One server for each home: another container finds the home in use, and uses its server or leaves the
 * home alone. */
#include "schema/server/embedded.h"
#include "schema/server/home_lock.h"
#include "schema/server/postgres_server.h"

#include "tests/support/farm/container.h"
#include "tests/support/farm/own_cluster.h"
#include "tests/support/farm/scratch_db.h"
#include "tests/support/patience.h"

#include <fcntl.h>
#include <libpq-fe.h>
#include <locale.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define INSERTS 140

/* ---- what runs in containers ---- */

static void answer_error(FILE *answer, bool done, const GError *error)
{
    fputs(done ? "done" : error ? error->message : "failed", answer);
}

/* A farm's own container: it starts the database and goes on. */
static void serve(FILE *answer)
{
    g_autoptr(GError) error = NULL;
    bool done = embedded_start(&error);
    answer_error(answer, done, error);
    fclose(answer);
    for (;;)
        pause();
}

static void start(FILE *answer)
{
    g_autoptr(GError) error = NULL;
    bool done = embedded_start(&error);
    answer_error(answer, done, error);
}

static void stop(FILE *answer)
{
    g_autoptr(GError) error = NULL;
    bool done = embedded_stop(&error);
    answer_error(answer, done, error);
}

static void insert(FILE *answer)
{
    g_autoptr(GError) error = NULL;
    bool done = embedded_start(&error);
    g_autofree char *said = own_cluster_ask("INSERT INTO kept VALUES (-1) RETURNING 'stored'");
    fprintf(answer, "%s", done ? said : error->message);
}

/* ---- the tests ---- */

/* Starts a container, or skips the test. */
static bool enter(struct container *container, const char *host, const char *hidden,
                  ContainerBody body)
{
    g_autofree char *reason = NULL;
    if (container_start(container, host, hidden, body, &reason))
        return true;
    g_test_skip(reason);
    return false;
}

/* The output of a container that runs `body` to its end; NULL if the test is skipped. */
static char *ask(const char *host, const char *hidden, ContainerBody body)
{
    struct container container;
    if (!enter(&container, host, hidden, body))
        return NULL;
    char *answer = container_answer(&container);
    container_kill(&container);
    return answer;
}

static char *socket_folder(void)
{
    struct embedded_status status = own_cluster_status();
    char *folder = g_strdup(status.socket_dir);
    embedded_status_clear(&status);
    return folder;
}

static int insert_many(PGconn *connection, int count)
{
    int acknowledged = 0;
    for (int i = 0; i < count; i++) {
        PGresult *rows = PQexec(connection, "INSERT INTO kept VALUES (1)");
        acknowledged += PQresultStatus(rows) == PGRES_COMMAND_OK;
        PQclear(rows);
    }
    return acknowledged;
}

static void kill_server(void)
{
    struct embedded embedded;
    struct embedded_status status = own_cluster_status();
    g_assert_true(embedded_init(&embedded, NULL));
    g_assert_cmpint(status.pid, >, 0);
    if (status.pid > 0)
        kill((pid_t)status.pid, SIGKILL);
    g_assert_true(server_kill_remains(&embedded, NULL));
    embedded_clear(&embedded);
    embedded_status_clear(&status);
}

/* The server runs here, and a container cannot reach its socket. The container must not start a
 * second server, which would write the same files. */
static void test_home_in_use_is_not_started_over(void)
{
    bool is_embedded;
    own_cluster_start();
    g_autofree char *folder = socket_folder();
    g_autofree char *url = database_url(&is_embedded, NULL);
    struct embedded_status status = own_cluster_status();
    g_autofree char *process = g_strdup_printf("process %ld there", status.pid);
    g_free(own_cluster_ask("CREATE TABLE kept (n int)"));
    PGconn *connection = PQconnectdb(url);
    struct container container;
    int acknowledged = insert_many(connection, INSERTS / 2);
    if (enter(&container, "node-b", folder, start)) {
        g_autofree char *answer = container_answer(&container);
        g_assert_nonnull(strstr(answer, "in use on '"));
        g_assert_nonnull(strstr(answer, g_get_host_name()));
        g_assert_nonnull(strstr(answer, process));
        g_assert_nonnull(strstr(answer, "does not answer here"));
        g_assert_nonnull(strstr(answer, "SKIPJACK_HOME"));
        acknowledged += insert_many(connection, INSERTS / 2);
        container_kill(&container);
        g_assert_cmpint(acknowledged, ==, INSERTS);
        PQfinish(connection);
        kill_server();
        own_cluster_start();
        own_cluster_expect("SELECT count(*) FROM kept", G_STRINGIFY(INSERTS));
    } else {
        PQfinish(connection);
    }
    g_free(own_cluster_ask("DROP TABLE kept"));
    embedded_status_clear(&status);
}

static void test_other_container_uses_the_server_that_it_reaches(void)
{
    own_cluster_start();
    g_free(own_cluster_ask("CREATE TABLE kept (n int)"));
    g_autofree char *answer = ask("node-b", NULL, insert);
    if (answer != NULL) {
        g_assert_cmpstr(answer, ==, "stored");
        own_cluster_expect("SELECT count(*) FROM kept", "1");
    }
    g_free(own_cluster_ask("DROP TABLE kept"));
}

static void test_other_container_cannot_stop_the_server(void)
{
    own_cluster_start();
    struct embedded_status before = own_cluster_status();
    g_autofree char *answer = ask("node-b", NULL, stop);
    if (answer != NULL) {
        struct embedded_status after = own_cluster_status();
        g_assert_nonnull(strstr(answer, "stop it there"));
        g_assert_cmpint(after.pid, ==, before.pid);
        embedded_status_clear(&after);
    }
    embedded_status_clear(&before);
}

/* The server runs in a container and is seen from the host, whose /proc shows the container's
 * processes under other numbers. When the container has ended, the home is free again. */
static void test_container_holds_its_home_until_it_ends(void)
{
    struct container container;
    struct embedded embedded;
    g_autoptr(GError) error = NULL;
    own_cluster_start();
    own_cluster_stop();
    g_assert_true(embedded_init(&embedded, NULL));
    if (enter(&container, "node-a", NULL, serve)) {
        g_autofree char *answer = container_answer(&container);
        g_assert_cmpstr(answer, ==, "done");
        struct embedded_status status = own_cluster_status();
        g_assert_true(status.running);
        g_assert_nonnull(strstr(status.elsewhere, "'node-a', another container"));
        embedded_status_clear(&status);
        g_assert_false(embedded_stop(&error));
        g_assert_nonnull(strstr(error->message, "'node-a'"));
        own_cluster_expect("SELECT 1", "1");
        container_kill(&container);
        g_assert_false(home_lock_holder(&embedded, &(struct home_holder){0}));
        own_cluster_start();
        own_cluster_expect("SELECT 1", "1");
        status = own_cluster_status();
        g_assert_cmpint(status.pid, >, 0);
        g_assert_null(status.elsewhere);
        embedded_status_clear(&status);
    }
    embedded_clear(&embedded);
}

/* A host that crashed leaves its record in the lock file. The record names that host, but the lock
 * is free. */
static void test_record_of_a_crashed_host_holds_nothing(void)
{
    struct embedded embedded;
    struct home_holder holder;
    own_cluster_stop();
    g_assert_true(embedded_init(&embedded, NULL));
    g_autofree char *path = g_build_filename(embedded.home, "server.lock", NULL);
    g_assert_true(g_file_set_contents(path, "node9 gone:1\n", -1, NULL));
    g_assert_false(home_lock_holder(&embedded, &holder));
    own_cluster_start();
    g_assert_true(home_lock_holder(&embedded, &holder));
    g_assert_true(holder.is_here);
    home_holder_clear(&holder);
    embedded_clear(&embedded);
}

/* A lock of another host is recognized by its record alone, which has another boot id. */
static void test_other_host_is_named(void)
{
    struct embedded embedded;
    struct home_holder holder;
    g_autoptr(GError) error = NULL;
    int held_fd;
    own_cluster_stop();
    g_assert_true(embedded_init(&embedded, NULL));
    g_assert_true(home_lock_take(&embedded, &held_fd, &error));
    g_assert_cmpint(held_fd, >=, 0);
    g_assert_cmpint(pwrite(held_fd, "node9 0-0:1\n", 12, 0), ==, 12);
    g_assert_cmpint(ftruncate(held_fd, 12), ==, 0);
    g_assert_true(home_lock_holder(&embedded, &holder));
    g_assert_false(holder.is_here);
    g_assert_true(g_str_has_prefix(holder.text, "on host 'node9'"));
    home_holder_clear(&holder);
    close(held_fd);
    embedded_clear(&embedded);
}

static const struct {
    const char *name;
    void (*run)(void);
} tests[] = {
    {"/home_lock/home_in_use_is_not_started_over", test_home_in_use_is_not_started_over},
    {"/home_lock/other_container_uses_the_server_that_it_reaches",
     test_other_container_uses_the_server_that_it_reaches},
    {"/home_lock/other_container_cannot_stop_the_server",
     test_other_container_cannot_stop_the_server},
    {"/home_lock/container_holds_its_home_until_it_ends",
     test_container_holds_its_home_until_it_ends},
    {"/home_lock/record_of_a_crashed_host_holds_nothing",
     test_record_of_a_crashed_host_holds_nothing},
    {"/home_lock/other_host_is_named", test_other_host_is_named},
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
