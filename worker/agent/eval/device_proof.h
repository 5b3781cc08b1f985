/*
 * Proves whether a device on which configs failed can compute at all. A small
 * convolution by the plain solver, which is known to be right, runs on it in a
 * fresh eval child, alone, and the host verifies the result. If it is right, the
 * configs are to blame; if it fails or hangs, the device is. Internal.
 */
#ifndef WORKER_AGENT_EVAL_DEVICE_PROOF_H
#define WORKER_AGENT_EVAL_DEVICE_PROOF_H

#include "worker/agent/eval/evaluator.h"

/* Makes the solution of the proof's convolution, which has one launch. */
bool proof_solve(const struct target *target, struct solution *solution, GError **error);

/* Sends the proof to the child if a proof is wanted, and its code, the child and the disk are
 * ready. */
void proof_pump(Evaluator *evaluator);
/* Handle a frame of the child that runs the proof, and the child's death. */
void proof_answered(Evaluator *evaluator, const char *op, json_t *head);
void proof_died(Evaluator *evaluator, const struct child_death *death);

#endif
