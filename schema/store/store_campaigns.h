/*
 * Campaigns: making, finding, listing and changing them, and how far they are.
 */
#ifndef SCHEMA_STORE_STORE_CAMPAIGNS_H
#define SCHEMA_STORE_STORE_CAMPAIGNS_H

#include "schema/store/failure.h"
#include "schema/store/job_reason.h"
#include "schema/store/store_problems.h"
#include "solvers/framework/space.h"
#include "solvers/search/searcher.h"

/* The state shown for an active campaign whose deadline has passed. */
#define CAMPAIGN_OVERDUE "overdue"
struct campaign {
    int64_t id;
    char *name;
    char *identity; /* hash of the request: the same request finds the same campaign */
    char *target;   /* target id */
    char *stack;    /* constraints on toolchain, runtime and driver; "" for none */
    char *state;    /* "active", "paused", "done", "cancelled" or CAMPAIGN_OVERDUE */
    char *strategy; /* a name of solvers/framework/strategy.h */
    int64_t seed;
    int configs_limit; /* most configs that a job evaluates; 0 for no limit */
    /* The same of a job whose best time is close to its problem's (struct search_budget's `close_tries`); 0: as any other.
     */
    int close_configs;
    int round_configs; /* configs in a round */
    /* Spent: working time of all rounds in seconds; budget: its limit, 0 for none. */
    double budget_seconds, spent_seconds;
    /* Device time that the search of one job may take, 0 for no limit; and the gain in per cent below which it ends, 0 for
     * none (solvers/search/searcher.h). */
    double search_seconds, min_gain;
    double final_seconds; /* device time for a problem's second measurement; 0 for none */
    bool build_only;
    char *pool;   /* only workers with this label work on the campaign; "" for any worker */
    int priority; /* claims serve the active campaign of the highest priority first */
    /* Weight of the campaign in sharing working time with campaigns of the same priority; 0
     * counts as 1. */
    double share;
    int64_t deadline_unix; /* Unix time after which no job is claimed; 0 for none */
    /* Limits on solutions, under which its jobs were planned and are worked on. */
    struct context_limits limits;
    /* Names and families of solvers that the request names, "" for all. */
    char *solvers;
    char **trusted; /* logins: workers may run their code on CPUs, beside their own login's.
                                             NULL for none when a campaign is made */
    int64_t created_unix;
    char **networks; /* "NAME@NUMBER" of the versions that it is made for, NULL-terminated or
                                             NULL. Read by store_create_campaign() alone. */
    /* The night that it belongs to (store_nights.h), 0 for none, and whether it is the night's backfill. Read by
     * store_create_campaign() alone; each job then has a cause. */
    int64_t night;
    bool backfill;
    /* Numbers of its jobs; set only by store_list_campaigns() and store_get_campaign(). */
    int jobs, jobs_done, jobs_failed, jobs_open;
};
void campaign_free(struct campaign *campaign);

/* Why a night has a job (store_nights.h). */
struct job_cause {
    int reason;         /* enum night_reason */
    const char *detail; /* "ConvWinograd r3 -> r4" */
    bool fresh;         /* the job takes over nothing that earlier campaigns measured */
    bool again;         /* the job takes over, and is then measured again */
};
/* One job to create. The caller has asked the solver whether it applies. */
struct job_plan {
    struct problem problem;
    const char *solver; /* name */
    int revision;
    const char *hash; /* solver_hash() */
    const char *provider, *algorithm;
    bool dynamic, tunable;
    bool searches; /* the solver brings its own search */
    /* The job's expected weight: its solver leads the problem if no other job of the problem has more. */
    double priority;
    int multiplicity;
    const struct job_cause *cause; /* in a night's campaign; else NULL */
};
/* A line of the event log, written in the transaction that makes the campaign. */
struct campaign_note {
    const char *kind;
    char *detail;
};
/* Inserts the campaign, its jobs and notes (struct campaign_note *, or NULL) in one transaction and sets
 * campaign->id. Jobs are numbered in the order in which their first rounds are claimed: first the job of the highest priority
 * of each problem, then all others; within each part by priority, equal ones in the order given.
 *
 * A job takes over the rounds and results of a finished job, and starts as done, if both have the same problem,
 * solver revision, hash, target, workspace limit, strategy, seed and limits of configs, and the finished job was measured
 * with software that the campaign's stack constraints admit. A finished job that had nothing left to try within the
 * limit answers for every strategy and seed; if the solver's own search ended it, for every strategy but
 * "exhaustive". *reused counts such jobs; reused may be NULL. */
