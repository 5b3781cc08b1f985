/*
 * An HTTP server by libmicrohttpd without its own thread: the loop polls its
 * epoll descriptor, and a timer runs it when a connection times out.
 *
 * Clients may open connections and send nothing. Therefore the number of
 * connections is bounded, the oldest one without an answer under way is closed
 * for a newer one, and after a share of such closings the server pauses: a client
 * that sends its request at once is answered before its turn to be closed comes.
 *
 * A request that waits for its answer, and a stream that has nothing to send, are
 * suspended: libmicrohttpd then neither polls nor times them out.
 */
#include "schema/monitor/http_server.h"

#include <arpa/inet.h>
#include <errno.h>
#include <jansson.h>
#include <microhttpd.h>
#include <netdb.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#define CONNECTIONS_MOST   256
#define CONNECTIONS_LEAST  16
#define FILES_SHARE        4 /* connections may use 1/4 of the files that the process may open */
#define LISTENERS_SHARE    2 /* and streams 1/2 */
/* Clients that reopen closed connections would keep the loop busy. So the server pauses after this share
 * of its connections: a new connection has at least 4 * 10 ms for its request. */
#define PAUSE_SHARE        4
#define PAUSE_MS           10
#define CONNECTION_BYTES   16384
#define HEADER_BYTES       8192
#define IDLE_SECONDS       5
#define CONNECTION_SECONDS 15 /* most seconds of a request, even if its bytes keep coming */
#define LOOK_MS            1000
#define TRANSFERS_MOST     16    /* downloads at once */
#define TRANSFER_BYTES     65536 /* a download may last a second for each of these bytes */
#define FILE_BLOCK         65536
#define STREAM_BLOCK       16384
/* Most unread bytes of a stream. Streams share the bytes, so that a thousand slow ones take little more than one. One
 * reading of a large farm sends some 100 KiB at once, before any client can read. */
#define STREAM_BYTES       (4 * 1024 * 1024)
#define BUCKETS_MOST       4096
#define BURST_SECONDS      2   /* an address may send the requests of this time at once */
#define TRIES              5.0 /* refused logins of an address at once */
#define TRIES_PER_SECOND   0.1

G_DEFINE_QUARK(skipjack - http - error - quark, http_error)

/* The requests, and the logins that may fail, that an address has left. */
struct bucket {
    double requests, tries;
    gint64 at_us;
};

struct http_server {
    struct http_options options;
    char *url;
    bool is_loopback;
    struct MHD_Daemon *daemon;
    /* struct connection *: connections without an answer under way, the oldest first, without those that were shut
     * down. Those whose request is held, and streams, are in none of the queues. */
    GQueue connections;
    GQueue transfers;    /* struct connection *: downloads under way */
    GQueue held;         /* HttpRequest *: requests that wait for their answer */
    GQueue streams;      /* HttpStream * */
    int most;            /* most connections at once */
    int closed;          /* connections that were closed for newer ones since the last pause */
    GHashTable *buckets; /* address -> struct bucket * */
    struct http_counts counts;
    bool closing;
    bool is_running, is_pausing;
    bool woken; /* connections were resumed that libmicrohttpd has not looked at yet */
    uv_poll_t *poll;
    uv_timer_t *timer;
};

struct connection {
    struct MHD_Connection *of;
    HttpServer *server;
    GQueue *queue; /* the queue that it is in, or NULL */
    gint64 until_us;
    char address[INET6_ADDRSTRLEN];
};

struct http_request {
    int references;
    HttpServer *server;        /* NULL when the client is gone */
    struct MHD_Connection *of; /* NULL when the client is gone */
    struct connection *connection;
    struct http_target target;
    const char *wrong; /* why the target is refused */
    const struct http_route *route;
    const char *method;
    GString *body;
    bool has_begun, is_answered, is_held, is_too_long;
    enum MHD_Result queued; /* what libmicrohttpd says of the answer */
    HttpStream *stream;
};

struct http_stream {
    HttpRequest *request; /* NULL when the client is gone */
    GQueue parts;         /* GBytes * */
    size_t offset;        /* bytes of the first part that were sent */
    size_t unread;
    bool is_suspended, is_ended;
    void (*closed)(void *data);
    void *data;
};

static void timer_due(uv_timer_t *timer);

/* Lets libmicrohttpd go on with a suspended connection. It looks at resumed connections in its next run alone. */
static void resume(HttpServer *server, struct MHD_Connection *of)
{
    MHD_resume_connection(of);
    server->woken = true;
    if (!server->is_running && !server->is_pausing && server->timer)
        uv_timer_start(server->timer, timer_due, 0, 0);
}

/* ---- answers ---- */

