/*
 * A network's first iteration as an application meets it: all kernels loaded,
 * then all layers launched in order, once as the device's first work and once
 * more. Nothing is verified: what is run here was verified when it was tuned.
 * All layers share their memory, as activations do: one buffer for each
 * tensor's role and one workspace, as large as the largest needs, of zeros.
 */
#ifndef WORKER_COLD_RUN_H
#define WORKER_COLD_RUN_H

#include "worker/eval/eval_kernels.h"

#include <jansson.h>

struct cold_times {
    double load_seconds;   /* code objects into the device, kernels found, arguments resolved */
    double first_seconds;  /* all layers, each as often as the network runs it */
    double second_seconds; /* the same once more */
};

/* Serves a "cold" request (protocol.h). WORKER_ERROR_FRAME for what breaks the protocol,
 * WORKER_ERROR_INVALID for problems, solvers and configs that are not known here, DEVICE_ERROR_*. */
bool cold_run(struct device *device, struct eval_kernels *kernels, const json_t *request,
              struct cold_times *times, GError **error);

#endif
