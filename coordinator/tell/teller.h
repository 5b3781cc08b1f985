/*
 * Delivers messages beside other work, in a thread of libuv's pool: what a night could not deliver, `serve` does.
 * Several at once share the messages.
 */
#ifndef COORDINATOR_TELL_TELLER_H
#define COORDINATOR_TELL_TELLER_H

#include "schema/store/store.h"

#include <uv.h>

struct teller {
    uv_loop_t *loop;
    double period_seconds;
    uv_timer_t timer;
    uv_work_t work;
    gint stop; /* set to end a run, also during a request */
    Store *store;
    GError *error; /* of the run that is under way */
    bool was_away; /* the last run failed */
};

/* Looks for due messages every period_seconds; 0: never. */
void teller_start(struct teller *teller, uv_loop_t *loop, double period_seconds);
/* Closes the handles; the loop runs until a run under way has ended. */
void teller_end(struct teller *teller);
void teller_clear(struct teller *teller);

#endif
