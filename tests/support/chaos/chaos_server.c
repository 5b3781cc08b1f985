#include "tests/support/chaos/chaos_server.h"

#include "schema/server/database.h"
#include "schema/server/postgres_server.h"
#include "tests/support/chaos/chaos_room.h"
#include "tests/support/patience.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <glib/gstdio.h>
#include <libpq-fe.h>
#include <netinet/in.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define STOP_SECONDS 20

static struct {
    bool own_disk;
    char *disk, *data, *log, *filler, *programs;
    uid_t uid;
    gid_t gid;
    int port;
    pid_t pid;
} server;

#define LOG_TAIL 3000

static void must(bool done, const char *what)
{
    g_autofree char *log = NULL;
    gsize length = 0;
    if (done)
        return;
    g_file_get_contents(server.log, &log, &length, NULL);
    g_error("chaos server: cannot %s; its last words:\n%s", what,
            log == NULL ? "" : log + (length > LOG_TAIL ? length - LOG_TAIL : 0));
}

static void choose_user(void)
{
    const struct passwd *user = NULL;
    if (geteuid() == 0)
        user = getpwnam("postgres") != NULL ? getpwnam("postgres") : getpwnam("nobody");
    server.uid = user != NULL ? user->pw_uid : 0;
    server.gid = user != NULL ? user->pw_gid : 0;
}

/* A port that no process listens on now. */
static int free_port(void)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t length = sizeof at;
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    must(fd >= 0 && bind(fd, (struct sockaddr *)&at, length) == 0 &&
             getsockname(fd, (struct sockaddr *)&at, &length) == 0,
         "find a port");
    close(fd);
    return ntohs(at.sin_port);
}

static char *url_of(const char *database)
{
    return g_strdup_printf("postgresql://skipjack@127.0.0.1:%d/%s", server.port, database);
}

static void start_process(void)
{
    g_autofree char *postgres = g_build_filename(server.programs, "postgres", NULL);
    g_autofree char *port = g_strdup_printf("port=%d", server.port);
    g_autofree char *sockets = g_strdup_printf("unix_socket_directories=%s", server.disk);
    const char *const argv[] = {
        postgres, "-D", server.data, "-c", port, "-c", sockets,
        /* fsync=off: a killed process loses nothing that the kernel has, unlike a power cut. */
        "-c", "fsync=off", "-c", "listen_addresses=127.0.0.1", "-c", "max_connections=80", "-c",
        "shared_buffers=32MB", "-c", "min_wal_size=8MB", "-c", "max_wal_size=32MB", "-c",
        "autovacuum_naptime=5", NULL};
    const struct room_process process = {.argv = argv,
                                         .host = -1,
                                         .log = server.log,
                                         .uid = server.uid,
                                         .gid = server.gid,
                                         .death_signal = SIGQUIT};
    server.pid = room_start(&process);
}

static bool has_ended(void)
{
    return server.pid == 0 || waitpid(server.pid, NULL, WNOHANG) == server.pid;
}

static bool answers(void)
{
    g_autofree char *url = url_of("postgres");
    return PQping(url) == PQPING_OK;
}

/* After a kill, the old server's processes may remain for a moment, in which a new server exits at
 * once: starting is repeated until patience ends. */
void server_start(void)
{
    gint64 limit = patience_end();
    while (g_get_monotonic_time() < limit) {
        if (has_ended())
            start_process();
        if (answers())
            return;
        g_usleep(20000);
    }
    must(false, "start it");
}

static bool await_end(gint64 limit)
{
    while (!has_ended()) {
        if (g_get_monotonic_time() > limit)
            return false;
        g_usleep(5000);
    }
    return true;
}

