/*
 * A problem in short readable form, for tables: "F 64x56x56 k64 3x3 s2 p1 n64 FP16 NHWC +relu",
 * "pool(max) 64x112x112 3x3 s2 p1 n1". Fields with their usual value (stride 1, no padding, one
 * group, FP32, NCHW, packed tensors) are left out; the canonical key stays the identity.
 */
#ifndef COORDINATOR_PLAN_PROBLEM_TEXT_H
#define COORDINATOR_PLAN_PROBLEM_TEXT_H

#include "solvers/problem/problem.h"

/* Returns the problem's text: direction or operator, input as CxHxW, output channels, filter, stride,
 * padding, dilation, an output of another size than the formula's, groups, batch size, types, layouts,
 * strides of tensors that are not packed, epilogue. Free with g_free(). */
char *problem_text(const struct problem *p);

#endif
