/*
 * PostgreSQL's processes and programs. A process counts as the cluster's if its
 * working folder is the cluster's: a number in a pid file may belong to any
 * program after a crash.
 */
#include "schema/server/postgres_server.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* Backends notice within moments that their postmaster is gone; a busy backend at its next wait. */
#define REMAINS_SECONDS        10
#define REMAINS_KILLED_SECONDS 10

/* ---- starting ---- */

/* The server gets a fixed environment: PGPORT, PGDATA and the like would change its settings. */
#define SERVER_ENVIRONMENT "PATH=/usr/bin:/bin", "LC_ALL=C", "TZ=UTC"

/* A program to run, its folder, and the files that stay open in it: the log, and kept_fd unless it is -1. */
struct program {
    const struct embedded *embedded;
    const char *const *argv;
    const char *folder;
    const char *const *environment;
    int log_fd, kept_fd;
};

/* Runs between fork and exec: only async-signal-safe calls. */
static _Noreturn void become(const struct program *program)
{
    const struct server_user *user = &program->embedded->user;
    int null_fd = open("/dev/null", O_RDONLY);
    struct rlimit files;
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    for (int number = 1; number < NSIG; number++)
        signal(number, SIG_DFL);
    umask(077);
    /* The server outlives the command, so the command's limit on file sizes (ulimit -S -f) must not bind
     * it. */
    if (getrlimit(RLIMIT_FSIZE, &files) == 0) {
        files.rlim_cur = files.rlim_max;
        setrlimit(RLIMIT_FSIZE, &files);
    }
    bool ready = null_fd >= 0 && dup2(null_fd, 0) == 0 && dup2(program->log_fd, 1) == 1 &&
                 dup2(program->log_fd, 2) == 2 && chdir(program->folder) == 0;
    if (ready && geteuid() == 0)
        ready = setgroups(1, &user->gid) == 0 && setresgid(user->gid, user->gid, user->gid) == 0 &&
                setresuid(user->uid, user->uid, user->uid) == 0;
    if (ready && close_range(3, ~0U, CLOSE_RANGE_CLOEXEC) == 0 &&
        (program->kept_fd < 0 || fcntl(program->kept_fd, F_SETFD, 0) == 0))
        execve(program->argv[0], (char *const *)(uintptr_t)program->argv,
               (char *const *)(uintptr_t)program->environment);
    static const char words[] = "cannot change to the server's user or run its program\n";
    ssize_t written = write(2, words, sizeof words - 1);
    (void)written; /* the log is the only place left for the message */
    _exit(127);
}

static int open_log(const struct embedded *embedded, GError **error)
{
    int fd = open(embedded->log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0)
        g_set_error(error, STORE_ERROR, STORE_ERROR_CONNECTION, "cannot write '%s': %s",
                    embedded->log, g_strerror(errno));
    else if (geteuid() == 0 && fchown(fd, embedded->user.uid, embedded->user.gid) != 0)
        g_warning("cannot give '%s' to %s", embedded->log, embedded->user.name);
    return fd;
}

static int wait_for(pid_t pid)
{
    int status = -1;
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        continue;
    return status;
}

bool server_run(const struct embedded *embedded, const char *const *argv, const char *names,
                int kept_fd, GError **error)
{
    int log_fd = open_log(embedded, error);
    if (log_fd < 0)
        return false;
    g_autofree char *users = g_strdup_printf("NSS_WRAPPER_PASSWD=%s", names != NULL ? names : "");
    const char *const plain[] = {SERVER_ENVIRONMENT, NULL};
    const char *const named[] = {SERVER_ENVIRONMENT, "LD_PRELOAD=libnss_wrapper.so", users,
                                 "NSS_WRAPPER_GROUP=/dev/null", NULL};
    const struct program program = {.embedded = embedded,
                                    .argv = argv,
                                    .folder = "/",
                                    .environment = names != NULL ? named : plain,
                                    .log_fd = log_fd,
                                    .kept_fd = kept_fd};
    pid_t pid = fork();
    if (pid == 0)
        become(&program);
    close(log_fd);
    if (pid > 0 && wait_for(pid) == 0)
        return true;
    g_autofree char *tail = embedded_log_tail(embedded);
    g_set_error(error, STORE_ERROR, STORE_ERROR_CONNECTION,
                "%s failed, its last words in '%s':\n%s", argv[0], embedded->log, tail);
    return false;
}

