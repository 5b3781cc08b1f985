/*
 * The state of a node's agent: options, connections, timers, metrics and pools,
 * and the functions of agent.c that the pools call. agent.c owns the loop, the
 * scheduler and the orderly end. Internal to worker/agent.
 */
#ifndef WORKER_AGENT_AGENT_STATE_H
#define WORKER_AGENT_AGENT_STATE_H

#include "schema/monitor/monitor.h"
#include "schema/monitor/signals.h"
#include "schema/store/store_workers.h"
#include "worker/agent/agent.h"
#include "worker/agent/agent_counts.h"
#include "worker/agent/lane.h"
#include "worker/agent/state_machine.h"
#include "worker/agent/work.h"

#define DRAIN_ASKED "this node was asked to drain"

/* Jobs that the build pool builds in one turn, on a node whose two pools take turns, before the
 * eval pool has its turn. */
#define AGENT_BUILD_AHEAD 32

#define AGENT_STATES(X)                                                                            \
    X(AGENT_OPENING, "opening", "Its devices are opened, and a build child lists its toolchains.") \
    X(AGENT_REGISTERING, "registering", "Its row is entered among the workers.")                   \
    X(AGENT_WORKING, "working", "Jobs are claimed, built and measured.")                           \
    X(AGENT_ASKING_OTHERS, "asking for others",                                                    \
      "It works, and the database is asked whether other workers still hold jobs.")                \
    X(AGENT_STOPPING_EARLY, "stopping early", "It stops, while its row is being entered.")         \
    X(AGENT_STOPPING, "stopping", "What is measured is stored, the rest released.")                \
    X(AGENT_SIGNING_OFF, "signing off", "Its row is marked as ended.")                             \
    X(AGENT_CLOSING, "closing", "The last calls to the database come to their end.")               \
    X(AGENT_ENDED, "ended", "Children and connections are gone; the loop ends.")

#define AGENT_EVENTS(X)                                                                            \
    X(AGENT_OPENED, "opened", "Each device opened or was given up, and the toolchains are known.") \
    X(AGENT_REGISTERED, "registered", "Its row is there.")                                         \
    X(AGENT_NOT_REGISTERED, "not registered", "The database refused its row.")                     \
    X(AGENT_QUEUE_EMPTY, "queue empty", "Nothing is claimable, and `--until-empty` was given.")    \
    X(AGENT_OTHERS_KNOWN, "others known", "The database said who holds jobs.")                     \
    X(AGENT_STOP, "stop", "A signal, a request to drain, an empty queue, or an error.")            \
    X(AGENT_JOBS_GONE, "jobs gone", "Each job's claim has ended.")                                 \
    X(AGENT_SIGNED_OFF, "signed off", "Its row has ended, or that failed.")                        \
    X(AGENT_CALLS_OVER, "calls over", "No call to the database is left.")

enum agent_state { AGENT_STATES(MACHINE_ENUM) };
enum agent_event { AGENT_EVENTS(MACHINE_ENUM) };
extern const struct state_machine agent_machine;

/* The pools that may work. On a CPU target compiling would disturb measuring, so the two pools take
 * turns. */
enum agent_turn { TURN_BOTH, TURN_EVAL, TURN_BUILD };

typedef struct builder Builder;
typedef struct evaluator Evaluator;

struct agent {
    uv_loop_t loop;
    const struct agent_options *options;
    enum agent_state state;
    enum agent_turn turn;
    int exit_status;
    char *node, *process; /* identity.h */
    char *scratch;        /* path of the folder that holds the children's scratch folders */
    char **solvers;       /* "name:revision:hash" of each solver of this program, NULL-terminated */
    /* Those of `solvers` whose kernels this node's toolchains build; NULL until known. */
    char **buildable;
    /* Connections: `data` for results and claims, `control` for heartbeats and notifications. */
    Lane *data, *control;
    int64_t worker; /* this worker's number in the database, 0 before it is registered */
    Builder *builder;
    GPtrArray *evaluators; /* Evaluator *, in the order of options->devices */
    /* Target id and kind -> struct own_code *: kernels for verifying and for proofs (own_code.h). */
    GHashTable *own_codes;
    /* "campaign problem" -> double *: the best verified time so far, in ms. */
    GHashTable *best_ms;
    unsigned pause_ms; /* the last pause between claims, 0 after a claim that found something */
    gint64 began_us;   /* when the agent began, as Unix time in us */
    gint64 beat_us;    /* when the last heartbeat was sent, monotonic time in us */
    /* When the database answered the last heartbeat, monotonic time in us. */
    gint64 beaten_us;
    bool no_room;        /* the last look of agent_has_room() found the disk full */
    HttpServer *monitor; /* serves metrics and health; NULL without --metrics */
    struct agent_counts counts;
    int64_t reported;   /* sum of the counts in the last report to the database */
    gint64 reported_us; /* when the last report was sent, monotonic time in us */
    /* Set of texts: reasons, logged already, why campaigns do not admit this worker. */
    GHashTable *refusals;
    /* Limits the log's lines about database calls that fail again and again. */
    struct log_limit failures;
    uv_timer_t wake;     /* runs the scheduler in the loop's next turn */
    uv_timer_t poll;     /* ends a pause between claims */
    uv_timer_t beat;     /* heartbeats */
    uv_timer_t patience; /* ends an agent that is stopping if the database stays away */
    uv_timer_t window;   /* --drain-at */
    uv_timer_t room;     /* runs the scheduler again while the disk is full */
    struct signal_watch signals;
};

