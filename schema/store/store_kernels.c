/* Kernels: their rows, and fetching and storing their code. */
#include "schema/store/store_kernels.h"
#include "schema/blobs/blobs.h"
#include "schema/store/failure.h"
#include "schema/store/store_private.h"

#define PUT_TRIES 5
#define GET_TRIES 5

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
    g_free(kernel->instructions);
    g_free(kernel->builder_login);
    g_free(kernel->builder_node);
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

#define PUT_SQL                                                                                    \
    "skipjack_work.put_kernel($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15,"   \
    " $16), skipjack_work.put_kernel_facts($1, $13, $17, $18, $19, $20, $21, $22, $23)"

/* One attempt. *stored is false if the place of code objects changed between the upload and this statement. */
static bool put_once(Store *store, const struct kernel_row *kernel, bool *stored, GError **error)
{
    g_auto(BlobRef) ref = {0};
    g_autofree char *place = NULL;
    g_autofree char *bytes = NULL;
    if (kernel->code != NULL) {
        if (!blob_upload(store, kernel->code, &ref, error))
            return false;
        place = g_strdup_printf("%d", ref.place);
        bytes = g_strdup_printf("%" G_GINT64_FORMAT, (gint64)ref.bytes);
    }
    g_autoptr(StoreRows) rows = store_run(
        store, error,
        kernel->displaces ? "SELECT skipjack_work.displace_kernel($1, $13), " PUT_SQL
                          : "SELECT false, " PUT_SQL,
        "sssssssisdyslsssiilliis", kernel->key, or_empty(kernel->file), or_empty(kernel->entry),
        or_empty(kernel->options), or_empty(kernel->arch), or_empty(kernel->toolchain),
        or_empty(kernel->toolchain_version), (int)kernel->failure, or_empty(kernel->log),
        kernel->seconds, ref.name == NULL ? kernel->code : NULL, or_empty(ref.sha256),
        kernel->built_by, place, ref.name, bytes, kernel->registers, kernel->spills,
        kernel->scratch_bytes, kernel->local_bytes, kernel->accumulation_registers,
        kernel->scalar_registers, kernel->instructions);
    if (rows != NULL)
        *stored = *PQgetvalue(rows, 0, 1) == 't';
    return rows != NULL;
}

bool store_put_kernel(Store *store, const struct kernel_row *kernel, GError **error)
{
    bool stored = false;
    for (int i = 0; i < PUT_TRIES && !stored; i++) {
        if (!put_once(store, kernel, &stored, error))
            return false;
    }
    if (!stored)
        g_set_error(error, STORE_ERROR, STORE_ERROR_CONNECTION,
                    "the place of code objects changed %d times while one was stored", PUT_TRIES);
    return stored;
}

static struct kernel_row *read_kernel(const json_t *object, GError **error)
{
    int64_t failure;
    if (!json_int_within(json_object_get(object, "failure"), 0, FAILURE_COUNT - 1, &failure)) {
        store_damaged(error, "a kernel has an unknown failure");
        return NULL;
    }
    struct kernel_row *kernel = g_new0(struct kernel_row, 1);
    kernel->key = json_member_text(object, "key");
    kernel->file = json_member_text(object, "file");
    kernel->entry = json_member_text(object, "entry");
    kernel->options = json_member_text(object, "options");
    kernel->arch = json_member_text(object, "arch");
    kernel->toolchain = json_member_text(object, "toolchain");
    kernel->toolchain_version = json_member_text(object, "toolchain_version");
    kernel->failure = (enum failure)failure;
    kernel->log = json_member_text(object, "log");
    kernel->seconds = json_member_double(object, "seconds");
    kernel->code_sha256 = json_member_text(object, "code_sha256");
    kernel->built_by = json_member_int(object, "built_by");
    kernel->registers = (int)json_member_int(object, "registers");
    kernel->spills = (int)json_member_int(object, "spills");
    kernel->scratch_bytes = json_member_int(object, "scratch_bytes");
    kernel->local_bytes = json_member_int(object, "local_bytes");
    kernel->accumulation_registers = (int)json_member_int(object, "accumulation_registers");
    kernel->scalar_registers = (int)json_member_int(object, "scalar_registers");
    kernel->instructions = json_member_text_or_null(object, "instructions");
    kernel->code_bytes = json_member_int(object, "code_bytes");
    kernel->builder_login = json_member_text(object, "builder_login");
    kernel->builder_node = json_member_text(object, "builder_node");
    kernel->is_own = json_member_bool(object, "own");
    kernel->is_trusted = json_member_bool(object, "trusted");
    return kernel;
}

