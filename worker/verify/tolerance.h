/*
 * How far a right result may be off. With u the unit roundoff of the type that sums are kept in
 * (FP32 for FP32, FP16 and BF16: 2^-24; FP64: 2^-53), m the element's magnitude (sum of |x||w|), L
 * the number of products in the longest sum and v the output type's own unit roundoff (FP16 2^-11,
 * BF16 2^-8):
 *
 *   tolerance = f * u * m  +  v * |expected|  +  the output type's smallest step
 *
 *   Direct, GEMM, ImplicitGEMM   f = min(L + 2, 16)
 *   Winograd                     f = 128, m the largest of the tensor
 *   FFT                          f = 16 * (1 + log2(L + 1)), m the largest of the tensor
 *
 * A sum of L rounded products is off by at most (L + 1) u m (Higham, Accuracy and Stability, 3.1).
 * With random.h's data partial sums wander as sqrt(i) and the error stays near u m whatever L: the
 * largest over all elements of ResNet-50's layers was 3.9 u m with sums in plain order. 16 leaves
 * four times that, and is below the typical product (0.4) up to L of a million: a missing one shows.
 * FP64 doubles f: the reference rounds as well. Winograd's transforms cost the same accuracy however
 * short the sum (50 u m was the largest seen, F(4x4,3x3) with nine products). Winograd and FFT mix
 * neighbours, so an element of small magnitude carries its tile's errors, and where tensors are
 * 16-bit also those of their transformed values: u_in * m / 8 is added. Integers are exact.
 */
#ifndef WORKER_TOLERANCE_H
#define WORKER_TOLERANCE_H

#include "solvers/problem/problem.h"

struct tolerance {
    bool exact;
    bool tensor_wide;     /* takes the largest magnitude of the tensor for each element's */
    double per_magnitude; /* f * u and what is added to it */
    double per_value;     /* v */
    double smallest;
};

/* algorithm is a solver's family ("Direct", "Winograd"); an unknown one is judged like Direct. */
void tolerance_init(struct tolerance *tolerance, const struct problem *p, const char *algorithm,
                    double length);
double tolerance_at(const struct tolerance *tolerance, double expected, double magnitude,
                    double largest_magnitude);

#endif
