/*
 * Upkeep: finds what the farm does not need any more, and drops it. Code
 * objects stay while a kept result, a round that waits for its evaluation, a
 * build-only campaign or a golden version (store_golden.h) needs them, or a
 * build under way has asked for them; what was measured stays as long as its
 * campaign. It also gathers what won (store_winners.h).
 *
 * All of it goes in short transactions of a few hundred rows that wait for
 * nobody, so the queue goes on meanwhile. It may be ended or killed at any
 * point and run again, and several may run at once. What it costs: one look
 * through the kept results, and through the kernels that have code.
 */
#ifndef SCHEMA_FARM_UPKEEP_H
#define SCHEMA_FARM_UPKEEP_H

#include "schema/store/store.h"

struct upkeep_options {
    bool dry_run; /* only counts */
    /* How long these stay, for ever where it is negative: */
    double code_hours;         /* code objects since they were asked for */
    double kernel_days;        /* what is known of kernels without code, likewise */
    double event_days;         /* lines of the diary */
    double worker_days;        /* workers that ended */
    const volatile gint *stop; /* NULL, or ends it between two steps when it is not 0 */
};
#define UPKEEP_DEFAULTS                                                                            \
    (struct upkeep_options)                                                                        \
    {                                                                                              \
        .code_hours = 1, .kernel_days = 90, .event_days = 90, .worker_days = 30                    \
    }

enum upkeep_part {
    UPKEEP_PARTITIONS, /* tables of dropped campaigns */
    UPKEEP_CODE,       /* code objects that nobody needs */
    UPKEEP_KERNELS,    /* kernels without code that nobody asks for */
    UPKEEP_EVENTS,     /* old lines of the diary */
    UPKEEP_WORKERS,    /* workers that ended long ago */
    UPKEEP_OBJECTS,    /* objects in stores outside that no kernel names; their bytes are unknown */
    UPKEEP_COUNT
};

struct upkeep_report {
    struct {
        int64_t count, bytes; /* freed; with dry_run what would be */
    } parts[UPKEEP_COUNT];
    int64_t code_count, code_bytes; /* all code objects there were when they were looked through */
    double seconds;
};

/* A short name of a part ("code objects"), static. */
const char *upkeep_part_name(enum upkeep_part part);

/* Drops what options say. False with the first error: *report then has what was freed all the same, and
 * a part that failed (a store of code objects that is away) keeps no other from its work unless the
 * connection was lost. Stopped by *stop it is true. Blocks for as long as it takes: for a thread of its
 * own, with a store of its own. */
bool upkeep_run(Store *store, const struct upkeep_options *options, struct upkeep_report *report,
                GError **error);

#endif
