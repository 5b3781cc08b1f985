/*
 * The embedded PostgreSQL: its folders, creating, starting and stopping it.
 *
 * Starting, from any state that a crash may leave:
 * 1. Take the turn (database.lock): one command at a time goes on from here.
 * 2. postmaster.pid names a living process of this cluster: use it.
 * 3. Otherwise take the home (server.lock). If another server's processes hold
 *    it, look whether their server answers here; if it does not, wait a moment
 *    for killed processes to end, and refuse a home that another host holds.
 * 4. With the home: find the programs, create the folders, run initdb if there
 *    is no cluster, wait for backends that outlived their postmaster, and start
 *    the server, which inherits the home's lock.
 * 5. Wait until it answers, and create the database.
 *
 * Another process may kill or stop the server at any of these steps: then they
 * are repeated.
 */
#include "schema/server/embedded.h"

#include "schema/server/connection.h"
#include "schema/server/database.h"
#include "schema/server/home_lock.h"
#include "schema/server/postgres_server.h"
#include "schema/store/store_private.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <glib/gstdio.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

/* ---- folders, and who owns them ---- */

#define LOG_KEEP_BYTES (8 << 20)
#define LOG_TAIL_BYTES 2000

static bool fail_errno(GError **error, const char *what, const char *path)
{
    g_set_error(error, STORE_ERROR, STORE_ERROR_CONNECTION, "cannot %s '%s': %s", what, path,
                g_strerror(errno));
    return false;
}

static bool is_set(const char *variable)
{
    const char *value = g_getenv(variable);
    return value != NULL && *value != '\0';
}

/* The user's home. GLib would take an empty HOME literally, and create the database in the working folder. */
static const char *users_home(void)
{
    const struct passwd *entry = is_set("HOME") ? NULL : getpwuid(geteuid());
    return is_set("HOME") ? g_getenv("HOME") : entry != NULL ? entry->pw_dir : NULL;
}

char *embedded_home(GError **error)
{
    if (is_set("SKIPJACK_HOME"))
        return g_canonicalize_filename(g_getenv("SKIPJACK_HOME"), NULL);
    if (geteuid() == 0)
        return g_strdup("/var/lib/skipjack");
    /* The XDG specification says to ignore relative paths. */
    const char *data = g_getenv("XDG_DATA_HOME"), *home = users_home();
    if (data != NULL && g_path_is_absolute(data))
        return g_build_filename(data, "skipjack", NULL);
    if (home == NULL) {
        g_set_error(error, STORE_ERROR, STORE_ERROR_CONNECTION,
                    "user %u has no home: there is no entry for it in /etc/passwd, and HOME is not "
                    "set; name a folder for the embedded database in SKIPJACK_HOME",
                    (unsigned)geteuid());
        return NULL;
    }
    g_autofree char *folder = g_build_filename(home, ".local", "share", "skipjack", NULL);
    return g_canonicalize_filename(folder, NULL);
}

static bool set_user(struct server_user *user, const struct passwd *entry)
{
    if (entry == NULL || entry->pw_uid == 0)
        return false;
    user->uid = entry->pw_uid;
    user->gid = entry->pw_gid;
    g_strlcpy(user->name, entry->pw_name, sizeof user->name);
    return true;
}

/* A user may have no name: containers run with any number. */
static void set_owner(struct server_user *user, uid_t uid, gid_t gid)
{
    const struct passwd *entry = getpwuid(uid);
    user->uid = uid;
    user->gid = gid;
    g_strlcpy(user->name, entry != NULL ? entry->pw_name : "", sizeof user->name);
}

/* An existing cluster keeps its user: PostgreSQL refuses files of another owner. */
static bool find_user(struct embedded *embedded, GError **error)
{
    struct stat status;
    if (geteuid() != 0) {
        set_owner(&embedded->user, geteuid(), getegid());
        return true;
    }
    if (stat(embedded->data, &status) == 0 && status.st_uid != 0) {
        const struct passwd *entry = getpwuid(status.st_uid);
        set_owner(&embedded->user, status.st_uid, entry != NULL ? entry->pw_gid : status.st_gid);
        return true;
    }
    if (set_user(&embedded->user, getpwnam("postgres")) ||
        set_user(&embedded->user, getpwnam("nobody")))
        return true;
    g_set_error(
        error, STORE_ERROR, STORE_ERROR_CONNECTION,
        "the embedded PostgreSQL cannot run as root, and there is no user 'postgres' or 'nobody' "
        "to run it; add one, or run skipjack as another user");
    return false;
}

