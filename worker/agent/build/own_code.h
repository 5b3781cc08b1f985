/*
 * The agent's own code: kernels that no job asks for, one for each target and kind. The judge verifies results on the
 * device (worker/verify/judge.h); without it the host verifies. The proof shows whether a device can compute
 * (device_proof.h). Each is compiled once an agent by the first free build child, and stored for other nodes; a node
 * that builds nothing loads it from the database. Internal.
 */
#ifndef WORKER_AGENT_OWN_CODE_H
#define WORKER_AGENT_OWN_CODE_H

#include "worker/agent/build/agent_build_child.h"

/* Environment variable, "device" or "host": who verifies. Unset, GPUs verify on the device and the host verifies on
 * CPUs. */
#define JUDGE_SETTING "SKIPJACK_JUDGE"

struct own_code;

enum own_code_kind { OWN_JUDGE, OWN_PROOF };

GHashTable *own_codes_new(void);
/* Has the code compiled, or loaded from the database, where the target uses that kind and it was not done yet. */
void own_code_want(struct agent *agent, const struct target *target, enum own_code_kind kind);
/* Whether the code is still being compiled or loaded; agent_schedule() is called when that has ended. */
bool own_code_comes(const struct agent *agent, const struct target *target,
                    enum own_code_kind kind);
/* The code and its key, both owned by the agent; NULL where it is not there. */
GBytes *own_code_bytes(const struct agent *agent, const struct target *target,
                       enum own_code_kind kind, const char **key);

/* Whether some code is still being compiled or loaded. */
bool own_codes_come(const struct agent *agent);
/* The agent stops: code that is not there counts as missing. */
void own_codes_stop(struct agent *agent);

/* ---- for the build children ---- */

/* Its toolchain is known, so its kernel is asked for next, else its toolchain. */
bool own_code_has_key(const struct own_code *own);
/* Asks for the first in the queue. */
void own_code_ask(struct build_child *child);
/* Answers to the two requests, and a death over either. */
void own_code_version_answered(struct build_child *child, const struct frame *frame);
void own_code_compiled(struct build_child *child, const struct frame *frame);
void own_code_died(struct build_child *child, const struct child_death *death);

#endif
