/*
 * How far a campaign is, how long it still takes, and how long it will take
 * before it begins. Times are working time of the campaign, which on one
 * worker is the time on the wall.
 */
#ifndef COORDINATOR_PLAN_PROGRESS_H
#define COORDINATOR_PLAN_PROGRESS_H

#include "schema/farm/farm.h"
#include "schema/results/store_results.h"
#include "schema/store/store_campaigns.h"

/* The time that a config costs, from the newest campaign of the same target; a documented guess
 * when the target has no campaign. */
struct progress_rates {
    double compile_seconds; /* of a config's kernels, in one build child */
    double eval_seconds;    /* verifying and timing a config */
    double working_seconds; /* of a budget, that a config took in all; 0 where it is not known */
    bool measured;          /* false: the guess */
};
void progress_rates_load(Store *store, const char *target, struct progress_rates *rates);
/* Working time of a config, with so many build processes at a time where it has to be made up. */
double progress_config_seconds(const struct progress_rates *rates, int children);

/* The most configs that a campaign has to measure. Rounds are claimed lowest first, so first rounds come
 * first. */
struct progress_goal {
    int64_t configs; /* of all jobs, with what is measured again */
    int64_t
        first_configs; /* of them, in first rounds that are still to come: measured whatever the budget */
    int64_t counted_done; /* configs that were done when these were counted */
};

/* Seconds that what is left takes: all of it, or the budget's rest where that is less, but
 * never less than the first rounds; and no longer than until the deadline. children: build processes at a
 * time. */
double progress_estimate(const struct progress *progress, const struct progress_goal *goal,
                         const struct progress_rates *rates, int children);

/* The same from what this campaign's own configs took so far; NAN before the first one. */
double progress_eta(const struct progress *progress, const struct progress_goal *goal);

/* The same of a farm's campaign, by the rounds of its jobs and shared among the workers that are at it:
 * seconds on the wall. Where it has no limit of configs, what is known of its jobs' rounds so far counts
 * as all, unless its budget ends it. NAN while it is paused or nothing was evaluated. */
double progress_farm_eta(const struct farm_campaign *campaign);

/* Milliseconds until the campaign is looked at again: a second, and more of one that takes the server long
 * to count, which a million jobs do, so that looking is a small part of its work; a minute at the most, and
 * not past its deadline. */
int progress_pause_ms(const struct progress *progress, double reading_seconds);

/* One line: "about 3 min left: jobs 12 of 23 (1 failed), kernels 140, configs 120 of 276, worked 2
 * min of 10 min". Kernels are compiled before the first config of a round is measured. An eta of
 * NAN and a total of 0 are left out. Free with g_free(). */
char *progress_text(const struct progress *progress, int64_t configs_total, double eta);

#endif
