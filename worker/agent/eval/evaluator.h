/*
 * The eval pool of one device: claimed jobs wait with their code at hand while the eval child measures one of them.
 * A config that has an outcome is not measured again. Internal.
 */
#ifndef WORKER_EVALUATOR_H
#define WORKER_EVALUATOR_H

#include "worker/agent/agent_state.h"
#include "worker/agent/eval/eval_job.h"
#include "worker/agent/eval/twins.h"
#include "worker/device/device.h"

#define EVALUATOR_STATES(X)                                                                        \
    X(EVALUATOR_OPENING, "opening", "The worker starts, and its device was not opened yet.")       \
    X(EVALUATOR_IDLE, "idle", "The device is in service and has no job.")                          \
    X(EVALUATOR_PREPARING, "preparing",                                                            \
      "It has a current job, which waits for a child, for code, or for room on the disk.")         \
    X(EVALUATOR_MEASURING, "measuring", "The child evaluates configs of the current job.")         \
    X(EVALUATOR_PROOF_WANTED, "proof wanted",                                                      \
      "The device failed too often; before anything else it has to prove that it computes.")       \
    X(EVALUATOR_PROVING, "proving", "The child runs the proof.")                                   \
    X(EVALUATOR_FINISHING, "finishing",                                                            \
      "The worker stops; the child finishes the config under way.")                                \
    X(EVALUATOR_FINISHING_PROOF, "finishing proof", "The worker stops; the child ends the proof.") \
    X(EVALUATOR_STOPPED, "stopped", "The worker stops, and the child is asked nothing more.")      \
    X(EVALUATOR_AWAY, "away", "The device does not open; it is tried now and then.")               \
    X(EVALUATOR_OUT, "out", "The device is out of service until a worker is started again.")

#define EVALUATOR_EVENTS(X)                                                                        \
    X(EVALUATOR_OPENED, "opened", "A child opened the device.")                                    \
    X(EVALUATOR_LOST, "lost", "The device does not open any more.")                                \
    X(EVALUATOR_SICK, "sick", "The device failed its proof, or failed too often without one.")     \
    X(EVALUATOR_TAKE, "take", "A job whose code is there becomes the current one.")                \
    X(EVALUATOR_ASK, "ask", "The child is asked for configs of the current job.")                  \
    X(EVALUATOR_OVER, "over", "The request ended: by its answer, or by the child's death.")        \
    X(EVALUATOR_JOB_LEFT, "job left", "The current job's claim ends.")                             \
    X(EVALUATOR_SUSPECT, "suspect", "As many faults in a row as `--fault-limit` allows.")          \
    X(EVALUATOR_ASK_PROOF, "ask for proof", "Code, child and disk are ready for the proof.")       \
    X(EVALUATOR_GO_ON, "go on", "The device proved right, or no proof can be had.")                \
    X(EVALUATOR_STOP, "stop", "The worker stops.")

enum evaluator_state { EVALUATOR_STATES(MACHINE_ENUM) };
enum evaluator_event { EVALUATOR_EVENTS(MACHINE_ENUM) };
extern const struct state_machine evaluator_machine;

struct evaluator {
    struct agent *agent;
    enum evaluator_state state;
    char *device; /* as --eval names it */
    Child *child;
    char *folder; /* name of the child's folder under the agent's scratch */
    bool open;    /* this child opened the device */
    bool
        needs_fresh_child; /* the disk was full while this child worked: it is asked nothing more */
    int failed_opens;      /* in a row */

    bool known;  /* a child opened the device and reported target, name, identity and stack */
    bool listed; /* the worker's row has target, name, identity and stack */
    struct target target;
    char *name; /* as its vendor spells it */
    struct device_identity identity;
    char *stack;
    char *other_device; /* a text about another device that has this one's number now, or NULL */

    char *out_reason;    /* why it is out of service */
    unsigned away_ticks; /* ticks of the flush timer since it is away */

    int faults; /* times that a config or job broke the device since it was right last */
    GArray
        *blamed; /* struct blamed: the configs and jobs of these faults, those of a job in a row */
    GHashTable *faulty;  /* solver's name -> number of its faults among them */
    char *last_fault;    /* detail of the last fault */
    char *proof_failure; /* why the proof under way failed, NULL while it is right */

    GQueue jobs; /* struct eval_job *: claimed, waiting for the device */
    struct eval_job *current;
    int ending_jobs;   /* jobs whose claim ends: the last call is under way */
    bool claiming;     /* a claim is under way */
    bool queue_empty;  /* the last claim found nothing */
    uv_timer_t *flush; /* stores outcomes of the current job every few seconds */

    json_int_t request;        /* number of the last request */
    GHashTable *asked_configs; /* indices of the configs in that request */
    GHashTable *asked_names;   /* twins_name() of each of them -> its index */
    int in_flight;             /* index of the config that the child works on, or -1 */
    Twins *twins;
    GHashTable *sent; /* keys of the current job's kernels that the child holds */
    bool judge_sent;  /* the child holds the target's judge (own_code.h) */
};

Evaluator *evaluator_new(struct agent *agent, const char *device);
void evaluator_free(Evaluator *evaluator);

/* detail: a text with EVALUATOR_LOST and EVALUATOR_SICK, why; else NULL. */
void evaluator_move(Evaluator *evaluator, enum evaluator_event event, const void *detail);

/* Opens its device; agent_schedule() is called when that is done. */
void evaluator_open(Evaluator *evaluator);
/* Whether its device opened, or cannot be opened, so that the others need not wait for it. */
bool evaluator_has_settled(const Evaluator *evaluator);
/* NULL before its device was opened. */
const struct target *evaluator_target(const Evaluator *evaluator);
const char *evaluator_stack(const Evaluator *evaluator);
/* Fills device, whose texts stay the evaluator's. A device that was never opened has no more than the name that --eval
 * gave it; the worker's row is changed when it opens. */
void evaluator_describe(Evaluator *evaluator, struct worker_device *device);
/* Its device is out of service, for a while or for good. */
bool evaluator_is_out(const Evaluator *evaluator);

/* Claims jobs, has their code fetched, and goes on with the current job. */
void evaluator_pump(Evaluator *evaluator);
/* Claims may find something again. */
void evaluator_wake(Evaluator *evaluator);
bool evaluator_empty(const Evaluator *evaluator); /* the last claim found nothing */
bool evaluator_busy(const Evaluator *evaluator);
unsigned evaluator_jobs(const Evaluator *evaluator);
/* Lets the config under way finish, stores what is measured, releases the rest. */
void evaluator_stop(Evaluator *evaluator);

/* ---- for the files of the eval pool ---- */

/* A request for the current job's configs, or for the proof, is under way. */
bool evaluator_is_measuring(const Evaluator *evaluator);
bool evaluator_is_proving(const Evaluator *evaluator);
/* Goes on with the current job, or takes the next whose code is there. */
void evaluator_next(Evaluator *evaluator);
/* Starts its child, which is down, with an empty folder: a death or a full disk may have left half a file there. */
void evaluator_start(Evaluator *evaluator);
/* The child may be asked: it opened the device, and works in a folder without half a file. */
bool evaluator_has_child(const Evaluator *evaluator);
/* Whether the disk has room. If not, the child's errors prove nothing about a config, and it is replaced before the
 * next request. */
bool evaluator_has_room(Evaluator *evaluator);
/* The job is not its current one any more, if it was. */
void evaluator_drop(Evaluator *evaluator, const struct eval_job *job);

#endif
