/*
 * What the files of the eval pool share: agent_eval.c has its jobs, from the
 * claim to the stored round; agent_request.c asks the eval child;
 * agent_answers.c hears it, or its death; agent_service.c takes a device out
 * of service, and agent_proof.c finds out whether it must be. Internal.
 */
#ifndef WORKER_AGENT_EVAL_H
#define WORKER_AGENT_EVAL_H

#include "worker/agent/agent_calls.h"
#include "worker/agent/twins.h"
#include "worker/device/device.h"

struct eval_job {
    struct work work;
    Evaluator *evaluator;
    GHashTable *kernels; /* key -> struct kernel_row *, NULL until fetched */
    bool fetching;
    bool looked;         /* for code that is built here first (rebuild.h) */
    GPtrArray *rebuilds; /* struct rebuild *: awaited, not owned */
    GHashTable *doubted; /* keys of foreign code that broke the device, NULL for none */
    int doubt_index; /* the config that did; with what it is condemned if they cannot be built here */
    enum failure doubt_failure;
    char *doubt_detail;
    guint8 *deaths;   /* a config: children it took with it */
    GArray *suspects; /* int: configs quarantined since the device was right last */
    int barren;       /* deaths in a row with no config in flight */
    bool dirty;       /* outcomes that are not flushed */
    int flushing;     /* flushes under way */
    bool lost;        /* the database gave the job to somebody else */
    bool leaving;
    bool refused;         /* the database refused what was handed in; it is failed instead */
    bool unstorable;      /* it cannot be failed either; it is released */
    enum failure verdict; /* as which it fails once its device proved right, or FAILURE_NONE */
    char *verdict_detail;
    gint64 began_us;
    double busy_seconds;    /* of the device, since then */
    double slowest_seconds; /* deadline of a config */
};

enum service {
    IN_SERVICE,
    AWAY, /* it does not open any more; it is tried now and then */
    SICK, /* it failed too often; only a new worker opens it */
};

enum proof {
    PROOF_NONE,
    PROOF_WANTED, /* its code, a fresh child or room on the disk is waited for */
    PROOF_ASKED,
};

struct evaluator {
    struct agent *agent;
    char *device;
    Child *child;
    bool open; /* this child said hello */
    bool known;
    bool listed; /* the farm was told what it is */
    struct target target;
    char *name; /* as its vendor spells it */
    struct device_identity identity;
    char *stack;
    char *became; /* another device that its number opened just now, in words; NULL for none */
    int failed_opens;
    enum service service;
    char *out_reason;    /* why it is out of service */
    unsigned away_ticks; /* of the timer, since it is away */
    int faults;          /* configs and jobs that broke it since it was right last ... */
    GArray *condemned;   /* struct condemned: these, a job's one after the other */
    GHashTable *faulty;  /* ... name of a solver -> how many of them */
    char *fault;         /* the last one */
    enum proof proof;    /* while there is one, there is a current job */
    char *proof_failure; /* of the one that was asked for, NULL: right so far */
    bool spoiled;        /* its folder may hold half a file, of a full disk or a death */
    char *folder;        /* its name under the agent's scratch */
    GQueue jobs;         /* struct eval_job *: claimed, waiting */
    struct eval_job *current;
    int leaving; /* jobs whose last call is under way */
    bool claiming, empty, stopping;
    bool asked;                /* an evaluate request is under way */
    GHashTable *asked_configs; /* indices of that request */
    GHashTable *asked_names;   /* twins_name() of these -> their index */
    Twins *twins;
    int in_flight; /* config that was begun, or -1 */
    json_int_t request;
    GHashTable *sent; /* keys the child holds, of its job */
    bool judge_sent;  /* it holds the target's judge, too, for good */
    uv_timer_t *flush;
};

/* ---- agent_eval.c ---- */

/* The job's last call; it is not the evaluator's current one any more. */
void eval_job_release(struct eval_job *job);
void eval_job_finish(struct eval_job *job);
void eval_job_fail(struct eval_job *job, enum failure failure, const char *detail);
/* Stores the outcomes so far. */
void eval_job_flush(struct eval_job *job);
/* The config hung, or took a child with it, and nobody tries it again. */
void eval_job_condemn(struct eval_job *job, int index, enum failure failure, const char *detail);
/* Into the log and the farm's diary. */
void eval_job_event(struct eval_job *job, const char *kind, const char *detail);
bool eval_job_pending(const struct eval_job *job, int index);
int eval_job_pending_count(const struct eval_job *job);
/* Starts its child, which is down; what a death or a full disk left in its folder goes before. */
void evaluator_start(struct evaluator *evaluator);
/* Goes on with the current job, or takes the next whose code is there. */
void evaluator_next(Evaluator *evaluator);

/* ---- agent_service.c ---- */

/* The current job's config was verified: the device can compute. */
void evaluator_was_right(Evaluator *evaluator);
/* The current job's config (-1: the job, at none of them) broke the device. True where that was once too
 * often: the device is proved before anything follows from it for the job. */
bool evaluator_failed(Evaluator *evaluator, int index, const char *detail);
/* The proof's end. NULL: it was right, and the configs are to blame; else why it was not: the device is out of
 * service, and its jobs are on their way back. */
void evaluator_proved(Evaluator *evaluator, const char *failure);
/* Nothing to prove it with can be had. */
void evaluator_unproved(Evaluator *evaluator);
/* What it is known by all over the farm. Free with g_free(). */
char *evaluator_device_name(const Evaluator *evaluator);
/* Takes it out of service, until it opens again where it returns. */
void evaluator_retire(Evaluator *evaluator, bool returns, const char *why);
/* At the start: the others begin without it, unless there is none left. */
void evaluator_give_up(Evaluator *evaluator, const char *why);
/* It opened: an absent device is back in service. */
void evaluator_returned(Evaluator *evaluator);
/* With each tick of the timer: an absent device is tried, more and more seldom. */
void evaluator_look(Evaluator *evaluator);

/* ---- agent_request.c ---- */

/* Reads the code of the job's pending configs. */
void eval_job_fetch(struct eval_job *job);
/* The pending config that took a child with it, or -1. */
int eval_job_suspect(const struct eval_job *job);
/* Asks the child for what is pending; finishes the job where nothing can be asked. */
void eval_job_ask(struct eval_job *job);
void evaluator_forget_kernels(Evaluator *evaluator);
void evaluator_send_stop(Evaluator *evaluator);

/* ---- agent_answers.c ---- */

extern const struct child_callbacks evaluator_callbacks;

#endif
