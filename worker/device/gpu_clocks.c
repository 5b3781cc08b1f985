/*
 * The life of a lock:
 *   measuring process                     guard
 *   starts the guard with two pipes       makes the mark, locks the clocks
 *   waits for one line                    answers "locked", or the reason why not
 *   measures                              waits on its standard input, the leash
 *   closes the leash, or dies             unlocks the clocks, removes the mark, exits
 * A guard that is killed leaves its mark; the next process that holds the GPU's lock finds it and unlocks the clocks.
 */
#include "worker/device/gpu_clocks.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <syslog.h>
#include <unistd.h>

#include "worker/child/child_enter.h"
#include "worker/device/gpu_monitor.h"
#include "worker/device/gpu_place.h"
#include "worker/protocol/protocol.h"

#define ANSWER_MS    20000 /* for the driver */
#define ANSWER_MAX   500
#define LOCKED       "locked"
#define MARK         "clocks"
/* A clock may differ by this much from the locked one: clocks have steps of 15 MHz or more and
 * vary around them. */
#define STEP_PERCENT 5
#define HELD         3 /* descriptor under which the guard has the GPU's lock */

extern char **environ;

/* AMD's partition name for a card that is not divided, however its memory is divided. */
#define WHOLE "SPX"

/* Whether the device is a whole card. The parts of a card share its clocks: locking and
 * unlocking them would affect the workers of other parts. */
static bool is_whole(const struct device_identity *identity, GError **error)
{
    if (*identity->partition == '\0' || g_str_has_prefix(identity->partition, WHOLE))
        return true;
    g_set_error(error, DEVICE_ERROR, DEVICE_ERROR_UNAVAILABLE,
                "the device is a part of a card (%s), and all parts share their clocks",
                identity->partition);
    return false;
}

/* ---- the guard ---- */

enum { ARG_VENDOR, ARG_UUID, ARG_ADDRESS, ARG_MHZ, GUARD_ARGUMENTS };

static void answer(int out, const char *text)
{
    /* A failed write means that the measuring process is gone; wait_for_end() then returns at once. */
    dprintf(out, "%s\n", text);
}

static void wait_for_end(void)
{
    char byte;
    ssize_t got;

    do {
        got = read(STDIN_FILENO, &byte, 1);
    } while (got > 0 || (got < 0 && errno == EINTR));
}

/* Unlocks the clocks and removes the mark. The measuring process is gone, so a failure is
 * written to the host's log. */
static int give_back(GpuMonitor *monitor, const char *device, const char *mark)
{
    g_autoptr(GError) error = NULL;
    bool given = gpu_monitor_unlock(monitor, &error);

    if (given)
        unlink(mark);
    else
        syslog(LOG_ERR, "skipjack: the clocks of %s are still locked: %s", device, error->message);
    gpu_monitor_close(monitor);
    return given ? 0 : 1;
}

/* Makes the mark, a file that says that the clocks are locked. Call it before locking them: at
 * no moment may clocks be locked without a mark. If the mark cannot be made, the clocks are
 * locked anyway; only a killed guard would need it. False if this call did not make the mark. */
static bool make_mark(const char *mark)
{
    int file = open(mark, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);

    if (file >= 0)
        close(file);
    return file >= 0;
}

/* Opens the monitor and locks the clocks. Asks NVML for a partition, too, since CUDA does not always report a MIG
 * instance as one. On failure NULL, and the clocks are unchanged. */
static GpuMonitor *open_locked(enum vendor vendor, struct device_identity *identity, int mhz,
                               GError **error)
{
    GpuMonitor *monitor = gpu_monitor_open(vendor, identity, error);

    if (!monitor)
        return NULL;
    gpu_monitor_name_instance(monitor, identity);
    if (is_whole(identity, error) && gpu_monitor_lock(monitor, mhz, error))
        return monitor;
    gpu_monitor_close(monitor);
    return NULL;
}

int gpu_clocks_guard(int argc, char **argv)
{
    struct device_identity identity = {0};
    g_autoptr(GError) error = NULL;
    GpuMonitor *monitor;
    int out;

    if (argc != GUARD_ARGUMENTS)
        return 2;
    /* The guard closes inherited files of the driver, which would keep the measuring process's
     * context alive on the device. */
    close_range(HELD + 1, ~0U, 0);
    /* A library that prints to standard output must not spoil the answer. */
    out = child_take_stdout(NULL);
    signal(SIGTERM, SIG_IGN);
    signal(SIGINT, SIG_IGN);
    signal(SIGHUP, SIG_IGN);
    signal(SIGPIPE, SIG_IGN);
    g_strlcpy(identity.uuid, argv[ARG_UUID], sizeof(identity.uuid));
    g_strlcpy(identity.address, argv[ARG_ADDRESS], sizeof(identity.address));
    g_autofree char *mark = gpu_place_file(&identity, MARK);
    bool marked = make_mark(mark);
    monitor =
        open_locked((enum vendor)atoi(argv[ARG_VENDOR]), &identity, atoi(argv[ARG_MHZ]), &error);
    if (!monitor) {
        if (marked)
            unlink(mark);
        answer(out, error->message);
        return 1;
    }
    answer(out, LOCKED);
    wait_for_end();
    return give_back(monitor, identity.uuid, mark);
}

