/*
 * How far a right result may be from the reference. A tolerance too small rejects good kernels for the rounding
 * errors of their order of summation; one too large accepts a kernel that leaves out a product.
 *
 * Symbols: u is the unit roundoff of the type in which sums are kept (2^-24 for all floating types but FP64, which has
 * 2^-53). m is the element's magnitude, the sum of |x||w|. L is the number of products in the longest sum. v is the
 * unit roundoff of the output's type (2^-11 for FP16, 2^-8 for BF16, 2^-4 for FP8, 2^-3 for BF8).
 *
 *   tolerance = f * u * m  +  v * |expected|  +  the output type's smallest step.
 *
 *   plain sums             f = min(L + 2, 16)
 *   sums of pieces         f = min(depth + 2, 16 sqrt((depth + 2) / terms))
 *   inputs in TF32         f of a plain sum + min(2 + 2^-11, 16 / sqrt(terms)) * 2^-11 / u
 *   products cut off       f of a plain sum; for real data + 33 w / u
 *   the same in chains     f of a plain sum + min(34 chain - 1, 16 / sqrt(terms)) * w / u; for real data + (34 chain - 1) w / u
 *   selections             f = 0, and v = 0 where the output's type holds every element of x
 *   transformed tiles      f = growth * (min(terms + 2, 16) + 4 sqrt(roundings / terms)), m the largest of the tensor
 *
 * growth, terms, roundings, depth, inputs, w, its `products`, and chain are the solution's (solvers/framework/solution.h).
 *
 * Plain sums (Direct, GEMM, ImplicitGEMM):
 * - A sum of L rounded products is off by at most (L + 1) u m (Higham, Accuracy and Stability of Numerical
 *   Algorithms, 2002, section 3.1): the bound for short sums.
 * - 16 bounds long sums. With the inputs of random.h partial sums grow like a random walk, as sqrt(i), and the
 *   error stays near u m for every L. The largest error of ResNet-50's layers, summed in plain order, was 3.9 u m;
 *   16 is four times as much. Up to L of a million the tolerance 16 u m also stays below the typical product
 *   (0.4), so a missing product is found.
 * - FP64 doubles f, since the reference rounds in the same type.
 *
 * Sums of pieces (ConvFewChannelsWeights, which has hundreds of them): products are added up in pieces, and the pieces'
 * sums on one level or several.
 * - An addition is off by 0.41 u of the sum that it makes (root of the mean square), and a sum of i products is sqrt(i)
 *   products large. So the squares of all errors add up to (0.41 u)^2 times the number of products in each sum that is
 *   ever made: L^2 / 2 for a plain sum. A level of pieces that has l additions in each, of terms of t products, makes
 *   sums of t, 2t, ... lt products, and L / (lt) of them: L l / 2 altogether. All levels have L depth / 2, if depth is
 *   the number of additions that a product goes through; a product's own rounding is as large as two more of them. So the
 *   error is sqrt((depth + 2) / L) times that of the plain sum, which 16 bounds.
 * - m is proportional to an element's products, and the error to their root. An element at an edge has fewer products, so
 *   terms is that of the element with the fewest.
 * - depth + 2 bounds the error in any case (Higham, section 4.2).
 *
 * Inputs in TF32 (struct solution_rounding's inputs, w = 2^-11: half a step of 10 fraction bits). Both factors of a product
 * are rounded, and products and sums are FP32. A solution that may cut numbers off instead has twice the w: its errors are
 * of one sign, 0.87 w in the place of 0.65 w below.
 * - A product is off by at most 2w + w^2 of itself, so the sum is off by (2w + w^2) m: the bound for short sums.
 * - A rounding's error is 0.41 w of the number (root of the mean square), and the errors of different products are
 *   independent. A product is off by 0.58 w of itself, a sum of `terms` products by 0.58 w sqrt(terms) times a product
 *   (0.44), and m is terms times the mean product (0.39, random.h): 0.65 w m / sqrt(terms). The factor 16 is 24 standard
 *   deviations. It leaves room for inputs of which a few are much larger than the others (random.h): of those alone the
 *   sum then consists.
 * - An element at an edge has fewer products, so terms is that of the element with the fewest. A missing product changes the
 * sum by m / terms, which is found up to (2^11 / 16)^2 = 2^14 terms where inputs are rounded, 2^12 where they are cut off; whole
 *   numbers (random.h) find it in sums of any length.
 *
 * Products cut off (FP8 and BF8 on NVIDIA's matrix units, w = 2^-13). An instruction adds up 32 products. It cuts each off at
 * w times the power of two below the largest of them, and their sum at w times the power of two below itself. The sums of
 * instructions are added up in FP32.
 * - Random numbers (random.h) lose nothing, and keep the f of a plain sum. They are between 1/4 and 1, multiples of 2^-5, so that
 *   products are multiples of 2^-10; nothing above 2^-13 is cut off. A sum of 32 is 2.5 (root of the mean square) and is exact
 *   below 16, at six standard deviations.
 * - Real data may lose. The 32 products lose at most 32 w of the largest, and their sum w of itself: 33 w m.
 * - Hopper's instructions go on from the sum before, in chains of 4, and only a chain's sum is added in FP32. The sum before
 *   is cut off as a 33rd product, and no number is larger than the chain's magnitude: each later instruction loses at most
 *   34 w of that, a chain 34 chain - 1.
 * - Random sums of 128 are 5.0 (root of the mean square), so that one of 700 reaches 16 and may lose then. From 16 to 32 the
 *   last bit kept is 2^-9: of multiples of 2^-10 each loses at most 2^-10, and few of the products are odd ones. The
 *   tolerance is that of numbers of which each loses w at random, as above: 16 w m / sqrt(terms), which is 8 times 2^-10 at
 *   128 terms, and finds a missing product up to 2^18 terms.
 *
 * Selections (pointwise operators, which copy, transpose and convert; max pools; nearest resizes). Each result is an
 * element of x, so nothing is rounded before the epilogue and the output. Without an epilogue a result of the same type
 * or of a wider one must be equal within the smallest step, since a device may flush subnormal numbers to zero. Where
 * the output's type is narrower, its own rounding counts (v). An x whose type the sums do not hold (INT32, or FP64
 * beside tensors of other types) may be rounded to FP32 before: it keeps the f of plain sums.
 *
 * Transformed tiles (Winograd, FFT). Inputs are read exactly, and all else is FP32 whatever the tensors' type, so
 * nothing but the output's own rounding (v) depends on the type.
 * - Winograd's output is A((G g) (B d)) along each axis (Lavin and Gray 2015), where sums over `terms` are taken
 *   between the brackets and A. An output o is thus the sum, over the places i of a tile, of A[o][i] times a sum of
 *   `terms` products. With random inputs the sum of place i is |G[i]| |B[i]| times as large (Euclidean norms of the
 *   matrices' rows) as one of `terms` plain products, and so is its error. The errors of places are independent: their
 *   squares add up to r(o)^2 = sum of (A[o][i] |G[i]| |B[i]|)^2 times that of a sum of `terms` products; two axes
 *   multiply. A plain sum has `taps` times more products, and its error is `taps` times as large, since the error of a
 *   random walk grows as its length. Hence growth = max r(o)^2 / taps: 0.56 for F(2x2,3x3), 10 for F(4x4,3x3); in W
 *   1 for F(3x3,2x2), 6 for F(3x3,4x4). It is more than 1 for the large tiles, as A and B have entries up to 8 and 5.
 * - A Fourier transform keeps the mean square. The sum of a frequency has taps times fewer products than a plain sum,
 *   each sqrt(taps) times as large, and its two parts, real and imaginary, both err: growth = sqrt(2 / taps).
 * - The transforms round, too, `roundings` times on a value's way. A rounding's error is 0.41 u of the value (root of
 *   the mean square), and values are sqrt(terms) products large. The mean product is 0.39, the root of the mean square
 *   0.44 (random.h). So the standard deviation is 0.46 u sqrt(roundings / terms) growth m. The factor 4 is nine
 *   standard deviations; the largest of a hundred million elements is at six.
 * - Neighbouring elements share a tile, so an element of small magnitude has the errors of its whole tile: the
 *   tensor's largest magnitude counts.
 *
 * `make bench-tolerance` prints the errors that solvers have beside these tolerances (worker/TOLERANCES.md).
 *
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
 * values are compared as if they were the type's largest. FP8 and BF8 saturate, so that their largest number is right
 * there, and an infinite BF8 is no error either.
 */
