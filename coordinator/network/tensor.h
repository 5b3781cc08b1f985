/*
 * A tensor on the host: a packed shape and its bytes, little-endian. Immutable once shared, reference-counted. A
 * tensor without data has a known shape and unknown contents: weights that a file left out.
 */
#ifndef COORDINATOR_NETWORK_TENSOR_H
#define COORDINATOR_NETWORK_TENSOR_H

#include "coordinator/network/view.h"

struct tensor {
    int references;
    struct shape shape; /* packed */
    GBytes *data;       /* shape_bytes(&shape) bytes, or NULL: contents unknown */
};

/* Takes a reference of data (may be NULL). NETWORK_ERROR_INVALID if its size is not shape_bytes(). */
struct tensor *tensor_new(const struct shape *shape, GBytes *data, GError **error);
/* Takes over `data`, made by g_malloc(), of shape_bytes(shape) bytes. The shape's strides are ignored: data is packed. */
struct tensor *tensor_take(const struct shape *shape, void *data);
struct tensor *tensor_new_int64s(const int64_t *values, int count); /* rank 1 */
struct tensor *tensor_new_int64(int64_t value);                     /* rank 0 */
struct tensor *tensor_new_float32s(const float *values, int count); /* rank 1 */
struct tensor *tensor_ref(struct tensor *tensor);                   /* NULL stays NULL */
void tensor_unref(struct tensor *tensor);                           /* NULL is allowed */
typedef struct tensor Tensor;                                       /* for g_autoptr(Tensor) */
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Tensor, tensor_unref)

bool tensor_has_data(const struct tensor *tensor); /* false for NULL too */
const void *tensor_data(const struct tensor *tensor);
/* Element `index` of a tensor with data, in row-major order; floats to int64_t are truncated, and saturate. */
int64_t tensor_int64(const struct tensor *tensor, int64_t index);
double tensor_double(const struct tensor *tensor, int64_t index);
/* The same shape and bytes; two without data are equal if their shapes are. NULLs are equal. */
bool tensor_equal(const struct tensor *a, const struct tensor *b);

/* Elements read and written by type; `index` counts elements. A double becomes the nearest float of the type, ties to
 * even, beyond its range infinity (the largest number for float8 types), or the integer that it is without its fraction,
 * saturated, NaN as 0. An int64_t becomes a smaller integer by dropping upper bits. A bool is value != 0. */
double element_read(const void *data, enum element_type type, int64_t index);
int64_t element_read_int64(const void *data, enum element_type type, int64_t index);
void element_write(void *data, enum element_type type, int64_t index, double value);
void element_write_int64(void *data, enum element_type type, int64_t index, int64_t value);

/* The tensor that `view` shows of `base`, as a packed tensor of its own; without data if base has none. */
struct tensor *tensor_through_view(const struct tensor *base, const struct view *view);

#endif
