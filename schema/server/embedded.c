/* Folders of the embedded PostgreSQL, and who owns them. */
#include "schema/server/embedded.h"

#include <errno.h>
#include <fcntl.h>
#include <glib/gstdio.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define LOG_KEEP_BYTES (8 << 20)
#define LOG_TAIL_BYTES 2000

static bool fail_errno(GError **error, const char *what, const char *path)
{
    g_set_error(error, STORE_ERROR, STORE_ERROR_CONNECTION, "cannot %s '%s': %s", what, path,
                g_strerror(errno));
    return false;
}

static bool is_set(const char *variable)
{
    const char *value = g_getenv(variable);
    return value != NULL && *value != '\0';
}

/* GLib takes an empty HOME as it is, and would found a database in the working folder. */
static const char *users_home(void)
{
    const struct passwd *entry = is_set("HOME") ? NULL : getpwuid(geteuid());
    return is_set("HOME") ? g_getenv("HOME") : entry != NULL ? entry->pw_dir : NULL;
}

static char *find_home(GError **error)
{
    if (is_set("SKIPJACK_HOME"))
        return g_canonicalize_filename(g_getenv("SKIPJACK_HOME"), NULL);
    if (geteuid() == 0)
        return g_strdup("/var/lib/skipjack");
    /* The specification of these folders has relative ones passed over. */
    const char *data = g_getenv("XDG_DATA_HOME"), *home = users_home();
    if (data != NULL && g_path_is_absolute(data))
        return g_build_filename(data, "skipjack", NULL);
    if (home == NULL) {
        g_set_error(error, STORE_ERROR, STORE_ERROR_CONNECTION,
                    "user %u has no home: there is no entry for it in /etc/passwd, and HOME is not "
                    "set; name a folder for the embedded database in SKIPJACK_HOME",
                    (unsigned)geteuid());
        return NULL;
    }
    g_autofree char *folder = g_build_filename(home, ".local", "share", "skipjack", NULL);
    return g_canonicalize_filename(folder, NULL);
}

static bool set_user(struct server_user *user, const struct passwd *entry)
{
    if (entry == NULL || entry->pw_uid == 0)
        return false;
    user->uid = entry->pw_uid;
    user->gid = entry->pw_gid;
    g_strlcpy(user->name, entry->pw_name, sizeof user->name);
    return true;
}

/* A user need not have a name: containers run with any number. */
static void set_owner(struct server_user *user, uid_t uid, gid_t gid)
{
    const struct passwd *entry = getpwuid(uid);
    user->uid = uid;
    user->gid = gid;
    g_strlcpy(user->name, entry != NULL ? entry->pw_name : "", sizeof user->name);
}

/* A cluster that exists keeps its user: files of another owner are refused by the server. */
static bool find_user(struct embedded *embedded, GError **error)
{
    struct stat status;
    if (geteuid() != 0) {
        set_owner(&embedded->user, geteuid(), getegid());
        return true;
    }
    if (stat(embedded->data, &status) == 0 && status.st_uid != 0) {
        const struct passwd *entry = getpwuid(status.st_uid);
        set_owner(&embedded->user, status.st_uid, entry != NULL ? entry->pw_gid : status.st_gid);
        return true;
    }
    if (set_user(&embedded->user, getpwnam("postgres")) ||
        set_user(&embedded->user, getpwnam("nobody")))
        return true;
    g_set_error(
        error, STORE_ERROR, STORE_ERROR_CONNECTION,
        "the embedded PostgreSQL cannot run as root, and there is no user 'postgres' or 'nobody' "
        "to run it; add one, or run skipjack as another user");
    return false;
}

/* Where a socket's path would be too long, or has a comma, at which libpq and PostgreSQL end it: a folder
 * named by a hash of the home, so that all processes find it, whatever their environment. */
