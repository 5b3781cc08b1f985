/*
 * A lane is one connection to the database and a queue of calls for it. Calls
 * block, so they run on the loop's thread pool, one at a time and in order;
 * their ends are told on the loop. A lost database loses nothing: the call
 * that met it stays at the head and is repeated, after growing pauses, until
 * it got through. The embedded database is started again on the way.
 */
#ifndef WORKER_LANE_H
#define WORKER_LANE_H

#include <uv.h>

#include "schema/monitor/metrics.h"
#include "schema/store/store.h"

typedef struct lane Lane;

/* On the loop: the database woke this worker; drains: it may have been asked to end, see store_drains(). */
typedef void lane_woken_fn(void *data, bool drains);

/* Embedded as the first member of a call's own struct. */
struct lane_call {
    /* On a pool thread: touches only the call's own memory. May run again after
     * STORE_ERROR_CONNECTION. */
    bool (*run)(struct lane_call *call, Store *store, GError **error);
    /* On the loop, once: error is NULL on success and never STORE_ERROR_CONNECTION. Frees the call. */
    void (*done)(struct lane_call *call, const GError *error);
};

struct lane_spec {
    const char *url;
    bool embedded;
    double patience_seconds; /* for a statement's answer, then the database counts as away */
    bool speaks; /* says when the database goes and comes: one of several lanes is enough */
};

/* Opens nothing yet. */
Lane *lane_new(uv_loop_t *loop, const struct lane_spec *spec);
/* Between calls the connection is watched: woken is called when the database speaks, once a call has had
 * store_listen(), and when there is a connection again. */
void lane_watch(Lane *lane, lane_woken_fn *woken, void *data);
/* No call may be under way. The loop must run on until its handles are closed. */
void lane_free(Lane *lane);

void lane_push(Lane *lane, struct lane_call *call);
bool lane_idle(const Lane *lane);
/* The database is away at the moment. */
bool lane_lost(const Lane *lane);
/* Since when, of the monotonic clock; 0 while it is there. */
gint64 lane_lost_us(const Lane *lane);
/* Calls that have not come to their end. */
unsigned lane_waiting(const Lane *lane);

struct lane_stats {
    uint64_t losses;          /* how often the database went away */
    struct histogram seconds; /* of calls, failed ones too */
};
const struct lane_stats *lane_stats(const Lane *lane);

#endif
