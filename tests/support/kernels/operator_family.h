/* Tests of one solver of an operator other than a convolution: random problems in all layouts,
 * types, strides and epilogues that it serves, run and compared with plain loops in double
 * precision. */
#ifndef TESTS_SUPPORT_KERNELS_OPERATOR_FAMILY_H
#define TESTS_SUPPORT_KERNELS_OPERATOR_FAMILY_H

#include "solvers/framework/solver.h"
#include "tests/support/kernels/conv_shapes.h"

/* Makes a random valid problem of the kind: any of the types, layouts and strides that there are
 * kernels for, and with `epilogue` an epilogue whose second tensor may lie in any way. */
void operator_random_problem(GRand *random, enum op_kind kind, bool epilogue, struct problem *p);

/* Adds the solver's tests; the arguments must outlive them. */
void operator_family_add(const struct solver *solver, struct solution_runner *runner,
                         const struct context contexts[CONTEXT_COUNT]);

#endif