static void add_common_headers(struct MHD_Response *response)
{
    static const char *const headers[][2] = {
        {"Content-Security-Policy",
         "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
         "connect-src 'self'; font-src 'self'; manifest-src 'self'; base-uri 'none'; "
         "form-action 'none'; frame-ancestors 'none'"},
        {"X-Content-Type-Options", "nosniff"},
        {"X-Frame-Options", "DENY"},
        {"Referrer-Policy", "no-referrer"},
        {"Cross-Origin-Resource-Policy", "same-origin"},
        {"Cross-Origin-Opener-Policy", "same-origin"},
        {"Permissions-Policy", "camera=(), microphone=(), geolocation=()"},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(headers); i++)
        MHD_add_response_header(response, headers[i][0], headers[i][1]);
}

/* Puts a connection into a queue, NULL for none. It then has `seconds` for what it does. */
static void move_connection(struct connection *connection, GQueue *queue, double seconds)
{
    if (connection->queue)
        g_queue_remove(connection->queue, connection);
    connection->queue = queue;
    connection->until_us = g_get_monotonic_time() + (gint64)(seconds * G_USEC_PER_SEC);
    if (queue)
        g_queue_push_tail(queue, connection);
}

/* Takes the response. */
static void send_response(HttpRequest *request, unsigned status, struct MHD_Response *response)
{
    HttpServer *server = request->server;
    if (!server) { /* the client is gone */
        MHD_destroy_response(response);
        return;
    }
    g_assert(!request->is_answered);
    request->is_answered = true;
    add_common_headers(response);
    if (!server->options.keep_alive)
        MHD_add_response_header(response, "Connection", "close");
    server->counts.requests++;
    server->counts.by_class[MIN(status / 100, 5)]++;
    server->counts.limited += status == MHD_HTTP_TOO_MANY_REQUESTS;
    request->queued = MHD_queue_response(request->of, status, response);
    MHD_destroy_response(response);
    if (request->is_held) {
        request->is_held = false;
        g_queue_remove(&server->held, request);
        if (!request->connection->queue && !request->stream)
            move_connection(request->connection, &server->connections, CONNECTION_SECONDS);
        resume(server, request->of);
    }
}

/* Copies the bytes. */
static struct MHD_Response *response_of(char *bytes, size_t length)
{
    struct MHD_Response *response =
        MHD_create_response_from_buffer(length, bytes, MHD_RESPMEM_MUST_COPY);
    g_assert(response);
    return response;
}

static void free_bytes(void *bytes)
{
    g_bytes_unref(bytes);
}

static struct MHD_Response *response_of_bytes(GBytes *bytes)
{
    gsize length;
    const void *data = g_bytes_get_data(bytes, &length);
    if (length == 0)
        return response_of(NULL, 0);
    struct MHD_Response *response = MHD_create_response_from_buffer_with_free_callback_cls(
        length, (void *)data, free_bytes, g_bytes_ref(bytes));
    g_assert(response);
    return response;
}

static void add_caching(struct MHD_Response *response, const char *etag, int fresh_seconds)
{
    char text[64] = "no-store";
    if (etag) {
        MHD_add_response_header(response, "ETag", etag);
        if (fresh_seconds > 0)
            g_snprintf(text, sizeof text, "private, max-age=%d", fresh_seconds);
        else
            g_strlcpy(text, "private, no-cache", sizeof text);
    }
    MHD_add_response_header(response, "Cache-Control", text);
}

void http_answer(HttpRequest *request, const struct http_answer *answer)
{
    bool same = answer->etag && answer->status == MHD_HTTP_OK && request->of &&
                http_etag_matches(http_request_header(request, "If-None-Match"), answer->etag);
    struct MHD_Response *response = same ? response_of(NULL, 0) : response_of_bytes(answer->body);
    if (!same)
        MHD_add_response_header(response, "Content-Type", answer->type);
    add_caching(response, answer->etag, answer->fresh_seconds);
    if (answer->header)
        MHD_add_response_header(response, answer->header, answer->value);
    send_response(request, same ? MHD_HTTP_NOT_MODIFIED : answer->status, response);
}

/* header, value: one more, or NULL. */
static void send_problem(HttpRequest *request, unsigned status, const char *detail,
                         const char *header, const char *value)
{
    g_autofree char *words = g_utf8_make_valid(detail, -1);
    json_t *object =
        json_pack("{ss ss si ss}", "type", "about:blank", "title",
                  MHD_get_reason_phrase_for(status), "status", (int)status, "detail", words);
    char *text = json_dumps(object, JSON_COMPACT);
    json_decref(object);
    struct MHD_Response *response = response_of(text, strlen(text));
    free(text);
    MHD_add_response_header(response, "Content-Type", "application/problem+json");
    MHD_add_response_header(response, "Cache-Control", "no-store");
    if (header)
        MHD_add_response_header(response, header, value);
    if (status == MHD_HTTP_TOO_MANY_REQUESTS || status == MHD_HTTP_SERVICE_UNAVAILABLE)
        MHD_add_response_header(response, "Retry-After", "1");
    if (status == MHD_HTTP_UNAUTHORIZED)
        MHD_add_response_header(response, "WWW-Authenticate", "Bearer realm=\"skipjack\"");
    send_response(request, status, response);
}