static char *find_socket_dir(const struct embedded *embedded)
{
    g_autofree char *normal = g_build_filename(embedded->folder, "socket", NULL);
    const char *socket_name = "/.s.PGSQL.5432";
    if (strlen(normal) + strlen(socket_name) < sizeof((struct sockaddr_un *)NULL)->sun_path &&
        strchr(normal, ',') == NULL)
        return g_steal_pointer(&normal);
    g_autofree char *hash = g_compute_checksum_for_string(G_CHECKSUM_SHA256, embedded->home, -1);
    g_autofree char *runtime = g_strdup_printf("/run/user/%u", (unsigned)embedded->user.uid);
    const char *parent = "/tmp";
    if (geteuid() != 0 && g_access(runtime, W_OK | X_OK) == 0)
        parent = runtime;
    return g_strdup_printf("%s/skipjack-%u-%.16s", parent, (unsigned)embedded->user.uid, hash);
}

bool embedded_init(struct embedded *embedded, GError **error)
{
    memset(embedded, 0, sizeof *embedded);
    embedded->home = find_home(error);
    if (embedded->home == NULL)
        return false;
    embedded->folder = g_build_filename(embedded->home, "postgres", NULL);
    embedded->data = g_build_filename(embedded->folder, "data", NULL);
    embedded->data_new = g_build_filename(embedded->folder, "data.new", NULL);
    embedded->log = g_build_filename(embedded->folder, "log", NULL);
    if (!find_user(embedded, error))
        return false;
    embedded->socket_dir = find_socket_dir(embedded);
    return true;
}

void embedded_clear(struct embedded *embedded)
{
    g_free(embedded->home);
    g_free(embedded->folder);
    g_free(embedded->data);
    g_free(embedded->data_new);
    g_free(embedded->log);
    g_free(embedded->socket_dir);
    memset(embedded, 0, sizeof *embedded);
}

bool embedded_exists(const struct embedded *embedded)
{
    g_autofree char *version = g_build_filename(embedded->data, "PG_VERSION", NULL);
    return g_file_test(version, G_FILE_TEST_EXISTS);
}

char *embedded_url(const struct embedded *embedded, const char *database)
{
    g_autofree char *host = g_uri_escape_string(embedded->socket_dir, NULL, FALSE);
    g_autofree char *user = g_uri_escape_string(embedded->user.name, NULL, FALSE);
    return g_strdup_printf("postgresql://skipjack@/%s?host=%s&port=5432&connect_timeout=10%s%s",
                           database, host, *user != '\0' ? "&requirepeer=" : "", user);
}

static bool is_ours(const struct embedded *embedded, const struct stat *status)
{
    return S_ISDIR(status->st_mode) &&
           (status->st_uid == embedded->user.uid || status->st_uid == geteuid());
}

static bool refuse_folder(const char *path, GError **error)
{
    g_set_error(error, STORE_ERROR, STORE_ERROR_CONNECTION,
                "'%s' belongs to another user or is no folder: remove it, run as its owner, or "
                "name another folder in SKIPJACK_HOME",
                path);
    return false;
}

/* The folder stays the one that was looked at, whatever its name leads to later. */
static bool make_fd_private(const struct embedded *embedded, int fd, const char *path,
                            GError **error)
{
    struct stat status;
    if (fstat(fd, &status) != 0)
        return fail_errno(error, "look at", path);
    if (!is_ours(embedded, &status))
        return refuse_folder(path, error);
    if (status.st_uid != embedded->user.uid &&
        fchown(fd, embedded->user.uid, embedded->user.gid) != 0)
        return fail_errno(error, "change the owner of", path);
    if ((status.st_mode & 07777) != 0700 && fchmod(fd, 0700) != 0)
        return fail_errno(error, "change the mode of", path);
    return true;
}

/* Only a real folder of the server's user that nobody else can enter will do: in /tmp another user may have
 * put something else in its place. */
static bool make_private(const struct embedded *embedded, const char *path, GError **error)
{
    if (g_mkdir(path, 0700) != 0 && errno != EEXIST)
        return fail_errno(error, "create the folder", path);
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0 && (errno == ELOOP || errno == ENOTDIR || errno == EACCES))
        return refuse_folder(path, error);
    if (fd < 0)
        return fail_errno(error, "open", path);
    bool done = make_fd_private(embedded, fd, path, error);
    close(fd);
    return done;
}