/* The socket's folder. If the normal path is too long, or has a comma (at which libpq and PostgreSQL split
 * it), a folder named by a hash of the home: every process finds it, whatever its environment. */
static char *find_socket_dir(const struct embedded *embedded)
{
    g_autofree char *normal = g_build_filename(embedded->folder, "socket", NULL);
    const char *socket_name = "/.s.PGSQL.5432";
    if (strlen(normal) + strlen(socket_name) < sizeof((struct sockaddr_un *)NULL)->sun_path &&
        strchr(normal, ',') == NULL)
        return g_steal_pointer(&normal);
    g_autofree char *hash = g_compute_checksum_for_string(G_CHECKSUM_SHA256, embedded->home, -1);
    g_autofree char *runtime = g_strdup_printf("/run/user/%u", (unsigned)embedded->user.uid);
    const char *parent = "/tmp";
    if (geteuid() != 0 && g_access(runtime, W_OK | X_OK) == 0)
        parent = runtime;
    return g_strdup_printf("%s/skipjack-%u-%.16s", parent, (unsigned)embedded->user.uid, hash);
}

bool embedded_init(struct embedded *embedded, GError **error)
{
    memset(embedded, 0, sizeof *embedded);
    embedded->home = embedded_home(error);
    if (embedded->home == NULL)
        return false;
    embedded->folder = g_build_filename(embedded->home, "postgres", NULL);
    embedded->data = g_build_filename(embedded->folder, "data", NULL);
    embedded->data_new = g_build_filename(embedded->folder, "data.new", NULL);
    embedded->log = g_build_filename(embedded->folder, "log", NULL);
    if (!find_user(embedded, error))
        return false;
    embedded->socket_dir = find_socket_dir(embedded);
    return true;
}

void embedded_clear(struct embedded *embedded)
{
    g_free(embedded->home);
    g_free(embedded->folder);
    g_free(embedded->data);
    g_free(embedded->data_new);
    g_free(embedded->log);
    g_free(embedded->socket_dir);
    memset(embedded, 0, sizeof *embedded);
}

static bool embedded_exists(const struct embedded *embedded)
{
    g_autofree char *version = g_build_filename(embedded->data, "PG_VERSION", NULL);
    return g_file_test(version, G_FILE_TEST_EXISTS);
}

char *embedded_url(const struct embedded *embedded, const char *database)
{
    g_autofree char *host = g_uri_escape_string(embedded->socket_dir, NULL, FALSE);
    g_autofree char *user = g_uri_escape_string(embedded->user.name, NULL, FALSE);
    return g_strdup_printf("postgresql://skipjack@/%s?host=%s&port=5432&connect_timeout=10%s%s",
                           database, host, *user != '\0' ? "&requirepeer=" : "", user);
}

static bool is_ours(const struct embedded *embedded, const struct stat *status)
{
    return S_ISDIR(status->st_mode) &&
           (status->st_uid == embedded->user.uid || status->st_uid == geteuid());
}

static bool refuse_folder(const char *path, GError **error)
{
    g_set_error(error, STORE_ERROR, STORE_ERROR_CONNECTION,
                "'%s' belongs to another user or is no folder: remove it, run as its owner, or "
                "name another folder in SKIPJACK_HOME",
                path);
    return false;
}

/* Works on the open folder, so that a change of its name cannot redirect it. */
static bool make_fd_private(const struct embedded *embedded, int fd, const char *path,
                            GError **error)
{
    struct stat status;
    if (fstat(fd, &status) != 0)
        return fail_errno(error, "look at", path);
    if (!is_ours(embedded, &status))
        return refuse_folder(path, error);
    if (status.st_uid != embedded->user.uid &&
        fchown(fd, embedded->user.uid, embedded->user.gid) != 0)
        return fail_errno(error, "change the owner of", path);
    if ((status.st_mode & 07777) != 0700 && fchmod(fd, 0700) != 0)
        return fail_errno(error, "change the mode of", path);
    return true;
}