void http_answer_problem(HttpRequest *request, unsigned status, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    g_autofree char *detail = g_strdup_vprintf(format, arguments);
    va_end(arguments);
    send_problem(request, status, detail, NULL, NULL);
}

static void add_file_headers(struct MHD_Response *response, const char *etag, const char *name)
{
    g_autofree char *plain = g_strdup(name);
    g_strcanon(plain, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-+", '_');
    g_autofree char *place = g_strdup_printf("attachment; filename=\"%s\"", plain);
    MHD_add_response_header(response, "Content-Type", "application/octet-stream");
    MHD_add_response_header(response, "Content-Disposition", place);
    MHD_add_response_header(response, "Accept-Ranges", "bytes");
    add_caching(response, etag, 0);
}

void http_answer_file(HttpRequest *request, int fd, uint64_t length, const char *etag,
                      const char *name)
{
    uint64_t first = 0, last = length > 0 ? length - 1 : 0;
    HttpServer *server = request->server;
    bool is_open = server != NULL;
    const char *condition = is_open ? http_request_header(request, "If-Range") : NULL;
    const char *wanted = is_open ? http_request_header(request, "Range") : NULL;
    if (condition && strcmp(condition, etag) != 0)
        wanted = NULL;
    enum http_range range = http_range_parse(wanted, length, &first, &last);
    g_autofree char *extent = range == HTTP_RANGE_NONE
                                  ? g_strdup_printf("bytes */%" G_GUINT64_FORMAT, length)
                                  : g_strdup_printf("bytes %" G_GUINT64_FORMAT "-%" G_GUINT64_FORMAT
                                                    "/%" G_GUINT64_FORMAT,
                                                    first, last, length);
    bool same = is_open && http_etag_matches(http_request_header(request, "If-None-Match"), etag);
    if (!is_open || same || range == HTTP_RANGE_NONE || length == 0 ||
        g_queue_get_length(&server->transfers) >= TRANSFERS_MOST) {
        close(fd);
        if (is_open && !same && range == HTTP_RANGE_NONE) {
            send_problem(request, MHD_HTTP_RANGE_NOT_SATISFIABLE,
                         "the file is shorter than the range", "Content-Range", extent);
        } else if (is_open && !same && length > 0) {
            send_problem(request, MHD_HTTP_SERVICE_UNAVAILABLE,
                         "too many downloads are under way; try again", NULL, NULL);
        } else {
            struct MHD_Response *empty = response_of(NULL, 0);
            add_file_headers(empty, etag, name);
            send_response(request, same ? MHD_HTTP_NOT_MODIFIED : MHD_HTTP_OK, empty);
        }
        return;
    }
    uint64_t size = last - first + 1;
    struct MHD_Response *response = MHD_create_response_from_fd_at_offset64(size, fd, first);
    g_assert(response);
    add_file_headers(response, etag, name);
    if (range == HTTP_RANGE_PART)
        MHD_add_response_header(response, "Content-Range", extent);
    move_connection(request->connection, &server->transfers,
                    CONNECTION_SECONDS + (double)size / TRANSFER_BYTES);
    send_response(request, range == HTTP_RANGE_PART ? MHD_HTTP_PARTIAL_CONTENT : MHD_HTTP_OK,
                  response);
}

/* ---- streams ---- */

static ssize_t read_stream(void *data, uint64_t position, char *buffer, size_t most)
{
    HttpStream *stream = data;
    size_t copied = 0;
    (void)position;
    while (copied < most) {
        GBytes *part = g_queue_peek_head(&stream->parts);
        if (!part)
            break;
        gsize length;
        const char *bytes = g_bytes_get_data(part, &length);
        size_t take = MIN(length - stream->offset, most - copied);
        memcpy(buffer + copied, bytes + stream->offset, take);
        copied += take;
        stream->offset += take;
        if (stream->offset == length) {
            g_bytes_unref(g_queue_pop_head(&stream->parts));
            stream->offset = 0;
        }
    }
    stream->unread -= copied;
    if (copied > 0)
        return (ssize_t)copied;
    if (stream->is_ended || !stream->request)
        return MHD_CONTENT_READER_END_OF_STREAM;
    stream->is_suspended = true;
    MHD_suspend_connection(stream->request->of);
    return 0;
}

static void free_stream(void *data)
{
    HttpStream *stream = data;
    if (stream->request)
        stream->request->stream = NULL;
    g_queue_clear_full(&stream->parts, (GDestroyNotify)g_bytes_unref);
    g_free(stream);
}

HttpStream *http_stream_begin(HttpRequest *request, const char *type, void (*closed)(void *data),
                              void *data)
{
    HttpServer *server = request->server;
    if (!server || server->counts.listeners >= server->options.listeners) {
        http_answer_problem(request, MHD_HTTP_SERVICE_UNAVAILABLE,
                            "there are as many listeners as this server serves; try again later");
        return NULL;
    }
    HttpStream *stream = g_new0(struct http_stream, 1);
    stream->closed = closed;
    stream->data = data;
    stream->request = request;
    request->stream = stream;
    g_queue_init(&stream->parts);
    struct MHD_Response *response = MHD_create_response_from_callback(
        MHD_SIZE_UNKNOWN, STREAM_BLOCK, read_stream, stream, free_stream);
    g_assert(response);
    MHD_add_response_header(response, "Content-Type", type);
    MHD_add_response_header(response, "Cache-Control", "no-store");
    MHD_add_response_header(response, "X-Accel-Buffering", "no"); /* for nginx */
    g_queue_push_tail(&server->streams, stream);
    server->counts.listeners++;
    move_connection(request->connection, NULL, 0);
    send_response(request, MHD_HTTP_OK, response);
    return stream;
}

static void wake_stream(HttpStream *stream)
{
    if (!stream->is_suspended || !stream->request)
        return;
    stream->is_suspended = false;
    resume(stream->request->server, stream->request->of);
}

void http_stream_send(HttpStream *stream, GBytes *bytes)
{
    gsize length = g_bytes_get_size(bytes);
    if (stream->is_ended || length == 0)
        return;
    if (stream->unread + length > STREAM_BYTES) {
        if (stream->request)
            stream->request->server->counts.slow++;
        http_stream_end(stream);
        return;
    }
    stream->unread += length;
    g_queue_push_tail(&stream->parts, g_bytes_ref(bytes));
    wake_stream(stream);
}

void http_stream_end(HttpStream *stream)
{
    stream->is_ended = true;
    wake_stream(stream);
}

/* The client is gone. libmicrohttpd frees the stream with its response. */
static void leave_stream(HttpServer *server, HttpRequest *request)
{
    HttpStream *stream = request->stream;
    if (!stream)
        return;
    stream->request = NULL;
    request->stream = NULL;
    g_queue_remove(&server->streams, stream);
    server->counts.listeners--;
    stream->closed(stream->data);
}

/* ---- requests ---- */

static void request_unref(HttpRequest *request)
{
    if (--request->references > 0)
        return;
    http_target_clear(&request->target);
    if (request->body)
        g_string_free(request->body, TRUE);
    g_free(request);
}

HttpRequest *http_request_hold(HttpRequest *request)
{
    request->references++;
    if (!request->is_held && !request->is_answered && request->server) {
        request->is_held = true;
        move_connection(request->connection, NULL, 0);
        g_queue_push_tail(&request->server->held, request);
        MHD_suspend_connection(request->of);
    }
    return request;
}

void http_request_release(HttpRequest *request)
{
    request_unref(request);
}

const char *http_request_method(const HttpRequest *request)
{
    return strcmp(request->method, "HEAD") == 0 ? "GET" : request->method;
}

const struct http_target *http_request_target(const HttpRequest *request)
{
    return &request->target;
}

const char *http_request_named(const HttpRequest *request, const char *name)
{
    return http_target_named(&request->target, request->route->path, name);
}

const char *http_request_header(const HttpRequest *request, const char *name)
{
    return request->of ? MHD_lookup_connection_value(request->of, MHD_HEADER_KIND, name) : NULL;
}

const char *http_request_body(const HttpRequest *request, size_t *length)
{
    *length = request->body ? request->body->len : 0;
    return request->body ? request->body->str : "";
}

const void *http_request_about(const HttpRequest *request)
{
    return request->route->about;
}

const char *http_request_address(const HttpRequest *request)
{
    return request->connection ? request->connection->address : "";
}

/* ---- rates ---- */

static gboolean is_full_again(gpointer address, gpointer data, gpointer now)
{
    const struct bucket *bucket = data;
    (void)address;
    return *(const gint64 *)now - bucket->at_us > 60 * G_USEC_PER_SEC;
}

/* The address's bucket, filled up to now. */
static struct bucket *bucket_of(HttpServer *server, const char *address)
{
    gint64 now = g_get_monotonic_time();
    double most = server->options.requests_per_second * BURST_SECONDS;
    struct bucket *bucket = g_hash_table_lookup(server->buckets, address);
    if (!bucket) {
        if (g_hash_table_size(server->buckets) >= BUCKETS_MOST)
            g_hash_table_foreach_remove(server->buckets, is_full_again, &now);
        if (g_hash_table_size(server->buckets) >= BUCKETS_MOST)
            g_hash_table_remove_all(server->buckets);
        bucket = g_new0(struct bucket, 1);
        *bucket = (struct bucket){.requests = most, .tries = TRIES, .at_us = now};
        g_hash_table_insert(server->buckets, g_strdup(address), bucket);
    }
    double seconds = (double)(now - bucket->at_us) / G_USEC_PER_SEC;
    bucket->requests = MIN(most, bucket->requests + seconds * server->options.requests_per_second);
    bucket->tries = MIN(TRIES, bucket->tries + seconds * TRIES_PER_SECOND);
    bucket->at_us = now;
    return bucket;
}

static bool take_request(HttpServer *server, const char *address)
{
    if (server->options.requests_per_second <= 0)
        return true;
    struct bucket *bucket = bucket_of(server, address);
    if (bucket->requests < 1)
        return false;
    bucket->requests--;
    return true;
}

bool http_request_may_try(HttpRequest *request)
{
    return !request->server || bucket_of(request->server, request->connection->address)->tries >= 1;
}

void http_request_failed_try(HttpRequest *request)
{
    if (request->server)
        bucket_of(request->server, request->connection->address)->tries -= 1;
}

/* The text of a client's address; of IPv6 its first 64 bits, which one client may have whole. */
static void write_address(const struct sockaddr *address, char text[INET6_ADDRSTRLEN])
{
    if (address && address->sa_family == AF_INET) {
        inet_ntop(AF_INET, &((const struct sockaddr_in *)(const void *)address)->sin_addr, text,
                  INET6_ADDRSTRLEN);
    } else if (address && address->sa_family == AF_INET6) {
        struct in6_addr six = ((const struct sockaddr_in6 *)(const void *)address)->sin6_addr;
        if (IN6_IS_ADDR_V4MAPPED(&six)) {
            inet_ntop(AF_INET, six.s6_addr + 12, text, INET6_ADDRSTRLEN);
            return;
        }
        if (!IN6_IS_ADDR_LOOPBACK(&six))
            memset(six.s6_addr + 8, 0, 8);
        inet_ntop(AF_INET6, &six, text, INET6_ADDRSTRLEN);
    }
}

/* ---- finding the handler ---- */

static void refuse_method(HttpRequest *request, const char *allowed)
{
    g_autofree char *detail = g_strdup_printf("this path takes %s", allowed);
    send_problem(request, MHD_HTTP_METHOD_NOT_ALLOWED, detail, "Allow", allowed);
}

/* Sets the request's route, or refuses the request. */
static bool find_route(HttpServer *server, HttpRequest *request)
{
    g_autoptr(GString) allowed = g_string_new(NULL);
    for (int i = 0; i < server->options.route_count; i++) {
        const struct http_route *route = &server->options.routes[i];
        if (!http_target_matches(&request->target, route->path))
            continue;
        if (strcmp(route->method, http_request_method(request)) == 0) {
            request->route = route;
            return true;
        }
        g_string_append_printf(allowed, "%s%s", allowed->len > 0 ? ", " : "", route->method);
        if (strcmp(route->method, "GET") == 0)
            g_string_append(allowed, ", HEAD");
    }
    if (allowed->len > 0)
        refuse_method(request, allowed->str);
    else
        http_answer_problem(request, MHD_HTTP_NOT_FOUND, "nothing is served at this path");
    return false;
}

struct headers {
    size_t bytes;
    int hosts, lengths, encodings;
};

static enum MHD_Result add_header(void *data, enum MHD_ValueKind kind, const char *name,
                                  const char *value)
{
    struct headers *headers = data;
    (void)kind;
    headers->bytes += strlen(name) + (value ? strlen(value) : 0) + 4;
    headers->hosts += g_ascii_strcasecmp(name, "Host") == 0;
    headers->lengths += g_ascii_strcasecmp(name, "Content-Length") == 0;
    headers->encodings += g_ascii_strcasecmp(name, "Transfer-Encoding") == 0;
    return MHD_YES;
}

/* Looks at a request whose headers are there. Refuses it, or lets its body come. */
static void look_at_headers(HttpServer *server, HttpRequest *request)
{
    struct headers headers = {0};
    const char *const *hosts = server->options.hosts;
    const char *host = http_request_header(request, "Host");
    const char *length = http_request_header(request, "Content-Length");
    MHD_get_connection_values(request->of, MHD_HEADER_KIND, add_header, &headers);
    if (!take_request(server, request->connection->address))
        http_answer_problem(request, MHD_HTTP_TOO_MANY_REQUESTS,
                            "this address asks more often than it may; wait a second");
    else if (headers.bytes > HEADER_BYTES)
        http_answer_problem(request, MHD_HTTP_REQUEST_HEADER_FIELDS_TOO_LARGE,
                            "the headers are longer than %d bytes", HEADER_BYTES);
    else if (headers.hosts > 1 || headers.lengths + headers.encodings > 1)
        /* A proxy in front may read another one of them (RFC 9112, sections 3.2 and 6.3). */
        http_answer_problem(request, MHD_HTTP_BAD_REQUEST,
                            "the headers name several hosts, or several lengths of the body");
    else if (hosts && host && !http_host_fits(host, hosts))
        http_answer_problem(request, MHD_HTTP_MISDIRECTED_REQUEST,
                            "this server is not known by the name '%.80s'; --host NAME adds a name",
                            host);
    else if (request->wrong)
        http_answer_problem(request,
                            strcmp(request->wrong, "the target is too long") == 0
                                ? MHD_HTTP_URI_TOO_LONG
                                : MHD_HTTP_BAD_REQUEST,
                            "%s", request->wrong);
    else if (!find_route(server, request))
        return;
    else if (length && g_ascii_strtoull(length, NULL, 10) > server->options.body_bytes)
        request->is_too_long = true;
    if (request->is_too_long)
        http_answer_problem(request, MHD_HTTP_CONTENT_TOO_LARGE,
                            "the body is longer than %zu bytes", server->options.body_bytes);
}

static void take_body(HttpServer *server, HttpRequest *request, const char *bytes, size_t length)
{
    if (!request->body)
        request->body = g_string_new(NULL);
    if (request->body->len + length > server->options.body_bytes)
        request->is_too_long = true;
    else
        g_string_append_len(request->body, bytes, (gssize)length);
}

static void dispatch(HttpServer *server, HttpRequest *request)
{
    if (request->is_too_long)
        http_answer_problem(request, MHD_HTTP_CONTENT_TOO_LARGE,
                            "the body is longer than %zu bytes", server->options.body_bytes);
    else if (g_queue_get_length(&server->held) >= (guint)server->most)
        http_answer_problem(request, MHD_HTTP_SERVICE_UNAVAILABLE,
                            "too many requests wait for their answers; try again");
    else
        request->route->answer(server->options.data, request);
    g_assert(request->is_answered || request->is_held);
}

/* libmicrohttpd calls this when a request's headers are there, for each part of its body, and when it is whole. */
static enum MHD_Result take_request_part(void *data, struct MHD_Connection *of, const char *path,
                                         const char *method, const char *version,
                                         const char *upload, size_t *upload_length, void **context)
{
    HttpServer *server = data;
    HttpRequest *request = *context;
    (void)of;
    (void)path;
    (void)version;
    if (!request)
        return MHD_NO;
    if (request->is_answered)
        return request->queued;
    if (!request->has_begun) {
        request->has_begun = true;
        request->method = method;
        look_at_headers(server, request);
    } else if (*upload_length > 0) {
        take_body(server, request, upload, *upload_length);
        *upload_length = 0;
    } else {
        dispatch(server, request);
    }
    return request->is_answered ? request->queued : MHD_YES;
}

static struct connection *connection_of(struct MHD_Connection *of)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(of, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    return info ? info->socket_context : NULL;
}

/* A request begins: libmicrohttpd has read its first line. */
static void *begin_request(void *data, const char *uri, struct MHD_Connection *of)
{
    HttpRequest *request = g_new0(struct http_request, 1);
    request->references = 1;
    request->server = data;
    request->of = of;
    request->connection = connection_of(of);
    request->wrong = http_target_parse(uri, &request->target);
    return request;
}

static void request_ended(void *data, struct MHD_Connection *of, void **context,
                          enum MHD_RequestTerminationCode code)
{
    HttpServer *server = data;
    HttpRequest *request = *context;
    (void)of;
    (void)code;
    if (!request)
        return;
    *context = NULL;
    if (request->is_held) {
        request->is_held = false;
        g_queue_remove(&server->held, request);
    }
    leave_stream(server, request);
    /* The next request on the connection gets a time of its own. */
    if (!server->closing && request->connection)
        move_connection(request->connection, &server->connections, CONNECTION_SECONDS);
    request->server = NULL;
    request->of = NULL;
    request->connection = NULL;
    request_unref(request);
}

/* ---- connections ---- */

/* libmicrohttpd sees the end of a socket that is shut down, and closes it in its own order. */
static void end_connection(struct connection *connection)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection->of, MHD_CONNECTION_INFO_CONNECTION_FD);
    g_queue_remove(connection->queue, connection);
    connection->queue = NULL;
    if (info)
        shutdown(info->connect_fd, SHUT_RDWR);
}

