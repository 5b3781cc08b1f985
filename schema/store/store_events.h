/*
 * Faults and events: quarantined configs, jobs that a sick device ended, and
 * the event log.
 */
#ifndef SCHEMA_STORE_STORE_EVENTS_H
#define SCHEMA_STORE_STORE_EVENTS_H

#include "schema/store/store_queue.h"

/* Quarantines a config that crashed or hung, for the job's solver revision, problem and target.
 * STORE_ERROR_REFUSED unless a stored round of the job has the config, and beyond 100 configs of a job;
 * STORE_ERROR_FENCE if another worker claimed the job last. */
bool store_quarantine(Store *store, const struct job *job, const struct perf_config *config,
                      enum failure failure, const char *detail, GError **error);
/* Undoes store_quarantine() for a config that was not to blame. Under a worker's login: only that worker's
 * quarantines, and not for a job that stays failed on a second device. */
bool store_lift_quarantine(Store *store, const struct job *job, const struct perf_config *config,
                           GError **error);
/* Gives a job another chance after its worker has found the device sick whose faults ended it. The job becomes ready
 * again, once. A job that the worker still evaluates stays with the worker until it is released, but fails as
 * device fault if the same was noted before: of another device, or of this one under an earlier claim of the worker.
 * In every other case the call changes nothing. */
bool store_return_job(Store *store, const struct job *job, int64_t worker, const char *device,
                      GError **error);
struct quarantine_row {
    struct problem problem;
    char *solver, *hash; /* the quarantine holds for this revision alone */
    int revision;
    char *target, *config_text, *detail;
    enum failure failure;
    int64_t since_unix;
    /* The worker that quarantined the config, and in which job: 0 and "" if unknown. */
    int64_t campaign, job, worker;
    char *node, *login;
};
GPtrArray *store_list_quarantine(Store *store, GError **error); /* struct quarantine_row * */
/* Clears the quarantine of a target (NULL: all targets) and a login (NULL: all logins). */
bool store_clear_quarantine(Store *store, const char *target, const char *login, int *cleared,
                            GError **error);

/* Adds a line to the event log. kind: a short word such as "eval child died". campaign, job, worker: 0 for none. */
bool store_event(Store *store, const char *kind, int64_t campaign, int64_t job, int64_t worker,
                 const char *detail, GError **error);
struct event_row {
    int64_t at_unix, campaign, job, worker;
    char *kind, *detail;
};
/* struct event_row *, the newest first; campaign 0 for all. */
GPtrArray *store_list_events(Store *store, int64_t campaign, int limit, GError **error);
/* All events of one kind of a campaign, the oldest first. */
GPtrArray *store_list_events_of(Store *store, int64_t campaign, const char *kind, GError **error);

#endif
