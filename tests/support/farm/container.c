#include "tests/support/farm/container.h"

#include "tests/support/farm/own_mounts.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define NAMESPACES (CLONE_NEWPID | CLONE_NEWIPC | CLONE_NEWNS | CLONE_NEWUTS)

/* Called in the container's process: if a step failed, answers with the reason and ends the
 * process. */
static void must(bool done, const char *what, FILE *answer)
{
    if (done)
        return;
    fprintf(answer, "n%s: %s", what, g_strerror(errno));
    fflush(answer);
    _exit(1);
}

static void write_map(const char *path, const char *text, FILE *answer)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    must(fd >= 0 && write(fd, text, strlen(text)) > 0, path, answer);
    close(fd);
}

/* Without root, a user namespace is needed to make the other namespaces; the user keeps its number
 * in it. */
static void enter_namespaces(FILE *answer)
{
    uid_t uid = geteuid();
    gid_t gid = getegid();
    must(unshare(NAMESPACES | (uid == 0 ? 0 : CLONE_NEWUSER)) == 0,
         "the kernel refuses namespaces here", answer);
    if (uid == 0)
        return;
    g_autofree char *users = g_strdup_printf("%u %u 1", (unsigned)uid, (unsigned)uid);
    g_autofree char *groups = g_strdup_printf("%u %u 1", (unsigned)gid, (unsigned)gid);
    write_map("/proc/self/setgroups", "deny", answer);
    write_map("/proc/self/uid_map", users, answer);
    write_map("/proc/self/gid_map", groups, answer);
}

static void furnish(const char *host, const char *hidden, FILE *answer)
{
    struct stat place = {0};
    must(own_mounts(), "no mounts of its own", answer);
    must(mount("proc", "/proc", "proc", 0, NULL) == 0, "no /proc of its own", answer);
    must(sethostname(host, strlen(host)) == 0, "no host name of its own", answer);
    if (!hidden)
        return;
    must(stat(hidden, &place) == 0 && mount("none", hidden, "tmpfs", 0, NULL) == 0 &&
             chown(hidden, place.st_uid, place.st_gid) == 0 &&
             chmod(hidden, place.st_mode & 07777) == 0,
         "cannot hide a folder", answer);
}

/* The first process of the namespaces: when it ends, the kernel kills all others in them. */
static void live(const char *host, const char *hidden, ContainerBody body, FILE *answer)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    furnish(host, hidden, answer);
    fputc('y', answer);
    fflush(answer);
    body(answer);
    fflush(answer);
    _exit(0);
}

static pid_t first;

static void end_first(int number)
{
    (void)number;
    kill(first, SIGKILL);
}

static void become(const char *host, const char *hidden, ContainerBody body, FILE *answer)
{
    sigset_t ending;
    sigemptyset(&ending);
    sigaddset(&ending, SIGTERM);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    enter_namespaces(answer);
    sigprocmask(SIG_BLOCK, &ending, NULL);
    first = fork();
    if (first != 0)
        signal(SIGTERM, end_first);
    sigprocmask(SIG_UNBLOCK, &ending, NULL);
    if (first == 0)
        live(host, hidden, body, answer);
    must(first > 0, "cannot start a process", answer);
    fclose(answer);
    /* The first process ends after all others of its namespace. */
    while (waitpid(first, NULL, 0) < 0 && errno == EINTR)
        continue;
    _exit(0);
}

bool container_start(struct container *container, const char *host, const char *hidden,
                     ContainerBody body, char **reason)
{
    int ends[2];
    char verdict = 0;
    g_assert_true(pipe2(ends, O_CLOEXEC) == 0);
    fflush(NULL);
    container->pid = fork();
    g_assert_cmpint(container->pid, >=, 0);
    if (container->pid == 0) {
        close(ends[0]);
        become(host, hidden, body, fdopen(ends[1], "w"));
    }
    close(ends[1]);
    container->answer_fd = ends[0];
    if (read(ends[0], &verdict, 1) == 1 && verdict == 'y')
        return true;
    /* A container that could not be set up ends without being killed. */
    *reason = container_answer(container);
    waitpid(container->pid, NULL, 0);
    close(container->answer_fd);
    return false;
}

char *container_answer(struct container *container)
{
    GString *text = g_string_new(NULL);
    char buffer[512];
    ssize_t length;
    while ((length = read(container->answer_fd, buffer, sizeof buffer)) > 0 ||
           (length < 0 && errno == EINTR))
        g_string_append_len(text, buffer, MAX(length, 0));
    return g_string_free(text, FALSE);
}

void container_kill(struct container *container)
{
    kill(container->pid, SIGTERM);
    while (waitpid(container->pid, NULL, 0) < 0 && errno == EINTR)
        continue;
    close(container->answer_fd);
}
