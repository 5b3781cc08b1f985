/*
 * Networks with their problems, the solvers' times for these problems, and sums over both: which
 * solvers the networks use.
 *
 * A time belongs to a place: the target that it was measured on and, where sources are kept apart,
 * the source. Times of one place are compared with each other, and the winner of a problem at a
 * place is its fastest solver; a time of 0 or less was never measured and wins nothing. Times are
 * weighted by multiplicity and by how often the network runs. A share is a part of the total time
 * of the problems that have a winner.
 */
#ifndef EXPORT_USAGE_USAGE_H
#define EXPORT_USAGE_USAGE_H

#include "solvers/problem/problem.h"

#include <jansson.h>
#include <stdio.h>

typedef struct usage Usage;

Usage *usage_new(void);
void usage_free(Usage *usage);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Usage, usage_free)

/* ---- adding networks ---- */

/* Adds a problem that the network runs `multiplicity` times. Adding an equal problem again adds up
 * the multiplicities. */
void usage_add_problem(Usage *usage, const char *network, const struct problem *problem,
                       int64_t multiplicity);
/* Only times of this place count for the network: it consists of the place's own problems. */
void usage_bind_network(Usage *usage, const char *network, int place);
/* How often the network runs, 1 unless set. Returns false if there is no such network. */
bool usage_set_runs(Usage *usage, const char *network, double runs);
int usage_network_count(const Usage *usage);
const char *usage_network_name(const Usage *usage, int network);

/* ---- adding times ---- */

/* Returns the number of the place, a new one if needed. target: "" if unknown; source: "" unless
 * sources are kept apart. */
int usage_place(Usage *usage, const char *target, const char *source);

struct usage_entry {
    const char *solver;
    int revision; /* 0 if unknown */
    int dynamic;  /* 1: one kernel serves all sizes; 0: it does not; -1 if unknown */
    int place;    /* from usage_place() */
    int origin;   /* the caller's number of what the entry was read from; -1 for none */
    /* rows of the solver and of the problem in the database of the origin; 0 for none */
    int64_t solver_id, problem_id;
    double time_ms;
};
/* Adds a measured time. A problem that no network has is ignored, so all networks are added before
 * the first time. If a solver has several times at one place, the fastest counts. If times of two
 * solvers are equal, the first solver by name wins. */
void usage_add_entry(Usage *usage, const struct problem *problem, const struct usage_entry *entry);
/* Keeps what entries are read from until `usage` is freed. Returns its number. */
int usage_keep_origin(Usage *usage, gpointer origin, GDestroyNotify destroy);
gpointer usage_origin_at(const Usage *usage, int origin);
/* Adds a time at the place without target and source. */
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

/* A network at one place. */
struct usage_network {
    const char *name, *target, *source;
    double runs;
    int64_t problems, layers; /* number of distinct problems; the same weighted by multiplicity */
    int64_t covered;          /* number of distinct problems that have a winner */
    /* sum of the winners' times, in ms, weighted by multiplicity and runs */
    double time_ms;
    GArray *solvers; /* struct usage_share, the largest time first */
};

struct usage_gap {
    const char *network, *target, *source;
    struct problem problem;
    int64_t multiplicity;
    bool untimed; /* true if it has entries, but none with a time over 0 */
};

struct usage_summary {
    /* struct usage_network *, in the order in which they were added; a network is repeated for each
     * place that it has */
    GPtrArray *networks;
    struct usage_network all; /* the sums over all networks; its name is NULL */
    GArray *gaps;             /* struct usage_gap: problems without a winner, ordered by network */
    bool targets, sources;    /* there are several */
};

/* Sums up. The summary's texts belong to `usage`, which must outlive it. */
void usage_sum(Usage *usage, struct usage_summary *summary);
void usage_summary_clear(struct usage_summary *summary);

/* Prints tables for people. */
void usage_print(const struct usage_summary *summary, FILE *out);
/* The summary as JSON (USAGE.md), a new reference. */
json_t *usage_json(const struct usage_summary *summary);

#endif
