/* Stores of code objects against real servers: an S3-compatible one that checks signatures and fails on
 * demand, and Apache's WebDAV, also over TLS. */
#include "schema/blobs/blob_store.h"
#include "tests/support/doubles/dav_server.h"
#include "tests/support/doubles/object_server.h"
#include "tests/support/temp_folder.h"

#include <string.h>

#define NAME "ab/abcdef-0123"

static const struct blob_patience patience = {.attempts = 4, .pause_ms = 5, .stall_seconds = 3};

static BlobStore *open_url(const char *url)
{
    g_autoptr(GError) error = NULL;
    BlobStore *store = blob_store_open(url, &patience, &error);
    g_assert_no_error(error);
    return store;
}

static GBytes *some_bytes(gsize size)
{
    guint8 *bytes = g_malloc(size);
    for (gsize i = 0; i < size; i++)
        bytes[i] = (guint8)(i * 7 + i / 251);
    return g_bytes_new_take(bytes, size);
}

static void put(BlobStore *store, const char *name, GBytes *bytes)
{
    g_autoptr(GError) error = NULL;
    g_assert_true(blob_store_put(store, name, bytes, &error));
    g_assert_no_error(error);
}

static void expect(BlobStore *store, const char *name, GBytes *expected)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(GBytes) got = blob_store_get(store, name, g_bytes_get_size(expected), &error);
    g_assert_no_error(error);
    g_assert_true(got != NULL && g_bytes_equal(got, expected));
}

static void expect_nothing(BlobStore *store, const char *name)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(GBytes) got = blob_store_get(store, name, 100, &error);
    g_assert_null(got);
    g_assert_error(error, STORE_ERROR, STORE_ERROR_NOT_FOUND);
}

/* Calls every operation that all kinds of stores support. */
static void exercise(BlobStore *store)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(GBytes) small = some_bytes(1);
    g_autoptr(GBytes) large = some_bytes((3 << 20) + 17);
    g_assert_true(blob_store_probe(store, &error));
    g_assert_no_error(error);
    expect_nothing(store, NAME);
    put(store, NAME, small);
    put(store, "ab/other", large);
    put(store, "cd/third", small);
    expect(store, NAME, small);
    expect(store, "ab/other", large);
    put(store, NAME, small);
    g_assert_null(blob_store_get(store, "ab/other", g_bytes_get_size(large) - 1, &error));
    g_assert_error(error, STORE_ERROR, STORE_ERROR_DAMAGED);
    g_assert_nonnull(strstr(error->message, "longer than"));
    g_clear_error(&error);
    for (int i = 0; i < 2; i++) {
        g_assert_true(blob_store_remove(store, NAME, &error));
        g_assert_no_error(error);
    }
    expect_nothing(store, NAME);
    expect(store, "cd/third", small);
}

static void test_s3_by_path(void)
{
    g_autoptr(ObjectServer) server = object_server_new();
    /* Prefixes with every character that a path may contain, to test that the request's signature
     * covers them. */
    const char *const prefixes[] = {"", "/", "farm", "farm/a%20b+c/~x'(1)*,=/"};
    for (gsize i = 0; i < G_N_ELEMENTS(prefixes); i++) {
        g_autofree char *url = object_server_url(server, prefixes[i]);
        g_autoptr(BlobStore) store = open_url(url);
        exercise(store);
        object_server_forget(server);
    }
}

static void test_s3_by_host(void)
{
    g_autoptr(ObjectServer) server = object_server_new();
    g_autofree char *url =
        g_strdup_printf("s3://" OBJECT_SERVER_BUCKET "/p?style=host&region=" OBJECT_SERVER_REGION
                        "&endpoint=http://localhost:%d",
                        object_server_port(server));
    g_autoptr(BlobStore) store = open_url(url);
    exercise(store);
}

