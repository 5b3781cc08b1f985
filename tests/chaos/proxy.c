/*
 * A TCP proxy that misbehaves on command, between a host's workers and PostgreSQL.
 *
 * usage: proxy ADDRESS TARGET-ADDRESS TARGET-PORT
 *
 * It prints the port that it listens on, a line, and takes commands from stdin, a line each. It ends
 * with its stdin.
 *   open         all goes through; connections that lost bytes are reset
 *   delay MS     all goes through, that much later
 *   cut          every connection is reset; new ones go through
 *   half-open    requests arrive, answers do not, and no error is signalled
 *   blackhole    nothing arrives on either side, and no error is signalled
 */
#include <arpa/inet.h>
#include <glib.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <uv.h>

enum mode { OPEN, HALF_OPEN, BLACKHOLE };

static struct {
    struct sockaddr_in target;
    enum mode mode;
    uint64_t delay_ms;
    GPtrArray *links; /* struct link *, borrowed: a link removes itself when it closes */
    char line[64];
    size_t length;
} proxy;

struct chunk {
    uint64_t due_ms;
    size_t length;
    char bytes[];
};

struct link;
/* One direction of a connection. Bytes wait in order until their delay is over. */
struct way {
    struct link *link;
    uv_tcp_t socket; /* the socket from which the bytes are read */
    uv_timer_t timer;
    GQueue chunks;
};

struct link {
    struct way ways[2]; /* [0]: from the client to the server, [1]: from the server to the client */
    uv_connect_t connecting;
    int open_handles;
    bool connected, closing, broken;
};

struct writing {
    uv_write_t request;
    struct chunk *chunk;
};

static void handle_closed(uv_handle_t *handle)
{
    struct link *link = ((struct way *)handle->data)->link;
    if (--link->open_handles > 0)
        return;
    for (int i = 0; i < 2; i++)
        g_queue_clear_full(&link->ways[i].chunks, g_free);
    g_free(link);
}

/* Closes both sockets with a reset. */
static void link_close(struct link *link)
{
    if (link->closing)
        return;
    link->closing = true;
    g_ptr_array_remove_fast(proxy.links, link);
    for (int i = 0; i < 2; i++) {
        uv_close((uv_handle_t *)&link->ways[i].timer, handle_closed);
        if (uv_tcp_close_reset(&link->ways[i].socket, handle_closed) != 0)
            uv_close((uv_handle_t *)&link->ways[i].socket, handle_closed);
    }
}

static struct way *other_way(struct way *way)
{
    return &way->link->ways[way == &way->link->ways[0]];
}

static void chunk_written(uv_write_t *request, int status)
{
    struct writing *writing = (struct writing *)request;
    (void)status; /* a failed write needs no action: the read of the closed peer reports it */
    g_free(writing->chunk);
    g_free(writing);
}

static void way_deliver(struct way *way);

static void way_due(uv_timer_t *timer)
{
    way_deliver(timer->data);
}

static void way_deliver(struct way *way)
{
    struct chunk *chunk;
    uint64_t now = uv_now(way->timer.loop);
    while (way->link->connected && (chunk = g_queue_peek_head(&way->chunks))) {
        if (chunk->due_ms > now) {
            uv_timer_start(&way->timer, way_due, chunk->due_ms - now, 0);
            return;
        }
        struct writing *writing = g_new0(struct writing, 1);
        uv_buf_t buffer = uv_buf_init(chunk->bytes, (unsigned)chunk->length);
        writing->chunk = g_queue_pop_head(&way->chunks);
        if (uv_write(&writing->request, (uv_stream_t *)&other_way(way)->socket, &buffer, 1,
                     chunk_written) != 0) {
            chunk_written(&writing->request, -1);
            link_close(way->link);
            return;
        }
    }
}

static void way_take(struct way *way, const char *bytes, size_t length)
{
    bool from_server = way == &way->link->ways[1];
    if (proxy.mode == BLACKHOLE || (proxy.mode == HALF_OPEN && from_server)) {
        way->link->broken = true;
        return;
    }
    const struct chunk *last = g_queue_peek_tail(&way->chunks);
    struct chunk *chunk = g_malloc(sizeof *chunk + length);
    uint64_t due_ms = uv_now(way->timer.loop) + proxy.delay_ms;
    chunk->due_ms = last != NULL ? MAX(due_ms, last->due_ms) : due_ms;
    chunk->length = length;
    memcpy(chunk->bytes, bytes, length);
    g_queue_push_tail(&way->chunks, chunk);
    way_deliver(way);
}

static void give_buffer(uv_handle_t *handle, size_t wanted, uv_buf_t *buffer)
{
    static char bytes[65536];
    (void)handle;
    (void)wanted;
    *buffer = uv_buf_init(bytes, sizeof bytes);
}

