/* Computes an operator other than a convolution in double precision, in plain loops: what
 * conv_reference.h is for convolutions. */
#ifndef TESTS_SUPPORT_KERNELS_OPERATOR_REFERENCE_H
#define TESTS_SUPPORT_KERNELS_OPERATOR_REFERENCE_H

#include "solvers/problem/problem.h"

/* Sets plain[TENSOR_Y] before its epilogue from plain[TENSOR_X]. magnitude[]: what an element's
 * rounding errors grow with. Returns the number of terms of the longest sum. */
int64_t operator_reference(const struct problem *p, double *const plain[TENSOR_COUNT],
                           double *magnitude);

#endif
