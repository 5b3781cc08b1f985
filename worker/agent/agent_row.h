/*
 * The agent's row among the workers: entered, kept alive by heartbeats, compared with the others', and signed off.
 * Each function puts a call on a lane; its end moves the agent, or has its scheduler run. Internal.
 */
#ifndef WORKER_AGENT_ROW_H
#define WORKER_AGENT_ROW_H

#include "worker/agent/agent_state.h"

/* Enters this worker, and gives back what dead workers of this node held. */
void agent_register(struct agent *agent);
/* Has the database wake this worker from now on. */
void agent_listen(struct agent *agent);
/* Stores anew what the devices are; later calls about them come after this one. */
void agent_list_devices(struct agent *agent);
void agent_sign_off(struct agent *agent);

/* Renews the leases; a timer's callback. A worker that holds nothing beats more seldom. */
void agent_beat_due(uv_timer_t *timer);
/* Now, or when it is due next where the lane is busy. */
void agent_beat_soon(struct agent *agent);

/* Logs why campaigns do not admit this worker, each reason once. */
void agent_ask_refusals(struct agent *agent);
/* Stops an idle agent unless another worker holds jobs, which may still come back. */
void agent_ask_others(struct agent *agent);

#endif
