#include "coordinator/nights/file/night_fetch.h"

#include "coordinator/cli/cli.h"
#include "coordinator/cli/when.h"
#include "schema/server/embedded.h"
#include "schema/small_file.h"

#include <curl/curl.h>
#include <glib/gstdio.h>
#include <jansson.h>
#include <string.h>

#define CONNECT_SECONDS  10
#define REDIRECTIONS_MAX 5
#define HEADER_MAX       1000 /* characters of an ETag or a date that are kept */
#define COPY_LINE_MAX    8192 /* bytes of a copy's first line */

void fetched_clear(struct fetched *fetched)
{
    g_clear_pointer(&fetched->bytes, g_bytes_unref);
    g_clear_pointer(&fetched->detail, g_free);
    *fetched = (struct fetched){0};
}

char *night_fetch_folder(GError **error)
{
    g_autofree char *home = embedded_home(error);
    return home ? g_build_filename(home, "nights", "sources", NULL) : NULL;
}

/* ---- the copy ---- */

struct copy {
    char *etag, *modified;
    GBytes *bytes;
    gint64 fetched_unix;
};

static void copy_clear(struct copy *copy)
{
    g_free(copy->etag);
    g_free(copy->modified);
    g_clear_pointer(&copy->bytes, g_bytes_unref);
    *copy = (struct copy){0};
}

static char *copy_path(const char *folder, const char *url)
{
    g_autofree char *name = g_compute_checksum_for_string(G_CHECKSUM_SHA256, url, -1);
    return g_build_filename(folder, name, NULL);
}

static bool has_checksum(GBytes *bytes, const char *sha256)
{
    g_autofree char *found = g_compute_checksum_for_bytes(G_CHECKSUM_SHA256, bytes);
    return g_ascii_strcasecmp(found, sha256) == 0;
}

/* Reads the line of JSON of a copy, and checks the bytes behind it against its checksum. */
static bool read_copy_bytes(const struct fetch_wish *wish, const char *text, gsize length,
                            struct copy *copy)
{
    const char *end = memchr(text, '\n', MIN(length, COPY_LINE_MAX));
    json_t *line = end ? json_loadb(text, (size_t)(end - text), 0, NULL) : NULL;
    const char *url = NULL, *etag = NULL, *modified = NULL, *sha256 = NULL;
    json_int_t fetched = 0;
    bool ok =
        line && json_unpack(line, "{s:s, s:s, s:s, s:s, s:I}", "url", &url, "etag", &etag,
                            "modified", &modified, "sha256", &sha256, "fetched", &fetched) == 0;
    if (ok) {
        gsize head = (gsize)(end - text) + 1;
        copy->bytes = g_bytes_new(text + head, length - head);
        copy->etag = g_strdup(etag);
        copy->modified = g_strdup(modified);
        copy->fetched_unix = (gint64)fetched;
        ok = strcmp(url, wish->url) == 0 && has_checksum(copy->bytes, sha256) &&
             (gint64)(length - head) <= wish->bytes_most &&
             (!wish->sha256 || has_checksum(copy->bytes, wish->sha256));
    }
    json_decref(line);
    return ok;
}

/* Reads the copy of the URL. Returns false without an error if no copy fits the wish. */
static bool read_copy(const char *folder, const struct fetch_wish *wish, struct copy *copy)
{
    *copy = (struct copy){0};
    if (!folder)
        return false;
    g_autofree char *path = copy_path(folder, wish->url);
    g_autofree char *text = NULL;
    gsize length = 0;
    bool ok = g_file_get_contents(path, &text, &length, NULL) &&
              read_copy_bytes(wish, text, length, copy);
    if (!ok)
        copy_clear(copy);
    return ok;
}

/* Stores the copy. A failure is only noted: this night has the bytes. */
static void write_copy(const char *folder, const struct fetch_wish *wish, const struct copy *copy)
{
    if (!folder)
        return;
    g_autofree char *path = copy_path(folder, wish->url);
    g_autofree char *sha256 = g_compute_checksum_for_bytes(G_CHECKSUM_SHA256, copy->bytes);
    json_t *line =
        json_pack("{s:s, s:s, s:s, s:s, s:I}", "url", wish->url, "etag",
                  copy->etag ? copy->etag : "", "modified", copy->modified ? copy->modified : "",
                  "sha256", sha256, "fetched", (json_int_t)copy->fetched_unix);
    char *head = json_dumps(line, JSON_COMPACT);
    json_decref(line);
    gsize length = 0;
    const char *data = g_bytes_get_data(copy->bytes, &length);
    g_autoptr(GString) whole = g_string_new(head);
    free(head);
    g_string_append_c(whole, '\n');
    if (length > 0)
        g_string_append_len(whole, data, (gssize)length);
    g_autoptr(GError) error = NULL;
    if (g_mkdir_with_parents(folder, 0700) != 0 ||
        !g_file_set_contents(path, whole->str, (gssize)whole->len, &error))
        cli_note("no copy of %s is kept: cannot write '%s'%s%s\n", wish->url, path,
                 error ? ": " : "", error ? error->message : "");
}

