#include "coordinator/process/process.h"

#include "coordinator/cli/cli.h"
#include "schema/monitor/signals.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static sigset_t handled_signals(void)
{
    sigset_t set;
    sigemptyset(&set);
    for (const int *number = signals_ending(); *number; number++)
        sigaddset(&set, *number);
    sigaddset(&set, SIGCHLD);
    return set;
}

void process_block_signals(void)
{
    sigset_t set = handled_signals();
    sigprocmask(SIG_BLOCK, &set, NULL);
}

void process_unblock_signals(void)
{
    sigset_t set = handled_signals();
    sigdelset(&set, SIGCHLD);
    sigprocmask(SIG_UNBLOCK, &set, NULL);
}

int process_wait_signal(int timeout_ms)
{
    sigset_t set = handled_signals();
    struct timespec timeout = {timeout_ms / 1000, (timeout_ms % 1000) * 1000000L};
    int caught = sigtimedwait(&set, NULL, &timeout);
    return caught > 0 ? caught : 0;
}

static bool fail_start(GError **error, const char *what, int code)
{
    g_set_error(error, COORDINATOR_ERROR, COORDINATOR_ERROR_PROCESS, "cannot %s: %s", what,
                g_strerror(code));
    return false;
}

/* Runs in the child between fork and exec, so it makes async-signal-safe calls only. */
static void G_GNUC_NORETURN become_child(char **argv, pid_t parent, int log_fd, int output_fd)
{
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != parent)
        _exit(127);
    int nothing = open("/dev/null", O_RDONLY);
    if (nothing >= 0)
        dup2(nothing, STDIN_FILENO);
    if (log_fd >= 0)
        dup2(log_fd, STDERR_FILENO);
    dup2(output_fd >= 0 ? output_fd : STDERR_FILENO, STDOUT_FILENO);
    execv("/proc/self/exe", argv);
    _exit(127);
}

static GPtrArray *make_argv(const char *const *args)
{
    GPtrArray *argv = g_ptr_array_new();
    g_ptr_array_add(argv, (char *)"skipjack");
    for (int i = 0; args[i]; i++)
        g_ptr_array_add(argv, (char *)args[i]);
    g_ptr_array_add(argv, NULL);
    return argv;
}

pid_t process_start(const char *const *args, const char *log_path, int output_fd, GError **error)
{
    int log_fd = -1;
    if (log_path) {
        log_fd = open(log_path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
        if (log_fd < 0) {
            g_autofree char *what = g_strdup_printf("write the log '%s'", log_path);
            fail_start(error, what, errno);
            return 0;
        }
    }
    g_autoptr(GPtrArray) argv = make_argv(args);
    pid_t parent = getpid();
    pid_t pid = fork();
    if (pid == 0)
        become_child((char **)argv->pdata, parent, log_fd, output_fd);
    if (pid < 0)
        fail_start(error, "start a process", errno);
    if (log_fd >= 0)
        close(log_fd);
    return MAX(pid, 0);
}

bool process_ended(pid_t pid, int *status)
{
    return waitpid(pid, status, WNOHANG) == pid;
}

char *process_status_text(int status)
{
    if (WIFSIGNALED(status))
        return g_strdup_printf("was killed by signal %d (%s)", WTERMSIG(status),
                               strsignal(WTERMSIG(status)));
    if (WEXITSTATUS(status) == 127)
        return g_strdup("could not be executed");
    return g_strdup_printf("ended with status %d", WEXITSTATUS(status));
}

/* Appends what can be read from the descriptor up to its end. From a non-blocking descriptor, only
 * what is there already. */
static void read_on(int fd, GString *text)
{
    char buffer[4096];
    ssize_t got;
    while ((got = read(fd, buffer, sizeof buffer)) > 0 || (got < 0 && errno == EINTR)) {
        if (got > 0)
            g_string_append_len(text, buffer, got);
    }
}

/* Starts the command. *fd becomes a pipe from its standard output. */
static pid_t start_piped(const char *const *args, const char *log_path, int flags, int *fd,
                         GError **error)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) {
        fail_start(error, "make a pipe", errno);
        return 0;
    }
    pid_t pid = process_start(args, log_path, ends[1], error);
    close(ends[1]);
    *fd = ends[0];
    if (pid == 0)
        close(ends[0]);
    else if (flags != 0)
        fcntl(ends[0], F_SETFL, flags);
    return pid;
}

