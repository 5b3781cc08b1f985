/*
 * Whether a device may be worked with. A GPU that configs fail on one after the other has to prove that it can
 * compute (device_proof.h). If it cannot it is sick: its jobs go back to the farm, and it stays out of service until
 * a worker is started again. A device that does not open any more is tried now and then, and is back in service once
 * it opens. Internal.
 */
#ifndef WORKER_DEVICE_SERVICE_H
#define WORKER_DEVICE_SERVICE_H

#include "worker/agent/eval/evaluator.h"

/* The current job's config was verified: the device can compute. */
void device_was_right(Evaluator *evaluator);
/* The current job's config (-1: the job, between two configs) broke the device. True where that was once too often:
 * the device is proved before anything follows from it for the job. */
bool device_failed(Evaluator *evaluator, int index, const char *detail);
/* The proof's end. failure NULL: the device was right, and the configs are to blame; else the device is taken out of
 * service for that reason, and its jobs are on their way back. */
void device_proved(Evaluator *evaluator, const char *failure);
/* There is no code to prove the device with: the faults so far decide. */
void device_not_provable(Evaluator *evaluator);
/* The device's UUID, or its number and node. Free with g_free(). */
char *device_farm_name(const Evaluator *evaluator);
/* A device that worked does not open any more. */
void device_lost(Evaluator *evaluator, const char *why);
/* With each tick of the flush timer: a device that is away is tried, more and more seldom. */
void device_look(Evaluator *evaluator);
/* The worker's row is there: the farm hears what happened to the device before. */
void device_enter(Evaluator *evaluator);

/* ---- actions of the evaluator's machine: object is the evaluator, detail the reason ---- */

/* Releases the device's jobs, ends its child, and stores the reason in the farm's list and event log. */
void device_take_out(void *object, const void *detail);
/* A device that does not open at the start: the other devices begin without it; without any other the worker ends. */
void device_give_up(void *object, const void *detail);
/* A device that was away is back. */
void device_return(void *object, const void *detail);

#endif
