#include "export/golden_manifest.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- what the version is ---- */

static json_t *or_null(const char *text)
{
    return text != NULL && text[0] != '\0' ? json_string(text) : json_null();
}

static const struct golden_version *find(const GPtrArray *versions, int number)
{
    for (guint i = 0; i < versions->len; i++) {
        const struct golden_version *version = versions->pdata[i];
        if (version->version == number) {
            return version;
        }
    }
    return NULL;
}

static json_t *version_json(const struct golden_version *version)
{
    return json_pack(
        "{s:s, s:i, s:s, s:i, s:o, s:s, s:o, s:o, s:I, s:o, s:o, s:I}", "target", version->target,
        "version", version->version, "kind", version->kind, "base", version->base, "restores",
        version->restores != 0 ? json_integer(version->restores) : json_null(), "note",
        version->note, "proposed_by", or_null(version->proposed_by), "proposed_login",
        or_null(version->proposed_login), "proposed_unix", (json_int_t)version->proposed_unix,
        "approved_by", or_null(version->approved_by), "approved_login",
        or_null(version->approved_login), "approved_unix", (json_int_t)version->approved_unix);
}

static json_t *wish_json(const struct export_wish *wish)
{
    return json_pack("{s:i, s:o, s:b, s:o, s:o}", "top", wish->top, "workspace",
                     wish->limits_workspace ? json_integer((json_int_t)wish->workspace_bytes)
                                            : json_null(),
                     "dynamic_only", wish->dynamic_only, "network", or_null(wish->network), "tag",
                     or_null(wish->tag));
}

/* ---- what it is made from ---- */

/* A campaign or a stack, with what came from it. */
struct source {
    int64_t campaign;
    int entries, configs;
};

static struct source *source_of(GHashTable *sources, char *name)
{
    struct source *source = g_hash_table_lookup(sources, name);
    if (source == NULL) {
        source = g_new0(struct source, 1);
        g_hash_table_insert(sources, g_strdup(name), source);
    }
    g_free(name);
    return source;
}

