/*
 * Results that an export left out, with their reasons. There may be as many as results: the first
 * ones are kept in memory, the rest in a file that has no name, which the system deletes when the
 * process ends.
 */
#ifndef EXPORT_RELEASE_REFUSALS_H
#define EXPORT_RELEASE_REFUSALS_H

#include "export/formats/spool.h"

/* Why a result was left out, in the order in which the gate tests; the last reason is found later,
 * when all results are known. The numbers are private to this program; scripts see the names. */
enum refusal {
    REFUSAL_DAMAGED,    /* no worker writes such a row */
    REFUSAL_FOREIGN,    /* the campaign has no such job */
    REFUSAL_UNVERIFIED, /* none of its job's stored rounds verified it */
    REFUSAL_SOLVER,     /* this program lacks its solver, or the solver's revision */
    REFUSAL_CONFIG, /* the solver refuses its config for its problem today, or needs another workspace */
    /* its time is no positive number, no median of its runs, or shorter than the device can be */
    REFUSAL_TIME,
    REFUSAL_DRIFT,    /* the device drifted during its round */
    REFUSAL_THROTTLE, /* the device was throttled during its round */
    /* a kernel is missing, damaged, not of its solution, or has the name of another result's
     * different code object */
    REFUSAL_KERNEL,
    REFUSAL_SHARED_ROW, /* its perf-db row holds another problem's params, which it cannot use */
    REFUSAL_COUNT,
};
/* The reason's name: "no verified outcome". Static. */
const char *refusal_name(enum refusal why);

/* A result that was left out. */
struct export_refusal {
    enum refusal why;
    int64_t job;
    char *problem, *solver; /* both "" if the campaign has no such job */
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
/* `beside` is a path: the file without a name is made in the same folder. */
void refusals_init(struct refusals *refusals, const char *beside);
/* Frees all refusals. Also allowed for a zeroed struct. */
void refusals_clear(struct refusals *refusals);
/* Removes all refusals, before the export is planned again. */
void refusals_begin_anew(struct refusals *refusals);
/* Adds a copy. */
bool refusals_add(struct refusals *refusals, const struct export_refusal *refusal, GError **error);
/* Calls `each` for every refusal, in the order in which they were added. */
bool refusals_each(const struct refusals *refusals,
                   void (*each)(void *data, const struct export_refusal *refusal), void *data,
                   GError **error);

#endif