/* Makes a folder that only the server's user can enter. In /tmp another user may have created a link or
 * folder of that name: those are refused. */
static bool make_private(const struct embedded *embedded, const char *path, GError **error)
{
    if (g_mkdir(path, 0700) != 0 && errno != EEXIST)
        return fail_errno(error, "create the folder", path);
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0 && (errno == ELOOP || errno == ENOTDIR || errno == EACCES))
        return refuse_folder(path, error);
    if (fd < 0)
        return fail_errno(error, "open", path);
    bool done = make_fd_private(embedded, fd, path, error);
    close(fd);
    return done;
}

static bool check_socket(const struct embedded *embedded, GError **error)
{
    struct stat status;
    if (lstat(embedded->socket_dir, &status) != 0)
        return errno == ENOENT || fail_errno(error, "look at", embedded->socket_dir);
    return is_ours(embedded, &status) || refuse_folder(embedded->socket_dir, error);
}

/* Whether the server's user may pass the folder. For another user the supplementary groups are not used;
 * for this process the system decides. */
static bool may_pass(const struct server_user *user, const char *path, const struct stat *status)
{
    if (user->uid == geteuid())
        return faccessat(AT_FDCWD, path, X_OK, AT_EACCESS) == 0;
    if (status->st_uid == user->uid)
        return (status->st_mode & S_IXUSR) != 0;
    if (status->st_gid == user->gid)
        return (status->st_mode & S_IXGRP) != 0;
    return (status->st_mode & S_IXOTH) != 0;
}

/* Checks that the server's user can pass every folder above the cluster. */
static bool check_way(const struct embedded *embedded, GError **error)
{
    g_autofree char *path = g_strdup(embedded->home);
    for (;;) {
        struct stat status;
        if (stat(path, &status) != 0)
            return fail_errno(error, "look at", path);
        if (!may_pass(&embedded->user, path, &status)) {
            g_set_error(
                error, STORE_ERROR, STORE_ERROR_CONNECTION,
                "the embedded PostgreSQL runs as user '%s', who cannot pass the folder '%s'; "
                "allow it with 'chmod o+x %s', or name another folder in SKIPJACK_HOME",
                embedded->user.name, path, path);
            return false;
        }
        if (strcmp(path, "/") == 0)
            return true;
        char *parent = g_path_get_dirname(path);
        g_free(path);
        path = parent;
    }
}

/* As root, lets other users pass the home. Folders above it are left as they are. */
static bool open_home(const struct embedded *embedded, GError **error)
{
    struct stat status;
    if (stat(embedded->home, &status) != 0)
        return fail_errno(error, "look at", embedded->home);
    if (geteuid() == 0 && status.st_uid == 0 &&
        !may_pass(&embedded->user, embedded->home, &status) &&
        g_chmod(embedded->home, (status.st_mode & 07777) | S_IXOTH) != 0)
        return fail_errno(error, "change the mode of", embedded->home);
    return check_way(embedded, error);
}

static void rotate_log(const struct embedded *embedded)
{
    struct stat status;
    if (stat(embedded->log, &status) != 0 || status.st_size < LOG_KEEP_BYTES)
        return;
    g_autofree char *old = g_strconcat(embedded->log, ".old", NULL);
    if (g_rename(embedded->log, old) != 0)
        g_warning("cannot rename '%s': %s", embedded->log, g_strerror(errno));
}

static bool make_folders(const struct embedded *embedded, GError **error)
{
    if (g_mkdir_with_parents(embedded->home, 0755) != 0)
        return fail_errno(error, "create the folder", embedded->home);
    if (!open_home(embedded, error) || !make_private(embedded, embedded->folder, error) ||
        !make_private(embedded, embedded->socket_dir, error))
        return false;
    rotate_log(embedded);
    return true;
}

