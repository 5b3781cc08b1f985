/*
 * The results that were left out, with their reasons. There may be as many as results: the first
 * ones are in memory, the rest in a file without a name, which goes with the process.
 */
#ifndef EXPORT_REFUSALS_H
#define EXPORT_REFUSALS_H

#include "export/formats/spool.h"

/* Why a result was left out, in the order of the tests. The numbers are private to this program;
 * scripts see the names. */
enum refusal {
    REFUSAL_DAMAGED,    /* no worker writes such a row */
    REFUSAL_FOREIGN,    /* the campaign has no such job */
    REFUSAL_UNVERIFIED, /* no stored round of its job verified it */
    REFUSAL_SOLVER,     /* the registry lacks its solver, or that revision */
    REFUSAL_CONFIG, /* the solver refuses its config for its problem today, or needs another workspace */
    REFUSAL_TIME,       /* its time is impossible */
    REFUSAL_DRIFT,      /* the device drifted during its round */
    REFUSAL_KERNEL,     /* a kernel is missing, damaged, or not of its solution */
    REFUSAL_SHARED_ROW, /* it may not use the params of the perf-db row that it shares */
    REFUSAL_COUNT,
};
/* The reason's name: "no verified outcome". Static. */
const char *refusal_name(enum refusal why);

/* A result that was left out. */
struct export_refusal {
    enum refusal why;
    int64_t job;
    char *problem, *solver; /* "" if the campaign has no such job */
    char *reason;
};

#define REFUSALS_LISTED 1000
struct refusals {
    GPtrArray *listed; /* struct export_refusal *, the first REFUSALS_LISTED */
    int64_t count;     /* all refusals */
    int by[REFUSAL_COUNT];
    char *beside;
    Spool *rest;
    goffset rest_bytes;
};
/* `beside`: a path in the folder in which the unnamed file is made. */
void refusals_init(struct refusals *refusals, const char *beside);
/* Allowed for a zeroed struct, too. */
void refusals_clear(struct refusals *refusals);
/* Removes all refusals. */
void refusals_begin_anew(struct refusals *refusals);
/* Adds a copy. */
bool refusals_add(struct refusals *refusals, const struct export_refusal *refusal, GError **error);
/* Calls `each` for every refusal in the order of adding. */
bool refusals_each(const struct refusals *refusals,
                   void (*each)(void *data, const struct export_refusal *refusal), void *data,
                   GError **error);

#endif
