/*
 * Workers: registration, heartbeats, waking, draining, and the refusals that
 * keep workers from campaigns.
 */
#ifndef SCHEMA_STORE_STORE_WORKERS_H
#define SCHEMA_STORE_STORE_WORKERS_H

#include "schema/store/store.h"

struct worker_device {
    const char *device; /* the device as the worker's command line names it */
    const char *name, *target;
    const char *uuid, *address, *partition; /* "" if unknown */
    const char *stack;                      /* the device's runtime and driver */
};
struct worker_info {
    const char *node; /* stable name of the node */
    /* boot id, pid and start time: differs from those of an earlier, dead process */
    const char *process;
    const char *target; /* target id of the worker's device, "" for a node that only builds */
    const char *stack;
    bool eval_only; /* the worker builds nothing */
    /* pools it works for; NULL-terminated or NULL. Campaigns without a pool suit every worker. */
    const char *const *labels;
    const char *const *solvers; /* as in struct claim; NULL for any */
    const struct worker_device *devices;
    int device_count;
};
/* The worker belongs to the sessions that present its secret. The process makes one secret up, and all of its
 * stores present it (but see store_act_as()). Under a worker's login no other session may act for the worker. */
bool store_register_worker(Store *store, const struct worker_info *info, int64_t *worker,
                           GError **error);
struct worker_row {
    int64_t id;
    char *node, *process, *target;
    int leases;
    double beat_age_seconds;
    bool ended;
    bool ours; /* this login may call store_worker_lost() for the worker */
};
/* Workers of the node, or all for NULL; those that have not ended come first. */
GPtrArray *store_list_workers(Store *store, const char *node, GError **error);

/* Why an active campaign does not admit a running worker. */
struct refusal_row {
    int64_t campaign, worker;
    char *node, *reason;
};
/* worker, campaign: 0 for all. GPtrArray of struct refusal_row *; equal reasons of a campaign are neighbours. */
GPtrArray *store_list_refusals(Store *store, int64_t worker, int64_t campaign, GError **error);
/* Active campaigns (campaign 0: all) that have jobs to build and that the worker's toolchains cannot build. The
 * reason is the campaign's constraint on builders, or a solver of cannot_build ("name:revision:hash",
 * NULL-terminated). GPtrArray of struct refusal_row *, by campaign. */
GPtrArray *store_list_unbuilt(Store *store, int64_t worker, int64_t campaign,
                              const char *const *cannot_build, GError **error);

/* Makes this connection receive the worker's notifications, also after it was opened again. A claim that finds
 * nothing marks the worker as idle. Work that appears notifies a few of the idle workers that suit it; a request to
 * drain notifies the worker, too. */
bool store_listen(Store *store, int64_t worker, GError **error);
/* The socket on which notifications arrive, -1 without a connection. Any call on the store may close it: stop
 * polling it before the call. */
int store_socket(const Store *store);
/* Reads the notifications that have arrived, without waiting. Returns whether the worker was woken since the last
 * call. Sets *lost if the connection is gone; the next call on the store opens it again. */
bool store_woken(Store *store, bool *lost);
/* Renews all leases of the worker in one statement, and waits for the answer for half a minute at most. Also ends
 * the leases of other workers that ran out: their jobs return to ready or built with a strike, and fail as worker
 * lost at the third strike. */
bool store_heartbeat(Store *store, int64_t worker, GError **error);
/* Whether the worker was asked to drain, by the last heartbeat or a notification since. Any login can send a
 * notification: confirm it by a heartbeat. */
bool store_drains(const Store *store);
/* Asks the running workers of a node to drain; *asked counts them. */
bool store_drain_node(Store *store, const char *node, int *asked, GError **error);
/* Ends a worker that is known to be dead: its jobs return at once, each with a strike. A worker's login may do so
 * for workers of its own node and login. */
bool store_worker_lost(Store *store, int64_t worker, GError **error);
/* Ends a worker that stops in good order: its jobs return without a strike. */
bool store_worker_ended(Store *store, int64_t worker, GError **error);
/* Begins a new epoch after a restore from a backup: ids and fences continue far above all numbers given out before,
 * and all held jobs are given back. A database restored by pg_restore, and one whose server was recovered to a point
 * in time or took over from another server, begins its epoch by itself at its first use. *epoch counts the epochs. */
bool store_begin_epoch(Store *store, int *epoch, GError **error);

#endif
