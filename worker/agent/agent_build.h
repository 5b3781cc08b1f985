/*
 * What the files of the build pool share: agent_build.c has its jobs, from the
 * claim to the stored round; agent_compile.c has the kernels they need, the
 * toolchains and the children. Internal.
 */
#ifndef WORKER_AGENT_BUILD_H
#define WORKER_AGENT_BUILD_H

#include "kernels/program.h"
#include "worker/agent/agent_calls.h"

/* A target that jobs are built for, with the toolchains that a campaign asks for. A build child says which
 * toolchain serves the target, and its version. */
struct recipient {
    struct target target;
    char **names;                      /* of toolchains: only these; NULL for any */
    char *stack;                       /* the constraints that names come of; NULL likewise */
    const struct toolchain *toolchain; /* NULL until known, as the version */
    char *version;
    char *refusal; /* why nothing can be built for it here */
    bool queued;
    int deaths;
};

struct build_job {
    struct work work;
    Builder *builder;
    struct recipient *recipient;
    bool planned;
    bool leaving;    /* a call that ends it is under way */
    bool refused;    /* the database refused what was handed in; it is failed instead */
    bool unstorable; /* it cannot be failed either; it is released */
    int missing;     /* kernels that are not there yet, counted a config */
    double seconds;  /* compile time */
};

/* A config that waits for a kernel. */
struct need {
    struct build_job *job;
    int index;
    int64_t local_bytes; /* of a workgroup, that the config's launch of the kernel asks for */
};

struct compilation {
    Builder *builder;
    struct kernel_row row;
    char program_hash[PROGRAM_HASH_LENGTH + 1];
    struct recipient *recipient;
    GArray *needs; /* struct need */
    int deaths;
    bool over; /* its outcome is known; being stored */
};

struct slot {
    Builder *builder;
    Child *child;
    struct compilation *compilation; /* in flight, or NULL */
    struct recipient *recipient;     /* asked for its toolchain's version, or NULL */
    struct own_code *own;            /* likewise, or compiled (own_code.h), or NULL */
    struct rebuild *rebuild;         /* compiled (rebuild.h), or NULL */
    bool asked_stack;
    bool spoiled; /* its folder may hold half a file, of a full disk or a death */
    char *folder; /* its name under the agent's scratch */
};

struct builder {
    struct agent *agent;
    GPtrArray *slots;
    GPtrArray *jobs;          /* struct build_job * */
    GHashTable *recipients;   /* target id and toolchains asked for -> struct recipient * */
    GHashTable *compilations; /* key -> struct compilation *, until stored */
    GQueue ready;             /* compilations without a child */
    GQueue unknown;           /* recipients without a version */
    GQueue own_codes;         /* struct own_code * that need a child */
    GQueue rebuilds;          /* struct rebuild *, likewise */
    char *stack;              /* the toolchains of this node, NULL until known */
    char *refusal;            /* names the first target that it cannot build for; NULL for none */
    int stack_deaths;
    bool claiming, empty, own_target_only, useless;
    int claimed_in_turn;
    json_int_t next_id;
};

/* ---- agent_build.c ---- */

/* Plans the next round; the job's target must have a toolchain's version. */
void build_job_plan(struct build_job *job);
/* Stores the round: no config waits for a kernel any more. */
void build_job_complete(struct build_job *job);
void build_job_release(struct build_job *job);

/* ---- agent_compile.c ---- */

/* The recipient of a target under a campaign's stack constraints; asks a build child for its toolchain
 * when that is not known yet. */
struct recipient *recipient_get(Builder *builder, const struct target *target, const char *stack);
void recipient_free(gpointer recipient);
/* Queues a kernel for the children. */
struct compilation *compilation_new(struct build_job *job, const struct launch *launch,
                                    const char *program_hash, const char *key);
void compilation_free(gpointer compilation);
/* Sets what is known of a kernel before it is compiled; each text is a copy. */
void kernel_row_plan(struct kernel_row *row, const char *key, const struct launch *launch,
                     const struct target *target, const struct toolchain *toolchain,
                     const char *version);
/* Takes over what a child answered of a kernel that it compiled, with its code; not the seconds. */
void compilation_facts(struct kernel_row *row, const struct frame *frame);
/* The job waits for no kernel any more; kernels that no other job waits for are not begun. */
void compilations_withdraw(struct build_job *job);
/* A kernel that the config waits for is there, or failed. seconds: compile time that the config bears. */
void need_met(struct need *need, const struct kernel_row *row, double seconds);

struct slot *slot_new(Builder *builder, guint number);
void slot_free(gpointer slot);
/* Gives an idle child its next request, starting it where it is down. */
void slot_pump(struct slot *slot);

#endif
