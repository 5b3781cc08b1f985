/*
 * The build pool: claims jobs, keeps them and their kernels, and gives the build children their requests. Internal.
 */
#ifndef WORKER_BUILD_POOL_H
#define WORKER_BUILD_POOL_H

#include "worker/agent/agent_state.h"

struct builder {
    struct agent *agent;
    GPtrArray *children;      /* struct build_child * */
    GPtrArray *jobs;          /* struct build_job * */
    GHashTable *targets;      /* target id and toolchains asked for -> struct build_target * */
    GHashTable *compilations; /* key -> struct compilation *, until stored */
    GQueue ready;             /* struct compilation * without a child */
    GQueue unknown_targets;   /* struct build_target * without a version */
    GQueue own_codes;         /* struct own_code * that need a child */
    GQueue rebuilds;          /* struct rebuild * that need a child */
    char *stack;              /* the toolchains of this node, NULL until known */
    char *refusal;            /* names the first target that it cannot build for; NULL for none */
    int stack_deaths;         /* deaths of children over the question for the stack */
    bool claiming;            /* a claim is under way */
    bool queue_empty;         /* the last claim found nothing */
    bool
        own_target_only; /* another target was refused: only jobs for this node's devices are claimed */
    bool cannot_build;   /* the own target was refused, too: nothing is claimed */
    int claimed_in_turn; /* jobs, since this pool's turn began */
    json_int_t next_id;  /* of a request to compile */
};

/* children: 0 for a pool that builds nothing. */
Builder *builder_new(struct agent *agent, int children);
void builder_free(Builder *builder);
/* Compiles at most so many kernels at once from now on; called before anything is claimed. */
void builder_limit(Builder *builder, int children);

/* "clang 15.0.6; opencl PoCL 3.1", "" where it builds nothing. NULL until a child has answered: agent_schedule()
 * is called then. */
const char *builder_stack(Builder *builder);
/* Names the first target that it could not build for; NULL before that happens. */
const char *builder_refusal(const Builder *builder);
/* Claims jobs, and gives idle children their next requests. */
void builder_pump(Builder *builder);
/* Claims may find something again. */
void builder_wake(Builder *builder);
bool builder_empty(const Builder *builder); /* the last claim found nothing */
unsigned builder_jobs(const Builder *builder);
bool builder_busy(const Builder *builder); /* jobs, or a claim under way */
/* It claimed as many jobs as it may before the eval pool's turn. */
bool builder_full(const Builder *builder);
/* Its turn begins. */
void builder_turn(Builder *builder);
/* Releases every job and ends the children. */
void builder_stop(Builder *builder);

#endif
