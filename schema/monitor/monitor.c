/*
 * An HTTP server by libmicrohttpd without its own thread: the loop polls its
 * epoll descriptor, and a timer runs it when a connection times out.
 *
 * Clients may open connections and send nothing. Therefore the number of
 * connections is bounded, the oldest unfinished one is closed for a newer one,
 * and after a share of such closings the server pauses: a client that sends its
 * request at once is answered before its turn to be closed comes.
 */
#include "schema/monitor/monitor.h"

#include <errno.h>
#include <microhttpd.h>
#include <netdb.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#define CONNECTIONS        256
#define CONNECTIONS_LEAST  16
#define FILES_SHARE        4 /* connections may use 1/4 of the files that the process may open */
/* Clients that reopen closed connections would keep the loop busy. So the server pauses after this share
 * of its connections: a new connection has at least 4 * 10 ms for its request. */
#define PAUSE_SHARE        4
#define PAUSE_MS           10
#define CONNECTION_BYTES   16384
#define IDLE_SECONDS       5
#define CONNECTION_SECONDS 15 /* most seconds of a connection, even if its bytes keep coming */
#define LOOK_MS            1000

G_DEFINE_QUARK(skipjack - monitor - error - quark, monitor_error)

struct monitor {
    struct monitor_callbacks callbacks;
    void *data;
    char *url;
    struct MHD_Daemon *daemon;
    /* struct connection *: open connections, the oldest first, without those that were shut down. */
    GQueue connections;
    int most;   /* most connections at once */
    int closed; /* connections that were closed for newer ones since the last pause */
    uv_poll_t *poll;
    uv_timer_t *timer;
};

struct connection {
    struct MHD_Connection *of;
    gint64 until_us;
};

/* ---- answering ---- */

static enum MHD_Result send_text(struct MHD_Connection *connection, unsigned status,
                                 const char *type, GString *text)
{
    gsize length = text->len;
    struct MHD_Response *response =
        MHD_create_response_from_buffer(length, g_string_free(text, FALSE), MHD_RESPMEM_MUST_FREE);
    if (!response)
        return MHD_NO;
    MHD_add_response_header(response, "Content-Type", type);
    MHD_add_response_header(response, "Connection", "close");
    MHD_add_response_header(response, "Cache-Control", "no-store");
    if (status == MHD_HTTP_METHOD_NOT_ALLOWED)
        MHD_add_response_header(response, "Allow", "GET, HEAD");
    enum MHD_Result queued = MHD_queue_response(connection, status, response);
    MHD_destroy_response(response);
    return queued;
}

static enum MHD_Result send_metrics(const Monitor *monitor, struct MHD_Connection *connection)
{
    GString *text = g_string_new(NULL);
    monitor->callbacks.metrics(monitor->data, text);
    return send_text(connection, MHD_HTTP_OK, "text/plain; version=0.0.4; charset=utf-8", text);
}

static enum MHD_Result send_health(const Monitor *monitor, struct MHD_Connection *connection)
{
    GString *text = g_string_new(NULL);
    monitor->callbacks.health(monitor->data, text);
    bool well = text->len == 0;
    if (well)
        g_string_append(text, "ok\n");
    return send_text(connection, well ? MHD_HTTP_OK : MHD_HTTP_SERVICE_UNAVAILABLE,
                     "text/plain; charset=utf-8", text);
}

/* The first call for a request has its headers only. A body is refused unread, and the connection closes. */
static enum MHD_Result answer(void *data, struct MHD_Connection *connection, const char *path,
                              const char *method, const char *version, const char *upload,
                              size_t *upload_length, void **request)
{
    const Monitor *monitor = data;
    (void)version;
    (void)upload;
    (void)upload_length;
    (void)request;
    if (strcmp(method, "GET") != 0 && strcmp(method, "HEAD") != 0)
        return send_text(connection, MHD_HTTP_METHOD_NOT_ALLOWED, "text/plain; charset=utf-8",
                         g_string_new("only GET is served here\n"));
    if (strcmp(path, "/metrics") == 0)
        return send_metrics(monitor, connection);
    if (strcmp(path, "/health") == 0)
        return send_health(monitor, connection);
    return send_text(connection, MHD_HTTP_NOT_FOUND, "text/plain; charset=utf-8",
                     g_string_new("only /metrics and /health are served here\n"));
}

/* ---- connections ---- */

/* libmicrohttpd sees the end of a socket that is shut down, and closes it in its own order. */
static void end_oldest(Monitor *monitor)
{
    const struct connection *oldest = g_queue_pop_head(&monitor->connections);
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(oldest->of, MHD_CONNECTION_INFO_CONNECTION_FD);
    if (info)
        shutdown(info->connect_fd, SHUT_RDWR);
}

/* libmicrohttpd accepts no connection while it is full. */
static void connection_changed(void *data, struct MHD_Connection *of, void **context,
                               enum MHD_ConnectionNotificationCode code)
{
    Monitor *monitor = data;
    if (code == MHD_CONNECTION_NOTIFY_STARTED) {
        struct connection *connection = g_new0(struct connection, 1);
        connection->of = of;
        connection->until_us = g_get_monotonic_time() + CONNECTION_SECONDS * G_USEC_PER_SEC;
        g_queue_push_tail(&monitor->connections, connection);
        *context = connection;
        if (g_queue_get_length(&monitor->connections) > (guint)monitor->most) {
            end_oldest(monitor);
            monitor->closed++;
        }
    } else {
        g_queue_remove(&monitor->connections, *context);
        g_free(*context);
    }
}

