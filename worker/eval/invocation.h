/*
 * A solution prepared to run: its kernels are looked up and its arguments resolved once, so that a timed run does
 * nothing but launch. The tensors' memory is passed to each launch, since runs rotate through copies of it.
 */
#ifndef WORKER_INVOCATION_H
#define WORKER_INVOCATION_H

#include "solvers/framework/solution.h"
#include "worker/device/device.h"
#include "worker/verify/tensor.h"

struct invocation {
    struct device *device;
    int launch_count;
    struct invocation_launch {
        struct device_launch launch;
        struct device_arg args[LAUNCH_ARGS_MAX];
        int tensor_of
            [LAUNCH_ARGS_MAX]; /* role of the tensor whose memory goes there, -1 for none */
    } launches[SOLUTION_LAUNCHES_MAX];
    GPtrArray *slices; /* struct device_memory *: parts of the workspace that arguments point to */
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

/* Enqueues all launches in order and waits for none. */
bool invocation_launch(struct invocation *invocation,
                       struct device_memory *const memory[TENSOR_COUNT], GError **error);

#endif
