/*
 * Code objects in a folder of a WebDAV server (RFC 4918). User and password:
 * SKIPJACK_WEBDAV_USER and SKIPJACK_WEBDAV_PASSWORD, else the netrc file (NETRC,
 * ~/.netrc). Without encryption they are sent to this machine only.
 */
#include "schema/blobs/blob_http.h"

#include <string.h>

struct webdav_store {
    struct blob_store base;
    char *origin; /* "https://host:port" */
    char *path;   /* path of the folder on the server, percent-encoded: "/folder/" */
    /* Whether a password may be sent: the connection is encrypted, or goes to this machine. */
    bool secret;
};

/* Whether the host is this machine. Only addresses count: "127.example.org" may be any host. */
static bool is_loopback(const char *host)
{
    return strcmp(host, "localhost") == 0 || strcmp(host, "::1") == 0 ||
           (g_str_has_prefix(host, "127.") && g_hostname_is_ip_address(host));
}

static BlobStore *webdav_open(GUri *url, GError **error)
{
    const char *scheme = strchr(g_uri_get_scheme(url), '+') + 1;
    const char *host = g_uri_get_host(url);
    const char *path = g_uri_get_path(url);
    int port = g_uri_get_port(url);
    if (g_uri_get_query(url) != NULL || g_uri_get_fragment(url) != NULL) {
        g_set_error_literal(error, STORE_ERROR, STORE_ERROR_BLOBS,
                            "a WebDAV folder's URL has no '?' or '#'");
        return NULL;
    }
    g_autofree char *bare =
        strchr(host, ':') != NULL ? g_strdup_printf("[%s]", host) : g_strdup(host);
    struct webdav_store *webdav = g_new0(struct webdav_store, 1);
    webdav->origin = port == -1 ? g_strdup_printf("%s://%s", scheme, bare)
                                : g_strdup_printf("%s://%s:%d", scheme, bare, port);
    webdav->path =
        g_strconcat(*path == '/' ? "" : "/", path, g_str_has_suffix(path, "/") ? "" : "/", NULL);
    webdav->secret = strcmp(scheme, "https") == 0 || is_loopback(host);
    return &webdav->base;
}

static void webdav_close(BlobStore *store)
{
    struct webdav_store *webdav = (struct webdav_store *)store;
    g_free(webdav->origin);
    g_free(webdav->path);
}

static bool webdav_send(BlobStore *store, struct http_request *request, const char *path,
                        struct http_answer *answer, GError **error)
{
    const struct webdav_store *webdav = (const struct webdav_store *)store;
    const char *user = g_getenv("SKIPJACK_WEBDAV_USER");
    const char *password = g_getenv("SKIPJACK_WEBDAV_PASSWORD");
    g_autofree char *url = g_strconcat(webdav->origin, path, NULL);
    if (user != NULL && password != NULL && !webdav->secret) {
        g_set_error(error, STORE_ERROR, STORE_ERROR_BLOBS,
                    "%s: SKIPJACK_WEBDAV_PASSWORD is not sent without encryption; use webdav+https",
                    store->url);
        return false;
    }
    request->url = url;
    request->user = password != NULL ? user : NULL;
    request->password = password;
    request->netrc = webdav->secret;
    bool answered = http_do(store->http, request, answer, error);
    request->url = store->url;
    return answered;
}

static bool refuse(const struct http_request *request, const struct http_answer *answer,
                   GError **error)
{
    http_refused(request, answer, error);
    return false;
}

/* Creates a folder. Status 405: the folder exists, perhaps since another node was faster. */
static bool make_folder(BlobStore *store, const char *path, GError **error)
{
    struct http_request request = {.method = "MKCOL", .most = 65536};
    g_auto(HttpAnswer) answer = {0};
    if (!webdav_send(store, &request, path, &answer, error))
        return false;
    if (answer.status / 100 == 2 || answer.status == 405 || answer.status == 301)
        return true;
    return refuse(&request, &answer, error);
}

/* Creates the store's own folder and the object's folder in it. The folder above them must exist. */
static bool make_folders(BlobStore *store, const char *name, GError **error)
{
    const struct webdav_store *webdav = (const struct webdav_store *)store;
    const char *slash = strchr(name, '/');
    if (strcmp(webdav->path, "/") != 0 && !make_folder(store, webdav->path, error))
        return false;
    g_autofree char *folder = g_strdup_printf("%s%.*s/", webdav->path, (int)(slash - name), name);
    return make_folder(store, folder, error);
}

static bool put_once(BlobStore *store, struct http_request *request, const char *name,
                     struct http_answer *answer, GError **error)
{
    const struct webdav_store *webdav = (const struct webdav_store *)store;
    g_autofree char *path = g_strconcat(webdav->path, name, NULL);
    return webdav_send(store, request, path, answer, error);
}

/* If the folder is missing, servers answer 409 (RFC 4918), 404 or 403. */
static bool webdav_put(BlobStore *store, const char *name, GBytes *bytes, GError **error)
{
    struct http_request request = {.method = "PUT", .body = bytes, .most = 65536};
    g_auto(HttpAnswer) answer = {0};
    if (!put_once(store, &request, name, &answer, error))
        return false;
    if (answer.status == 409 || answer.status == 404 || answer.status == 403) {
        if (!make_folders(store, name, error) || !put_once(store, &request, name, &answer, error))
            return false;
    }
    return answer.status / 100 == 2 || refuse(&request, &answer, error);
}

static GBytes *webdav_get(BlobStore *store, const char *name, gsize most, GError **error)
{
    const struct webdav_store *webdav = (const struct webdav_store *)store;
    g_autofree char *path = g_strconcat(webdav->path, name, NULL);
    struct http_request request = {.method = "GET", .most = most};
    g_auto(HttpAnswer) answer = {0};
    if (!webdav_send(store, &request, path, &answer, error))
        return NULL;
    if (answer.status == 200)
        return g_byte_array_free_to_bytes(g_steal_pointer(&answer.body));
    if (answer.status == 404)
        g_set_error(error, STORE_ERROR, STORE_ERROR_NOT_FOUND, "%s has no object %s", store->url,
                    name);
    else
        refuse(&request, &answer, error);
    return NULL;
}

static bool webdav_remove(BlobStore *store, const char *name, GError **error)
{
    const struct webdav_store *webdav = (const struct webdav_store *)store;
    g_autofree char *path = g_strconcat(webdav->path, name, NULL);
    struct http_request request = {.method = "DELETE", .most = 65536};
    g_auto(HttpAnswer) answer = {0};
    if (!webdav_send(store, &request, path, &answer, error))
        return false;
    return answer.status / 100 == 2 || answer.status == 404 || refuse(&request, &answer, error);
}

#define WEBDAV(name)                                                                               \
    {                                                                                              \
        .scheme = (name), .open = webdav_open, .put = webdav_put, .get = webdav_get,               \
        .remove = webdav_remove, .close = webdav_close,                                            \
    }
const struct blob_store_kind blob_webdav = WEBDAV("webdav+https");
const struct blob_store_kind blob_webdav_plain = WEBDAV("webdav+http");