static void test_s3_credentials(void)
{
    g_autoptr(ObjectServer) server = object_server_new();
    g_autoptr(TempFolder) folder = temp_folder_new();
    g_autoptr(GError) error = NULL;
    g_autofree char *url = object_server_url(server, "farm");
    g_autoptr(BlobStore) store = open_url(url);
    g_unsetenv("AWS_ACCESS_KEY_ID");
    g_setenv("AWS_SHARED_CREDENTIALS_FILE", temp_folder_path(folder, "credentials"), TRUE);
    g_assert_false(blob_store_probe(store, &error));
    g_assert_error(error, STORE_ERROR, STORE_ERROR_BLOBS);
    g_assert_nonnull(strstr(error->message, "AWS_ACCESS_KEY_ID"));
    g_clear_error(&error);
    temp_folder_write(folder, "credentials",
                      "[default]\naws_access_key_id = other\naws_secret_access_key = other\n"
                      "# a comment\n[farm]\naws_access_key_id=" OBJECT_SERVER_KEY_ID
                      "\naws_secret_access_key = " OBJECT_SERVER_SECRET
                      "\naws_session_token = token==\n",
                      -1);
    g_assert_false(blob_store_probe(store, &error));
    g_assert_nonnull(strstr(error->message, "InvalidAccessKeyId"));
    g_clear_error(&error);
    object_server_need_token(server, "token==");
    g_setenv("AWS_PROFILE", "farm", TRUE);
    g_assert_true(blob_store_probe(store, &error));
    g_setenv("AWS_PROFILE", "none", TRUE);
    g_assert_false(blob_store_probe(store, &error));
    g_assert_nonnull(strstr(error->message, "[none]"));
    g_unsetenv("AWS_PROFILE");
    g_unsetenv("AWS_SHARED_CREDENTIALS_FILE");
}

/* The server's answer quotes the secret; the message does not. */
static void test_secrets_are_not_told(void)
{
    g_autoptr(ObjectServer) server = object_server_new();
    g_autofree char *url = object_server_url(server, "farm");
    g_autoptr(BlobStore) store = open_url(url);
    const struct {
        const char *name, *value, *code;
    } cases[] = {
        {"AWS_SECRET_ACCESS_KEY", "another-secret", "SignatureDoesNotMatch"},
        {"AWS_ACCESS_KEY_ID", "another-key", "InvalidAccessKeyId"},
        {"AWS_SESSION_TOKEN", "another-token", "AccessDenied"},
    };
    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autoptr(GError) error = NULL;
        g_autofree char *before = g_strdup(g_getenv(cases[i].name));
        int requests = object_server_requests(server, NULL);
        g_setenv(cases[i].name, cases[i].value, TRUE);
        g_assert_null(blob_store_get(store, NAME, 10, &error));
        g_assert_error(error, STORE_ERROR, STORE_ERROR_BLOBS);
        g_assert_nonnull(strstr(error->message, cases[i].code));
        g_assert_nonnull(strstr(error->message, "credentials"));
        g_assert_null(strstr(error->message, cases[i].value));
        g_assert_null(strstr(error->message, OBJECT_SERVER_SECRET));
        g_assert_cmpint(object_server_requests(server, NULL), ==, requests + 1);
        before != NULL ? g_setenv(cases[i].name, before, TRUE) : g_unsetenv(cases[i].name);
    }
}

