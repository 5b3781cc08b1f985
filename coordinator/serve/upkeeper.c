/* The farm's periodic upkeep. */
#include "coordinator/serve/upkeeper.h"

#include "schema/farm/farm.h"
#include "schema/farm/upkeep.h"
#include "schema/monitor/log.h"
#include "schema/server/database.h"

/* The first run begins at a random moment within this many ms, so that coordinators that start
 * together do not run it together. */
#define SOON_MS 2000

/* Returns what a run did as text: "12 code objects (1.2 MB), 3 old events in 0.4 s". Free with
 * g_free(). */
static char *describe(const struct upkeep_report *report)
{
    GString *text = g_string_new(NULL);
    for (int i = 0; i < UPKEEP_COUNT; i++) {
        int64_t bytes = report->parts[i].bytes;
        g_autofree char *size = bytes > 0 ? g_format_size((guint64)bytes) : NULL;
        if (report->parts[i].count == 0)
            continue;
        g_string_append_printf(text, "%s%" G_GINT64_FORMAT " %s", text->len ? ", " : "",
                               (gint64)report->parts[i].count,
                               upkeep_part_name((enum upkeep_part)i));
        if (size)
            g_string_append_printf(text, " (%s)", size);
    }
    g_string_append_printf(text, "%s in %.1f s", text->len ? "" : "nothing to drop,",
                           report->seconds);
    return g_string_free(text, FALSE);
}

/* Runs on a thread of the pool. A run that fails keeps what it has done, but the farm counts it as
 * not done. */
static void run_upkeep(uv_work_t *work)
{
    struct upkeeper *upkeeper = work->data;
    struct upkeep_options options = UPKEEP_DEFAULTS;
    struct upkeep_report report = {0};
    options.stop = &upkeeper->stop;
    if (!upkeeper->store && !(upkeeper->store = database_open(true, &upkeeper->error)))
        return;
    /* The period is shortened a little, since clocks and timers are not exact. */
    if (!farm_begin_upkeep(upkeeper->store, upkeeper->period_seconds * 0.9, &upkeeper->begun,
                           &upkeeper->error) ||
        !upkeeper->begun)
        return;
    bool done = upkeep_run(upkeeper->store, &options, &report, &upkeeper->error);
    upkeeper->words = describe(&report);
    bool whole = done && !g_atomic_int_get(&upkeeper->stop);
    farm_end_upkeep(upkeeper->store, report.seconds, whole ? upkeeper->words : NULL,
                    done ? &upkeeper->error : NULL);
}

static void due(uv_timer_t *timer);

static void ran(uv_work_t *work, int status)
{
    struct upkeeper *upkeeper = work->data;
    (void)status; /* never UV_ECANCELED: nothing cancels the work */
    upkeeper->running = false;
    if (upkeeper->error) {
        upkeeper->failures++;
        log_write(LEVEL_WARNING, "upkeep_failed", NULL, "upkeep: %s%s%s", upkeeper->error->message,
                  upkeeper->words ? "; done before: " : "", upkeeper->words ? upkeeper->words : "");
        /* Closing the connection gives the turn to another coordinator. */
        g_clear_pointer(&upkeeper->store, store_close);
    } else if (upkeeper->begun) {
        upkeeper->runs++;
        log_write(LEVEL_INFO, "upkeep", NULL, "upkeep: %s", upkeeper->words);
    }
    upkeeper->begun = false;
    g_clear_error(&upkeeper->error);
    g_clear_pointer(&upkeeper->words, g_free);
    if (!g_atomic_int_get(&upkeeper->stop))
        uv_timer_start(&upkeeper->timer, due, (uint64_t)(upkeeper->period_seconds * 1000), 0);
}

static void due(uv_timer_t *timer)
{
    struct upkeeper *upkeeper = timer->data;
    upkeeper->running = true;
    uv_queue_work(upkeeper->loop, &upkeeper->work, run_upkeep, ran);
}

void upkeeper_start(struct upkeeper *upkeeper, uv_loop_t *loop, double period_seconds)
{
    upkeeper->loop = loop;
    upkeeper->period_seconds = period_seconds;
    upkeeper->work.data = upkeeper->timer.data = upkeeper;
    uv_timer_init(loop, &upkeeper->timer);
    if (period_seconds > 0)
        uv_timer_start(&upkeeper->timer, due, (uint64_t)g_random_int_range(0, SOON_MS), 0);
}

void upkeeper_end(struct upkeeper *upkeeper)
{
    g_atomic_int_set(&upkeeper->stop, 1);
    uv_close((uv_handle_t *)&upkeeper->timer, NULL);
}

void upkeeper_clear(struct upkeeper *upkeeper)
{
    g_clear_pointer(&upkeeper->store, store_close);
}
