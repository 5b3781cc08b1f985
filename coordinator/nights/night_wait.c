#include "coordinator/nights/night_wait.h"

#include "coordinator/campaigns/watch.h"
#include "coordinator/process/process.h"
#include "schema/monitor/signals.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

bool night_is_overdue(const struct night *night)
{
    return night->deadline_unix != 0 && g_get_real_time() / G_USEC_PER_SEC >= night->deadline_unix;
}

static bool stops(struct night_run *run, int timeout_ms)
{
    int caught = process_wait_signal(timeout_ms);
    if (signals_is_ending(caught))
        run->caught = caught;
    return run->caught != 0;
}

bool night_pause(struct night_run *run, double seconds)
{
    gint64 end_us = g_get_monotonic_time() + (gint64)(seconds * G_USEC_PER_SEC);
    progress_line_end(&run->line);
    while (run->caught == 0) {
        gint64 left_us = end_us - g_get_monotonic_time();
        if (left_us <= 0 || stops(run, (int)CLAMP(left_us / 1000, 1, 1000)))
            break;
    }
    return run->caught != 0;
}

/* Returns true if the campaign's jobs may still be worked on. */
static bool is_open(const struct watch *watch)
{
    return strcmp(watch->state, "active") == 0 || strcmp(watch->state, "paused") == 0;
}

static bool all_done(const GArray *watches)
{
    for (guint i = 0; i < watches->len; i++)
        if (strcmp(g_array_index(watches, struct watch, i).state, "done") != 0)
            return false;
    return true;
}

/* Adds a campaign's progress to the sum of all. */
static void add(struct progress *sum, const struct progress *one)
{
    sum->jobs += one->jobs;
    sum->done += one->done;
    sum->failed += one->failed;
    sum->ready += one->ready;
    sum->building += one->building;
    sum->built += one->built;
    sum->evaluating += one->evaluating;
    sum->configs_done += one->configs_done;
    sum->configs_open += one->configs_open;
    sum->configs_taken += one->configs_taken;
    sum->kernels_built += one->kernels_built;
    sum->spent_seconds += one->spent_seconds;
    sum->budget_seconds += one->budget_seconds;
    sum->compile_seconds += one->compile_seconds;
    sum->eval_seconds += one->eval_seconds;
}

static void show(struct night_run *run, const GArray *watches)
{
    struct progress sum = {0};
    double eta = NAN;
    int64_t configs = 0;
    bool all_budgets = true;
    for (guint i = 0; i < watches->len; i++) {
        const struct watch *watch = &g_array_index(watches, struct watch, i);
        double left = is_open(watch) ? watch_time_left(watch) : 0;
        add(&sum, &watch->progress);
        configs += watch->goal.configs;
        all_budgets = all_budgets && watch->progress.budget_seconds > 0;
        if (!isnan(left) && !(eta >= left))
            eta = left;
    }
    if (!all_budgets)
        sum.budget_seconds = 0;
    g_autofree char *text = progress_text(&sum, configs, eta);
    g_autofree char *line =
        g_strdup_printf("%s, %s: %s", run->night->name, night_state_name(run->night->state), text);
    progress_line_show(&run->line, line);
}

/* Why nobody works on an open campaign, and how often that was looked at. */
struct idle {
    int looks;
    char *said; /* what was said last, or NULL */
};

/* Looks every so many readings, since each look lists all workers. */
#define LOOK_EVERY 15

static void say_if_nobody_works(struct night_run *run, const GArray *watches, struct idle *idle)
{
    if (idle->looks++ % LOOK_EVERY != 0)
        return;
    for (guint i = 0; i < watches->len; i++) {
        const struct watch *watch = &g_array_index(watches, struct watch, i);
        g_autofree char *why = NULL;
        if (strcmp(watch->state, "active") == 0)
            why = watch_why_nobody(run->store, watch->campaign);
        else if (strcmp(watch->state, "paused") == 0)
            why = g_strdup("it is paused; skipjack campaign resume lets it go on");
        if (!why || g_strcmp0(why, idle->said) == 0)
            continue;
        progress_line_end(&run->line);
        fprintf(stderr, "campaign %" G_GINT64_FORMAT ": %s\n", watch->campaign, why);
        g_free(idle->said);
        idle->said = g_steal_pointer(&why);
        return;
    }
}

/* Pauses between two readings: short ones first, since a night that measures few configs again waits for a moment only. */
#define PAUSE_FIRST_MS 50
#define PAUSE_MOST_MS  1000

/* Reads all campaigns. *pause_ms: until they are read again, twice as long as before; *open: how many may still be worked
 * on. */
static bool read_all(const GArray *watches, int *open, int *pause_ms, GError **error)
{
    *open = 0;
    *pause_ms = CLAMP(*pause_ms * 2, PAUSE_FIRST_MS, PAUSE_MOST_MS);
    for (guint i = 0; i < watches->len; i++) {
        struct watch *watch = &g_array_index(watches, struct watch, i);
        if (!watch_read(watch, error))
            return false;
        *open += is_open(watch);
        if (*pause_ms >= PAUSE_MOST_MS)
            *pause_ms = MAX(*pause_ms, progress_pause_ms(&watch->progress, watch->reading_seconds));
    }
    return true;
}

static enum night_outcome follow(struct night_run *run, const GArray *watches, struct idle *idle,
                                 GError **error)
{
    for (int open, pause_ms = 0;;) {
        if (!read_all(watches, &open, &pause_ms, error))
            return NIGHT_STEP_FAILED;
        if (night_is_overdue(run->night) && !all_done(watches)) {
            progress_line_end(&run->line);
            fputs("the deadline has passed: the night goes on with what is there\n", stderr);
            return NIGHT_STEP_DONE;
        }
        if (open == 0)
            return NIGHT_STEP_DONE;
        show(run, watches);
        say_if_nobody_works(run, watches, idle);
        if (stops(run, pause_ms))
            return NIGHT_STEP_STOPPED;
    }
}

enum night_outcome night_wait(struct night_run *run, const GArray *campaigns, GError **error)
{
    g_autoptr(GArray) watches = g_array_new(FALSE, TRUE, sizeof(struct watch));
    struct idle idle = {0};
    for (guint i = 0; i < campaigns->len; i++) {
        struct watch watch;
        if (!watch_init(&watch, run->store, g_array_index(campaigns, int64_t, i), error))
            return NIGHT_STEP_FAILED;
        g_array_append_val(watches, watch);
    }
    enum night_outcome outcome = follow(run, watches, &idle, error);
    progress_line_end(&run->line);
    g_free(idle.said);
    return outcome;
}
