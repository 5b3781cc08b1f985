/*
 * Answers of an eval child, and consequences of its death: a config that takes the child with it is tried once
 * more, alone, in a fresh child; then it is quarantined. Internal.
 */
#ifndef WORKER_EVAL_ANSWERS_H
#define WORKER_EVAL_ANSWERS_H

#include "worker/agent/eval/evaluator.h"

/* The callbacks of an evaluator's child; their data is the evaluator. */
extern const struct child_callbacks evaluator_callbacks;

/* Ends a config of the job that hung, or took a child with it: it is not tried again, by anybody. */
void eval_job_quarantine(struct eval_job *job, int index, enum failure failure, const char *detail);
/* Whether such an outcome was verified: one with a time, also a slow or an unstable one. */
bool eval_is_verified(enum failure failure);

#endif
