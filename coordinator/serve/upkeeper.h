/*
 * The farm's periodic upkeep (schema/farm/upkeep.h), on a thread of the loop's
 * pool with a store of its own. Several services share it: one at a time does it.
 */
#ifndef COORDINATOR_SERVE_UPKEEPER_H
#define COORDINATOR_SERVE_UPKEEPER_H

#include "schema/store/store.h"

#include <uv.h>

struct upkeeper {
    uv_loop_t *loop;
    double period_seconds; /* 0: never */
    uv_timer_t timer;
    uv_work_t work;
    bool running;
    gint stop; /* set to end a run between two of its steps */
    Store *store;
    uint64_t runs, failures;
    /* State of the run that is under way: */
    bool begun;
    char *words; /* what was done */
    GError *error;
};

/* The first run begins at a random moment within two seconds. */
void upkeeper_start(struct upkeeper *upkeeper, uv_loop_t *loop, double period_seconds);
/* Closes the handles. A run under way ends after its current step; the loop runs until then. */
void upkeeper_end(struct upkeeper *upkeeper);
/* After the loop has ended. */
void upkeeper_clear(struct upkeeper *upkeeper);

#endif