char *embedded_log_tail(const struct embedded *embedded)
{
    char buffer[LOG_TAIL_BYTES + 1];
    FILE *file = fopen(embedded->log, "re");
    if (file == NULL)
        return g_strdup("");
    size_t length = 0;
    if (fseek(file, 0, SEEK_END) == 0) {
        long size = ftell(file);
        if (fseek(file, size > LOG_TAIL_BYTES ? size - LOG_TAIL_BYTES : 0, SEEK_SET) == 0)
            length = fread(buffer, 1, LOG_TAIL_BYTES, file);
    }
    fclose(file);
    buffer[length] = '\0';
    const char *start = buffer;
    if (length == LOG_TAIL_BYTES && strchr(buffer, '\n') != NULL)
        start = strchr(buffer, '\n') + 1;
    return g_strchomp(g_utf8_make_valid(start, -1));
}

/* Seconds to wait for a started server, which may have to recover after a crash. */
#define START_SECONDS  90
#define STOP_SECONDS   60
/* How long a server that holds the home may not answer: it is shutting down, or its container is. */
#define SILENT_SECONDS 5
/* Another process may kill or stop the server meanwhile: then it is started again, up to this number of
 * times. */
#define START_ATTEMPTS 5

/* For a laptop: small buffers, few files. fsync and synchronous_commit stay on, PostgreSQL's default:
 * commits survive a power cut. */
static const char *const server_settings[] = {
    "listen_addresses=",
    "port=5432",
    "unix_socket_permissions=0700",
    "max_connections=100",
    "shared_buffers=32MB",
    "huge_pages=off",
    "wal_level=minimal",
    "max_wal_senders=0",
    "min_wal_size=32MB",
    "max_wal_size=512MB",
    "checkpoint_timeout=15min",
    "jit=off",
    "max_parallel_workers_per_gather=0",
    "autovacuum=on",
    "autovacuum_max_workers=1",
    "logging_collector=off",
    "log_destination=stderr",
    "log_checkpoints=off",
    "log_line_prefix=%m [%p] ",
    "cluster_name=skipjack",
};

/* ---- creating ---- */

static int remove_entry(const char *path, const struct stat *status, int type, struct FTW *place)
{
    (void)status;
    (void)type;
    (void)place;
    return remove(path);
}

static bool remove_tree(const char *path, GError **error)
{
    if (nftw(path, remove_entry, 16, FTW_DEPTH | FTW_PHYS) == 0 || errno == ENOENT)
        return true;
    g_set_error(error, STORE_ERROR, STORE_ERROR_CONNECTION, "cannot remove '%s': %s", path,
                g_strerror(errno));
    return false;
}

/* Makes the rename durable before data is stored: after a power cut the cluster must not have its former
 * name. */
static bool sync_folder(const char *path)
{
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    bool done = fd >= 0 && fsync(fd) == 0;
    if (fd >= 0)
        close(fd);
    return done;
}

/* Runs initdb. It demands a name for its user, although it uses the name for nothing here. Containers may
 * run with a number that has no name: then libnss_wrapper gives it one. */
static bool run_initdb(const struct embedded *embedded, const char *const *argv, int turn,
                       GError **error)
{
    const struct server_user *user = &embedded->user;
    if (*user->name != '\0')
        return server_run(embedded, argv, NULL, turn, error);
    g_autofree char *names = g_build_filename(embedded->folder, "passwd", NULL);
    g_autofree char *line = g_strdup_printf("skipjack:x:%u:%u::/:/bin/false\n", (unsigned)user->uid,
                                            (unsigned)user->gid);
    if (!g_file_set_contents(names, line, -1, error))
        return false;
    bool done = server_run(embedded, argv, names, turn, error);
    unlink(names);
    if (!done)
        g_prefix_error(error,
                       "user %u has no entry in /etc/passwd, which initdb wants: add one, install "
                       "libnss-wrapper, or name a server in SKIPJACK_DB; ",
                       (unsigned)user->uid);
    return done;
}

/* Creates the cluster under another name and renames it when complete: what an interrupted initdb left is
 * never used. An initdb whose parent was killed goes on, and would remove the next command's files: it
 * holds the turn until it ends. */
