/* Requests to the API, on the loop's thread. */
#include "coordinator/serve/api.h"

#include "coordinator/serve/api_work.h"
#include "coordinator/serve/description.h"
#include "coordinator/serve/page_files.h"
#include "schema/monitor/log.h"
#include "schema/monitor/version.h"

#include <string.h>

#define TOKEN_SECONDS                                                                              \
    10 /* a token that was checked is not checked again for so long, for reading */
#define TOKENS_KEPT      256
#define TOKEN_BYTES_MOST 200

struct api {
    Ask *asking;
    Live *live;
    Watch *watch;
    struct api_options options;
    bool is_loopback;
    Description *description;
    GHashTable *tokens; /* SHA-256 of a token's text -> struct known_token * */
    struct api_counts counts;
};

struct known_token {
    struct token token;
    gint64 until_us;
};

/* A request on its way. */
struct call {
    Api *api;
    HttpRequest *request;
    const struct operation *operation;
    json_t *asked;
    char *bearer; /* the token's text, or NULL */
    struct token token;
};

static void call_free(struct call *call)
{
    http_request_release(call->request);
    json_decref(call->asked);
    g_free(call->bearer);
    g_free(call);
}

/* ---- answers ---- */

static void send_reply(HttpRequest *request, struct reply *reply, int fresh_seconds)
{
    if (reply->status >= 400) {
        http_answer_problem(request, reply->status, "%s", reply->detail);
        return;
    }
    const struct http_answer answer = {.status = reply->status,
                                       .type = "application/json",
                                       .body = reply->body,
                                       .etag = reply->etag,
                                       .fresh_seconds = fresh_seconds};
    http_answer(request, &answer);
}

static void send_json(HttpRequest *request, json_t *value)
{
    struct reply reply = {.fd = -1};
    reply_json(&reply, value);
    send_reply(request, &reply, 0);
    g_bytes_unref(reply.body);
    g_free(reply.etag);
}

static void send_kept(HttpRequest *request, const struct reply *kept)
{
    if (kept)
        send_reply(request, (struct reply *)(uintptr_t)kept, 0);
    else
        http_answer_problem(request, 503, "the database has not answered yet; try again");
}

/* ---- operations that the loop answers ---- */

static void send_file(HttpRequest *request, const struct page_file *file);

static void answer_openapi(struct call *call)
{
    send_file(call->request, page_file_find("/page/openapi.json"));
}

static void answer_session(struct call *call)
{
    send_json(call->request,
              json_pack("{ss? ss sb so}", "name", *call->token.name ? call->token.name : NULL,
                        "role", token_role_name(call->token.role), "reads_need_token",
                        call->api->options.reads_need_token, "expires_unix",
                        call->token.expires_unix
                            ? json_integer((json_int_t)call->token.expires_unix)
                            : json_null()));
}

static void answer_farm(struct call *call)
{
    send_kept(call->request, watch_farm_reply(call->api->watch));
}

static void answer_nodes(struct call *call)
{
    send_kept(call->request, watch_nodes_reply(call->api->watch));
}

static void answer_rates(struct call *call)
{
    send_json(call->request,
              watch_rates(call->api->watch,
                          (int)json_integer_value(json_object_get(call->asked, "minutes")),
                          (int)json_integer_value(json_object_get(call->asked, "points"))));
}

static void answer_events(struct call *call)
{
    json_t *hello = json_pack("{ss sI}", "version", SKIPJACK_VERSION, "now_unix",
                              (json_int_t)(g_get_real_time() / G_USEC_PER_SEC));
    live_listen(call->api->live, call->request,
                json_string_value(json_object_get(call->asked, "topics")), hello);
    json_decref(hello);
}

static const struct {
    const char *id;
    void (*answer)(struct call *call);
} own[] = {
    {"openapi", answer_openapi}, {"session", answer_session}, {"farm", answer_farm},
    {"nodes", answer_nodes},     {"rates", answer_rates},     {"events", answer_events},
};

/* ---- operations on threads ---- */

static void answered(void *waiter, struct reply *reply)
{
    struct call *call = waiter;
    const char *path = json_string_value(json_object_get(call->asked, "path"));
    if (reply->status == 401) {
        http_request_failed_try(call->request);
        call->api->counts.tokens_refused++;
    }
    if (reply->fd >= 0) {
        const char *slash = strrchr(path, '/');
        http_answer_file(call->request, reply->fd, reply->length, reply->etag,
                         slash ? slash + 1 : path);
        reply->fd = -1;
    } else {
        if (call->bearer && call->operation->role == TOKEN_COORDINATOR && reply->status == 200) {
            call->api->counts.changes++;
            ask_forget(call->api->asking); /* who changed something sees it at once */
        }
        send_reply(call->request, reply, 0);
    }
    call_free(call);
}