/* ---- the server ---- */

struct answer {
    CURL *curl;
    const struct fetch_wish *wish;
    GByteArray *body;
    char *etag, *modified;
    long status;
    bool overflowed;
    char words[CURL_ERROR_SIZE];
};

static size_t receive(char *bytes, size_t one, size_t count, void *data)
{
    struct answer *answer = data;
    (void)one; /* always 1 */
    gint64 room = answer->wish->bytes_most - answer->body->len;
    answer->overflowed = (gint64)count > room;
    if (answer->overflowed)
        return 0;
    g_byte_array_append(answer->body, (const guint8 *)bytes, (guint)count);
    return count;
}

static bool take_header(const char *line, const char *name, char **value)
{
    gsize length = strlen(name);
    if (g_ascii_strncasecmp(line, name, length) != 0 || line[length] != ':')
        return false;
    g_free(*value);
    *value = g_strstrip(g_strndup(line + length + 1, HEADER_MAX));
    return true;
}

static size_t receive_header(char *bytes, size_t one, size_t count, void *data)
{
    struct answer *answer = data;
    (void)one; /* always 1 */
    g_autofree char *line = g_strndup(bytes, count);
    if (g_str_has_prefix(line, "HTTP/")) { /* of the next answer, behind a redirection */
        g_clear_pointer(&answer->etag, g_free);
        g_clear_pointer(&answer->modified, g_free);
    }
    if (g_utf8_validate(line, -1, NULL) && !take_header(line, "ETag", &answer->etag))
        take_header(line, "Last-Modified", &answer->modified);
    return count;
}

static struct curl_slist *add_header(struct curl_slist *headers, const char *name,
                                     const char *value)
{
    g_autofree char *line = value && *value ? g_strdup_printf("%s: %s", name, value) : NULL;
    return line ? curl_slist_append(headers, line) : headers;
}

/* Credentials are those of the netrc file: a description is shown to others. */
static void set_options(struct answer *answer, const struct curl_slist *headers)
{
    CURL *curl = answer->curl;
    const char *bundle = g_getenv("CURL_CA_BUNDLE"), *netrc = g_getenv("NETRC");
    bool secure = g_ascii_strncasecmp(answer->wish->url, "https:", 6) == 0;
    curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, answer->words);
    curl_easy_setopt(curl, CURLOPT_URL, answer->wish->url);
    curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(curl, CURLOPT_REDIR_PROTOCOLS_STR, secure ? "https" : "http,https");
    curl_easy_setopt(curl, CURLOPT_FOLLOWLOCATION, 1L);
    curl_easy_setopt(curl, CURLOPT_MAXREDIRS, (long)REDIRECTIONS_MAX);
    curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT, (long)CONNECT_SECONDS);
    curl_easy_setopt(curl, CURLOPT_TIMEOUT, (long)answer->wish->seconds_most);
    curl_easy_setopt(curl, CURLOPT_MAXFILESIZE_LARGE, (curl_off_t)answer->wish->bytes_most);
    curl_easy_setopt(curl, CURLOPT_NETRC, (long)CURL_NETRC_OPTIONAL);
    curl_easy_setopt(curl, CURLOPT_USERAGENT, "skipjack");
    if (netrc && *netrc)
        curl_easy_setopt(curl, CURLOPT_NETRC_FILE, netrc);
    if (bundle && *bundle)
        curl_easy_setopt(curl, CURLOPT_CAINFO, bundle);
    curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers);
    curl_easy_setopt(curl, CURLOPT_HEADERFUNCTION, receive_header);
    curl_easy_setopt(curl, CURLOPT_HEADERDATA, answer);
    curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, receive);
    curl_easy_setopt(curl, CURLOPT_WRITEDATA, answer);
}

/* Asks once. Returns NULL if the server sent the content, or said that the copy holds (status 304); else why not.
 * *passing: another attempt may succeed. */