static bool check_status(int status, const char *command, GError **error)
{
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return true;
    g_autofree char *how = process_status_text(status);
    g_set_error(error, COORDINATOR_ERROR, COORDINATOR_ERROR_PROCESS, "'skipjack %s' %s", command,
                how);
    return false;
}

bool process_run(const char *const *args, const char *log_path, char **output, GError **error)
{
    int fd, status = 0;
    *output = NULL;
    pid_t pid = start_piped(args, log_path, 0, &fd, error);
    if (pid == 0)
        return false;
    GString *text = g_string_new(NULL);
    read_on(fd, text);
    close(fd);
    *output = g_string_free(text, FALSE);
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        continue;
    return check_status(status, args[0], error);
}

/* Reads up to the end, or until the time is over; false then. */
static bool read_until(int fd, gint64 until_us, GString *text)
{
    for (;;) {
        struct pollfd one = {.fd = fd, .events = POLLIN};
        gint64 left_ms = (until_us - g_get_monotonic_time()) / 1000;
        int ready = left_ms > 0 ? poll(&one, 1, (int)MIN(left_ms, G_MAXINT)) : 0;
        char buffer[4096];
        if (ready == 0)
            return false;
        ssize_t got = ready > 0 ? read(fd, buffer, sizeof buffer) : -1;
        if (got == 0 || (got < 0 && errno != EINTR))
            return true;
        if (got > 0)
            g_string_append_len(text, buffer, got);
    }
}

bool process_run_within(const char *const *args, double seconds, char **output, GError **error)
{
    int fd, status = 0;
    *output = NULL;
    pid_t pid = start_piped(args, NULL, 0, &fd, error);
    if (pid == 0)
        return false;
    GString *text = g_string_new(NULL);
    bool ended = read_until(fd, g_get_monotonic_time() + (gint64)(seconds * G_USEC_PER_SEC), text);
    close(fd);
    if (!ended && kill(-pid, SIGKILL) != 0)
        kill(pid, SIGKILL); /* it has not made its group yet */
    *output = g_string_free(text, FALSE);
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        continue;
    if (ended)
        return check_status(status, args[0], error);
    g_set_error(error, COORDINATOR_ERROR, COORDINATOR_ERROR_PROCESS,
                "'skipjack %s' took longer than %.3g s and was ended", args[0], seconds);
    return false;
}

/* Runs the command to its end; *status is its status as waitpid() gives it. Returns false with an error if it cannot
 * be started. */
static bool run_stoppable(const char *const *args, const char *log_path, char **output, int *status,
                          int *caught, GError **error)
{
    int fd;
    *output = NULL;
    *caught = 0;
    pid_t pid = start_piped(args, log_path, O_NONBLOCK, &fd, error);
    if (pid == 0)
        return false;
    GString *text = g_string_new(NULL);
    while (!process_ended(pid, status)) {
        int number = process_wait_signal(1000);
        read_on(fd, text);
        if (!signals_is_ending(number) || (*caught && number == SIGHUP))
            continue;
        kill(*caught ? -pid : pid, *caught ? SIGKILL : number);
        *caught = number;
    }
    read_on(fd, text);
    close(fd);
    *output = g_string_free(text, FALSE);
    return true;
}

bool process_run_stoppable(const char *const *args, const char *log_path, char **output,
                           int *caught, GError **error)
{
    int status = 0;
    return run_stoppable(args, log_path, output, &status, caught, error) &&
           check_status(status, args[0], error);
}

bool process_run_status(const char *const *args, char **output, int *status, int *caught,
                        GError **error)
{
    int waited = 0;
    if (!run_stoppable(args, NULL, output, &waited, caught, error) ||
        (!WIFEXITED(waited) && !check_status(waited, args[0], error)))
        return false;
    *status = WEXITSTATUS(waited);
    return true;
}

json_t *process_probe(GError **error)
{
    const char *const args[] = {"worker", "--probe", "--eval", "local", NULL};
    g_autofree char *text = NULL;
    if (!process_run(args, NULL, &text, error)) {
        g_prefix_error(error, "cannot learn this machine's device: ");
        return NULL;
    }
    json_error_t where;
    json_t *probe = json_loads(text, 0, &where);
    if (!json_is_object(probe)) {
        json_decref(probe);
        g_set_error(
            error, COORDINATOR_ERROR, COORDINATOR_ERROR_PROCESS,
            "cannot learn this machine's device: 'skipjack worker --probe' printed no JSON");
        return NULL;
    }
    return probe;
}
