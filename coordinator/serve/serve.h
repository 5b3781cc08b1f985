/*
 * Shared by the files of `skipjack serve`: serve.c owns the loop and reads the farm's state from
 * the database, serve_metrics.c answers HTTP requests, serve_upkeep.c runs the periodic upkeep.
 * Internal.
 */
#ifndef COORDINATOR_SERVE_SERVE_H
#define COORDINATOR_SERVE_SERVE_H

#include <uv.h>

#include "schema/farm/farm.h"
#include "schema/monitor/monitor.h"
#include "schema/monitor/signals.h"

/* Upkeep on a thread of the loop's pool, with a store of its own. */
struct upkeeper {
    uv_loop_t *loop;
    double period_seconds; /* 0: never */
    uv_timer_t timer;
    uv_work_t work;
    bool running;
    gint stop; /* ends a run between two steps */
    Store *store;
    uint64_t runs, failures;
    /* State of the run under way: */
    bool begun;
    char *words; /* what was done */
    GError *error;
};

struct serve {
    uv_loop_t loop;
    struct signal_watch signals;
    uv_timer_t look;
    uv_work_t asking;
    bool is_asking, ending;
    Store *store; /* the asking thread's while it asks */
    Monitor *monitor;
    char *node;
    struct farm_state *farm;   /* of the last answer, or NULL */
    struct farm_state *answer; /* of the question under way */
    GError *error;             /* of the last question, NULL where it was answered */
    GError *new_error;
    gint64 asked_us, answered_us; /* of the monotonic clock; 0 for never */
    double ask_seconds;
    struct upkeeper upkeeper;
};

/* ---- serve_metrics.c ---- */

void serve_write_metrics(void *serve, GString *text);
void serve_check_health(void *serve, GString *reasons);

/* ---- serve_upkeep.c ---- */

void upkeeper_start(struct upkeeper *upkeeper, uv_loop_t *loop, double period_seconds);
/* Its handles close; a run under way ends with its next step, and the loop runs until then. */
void upkeeper_end(struct upkeeper *upkeeper);
void upkeeper_clear(struct upkeeper *upkeeper);

#endif
