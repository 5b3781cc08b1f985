/*
 * Kinds of stores by the scheme of their URL, and the checks that all kinds
 * share.
 */
#include "schema/blobs/blob_store.h"

#include "schema/blobs/blob_http.h"

#include <string.h>

static const struct blob_store_kind *const kinds[] = {&blob_s3, &blob_webdav, &blob_webdav_plain};

static const struct blob_store_kind *find_kind(const char *scheme)
{
    for (gsize i = 0; i < G_N_ELEMENTS(kinds); i++) {
        if (g_ascii_strcasecmp(kinds[i]->scheme, scheme) == 0)
            return kinds[i];
    }
    return NULL;
}

bool blob_host_valid(const char *host)
{
    return *host != '\0' &&
           host[strspn(host, G_CSET_A_2_Z G_CSET_a_2_z G_CSET_DIGITS ".-_:")] == '\0';
}

/* Refuses a URL with a password: URLs are stored and shown. The message does not repeat the URL. */
static GUri *parse_url(const char *text, GError **error)
{
    g_autoptr(GError) bad = NULL;
    g_autoptr(GUri) url = g_uri_parse(text, G_URI_FLAGS_ENCODED, &bad);
    if (url == NULL || g_uri_get_host(url) == NULL || *g_uri_get_host(url) == '\0') {
        g_set_error(error, STORE_ERROR, STORE_ERROR_BLOBS,
                    "a store of code objects is 'database', s3://BUCKET/PREFIX or "
                    "webdav+https://HOST/FOLDER%s%s",
                    bad != NULL ? ": " : "", bad != NULL ? bad->message : "");
        return NULL;
    }
    if (!blob_host_valid(g_uri_get_host(url))) {
        g_set_error_literal(error, STORE_ERROR, STORE_ERROR_BLOBS,
                            "the URL of a store of code objects names no host: a name has letters, "
                            "digits, '.', '-' and '_'");
        return NULL;
    }
    if (g_uri_get_userinfo(url) != NULL) {
        g_set_error_literal(error, STORE_ERROR, STORE_ERROR_BLOBS,
                            "the URL of a store of code objects must not hold a user or password: "
                            "each node has its own, from its environment or files");
        return NULL;
    }
    return g_steal_pointer(&url);
}

BlobStore *blob_store_open(const char *text, const struct blob_patience *patience, GError **error)
{
    g_autoptr(GUri) url = parse_url(text, error);
    if (url == NULL)
        return NULL;
    const struct blob_store_kind *kind = find_kind(g_uri_get_scheme(url));
    if (kind == NULL) {
        g_set_error(error, STORE_ERROR, STORE_ERROR_BLOBS,
                    "'%s': unknown kind of store '%s'; the kinds are "
                    "database, s3, webdav+https and webdav+http",
                    text, g_uri_get_scheme(url));
        return NULL;
    }
    BlobStore *store = kind->open(url, error);
    if (store == NULL) {
        /* The URL without its query, which may hold a password by mistake. */
        g_prefix_error(error, "'%.*s': ", (int)strcspn(text, "?"), text);
        return NULL;
    }
    store->kind = kind;
    store->url = g_strdup(text);
    store->http = http_new(patience);
    return store;
}

void blob_store_close(BlobStore *store)
{
    if (store == NULL)
        return;
    http_free(store->http);
    g_free(store->url);
    store->kind->close(store);
    g_free(store);
}

bool blob_store_put(BlobStore *store, const char *name, GBytes *bytes, GError **error)
{
    if (g_bytes_get_size(bytes) > BLOB_BYTES_MAX) {
        g_set_error(error, STORE_ERROR, STORE_ERROR_BLOBS,
                    "a code object of %zu bytes is larger than the %zu that are stored",
                    g_bytes_get_size(bytes), BLOB_BYTES_MAX);
        return false;
    }
    return store->kind->put(store, name, bytes, error);
}

GBytes *blob_store_get(BlobStore *store, const char *name, gsize most, GError **error)
{
    return store->kind->get(store, name, MIN(most, BLOB_BYTES_MAX), error);
}

bool blob_store_remove(BlobStore *store, const char *name, GError **error)
{
    return store->kind->remove(store, name, error);
}

static bool check_same(GBytes *put, GBytes *got, const char *url, GError **error)
{
    if (g_bytes_equal(put, got))
        return true;
    g_set_error(error, STORE_ERROR, STORE_ERROR_BLOBS, "%s returned other bytes than were stored",
                url);
    return false;
}

bool blob_store_probe(BlobStore *store, GError **error)
{
    g_autofree char *nonce = g_uuid_string_random();
    g_autofree char *name = g_strdup_printf("probe/%s", nonce);
    g_autoptr(GBytes) put = g_bytes_new(nonce, strlen(nonce));
    if (!blob_store_put(store, name, put, error))
        return false;
    g_autoptr(GBytes) got = blob_store_get(store, name, g_bytes_get_size(put), error);
    bool same = got != NULL && check_same(put, got, store->url, error);
    /* If reading failed, that error is reported and not the removal's. */
    return blob_store_remove(store, name, same ? error : NULL) && same;
}
