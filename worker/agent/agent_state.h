/*
 * What the agent's files share. agent.c owns the loop and decides who may
 * work; agent_row.c keeps its row among the workers; agent_build.c and
 * agent_eval.c own the jobs of their pool and their children; agent_calls.c
 * puts the store's calls on the data lane. Internal.
 */
#ifndef WORKER_AGENT_STATE_H
#define WORKER_AGENT_STATE_H

#include "schema/monitor/monitor.h"
#include "schema/monitor/signals.h"
#include "schema/store/store_workers.h"
#include "worker/agent/agent.h"
#include "worker/agent/agent_counts.h"
#include "worker/agent/lane.h"
#include "worker/agent/work.h"

#define DRAIN_ASKED "this node was asked to drain"

/* Jobs built ahead before a node whose building and measuring take turns goes over to measuring. */
#define AGENT_BUILD_AHEAD 32

enum agent_state {
    AGENT_STARTING, /* devices are opened, the worker is registered */
    AGENT_WORKING,
    AGENT_STOPPING, /* what is measured is stored, the rest released */
    AGENT_ENDED,    /* children and lanes are gone, handles close */
};

/* The first one begins. */
enum agent_phase { PHASE_EVAL, PHASE_BUILD };

typedef struct builder Builder;
typedef struct evaluator Evaluator;

struct agent {
    uv_loop_t loop;
    const struct agent_options *options;
    enum agent_state state;
    int exit_status;
    char *node, *process, *scratch;
    char **solvers; /* "name:revision:hash", NULL-terminated */
    char **
        buildable; /* those whose kernels this node's toolchains build; NULL until they are known */
    Lane *data, *control;
    int64_t worker; /* 0 before it is registered */
    Builder *builder;
    GPtrArray *evaluators;
    bool take_turns; /* building would disturb measuring: a CPU target */
    enum agent_phase phase;
    bool registering, asking_others;
    unsigned pause_ms;    /* of the last rest, 0 after a claim that found something */
    gint64 beat_us;       /* when the last beat began */
    GHashTable *refusals; /* reasons of campaigns that do not admit this worker, said already */
    struct log_limit failures; /* of calls that come again and again */
    bool no_room;              /* agent_has_room() said so last */
    Monitor *monitor;          /* NULL where none is asked for */
    struct agent_counts counts;
    int64_t reported; /* what was told of the counts to the database, as one sum */
    gint64 reported_us;
    gint64 began_us;       /* of the real clock */
    gint64 beaten_us;      /* when the last beat got through */
    GHashTable *own_codes; /* target id -> struct own_code *, for each kind: own_code.h */
    GHashTable *best_ms;   /* "campaign problem" -> double *, best verified so far */
    uv_timer_t wake, poll, beat, patience, window, room;
    struct signal_watch signals;
};

/* The first device that opened, NULL for none. */
const Evaluator *agent_first_open(const struct agent *agent);
/* Has the scheduler run soon; call after every change. */
void agent_kick(struct agent *agent);
/* Something was stored that may make jobs claimable. */
void agent_changed(struct agent *agent);
/* Ends the agent in good order with exit status 1. */
G_GNUC_PRINTF(2, 3)
void agent_give_up(struct agent *agent, const char *format, ...);
/* A call about a job (or a kernel: NULL) failed. Jobs that another worker took over or that were cancelled, and those that
 * the server cannot store, are dropped with a line in the log; a missing right or another schema ends the agent. */
void agent_refused(struct agent *agent, const struct work *work, const GError *error);
/* The error is of what was handed in, or of its campaign's rows: the job ends with it, and the agent goes on. */
bool agent_ends_job(const GError *error);
/* Logs a failure that may come again and again: once, then each minute with their number. */
void agent_say_failure(struct agent *agent, const char *what, const GError *error);
bool agent_may_build(const struct agent *agent);
bool agent_may_eval(const struct agent *agent);
/* Both stacks joined by "; ", said once where one holds the other. Free with g_free(). */
char *agent_join_stacks(const char *first, const char *second);
/* Lower of the job's and this agent's own best time for its problem, 0 before either has one. */
double agent_best_ms(struct agent *agent, const struct work *work);
void agent_note_best(struct agent *agent, const struct work *work, double ms);
/* For a job that is measured again: the times that were noted so far count no more. */
void agent_forget_best(struct agent *agent, const struct work *work);
/* NULL-terminated settings of a child with a folder of its own. Free with g_strfreev(). */
char **agent_child_environment(const struct agent *agent, const char *name);