static bool create_cluster(const struct embedded *embedded, const char *programs, int turn,
                           GError **error)
{
    g_autofree char *initdb = g_build_filename(programs, "initdb", NULL);
    const char *argv[] = {initdb,       "--username=skipjack", "--auth=trust", "--encoding=UTF8",
                          "--locale=C", "--data-checksums",    "-D",           embedded->data_new,
                          NULL};
    if (!remove_tree(embedded->data_new, error) || !run_initdb(embedded, argv, turn, error))
        return false;
    if (rename(embedded->data_new, embedded->data) == 0 && sync_folder(embedded->folder))
        return true;
    g_set_error(error, STORE_ERROR, STORE_ERROR_CONNECTION,
                "cannot rename '%s' to '%s': %s; if that folder holds nothing of yours, remove it",
                embedded->data_new, embedded->data, g_strerror(errno));
    return false;
}

static int cluster_major(const struct embedded *embedded)
{
    g_autofree char *path = g_build_filename(embedded->data, "PG_VERSION", NULL);
    g_autofree char *text = NULL;
    return g_file_get_contents(path, &text, NULL, NULL) ? atoi(text) : 0;
}

/* ---- starting ---- */

static PGPing ping(const struct embedded *embedded)
{
    g_autofree char *url = embedded_url(embedded, "postgres");
    return PQping(url);
}

static bool fail_start(const struct embedded *embedded, const char *what, GError **error)
{
    g_autofree char *tail = embedded_log_tail(embedded);
    g_set_error(error, STORE_ERROR, STORE_ERROR_CONNECTION,
                "the embedded PostgreSQL %s; the last lines of '%s':\n%s", what, embedded->log,
                tail);
    return false;
}

enum answer { ANSWER_READY, ANSWER_ENDED, ANSWER_LATE };

/* Waits until the server answers. A server in a slow shutdown waits for its clients, and they wait for its
 * return: SIGINT makes it a fast shutdown. */
static enum answer wait_for_answer(const struct embedded *embedded, pid_t pid)
{
    gint64 deadline = g_get_monotonic_time() + START_SECONDS * G_USEC_PER_SEC;
    while (ping(embedded) != PQPING_OK) {
        if (!server_is_alive(pid))
            return ANSWER_ENDED;
        if (g_get_monotonic_time() > deadline)
            return ANSWER_LATE;
        if (server_is_stopping(embedded))
            kill(pid, SIGINT);
        g_usleep(20000);
    }
    return ANSWER_READY;
}

/* The settings of SKIPJACK_DB_SETTINGS, for machines larger than a laptop: name=value, separated by
 * blanks. */
static char **own_settings(GError **error)
{
    const char *text = g_getenv("SKIPJACK_DB_SETTINGS");
    char **settings = g_strsplit_set(text != NULL ? text : "", " \t\n", -1);
    for (char **setting = settings; *setting != NULL; setting++) {
        gsize name = strspn(*setting, "abcdefghijklmnopqrstuvwxyz_.0123456789");
        if (**setting == '\0' || (name > 0 && (*setting)[name] == '='))
            continue;
        g_set_error(error, STORE_ERROR, STORE_ERROR_QUERY,
                    "SKIPJACK_DB_SETTINGS: '%s' is no setting of PostgreSQL; write name=value, "
                    "with blanks between several",
                    *setting);
        g_strfreev(settings);
        return NULL;
    }
    return settings;
}

static void add_setting(GPtrArray *argv, const char *setting)
{
    g_ptr_array_add(argv, (gpointer)(uintptr_t) "-c");
    g_ptr_array_add(argv, (gpointer)(uintptr_t)setting);
}

