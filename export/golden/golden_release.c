#include "export/golden/golden_release.h"

#include "export/formats/manifest.h"
#include "export/formats/sqlite_file.h"
#include "export/release/export_manifest.h"
#include "export/release/export_source.h"
#include "schema/store/store_kernels.h"

#include <glib/gstdio.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KERNELS_AT_ONCE 1000

/* ---- members that describe the version ---- */

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

/* ---- members that say which measurements it is made from ---- */

/* A campaign, software stack or login, and how many of the version's rows came from it. */
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

/* Returns the sorted keys, NULL-terminated; free with g_free(). */
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

/* Returns a JSON array of the sources in the order of their names. `key` is the member that holds a
 * source's name. */
static json_t *sources_json(const char *key, GHashTable *table)
{
    json_t *list = json_array();
    g_autofree char **names = names_of(table);
    for (char **name = names; *name != NULL; name++) {
        const struct source *source = g_hash_table_lookup(table, *name);
        json_array_append_new(list, json_pack("{s:s, s:i, s:i}", key, *name, "entries",
                                              source->entries, "configs", source->configs));
    }
    return list;
}

/* Where the version's rows come from, counted over all rows. */
struct sources {
    GHashTable *campaigns, *stacks, *logins; /* by name; values are struct source */
    int64_t entries, configs, runs;
    sqlite3 *db; /* scratch database of kernel keys, each once and in order */
    sqlite3_stmt *add;
};

static bool add_keys(struct sources *sources, const char *joined, GError **error)
{
    g_auto(GStrv) split = g_strsplit(joined, ",", -1);
    for (char **key = split; *key != NULL; key++) {
        if (**key != '\0' && !sqlite_do(sources->add, error, "t", *key)) {
            return false;
        }
    }
    return true;
}

static bool add_rows(struct sources *sources, const GPtrArray *rows, GError **error)
{
    for (guint i = 0; i < rows->len; i++) {
        const struct golden_row *row = rows->pdata[i];
        /* Numbers are padded with zeros, so that sorting them as texts sorts them as numbers. */
        char *campaign = g_strdup_printf("%020" G_GINT64_FORMAT, (gint64)row->campaign);
        count_row(source_of(sources->campaigns, campaign), row);
        count_row(source_of(sources->stacks, g_strdup(row->result.stack)), row);
        const char *logins = row->result.measured_by != NULL ? row->result.measured_by : "";
        count_row(source_of(sources->logins, g_strdup(logins)), row);
        sources->entries += row->result.rank == 0;
        sources->configs++;
        sources->runs += row->result.kept.outcome.n;
        if (!add_keys(sources, row->result.kept.kernel_keys, error)) {
            return false;
        }
    }
    return true;
}

static bool read_sources(struct sources *sources, Store *store, const struct export_wish *wish,
                         GError **error)
{
    struct result_part part = RESULT_PART_BEGIN;
    const struct golden_query query = {
        wish->golden_target, wish->golden_version, "", wish->network, wish->tag, &part};
    int size = wish->part_results > 0 ? wish->part_results : EXPORT_PART_RESULTS;
    while (part.last != INT64_MAX) {
        if (!store_next_golden_rows(store, wish->golden_target, size, &part, error)) {
            return false;
        }
        g_autoptr(GPtrArray) rows = store_list_golden_rows(store, &query, error);
        if (rows == NULL || !add_rows(sources, rows, error)) {
            return false;
        }
    }
    return true;
}

static void add_sources(json_t *manifest, const struct sources *sources, const GPtrArray *versions)
{
    json_object_set_new(manifest, "campaigns", campaigns_json(versions, sources->campaigns));
    json_object_set_new(manifest, "stacks", sources_json("stack", sources->stacks));
    json_object_set_new(manifest, "measured_by", sources_json("logins", sources->logins));
    json_object_set_new(manifest, "measurements",
                        json_pack("{s:I, s:I, s:I}", "entries", (json_int_t)sources->entries,
                                  "configs", (json_int_t)sources->configs, "runs",
                                  (json_int_t)sources->runs));
}

/* ---- the version's kernels, written one by one since there may be many ---- */

