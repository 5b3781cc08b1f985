#include "export/formats/manifest.h"

#include "export/formats/byte_source.h"

#include <string.h>
#include <sys/stat.h>

#define CAMPAIGN_ENDING ".export.json"
#define GOLDEN_ENDING   ".golden.json"

/* Largest manifest that is read. A golden version lists every kernel with its hash and options: a
 * million kernels take 400 MB. */
#define BYTES_MAX ((int64_t)1 << 30)

char *manifest_name(const char *target, bool golden)
{
    return g_strconcat(target, golden ? GOLDEN_ENDING : CAMPAIGN_ENDING, NULL);
}

bool manifest_is_name(const char *name)
{
    return g_str_has_suffix(name, CAMPAIGN_ENDING) || g_str_has_suffix(name, GOLDEN_ENDING);
}

static void file_free(void *data)
{
    struct manifest_file *file = data;
    g_free(file->name);
    g_free(file->sha256);
    g_free(file);
}

void manifest_free(struct manifest *manifest)
{
    if (manifest != NULL) {
        g_free(manifest->target);
        g_free(manifest->campaign);
        g_free(manifest->results);
        json_decref(manifest->part);
        g_ptr_array_unref(manifest->files);
        g_free(manifest);
    }
}

/* ---- reading ---- */

static bool wrong(const char *path, const char *what, GError **error)
{
    g_set_error(error, EXPORT_ERROR, EXPORT_ERROR_SYNTAX, "'%s' is no manifest: %s", path, what);
    return false;
}

static bool is_plain_name(const char *name)
{
    return name[0] != '\0' && name[0] != '.' && strchr(name, '/') == NULL;
}

static bool take_files(const char *path, const json_t *files, struct manifest *manifest,
                       GError **error)
{
    if (!json_is_array(files)) {
        return wrong(path, "it lists no files", error);
    }
    for (size_t i = 0; i < json_array_size(files); i++) {
        const json_t *at = json_array_get(files, i);
        const char *name = json_string_value(json_object_get(at, "name"));
        const char *sha256 = json_string_value(json_object_get(at, "sha256"));
        const json_t *bytes = json_object_get(at, "bytes");
        if (name == NULL || sha256 == NULL || !json_is_integer(bytes)) {
            return wrong(path, "a file of its list has no name, size and SHA-256", error);
        }
        if (!is_plain_name(name)) {
            return wrong(path, "its list names a file that is not in its folder", error);
        }
        struct manifest_file *file = g_new0(struct manifest_file, 1);
        *file = (struct manifest_file){g_strdup(name), json_integer_value(bytes), g_strdup(sha256)};
        g_ptr_array_add(manifest->files, file);
    }
    return true;
}

static int count_of(const json_t *json, const char *member, int missing)
{
    const json_t *count = json_object_get(json, member);
    json_int_t value = json_integer_value(count);
    return json_is_integer(count) && value >= 0 && value <= G_MAXINT ? (int)value : missing;
}

static struct manifest *take_all(const char *path, const json_t *json, GError **error)
{
    g_autoptr(Manifest) manifest = g_new0(struct manifest, 1);
    const char *target = json_string_value(json_object_get(json, "target"));
    manifest->target = g_strdup(target);
    manifest->campaign = g_strdup(json_string_value(json_object_get(json, "campaign")));
    manifest->golden_version = count_of(json, "version", 0);
    manifest->part = json_incref(json_object_get(json, "part"));
    manifest->results = g_strdup(json_string_value(json_object_get(json, "results")));
    manifest->jobs = count_of(json, "jobs", -1);
    manifest->jobs_ended = count_of(json, "jobs_ended", 0);
    manifest->without_winner = count_of(json, "without_winner", 0);
    manifest->files = g_ptr_array_new_with_free_func(file_free);
    const json_t *limits = json_object_get(json, "limits");
    manifest->local_bytes = json_integer_value(json_object_get(limits, "local_bytes"));
    manifest->max_workgroup = count_of(limits, "max_workgroup", 0);
    manifest->wave_size = count_of(limits, "wave_size", 0);
    manifest->vector_bytes = count_of(limits, "vector_bytes", 0);
    if (target == NULL || (manifest->campaign == NULL) == (manifest->golden_version == 0)) {
        wrong(path, "it does not say of which target and which campaign or golden version it is",
              error);
        return NULL;
    }
    return take_files(path, json_object_get(json, "files"), manifest, error)
               ? g_steal_pointer(&manifest)
               : NULL;
}

