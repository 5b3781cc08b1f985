/*
 * A shape is what a tensor looks like in memory: the type of its elements, its dimensions, and for each axis the
 * stride, in elements, from one index to the next. Axis 0 is the outermost. A stride of 0 repeats the same elements
 * (a broadcast axis). Strides are never negative, and a shape has no offset.
 *
 * Invariants of a known shape: rank <= SHAPE_MAX_RANK; dimensions >= 0; the number of elements, the bytes and the
 * place of the last element all fit in int64_t. Axes of size 1 have the stride that a packed tensor would have
 * there; shape_normalize() restores this, and all functions here keep it, so equal shapes are equal field by field.
 */
#ifndef COORDINATOR_NETWORK_SHAPE_H
#define COORDINATOR_NETWORK_SHAPE_H

#include "coordinator/network/network_error.h"
#include "solvers/problem/problem.h"

#include <stdbool.h>
#include <stdint.h>

#define SHAPE_MAX_RANK 8

enum element_type {
    ELEMENT_NONE, /* not known */
    ELEMENT_FLOAT64,
    ELEMENT_FLOAT32,
    ELEMENT_FLOAT16,
    ELEMENT_BFLOAT16,
    ELEMENT_FLOAT8_E4M3,
    ELEMENT_FLOAT8_E5M2,
    ELEMENT_INT64,
    ELEMENT_INT32,
    ELEMENT_INT16,
    ELEMENT_INT8,
    ELEMENT_UINT64,
    ELEMENT_UINT32,
    ELEMENT_UINT16,
    ELEMENT_UINT8,
    ELEMENT_BOOL,
};
#define ELEMENT_TYPE_COUNT (ELEMENT_BOOL + 1)

struct shape {
    enum element_type type; /* ELEMENT_NONE: nothing about the shape is known */
    int rank;
    int64_t dim[SHAPE_MAX_RANK];
    int64_t stride[SHAPE_MAX_RANK]; /* elements; entries from rank on are 0, as in dim */
};

/* ---- Types of elements. */

const char *element_type_name(enum element_type type); /* "float32"; "none" for ELEMENT_NONE */
bool element_type_parse(const char *name, enum element_type *type);
int element_type_bytes(enum element_type type); /* 0 for ELEMENT_NONE */
bool element_type_is_float(enum element_type type);
bool element_type_is_signed(enum element_type type); /* true for floats and signed integers */
/* Returns true if every value of `from` is a value of `to`, so that a cast from `from` to `to` loses nothing. */
bool element_type_holds(enum element_type to, enum element_type from);
/* The type that solvers know this one by. Returns false for types that enum data_type lacks (int64, uint8, bool, …). */
bool element_type_to_data_type(enum element_type type, enum data_type *data_type);
enum element_type element_type_of_data_type(enum data_type type); /* ELEMENT_NONE for TYPE_NONE */

/* ---- Shapes. */

/* Sets a packed shape: row-major, without gaps. NETWORK_ERROR_INVALID names a rank over SHAPE_MAX_RANK, a negative
 * dimension, or a size beyond int64_t; *shape is then unknown. */
bool shape_set_packed(struct shape *shape, enum element_type type, int rank, const int64_t *dims,
                      GError **error);
/* Sets a shape with given strides. NETWORK_ERROR_INVALID as shape_set_packed(), and for negative strides. */
bool shape_set_strided(struct shape *shape, enum element_type type, int rank, const int64_t *dims,
                       const int64_t *strides, GError **error);
/* Sets a shape whose memory order is `order`: order[0] is the outermost axis in memory, order[rank-1] the
 * innermost. NHWC of logical N C H W is {0, 2, 3, 1}. `order` must be a permutation. */
bool shape_set_ordered(struct shape *shape, enum element_type type, int rank, const int64_t *dims,
                       const int *order, GError **error);
void shape_set_unknown(struct shape *shape);
/* Gives axes of size 1 the stride that they have in a packed tensor, and clears the entries from rank on. */
void shape_normalize(struct shape *shape);

bool shape_is_known(const struct shape *shape);
bool shape_equal(const struct shape *a, const struct shape *b); /* type, dimensions and strides */
bool shape_same_dims(const struct shape *a, const struct shape *b); /* rank and dimensions alone */
bool shape_is_packed(const struct shape *shape);                    /* row-major without gaps */
/* Elements fill one block of memory without gaps and without repetition, in any order of axes. */
bool shape_is_dense(const struct shape *shape);
bool shape_is_broadcast(const struct shape *shape); /* an axis longer than 1 has stride 0 */
/* The order of axes in memory, outermost first, as shape_set_ordered() takes it; axes of equal stride keep their
 * logical order. */
void shape_order(const struct shape *shape, int order[SHAPE_MAX_RANK]);

int64_t shape_elements(
    const struct shape *shape); /* 1 for rank 0, 0 if a dimension is 0 or the shape unknown */
int64_t shape_bytes(const struct shape *shape); /* elements x bytes of an element */
/* Elements from the first to the last one in memory, both included: what must be allocated. 0 if empty. */
int64_t shape_span(const struct shape *shape);

/* Sets a shape with the dimensions and strides of `like` and this type. */
void shape_set_like(struct shape *shape, enum element_type type, const struct shape *like);
/* Sets the packed shape, or the one with the memory order of `like` if `like` is dense and has the same dimensions:
 * what an elementwise operator writes. */
bool shape_set_following(struct shape *shape, enum element_type type, int rank, const int64_t *dims,
                         const struct shape *like, GError **error);
/* Sets dims to the common dimensions of two shapes by the rule of NumPy and ONNX: aligned at the last axis, equal or
 * 1. NETWORK_ERROR_INVALID shows both shapes. */
bool shape_broadcast_dims(const struct shape *a, const struct shape *b, int *rank,
                          int64_t dims[SHAPE_MAX_RANK], GError **error);

/* "float32[2,3,4]", with "{1,2,6}" behind it where strides are not packed, "?" for an unknown shape. Free with
 * g_free(). */
char *shape_text(const struct shape *shape);

#endif
