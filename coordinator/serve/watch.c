/* Reading the farm's state every few seconds, on a thread. */
#include "coordinator/serve/watch.h"

#include "coordinator/serve/farm_json.h"
#include "schema/monitor/log.h"
#include "schema/results/store_pages.h"
#include "schema/server/database.h"

#include <string.h>

#define LOOK_MS        5000 /* ms between two readings */
#define LISTENED_MS    2000 /* while somebody listens */
#define AGAIN_MS       1000 /* ms until the next try while the database does not answer */
#define PART_OF_TIME   10   /* reading takes a tenth of the time at most */
#define PATIENCE       20.0 /* the longest wait for one statement, in seconds */
#define ANSWER_SECONDS 30   /* an older answer: the database counts as down, a query is stuck */
#define LOG_LINES      200  /* most lines of the event log in a reading */
#define STEP_SECONDS   30   /* between two points of the rates */
#define POINTS_MOST    2880 /* a day of them */

struct reading {
    struct farm_state *farm;
    json_t *conditions, *campaigns, *log, *nights, *outbox;
    json_t *past_rates; /* of the first reading, else NULL */
    GError *error;
};

struct watch {
    Live *live;
    const char *node;
    uv_timer_t look;
    uv_work_t work;
    bool is_reading, ended;
    Store *store; /* the thread's while it reads */
    struct reading new;
    int64_t log_number; /* of the newest line that was sent; -1 before the first reading */
    struct farm_state *farm;
    json_t *nights, *outbox, *forecasts;
    GError *error;
    /* when the last reading began, and when the last successful one ended, by the monotonic clock; 0 for never */
    gint64 begun_us, answered_us;
    double ask_seconds;
    struct reply farm_reply, nodes_reply;
    /* What listeners know: texts of the last events, by campaign's id and by node. */
    GHashTable *campaign_texts, *node_texts;
    json_t *rates; /* array of points, the oldest first */
    gint64 rate_us;
};

/* ---- on a thread ---- */

static json_t *read_page(Watch *watch, enum page page, json_t *asked)
{
    json_t *list =
        watch->new.error ? NULL : store_page(watch->store, page, asked, NULL, &watch->new.error);
    json_decref(asked);
    return list;
}

/* The lines of the event log behind the last one that was sent; at first the newest line alone. */
static json_t *read_log(Watch *watch)
{
    return read_page(watch, PAGE_LOG,
                     watch->log_number < 0 ? json_pack("{si}", "limit", 1)
                                           : json_pack("{si sI}", "limit", LOG_LINES, "newer_than",
                                                       (json_int_t)watch->log_number));
}

static void read_farm(uv_work_t *work)
{
    Watch *watch = work->data;
    struct reading *new = &watch->new;
    if (!watch->store) {
        if (!(watch->store = database_open(true, &new->error)))
            return;
        store_set_patience(watch->store, PATIENCE);
    }
    new->farm = farm_read(watch->store, &new->error);
    new->conditions = read_page(watch, PAGE_CONDITIONS, json_object());
    new->campaigns = read_page(watch, PAGE_OPEN_CAMPAIGNS, json_object());
    new->nights = read_page(watch, PAGE_NEWEST_NIGHTS, json_object());
    new->outbox = read_page(watch, PAGE_OUTBOX, json_object());
    if (watch->rate_us == 0)
        new->past_rates =
            read_page(watch, PAGE_PAST_RATES, json_pack("{si}", "step_seconds", STEP_SECONDS));
    new->log = read_log(watch);
}

/* ---- events ---- */

/* Whether the text under the key is new; it is then kept. */
static bool is_new(GHashTable *texts, const char *key, const json_t *value)
{
    g_autofree char *text = NULL;
    char *json = json_dumps(value, JSON_COMPACT);
    text = g_strdup(json);
    free(json);
    if (g_strcmp0(g_hash_table_lookup(texts, key), text) == 0)
        return false;
    g_hash_table_replace(texts, g_strdup(key), g_steal_pointer(&text));
    return true;
}

