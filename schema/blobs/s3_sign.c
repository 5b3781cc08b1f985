#include "schema/blobs/s3_sign.h"

#include <string.h>

#define SHA256_BYTES 32

void s3_credentials_clear(struct s3_credentials *credentials)
{
    g_clear_pointer(&credentials->key_id, g_free);
    g_clear_pointer(&credentials->secret, g_free);
    g_clear_pointer(&credentials->session_token, g_free);
}

/* "host;x-amz-date" */
static char *signed_names(const struct s3_request *request)
{
    GString *names = g_string_new(NULL);
    for (int i = 0; i < request->header_count; i++)
        g_string_append_printf(names, "%s%s", i > 0 ? ";" : "", request->headers[i].name);
    return g_string_free(names, FALSE);
}

static char *canonical_hash(const struct s3_request *request, const char *names)
{
    g_autoptr(GString) text = g_string_new(NULL);
    g_string_append_printf(text, "%s\n%s\n%s\n", request->method, request->path, request->query);
    for (int i = 0; i < request->header_count; i++)
        g_string_append_printf(text, "%s:%s\n", request->headers[i].name,
                               request->headers[i].value);
    g_string_append_printf(text, "\n%s\n%s", names, request->payload_sha256);
    return g_compute_checksum_for_string(G_CHECKSUM_SHA256, text->str, (gssize)text->len);
}

/* mac and key may be the same memory. */
static void hmac(guint8 mac[SHA256_BYTES], const guint8 *key, gsize key_length, const char *text)
{
    gsize length = SHA256_BYTES;
    g_autoptr(GHmac) state = g_hmac_new(G_CHECKSUM_SHA256, key, key_length);
    g_hmac_update(state, (const guchar *)text, -1);
    g_hmac_get_digest(state, mac, &length);
}

static char *sign(const struct s3_request *request, const char *secret, const char *text)
{
    guint8 mac[SHA256_BYTES];
    g_autofree char *seed = g_strconcat("AWS4", secret, NULL);
    g_autofree char *date = g_strndup(request->time, 8);
    hmac(mac, (const guint8 *)seed, strlen(seed), date);
    hmac(mac, mac, sizeof mac, request->region);
    hmac(mac, mac, sizeof mac, "s3");
    hmac(mac, mac, sizeof mac, "aws4_request");
    return g_compute_hmac_for_string(G_CHECKSUM_SHA256, mac, sizeof mac, text, -1);
}

char *s3_authorization(const struct s3_request *request, const struct s3_credentials *credentials)
{
    g_autofree char *names = signed_names(request);
    g_autofree char *hash = canonical_hash(request, names);
    g_autofree char *scope =
        g_strdup_printf("%.8s/%s/s3/aws4_request", request->time, request->region);
    g_autofree char *text =
        g_strdup_printf("AWS4-HMAC-SHA256\n%s\n%s\n%s", request->time, scope, hash);
    g_autofree char *signature = sign(request, credentials->secret, text);
    return g_strdup_printf("AWS4-HMAC-SHA256 Credential=%s/%s,SignedHeaders=%s,Signature=%s",
                           credentials->key_id, scope, names, signature);
}
