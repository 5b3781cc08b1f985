#include "tests/support/doubles/object_server.h"

#include <arpa/inet.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

struct object_server {
    struct MHD_Daemon *daemon;
    GMutex lock;
    GHashTable *objects; /* path -> GBytes */
    GPtrArray *methods;  /* of all requests */
    char *token;
    char *fault_method;
    enum object_fault fault;
    int fault_times;
};

struct request {
    char *target; /* as it was sent */
    GByteArray *body;
    int fault; /* or -1 */
    bool begun;
};

/* ---- signatures, computed from S3's specification, not with the client's code ---- */

static char *canonical_request(struct MHD_Connection *connection, const struct request *request,
                               const char *method, const char *names)
{
    g_autoptr(GString) text = g_string_new(method);
    g_auto(GStrv) split = g_strsplit(names, ";", -1);
    const char *mark = strchr(request->target, '?');
    gsize length = mark != NULL ? (gsize)(mark - request->target) : strlen(request->target);
    /* S3 decodes the path and encodes it once, however the client wrote it. */
    g_autofree char *sent = g_strndup(request->target, length);
    g_autofree char *decoded = g_uri_unescape_string(sent, NULL);
    g_autofree char *path = g_uri_escape_string(decoded, "/", FALSE);
    g_string_append_printf(text, "\n%s\n%s\n", path, mark != NULL ? mark + 1 : "");
    for (char **name = split; *name != NULL; name++) {
        const char *value = MHD_lookup_connection_value(connection, MHD_HEADER_KIND, *name);
        g_string_append_printf(text, "%s:%s\n", *name, value != NULL ? value : "");
    }
    g_autofree char *hash =
        g_compute_checksum_for_data(G_CHECKSUM_SHA256, request->body->data, request->body->len);
    g_string_append_printf(text, "\n%s\n%s", names, hash);
    return g_compute_checksum_for_string(G_CHECKSUM_SHA256, text->str, -1);
}

static void chain(guint8 key[32], gsize *length, const char *text)
{
    g_autofree char *hex = g_compute_hmac_for_string(G_CHECKSUM_SHA256, key, *length, text, -1);
    for (gsize i = 0; i < 32; i++)
        key[i] =
            (guint8)(g_ascii_xdigit_value(hex[2 * i]) << 4 | g_ascii_xdigit_value(hex[2 * i + 1]));
    *length = 32;
}

static char *expected_signature(const char *time, const char *hash)
{
    guint8 key[128];
    gsize length = (gsize)g_snprintf((char *)key, sizeof key, "AWS4%s", OBJECT_SERVER_SECRET);
    g_autofree char *day = g_strndup(time, 8);
    g_autofree char *text = g_strdup_printf(
        "AWS4-HMAC-SHA256\n%s\n%s/" OBJECT_SERVER_REGION "/s3/aws4_request\n%s", time, day, hash);
    const char *const steps[] = {day, OBJECT_SERVER_REGION, "s3", "aws4_request"};
    for (gsize i = 0; i < G_N_ELEMENTS(steps); i++)
        chain(key, &length, steps[i]);
    return g_compute_hmac_for_string(G_CHECKSUM_SHA256, key, length, text, -1);
}

static char *field(const char *authorization, const char *name)
{
    const char *found = strstr(authorization, name);
    return found == NULL ? g_strdup("")
                         : g_strndup(found + strlen(name), strcspn(found + strlen(name), ", "));
}

static bool is_fresh(const char *text)
{
    struct tm parts = {0};
    const char *end = strptime(text, "%Y%m%dT%H%M%SZ", &parts);
    return end != NULL && *end == '\0' && labs((long)(timegm(&parts) - time(NULL))) < 900;
}

static const char *header(struct MHD_Connection *connection, const char *name)
{
    const char *value = MHD_lookup_connection_value(connection, MHD_HEADER_KIND, name);
    return value != NULL ? value : "";
}

struct names {
    char **list;
    bool all_signed;
};

static enum MHD_Result look_at_header(void *data, enum MHD_ValueKind kind, const char *name,
                                      const char *value)
{
    struct names *names = data;
    g_autofree char *lower = g_ascii_strdown(name, -1);
    (void)kind;
    (void)value;
    if (g_str_has_prefix(lower, "x-amz-"))
        names->all_signed &= g_strv_contains((const char *const *)names->list, lower);
    return MHD_YES;
}

