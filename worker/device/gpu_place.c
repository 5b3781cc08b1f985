/*
 * The lock is flock() on a file named by the GPU, so a killed process releases it, whatever it did before. The
 * worker never removes the file: a process that waits on a removed file would not exclude the maker of a new one.
 *
 * Users with different rights must exclude each other, too. Each process takes the first folder of the list in which
 * it can open or make the file, then waits for locks in all later folders, which processes without a right to the
 * earlier ones may hold. If a file appears in an earlier folder meanwhile, it starts again.
 */
#include "worker/device/gpu_place.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "worker/device/gpu_api.h"

#define LOCKS       "/run/lock"
#define LOCKS_ELSE  "/tmp"
#define ATTEMPT_US  50000
/* Attempts to open a lock file that other processes make and remove meanwhile. */
#define OPEN_TRIALS 10
#define OPEN_US     1000
/* Root folder of process 1, the host's if process 1 is the host's. */
#define HOST_ROOT   "/proc/1/root"
#define HOST_PIDS   0xeffffffcu /* Linux's PROC_PID_INIT_INO: inode of the host's own PID namespace */

/* ---- one process at a time ---- */

static const char *name_of(const struct device_identity *identity)
{
    return *identity->uuid ? identity->uuid : identity->address;
}

static char *file_in(const char *folder, const struct device_identity *identity, const char *ending)
{
    g_autofree char *name = g_strdup_printf("skipjack-%s.%s", name_of(identity), ending);

    g_strdelimit(name, "/:", '_');
    return g_build_filename(folder, name, NULL);
}

static char *folder_to_write(void)
{
    const char *wish = g_getenv("SKIPJACK_LOCKS");
    const char *usual = access(LOCKS, W_OK) == 0 ? LOCKS : LOCKS_ELSE;

    return g_canonicalize_filename(wish && *wish ? wish : usual, NULL);
}

char *gpu_place_file(const struct device_identity *identity, const char *ending)
{
    g_autofree char *folder = folder_to_write();

    return file_in(folder, identity, ending);
}

/* Whether process 1 is the host's and its root can be read. In a container process 1 is usually
 * the container's own. */
static bool sees_host(void)
{
    struct stat status;

    return stat("/proc/self/ns/pid", &status) == 0 && status.st_ino == HOST_PIDS &&
           stat(HOST_ROOT "/", &status) == 0;
}

bool gpu_place_lasts(const char *root)
{
    const char *wish = g_getenv("SKIPJACK_LOCKS");
    g_autofree char *folder = folder_to_write();
    g_autofree char *hosts = g_strconcat(root ? root : HOST_ROOT, folder, NULL);
    struct stat here, there;

    if (!root && !sees_host())
        return wish && *wish;
    return stat(folder, &here) == 0 && stat(hosts, &there) == 0 && here.st_dev == there.st_dev &&
           here.st_ino == there.st_ino;
}

/* Opens an existing lock file. Every user may write to these folders, so the file may belong to
 * anybody: it is opened for reading only, symbolic links are refused, and O_NONBLOCK keeps a
 * FIFO from blocking. */
static int lock_see(const char *path)
{
    return open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
}

/* Makes the lock file. All users must be able to open it, so its mode does not depend on this
 * process's umask. */
static int lock_make(const char *path)
{
    int file = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_CREAT | O_EXCL, 0644);

    if (file >= 0 && fchmod(file, 0644) != 0) {
        close(file);
        file = -1;
    }
    return file;
}

/* Opens the lock, or makes it. Never O_CREAT on an existing file: Linux refuses that for another user's file in a
 * sticky folder (protected_regular). EACCES is retried, since a lock is unreadable between its making and its fchmod.
 * -1 with errno. */
static int lock_open(const char *path)
{
    int file = lock_see(path);

    for (int i = 0; i < OPEN_TRIALS && file < 0 && (errno == ENOENT || errno == EACCES); i++) {
        if (errno == ENOENT) {
            file = lock_make(path);
            if (file >= 0 || errno != EEXIST)
                return file;
        } else {
            g_usleep(OPEN_US);
        }
        file = lock_see(path);
    }
    return file;
}

static bool lies_there(const char *path)
{
    struct stat status;

    return lstat(path, &status) == 0;
}

static bool lock_wait(int file, const char *device, gint64 end)
{
    bool told = false;

    while (flock(file, LOCK_EX | LOCK_NB) != 0) {
        if (g_get_monotonic_time() >= end)
            return false;
        if (!told)
            fprintf(stderr, "another process measures on %s: waiting for it\n", device);
        told = true;
        g_usleep(ATTEMPT_US);
    }
    return true;
}

