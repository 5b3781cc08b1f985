/*
 * Typed access to Skipjack's database: the only way the other rooms reach
 * PostgreSQL. Here: what is asked for, and the queue; store_kernels.h and
 * store_results.h go on. A store is one connection. Calls block; a store may be
 * used by one thread at a time (the agent runs them on its loop's thread pool).
 * Every call happens whole or not at all; one that failed with
 * STORE_ERROR_CONNECTION may be repeated, since writes are idempotent under a
 * job's fence or by their key (but for store_create_campaign, which is looked
 * for by its identity first, store_add_spent and store_event). A lost
 * connection is opened again by the next call.
 *
 * Ownership: strings and arrays inside returned structs belong to them and go
 * with their _free function or the GPtrArray that holds them.
 */
#ifndef SCHEMA_STORE_STORE_H
#define SCHEMA_STORE_STORE_H

#include "schema/store/failure.h"
#include "solvers/framework/space.h"
#include "solvers/framework/target.h"
#include "solvers/problem/layer.h"
#include "solvers/problem/problem.h"

#define STORE_ERROR (store_error_quark())
GQuark store_error_quark(void);

enum store_error {
    STORE_ERROR_CONNECTION, /* The server or a store of code is away or has no room: try again. */
    STORE_ERROR_SCHEMA,     /* The database is not migrated, or by a newer program. */
    STORE_ERROR_QUERY,      /* The server refused a statement; the message has its words. */
    STORE_ERROR_NOT_FOUND,  /* No such row. */
    STORE_ERROR_STATE,      /* The row is not in a state that allows this. */
    STORE_ERROR_FENCE,      /* The job was claimed again since: the result is refused. */
    STORE_ERROR_REFUSED,    /* A check of the database found what was handed in impossible. */
    STORE_ERROR_BLOBS, /* The store of code objects refuses: its operator has to mend something. */
    STORE_ERROR_DAMAGED, /* A code object is not there, or its bytes are not those that were put; or a
                            row is one that no importer, planner or worker makes. */
    STORE_ERROR_LOCKED, /* Somebody else's transaction holds what is needed. A store's calls try again and end
                           as STORE_ERROR_CONNECTION. */
    STORE_ERROR_ACCESS, /* The login's role, or how it connects, does not allow this: see README.md. */
};

/* True where two transactions waited for each other and the server undid this one (STORE_ERROR_CONNECTION): it
 * can begin again at once. */
bool store_is_deadlock(const GError *error);

typedef struct store Store;

/* url: a libpq connection string or URI. STORE_ERROR_SCHEMA when migrations are missing. */
Store *store_open(const char *url, GError **error);
void store_close(Store *store);
/* No statement is waited for longer: then its connection is closed and the call is
 * STORE_ERROR_CONNECTION, whether the server did it or not. At first ten minutes and a half, which is
 * beyond the server's own limit. */
void store_set_patience(Store *store, double seconds);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Store, store_close)

/* ---- problems, networks, targets, solvers ---- */

/* Inserts what is new; ids[i] is the row of problems[i]. tag may be NULL. */
bool store_put_problems(Store *store, const struct problem *problems, int count, const char *tag,
                        int64_t *ids, GError **error);

struct stored_problem {
    int64_t id;
    struct problem problem;
};
/* All, or those of a tag, a network, or a campaign (NULL / 0 for no filter), ordered by
 * problem_compare's order of fields. GArray of struct stored_problem. */
struct problem_filter {
    const char *tag, *network;
    int64_t campaign;
};
GArray *store_list_problems(Store *store, const struct problem_filter *filter, GError **error);

/* A transaction over several calls: what was done between the two is kept as a whole, or undone as a whole.
 * Undoing tells what a change would do. */
bool store_begin(Store *store, GError **error);
bool store_end(Store *store, bool keep, GError **error);

/* ---- networks ----
 * A network has versions, numbered from 1: importing other layers under its name makes a new one,
 * importing layers that it had before makes that version the current one again. Wherever a network is
 * named, NAME means its current version and NAME@NUMBER any of them. */

/* The outcome of storing a network. */
struct network_change {
    int number;   /* of the version that is current now */
    int previous; /* of the one that was current before, 0 for a new network */
    bool is_new;  /* no earlier version had these layers */
};
/* Imports take turns: two that store the same problems in different orders would wait for each other. *taken is
 * false while another session has the turn: ask again. A transaction may also run without the turn. */
bool store_take_import(Store *store, bool *taken, GError **error);
void store_leave_import(Store *store);

/* Stores the layers as the network's current version. change may be NULL. STORE_ERROR_STATE for a name
 * that ends in @ and digits. */
