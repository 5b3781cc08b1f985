/*
 * A tensor in host memory as a problem describes it: logical axes in the order N C D H W (K C D H W for filters),
 * a stride in elements for each, packed or with gaps. The same tensor as packed doubles in logical order, whatever
 * its layout and type, is called dense: references are computed on dense tensors. Doubles hold every value of the
 * stored types exactly.
 */
#ifndef WORKER_VERIFY_TENSOR_H
#define WORKER_VERIFY_TENSOR_H

#include "solvers/problem/problem.h"

#define TENSOR_AXES 5

struct tensor {
    enum data_type type;
    /* Channels in a block, which is the innermost axis, for layouts with blocked channels; else
     * 1. */
    int block;
    int64_t extent[TENSOR_AXES];
    /* Elements between neighbours on each axis; with block > 1 stride[1] is from one block of
     * channels to the next. 0: the axis repeats the same elements, or has only one. */
    int64_t stride[TENSOR_AXES];
};

/* Makes the problem's operand of that role, with the problem's strides. An operand that the problem lacks has
 * no elements (tensor_exists()). */
void tensor_init(struct tensor *tensor, const struct problem *p, enum tensor_role role);
bool tensor_exists(const struct tensor *tensor);
/* Replaces the strides. They must be positive and keep elements apart; neither is checked. */
void tensor_set_strides(struct tensor *tensor, const int64_t stride[TENSOR_AXES]);

int64_t tensor_count(const struct tensor *tensor); /* The number of logical elements. */
/* The number of places from the first element to the last, gaps and padding included. */
int64_t tensor_elements(const struct tensor *tensor);
int64_t tensor_bytes(const struct tensor *tensor); /* tensor_elements() in bytes */
/* Whether the tensor has no gaps. Padding of blocked layouts is no gap. */
bool tensor_is_packed(const struct tensor *tensor);
/* Returns whether two elements share a place although no axis has stride 0. */
bool tensor_overlaps(const struct tensor *tensor);

/* The tensor with one element on each axis that repeats the same elements: all its elements are distinct. */
void tensor_without_repeats(const struct tensor *tensor, struct tensor *distinct);
/* The logical index, in tensor_without_repeats(), of the element with this logical index. */
int64_t tensor_distinct_index(const struct tensor *tensor, int64_t index);

/* Visits the logical elements in order. `offset` is the place of the current one. */
struct tensor_walk {
    const struct tensor *tensor;
    int64_t at[TENSOR_AXES];
    int64_t offset; /* elements */
};
void tensor_walk_init(struct tensor_walk *walk, const struct tensor *tensor);
void tensor_walk_next(struct tensor_walk *walk);
/* Moves to the element with this logical index. */
void tensor_walk_seek(struct tensor_walk *walk, int64_t index);

double tensor_load(enum data_type type, const void *data, int64_t offset);
/* Stores a value, rounded to the tensor's type, at an offset in elements. */
void tensor_store(enum data_type type, void *data, int64_t offset, double value);
/* The value within the range of a type that saturates: integers, FP8 and BF8; other floating types keep it. */
double tensor_clamp(enum data_type type, double value);
/* The value after rounding to the type: to nearest, ties to even. Integers, FP8 and BF8 keep to their range. TYPE_NONE:
 * the value. */
double tensor_round(enum data_type type, double value);

/* Convert between dense doubles and stored elements. Gaps and padding of `data` stay unchanged. */
void tensor_from_dense(const struct tensor *tensor, const double *dense, void *data);
void tensor_to_dense(const struct tensor *tensor, const void *data, double *dense);

/* Whether tensor_load() and the references know the type: all but TYPE_NONE. */
bool tensor_type_supported(enum data_type type);

/*
 * Convert IEEE half ("FP16") and bfloat16 ("BF16") as they are stored. Conversions
 * round to nearest, ties to even; infinities and NaNs stay what they are.
 */
uint16_t half_from_float(float value); /* 65520 and larger values become infinite */
float half_to_float(uint16_t stored);
uint16_t bfloat16_from_float(float value);
float bfloat16_to_float(uint16_t stored);

#endif