static void count_row(struct source *source, const struct golden_row *row)
{
    source->campaign = row->campaign;
    source->entries += row->result.rank == 0;
    source->configs++;
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* The keys in order, NULL-terminated; free with g_free(). */
static char **names_of(GHashTable *table)
{
    guint count = 0;
    char **names = (char **)g_hash_table_get_keys_as_array(table, &count);
    qsort(names, count, sizeof *names, compare_names);
    return names;
}

static const char *campaign_name(const GPtrArray *versions, int64_t id)
{
    for (guint i = 0; i < versions->len; i++) {
        const struct golden_version *version = versions->pdata[i];
        if (version->campaign == id) {
            return version->campaign_name;
        }
    }
    return "";
}

static json_t *campaigns_json(const GPtrArray *versions, GHashTable *campaigns)
{
    json_t *list = json_array();
    g_autofree char **names = names_of(campaigns);
    for (char **name = names; *name != NULL; name++) {
        const struct source *source = g_hash_table_lookup(campaigns, *name);
        json_array_append_new(list, json_pack("{s:I, s:s, s:i, s:i}", "campaign",
                                              (json_int_t)source->campaign, "name",
                                              campaign_name(versions, source->campaign), "entries",
                                              source->entries, "configs", source->configs));
    }
    return list;
}

static json_t *stacks_json(GHashTable *stacks)
{
    json_t *list = json_array();
    g_autofree char **names = names_of(stacks);
    for (char **name = names; *name != NULL; name++) {
        const struct source *source = g_hash_table_lookup(stacks, *name);
        json_array_append_new(list, json_pack("{s:s, s:i, s:i}", "stack", *name, "entries",
                                              source->entries, "configs", source->configs));
    }
    return list;
}

static json_t *kernels_json(Store *store, GHashTable *keys, GError **error)
{
    g_autofree char **names = names_of(keys);
    g_autoptr(GHashTable) known =
        store_known_kernels(store, (const char *const *)names, (int)g_hash_table_size(keys), error);
    if (known == NULL) {
        return NULL;
    }
    json_t *list = json_array();
    for (char **name = names; *name != NULL; name++) {
        const struct kernel_row *kernel = g_hash_table_lookup(known, *name);
        if (kernel != NULL) {
            json_array_append_new(list, json_pack("{s:s, s:s, s:s, s:s, s:s, s:s}", "key",
                                                  kernel->key, "file", kernel->file, "options",
                                                  kernel->options, "toolchain", kernel->toolchain,
                                                  "toolchain_version", kernel->toolchain_version,
                                                  "code_sha256", kernel->code_sha256));
        }
    }
    return list;
}

static void add_keys(GHashTable *keys, const char *joined)
{
    g_auto(GStrv) split = g_strsplit(joined, ",", -1);
    for (char **key = split; *key != NULL; key++) {
        if (**key != '\0') {
            g_hash_table_add(keys, g_strdup(*key));
        }
    }
}

/* false where the store cannot be asked. */
static bool add_sources(json_t *manifest, Store *store, const GPtrArray *versions,
                        const GPtrArray *rows, GError **error)
{
    json_int_t runs = 0, entries = 0;
    g_autoptr(GHashTable) campaigns =
        g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
    g_autoptr(GHashTable) stacks = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
    g_autoptr(GHashTable) keys = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    for (guint i = 0; i < rows->len; i++) {
        const struct golden_row *row = rows->pdata[i];
        /* Zeros in front: as texts they are in the order of their numbers. */
        count_row(
            source_of(campaigns, g_strdup_printf("%020" G_GINT64_FORMAT, (gint64)row->campaign)),
            row);
        count_row(source_of(stacks, g_strdup(row->result.stack)), row);
        add_keys(keys, row->result.kept.kernel_keys);
        runs += row->result.kept.outcome.n;
        entries += row->result.rank == 0;
    }
    json_t *kernels = kernels_json(store, keys, error);
    if (kernels == NULL) {
        return false;
    }
    json_object_set_new(manifest, "campaigns", campaigns_json(versions, campaigns));
    json_object_set_new(manifest, "stacks", stacks_json(stacks));
    json_object_set_new(manifest, "measurements",
                        json_pack("{s:I, s:I, s:I}", "entries", entries, "configs",
                                  (json_int_t)rows->len, "runs", runs));
    json_object_set_new(manifest, "kernels", kernels);
    return true;
}

/* ---- the files ---- */

static json_t *file_json(const char *path, GError **error)
{
    guchar bytes[65536];
    size_t got;
    json_int_t size = 0;
    FILE *file = fopen(path, "rb");
    g_autoptr(GChecksum) sum = g_checksum_new(G_CHECKSUM_SHA256);
    g_autofree char *name = g_path_get_basename(path);
    while (file != NULL && (got = fread(bytes, 1, sizeof bytes, file)) > 0) {
        g_checksum_update(sum, bytes, (gssize)got);
        size += (json_int_t)got;
    }
    bool read = file != NULL && !ferror(file);
    if (!read) {
        g_set_error(error, EXPORT_ERROR, EXPORT_ERROR_IO, "cannot read '%s' for the manifest: %s",
                    path, g_strerror(errno));
    }
    if (file != NULL) {
        fclose(file);
    }
    return read ? json_pack("{s:s, s:I, s:s}", "name", name, "bytes", size, "sha256",
                            g_checksum_get_string(sum))
                : NULL;
}

static bool add_files(json_t *manifest, const GPtrArray *files, GError **error)
{
    json_t *list = json_array();
    json_object_set_new(manifest, "files", list);
    for (guint i = 0; i < files->len; i++) {
        json_t *file = file_json(files->pdata[i], error);
        if (file == NULL) {
            return false;
        }
        json_array_append_new(list, file);
    }
    return true;
}

char *golden_manifest(Store *store, const GPtrArray *versions, int number, const GPtrArray *rows,
                      const struct export_wish *wish, const GPtrArray *files, GError **error)
{
    char *text = NULL;
    json_t *manifest = version_json(find(versions, number));
    json_object_set_new(manifest, "part", wish_json(wish));
    if (add_files(manifest, files, error) && add_sources(manifest, store, versions, rows, error)) {
        char *dumped = json_dumps(manifest, JSON_INDENT(1));
        text = g_strconcat(dumped, "\n", NULL);
        free(dumped);
    }
    json_decref(manifest);
    return text;
}
