/*
 * The reference of a single output element, in the plainest loops. It shares no code with reference.h's fast
 * computation, so each checks the other; the judge (judge.h) checks the device's reference with it.
 */
#ifndef WORKER_VERIFY_REFERENCE_ELEMENT_H
#define WORKER_VERIFY_REFERENCE_ELEMENT_H

#include "solvers/problem/problem.h"

/* The inputs of the operator, without its epilogue's. input() returns the element of an input tensor with that logical
 * index. */
struct reference_inputs {
    double (*input)(const void *data, enum tensor_role role, int64_t index);
    const void *data;
};

/* The output's element at a logical index, and its magnitude (reference_kinds.h): for a convolution the sum of
 * |x||w|. */
void reference_element(const struct problem *p, const struct reference_inputs *inputs,
                       int64_t index, double *value, double *magnitude);

#endif