/* Forks twice: the daemon is no child of this process, and so leaves no zombie that looks alive. */
pid_t server_spawn(const struct embedded *embedded, const char *const *argv, int kept_fd,
                   GError **error)
{
    int pipe_fds[2];
    pid_t server = -1;
    int log_fd = open_log(embedded, error);
    if (log_fd < 0)
        return -1;
    if (pipe2(pipe_fds, O_CLOEXEC) != 0) {
        close(log_fd);
        g_set_error(error, STORE_ERROR, STORE_ERROR_CONNECTION, "cannot make a pipe: %s",
                    g_strerror(errno));
        return -1;
    }
    /* The daemon enters its cluster's folder at once: is_of_cluster() recognises it by that. */
    static const char *const environment[] = {SERVER_ENVIRONMENT, NULL};
    const struct program program = {.embedded = embedded,
                                    .argv = argv,
                                    .folder = embedded->data,
                                    .environment = environment,
                                    .log_fd = log_fd,
                                    .kept_fd = kept_fd};
    pid_t middle = fork();
    if (middle == 0) {
        setsid();
        pid_t inner = fork();
        if (inner == 0)
            become(&program);
        ssize_t written = write(pipe_fds[1], &inner, sizeof inner);
        _exit(written == sizeof inner ? 0 : 1);
    }
    close(log_fd);
    close(pipe_fds[1]);
    if (middle > 0) {
        wait_for(middle);
        if (read(pipe_fds[0], &server, sizeof server) != sizeof server)
            server = -1;
    }
    close(pipe_fds[0]);
    if (server < 0)
        g_set_error(error, STORE_ERROR, STORE_ERROR_CONNECTION, "cannot start a process for '%s'",
                    argv[0]);
    return server;
}

/* ---- finding the server's processes ---- */

static bool read_small(const char *path, char *buffer, size_t size)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    ssize_t length = read(fd, buffer, size - 1);
    close(fd);
    buffer[length > 0 ? length : 0] = '\0';
    return length > 0;
}

bool server_is_alive(pid_t pid)
{
    char path[64], text[512];
    if (kill(pid, 0) != 0 && errno == ESRCH)
        return false;
    g_snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    if (!read_small(path, text, sizeof text))
        return false;
    /* /proc/PID/stat is "PID (name) STATE ...". The name may contain anything: the last ')' ends it. */
    const char *end = strrchr(text, ')');
    return end == NULL || (strncmp(end, ") Z", 3) != 0 && strncmp(end, ") X", 3) != 0);
}

/* Root needs CAP_SYS_PTRACE to look at another user's process, which containers seldom give; so it looks
 * as that user. */
static bool look_as(const struct server_user *user, const char *path, struct stat *status)
{
    if (stat(path, status) == 0)
        return true;
    if (errno != EACCES || geteuid() != 0)
        return false;
    setfsgid(user->gid);
    setfsuid(user->uid);
    bool known = stat(path, status) == 0;
    setfsuid(geteuid());
    setfsgid(getegid());
    return known;
}

/* Whether the process is the cluster's: PostgreSQL's processes work in their cluster's folder. */
static bool is_of_cluster(const struct embedded *embedded, pid_t pid, const struct stat *data)
{
    char path[64], name[64];
    struct stat cwd;
    g_snprintf(path, sizeof path, "/proc/%d/comm", (int)pid);
    if (!read_small(path, name, sizeof name) || !g_str_has_prefix(name, "postgres"))
        return false;
    g_snprintf(path, sizeof path, "/proc/%d/cwd", (int)pid);
    return look_as(&embedded->user, path, &cwd) && cwd.st_dev == data->st_dev &&
           cwd.st_ino == data->st_ino;
}

static pid_t recorded_pid(const struct embedded *embedded)
{
    char text[64];
    g_autofree char *path = g_build_filename(embedded->data, "postmaster.pid", NULL);
    return read_small(path, text, sizeof text) ? (pid_t)atoi(text) : 0;
}

