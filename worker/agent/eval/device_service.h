/*
 * Whether a device may be used. A GPU on which several configs in a row fail has
 * to prove that it can compute (device_proof.h). If it cannot it is sick: its jobs
 * go back to the farm, and it stays out of service until a worker is started
 * again. A device that does not open any more is tried now and then, and is back
 * in service once it opens. Internal.
 */
#ifndef WORKER_AGENT_EVAL_DEVICE_SERVICE_H
#define WORKER_AGENT_EVAL_DEVICE_SERVICE_H

#include "worker/agent/eval/evaluator.h"

/* Call it when a config of the current job was verified: the device can compute, and earlier
 * faults are forgotten. */
void device_was_right(Evaluator *evaluator);
/* Notes that the current job's config (-1: the job, between two configs) broke the device.
 * Returns true if a GPU has now had as many faults in a row as --fault-limit: it then has to prove
 * itself before the fault has consequences for the job. */
bool device_failed(Evaluator *evaluator, int index, const char *detail);
/* Ends the proof. failure NULL: the device was right, and the configs are to blame. Else the
 * device is taken out of service for that reason, and its jobs are returned to the farm. */
void device_proved(Evaluator *evaluator, const char *failure);
/* Decides without a proof, because its code is missing: by the faults so far. */
void device_not_provable(Evaluator *evaluator);
/* The device's name in the database: its UUID, or its number and node. Free with g_free(). */
char *device_farm_name(const Evaluator *evaluator);
/* Call it when a device that worked does not open any more. */
void device_lost(Evaluator *evaluator, const char *why);
/* Call it with each tick of the flush timer: tries to open an absent device, less and less
 * often. */
void device_look(Evaluator *evaluator);
/* Call it when the worker's row was entered: stores what happened to the device before that. */
void device_enter(Evaluator *evaluator);

/* ---- actions of the evaluator's state machine: object is the evaluator, detail the reason ---- */

/* Releases the device's jobs, ends its child, and stores the reason in the farm's list and event log. */
void device_take_out(void *object, const void *detail);
/* Gives up a device that does not open at the start. The other devices begin without it; a
 * worker without any other device ends. */
void device_give_up(void *object, const void *detail);
/* Puts a device that was absent back in service. */
void device_return(void *object, const void *detail);

#endif
