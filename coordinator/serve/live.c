/* Server-sent events. */
#include "coordinator/serve/live.h"

#include <string.h>

#define HEARTBEAT_MS 15000
#define KEPT_EVENTS  1024
#define KEPT_BYTES   (1024 * 1024)

static const char *const topic_names[LIVE_TOPICS] = {
    [LIVE_FARM] = "farm", [LIVE_CAMPAIGN] = "campaign", [LIVE_NODE] = "node",
    [LIVE_LOG] = "log",   [LIVE_RATE] = "rate",         [LIVE_DATABASE] = "database",
};

struct event {
    uint64_t number;
    enum live_topic topic;
    GBytes *text;
};

struct listener {
    Live *live;
    HttpStream *stream;
    unsigned topics; /* a bit each */
    GList link;      /* in live->listeners */
};

struct live {
    uv_timer_t heartbeat;
    GBytes *beat;
    char begun[20];  /* begins each id: a client of an earlier serve gets a reset */
    uint64_t number; /* of the newest event */
    GQueue kept;     /* struct event *, the oldest first */
    gsize kept_bytes;
    GQueue listeners; /* struct listener * */
};

/* ---- events ---- */

static void event_free(gpointer data)
{
    struct event *event = data;
    g_bytes_unref(event->text);
    g_free(event);
}

/* An event's text. number 0: without an id. */
static GBytes *write_event(const Live *live, uint64_t number, const char *name, const json_t *data)
{
    GString *text = g_string_new(NULL);
    char *json = json_dumps(data, JSON_COMPACT | JSON_REAL_PRECISION(12));
    if (number > 0)
        g_string_append_printf(text, "id: %s-%" G_GUINT64_FORMAT "\n", live->begun, number);
    g_string_append_printf(text, "event: %s\ndata: %s\n\n", name, json);
    free(json);
    return g_string_free_to_bytes(text);
}

static void keep(Live *live, struct event *event)
{
    g_queue_push_tail(&live->kept, event);
    live->kept_bytes += g_bytes_get_size(event->text);
    while (g_queue_get_length(&live->kept) > KEPT_EVENTS || live->kept_bytes > KEPT_BYTES) {
        struct event *oldest = g_queue_pop_head(&live->kept);
        live->kept_bytes -= g_bytes_get_size(oldest->text);
        event_free(oldest);
    }
}

void live_send(Live *live, enum live_topic topic, const char *name, const json_t *data)
{
    struct event *event = g_new0(struct event, 1);
    event->number = ++live->number;
    event->topic = topic;
    event->text = write_event(live, event->number, name, data);
    for (GList *at = live->listeners.head; at;) {
        struct listener *listener = at->data;
        at = at->next;
        if (listener->topics & (1U << topic))
            http_stream_send(listener->stream, event->text);
    }
    keep(live, event);
}

/* ---- listeners ---- */

static void listener_gone(void *data)
{
    struct listener *listener = data;
    g_queue_unlink(&listener->live->listeners, &listener->link);
    g_free(listener);
}

/* False for an unknown topic. */
static bool read_topics(const char *text, unsigned *topics)
{
    g_auto(GStrv) names = g_strsplit(text, ",", -1);
    *topics = 0;
    for (char **name = names; *name; name++) {
        int topic = 0;
        while (topic < LIVE_TOPICS && strcmp(*name, topic_names[topic]) != 0)
            topic++;
        if (topic == LIVE_TOPICS)
            return false;
        *topics |= 1U << topic;
    }
    return *topics != 0;
}

/* The number of the last event that the client got, of this serve. False if that is not known any more. */
static bool read_last(const Live *live, const char *id, uint64_t *number)
{
    size_t length = strlen(live->begun);
    const struct event *oldest = g_queue_peek_head((GQueue *)(uintptr_t)&live->kept);
    if (strncmp(id, live->begun, length) != 0 || id[length] != '-' ||
        !g_ascii_string_to_unsigned(id + length + 1, 10, 0, live->number, number, NULL))
        return false;
    return *number == live->number || (oldest && *number + 1 >= oldest->number);
}

static void send_missed(Live *live, struct listener *listener, const char *id)
{
    uint64_t last;
    if (!read_last(live, id, &last)) {
        json_t *nothing = json_object();
        g_autoptr(GBytes) text = write_event(live, live->number, "reset", nothing);
        json_decref(nothing);
        http_stream_send(listener->stream, text);
        return;
    }
    for (GList *at = live->kept.head; at; at = at->next) {
        const struct event *event = at->data;
        if (event->number > last && (listener->topics & (1U << event->topic)))
            http_stream_send(listener->stream, event->text);
    }
}

void live_listen(Live *live, HttpRequest *request, const char *topics, const json_t *hello)
{
    unsigned wanted = (1U << LIVE_TOPICS) - 1;
    if (topics && !read_topics(topics, &wanted)) {
        http_answer_problem(request, 400,
                            "topics takes farm, campaign, node, log, rate and database, with "
                            "commas between");
        return;
    }
    g_autofree char *last = g_strdup(http_request_header(request, "Last-Event-ID"));
    struct listener *listener = g_new0(struct listener, 1);
    listener->live = live;
    listener->topics = wanted;
    listener->link.data = listener;
    listener->stream = http_stream_begin(request, "text/event-stream", listener_gone, listener);
    if (!listener->stream) {
        g_free(listener);
        return;
    }
    g_queue_push_tail_link(&live->listeners, &listener->link);
    /* Without a number of its own, but a client that connects again from here misses nothing. */
    g_autoptr(GBytes) text =
        write_event(live, last || live->number == 0 ? 0 : live->number, "hello", hello);
    http_stream_send(listener->stream, text);
    if (last)
        send_missed(live, listener, last);
}

/* ---- heartbeats ---- */

/* A listener that left is noticed when something is sent to it. */
static void beat(uv_timer_t *timer)
{
    Live *live = timer->data;
    for (GList *at = live->listeners.head; at;) {
        struct listener *listener = at->data;
        at = at->next;
        http_stream_send(listener->stream, live->beat);
    }
}

Live *live_new(uv_loop_t *loop)
{
    static const char text[] = ": still here\n\n";
    Live *live = g_new0(struct live, 1);
    live->beat = g_bytes_new_static(text, sizeof text - 1);
    g_snprintf(live->begun, sizeof live->begun, "%" G_GINT64_MODIFIER "x", g_get_real_time());
    live->heartbeat.data = live;
    uv_timer_init(loop, &live->heartbeat);
    uv_timer_start(&live->heartbeat, beat, HEARTBEAT_MS, HEARTBEAT_MS);
    uv_unref((uv_handle_t *)&live->heartbeat);
    return live;
}

void live_end(Live *live)
{
    uv_close((uv_handle_t *)&live->heartbeat, NULL);
}

void live_free(Live *live)
{
    if (!live)
        return;
    g_queue_clear_full(&live->kept, event_free);
    g_bytes_unref(live->beat);
    g_free(live);
}

void live_counts(const Live *live, struct live_counts *counts)
{
    counts->listeners = g_queue_get_length((GQueue *)(uintptr_t)&live->listeners);
    counts->events = live->number;
}
