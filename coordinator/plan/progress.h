/*
 * How far a campaign is and how long it will still take; also before it begins. Times are the
 * campaign's working time, which is the time on the wall if it has one worker.
 */
#ifndef COORDINATOR_PLAN_PROGRESS_H
#define COORDINATOR_PLAN_PROGRESS_H

#include "schema/farm/farm.h"
#include "schema/results/store_results.h"
#include "schema/store/store_campaigns.h"

/* The time that one config takes on a target, measured by its newest campaign; guessed if the
 * target has no campaign. */
struct progress_rates {
    double compile_seconds; /* seconds that a build child takes to compile a config's kernels */
    double eval_seconds;    /* seconds that verifying and timing a config take */
    double working_seconds; /* seconds of the budget that a config took in all; 0 if unknown */
    bool measured;          /* true if the rates were measured; false if they are guessed */
};
void progress_rates_load(Store *store, const char *target, struct progress_rates *rates);
/* Returns the working time of a config in seconds. If it was not measured, it is estimated for this
 * many build processes at a time. */
double progress_config_seconds(const struct progress_rates *rates, int children);

/* How many configs a campaign has to measure at most. */
struct progress_goal {
    /* evaluations of all jobs, those of configs that are measured again included */
    int64_t configs;
    /* the part of `configs` that is measured whatever the budget: one for each problem without any */
    int64_t leader_configs;
    int64_t counted_done; /* how many configs were done when these numbers were counted */
};

/* Returns the seconds that the remaining work takes: that of all configs, or the rest of the budget if it is less, but
 * never less than one config for each problem without any; then the second measurements of all problems; and no longer than until the
 * deadline. children: build processes at a time. */
double progress_estimate(const struct progress *progress, const struct progress_goal *goal,
                         const struct progress_rates *rates, int children);

/* Returns the same as progress_estimate(), from the time that this campaign's own configs have taken so far; NAN before
 * the first one. */
double progress_eta(const struct progress *progress, const struct progress_goal *goal);

/* Returns how many seconds on the wall a farm's campaign will still take, from the rounds of its
 * jobs, shared among the workers that run it. If it has no limit of configs, the configs of its
 * jobs' rounds known so far count as all, unless its budget ends it earlier. NAN while it is
 * paused, or before anything was evaluated. */
double progress_farm_eta(const struct farm_campaign *campaign);

/* Returns the milliseconds to wait before the campaign is read again. Normally a second. If reading
 * takes the server long, as with a million jobs, the wait is longer, so that reading stays a small
 * part of the server's work; but never more than a minute, or beyond the deadline. */
int progress_pause_ms(const struct progress *progress, double reading_seconds);

/* One line: "about 3 min left: jobs 12 of 23 (1 failed), 9 of them ended untried by the budget, kernels 140, configs 120 of 276, worked 2
 * min of 10 min". Kernels are compiled before the first config of a round is measured. An eta of
 * NAN and a total of 0 are left out. Free with g_free(). */
char *progress_text(const struct progress *progress, int64_t configs_total, double eta);

#endif
