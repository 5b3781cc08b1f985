/*
 * Whether a device that configs failed on can compute at all: a small convolution by the plain solver, which is
 * known to be right, runs on it in a fresh eval child, alone, and the host verifies it. What is right there was
 * the configs' doing; what fails or hangs is the device's. Internal.
 */
#ifndef WORKER_AGENT_PROOF_H
#define WORKER_AGENT_PROOF_H

#include "worker/agent/agent_eval.h"

/* The recipe of its one launch. */
bool proof_solve(const struct target *target, struct solution *solution, GError **error);

/* Nothing else is asked of the device until its end, which proof_pump() brings nearer. Whoever broke it last is
 * its current job. */
void proof_begin(Evaluator *evaluator);
/* Asks for it where code, child and disk are ready. */
void proof_pump(Evaluator *evaluator);
/* A frame of the child, and its death, that the proof is asked of. */
void proof_answered(Evaluator *evaluator, const char *op, json_t *head);
void proof_died(Evaluator *evaluator, const struct child_death *death);

#endif
