/*
 * Test data from a seed. The value of an element depends on the seed, the problem, the operand's role and the
 * element's logical index alone, so every layout, host and device computes the same values
 * (kernels/device/judge.cl has the same arithmetic).
 */
#ifndef WORKER_VERIFY_RANDOM_H
#define WORKER_VERIFY_RANDOM_H

#include "worker/verify/tensor.h"

/* Output number `index` of the generator SplitMix64 seeded with `seed` (Steele, Lea, Flood
 * 2014). */
uint64_t random_bits(uint64_t seed, uint64_t index);

/*
 * How the values of an operand are spread.
 *
 * Floating types: absolute values even over [1/4, 1] times `scale`, a power of two; of either sign, or positive
 * alone. So no product is so small that a kernel could leave it out within the tolerance. Sums are near zero compared
 * with their magnitudes: a kernel's rounding errors stay small, and 16-bit outputs are fine enough to show one wrong
 * product. Integers: 1 to `range`, of either sign. All arithmetic before the rounding to the type is exact (34
 * bits), so hosts and devices get equal values.
 *
 * x and w have scale 1 and range 8. The operands of an epilogue are as large as what they meet, so that an error in
 * them is seen and both sides of an activation occur: the bias and a residual that is added are as large as a typical
 * sum, or as the bounds of a clip where those are larger; the scales of a requantisation spread its results over the
 * range of the output's type, and some beyond, so that they saturate.
 */
struct random_spread {
    bool positive;
    double scale;
    int64_t range; /* a power of two is not needed */
    double last;   /* the list's last element is multiplied by this; 1 for all but scales */
};
void random_spread_init(struct random_spread *spread, const struct problem *p,
                        enum tensor_role role);
/* An element's value from its 64 random bits. */
double random_value(enum data_type type, const struct random_spread *spread, uint64_t bits);

/* The seed of one operand's elements, to be passed to random_bits(). */
uint64_t random_seed_of(enum tensor_role role, uint64_t seed);

/* An operand's random elements: where an axis repeats elements (tensor_without_repeats()), the value is that of the
 * distinct element. */
struct random_source {
    struct tensor tensor;
    struct random_spread spread;
    uint64_t seed;  /* of this operand */
    int64_t length; /* the number of distinct elements */
};
void random_source_init(struct random_source *source, const struct problem *p,
                        const struct tensor *tensor, enum tensor_role role, uint64_t seed);
double random_element(const struct random_source *source, int64_t index);

/* An operand with random elements in dense form; free with g_free(). */
double *random_dense(const struct problem *p, const struct tensor *tensor, enum tensor_role role,
                     uint64_t seed);

#endif
