/*
 * Tensors of a convolution with numbers to try, and whether what a device made of them is right. Part of
 * run_convolution.
 */
#ifndef RUN_CHECK_H
#define RUN_CHECK_H

#include <skipjackdb.h>

#define TENSORS 3

/* Prints "run_convolution: " and the message, and exits with 1. */
_Noreturn void fail(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Returns zeroed memory; exits without memory. */
void *allocate(size_t count, size_t size);

/* A packed tensor in memory. */
struct tensor {
    int32_t type;                  /* enum skipjackdb_type */
    int64_t sizes[5];              /* N C D H W, of the filter K C D H W */
    int64_t strides[5], *channels; /* strides in elements; offset of each channel */
    size_t bytes;
    void *stored;
};
void tensor_init(struct tensor *tensor, const struct skipjackdb_problem *problem, int32_t which);
/* Fills the tensor with integers from -2 to 2, the same ones each time. Padding channels of blocked
 * layouts are 0. */
void tensor_fill(struct tensor *tensor, uint64_t seed);
void tensor_clear(struct tensor *tensor);

/* The tensor that the problem's direction computes. */
int32_t output_of(const struct skipjackdb_problem *problem);
/* Computes the output from the other two tensors, in the plainest way, and compares it with what is stored
 * in it: the largest error over what is allowed. It is right up to 1. */
double output_error(const struct skipjackdb_problem *problem, const struct tensor *tensors,
                    const char *algorithm);

#endif
