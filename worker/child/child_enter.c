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
    /* RLIMIT_DATA limits private writable memory; RLIMIT_AS would count address space that drivers only reserve. */
    struct rlimit limit = {.rlim_cur = bytes, .rlim_max = bytes};
    if (bytes == 0 || setrlimit(RLIMIT_DATA, &limit) == 0)
        return true;
    g_set_error(error, WORKER_ERROR, WORKER_ERROR_CHILD, "cannot limit a child's memory: %s",
                g_strerror(errno));
    return false;
}

/* Forks a guard, which kills the whole process group as soon as the child is dead, whatever killed it. Processes that a
 * compiler started do not notice the child's death, and would run on without a deadline. */
static bool guard_group(GError **error)
{
    pid_t child = getpid();
    sigset_t death;
    int got;
    if (getpgrp() != child)
        return true; /* the process group belongs to another process, which must not be killed */
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
    /* Close all files: the agent waits until every copy of the child's pipes is closed. */
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
    /* Slurm signals every process of a job that it ends. Only the agent answers: it lets the running config finish.
     * Compilers inherit the ignored signals. */
    signal(SIGTERM, SIG_IGN);
    signal(SIGINT, SIG_IGN);
    signal(SIGHUP, SIG_IGN);
    /* If the parent died before prctl(), no signal will come: end here. */
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
