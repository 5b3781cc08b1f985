#include "kernels/toolchains/compiler_run.h"

#include <ftw.h>
#include <glib/gstdio.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#define FOLDERS_OPEN 8 /* the most file descriptors that removing the folder opens at once */

bool compiler_run_open(struct compiler_run *run, GError **error)
{
    g_autoptr(GError) why = NULL;

    *run = (struct compiler_run){.folder = g_dir_make_tmp("skipjack-compile-XXXXXX", &why)};
    if (!run->folder)
        g_set_error(error, KERNELS_ERROR, KERNELS_ERROR_UNAVAILABLE,
                    "cannot make a folder to compile in: %s (set TMPDIR to one that can be "
                    "written)",
                    why->message);
    return run->folder != NULL;
}

static int remove_entry(const char *path, const struct stat *status, int kind, struct FTW *place)
{
    (void)status;
    (void)kind;
    (void)place;
    /* A file that cannot be removed is no error: the folder is temporary. */
    remove(path);
    return 0;
}

void compiler_run_close(struct compiler_run *run)
{
    if (run->folder)
        nftw(run->folder, remove_entry, FOLDERS_OPEN, FTW_DEPTH | FTW_PHYS);
    g_clear_pointer(&run->folder, g_free);
    g_clear_pointer(&run->output, g_free);
}

bool compiler_run_write(struct compiler_run *run, const char *name, const char *text,
                        GError **error)
{
    g_autofree char *path = g_build_filename(run->folder, name, NULL);
    g_autoptr(GError) why = NULL;

    if (g_file_set_contents(path, text, -1, &why))
        return true;
    g_set_error(error, KERNELS_ERROR, KERNELS_ERROR_UNAVAILABLE,
                "cannot write the kernel to compile: %s", why->message);
    return false;
}

GBytes *compiler_run_read(const struct compiler_run *run, const char *name)
{
    g_autofree char *path = g_build_filename(run->folder, name, NULL);
    char *bytes = NULL;
    gsize length;

    return g_file_get_contents(path, &bytes, &length, NULL) ? g_bytes_new_take(bytes, length)
                                                            : NULL;
}

/* Makes the new process, in which it runs, die when its parent dies. */
static void die_with_parent(gpointer data)
{
    const pid_t *parent = data;

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    /* The parent may have died before the death signal was set. */
    if (getppid() != *parent)
        _exit(1);
}

static char **environment_with(char **environment, const char *setting)
{
    const char *value = strchr(setting, '=');
    g_autofree char *name = g_strndup(setting, value ? (gsize)(value - setting) : strlen(setting));

    value = value ? value + 1 : g_getenv(name);
    return value ? g_environ_setenv(environment, name, value, TRUE) : environment;
}

bool compiler_run_program(struct compiler_run *run, const char *const *argv, GError **error)
{
    static const char *const none[] = {NULL};

    return compiler_run_program_with(run, argv, none, error);
}

bool compiler_run_program_with(struct compiler_run *run, const char *const *argv,
                               const char *const *settings, GError **error)
{
    const char *path = g_getenv("PATH");
    g_auto(GStrv) environment = g_environ_setenv(NULL, "TMPDIR", run->folder, TRUE);
    g_autofree char *out = NULL, *err = NULL;
    g_autoptr(GError) why = NULL;
    pid_t parent = getpid();

    environment = g_environ_setenv(environment, "PATH", path ? path : "/usr/bin:/bin", TRUE);
    for (; *settings; settings++)
        environment = environment_with(environment, *settings);
    if (!g_spawn_sync(run->folder, (char **)(void *)argv, environment, G_SPAWN_DEFAULT,
                      die_with_parent, &parent, &out, &err, &run->status, &why)) {
        g_set_error(error, KERNELS_ERROR, KERNELS_ERROR_UNAVAILABLE, "cannot run '%s': %s", argv[0],
                    why->message);
        return false;
    }
    g_free(run->output);
    run->output = g_strconcat(out, err, NULL);
    return true;
}
