/*
 * The farm at a glance, as `skipjack status` and `skipjack serve` tell it. What
 * it costs does not grow with what was measured: bundles, workers and the ends
 * of active campaigns' jobs are read, rounds and results are not (a campaign
 * of a million jobs takes a quarter of a second).
 */
#ifndef SCHEMA_FARM_FARM_H
#define SCHEMA_FARM_FARM_H

#include "schema/store/blockers.h"
#include "schema/store/failure.h"
#include "schema/store/store.h"

/* An active or paused campaign. */
struct farm_campaign {
    int64_t id;
    char *name, *state, *target; /* state as in struct campaign */
    int64_t jobs, ready, building, built, evaluating, done, failed;
    int64_t failures[FAILURE_COUNT];           /* of failed jobs */
    int64_t rounds_behind;                     /* summed over the open jobs */
    int highest_round;                         /* of an open job, from 0 */
    int configs_limit, round_configs, workers; /* workers: that hold jobs of it */
    double spent_seconds, budget_seconds, age_seconds;
    bool has_deadline;
    double deadline_seconds; /* until the deadline, negative once it has passed */
};

/* A worker that has not ended, and was heard of within a day or holds jobs. */
struct farm_worker {
    int64_t id;
    char *node, *login, *target, *state; /* "working", "idle", "draining", "lost" */
    char *labels, *campaigns;            /* "night,big", "3,7": that it works on */
    int jobs;
    double beat_age_seconds;
    int64_t failures[FAILURE_COUNT]; /* configs by outcome since it began */
};

/* A device of a running worker; texts are "" where they are not known. */
struct farm_device {
    int64_t worker;
    char *node, *device, *name, *target, *uuid, *address, *partition;
    char *stack; /* its runtime and driver */
};

/* What counts something by a name: solvers of quarantined configs, failed workers by node, a device. */
struct farm_trouble {
    char *name, *detail; /* detail "" where there is none */
    int64_t count;
    double age_seconds; /* of the newest */
};

struct farm_database {
    double bytes, kernels_bytes, kernels, dead_bundles;
    int connections, connections_limit;
    double oldest_transaction_seconds;
    char *blob_place; /* its URL, "database" */
    int64_t blobs_loose;
    double upkeep_age_seconds;                    /* negative before the first */
    double oldest_claim_seconds;                  /* 0 without one */
    double jobs_rate, configs_rate, kernels_rate; /* a second, over the last five minutes */
};

struct farm_state {
    GPtrArray *campaigns;      /* struct farm_campaign * */
    GPtrArray *workers;        /* struct farm_worker * */
    GPtrArray *devices;        /* struct farm_device *, by node and worker */
    GPtrArray *devices_out;    /* struct farm_trouble *, of running workers, the newest first */
    GPtrArray *quarantine;     /* struct farm_trouble *, by solver */
    GPtrArray *blockers;       /* struct blocker *, as blockers_list() has them */
    GPtrArray *failed_workers; /* struct farm_trouble *, of a day: a node and a reason each */
    GPtrArray *
        no_toolchain; /* struct farm_trouble *: the targets that each node's newest worker cannot build for */
    GPtrArray *refusals; /* struct refusal_row *, as store_list_refusals() has them */
    struct farm_database database;
};

/* All of it; farm_free(). */
struct farm_state *farm_read(Store *store, GError **error);
void farm_free(struct farm_state *farm);

/* The kind of the event by which a worker says that no toolchain of its node serves a target. */
#define FARM_NO_TOOLCHAIN "no toolchain"

/* What a worker has done since it began, for the farm's rates: with a beat now and then. */
struct farm_counts {
    int64_t jobs, configs, kernels;
    int64_t failures[FAILURE_COUNT]; /* configs by outcome */
};
bool farm_report_worker(Store *store, int64_t worker, const struct farm_counts *counts,
                        GError **error);

/* A device of the worker, by its place among them, is out of service for that reason; "": it is back. */
bool farm_set_device_service(Store *store, int64_t worker, int place, const char *reason,
                             GError **error);

/* Of several that ask, whether this one is to do upkeep: nobody else is at it, and the last one began
 * at least so many seconds ago. The right to it is the store's connection's: farm_end_upkeep() gives it
 * back. done NULL: it was not done whole, and whoever asks next may begin it. */
bool farm_begin_upkeep(Store *store, double period_seconds, bool *begun, GError **error);
bool farm_end_upkeep(Store *store, double seconds, const char *done, GError **error);

#endif
