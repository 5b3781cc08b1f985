/*
 * Solvers whose kernels have instructions of a GPU's matrix units, run without one: their kernels with the
 * option MATRIX_EMULATED put OpenCL C in the instructions' place (kernels/device/matrix_nvidia/matrix_nvidia.h).
 */
#ifndef TESTS_SUPPORT_EMULATED_SOLVER_H
#define TESTS_SUPPORT_EMULATED_SOLVER_H

#include "solvers/framework/solver.h"

/* The solver of that name, static, its launches with the option and, where they have dynamic local memory,
 * EMULATED_LOCAL_BYTES more of it for each item. One at a time. */
#define EMULATED_LOCAL_BYTES 32
const struct solver *emulated_solver(const char *name);

#endif
