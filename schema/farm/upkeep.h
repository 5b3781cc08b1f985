/*
 * Upkeep: drops what the farm no longer needs, gathers winners
 * (store_winners.h) and history, and thins old history (store_history.h).
 *
 * A code object stays while one of these needs it: a kept result, a round that
 * waits for its evaluation, a build-only campaign, a golden version
 * (store_golden.h), a build under way that has asked for it. Measurements stay
 * as long as their campaign.
 *
 * The work is done in short transactions of a few hundred rows that wait for no
 * lock, so the queue goes on. A run may be ended or killed at any point and
 * repeated; several may run at once. The cost of a run: one scan of the kept
 * results, and one of the kernels that have code.
 */
#ifndef SCHEMA_FARM_UPKEEP_H
#define SCHEMA_FARM_UPKEEP_H

#include "schema/store/store.h"

struct upkeep_options {
    bool dry_run; /* only counts */
    /* How long these things are kept; negative: for ever. */
    /* Hours that code objects are kept after they were last asked for. */
    double code_hours;
    /* Days that rows of kernels without code are kept after they were last asked for. */
    double kernel_days;
    double event_days;   /* days that lines of the event log are kept */
    double worker_days;  /* days that rows of ended workers are kept */
    double message_days; /* days that delivered and given up messages of the outbox are kept */
    const volatile gint *stop; /* NULL, or a flag: a value other than 0 ends the run between two
                                * steps */
};
#define UPKEEP_DEFAULTS                                                                            \
    (struct upkeep_options)                                                                        \
    {                                                                                              \
        .code_hours = 1, .kernel_days = 90, .event_days = 90, .worker_days = 30,                   \
        .message_days = 30                                                                         \
    }

enum upkeep_part {
    UPKEEP_PARTITIONS, /* tables of dropped campaigns */
    UPKEEP_CODE,       /* code objects that nobody needs */
    UPKEEP_KERNELS,    /* kernels without code that nobody asks for */
    UPKEEP_EVENTS,     /* old lines of the event log */
    UPKEEP_WORKERS,    /* workers that ended long ago */
    UPKEEP_MESSAGES,   /* messages of the outbox that ended long ago */
    UPKEEP_OBJECTS,    /* objects of stores outside that no kernel names; their bytes are
                        * unknown */
    UPKEEP_COUNT
};

struct upkeep_report {
    struct {
        int64_t count, bytes; /* what the part dropped; with dry_run what it would drop */
    } parts[UPKEEP_COUNT];
    int64_t code_count, code_bytes; /* all code objects that the run scanned */
    int64_t thinned;                /* points of history that were folded into others */
    double seconds;
};

/* A short name of a part ("code objects"), static. */
const char *upkeep_part_name(enum upkeep_part part);

/* Runs upkeep. Blocks until done: use a thread and a store of its own. True also if *stop ended the run.
 * False with the first error: *report has what was dropped nevertheless. A part that fails, for example
 * because a store of code objects is unreachable, does not keep the other parts from running, unless the
 * connection is lost. */
bool upkeep_run(Store *store, const struct upkeep_options *options, struct upkeep_report *report,
                GError **error);

#endif