static void write_kernel(FILE *file, const struct kernel_row *kernel, bool first)
{
    json_t *object =
        json_pack("{s:s, s:s, s:s, s:s, s:s, s:s}", "key", kernel->key, "file", kernel->file,
                  "options", kernel->options, "toolchain", kernel->toolchain, "toolchain_version",
                  kernel->toolchain_version, "code_sha256", kernel->code_sha256);
    char *text = json_dumps(object, JSON_INDENT(1));
    g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
    for (int i = 0; lines[i] != NULL; i++) {
        fprintf(file, "%s\n  %s", i == 0 && !first ? "," : "", lines[i]);
    }
    free(text);
    json_decref(object);
}

/* Writes those of the kernels that the store knows. *any becomes true once an element of the array
 * was written: the next one needs a comma. */
static bool write_known(FILE *file, Store *store, const GPtrArray *keys, bool *any, GError **error)
{
    g_autoptr(GHashTable) known =
        store_known_kernels(store, (const char *const *)(void *)keys->pdata, (int)keys->len, error);
    for (guint i = 0; known != NULL && i < keys->len; i++) {
        const struct kernel_row *kernel = g_hash_table_lookup(known, keys->pdata[i]);
        if (kernel != NULL) {
            write_kernel(file, kernel, !*any);
            *any = true;
        }
    }
    return known != NULL;
}

static bool write_kernels(FILE *file, Store *store, struct sources *sources, GError **error)
{
    bool any = false;
    g_autoptr(GPtrArray) keys = g_ptr_array_new_with_free_func(g_free);
    sqlite3_stmt *query = sqlite_statement(sources->db, "SELECT key FROM keys ORDER BY key", error);
    enum read_step step = query != NULL ? sqlite_step(query, error) : READ_FAILED;
    fputs("\"kernels\": [", file);
    while (step == READ_ROW) {
        g_ptr_array_add(keys, g_strdup((const char *)sqlite3_column_text(query, 0)));
        step = sqlite_step(query, error);
        if (keys->len == KERNELS_AT_ONCE || step == READ_END) {
            step = write_known(file, store, keys, &any, error) ? step : READ_FAILED;
            g_ptr_array_set_size(keys, 0);
        }
    }
    sqlite3_finalize(query);
    fputs(any ? "\n ]" : "]", file);
    return step == READ_END;
}

/* ---- writing the manifest ---- */

/* Writes the manifest with "kernels" as its last member: the kernels, of which there may be many,
 * are printed one by one in front of the object's closing brace. */
static bool write_text(FILE *file, Store *store, json_t *manifest, struct sources *sources,
                       GError **error)
{
    char *text = json_dumps(manifest, JSON_INDENT(1));
    text[strlen(text) - strlen("\n}")] = '\0';
    fprintf(file, "%s,\n ", text);
    free(text);
    bool written = write_kernels(file, store, sources, error);
    fputs("\n}\n", file);
    return written;
}

static bool write_file(Store *store, json_t *manifest, struct sources *sources, const char *path,
                       GError **error)
{
    FILE *file = fopen(path, "wbe");
    if (file == NULL) {
        return export_io_error("write", path, error);
    }
    bool written = write_text(file, store, manifest, sources, error);
    bool whole = fflush(file) == 0 && ferror(file) == 0;
    whole = fclose(file) == 0 && whole;
    return written && (whole || export_io_error("write", path, error));
}

/* Opens the scratch database in a file without a name, which the system deletes when the process
 * ends. */
static bool sources_init(struct sources *sources, const char *path, GError **error)
{
    g_autofree char *temp = g_strconcat(path, ".keys", NULL);
    sources->campaigns = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
    sources->stacks = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
    sources->logins = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
    sources->db =
        sqlite_file_scratch(temp, "CREATE TABLE keys (key TEXT PRIMARY KEY) WITHOUT ROWID;", error);
    g_unlink(temp);
    sources->add =
        sources->db != NULL
            ? sqlite_statement(sources->db, "INSERT OR IGNORE INTO keys VALUES (?)", error)
            : NULL;
    return sources->add != NULL;
}

static void sources_clear(struct sources *sources)
{
    g_hash_table_unref(sources->campaigns);
    g_hash_table_unref(sources->stacks);
    g_hash_table_unref(sources->logins);
    sqlite3_finalize(sources->add);
    sqlite_file_close(sources->db);
}

