#include "worker/child/child_enter.h"

#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "worker/protocol/frames.h"

static bool limit_memory(uint64_t bytes, GError **error)
{
    /* Private writable memory: RLIMIT_AS would also count what drivers only reserve. */
    struct rlimit limit = {.rlim_cur = bytes, .rlim_max = bytes};
    if (bytes == 0 || setrlimit(RLIMIT_DATA, &limit) == 0)
        return true;
    g_set_error(error, WORKER_ERROR, WORKER_ERROR_CHILD, "cannot limit a child's memory: %s",
                g_strerror(errno));
    return false;
}

/* Leaves a process behind that ends the whole group once the child is dead, however that came: what a
 * compiler started knows nothing of the child, and would run on without a deadline. */
static bool guard_group(GError **error)
{
    pid_t child = getpid();
    sigset_t death;
    int got;
    if (getpgrp() != child)
        return true; /* the group is not the child's to end */
    sigemptyset(&death);
    sigaddset(&death, SIGUSR1);
    pid_t guard = fork();
    if (guard > 0)
        return true;
    if (guard < 0) {
        g_set_error(error, WORKER_ERROR, WORKER_ERROR_CHILD, "cannot guard a child: %s",
                    g_strerror(errno));
        return false;
    }
    /* The agent waits for the end of the child's pipes. */
    close_range(0, ~0U, 0);
    sigprocmask(SIG_BLOCK, &death, NULL);
    prctl(PR_SET_PDEATHSIG, SIGUSR1);
    if (getppid() == child)
        sigwait(&death, &got);
    kill(0, SIGKILL);
    _exit(0);
}

bool child_enter(int argc, char **argv, GError **error)
{
    guint64 parent, memory;
    if (argc < CHILD_ARGUMENTS ||
        !g_ascii_string_to_unsigned(argv[0], 10, 1, G_MAXINT, &parent, error) ||
        !g_ascii_string_to_unsigned(argv[1], 10, 0, G_MAXUINT64, &memory, error)) {
        if (error && !*error)
            g_set_error(error, WORKER_ERROR, WORKER_ERROR_CHILD,
                        "a child needs its parent's process id and a memory limit");
        return false;
    }
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    /* Slurm signals each process of a group that it ends. The agent decides
     * what that means: it lets what is under way come to its end. Compilers inherit this. */
    signal(SIGTERM, SIG_IGN);
    signal(SIGINT, SIG_IGN);
    signal(SIGHUP, SIG_IGN);
    /* The parent may have died before the first line. */
    if (getppid() != (pid_t)parent) {
        g_set_error(error, WORKER_ERROR, WORKER_ERROR_CLOSED, "the parent is gone");
        return false;
    }
    return guard_group(error) && limit_memory(memory, error);
}

int child_take_stdout(GError **error)
{
    int out = dup(STDOUT_FILENO);
    if (out >= 0 && dup2(STDERR_FILENO, STDOUT_FILENO) >= 0)
        return out;
    g_set_error(error, WORKER_ERROR, WORKER_ERROR_CHILD, "cannot move the standard output: %s",
                g_strerror(errno));
    return -1;
}
