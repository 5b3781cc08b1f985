#include "worker/agent/lane.h"

#include "schema/monitor/log.h"
#include "schema/server/database.h"
#include "schema/server/embedded.h"
#include "schema/store/store_workers.h"

#define PAUSE_FIRST_MS 100
#define PAUSE_MAX_MS   5000

struct lane {
    uv_loop_t *loop;
    char *url;
    bool embedded, speaks;
    double patience_seconds;
    /* A pool thread uses it while a call runs; else the loop's thread. */
    Store *store;
    /* struct lane_call *: the first one runs, or waits to be repeated. */
    GQueue calls;
    struct lane_call *current; /* the first call while it runs; else NULL */
    bool running, lost;
    gint64 lost_us, began_us; /* when the database was lost; when the current run began */
    struct lane_stats stats;
    struct log_limit away; /* limits the log's lines about a lost database */
    /* There was no connection for a while, so notifications may have been missed. */
    bool deaf;
    uint64_t pause_ms;
    uv_work_t work;
    uv_timer_t *timer;
    lane_woken_fn *woken; /* called when a notification arrives; NULL if nobody listens */
    void *woken_data;
    /* Watches the connection's socket for notifications while no call runs; NULL else. */
    uv_poll_t *poll;
    GError *error; /* error of the run that just ended */
};

static void lane_next(Lane *lane);

/* Opens the connection unless it is open. An embedded server that was killed is started again
 * first. */
static bool lane_open(Lane *lane)
{
    if (lane->embedded && (lane->lost || !lane->store) && !embedded_start(&lane->error)) {
        /* Another process may be starting the server at the same time, so any error is treated
         * as a lost connection, and the call is repeated. */
        lane->error->domain = STORE_ERROR;
        lane->error->code = STORE_ERROR_CONNECTION;
        return false;
    }
    if (!lane->store && (lane->store = store_open(lane->url, &lane->error)))
        store_set_patience(lane->store, lane->patience_seconds);
    return lane->store != NULL;
}

/* ---- notifications between calls ---- */

static void handle_closed(uv_handle_t *handle)
{
    g_free(handle);
}

/* Stops watching the socket, before a call runs: the call may close the socket and open another
 * one with the same number. */
static void lane_unwatch_socket(Lane *lane)
{
    if (lane->poll)
        uv_close((uv_handle_t *)lane->poll, handle_closed);
    lane->poll = NULL;
}

static void lane_hear(Lane *lane)
{
    bool lost = false;
    bool woken = store_woken(lane->store, &lost);
    lane->deaf |= lost;
    if (lost)
        lane_unwatch_socket(lane);
    if (woken)
        lane->woken(lane->woken_data, store_drains(lane->store));
}

static void lane_readable(uv_poll_t *poll, int status, int events)
{
    Lane *lane = poll->data;
    (void)events;
    lane->deaf |= status < 0;
    if (status < 0)
        lane_unwatch_socket(lane);
    else
        lane_hear(lane);
}

/* Watches the socket while no call runs. Notifications that came during a call are handled at
 * once. */
static void lane_watch_socket(Lane *lane)
{
    int fd = lane->woken && lane->store ? store_socket(lane->store) : -1;
    if (fd < 0 || lane->running || lane->poll)
        return;
    uv_poll_t *poll = g_new0(uv_poll_t, 1);
    if (uv_poll_init(lane->loop, poll, fd) != 0) {
        /* Notifications are then not seen between calls; the agent's timer still claims. */
        g_free(poll);
        return;
    }
    poll->data = lane;
    lane->poll = poll;
    uv_poll_start(poll, UV_READABLE, lane_readable);
    lane_hear(lane);
}

void lane_watch(Lane *lane, lane_woken_fn *woken, void *data)
{
    lane->woken = woken;
    lane->woken_data = data;
    lane_watch_socket(lane);
}

/* ---- calls ---- */

static void lane_run(uv_work_t *work)
{
    Lane *lane = work->data;
    if (lane_open(lane))
        lane->current->run(lane->current, lane->store, &lane->error);
}

static void lane_timer(uv_timer_t *timer)
{
    lane_next(timer->data);
}

