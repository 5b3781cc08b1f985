/*
 * Follows a campaign: prints its progress on standard error, and survives a database that is away
 * for a while.
 */
#ifndef COORDINATOR_CAMPAIGNS_WATCH_H
#define COORDINATOR_CAMPAIGNS_WATCH_H

#include "coordinator/cli/progress_line.h"
#include "coordinator/plan/progress.h"

struct watch {
    Store *store; /* not owned */
    int64_t campaign;
    struct progress_goal goal;
    /* rates of earlier campaigns, for the forecast until the first config was measured */
    struct progress_rates rates;
    bool lost; /* true while the database is away; the user has been warned once */
    struct progress_line line;
    struct progress progress; /* as last read */
    char state[16];           /* the campaign's state when it was last read */
    double reading_seconds;   /* how long reading state and progress took */
};

/* Reads the campaign, and the most configs that its jobs evaluate. Returns false with an error if
 * the database refuses. */
bool watch_init(struct watch *watch, Store *store, int64_t campaign, GError **error);

/* Returns how many seconds the remaining work will take. */
double watch_time_left(const struct watch *watch);

/* Reads the progress and shows it. When the database is away, the embedded one is started again
 * and another one is waited for; neither is a failure. Returns false for every other error. */
bool watch_tick(struct watch *watch, GError **error);

/* Reads the progress as watch_tick() does, and shows nothing. */
bool watch_read(struct watch *watch, GError **error);

/* Returns the reason why no running worker takes jobs of an active campaign: no worker runs, or
 * the campaign admits none of them. Such a campaign looks merely slow. NULL when a worker may
 * take jobs, or the database cannot be read. Free with g_free(). */
char *watch_why_nobody(Store *store, int64_t campaign);

/* Follows until the campaign is no longer active. Returns CLI_DONE when it is done and CLI_FAILED when it is
 * paused, cancelled or overdue. Ctrl-C ends the watching but not the campaign (CLI_INTERRUPTED). */
int watch_campaign(const char *command, Store *store, int64_t campaign);

#endif
