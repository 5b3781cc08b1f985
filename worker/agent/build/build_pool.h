/*
 * The build pool: claims jobs, has their kernels compiled, and gives the build
 * children their requests. Internal.
 */
#ifndef WORKER_AGENT_BUILD_BUILD_POOL_H
#define WORKER_AGENT_BUILD_BUILD_POOL_H

#include "worker/agent/agent_state.h"

struct builder {
    struct agent *agent;
    GPtrArray *children; /* struct build_child * */
    GPtrArray *jobs;     /* struct build_job * */
    /* Target id and names of allowed toolchains -> struct build_target *. */
    GHashTable *targets;
    /* Key -> struct compilation *: kernels that are being compiled or stored. */
    GHashTable *compilations;
    GQueue ready; /* struct compilation *: kernels that no child works on yet */
    /* struct build_target *: targets for which a child must still be asked for a toolchain. */
    GQueue unknown_targets;
    /* struct own_code *: the agent's own kernels that a child must compile. */
    GQueue own_codes;
    /* struct rebuild *: kernels of other logins that a child must compile again. */
    GQueue rebuilds;
    /* The node's toolchains with their versions, as text; NULL until known. */
    char *stack;
    /* Says which target was the first that this node cannot build for; NULL if none. */
    char *refusal;
    int stack_deaths; /* deaths of build children that were asked for the stack */
    bool claiming;    /* a claim is under way */
    bool queue_empty; /* the last claim found nothing */
    /* A target of another node's device was refused: from now on only jobs for this node's
     * devices are claimed. */
    bool own_target_only;
    /* The target of this node's devices was refused, too: nothing is claimed. */
    bool cannot_build;
    int claimed_in_turn; /* jobs claimed since this pool's turn began */
    json_int_t next_id;  /* id of the next compile request */
};

/* children: number of build children; 0 for a pool that builds nothing. */
Builder *builder_new(struct agent *agent, int children);
void builder_free(Builder *builder);
/* Lets at most `children` children compile at once from now on. Call it before anything is
 * claimed. */
void builder_limit(Builder *builder, int children);

/* The node's toolchains, such as "clang 15.0.6; opencl PoCL 3.1"; "" if the pool builds nothing.
 * NULL until a child has answered; agent_schedule() is called when it has. */
const char *builder_stack(Builder *builder);
/* A text about the first target that this node could not build for; NULL as long as it could build
 * for all. */
const char *builder_refusal(const Builder *builder);
/* Claims jobs, and gives idle children their next requests. */
void builder_pump(Builder *builder);
/* Claims again, also after the last claim found nothing. */
void builder_wake(Builder *builder);
bool builder_empty(const Builder *builder); /* Whether the last claim found nothing. */
unsigned builder_jobs(const Builder *builder);
/* Whether the pool holds jobs, or a claim is under way. */
bool builder_busy(const Builder *builder);
/* Whether the pool has claimed as many jobs as one turn may have. */
bool builder_full(const Builder *builder);
/* Begins the pool's turn, on a node where build and eval pool take turns. */
void builder_turn(Builder *builder);
/* Releases all jobs and ends the children. */
void builder_stop(Builder *builder);

#endif
