/*
 * Problems of networks, campaigns and golden versions, and each solver's best
 * time for a problem, in the compact form that questions of usage read. Ended campaigns are read from sums (usage_sums), which upkeep
 * makes: a campaign's results never change while it is ended.
 */
#ifndef SCHEMA_RESULTS_STORE_USAGE_H
#define SCHEMA_RESULTS_STORE_USAGE_H

#include "schema/store/store.h"
#include "solvers/problem/problem.h"

/* A campaign without the counts of its jobs, which take store_get_campaign() a second for a large campaign. */
struct used_campaign {
    int64_t id;
    char *name, *target;
    bool foreign;
};
void used_campaign_clear(struct used_campaign *campaign);
/* STORE_ERROR_NOT_FOUND. */
bool store_get_used_campaign(Store *store, int64_t id, struct used_campaign *campaign,
                             GError **error);
/* Appends the ids (int64_t) of the target's campaigns that measure, without foreign ones. */
bool store_list_target_campaigns(Store *store, const char *target, GArray *ids, GError **error);

/* Where problems and times come from: exactly one of campaign (not 0), target, network and tag is set. */
struct usage_source {
    int64_t campaign;
    bool foreign;       /* the campaign was imported (store_foreign.h) */
    const char *target; /* a golden version of this target */
    int version;
    const char *network, *tag; /* these two have problems only, no times */
};

struct used_problem {
    int64_t id;
    struct problem problem;
    int64_t multiplicity; /* as planned, or summed over the network's layers; else 1 */
};
/* The problems of a source, each once, by id: GArray of struct used_problem. STORE_ERROR_NOT_FOUND for a network that
 * does not exist. */
GArray *store_list_used_problems(Store *store, const struct usage_source *source, GError **error);

/* Sets *runs to how often the network, NAME or NAME@NUMBER, is run; 0 if that was never stored. */
bool store_network_runs(Store *store, const char *network, double *runs, GError **error);

struct used_time {
    int64_t problem;
    int64_t solver_id; /* 0 for a foreign campaign */
    const char *solver;
    int revision; /* 0 for a foreign campaign */
    int dynamic;  /* 1 or 0; -1 for a foreign campaign, which does not say */
    double time_ms;
};
typedef void (*used_time_seen)(const struct used_time *time, gpointer data);
/* Calls `seen` for the best time of each problem and solver of a campaign or golden version. ids: only these problems;
 * NULL for all. Texts live only during the call. */
bool store_each_used_time(Store *store, const struct usage_source *source, const GArray *ids,
                          used_time_seen seen, gpointer data, GError **error);

/* Calls `seen` with the keys of the kernels ("KEY,KEY") of some pairs of a problem and a solver: those of the pair's
 * best config in the campaign or golden version. problems, solvers: GArray of int64_t, ids element by element. A pair
 * that the source lacks is left out; a foreign campaign has none. */
typedef void (*used_kernels_seen)(int64_t problem, int64_t solver, const char *keys, gpointer data);
bool store_each_used_kernels(Store *store, const struct usage_source *source,
                             const GArray *problems, const GArray *solvers, used_kernels_seen seen,
                             gpointer data, GError **error);

/* Sums ended campaigns that have no sums yet, each in a transaction of its own. Ends between two campaigns if *stop
 * (may be NULL) is not 0. Needs a coordinator's rights. */
bool store_sum_usage(Store *store, const volatile gint *stop, GError **error);

#endif
