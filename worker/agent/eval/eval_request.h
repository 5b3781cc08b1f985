/*
 * Requests of the agent to an eval child: to evaluate a job's configs, to stop after the config under way, to forget
 * kernels. Internal.
 */
#ifndef WORKER_EVAL_REQUEST_H
#define WORKER_EVAL_REQUEST_H

#include "worker/agent/eval/evaluator.h"

/* The first pending config that took a child with it, or -1. */
int eval_job_suspect(const struct eval_job *job);
/* Asks the child for what is pending, the suspect alone where there is one; finishes the job where nothing can be
 * asked. */
void eval_job_ask(struct eval_job *job);
/* Sends a kernel's code under its key, unless the child holds it. */
void evaluator_send_kernel(Evaluator *evaluator, const char *key, GBytes *code);
/* The child forgets the current job's kernels. */
void evaluator_forget_kernels(Evaluator *evaluator);
/* The child answers after the config under way. A child that is not up is left alone. */
void evaluator_send_stop(Evaluator *evaluator);

#endif