/* Whether the signature covers the host, the date, the body's hash and every x-amz- header of the
 * request, as S3 demands. */
static bool covers(struct MHD_Connection *connection, const char *signed_names)
{
    g_auto(GStrv) list = g_strsplit(signed_names, ";", -1);
    struct names names = {list, true};
    const char *const *signs = (const char *const *)list;
    MHD_get_connection_values(connection, MHD_HEADER_KIND, look_at_header, &names);
    return names.all_signed && g_strv_contains(signs, "host") &&
           g_strv_contains(signs, "x-amz-content-sha256") && g_strv_contains(signs, "x-amz-date");
}

/* Returns NULL if the request is accepted, else S3's error code. */
static const char *check(const ObjectServer *server, struct MHD_Connection *connection,
                         const struct request *request, const char *method)
{
    const char *authorization = header(connection, "Authorization");
    const char *time = header(connection, "x-amz-date");
    g_autofree char *credential = field(authorization, "Credential=");
    g_autofree char *names = field(authorization, "SignedHeaders=");
    g_autofree char *signature = field(authorization, "Signature=");
    g_autofree char *scope = g_strdup_printf(
        OBJECT_SERVER_KEY_ID "/%.8s/" OBJECT_SERVER_REGION "/s3/aws4_request", time);
    g_autofree char *body =
        g_compute_checksum_for_data(G_CHECKSUM_SHA256, request->body->data, request->body->len);
    if (!g_str_has_prefix(authorization, "AWS4-HMAC-SHA256 ") || !covers(connection, names))
        return "AccessDenied";
    if (!is_fresh(time))
        return "RequestTimeTooSkewed";
    if (strcmp(credential, scope) != 0)
        return "InvalidAccessKeyId";
    if (server->token == NULL && *header(connection, "x-amz-security-token") != '\0')
        return "AccessDenied";
    if (server->token != NULL &&
        strcmp(header(connection, "x-amz-security-token"), server->token) != 0)
        return "ExpiredToken";
    if (strcmp(header(connection, "x-amz-content-sha256"), body) != 0)
        return "XAmzContentSHA256Mismatch";
    g_autofree char *hash = canonical_request(connection, request, method, names);
    g_autofree char *expected = expected_signature(time, hash);
    return strcmp(signature, expected) == 0 ? NULL : "SignatureDoesNotMatch";
}

/* ---- answers ---- */

static enum MHD_Result answer(struct MHD_Connection *connection, unsigned status, const void *bytes,
                              gsize size, const char *retry_after)
{
    struct MHD_Response *response =
        MHD_create_response_from_buffer(size, (void *)(guintptr)bytes, MHD_RESPMEM_MUST_COPY);
    if (retry_after != NULL)
        MHD_add_response_header(response, "Retry-After", retry_after);
    enum MHD_Result result = MHD_queue_response(connection, status, response);
    MHD_destroy_response(response);
    return result;
}

/* The answer quotes the secret, as some servers quote the request: the client must not repeat
 * it. */
static enum MHD_Result refuse(struct MHD_Connection *connection, unsigned status, const char *code)
{
    g_autofree char *text = g_strdup_printf(
        "<?xml version=\"1.0\"?><Error><Code>%s</Code><Message>%s</Message></Error>", code,
        OBJECT_SERVER_SECRET);
    return answer(connection, status, text, strlen(text), status == 429 ? "1" : NULL);
}

static ssize_t half_of(void *data, uint64_t position, char *buffer, size_t most)
{
    GBytes *bytes = data;
    gsize half = g_bytes_get_size(bytes) / 2;
    if (position >= half)
        return MHD_CONTENT_READER_END_WITH_ERROR;
    gsize count = MIN(most, half - (gsize)position);
    memcpy(buffer, (const char *)g_bytes_get_data(bytes, NULL) + position, count);
    return (ssize_t)count;
}

static void drop_bytes(void *data)
{
    g_bytes_unref(data);
}

static enum MHD_Result answer_half(struct MHD_Connection *connection, GBytes *object)
{
    struct MHD_Response *response = MHD_create_response_from_callback(
        g_bytes_get_size(object), 65536, half_of, g_bytes_ref(object), drop_bytes);
    enum MHD_Result result = MHD_queue_response(connection, 200, response);
    MHD_destroy_response(response);
    return result;
}

