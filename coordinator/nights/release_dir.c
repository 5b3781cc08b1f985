#include "coordinator/nights/release_dir.h"

#include <errno.h>
#include <fcntl.h>
#include <glib/gstdio.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define LATEST "latest"

static bool fail(GError **error, const char *what, const char *path)
{
    int code = errno;
    g_set_error(error, G_FILE_ERROR, (gint)g_file_error_from_errno(code), "cannot %s '%s': %s",
                what, path, g_strerror(code));
    return false;
}

static gint by_name(gconstpointer a, gconstpointer b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Names of the folder's entries, sorted; NULL if it cannot be read. */
static GPtrArray *list(const char *folder)
{
    g_autoptr(GDir) dir = g_dir_open(folder, 0, NULL);
    const char *name;
    if (!dir)
        return NULL;
    GPtrArray *names = g_ptr_array_new_with_free_func(g_free);
    while ((name = g_dir_read_name(dir)))
        g_ptr_array_add(names, g_strdup(name));
    g_ptr_array_sort(names, by_name);
    return names;
}

/* Removes a folder of files. A release has no folders in it. */
static void remove_folder(const char *folder)
{
    g_autoptr(GPtrArray) names = list(folder);
    for (guint i = 0; names && i < names->len; i++) {
        g_autofree char *path = g_build_filename(folder, names->pdata[i], NULL);
        g_unlink(path);
    }
    g_rmdir(folder);
}

bool release_dir_begin(struct release_dir *dir, const char *folder, const char *date,
                       GError **error)
{
    g_autofree char *part = g_strconcat(".part-", date, NULL);
    *dir = (struct release_dir){
        .folder = g_strdup(folder),
        .place = g_build_filename(folder, date, NULL),
        .part = g_build_filename(folder, part, NULL),
    };
    if (g_mkdir_with_parents(folder, 0755) != 0)
        return fail(error, "make the folder", folder);
    remove_folder(dir->part);
    return g_mkdir(dir->part, 0755) == 0 || fail(error, "make the folder", dir->part);
}

void release_dir_drop(const struct release_dir *dir)
{
    if (dir->part)
        remove_folder(dir->part);
}

void release_dir_clear(struct release_dir *dir)
{
    g_free(dir->folder);
    g_free(dir->place);
    g_free(dir->part);
    *dir = (struct release_dir){0};
}

static bool same_bytes(const char *one, const char *other)
{
    g_autoptr(GMappedFile) a = g_mapped_file_new(one, FALSE, NULL);
    g_autoptr(GMappedFile) b = g_mapped_file_new(other, FALSE, NULL);
    gsize size = a ? g_mapped_file_get_length(a) : 0;
    return a && b && size == g_mapped_file_get_length(b) &&
           (size == 0 ||
            memcmp(g_mapped_file_get_contents(a), g_mapped_file_get_contents(b), size) == 0);
}

static bool same_files(const char *one, const char *other)
{
    g_autoptr(GPtrArray) a = list(one);
    g_autoptr(GPtrArray) b = list(other);
    if (!a || !b || a->len != b->len)
        return false;
    for (guint i = 0; i < a->len; i++) {
        g_autofree char *left = g_build_filename(one, a->pdata[i], NULL);
        g_autofree char *right = g_build_filename(other, b->pdata[i], NULL);
        if (strcmp(a->pdata[i], b->pdata[i]) != 0 || !same_bytes(left, right))
            return false;
    }
    return true;
}

/* Moves the part to its place. A release of the same night that is there already changes places with it. */
static bool put_in_place(const struct release_dir *dir, GError **error)
{
    if (g_rename(dir->part, dir->place) == 0)
        return true;
    if ((errno != ENOTEMPTY && errno != EEXIST) ||
        renameat2(AT_FDCWD, dir->part, AT_FDCWD, dir->place, RENAME_EXCHANGE) != 0)
        return fail(error, "move the release to", dir->place);
    remove_folder(dir->part);
    return true;
}

/* Lets "latest" name the release. */
static bool link_latest(const struct release_dir *dir, GError **error)
{
    g_autofree char *latest = g_build_filename(dir->folder, LATEST, NULL);
    g_autofree char *link = g_build_filename(dir->folder, ".latest", NULL);
    g_autofree char *name = g_path_get_basename(dir->place);
    g_unlink(link);
    return (symlink(name, link) == 0 && g_rename(link, latest) == 0) ||
           fail(error, "replace the link", latest);
}

/* Whether the name is a date, YYYY-MM-DD. */
static bool is_date(const char *name)
{
    static const char form[] = "dddd-dd-dd";
    for (gsize i = 0; i < sizeof form; i++)
        if (form[i] == 'd' ? !g_ascii_isdigit(name[i]) : name[i] != form[i])
            return false;
    return true;
}

static void remove_older(const struct release_dir *dir, int keep)
{
    g_autoptr(GPtrArray) names = list(dir->folder);
    g_autofree char *own = g_path_get_basename(dir->place);
    int kept = 0;
    for (guint i = names ? names->len : 0; keep > 0 && i > 0; i--) {
        const char *name = names->pdata[i - 1];
        if (!is_date(name) || (kept++ < keep) || strcmp(name, own) == 0)
            continue;
        g_autofree char *path = g_build_filename(dir->folder, name, NULL);
        remove_folder(path);
    }
}

bool release_dir_publish(struct release_dir *dir, int keep, enum release_change *change,
                         GError **error)
{
    g_autofree char *latest = g_build_filename(dir->folder, LATEST, NULL);
    g_autofree char *name = g_file_read_link(latest, NULL);
    *change = RELEASE_SAME;
    if (name && same_files(dir->part, latest)) {
        remove_folder(dir->part);
        g_free(dir->place);
        dir->place = g_build_filename(dir->folder, name, NULL);
        return true;
    }
    *change = RELEASE_NEW;
    if (!put_in_place(dir, error) || !link_latest(dir, error))
        return false;
    remove_older(dir, keep);
    return true;
}
