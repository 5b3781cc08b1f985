/*
 * What a campaign came to, by parts of its problems: whoever sums it up needs all of a problem at once, and
 * of large campaigns not all problems.
 */
#ifndef SCHEMA_STORE_PROBLEM_PART_H
#define SCHEMA_STORE_PROBLEM_PART_H

#include "schema/store/store_results.h"

/* Problems by their ids: of those after `after` up to `last`. */
struct problem_part {
    int64_t after, last;
};
#define PROBLEM_PART_BEGIN                                                                         \
    {                                                                                              \
        .after = INT64_MIN, .last = INT64_MIN                                                      \
    }
#define PROBLEM_PART_ALL                                                                           \
    {                                                                                              \
        .after = INT64_MIN, .last = INT64_MAX                                                      \
    }

/* Moves from PROBLEM_PART_BEGIN, or from a part, to the next one, of as many jobs or a few more; the last one
 * goes up to INT64_MAX. It may hold none. */
bool store_next_problems(Store *store, int64_t campaign, int jobs, struct problem_part *part,
                         GError **error);

/* Of these problems, what store_list_jobs() and its kin list of all, and in their order. */
GPtrArray *store_list_part_jobs(Store *store, int64_t campaign, const struct problem_part *part,
                                GError **error);
GPtrArray *store_list_part_results(Store *store, int64_t campaign, const struct problem_part *part,
                                   GError **error);
/* Configs that were rejected ("what was rejected and why"): of store_list_outcomes() those, without a
 * baseline. */
GPtrArray *store_list_part_rejections(Store *store, int64_t campaign,
                                      const struct problem_part *part, GError **error);
/* By job: struct job_device_use *, struct job_conditions *. */
GPtrArray *store_list_part_device_use(Store *store, int64_t campaign,
                                      const struct problem_part *part, GError **error);
GPtrArray *store_list_part_conditions(Store *store, int64_t campaign,
                                      const struct problem_part *part, GError **error);

#endif