/* libmicrohttpd accepts no connection while it is full. */
static void connection_changed(void *data, struct MHD_Connection *of, void **context,
                               enum MHD_ConnectionNotificationCode code)
{
    HttpServer *server = data;
    if (code == MHD_CONNECTION_NOTIFY_STARTED) {
        struct connection *connection = g_new0(struct connection, 1);
        const union MHD_ConnectionInfo *info =
            MHD_get_connection_info(of, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
        connection->of = of;
        connection->server = server;
        write_address(info ? info->client_addr : NULL, connection->address);
        move_connection(connection, &server->connections, CONNECTION_SECONDS);
        *context = connection;
        server->counts.connections++;
        if (g_queue_get_length(&server->connections) > (guint)server->most) {
            end_connection(g_queue_peek_head(&server->connections));
            server->closed++;
            server->counts.closed++;
        }
    } else if (*context) {
        struct connection *connection = *context;
        if (connection->queue)
            g_queue_remove(connection->queue, connection);
        server->counts.connections--;
        g_free(connection);
        *context = NULL;
    }
}

static void end_slow_connections(HttpServer *server)
{
    gint64 now = g_get_monotonic_time();
    struct connection *oldest;
    while ((oldest = g_queue_peek_head(&server->connections)) && oldest->until_us <= now)
        end_connection(oldest);
    for (GList *at = server->transfers.head; at;) {
        struct connection *transfer = at->data;
        at = at->next;
        if (transfer->until_us <= now)
            end_connection(transfer);
    }
}

/* ---- the loop ---- */

static void readable(uv_poll_t *poll, int status, int events);

/* Also without connections: a server that was full accepts again in its next run, and a busy descriptor
 * can keep the timer from running. */
static void run(HttpServer *server)
{
    MHD_UNSIGNED_LONG_LONG left_ms;
    server->is_running = true;
    server->woken = false;
    end_slow_connections(server);
    MHD_run(server->daemon);
    server->is_running = false;
    server->is_pausing = server->closed >= server->most / PAUSE_SHARE;
    if (server->is_pausing) {
        server->closed = 0;
        uv_poll_stop(server->poll);
        uv_timer_start(server->timer, timer_due, PAUSE_MS, 0);
        return;
    }
    if (MHD_get_timeout(server->daemon, &left_ms) != MHD_YES || left_ms > LOOK_MS)
        left_ms = LOOK_MS;
    uv_timer_start(server->timer, timer_due, server->woken ? 0 : left_ms, 0);
}

static void timer_due(uv_timer_t *timer)
{
    HttpServer *server = timer->data;
    uv_poll_start(server->poll, UV_READABLE, readable);
    run(server);
}

static void readable(uv_poll_t *poll, int status, int events)
{
    (void)status;
    (void)events;
    run(poll->data);
}

static void handle_closed(uv_handle_t *handle)
{
    g_free(handle);
}

/* These handles do not keep the loop running. */
static bool watch(HttpServer *server, uv_loop_t *loop, GError **error)
{
    const union MHD_DaemonInfo *info =
        MHD_get_daemon_info(server->daemon, MHD_DAEMON_INFO_EPOLL_FD);
    uv_poll_t *poll = g_new0(uv_poll_t, 1);
    int status = info ? uv_poll_init(loop, poll, info->epoll_fd) : UV_ENOSYS;
    if (status != 0) {
        g_free(poll);
        g_set_error(error, HTTP_ERROR, HTTP_ERROR_LISTEN, "cannot poll the HTTP server: %s",
                    uv_strerror(status));
        return false;
    }
    server->poll = poll;
    server->timer = g_new0(uv_timer_t, 1);
    uv_timer_init(loop, server->timer);
    server->poll->data = server->timer->data = server;
    uv_poll_start(server->poll, UV_READABLE, readable);
    uv_unref((uv_handle_t *)server->poll);
    uv_unref((uv_handle_t *)server->timer);
    return true;
}

/* ---- listening ---- */

static void set_place_error(GError **error, const char *place, const char *why)
{
    g_set_error(error, HTTP_ERROR, HTTP_ERROR_LISTEN,
                "cannot listen on '%s': %s; it takes PORT, ADDRESS:PORT or [IPV6]:PORT", place,
                why);
}

/* Splits "[::1]:9464" into "::1" and "9464". */
static struct addrinfo *find_address(const char *place, GError **error)
{
    const char *colon = strrchr(place, ':');
    g_autofree char *host =
        colon ? g_strndup(place, (gsize)(colon - place)) : g_strdup("127.0.0.1");
    const char *port = colon ? colon + 1 : place;
    struct addrinfo *found = NULL;
    struct addrinfo wanted = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV};
    size_t length = strlen(host);
    if (length > 2 && host[0] == '[' && host[length - 1] == ']') {
        host[length - 1] = '\0';
        memmove(host, host + 1, length - 1);
    }
    if (!g_ascii_string_to_unsigned(port, 10, 0, 65535, NULL, NULL) || *host == '\0') {
        set_place_error(error, place, "it has no address and port");
        return NULL;
    }
    int status = getaddrinfo(host, port, &wanted, &found);
    if (status == 0)
        return found;
    set_place_error(error, place, gai_strerror(status));
    return NULL;
}

