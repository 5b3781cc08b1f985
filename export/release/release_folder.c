#include "export/release/release_folder.h"

#include "export/sjdb/sjdb_meta.h"

#include <string.h>

#define NAMED_MAX 3 /* most files that a message names */

static bool lists(const GPtrArray *names, const char *name)
{
    return g_ptr_array_find_with_equal_func((GPtrArray *)names, name, g_str_equal, NULL);
}

static bool is_there(const char *dir, const char *name)
{
    g_autofree char *path = g_build_filename(dir, name, NULL);
    return g_file_test(path, G_FILE_TEST_IS_REGULAR) || g_file_test(path, G_FILE_TEST_IS_SYMLINK);
}

static void add_where_there(GPtrArray *names, const char *dir, char *name)
{
    if (is_there(dir, name)) {
        g_ptr_array_add(names, name);
    } else {
        g_free(name);
    }
}

/* ---- whose files the folder holds ---- */

/* Returns whose files these are, according to the manifest (g_free()). NULL if the manifest is this
 * release's, or if the folder has no manifest. */
static char *whose_by_manifest(struct release_folder *folder, const char *dir,
                               const struct release_name *release, bool golden)
{
    g_autofree char *name = manifest_name(release->target, golden);
    g_autofree char *path = g_build_filename(dir, name, NULL);
    g_autoptr(GError) error = NULL;
    if (!lists(folder->names, name)) {
        return NULL;
    }
    g_autoptr(Manifest) manifest = manifest_read(path, &error);
    if (manifest == NULL) {
        return g_strdup_printf("a release whose manifest cannot be read (%s)", error->message);
    }
    if (!manifest_is_of(manifest, release)) {
        return manifest_whose(manifest);
    }
    manifest_free(folder->manifest);
    folder->manifest = g_steal_pointer(&manifest);
    folder->other_part = !manifest_is_of_part(folder->manifest, release->part);
    return NULL;
}

static bool is_listed(const struct manifest *manifest, const char *name)
{
    for (guint i = 0; i < manifest->files->len; i++) {
        if (strcmp(((const struct manifest_file *)manifest->files->pdata[i])->name, name) == 0) {
            return true;
        }
    }
    return false;
}

/* The manifest is this release's. Returns "somebody else" with the name of a file that it does not
 * list; NULL if it lists all. */
static char *whose_beside_manifest(const struct release_folder *folder)
{
    for (guint i = 0; i < folder->names->len; i++) {
        const char *name = folder->names->pdata[i];
        if (!manifest_is_name(name) && !is_listed(folder->manifest, name)) {
            return g_strdup_printf("somebody else: no manifest lists '%s'", name);
        }
    }
    return NULL;
}

/* Returns whose file a .sjdb in a folder without a manifest is, according to its JSON text. Older
 * versions of this program wrote no manifest for a campaign. */
static char *whose_by_sjdb(const struct release_folder *folder, const char *dir,
                           const struct release_name *release)
{
    struct sjdb_meta meta;
    skipjackdb *db = NULL;
    g_autofree char *name = g_strconcat(release->target, ".sjdb", NULL);
    g_autofree char *path = g_build_filename(dir, name, NULL);
    if (!lists(folder->names, name) || skipjackdb_open(path, &db) != SKIPJACKDB_OK) {
        return g_strdup("somebody else: no manifest lists them");
    }
    sjdb_meta_read(db, &meta);
    bool same = strcmp(file_target_text(&meta.target), release->target) == 0 &&
                g_strcmp0(meta.campaign, release->campaign) == 0 &&
                meta.golden_version == release->golden_version;
    char *whose = same                    ? NULL
                  : meta.campaign != NULL ? g_strdup_printf("the campaign '%s'", meta.campaign)
                  : meta.golden_version > 0
                      ? g_strdup_printf("golden version %d", meta.golden_version)
                      : g_strdup("somebody else: no manifest lists them");
    sjdb_meta_clear(&meta);
    skipjackdb_close(db);
    return whose;
}

