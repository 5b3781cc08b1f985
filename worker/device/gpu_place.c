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
#define OPEN_TRIALS 10 /* of a file that others make and remove meanwhile */
#define OPEN_US     1000
#define HOST_ROOT   "/proc/1/root" /* of the first process that there is to see */
#define HOST_PIDS   0xeffffffcu /* Linux's PROC_PID_INIT_INO: the file of the host's own processes */

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

/* Where the first process is a container's own, its folders are no more than ours; the host's may be hidden. */
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

/* Such folders are open to all, so what lies there may be anybody's: it is only read, no link is followed,
 * nothing is waited for. */
static int lock_see(const char *path)
{
    return open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
}

/* Others shall open it, whatever its maker's mask is. */
static int lock_make(const char *path)
{
    int file = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_CREAT | O_EXCL, 0644);

    if (file >= 0 && fchmod(file, 0644) != 0) {
        close(file);
        file = -1;
    }
    return file;
}

/* What is another user's is not made anew, which Linux forbids there; what was made this moment may not be
 * open to all yet. -1 with errno. */
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

/* The first lock that can be opened or made; one that is there and cannot be opened has no other beside it,
 * which would exclude nobody. */
static int lock_first(char *const *paths, gsize *which, GError **error)
{
    for (*which = 0;; (*which)++) {
        int file = lock_open(paths[*which]);
        if (file >= 0)
            return file;
        if (!paths[*which + 1] || lies_there(paths[*which])) {
            g_set_error(
                error, DEVICE_ERROR, DEVICE_ERROR_UNAVAILABLE,
                "cannot open the GPU's lock '%s': %s (let all read it; or SKIPJACK_LOCKS names "
                "another folder, the same for all who measure on it)",
                paths[*which], g_strerror(errno));
            return -1;
        }
    }
}

/* Who could not make the one that we hold may hold one behind it. Who comes now finds ours. */
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

/* -1 with an error, or without one where a lock before it was made meanwhile. */
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

/* ---- the cores near to it ---- */

/* "0-15,32-47" as sysfs has it. */
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
