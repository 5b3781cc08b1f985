/* The HTTP server: routes, bodies, answers that come later, keep-alive, and streams whose clients come, lag and go. */
#include "schema/monitor/http_server.h"

#include "tests/support/patience.h"

#include <arpa/inet.h>
#include <errno.h>
#include <locale.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static uv_loop_t loop;
static HttpServer *server;
static int port;
static HttpRequest *held;      /* the request that is answered later */
static HttpStream *streams[8]; /* those that are open */
static int opened, closed;

/* ---- handlers ---- */

static void answer_text(HttpRequest *request, const char *text)
{
    g_autoptr(GBytes) body = g_bytes_new(text, strlen(text));
    http_answer(request, &(struct http_answer){.status = 200, .type = "text/plain", .body = body});
}

static void echo(void *data, HttpRequest *request)
{
    size_t length;
    (void)data;
    const char *body = http_request_body(request, &length);
    g_autofree char *text = g_strdup_printf("%s %s %.*s", http_request_named(request, "name"),
                                            http_request_address(request), (int)length, body);
    answer_text(request, text);
}

static void later(void *data, HttpRequest *request)
{
    (void)data;
    held = http_request_hold(request);
}

static void stream_closed(void *data)
{
    streams[GPOINTER_TO_INT(data)] = NULL;
    closed++;
}

static void stream(void *data, HttpRequest *request)
{
    (void)data;
    streams[opened] =
        http_stream_begin(request, "text/event-stream", stream_closed, GINT_TO_POINTER(opened));
    opened += streams[opened] != NULL;
}

/* ---- the server and its clients ---- */

static void tick(uv_timer_t *timer)
{
    (void)timer;
}

static uv_timer_t timer;

static void open_server(int listeners)
{
    static const struct http_route routes[] = {{"POST", "/echo/{name}", echo, NULL},
                                               {"GET", "/later", later, NULL},
                                               {"GET", "/stream", stream, NULL}};
    const struct http_options options = {.routes = routes,
                                         .route_count = G_N_ELEMENTS(routes),
                                         .keep_alive = true,
                                         .connections = 64,
                                         .listeners = listeners,
                                         .body_bytes = 100};
    g_autoptr(GError) error = NULL;
    opened = closed = 0;
    uv_loop_init(&loop);
    uv_timer_init(&loop, &timer);
    uv_timer_start(&timer, tick, 10, 10);
    server = http_server_open(&loop, "0", &options, &error);
    g_assert_no_error(error);
    port = atoi(strrchr(http_server_url(server), ':') + 1);
}

static void close_server(void)
{
    http_server_close(server);
    uv_close((uv_handle_t *)&timer, NULL);
    uv_run(&loop, UV_RUN_DEFAULT);
    g_assert_cmpint(uv_loop_close(&loop), ==, 0);
}

static int send_request(const char *text)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    g_assert_cmpint(connect(fd, (struct sockaddr *)&address, sizeof address), ==, 0);
    g_assert_cmpint(send(fd, text, strlen(text), MSG_NOSIGNAL), ==, (ssize_t)strlen(text));
    return fd;
}

/* Runs the loop until the client has read the text, or its connection ended. Returns what it read; free it. */
static char *hear(int fd, const char *wanted)
{
    gint64 deadline = patience_end();
    GString *text = g_string_new(NULL);
    while (g_get_monotonic_time() < deadline && !(wanted && strstr(text->str, wanted))) {
        char block[4096];
        ssize_t got = recv(fd, block, sizeof block, MSG_DONTWAIT);
        if (got > 0)
            g_string_append_len(text, block, got);
        else if (got == 0 || (errno != EAGAIN && errno != EWOULDBLOCK))
            break;
        else
            uv_run(&loop, UV_RUN_ONCE);
    }
    return g_string_free(text, FALSE);
}

#define HEADERS "Host: x\r\n"

static void assert_heard(const char *request, const char *wanted)
{
    int fd = send_request(request);
    g_autofree char *text = hear(fd, wanted);
    g_assert_nonnull(strstr(text, wanted));
    close(fd);
}

/* ---- tests ---- */

static void test_body_reaches_its_handler(void)
{
    open_server(0);
    assert_heard("POST /echo/a%20b HTTP/1.1\r\n" HEADERS "Content-Length: 5\r\n\r\nhello",
                 "a b 127.0.0.1 hello");
    assert_heard("POST /echo/x HTTP/1.1\r\n" HEADERS
                 "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n",
                 "x 127.0.0.1 abcde");
    close_server();
}

