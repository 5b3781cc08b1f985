/* Files to download. */
#include "coordinator/serve/exports.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define DEPTH_MOST 8
#define BLOCK      65536

struct exports {
    int folder;
    GMutex lock;        /* of hashes */
    GHashTable *hashes; /* etag -> SHA-256 in hex */
};

struct file {
    char *path, *etag;
    int64_t bytes, modified_unix;
};

Exports *exports_open(const char *folder, GError **error)
{
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) {
        g_set_error(error, G_FILE_ERROR, g_file_error_from_errno(errno),
                    "cannot serve exports from '%s': %s", folder, g_strerror(errno));
        return NULL;
    }
    Exports *exports = g_new0(struct exports, 1);
    exports->folder = fd;
    g_mutex_init(&exports->lock);
    exports->hashes = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
    return exports;
}

void exports_close(Exports *exports)
{
    if (!exports)
        return;
    close(exports->folder);
    g_mutex_clear(&exports->lock);
    g_hash_table_destroy(exports->hashes);
    g_free(exports);
}

/* Names a file's content as long as nobody writes to it. */
static char *etag_of(const struct stat *status)
{
    return g_strdup_printf("\"%lx-%lx-%lx-%lx%09lx\"", (unsigned long)status->st_dev,
                           (unsigned long)status->st_ino, (unsigned long)status->st_size,
                           (unsigned long)status->st_mtim.tv_sec,
                           (unsigned long)status->st_mtim.tv_nsec);
}

static bool is_served_name(const char *name)
{
    return *name != '\0' && *name != '.' && g_utf8_validate(name, -1, NULL);
}

/* ---- one file ---- */

int exports_file(Exports *exports, const char *path, uint64_t *bytes, char **etag)
{
    struct stat status;
    g_auto(GStrv) names = g_strsplit(path, "/", DEPTH_MOST + 2);
    int at = dup(exports->folder);
    for (char **name = names; *name && at >= 0; name++) {
        int flags = O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | (name[1] ? O_DIRECTORY : 0);
        int next = is_served_name(*name) && !strchr(*name, '/') ? openat(at, *name, flags) : -1;
        close(at);
        at = next;
    }
    if (at < 0)
        return -1;
    if (!names[0] || fstat(at, &status) != 0 || !S_ISREG(status.st_mode)) {
        close(at);
        return -1;
    }
    *bytes = (uint64_t)status.st_size;
    *etag = etag_of(&status);
    return at;
}

/* ---- the listing ---- */

static void free_file(gpointer data)
{
    struct file *file = data;
    g_free(file->path);
    g_free(file->etag);
    g_free(file);
}

static void add_file(GPtrArray *files, const char *path, const struct stat *status)
{
    struct file *file = g_new0(struct file, 1);
    file->path = g_strdup(path);
    file->etag = etag_of(status);
    file->bytes = status->st_size;
    file->modified_unix = status->st_mtim.tv_sec;
    g_ptr_array_add(files, file);
}

/* Takes fd, of a folder. */
static void list_folder(int fd, const char *prefix, int depth, GPtrArray *files)
{
    DIR *folder = fdopendir(fd);
    const struct dirent *entry;
    if (!folder) {
        close(fd);
        return;
    }
    while ((entry = readdir(folder)) && files->len < EXPORTS_FILES_MOST) {
        struct stat status;
        if (!is_served_name(entry->d_name) ||
            fstatat(dirfd(folder), entry->d_name, &status, AT_SYMLINK_NOFOLLOW) != 0)
            continue;
        g_autofree char *path = g_strconcat(prefix, entry->d_name, NULL);
        if (S_ISREG(status.st_mode))
            add_file(files, path, &status);
        if (!S_ISDIR(status.st_mode) || depth == DEPTH_MOST)
            continue;
        g_autofree char *below = g_strconcat(path, "/", NULL);
        int next =
            openat(dirfd(folder), entry->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (next >= 0)
            list_folder(next, below, depth + 1, files);
    }
    closedir(folder);
}

static int compare_files(gconstpointer a, gconstpointer b)
{
    const struct file *const *one = a, *const *other = b;
    return strcmp((*one)->path, (*other)->path);
}

static char *hash_bytes(int fd)
{
    char block[BLOCK];
    ssize_t got;
    g_autoptr(GChecksum) sum = g_checksum_new(G_CHECKSUM_SHA256);
    while ((got = read(fd, block, sizeof block)) > 0 || (got < 0 && errno == EINTR))
        if (got > 0)
            g_checksum_update(sum, (const guchar *)block, got);
    return got == 0 ? g_strdup(g_checksum_get_string(sum)) : NULL;
}

/* The file's SHA-256, or NULL: *budget has no bytes left for it. Free with g_free(). */
static char *hash_of(Exports *exports, const struct file *file, int64_t *budget)
{
    g_autofree char *etag = NULL;
    uint64_t bytes;
    g_mutex_lock(&exports->lock);
    char *known = g_strdup(g_hash_table_lookup(exports->hashes, file->etag));
    g_mutex_unlock(&exports->lock);
    if (known || *budget <= 0)
        return known;
    int fd = exports_file(exports, file->path, &bytes, &etag);
    if (fd < 0)
        return NULL;
    *budget -= (int64_t)bytes;
    char *hash = hash_bytes(fd);
    close(fd);
    if (!hash)
        return NULL;
    g_mutex_lock(&exports->lock);
    if (g_hash_table_size(exports->hashes) > 2 * EXPORTS_FILES_MOST)
        g_hash_table_remove_all(exports->hashes); /* of files that are gone */
    g_hash_table_replace(exports->hashes, g_strdup(etag), g_strdup(hash));
    g_mutex_unlock(&exports->lock);
    return hash;
}

json_t *exports_list(Exports *exports, const char *after, int limit, bool *more)
{
    int64_t budget = EXPORTS_HASH_BYTES;
    json_t *list = json_array();
    g_autoptr(GPtrArray) files = g_ptr_array_new_with_free_func(free_file);
    list_folder(openat(exports->folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), "", 0, files);
    g_ptr_array_sort(files, compare_files);
    *more = false;
    for (guint i = 0; i < files->len; i++) {
        const struct file *file = g_ptr_array_index(files, i);
        if (after && strcmp(file->path, after) <= 0)
            continue;
        if ((int)json_array_size(list) == limit) {
            *more = true;
            break;
        }
        g_autofree char *hash = hash_of(exports, file, &budget);
        json_array_append_new(list, json_pack("{ss sI sI ss?}", "path", file->path, "bytes",
                                              (json_int_t)file->bytes, "modified_unix",
                                              (json_int_t)file->modified_unix, "sha256", hash));
    }
    return list;
}
