/*
 * The right result of a problem, computed on the host; every config's result is compared with it. Sums are kept in
 * double, which holds integer problems exactly: an INT8 product is at most 2^14, so 2^39 of them fit into 53 bits.
 * Each element comes with its magnitude, the sum of |x||w|. Rounding errors grow with the magnitude, not with the
 * result, in which products may cancel. Where the problem has an epilogue, each element also comes with the epilogue's
 * effect on the sum's error, and with the error of the epilogue's own steps (epilogue_bound.h).
 */
#ifndef WORKER_VERIFY_REFERENCE_H
#define WORKER_VERIFY_REFERENCE_H

#include "solvers/problem/problem.h"

struct reference {
    enum tensor_role role; /* the tensor that the direction writes */
    int64_t count;         /* number of the output's logical elements */
    /* Dense (tensor.h), with the epilogue done, not rounded to the output's type; types that saturate: within their range.
     * NaN also where an epilogue's square root of a negative number is the right result. */
    double *value;
    float *magnitude; /* each element's sum of |x||w|; NaN for an element that was not computed */
    /* The error E of the sum is gain * E + slack in the result; both NULL for a problem without epilogue, whose gain
     * is 1 and slack 0. */
    float *gain, *slack;
    double largest; /* the largest magnitude of a computed element */
    double share; /* of the elements, those that were computed: 1 unless the reference is partial */
    double length; /* number of products in the longest sum */
    int uses;      /* number of owners; reference_unref() ends the use of one */
};

/* False and WORKER_ERROR_INVALID for a problem whose kind has no reference (reference_kinds.h), with an unsupported data
 * type or a tensor whose elements overlap. Inputs that are cast are rounded before they are multiplied. A bias in the
 * problem's key is allowed: a separate kernel adds it. */
bool reference_supports(const struct problem *p, GError **error);

/* The number of products in the longest sum of the problem. */
double reference_length(const struct problem *p);

/*
 * Computes the output of the problem from its dense operands, on `threads` threads; dense[] of the output's role is
 * not read. A convolution of more than work_limit multiply-accumulates (0: no limit) is computed in part, about
 * work_limit of them, so that every tile and every edge has elements (reference_columns.h); all other elements are NaN.
 * NULL with an error if reference_supports() is false. The
 * caller owns one use.
 */
struct reference *reference_compute(const struct problem *p,
                                    const double *const dense[OPERAND_COUNT], int threads,
                                    double work_limit, GError **error);
void reference_unref(struct reference *reference);
/* Bytes of host memory that the reference takes. */
int64_t reference_bytes(const struct reference *reference);

/* References kept by problem and seed, up to a limit of bytes. The least recently used one is
 * freed first; the newest one stays whatever its size. For one thread. */
struct reference_cache;
struct reference_cache *reference_cache_new(int64_t bytes_limit);
void reference_cache_free(struct reference_cache *cache);
/* Finds a reference; the caller owns one use of it. NULL if the cache has none for this problem
 * and seed. */
struct reference *reference_cache_find(struct reference_cache *cache, const struct problem *p,
                                       uint64_t seed);
/* Adds a reference; the cache takes a use of its own. */
void reference_cache_add(struct reference_cache *cache, const struct problem *p, uint64_t seed,
                         struct reference *reference);

#endif