bool store_put_network(Store *store, const char *name, const struct layer *layers, int count,
                       struct network_change *change, GError **error);

/* The same in pieces, for networks of any size: between store_begin() and store_end(),
 * which is one transaction, a version is begun, gets its layers in their order, and is ended. store_end()
 * with `keep` commits all that was put between the two calls, and without it undoes all of that. */
struct stored_layer {
    const char *name;
    int multiplicity;
    int64_t problem; /* as store_put_problems() gave it */
};
bool store_begin_network(Store *store, const char *name, int64_t *version, GError **error);
bool store_add_layers(Store *store, int64_t version, int first_position,
                      const struct stored_layer *layers, int count, GError **error);
bool store_end_network(Store *store, int64_t version, struct network_change *change,
                       GError **error);

struct network_row {
    char *name;
    int version; /* of the current version */
    bool current;
    int layers, problems; /* sum of multiplicities; distinct problems */
    int campaigns;        /* that were made for this version */
    int64_t created;      /* when the version was first imported, Unix seconds */
    double gmacs;         /* of one run */
};
/* The current versions, or with `all` every version, by name and number. struct network_row * */
GPtrArray *store_list_networks(Store *store, bool all, GError **error);
/* struct layer *. STORE_ERROR_NOT_FOUND for a name that is not there. */
GPtrArray *store_list_layers(Store *store, const char *network, GError **error);
/* "NAME@NUMBER" of the version that the name means, free with g_free(). STORE_ERROR_NOT_FOUND. */
char *store_network_version(Store *store, const char *network, GError **error);
/* The versions that a campaign was made for, as a NULL-terminated array of "NAME@NUMBER"; free with
 * g_strfreev(). */
char **store_campaign_networks(Store *store, int64_t campaign, GError **error);
/* Removes a network with all its versions, or one version; its problems stay. *versions is how many
 * went. STORE_ERROR_NOT_FOUND, or STORE_ERROR_STATE where campaigns were made for one of them. */
bool store_remove_network(Store *store, const char *network, int *versions, GError **error);

/* Inserts, or updates limits and peaks with what a device really said. */
bool store_put_target(Store *store, const struct target *target, GError **error);
bool store_get_target(Store *store, const char *id, struct target *target, GError **error);
GPtrArray *store_list_targets(Store *store, GError **error); /* struct target * (g_free) */

/* ---- campaigns ---- */

#define CAMPAIGN_OVERDUE "overdue"
struct campaign {
    int64_t id;
    char *name;
    char *identity; /* hash of what was asked for: the same request finds the same campaign */
    char *target;   /* target id */
    char *stack;    /* toolchain and its version that results must come from, "" for any */
    char *state;    /* "active", "paused", "done", "cancelled"; CAMPAIGN_OVERDUE: it would be
                       active, but its deadline has passed */
    char *strategy; /* a name of solvers/framework/strategy.h */
    int64_t seed;
    int configs_limit;                    /* configs a job may evaluate; 0 no limit */
    int round_configs;                    /* configs in a round */
    double budget_seconds, spent_seconds; /* working time, all rounds; budget 0 for none */
    bool build_only;
    char *pool;            /* only workers with this label work on it, "" for any */
    int priority;          /* higher ones are claimed first */
    double share;          /* of the working time among campaigns of one priority; 0 counts as 1 */
    int64_t deadline_unix; /* from then on no job is claimed; 0 for none */
    struct context_limits limits; /* under which its jobs were planned and are worked on */
    char *solvers;                /* names and families that were asked for, "" for all */
    char **
        trusted; /* logins whose code its workers may run on CPUs beside their own's; NULL when it is made for none */
    int64_t created_unix;
    /* Versions of networks that it is made for ("NAME@NUMBER"), NULL-terminated or NULL; only read when
     * it is made. */
    char **networks;
    /* Filled by list and get: jobs by state. */
    int jobs, jobs_done, jobs_failed, jobs_open;
};
void campaign_free(struct campaign *campaign);

/* One job a row; the caller has asked the solver already whether it applies. */
struct job_plan {
    struct problem problem;
    const char *solver; /* name */
    int revision;
    const char *hash; /* solver_hash() */
    const char *provider, *algorithm;
    bool dynamic, tunable;
    bool searches;   /* the solver brings its own search */
    double priority; /* higher first within a round number: expected weight */
    int multiplicity;
};
/* What the farm's diary says of its making: written with it, or not at all. */
struct campaign_note {
    const char *kind;
    char *detail;
};
/* Inserts campaign, jobs and notes (struct campaign_note *; NULL for none) in one transaction and sets
 * campaign->id; jobs count in the order of their priority, equal ones in the order given. A job whose
 * problem, solver revision, hash, target and stack have a finished job with the same strategy, seed and
 * configs_limit (or one that had nothing left to try, within this limit) takes over its rounds and
 * results and starts as done; *reused counts them. Where a solver's own search had nothing left to try,
 * that answers for every strategy but "exhaustive". */
