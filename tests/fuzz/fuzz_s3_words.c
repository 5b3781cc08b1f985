/* Any bytes as a file of credentials, and as the body of a server's refusal: credentials are read
 * completely or not at all, and no message contains a part of a secret. */
#include "schema/blobs/blob_http.h"
#include "schema/blobs/s3_credentials.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int file_of(const uint8_t *data, size_t size)
{
    static int fd = -1;
    if (fd < 0) {
        fd = memfd_create("credentials", 0);
        g_autofree char *path = g_strdup_printf("/proc/self/fd/%d", fd);
        g_unsetenv("AWS_ACCESS_KEY_ID");
        g_unsetenv("AWS_PROFILE");
        g_setenv("AWS_SHARED_CREDENTIALS_FILE", path, TRUE);
    }
    return ftruncate(fd, 0) == 0 && pwrite(fd, data, size, 0) == (ssize_t)size ? fd : -1;
}

static void read_credentials(const uint8_t *data, size_t size)
{
    static const char usual[] = "no credentials for S3: ";
    /* a secret that is a part of these words cannot be recognized in a message */
    static const char names[] = "aws_access_key_id and aws_secret_access_key under";
    g_auto(S3Credentials) credentials = {0};
    g_autoptr(GError) error = NULL;
    g_assert_cmpint(file_of(data, size), >=, 0);
    if (s3_credentials_find(&credentials, &error)) {
        g_assert_true(credentials.key_id != NULL && credentials.secret != NULL);
        return;
    }
    g_assert_error(error, STORE_ERROR, STORE_ERROR_BLOBS);
    g_assert_true(g_str_has_prefix(error->message, usual));
    g_assert_true(credentials.secret == NULL || strlen(credentials.secret) < 12 ||
                  strstr(names, credentials.secret) != NULL ||
                  strstr(error->message, credentials.secret) == NULL);
}

static void read_refusal(const uint8_t *data, size_t size)
{
    const struct http_request request = {.method = "GET", .url = "https://s3"};
    g_auto(HttpAnswer) answer = {.status = 403, .body = g_byte_array_new()};
    g_autoptr(GError) error = NULL;
    g_byte_array_append(answer.body, data, (guint)size);
    g_autofree char *code = http_error_code(&answer);
    http_refused(&request, &answer, &error);
    g_assert_error(error, STORE_ERROR, STORE_ERROR_BLOBS);
    g_assert_true(code == NULL || strstr(error->message, code) != NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    read_credentials(data, size);
    read_refusal(data, size);
    return 0;
}
