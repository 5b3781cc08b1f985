/*
 * A claimed job in the eval pool of one device. Its code objects are fetched while
 * the device measures another job; then it becomes the current job, and its
 * outcomes are stored. Internal.
 */
#ifndef WORKER_AGENT_EVAL_EVAL_JOB_H
#define WORKER_AGENT_EVAL_EVAL_JOB_H

#include "worker/agent/agent_calls.h"
#include "worker/agent/state_machine.h"

#define EVAL_JOB_STATES(X)                                                                         \
    X(EVAL_JOB_WAITING, "waiting", "It is claimed; its code objects are not asked for yet.")       \
    X(EVAL_JOB_FETCHING, "fetching", "The database is asked for its code objects.")                \
    X(EVAL_JOB_READY, "ready", "It has its code objects, and waits for a device.")                 \
    X(EVAL_JOB_CHECKING, "checking", "A device took it; who built its code is checked next.")      \
    X(EVAL_JOB_REBUILDING, "rebuilding",                                                           \
      "It waits for kernels that are built here again instead of running another login's code.")   \
    X(EVAL_JOB_RUNNING, "running", "Its configs are evaluated.")                                   \
    X(EVAL_JOB_ENDING, "ending", "The call that ends its claim is under way.")                     \
    X(EVAL_JOB_FAILING, "failing",                                                                 \
      "The database refused that call; the job is failed with the database's words.")              \
    X(EVAL_JOB_RELEASING, "releasing", "It could not be failed either, and is released.")          \
    X(EVAL_JOB_GONE, "gone", "It is freed.")

#define EVAL_JOB_EVENTS(X)                                                                         \
    X(EVAL_JOB_FETCH, "fetch", "It is among the first in its device's queue.")                     \
    X(EVAL_JOB_FETCHED, "fetched", "The database gave what it has of the code objects.")           \
    X(EVAL_JOB_TAKE, "take", "Its device is free.")                                                \
    X(EVAL_JOB_TRUST, "trust", "All its code may run here.")                                       \
    X(EVAL_JOB_REBUILD, "rebuild", "Some of its code has to be built here first.")                 \
    X(EVAL_JOB_REBUILT, "rebuilt", "The last kernel that it waited for is there, or refused.")     \
    X(EVAL_JOB_DOUBT, "doubt", "A config with another login's code broke the device.")             \
    X(EVAL_JOB_END, "end", "Its claim ends: stored, failed or released.")                          \
    X(EVAL_JOB_ENDED, "ended", "The call came back; a failure that matters was logged.")           \
    X(EVAL_JOB_REFUSED, "refused", "The database cannot store what was handed in.")

enum eval_job_state { EVAL_JOB_STATES(MACHINE_ENUM) };
enum eval_job_event { EVAL_JOB_EVENTS(MACHINE_ENUM) };
extern const struct state_machine eval_job_machine;

struct eval_job {
    struct work work;
    Evaluator *evaluator; /* the evaluator in whose queue the job is, or whose current job it is */
    enum eval_job_state state;
    /* Kernel key -> struct kernel_row *, NULL until the code objects were fetched. */
    GHashTable *kernels;
    /* struct rebuild *: kernels that are being built again for the job; not owned. */
    GPtrArray *rebuilds;
    /* Keys of other logins' kernels, used by a config that broke the device, that are built
     * again here; NULL for none. */
    GHashTable *doubted;
    /* The config that broke the device with other logins' code, and the failure it gets if that
     * code cannot be built here. */
    int doubt_index;
    enum failure doubt_failure;
    char *doubt_detail;
    guint8 *deaths; /* for each config: deaths of eval children while it was in flight */
    int deaths_between_configs; /* deaths of eval children in a row with no config in flight */
    /* int: indices of the configs that broke the device since a config was last verified on it. If
     * the device proves to be at fault, they become pending again. */
    GArray *suspects;
    bool dirty;  /* some outcomes were not stored yet */
    int flushes; /* calls under way that store outcomes of the job */
    bool lost;   /* the database gave it to another worker, or ended it */
    /* The failure with which the job ends if its device proves right; FAILURE_NONE: the job goes
     * on. */
    enum failure pending_failure;
    char *pending_detail;
    gint64 began_us;        /* when its device took the job, monotonic time in us; 0 before */
    double busy_seconds;    /* time since then in which the device had work */
    double slowest_seconds; /* the longest deadline among the configs of the request to the child */
};

/* Takes the first of the claimed jobs out of the list. Its work may be refused (work.h): the job
 * can then only be failed. */
struct eval_job *eval_job_new(Evaluator *evaluator, struct claimed *claimed);

/* Moves the job's state machine. detail: the kernels with EVAL_JOB_FETCHED, an error or NULL
 * with EVAL_JOB_REFUSED and EVAL_JOB_ENDED, else NULL. */
void eval_job_move(struct eval_job *job, enum eval_job_event event, const void *detail);
bool eval_job_is_ending(const struct eval_job *job);

/* Has the code objects of the job's pending configs read from the database, unless that was
 * begun already. */
void eval_job_fetch(struct eval_job *job);
/* Each of these functions ends the job's claim: the job leaves its device, and is freed when the
 * database has answered. */
void eval_job_release(struct eval_job *job);
void eval_job_finish(struct eval_job *job);
void eval_job_fail(struct eval_job *job, enum failure failure, const char *detail);

bool eval_job_is_pending(const struct eval_job *job, int index);
int eval_job_pending_count(const struct eval_job *job);
/* Stores the outcomes so far, if there are new ones. A final is stored as a whole. */
void eval_job_flush(struct eval_job *job);
/* Adds a line about the job to the log and to the farm's event log. */
void eval_job_event(struct eval_job *job, const char *kind, const char *detail);

#endif
