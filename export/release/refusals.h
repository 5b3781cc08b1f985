/*
 * Results that were left out, and why. There may be as many as results: the first ones are in memory, the
 * rest lies in a file without a name, which goes with this process.
 */
#ifndef EXPORT_REFUSALS_H
#define EXPORT_REFUSALS_H

#include "export/formats/spool.h"

/* Why a result was left out, in the order of the looks. The numbers are this program's own; the names
 * are what scripts see. */
enum refusal {
    REFUSAL_DAMAGED,    /* its row is one that no worker makes */
    REFUSAL_FOREIGN,    /* its job is not of the campaign */
    REFUSAL_UNVERIFIED, /* no stored round of its job has it */
    REFUSAL_SOLVER,     /* its solver is not in the registry, or at another revision */
    REFUSAL_CONFIG, /* the solver does not take its config for its problem today, or needs another workspace */
    REFUSAL_TIME,       /* its time cannot be */
    REFUSAL_DRIFT,      /* the device drifted while its round was measured */
    REFUSAL_KERNEL,     /* a kernel is away, damaged, or not of its solution */
    REFUSAL_SHARED_ROW, /* it may not have the params of the perf-db row that it shares */
    REFUSAL_COUNT,
};
/* "no verified outcome". Static. */
const char *refusal_name(enum refusal why);

/* A result that was left out: FAILURE_REFUSED_BY_CHECK. */
struct export_refusal {
    enum refusal why;
    int64_t job;
    char *problem, *solver; /* "" where its job is not of the campaign */
    char *reason;
};

#define REFUSALS_LISTED 1000
struct refusals {
    GPtrArray *listed; /* struct export_refusal *, the first REFUSALS_LISTED */
    int64_t count;     /* of all */
    int by[REFUSAL_COUNT];
    char *beside;
    Spool *rest;
    goffset rest_bytes;
};
/* beside: a path in the folder that the rest may lie in. */
void refusals_init(struct refusals *refusals, const char *beside);
/* For one that is zeroed, too. */
void refusals_clear(struct refusals *refusals);
/* Forgets all. */
void refusals_begin_anew(struct refusals *refusals);
/* Copies it. */
bool refusals_add(struct refusals *refusals, const struct export_refusal *refusal, GError **error);
/* Calls back for each, in their order. */
bool refusals_each(const struct refusals *refusals,
                   void (*each)(void *data, const struct export_refusal *refusal), void *data,
                   GError **error);

#endif