/* Opens the lock in the first possible folder. A lock that exists but cannot be opened is an error: a lock in a later
 * folder would not exclude its owner. */
static int lock_first(char *const *paths, gsize *which, GError **error)
{
    for (*which = 0;; (*which)++) {
        int file = lock_open(paths[*which]);
        if (file >= 0)
            return file;
        if (!paths[*which + 1] || lies_there(paths[*which])) {
            g_set_error(
                error, DEVICE_ERROR, DEVICE_ERROR_UNAVAILABLE,
                "cannot open the GPU's lock '%s': %s (make it readable for all users, or let SKIPJACK_LOCKS "
                "name another folder, the same for all who measure on the GPU)",
                paths[*which], g_strerror(errno));
            return -1;
        }
    }
}

/* Waits for the locks in later folders. A process that cannot write to the folder of this
 * process's lock may hold one of them already; a process that starts later finds this process's
 * lock first. */
static bool wait_behind(char *const *paths, const char *device, gint64 end)
{
    bool done = true;

    for (; done && *paths; paths++) {
        int file = lock_see(*paths);
        done = file < 0 || lock_wait(file, device, end);
        if (file >= 0)
            close(file);
    }
    return done;
}

/* One attempt. -1 with an error; or -1 without one if another process meanwhile made a lock in an earlier folder, and
 * the attempt must be repeated. */
static int hold_once(char *const *paths, const char *device, gint64 end, GError **error)
{
    gsize which;
    int file = lock_first(paths, &which, error);

    if (file < 0)
        return -1;
    if (lock_wait(file, device, end) && wait_behind(paths + which + 1, device, end)) {
        for (gsize i = 0; i < which; i++)
            if (lies_there(paths[i])) {
                close(file);
                return -1;
            }
        return file;
    }
    close(file);
    g_set_error(error, DEVICE_ERROR, DEVICE_ERROR_UNAVAILABLE,
                "another process measures on %s and holds '%s': end it, or name other devices with "
                "--eval",
                device, paths[which]);
    return -1;
}

int gpu_place_hold_in(const char *const *folders, const struct device_identity *identity,
                      double patience_seconds, bool *held, GError **error)
{
    gint64 end = g_get_monotonic_time() + (gint64)(patience_seconds * G_USEC_PER_SEC);
    g_autoptr(GPtrArray) paths = g_ptr_array_new_with_free_func(g_free);
    GError *why = NULL;
    int file = -1;

    *held = false;
    if (*name_of(identity) == '\0')
        return -1;
    for (; *folders; folders++)
        g_ptr_array_add(paths, file_in(*folders, identity, "lock"));
    g_ptr_array_add(paths, NULL);
    while (file < 0 && !why)
        file = hold_once((char *const *)paths->pdata, name_of(identity), end, &why);
    *held = file >= 0;
    if (why)
        g_propagate_error(error, why);
    return file;
}

int gpu_place_hold(const struct device_identity *identity, double patience_seconds, bool *held,
                   GError **error)
{
    const char *wish = g_getenv("SKIPJACK_LOCKS");
    const char *const wished[] = {wish, NULL}, *const usual[] = {LOCKS, LOCKS_ELSE, NULL};

    return gpu_place_hold_in(wish && *wish ? wished : usual, identity, patience_seconds, held,
                             error);
}

/* ---- the cores near a GPU ---- */

/* Parses sysfs's format, "0-15,32-47". */
static void read_cpus(const char *text, cpu_set_t *cpus)
{
    g_auto(GStrv) ranges = g_strsplit(text, ",", -1);

    CPU_ZERO(cpus);
    for (char **range = ranges; *range; range++) {
        unsigned first = 0, last = 0;
        int count = sscanf(*range, "%u-%u", &first, &last);
        if (count == 1)
            last = first;
        for (unsigned cpu = first; count > 0 && cpu <= last && cpu < CPU_SETSIZE; cpu++)
            CPU_SET(cpu, cpus);
    }
}

/* The cores to use are the near ones among the allowed ones: a container or Slurm may have
 * limited them. */
int gpu_place_pin(const struct device_identity *identity)
{
    g_autofree char *text = gpu_pci_file(identity->address, "local_cpulist");
    cpu_set_t near, mine;

    if (!text || sched_getaffinity(0, sizeof(mine), &mine) != 0)
        return 0;
    read_cpus(text, &near);
    CPU_AND(&near, &near, &mine);
    if (CPU_COUNT(&near) == 0 || CPU_EQUAL(&near, &mine) ||
        sched_setaffinity(0, sizeof(near), &near) != 0)
        return 0;
    return CPU_COUNT(&near);
}
