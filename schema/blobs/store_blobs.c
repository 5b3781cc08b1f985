/*
 * Code objects at their places: storing, reading, moving and sweeping.
 *
 * An upload announces its new name in blob_loose, puts the object, and ends in
 * the statement that writes the kernel's row and removes the announcement.
 * An interruption leaves a name in blob_loose, which a sweep removes
 * together with its object. A name is never used twice, so a late removal cannot
 * hit another object.
 *
 * A move reads and verifies an object, uploads it to the current place, reads it
 * back, and then changes the kernel's row if it still names the old place.
 */
#include "schema/blobs/blobs.h"

#include "schema/blobs/blob_store.h"
#include "schema/store/store_private.h"

#include <stdlib.h>
#include <string.h>

#define PAGE_ROWS 64

void blob_ref_clear(struct blob_ref *ref)
{
    g_clear_pointer(&ref->url, g_free);
    g_clear_pointer(&ref->name, g_free);
    g_clear_pointer(&ref->sha256, g_free);
}

static void close_blob_store(gpointer data)
{
    blob_store_close(data);
}

/* Finds or opens the store of a URL. Its connection is kept open until the database connection
 * is closed. */
static BlobStore *find_store(Store *store, const char *url, GError **error)
{
    if (store->blob_stores == NULL)
        store->blob_stores =
            g_hash_table_new_full(g_str_hash, g_str_equal, g_free, close_blob_store);
    BlobStore *blobs = g_hash_table_lookup(store->blob_stores, url);
    if (blobs == NULL && (blobs = blob_store_open(url, NULL, error)) != NULL)
        g_hash_table_insert(store->blob_stores, g_strdup(url), blobs);
    return blobs;
}

/* ---- one object ---- */

bool blob_upload(Store *store, GBytes *code, struct blob_ref *ref, GError **error)
{
    ref->sha256 = g_compute_checksum_for_bytes(G_CHECKSUM_SHA256, code);
    ref->bytes = (int64_t)g_bytes_get_size(code);
    if (ref->bytes > (int64_t)BLOB_BYTES_MAX) {
        g_set_error(error, STORE_ERROR, STORE_ERROR_BLOBS,
                    "a code object of %" G_GINT64_FORMAT " bytes is larger than the %zu that are "
                    "stored",
                    (gint64)ref->bytes, BLOB_BYTES_MAX);
        return false;
    }
    g_autoptr(StoreRows) rows =
        store_run(store, error, "SELECT skipjack_work.begin_upload($1)", "s", ref->sha256);
    if (rows == NULL)
        return false;
    g_autoptr(StoreJson) here = store_row_json(rows, 0);
    ref->url = json_member_text(here, "url");
    ref->name = json_member_text_or_null(here, "name");
    ref->place = (int)json_member_int(here, "place");
    if (ref->name == NULL)
        return true;
    BlobStore *blobs = find_store(store, ref->url, error);
    if (blobs != NULL && blob_store_put(blobs, ref->name, code, error))
        return true;
    /* Part of the object may have arrived. The next sweep removes it; if even this statement fails, a
     * sweep after a day. */
    store_do(store, NULL, "SELECT skipjack_work.give_up_upload($1, $2)", "is", ref->place,
             ref->name);
    return false;
}

static GBytes *code_in_row(Store *store, const char *key, GError **error)
{
    g_autoptr(StoreRows) rows =
        store_read_binary(store, error, "SELECT skipjack_work.kernel_code($1)", "s", key);
    if (rows == NULL)
        return NULL;
    if (PQntuples(rows) == 1)
        return g_bytes_new(PQgetvalue(rows, 0, 0), (gsize)PQgetlength(rows, 0, 0));
    g_set_error(error, STORE_ERROR, STORE_ERROR_NOT_FOUND, "kernel %s has no code in its row", key);
    return NULL;
}

GBytes *blob_download(Store *store, const char *key, const struct blob_ref *ref, GError **error)
{
    BlobStore *blobs = NULL;
    if (ref->name != NULL && (blobs = find_store(store, ref->url, error)) == NULL)
        return NULL;
    g_autoptr(GBytes) code =
        blobs == NULL ? code_in_row(store, key, error)
                      : blob_store_get(blobs, ref->name, (gsize)MAX(ref->bytes, 0), error);
    if (code == NULL)
        return NULL;
    g_autofree char *sha256 = g_compute_checksum_for_bytes(G_CHECKSUM_SHA256, code);
    if ((int64_t)g_bytes_get_size(code) == ref->bytes && strcmp(sha256, ref->sha256) == 0)
        return g_steal_pointer(&code);
    g_set_error(error, STORE_ERROR, STORE_ERROR_DAMAGED,
                "the code of kernel %.12s is damaged: %s%s%s has %zu bytes with SHA-256 %.12s, not "
                "%" G_GINT64_FORMAT " with %.12s",
                key, ref->url, ref->name != NULL ? ", object " : "",
                ref->name != NULL ? ref->name : "", g_bytes_get_size(code), sha256,
                (gint64)ref->bytes, ref->sha256);
    return NULL;
}