struct manifest *manifest_read(const char *path, GError **error)
{
    struct stat status;
    json_error_t where;
    if (stat(path, &status) != 0) {
        export_io_error("read the manifest", path, error);
        return NULL;
    }
    if (!S_ISREG(status.st_mode) || status.st_size > BYTES_MAX) {
        wrong(path, "it is no file, or one of more than 1 GiB", error);
        return NULL;
    }
    json_t *json = json_load_file(path, 0, &where);
    if (json == NULL) {
        g_autofree char *what = g_strdup_printf("line %d: %s", where.line, where.text);
        wrong(path, what, error);
        return NULL;
    }
    struct manifest *manifest = take_all(path, json, error);
    json_decref(json);
    return manifest;
}

/* ---- comparing a manifest with a release ---- */

bool manifest_is_of_part(const struct manifest *manifest, const json_t *part)
{
    const char *member;
    json_t *value;
    json_object_foreach (manifest->part, member, value) {
        const json_t *other = json_object_get(part, member);
        if (other != NULL && !json_equal(value, other)) {
            return false;
        }
    }
    return true;
}

bool manifest_is_of(const struct manifest *manifest, const struct release_name *name)
{
    return strcmp(manifest->target, name->target) == 0 &&
           g_strcmp0(manifest->campaign, name->campaign) == 0 &&
           manifest->golden_version == name->golden_version;
}

char *manifest_whose(const struct manifest *manifest)
{
    return manifest->campaign != NULL
               ? g_strdup_printf("the campaign '%s'", manifest->campaign)
               : g_strdup_printf("golden version %d", manifest->golden_version);
}

/* ---- the device's limits ---- */

json_t *manifest_limits_json(const struct target *target)
{
    return json_pack("{s:I, s:i, s:i, s:i}", "local_bytes", (json_int_t)target->local_bytes,
                     "max_workgroup", target->max_workgroup, "wave_size", target->wave_size,
                     "vector_bytes", target->vector_bytes);
}

bool manifest_take_limits(const struct manifest *manifest, struct target *target)
{
    struct target taken = *target;
    taken.local_bytes = manifest->local_bytes;
    taken.max_workgroup = manifest->max_workgroup;
    taken.wave_size = manifest->wave_size;
    taken.vector_bytes = manifest->vector_bytes;
    if (manifest->local_bytes <= 0 || !target_validate(&taken, NULL)) {
        return false;
    }
    *target = taken;
    return true;
}

/* ---- sums ---- */

char *manifest_find_file(const char *folder, const char *name)
{
    g_autofree char *path = g_build_filename(folder, name, NULL);
    if (g_file_test(path, G_FILE_TEST_EXISTS)) {
        return g_steal_pointer(&path);
    }
    g_autofree char *packed = g_strconcat(path, ".bz2", NULL);
    return g_file_test(packed, G_FILE_TEST_EXISTS) ? g_steal_pointer(&packed) : NULL;
}

bool manifest_sum(const char *path, int64_t *bytes, char **sha256, GError **error)
{
    char piece[65536];
    size_t length = 0;
    g_autoptr(ByteSource) source = byte_source_open(path, error);
    g_autoptr(GChecksum) sum = g_checksum_new(G_CHECKSUM_SHA256);
    *bytes = 0;
    do {
        if (source == NULL || !byte_source_read(source, piece, sizeof piece, &length, error)) {
            return false;
        }
        g_checksum_update(sum, (const guchar *)piece, (gssize)length);
        *bytes += (int64_t)length;
    } while (length > 0);
    *sha256 = g_strdup(g_checksum_get_string(sum));
    return true;
}

static void add_file(json_t *list, const char *name, int64_t bytes, const char *sha256)
{
    json_array_append_new(list, json_pack("{s:s, s:I, s:s}", "name", name, "bytes",
                                          (json_int_t)bytes, "sha256", sha256));
}

json_t *manifest_files_json(const char *folder, const GPtrArray *names, const GPtrArray *kept,
                            GError **error)
{
    json_t *list = json_array();
    for (guint i = 0; i < names->len; i++) {
        int64_t bytes = 0;
        g_autofree char *sha256 = NULL;
        g_autofree char *path = g_build_filename(folder, names->pdata[i], NULL);
        if (!manifest_sum(path, &bytes, &sha256, error)) {
            g_prefix_error(error, "cannot sum '%s' for the manifest: ", path);
            json_decref(list);
            return NULL;
        }
        add_file(list, names->pdata[i], bytes, sha256);
    }
    for (guint i = 0; kept != NULL && i < kept->len; i++) {
        const struct manifest_file *file = kept->pdata[i];
        add_file(list, file->name, file->bytes, file->sha256);
    }
    return list;
}
