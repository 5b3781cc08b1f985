/*
 * The history has what each solver reached for each problem and target, night by night. It is
 * stored apart from the campaigns: dropping a campaign loses no point.
 *
 * A point is one solver's job for a problem and a target in one night: its best
 * kept config, or its failure. A job that only took over an earlier answer gets no point, nor do
 * foreign campaigns. A job that is measured again gets a point in the night of the new measurement.
 *
 * The night of a measurement is the one that store_name_night() named for its campaign, or else the
 * date 12 hours before the measurement, in the database's time zone.
 *
 * Points are thinned by age (struct history_retention), never cut: the first night of each span is
 * kept, and each night in which the config, revision, stack, failure or the problem's winner
 * changed.
 */
#ifndef SCHEMA_RESULTS_STORE_HISTORY_H
#define SCHEMA_RESULTS_STORE_HISTORY_H

#include "schema/store/failure.h"
#include "schema/store/store.h"

#define HISTORY_NIGHT_BYTES 16 /* "2027-03-05", with room for years beyond 9999 */

struct history_point {
    int64_t problem;
    char *target, *solver;
    char night[HISTORY_NIGHT_BYTES]; /* YYYY-MM-DD */
    int64_t campaign;                /* may be dropped since */
    int revision;
    char *hash;           /* of the solver's sources */
    char *config;         /* the config's text, "" if the job failed or the solver has none */
    char *stack, *node;   /* "" if unknown */
    enum failure failure; /* FAILURE_NONE, or why the job failed: then it has no time */
    int n;                /* samples, at most 32767 */
    double median_ms;     /* 0 if the job failed, like the other times */
    double spread;        /* interquartile range, divided by the median */
    /* The median's interval: that of its second measurement (QUEUE.md); or median +- 1.57 * IQR / sqrt(n), the notch of
     * McGill, Tukey and Larsen, Variations of box plots (1978). Two medians whose intervals do not overlap differ at
     * about the 5 % level. */
    double low_ms, high_ms;
    bool second;                /* the times are those of a second measurement */
    bool chosen;                /* it won the second measurement of its problem in its campaign */
    double drift;               /* of the round, as in store_results.h; 0 if unknown */
    int sm_mhz_min, sm_mhz_max; /* 0 if unknown */
    unsigned throttle;          /* bits of enum throttle, conditions.h */
    /* The solver was the problem's winner: the fastest by the newest points of all solvers, or the one that a second
     * measurement chose in the campaign of the fastest. */
    bool wins;
    /* The time is from an earlier night: the job took the config over, or did not measure it again. */
    bool older;
    int nights; /* how many nights were folded into the point, with its own: 1 before thinning */
    double fastest_ms, slowest_ms; /* extremes of the medians of these nights */
};
void history_point_free(struct history_point *point);

/* All of these return struct history_point *, or NULL with an error. */

/* The points of a problem, by target, night and solver. target, solver: NULL for all. since: the first night
 * (YYYY-MM-DD), NULL for all. */
GPtrArray *store_list_history(Store *store, int64_t problem, const char *target, const char *solver,
                              const char *since, GError **error);
/* The newest `nights` points (1 for the latest state) of each problem and solver of the target from before the
 * night `before` (NULL for no end), by problem, solver and night, the newest first. problems: ids (int64_t), NULL for
 * all that the target has. One query: 50,000 points take about a second. */
GPtrArray *store_newest_history(Store *store, const char *target, const GArray *problems,
                                const char *before, int nights, GError **error);

/* Names the night (YYYY-MM-DD) of all that the campaign measures from now on; call it after creating the campaign,
 * or before measuring jobs of it again. A campaign without an ended job gets the night from its beginning. Repeated
 * calls change nothing. */
bool store_name_night(Store *store, int64_t campaign, const char *night, GError **error);

/* Gathers the points that the history lacks: of this campaign, or with 0 of all. Repeated and interrupted calls do
 * no harm. Ends between two steps if *stop (may be NULL) is not 0. Upkeep does so, and so does the verb "drop" of
 * store_change_campaign(). */
bool store_gather_history(Store *store, int64_t campaign, const volatile gint *stop,
                          GError **error);

struct history_retention {
    int dense_days; /* every night stays for so many days: 7 or more */
    int weekly_days; /* then the first night of each week stays, until so many days; then that of each month */
};
#define HISTORY_RETENTION_DEFAULT                                                                  \
    (struct history_retention)                                                                     \
    {                                                                                              \
        .dense_days = 90, .weekly_days = 730                                                       \
    }
bool store_history_retention(Store *store, struct history_retention *retention, GError **error);
/* STORE_ERROR_REFUSED if it is out of range: 7 <= dense_days <= weekly_days <= 36500. Points that were thinned
 * before do not come back. */
bool store_set_history_retention(Store *store, const struct history_retention *retention,
                                 GError **error);
/* Thins the points by their age today (NULL: the database's date). *dropped: how many points were folded into
 * others. Short steps; may be ended as store_gather_history(). */
bool store_thin_history(Store *store, const char *today, const volatile gint *stop,
                        int64_t *dropped, GError **error);

struct history_size {
    int64_t points, series, problems, targets;
    int64_t nights; /* folded into the points, with their own */
    char first[HISTORY_NIGHT_BYTES], last[HISTORY_NIGHT_BYTES]; /* "" without a point */
    int64_t bytes; /* of the tables with their indexes */
};
bool store_history_size(Store *store, struct history_size *size, GError **error);

#endif
