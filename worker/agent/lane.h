/*
 * A lane is one connection to the database with a queue of calls. Calls block, so
 * they run on the loop's thread pool, one at a time and in order; their `done`
 * runs on the loop. A call that finds the database away stays first in the queue
 * and is repeated, after growing pauses, until the database has answered it. An
 * embedded database is started again before the repetition.
 */
#ifndef WORKER_AGENT_LANE_H
#define WORKER_AGENT_LANE_H

#include <uv.h>

#include "schema/monitor/metrics.h"
#include "schema/store/store.h"

typedef struct lane Lane;

/* Called on the loop when a notification of the database arrives. drains: the worker may have
 * been asked to drain, see store_drains(). */
typedef void lane_woken_fn(void *data, bool drains);

/* The first member of each call's own struct. */
struct lane_call {
    /* Runs on a pool thread and touches only the call's own memory. After STORE_ERROR_CONNECTION
     * it runs again. */
    bool (*run)(struct lane_call *call, Store *store, GError **error);
    /* Runs once, on the loop. error is NULL after success, and never STORE_ERROR_CONNECTION.
     * Frees the call. */
    void (*done)(struct lane_call *call, const GError *error);
    /* Runs on the loop before the call does; may be NULL. Takes over `next`, the call behind
     * this one: this call then runs for both, and its done ends both. Returns false if next has
     * to run by itself. */
    bool (*join)(struct lane_call *call, struct lane_call *next);
};

struct lane_spec {
    const char *url;
    bool embedded;
    /* A statement that is not answered for this long counts as a lost database. */
    double patience_seconds;
    bool speaks; /* this lane logs that the database is lost or back; one of several lanes does */
};

/* Makes a lane; the connection is opened by the first call. */
Lane *lane_new(uv_loop_t *loop, const struct lane_spec *spec);
/* From now on calls `woken` when a notification arrives between calls, and after each
 * reconnection. A call must make store_listen() first. */
void lane_watch(Lane *lane, lane_woken_fn *woken, void *data);
/* Frees a lane without running calls. The loop must then run until the lane's handles are
 * closed. */
void lane_free(Lane *lane);

void lane_push(Lane *lane, struct lane_call *call);
bool lane_idle(const Lane *lane);
/* Whether the database is away at the moment. */
bool lane_lost(const Lane *lane);
/* When the database was lost, monotonic time in us; 0 while it is not lost. */
gint64 lane_lost_us(const Lane *lane);
/* The number of calls that wait or run. */
unsigned lane_waiting(const Lane *lane);

struct lane_stats {
    uint64_t losses;          /* how often the connection was lost */
    struct histogram seconds; /* durations of all calls, including failed ones */
};
const struct lane_stats *lane_stats(const Lane *lane);

#endif