/* Logs that the database is away: at once, and then once a minute. */
static void lane_say_away(Lane *lane)
{
    unsigned tries;
    if (!lane->lost)
        lane->away = (struct log_limit){0};
    if (!lane->speaks || !log_due(&lane->away, &tries))
        return;
    g_strdelimit(lane->error->message, "\n\t", ' ');
    g_autofree char *again =
        lane->lost ? g_strdup_printf(" still, after %u more tries", tries) : NULL;
    log_write(LEVEL_WARNING, "database_away", NULL,
              "the store is away%s (%s); results are kept until it is back", again ? again : "",
              lane->error->message);
}

static void lane_wait(Lane *lane)
{
    lane_say_away(lane);
    if (!lane->lost) {
        lane->lost_us = g_get_monotonic_time();
        lane->stats.losses++;
    }
    lane->lost = lane->deaf = true;
    lane->pause_ms = CLAMP(lane->pause_ms * 2, PAUSE_FIRST_MS, PAUSE_MAX_MS);
    uv_timer_start(lane->timer, lane_timer, lane->pause_ms, 0);
    g_clear_error(&lane->error);
}

/* Wakes the worker after a reconnection, since notifications that were sent in between are lost. */
static void lane_make_good(Lane *lane)
{
    if (lane->deaf && lane->woken)
        lane->woken(lane->woken_data, store_drains(lane->store));
    lane->deaf = false;
}

static void lane_ran(uv_work_t *work, int status)
{
    Lane *lane = work->data;
    (void)status; /* the work is never cancelled */
    lane->running = false;
    histogram_add(&lane->stats.seconds, (double)(g_get_monotonic_time() - lane->began_us) / 1e6);
    if (g_error_matches(lane->error, STORE_ERROR, STORE_ERROR_CONNECTION)) {
        lane_wait(lane);
        return;
    }
    if (lane->lost && lane->speaks)
        log_write(LEVEL_INFO, "database_back", NULL, "the store is back");
    lane->lost = false;
    lane->pause_ms = 0;
    g_autoptr(GError) error = g_steal_pointer(&lane->error);
    struct lane_call *call = g_queue_pop_head(&lane->calls);
    call->done(call, error);
    lane_make_good(lane);
    lane_next(lane);
    lane_watch_socket(lane);
}

/* Lets the calls that wait behind the first one run with it, as far as its join() accepts them. */
static void lane_join(Lane *lane)
{
    struct lane_call *head = g_queue_peek_head(&lane->calls);
    GList *next;
    while (head->join && (next = lane->calls.head->next) && head->join(head, next->data))
        g_queue_delete_link(&lane->calls, next);
}

static void lane_next(Lane *lane)
{
    if (lane->running || uv_is_active((uv_handle_t *)lane->timer) || !lane->calls.head)
        return;
    lane_unwatch_socket(lane);
    lane->running = true;
    lane->began_us = g_get_monotonic_time();
    lane_join(lane);
    lane->current = g_queue_peek_head(&lane->calls);
    uv_queue_work(lane->loop, &lane->work, lane_run, lane_ran);
}

Lane *lane_new(uv_loop_t *loop, const struct lane_spec *spec)
{
    Lane *lane = g_new0(struct lane, 1);
    lane->loop = loop;
    lane->speaks = spec->speaks;
    lane->url = g_strdup(spec->url);
    lane->embedded = spec->embedded;
    lane->patience_seconds = spec->patience_seconds;
    lane->work.data = lane;
    lane->timer = g_new0(uv_timer_t, 1);
    lane->timer->data = lane;
    g_queue_init(&lane->calls);
    uv_timer_init(loop, lane->timer);
    return lane;
}

void lane_free(Lane *lane)
{
    if (!lane)
        return;
    g_assert(!lane->running);
    uv_close((uv_handle_t *)lane->timer, handle_closed);
    lane_unwatch_socket(lane);
    g_clear_pointer(&lane->store, store_close);
    g_free(lane->url);
    g_free(lane);
}

void lane_push(Lane *lane, struct lane_call *call)
{
    g_queue_push_tail(&lane->calls, call);
    lane_next(lane);
}

bool lane_idle(const Lane *lane)
{
    return lane->calls.head == NULL;
}

bool lane_lost(const Lane *lane)
{
    return lane->lost;
}

gint64 lane_lost_us(const Lane *lane)
{
    return lane->lost ? lane->lost_us : 0;
}

unsigned lane_waiting(const Lane *lane)
{
    return lane->calls.length;
}

const struct lane_stats *lane_stats(const Lane *lane)
{
    return &lane->stats;
}
