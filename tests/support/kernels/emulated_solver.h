/* Runs solvers whose kernels use the instructions of a GPU's matrix units without that GPU:
 * compiled with the option MATRIX_EMULATED, the kernels have OpenCL C code in place of these
 * instructions (kernels/device/matrix_nvidia/matrix_nvidia.h). */
#ifndef TESTS_SUPPORT_KERNELS_EMULATED_SOLVER_H
#define TESTS_SUPPORT_KERNELS_EMULATED_SOLVER_H

#include "solvers/framework/solver.h"

/* A static copy of the solver of that name, whose launches have the option MATRIX_EMULATED and,
 * where they use dynamic local memory, EMULATED_LOCAL_BYTES more of it for each work-item. The next
 * call overwrites it. */
#define EMULATED_LOCAL_BYTES 32
const struct solver *emulated_solver(const char *name);

#endif