/* ---- the measuring process ---- */

/* Starts the guard in a session of its own, so that a signal to the measuring process's group
 * does not end it. */
static int spawn_guard(pid_t *guard, char *const *argv, const int in[2], const int out[2], int hold)
{
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attributes;
    sigset_t none;
    int status;

    sigemptyset(&none);
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_adddup2(&files, in[0], STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&files, out[1], STDOUT_FILENO);
    posix_spawn_file_actions_addopen(&files, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    if (hold >= 0)
        posix_spawn_file_actions_adddup2(&files, hold, HELD);
    else
        posix_spawn_file_actions_addclose(&files, HELD);
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK);
    status = posix_spawn(guard, "/proc/self/exe", &files, &attributes, argv, environ);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&files);
    return status;
}

/* Reads the guard's first line; "" if none comes within ANSWER_MS. */
static void hear(int from, char text[ANSWER_MAX])
{
    gsize length = 0;
    struct pollfd input = {.fd = from, .events = POLLIN};

    while (length < ANSWER_MAX - 1 && poll(&input, 1, ANSWER_MS) > 0) {
        ssize_t got = read(from, text + length, ANSWER_MAX - 1 - length);
        if (got <= 0)
            break;
        length += (gsize)got;
        if (memchr(text, '\n', length))
            break;
    }
    text[length] = '\0';
    text[strcspn(text, "\n")] = '\0';
}

static bool start_guard(struct gpu_clocks *clocks, char *const *argv, int hold, int *answers,
                        GError **error)
{
    int in[2], out[2];
    pid_t guard = 0;
    int status;

    if (pipe2(in, O_CLOEXEC) != 0 || pipe2(out, O_CLOEXEC) != 0) {
        g_set_error(error, DEVICE_ERROR, DEVICE_ERROR_UNAVAILABLE, "cannot make pipes: %s",
                    g_strerror(errno));
        return false;
    }
    status = spawn_guard(&guard, argv, in, out, hold);
    close(in[0]);
    close(out[1]);
    *clocks = (struct gpu_clocks){.leash = in[1], .guard = guard};
    *answers = out[0];
    if (status == 0)
        return true;
    close(in[1]);
    close(out[0]);
    clocks->leash = -1;
    g_set_error(error, DEVICE_ERROR, DEVICE_ERROR_UNAVAILABLE,
                "cannot start the process that unlocks the clocks again: %s", g_strerror(status));
    return false;
}

static void warn_of_loss(void)
{
    if (!gpu_place_lasts(NULL))
        fprintf(stderr,
                "if this container or service is killed as a whole, its GPU's clocks may stay "
                "locked, and the next worker does not know: let SKIPJACK_LOCKS name a folder of "
                "the host\n");
}

bool gpu_clocks_lock(struct gpu_clocks *clocks, enum vendor vendor,
                     const struct device_identity *identity, int mhz, int hold, GError **error)
{
    g_autofree char *number = g_strdup_printf("%d", (int)vendor);
    g_autofree char *wish = g_strdup_printf("%d", mhz);
    const char *const argv[] = {
        "skipjack", CHILD_COMMAND, GPU_CLOCKS_ROLE, number, identity->uuid, identity->address,
        wish,       NULL};
    char text[ANSWER_MAX];
    int answers;

    *clocks = (struct gpu_clocks){.leash = -1};
    if (!is_whole(identity, error))
        return false;
    if (!start_guard(clocks, (char *const *)(uintptr_t)argv, hold, &answers, error))
        return false;
    hear(answers, text);
    close(answers);
    if (strcmp(text, LOCKED) == 0) {
        warn_of_loss();
        return true;
    }
    /* If the guard hangs in the driver, it unlocks the clocks when the driver returns. */
    close(clocks->leash);
    clocks->leash = -1;
    g_set_error(error, DEVICE_ERROR, DEVICE_ERROR_UNAVAILABLE, "%s",
                *text ? text : "the driver did not answer");
    return false;
}

void gpu_clocks_release(struct gpu_clocks *clocks)
{
    if (clocks->leash < 0)
        return;
    close(clocks->leash);
    clocks->leash = -1;
    waitpid((pid_t)clocks->guard, NULL, 0);
}

/* Heat and power limits lower a locked clock; a higher clock proves that it is not locked at locked_mhz. */
int gpu_clocks_seen(int locked_mhz, const struct conditions *sample)
{
    int most = locked_mhz + locked_mhz * STEP_PERCENT / 100;

    return sample->sm_mhz_max > most ? 0 : locked_mhz;
}

/* Whether this user has a mark for the GPU. Every user may write to the folder of marks, so
 * marks of other users are ignored. */
static bool is_marked(const char *mark)
{
    struct stat status;

    return lstat(mark, &status) == 0 && S_ISREG(status.st_mode) && status.st_uid == geteuid();
}

bool gpu_clocks_mend(enum vendor vendor, const struct device_identity *identity, GError **error)
{
    g_autofree char *mark = gpu_place_file(identity, MARK);
    GpuMonitor *monitor;

    if (!is_marked(mark))
        return false;
    monitor = gpu_monitor_open(vendor, identity, error);
    if (monitor && gpu_monitor_unlock(monitor, error))
        unlink(mark);
    gpu_monitor_close(monitor);
    return true;
}
