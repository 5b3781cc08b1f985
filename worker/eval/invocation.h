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
    int pack_count; /* the first launches pack the filter (solution.h) */
    struct invocation_launch {
        struct device_launch launch;
        struct device_arg args[LAUNCH_ARGS_MAX];
        /* Role of the operand whose memory is the argument, -1 for any other argument. */
        int tensor_of[LAUNCH_ARGS_MAX];
    } launches[SOLUTION_LAUNCHES_MAX];
    GPtrArray *slices; /* struct device_memory *: slices of the workspace that are arguments */
    GPtrArray *kernels;
};

/*
 * programs[]: one loaded program a launch. tensors: by role, gives the strides of those that the solution asks for.
 * workspace: NULL for a solution that needs
 * none. Programs and workspace must outlive the invocation. DEVICE_ERROR_LOAD if a program lacks its entry,
 * DEVICE_ERROR_LAUNCH if an argument points outside of the workspace.
 */
bool invocation_prepare(struct invocation *invocation, struct device *device,
                        const struct solution *solution, struct device_program *const *programs,
                        const struct tensor *tensors, struct device_memory *workspace,
                        GError **error);
void invocation_clear(struct invocation *invocation);

/* Both enqueue launches in order, without waiting for them: those that pack the filter, and those of one run. memory:
 * by role, for each operand that the solution's arguments name. */
bool invocation_pack(struct invocation *invocation, struct device_memory *const *memory,
                     GError **error);
bool invocation_launch(struct invocation *invocation, struct device_memory *const *memory,
                       GError **error);

#endif