/* Moves the agent's state machine by one event. No other function changes the state. */
void agent_move(struct agent *agent, enum agent_event event);
/* Whether its devices and toolchains are still being opened, or its row is being entered. */
bool agent_is_starting(const struct agent *agent);
/* Whether the agent claims jobs and works on them. */
bool agent_is_working(const struct agent *agent);
/* Returns true from the request to stop until the agent has ended. */
bool agent_is_ending(const struct agent *agent);
/* Whether no job is held, no call for one is under way, and the last claims found nothing. */
bool agent_is_idle(const struct agent *agent);
bool agent_may_build(const struct agent *agent);
bool agent_may_eval(const struct agent *agent);
/* From now on the build pool and the eval pool take turns; the eval pool has the first one. */
void agent_begin_turns(struct agent *agent);

/* Has the scheduler run soon; call it after every change that may allow or require work. */
void agent_schedule(struct agent *agent);
/* Call it after something was stored that may make jobs claimable: both pools claim again. */
void agent_changed(struct agent *agent);
/* Handles a notification of the database: the worker claims at once, or, if `drains`, sends a
 * heartbeat, whose answer says whether it has to drain. */
void agent_woken(void *agent, bool drains);

/* Each ends the agent in good order: agent_give_up() with exit status 1 and a line in the log,
 * agent_drain() with a line that gives the reason. Later calls do nothing. */
void agent_stop(struct agent *agent);
void agent_drain(struct agent *agent, const char *why);
G_GNUC_PRINTF(2, 3)
void agent_give_up(struct agent *agent, const char *format, ...);

/* Handles the failure of a call about a job, or about no job (work NULL). A job that another
 * worker took over, that was cancelled, or that the server cannot store is dropped with a line
 * in the log. A missing right or another schema ends the agent. */
void agent_refused(struct agent *agent, const struct work *work, const GError *error);
/* Whether the error is caused by what was handed in, or by the campaign's rows: the job then
 * fails with the error, and the agent goes on. */
bool agent_ends_job(const GError *error);
/* Logs a failure that may repeat: at once, and then once a minute with the number of
 * repetitions. */
void agent_log_failure(struct agent *agent, const char *what, const GError *error);
/* Counts the end of a child, unless the agent itself is ending or the child exited with status 0. */
void agent_count_death(struct agent *agent, enum pool pool, const struct child_death *death);

/* The first evaluator whose device opened, NULL for none. */
const Evaluator *agent_first_open(const struct agent *agent);
/* Joins two stacks (lists of software versions) by "; ". If one contains the other, returns only
 * the longer one. Free with g_free(). */
char *agent_join_stacks(const char *first, const char *second);
/* Environment settings ("NAME=VALUE") of a child, whose scratch folder has this name.
 * NULL-terminated; free with g_strfreev(). */
char **agent_child_environment(const struct agent *agent, const char *name);
/* Seconds between two heartbeats while the agent holds jobs. */
double agent_beat_seconds(const struct agent *agent);

/* The best verified time of the work's problem, in ms: the lower one of the job's own and this
 * agent's. 0 before either has one. */
double agent_best_ms(struct agent *agent, const struct work *work);
void agent_note_best(struct agent *agent, const struct work *work, double ms);
/* Forgets the best time noted for the job's problem: a job that is measured again must not be
 * compared with its old times. */
void agent_forget_best(struct agent *agent, const struct work *work);

#endif