/* Sends "campaign-gone" or "node-gone" for keys that are not in `now`. */
static void send_gone(Watch *watch, GHashTable *texts, GHashTable *now, enum live_topic topic,
                      const char *name)
{
    GHashTableIter iter;
    gpointer key;
    g_hash_table_iter_init(&iter, texts);
    while (g_hash_table_iter_next(&iter, &key, NULL)) {
        if (g_hash_table_contains(now, key))
            continue;
        json_t *data = topic == LIVE_CAMPAIGN
                           ? json_pack("{sI}", "id", (json_int_t)g_ascii_strtoll(key, NULL, 10))
                           : json_pack("{ss}", "node", (const char *)key);
        live_send(watch->live, topic, name, data);
        json_decref(data);
        g_hash_table_iter_remove(&iter);
    }
}

static void add_counts(json_t *item, const struct farm_campaign *c)
{
    json_object_set_new(item, "jobs", json_integer((json_int_t)c->jobs));
    json_object_set_new(item, "jobs_done", json_integer((json_int_t)c->done));
    json_object_set_new(item, "jobs_failed", json_integer((json_int_t)c->failed));
    json_object_set_new(item, "jobs_open",
                        json_integer((json_int_t)(c->jobs - c->done - c->failed)));
}

static void send_campaigns(Watch *watch, const json_t *campaigns)
{
    g_autoptr(GHashTable) now = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    for (guint i = 0; i < watch->farm->campaigns->len; i++) {
        const struct farm_campaign *c = g_ptr_array_index(watch->farm->campaigns, i);
        char id[24];
        g_snprintf(id, sizeof id, "%" G_GINT64_FORMAT, (gint64)c->id);
        json_t *item = json_object_get(campaigns, id);
        if (!item) /* it ended between the two questions */
            continue;
        add_counts(item, c);
        json_object_update(item, json_object_get(watch->forecasts, id));
        g_hash_table_add(now, g_strdup(id));
        if (is_new(watch->campaign_texts, id, item))
            live_send(watch->live, LIVE_CAMPAIGN, "campaign", item);
    }
    send_gone(watch, watch->campaign_texts, now, LIVE_CAMPAIGN, "campaign-gone");
}

static void send_nodes(Watch *watch, const json_t *nodes)
{
    size_t i;
    const json_t *node;
    g_autoptr(GHashTable) now = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    json_array_foreach (nodes, i, node) {
        const char *name = json_string_value(json_object_get(node, "node"));
        json_t *steady = node_without_ages(node);
        g_hash_table_add(now, g_strdup(name));
        if (is_new(watch->node_texts, name, steady))
            live_send(watch->live, LIVE_NODE, "node", node);
        json_decref(steady);
    }
    send_gone(watch, watch->node_texts, now, LIVE_NODE, "node-gone");
}

static void send_log(Watch *watch, const json_t *lines)
{
    size_t i;
    const json_t *line;
    bool first = watch->log_number < 0;
    watch->log_number = MAX(watch->log_number, 0);
    json_array_foreach (lines, i, line) {
        watch->log_number = MAX(watch->log_number, json_integer_value(json_object_get(line, "id")));
        if (!first)
            live_send(watch->live, LIVE_LOG, "log", line);
    }
}

static void add_rate(Watch *watch)
{
    gint64 now = g_get_monotonic_time();
    if (watch->rate_us != 0 && now - watch->rate_us < STEP_SECONDS * G_USEC_PER_SEC)
        return;
    watch->rate_us = now;
    json_t *point = rate_to_json(watch->farm);
    json_array_append_new(watch->rates, point);
    if (json_array_size(watch->rates) > POINTS_MOST)
        json_array_remove(watch->rates, 0);
    live_send(watch->live, LIVE_RATE, "rate", point);
}

/* ---- answers ---- */

static void reply_reset(struct reply *reply)
{
    g_clear_pointer(&reply->etag, g_free);
    g_clear_pointer(&reply->body, g_bytes_unref);
    *reply = (struct reply){.fd = -1};
}

