/*
 * Test data from a seed: the value of an element depends on seed, tensor and
 * logical index alone, so that every layout and machine computes the same.
 */
#ifndef WORKER_RANDOM_H
#define WORKER_RANDOM_H

#include "worker/verify/tensor.h"

/* The index-th output of SplitMix64 seeded with `seed` (Steele, Lea, Flood 2014). */
uint64_t random_bits(uint64_t seed, uint64_t index);

/*
 * An element from its 64 random bits. Floating types: either sign, sizes even over [1/4, 1],
 * rounded to the type: no product is so small that a missing one hides in the tolerance. Their sums
 * are near zero against their magnitudes, which keeps a kernel's real rounding errors small and
 * 16-bit outputs fine enough to see one wrong product. Integers: -8 .. 8 without 0. Before the type's
 * rounding all is exact (34 bits), so a device has the same values (kernels/device/judge.cl).
 */
double random_value(enum data_type type, uint64_t bits);
/* What random_bits() has for a tensor's elements as its seed. */
uint64_t random_seed_of(enum tensor_role role, uint64_t seed);

/* A dense tensor of such elements, free with g_free(). */
double *random_dense(const struct tensor *tensor, enum tensor_role role, uint64_t seed);

#endif