static enum MHD_Result answer_object(struct MHD_Connection *connection, GBytes *object, int fault)
{
    if (fault == FAULT_CUT_ANSWER)
        return answer_half(connection, object);
    g_autoptr(GByteArray) bytes = g_byte_array_new();
    g_byte_array_append(bytes, g_bytes_get_data(object, NULL), (guint)g_bytes_get_size(object));
    if (fault == FAULT_WRONG_BYTES)
        bytes->data[bytes->len / 2] ^= 1;
    else if (fault == FAULT_SHORTER)
        g_byte_array_set_size(bytes, bytes->len - 1);
    else if (fault == FAULT_LONGER)
        g_byte_array_set_size(bytes, bytes->len + (1 << 20));
    return answer(connection, 200, bytes->data, bytes->len, NULL);
}

static enum MHD_Result serve(ObjectServer *server, struct MHD_Connection *connection,
                             const char *path, const char *method, struct request *request)
{
    if (strcmp(method, "PUT") == 0) {
        g_hash_table_replace(server->objects, g_strdup(path),
                             g_bytes_new(request->body->data, request->body->len));
        return answer(connection, 200, "", 0, NULL);
    }
    if (strcmp(method, "DELETE") == 0) {
        g_hash_table_remove(server->objects, path);
        return answer(connection, 204, "", 0, NULL);
    }
    GBytes *object = g_hash_table_lookup(server->objects, path);
    if (object == NULL)
        return refuse(connection, 404, "NoSuchKey");
    return answer_object(connection, object, request->fault);
}

/* The object's path with its bucket, which is in the path or in the host's name; NULL for another
 * bucket. */
static char *object_path(struct MHD_Connection *connection, const char *path)
{
    if (g_str_has_prefix(path, "/" OBJECT_SERVER_BUCKET "/"))
        return g_strdup(path);
    if (g_str_has_prefix(header(connection, "Host"), OBJECT_SERVER_BUCKET "."))
        return g_strconcat("/" OBJECT_SERVER_BUCKET, path, NULL);
    return NULL;
}

static enum MHD_Result finish(ObjectServer *server, struct MHD_Connection *connection,
                              const char *url, const char *method, struct request *request)
{
    static const struct {
        int fault;
        unsigned status;
        const char *code;
    } refusals[] = {{FAULT_INTERNAL, 500, "InternalError"},
                    {FAULT_BUSY, 503, "SlowDown"},
                    {FAULT_TOO_MANY, 429, "TooManyRequests"},
                    {FAULT_FORBIDDEN, 403, "AccessDenied"}};
    for (gsize i = 0; i < G_N_ELEMENTS(refusals); i++) {
        if (request->fault == refusals[i].fault)
            return refuse(connection, refusals[i].status, refusals[i].code);
    }
    if (request->fault == FAULT_CUT)
        return MHD_NO;
    if (request->fault == FAULT_WORDLESS)
        return answer(connection, 404, "", 0, NULL);
    if (request->fault == FAULT_SILENCE)
        g_usleep(8 * (gulong)G_USEC_PER_SEC);
    const char *code = check(server, connection, request, method);
    if (code != NULL)
        return refuse(connection, 403, code);
    g_autofree char *path = object_path(connection, url);
    if (path == NULL)
        return refuse(connection, 404, "NoSuchBucket");
    g_mutex_lock(&server->lock);
    enum MHD_Result result = serve(server, connection, path, method, request);
    g_mutex_unlock(&server->lock);
    return result;
}

/* ---- requests ---- */

static void *begin_request(void *data, const char *target, struct MHD_Connection *connection)
{
    (void)data;
    (void)connection;
    struct request *request = g_new0(struct request, 1);
    request->target = g_strdup(target);
    request->body = g_byte_array_new();
    request->fault = -1;
    return request;
}

static void end_request(void *data, struct MHD_Connection *connection, void **state,
                        enum MHD_RequestTerminationCode code)
{
    (void)data;
    (void)connection;
    (void)code;
    struct request *request = *state;
    if (request == NULL)
        return;
    g_free(request->target);
    g_byte_array_unref(request->body);
    g_free(request);
}

static void choose_fault(ObjectServer *server, const char *method, struct request *request)
{
    g_mutex_lock(&server->lock);
    g_ptr_array_add(server->methods, g_strdup(method));
    if (server->fault_times > 0 && strcmp(server->fault_method, method) == 0) {
        server->fault_times--;
        request->fault = (int)server->fault;
    }
    g_mutex_unlock(&server->lock);
    request->begun = true;
}

