/*
 * The agent itself, for its own files: its state, its options, its handles, and what the pools ask of it. agent.c
 * owns the loop, the scheduler and the orderly end. Internal.
 */
#ifndef WORKER_AGENT_STATE_H
#define WORKER_AGENT_STATE_H

#include "schema/monitor/monitor.h"
#include "schema/monitor/signals.h"
#include "schema/store/store_workers.h"
#include "worker/agent/agent.h"
#include "worker/agent/agent_counts.h"
#include "worker/agent/lane.h"
#include "worker/agent/state_machine.h"
#include "worker/agent/work.h"

#define DRAIN_ASKED "this node was asked to drain"

/* Jobs built ahead before a node whose building and measuring take turns goes over to measuring. */
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

/* Who may work: on a CPU target compiling would disturb measuring, and the two pools take turns. */
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
    char *scratch;        /* the folder for the children's folders */
    char **solvers;       /* "name:revision:hash" of each solver of this program, NULL-terminated */
    char **buildable;     /* those whose kernels this node's toolchains build; NULL until known */
    Lane *data, *control; /* results and claims; heartbeats and notifications */
    int64_t worker;       /* number of its row, 0 without one */
    Builder *builder;
    GPtrArray *evaluators; /* Evaluator *, in the order of options->devices */
    GHashTable *own_codes; /* target id and kind -> struct own_code * */
    GHashTable *best_ms;   /* "campaign problem" -> double *, best verified so far */
    unsigned pause_ms;     /* the last pause between claims, 0 after a claim that found something */
    gint64 began_us;       /* when the agent began, by the real clock */
    gint64 beat_us;        /* when the last heartbeat was sent, by the monotonic clock */
    gint64 beaten_us;      /* when the database answered the last heartbeat, likewise */
    bool no_room;          /* agent_has_room() found the disk full last */
    Monitor *monitor;      /* NULL without --metrics */
    struct agent_counts counts;
    int64_t reported;          /* sum of the counts that the database got last */
    gint64 reported_us;        /* when, by the monotonic clock */
    GHashTable *refusals;      /* logged reasons why campaigns do not admit this worker */
    struct log_limit failures; /* limits the log's lines about calls that fail again and again */
    uv_timer_t wake;           /* runs the scheduler soon */
    uv_timer_t poll;           /* ends a pause between claims */
    uv_timer_t beat;           /* heartbeats */
    uv_timer_t patience;       /* ends a stopping agent whose database stays away */
    uv_timer_t window;         /* --drain-at */
    uv_timer_t room;           /* runs the scheduler again while the disk is full */
    struct signal_watch signals;
};

/* Changes the state as the table says; no other function does. */
void agent_move(struct agent *agent, enum agent_event event);
/* Its devices and toolchains are opened, or its row is entered. */
bool agent_is_starting(const struct agent *agent);
/* Jobs are claimed and worked on. */
bool agent_is_working(const struct agent *agent);
/* From the order to stop until the end. */
bool agent_is_ending(const struct agent *agent);
/* No job is held, no call for one is under way, and the last claims found nothing. */
bool agent_is_idle(const struct agent *agent);
bool agent_may_build(const struct agent *agent);
bool agent_may_eval(const struct agent *agent);
/* From now on building and measuring take turns, measuring first. */
void agent_begin_turns(struct agent *agent);

/* Has the scheduler run soon; call after every change. */
void agent_schedule(struct agent *agent);
/* Something was stored that may make jobs claimable. */
void agent_changed(struct agent *agent);
/* The database woke this worker: it claims at once, or asks whether it has to drain. */
void agent_woken(void *agent, bool drains);

/* Each ends the agent in good order: agent_give_up() with exit status 1 and a line in the log, agent_drain() with a
 * line that says why. Later calls do nothing. */
void agent_stop(struct agent *agent);
void agent_drain(struct agent *agent, const char *why);
G_GNUC_PRINTF(2, 3)
void agent_give_up(struct agent *agent, const char *format, ...);

/* A call about a job (or a kernel: NULL) failed. Jobs that another worker took over or that were cancelled, and those
 * that the server cannot store, are dropped with a line in the log; a missing right or another schema ends the
 * agent. */
void agent_refused(struct agent *agent, const struct work *work, const GError *error);
/* The error is of what was handed in, or of its campaign's rows: the job ends with it, and the agent goes on. */
bool agent_ends_job(const GError *error);
/* Logs a failure that may come again and again: once, then each minute with their number. */
void agent_log_failure(struct agent *agent, const char *what, const GError *error);
/* A child ended: counted, unless the agent ends or the child ended well. */
void agent_count_death(struct agent *agent, enum pool pool, const struct child_death *death);

/* The first device that opened, NULL for none. */
const Evaluator *agent_first_open(const struct agent *agent);
/* Both stacks joined by "; ", said once where one holds the other. Free with g_free(). */
char *agent_join_stacks(const char *first, const char *second);
/* NULL-terminated settings of a child with a folder of its own. Free with g_strfreev(). */
char **agent_child_environment(const struct agent *agent, const char *name);
/* Seconds between two heartbeats while it works. */
double agent_beat_seconds(const struct agent *agent);

/* The lower of the job's and this agent's own best time for its problem, 0 before either has one. */
double agent_best_ms(struct agent *agent, const struct work *work);
void agent_note_best(struct agent *agent, const struct work *work, double ms);
/* For a job that is measured again: the times that were noted so far count no more. */
void agent_forget_best(struct agent *agent, const struct work *work);

#endif