static int listen_on(const struct addrinfo *address)
{
    int yes = 1;
    int fd = socket(address->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return -1;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    if (bind(fd, address->ai_addr, address->ai_addrlen) == 0 && listen(fd, SOMAXCONN) == 0)
        return fd;
    int why = errno;
    close(fd);
    errno = why;
    return -1;
}

static bool is_loopback_address(const struct addrinfo *address)
{
    if (address->ai_family == AF_INET) {
        const struct sockaddr_in *four = (const void *)address->ai_addr;
        return ntohl(four->sin_addr.s_addr) >> 24 == 127;
    }
    const struct sockaddr_in6 *six = (const void *)address->ai_addr;
    return address->ai_family == AF_INET6 && IN6_IS_ADDR_LOOPBACK(&six->sin6_addr);
}

static char *url_of(int fd)
{
    struct sockaddr_storage address = {0};
    socklen_t length = sizeof address;
    char host[NI_MAXHOST], port[NI_MAXSERV];
    if (getsockname(fd, (struct sockaddr *)&address, &length) != 0 ||
        getnameinfo((struct sockaddr *)&address, length, host, sizeof host, port, sizeof port,
                    NI_NUMERICHOST | NI_NUMERICSERV) != 0)
        return g_strdup("http://?");
    bool six = address.ss_family == AF_INET6;
    return g_strdup_printf("http://%s%s%s:%s", six ? "[" : "", host, six ? "]" : "", port);
}

/* Without free file descriptors the server could accept nothing, and the process could not work. */
static void bound_by_files(HttpServer *server)
{
    struct rlimit files;
    rlim_t most = getrlimit(RLIMIT_NOFILE, &files) == 0 ? files.rlim_cur : 0;
    server->most =
        (int)CLAMP(most / FILES_SHARE, CONNECTIONS_LEAST,
                   (rlim_t)CLAMP(server->options.connections, CONNECTIONS_LEAST, CONNECTIONS_MOST));
    server->options.listeners =
        (int)MIN((rlim_t)MAX(server->options.listeners, 0), most / LISTENERS_SHARE);
}

static struct MHD_Daemon *start(HttpServer *server, int fd)
{
    int most = server->most;
    return MHD_start_daemon(
        MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME, 0, NULL, NULL, take_request_part, server,
        MHD_OPTION_LISTEN_SOCKET, fd, MHD_OPTION_CONNECTION_LIMIT,
        (unsigned)(2 * most + 2 * most / PAUSE_SHARE + server->options.listeners + TRANSFERS_MOST),
        MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)IDLE_SECONDS, MHD_OPTION_CONNECTION_MEMORY_LIMIT,
        (size_t)CONNECTION_BYTES, MHD_OPTION_NOTIFY_CONNECTION, connection_changed, server,
        MHD_OPTION_URI_LOG_CALLBACK, begin_request, server, MHD_OPTION_NOTIFY_COMPLETED,
        request_ended, server, MHD_OPTION_END);
}

