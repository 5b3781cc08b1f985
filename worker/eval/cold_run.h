/*
 * A network's first iteration as an application meets it: load all kernels, launch all layers in order as the
 * device's first work, and launch them once more. Results are not verified here; they were when the layers were
 * tuned. All layers share their memory, as activations do: one buffer for each operand's role and one workspace,
 * each as large as the largest layer needs, filled with zeros. A packed filter is a layer's own.
 */
#ifndef WORKER_EVAL_COLD_RUN_H
#define WORKER_EVAL_COLD_RUN_H

#include "worker/eval/eval_kernels.h"

#include <jansson.h>

struct cold_times {
    /* Loading code objects into the device, finding kernels, resolving arguments. */
    double load_seconds;
    double
        pack_seconds; /* packing each layer's filter once, where its solution wants that; else 0 */
    double first_seconds;  /* running all layers, each as often as the network runs it */
    double second_seconds; /* running all layers once more */
};

/* Serves a "cold" request (protocol.h). WORKER_ERROR_FRAME for a request that breaks the protocol,
 * WORKER_ERROR_INVALID for an unknown problem, solver or config, DEVICE_ERROR_* from the device. */
bool cold_run(struct device *device, struct eval_kernels *kernels, const json_t *request,
              struct cold_times *times, GError **error);

#endif