#ifndef WORKER_VERIFY_TOLERANCE_H
#define WORKER_VERIFY_TOLERANCE_H

#include "solvers/framework/solution.h"

struct tolerance {
    bool exact;
    /* Each element's magnitude is replaced by the largest one of the tensor. */
    bool tensor_wide;
    double per_magnitude; /* factor of the magnitude: f * u */
    /* of_products: the part of that factor that rounded inputs and chains of cut products add; of_products_most: the part
     * that rounded inputs and all cut products add for real data. Both are 0 where a solution does neither. */
    double of_products, of_products_most;
    double per_value; /* v */
    /* the smallest step of the output's type; 1/2 for an integer type that was not exact before its rounding */
    double smallest;
    double overflow; /* values of this size and larger are infinite in the output's type */
};

/* Sets the tolerance of a problem's solution. rounding: the solution's, NULL for a plain sum. length: L, the products in
 * the longest sum. */
void tolerance_init(struct tolerance *tolerance, const struct problem *p,
                    const struct solution_rounding *rounding, double length);
/* The same for inputs of whole numbers whose sums are exact (random_whole_is_exact()): a plain sum is off by nothing
 * but the rounding of its output. Winograd and FFT keep their tolerance, since transforms divide. */
void tolerance_for_whole(struct tolerance *tolerance);
/* The same for inputs whose sums do not cancel, as real activations, which are all positive behind a relu: roundings of a
 * sum add up, at most L + 1 of them, and those of inputs to their bound for short sums. Such sums are up to sqrt(L) times as
 * large as random ones, and so are the roundings of their transforms. length: L. */
void tolerance_for_real(struct tolerance *tolerance, double length);
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