bool store_create_campaign(Store *store, struct campaign *campaign, const struct job_plan *jobs,
                           int count, const GPtrArray *notes, int *reused, GError **error);
/* Holds the identity between looking for a campaign and creating it: another session that asks for the same
 * identity waits, and then finds the campaign. STORE_ERROR_STATE after the store's patience. */
bool store_hold_identity(Store *store, const char *identity, GError **error);
void store_leave_identity(Store *store, const char *identity);
struct campaign *store_get_campaign(Store *store, int64_t id, GError **error);
/* The newest campaign of that identity that is neither cancelled nor dropped. NULL without an error if no
 * campaign has it. */
struct campaign *store_find_campaign(Store *store, const char *identity, GError **error);
GPtrArray *store_list_campaigns(Store *store, GError **error); /* struct campaign *, by id */
/* verb: "pause", "resume", "cancel", "retry" (failed jobs become ready again), "drop". STORE_ERROR_STATE if the
 * campaign's state forbids it. */
bool store_change_campaign(Store *store, int64_t id, const char *verb, GError **error);
/* New values; NULL leaves a value as it is. */
struct campaign_changes {
    const char *name, *pool;
    const int *priority;
    const double *share;          /* over 0 */
    const double *budget_seconds; /* the new budget as a whole, 0 for none */
    const int64_t *deadline_unix; /* 0 for none */
    const double *final_seconds;  /* 0 for no second measurements */
    char **trusted;               /* the new list as a whole, NULL-terminated */
};
/* Makes all changes or none. A larger budget makes the jobs ready again that the old one ended; a later deadline
 * lets an overdue campaign go on; second measurements that a campaign that is done lacks make it active. STORE_ERROR_STATE for both in a cancelled campaign. */
bool store_set_campaign(Store *store, int64_t id, const struct campaign_changes *changes,
                        GError **error);
/* Drops the tables of dropped campaigns. The verb "drop" does so itself, except for tables that other sessions
 * still read. */
bool store_drop_partitions(Store *store, GError **error);
/* Adds working time that belongs to no round yet (building). */
bool store_add_spent(Store *store, int64_t campaign, double seconds, GError **error);

struct progress {
    int jobs, done, failed, ready, building, built, evaluating;
    int64_t configs_done;  /* configs of stored and partial rounds that have an outcome */
    int64_t configs_open;  /* configs of open rounds that have no outcome yet */
    int64_t configs_taken; /* configs of configs_done that earlier campaigns measured */
    int64_t kernels_built;
    double spent_seconds, budget_seconds;
    bool has_deadline;
    /* Seconds until the deadline by the server's clock; negative after it. */
    double deadline_seconds;
    double compile_seconds, eval_seconds; /* sums */
    bool build_only; /* built jobs are done; their configs stay in configs_open */
    /* search_ends: jobs by the reason that ended their search, without jobs of older programs, which recorded none;
     * SEARCH_GOES_ON is not counted. ended_by_budget: jobs that the campaign's budget ended. untried_by_budget: how
     * many of these never began; they count as done, but have no config. */
    int search_ends[SEARCH_END_COUNT], ended_by_budget, untried_by_budget;
    int64_t finals_left;  /* problems that are still to be measured a second time, at most */
    double final_seconds; /* the device time that each of these may take */
};
bool store_progress(Store *store, int64_t campaign, struct progress *progress, GError **error);
/* Counts the campaign's jobs by reason (enum job_reason), and the configs that they took over. *known is false for a
 * campaign for which no reasons were recorded. */
bool store_count_origins(Store *store, int64_t campaign, struct job_origins *origins, bool *known,
                         GError **error);

/* The jobs of a campaign that failed for one reason. */
struct job_failures {
    enum failure failure;
    int jobs;
    char *detail; /* the detail of the last of these failures, or NULL */
};
/* GPtrArray of struct job_failures *, by reason. The server counts: the cost does not depend on the jobs. */
GPtrArray *store_list_job_failures(Store *store, int64_t campaign, GError **error);

/* Reads a row of campaigns: returns a struct campaign * with the members that the row has. Internal to the store. */
gpointer store_read_campaign(const json_t *object);

#endif