/* ---- places ---- */

static void place_free(gpointer data)
{
    struct blob_place *place = data;
    g_free(place->url);
    g_free(place);
}

static gpointer read_place(const json_t *object)
{
    struct blob_place *place = g_new0(struct blob_place, 1);
    place->url = json_member_text(object, "url");
    place->current = json_member_bool(object, "is_current");
    place->objects = json_member_int(object, "objects");
    place->bytes = json_member_int(object, "bytes");
    place->loose = json_member_int(object, "loose");
    return place;
}

GPtrArray *store_list_blob_places(Store *store, GError **error)
{
    g_autoptr(StoreRows) rows =
        store_read(store, error,
                   "SELECT jsonb_build_object('url', p.url, 'is_current', p.is_current,"
                   " 'objects', coalesce(k.objects, 0), 'bytes', coalesce(k.bytes, 0),"
                   " 'loose', (SELECT count(*) FROM blob_loose l WHERE l.place = p.id))"
                   " FROM blob_places p LEFT JOIN (SELECT code_place, count(*) AS objects,"
                   "  sum(code_bytes) AS bytes FROM kernels WHERE code_place IS NOT NULL"
                   "  GROUP BY code_place) AS k ON k.code_place = p.id ORDER BY p.id",
                   "");
    return rows != NULL ? store_list(rows, read_place, place_free) : NULL;
}

bool store_use_blob_place(Store *store, const char *url, GError **error)
{
    if (strcmp(url, BLOBS_IN_DATABASE) != 0) {
        BlobStore *blobs = find_store(store, url, error);
        if (blobs == NULL || !blob_store_probe(blobs, error))
            return false;
    }
    return store_do(store, error, "SELECT use_blob_place($1)", "s", url);
}

/* ---- moving ---- */

/* A kernel whose code is not at the current place. */
struct misplaced {
    char *key;
    struct blob_ref from;
};

static void misplaced_free(gpointer data)
{
    struct misplaced *kernel = data;
    g_free(kernel->key);
    blob_ref_clear(&kernel->from);
    g_free(kernel);
}

static gpointer read_misplaced(const json_t *object)
{
    struct misplaced *kernel = g_new0(struct misplaced, 1);
    kernel->key = json_member_text(object, "key");
    kernel->from.url = json_member_text(object, "url");
    kernel->from.name = json_member_text_or_null(object, "code_name");
    kernel->from.place = (int)json_member_int(object, "code_place");
    kernel->from.bytes = json_member_int(object, "code_bytes");
    kernel->from.sha256 = json_member_text(object, "code_sha256");
    return kernel;
}

static GPtrArray *next_page(Store *store, const struct blob_move *move, const char *after,
                            GError **error)
{
    g_autoptr(StoreRows) rows = store_read(
        store, error,
        "SELECT jsonb_build_object('key', k.key, 'url', p.url, 'code_name', k.code_name,"
        " 'code_place', k.code_place, 'code_bytes', k.code_bytes, 'code_sha256', k.code_sha256)"
        " FROM kernels k JOIN blob_places p ON p.id = k.code_place"
        " WHERE k.key > $1 AND k.code_place IS NOT NULL"
        " AND CASE WHEN $5 THEN p.id > 0 ELSE NOT p.is_current END"
        " AND abs(hashtext(k.key)::bigint) % $2 = $3 ORDER BY k.key LIMIT $4",
        "siiib", after, move->shares, move->share, PAGE_ROWS, move->check);
    return rows != NULL ? store_list(rows, read_misplaced, misplaced_free) : NULL;
}

/* Verifies the object that was put, before the kernel's row relies on it. */
static bool read_back(Store *store, const char *key, const struct blob_ref *to, GError **error)
{
    if (to->name == NULL)
        return true;
    g_autoptr(GBytes) there = blob_download(store, key, to, error);
    return there != NULL;
}

static bool rewrite_row(Store *store, const struct misplaced *kernel, const struct blob_ref *to,
                        GBytes *code, bool *moved, GError **error)
{
    g_autoptr(StoreRows) rows = store_run(
        store, error, "SELECT move_kernel($1, $2, $3, $4, $5, $6)", "sisisy", kernel->key,
        kernel->from.place, kernel->from.name, to->place, to->name, to->name == NULL ? code : NULL);
    if (rows != NULL)
        *moved = *PQgetvalue(rows, 0, 0) == 't';
    return rows != NULL;
}

