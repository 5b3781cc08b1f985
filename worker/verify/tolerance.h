/*
 * How far a right result may be from the reference. A tolerance too small rejects good kernels for the rounding
 * errors of their order of summation; one too large accepts a kernel that leaves out a product.
 *
 * Symbols: u is the unit roundoff of the type in which sums are kept (2^-24 for FP32, FP16 and BF16; 2^-53 for
 * FP64). m is the element's magnitude, the sum of |x||w|. L is the number of products in the longest sum. v is the
 * unit roundoff of the output's type (2^-11 for FP16, 2^-8 for BF16).
 *
 *   tolerance = f * u * m  +  v * |expected|  +  the output type's smallest step.
 *
 *   Direct, GEMM, ImplicitGEMM   f = min(L + 2, 16).
 *   Winograd                     f = 128, m the largest of the tensor.
 *   FFT                          f = 16 * (1 + log2(L + 1)), m the largest of the tensor.
 *
 * - A sum of L rounded products is off by at most (L + 1) u m (Higham, Accuracy and Stability of Numerical
 *   Algorithms, 2002, section 3.1): the bound for short sums.
 * - 16 bounds long sums. With the inputs of random.h partial sums grow like a random walk, as sqrt(i), and the
 *   error stays near u m for every L. The largest error of ResNet-50's layers, summed in plain order, was 3.9 u m;
 *   16 is four times as much. Up to L of a million the tolerance 16 u m also stays below the typical product
 *   (0.4), so a missing product is found.
 * - FP64 doubles f, since the reference rounds in the same type.
 * - Winograd's transforms lose the same accuracy however short the sum is: the largest error seen was 50 u m, of
 *   F(4x4,3x3) with nine products.
 * - Winograd and FFT mix neighbouring elements, so an element of small magnitude has the errors of its whole tile:
 *   the tensor's largest magnitude counts. With 16-bit tensors their transformed inputs are rounded, too, and
 *   u_in * m / 8 is added, where u_in is the unit roundoff of the inputs' type.
 * - Integers must be exact.
 *
 * With an epilogue the tolerance of the sum, E = f * u * m, goes through the epilogue's steps (epilogue_bound.h):
 *
 *   tolerance = gain * E + slack  +  v * |expected|  +  the output type's smallest step.
 *
 * An output of an integer type then has v = 0, and 1/2 in the place of the smallest step: the expected value is not
 * rounded, so the integers within 1/2 are the right ones, two at a tie. INT8 sums have E = 0, and the scale's
 * roundings are some 10^-6 of a result: a result of another step is right only where it is that close to a tie.
 *
 * Where the expected value overflows the output's type, or rounding may make it overflow, infinity is right: both
 * values are compared as if they were the type's largest.
 */
#ifndef WORKER_VERIFY_TOLERANCE_H
#define WORKER_VERIFY_TOLERANCE_H

#include "solvers/problem/problem.h"

struct tolerance {
    bool exact;
    /* Each element's magnitude is replaced by the largest one of the tensor. */
    bool tensor_wide;
    double per_magnitude; /* factor of the magnitude: f * u, plus u_in / 8 where that is added */
    double per_value;     /* v */
    /* the smallest step of the output's type; 1/2 for an integer type that was not exact before its rounding */
    double smallest;
    double overflow; /* values of this size and larger are infinite in the output's type */
};

/* Sets the tolerance of a problem. algorithm: the solver's family ("Direct", "Winograd"); an
 * unknown one counts as Direct. length: L, the products in the longest sum. */
void tolerance_init(struct tolerance *tolerance, const struct problem *p, const char *algorithm,
                    double length);
/* One element of a reference. */
struct expected {
    double value;
    double magnitude;
    double gain, slack; /* 1 and 0 without an epilogue */
};
/* largest_magnitude: of the tensor. */
double tolerance_at(const struct tolerance *tolerance, const struct expected *expected,
                    double largest_magnitude);
/* How far `got` is from the expected value; infinite where one of the two is a NaN alone, 0 where both are. */
double tolerance_error(const struct tolerance *tolerance, double expected, double got);

#endif
