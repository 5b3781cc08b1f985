#include "export/release/export_folder.h"

#include <errno.h>
#include <fcntl.h>
#include <glib/gstdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define FOLDER_PREFIX ".export-"
#define FOLDER_NAME   FOLDER_PREFIX "XXXXXX"

static bool sync_all(const char *folder, const GPtrArray *names, GError **error)
{
    for (guint i = 0; i < names->len; i++) {
        g_autofree char *path = g_build_filename(folder, names->pdata[i], NULL);
        if (!export_sync_file(path, error)) {
            return false;
        }
    }
    return true;
}

static bool move_one(const char *folder, const char *dir, const char *name, GError **error)
{
    g_autofree char *from = g_build_filename(folder, name, NULL);
    g_autofree char *to = g_build_filename(dir, name, NULL);
    return rename(from, to) == 0 || export_io_error("rename to", to, error);
}

static bool move_all(const char *folder, const char *dir, const GPtrArray *names, GPtrArray *moved,
                     GError **error)
{
    if (names->len > 0 && !move_one(folder, dir, names->pdata[names->len - 1], error)) {
        return false;
    }
    for (guint i = 0; i < names->len; i++) {
        if (i + 1 < names->len && !move_one(folder, dir, names->pdata[i], error)) {
            return false;
        }
        g_ptr_array_add(moved, g_build_filename(dir, names->pdata[i], NULL));
    }
    return true;
}

/* Removes a folder with its files. A failure is ignored: the next export tries again. */
static void remove_folder(const char *folder)
{
    const char *name;
    GDir *entries = g_dir_open(folder, 0, NULL);
    while (entries != NULL && (name = g_dir_read_name(entries)) != NULL) {
        g_autofree char *path = g_build_filename(folder, name, NULL);
        g_unlink(path);
    }
    g_clear_pointer(&entries, g_dir_close);
    g_rmdir(folder);
}

static void remove_leftovers(const char *dir)
{
    const char *name;
    g_autoptr(GPtrArray) found = g_ptr_array_new_with_free_func(g_free);
    GDir *entries = g_dir_open(dir, 0, NULL);
    while (entries != NULL && (name = g_dir_read_name(entries)) != NULL) {
        g_autofree char *path = g_build_filename(dir, name, NULL);
        if (g_str_has_prefix(name, FOLDER_PREFIX) && strlen(name) == strlen(FOLDER_NAME) &&
            !g_file_test(path, G_FILE_TEST_IS_SYMLINK)) {
            g_ptr_array_add(found, g_steal_pointer(&path));
        }
    }
    g_clear_pointer(&entries, g_dir_close);
    for (guint i = 0; i < found->len; i++) {
        remove_folder(found->pdata[i]);
    }
}

/* Returns true if the path still leads to the folder that was locked. While this process waited for
 * the lock, the process that held it may have removed the folder. */
static bool is_there(int fd, const char *dir)
{
    struct stat held, named;
    return fstat(fd, &held) == 0 && stat(dir, &named) == 0 && held.st_dev == named.st_dev &&
           held.st_ino == named.st_ino;
}

/* Makes, opens and locks the folder. The fd stays -1 if another process removed the folder
 * meanwhile. A temporary folder that is found under the lock was left by a process that was killed,
 * and is removed; on file systems without locks it may be in use, so it stays. */
static bool try_to_take(struct export_folder *folder, const char *dir, GError **error)
{
    folder->is_new = !g_file_test(dir, G_FILE_TEST_EXISTS);
    if (g_mkdir_with_parents(dir, 0777) != 0) {
        return export_io_error("make the folder", dir, error);
    }
    int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) {
        return errno == ENOENT || export_io_error("open the folder", dir, error);
    }
    bool locked = TEMP_FAILURE_RETRY(flock(fd, LOCK_EX)) == 0;
    if (!is_there(fd, dir)) {
        close(fd);
        return true;
    }
    if (locked) {
        remove_leftovers(dir);
    }
    folder->fd = fd;
    return true;
}

/* Most times that taking the folder is tried. Each try fails only if another process removed the
 * folder, so more failures have another cause. */
#define TRIES_MAX 1000

bool export_folder_take(struct export_folder *folder, const char *dir, GError **error)
{
    *folder = (struct export_folder){.fd = -1};
    for (int i = 0; i < TRIES_MAX && folder->fd < 0; i++) {
        if (!try_to_take(folder, dir, error)) {
            return false;
        }
    }
    if (folder->fd < 0) {
        errno = ENOENT;
        return export_io_error("open the folder", dir, error);
    }
    folder->dir = g_strdup(dir);
    return true;
}

static void remove_temp(struct export_folder *folder)
{
    if (folder->temp != NULL) {
        remove_folder(folder->temp);
        g_clear_pointer(&folder->temp, g_free);
    }
}

bool export_folder_begin(struct export_folder *folder, GError **error)
{
    remove_temp(folder);
    folder->temp = g_build_filename(folder->dir, FOLDER_NAME, NULL);
    if (g_mkdtemp(folder->temp) == NULL) {
        g_clear_pointer(&folder->temp, g_free);
        return export_io_error("write into the folder", folder->dir, error);
    }
    return true;
}

static bool remove_stale(const char *dir, const GPtrArray *names, const GPtrArray *stale,
                         GPtrArray *removed, GError **error)
{
    for (guint i = 0; i < stale->len; i++) {
        g_autofree char *path = g_build_filename(dir, stale->pdata[i], NULL);
        if (g_ptr_array_find_with_equal_func((GPtrArray *)names, stale->pdata[i], g_str_equal,
                                             NULL)) {
            continue;
        }
        if (g_unlink(path) != 0) {
            return export_io_error("remove", path, error);
        }
        g_ptr_array_add(removed, g_steal_pointer(&path));
    }
    return true;
}

bool export_folder_keep(struct export_folder *folder, const GPtrArray *names,
                        const GPtrArray *stale, GPtrArray *moved, GPtrArray *removed,
                        GError **error)
{
    return sync_all(folder->temp, names, error) &&
           remove_stale(folder->dir, names, stale, removed, error) &&
           move_all(folder->temp, folder->dir, names, moved, error) &&
           (fsync(folder->fd) == 0 || export_io_error("write", folder->dir, error));
}

void export_folder_leave(struct export_folder *folder)
{
    remove_temp(folder);
    if (folder->dir != NULL && folder->is_new) {
        /* Fails, as intended, if the folder is not empty. */
        g_rmdir(folder->dir);
    }
    if (folder->fd >= 0) {
        close(folder->fd);
    }
    g_clear_pointer(&folder->dir, g_free);
    folder->fd = -1;
}
