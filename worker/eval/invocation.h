/*
 * A solution made ready to run: kernels found, arguments resolved to raw ones
 * once, so that launching it is only launching. The tensors' memory is given at
 * each launch, since runs rotate through copies of it.
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
    GPtrArray *slices; /* of the workspace */
    GPtrArray *kernels;
};

/*
 * programs[] holds a loaded program a launch; they, the tensors' memory and the workspace (NULL
 * when the solution needs none) outlive the invocation. Strides are taken from tensors[].
 * DEVICE_ERROR_LOAD for an entry that is not there, DEVICE_ERROR_LAUNCH for arguments that cannot
 * be.
 */
bool invocation_prepare(struct invocation *invocation, struct device *device,
                        const struct solution *solution, struct device_program *const *programs,
                        const struct tensor tensors[TENSOR_COUNT], struct device_memory *workspace,
                        GError **error);
void invocation_clear(struct invocation *invocation);

/* Enqueues all launches in order. */
bool invocation_launch(struct invocation *invocation,
                       struct device_memory *const memory[TENSOR_COUNT], GError **error);

#endif