/* Takes the call. */
static void ask_thread(struct call *call, const struct api_row *row)
{
    bool changes = call->operation->role == TOKEN_COORDINATOR;
    struct api_query *query = g_new0(struct api_query, 1);
    g_autofree char *key = NULL;
    query->row = row;
    query->asked = json_incref(call->asked);
    query->forecasts = json_incref(watch_forecasts(call->api->watch));
    query->exports = call->api->options.exports;
    if (changes) {
        query->bearer = g_strdup(call->bearer);
        query->address = g_strdup(http_request_address(call->request));
    }
    if (row->fresh_seconds >= 0) {
        char *text = json_dumps(call->asked, JSON_COMPACT | JSON_SORT_KEYS);
        key = g_strconcat(row->id, " ", text, NULL);
        free(text);
    }
    const struct question question = {.key = key,
                                      .fresh_seconds = MAX(row->fresh_seconds, 0),
                                      .needs_store = row->needs_store,
                                      .is_slow = row->is_slow,
                                      .work = api_work,
                                      .data = query,
                                      .free_data = api_query_free};
    ask(call->api->asking, &question, answered, call);
}

static bool is_own(const char *id)
{
    for (size_t i = 0; i < G_N_ELEMENTS(own); i++)
        if (strcmp(own[i].id, id) == 0)
            return true;
    return false;
}

/* Takes the call. */
static void answer_call(struct call *call)
{
    for (size_t i = 0; i < G_N_ELEMENTS(own); i++) {
        if (strcmp(own[i].id, call->operation->id) == 0) {
            own[i].answer(call);
            call_free(call);
            return;
        }
    }
    const struct api_row *row = api_row_find(call->operation->id);
    g_assert(row);
    ask_thread(call, row);
}

/* ---- tokens ---- */

static char *hash_of(const char *bearer)
{
    return g_compute_checksum_for_string(G_CHECKSUM_SHA256, bearer, -1);
}

static void know_token(Api *api, const char *bearer, const struct token *token)
{
    struct known_token *known = g_new0(struct known_token, 1);
    known->token = *token;
    known->until_us = g_get_monotonic_time() + TOKEN_SECONDS * G_USEC_PER_SEC;
    if (g_hash_table_size(api->tokens) >= TOKENS_KEPT)
        g_hash_table_remove_all(api->tokens);
    g_hash_table_replace(api->tokens, hash_of(bearer), known);
}

/* Whether the token was checked not long ago. */
static bool is_known(Api *api, const char *bearer, struct token *token)
{
    g_autofree char *hash = hash_of(bearer);
    const struct known_token *known = g_hash_table_lookup(api->tokens, hash);
    if (!known || known->until_us < g_get_monotonic_time())
        return false;
    *token = known->token;
    return true;
}

static void refuse_token(struct call *call)
{
    log_write(LEVEL_WARNING, "token_refused", NULL, "a wrong token from %s: %s",
              http_request_address(call->request), call->operation->id);
    http_request_failed_try(call->request);
    call->api->counts.tokens_refused++;
    http_answer_problem(call->request, 401, "the token is wrong, was removed, or has expired");
    call_free(call);
}

static void token_checked(void *waiter, struct reply *reply)
{
    struct call *call = waiter;
    if (reply->status != 200) {
        send_reply(call->request, reply, 0);
        call_free(call);
        return;
    }
    call->token.role = (enum token_role)json_integer_value(json_object_get(reply->data, "role"));
    call->token.expires_unix = json_integer_value(json_object_get(reply->data, "expires_unix"));
    g_strlcpy(call->token.name, json_string_value(json_object_get(reply->data, "name")),
              sizeof call->token.name);
    if (call->token.role == TOKEN_NONE) {
        refuse_token(call);
        return;
    }
    know_token(call->api, call->bearer, &call->token);
    answer_call(call);
}

/* Takes the call. Changes check the token in their own question; so a removed token changes nothing. */
static void check_call(struct call *call)
{
    Api *api = call->api;
    if (!call->bearer || call->operation->role == TOKEN_COORDINATOR ||
        is_known(api, call->bearer, &call->token)) {
        answer_call(call);
        return;
    }
    const struct question question = {.needs_store = true,
                                      .work = api_check_token,
                                      .data = g_strdup(call->bearer),
                                      .free_data = g_free};
    ask(api->asking, &question, token_checked, call);
}

/* ---- requests ---- */