static void make_farm(Watch *watch, bool send)
{
    struct live_counts counts;
    live_counts(watch->live, &counts);
    g_autofree char *trouble = watch_trouble(watch);
    const struct farm_about about = {
        .node = watch->node,
        .error = *trouble ? trouble : NULL,
        .answer_age_seconds =
            watch->answered_us
                ? (double)(g_get_monotonic_time() - watch->answered_us) / G_USEC_PER_SEC
                : -1,
        .listeners = counts.listeners};
    json_t *object = farm_to_json(watch->farm, &about);
    if (send)
        live_send(watch->live, LIVE_FARM, "farm", object);
    reply_reset(&watch->farm_reply);
    reply_json(&watch->farm_reply, object);
}

static void take_farm(Watch *watch, struct reading *new)
{
    farm_free(watch->farm);
    watch->farm = g_steal_pointer(&new->farm);
    json_decref(watch->nights);
    json_decref(watch->outbox);
    json_decref(watch->forecasts);
    watch->nights = g_steal_pointer(&new->nights);
    watch->outbox = json_incref(json_array_get(new->outbox, 0));
    watch->forecasts = forecasts_to_json(watch->farm);
    watch->answered_us = g_get_monotonic_time();
    json_t *nodes = nodes_to_json(watch->farm, new->conditions);
    send_campaigns(watch, new->campaigns);
    send_nodes(watch, nodes);
    send_log(watch, new->log);
    json_array_extend(watch->rates, new->past_rates);
    add_rate(watch);
    reply_reset(&watch->nodes_reply);
    reply_json(&watch->nodes_reply, json_pack("{so}", "items", nodes));
}

static void say_change(Watch *watch, const GError *now)
{
    if ((now != NULL) == (watch->error != NULL))
        return;
    if (now)
        log_write(LEVEL_WARNING, "database_away", NULL, "the database does not answer: %s",
                  now->message);
    else
        log_write(LEVEL_INFO, "database_back", NULL, "the database answers again");
    json_t *data = json_pack("{sb ss?}", "up", now == NULL, "error", now ? now->message : NULL);
    if (data)
        live_send(watch->live, LIVE_DATABASE, "database", data);
    json_decref(data);
}

static void look(uv_timer_t *timer);

static void look_again(Watch *watch)
{
    struct live_counts counts;
    live_counts(watch->live, &counts);
    uint64_t pause_ms = watch->error ? AGAIN_MS : counts.listeners ? LISTENED_MS : LOOK_MS;
    uint64_t least_ms = (uint64_t)(watch->ask_seconds * 1000 * PART_OF_TIME);
    uv_timer_start(&watch->look, look, watch->error ? pause_ms : MAX(pause_ms, least_ms), 0);
}

static void clear_reading(struct reading *reading)
{
    farm_free(reading->farm);
    json_decref(reading->conditions);
    json_decref(reading->campaigns);
    json_decref(reading->log);
    json_decref(reading->nights);
    json_decref(reading->outbox);
    json_decref(reading->past_rates);
    g_clear_error(&reading->error);
    *reading = (struct reading){0};
}

static void was_read(uv_work_t *work, int status)
{
    Watch *watch = work->data;
    (void)status; /* never UV_ECANCELED: nothing cancels the work */
    watch->is_reading = false;
    watch->ask_seconds = (double)(g_get_monotonic_time() - watch->begun_us) / 1e6;
    say_change(watch, watch->new.error);
    g_clear_error(&watch->error);
    watch->error = g_steal_pointer(&watch->new.error);
    if (!watch->error)
        take_farm(watch, &watch->new);
    make_farm(watch, true);
    clear_reading(&watch->new);
    if (!watch->ended)
        look_again(watch);
}

static void look(uv_timer_t *timer)
{
    Watch *watch = timer->data;
    watch->is_reading = true;
    watch->begun_us = g_get_monotonic_time();
    uv_queue_work(timer->loop, &watch->work, read_farm, was_read);
}

/* ---- what others ask ---- */

