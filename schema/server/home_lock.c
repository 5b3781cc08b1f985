/*
 * The locks of a home (home_lock.h), by fcntl with F_OFD_SETLK.
 */
#include "schema/server/home_lock.h"

#include "schema/monitor/process_scope.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#define TURN_SECONDS                                                                               \
    120 /* another command may be creating the cluster, or recovering it after a crash */

static struct flock whole_file(void)
{
    return (struct flock){.l_type = F_WRLCK, .l_whence = SEEK_SET};
}

static bool lock_file(int fd)
{
    struct flock lock = whole_file();
    return fcntl(fd, F_OFD_SETLK, &lock) == 0;
}

static bool is_taken(int why)
{
    return why == EAGAIN || why == EACCES;
}

static int open_file(const char *path, GError **error)
{
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0)
        g_set_error(error, STORE_ERROR, STORE_ERROR_CONNECTION, "cannot open '%s': %s", path,
                    g_strerror(errno));
    return fd;
}

static void set_lock_error(GError **error, const char *path, int why)
{
    g_set_error(error, STORE_ERROR, STORE_ERROR_CONNECTION,
                "cannot lock '%s': %s; the embedded database needs a filesystem with fcntl locks: "
                "name a folder on another one in SKIPJACK_HOME",
                path, g_strerror(why));
}

/* ---- one command at a time ---- */

int home_turn_take(const struct embedded *embedded, GError **error)
{
    g_autofree char *path = g_build_filename(embedded->home, "database.lock", NULL);
    gint64 deadline = g_get_monotonic_time() + TURN_SECONDS * G_USEC_PER_SEC;
    int fd = open_file(path, error);
    while (fd >= 0 && !lock_file(fd)) {
        int why = errno;
        if ((is_taken(why) || why == EINTR) && g_get_monotonic_time() < deadline) {
            g_usleep(20000);
            continue;
        }
        if (is_taken(why))
            g_set_error(
                error, STORE_ERROR, STORE_ERROR_CONNECTION,
                "another skipjack command has been starting or stopping the database for %d s and "
                "holds '%s': end it, then try again",
                TURN_SECONDS, path);
        else
            set_lock_error(error, path, why);
        close(fd);
        return -1;
    }
    return fd;
}

/* ---- one server at a time ---- */

static char *lock_path(const struct embedded *embedded)
{
    return g_build_filename(embedded->home, "server.lock", NULL);
}

/* Replaces the file's content by "HOST BOOT_ID:NAMESPACE\n". */
static bool record_holder(int fd)
{
    struct utsname names;
    g_autofree char *scope = process_scope();
    const char *host = uname(&names) == 0 && *names.nodename != '\0' ? names.nodename : "unknown";
    g_autofree char *line = g_strdup_printf("%s %s\n", host, scope);
    ssize_t length = (ssize_t)strlen(line);
    return ftruncate(fd, 0) == 0 && pwrite(fd, line, (size_t)length, 0) == length;
}

bool home_lock_take(const struct embedded *embedded, int *held_fd, GError **error)
{
    g_autofree char *path = lock_path(embedded);
    int fd = open_file(path, error);
    *held_fd = -1;
    if (fd < 0)
        return false;
    if (!lock_file(fd)) {
        int why = errno;
        close(fd);
        if (is_taken(why))
            return true;
        set_lock_error(error, path, why);
        return false;
    }
    if (record_holder(fd)) {
        *held_fd = fd;
        return true;
    }
    g_set_error(error, STORE_ERROR, STORE_ERROR_CONNECTION, "cannot write '%s': %s", path,
                g_strerror(errno));
    close(fd);
    return false;
}

/* Adds the server's start and pid, from its pid file. */
static void append_server(GString *text, const struct embedded *embedded)
{
    g_autofree char *path = g_build_filename(embedded->data, "postmaster.pid", NULL);
    g_autofree char *content = NULL;
    if (!g_file_get_contents(path, &content, NULL, NULL))
        return;
    g_auto(GStrv) lines = g_strsplit(content, "\n", 4);
    if (g_strv_length(lines) < 4)
        return;
    g_autoptr(GDateTime) since = g_date_time_new_from_unix_utc(g_ascii_strtoll(lines[2], NULL, 10));
    g_autofree char *when = since == NULL ? NULL : g_date_time_format(since, "%F %T UTC");
    g_string_append_printf(text, " since %s, process %d there", when == NULL ? "?" : when,
                           atoi(lines[0]));
}

static void describe(struct home_holder *holder, const struct embedded *embedded, const char *line)
{
    g_autofree char *here = process_scope();
    g_auto(GStrv) words = g_strsplit(line, " ", 2);
    bool known = g_strv_length(words) == 2;
    const char *scope = known ? g_strchomp(words[1]) : "";
    gsize boot_length = strcspn(here, ":");
    bool same_boot = strncmp(scope, here, boot_length) == 0 && scope[boot_length] == ':';
    GString *text = g_string_new(NULL);
    holder->is_here = strcmp(scope, here) == 0;
    if (!known)
        g_string_append(text, "by another process");
    else if (holder->is_here)
        g_string_append_printf(text, "on this host, '%s',", words[0]);
    else if (same_boot)
        g_string_append_printf(text, "on '%s', another container or PID namespace of this host,",
                               words[0]);
    else
        g_string_append_printf(text, "on host '%s'", words[0]);
    append_server(text, embedded);
    g_strdelimit(text->str, "\n", ' ');
    holder->text = g_string_free(text, FALSE);
}

bool home_lock_holder(const struct embedded *embedded, struct home_holder *holder)
{
    g_autofree char *path = lock_path(embedded);
    struct flock lock = whole_file();
    char line[512];
    *holder = (struct home_holder){0};
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0)
        return false;
    bool held = fcntl(fd, F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
    ssize_t length = held ? pread(fd, line, sizeof line - 1, 0) : 0;
    close(fd);
    line[MAX(length, 0)] = '\0';
    if (held)
        describe(holder, embedded, line);
    return held;
}

void home_holder_clear(struct home_holder *holder)
{
    g_free(holder->text);
    *holder = (struct home_holder){0};
}
