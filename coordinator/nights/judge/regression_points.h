/*
 * The measurements by which a night is judged, read from the database: the night's points and those before it (store_history.h), a
 * golden version, and the networks of the night's sources. And the second measurements of its suspects.
 */
#ifndef COORDINATOR_NIGHTS_JUDGE_REGRESSION_POINTS_H
#define COORDINATOR_NIGHTS_JUDGE_REGRESSION_POINTS_H

#include "coordinator/nights/file/night_sources.h"
#include "coordinator/nights/judge/regressions.h"
#include "schema/store/store.h"

struct regression_question {
    const char *target;
    const char *night;                   /* YYYY-MM-DD: points of this night are tonight's */
    int golden;                          /* the version to compare with; 0 for none */
    const struct night_sources *sources; /* the problems, and the networks that have them */
    const Regressions
        *last; /* what the last judged night found (regressions_read_last()); NULL for nothing */
};
/* Returns struct regression_problem *, for regressions_judge(), or NULL. The history has been gathered before
 * (store_gather_history()). Points of a pair that the last judged night suspected and could not measure again count as
 * its past only up to the night that it was compared with. */
GPtrArray *regression_points_read(Store *store, const struct regression_question *question,
                                  GError **error);

/* Reads what the newest night of that name before the date found for the target. *last: free with regressions_free();
 * NULL if no such night was judged. */
bool regressions_read_last(Store *store, const char *name, const char *date, const char *target,
                           Regressions **last, GError **error);

/* Hands in what the campaign has measured again on chosen nodes since: store_list_remeasured(). *count (may be NULL):
 * how many measurements belong to findings. May be repeated. */
bool regression_points_again(Store *store, Regressions *regressions, int64_t campaign, int *count,
                             GError **error);

#endif
