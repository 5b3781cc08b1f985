/*
 * The operands of a convolution, filled with small integers, and a check of the tensor that a device
 * computed. Part of the example run_convolution.
 */
#ifndef RUN_CHECK_H
#define RUN_CHECK_H

#include <skipjackdb.h>

/* x, w, y, residual, bias, scales: numbers of enum skipjackdb_tensor */
#define TENSORS SKIPJACKDB_TENSOR_PACKED

/* Prints "run_convolution: " and the message, and exits with 1. */
_Noreturn void fail(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Fails with what was wanted and the code's text unless the code is SKIPJACKDB_OK. */
void want(int code, const char *what);
/* Returns zeroed memory; exits with an error if no memory is left. */
void *allocate(size_t count, size_t size);

/* A tensor in memory. An operand that the problem lacks has 0 bytes. */
struct tensor {
    int32_t type;     /* enum skipjackdb_type */
    int64_t sizes[5]; /* sizes in the order N C D H W, of the filter K C D H W */
    /* strides in elements in the same order; for each channel its offset, which blocked layouts
     * need */
    int64_t strides[5], *channels;
    size_t bytes;
    void *stored;
};
void tensor_init(struct tensor *tensor, const struct skipjackdb_problem *problem, int32_t which);
/* Fills the tensor with integers from -2 to 2, the same ones for the same seed; without zeros if it
 * is a divisor. Memory between its elements becomes 0. */
void tensor_fill(struct tensor *tensor, uint64_t seed, int is_divisor);
/* Returns 1 if a step of the problem's epilogue divides by the operand. */
int is_divisor(const struct skipjackdb_problem *problem, int32_t which);
void tensor_clear(struct tensor *tensor);

/* Returns which tensor the problem's direction computes: x, w or y. */
int32_t output_of(const struct skipjackdb_problem *problem);

/* The convolution of the stored operands, computed here with plain loops. */
struct reference;
/* Computes it. The reference reads the problem and the tensors until it is freed. */
struct reference *reference_new(const struct skipjackdb_problem *problem,
                                const struct tensor *tensors);
/* Compares the output that is stored now with the reference, epilogue and all, and returns the largest error divided by
 * the allowed error. Up to 1 the output is right. `algorithm`: the algorithm's name, or that of the solver where no
 * algorithm is known. */
double reference_error(const struct reference *reference, const char *algorithm);
void reference_free(struct reference *reference); /* NULL is allowed */

#endif