/* Whether the scratch's disk has room for what compilers and drivers write there. Where it has none, what
 * they say accuses nobody: callers wait, and are kicked again. Loss and return are told. */
bool agent_has_room(struct agent *agent);
/* Empties a child's folder, where a full disk may have left half of a file. The child must be down. */
void agent_clear_scratch(const struct agent *agent, const char *name);

/* Seconds between two beats while it works. */
double agent_beat_seconds(const struct agent *agent);
/* A child ended: counted, unless it was asked to. */
void agent_count_death(struct agent *agent, enum pool pool, const struct child_death *death);

/* Nothing is under way and the last claims found nothing. */
bool agent_idle(const struct agent *agent);
/* The database woke this worker: it claims at once, or ends where it was asked to drain. */
void agent_woken(void *agent, bool drains);
/* Ends the agent in good order, and says why it does. */
void agent_drain(struct agent *agent, const char *why);
/* Ends the agent in good order. */
void agent_stop(struct agent *agent);

/* ---- agent_row.c ---- */

/* Enters this worker and gives back what dead workers of this node held; the agent then works. */
void agent_register(struct agent *agent);
/* Says anew what the devices are, before whatever is told of them next. */
void agent_list_devices(struct agent *agent);
void agent_sign_off(struct agent *agent);
/* Renews the leases; a timer's callback. One that holds nothing beats more seldom. */
void agent_beat_due(uv_timer_t *timer);
/* Now, or when it is due next where the lane is busy. */
void agent_beat_soon(struct agent *agent);
/* Says why campaigns do not admit this worker, each reason once. */
void agent_ask_refusals(struct agent *agent);
/* Stops an idle agent unless another worker holds jobs, which may still come back. */
void agent_ask_others(struct agent *agent);

/* ---- agent_metrics.c ---- */

/* Serves metrics and health where that was asked for. */
bool agent_open_monitor(struct agent *agent, GError **error);

/* ---- agent_build.c ---- */

/* Compiles at most so many kernels at once from now on; called before anything is claimed. */
void builder_limit(Builder *builder, int children);
Builder *builder_new(struct agent *agent, int children);
void builder_free(Builder *builder);
/* "clang 15.0.6; opencl PoCL 3.1", "" where it builds nothing. NULL until a child has told: agent_kick()
 * is called then. */
const char *builder_stack(Builder *builder);
/* Names the first target that it could not build for; NULL before that happens. */
const char *builder_refusal(const Builder *builder);
void builder_pump(Builder *builder);
/* Claims may find something again. */
void builder_wake(Builder *builder);
bool builder_empty(const Builder *builder); /* the last claim found nothing */
unsigned builder_jobs(const Builder *builder);
bool builder_busy(const Builder *builder); /* jobs, or a claim under way */
/* It claimed as many jobs as it may before the other pool's turn. */
bool builder_full(const Builder *builder);
void builder_turn(Builder *builder);
/* Releases every job. */
void builder_stop(Builder *builder);

/* ---- agent_eval.c ---- */

Evaluator *evaluator_new(struct agent *agent, const char *device);
void evaluator_free(Evaluator *evaluator);
/* Opens its device; agent_kick() is called when that is done. */
void evaluator_open(Evaluator *evaluator);
const struct target *
evaluator_target(const Evaluator *evaluator); /* NULL before its device is open */
const char *evaluator_stack(const Evaluator *evaluator);
/* A device that never opened yet is described as it was named; the farm is told when that changes. What it
 * points to is the evaluator's. */
void evaluator_describe(Evaluator *evaluator, struct worker_device *device);
/* It cannot be opened, and the others need not wait for it. */
bool evaluator_is_away(const Evaluator *evaluator);
/* The worker's row is there: the farm hears what happened to the device before. */
void evaluator_entered(Evaluator *evaluator);
void evaluator_pump(Evaluator *evaluator);
void evaluator_wake(Evaluator *evaluator);
bool evaluator_empty(const Evaluator *evaluator);
bool evaluator_busy(const Evaluator *evaluator);
unsigned evaluator_jobs(const Evaluator *evaluator);
/* Lets the config under way finish, stores what is measured, releases the rest. */
void evaluator_stop(Evaluator *evaluator);

#endif