pid_t server_pid(const struct embedded *embedded)
{
    struct stat data;
    pid_t pid = recorded_pid(embedded);
    if (pid <= 1 || stat(embedded->data, &data) != 0)
        return 0;
    return server_is_alive(pid) && is_of_cluster(embedded, pid, &data) ? pid : 0;
}

bool server_is_stopping(const struct embedded *embedded)
{
    /* The eighth line of postmaster.pid is the state, padded with blanks. */
    g_autofree char *path = g_build_filename(embedded->data, "postmaster.pid", NULL);
    g_autofree char *text = NULL;
    if (!g_file_get_contents(path, &text, NULL, NULL))
        return false;
    g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
    return g_strv_length(lines) >= 8 && g_str_has_prefix(lines[7], "stopping");
}

/* ---- ending processes that a dead server left ---- */

/* Counts the cluster's processes and sends each the signal; 0 sends none. */
static int count_processes(const struct embedded *embedded, int signal_number)
{
    struct stat data;
    struct dirent *entry;
    int count = 0;
    DIR *proc = stat(embedded->data, &data) == 0 ? opendir("/proc") : NULL;
    while (proc != NULL && (entry = readdir(proc)) != NULL) {
        pid_t pid = (pid_t)atoi(entry->d_name);
        if (pid <= 1 || !server_is_alive(pid) || !is_of_cluster(embedded, pid, &data))
            continue;
        count++;
        if (signal_number != 0)
            kill(pid, signal_number);
    }
    if (proc != NULL)
        closedir(proc);
    return count;
}

static bool wait_until_none(const struct embedded *embedded, double seconds)
{
    gint64 deadline = g_get_monotonic_time() + (gint64)(seconds * G_USEC_PER_SEC);
    while (count_processes(embedded, 0) > 0) {
        if (g_get_monotonic_time() > deadline)
            return false;
        g_usleep(20000);
    }
    return true;
}

bool server_kill_remains(const struct embedded *embedded, GError **error)
{
    count_processes(embedded, SIGKILL);
    if (wait_until_none(embedded, REMAINS_KILLED_SECONDS))
        return true;
    g_set_error(error, STORE_ERROR, STORE_ERROR_CONNECTION,
                "processes of an earlier server in '%s' do not end; end them, then try again",
                embedded->data);
    return false;
}

bool server_clear_remains(const struct embedded *embedded, GError **error)
{
    if (!wait_until_none(embedded, REMAINS_SECONDS) && !server_kill_remains(embedded, error))
        return false;
    /* Without processes the pid file is wrong: its number may now belong to another program, or to a
     * zombie that nobody collects. */
    g_autofree char *pid_file = g_build_filename(embedded->data, "postmaster.pid", NULL);
    g_autofree char *lock = g_build_filename(embedded->socket_dir, ".s.PGSQL.5432.lock", NULL);
    const char *stale[] = {pid_file, lock};
    for (gsize i = 0; i < G_N_ELEMENTS(stale); i++) {
        if (unlink(stale[i]) != 0 && errno != ENOENT) {
            g_set_error(error, STORE_ERROR, STORE_ERROR_CONNECTION, "cannot remove '%s': %s",
                        stale[i], g_strerror(errno));
            return false;
        }
    }
    return true;
}

/* ---- finding the programs ---- */

#define OLDEST_MAJOR 15

static bool has_programs(const char *folder)
{
    static const char *const needed[] = {"postgres", "initdb"};
    for (gsize i = 0; i < G_N_ELEMENTS(needed); i++) {
        g_autofree char *path = g_build_filename(folder, needed[i], NULL);
        if (!g_file_test(path, G_FILE_TEST_IS_EXECUTABLE))
            return false;
    }
    return true;
}

/* The first line that a program prints; NULL if it does not run. */
static char *first_line(const char *program, const char *option)
{
    const char *argv[] = {program, option, NULL};
    g_autofree char *output = NULL;
    int status = 0;
    if (!g_spawn_sync(NULL, (char **)(void *)argv, NULL,
                      G_SPAWN_SEARCH_PATH | G_SPAWN_STDERR_TO_DEV_NULL, NULL, NULL, &output, NULL,
                      &status, NULL) ||
        !g_spawn_check_wait_status(status, NULL))
        return NULL;
    output[strcspn(output, "\n")] = '\0';
    return g_steal_pointer(&output);
}

