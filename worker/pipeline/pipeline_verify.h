/*
 * Whether a step of a network is right where it runs: it is launched with what the steps before it wrote, and its output
 * is compared with the reference of its problem for just these operands (verify/reference.h), with the problem's own
 * tolerance. Errors of earlier steps are in both, so no step is blamed for another's rounding.
 */
#ifndef WORKER_PIPELINE_PIPELINE_VERIFY_H
#define WORKER_PIPELINE_PIPELINE_VERIFY_H

#include "solvers/framework/solution.h"
#include "worker/device/device.h"
#include "worker/verify/verify.h"

/* A step that can be launched once. */
struct verifiable {
    struct device *device;
    const struct problem *problem;
    const struct solution_rounding *rounding; /* of the step's solution */
    const struct tensor *tensors;             /* by role */
    struct device_memory *const *memory;      /* by role */
    bool is_in_place; /* the output shares memory with an operand that is read */
    bool (*launch)(void *data, GError **error);
    void *data;
};

/* Launches the step once, and sets the verdict. A long convolution is compared in part, as in tuning; of a large forward step
 * of more than four images, each of several pixels, the first, the last and two between are compared, and the others must
 * be written. False with an error
 * of the device, or WORKER_ERROR_INVALID for a problem without a reference. */
bool pipeline_verify_step(const struct verifiable *step, struct verdict *verdict, GError **error);

#endif
