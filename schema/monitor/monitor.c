/* /metrics and /health. */
#include "schema/monitor/monitor.h"

#define CONNECTIONS 256

static void answer_text(HttpRequest *request, unsigned status, const char *type, GString *text)
{
    g_autoptr(GBytes) body = g_string_free_to_bytes(text);
    http_answer(request, &(struct http_answer){.status = status, .type = type, .body = body});
}

void monitor_answer_metrics(const struct monitor_callbacks *callbacks, void *data,
                            HttpRequest *request)
{
    GString *text = g_string_new(NULL);
    callbacks->metrics(data, text);
    answer_text(request, 200, "text/plain; version=0.0.4; charset=utf-8", text);
}

void monitor_answer_health(const struct monitor_callbacks *callbacks, void *data,
                           HttpRequest *request)
{
    GString *text = g_string_new(NULL);
    callbacks->health(data, text);
    bool well = text->len == 0;
    if (well)
        g_string_append(text, "ok\n");
    answer_text(request, well ? 200 : 503, "text/plain; charset=utf-8", text);
}

static void metrics(void *data, HttpRequest *request)
{
    monitor_answer_metrics(http_request_about(request), data, request);
}

static void health(void *data, HttpRequest *request)
{
    monitor_answer_health(http_request_about(request), data, request);
}

HttpServer *monitor_open(uv_loop_t *loop, const char *place,
                         const struct monitor_callbacks *callbacks, void *data, GError **error)
{
    const struct http_route routes[] = {{"GET", "/metrics", metrics, callbacks},
                                        {"GET", "/health", health, callbacks}};
    const struct http_options options = {.routes = routes,
                                         .route_count = G_N_ELEMENTS(routes),
                                         .data = data,
                                         .connections = CONNECTIONS};
    return http_server_open(loop, place, &options, error);
}