static void test_what_is_refused_says_why(void)
{
    static const char *const cases[][2] = {
        {"GET /none HTTP/1.1\r\n" HEADERS "\r\n", "HTTP/1.1 404 "},
        {"GET /echo/x HTTP/1.1\r\n" HEADERS "\r\n", "Allow: POST\r\n"},
        {"GET /%zz HTTP/1.1\r\n" HEADERS "\r\n", "HTTP/1.1 400 "},
        {"POST /echo/x HTTP/1.1\r\n" HEADERS "Content-Length: 101\r\n\r\n", "HTTP/1.1 413 "},
        {"POST /echo/x HTTP/1.1\r\n" HEADERS HEADERS "\r\n", "HTTP/1.1 400 "},
        {"POST /echo/x HTTP/1.1\r\n" HEADERS "Content-Length: 1\r\nContent-Length: 5\r\n\r\nabcde",
         "HTTP/1.1 400 "},
        {"POST /echo/x HTTP/1.1\r\n" HEADERS
         "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
         "HTTP/1.1 400 "},
    };
    open_server(0);
    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++)
        assert_heard(cases[i][0], cases[i][1]);
    /* Chunks have no length in front. */
    g_autofree char *many = g_strnfill(101, 'x');
    g_autofree char *chunked =
        g_strdup_printf("POST /echo/x HTTP/1.1\r\n" HEADERS
                        "Transfer-Encoding: chunked\r\n\r\n65\r\n%s\r\n0\r\n\r\n",
                        many);
    assert_heard(chunked, "HTTP/1.1 413 ");
    close_server();
}

static void test_connection_brings_several_requests(void)
{
    open_server(0);
    int fd = send_request("POST /echo/1 HTTP/1.1\r\n" HEADERS "Content-Length: 1\r\n\r\na"
                          "POST /echo/2 HTTP/1.1\r\n" HEADERS "Content-Length: 1\r\n\r\nb");
    g_autofree char *text = hear(fd, "2 127.0.0.1 b");
    g_assert_nonnull(strstr(text, "1 127.0.0.1 a"));
    g_assert_nonnull(strstr(text, "2 127.0.0.1 b"));
    close(fd);
    close_server();
}

static void run_until_held(void)
{
    gint64 deadline = patience_end();
    while (!held && g_get_monotonic_time() < deadline)
        uv_run(&loop, UV_RUN_ONCE);
    g_assert_nonnull(held);
}

static void answer_held(void)
{
    answer_text(held, "at last");
    http_request_release(g_steal_pointer(&held));
}

static void test_answer_may_come_later(void)
{
    open_server(0);
    int fd = send_request("GET /later HTTP/1.1\r\n" HEADERS "\r\n");
    run_until_held();
    answer_held();
    g_autofree char *text = hear(fd, "at last");
    g_assert_nonnull(strstr(text, "at last"));
    close(fd);
    close_server();
}

/* The loop looks at an answer at once, and not when the server's timer is due the next time. */
static void test_answer_does_not_wait_for_a_timer(void)
{
    open_server(0);
    int fd = send_request("GET /later HTTP/1.1\r\n" HEADERS "\r\n");
    run_until_held();
    uv_timer_start(&timer, tick, 60000, 10);
    answer_held();
    g_assert_cmpint(uv_backend_timeout(&loop), ==, 0);
    uv_timer_start(&timer, tick, 10, 10);
    g_autofree char *text = hear(fd, "at last");
    g_assert_nonnull(strstr(text, "at last"));
    close(fd);
    close_server();
}

static void test_client_that_left_gets_no_answer(void)
{
    open_server(0);
    close(send_request("GET /later HTTP/1.1\r\n" HEADERS "\r\n"));
    run_until_held();
    answer_held();
    assert_heard("POST /echo/x HTTP/1.1\r\n" HEADERS "Content-Length: 1\r\n\r\na", "x 127.0.0.1 a");
    close_server();
}

static void test_server_ends_with_requests_that_wait(void)
{
    open_server(4);
    int waiting = send_request("GET /later HTTP/1.1\r\n" HEADERS "\r\n");
    run_until_held();
    int listening = send_request("GET /stream HTTP/1.1\r\n" HEADERS "\r\n");
    g_autofree char *head = hear(listening, "\r\n\r\n");
    g_assert_nonnull(strstr(head, "200 OK"));
    close_server();
    g_assert_cmpint(closed, ==, 1);
    answer_held(); /* nobody is there any more */
    close(waiting);
    close(listening);
}

