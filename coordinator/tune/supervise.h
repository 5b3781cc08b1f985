/*
 * Runs a worker for one campaign as a child process: starts it, watches it, starts it again when it
 * dies, and lets it finish its measurement before it ends.
 */
#ifndef COORDINATOR_TUNE_SUPERVISE_H
#define COORDINATOR_TUNE_SUPERVISE_H

#include "coordinator/campaigns/watch.h"

/* A worker that dies is started again at most this many times. */
#define SUPERVISE_RESTARTS 5

enum supervise_end {
    SUPERVISE_DONE,        /* the campaign is done */
    SUPERVISE_OVERDUE,     /* its deadline has passed; what was measured is stored */
    SUPERVISE_INTERRUPTED, /* the user stopped it; what was measured is stored */
    SUPERVISE_FAILED,      /* error says why */
};

/*
 * Runs `skipjack worker --until-empty --campaign ID --embedded` until the campaign is done, or
 * its deadline has passed: then the worker finishes what it measures and releases the rest. Its
 * log goes to log_path. SIGINT, SIGTERM and SIGHUP are forwarded once and the worker is waited
 * for; a second SIGINT or SIGTERM kills it. Signals must be blocked (process_block_signals()).
 */
enum supervise_end supervise_worker(struct watch *watch, const char *log_path, GError **error);

#endif
