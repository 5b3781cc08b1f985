/*
 * Sums up which solvers networks use: how many problems each solver wins, and its share of the
 * winners' time, for each network and over all. The winner of a problem is its fastest solver; a
 * time of 0 or less was never measured and wins nothing. Times are weighted by multiplicity. A
 * share is a part of the total time of the problems that have a winner.
 */
#ifndef EXPORT_USAGE_USAGE_H
#define EXPORT_USAGE_USAGE_H

#include "solvers/problem/problem.h"

#include <stdio.h>

typedef struct usage Usage;

Usage *usage_new(void);
void usage_free(Usage *usage);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Usage, usage_free)

/* ---- adding problems and times ---- */

/* Adds a problem that the network runs `multiplicity` times. Adding an equal problem again adds up
 * the multiplicities. */
void usage_add_problem(Usage *usage, const char *network, const struct problem *problem,
                       int64_t multiplicity);
/* Adds a measured time. A problem that no network has is ignored, so all networks are added before
 * the first time. If times are equal, the first solver by name wins. */
void usage_add_time(Usage *usage, const struct problem *problem, const char *solver,
                    double time_ms);

/* ---- the summary ---- */

struct usage_share {
    const char *solver;
    /* number of problems that the solver wins; the same weighted by multiplicity */
    int64_t wins, layers;
    double time_ms, time_share;
    int networks; /* number of networks in which the solver wins a problem */
};

struct usage_network {
    const char *name;
    int64_t problems, layers; /* number of distinct problems; the same weighted by multiplicity */
    int64_t covered;          /* number of distinct problems that have a winner */
    double time_ms;           /* sum of the winners' times, in ms, weighted by multiplicity */
    GArray *solvers;          /* struct usage_share, the largest time first */
};

struct usage_gap {
    const char *network;
    struct problem problem;
    int64_t multiplicity;
    bool untimed; /* true if it has entries, but none with a time over 0 */
};

struct usage_summary {
    GPtrArray *networks;      /* struct usage_network *, in the order in which they were added */
    struct usage_network all; /* the sums over all networks; its name is NULL */
    GArray *gaps;             /* struct usage_gap: problems without a winner, ordered by network */
};

/* Sums up. The summary's texts belong to `usage`, which must outlive it. */
void usage_sum(const Usage *usage, struct usage_summary *summary);
void usage_summary_clear(struct usage_summary *summary);

/* Prints tables for a terminal, at most 120 columns wide. */
void usage_print(const struct usage_summary *summary, FILE *out);
void usage_print_json(const struct usage_summary *summary, FILE *out);

#endif
