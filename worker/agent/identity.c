#include "worker/agent/identity.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "schema/monitor/process_scope.h"
#include "worker/protocol/frames.h"

#define SCRATCH_PREFIX  "skipjack-worker-"
/* Used if the temporary folder is on a mount that forbids running code. */
#define OTHER_PARENT    "/var/tmp"
/* File size that `ulimit -f` must allow, and the free space that agent_room.c demands. */
#define FILE_MIB        16
#define PROCESS_PARTS   4 /* parts of an identity_process() text, separated by colons */
/* Number of the start time among the fields of /proc/PID/stat, from 1; proc(5). */
#define STARTTIME_FIELD 22

char *identity_node(void)
{
    const char *node = g_getenv("SKIPJACK_NODE");
    return g_strdup(node && *node ? node : g_get_host_name());
}

/* When the process started, in clock ticks since boot, as text; NULL if there is no such
 * process. */
static char *start_time(long pid)
{
    g_autofree char *path = g_strdup_printf("/proc/%ld/stat", pid);
    g_autofree char *text = NULL;
    if (!g_file_get_contents(path, &text, NULL, NULL))
        return NULL;
    /* The second field, the program's name in brackets, may itself hold spaces and brackets. */
    char *rest = strrchr(text, ')');
    if (!rest)
        return NULL;
    g_auto(GStrv) fields = g_strsplit(rest + 2, " ", -1);
    guint index = STARTTIME_FIELD - 3;
    return g_strv_length(fields) > index ? g_strdup(fields[index]) : NULL;
}

char *identity_process(void)
{
    g_autofree char *scope = process_scope();
    g_autofree char *start = start_time((long)getpid());
    return g_strdup_printf("%s:%ld:%s", scope, (long)getpid(), start ? start : "0");
}

bool identity_is_dead(const char *process)
{
    g_auto(GStrv) parts = g_strsplit(process, ":", -1);
    g_autofree char *scope = process_scope();
    g_auto(GStrv) here = g_strsplit(scope, ":", -1);
    gint64 pid;
    if (g_strv_length(parts) != PROCESS_PARTS ||
        !g_ascii_string_to_signed(parts[2], 10, 1, G_MAXINT, &pid, NULL))
        return false;
    if (strcmp(parts[0], here[0]) != 0)
        return true;
    if (strcmp(parts[1], here[1]) != 0)
        return false;
    g_autofree char *start = start_time((long)pid);
    return !start || strcmp(parts[3], start) != 0;
}

static int remove_entry(const char *path, const struct stat *status, int type, struct FTW *walk)
{
    (void)status;
    (void)type;
    (void)walk;
    remove(path); /* a folder that cannot be removed now is removed at a later worker's start */
    return 0;
}

void identity_remove_scratch(const char *folder)
{
    nftw(folder, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

/* The identity_process() text in a scratch folder's name, without the prefix and without the
 * random part, which older names lack. */
static char *process_of_scratch(const char *name)
{
    g_auto(GStrv) parts = g_strsplit(name + strlen(SCRATCH_PREFIX), ":", -1);
    if (g_strv_length(parts) == PROCESS_PARTS + 1)
        g_clear_pointer(&parts[PROCESS_PARTS], g_free);
    return g_strjoinv(":", parts);
}

static void remove_dead_scratch(const char *parent)
{
    g_autoptr(GDir) folder = g_dir_open(parent, 0, NULL);
    const char *name;
    while (folder && (name = g_dir_read_name(folder))) {
        if (!g_str_has_prefix(name, SCRATCH_PREFIX))
            continue;
        g_autofree char *path = g_build_filename(parent, name, NULL);
        g_autofree char *process = process_of_scratch(name);
        struct stat status;
        if (lstat(path, &status) == 0 && S_ISDIR(status.st_mode) && status.st_uid == geteuid() &&
            identity_is_dead(process))
            identity_remove_scratch(path);
    }
}

/* Refuses a low limit on file sizes (ulimit -f): it acts like a disk that stays full, so the
 * agent would wait for ever. */
static bool check_file_limit(GError **error)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY ||
        limit.rlim_cur >= FILE_MIB * 1048576ULL)
        return true;
    g_set_error(error, WORKER_ERROR, WORKER_ERROR_CHILD,
                "files of this process may grow to %" G_GUINT64_FORMAT
                " KiB only (ulimit -f), and compilers need %d MiB: raise the limit",
                (guint64)limit.rlim_cur / 1024, FILE_MIB);
    return false;
}

static bool allows_code(const char *folder)
{
    struct statvfs mount;
    return statvfs(folder, &mount) != 0 || (mount.f_flag & ST_NOEXEC) == 0;
}

/* The parent of the scratch folder. PoCL loads compiled code from there: on a mount that forbids
 * running code (noexec) every config would look like one that crashes the compiler, so such a
 * mount is passed over. */
static const char *find_parent(GError **error)
{
    const char *usual = g_get_tmp_dir();
    if (allows_code(usual))
        return usual;
    if (access(OTHER_PARENT, W_OK | X_OK) == 0 && allows_code(OTHER_PARENT))
        return OTHER_PARENT;
    g_set_error(error, WORKER_ERROR, WORKER_ERROR_CHILD,
                "kernels for CPUs cannot be loaded from '%s', nor from " OTHER_PARENT
                ": their mounts forbid code (noexec); set TMPDIR to a folder on another mount",
                usual);
    return NULL;
}

char *identity_make_scratch(GError **error)
{
    const char *parent = check_file_limit(error) ? find_parent(error) : NULL;
    if (!parent)
        return NULL;
    g_autofree char *process = identity_process();
    /* The random part makes five parts. Older programs expect four, and so do not take the
     * folder for a dead process's and remove it. */
    g_autofree char *name = g_strconcat(SCRATCH_PREFIX, process, ":XXXXXX", NULL);
    g_autofree char *path = g_build_filename(parent, name, NULL);
    remove_dead_scratch(parent);
    /* mkdtemp() adds the random part. Without it another user could compute the name and make
     * the folder first. */
    if (!g_mkdtemp(path)) {
        g_set_error(error, WORKER_ERROR, WORKER_ERROR_CHILD,
                    "cannot make a scratch folder in '%s': %s (set TMPDIR to a folder that can be "
                    "written)",
                    parent, g_strerror(errno));
        return NULL;
    }
    return g_steal_pointer(&path);
}
