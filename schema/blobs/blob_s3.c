/* Code objects in a bucket of an S3-compatible store. */
#include "schema/blobs/blob_http.h"
#include "schema/blobs/s3_credentials.h"

#include <string.h>

struct s3_store {
    struct blob_store base;
    char *origin; /* "https://bucket.s3.eu-north-1.amazonaws.com" */
    char *host;   /* host and port as the Host header has them */
    char *prefix; /* the encoded path before an object's name: "/prefix/", "/bucket/" */
    char *region;
};

static bool is_made_of(const char *text, const char *allowed, gsize least, gsize most)
{
    gsize length = strlen(text);
    return length >= least && length <= most && strspn(text, allowed) == length;
}

struct place {
    const char *bucket, *region, *endpoint, *style;
};

/* Parses "http://HOST[:PORT]" or "https://HOST[:PORT]"; nothing may follow. */
static bool split_endpoint(const char *endpoint, char **scheme, char **host, GError **error)
{
    g_autoptr(GUri) url = g_uri_parse(endpoint, G_URI_FLAGS_ENCODED, NULL);
    const char *path = url != NULL ? g_uri_get_path(url) : NULL;
    bool http = url != NULL && (strcmp(g_uri_get_scheme(url), "https") == 0 ||
                                strcmp(g_uri_get_scheme(url), "http") == 0);
    if (!http || g_uri_get_host(url) == NULL || !blob_host_valid(g_uri_get_host(url)) ||
        g_uri_get_userinfo(url) != NULL || g_uri_get_query(url) != NULL ||
        (*path != '\0' && strcmp(path, "/") != 0)) {
        g_set_error(error, STORE_ERROR, STORE_ERROR_BLOBS,
                    "endpoint must be http://HOST[:PORT] or https://HOST[:PORT]");
        return false;
    }
    int port = g_uri_get_port(url);
    bool usual = port == -1 || port == (strcmp(g_uri_get_scheme(url), "https") == 0 ? 443 : 80);
    const char *name = g_uri_get_host(url);
    g_autofree char *bare =
        strchr(name, ':') != NULL ? g_strdup_printf("[%s]", name) : g_strdup(name);
    *scheme = g_strdup(g_uri_get_scheme(url));
    *host = usual ? g_strdup(bare) : g_strdup_printf("%s:%d", bare, port);
    return true;
}

static bool check_place(const struct place *place, GError **error)
{
    const char *wrong = NULL;
    if (!is_made_of(place->bucket, "abcdefghijklmnopqrstuvwxyz0123456789.-", 3, 63))
        wrong = "a bucket's name has 3 to 63 small letters, digits, '.' and '-'";
    else if (!is_made_of(place->region, "abcdefghijklmnopqrstuvwxyz0123456789-", 1, 40))
        wrong = "a region's name has small letters, digits and '-'";
    else if (strcmp(place->style, "path") != 0 && strcmp(place->style, "host") != 0)
        wrong = "style is path or host";
    if (wrong != NULL)
        g_set_error_literal(error, STORE_ERROR, STORE_ERROR_BLOBS, wrong);
    return wrong == NULL;
}

/* By default Amazon's buckets are host names, and buckets of other servers are the first part of the path:
 * no name server needs to know them. */
static bool set_address(struct s3_store *s3, const struct place *place, const char *folder,
                        GError **error)
{
    g_autofree char *scheme = NULL;
    g_autofree char *host = NULL;
    g_autofree char *amazon = g_strdup_printf("https://s3.%s.amazonaws.com", place->region);
    if (!split_endpoint(place->endpoint != NULL ? place->endpoint : amazon, &scheme, &host, error))
        return false;
    bool in_host = strcmp(place->style, "host") == 0;
    g_autofree char *decoded = g_uri_unescape_string(folder, NULL);
    g_autofree char *encoded = g_uri_escape_string(decoded != NULL ? decoded : folder, "/", FALSE);
    s3->host = in_host ? g_strconcat(place->bucket, ".", host, NULL) : g_strdup(host);
    s3->origin = g_strconcat(scheme, "://", s3->host, NULL);
    s3->prefix = g_strconcat(in_host ? "" : "/", in_host ? "" : place->bucket, "/", encoded,
                             *encoded != '\0' ? "/" : "", NULL);
    s3->region = g_strdup(place->region);
    return true;
}

static void s3_close(BlobStore *store)
{
    struct s3_store *s3 = (struct s3_store *)store;
    g_free(s3->origin);
    g_free(s3->host);
    g_free(s3->prefix);
    g_free(s3->region);
}

static bool check_parameters(GHashTable *parameters, GError **error)
{
    GHashTableIter iterator;
    gpointer name;
    g_hash_table_iter_init(&iterator, parameters);
    while (g_hash_table_iter_next(&iterator, &name, NULL)) {
        if (!g_strv_contains((const char *const[]){"region", "endpoint", "style", NULL}, name)) {
            g_set_error(error, STORE_ERROR, STORE_ERROR_BLOBS,
                        "unknown parameter '%s'; the parameters are region, endpoint and style",
                        (const char *)name);
            return false;
        }
    }
    return true;
}

