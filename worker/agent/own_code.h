/*
 * Code that the agent itself has run on devices, for each target that it measures on or builds for: the judge
 * (worker/verify/judge.h), without which the host verifies, and the proof (agent_proof.h). One code object a target
 * and kind, compiled by the first build child that is free, once an agent, and kept in the database for others.
 * A node that builds nothing takes it from there. Internal.
 */
#ifndef WORKER_AGENT_OWN_CODE_H
#define WORKER_AGENT_OWN_CODE_H

#include "worker/agent/agent_build.h"

/* "device" or "host": who verifies, whatever the target. Without it the host does so for CPUs alone. */
#define JUDGE_SETTING "SKIPJACK_JUDGE"

enum own_code_kind { OWN_JUDGE, OWN_PROOF };

GHashTable *own_codes_new(void);
/* Has it made or looked for, where the target takes one and that was not done yet. */
void own_code_want(struct agent *agent, const struct target *target, enum own_code_kind kind);
/* Whether it is still on its way; agent_kick() is called at its end. */
bool own_code_comes(const struct agent *agent, const struct target *target,
                    enum own_code_kind kind);
/* The code, the agent's, and its key; NULL where there is none. */
GBytes *own_code_bytes(const struct agent *agent, const struct target *target,
                       enum own_code_kind kind, const char **key);

bool own_codes_come(const struct agent *agent); /* any of them */
/* Nothing that comes is waited for any more. */
void own_codes_stop(struct agent *agent);

/* ---- for the build children ---- */

/* Asks the slot's idle child for what the first one in the queue waits for. */
void own_code_ask(struct slot *slot);
/* An answer about slot->own. */
void own_code_version_answered(struct slot *slot, json_t *head);
void own_code_compiled(struct slot *slot, const struct frame *frame);
/* The child died with it. */
void own_code_died(struct slot *slot, const struct child_death *death);

#endif
