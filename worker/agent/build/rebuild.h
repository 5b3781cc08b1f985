/*
 * Kernels that this worker builds again instead of running another login's code.
 * On a CPU such code would run with the worker's own rights, so kernels of logins
 * that the campaign does not trust are built again. On other devices only the
 * kernels of a config that broke the device are. A build child of this agent
 * compiles each for the current job of an evaluator. The new code replaces the
 * stored code, so that exports contain the code that was measured. Internal.
 */
#ifndef WORKER_AGENT_BUILD_REBUILD_H
#define WORKER_AGENT_BUILD_REBUILD_H

#include "worker/agent/build/agent_build_child.h"
#include "worker/agent/eval/evaluator.h"

/* Starts rebuilding the kernels of the job's pending configs that must not run as they are.
 * Moves the job's state machine: the job waits for the kernels, or may run at once. A kernel
 * that cannot be built here ends its configs. agent_schedule() is called when the last awaited
 * kernel is there. */
void rebuilds_begin(struct eval_job *job);
/* Call it when the job leaves its device: it waits for no rebuild any more. */
void rebuilds_withdraw(struct eval_job *job);
/* Call it for a config that broke its device. Its kernels that workers of other logins built are
 * built again here, before the config is tried once more. If a kernel cannot be built, the
 * config is quarantined with failure and detail. Returns false, and does nothing, if this login
 * built all its code. */
bool rebuild_doubted(struct eval_job *job, int index, enum failure failure, const char *detail);
/* A text that names the workers of other logins who built the code that the config ran; NULL if
 * this login built all of it. Free with g_free(). */
char *rebuild_builders(const struct eval_job *job, int index);

/* ---- for the build children ---- */

/* Sends the first rebuild in the queue to the child. */
void rebuild_ask(struct build_child *child);
void rebuild_compiled(struct build_child *child, const struct frame *frame);
void rebuild_died(struct build_child *child, const struct child_death *death);
/* The agent stops: forgets the rebuild that the child works on, if any. */
void rebuild_drop(struct build_child *child);

#endif
