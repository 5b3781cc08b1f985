#include "coordinator/tell/teller.h"

#include "coordinator/tell/tell.h"
#include "schema/monitor/log.h"
#include "schema/server/database.h"

static void run(uv_work_t *work)
{
    struct teller *teller = work->data;
    struct tell_counts counts;
    if (teller->store != NULL || (teller->store = database_open(true, &teller->error)) != NULL)
        tell_deliver(teller->store, 0, &teller->stop, &counts, &teller->error);
}

static void due(uv_timer_t *timer);

static void ran(uv_work_t *work, int status)
{
    struct teller *teller = work->data;
    (void)status; /* never UV_ECANCELED: nothing cancels the work */
    if (teller->error != NULL && !teller->was_away)
        log_write(LEVEL_WARNING, "tell_failed", NULL, "messages are not delivered: %s",
                  teller->error->message);
    teller->was_away = teller->error != NULL;
    if (teller->error != NULL)
        g_clear_pointer(&teller->store, store_close);
    g_clear_error(&teller->error);
    if (!g_atomic_int_get(&teller->stop))
        uv_timer_start(&teller->timer, due, (uint64_t)(teller->period_seconds * 1000), 0);
}

static void due(uv_timer_t *timer)
{
    struct teller *teller = timer->data;
    uv_queue_work(teller->loop, &teller->work, run, ran);
}

void teller_start(struct teller *teller, uv_loop_t *loop, double period_seconds)
{
    teller->loop = loop;
    teller->period_seconds = period_seconds;
    teller->work.data = teller->timer.data = teller;
    uv_timer_init(loop, &teller->timer);
    if (period_seconds > 0)
        uv_timer_start(&teller->timer, due, 0, 0);
}

void teller_end(struct teller *teller)
{
    g_atomic_int_set(&teller->stop, 1);
    uv_close((uv_handle_t *)&teller->timer, NULL);
}

void teller_clear(struct teller *teller)
{
    g_clear_pointer(&teller->store, store_close);
}
