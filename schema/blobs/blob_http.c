/*
 * HTTP requests by libcurl, repeated after failures that may pass: lost
 * connections, timeouts, status 5xx and 429. Pauses double from 200 ms and vary
 * by half; a server's Retry-After may make them longer, up to 30 s.
 */
#include "schema/blobs/blob_http.h"

#include <string.h>

#define ERROR_BODY_MAX         4096
#define CONNECT_SECONDS        10
#define TRANSFER_SECONDS       600
#define RETRY_AFTER_MAX_MS     30000
#define STALL_BYTES_PER_SECOND 1024

struct http {
    CURL *curl;
    struct blob_patience patience;
    char words[CURL_ERROR_SIZE];
};

struct receiver {
    CURL *curl;
    GByteArray *body;
    gsize most;
    bool overflowed;
};

/* curl_global_init() may run in one thread only. */
static gpointer init_curl(gpointer unused)
{
    (void)unused;
    return GINT_TO_POINTER(curl_global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK);
}

Http *http_new(const struct blob_patience *patience)
{
    static const struct blob_patience usual = {.attempts = 5, .pause_ms = 200, .stall_seconds = 30};
    static GOnce once = G_ONCE_INIT;
    if (!GPOINTER_TO_INT(g_once(&once, init_curl, NULL)))
        g_error("libcurl does not start");
    Http *http = g_new0(Http, 1);
    http->patience = patience != NULL ? *patience : usual;
    http->curl = curl_easy_init();
    g_assert(http->curl != NULL);
    return http;
}

void http_free(Http *http)
{
    if (http == NULL)
        return;
    curl_easy_cleanup(http->curl);
    g_free(http);
}

void http_answer_clear(struct http_answer *answer)
{
    g_clear_pointer(&answer->body, g_byte_array_unref);
}

/* Keeps only the beginning of an error's body. A body with more bytes than requested is an error. */
static size_t receive(char *bytes, size_t one, size_t count, void *data)
{
    struct receiver *receiver = data;
    long status = 0;
    (void)one; /* always 1 */
    curl_easy_getinfo(receiver->curl, CURLINFO_RESPONSE_CODE, &status);
    gsize most = status / 100 == 2 ? receiver->most : ERROR_BODY_MAX;
    gsize room = most - MIN(most, receiver->body->len);
    g_byte_array_append(receiver->body, (const guint8 *)bytes, (guint)MIN(count, room));
    receiver->overflowed = status / 100 == 2 && count > room;
    return receiver->overflowed ? 0 : count;
}

/* Options of every request. Redirections are not followed: a signature holds for one host, and so does a
 * password. */
static void set_limits(const struct http *http)
{
    CURL *curl = http->curl;
    const char *bundle = g_getenv("CURL_CA_BUNDLE");
    curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(curl, CURLOPT_FOLLOWLOCATION, 0L);
    curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT, (long)CONNECT_SECONDS);
    curl_easy_setopt(curl, CURLOPT_TIMEOUT, (long)TRANSFER_SECONDS);
    curl_easy_setopt(curl, CURLOPT_EXPECT_100_TIMEOUT_MS, 1L);
    curl_easy_setopt(curl, CURLOPT_LOW_SPEED_LIMIT, (long)STALL_BYTES_PER_SECOND);
    curl_easy_setopt(curl, CURLOPT_LOW_SPEED_TIME, (long)http->patience.stall_seconds);
    curl_easy_setopt(curl, CURLOPT_SSL_VERIFYPEER, 1L);
    curl_easy_setopt(curl, CURLOPT_SSL_VERIFYHOST, 2L);
    if (bundle != NULL && *bundle != '\0')
        curl_easy_setopt(curl, CURLOPT_CAINFO, bundle);
}