static void test_what_may_pass_is_tried_again(void)
{
    static const struct {
        const char *method;
        enum object_fault fault;
    } cases[] = {
        {"PUT", FAULT_INTERNAL}, {"PUT", FAULT_BUSY},   {"PUT", FAULT_CUT},
        {"PUT", FAULT_TOO_MANY}, {"GET", FAULT_CUT},    {"GET", FAULT_CUT_ANSWER},
        {"GET", FAULT_INTERNAL}, {"DELETE", FAULT_CUT}, {"DELETE", FAULT_BUSY},
        {"GET", FAULT_SILENCE},
    };
    g_autoptr(ObjectServer) server = object_server_new();
    g_autofree char *url = object_server_url(server, "farm");
    g_autoptr(BlobStore) store = open_url(url);
    g_autoptr(GBytes) bytes = some_bytes(300000);
    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autoptr(GError) error = NULL;
        int times = cases[i].fault == FAULT_TOO_MANY || cases[i].fault == FAULT_SILENCE ? 1 : 3;
        int requests = object_server_requests(server, cases[i].method);
        gint64 start = g_get_monotonic_time();
        object_server_fail(server, cases[i].method, cases[i].fault, times);
        put(store, NAME, bytes);
        expect(store, NAME, bytes);
        g_assert_true(blob_store_remove(store, NAME, &error));
        g_assert_no_error(error);
        g_assert_cmpint(object_server_requests(server, cases[i].method), ==, requests + times + 1);
        if (cases[i].fault == FAULT_TOO_MANY)
            g_assert_cmpint(g_get_monotonic_time() - start, >=, G_USEC_PER_SEC);
    }
}

static void expect_failure(BlobStore *store, ObjectServer *server, enum object_fault fault,
                           enum store_error code, int requests)
{
    g_autoptr(GError) error = NULL;
    int before = object_server_requests(server, "GET");
    object_server_fail(server, "GET", fault, 100);
    g_assert_null(blob_store_get(store, NAME, 300000, &error));
    g_assert_error(error, STORE_ERROR, (gint)code);
    g_assert_cmpint(object_server_requests(server, "GET"), ==, before + requests);
    object_server_fail(server, "GET", fault, 0);
}

static void test_what_does_not_pass_is_an_error(void)
{
    g_autoptr(ObjectServer) server = object_server_new();
    g_autofree char *url = object_server_url(server, "farm");
    g_autoptr(BlobStore) store = open_url(url);
    g_autoptr(GBytes) bytes = some_bytes(300000);
    put(store, NAME, bytes);
    expect_failure(store, server, FAULT_INTERNAL, STORE_ERROR_CONNECTION, 4);
    expect_failure(store, server, FAULT_CUT_ANSWER, STORE_ERROR_CONNECTION, 4);
    expect_failure(store, server, FAULT_FORBIDDEN, STORE_ERROR_BLOBS, 1);
    expect_failure(store, server, FAULT_WORDLESS, STORE_ERROR_NOT_FOUND, 1);
    expect_failure(store, server, FAULT_LONGER, STORE_ERROR_DAMAGED, 1);
    expect(store, NAME, bytes);
}

static void test_server_that_is_gone_is_a_lost_connection(void)
{
    ObjectServer *server = object_server_new();
    g_autofree char *url = object_server_url(server, "farm");
    g_autoptr(BlobStore) store = open_url(url);
    g_autoptr(GError) error = NULL;
    g_autoptr(GBytes) bytes = some_bytes(10);
    put(store, NAME, bytes);
    object_server_free(server);
    g_assert_false(blob_store_put(store, NAME, bytes, &error));
    g_assert_error(error, STORE_ERROR, STORE_ERROR_CONNECTION);
    g_assert_nonnull(strstr(error->message, "after 4 attempts"));
}

static void test_too_large_object_is_refused(void)
{
    g_autoptr(ObjectServer) server = object_server_new();
    g_autofree char *url = object_server_url(server, "farm");
    g_autoptr(BlobStore) store = open_url(url);
    g_autoptr(GError) error = NULL;
    g_autoptr(GBytes) bytes = g_bytes_new_take(g_malloc0(BLOB_BYTES_MAX + 1), BLOB_BYTES_MAX + 1);
    g_assert_false(blob_store_put(store, NAME, bytes, &error));
    g_assert_error(error, STORE_ERROR, STORE_ERROR_BLOBS);
    g_assert_cmpint(object_server_requests(server, NULL), ==, 0);
}

