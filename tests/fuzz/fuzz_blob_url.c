/* Any text as the URL of a store of code objects: refused without showing a password, or opened. */
#include "schema/blobs/blob_store.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_password(const char *url, const char *message)
{
    g_autoptr(GUri) parsed = g_uri_parse(url, G_URI_FLAGS_ENCODED, NULL);
    const char *user = parsed != NULL ? g_uri_get_userinfo(parsed) : NULL;
    g_assert_true(user == NULL || strlen(user) < 12 || strstr(message, user) == NULL);
}

/* The host contains no character that would begin another HTTP header or name another host. */
static void check_host(const char *url)
{
    g_autoptr(GUri) parsed = g_uri_parse(url, G_URI_FLAGS_ENCODED, NULL);
    g_assert_null(strpbrk(g_uri_get_host(parsed), "\r\n\t /?#@%\\"));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    g_autofree char *url = g_strndup((const char *)data, size);
    g_autoptr(GError) error = NULL;
    g_autoptr(BlobStore) store = blob_store_open(url, NULL, &error);
    if (store == NULL) {
        g_assert_error(error, STORE_ERROR, STORE_ERROR_BLOBS);
        check_password(url, error->message);
        return 0;
    }
    g_assert_cmpstr(store->url, ==, url);
    check_host(url);
    return 0;
}
