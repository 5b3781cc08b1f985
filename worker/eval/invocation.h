/*
 * A solution prepared to run: its kernels are found and its arguments resolved
 * once, so that a timed run only launches. The tensors' memory is passed to each
 * launch, since runs rotate through copies of the tensors.
 */
#ifndef WORKER_EVAL_INVOCATION_H
#define WORKER_EVAL_INVOCATION_H

#include "solvers/framework/solution.h"
#include "worker/device/device.h"
#include "worker/verify/tensor.h"

struct invocation {
    struct device *device;
    int launch_count;
    struct invocation_launch {
        struct device_launch launch;
        struct device_arg args[LAUNCH_ARGS_MAX];
        /* Role of the tensor whose memory is the argument, -1 for an argument that is no tensor. */
        int tensor_of[LAUNCH_ARGS_MAX];
    } launches[SOLUTION_LAUNCHES_MAX];
    GPtrArray *slices; /* struct device_memory *: slices of the workspace that are arguments */
    GPtrArray *kernels;
};

/*
 * programs[]: one loaded program a launch. tensors[] gives the strides. workspace: NULL for a solution that needs
 * none. Programs and workspace must outlive the invocation. DEVICE_ERROR_LOAD if a program lacks its entry,
 * DEVICE_ERROR_LAUNCH if an argument points outside of the workspace.
 */
bool invocation_prepare(struct invocation *invocation, struct device *device,
                        const struct solution *solution, struct device_program *const *programs,
                        const struct tensor tensors[TENSOR_COUNT], struct device_memory *workspace,
                        GError **error);
void invocation_clear(struct invocation *invocation);

/* Enqueues all launches of one run in order, without waiting for them. */
bool invocation_launch(struct invocation *invocation,
                       struct device_memory *const memory[TENSOR_COUNT], GError **error);

#endif