static void test_wrong_bucket_is_not_a_missing_object(void)
{
    g_autoptr(ObjectServer) server = object_server_new();
    g_autoptr(GError) error = NULL;
    g_autofree char *url = g_strdup_printf("s3://other-bucket?region=" OBJECT_SERVER_REGION
                                           "&endpoint=http://127.0.0.1:%d",
                                           object_server_port(server));
    g_autoptr(BlobStore) store = open_url(url);
    g_assert_null(blob_store_get(store, NAME, 10, &error));
    g_assert_error(error, STORE_ERROR, STORE_ERROR_BLOBS);
    g_assert_nonnull(strstr(error->message, "NoSuchBucket"));
    g_clear_error(&error);
    g_assert_false(blob_store_remove(store, NAME, &error));
    g_assert_error(error, STORE_ERROR, STORE_ERROR_BLOBS);
}

static void test_bad_urls_are_refused(void)
{
    static const char *const urls[] = {
        "",
        "nonsense",
        "ftp://host/folder",
        "s3:///prefix",
        "s3://Bucket/prefix",
        "s3://bucket?zone=a",
        "s3://bucket?style=odd",
        "s3://bucket?region=a/b",
        "s3://bucket?endpoint=host",
        "s3://bucket?endpoint=http://host/path",
        "s3://bucket?endpoint=file:///etc",
        "s3://key:hidden@bucket",
        "s3://bucket?endpoint=http://key:hidden@host",
        "webdav+https://user:hidden@host/folder",
        "webdav+https:///folder",
        "webdav+http://host/folder?x",
        "https://host/folder",
        "s3://bucket?endpoint=http://host%250d%250aX-Odd%253a%2520b",
        "s3://bucket?endpoint=http://host%2523other",
        "webdav+http://127.%40host/folder",
        "webdav+https://host%0aother/folder",
    };
    for (gsize i = 0; i < G_N_ELEMENTS(urls); i++) {
        g_autoptr(GError) error = NULL;
        g_assert_null(blob_store_open(urls[i], NULL, &error));
        g_assert_error(error, STORE_ERROR, STORE_ERROR_BLOBS);
        g_assert_null(strstr(error->message, "hidden"));
    }
}

static void test_webdav_on_apache(void)
{
    const char *missing = NULL;
    g_autoptr(DavServer) server = dav_server_new(false, &missing);
    g_autoptr(TempFolder) folder = temp_folder_new();
    g_autoptr(GError) error = NULL;
    if (server == NULL) {
        g_test_skip(missing);
        return;
    }
    g_autoptr(BlobStore) store = open_url(dav_server_url(server));
    g_setenv("NETRC", temp_folder_path(folder, "netrc"), TRUE);
    g_assert_false(blob_store_probe(store, &error));
    g_assert_error(error, STORE_ERROR, STORE_ERROR_BLOBS);
    g_assert_nonnull(strstr(error->message, "HTTP 401"));
    g_clear_error(&error);
    g_setenv("SKIPJACK_WEBDAV_USER", DAV_USER, TRUE);
    g_setenv("SKIPJACK_WEBDAV_PASSWORD", DAV_PASSWORD, TRUE);
    exercise(store);
    g_assert_cmpint(dav_server_files(server), ==, 2);
    g_setenv("SKIPJACK_WEBDAV_PASSWORD", "wrong-one", TRUE);
    g_assert_false(blob_store_probe(store, &error));
    g_assert_null(strstr(error->message, "wrong-one"));
    g_unsetenv("SKIPJACK_WEBDAV_USER");
    g_unsetenv("SKIPJACK_WEBDAV_PASSWORD");
    temp_folder_write(folder, "netrc",
                      "machine 127.0.0.1 login " DAV_USER " password \"" DAV_PASSWORD "\"\n", -1);
    g_clear_error(&error);
    g_assert_true(blob_store_probe(store, &error));
    g_assert_no_error(error);
    g_unsetenv("NETRC");
}

