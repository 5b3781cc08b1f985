/*
 * Answers of an eval child, and consequences of its death. A config that misses
 * its deadline is to blame at once. A config during which the child dies otherwise
 * is tried once more, alone, in a fresh child, and is to blame if that child dies,
 * too; a death while the disk is full does not count. A config to blame is
 * quarantined, but one with code of another login is first tried with code that is
 * built here. Internal.
 */
#ifndef WORKER_AGENT_EVAL_EVAL_ANSWERS_H
#define WORKER_AGENT_EVAL_EVAL_ANSWERS_H

#include "worker/agent/eval/evaluator.h"

/* The callbacks of an evaluator's child; their data is the evaluator. */
extern const struct child_callbacks evaluator_callbacks;

/* Fails and quarantines a config of the job that hung or killed its child: no worker tries it
 * again. */
void eval_job_quarantine(struct eval_job *job, int index, enum failure failure, const char *detail);
/* Whether an outcome with this failure was verified: every outcome with a time, also a slow or
 * an unstable one. */
bool eval_is_verified(enum failure failure);

#endif