static void set_authentication(CURL *curl, const struct http_request *request)
{
    const char *netrc = g_getenv("NETRC");
    if (request->user != NULL) {
        curl_easy_setopt(curl, CURLOPT_HTTPAUTH, CURLAUTH_BASIC);
        if (request->sigv4 != NULL)
            curl_easy_setopt(curl, CURLOPT_AWS_SIGV4,
                             request->sigv4); /* also sets CURLOPT_HTTPAUTH */
        curl_easy_setopt(curl, CURLOPT_USERNAME, request->user);
        curl_easy_setopt(curl, CURLOPT_PASSWORD, request->password);
    } else if (request->netrc) {
        curl_easy_setopt(curl, CURLOPT_HTTPAUTH, CURLAUTH_BASIC);
        curl_easy_setopt(curl, CURLOPT_NETRC, (long)CURL_NETRC_OPTIONAL);
        if (netrc != NULL && *netrc != '\0')
            curl_easy_setopt(curl, CURLOPT_NETRC_FILE, netrc);
    }
}

static void set_request(struct http *http, const struct http_request *request,
                        struct receiver *receiver, HttpHeaders *headers)
{
    CURL *curl = http->curl;
    /* Clears the options of the last request and keeps the connection open. */
    curl_easy_reset(curl);
    set_limits(http);
    set_authentication(curl, request);
    http->words[0] = '\0';
    curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, http->words);
    curl_easy_setopt(curl, CURLOPT_URL, request->url);
    /* A body is handed over as a whole, so that curl can send it again on a new connection. A
     * PUT without a body gets an empty one, or it would have no length. */
    if (request->body != NULL) {
        gsize size = 0;
        const void *bytes = g_bytes_get_data(request->body, &size);
        curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)size);
        curl_easy_setopt(curl, CURLOPT_POSTFIELDS, size == 0 ? "" : bytes);
    }
    curl_easy_setopt(curl, CURLOPT_CUSTOMREQUEST, request->method);
    curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers);
    curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, receive);
    curl_easy_setopt(curl, CURLOPT_WRITEDATA, receiver);
}

static bool may_pass(CURLcode code)
{
    static const CURLcode passing[] = {
        CURLE_COULDNT_RESOLVE_HOST, CURLE_COULDNT_RESOLVE_PROXY,
        CURLE_COULDNT_CONNECT,      CURLE_PARTIAL_FILE,
        CURLE_OPERATION_TIMEDOUT,   CURLE_SSL_CONNECT_ERROR,
        CURLE_GOT_NOTHING,          CURLE_SEND_ERROR,
        CURLE_RECV_ERROR,           CURLE_HTTP2,
        CURLE_HTTP2_STREAM,         CURLE_WEIRD_SERVER_REPLY,
    };
    for (gsize i = 0; i < G_N_ELEMENTS(passing); i++) {
        if (code == passing[i])
            return true;
    }
    return false;
}

static bool fail(const struct http *http, const struct http_request *request, CURLcode code,
                 const struct receiver *receiver, GError **error)
{
    const char *words = *http->words != '\0' ? http->words : curl_easy_strerror(code);
    if (receiver->overflowed) {
        bool asked = strcmp(request->method, "GET") == 0;
        g_set_error(error, STORE_ERROR, asked ? STORE_ERROR_DAMAGED : STORE_ERROR_BLOBS,
                    "%s %s: the answer is longer than the %zu bytes expected", request->method,
                    request->url, receiver->most);
    } else {
        g_set_error(error, STORE_ERROR, may_pass(code) ? STORE_ERROR_CONNECTION : STORE_ERROR_BLOBS,
                    "%s %s: %s", request->method, request->url, words);
    }
    return false;
}