bool embedded_check_socket(const struct embedded *embedded, GError **error)
{
    struct stat status;
    if (lstat(embedded->socket_dir, &status) != 0)
        return errno == ENOENT || fail_errno(error, "look at", embedded->socket_dir);
    return is_ours(embedded, &status) || refuse_folder(embedded->socket_dir, error);
}

/* Another user's server has no groups but its own; ourselves the system may be asked about. */
static bool may_pass(const struct server_user *user, const char *path, const struct stat *status)
{
    if (user->uid == geteuid())
        return faccessat(AT_FDCWD, path, X_OK, AT_EACCESS) == 0;
    if (status->st_uid == user->uid)
        return (status->st_mode & S_IXUSR) != 0;
    if (status->st_gid == user->gid)
        return (status->st_mode & S_IXGRP) != 0;
    return (status->st_mode & S_IXOTH) != 0;
}

/* The server's user must get through every folder above the cluster. */
static bool check_way(const struct embedded *embedded, GError **error)
{
    g_autofree char *path = g_strdup(embedded->home);
    for (;;) {
        struct stat status;
        if (stat(path, &status) != 0)
            return fail_errno(error, "look at", path);
        if (!may_pass(&embedded->user, path, &status)) {
            g_set_error(
                error, STORE_ERROR, STORE_ERROR_CONNECTION,
                "the embedded PostgreSQL runs as user '%s', who cannot pass the folder '%s'; "
                "allow it with 'chmod o+x %s', or name another folder in SKIPJACK_HOME",
                embedded->user.name, path, path);
            return false;
        }
        if (strcmp(path, "/") == 0)
            return true;
        char *parent = g_path_get_dirname(path);
        g_free(path);
        path = parent;
    }
}

/* The home is ours to open a crack; folders above it are not. */
static bool open_home(const struct embedded *embedded, GError **error)
{
    struct stat status;
    if (stat(embedded->home, &status) != 0)
        return fail_errno(error, "look at", embedded->home);
    if (geteuid() == 0 && status.st_uid == 0 &&
        !may_pass(&embedded->user, embedded->home, &status) &&
        g_chmod(embedded->home, (status.st_mode & 07777) | S_IXOTH) != 0)
        return fail_errno(error, "change the mode of", embedded->home);
    return check_way(embedded, error);
}

static void rotate_log(const struct embedded *embedded)
{
    struct stat status;
    if (stat(embedded->log, &status) != 0 || status.st_size < LOG_KEEP_BYTES)
        return;
    g_autofree char *old = g_strconcat(embedded->log, ".old", NULL);
    if (g_rename(embedded->log, old) != 0)
        g_warning("cannot rename '%s': %s", embedded->log, g_strerror(errno));
}

bool embedded_make_folders(const struct embedded *embedded, GError **error)
{
    if (g_mkdir_with_parents(embedded->home, 0755) != 0)
        return fail_errno(error, "create the folder", embedded->home);
    if (!open_home(embedded, error) || !make_private(embedded, embedded->folder, error) ||
        !make_private(embedded, embedded->socket_dir, error))
        return false;
    rotate_log(embedded);
    return true;
}

char *embedded_log_tail(const struct embedded *embedded)
{
    char buffer[LOG_TAIL_BYTES + 1];
    FILE *file = fopen(embedded->log, "re");
    if (file == NULL)
        return g_strdup("");
    size_t length = 0;
    if (fseek(file, 0, SEEK_END) == 0) {
        long size = ftell(file);
        if (fseek(file, size > LOG_TAIL_BYTES ? size - LOG_TAIL_BYTES : 0, SEEK_SET) == 0)
            length = fread(buffer, 1, LOG_TAIL_BYTES, file);
    }
    fclose(file);
    buffer[length] = '\0';
    const char *start = buffer;
    if (length == LOG_TAIL_BYTES && strchr(buffer, '\n') != NULL)
        start = strchr(buffer, '\n') + 1;
    return g_strchomp(g_utf8_make_valid(start, -1));
}
