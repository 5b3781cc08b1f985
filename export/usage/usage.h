/*
 * Sums up which solvers networks use: how many problems each solver wins, and its share of the
 * winners' time, for each network and over all. The winner of a problem is its fastest solver; a
 * time that is not over 0 was never measured and wins nothing. Times are weighted by multiplicity.
 * Shares are of the time of the problems that have a winner.
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

/* Adds a problem that the network runs `multiplicity` times; the multiplicities of equal problems
 * add up. */
void usage_add_problem(Usage *usage, const char *network, const struct problem *problem,
                       int64_t multiplicity);
/* Adds a measured time. Problems that no network has are ignored, so networks are added first. The
 * first solver by name wins among equal times. */
void usage_add_time(Usage *usage, const struct problem *problem, const char *solver,
                    double time_ms);

/* ---- what comes out ---- */

struct usage_share {
    const char *solver;
    int64_t wins, layers; /* problems it wins, and these weighted by multiplicity */
    double time_ms, time_share;
    int networks; /* networks in which it wins a problem */
};

struct usage_network {
    const char *name;
    int64_t problems, layers; /* distinct ones, and weighted by multiplicity */
    int64_t covered;          /* problems that have a winner */
    double time_ms;           /* time of the covered problems */
    GArray *solvers;          /* struct usage_share, the largest share first */
};

struct usage_gap {
    const char *network;
    struct problem problem;
    int64_t multiplicity;
    bool untimed; /* it has entries, none with a time over 0 */
};

struct usage_summary {
    GPtrArray *networks;      /* struct usage_network *, in the order in which they were added */
    struct usage_network all; /* all networks together; without a name */
    GArray *gaps;             /* struct usage_gap: problems without a winner, by network */
};

/* Sums up. Texts in the summary belong to the usage, which must outlive it. */
void usage_sum(const Usage *usage, struct usage_summary *summary);
void usage_summary_clear(struct usage_summary *summary);

/* Prints tables for a terminal, at most 120 columns wide. */
void usage_print(const struct usage_summary *summary, FILE *out);
void usage_print_json(const struct usage_summary *summary, FILE *out);

#endif