/* The major version of a folder's postgres, 0 for none. */
static int major_of(const char *folder)
{
    if (!has_programs(folder))
        return 0;
    g_autofree char *program = g_build_filename(folder, "postgres", NULL);
    g_autofree char *line = first_line(program, "--version");
    const char *number = line == NULL ? NULL : strpbrk(line, "0123456789");
    return number == NULL ? 0 : atoi(number);
}

struct choice {
    char *folder;
    int major;
};

/* Takes the folder over if it has the wanted version, or a newer one than found so far. */
static void consider(struct choice *best, const char *folder, int wanted)
{
    int major = major_of(folder);
    if (major < OLDEST_MAJOR || major <= best->major || (wanted != 0 && major != wanted))
        return;
    g_free(best->folder);
    best->folder = g_strdup(folder);
    best->major = major;
}

/* Debian has a folder for each version, /usr/lib/postgresql/15/bin; PostgreSQL's packages for other
 * systems have /usr/pgsql-15/bin. */
static void consider_packages(struct choice *best, int wanted)
{
    static const struct {
        const char *parent, *prefix;
    } places[] = {{"/usr/lib/postgresql", ""}, {"/usr", "pgsql-"}, {"/usr/local", "pgsql"}};
    for (gsize i = 0; i < G_N_ELEMENTS(places); i++) {
        GDir *dir = g_dir_open(places[i].parent, 0, NULL);
        const char *name;
        while (dir != NULL && (name = g_dir_read_name(dir)) != NULL) {
            if (!g_str_has_prefix(name, places[i].prefix))
                continue;
            g_autofree char *folder = g_build_filename(places[i].parent, name, "bin", NULL);
            consider(best, folder, wanted);
        }
        g_clear_pointer(&dir, g_dir_close);
    }
}

static void consider_path(struct choice *best, int wanted)
{
    g_autofree char *configured = first_line("pg_config", "--bindir");
    g_autofree char *program = g_find_program_in_path("postgres");
    if (configured != NULL)
        consider(best, configured, wanted);
    if (program != NULL) {
        /* The program in PATH may be a link whose folder has no other programs. */
        char *real = realpath(program, NULL);
        g_autofree char *folder = g_path_get_dirname(real != NULL ? real : program);
        free(real);
        consider(best, folder, wanted);
    }
}

static char *named_programs(const char *folder, int wanted, GError **error)
{
    int major = major_of(folder);
    if (major >= OLDEST_MAJOR && (wanted == 0 || wanted == major))
        return g_strdup(folder);
    if (wanted != 0 && major >= OLDEST_MAJOR)
        g_set_error(error, STORE_ERROR, STORE_ERROR_CONNECTION,
                    "SKIPJACK_PG_BIN names PostgreSQL %d, but the cluster was made by %d", major,
                    wanted);
    else
        g_set_error(
            error, STORE_ERROR, STORE_ERROR_CONNECTION,
            "SKIPJACK_PG_BIN names '%s', which has no postgres and initdb of version %d or later",
            folder, OLDEST_MAJOR);
    return NULL;
}

char *postgres_find_programs(int major, GError **error)
{
    struct choice best = {0};
    const char *named = g_getenv("SKIPJACK_PG_BIN");
    if (named != NULL && *named != '\0')
        return named_programs(named, major, error);
    consider_packages(&best, major);
    consider_path(&best, major);
    if (best.folder == NULL && major != 0)
        g_set_error(
            error, STORE_ERROR, STORE_ERROR_CONNECTION,
            "the embedded database was made by PostgreSQL %d, which is not installed: install "
            "postgresql-%d, or name its programs' folder in SKIPJACK_PG_BIN",
            major, major);
    else if (best.folder == NULL)
        g_set_error(
            error, STORE_ERROR, STORE_ERROR_CONNECTION,
            "PostgreSQL %d or later is not installed: run 'deploy/install-deps run', name its "
            "programs' folder in SKIPJACK_PG_BIN, or a server elsewhere in SKIPJACK_DB",
            OLDEST_MAJOR);
    return best.folder;
}
