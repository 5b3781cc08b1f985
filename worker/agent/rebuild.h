/*
 * Kernels that this worker builds again instead of running another login's code: on a CPU, where such code would
 * run with the worker's own rights, all that the campaign does not trust; elsewhere, what a config needs that
 * broke the device. Each is compiled by a build child of this agent, for the current job of an evaluator, and
 * then takes the place of the code in the database, so that what ships is what was measured. Internal.
 */
#ifndef WORKER_AGENT_REBUILD_H
#define WORKER_AGENT_REBUILD_H

#include "worker/agent/agent_build.h"
#include "worker/agent/agent_eval.h"

/* Begins what the job needs; true when nothing of it is awaited: what cannot be built has its outcome. At the
 * end of what is awaited agent_kick() is called. */
bool rebuilds_ready(struct eval_job *job);
/* The job waits for nothing any more. */
void rebuilds_withdraw(struct eval_job *job);
/* The config broke its device: all its code that other logins' workers built is built here before it is tried once more.
 * failure and detail: with which it is condemned where that cannot be. False where none of its code is foreign. */
bool rebuild_doubted(struct eval_job *job, int index, enum failure failure, const char *detail);
/* Names the workers of other logins that built the code that the config ran; NULL for nobody. Free with g_free(). */
char *rebuild_builders(const struct eval_job *job, int index);

/* ---- for the build children ---- */

/* Asks the slot's idle child for the first in the queue. */
void rebuild_ask(struct slot *slot);
/* An answer about slot->rebuild. */
void rebuild_compiled(struct slot *slot, const struct frame *frame);
/* The agent stops: nobody waits for what the slot's child compiles. */
void rebuild_drop(struct slot *slot);
/* The child died with it. */
void rebuild_died(struct slot *slot, const struct child_death *death);

#endif
