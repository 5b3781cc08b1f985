/*
 * A lane is one connection to the database and a queue of calls for it. Calls block, so they run on the loop's thread
 * pool, one at a time and in order; their `done` runs on the loop. A call that finds the database away stays at the
 * head of the queue and is repeated, after growing pauses, until the database has answered it. An embedded database is
 * started again before that.
 */
#ifndef WORKER_LANE_H
#define WORKER_LANE_H

#include <uv.h>

#include "schema/monitor/metrics.h"
#include "schema/store/store.h"

typedef struct lane Lane;

/* Called on the loop when the database woke this worker. drains: the worker may have been asked to drain, see
 * store_drains(). */
typedef void lane_woken_fn(void *data, bool drains);

/* Embedded as the first member of a call's own struct. */
struct lane_call {
    /* On a pool thread: touches only the call's own memory. May run again after
     * STORE_ERROR_CONNECTION. */
    bool (*run)(struct lane_call *call, Store *store, GError **error);
    /* On the loop, once: error is NULL on success and never STORE_ERROR_CONNECTION. Frees the call. */
    void (*done)(struct lane_call *call, const GError *error);
    /* On the loop, before the call runs; may be NULL. Takes over `next`, which was pushed right after it: the call then
     * runs for both, and its done ends both. False where next has to run by itself. */
    bool (*join)(struct lane_call *call, struct lane_call *next);
};

struct lane_spec {
    const char *url;
    bool embedded;
    double patience_seconds; /* an unanswered statement counts as a lost database then */
    bool speaks; /* logs when the database is lost and back; one of several lanes does */
};

/* Opens nothing yet. */
Lane *lane_new(uv_loop_t *loop, const struct lane_spec *spec);
/* Calls woken when a notification arrives between calls, once a call has made store_listen(), and after each
 * reconnection. */
void lane_watch(Lane *lane, lane_woken_fn *woken, void *data);
/* No call may be under way. The loop must run on until its handles are closed. */
void lane_free(Lane *lane);

void lane_push(Lane *lane, struct lane_call *call);
bool lane_idle(const Lane *lane);
/* The database is away at the moment. */
bool lane_lost(const Lane *lane);
/* When the database was lost, by the monotonic clock; 0 while it is there. */
gint64 lane_lost_us(const Lane *lane);
/* Calls that have not ended. */
unsigned lane_waiting(const Lane *lane);

struct lane_stats {
    uint64_t losses;          /* how often the database went away */
    struct histogram seconds; /* of calls, failed ones too */
};
const struct lane_stats *lane_stats(const Lane *lane);

#endif
