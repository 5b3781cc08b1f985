#include "worker/agent/identity.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "worker/frames.h"

#define SCRATCH_PREFIX  "skipjack-worker-"
#define STARTTIME_FIELD 22 /* of /proc/PID/stat, from 1; proc(5) */

char *identity_node(void)
{
    const char *node = g_getenv("SKIPJACK_NODE");
    return g_strdup(node && *node ? node : g_get_host_name());
}

static char *boot_id(void)
{
    char *text = NULL;
    if (!g_file_get_contents("/proc/sys/kernel/random/boot_id", &text, NULL, NULL))
        return g_strdup("unknown");
    return g_strstrip(text);
}

/* The process's start in clock ticks since boot, NULL when there is no such process. */
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

/* Of process numbers: two containers of one kernel each have a process 1. */
static char *pid_namespace(void)
{
    g_autofree char *link = g_file_read_link("/proc/self/ns/pid", NULL);
    const char *number = link ? strchr(link, '[') : NULL;
    return number ? g_strndup(number + 1, strcspn(number + 1, "]")) : g_strdup("0");
}

char *identity_process(void)
{
    g_autofree char *boot = boot_id();
    g_autofree char *namespace = pid_namespace();
    g_autofree char *start = start_time((long)getpid());
    return g_strdup_printf("%s:%s:%ld:%s", boot, namespace, (long)getpid(), start ? start : "0");
}

bool identity_is_dead(const char *process)
{
    g_auto(GStrv) parts = g_strsplit(process, ":", -1);
    gint64 pid;
    if (g_strv_length(parts) != 4 ||
        !g_ascii_string_to_signed(parts[2], 10, 1, G_MAXINT, &pid, NULL))
        return false;
    g_autofree char *boot = boot_id();
    if (strcmp(parts[0], boot) != 0)
        return true;
    g_autofree char *namespace = pid_namespace();
    if (strcmp(parts[1], namespace) != 0)
        return false;
    g_autofree char *start = start_time((long)pid);
    return !start || strcmp(parts[3], start) != 0;
}

static int remove_entry(const char *path, const struct stat *status, int type, struct FTW *walk)
{
    (void)status;
    (void)type;
    (void)walk;
    remove(path); /* what stays behind is removed by a later worker's start */
    return 0;
}

void identity_remove_scratch(const char *folder)
{
    nftw(folder, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

static void remove_dead_scratch(const char *parent)
{
    g_autoptr(GDir) folder = g_dir_open(parent, 0, NULL);
    const char *name;
    while (folder && (name = g_dir_read_name(folder))) {
        if (!g_str_has_prefix(name, SCRATCH_PREFIX))
            continue;
        g_autofree char *path = g_build_filename(parent, name, NULL);
        struct stat status;
        if (lstat(path, &status) == 0 && S_ISDIR(status.st_mode) && status.st_uid == geteuid() &&
            identity_is_dead(name + strlen(SCRATCH_PREFIX)))
            identity_remove_scratch(path);
    }
}

char *identity_make_scratch(GError **error)
{
    const char *parent = g_get_tmp_dir();
    g_autofree char *process = identity_process();
    g_autofree char *name = g_strconcat(SCRATCH_PREFIX, process, NULL);
    g_autofree char *path = g_build_filename(parent, name, NULL);
    remove_dead_scratch(parent);
    if (mkdir(path, 0700) != 0 && errno != EEXIST) {
        g_set_error(error, WORKER_ERROR, WORKER_ERROR_CHILD,
                    "cannot make the scratch folder '%s': %s (set TMPDIR to a folder that can be "
                    "written)",
                    path, g_strerror(errno));
        return NULL;
    }
    return g_steal_pointer(&path);
}
