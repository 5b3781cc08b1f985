/* Code objects and what is known of those that have none. */
#include "schema/store_private.h"

#include <stdlib.h>

void kernel_row_free(struct kernel_row *kernel)
{
    if (kernel == NULL)
        return;
    g_free(kernel->key);
    g_free(kernel->file);
    g_free(kernel->entry);
    g_free(kernel->options);
    g_free(kernel->arch);
    g_free(kernel->toolchain);
    g_free(kernel->toolchain_version);
    g_free(kernel->log);
    g_free(kernel->code_sha256);
    g_clear_pointer(&kernel->code, g_bytes_unref);
    g_free(kernel);
}

static void free_kernel(gpointer data)
{
    kernel_row_free(data);
}

static const char *or_empty(const char *text)
{
    return text != NULL ? text : "";
}

/* 3 and 4 are a timeout and a crash: whoever does better replaces them. A collected kernel gets its
 * code back. Else the row stays, and only says that somebody needs it. */
bool store_put_kernel(Store *store, const struct kernel_row *kernel, GError **error)
{
    return store_do(
        store, error,
        "INSERT INTO kernels AS k (key, file, entry, options, arch, toolchain, toolchain_version,"
        " failure, log, seconds, code, code_sha256, built_by)"
        " VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)"
        " ON CONFLICT (key) DO UPDATE SET used_at = clock_timestamp(),"
        " (failure, log, seconds, code, code_sha256, built_by) = (SELECT n.* FROM (SELECT"
        "  EXCLUDED.failure, EXCLUDED.log, EXCLUDED.seconds, EXCLUDED.code, EXCLUDED.code_sha256,"
        "  EXCLUDED.built_by"
        "  WHERE (k.code IS NULL AND k.failure = 0 AND EXCLUDED.code IS NOT NULL)"
        "     OR (k.failure IN (3, 4) AND EXCLUDED.failure IN (0, 2))"
        "  UNION ALL SELECT k.failure, k.log, k.seconds, k.code, k.code_sha256, k.built_by"
        "  LIMIT 1) AS n)",
        "sssssssisdysl", kernel->key, or_empty(kernel->file), or_empty(kernel->entry),
        or_empty(kernel->options), or_empty(kernel->arch), or_empty(kernel->toolchain),
        or_empty(kernel->toolchain_version), (int)kernel->failure, or_empty(kernel->log),
        kernel->seconds, kernel->code, or_empty(kernel->code_sha256), kernel->built_by);
}

static gpointer read_kernel(const json_t *object)
{
    struct kernel_row *kernel = g_new0(struct kernel_row, 1);
    kernel->key = json_member_text(object, "key");
    kernel->file = json_member_text(object, "file");
    kernel->entry = json_member_text(object, "entry");
    kernel->options = json_member_text(object, "options");
    kernel->arch = json_member_text(object, "arch");
    kernel->toolchain = json_member_text(object, "toolchain");
    kernel->toolchain_version = json_member_text(object, "toolchain_version");
    kernel->failure = (enum failure)json_member_int(object, "failure");
    kernel->log = json_member_text(object, "log");
    kernel->seconds = json_member_double(object, "seconds");
    kernel->code_sha256 = json_member_text(object, "code_sha256");
    kernel->built_by = json_member_int(object, "built_by");
    return kernel;
}

#define KERNEL_JSON                                                                                \
    "jsonb_build_object('key', key, 'file', file, 'entry', entry, 'options', options,"             \
    " 'arch', arch, 'toolchain', toolchain, 'toolchain_version', toolchain_version,"               \
    " 'failure', failure, 'log', log, 'seconds', seconds, 'code_sha256', code_sha256,"             \
    " 'built_by', built_by)"

GHashTable *store_known_kernels(Store *store, const char *const *keys, int count, GError **error)
{
    g_autoptr(StoreJson) wanted = json_array();
    for (int i = 0; i < count; i++)
        json_array_append_new(wanted, json_string(keys[i]));
    g_autoptr(StoreRows) rows =
        store_read(store, error,
                   "UPDATE kernels SET used_at = clock_timestamp()"
                   " WHERE key = ANY (ARRAY(SELECT jsonb_array_elements_text($1)))"
                   " AND (code IS NOT NULL OR failure = 2) RETURNING " KERNEL_JSON,
                   "j", wanted);
    if (rows == NULL)
        return NULL;
    GHashTable *known = g_hash_table_new_full(g_str_hash, g_str_equal, NULL, free_kernel);
    for (int i = 0; i < PQntuples(rows); i++) {
        g_autoptr(StoreJson) object = store_row_json(rows, i);
        struct kernel_row *kernel = read_kernel(object);
        g_hash_table_insert(known, kernel->key, kernel);
    }
    return known;
}

static void kernel_cost_free(gpointer data)
{
    struct kernel_cost *cost = data;
    g_free(cost->key);
    g_free(cost);
}

GHashTable *store_kernel_costs(Store *store, const char *const *keys, int count, GError **error)
{
    g_autoptr(StoreJson) wanted = json_array();
    for (int i = 0; i < count; i++)
        json_array_append_new(wanted, json_string(keys[i]));
    g_autoptr(StoreRows) rows =
        store_read(store, error,
                   "SELECT jsonb_build_object('key', key, 'seconds', seconds,"
                   " 'bytes', coalesce(octet_length(code), 0)) FROM kernels"
                   " WHERE key = ANY (ARRAY(SELECT jsonb_array_elements_text($1)))",
                   "j", wanted);
    if (rows == NULL)
        return NULL;
    GHashTable *costs = g_hash_table_new_full(g_str_hash, g_str_equal, NULL, kernel_cost_free);
    for (int i = 0; i < PQntuples(rows); i++) {
        g_autoptr(StoreJson) object = store_row_json(rows, i);
        struct kernel_cost *cost = g_new0(struct kernel_cost, 1);
        cost->key = json_member_text(object, "key");
        cost->seconds = json_member_double(object, "seconds");
        cost->bytes = json_member_int(object, "bytes");
        g_hash_table_insert(costs, cost->key, cost);
    }
    return costs;
}

struct kernel_row *store_get_kernel(Store *store, const char *key, GError **error)
{
    g_autoptr(StoreRows) rows =
        store_read(store, error, "SELECT " KERNEL_JSON " FROM kernels WHERE key = $1", "s", key);
    if (rows == NULL)
        return NULL;
    if (PQntuples(rows) == 0) {
        g_set_error(error, STORE_ERROR, STORE_ERROR_NOT_FOUND, "there is no kernel %s", key);
        return NULL;
    }
    g_autoptr(StoreRows) code =
        store_read_binary(store, error, "SELECT code FROM kernels WHERE key = $1", "s", key);
    if (code == NULL)
        return NULL;
    g_autoptr(StoreJson) object = store_row_json(rows, 0);
    struct kernel_row *kernel = read_kernel(object);
    if (PQntuples(code) == 1 && !PQgetisnull(code, 0, 0))
        kernel->code = g_bytes_new(PQgetvalue(code, 0, 0), (gsize)PQgetlength(code, 0, 0));
    return kernel;
}

bool store_collect_kernels(Store *store, int *dropped, GError **error)
{
    g_autoptr(StoreRows) rows = store_run(store, error, "SELECT collect_kernels()", "");
    if (rows == NULL)
        return false;
    if (dropped != NULL)
        *dropped = atoi(PQgetvalue(rows, 0, 0));
    return true;
}
