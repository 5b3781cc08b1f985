/* The agent's metrics and health over HTTP (deploy/metrics.md). Internal. */
#ifndef WORKER_AGENT_METRICS_H
#define WORKER_AGENT_METRICS_H

#include "worker/agent/agent_state.h"

/* Serves them where --metrics says; true also where that was not given. */
bool agent_open_monitor(struct agent *agent, GError **error);

#endif