static pid_t start_server(const struct embedded *embedded, const char *programs, int home_fd,
                          GError **error)
{
    g_auto(GStrv) own = own_settings(error);
    if (own == NULL)
        return -1;
    g_autofree char *program = g_build_filename(programs, "postgres", NULL);
    g_autofree char *socket = g_strdup_printf("unix_socket_directories=%s", embedded->socket_dir);
    g_autoptr(GPtrArray) argv = g_ptr_array_new();
    const char *fixed[] = {program, "-D", embedded->data, "-c", socket};
    for (gsize i = 0; i < G_N_ELEMENTS(fixed); i++)
        g_ptr_array_add(argv, (gpointer)(uintptr_t)fixed[i]);
    for (gsize i = 0; i < G_N_ELEMENTS(server_settings); i++)
        add_setting(argv, server_settings[i]);
    for (char **setting = own; *setting != NULL; setting++)
        if (**setting != '\0')
            add_setting(argv, *setting);
    g_ptr_array_add(argv, NULL);
    return server_spawn(embedded, (const char *const *)argv->pdata, home_fd, error);
}

static bool is_lost(const GError *failure)
{
    return g_error_matches(failure, STORE_ERROR, STORE_ERROR_CONNECTION);
}

/* Whether another session is creating the database: the server finishes CREATE DATABASE for a killed
 * client. */
static bool is_being_created(const PGresult *result)
{
    static const char *const states[] = {
        "42P04", /* duplicate_database */
        "23505", /* unique_violation: the other session was faster */
        "55006", /* object_in_use: the other session copies template1 */
    };
    const char *state = PQresultErrorField(result, PG_DIAG_SQLSTATE);
    for (gsize i = 0; state != NULL && i < G_N_ELEMENTS(states); i++)
        if (strcmp(state, states[i]) == 0)
            return true;
    return false;
}

/* *again: another session is creating it, look again. */
static bool try_create(PGconn *connection, bool *again, GError **error)
{
    g_autoptr(StoreRows) found =
        PQexec(connection, "SELECT datconnlimit FROM pg_database WHERE datname = 'skipjack'");
    *again = false;
    if (PQresultStatus(found) != PGRES_TUPLES_OK) {
        store_set_error(connection, found, error);
        return false;
    }
    /* PostgreSQL marks a database whose removal was interrupted with -2: it refuses all connections. */
    bool is_invalid = PQntuples(found) == 1 && atoi(PQgetvalue(found, 0, 0)) == -2;
    if (PQntuples(found) == 1 && !is_invalid)
        return true;
    if (is_invalid)
        PQclear(PQexec(connection, "DROP DATABASE skipjack"));
    g_autoptr(StoreRows) made = PQexec(connection, "CREATE DATABASE skipjack");
    if (PQresultStatus(made) == PGRES_COMMAND_OK)
        return true;
    *again = is_being_created(made);
    store_set_error(connection, made, error);
    return false;
}

static bool create_database(const struct embedded *embedded, GError **error)
{
    g_autofree char *url = embedded_url(embedded, "postgres");
    gint64 deadline = g_get_monotonic_time() + START_SECONDS * G_USEC_PER_SEC;
    PGconn *connection = PQconnectdb(url);
    g_autoptr(GError) failure = NULL;
    bool again = false;
    bool done = try_create(connection, &again, &failure);
    while (!done && again && g_get_monotonic_time() < deadline) {
        g_usleep(20000);
        g_clear_error(&failure);
        done = try_create(connection, &again, &failure);
    }
    if (!done)
        g_propagate_error(error, g_steal_pointer(&failure));
    PQfinish(connection);
    return done;
}

static bool refuse_holder(const struct embedded *embedded, const HomeHolder *holder, GError **error)
{
    g_autofree char *url = embedded_url(embedded, "postgres");
    PGconn *connection = PQconnectdb(url);
    const char *words = PQerrorMessage(connection);
    g_autofree char *why = g_strndup(words, strcspn(words, "\n"));
    PQfinish(connection);
    g_set_error(
        error, STORE_ERROR, STORE_ERROR_CONNECTION,
        "the database under '%s' is in use %s, and its socket does not answer here (%s); run "
        "this command there, stop that server with 'skipjack db stop' there, name a server "
        "that both reach in SKIPJACK_DB, or another folder in SKIPJACK_HOME",
        embedded->home, holder->text, why);
    return false;
}

/* The server that find_server() found, or the home. */
struct server {
    /* Process id of the server; 0 if it runs in another PID namespace or on another host. */
    pid_t pid;
    int home_fd;  /* descriptor of the home's lock, taken for a server that is to start; else -1 */
    bool answers; /* if pid is 0: whether the server answers on the socket of this home */
};