static void test_stream_reaches_all_who_listen(void)
{
    int fds[3];
    open_server(2);
    for (int i = 0; i < 3; i++)
        fds[i] = send_request("GET /stream HTTP/1.1\r\n" HEADERS "\r\n");
    g_autofree char *third = hear(fds[2], "\r\n\r\n");
    gint64 deadline = patience_end();
    while (opened < 2 && g_get_monotonic_time() < deadline)
        uv_run(&loop, UV_RUN_ONCE);
    g_assert_nonnull(strstr(third, "HTTP/1.1 503 "));
    g_autoptr(GBytes) event = g_bytes_new_static("data: 1\n\n", 9);
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < 2; i++)
            http_stream_send(streams[i], event);
        for (int i = 0; i < 2; i++) {
            g_autofree char *text = hear(fds[i], "data: 1\n\n");
            g_assert_nonnull(strstr(text, "data: 1\n\n"));
        }
    }
    /* One leaves: the server learns that when it sends. */
    close(fds[0]);
    deadline = patience_end();
    while (closed == 0 && g_get_monotonic_time() < deadline) {
        if (streams[0])
            http_stream_send(streams[0], event);
        uv_run(&loop, UV_RUN_ONCE);
    }
    g_assert_cmpint(closed, ==, 1);
    struct http_counts counts;
    http_server_counts(server, &counts);
    g_assert_cmpint(counts.listeners, ==, 1);
    close(fds[1]);
    close(fds[2]);
    close_server();
}

/* A large farm's reading comes in one piece, before any client can read. */
static void test_listener_that_reads_gets_a_megabyte_at_once(void)
{
    open_server(1);
    int fd = send_request("GET /stream HTTP/1.1\r\n" HEADERS "\r\n");
    g_autofree char *head = hear(fd, "\r\n\r\n");
    g_assert_nonnull(head);
    g_autofree char *many = g_strnfill(65536, 'x');
    g_autoptr(GBytes) event = g_bytes_new(many, 65536);
    g_autoptr(GBytes) end = g_bytes_new("the end", 7);
    for (int i = 0; i < 16; i++)
        http_stream_send(streams[0], event);
    http_stream_send(streams[0], end);
    g_autofree char *text = hear(fd, "the end");
    g_assert_nonnull(strstr(text, "the end"));
    close(fd);
    close_server();
}

static void test_listener_that_does_not_read_is_disconnected(void)
{
    open_server(1);
    int fd = send_request("GET /stream HTTP/1.1\r\n" HEADERS "\r\n");
    g_autofree char *head = hear(fd, "\r\n\r\n");
    g_assert_nonnull(strstr(head, "200 OK"));
    g_autofree char *many = g_strnfill(65536, 'x');
    g_autoptr(GBytes) event = g_bytes_new(many, 65536);
    gint64 deadline = patience_end();
    struct http_counts counts = {0};
    while (counts.slow == 0 && g_get_monotonic_time() < deadline) {
        if (streams[0])
            http_stream_send(streams[0], event);
        uv_run(&loop, UV_RUN_NOWAIT);
        http_server_counts(server, &counts);
    }
    g_assert_cmpuint(counts.slow, ==, 1);
    close(fd);
    close_server();
}

int main(int argc, char **argv)
{
    setlocale(LC_ALL, "C");
    signal(SIGPIPE, SIG_IGN);
    g_test_init(&argc, &argv, NULL);
    g_test_set_nonfatal_assertions();
    g_test_add_func("/http_server/body_reaches_its_handler", test_body_reaches_its_handler);
    g_test_add_func("/http_server/what_is_refused_says_why", test_what_is_refused_says_why);
    g_test_add_func("/http_server/connection_brings_several_requests",
                    test_connection_brings_several_requests);
    g_test_add_func("/http_server/answer_may_come_later", test_answer_may_come_later);
    g_test_add_func("/http_server/answer_does_not_wait_for_a_timer",
                    test_answer_does_not_wait_for_a_timer);
    g_test_add_func("/http_server/client_that_left_gets_no_answer",
                    test_client_that_left_gets_no_answer);
    g_test_add_func("/http_server/server_ends_with_requests_that_wait",
                    test_server_ends_with_requests_that_wait);
    g_test_add_func("/http_server/stream_reaches_all_who_listen",
                    test_stream_reaches_all_who_listen);
    g_test_add_func("/http_server/listener_that_reads_gets_a_megabyte_at_once",
                    test_listener_that_reads_gets_a_megabyte_at_once);
    g_test_add_func("/http_server/listener_that_does_not_read_is_disconnected",
                    test_listener_that_does_not_read_is_disconnected);
    return g_test_run();
}
