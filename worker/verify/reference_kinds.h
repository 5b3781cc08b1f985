/*
 * How the host computes each kind of operator for reference.h. A kind computes the operator alone, without its
 * epilogue, from dense operands (tensor.h); reference.c does the epilogue and rounds nothing.
 *
 * To add a kind, write its file reference_KIND.c with a struct reference_kind, and its row in the table of
 * reference.c.
 */
#ifndef WORKER_VERIFY_REFERENCE_KINDS_H
#define WORKER_VERIFY_REFERENCE_KINDS_H

#include "worker/verify/reference.h"

struct reference_kind {
    /* The number of terms in the longest sum, by which the tolerance grows (tolerance.h); 1 for an operator that
     * adds nothing up. */
    double (*length)(const struct problem *p);
    /*
     * Sets value and magnitude of the output's elements, on `threads` threads. The arrays are allocated and full of
     * NaN, which stays for elements that are not computed. work_limit: about how many multiply-accumulates (or other
     * terms) may be computed, 0 for all; an operator without long sums computes everything. An element's magnitude
     * is the sum of its terms' absolute values; a right kernel's result is off by at most
     * min(length + 2, 16) * 2^-24 * magnitude.
     */
    void (*compute)(const struct problem *p, const double *const dense[OPERAND_COUNT], int threads,
                    double work_limit, struct reference *out);
};

extern const struct reference_kind reference_conv, reference_pool, reference_pointwise,
    reference_softmax, reference_resize, reference_lrn;

/* The numbers of an LRN's mode; results are x / (bias + alpha / size * the sum of `size` squares)^beta. */
struct lrn_mode {
    double size, alpha, beta, bias;
};
struct lrn_mode lrn_mode_of(const struct problem *p);

/* The range to which an operator other than a convolution keeps its results: that of an integer type that no epilogue
 * follows, else all numbers. */
void reference_range(const struct problem *p, double *least, double *most);

#endif
