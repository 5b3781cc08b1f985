/*
 * A whole network on a device: all steps in order, convolutions and what is between them, in one arena. The network is
 * run once for its outputs, with all that it does not write poisoned, then timed as a whole by measure.h, and
 * once more step by step.
 */
#ifndef WORKER_PIPELINE_PIPELINE_RUN_H
#define WORKER_PIPELINE_PIPELINE_RUN_H

#include <jansson.h>

#include "worker/eval/eval_kernels.h"

/*
 * Serves a "pipeline" request (protocol.h) and returns the answer, a new reference; floor_ms: the timer's floor. NULL
 * with WORKER_ERROR_FRAME for a request that breaks the protocol, WORKER_ERROR_INVALID for a plan, solver or config
 * that cannot be used, or a file of inputs of another size, DEVICE_ERROR_* from the device.
 */
json_t *pipeline_run(struct device *device, struct eval_kernels *kernels, double floor_ms,
                     const json_t *request, GError **error);

#endif
