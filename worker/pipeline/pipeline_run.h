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

/*
 * The same for a "pipelines" request: several pipelines that are in memory at once, run for their outputs one after the
 * other, and timed in turns. In each turn each pipeline is read as a whole and once step by step, after a run that does not
 * count; another one begins each turn. So whatever changes on the device meanwhile hits all of them, and times of the same
 * turn can be compared. There are at least 15 turns and at most 101, until "sample_seconds" of device time for each
 * pipeline are spent. A pipeline that is wrong takes no turns. If the device has no room for all at once, they are
 * run one by one as pipeline_run() does, and "no_room" says why.
 */
json_t *pipelines_run(struct device *device, struct eval_kernels *kernels, double floor_ms,
                      const json_t *request, GError **error);

#endif