static void end_slow_connections(Monitor *monitor)
{
    const struct connection *oldest;
    while ((oldest = g_queue_peek_head(&monitor->connections)) &&
           oldest->until_us <= g_get_monotonic_time())
        end_oldest(monitor);
}

/* ---- the loop ---- */

static void timer_due(uv_timer_t *timer);
static void readable(uv_poll_t *poll, int status, int events);

/* Also without connections: a server that was full accepts again in its next run, and a busy descriptor
 * can keep the timer from running. */
static void run(Monitor *monitor)
{
    MHD_UNSIGNED_LONG_LONG left_ms;
    end_slow_connections(monitor);
    MHD_run(monitor->daemon);
    if (monitor->closed >= monitor->most / PAUSE_SHARE) {
        monitor->closed = 0;
        uv_poll_stop(monitor->poll);
        uv_timer_start(monitor->timer, timer_due, PAUSE_MS, 0);
        return;
    }
    if (MHD_get_timeout(monitor->daemon, &left_ms) != MHD_YES || left_ms > LOOK_MS)
        left_ms = LOOK_MS;
    uv_timer_start(monitor->timer, timer_due, left_ms, 0);
}

static void timer_due(uv_timer_t *timer)
{
    Monitor *monitor = timer->data;
    uv_poll_start(monitor->poll, UV_READABLE, readable);
    run(monitor);
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
static bool watch(Monitor *monitor, uv_loop_t *loop, GError **error)
{
    const union MHD_DaemonInfo *info =
        MHD_get_daemon_info(monitor->daemon, MHD_DAEMON_INFO_EPOLL_FD);
    uv_poll_t *poll = g_new0(uv_poll_t, 1);
    int status = info ? uv_poll_init(loop, poll, info->epoll_fd) : UV_ENOSYS;
    if (status != 0) {
        g_free(poll);
        g_set_error(error, MONITOR_ERROR, MONITOR_ERROR_LISTEN, "cannot poll the HTTP server: %s",
                    uv_strerror(status));
        return false;
    }
    monitor->poll = poll;
    monitor->timer = g_new0(uv_timer_t, 1);
    uv_timer_init(loop, monitor->timer);
    monitor->poll->data = monitor->timer->data = monitor;
    uv_poll_start(monitor->poll, UV_READABLE, readable);
    uv_unref((uv_handle_t *)monitor->poll);
    uv_unref((uv_handle_t *)monitor->timer);
    return true;
}

/* ---- listening ---- */

static void set_place_error(GError **error, const char *place, const char *why)
{
    g_set_error(error, MONITOR_ERROR, MONITOR_ERROR_LISTEN,
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
static int most_connections(void)
{
    struct rlimit files;
    if (getrlimit(RLIMIT_NOFILE, &files) != 0)
        return CONNECTIONS_LEAST;
    return (int)CLAMP(files.rlim_cur / FILES_SHARE, CONNECTIONS_LEAST, CONNECTIONS);
}

static struct MHD_Daemon *start(Monitor *monitor, int fd)
{
    int most = monitor->most;
    return MHD_start_daemon(
        MHD_USE_EPOLL, 0, NULL, NULL, answer, monitor, MHD_OPTION_LISTEN_SOCKET, fd,
        MHD_OPTION_CONNECTION_LIMIT, (unsigned)(most + 2 * most / PAUSE_SHARE),
        MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)IDLE_SECONDS, MHD_OPTION_CONNECTION_MEMORY_LIMIT,
        (size_t)CONNECTION_BYTES, MHD_OPTION_NOTIFY_CONNECTION, connection_changed, monitor,
        MHD_OPTION_END);
}

Monitor *monitor_open(uv_loop_t *loop, const char *place, const struct monitor_callbacks *callbacks,
                      void *data, GError **error)
{
    struct addrinfo *address = find_address(place, error);
    if (!address)
        return NULL;
    int fd = listen_on(address);
    freeaddrinfo(address);
    if (fd < 0) {
        set_place_error(error, place, g_strerror(errno));
        return NULL;
    }
    Monitor *monitor = g_new0(struct monitor, 1);
    monitor->callbacks = *callbacks;
    monitor->data = data;
    monitor->url = url_of(fd);
    g_queue_init(&monitor->connections);
    monitor->most = most_connections();
    monitor->daemon = start(monitor, fd);
    if (!monitor->daemon) {
        close(fd);
        set_place_error(error, place, "the HTTP server does not start");
    } else if (watch(monitor, loop, error)) {
        return monitor;
    }
    monitor_close(monitor);
    return NULL;
}

void monitor_close(Monitor *monitor)
{
    if (!monitor)
        return;
    /* Stop polling before the descriptor is closed. */
    if (monitor->poll) {
        uv_close((uv_handle_t *)monitor->poll, handle_closed);
        uv_close((uv_handle_t *)monitor->timer, handle_closed);
    }
    if (monitor->daemon)
        MHD_stop_daemon(monitor->daemon);
    g_free(monitor->url);
    g_free(monitor);
}

const char *monitor_url(const Monitor *monitor)
{
    return monitor->url;
}
