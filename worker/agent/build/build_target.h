/*
 * A target that jobs are built for, together with the toolchains that their
 * campaign allows. A build child says which toolchain of this node serves the
 * target, and its version; jobs for the target wait until it has answered.
 * Internal.
 */
#ifndef WORKER_AGENT_BUILD_BUILD_TARGET_H
#define WORKER_AGENT_BUILD_BUILD_TARGET_H

#include "worker/agent/build/agent_build_child.h"

struct build_target {
    struct target target;
    char **names; /* names of the allowed toolchains; NULL for any */
    /* The campaign's stack constraints, from which `names` was made; NULL for none. */
    char *stack;
    /* Toolchain and version that serve the target, NULL until known. */
    const struct toolchain *toolchain;
    char *version;
    /* Why this node cannot build for the target; NULL if it can, or if that is not known yet. */
    char *refusal;
    /* A build child was asked for the toolchain, or the question waits in the queue. */
    bool queued;
    int deaths; /* deaths of build children that were asked for the toolchain */
};

/* Finds or makes the build target of a target under a campaign's stack constraints (`stack`).
 * The builder owns it. If its toolchain is not known yet, the question for it is queued. */
struct build_target *build_target_get(Builder *builder, const struct target *target,
                                      const char *stack);
void build_target_free(gpointer build_target);

/* ---- for the build child's state machine ---- */

/* Sends the question for the first queued target's toolchain to the child. */
void build_target_ask(struct build_child *child);
/* Takes the child's answer: jobs that waited for it are planned, or released if no toolchain
 * serves the target. */
void build_target_answered(struct build_child *child, const struct frame *frame);
void build_target_died(struct build_child *child, const struct child_death *death);

#endif