static char *find_owner(struct release_folder *folder, const char *dir,
                        const struct release_name *release)
{
    char *whose = whose_by_manifest(folder, dir, release, false);
    if (whose == NULL) {
        whose = whose_by_manifest(folder, dir, release, true);
    }
    if (whose == NULL && folder->manifest != NULL) {
        return whose_beside_manifest(folder);
    }
    return whose == NULL && folder->names->len > 0 ? whose_by_sjdb(folder, dir, release) : whose;
}

static bool refuse(const GPtrArray *names, const char *dir, const char *target, const char *whose,
                   GError **error)
{
    g_autoptr(GString) files = g_string_new(NULL);
    for (guint i = 0; i < MIN(names->len, NAMED_MAX); i++) {
        g_string_append_printf(files, "%s%s", i > 0 ? ", " : "", (char *)names->pdata[i]);
    }
    if (names->len > NAMED_MAX) {
        g_string_append_printf(files, " and %u more", names->len - NAMED_MAX);
    }
    g_set_error(error, EXPORT_ERROR, EXPORT_ERROR_FOLDER,
                "'%s' holds files of another release of %s, of %s: %s. Name another folder, or "
                "remove these files with --replace",
                dir, target, whose, files->str);
    return false;
}

bool release_folder_read(struct release_folder *folder, const char *dir,
                         const struct release_name *release, bool replace, GError **error)
{
    *folder = (struct release_folder){
        .names = g_ptr_array_new_with_free_func(g_free),
        .stale = g_ptr_array_new_with_free_func(g_free),
    };
    for (int kind = 0; kind < FILE_KIND_COUNT; kind++) {
        add_where_there(folder->names, dir, file_name_of(release->target, (enum file_kind)kind));
    }
    add_where_there(folder->names, dir, manifest_name(release->target, false));
    add_where_there(folder->names, dir, manifest_name(release->target, true));
    g_autofree char *whose = find_owner(folder, dir, release);
    if (whose == NULL) {
        return true;
    }
    if (!replace) {
        return refuse(folder->names, dir, release->target, whose, error);
    }
    g_clear_pointer(&folder->manifest, manifest_free);
    for (guint i = 0; i < folder->names->len; i++) {
        g_ptr_array_add(folder->stale, g_strdup(folder->names->pdata[i]));
    }
    return true;
}

void release_folder_clear(struct release_folder *folder)
{
    g_clear_pointer(&folder->names, g_ptr_array_unref);
    g_clear_pointer(&folder->stale, g_ptr_array_unref);
    g_clear_pointer(&folder->manifest, manifest_free);
}

bool release_folder_settle(struct release_folder *folder, const char *dir,
                           const struct release_name *release, const GPtrArray *written,
                           bool replace, GPtrArray **kept, GError **error)
{
    g_autoptr(GPtrArray) left = g_ptr_array_new();
    *kept = g_ptr_array_new();
    for (guint i = 0; folder->manifest != NULL && i < folder->manifest->files->len; i++) {
        struct manifest_file *file = folder->manifest->files->pdata[i];
        if (lists(folder->names, file->name) && !lists(written, file->name)) {
            g_ptr_array_add(*kept, file);
            g_ptr_array_add(left, file->name);
        }
    }
    bool other_results = folder->manifest != NULL && folder->manifest->results != NULL &&
                         release->results != NULL &&
                         strcmp(folder->manifest->results, release->results) != 0;
    if ((!folder->other_part && !other_results) || left->len == 0) {
        return true;
    }
    g_ptr_array_set_size(*kept, 0);
    if (!replace) {
        g_autofree char *whose = manifest_whose(folder->manifest);
        g_autofree char *part = g_strdup_printf(
            "%s of %s", folder->other_part ? "another part" : "other results", whose);
        return refuse(left, dir, release->target, part, error);
    }
    for (guint i = 0; i < left->len; i++) {
        g_ptr_array_add(folder->stale, g_strdup(left->pdata[i]));
    }
    return true;
}
