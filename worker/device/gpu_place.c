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

/* ---- one process at a time ---- */

static const char *name_of(const struct device_identity *identity)
{
    return *identity->uuid ? identity->uuid : identity->address;
}

char *gpu_place_file(const struct device_identity *identity, const char *ending)
{
    const char *wish = g_getenv("SKIPJACK_LOCKS");
    const char *usual = access(LOCKS, W_OK) == 0 ? LOCKS : LOCKS_ELSE;
    g_autofree char *name = g_strdup_printf("skipjack-%s.%s", name_of(identity), ending);

    g_strdelimit(name, "/:", '_');
    return g_build_filename(wish && *wish ? wish : usual, name, NULL);
}

/* Such folders are open to all, so what lies there may be anybody's: it is only read, no link is followed,
 * and what is another user's is not made anew, which Linux forbids there. */
static int lock_open(const char *path, GError **error)
{
    int file = -1;

    for (int i = 0; i < OPEN_TRIALS && file < 0; i++) {
        file = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
        if (file < 0 && errno == ENOENT)
            file = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_CREAT | O_EXCL, 0644);
        if (file < 0 && errno != EEXIST && errno != ENOENT)
            break;
    }
    if (file < 0)
        g_set_error(error, DEVICE_ERROR, DEVICE_ERROR_UNAVAILABLE,
                    "cannot open the GPU's lock '%s': %s (SKIPJACK_LOCKS names another folder)",
                    path, g_strerror(errno));
    return file;
}

static bool lock_wait(int file, const char *device, double patience_seconds)
{
    gint64 end = g_get_monotonic_time() + (gint64)(patience_seconds * G_USEC_PER_SEC);
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

int gpu_place_hold(const struct device_identity *identity, double patience_seconds, bool *held,
                   GError **error)
{
    const char *device = name_of(identity);
    g_autofree char *path = gpu_place_file(identity, "lock");
    int file;

    *held = false;
    if (*device == '\0')
        return -1;
    file = lock_open(path, error);
    if (file < 0)
        return -1;
    *held = lock_wait(file, device, patience_seconds);
    if (*held)
        return file;
    close(file);
    g_set_error(error, DEVICE_ERROR, DEVICE_ERROR_UNAVAILABLE,
                "another process measures on %s and holds '%s': end it, or name other devices with "
                "--eval",
                device, path);
    return -1;
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