static bool forget_code(Store *store, const struct misplaced *kernel, GError **error)
{
    return store_do(store, error, "SELECT move_kernel($1, $2, $3, NULL, NULL, NULL)", "sis",
                    kernel->key, kernel->from.place, kernel->from.name);
}

static void count_moved(const struct blob_move *move, const struct misplaced *kernel)
{
    g_atomic_int_inc(move->moved);
    g_atomic_int_add(move->kilobytes, (gint)((kernel->from.bytes + 1023) / 1024));
}

/* Whether the unreadable code was moved or collected since its row was read. */
static bool is_gone_on_purpose(Store *store, const struct misplaced *kernel)
{
    g_autoptr(StoreRows) rows = store_read(
        store, NULL, "SELECT 1 FROM kernels WHERE key = $1 AND code_place = $2 AND code_name = $3",
        "sis", kernel->key, kernel->from.place, kernel->from.name);
    return rows != NULL && PQntuples(rows) == 0;
}

/* Moves one object. If its row has changed since it was read, another session has moved or collected it. */
static bool move_one(Store *store, const struct blob_move *move, const struct misplaced *kernel,
                     GError **error)
{
    g_auto(BlobRef) to = {0};
    g_autoptr(GError) bad = NULL;
    bool moved = false;
    g_autoptr(GBytes) code = blob_download(store, kernel->key, &kernel->from, &bad);
    if (code == NULL && (g_error_matches(bad, STORE_ERROR, STORE_ERROR_DAMAGED) ||
                         g_error_matches(bad, STORE_ERROR, STORE_ERROR_NOT_FOUND))) {
        if (move->check && is_gone_on_purpose(store, kernel))
            return true;
        g_ptr_array_add(move->damaged, g_strdup(bad->message));
        return !move->drop_damaged || forget_code(store, kernel, error);
    }
    if (code == NULL) {
        g_propagate_error(error, g_steal_pointer(&bad));
        return false;
    }
    if (move->check) {
        count_moved(move, kernel);
        return true;
    }
    if (!blob_upload(store, code, &to, error) || !read_back(store, kernel->key, &to, error) ||
        !rewrite_row(store, kernel, &to, code, &moved, error))
        return false;
    if (moved)
        count_moved(move, kernel);
    return true;
}

bool store_move_blobs(Store *store, const struct blob_move *move, GError **error)
{
    g_autofree char *after = g_strdup("");
    while (!g_atomic_int_get(move->stop)) {
        g_autoptr(GPtrArray) page = next_page(store, move, after, error);
        if (page == NULL)
            return false;
        if (page->len == 0)
            return true;
        for (guint i = 0; i < page->len && !g_atomic_int_get(move->stop); i++) {
            const struct misplaced *kernel = page->pdata[i];
            if (!move_one(store, move, kernel, error))
                return false;
            g_free(after);
            after = g_strdup(kernel->key);
        }
    }
    return true;
}

bool store_rebuild_rounds(Store *store, int *jobs, GError **error)
{
    g_autoptr(StoreRows) rows = store_run(store, error, "SELECT rebuild_rounds()", "");
    if (rows != NULL)
        *jobs = atoi(PQgetvalue(rows, 0, 0));
    return rows != NULL;
}

/* ---- objects that no kernel names ---- */

static bool remove_loose(Store *store, const json_t *object, GError **error)
{
    g_autofree char *url = json_member_text(object, "url");
    g_autofree char *name = json_member_text(object, "name");
    BlobStore *blobs = find_store(store, url, error);
    /* The name stays in blob_loose until its object is removed. */
    return blobs != NULL && blob_store_remove(blobs, name, error) &&
           store_do(store, error, "SELECT forget_blob($1, $2)", "is",
                    (int)json_member_int(object, "place"), name);
}

bool store_sweep_blobs(Store *store, int *removed, GError **error)
{
    int count;
    *removed = 0;
    if (!store_do(store, error, "SELECT give_up_uploads()", ""))
        return false;
    do {
        g_autoptr(StoreRows) rows =
            store_read(store, error,
                       "SELECT jsonb_build_object('url', p.url, 'place', l.place, 'name', l.name)"
                       " FROM blob_loose l JOIN blob_places p ON p.id = l.place"
                       " WHERE NOT l.is_upload LIMIT $1",
                       "i", PAGE_ROWS);
        if (rows == NULL)
            return false;
        count = PQntuples(rows);
        for (int i = 0; i < count; i++, (*removed)++) {
            g_autoptr(StoreJson) object = store_row_json(rows, i);
            if (!remove_loose(store, object, error))
                return false;
        }
    } while (count > 0);
    return true;
}
