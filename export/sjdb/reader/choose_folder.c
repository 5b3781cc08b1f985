/* Opens the databases of a folder and sorts them, those nearest to a target first. */
#include "export/sjdb/reader/choose.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>

#define ENDING ".sjdb"

struct member {
    char *name;
    skipjackdb *db; /* NULL if the file could not be opened; `code` says why */
    int32_t code;
    int32_t kinship;
    uint64_t distance;
};

struct skipjackdb_folder {
    /* nearest to the target first; files that could not be opened are last */
    struct member *members;
    size_t count;
    skipjackdb **dbs;
    size_t db_count;
    uint32_t near;
};

/* Files at equal distance are sorted by name, since the system lists a folder's files in any
 * order. */
static int compare_members(const void *left, const void *right)
{
    const struct member *a = left, *b = right;
    if ((a->db == NULL) != (b->db == NULL)) {
        return a->db == NULL ? 1 : -1;
    }
    if (a->kinship != b->kinship) {
        return a->kinship < b->kinship ? -1 : 1;
    }
    if (a->distance != b->distance) {
        return a->distance < b->distance ? -1 : 1;
    }
    return strcmp(a->name, b->name);
}

static bool ends_in_sjdb(const char *name)
{
    size_t length = strlen(name), ending = strlen(ENDING);
    return length > ending && strcmp(name + length - ending, ENDING) == 0;
}

static int add_member(struct skipjackdb_folder *folder, const char *path, const char *name,
                      struct member *member)
{
    size_t length = strlen(path) + strlen(name) + 2;
    char *file = malloc(length);
    struct member *more = realloc(folder->members, (folder->count + 1) * sizeof *folder->members);
    folder->members = more != NULL ? more : folder->members;
    member->name = strdup(name);
    if (file == NULL || more == NULL || member->name == NULL) {
        free(file);
        free(member->name);
        return SKIPJACKDB_MEMORY;
    }
    stpcpy(stpcpy(stpcpy(file, path), "/"), name);
    member->code = skipjackdb_open(file, &member->db);
    free(file);
    folder->members[folder->count++] = *member;
    return member->code == SKIPJACKDB_MEMORY ? SKIPJACKDB_MEMORY : SKIPJACKDB_OK;
}

/* Returns the folder's next entry. At the end, and on failure, returns NULL; errno is 0 at the end
 * only. A network file system may fail at any call. */
static const struct dirent *next_entry(DIR *stream)
{
    errno = 0;
    return readdir(stream);
}

static int read_folder(struct skipjackdb_folder *folder, const char *path, const char *target)
{
    int code = SKIPJACKDB_OK;
    const struct dirent *entry;
    DIR *stream = opendir(path);
    if (stream == NULL) {
        return SKIPJACKDB_IO;
    }
    while (code == SKIPJACKDB_OK && (entry = next_entry(stream)) != NULL) {
        struct member member = {.db = NULL};
        if (ends_in_sjdb(entry->d_name) &&
            skipjackdb_target_compare(target, entry->d_name, &member.kinship, &member.distance) ==
                SKIPJACKDB_OK &&
            member.kinship != SKIPJACKDB_STRANGERS) {
            code = add_member(folder, path, entry->d_name, &member);
        }
    }
    int reason = errno;
    if (code == SKIPJACKDB_OK && reason != 0) {
        code = SKIPJACKDB_IO;
    }
    closedir(stream);
    errno = reason;
    return code;
}

/* Allocates one pointer more than there are files: if no file is the target's own, the list begins
 * with NULL. */
static int list_dbs(struct skipjackdb_folder *folder)
{
    folder->dbs = calloc(folder->count + 1, sizeof *folder->dbs);
    if (folder->dbs == NULL) {
        return SKIPJACKDB_MEMORY;
    }
    if (folder->count > 0) {
        qsort(folder->members, folder->count, sizeof *folder->members, compare_members);
    }
    const struct member *first = folder->members;
    bool own = folder->count > 0 && first->db != NULL && first->kinship == SKIPJACKDB_SAME_TARGET;
    folder->db_count = folder->near = own ? 0 : 1;
    for (size_t i = 0; i < folder->count && folder->members[i].db != NULL; i++) {
        folder->dbs[folder->db_count++] = folder->members[i].db;
        folder->near += folder->members[i].kinship <= SKIPJACKDB_SAME_ARCHITECTURE;
    }
    return SKIPJACKDB_OK;
}

int skipjackdb_folder_open(const char *path, const char *target, skipjackdb_folder **folder)
{
    int kinship = 0;
    uint64_t distance = 0;
    if (path == NULL || target == NULL || folder == NULL) {
        return SKIPJACKDB_USAGE;
    }
    *folder = NULL;
    int code = skipjackdb_target_compare(target, target, &kinship, &distance);
    if (code != SKIPJACKDB_OK) {
        return code;
    }
    struct skipjackdb_folder *made = calloc(1, sizeof *made);
    if (made == NULL) {
        return SKIPJACKDB_MEMORY;
    }
    code = read_folder(made, path, target);
    int reason = errno;
    if (code == SKIPJACKDB_OK) {
        code = list_dbs(made);
    }
    if (code == SKIPJACKDB_OK) {
        *folder = made;
        return code;
    }
    skipjackdb_folder_close(made);
    errno = reason;
    return code;
}

skipjackdb *const *skipjackdb_folder_dbs(const skipjackdb_folder *folder, size_t *count,
                                         uint32_t *near)
{
    if (folder == NULL || count == NULL) {
        return NULL;
    }
    *count = folder->db_count;
    if (near != NULL) {
        *near = folder->near;
    }
    return folder->dbs;
}

int skipjackdb_folder_file(const skipjackdb_folder *folder, size_t index,
                           struct skipjackdb_file *file)
{
    if (folder == NULL || !SJDB_SIZED(file)) {
        return SKIPJACKDB_USAGE;
    }
    size_t missing = folder->dbs[0] == NULL;
    if (index < missing || index - missing >= folder->count) {
        return SKIPJACKDB_NOT_FOUND;
    }
    const struct member *member = &folder->members[index - missing];
    file->name = member->name;
    file->code = member->code;
    file->kinship = member->kinship;
    return SKIPJACKDB_OK;
}

void skipjackdb_folder_close(skipjackdb_folder *folder)
{
    if (folder == NULL) {
        return;
    }
    for (size_t i = 0; i < folder->count; i++) {
        skipjackdb_close(folder->members[i].db);
        free(folder->members[i].name);
    }
    free(folder->members);
    free(folder->dbs);
    free(folder);
}
