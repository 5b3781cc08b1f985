/*
 * The right answer, computed on the host: what every config's result is
 * compared with. Sums are in double, which holds the integer problems exactly
 * (an INT8 product is below 2^14, so 2^39 of them fit into 53 bits). Beside each
 * element stands its magnitude, the sum of |x||w|: rounding errors are
 * proportional to it and not to the result, which may cancel.
 */
#ifndef WORKER_REFERENCE_H
#define WORKER_REFERENCE_H

#include "solvers/problem/problem.h"

struct reference {
    enum tensor_role role; /* the tensor that the direction writes */
    int64_t count;         /* its logical elements */
    double *value;         /* in logical order (tensor.h's dense); NaN where it was not computed */
    float *magnitude;      /* likewise */
    double largest;        /* of all magnitudes */
    double length;         /* products in the longest sum */
    int uses;              /* references held: reference_ref(), reference_unref() */
};

/* False and WORKER_ERROR_INVALID for an epilogue, a cast or a data type that it does not know. A
 * key's bias is no matter: another kernel adds it. */
bool reference_supports(const struct problem *p, GError **error);

double reference_length(const struct problem *p); /* products in the longest sum */

/*
 * Computes the output of p's direction from the two inputs, dense and in logical order; dense[] of
 * the output's role is not read. On `threads` threads. A problem of more than macs_limit
 * multiply-accumulates (0: no limit) is computed in part: whole blocks of columns, chosen by a
 * hash, the first and the last always among them; the other elements are NaN. NULL where
 * reference_supports() is false. One use is the caller's.
 */
struct reference *reference_compute(const struct problem *p,
                                    const double *const dense[TENSOR_COUNT], int threads,
                                    double macs_limit, GError **error);
void reference_unref(struct reference *reference);
int64_t reference_bytes(const struct reference *reference); /* of the host's memory */

/* References kept by problem and seed; the least recently used leave when they are over the
 * limit. The newest stays whatever its size. For one thread. */
struct reference_cache;
struct reference_cache *reference_cache_new(int64_t bytes_limit);
void reference_cache_free(struct reference_cache *cache);
/* A use for the caller, or NULL when it is not there. */
struct reference *reference_cache_find(struct reference_cache *cache, const struct problem *p,
                                       uint64_t seed);
/* The cache takes a use of its own. */
void reference_cache_add(struct reference_cache *cache, const struct problem *p, uint64_t seed,
                         struct reference *reference);

#endif
