/*
 * A solution prepared to run: its kernels are found and its arguments resolved
 * once, so that a timed run only launches. The operands' memory is passed to each
 * launch, since runs rotate through copies of the operands. The launches that pack
 * the filter run by themselves, once for each copy.
 */
#ifndef WORKER_EVAL_INVOCATION_H
#define WORKER_EVAL_INVOCATION_H

#include "solvers/framework/solution.h"
#include "worker/device/device.h"
#include "worker/verify/tensor.h"

struct invocation {
    struct device *device;
    int launch_count;
    int pack_count; /* the first launches, which pack the filter */
    struct solution_rounding rounding;
    struct invocation_launch {
        struct device_launch launch;
        struct device_arg args[LAUNCH_ARGS_MAX];
        /* Role of the operand whose memory is the argument, -1 for an argument that is no
         * operand. */
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
                        const struct tensor tensors[OPERAND_COUNT], struct device_memory *workspace,
                        GError **error);
void invocation_clear(struct invocation *invocation);

/* Both enqueue launches in order, without waiting for them: those that pack the filter from memory[TENSOR_W] into
 * memory[TENSOR_PACKED] (none for a solution that does not pack), and those of one run. memory[]: by role, NULL for
 * operands that the problem lacks. DEVICE_ERROR_LAUNCH for a launch that wants one of these. */
bool invocation_pack(struct invocation *invocation,
                     struct device_memory *const memory[OPERAND_COUNT], GError **error);
bool invocation_launch(struct invocation *invocation,
                       struct device_memory *const memory[OPERAND_COUNT], GError **error);

#endif
