/*
 * `report --dynamic`: reads what was measured for a target, has dynamism.h
 * compute on it, measures the cold start where that is asked for, and shows
 * all of it.
 *
 * As JSON it is an object:
 *   target, stack     what was measured on
 *   campaigns         ids of the campaigns that the results are taken from
 *   within, compile_share     the thresholds, as parts (0.1, 0.3333)
 *   forms             {"static", "dynamic", "partial"}: how many results there are of each; one for
 *                     each config of a problem, however many campaigns hold it
 *   networks          an array; of each: network, problems, layers, unmeasured (keys of problems
 *                     without a verified config), policies: an object a policy ("static",
 *                     "dynamic", "partial", "mixed") with covered, measured (of so many problems),
 *                     by_form (problems by the form that serves them), kernels, unknown_kernels,
 *                     bytes, compile_seconds, run_ms, choices (an array: problem, solver, config,
 *                     time_ms) and cold: null where not measured, or kernels, bytes,
 *                     compile_seconds, load_seconds, first_seconds, second_seconds
 *   kinds             kernels that are needed with nothing of the shape compiled in
 *   parameters        an array: parameter, choice, values, compilations, gain, problems, pairs;
 *                     null where not known
 *   notes             an array of sentences: what is missing, and how to measure it
 */
#ifndef COORDINATOR_DYNAMISM_DYNAMISM_REPORT_H
#define COORDINATOR_DYNAMISM_DYNAMISM_REPORT_H

#include "coordinator/dynamism/dynamism.h"

#include <jansson.h>
#include <stdio.h>

/* A user's request; the pointers are the caller's. */
struct dynamism_request {
    char **networks;  /* names, NULL-terminated; NULL: all that have a measured problem */
    char **campaigns; /* ids as typed; NULL: those of the target and stack of the newest one that
                       * has results */
    struct dynamism_limits limits;
    bool cold, as_json;
};

/* A measured first start with empty caches. */
struct dynamism_cold {
    bool measured;
    int kernels;
    int64_t bytes;
    double compile_seconds, load_seconds;
    double first_seconds, second_seconds; /* the network's first and second run */
};

struct dynamism_report {
    struct dynamism_limits limits;
    char *target, *stack;
    GArray *campaigns;             /* int64_t */
    GPtrArray *lists;              /* GPtrArray *: as they were read, own what is in them */
    GPtrArray *results, *outcomes; /* of them, what is of this program's solvers */
    GHashTable *kernels;
    int stale;                 /* results of other revisions of solvers, left out */
    bool carried_only;         /* a cold start is asked for: only solvers of this program count, */
    int foreign;               /* and so many results of others are left out */
    struct dynamism_data data; /* of results, outcomes and kernels */
    int forms[DYNAMISM_FORMS];
    GPtrArray *networks;                             /* struct dynamism_network * */
    struct dynamism_cold (*cold)[DYNAMISM_POLICIES]; /* a network each */
    int cold_failures;                               /* each of them is a note too */
    bool stopped;                                    /* by a signal, and a note too */
    int kinds;
    GArray *parameters; /* struct dynamism_parameter */
    GPtrArray *notes;   /* char * */
};

/* Reads the results and computes the report, without cold starts. Sets COORDINATOR_ERROR_EMPTY
 * when nothing was measured, COORDINATOR_ERROR_USAGE for campaigns of different targets or
 * stacks. */
struct dynamism_report *dynamism_report_new(Store *store, const struct dynamism_request *request,
                                            GError **error);
void dynamism_report_free(struct dynamism_report *report);

/* Has the worker compile, load and run every network under every policy, each from empty caches.
 * Stores nothing. A start that fails is counted and noted; SIGINT or SIGTERM ends with the starts
 * measured so far. Both return true. Sets COORDINATOR_ERROR_USAGE when this machine's device is
 * not the report's target. */
bool dynamism_report_cold(struct dynamism_report *report, GError **error);

/* For people; fits table_width(). */
void dynamism_report_print(const struct dynamism_report *report, FILE *out);
/* A new reference. */
json_t *dynamism_report_json(const struct dynamism_report *report);

/* The whole command; its exit status. */
int dynamism_report_run(const struct dynamism_request *request);

#endif
