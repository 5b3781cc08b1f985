#include "tests/support/chaos/chaos_room.h"

#include "tests/support/farm/own_mounts.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <glib/gstdio.h>
#include <grp.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

static struct {
    bool own; /* namespaces */
    char *folder;
} room;

static void must(bool done, const char *what)
{
    if (!done)
        g_error("chaos room: cannot %s: %s", what, g_strerror(errno));
}

/* ---- entering ---- */

static int wait_status(pid_t pid)
{
    int status = 0;
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        continue;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* The namespace's first process becomes the parent of orphans and reaps them; it ends when the
 * test's process ends. */
static void reap(void)
{
    pid_t test = fork();
    if (test == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        return;
    }
    for (;;) {
        int status;
        pid_t ended = wait(&status);
        if (ended == test)
            _exit(WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
    }
}

/* Returns NULL, or the name of the step that failed with errno. */
static const char *furnish(void)
{
    static const char *const up[] = {"ip", "link", "set", "lo", "up", NULL};
    if (!own_mounts())
        return "have mounts of its own";
    if (mount("proc", "/proc", "proc", 0, NULL) != 0)
        return "mount /proc";
    if (mount("chaos", "/dev/shm", "tmpfs", 0, "size=2g") != 0)
        return "mount /dev/shm";
    if (g_mkdir_with_parents("/run/netns", 0755) != 0)
        return "make /run/netns";
    if (mount("chaos", "/run/netns", "tmpfs", 0, "size=1m") != 0)
        return "mount /run/netns";
    errno = 0;
    return room_run(up, 0, 0, NULL) ? NULL : "set up loopback (ip of iproute2)";
}

static int remove_entry(const char *path, const struct stat *status, int type, struct FTW *place)
{
    (void)status;
    (void)type;
    (void)place;
    return remove(path);
}

/* Makes the room's folder. With its own mount namespace the folder is on a mount and vanishes with
 * the namespace; otherwise the first process removes it. */
static void make_folder(const char *pattern)
{
    room.folder = g_mkdtemp(g_strdup(pattern));
    must(room.folder != NULL, "make its folder");
    must(g_chmod(room.folder, 0755) == 0, "open its folder to the server's user");
}

static bool has_ip(void)
{
    g_autofree char *path = g_find_program_in_path("ip");
    return path != NULL;
}

#define NAMESPACES (CLONE_NEWPID | CLONE_NEWNS | CLONE_NEWNET | CLONE_NEWIPC)

/* Runs in the first process of new namespaces: tries once each thing that the room and its hosts
 * need. */
static const char *try_room(void)
{
    static const char *const pair[] = {"ip",   "link", "add",  "room", "type",
                                       "veth", "peer", "name", "host", NULL};
    static const char *const host[] = {"ip", "netns", "add", "host", NULL};
    const char *failed = furnish();
    if (failed != NULL)
        return failed;
    errno = 0;
    return !room_run(host, 0, 0, NULL)   ? "make a host (ip netns add)"
           : !room_run(pair, 0, 0, NULL) ? "link a host (ip link add type veth)"
                                         : NULL;
}

/* Tries to enter a room in a process that ends afterwards. Returns NULL if everything works, else
 * what failed; free with g_free(). */
static char *what_is_refused(void)
{
    char words[256] = "";
    int fds[2];
    must(pipe2(fds, O_CLOEXEC) == 0, "make a pipe");
    fflush(NULL);
    pid_t outer = fork();
    must(outer >= 0, "start a process");
    if (outer == 0) {
        const char *failed = unshare(NAMESPACES) != 0 ? "have namespaces" : NULL;
        pid_t first = failed == NULL ? fork() : 0;
        if (first > 0)
            _exit(wait_status(first));
        failed = first < 0 ? "start a process" : failed != NULL ? failed : try_room();
        if (failed != NULL)
            dprintf(fds[1], errno == 0 ? "cannot %s" : "cannot %s: %s", failed, g_strerror(errno));
        _exit(0);
    }
    close(fds[1]);
    for (gsize length = 0; length < sizeof words - 1;) {
        ssize_t count = read(fds[0], words + length, sizeof words - 1 - length);
        if (count == 0 || (count < 0 && errno != EINTR))
            break;
        length += (gsize)MAX(count, 0);
    }
    close(fds[0]);
    int status = wait_status(outer);
    if (words[0] == '\0' && status != 0)
        return g_strdup_printf("namespaces of its own end with %d", status);
    return words[0] == '\0' ? NULL : g_strdup_printf("namespaces of its own: %s", words);
}

static const char *why_only_loopback(void)
{
    static char *refused;
    if (geteuid() != 0)
        return "namespaces need root";
    if (!has_ip())
        return "hosts need ip (iproute2)";
    refused = what_is_refused();
    if (refused == NULL)
        must(unshare(NAMESPACES) == 0, "have namespaces of its own");
    return refused;
}

static pid_t inner;

static void pass_on(int number)
{
    (void)number;
    kill(inner, SIGKILL); /* the namespace's first process: the kernel kills all others in it */
}

bool room_enter(const char **reason)
{
    *reason = why_only_loopback();
    if (*reason != NULL) {
        g_autofree char *pattern = g_build_filename(g_get_tmp_dir(), "skipjack-chaos-XXXXXX", NULL);
        make_folder(pattern);
    }
    fflush(NULL);
    pid_t outer = getpid();
    inner = fork();
    must(inner >= 0, "start a process");
    if (inner > 0) {
        signal(SIGTERM, pass_on);
        signal(SIGINT, pass_on);
        signal(SIGHUP, pass_on);
        int status = wait_status(inner);
        if (*reason != NULL)
            nftw(room.folder, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
        _exit(status);
    }
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (*reason == NULL) {
        reap();
        const char *failed = furnish();
        must(failed == NULL, failed);
        make_folder("/dev/shm/skipjack-chaos-XXXXXX");
        room.own = true;
    } else if (getppid() != outer) {
        _exit(1);
    }
    return room.own;
}

const char *room_folder(void)
{
    return room.folder;
}

char *room_make_disk(const char *name, int megabytes, bool *own)
{
    char *path = g_build_filename(room.folder, name, NULL);
    g_autofree char *options = g_strdup_printf("size=%dm,mode=0755", megabytes);
    must(g_mkdir(path, 0755) == 0, "make a folder");
    *own = room.own;
    if (room.own)
        must(mount("chaos", path, "tmpfs", 0, options) == 0, "mount a disk");
    return path;
}

/* ---- hosts ---- */

static void ip(const char *format, ...) G_GNUC_PRINTF(1, 2);
static void ip(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    g_autofree char *line = g_strdup_vprintf(format, arguments);
    va_end(arguments);
    g_autofree char *command = g_strconcat("ip ", line, NULL);
    g_auto(GStrv) argv = g_strsplit(command, " ", -1);
    must(room_run((const char *const *)argv, 0, 0, NULL), command);
}

char *room_make_host(int number)
{
    if (!room.own)
        return g_strdup("127.0.0.1");
    ip("netns add host%d", number);
    ip("link add room%d type veth peer name host%d netns host%d", number, number, number);
    ip("addr add 10.77.%d.1/24 dev room%d", number, number);
    ip("link set room%d up", number);
    ip("-n host%d addr add 10.77.%d.2/24 dev host%d", number, number, number);
    ip("-n host%d link set host%d up", number, number);
    ip("-n host%d link set lo up", number);
    return g_strdup_printf("10.77.%d.1", number);
}

void room_link_host(int number, bool up)
{
    ip("link set room%d %s", number, up ? "up" : "down");
}

/* ---- processes ---- */

static void enter_host(int host)
{
    char path[64];
    snprintf(path, sizeof path, "/run/netns/host%d", host);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || setns(fd, CLONE_NEWNET) != 0)
        _exit(126);
}

static void become(const struct room_process *process, int in, int out)
{
    int null_fd = open("/dev/null", O_RDWR);
    int log_fd = process->log == NULL
                     ? null_fd
                     : open(process->log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    if (null_fd < 0 || log_fd < 0 || dup2(in < 0 ? null_fd : in, 0) < 0 ||
        dup2(out < 0 ? log_fd : out, 1) < 0 || dup2(log_fd, 2) < 0)
        _exit(126);
    if (room.own && process->host >= 0)
        enter_host(process->host);
    if (process->uid != 0 && (setgroups(1, &process->gid) != 0 || setgid(process->gid) != 0 ||
                              setuid(process->uid) != 0 || chdir("/") != 0))
        _exit(126);
    /* Set after the change of user, which resets the death signal. */
    prctl(PR_SET_PDEATHSIG, process->death_signal ? process->death_signal : SIGKILL);
    for (const char *const *word = process->environment; word && *word; word++)
        putenv((char *)(uintptr_t)*word);
    close_range(3, ~0U, CLOSE_RANGE_CLOEXEC);
    execvp(process->argv[0], (char *const *)(uintptr_t)process->argv);
    _exit(127);
}

pid_t room_start(const struct room_process *process)
{
    int to[2] = {-1, -1}, from[2] = {-1, -1};
    must(process->to_fd == NULL || pipe2(to, O_CLOEXEC) == 0, "make a pipe");
    must(process->from_fd == NULL || pipe2(from, O_CLOEXEC) == 0, "make a pipe");
    pid_t pid = fork();
    must(pid >= 0, "start a process");
    if (pid == 0)
        become(process, to[0], from[1]);
    if (process->to_fd != NULL) {
        close(to[0]);
        *process->to_fd = to[1];
    }
    if (process->from_fd != NULL) {
        close(from[1]);
        *process->from_fd = from[0];
    }
    return pid;
}

bool room_run(const char *const *argv, uid_t uid, gid_t gid, const char *log)
{
    const struct room_process process = {
        .argv = argv, .host = -1, .uid = uid, .gid = gid, .log = log};
    return wait_status(room_start(&process)) == 0;
}

void room_kill(pid_t pid)
{
    g_assert(pid > 0); /* kill() with 0 would signal the whole process group */
    kill(pid, SIGKILL);
    wait_status(pid);
}
