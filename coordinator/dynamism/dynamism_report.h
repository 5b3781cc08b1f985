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
 *                     compile_seconds, load_seconds, pack_seconds, first_seconds,
 *                     second_seconds
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
    /* names of networks, NULL-terminated; NULL for every network that has a measured problem */
    char **networks;
    /* ids as the user typed them; NULL for all campaigns with the target and stack of the newest
     * one that has results */
    char **campaigns;
    struct dynamism_limits limits;
    bool cold, as_json;
};

/* Runs the whole command and returns its exit status. */
int dynamism_report_run(const struct dynamism_request *request);

#endif
