/*
 * Which solvers networks use: for each network, and for all of them, how many
 * problems a solver wins and what share of the time its winners take. A
 * problem's winner is the fastest solver that somebody measured for it; a time
 * that is not over 0 was never measured and wins nothing. Time is weighted by
 * multiplicity, and shares are of the time of the problems that have a winner.
 */
#ifndef EXPORT_USAGE_H
#define EXPORT_USAGE_H

#include "coordinator/import/import.h"
#include "schema/store/store.h"
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

/* Problems of a list; options say what it leaves out. Lines that cannot be used are named on
 * stderr. False when the file as a whole cannot be read. */
bool usage_read_list(Usage *usage, const char *path, const struct import_options *options,
                     GError **error);
/* A find-db or a .sjdb, by its content. */
bool usage_read_db(Usage *usage, const char *path, GError **error);
/* The campaign's kept results; as_network: its jobs' problems are a network too, by its name. */
bool usage_read_campaign(Usage *usage, Store *store, int64_t campaign, bool as_network,
                         GError **error);
/* The content of a target's golden version, 0 for the newest approved one; as_network: its problems are
 * a network too. EXPORT_ERROR_EMPTY where the target has none. */
bool usage_read_golden(Usage *usage, Store *store, const char *target, int version, bool as_network,
                       GError **error);

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