/* To other machines a password is sent over TLS only. */
static void test_password_is_not_sent_in_the_clear(void)
{
    static const char *const urls[] = {"webdav+http://blobs.example/folder",
                                       "webdav+http://127.example/folder"};
    g_setenv("SKIPJACK_WEBDAV_USER", DAV_USER, TRUE);
    g_setenv("SKIPJACK_WEBDAV_PASSWORD", DAV_PASSWORD, TRUE);
    for (gsize i = 0; i < G_N_ELEMENTS(urls); i++) {
        g_autoptr(GError) error = NULL;
        g_autoptr(BlobStore) store = open_url(urls[i]);
        g_assert_null(blob_store_get(store, NAME, 10, &error));
        g_assert_error(error, STORE_ERROR, STORE_ERROR_BLOBS);
        g_assert_nonnull(strstr(error->message, "webdav+https"));
    }
    g_unsetenv("SKIPJACK_WEBDAV_USER");
    g_unsetenv("SKIPJACK_WEBDAV_PASSWORD");
}

static void test_certificate_is_verified(void)
{
    const char *missing = NULL;
    g_autoptr(DavServer) server = dav_server_new(true, &missing);
    g_autoptr(GError) error = NULL;
    if (server == NULL) {
        g_test_skip(missing);
        return;
    }
    g_setenv("SKIPJACK_WEBDAV_USER", DAV_USER, TRUE);
    g_setenv("SKIPJACK_WEBDAV_PASSWORD", DAV_PASSWORD, TRUE);
    g_autoptr(BlobStore) store = open_url(dav_server_url(server));
    g_assert_null(blob_store_get(store, NAME, 10, &error));
    g_assert_error(error, STORE_ERROR, STORE_ERROR_BLOBS);
    g_assert_nonnull(strstr(error->message, "certificate"));
    g_setenv("CURL_CA_BUNDLE", dav_server_certificate(server), TRUE);
    exercise(store);
    /* A valid certificate of another host is refused, too. */
    g_autofree char *other =
        g_strdup_printf("webdav+https://localhost:%d/blobs", dav_server_port(server));
    g_autoptr(BlobStore) stranger = open_url(other);
    g_clear_error(&error);
    g_assert_null(blob_store_get(stranger, NAME, 10, &error));
    g_assert_error(error, STORE_ERROR, STORE_ERROR_BLOBS);
    g_unsetenv("CURL_CA_BUNDLE");
    g_unsetenv("SKIPJACK_WEBDAV_USER");
    g_unsetenv("SKIPJACK_WEBDAV_PASSWORD");
}

static const struct {
    const char *name;
    void (*run)(void);
} tests[] = {
    {"/blob_store/s3/objects_come_back_by_path", test_s3_by_path},
    {"/blob_store/s3/objects_come_back_by_host", test_s3_by_host},
    {"/blob_store/s3/credentials_come_from_environment_or_file", test_s3_credentials},
    {"/blob_store/s3/errors_contain_no_secret", test_secrets_are_not_told},
    {"/blob_store/s3/transient_failure_is_retried", test_what_may_pass_is_tried_again},
    {"/blob_store/s3/permanent_failure_is_reported_at_once", test_what_does_not_pass_is_an_error},
    {"/blob_store/s3/server_that_is_gone_is_a_lost_connection",
     test_server_that_is_gone_is_a_lost_connection},
    {"/blob_store/s3/too_large_object_is_refused", test_too_large_object_is_refused},
    {"/blob_store/s3/wrong_bucket_is_not_a_missing_object",
     test_wrong_bucket_is_not_a_missing_object},
    {"/blob_store/open/bad_urls_are_refused", test_bad_urls_are_refused},
    {"/blob_store/webdav/objects_come_back_from_apache", test_webdav_on_apache},
    {"/blob_store/webdav/password_is_not_sent_in_the_clear",
     test_password_is_not_sent_in_the_clear},
    {"/blob_store/webdav/certificate_is_verified", test_certificate_is_verified},
};

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_set_nonfatal_assertions();
    for (gsize i = 0; i < G_N_ELEMENTS(tests); i++)
        g_test_add_func(tests[i].name, tests[i].run);
    return g_test_run();
}
