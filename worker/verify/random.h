/*
 * Test data from a seed. The value of an element depends on the seed, the tensor's role and the element's logical
 * index alone, so every layout, host and device computes the same values (kernels/device/judge.cl has the same
 * arithmetic).
 */
#ifndef WORKER_VERIFY_RANDOM_H
#define WORKER_VERIFY_RANDOM_H

#include "worker/verify/tensor.h"

/* Output number `index` of the generator SplitMix64 seeded with `seed` (Steele, Lea, Flood
 * 2014). */
uint64_t random_bits(uint64_t seed, uint64_t index);

/*
 * An element's value from its 64 random bits. Floating types: either sign,
 * absolute values even over [1/4, 1], rounded to the type. So no product is so
 * small that a kernel could leave it out within the tolerance. Sums are near zero
 * compared with their magnitudes: a kernel's rounding errors stay small, and
 * 16-bit outputs are fine enough to show one wrong product. Integers: -8 to 8
 * without 0. All arithmetic before the rounding to the type is exact (34 bits), so
 * hosts and devices get equal values.
 */
double random_value(enum data_type type, uint64_t bits);
/* The seed of one tensor's elements, to be passed to random_bits(). */
uint64_t random_seed_of(enum tensor_role role, uint64_t seed);

/* A tensor with random elements in dense form; free with g_free(). */
double *random_dense(const struct tensor *tensor, enum tensor_role role, uint64_t seed);

#endif