/* A server holds the home, but /proc does not show its postmaster. Either the server runs elsewhere, and
 * is used if it answers here; or it was killed, and its remaining processes end within moments. */
static bool look_at_holder(const struct embedded *embedded, gint64 since_us, struct server *server,
                           GError **error)
{
    g_auto(HomeHolder) holder = {0};
    PGPing answer = ping(embedded);
    gint64 waited_us = g_get_monotonic_time() - since_us;
    server->answers = answer == PQPING_OK;
    if (server->answers || !home_lock_holder(embedded, &holder))
        return true;
    int patience_seconds = answer == PQPING_REJECT ? START_SECONDS : SILENT_SECONDS;
    if (waited_us < patience_seconds * G_USEC_PER_SEC) {
        g_usleep(20000);
        return true;
    }
    /* The lock ends within a moment after the server's processes. */
    bool killed = waited_us >= (patience_seconds + SILENT_SECONDS) * G_USEC_PER_SEC;
    if (!holder.is_here || killed)
        return refuse_holder(embedded, &holder, error);
    return server_kill_remains(embedded, error);
}

static bool find_server(const struct embedded *embedded, struct server *server, GError **error)
{
    gint64 since_us = g_get_monotonic_time();
    *server = (struct server){.home_fd = -1};
    for (;;) {
        server->pid = server_pid(embedded);
        if (server->pid != 0 || server->answers)
            return true;
        if (!home_lock_take(embedded, &server->home_fd, error))
            return false;
        if (server->home_fd >= 0)
            return true;
        if (!look_at_holder(embedded, since_us, server, error))
            return false;
    }
}

static pid_t start_in_home(const struct embedded *embedded, int turn, int home_fd, GError **error)
{
    g_autofree char *programs = postgres_find_programs(cluster_major(embedded), error);
    if (programs == NULL || !make_folders(embedded, error) ||
        (!embedded_exists(embedded) && !create_cluster(embedded, programs, turn, error)) ||
        !server_clear_remains(embedded, error))
        return -1;
    return start_server(embedded, programs, home_fd, error);
}

/* Returns the pid of the running server, or of one started now; 0 for a server that runs elsewhere and
 * answers here; -1 with an error. */
static pid_t find_or_start(const struct embedded *embedded, int turn, GError **error)
{
    struct server server;
    if (!find_server(embedded, &server, error))
        return -1;
    if (server.home_fd < 0)
        return server.pid;
    pid_t pid = start_in_home(embedded, turn, server.home_fd, error);
    close(server.home_fd);
    return pid;
}

static bool start_locked(const struct embedded *embedded, int turn, GError **error)
{
    g_autoptr(GError) failure = NULL;
    for (int attempt = 0; attempt < START_ATTEMPTS; attempt++) {
        g_clear_error(&failure);
        pid_t pid = find_or_start(embedded, turn, error);
        if (pid < 0)
            return false;
        enum answer answer = pid == 0 ? ANSWER_READY : wait_for_answer(embedded, pid);
        if (answer == ANSWER_LATE)
            return fail_start(embedded, "does not answer yet, try again when it has recovered",
                              error);
        if (answer == ANSWER_READY && create_database(embedded, &failure))
            return true;
        if (failure != NULL && !is_lost(failure))
            break;
    }
    if (failure == NULL)
        return fail_start(embedded, "does not start", error);
    g_propagate_error(error, g_steal_pointer(&failure));
    return false;
}

bool embedded_answers(const char *url)
{
    PGconn *connection = PQconnectdb(url);
    bool ok = PQstatus(connection) == CONNECTION_OK;
    PQfinish(connection);
    return ok;
}

static bool start_embedded(const struct embedded *embedded, GError **error)
{
    if (g_mkdir_with_parents(embedded->home, 0755) != 0) {
        g_set_error(error, STORE_ERROR, STORE_ERROR_CONNECTION, "cannot create the folder '%s': %s",
                    embedded->home, g_strerror(errno));
        return false;
    }
    int turn = home_turn_take(embedded, error);
    if (turn < 0)
        return false;
    bool done = start_locked(embedded, turn, error);
    close(turn);
    return done;
}

