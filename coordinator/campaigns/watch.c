#include "coordinator/campaigns/watch.h"

#include "coordinator/cli/cli.h"
#include "coordinator/cli/progress_line.h"
#include "coordinator/plan/first_rounds.h"
#include "coordinator/process/command_line.h"
#include "coordinator/process/process.h"
#include "schema/monitor/signals.h"
#include "schema/server/database.h"
#include "schema/server/embedded.h"
#include "schema/store/store_campaigns.h"
#include "schema/store/store_workers.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static bool read_state(struct watch *watch, GError **error)
{
    gint64 start_us = g_get_monotonic_time();
    struct campaign *campaign = store_get_campaign(watch->store, watch->campaign, error);
    if (!campaign)
        return false;
    g_strlcpy(watch->state, campaign->state, sizeof watch->state);
    campaign_free(campaign);
    bool read = store_progress(watch->store, watch->campaign, &watch->progress, error);
    watch->reading_seconds = (double)(g_get_monotonic_time() - start_us) / G_USEC_PER_SEC;
    return read;
}

bool watch_init(struct watch *watch, Store *store, int64_t campaign, GError **error)
{
    *watch = (struct watch){.store = store, .campaign = campaign};
    progress_line_init(&watch->line);
    struct campaign *row = store_get_campaign(store, campaign, error);
    g_autoptr(GPtrArray) jobs = row ? store_list_jobs(store, campaign, error) : NULL;
    if (jobs) {
        struct target target = {0};
        if (!store_get_target(store, row->target, &target, NULL) &&
            !target_parse(row->target, &target, NULL))
            target.id[0] = '\0'; /* without a target only the forecast is less good */
        progress_rates_load(store, row->target, &watch->rates);
        g_autoptr(GArray) first =
            first_rounds_list(jobs, row, &target, watch->rates.eval_seconds, &watch->goal.configs);
        watch->goal.leader_configs = first_rounds_problems(first);
    }
    if (row)
        campaign_free(row);
    if (!jobs || !read_state(watch, error))
        return false;
    watch->goal.counted_done = watch->progress.configs_done;
    return true;
}

/* Starts the embedded database if it has stopped. Any other database is restarted by whoever runs
 * it. */
static void bring_back(struct watch *watch, const char *message)
{
    bool embedded = false;
    g_autofree char *url = database_url(&embedded, NULL);
    embedded = embedded && url;
    if (!watch->lost) {
        progress_line_end(&watch->line);
        fprintf(stderr, "the database went away (%s); %s\n", message,
                embedded ? "starting it again" : "waiting for it");
    }
    watch->lost = true;
    g_autoptr(GError) error = NULL;
    if (embedded && !embedded_start(&error))
        g_debug("cannot start the database yet: %s", error->message);
}

double watch_time_left(const struct watch *watch)
{
    double eta = progress_eta(&watch->progress, &watch->goal);
    if (!isnan(eta))
        return eta;
    return progress_estimate(&watch->progress, &watch->goal, &watch->rates,
                             (int)g_get_num_processors());
}

static void show(struct watch *watch)
{
    g_autofree char *text =
        progress_text(&watch->progress, watch->goal.configs, watch_time_left(watch));
    progress_line_show(&watch->line, text);
}

bool watch_read(struct watch *watch, GError **error)
{
    g_autoptr(GError) failure = NULL;
    if (!read_state(watch, &failure)) {
        if (!g_error_matches(failure, STORE_ERROR, STORE_ERROR_CONNECTION)) {
            progress_line_end(&watch->line);
            g_propagate_error(error, g_steal_pointer(&failure));
            return false;
        }
        bring_back(watch, failure->message);
        return true;
    }
    if (watch->lost)
        fprintf(stderr, "the database is back\n");
    watch->lost = false;
    return true;
}

bool watch_tick(struct watch *watch, GError **error)
{
    if (!watch_read(watch, error))
        return false;
    if (!watch->lost)
        show(watch);
    return true;
}

