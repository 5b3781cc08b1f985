#include "solvers/problem/problem_sides.h"

#include <stdio.h>

void problem_sides_init(struct problem_sides *sides, enum direction direction)
{
    bool forward = direction == DIRECTION_F;
    sides->in = forward ? TENSOR_X : TENSOR_Y;
    sides->out = forward ? TENSOR_Y : TENSOR_X;
}

int64_t *problem_channels(struct problem *p, enum tensor_role role)
{
    return role == TENSOR_X ? &p->c : &p->k;
}

int64_t *problem_spatial(struct problem *p, enum tensor_role role)
{
    return role == TENSOR_X ? p->in : p->out;
}

static bool one_type(const struct problem *p)
{
    return p->type[TENSOR_X] == p->type[TENSOR_W] && p->type[TENSOR_X] == p->type[TENSOR_Y];
}

const char *problem_types_name(const struct problem *p, char buffer[32])
{
    struct problem_sides sides;
    problem_sides_init(&sides, p->direction);
    if (one_type(p)) {
        snprintf(buffer, 32, "%s", data_type_name(p->type[TENSOR_X]));
    } else {
        snprintf(buffer, 32, "%s%s%s", data_type_name(p->type[sides.in]),
                 data_type_name(p->type[TENSOR_W]), data_type_name(p->type[sides.out]));
    }
    return buffer;
}

/* Takes a data type's name. No type's name is the beginning of another's, so the first match is right. */
static bool take_type(struct text_cursor *cursor, enum data_type *type)
{
    for (int i = TYPE_NONE + 1; i < DATA_TYPE_COUNT; i++) {
        if (text_take_literal(cursor, data_type_name((enum data_type)i))) {
            *type = (enum data_type)i;
            return true;
        }
    }
    return false;
}

const char *problem_take_types(struct text_cursor *cursor, struct problem *p)
{
    struct problem_sides sides;
    enum data_type in, filter, out;
    problem_sides_init(&sides, p->direction);
    if (!take_type(cursor, &in)) {
        return "expected a data type";
    }
    bool three = take_type(cursor, &filter);
    if (three && !take_type(cursor, &out)) {
        return "expected the third data type (in, weights, out)";
    }
    p->type[sides.in] = in;
    p->type[TENSOR_W] = three ? filter : in;
    p->type[sides.out] = three ? out : in;
    return three == one_type(p) ? "the data types are one when all three are equal, else three"
                                : NULL;
}
