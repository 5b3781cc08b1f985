/*
 * A target that jobs are built for, with the toolchains that a campaign asks for. A build child says which
 * toolchain of this node serves the target, and its version; jobs for the target wait until it has. Internal.
 */
#ifndef WORKER_BUILD_TARGET_H
#define WORKER_BUILD_TARGET_H

#include "worker/agent/build/agent_build_child.h"

struct build_target {
    struct target target;
    char **names; /* of toolchains: only these; NULL for any */
    char *stack;  /* the campaign's constraints that names come of; NULL for any */
    const struct toolchain *toolchain; /* NULL until known, as the version */
    char *version;
    char *refusal; /* why nothing can be built for it here; NULL while that may be */
    bool queued;   /* a build child was asked, or will be */
    int deaths;    /* of build children over that question */
};

/* The build target of a target under a campaign's stack constraints, owned by the builder. Queues the question for
 * its toolchain where that is not known yet. */
struct build_target *build_target_get(Builder *builder, const struct target *target,
                                      const char *stack);
void build_target_free(gpointer build_target);

/* ---- for the build child's machine ---- */

/* Asks for the first target in the queue. */
void build_target_ask(struct build_child *child);
/* Its jobs are planned, or released where no toolchain serves the target. */
void build_target_answered(struct build_child *child, const struct frame *frame);
void build_target_died(struct build_child *child, const struct child_death *death);

#endif
