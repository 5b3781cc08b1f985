/* The agent's metrics and health over HTTP (deploy/metrics.md). Internal. */
#ifndef WORKER_AGENT_AGENT_METRICS_H
#define WORKER_AGENT_AGENT_METRICS_H

#include "worker/agent/agent_state.h"

/* Serves metrics and health at the address of --metrics. Returns true also if no address was
 * given. */
bool agent_open_monitor(struct agent *agent, GError **error);

#endif