/* The token of "Bearer TOKEN"; NULL for another header. */
static const char *bearer_of(const char *header)
{
    static const char scheme[] = "Bearer ";
    if (g_ascii_strncasecmp(header, scheme, sizeof scheme - 1) != 0)
        return NULL;
    const char *token = header + sizeof scheme - 1;
    token += strspn(token, " ");
    return *token != '\0' && strlen(token) <= TOKEN_BYTES_MOST ? token : NULL;
}

/* Refuses requests whose token cannot do, before anything is asked. */
static bool check_header(const Api *api, HttpRequest *request, const struct operation *operation,
                         const char **bearer)
{
    const char *header = http_request_header(request, "Authorization");
    enum token_role role = operation->role;
    *bearer = header ? bearer_of(header) : NULL;
    if (role == TOKEN_NONE && api->options.reads_need_token)
        role = TOKEN_READER;
    if (header && !*bearer)
        http_answer_problem(request, 401, "the header Authorization takes: Bearer TOKEN");
    else if (!header && role != TOKEN_NONE)
        http_answer_problem(request, 401,
                            "this needs a token of the role %s; skipjack db token create makes one",
                            token_role_name(role));
    else if (header && !api->is_loopback && !api->options.allow_plain)
        http_answer_problem(request, 403,
                            "tokens are not taken over plain HTTP from other machines: put a proxy "
                            "with TLS before serve, or start serve with --allow-plain");
    else if (header && !http_request_may_try(request))
        http_answer_problem(request, 429, "this address sent too many wrong tokens; wait a minute");
    else
        return true;
    return false;
}

static void api_answer(void *data, HttpRequest *request)
{
    Api *api = *(Api **)data;
    const struct operation *operation = http_request_about(request);
    size_t length;
    g_autofree char *why = NULL;
    const char *bearer;
    const char *body = http_request_body(request, &length);
    if (!check_header(api, request, operation, &bearer))
        return;
    json_t *asked = description_read(api->description, operation, http_request_target(request),
                                     body, length, &why);
    if (!asked) {
        http_answer_problem(request, 400, "%s", why);
        return;
    }
    struct call *call = g_new0(struct call, 1);
    call->api = api;
    call->operation = operation;
    call->asked = asked;
    call->bearer = g_strdup(bearer);
    call->request = http_request_hold(request);
    check_call(call);
}

/* ---- the page ---- */

static void send_file(HttpRequest *request, const struct page_file *file)
{
    const char *accepted = http_request_header(request, "Accept-Encoding");
    bool packed = accepted && strstr(accepted, "gzip") && file->packed_size < file->size;
    g_autoptr(GBytes) body = packed ? g_bytes_new_static(file->packed, file->packed_size)
                                    : g_bytes_new_static(file->text, file->size);
    g_autofree char *packed_etag =
        g_strdup_printf("%.*s-gz\"", (int)strlen(file->etag) - 1, file->etag);
    const struct http_answer answer = {.status = 200,
                                       .type = file->type,
                                       .body = body,
                                       .etag = packed ? packed_etag : file->etag,
                                       .header = packed ? "Content-Encoding" : NULL,
                                       .value = "gzip"};
    http_answer(request, &answer);
}

static void page_answer(void *data, HttpRequest *request)
{
    (void)data;
    const char *name = http_request_named(request, "name");
    g_autofree char *path = name ? g_strconcat("/page/", name, NULL) : g_strdup("/");
    const struct page_file *file = page_file_find(path);
    if (file)
        send_file(request, file);
    else
        http_answer_problem(request, 404, "the page has no such file");
}

void api_add_routes(const Api *api, GArray *routes)
{
    static const char *const pages[] = {"/", "/page/{name}"};
    int count;
    const struct operation *operations = description_operations(api->description, &count);
    for (int i = 0; i < count; i++) {
        g_assert(is_own(operations[i].id) || api_row_find(operations[i].id));
        const struct http_route route = {operations[i].method, operations[i].path, api_answer,
                                         &operations[i]};
        g_array_append_val(routes, route);
    }
    for (size_t i = 0; i < G_N_ELEMENTS(pages); i++) {
        const struct http_route route = {"GET", pages[i], page_answer, NULL};
        g_array_append_val(routes, route);
    }
}

Api *api_new(Ask *asking, Live *live, Watch *watch, const struct api_options *options)
{
    Api *api = g_new0(struct api, 1);
    api->asking = asking;
    api->live = live;
    api->watch = watch;
    api->options = *options;
    api->description = description_load();
    api->tokens = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
    return api;
}

void api_free(Api *api)
{
    if (!api)
        return;
    description_free(api->description);
    g_hash_table_destroy(api->tokens);
    g_free(api);
}

void api_set_loopback(Api *api, bool is_loopback)
{
    api->is_loopback = is_loopback;
}

void api_counts(const Api *api, struct api_counts *counts)
{
    *counts = api->counts;
}
