/* Lists behind HTTP, against a real server on loopback: the copy, its ETag, checksums, sizes and times, and a server
 * that fails or is gone. */
#include "coordinator/cli/cli.h"
#include "coordinator/nights/file/night_fetch.h"
#include "tests/support/patience.h"
#include "tests/support/temp_folder.h"

#include <arpa/inet.h>
#include <locale.h>
#include <microhttpd.h>
#include <string.h>

#define KEY_A "8-8-8-3x3-8-8-8-1-1x1-1x1-1x1-0-NCHW-FP32-F"
#define KEY_B "16-8-8-1x1-8-8-8-1-0x0-1x1-1x1-0-NCHW-FP32-F"

/* The server's answer; the test changes it between requests. */
struct server {
    struct MHD_Daemon *daemon;
    int port;
    const char *body, *etag, *location;
    unsigned status; /* instead of 200; 0 for none */
    int failures;    /* so many requests get `status`, 0 for all */
    gint requests, not_modified;
};

static enum MHD_Result answer(void *data, struct MHD_Connection *connection, const char *url,
                              const char *method, const char *version, const char *bytes,
                              size_t *count, void **state)
{
    struct server *server = data;
    (void)method, (void)version, (void)bytes, (void)count, (void)state;
    int number = g_atomic_int_add(&server->requests, 1);
    const char *known = MHD_lookup_connection_value(connection, MHD_HEADER_KIND, "If-None-Match");
    unsigned status = 200;
    if (server->status != 0 && (server->failures == 0 || number < server->failures))
        status = server->status;
    else if (server->location && strcmp(url, "/moved") == 0)
        status = 302;
    else if (server->etag && g_strcmp0(known, server->etag) == 0)
        status = 304;
    g_atomic_int_add(&server->not_modified, status == 304);
    const char *body = status == 200 ? server->body : "";
    struct MHD_Response *response =
        MHD_create_response_from_buffer(strlen(body), (void *)body, MHD_RESPMEM_MUST_COPY);
    if (server->etag)
        MHD_add_response_header(response, "ETag", server->etag);
    if (status == 302)
        MHD_add_response_header(response, "Location", server->location);
    enum MHD_Result queued = MHD_queue_response(connection, status, response);
    MHD_destroy_response(response);
    return queued;
}

static void server_start(struct server *server)
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
                                  .sin_port = htons((uint16_t)server->port)};
    server->daemon = MHD_start_daemon(MHD_USE_INTERNAL_POLLING_THREAD, 0, NULL, NULL, answer,
                                      server, MHD_OPTION_SOCK_ADDR, &address,
                                      MHD_OPTION_LISTENING_ADDRESS_REUSE, 1u, MHD_OPTION_END);
    g_assert_nonnull(server->daemon);
    server->port = MHD_get_daemon_info(server->daemon, MHD_DAEMON_INFO_BIND_PORT)->port;
}

static void server_stop(struct server *server)
{
    if (server->daemon)
        MHD_stop_daemon(server->daemon);
    server->daemon = NULL;
}

struct fixture {
    struct server server;
    TempFolder *folder;
    char *cache, *url;
    struct fetch_wish wish;
};

static void set_up(struct fixture *f, gconstpointer data)
{
    (void)data;
    f->server.body = KEY_A "\n";
    server_start(&f->server);
    f->folder = temp_folder_new();
    f->cache = g_strdup(temp_folder_path(f->folder, "a/cache"));
    f->url = g_strdup_printf("http://127.0.0.1:%d/list.txt", f->server.port);
    f->wish = (struct fetch_wish){.url = f->url,
                                  .bytes_most = 1000,
                                  .seconds_most = PATIENCE_SECONDS,
                                  .attempts = 2,
                                  .pause_ms = 1};
}

static void tear_down(struct fixture *f, gconstpointer data)
{
    (void)data;
    server_stop(&f->server);
    temp_folder_free(f->folder);
    g_free(f->cache);
    g_free(f->url);
}

static void expect(struct fixture *f, const char *body, bool from_cache, bool stale)
{
    struct fetched fetched;
    g_autoptr(GError) error = NULL;
    night_fetch(f->cache, &f->wish, &fetched, &error);
    g_assert_no_error(error);
    gsize length = 0;
    const char *bytes = g_bytes_get_data(fetched.bytes, &length);
    g_assert_cmpmem(bytes, length, body, strlen(body));
    g_assert_cmpint(fetched.from_cache, ==, from_cache);
    g_assert_cmpint(fetched.stale, ==, stale);
    g_assert_cmpint(fetched.detail != NULL, ==, stale);
    g_assert_cmpint(ABS(fetched.fetched_unix - g_get_real_time() / G_USEC_PER_SEC), <, 3600);
    fetched_clear(&fetched);
}

static void expect_failure(struct fixture *f, int code, const char *words)
{
    struct fetched fetched;
    g_autoptr(GError) error = NULL;
    g_assert_false(night_fetch(f->cache, &f->wish, &fetched, &error));
    g_test_message("%s", error->message);
    g_assert_error(error, COORDINATOR_ERROR, code);
    g_assert_nonnull(strstr(error->message, words));
    g_assert_null(fetched.bytes);
}

