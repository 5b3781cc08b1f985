/*
 * Following a campaign: its progress on standard error, through a database
 * that goes away for a while.
 */
#ifndef COORDINATOR_CAMPAIGNS_WATCH_H
#define COORDINATOR_CAMPAIGNS_WATCH_H

#include "coordinator/cli/progress_line.h"
#include "coordinator/plan/progress.h"

struct watch {
    Store *store; /* not owned */
    int64_t campaign;
    struct progress_goal goal;
    struct progress_rates rates; /* foretell until the first config was measured */
    bool lost;                   /* the database is away, which was said */
    struct progress_line line;
    struct progress progress; /* as last read */
    char state[16];           /* the campaign's, as last read */
    double reading_seconds;   /* what that took */
};

/* Reads the campaign once; counts what its jobs evaluate at most. */
bool watch_init(struct watch *watch, Store *store, int64_t campaign, GError **error);

/* Seconds that what is left takes, before or while it is done. */
double watch_time_left(const struct watch *watch);

/* Reads and shows. A database that is away is started again where it is the embedded one, and
 * otherwise waited for: both is no failure. False for every other error. */
bool watch_tick(struct watch *watch, GError **error);

/* Why no running worker takes jobs of an active campaign, which looks like one that is slow: none runs, or none is
 * admitted. NULL where one may, and where the database cannot be read. Free with g_free(). */
char *watch_why_nobody(Store *store, int64_t campaign);

/* Follows until the campaign is no longer active; CLI_DONE when it is done, CLI_FAILED when it is overdue, too. Ctrl-C ends the
 * watching, not the campaign (CLI_INTERRUPTED). */
int watch_campaign(const char *command, Store *store, int64_t campaign);

#endif