static GHashTable *kernels_by_key(const StoreRows *rows)
{
    GHashTable *known = g_hash_table_new_full(g_str_hash, g_str_equal, NULL, free_kernel);
    for (int i = 0; i < PQntuples(rows); i++) {
        g_autoptr(StoreJson) object = store_row_json(rows, i);
        struct kernel_row *kernel = read_kernel(object, NULL);
        /* A damaged row counts as unknown: the kernel is compiled again. */
        if (kernel != NULL)
            g_hash_table_insert(known, kernel->key, kernel);
    }
    return known;
}

GHashTable *store_known_kernels(Store *store, const char *const *keys, int count, GError **error)
{
    g_autoptr(StoreJson) wanted = json_array();
    for (int i = 0; i < count; i++)
        json_array_append_new(wanted, json_string(keys[i]));
    g_autoptr(StoreRows) rows =
        store_read(store, error, "SELECT skipjack_work.known_kernels($1)", "j", wanted);
    return rows != NULL ? kernels_by_key(rows) : NULL;
}

GHashTable *store_judge_kernels(Store *store, const char *arch, GError **error)
{
    g_autoptr(StoreRows) rows =
        store_read(store, error, "SELECT skipjack_work.judge_kernels($1)", "s", arch);
    return rows != NULL ? kernels_by_key(rows) : NULL;
}

GHashTable *store_proof_kernels(Store *store, const char *arch, GError **error)
{
    g_autoptr(StoreRows) rows =
        store_read(store, error, "SELECT skipjack_work.proof_kernels($1)", "s", arch);
    return rows != NULL ? kernels_by_key(rows) : NULL;
}

GPtrArray *store_list_kernels(Store *store, int64_t campaign, GError **error)
{
    g_autoptr(StoreRows) rows = store_read(
        store, error,
        "SELECT jsonb_build_object('key', key, 'file', file, 'entry', entry, 'options', options,"
        " 'arch', arch, 'toolchain', toolchain, 'toolchain_version', toolchain_version,"
        " 'failure', failure, 'log', log, 'seconds', seconds, 'code_sha256', code_sha256,"
        " 'built_by', built_by, 'registers', coalesce(registers, -1), 'spills', coalesce(spills, -1),"
        " 'scratch_bytes', coalesce(scratch_bytes, -1), 'local_bytes', coalesce(local_bytes, -1),"
        " 'accumulation_registers', coalesce(accumulation_registers, -1),"
        " 'scalar_registers', coalesce(scalar_registers, -1), 'instructions', instructions,"
        " 'code_bytes', CASE WHEN code_place IS NULL THEN 0 ELSE code_bytes END)"
        " FROM kernels WHERE key IN (SELECT unnest(string_to_array(keys, ',')) FROM rounds r,"
        " unnest(r.kernel_keys) AS keys WHERE r.campaign_id = $1)"
        " ORDER BY arch, file, entry, options, toolchain, toolchain_version, key",
        "l", campaign);
    if (rows == NULL)
        return NULL;
    GPtrArray *list = g_ptr_array_new_with_free_func(free_kernel);
    for (int i = 0; i < PQntuples(rows); i++) {
        g_autoptr(StoreJson) object = store_row_json(rows, i);
        struct kernel_row *kernel = read_kernel(object, error);
        if (kernel == NULL) {
            g_ptr_array_unref(list);
            return NULL;
        }
        g_ptr_array_add(list, kernel);
    }
    return list;
}