bool store_create_campaign(Store *store, struct campaign *campaign, const struct job_plan *jobs,
                           int count, const GPtrArray *notes, int *reused, GError **error);
/* Whoever looks for a campaign to make it where there is none holds its identity meanwhile: others
 * who ask for the same wait, and find it. */
bool store_hold_identity(Store *store, const char *identity, GError **error);
void store_leave_identity(Store *store, const char *identity);
struct campaign *store_get_campaign(Store *store, int64_t id, GError **error);
/* The newest not cancelled or dropped campaign with that identity, NULL without error when there is none. */
struct campaign *store_find_campaign(Store *store, const char *identity, GError **error);
GPtrArray *store_list_campaigns(Store *store, GError **error); /* struct campaign *, by id */
/* verb: "pause", "resume", "cancel", "retry" (failed jobs back to ready), "drop". STORE_ERROR_STATE when the state forbids it. */
bool store_change_campaign(Store *store, int64_t id, const char *verb, GError **error);
/* What store_set_campaign() sets; NULL leaves a value. */
struct campaign_changes {
    const char *name, *pool;
    const int *priority;
    const double *share;          /* over 0 */
    const double *budget_seconds; /* the whole budget, 0 for none */
    const int64_t *deadline_unix; /* 0 for none */
    char **trusted;               /* NULL-terminated, all of them */
};
/* All of it or nothing. A larger budget makes the jobs ready again that the old one ended, and a later deadline
 * lets an overdue campaign go on; either makes no cancelled campaign active (STORE_ERROR_STATE). */
bool store_set_campaign(Store *store, int64_t id, const struct campaign_changes *changes,
                        GError **error);
/* Removes what dropped campaigns left: "drop" does so itself, but leaves to a later call what somebody
 * still reads. */
bool store_drop_partitions(Store *store, GError **error);

/* ---- the queue ---- */

struct worker_device {
    const char *device; /* as the worker was told to open it */
    const char *name, *target;
    const char *uuid, *address, *partition; /* "" where they are not known */
    const char *stack;                      /* its runtime and driver */
};
struct worker_info {
    const char *node;    /* stable name of the node */
    const char *process; /* tells this process from a dead one: boot id, pid and start time */
    const char *target;  /* its device's target id, "" for a build node */
    const char *stack;
    bool eval_only; /* it builds nothing */
    const char *const
        *labels; /* pools it works for beside what is for any; NULL-terminated or NULL */
    const char *const *solvers; /* as in struct claim; NULL for any */
    const struct worker_device *devices;
    int device_count;
};
/* The worker belongs to whoever presents its secret: this process makes one up and all of its stores
 * present it. Under a worker's login nothing but it may act for the worker. */
bool store_register_worker(Store *store, const struct worker_info *info, int64_t *worker,
                           GError **error);
/* For a process that is several workers: from now on this store presents that secret, of at least 32
 * characters. */
bool store_act_as(Store *store, const char *secret, GError **error);
struct worker_row {
    int64_t id;
    char *node, *process, *target;
    int leases;
    double beat_age_seconds;
    bool ended;
    bool ours; /* this login may say that it is dead: store_worker_lost() */
};
GPtrArray *store_list_workers(Store *store, const char *node,
                              GError **error); /* node NULL: all; not ended ones first */
/* Why active campaigns do not admit running workers; worker, campaign 0: all of them. GPtrArray of
 * struct refusal_row *, the same reasons of a campaign next to each other. */
struct refusal_row {
    int64_t campaign, worker;
    char *node, *reason;
};
GPtrArray *store_list_refusals(Store *store, int64_t worker, int64_t campaign, GError **error);
/* Active campaigns (campaign 0: all) with jobs to build that the worker's toolchains cannot build, and why: what
 * the campaign asks of builders, or one of cannot_build ("name:revision:hash", NULL-terminated). GPtrArray of
 * struct refusal_row *, by campaign. */
GPtrArray *store_list_unbuilt(Store *store, int64_t worker, int64_t campaign,
                              const char *const *cannot_build, GError **error);
/* From now on this connection hears when work appears for an idle worker: claims that find nothing leave
 * it idle, and a few idle ones that suit are woken at once; and when the worker is asked to drain. A
 * connection that was opened again hears again. */