static void got_bytes(uv_stream_t *socket, ssize_t count, const uv_buf_t *buffer)
{
    struct way *way = socket->data;
    if (count >= 0) {
        way_take(way, buffer->base, (size_t)count);
        return;
    }
    /* In half-open and blackhole mode the end of a connection is not passed on, either. */
    uv_read_stop(socket);
    if (proxy.mode == OPEN)
        link_close(way->link);
    else
        way->link->broken = true;
}

static void server_reached(uv_connect_t *request, int status)
{
    struct link *link = request->data;
    if (link->closing)
        return;
    if (status != 0) {
        link_close(link);
        return;
    }
    link->connected = true;
    uv_read_start((uv_stream_t *)&link->ways[1].socket, give_buffer, got_bytes);
    way_deliver(&link->ways[0]);
}

static void client_came(uv_stream_t *listener, int status)
{
    if (status != 0)
        return;
    struct link *link = g_new0(struct link, 1);
    for (int i = 0; i < 2; i++) {
        struct way *way = &link->ways[i];
        way->link = link;
        uv_tcp_init(listener->loop, &way->socket);
        uv_timer_init(listener->loop, &way->timer);
        way->socket.data = way->timer.data = way;
    }
    link->open_handles = 4;
    link->connecting.data = link;
    g_ptr_array_add(proxy.links, link);
    if (uv_accept(listener, (uv_stream_t *)&link->ways[0].socket) != 0 ||
        uv_tcp_connect(&link->connecting, &link->ways[1].socket,
                       (const struct sockaddr *)&proxy.target, server_reached) != 0) {
        link_close(link);
        return;
    }
    uv_read_start((uv_stream_t *)&link->ways[0].socket, give_buffer, got_bytes);
}

/* ---- commands ---- */

static void close_links(bool only_broken)
{
    for (guint i = proxy.links->len; i-- > 0;) {
        struct link *link = proxy.links->pdata[i];
        if (!only_broken || link->broken)
            link_close(link);
    }
}

static void obey(const char *line)
{
    proxy.mode = OPEN;
    proxy.delay_ms = 0;
    if (strcmp(line, "open") == 0) {
        close_links(true);
    } else if (g_str_has_prefix(line, "delay ")) {
        proxy.delay_ms = strtoull(line + strlen("delay "), NULL, 10);
    } else if (strcmp(line, "cut") == 0) {
        close_links(false);
    } else if (strcmp(line, "half-open") == 0) {
        proxy.mode = HALF_OPEN;
    } else if (strcmp(line, "blackhole") == 0) {
        proxy.mode = BLACKHOLE;
    } else {
        fprintf(stderr, "proxy: no such command: '%s'\n", line);
        exit(2);
    }
}

static void got_command(uv_stream_t *input, ssize_t count, const uv_buf_t *buffer)
{
    (void)input;
    if (count < 0)
        exit(0);
    for (ssize_t i = 0; i < count; i++) {
        char byte = buffer->base[i];
        if (byte == '\n') {
            proxy.line[proxy.length] = '\0';
            proxy.length = 0;
            obey(proxy.line);
        } else if (proxy.length < sizeof proxy.line - 1) {
            proxy.line[proxy.length++] = byte;
        }
    }
}

static void require(int status, const char *what)
{
    if (status == 0)
        return;
    fprintf(stderr, "proxy: cannot %s: %s\n", what, uv_strerror(status));
    exit(1);
}

int main(int argc, char **argv)
{
    uv_loop_t *loop = uv_default_loop();
    uv_tcp_t listener;
    uv_pipe_t input;
    struct sockaddr_in at;
    int length = sizeof at;
    if (argc != 4) {
        fputs("usage: proxy ADDRESS TARGET-ADDRESS TARGET-PORT\n", stderr);
        return 2;
    }
    proxy.links = g_ptr_array_new();
    require(uv_ip4_addr(argv[1], 0, &at), "understand its address");
    require(uv_ip4_addr(argv[2], atoi(argv[3]), &proxy.target), "understand its target");
    uv_tcp_init(loop, &listener);
    require(uv_tcp_bind(&listener, (const struct sockaddr *)&at, 0), "bind");
    require(uv_listen((uv_stream_t *)&listener, 128, client_came), "listen");
    uv_tcp_getsockname(&listener, (struct sockaddr *)&at, &length);
    printf("%d\n", ntohs(at.sin_port));
    fflush(stdout);
    uv_pipe_init(loop, &input, 0);
    require(uv_pipe_open(&input, 0), "read commands");
    uv_read_start((uv_stream_t *)&input, give_buffer, got_command);
    return uv_run(loop, UV_RUN_DEFAULT);
}