static bool write_manifest_of(Store *store, const GPtrArray *versions,
                              const struct export_wish *wish, const struct target *target,
                              json_t *files, const char *path, GError **error)
{
    struct sources sources = {0};
    json_t *manifest = version_json(find(versions, wish->golden_version));
    json_object_set_new(manifest, "part", export_part_json(wish));
    json_object_set_new(manifest, "limits", manifest_limits_json(target));
    json_object_set_new(manifest, "files", files);
    bool written =
        sources_init(&sources, path, error) && read_sources(&sources, store, wish, error);
    if (written) {
        add_sources(manifest, &sources, versions);
        written = write_file(store, manifest, &sources, path, error);
    }
    sources_clear(&sources);
    json_decref(manifest);
    return written;
}

char *golden_find_target(Store *store, const char *target, GError **error)
{
    if (target != NULL) {
        return g_strdup(target);
    }
    g_autoptr(GPtrArray) versions = store_list_golden(store, NULL, error);
    if (versions == NULL) {
        return NULL;
    }
    const struct golden_version *first = versions->len > 0 ? versions->pdata[0] : NULL;
    const struct golden_version *last = first != NULL ? versions->pdata[versions->len - 1] : NULL;
    if (first != NULL && strcmp(first->target, last->target) == 0) {
        return g_strdup(first->target);
    }
    if (first == NULL) {
        g_set_error(error, STORE_ERROR, STORE_ERROR_NOT_FOUND,
                    "no target has golden versions yet: skipjack golden propose");
    } else {
        g_set_error(error, G_OPTION_ERROR, G_OPTION_ERROR_FAILED,
                    "several targets have golden versions: name one, --target T");
    }
    return NULL;
}

bool golden_find_version(Store *store, const char *target, const char *word, int *version,
                         GError **error)
{
    gint64 number = 0;
    if (strcmp(word, "latest") == 0) {
        if (!store_newest_golden(store, target, version, error)) {
            return false;
        }
        if (*version == 0) {
            g_set_error(error, STORE_ERROR, STORE_ERROR_NOT_FOUND,
                        "no golden version of '%s' is approved: skipjack golden list", target);
        }
        return *version != 0;
    }
    if (!g_ascii_string_to_signed(word, 10, 0, G_MAXINT, &number, NULL)) {
        g_set_error(error, G_OPTION_ERROR, G_OPTION_ERROR_FAILED,
                    "'%s' is no version: they are numbered 1, 2, ..., and the newest approved one "
                    "is 'latest'",
                    word);
        return false;
    }
    *version = (int)number;
    return true;
}

static bool check_approved(const GPtrArray *versions, const char *target, int number,
                           GError **error)
{
    const char *state = NULL;
    for (guint i = 0; i < versions->len; i++) {
        const struct golden_version *version = versions->pdata[i];
        state = version->version == number ? version->state : state;
    }
    if (state == NULL) {
        g_set_error(error, STORE_ERROR, STORE_ERROR_NOT_FOUND,
                    "'%s' has no golden version %d: skipjack golden list", target, number);
    } else if (strcmp(state, "pruned") == 0) {
        g_set_error(error, STORE_ERROR, STORE_ERROR_STATE,
                    "golden version %d of %s was pruned: its content is not kept", number, target);
    } else if (strcmp(state, "approved") != 0) {
        g_set_error(error, STORE_ERROR, STORE_ERROR_STATE,
                    "golden version %d of %s is %s: what ships is approved first, skipjack golden "
                    "approve",
                    number, target, state);
    }
    return g_strcmp0(state, "approved") == 0;
}

struct description {
    Store *store;
    const GPtrArray *versions;
};

static bool write_manifest(void *data, const struct export_wish *wish, const struct target *target,
                           json_t *files, const char *path, GError **error)
{
    const struct description *description = data;
    return write_manifest_of(description->store, description->versions, wish, target, files, path,
                             error);
}

bool golden_release(Store *store, const char *word, const char *target,
                    const struct export_wish *wish, const char *dir, struct export_summary *summary,
                    GError **error)
{
    struct export_wish golden = *wish;
    g_autofree char *found = golden_find_target(store, target, error);
    if (found == NULL || !golden_find_version(store, found, word, &golden.golden_version, error)) {
        return false;
    }
    golden.golden_target = found;
    g_autoptr(GPtrArray) versions = store_list_golden(store, found, error);
    if (versions == NULL || !check_approved(versions, found, golden.golden_version, error)) {
        return false;
    }
    struct description description = {store, versions};
    const struct export_manifest manifest = {write_manifest, &description};
    return export_with_manifest(store, &golden, &manifest, dir, summary, error);
}