static enum MHD_Result handle(void *data, struct MHD_Connection *connection, const char *url,
                              const char *method, const char *version, const char *upload,
                              size_t *upload_size, void **state)
{
    ObjectServer *server = data;
    struct request *request = *state;
    (void)version;
    if (!request->begun) {
        choose_fault(server, method, request);
        return MHD_YES;
    }
    if (*upload_size > 0) {
        g_byte_array_append(request->body, (const guint8 *)upload, (guint)*upload_size);
        *upload_size = 0;
        return request->fault == FAULT_CUT ? MHD_NO : MHD_YES;
    }
    return finish(server, connection, url, method, request);
}

static void drop_object(gpointer data)
{
    g_bytes_unref(data);
}

ObjectServer *object_server_new(void)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    ObjectServer *server = g_new0(ObjectServer, 1);
    server->objects = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, drop_object);
    server->methods = g_ptr_array_new_with_free_func(g_free);
    server->daemon = MHD_start_daemon(
        MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_THREAD_PER_CONNECTION, 0, NULL, NULL, handle,
        server, MHD_OPTION_SOCK_ADDR, &address, MHD_OPTION_URI_LOG_CALLBACK, begin_request, NULL,
        MHD_OPTION_NOTIFY_COMPLETED, end_request, NULL, MHD_OPTION_END);
    if (server->daemon == NULL)
        g_error("the test's object server does not start");
    g_setenv("AWS_ACCESS_KEY_ID", OBJECT_SERVER_KEY_ID, TRUE);
    g_setenv("AWS_SECRET_ACCESS_KEY", OBJECT_SERVER_SECRET, TRUE);
    g_unsetenv("AWS_SESSION_TOKEN");
    g_setenv("no_proxy", "localhost,127.0.0.1", TRUE);
    return server;
}

void object_server_free(ObjectServer *server)
{
    if (server == NULL)
        return;
    MHD_stop_daemon(server->daemon);
    g_hash_table_unref(server->objects);
    g_ptr_array_unref(server->methods);
    g_free(server->token);
    g_free(server->fault_method);
    g_free(server);
}

int object_server_port(const ObjectServer *server)
{
    return MHD_get_daemon_info(server->daemon, MHD_DAEMON_INFO_BIND_PORT)->port;
}

char *object_server_url(const ObjectServer *server, const char *prefix)
{
    return g_strdup_printf("s3://" OBJECT_SERVER_BUCKET "/%s?region=" OBJECT_SERVER_REGION
                           "&endpoint=http://127.0.0.1:%d",
                           prefix, object_server_port(server));
}

void object_server_need_token(ObjectServer *server, const char *token)
{
    g_free(server->token);
    server->token = g_strdup(token);
}

void object_server_fail(ObjectServer *server, const char *method, enum object_fault fault,
                        int times)
{
    g_mutex_lock(&server->lock);
    g_free(server->fault_method);
    server->fault_method = g_strdup(method);
    server->fault = fault;
    server->fault_times = times;
    g_mutex_unlock(&server->lock);
}

int object_server_requests(ObjectServer *server, const char *method)
{
    int count = 0;
    g_mutex_lock(&server->lock);
    for (guint i = 0; i < server->methods->len; i++)
        count += method == NULL || strcmp(server->methods->pdata[i], method) == 0;
    g_mutex_unlock(&server->lock);
    return count;
}

int object_server_objects(ObjectServer *server)
{
    g_mutex_lock(&server->lock);
    int count = (int)g_hash_table_size(server->objects);
    g_mutex_unlock(&server->lock);
    return count;
}

void object_server_damage(ObjectServer *server)
{
    GHashTableIter iterator;
    gpointer value;
    g_mutex_lock(&server->lock);
    g_hash_table_iter_init(&iterator, server->objects);
    while (g_hash_table_iter_next(&iterator, NULL, &value)) {
        gsize size = g_bytes_get_size(value);
        guint8 *bytes = g_memdup2(g_bytes_get_data(value, NULL), size);
        bytes[0] ^= 0x80;
        g_hash_table_iter_replace(&iterator, g_bytes_new_take(bytes, size));
    }
    g_mutex_unlock(&server->lock);
}

void object_server_forget(ObjectServer *server)
{
    g_mutex_lock(&server->lock);
    g_hash_table_remove_all(server->objects);
    g_mutex_unlock(&server->lock);
}