static bool attempt(struct http *http, const struct http_request *request,
                    struct http_answer *answer, GError **error)
{
    g_autoptr(HttpHeaders) headers = NULL;
    /* curl asks for "100 Continue" before a body of a megabyte. Signed requests keep that header: libcurl
     * 7.88.1 signs the name "expect" when told to leave the header out. set_limits() makes the wait 1 ms. */
    if (request->sigv4 == NULL)
        headers = curl_slist_append(headers, "Expect:");
    headers = curl_slist_append(headers, "Content-Type: application/octet-stream");
    for (const HttpHeaders *header = request->headers; header != NULL; header = header->next)
        headers = curl_slist_append(headers, header->data);
    http_answer_clear(answer);
    answer->body = g_byte_array_new();
    struct receiver receiver = {http->curl, answer->body, request->most, false};
    set_request(http, request, &receiver, headers);
    CURLcode code = curl_easy_perform(http->curl);
    curl_easy_setopt(http->curl, CURLOPT_HTTPHEADER, NULL);
    if (code != CURLE_OK)
        return fail(http, request, code, &receiver, error);
    curl_easy_getinfo(http->curl, CURLINFO_RESPONSE_CODE, &answer->status);
    if (answer->status != 429 && answer->status / 100 != 5)
        return true;
    g_set_error(error, STORE_ERROR, STORE_ERROR_CONNECTION, "%s %s: the server answers HTTP %ld",
                request->method, request->url, answer->status);
    return false;
}

/* Pauses before the next attempt. The pause doubles with each attempt, and varies by half so
 * that the nodes of a farm do not return together. A server's Retry-After may make it longer. */
static void wait_before(const struct http *http, int number)
{
    curl_off_t asked = 0;
    double pause_ms = http->patience.pause_ms * (double)(1u << (number - 1));
    curl_easy_getinfo(http->curl, CURLINFO_RETRY_AFTER, &asked);
    pause_ms = MAX(pause_ms * g_random_double_range(0.5, 1.5), (double)asked * 1000);
    g_usleep((gulong)(MIN(pause_ms, RETRY_AFTER_MAX_MS) * 1000));
}

bool http_do(Http *http, const struct http_request *request, struct http_answer *answer,
             GError **error)
{
    int attempts = http->patience.attempts;
    for (int number = 1;; number++) {
        g_autoptr(GError) failed = NULL;
        if (attempt(http, request, answer, &failed))
            return true;
        bool passing = g_error_matches(failed, STORE_ERROR, STORE_ERROR_CONNECTION);
        if (!passing || number == attempts) {
            g_propagate_error(error, g_steal_pointer(&failed));
            if (passing && number > 1)
                g_prefix_error(error, "after %d attempts: ", number);
            return false;
        }
        wait_before(http, number);
    }
}

char *http_error_code(const struct http_answer *answer)
{
    /* The data of an empty body is NULL. */
    g_autofree char *text = g_strndup((const char *)answer->body->data, answer->body->len);
    const char *code = text != NULL ? strstr(text, "<Code>") : NULL;
    if (code == NULL)
        return NULL;
    code += strlen("<Code>");
    gsize length = strspn(code, G_CSET_A_2_Z G_CSET_a_2_z G_CSET_DIGITS);
    return length > 0 && length < 64 && code[length] == '<' ? g_strndup(code, length) : NULL;
}

void http_refused(const struct http_request *request, const struct http_answer *answer,
                  GError **error)
{
    static const struct {
        long status;
        const char *remedy;
    } remedies[] = {
        {301, "; is the URL's region or endpoint right?"},
        {307, "; is the URL's region or endpoint right?"},
        {401, "; does this node have the right credentials?"},
        {403, "; does this node have the right credentials, and may they do this?"},
        {404, "; is there such a bucket or folder?"},
    };
    g_autofree char *code = http_error_code(answer);
    const char *remedy = "";
    for (gsize i = 0; i < G_N_ELEMENTS(remedies); i++) {
        if (remedies[i].status == answer->status)
            remedy = remedies[i].remedy;
    }
    g_set_error(error, STORE_ERROR, STORE_ERROR_BLOBS, "%s %s: the server refuses: HTTP %ld%s%s%s",
                request->method, request->url, answer->status, code != NULL ? " " : "",
                code != NULL ? code : "", remedy);
}