static void kernel_cost_free(gpointer data)
{
    struct kernel_cost *cost = data;
    g_free(cost->key);
    g_free(cost->sha256);
    g_free(cost);
}

GHashTable *store_kernel_costs(Store *store, const char *const *keys, int count, GError **error)
{
    g_autoptr(StoreJson) wanted = json_array();
    for (int i = 0; i < count; i++)
        json_array_append_new(wanted, json_string(keys[i]));
    g_autoptr(StoreRows) rows = store_read(
        store, error,
        "SELECT jsonb_build_object('key', key, 'seconds', seconds, 'sha256', code_sha256,"
        " 'bytes', CASE WHEN code_place IS NULL THEN 0 ELSE code_bytes END) FROM kernels"
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
        cost->sha256 = json_member_text(object, "sha256");
        g_hash_table_insert(costs, cost->key, cost);
    }
    return costs;
}

/* Reads a kernel's row and the place of its code. campaign: 0 for none. */
static bool read_row(Store *store, const char *key, int64_t campaign, struct kernel_row **kernel,
                     struct blob_ref *ref, GError **error)
{
    g_autoptr(StoreRows) rows = store_read(
        store, error, "SELECT skipjack_work.campaign_kernel($1, $2)", "sl", key, campaign);
    if (rows == NULL)
        return false;
    if (PQntuples(rows) == 0) {
        g_set_error(error, STORE_ERROR, STORE_ERROR_NOT_FOUND, "there is no kernel %s", key);
        return false;
    }
    g_autoptr(StoreJson) object = store_row_json(rows, 0);
    *kernel = read_kernel(object, error);
    if (*kernel == NULL)
        return false;
    ref->url = json_member_text_or_null(object, "url");
    ref->name = json_member_text_or_null(object, "code_name");
    ref->place = (int)json_member_int(object, "code_place");
    ref->bytes = json_member_int(object, "code_bytes");
    ref->sha256 = json_member_text(object, "code_sha256");
    return true;
}

/* One attempt. If the code is not where the row said, it was moved or collected since: NULL with
 * STORE_ERROR_NOT_FOUND and *gone set. */
static struct kernel_row *get_once(Store *store, const char *key, int64_t campaign, bool *gone,
                                   GError **error)
{
    g_auto(BlobRef) ref = {0};
    g_autoptr(GError) missing = NULL;
    struct kernel_row *kernel = NULL;
    *gone = false;
    if (!read_row(store, key, campaign, &kernel, &ref, error) || ref.url == NULL)
        return kernel;
    kernel->code = blob_download(store, key, &ref, &missing);
    if (kernel->code != NULL)
        return kernel;
    *gone = g_error_matches(missing, STORE_ERROR, STORE_ERROR_NOT_FOUND);
    g_propagate_error(error, g_steal_pointer(&missing));
    kernel_row_free(kernel);
    return NULL;
}

struct kernel_row *store_get_kernel(Store *store, const char *key, GError **error)
{
    return store_get_campaign_kernel(store, key, 0, error);
}

struct kernel_row *store_get_campaign_kernel(Store *store, const char *key, int64_t campaign,
                                             GError **error)
{
    for (int i = 1;; i++) {
        bool gone;
        g_autoptr(GError) failed = NULL;
        struct kernel_row *kernel = get_once(store, key, campaign, &gone, &failed);
        if (kernel != NULL)
            return kernel;
        if (gone && i < GET_TRIES)
            continue;
        if (gone)
            failed->code = STORE_ERROR_DAMAGED;
        g_propagate_error(error, g_steal_pointer(&failed));
        return NULL;
    }
}
