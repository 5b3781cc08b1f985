/*
 * The farm's state, for `skipjack status` and `skipjack serve`. Reading it costs
 * the same however much was measured: it reads bundles, workers and ended jobs
 * of active campaigns, but no rounds and no results. A campaign of a million
 * jobs takes a quarter of a second.
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
    int64_t
        untried; /* of the done jobs: those that the campaign's budget ended before they tried a config */
    int64_t failures[FAILURE_COUNT]; /* of failed jobs */
    /* Sum over the open jobs of the rounds that each has finished. */
    int64_t rounds_behind;
    /* Number of the highest round of an open job, from 0. */
    int highest_round;
    /* configs_limit, round_configs: as in struct campaign; workers: how many workers hold jobs of
     * the campaign. */
    int configs_limit, round_configs, workers;
    double spent_seconds, budget_seconds, age_seconds;
    int64_t finals_left; /* as in struct progress */
    double final_seconds;
    bool has_deadline;
    double deadline_seconds; /* seconds until the deadline, negative after it */
};

/* A worker that has not ended, and either sent a heartbeat within a day or holds jobs. */
struct farm_worker {
    int64_t id;
    char *node, *login, *target, *state; /* "working", "idle", "draining", "lost" */
    /* Labels: names of pools, "night,big"; campaigns: ids of those it holds jobs of, "3,7". */
    char *labels, *campaigns;
    int jobs, measuring; /* jobs that it holds, and of these the ones to measure */
    double beat_age_seconds;
    int64_t failures[FAILURE_COUNT]; /* configs that it evaluated since it began, by outcome */
};

/* A device of a running worker; texts are "" if unknown. */
struct farm_device {
    int64_t worker;
    char *node, *device, *name, *target, *uuid, *address, *partition;
    char *stack; /* the device's runtime and driver */
};

/* A named trouble and how often it occurred: quarantined configs by solver, failed workers by
 * node, devices out of service. */
struct farm_trouble {
    char *name, *detail; /* the reason; "" for none */
    int64_t count;
    double age_seconds; /* of the newest */
};

struct farm_database {
    double bytes, kernels_bytes, kernels, dead_bundles;
    int connections, connections_limit;
    double oldest_transaction_seconds;
    /* URL of the place of new code objects, "database" for the database itself. */
    char *blob_place;
    int64_t blobs_loose;
    /* Seconds since the last upkeep; negative before the first one. */
    double upkeep_age_seconds;
    double oldest_claim_seconds; /* 0 without one */
    /* Jobs, configs and kernels a second, over the last five minutes. */
    double jobs_rate, configs_rate, kernels_rate;
};

struct farm_state {
    GPtrArray *campaigns; /* struct farm_campaign * */
    GPtrArray *workers;   /* struct farm_worker * */
    GPtrArray *devices;   /* struct farm_device *, by node and worker */
    /* struct farm_trouble *: devices of running workers that are out of service, the newest
     * first. */
    GPtrArray *devices_out;
    GPtrArray *quarantine; /* struct farm_trouble *: quarantined configs by solver */
    GPtrArray *blockers;   /* struct blocker *, by blockers_list() */
    GPtrArray *
        failed_workers; /* struct farm_trouble *: workers that failed in the last day, one for each node and reason */
    /* struct farm_trouble *: targets that the newest worker of a node cannot build for */
    GPtrArray *no_toolchain;
    GPtrArray *refusals; /* struct refusal_row *, by store_list_refusals() */
    struct farm_database database;
};

/* Reads all lists of the farm's state. Free with farm_free(). */
struct farm_state *farm_read(Store *store, GError **error);
void farm_free(struct farm_state *farm);

/* The kind of the event that a worker writes if no toolchain of its node serves a target. */
#define FARM_NO_TOOLCHAIN "no toolchain"

/* A worker's work since it began. Workers report it with some heartbeats, and the database
 * computes the farm's rates from it. */
struct farm_counts {
    int64_t jobs, configs, kernels;
    int64_t failures[FAILURE_COUNT]; /* configs that it evaluated, by outcome */
};
bool farm_report_worker(Store *store, int64_t worker, const struct farm_counts *counts,
                        GError **error);

/* Marks a device of the worker (by its index) as out of service for a reason; "" puts it back into
 * service. */
bool farm_set_device_service(Store *store, int64_t worker, int place, const char *reason,
                             GError **error);

/* *begun is true if this session is to do upkeep: no other session does it, and the last run began at least
 * period_seconds ago. The right belongs to the store's connection until farm_end_upkeep(), which records what was
 * done and how long it took. done NULL: upkeep was not completed, and the next session that asks may begin at once. */
bool farm_begin_upkeep(Store *store, double period_seconds, bool *begun, GError **error);
bool farm_end_upkeep(Store *store, double seconds, const char *done, GError **error);

#endif
