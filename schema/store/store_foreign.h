/*
 * Foreign campaigns: what somebody else measured, imported from a library's files. Their times and params are
 * asked for by problem, and searches begin with them.
 */
#ifndef SCHEMA_STORE_STORE_FOREIGN_H
#define SCHEMA_STORE_STORE_FOREIGN_H

#include "schema/store/store.h"
#include "schema/store/store_campaigns.h"

/* The strategy of a campaign that was imported: its times are nobody's of this farm, and nothing of it
 * was verified. It has no jobs and never changes. */
#define FOREIGN_STRATEGY "foreign"
bool campaign_is_foreign(const struct campaign *campaign);

/* Opens a transaction with a new campaign of this name, identity and target (created where it is not
 * known); *id is 0 where that identity is a foreign campaign already. Whether it succeeds or not,
 * store_end_foreign() has to follow. */
bool store_begin_foreign(Store *store, const struct campaign *campaign, int64_t *id,
                         GError **error);
/* Commits, or takes all of it back. */
bool store_end_foreign(Store *store, bool keep, GError **error);

struct foreign_time {
    int64_t problem, row_problem; /* rows of problems; the latter stands for its perf-db row */
    double time_ms;               /* over 0 */
    int64_t workspace_bytes;
    const char *solver, *algorithm;
};
struct foreign_params {
    int64_t problem; /* which stands for its perf-db row */
    const char *solver, *params;
};
/* Where a solver comes twice for a problem the first counts; *added is how many did. */
bool store_add_foreign_times(Store *store, int64_t campaign, const struct foreign_time *times,
                             int count, int *added, GError **error);
bool store_add_foreign_params(Store *store, int64_t campaign, const struct foreign_params *params,
                              int count, int *added, GError **error);

struct foreign_counts {
    int64_t problems, times, params; /* problems that have a time */
};
bool store_count_foreign(Store *store, int64_t campaign, struct foreign_counts *counts,
                         GError **error);

/* What is known of a problem's solver. */
struct foreign_entry {
    const char *solver, *algorithm; /* algorithm "" without a time */
    const char *params;             /* "" where there are none */
    double time_ms;                 /* NAN where only params are known */
    int64_t workspace_bytes;
};
/* Calls seen for each problem of the campaign, in the order of their ids, with its entries, the fastest
 * first. Nothing of the campaign stays in memory between the calls. */
typedef void (*foreign_seen)(const struct problem *problem, const struct foreign_entry *entries,
                             int count, gpointer data);
bool store_each_foreign(Store *store, int64_t campaign, foreign_seen seen, gpointer data,
                        GError **error);

#endif