HttpServer *http_server_open(uv_loop_t *loop, const char *place, const struct http_options *options,
                             GError **error)
{
    struct addrinfo *address = find_address(place, error);
    if (!address)
        return NULL;
    int fd = listen_on(address);
    bool is_loopback = is_loopback_address(address);
    freeaddrinfo(address);
    if (fd < 0) {
        set_place_error(error, place, g_strerror(errno));
        return NULL;
    }
    HttpServer *server = g_new0(struct http_server, 1);
    server->options = *options;
    server->options.routes =
        g_memdup2(options->routes, (gsize)options->route_count * sizeof *options->routes);
    server->url = url_of(fd);
    server->is_loopback = is_loopback;
    server->buckets = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
    bound_by_files(server);
    server->daemon = start(server, fd);
    if (!server->daemon) {
        close(fd);
        set_place_error(error, place, "the HTTP server does not start");
    } else if (watch(server, loop, error)) {
        return server;
    }
    http_server_close(server);
    return NULL;
}

void http_server_close(HttpServer *server)
{
    HttpRequest *request;
    if (!server)
        return;
    /* Stop polling before the descriptor is closed. */
    if (server->poll) {
        uv_close((uv_handle_t *)server->poll, handle_closed);
        uv_close((uv_handle_t *)server->timer, handle_closed);
        server->timer = NULL;
    }
    /* The daemon stops only without suspended connections. */
    while ((request = g_queue_peek_head(&server->held)))
        http_answer_problem(request, MHD_HTTP_SERVICE_UNAVAILABLE, "the server stops");
    for (GList *at = server->streams.head; at; at = at->next)
        http_stream_end(at->data);
    if (server->daemon) {
        MHD_run(server->daemon);
        server->closing = true;
        MHD_stop_daemon(server->daemon);
    }
    g_queue_clear(&server->connections);
    g_queue_clear(&server->transfers);
    g_hash_table_destroy(server->buckets);
    g_free((gpointer)server->options.routes);
    g_free(server->url);
    g_free(server);
}

const char *http_server_url(const HttpServer *server)
{
    return server->url;
}

bool http_server_is_loopback(const HttpServer *server)
{
    return server->is_loopback;
}

void http_server_counts(const HttpServer *server, struct http_counts *counts)
{
    *counts = server->counts;
}
