/*
 * The agent's own code: kernels that no job asks for, one for each target and
 * kind. The judge verifies results on the device (worker/verify/judge.h); without
 * it the host verifies. The proof shows whether a device can compute
 * (device_proof.h). An agent compiles each once, in a build child, and stores it
 * for other nodes; a node that builds nothing loads it from the database.
 * Internal.
 */
#ifndef WORKER_AGENT_BUILD_OWN_CODE_H
#define WORKER_AGENT_BUILD_OWN_CODE_H

#include "worker/agent/build/agent_build_child.h"

/* Environment variable with the value "device" or "host": where results are verified. If it is
 * not set, GPUs verify their own results, and the host verifies those of CPUs. */
#define JUDGE_SETTING "SKIPJACK_JUDGE"

struct own_code;

enum own_code_kind { OWN_JUDGE, OWN_PROOF };

GHashTable *own_codes_new(void);
/* Has the code of this kind compiled for the target, or loaded from the database. Does nothing
 * if the target does not use that kind, or if the code was asked for already. */
void own_code_want(struct agent *agent, const struct target *target, enum own_code_kind kind);
/* Whether the code is still being compiled or loaded. agent_schedule() is called when it is
 * there or has failed. */
bool own_code_comes(const struct agent *agent, const struct target *target,
                    enum own_code_kind kind);
/* The code and its kernel key, both owned by the agent. NULL if the code is not there. */
GBytes *own_code_bytes(const struct agent *agent, const struct target *target,
                       enum own_code_kind kind, const char **key);

/* Whether any own code is still being compiled or loaded. */
bool own_codes_come(const struct agent *agent);
/* The agent stops: code that has not come by now counts as missing. */
void own_codes_stop(struct agent *agent);

/* ---- for the build children ---- */

/* Whether the code's kernel key is known. If so the next request compiles the code; if not, it
 * asks for the toolchain. */
bool own_code_has_key(const struct own_code *own);
/* Sends the next request for the first own code in the queue: for its toolchain, or to compile
 * it. "Own code" is the agent's (see above), as opposed to the kernels of jobs. The first request asks the
 * build child for its compiler's version, which is part of the kernel's key. */
void own_code_ask(struct build_child *child);
/* Take the child's answers to the two requests (toolchain, compile), and its death during
 * either. */
void own_code_version_answered(struct build_child *child, const struct frame *frame);
void own_code_compiled(struct build_child *child, const struct frame *frame);
void own_code_died(struct build_child *child, const struct child_death *death);

#endif
