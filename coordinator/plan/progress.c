#include "coordinator/plan/progress.h"

#include "coordinator/cli/when.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Guessed seconds for a target without history. PoCL takes 0.5 to 1.8 s to compile a kernel, clang
 * for AMD 0.13 s and NVRTC 0.02 to 0.05 s; a CPU also takes long to verify a config. */
#define CPU_COMPILE_SECONDS 1.2
#define CPU_EVAL_SECONDS    0.6
#define GPU_COMPILE_SECONDS 0.15
#define GPU_EVAL_SECONDS    0.1

static bool rates_of_campaign(Store *store, int64_t campaign, struct progress_rates *rates)
{
    struct progress done = {0};
    if (!store_progress(store, campaign, &done, NULL) || done.configs_done == 0 ||
        done.kernels_built == 0)
        return false;
    rates->compile_seconds = done.compile_seconds / (double)done.configs_done;
    rates->eval_seconds = done.eval_seconds / (double)done.configs_done;
    int64_t own = done.configs_done - done.configs_taken;
    rates->working_seconds = own > 0 ? done.spent_seconds / (double)own : 0;
    rates->measured = rates->eval_seconds > 0;
    return rates->measured;
}

/* Reads the rates of the target's newest campaign. If they cannot be read, the guess stays, since
 * only the forecast depends on it. */
void progress_rates_load(Store *store, const char *target, struct progress_rates *rates)
{
    bool cpu = g_str_has_prefix(target, "cpu-");
    g_autoptr(GPtrArray) campaigns = store_list_campaigns(store, NULL);
    for (guint i = campaigns ? campaigns->len : 0; i > 0; i--) {
        const struct campaign *campaign = g_ptr_array_index(campaigns, i - 1);
        if (strcmp(campaign->target, target) == 0 && rates_of_campaign(store, campaign->id, rates))
            return;
    }
    *rates = (struct progress_rates){
        .compile_seconds = cpu ? CPU_COMPILE_SECONDS : GPU_COMPILE_SECONDS,
        .eval_seconds = cpu ? CPU_EVAL_SECONDS : GPU_EVAL_SECONDS,
    };
}

double progress_config_seconds(const struct progress_rates *rates, int children)
{
    return rates->working_seconds > 0
               ? rates->working_seconds
               : rates->compile_seconds / MAX(children, 1) + rates->eval_seconds;
}

static bool is_over(const struct progress *progress)
{
    return progress->done + progress->failed >= progress->jobs;
}

static bool is_spent(const struct progress *progress)
{
    return progress->budget_seconds > 0 && progress->spent_seconds >= progress->budget_seconds;
}

/* Returns how many configs are done. A config that is built and waits to be measured counts
 * half; in a build-only campaign a built config is done. */
static double configs_over(const struct progress *progress)
{
    double built = (double)progress->configs_open;
    return (double)progress->configs_done + (progress->build_only ? built : built / 2);
}

/* Configs of a second measurement: the winner, one or two near it, and one or two default configs. Each is verified as
 * in a round before the readings begin. */
#define FINAL_CONFIGS 4

/* Returns the seconds that the second measurements take that are still to come. The budget does not bound them. */
static double finals_time(const struct progress *progress, double config_seconds)
{
    return (double)progress->finals_left *
           (progress->final_seconds + FINAL_CONFIGS * config_seconds);
}

/* Returns the seconds that the remaining work takes, at config_seconds for each config. */
static double time_left(const struct progress *progress, const struct progress_goal *goal,
                        double config_seconds)
{
    double done = configs_over(progress);
    double all = MAX((double)goal->configs - done, 0) * config_seconds;
    double needed = MAX((double)(goal->leader_configs + goal->counted_done) - done, 0);
    if (is_spent(progress))
        needed = MIN(needed, progress->jobs - progress->done - progress->failed);
    double left = progress->budget_seconds <= 0
                      ? all
                      : MIN(all, MAX(progress->budget_seconds - progress->spent_seconds,
                                     needed * config_seconds));
    left += finals_time(progress, config_seconds);
    return progress->has_deadline ? MIN(left, MAX(progress->deadline_seconds, 0)) : left;
}

double progress_estimate(const struct progress *progress, const struct progress_goal *goal,
                         const struct progress_rates *rates, int children)
{
    double config = progress->build_only ? rates->compile_seconds / MAX(children, 1)
                                         : progress_config_seconds(rates, children);
    return is_over(progress) ? 0 : time_left(progress, goal, config);
}