bool embedded_start(GError **error)
{
    g_auto(Embedded) embedded;
    if (!embedded_init(&embedded, error) || !check_socket(&embedded, error))
        return false;
    g_autofree char *url = embedded_url(&embedded, "skipjack");
    for (int attempt = 1;; attempt++) {
        g_autoptr(GError) failure = NULL;
        struct migrated done;
        if (!embedded_answers(url) && !start_embedded(&embedded, error))
            return false;
        if (database_migrate(url, &done, &failure))
            return true;
        if (attempt == START_ATTEMPTS || !is_lost(failure)) {
            g_propagate_error(error, g_steal_pointer(&failure));
            return false;
        }
    }
}

/* ---- stopping ---- */

static bool stop_locked(const struct embedded *embedded, GError **error)
{
    gint64 deadline = g_get_monotonic_time() + STOP_SECONDS * G_USEC_PER_SEC;
    pid_t pid = server_pid(embedded);
    g_auto(HomeHolder) holder = {0};
    if (pid == 0 && home_lock_holder(embedded, &holder) && !holder.is_here) {
        g_set_error(error, STORE_ERROR, STORE_ERROR_CONNECTION,
                    "the database under '%s' is in use %s: stop it there", embedded->home,
                    holder.text);
        return false;
    }
    if (pid == 0)
        return true;
    /* SIGINT is PostgreSQL's fast shutdown: it rolls transactions back and closes files in order. */
    if (kill(pid, SIGINT) != 0 && errno != ESRCH) {
        g_set_error(error, STORE_ERROR, STORE_ERROR_CONNECTION,
                    "cannot stop the embedded PostgreSQL (process %d): %s", (int)pid,
                    g_strerror(errno));
        return false;
    }
    while (server_is_alive(pid)) {
        if (g_get_monotonic_time() > deadline)
            return fail_start(embedded, "does not stop", error);
        g_usleep(10000);
    }
    return true;
}

bool embedded_stop(GError **error)
{
    g_auto(Embedded) embedded;
    if (!embedded_init(&embedded, error))
        return false;
    if (!g_file_test(embedded.home, G_FILE_TEST_IS_DIR))
        return true;
    int turn = home_turn_take(&embedded, error);
    if (turn < 0)
        return false;
    bool done = stop_locked(&embedded, error);
    close(turn);
    return done;
}

/* ---- the state of the embedded database ---- */

void embedded_status_clear(struct embedded_status *status)
{
    g_free(status->home);
    g_free(status->elsewhere);
    g_free(status->socket_dir);
    g_free(status->url);
    g_free(status->version);
    memset(status, 0, sizeof *status);
}

static char *read_version(const struct embedded *embedded, bool running)
{
    if (running) {
        g_autofree char *url = embedded_url(embedded, "postgres");
        PGconn *connection = PQconnectdb(url);
        const char *version = PQparameterStatus(connection, "server_version");
        char *copy = version == NULL ? NULL : g_strndup(version, strcspn(version, " "));
        PQfinish(connection);
        if (copy != NULL)
            return copy;
    }
    int major = cluster_major(embedded);
    return major == 0 ? g_strdup("") : g_strdup_printf("%d", major);
}

bool embedded_status(struct embedded_status *status, GError **error)
{
    g_auto(Embedded) embedded;
    memset(status, 0, sizeof *status);
    if (!embedded_init(&embedded, error))
        return false;
    status->exists = embedded_exists(&embedded);
    status->pid = server_pid(&embedded);
    g_auto(HomeHolder) holder = {0};
    if (status->pid == 0 && home_lock_holder(&embedded, &holder) && !holder.is_here)
        status->elsewhere = g_steal_pointer(&holder.text);
    status->running = status->pid != 0 || status->elsewhere != NULL;
    status->home = g_strdup(embedded.home);
    status->socket_dir = g_strdup(embedded.socket_dir);
    status->url = embedded_url(&embedded, "skipjack");
    status->version = read_version(&embedded, status->running);
    return true;
}
