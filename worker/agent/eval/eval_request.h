/*
 * The agent's requests to an eval child: evaluate a job's configs, stop after the
 * config under way, forget kernels. Internal.
 */
#ifndef WORKER_AGENT_EVAL_EVAL_REQUEST_H
#define WORKER_AGENT_EVAL_EVAL_REQUEST_H

#include "worker/agent/eval/evaluator.h"

/* The index of the first pending config during which a child died, or -1; always -1 for a final. */
int eval_job_suspect(const struct eval_job *job);
/* Asks the child for the job's pending configs; if a child died during one of them, for this one
 * alone. Finishes the job if nothing can be asked. */
void eval_job_ask(struct eval_job *job);
/* Sends a kernel's code and key to the child, unless the child holds it already. */
void evaluator_send_kernel(Evaluator *evaluator, const char *key, GBytes *code);
/* Has the child forget the current job's kernels. */
void evaluator_forget_kernels(Evaluator *evaluator);
/* Asks the child to stop after the config under way. Does nothing if the child is not up. */
void evaluator_send_stop(Evaluator *evaluator);

#endif
