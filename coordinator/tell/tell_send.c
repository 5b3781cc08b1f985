/* The request of a message. An answer is read only as far as a line of the log needs it. */
#include "coordinator/tell/tell_send.h"

#include "schema/monitor/version.h"

#include <curl/curl.h>
#include <string.h>

#define CONNECT_SECONDS  10
#define ANSWER_BYTES_MAX 200

typedef struct curl_slist TellHeaders;
G_DEFINE_AUTOPTR_CLEANUP_FUNC(TellHeaders, curl_slist_free_all)
G_DEFINE_AUTOPTR_CLEANUP_FUNC(CURL, curl_easy_cleanup)

static gpointer init_curl(gpointer unused)
{
    (void)unused;
    return GINT_TO_POINTER(curl_global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK);
}

char *tell_signature(const char *secret, int64_t now_unix, const char *body)
{
    g_autofree char *text = g_strdup_printf("%" G_GINT64_FORMAT ".%s", (gint64)now_unix, body);
    g_autofree char *hex = g_compute_hmac_for_string(G_CHECKSUM_SHA256, (const guchar *)secret,
                                                     strlen(secret), text, (gssize)strlen(text));
    return g_strconcat("v1=", hex, NULL);
}

static size_t receive(char *bytes, size_t one, size_t count, void *data)
{
    GString *text = data;
    (void)one; /* always 1 */
    g_string_append_len(text, bytes, (gssize)MIN(count, ANSWER_BYTES_MAX - text->len));
    return count;
}

static int go_on(void *data, curl_off_t a, curl_off_t b, curl_off_t c, curl_off_t d)
{
    const struct tell_letter *letter = data;
    (void)a, (void)b, (void)c, (void)d;
    return letter->stop != NULL && g_atomic_int_get(letter->stop) != 0;
}

static TellHeaders *headers_of(const struct tell_letter *letter)
{
    g_autofree char *id = g_strdup_printf("X-Skipjack-Id: %s", letter->id);
    g_autofree char *at =
        g_strdup_printf("X-Skipjack-Timestamp: %" G_GINT64_FORMAT, (gint64)letter->now_unix);
    TellHeaders *headers = curl_slist_append(NULL, "Content-Type: application/json; charset=utf-8");
    headers = curl_slist_append(headers, "Expect:");
    headers = curl_slist_append(headers, id);
    headers = curl_slist_append(headers, at);
    if (letter->secret != NULL) {
        g_autofree char *signature = tell_signature(letter->secret, letter->now_unix, letter->body);
        g_autofree char *header = g_strdup_printf("X-Skipjack-Signature: %s", signature);
        headers = curl_slist_append(headers, header);
    }
    return headers;
}

static void set_options(CURL *curl, const struct tell_letter *letter, GString *text, char *words,
                        TellHeaders *headers)
{
    const char *bundle = g_getenv("CURL_CA_BUNDLE");
    curl_easy_setopt(curl, CURLOPT_URL, letter->url);
    curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(curl, CURLOPT_FOLLOWLOCATION, 0L);
    curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT, (long)CONNECT_SECONDS);
    curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS, (long)(letter->seconds * 1000));
    curl_easy_setopt(curl, CURLOPT_SSL_VERIFYPEER, 1L);
    curl_easy_setopt(curl, CURLOPT_SSL_VERIFYHOST, 2L);
    if (bundle != NULL && *bundle != '\0')
        curl_easy_setopt(curl, CURLOPT_CAINFO, bundle);
    curl_easy_setopt(curl, CURLOPT_USERAGENT, "skipjack/" SKIPJACK_VERSION);
    curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers);
    curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)strlen(letter->body));
    curl_easy_setopt(curl, CURLOPT_POSTFIELDS, letter->body);
    curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, receive);
    curl_easy_setopt(curl, CURLOPT_WRITEDATA, text);
    curl_easy_setopt(curl, CURLOPT_NOPROGRESS, 0L);
    curl_easy_setopt(curl, CURLOPT_XFERINFOFUNCTION, go_on);
    curl_easy_setopt(curl, CURLOPT_XFERINFODATA, letter);
    curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, words);
}

/* Failures that another try cannot cure: the URL is malformed. A certificate that is not trusted counts
 * as passing, since certificates expire and are renewed. */
static bool is_final(CURLcode code)
{
    return code == CURLE_URL_MALFORMAT || code == CURLE_UNSUPPORTED_PROTOCOL;
}

static enum tell_result result_of(long status)
{
    if (status / 100 == 2)
        return TELL_DELIVERED;
    return status / 100 == 5 || status == 408 || status == 425 || status == 429 ? TELL_LATER
                                                                                : TELL_REFUSED;
}

static void read_answer(CURL *curl, const GString *text, struct tell_answer *answer)
{
    long status = 0;
    curl_off_t wait = 0;
    curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
    curl_easy_getinfo(curl, CURLINFO_RETRY_AFTER, &wait);
    g_autofree char *said = g_utf8_make_valid(text->str, (gssize)text->len);
    g_strstrip(g_strdelimit(said, "\r\n\t", ' '));
    answer->status = (int)status;
    answer->result = result_of(status);
    answer->wait_seconds = (double)wait;
    if (status / 100 == 3)
        answer->words = g_strdup_printf("HTTP %ld: the receiver redirects; redirections are not "
                                        "followed, name its final address",
                                        status);
    else
        answer->words = g_strdup_printf("HTTP %ld%s%s", status, *said != '\0' ? ": " : "", said);
}

void tell_send(const struct tell_letter *letter, struct tell_answer *answer)
{
    static GOnce once = G_ONCE_INIT;
    if (!GPOINTER_TO_INT(g_once(&once, init_curl, NULL)))
        g_error("libcurl does not start");
    char words[CURL_ERROR_SIZE] = "";
    g_autoptr(GString) text = g_string_new(NULL);
    g_autoptr(CURL) curl = curl_easy_init();
    g_autoptr(TellHeaders) headers = headers_of(letter);
    g_assert(curl != NULL);
    *answer = (struct tell_answer){0};
    set_options(curl, letter, text, words, headers);
    CURLcode code = curl_easy_perform(curl);
    if (code == CURLE_OK) {
        read_answer(curl, text, answer);
        return;
    }
    answer->result = is_final(code) ? TELL_REFUSED : TELL_LATER;
    answer->words = g_strdup(*words != '\0' ? words : curl_easy_strerror(code));
}
