/*
 * The judges (worker/eval/judge.h) of the targets that this agent measures on
 * or builds for: one code object a target, compiled by the first build child
 * that is free, once an agent, and kept in the database for others. A node that
 * builds nothing takes it from there. Where there is none the host verifies.
 * Internal.
 */
#ifndef WORKER_AGENT_JUDGE_H
#define WORKER_AGENT_JUDGE_H

#include "worker/agent/agent_build.h"

/* "device" or "host": who verifies, whatever the target. Without it the host does so for CPUs alone. */
#define JUDGE_SETTING "SKIPJACK_JUDGE"

GHashTable *judges_new(void);
/* Has the target's judge made or looked for, where that was not done yet. */
void judge_want(struct agent *agent, const struct target *target);
/* Whether it is still on its way; agent_kick() is called at its end. */
bool judge_comes(const struct agent *agent, const struct target *target);
/* Its code, the agent's own, and its key; NULL where the host verifies. */
GBytes *judge_code(const struct agent *agent, const struct target *target, const char **key);

bool judges_come(const struct agent *agent); /* any of them */
/* Nothing that comes is waited for any more. */
void judges_stop(struct agent *agent);

/* ---- for the build children ---- */

/* Asks the slot's idle child for what the first judge in the queue waits for. */
void judge_ask(struct slot *slot);
/* An answer about slot->judge. */
void judge_version_answered(struct slot *slot, json_t *head);
void judge_compiled(struct slot *slot, const struct frame *frame);
/* The child died with it. */
void judge_died(struct slot *slot, const struct child_death *death);

#endif
