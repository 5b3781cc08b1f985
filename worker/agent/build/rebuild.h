/*
 * Kernels that this worker builds again instead of running another login's code. On a CPU such code would run with the
 * worker's own rights: kernels of logins that the campaign does not trust are built again. On other devices the kernels
 * of a config that broke the device are. A build child of this agent compiles each for the current job of an evaluator;
 * the new code replaces the stored one, so that the code that was measured is exported. Internal.
 */
#ifndef WORKER_AGENT_REBUILD_H
#define WORKER_AGENT_REBUILD_H

#include "worker/agent/build/agent_build_child.h"
#include "worker/agent/eval/evaluator.h"

/* Has the kernels built again that the job's pending configs need so. The job is moved: it waits for them, or may
 * run. A kernel that cannot be built here ends its configs at once. agent_schedule() is called when the last one that
 * is awaited is there. */
void rebuilds_begin(struct eval_job *job);
/* The job leaves its device: it waits for no kernel any more. */
void rebuilds_withdraw(struct eval_job *job);
/* The config broke its device: its kernels that other logins' workers built are built here before it is tried once
 * more. If one cannot be built, the config is quarantined with failure and detail. Returns false, and does nothing,
 * where all its code is this login's. */
bool rebuild_doubted(struct eval_job *job, int index, enum failure failure, const char *detail);
/* Names the workers of other logins that built the code that the config ran; NULL for nobody. Free with g_free(). */
char *rebuild_builders(const struct eval_job *job, int index);

/* ---- for the build children ---- */

/* Asks for the first in the queue. */
void rebuild_ask(struct build_child *child);
void rebuild_compiled(struct build_child *child, const struct frame *frame);
void rebuild_died(struct build_child *child, const struct child_death *death);
/* The agent stops: nobody waits for what the child compiles, if anything. */
void rebuild_drop(struct build_child *child);

#endif
