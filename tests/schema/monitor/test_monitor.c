/* The small HTTP server among clients that open connections and finish no request. */
#include "schema/monitor/monitor.h"

#include "tests/support/patience.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <locale.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define ATTACKERS       4
#define HELD            100 /* sockets of each attacking client: together more than the server's limit */
#define REQUESTS        20
/* the attacking child exits after this time even if the test was killed */
#define ATTACK_SECONDS  400
#define UNANSWERED_MOST 2 /* the client gives up after this many requests without an answer */

static uv_loop_t loop;
static int port;

static void no_metrics(void *data, GString *text)
{
    (void)data;
    g_string_append(text, "# none\n");
}

static void well(void *data, GString *reasons)
{
    (void)data;
    (void)reasons;
}

static int connect_to_server(int flags)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | flags, 0);
    if (fd >= 0 && connect(fd, (struct sockaddr *)&address, sizeof address) != 0 &&
        errno != EINPROGRESS) {
        close(fd);
        fd = -1;
    }
    return fd;
}

/* ---- in children ---- */

static void die_with_the_test(void)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    alarm(ATTACK_SECONDS);
}

static void send_more(int fd, const char *bytes)
{
    /* Bytes that the socket does not take now are sent the next time; poll() shows a closed connection. */
    if (send(fd, bytes, strlen(bytes), MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
        return;
}

static void open_half(struct pollfd *one)
{
    *one = (struct pollfd){.fd = connect_to_server(SOCK_NONBLOCK), .events = POLLIN};
    if (one->fd >= 0)
        send_more(one->fd, "GET /health HTTP/1.1\r\nHost: ");
}

/* Sends a byte now and then, and replaces each connection that the server closes. */
static void attack(void)
{
    struct pollfd sockets[HELD];
    die_with_the_test();
    for (int i = 0; i < HELD; i++)
        open_half(&sockets[i]);
    for (;;) {
        bool is_idle = poll(sockets, HELD, 100) == 0;
        for (int i = 0; i < HELD; i++) {
            if (sockets[i].fd >= 0 && sockets[i].revents == 0) {
                if (is_idle)
                    send_more(sockets[i].fd, "x");
                continue;
            }
            if (sockets[i].fd >= 0)
                close(sockets[i].fd);
            open_half(&sockets[i]);
        }
    }
}

static bool is_healthy(void)
{
    static const char request[] = "GET /health HTTP/1.1\r\nHost: x\r\n\r\n";
    const struct timeval patience = {.tv_sec = PATIENCE_SECONDS};
    char answer[512] = "";
    size_t length = 0;
    ssize_t got;
    int fd = connect_to_server(0);
    if (fd < 0)
        return false;
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    if (send(fd, request, sizeof request - 1, MSG_NOSIGNAL) != sizeof request - 1) {
        close(fd);
        return false;
    }
    while (length < sizeof answer - 1 &&
           (got = recv(fd, answer + length, sizeof answer - 1 - length, 0)) > 0)
        length += (size_t)got;
    close(fd);
    return g_str_has_prefix(answer, "HTTP/1.1 200 ");
}

/* The exit status is the number of requests without an answer. */
static void ask(void)
{
    int unanswered = 0;
    die_with_the_test();
    for (int i = 0; i < REQUESTS && unanswered < UNANSWERED_MOST; i++)
        unanswered += !is_healthy();
    _exit(unanswered);
}

static pid_t start(void (*body)(void))
{
    fflush(NULL);
    pid_t child = fork();
    g_assert_cmpint(child, >=, 0);
    if (child == 0) {
        body();
        _exit(0);
    }
    return child;
}

/* ---- the server ---- */

static void tick(uv_timer_t *timer)
{
    (void)timer;
}

/* Serves until the child ends. Returns its exit status, -1 if it does not end. */
static int serve_until_ended(pid_t child)
{
    gint64 deadline = patience_end();
    int status = -1;
    while (waitpid(child, &status, WNOHANG) != child) {
        if (g_get_monotonic_time() > deadline) {
            kill(child, SIGKILL);
            waitpid(child, &status, 0);
            return -1;
        }
        uv_run(&loop, UV_RUN_ONCE);
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static HttpServer *open_server(uv_timer_t *timer)
{
    static const struct monitor_callbacks callbacks = {no_metrics, well};
    g_autoptr(GError) error = NULL;
    uv_loop_init(&loop);
    uv_timer_init(&loop, timer);
    uv_timer_start(timer, tick, 10, 10);
    HttpServer *monitor = monitor_open(&loop, "0", &callbacks, NULL, &error);
    g_assert_no_error(error);
    port = atoi(strrchr(http_server_url(monitor), ':') + 1);
    return monitor;
}

static void close_server(HttpServer *monitor, uv_timer_t *timer)
{
    http_server_close(monitor);
    uv_close((uv_handle_t *)timer, NULL);
    uv_run(&loop, UV_RUN_DEFAULT);
    g_assert_cmpint(uv_loop_close(&loop), ==, 0);
}

static void test_new_request_is_served_while_others_reopen(void)
{
    uv_timer_t timer;
    pid_t attackers[ATTACKERS];
    HttpServer *monitor = open_server(&timer);
    g_assert_cmpint(serve_until_ended(start(ask)), ==, 0);
    for (int i = 0; i < ATTACKERS; i++)
        attackers[i] = start(attack);
    /* The clients hold their sockets; the server has closed some. */
    gint64 until = g_get_monotonic_time() + G_USEC_PER_SEC;
    while (g_get_monotonic_time() < until)
        uv_run(&loop, UV_RUN_ONCE);
    g_assert_cmpint(serve_until_ended(start(ask)), ==, 0);
    for (int i = 0; i < ATTACKERS; i++) {
        kill(attackers[i], SIGKILL);
        waitpid(attackers[i], NULL, 0);
    }
    close_server(monitor, &timer);
}

/* With few file descriptors the server leaves some for the process's work and for the next client. */
static void test_few_files_are_not_all_connections(void)
{
    struct rlimit files, few;
    g_assert_cmpint(getrlimit(RLIMIT_NOFILE, &files), ==, 0);
    few = (struct rlimit){.rlim_cur = 200, .rlim_max = files.rlim_max};
    g_assert_cmpint(setrlimit(RLIMIT_NOFILE, &few), ==, 0);
    test_new_request_is_served_while_others_reopen();
    g_assert_cmpint(setrlimit(RLIMIT_NOFILE, &files), ==, 0);
}

/* Only above the limit a connection is closed: the oldest, not the newest. */
static void test_oldest_unfinished_request_is_closed_first(void)
{
    struct rlimit files;
    uv_timer_t timer;
    int sockets[300];
    char byte;
    gint64 deadline = patience_end();
    if (getrlimit(RLIMIT_NOFILE, &files) != 0 || files.rlim_cur < 1000) {
        g_test_skip("it takes 1000 open files (ulimit -n)");
        return;
    }
    HttpServer *monitor = open_server(&timer);
    for (gsize i = 0; i < G_N_ELEMENTS(sockets); i++) {
        sockets[i] = connect_to_server(0);
        g_assert_cmpint(sockets[i], >=, 0);
        uv_run(&loop, UV_RUN_NOWAIT);
    }
    struct pollfd first = {.fd = sockets[0], .events = POLLIN};
    while (poll(&first, 1, 0) == 0 && g_get_monotonic_time() < deadline)
        uv_run(&loop, UV_RUN_ONCE);
    g_assert_cmpint(recv(sockets[0], &byte, 1, MSG_DONTWAIT), ==, 0);
    g_assert_cmpint(recv(sockets[G_N_ELEMENTS(sockets) - 1], &byte, 1, MSG_DONTWAIT), ==, -1);
    g_assert_cmpint(errno, ==, EAGAIN);
    g_assert_cmpint(serve_until_ended(start(ask)), ==, 0);
    for (gsize i = 0; i < G_N_ELEMENTS(sockets); i++)
        close(sockets[i]);
    close_server(monitor, &timer);
}

int main(int argc, char **argv)
{
    setlocale(LC_ALL, "C");
    signal(SIGPIPE, SIG_IGN);
    g_test_init(&argc, &argv, NULL);
    g_test_set_nonfatal_assertions();
    g_test_add_func("/monitor/new_request_is_served_while_others_reopen",
                    test_new_request_is_served_while_others_reopen);
    g_test_add_func("/monitor/few_files_are_not_all_connections",
                    test_few_files_are_not_all_connections);
    g_test_add_func("/monitor/oldest_unfinished_request_is_closed_first",
                    test_oldest_unfinished_request_is_closed_first);
    return g_test_run();
}