static BlobStore *s3_open(GUri *url, GError **error)
{
    const char *query = g_uri_get_query(url) != NULL ? g_uri_get_query(url) : "";
    g_autoptr(GHashTable) parameters = g_uri_parse_params(query, -1, "&", G_URI_PARAMS_NONE, NULL);
    if (parameters == NULL) {
        g_set_error_literal(error, STORE_ERROR, STORE_ERROR_BLOBS,
                            "behind '?' the URL needs NAME=VALUE, several joined by '&'");
        return NULL;
    }
    const char *region = g_hash_table_lookup(parameters, "region");
    const char *style = g_hash_table_lookup(parameters, "style");
    struct place place = {.bucket = g_uri_get_host(url),
                          .region = region != NULL ? region : "us-east-1",
                          .endpoint = g_hash_table_lookup(parameters, "endpoint")};
    place.style = style != NULL ? style : place.endpoint != NULL ? "path" : "host";
    const char *path = g_uri_get_path(url);
    path += strspn(path, "/");
    gsize length = strlen(path);
    while (length > 0 && path[length - 1] == '/')
        length--;
    g_autofree char *folder = g_strndup(path, length);
    if (!check_parameters(parameters, error) || !check_place(&place, error))
        return NULL;
    struct s3_store *s3 = g_new0(struct s3_store, 1);
    if (set_address(s3, &place, folder, error))
        return &s3->base;
    g_free(s3);
    return NULL;
}

static HttpHeaders *add_header(HttpHeaders *headers, const char *name, const char *value)
{
    g_autofree char *line = g_strdup_printf("%s: %s", name, value);
    return curl_slist_append(headers, line);
}

/* libcurl signs all headers that it is given. S3 demands the body's hash as a header; libcurl 7.88 does not make
 * it, and takes it over into the signature where it is given. */
static HttpHeaders *s3_headers(const struct http_request *request, const char *session_token)
{
    g_autofree char *sha256 = request->body != NULL
                                  ? g_compute_checksum_for_bytes(G_CHECKSUM_SHA256, request->body)
                                  : g_compute_checksum_for_string(G_CHECKSUM_SHA256, "", 0);
    HttpHeaders *headers = add_header(NULL, "x-amz-content-sha256", sha256);
    if (session_token != NULL)
        headers = add_header(headers, "x-amz-security-token", session_token);
    return headers;
}

/* Sends a request. Returns true if the server answered; the caller judges the status.
 * Credentials are looked up for each request, since those of a session change. Afterwards
 * request->url is the store's URL, so that errors name the store and not the object. */
static bool s3_send(BlobStore *store, struct http_request *request, const char *name,
                    struct http_answer *answer, GError **error)
{
    struct s3_store *s3 = (struct s3_store *)store;
    g_auto(S3Credentials) credentials = {0};
    if (!s3_credentials_find(&credentials, error))
        return false;
    g_autoptr(HttpHeaders) headers = s3_headers(request, credentials.session_token);
    g_autofree char *url = g_strconcat(s3->origin, s3->prefix, name, NULL);
    g_autofree char *sigv4 = g_strdup_printf("aws:amz:%s:s3", s3->region);
    request->url = url;
    request->headers = headers;
    request->user = credentials.key_id;
    request->password = credentials.secret;
    request->sigv4 = sigv4;
    bool answered = http_do(store->http, request, answer, error);
    *request = (struct http_request){
        .method = request->method, .url = store->url, .body = request->body, .most = request->most};
    return answered;
}

/* Whether the object is missing. Status 404 also says that the bucket is missing, which is an error for
 * every caller. */
static bool is_missing(const struct http_answer *answer)
{
    g_autofree char *code = http_error_code(answer);
    return answer->status == 404 && (code == NULL || strcmp(code, "NoSuchKey") == 0);
}

static bool refuse(const struct http_request *request, const struct http_answer *answer,
                   GError **error)
{
    http_refused(request, answer, error);
    return false;
}

static bool s3_put(BlobStore *store, const char *name, GBytes *bytes, GError **error)
{
    struct http_request request = {.method = "PUT", .body = bytes, .most = 65536};
    g_auto(HttpAnswer) answer = {0};
    if (!s3_send(store, &request, name, &answer, error))
        return false;
    return answer.status / 100 == 2 || refuse(&request, &answer, error);
}

static GBytes *s3_get(BlobStore *store, const char *name, gsize most, GError **error)
{
    struct http_request request = {.method = "GET", .most = most};
    g_auto(HttpAnswer) answer = {0};
    if (!s3_send(store, &request, name, &answer, error))
        return NULL;
    if (answer.status == 200)
        return g_byte_array_free_to_bytes(g_steal_pointer(&answer.body));
    if (is_missing(&answer))
        g_set_error(error, STORE_ERROR, STORE_ERROR_NOT_FOUND, "%s has no object %s", store->url,
                    name);
    else
        refuse(&request, &answer, error);
    return NULL;
}

static bool s3_remove(BlobStore *store, const char *name, GError **error)
{
    struct http_request request = {.method = "DELETE", .most = 65536};
    g_auto(HttpAnswer) answer = {0};
    if (!s3_send(store, &request, name, &answer, error))
        return false;
    return answer.status / 100 == 2 || is_missing(&answer) || refuse(&request, &answer, error);
}

const struct blob_store_kind blob_s3 = {
    .scheme = "s3",
    .open = s3_open,
    .put = s3_put,
    .get = s3_get,
    .remove = s3_remove,
    .close = s3_close,
};