const struct farm_state *watch_farm(const Watch *watch)
{
    return watch->farm;
}

static double answer_age(const Watch *watch)
{
    return (double)(g_get_monotonic_time() - watch->answered_us) / 1e6;
}

bool watch_is_up(const Watch *watch)
{
    return watch->answered_us != 0 && !watch->error && answer_age(watch) < ANSWER_SECONDS;
}

char *watch_trouble(const Watch *watch)
{
    if (watch->error)
        return g_strdelimit(g_strdup(watch->error->message), "\n\t", ' ');
    if (watch->answered_us == 0)
        return g_strdup("starting: the database has not answered yet");
    if (!watch_is_up(watch))
        return g_strdup_printf("the database has not answered for %.0f s", answer_age(watch));
    return g_strdup("");
}

double watch_ask_seconds(const Watch *watch)
{
    return watch->ask_seconds;
}

const json_t *watch_nights(const Watch *watch)
{
    return watch->nights;
}

const json_t *watch_outbox(const Watch *watch)
{
    return watch->outbox;
}

const struct reply *watch_farm_reply(const Watch *watch)
{
    return watch->farm_reply.body ? &watch->farm_reply : NULL;
}

const struct reply *watch_nodes_reply(const Watch *watch)
{
    return watch->nodes_reply.body ? &watch->nodes_reply : NULL;
}

json_t *watch_forecasts(const Watch *watch)
{
    return watch->forecasts;
}

/* The mean of the points from `begin` on, up to `end`, without it; its time is the last one's. */
static json_t *mean_of(const json_t *points, size_t begin, size_t end)
{
    static const char *const rates[] = {"jobs", "configs", "kernels"};
    json_t *mean = json_copy(json_array_get(points, end - 1));
    for (size_t r = 0; r < G_N_ELEMENTS(rates); r++) {
        double sum = 0;
        for (size_t i = begin; i < end; i++)
            sum += json_number_value(json_object_get(json_array_get(points, i), rates[r]));
        json_object_set_new(mean, rates[r], json_real(sum / (double)(end - begin)));
    }
    return mean;
}

json_t *watch_rates(const Watch *watch, int minutes, int points)
{
    json_t *list = json_array();
    size_t count = json_array_size(watch->rates);
    size_t wanted = MIN(count, (size_t)minutes * 60 / STEP_SECONDS + 1);
    size_t each = (wanted + (size_t)points - 1) / (size_t)points;
    for (size_t at = count - wanted; at < count; at += each)
        json_array_append_new(list, mean_of(watch->rates, at, MIN(at + each, count)));
    return json_pack("{si so}", "step_seconds", (int)MAX(each, 1) * STEP_SECONDS, "points", list);
}

/* ---- beginning and end ---- */

Watch *watch_new(uv_loop_t *loop, Live *live, const char *node)
{
    Watch *watch = g_new0(struct watch, 1);
    watch->live = live;
    watch->node = node;
    watch->log_number = -1;
    watch->farm_reply.fd = watch->nodes_reply.fd = -1;
    watch->rates = json_array();
    watch->campaign_texts = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
    watch->node_texts = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
    watch->look.data = watch->work.data = watch;
    uv_timer_init(loop, &watch->look);
    make_farm(watch, false);
    look(&watch->look);
    return watch;
}

void watch_end(Watch *watch)
{
    watch->ended = true;
    uv_close((uv_handle_t *)&watch->look, NULL);
}

void watch_free(Watch *watch)
{
    if (!watch)
        return;
    g_clear_pointer(&watch->store, store_close);
    clear_reading(&watch->new);
    farm_free(watch->farm);
    json_decref(watch->nights);
    json_decref(watch->outbox);
    json_decref(watch->forecasts);
    json_decref(watch->rates);
    reply_reset(&watch->farm_reply);
    reply_reset(&watch->nodes_reply);
    g_hash_table_destroy(watch->campaign_texts);
    g_hash_table_destroy(watch->node_texts);
    g_clear_error(&watch->error);
    g_free(watch);
}
