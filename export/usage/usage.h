/*
 * Which solvers networks use: for each network, and for all of them, how many
 * problems a solver wins and what share of the time its winners take. A
 * problem's winner is the fastest solver that somebody measured for it; a time
 * that is not over 0 was never measured and wins nothing. Time is weighted by
 * multiplicity, and shares are of the time of the problems that have a winner.
 */
#ifndef EXPORT_USAGE_H
#define EXPORT_USAGE_H

#include "solvers/problem/problem.h"

#include <stdio.h>

typedef struct usage Usage;

Usage *usage_new(void);
void usage_free(Usage *usage);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Usage, usage_free)

/* ---- what is put in ---- */

/* The network runs the problem so often; a problem that it has already is run that much oftener. */
void usage_add_problem(Usage *usage, const char *network, const struct problem *problem,
                       int64_t multiplicity);
/* Problems of no network are passed over, so networks come first. Of equal times the first name
 * wins. */
void usage_add_time(Usage *usage, const struct problem *problem, const char *solver,
                    double time_ms);

/* ---- what comes out ---- */

struct usage_share {
    const char *solver;
    int64_t wins, layers; /* problems it wins, and with multiplicity */
    double time_ms, time_share;
    int networks; /* that it wins in */
};

struct usage_network {
    const char *name;
    int64_t problems, layers; /* distinct, and with multiplicity */
    int64_t covered;          /* problems that have a winner */
    double time_ms;           /* of those */
    GArray *solvers;          /* struct usage_share, the largest share first */
};

struct usage_gap {
    const char *network;
    struct problem problem;
    int64_t multiplicity;
    bool untimed; /* it has entries, but no time over 0 */
};

struct usage_summary {
    GPtrArray *networks;      /* struct usage_network *, in the order they were named */
    struct usage_network all; /* every network behind the other; no name */
    GArray *gaps;             /* struct usage_gap: problems without a winner, network by network */
};

/* Texts belong to the usage. */
void usage_sum(const Usage *usage, struct usage_summary *summary);
void usage_summary_clear(struct usage_summary *summary);

/* For people, at most 120 columns wide. */
void usage_print(const struct usage_summary *summary, FILE *out);
void usage_print_json(const struct usage_summary *summary, FILE *out);

#endif