static char *ask(struct answer *answer, const struct copy *copy, bool *passing)
{
    struct curl_slist *headers = add_header(NULL, "If-None-Match", copy->etag);
    headers = add_header(headers, "If-Modified-Since", copy->modified);
    g_byte_array_set_size(answer->body, 0);
    curl_easy_reset(answer->curl);
    set_options(answer, headers);
    CURLcode code = curl_easy_perform(answer->curl);
    curl_slist_free_all(headers);
    *passing = false;
    if (answer->overflowed || code == CURLE_FILESIZE_EXCEEDED)
        return g_strdup_printf("the answer is longer than %" G_GINT64_FORMAT
                               " bytes (max_bytes allows more)",
                               answer->wish->bytes_most);
    if (code != CURLE_OK) {
        *passing = code != CURLE_URL_MALFORMAT && code != CURLE_PEER_FAILED_VERIFICATION &&
                   code != CURLE_TOO_MANY_REDIRECTS && code != CURLE_UNSUPPORTED_PROTOCOL;
        return g_strdup(*answer->words ? answer->words : curl_easy_strerror(code));
    }
    curl_easy_getinfo(answer->curl, CURLINFO_RESPONSE_CODE, &answer->status);
    if (answer->status == 200 || (answer->status == 304 && copy->bytes))
        return NULL;
    *passing = answer->status == 429 || answer->status / 100 == 5;
    return g_strdup_printf("the server answers HTTP %ld", answer->status);
}

static char *ask_patiently(struct answer *answer, const struct copy *copy)
{
    for (int attempt = 1;; attempt++) {
        bool passing;
        char *why = ask(answer, copy, &passing);
        if (!why || !passing || attempt >= answer->wish->attempts)
            return why;
        g_free(why);
        g_usleep((gulong)answer->wish->pause_ms * 1000 << (attempt - 1));
    }
}

/* curl_global_init() may run in one thread only. */
static gpointer init_curl(gpointer unused)
{
    (void)unused;
    return GINT_TO_POINTER(curl_global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK);
}

static bool answer_init(struct answer *answer, const struct fetch_wish *wish)
{
    static GOnce once = G_ONCE_INIT;
    bool ready = GPOINTER_TO_INT(g_once(&once, init_curl, NULL)) != 0;
    *answer = (struct answer){
        .curl = ready ? curl_easy_init() : NULL, .wish = wish, .body = g_byte_array_new()};
    return answer->curl != NULL;
}

static void answer_clear(struct answer *answer)
{
    curl_easy_cleanup(answer->curl);
    g_byte_array_unref(answer->body);
    g_free(answer->etag);
    g_free(answer->modified);
}

/* ---- both ---- */

static void take_copy(struct copy *copy, struct fetched *fetched)
{
    fetched->bytes = g_steal_pointer(&copy->bytes);
    fetched->fetched_unix = copy->fetched_unix;
    fetched->from_cache = true;
}

static bool take_answer(const char *folder, struct answer *answer, struct fetched *fetched,
                        GError **error)
{
    const struct fetch_wish *wish = answer->wish;
    g_autoptr(GBytes) bytes = g_bytes_new(answer->body->data, answer->body->len);
    if (wish->sha256 && !has_checksum(bytes, wish->sha256)) {
        g_autofree char *found = g_compute_checksum_for_bytes(G_CHECKSUM_SHA256, bytes);
        g_set_error(error, COORDINATOR_ERROR, COORDINATOR_ERROR_USAGE,
                    "%s has the SHA-256 %s, not the one asked for; if the new content is wanted, "
                    "change sha256",
                    wish->url, found);
        return false;
    }
    struct copy copy = {answer->etag, answer->modified, bytes, g_get_real_time() / G_USEC_PER_SEC};
    write_copy(folder, wish, &copy);
    fetched->bytes = g_steal_pointer(&bytes);
    fetched->fetched_unix = copy.fetched_unix;
    return true;
}

static void take_stale(struct copy *copy, const char *why, struct fetched *fetched)
{
    take_copy(copy, fetched);
    g_autofree char *when = when_text(fetched->fetched_unix);
    fetched->stale = true;
    fetched->detail = g_strdup_printf("%s; the copy of %s is used", why, when);
}

bool night_fetch(const char *folder, const struct fetch_wish *wish, struct fetched *fetched,
                 GError **error)
{
    struct copy copy;
    struct answer answer;
    *fetched = (struct fetched){0};
    bool has_copy = read_copy(folder, wish, &copy), ok = true;
    if (has_copy && wish->sha256) {
        take_copy(&copy, fetched);
        copy_clear(&copy);
        return true;
    }
    g_autofree char *why = answer_init(&answer, wish) ? ask_patiently(&answer, &copy)
                                                      : g_strdup("libcurl does not start");
    if (!why && answer.status == 304)
        take_copy(&copy, fetched);
    else if (!why)
        ok = take_answer(folder, &answer, fetched, error);
    else if (has_copy)
        take_stale(&copy, why, fetched);
    else {
        ok = false;
        g_set_error(error, COORDINATOR_ERROR, COORDINATOR_ERROR_PROCESS,
                    "cannot fetch %s: %s; there is no copy of it%s", wish->url, why,
                    wish->sha256 ? " with that SHA-256" : "");
    }
    answer_clear(&answer);
    copy_clear(&copy);
    return ok;
}