double progress_eta(const struct progress *progress, const struct progress_goal *goal)
{
    double done = configs_over(progress);
    if (is_over(progress))
        return 0;
    if ((progress->build_only ? done : (double)progress->configs_done) <= 0 ||
        progress->spent_seconds <= 0)
        return NAN;
    double own = done - (double)progress->configs_taken;
    return own > 0 ? time_left(progress, goal, progress->spent_seconds / own) : NAN;
}

double progress_farm_eta(const struct farm_campaign *c)
{
    int64_t rounds = c->configs_limit > 0
                         ? (c->configs_limit + c->round_configs - 1) / MAX(c->round_configs, 1)
                         : c->highest_round + 1;
    int64_t open = c->jobs - c->done - c->failed;
    /* Few jobs go on behind configs_limit, so the open ones count with one round more than they have on the average. */
    rounds = MAX(rounds,
                 c->configs_limit > 0 ? c->rounds_behind / MAX(open, 1) + 1 : c->highest_round + 1);
    const struct progress progress = {
        .jobs = (int)c->jobs,
        .done = (int)c->done,
        .failed = (int)c->failed,
        .configs_done = ((c->done + c->failed) * rounds + c->rounds_behind) * c->round_configs,
        .spent_seconds = c->spent_seconds,
        .budget_seconds = c->budget_seconds,
        .finals_left = c->finals_left,
        .final_seconds = c->final_seconds,
    };
    const struct progress_goal goal = {
        .configs = c->jobs * rounds * c->round_configs,
        .leader_configs = is_spent(&progress) ? c->jobs - c->done - c->failed : 0,
        .counted_done = progress.configs_done,
    };
    return strcmp(c->state, "active") == 0 ? progress_eta(&progress, &goal) / MAX(c->workers, 1)
                                           : NAN;
}

#define LOOKING_SHARE 20 /* reading the campaign may take one part in this many of the time */

int progress_pause_ms(const struct progress *progress, double reading_seconds)
{
    double ms = CLAMP(reading_seconds * 1000 * LOOKING_SHARE, 1000, 60000);
    if (progress->has_deadline && progress->deadline_seconds > 0)
        ms = MIN(ms, progress->deadline_seconds * 1000 + 10);
    return (int)ms;
}

/* Puts the time left first, since a narrow terminal cuts the end of the line. */
static void append_time_left(GString *text, const struct progress *progress, double eta)
{
    if (!isfinite(eta) || is_over(progress))
        return;
    if (is_spent(progress) && eta < 1) {
        g_string_append(text, "finishing what was begun: ");
        return;
    }
    g_autofree char *left = when_duration(MAX(eta, 1));
    g_string_append_printf(text, "about %s left: ", left);
}

char *progress_text(const struct progress *progress, int64_t configs_total, double eta)
{
    GString *text = g_string_new(NULL);
    append_time_left(text, progress, eta);
    g_string_append_printf(text, "jobs %d of %d", progress->done + progress->failed,
                           progress->jobs);
    if (progress->failed > 0)
        g_string_append_printf(text, " (%d failed)", progress->failed);
    if (progress->untried_by_budget > 0)
        g_string_append_printf(text, ", %d of them ended untried by the budget",
                               progress->untried_by_budget);
    g_string_append_printf(text, ", kernels %" G_GINT64_FORMAT, progress->kernels_built);
    int64_t configs = progress->configs_done + (progress->build_only ? progress->configs_open : 0);
    g_string_append_printf(text, ", configs %" G_GINT64_FORMAT, configs);
    if (configs_total > 0)
        g_string_append_printf(text, " of %s%" G_GINT64_FORMAT,
                               progress->budget_seconds > 0 ? "about " : "",
                               MAX(configs_total, configs));
    if (progress->build_only)
        g_string_append(text, " built, not measured");
    g_autofree char *spent = when_duration(progress->spent_seconds);
    g_string_append_printf(text, ", worked %s", spent);
    if (progress->budget_seconds > 0) {
        g_autofree char *budget = when_duration(progress->budget_seconds);
        g_string_append_printf(text, " of %s", budget);
    }
    if (progress->has_deadline && !is_over(progress)) {
        g_autofree char *until = when_duration(progress->deadline_seconds);
        if (progress->deadline_seconds > 0)
            g_string_append_printf(text, ", deadline in %s", until);
        else
            g_string_append(text, ", deadline passed");
    }
    return g_string_free(text, FALSE);
}