/* Prints the campaign's state (`what`) and the command to run next (`words`), as "campaign 3 is paused. To let it go on:"
 * and "skipjack campaign resume 3". */
static void say_next(const struct watch *watch, const char *what, const char *const *words)
{
    g_autofree char *command = command_line(words);
    fprintf(stderr, "campaign %" G_GINT64_FORMAT " %s:\n  %s\n", watch->campaign, what, command);
}

static int say_end(const struct watch *watch)
{
    g_autofree char *id = g_strdup_printf("%" G_GINT64_FORMAT, watch->campaign);
    const char *const report[] = {"report", "--campaign", id, NULL};
    const char *const resume[] = {"campaign", "resume", id, NULL};
    if (strcmp(watch->state, "done") == 0) {
        say_next(watch, "is done. What it brought", report);
        return CLI_DONE;
    }
    const char *const later[] = {"campaign", "set", id, "--deadline", "none", NULL};
    if (strcmp(watch->state, CAMPAIGN_OVERDUE) == 0) {
        const struct progress *progress = &watch->progress;
        fprintf(stderr, "its deadline has passed, and %d of %d jobs are not done\n",
                progress->jobs - progress->done - progress->failed, progress->jobs);
        say_next(watch, "is overdue. What it brought", report);
        say_next(watch, "goes on without a deadline, or with a later one, after", later);
    } else if (strcmp(watch->state, "paused") == 0)
        say_next(watch, "is paused. To let it go on", resume);
    else
        cli_note("campaign %" G_GINT64_FORMAT " is %s\n", watch->campaign, watch->state);
    return CLI_FAILED;
}

/* Longest silence, in seconds, of a worker that counts as running. Only running workers are asked
 * whether the campaign admits them. */
#define SILENT_SECONDS 120

static guint count_running(const GPtrArray *workers, double silent_seconds)
{
    guint count = 0;
    for (guint i = 0; i < workers->len; i++) {
        const struct worker_row *row = g_ptr_array_index(workers, i);
        count += !row->ended && row->beat_age_seconds < silent_seconds;
    }
    return count;
}

char *watch_why_nobody(Store *store, int64_t campaign)
{
    g_autoptr(GPtrArray) workers = store_list_workers(store, NULL, NULL);
    g_autoptr(GPtrArray) refusals = store_list_refusals(store, 0, campaign, NULL);
    if (!workers || !refusals)
        return NULL;
    if (count_running(workers, INFINITY) == 0)
        return g_strdup_printf("no worker is running, so nothing happens until one is started: %s",
                               database_worker_command());
    guint running = count_running(workers, SILENT_SECONDS);
    if (running == 0 || refusals->len < running)
        return NULL;
    const struct refusal_row *first = g_ptr_array_index(refusals, 0);
    return g_strdup_printf("none of the running workers (%u) is admitted, so nothing happens until "
                           "another one is started; of the one on %s: %s",
                           running, first->node, first->reason);
}

int watch_campaign(const char *command, Store *store, int64_t campaign)
{
    struct watch watch;
    GError *error = NULL;
    if (!watch_init(&watch, store, campaign, &error))
        return cli_fail(command, error);
    g_autofree char *nobody =
        strcmp(watch.state, "active") == 0 ? watch_why_nobody(store, campaign) : NULL;
    if (nobody)
        fprintf(stderr, "%s\n", nobody);
    process_block_signals();
    int caught = 0;
    while (strcmp(watch.state, "active") == 0 && !signals_is_ending(caught)) {
        if (!watch_tick(&watch, &error))
            return cli_fail(command, error);
        if (strcmp(watch.state, "active") == 0)
            caught = process_wait_signal(progress_pause_ms(&watch.progress, watch.reading_seconds));
    }
    progress_line_end(&watch.line);
    if (strcmp(watch.state, "active") != 0)
        return say_end(&watch);
    g_autofree char *id = g_strdup_printf("%" G_GINT64_FORMAT, campaign);
    const char *const again[] = {"campaign", "watch", id, NULL};
    say_next(&watch, "goes on. To follow it again", again);
    return CLI_INTERRUPTED;
}
