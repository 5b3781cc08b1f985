/*
 * Foreign campaigns: times and params measured elsewhere, imported from a
 * library's files. They are read by problem, and searches begin with them.
 */
#ifndef SCHEMA_RESULTS_STORE_FOREIGN_H
#define SCHEMA_RESULTS_STORE_FOREIGN_H

#include "schema/store/store.h"
#include "schema/store/store_campaigns.h"

/* The strategy of an imported campaign. This farm measured and verified none of its times. It has no jobs
 * and never changes. */
#define FOREIGN_STRATEGY "foreign"
bool campaign_is_foreign(const struct campaign *campaign);

/* Opens a transaction with a new campaign of this name, identity and target; an unknown target is created.
 * *id is 0 if a foreign campaign already has the identity. The caller must call store_end_foreign(), also
 * after a failure. */
bool store_begin_foreign(Store *store, const struct campaign *campaign, int64_t *id,
                         GError **error);
/* Ends the transaction of store_begin_foreign(): commits its changes if `keep`, else undoes
 * them. */
bool store_end_foreign(Store *store, bool keep, GError **error);

struct foreign_time {
    /* ids: `problem` is the problem of the time; `row_problem` the problem under which the
     * library's perf-db lists it */
    int64_t problem, row_problem;
    double time_ms; /* over 0 */
    int64_t workspace_bytes;
    const char *solver, *algorithm;
};
struct foreign_params {
    int64_t problem; /* the problem under which the library's perf-db lists the params */
    const char *solver, *params;
};
/* Adds times or params. If a solver appears twice for a problem, the first counts. *added counts those
 * stored. */
bool store_add_foreign_times(Store *store, int64_t campaign, const struct foreign_time *times,
                             int count, int *added, GError **error);
bool store_add_foreign_params(Store *store, int64_t campaign, const struct foreign_params *params,
                              int count, int *added, GError **error);

struct foreign_counts {
    /* How many problems have a time, and how many times and params there are. */
    int64_t problems, times, params;
};
bool store_count_foreign(Store *store, int64_t campaign, struct foreign_counts *counts,
                         GError **error);

/* A solver's time and params for a problem. */
struct foreign_entry {
    /* The algorithm that the time was measured with; "" without a time. */
    const char *solver, *algorithm;
    const char *params; /* "" for none */
    double time_ms;     /* time in ms; NAN if only params are known */
    int64_t workspace_bytes;
};
/* Calls `seen` for each problem of the campaign, by id, with its entries, the fastest first. Entries live
 * only during the call. */
typedef void (*foreign_seen)(const struct problem *problem, const struct foreign_entry *entries,
                             int count, gpointer data);
bool store_each_foreign(Store *store, int64_t campaign, foreign_seen seen, gpointer data,
                        GError **error);

#endif