static void the_server_is_asked_whether_the_copy_holds(struct fixture *f, gconstpointer data)
{
    (void)data;
    f->server.etag = "\"one\"";
    expect(f, KEY_A "\n", false, false);
    expect(f, KEY_A "\n", true, false);
    g_assert_cmpint(f->server.not_modified, ==, 1);
    f->server.etag = "\"two\"";
    f->server.body = KEY_B "\n";
    expect(f, KEY_B "\n", false, false);
    expect(f, KEY_B "\n", true, false);
    g_assert_cmpint(f->server.requests, ==, 4);
}

static void a_server_without_etags_is_read_each_time(struct fixture *f, gconstpointer data)
{
    (void)data;
    expect(f, KEY_A "\n", false, false);
    f->server.body = KEY_B "\n";
    expect(f, KEY_B "\n", false, false);
}

static void without_a_server_the_last_copy_is_used(struct fixture *f, gconstpointer data)
{
    (void)data;
    expect(f, KEY_A "\n", false, false);
    server_stop(&f->server);
    expect(f, KEY_A "\n", true, true);
}

static void a_server_that_refuses_leaves_the_last_copy(struct fixture *f, gconstpointer data)
{
    (void)data;
    expect(f, KEY_A "\n", false, false);
    f->server.status = 404;
    expect(f, KEY_A "\n", true, true);
    g_assert_cmpint(f->server.requests, ==, 2); /* 404 is not tried again */
}

static void failures_that_pass_are_tried_again(struct fixture *f, gconstpointer data)
{
    (void)data;
    f->server.status = 503;
    f->server.failures = 1;
    expect(f, KEY_A "\n", false, false);
    g_assert_cmpint(f->server.requests, ==, 2);
}

static void without_server_and_copy_it_fails(struct fixture *f, gconstpointer data)
{
    (void)data;
    f->server.status = 500;
    expect_failure(f, COORDINATOR_ERROR_PROCESS, "the server answers HTTP 500; there is no copy");
    server_stop(&f->server);
    expect_failure(f, COORDINATOR_ERROR_PROCESS, "there is no copy");
}

static void redirections_are_followed(struct fixture *f, gconstpointer data)
{
    (void)data;
    g_autofree char *moved = g_strdup_printf("http://127.0.0.1:%d/moved", f->server.port);
    f->server.location = "/list.txt";
    f->wish.url = moved;
    expect(f, KEY_A "\n", false, false);
    f->server.location = "file:///etc/hostname";
    f->wish.url = moved;
    expect(f, KEY_A "\n", true, true);
}

static void longer_answers_are_refused(struct fixture *f, gconstpointer data)
{
    (void)data;
    f->wish.bytes_most = 10;
    expect_failure(f, COORDINATOR_ERROR_PROCESS, "longer than 10 bytes (max_bytes allows more)");
}

static void other_content_than_the_checksum_is_refused(struct fixture *f, gconstpointer data)
{
    (void)data;
    g_autofree char *sum = g_compute_checksum_for_string(G_CHECKSUM_SHA256, KEY_A "\n", -1);
    g_autofree char *large = g_ascii_strup(sum, -1);
    f->wish.sha256 = large;
    expect(f, KEY_A "\n", false, false);
    expect(f, KEY_A "\n", true, false);
    g_assert_cmpint(f->server.requests, ==, 1); /* a copy with the checksum needs no server */
    g_autofree char *other = g_compute_checksum_for_string(G_CHECKSUM_SHA256, KEY_B "\n", -1);
    f->wish.sha256 = other;
    expect_failure(f, COORDINATOR_ERROR_USAGE, "change sha256");
}

static void a_damaged_copy_is_none(struct fixture *f, gconstpointer data)
{
    (void)data;
    expect(f, KEY_A "\n", false, false);
    g_autoptr(GDir) folder = g_dir_open(f->cache, 0, NULL);
    g_autofree char *path = g_build_filename(f->cache, g_dir_read_name(folder), NULL);
    g_autofree char *text = NULL;
    gsize length = 0;
    g_assert_true(g_file_get_contents(path, &text, &length, NULL));
    text[length - 2] ^= 1;
    g_assert_true(g_file_set_contents(path, text, (gssize)length, NULL));
    server_stop(&f->server);
    expect_failure(f, COORDINATOR_ERROR_PROCESS, "there is no copy");
}

#define ADD(name) g_test_add("/night_fetch/" #name, struct fixture, NULL, set_up, name, tear_down)

int main(int argc, char **argv)
{
    setlocale(LC_ALL, "C.UTF-8");
    g_test_init(&argc, &argv, NULL);
    g_unsetenv("http_proxy");
    ADD(the_server_is_asked_whether_the_copy_holds);
    ADD(a_server_without_etags_is_read_each_time);
    ADD(without_a_server_the_last_copy_is_used);
    ADD(a_server_that_refuses_leaves_the_last_copy);
    ADD(failures_that_pass_are_tried_again);
    ADD(without_server_and_copy_it_fails);
    ADD(redirections_are_followed);
    ADD(longer_answers_are_refused);
    ADD(other_content_than_the_checksum_is_refused);
    ADD(a_damaged_copy_is_none);
    return g_test_run();
}
