/*
 * Whether a device that configs failed on can compute at all: a small convolution by the plain solver, which is
 * known to be right, runs on it in a fresh eval child, alone, and the host verifies it. If it is right, the configs
 * are to blame; if it fails or hangs, the device is. Internal.
 */
#ifndef WORKER_DEVICE_PROOF_H
#define WORKER_DEVICE_PROOF_H

#include "worker/agent/eval/evaluator.h"

/* The solution of its one launch. */
bool proof_solve(const struct target *target, struct solution *solution, GError **error);

/* Asks for the proof where code, child and disk are ready; only where one is wanted. */
void proof_pump(Evaluator *evaluator);
/* A frame of the child that the proof is asked of, and its death. */
void proof_answered(Evaluator *evaluator, const char *op, json_t *head);
void proof_died(Evaluator *evaluator, const struct child_death *death);

#endif