bool store_listen(Store *store, int64_t worker, GError **error);
/* The socket on which that is heard, -1 while there is no connection. Any call may close it: whoever
 * waits for it stops before. */
int store_socket(const Store *store);
/* Reads what has come, without waiting: whether this worker was woken since the last look. *lost: the
 * connection is gone; the next call opens it again. */
bool store_woken(Store *store, bool *lost);
/* Renews every lease of the worker in one statement, which is waited for no longer than half a minute; also returns leases of others that ran out (to
 * ready or built, with a strike; the third strike fails the job as worker lost). */
bool store_heartbeat(Store *store, int64_t worker, GError **error);
/* Whether the last heartbeat told that the worker was asked to drain, or what woke it since: which any
 * login may say, so that a heartbeat has to tell before it is believed. */
bool store_drains(const Store *store);
/* Asks the running workers of a node to drain; *asked is how many there are. */
bool store_drain_node(Store *store, const char *node, int *asked, GError **error);
/* A worker known to be dead: its leases return at once, each with a strike. A worker may say so of those
 * of its own node and login. */
bool store_worker_lost(Store *store, int64_t worker, GError **error);
/* A worker that ends in good order: its leases return without a strike. */
bool store_worker_ended(Store *store, int64_t worker, GError **error);
/* After the database was restored from a backup: numbers (fences, ids) go on beyond all that were ever
 * given out, and all jobs are given back. A database that pg_restore made, and one whose server was
 * recovered to a time or took over from another, does so itself when it is first used. *epoch counts. */
bool store_begin_epoch(Store *store, int *epoch, GError **error);

/* A config's outcome inside a round. */
struct outcome {
    enum failure failure;
    int n; /* timed runs, 0 where none */
    double min_ms, median_ms;
    double spread; /* interquartile range over median */
    double error;  /* largest error over its tolerance: at most 1 when verified */
    double build_seconds, eval_seconds;
};

struct round {
    int number; /* from 0 */
    int config_count;
    struct perf_config *configs; /* config_count; count 0 for solvers that cannot be tuned */
    char **
        kernel_keys; /* a config: its solution's distinct kernels joined by ',', "" when not built */
    struct outcome *outcomes; /* config_count; FAILURE_PENDING until evaluated */
    char **details;           /* a config: the failure's last words, or NULL */
    char *stack;              /* toolchain and runtime really used */
    double drift;             /* default config after over before, 0 where not measured */
    bool
        beyond_limit; /* taken over from another search: its configs do not count for the job's limit */
    bool
        remeasures; /* of its configs the outcomes here replace those of earlier rounds, also failures */
};
#define ROUND_CONFIGS_MAX 100000 /* more of them are no round */
struct round *round_new(int config_count);
void round_free(struct round *round);

struct job {
    int64_t id, campaign;
    int64_t fence;
    struct problem problem;
    char *solver;
    int revision;
    char *target; /* target id of the campaign */
    char *stack;  /* the campaign's constraints on the software */
    char *strategy;
    int64_t seed;
    int64_t deadline_unix; /* the campaign's, 0 for none */
    int configs_limit, round_configs;
    bool build_only;
    struct context_limits limits; /* of the campaign: configs and solutions are made under them */
    int strikes;
    double
        best_ms; /* eval claims: best verified median of this problem in this campaign, any solver;
                       0 none */
    GPtrArray *rounds;   /* struct round *: all stored ones, the open one last for eval claims */
    GArray *quarantined; /* struct perf_config: taken out for this solver, problem and target */
    char **prior;        /* build claims: see store_winners.h; NULL for none */
    GArray *wish; /* struct perf_config: what the round at hand measures again (store_remeasure.h);
                            NULL where it is another round */
    bool wish_keeps_all; /* all of these become kept results */
    char *
        damage; /* what is wrong with the rows it is made of, and then incomplete; NULL for nothing */
};
void job_free(struct job *job);

enum pool { POOL_BUILD, POOL_EVAL };
struct claim {
    int64_t worker;
    enum pool pool;
    int64_t campaign;   /* 0: any active one */
    const char *target; /* eval: only campaigns of this target; build: NULL for any */
    const char *const
        *solvers; /* "name:revision:hash" of what this worker carries, NULL-terminated */
    int batch;    /* jobs at most */
    double lease_seconds;
};
/* Claims up to batch jobs, lowest round first, then by priority. A campaign whose budget is spent gives
 * out first rounds only; its other ready jobs become done. GPtrArray of struct job *, empty when nothing
 * is claimable. A job whose rows are damaged is there too, with its `damage`: to be failed. A campaign whose
 * jobs the server cannot give out is left out, and store_list_refusals() has the reason. */
