/*
 * MIOpen's keys and rows name an "in" and an "out" side. For F they are x and
 * y; for B and W they are y and x (FORMATS.md 3). What the two text forms
 * share about that. Internal to the room.
 */
#ifndef SOLVERS_PROBLEM_PROBLEM_SIDES_H
#define SOLVERS_PROBLEM_PROBLEM_SIDES_H

#include "solvers/problem/problem.h"
#include "solvers/problem/text_cursor.h"

struct problem_sides {
    enum tensor_role in, out; /* TENSOR_X or TENSOR_Y */
};

void problem_sides_init(struct problem_sides *sides, enum direction direction);

/* The channels (c or k) and the size (in[] or out[]) that belong to x or y. */
int64_t *problem_channels(struct problem *p, enum tensor_role role);
int64_t *problem_spatial(struct problem *p, enum tensor_role role);

/* "FP32" when the three types are one, else in, weights and out in a row. Returns buffer. */
const char *problem_types_name(const struct problem *p, char buffer[32]);
/* Its inverse; p->direction says which side is "in". NULL, or what was expected. */
const char *problem_take_types(struct text_cursor *cursor, struct problem *p);

#endif
