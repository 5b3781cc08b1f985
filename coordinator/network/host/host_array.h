/*
 * Arrays of the host interpreter. Elements are doubles in row-major order, whatever the tensor's type: integers up to
 * 2^53 are exact, and results are rounded to their type once, when their node is done. So each operator is written
 * once.
 */
#ifndef COORDINATOR_NETWORK_HOST_HOST_ARRAY_H
#define COORDINATOR_NETWORK_HOST_HOST_ARRAY_H

#include "coordinator/network/tensor.h"

struct host_array {
    int references;
    struct shape shape; /* packed */
    int64_t count;      /* elements */
    double *data;
};

/* A new array with the shape's type and dimensions, whose elements are not set; one reference. */
struct host_array *host_array_new(const struct shape *shape);
struct host_array *host_array_of(const struct tensor *tensor); /* which has data */
struct host_array *host_array_ref(struct host_array *array);
void host_array_unref(struct host_array *array); /* NULL is allowed */
typedef struct host_array HostArray;
G_DEFINE_AUTOPTR_CLEANUP_FUNC(HostArray, host_array_unref)

struct tensor *host_array_tensor(const struct host_array *array);
/* Rounds all elements to the type: floats to nearest even, integers to nearest even and into their range. */
void host_array_round(struct host_array *array, int threads);
/* Returns a new array with the elements that the view shows. */
struct host_array *host_array_through(const struct host_array *array, const struct view *view,
                                      int threads);
/* Fills `to` with the elements of `from` that strides and an offset reach: to[i...] = from[offset + sum i * stride]. */
void host_gather(struct host_array *to, const double *from, int64_t offset, const int64_t *strides,
                 int threads);
/* The opposite: from's elements go to to[offset + sum i * stride], each to another place. */
void host_scatter(double *to, int64_t offset, const int64_t *strides, const struct host_array *from,
                  int threads);

/* Calls work(context, i) for i from 0 to count - 1, on up to `threads` threads. */
void host_parallel(int64_t count, int threads, void (*work)(void *context, int64_t index),
                   void *context);
/* Calls work(context, first, last) for pieces [first, last) of the elements 0 to count - 1, on up to `threads` threads.
 * The cuts depend on count alone. */
void host_parallel_pieces(int64_t count, int threads,
                          void (*work)(void *context, int64_t first, int64_t last), void *context);
/* The same for rows 0 to row_count - 1 of `length` elements each: pieces are of whole rows. */
void host_parallel_rows(int64_t row_count, int64_t length, int threads,
                        void (*work)(void *context, int64_t first, int64_t last), void *context);

#endif