GPtrArray *store_claim(Store *store, const struct claim *claim, GError **error);

/* building -> built (or done for a build-only campaign): stores the open round. */
bool store_built(Store *store, const struct job *job, const struct round *round, GError **error);
/* Flushes the outcomes known so far of the open round; the state stays evaluating. */
bool store_partial(Store *store, const struct job *job, const struct round *round, GError **error);

/* A job's verified configs that are worth keeping, best first. */
struct kept {
    struct perf_config config;
    char *config_text; /* solver's serialisation */
    char *kernel_keys; /* joined by ',' */
    struct outcome outcome;
    uint64_t workspace_bytes;
    double flops;
    bool is_default;
};
/* evaluating -> ready (more = true) or done: stores the round, replaces the job's kept results, adds
 * seconds to the campaign's spent time; a campaign without open jobs becomes done. When no config of the
 * job was ever verified and more is false the job fails with the commonest failure. */
bool store_round(Store *store, const struct job *job, const struct round *round,
                 const struct kept *kept, int kept_count, bool more, double seconds,
                 GError **error);
/* Several at once, which is much less work for the server: what store_built() and store_round() take.
 * Those of one campaign should stand together. refused (count NULLs) gets the errors of single ones that
 * were refused (STORE_ERROR_FENCE, _STATE, _NOT_FOUND, _REFUSED); false where the rest could not be stored, which
 * may be repeated whole. */
struct handed {
    const struct job *job;
    const struct round *round;
    const struct kept *kept; /* of evaluated ones, as the rest */
    int kept_count;
    bool more;
    double seconds;
};
bool store_built_many(Store *store, const struct handed *items, int count, GError **refused,
                      GError **error);
bool store_round_many(Store *store, const struct handed *items, int count, GError **refused,
                      GError **error);
/* building/evaluating -> failed. */
bool store_fail_job(Store *store, const struct job *job, enum failure failure, const char *detail,
                    GError **error);
/* building -> done, or failed where no config was ever verified: nothing left to propose. STORE_ERROR_REFUSED
 * before the first round was evaluated. */
bool store_finish_job(Store *store, const struct job *job, GError **error);
/* building -> ready, evaluating -> built, without a strike. */
bool store_release_job(Store *store, const struct job *job, GError **error);
/* Adds working time that belongs to no round yet (building). */
bool store_add_spent(Store *store, int64_t campaign, double seconds, GError **error);

/* ---- what is taken out, and the diary ---- */

/* Configs that crashed or hung: taken out for this solver revision, problem and target. The config is of a stored
 * round of the job, and a job has up to 100 of them, else STORE_ERROR_REFUSED. */
bool store_quarantine(Store *store, const struct job *job, const struct perf_config *config,
                      enum failure failure, const char *detail, GError **error);
/* Takes that back: the config was not to blame. Under a worker's login only what that worker took out. Not of a
 * job that stays failed on a second device. */
bool store_lift_quarantine(Store *store, const struct job *job, const struct perf_config *config,
                           GError **error);
/* A job that ended by the faults of a device, which its worker found sick: it is ready again, for another one, where
 * it was not so before. One that the worker still evaluates stays with it, to be released, but ends as device fault
 * where it was noted so of another device, or of this one under an earlier claim of the worker; its release then
 * changes nothing. Else nothing. */
bool store_return_job(Store *store, const struct job *job, int64_t worker, const char *device,
                      GError **error);
struct quarantine_row {
    struct problem problem;
    char *solver, *hash; /* at that revision alone */
    int revision;
    char *target, *config_text, *detail;
    enum failure failure;
    int64_t since_unix;
    /* The worker that took it out, and in which job: 0 and "" where that is not known any more. */
    int64_t campaign, job, worker;
    char *node, *login;
};
GPtrArray *store_list_quarantine(Store *store, GError **error);
/* target NULL: of all targets; login NULL: of all logins. */
bool store_clear_quarantine(Store *store, const char *target, const char *login, int *cleared,
                            GError **error);

/* A line in the farm's diary: kind is a short word ("eval child died"). campaign, job, worker may be 0. */
bool store_event(Store *store, const char *kind, int64_t campaign, int64_t job, int64_t worker,
                 const char *detail, GError **error);
struct event_row {
    int64_t at_unix, campaign, job, worker;
    char *kind, *detail;
};
GPtrArray *store_list_events(Store *store, int64_t campaign, int limit,
                             GError **error); /* newest first */
/* All of a campaign's lines of one kind, the oldest first. */
GPtrArray *store_list_events_of(Store *store, int64_t campaign, const char *kind, GError **error);

#endif
