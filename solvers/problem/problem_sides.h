/*
 * MIOpen's keys and rows have an "in" side and an "out" side: x and y for F, y and x for B and W (FORMATS.md).
 * These functions are shared by both text forms and internal to this folder.
 */
#ifndef SOLVERS_PROBLEM_PROBLEM_SIDES_H
#define SOLVERS_PROBLEM_PROBLEM_SIDES_H

#include "solvers/problem/problem.h"
#include "solvers/problem/text_cursor.h"

struct problem_sides {
    enum tensor_role in, out; /* the tensor on each side: TENSOR_X or TENSOR_Y */
};

void problem_sides_init(struct problem_sides *sides, enum direction direction);

/* problem_channels(): the problem's field with the channels of x (c) or y (k). problem_spatial(): the field with the
 * size of x (in[]) or y (out[]). */
int64_t *problem_channels(struct problem *p, enum tensor_role role);
int64_t *problem_spatial(struct problem *p, enum tensor_role role);

/* Writes "FP32" where the three types are equal, else in, weights and out without separators. Returns buffer. */
const char *problem_types_name(const struct problem *p, char buffer[32]);
/* The inverse of problem_types_name(): p->direction says which tensor "in" is. Returns NULL, or what was expected
 * instead. */
const char *problem_take_types(struct text_cursor *cursor, struct problem *p);

#endif