void server_stop(enum server_end end)
{
    static const int signals[] = {SIGINT, SIGQUIT, SIGKILL};
    kill(server.pid, signals[end]);
    if (!await_end(g_get_monotonic_time() + STOP_SECONDS * G_USEC_PER_SEC)) {
        printf("# PostgreSQL does not stop within %d seconds: it is killed\n", STOP_SECONDS);
        kill(server.pid, SIGKILL);
        must(await_end(patience_end()), "kill it");
    }
    server.pid = 0;
}

void server_create(int megabytes)
{
    g_autoptr(GError) error = NULL;
    server.programs = postgres_find_programs(0, &error);
    if (server.programs == NULL)
        g_error("chaos server: %s", error->message);
    choose_user();
    server.log = g_build_filename(room_folder(), "postgres.log", NULL);
    server.disk = room_make_disk("server", megabytes, &server.own_disk);
    server.data = g_build_filename(server.disk, "data", NULL);
    server.filler = g_build_filename(server.disk, "filler", NULL);
    must(server.uid == 0 || chown(server.disk, server.uid, server.gid) == 0, "give it its disk");
    g_autofree char *initdb = g_build_filename(server.programs, "initdb", NULL);
    const char *const argv[] = {initdb,
                                "-D",
                                server.data,
                                "-U",
                                "skipjack",
                                "--auth=trust",
                                "--no-sync",
                                "--wal-segsize=1",
                                "--encoding=UTF8",
                                "--no-locale",
                                NULL};
    must(room_run(argv, server.uid, server.gid, server.log), "make its cluster");
    server.port = free_port();
    server_start();
}

int server_port(void)
{
    return server.port;
}

char *server_add_database(const char *name)
{
    g_autoptr(GError) error = NULL;
    struct migrated done;
    g_autofree char *create = g_strdup_printf("CREATE DATABASE %s", name);
    g_autofree char *first = url_of("postgres");
    PGconn *connection = PQconnectdb(first);
    PGresult *rows = PQexec(connection, create);
    must(PQresultStatus(rows) == PGRES_COMMAND_OK, create);
    PQclear(rows);
    PQfinish(connection);
    char *url = url_of(name);
    if (!database_migrate(url, &done, &error))
        g_error("chaos server: %s", error->message);
    return url;
}

/* ---- its disk ---- */

bool server_has_disk(void)
{
    return server.own_disk;
}

void server_fill_disk(void)
{
    static char block[4096];
    gsize size = sizeof block;
    int fd = open(server.filler, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    while (fd >= 0 && size > 0)
        if (write(fd, block, size) < 0)
            size /= 2;
    must(fd >= 0 && errno == ENOSPC, "fill its disk");
    close(fd);
}

void server_free_disk(void)
{
    must(unlink(server.filler) == 0, "free its disk");
    server_start();
}

/* ---- keeping the database after the test ---- */

static bool dump_into(const char *database, const char *folder)
{
    g_autofree char *program = g_build_filename(server.programs, "pg_dump", NULL);
    g_autofree char *url = url_of(database);
    g_autofree char *file = g_strconcat("--file=", folder, "/dump.sql", NULL);
    const char *const argv[] = {program, "--clean", "--if-exists", "--no-owner", file, url, NULL};
    return room_run(argv, 0, 0, server.log);
}

bool server_keep(const char *database, const char *home, const char *program)
{
    g_autofree char *dump = g_build_filename(home, "dump.sql", NULL);
    const char *const restore[] = {program,           "db", "psql", "-q", "-v",
                                   "ON_ERROR_STOP=1", "-f", dump,   NULL};
    const char *const stop[] = {program, "db", "stop", NULL};
    const char *const start[] = {program, "db", "start", NULL};
    if (g_mkdir_with_parents(home, 0755) != 0 || !dump_into(database, home))
        return false;
    g_unsetenv("SKIPJACK_DB");
    g_setenv("SKIPJACK_HOME", home, TRUE);
    bool kept = room_run(start, 0, 0, server.log) && room_run(restore, 0, 0, server.log);
    return room_run(stop, 0, 0, server.log) && kept;
}
