/*
 * The eval pool of one device. It claims jobs and fetches their code objects
 * ahead, while the eval child measures one job. A config that has an outcome is
 * not measured again. Internal.
 */
#ifndef WORKER_AGENT_EVAL_EVALUATOR_H
#define WORKER_AGENT_EVAL_EVALUATOR_H

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
    char *device; /* the device's name in --eval */
    Child *child;
    char *folder; /* name of the child's folder in the agent's scratch folder */
    bool open;    /* the running child has opened the device */
    /* The disk was full while the running child worked: it gets no further request, and is
     * replaced. */
    bool needs_fresh_child;
    bool has_searched; /* the child was asked for configs of a search */
    int finals_served; /* second measurements that the child was asked for */
    int failed_opens;  /* in a row */

    bool known;  /* a child has opened the device and reported target, name, identity and stack */
    bool listed; /* the worker's row in the database has target, name, identity and stack */
    struct target target;
    char *name; /* the device's name as its vendor spells it */
    struct device_identity identity;
    char *stack;
    /* Says that another device has this device's number now; NULL if none has. */
    char *other_device;

    char *out_reason;    /* why the device is out of service */
    unsigned away_ticks; /* ticks of the flush timer since the device is absent */

    /* Times that a config or job broke the device since a config was last verified on it. */
    int faults;
    /* struct blamed: the configs and jobs that caused `faults`; entries of one job follow each
     * other. */
    GArray *blamed;
    GHashTable *faulty;  /* solver's name -> how many of `faults` its configs caused */
    char *last_fault;    /* detail of the last fault */
    char *proof_failure; /* why the proof under way failed; NULL if nothing failed so far */

    GQueue jobs; /* struct eval_job *: claimed jobs that wait for the device */
    struct eval_job *current;
    int ending_jobs;   /* jobs whose claim is ending: the database's answer is awaited */
    bool claiming;     /* a claim is under way */
    bool queue_empty;  /* the last claim found nothing */
    uv_timer_t *flush; /* every few seconds, stores the outcomes of the current job */

    json_int_t request;        /* number of the last request to the child */
    GHashTable *asked_configs; /* set of indices of the configs in that request */
    /* Name by code and launches (twins_name()) of each config in that request -> its index. */
    GHashTable *asked_names;
    /* Index of each config in that request that is verified alone -> its twins_name(): the twin has the times. */
    GHashTable *asked_twins;
    int in_flight; /* index of the config that the child works on, or -1 for none */
    Twins *twins;
    GHashTable *sent; /* keys of the kernels that the child holds for the current job */
    bool judge_sent;  /* the child holds the target's judge (own_code.h) */
};

Evaluator *evaluator_new(struct agent *agent, const char *device);
void evaluator_free(Evaluator *evaluator);

/* Moves the evaluator's state machine. detail: the reason as text with EVALUATOR_LOST and
 * EVALUATOR_SICK, else NULL. */
void evaluator_move(Evaluator *evaluator, enum evaluator_event event, const void *detail);

/* Begins to open the device; agent_schedule() is called when that is done. */
void evaluator_open(Evaluator *evaluator);
/* Whether its device has opened or was given up, so that the other devices need not wait for it. */
bool evaluator_has_settled(const Evaluator *evaluator);
/* The device's target; NULL before the device was opened. */
const struct target *evaluator_target(const Evaluator *evaluator);
const char *evaluator_stack(const Evaluator *evaluator);
/* Fills `device` from the evaluator, which keeps owning the texts. A device that was never
 * opened has only the name that --eval gave it; the worker's row is updated when it opens. */
void evaluator_describe(Evaluator *evaluator, struct worker_device *device);
/* Whether its device is out of service, for a while or for good. */
bool evaluator_is_out(const Evaluator *evaluator);

/* Claims jobs, has their code objects fetched, and goes on with the current job. */
void evaluator_pump(Evaluator *evaluator);
/* Claims again, also after the last claim found nothing. */
void evaluator_wake(Evaluator *evaluator);
bool evaluator_empty(const Evaluator *evaluator); /* Whether the last claim found nothing. */
bool evaluator_busy(const Evaluator *evaluator);
unsigned evaluator_jobs(const Evaluator *evaluator);
/* Stops the evaluator: the config under way finishes, measured outcomes are stored, all other
 * work is released. */
void evaluator_stop(Evaluator *evaluator);

/* ---- for the files of worker/agent/eval ---- */

/* Whether a request for the current job's configs, or for the proof, is under way. */
bool evaluator_is_measuring(const Evaluator *evaluator);
bool evaluator_is_proving(const Evaluator *evaluator);
/* Goes on with the current job, or takes the next job whose code objects were fetched. */
void evaluator_next(Evaluator *evaluator);
/* Starts the child, which must be down. Its folder is emptied first: a death or a full disk may
 * have left an incomplete file there. */
void evaluator_start(Evaluator *evaluator);
/* Whether the child can be given a request: it has opened the device, and no full disk disturbed
 * it. */
bool evaluator_has_child(const Evaluator *evaluator);
/* Whether the disk has room. If not, errors of the child prove nothing about a config, and the
 * child is replaced before the next request. */
bool evaluator_has_room(Evaluator *evaluator);
/* Removes the job as the evaluator's current job, if it is. */
void evaluator_drop(Evaluator *evaluator, const struct eval_job *job);

#endif
