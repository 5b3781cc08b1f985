/*
 * The agent's row in the database's table of workers: registration, heartbeats,
 * sign-off, and questions about other workers' jobs. Each function queues a call
 * on a lane (lane.h). When the call has ended, the agent's state machine moves, or
 * its scheduler runs. Internal.
 */
#ifndef WORKER_AGENT_AGENT_ROW_H
#define WORKER_AGENT_AGENT_ROW_H

#include "worker/agent/agent_state.h"

/* Enters this worker's row, and returns jobs that dead workers of this node held to the queue. */
void agent_register(struct agent *agent);
/* Has the database notify this worker of claimable jobs from now on. */
void agent_listen(struct agent *agent);
/* Stores again the list of this worker's devices with their targets and identities. Calls about
 * a device that are made later also run later. */
void agent_list_devices(struct agent *agent);
void agent_sign_off(struct agent *agent);

/* A timer's callback: sends a heartbeat, which renews the leases of this worker's jobs. A worker
 * that holds no job sends fewer. */
void agent_beat_due(uv_timer_t *timer);
/* Sends a heartbeat now; if the control lane is busy, the next regular heartbeat does. */
void agent_beat_soon(struct agent *agent);

/* Logs why campaigns do not admit this worker, each reason once. */
void agent_ask_refusals(struct agent *agent);
/* For --until-empty: stops the idle agent, unless another worker holds jobs that may still
 * return to the queue. */
void agent_ask_others(struct agent *agent);

#endif
