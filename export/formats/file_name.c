#include "export/formats/file_name.h"

#include <string.h>

static const struct {
    const char *name, *ending;
    const char *endings[2]; /* what a name that is read may end in */
} kinds[FILE_KIND_COUNT] = {
    [FILE_FIND_DB] = {"find-db", ".HIP.fdb.txt", {".fdb.txt", ".ufdb.txt"}},
    [FILE_PERF_DB] = {"perf-db", ".db", {".db", ".udb"}},
    [FILE_PERF_TEXT] = {"perf-db text", ".db.txt", {".db.txt", ".udb.txt"}},
    [FILE_KERNEL_DB] = {"kernel-db", ".kdb", {".kdb", ".ukdb"}},
    [FILE_SJDB] = {".sjdb", ".sjdb", {".sjdb", ".sjdb"}},
};

char *file_name(const struct target *target, enum file_kind kind)
{
    return g_strconcat(target->id, kinds[kind].ending, NULL);
}

bool file_name_kind(const char *name, enum file_kind *kind)
{
    g_autofree char *bare = g_strdup(name);
    if (g_str_has_suffix(bare, ".bz2")) {
        bare[strlen(bare) - strlen(".bz2")] = '\0';
    }
    for (int i = 0; i < FILE_KIND_COUNT; i++) {
        if (g_str_has_suffix(bare, kinds[i].endings[0]) ||
            g_str_has_suffix(bare, kinds[i].endings[1])) {
            *kind = (enum file_kind)i;
            return true;
        }
    }
    return false;
}

const char *file_kind_name(enum file_kind kind)
{
    return kinds[kind].name;
}
