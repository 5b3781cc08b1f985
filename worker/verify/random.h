/*
 * Test data from a seed. The value of an element depends on the seed, the problem, the operand's role and the
 * element's logical index alone, so every layout, host and device computes the same values
 * (kernels/device/judge.cl has the same arithmetic).
 *
 * A seed also names the kind of its inputs: its highest byte is the kind.
 */
#ifndef WORKER_VERIFY_RANDOM_H
#define WORKER_VERIFY_RANDOM_H

#include "worker/verify/tensor.h"

/*
 * Kinds of inputs, and how each changes a problem's random values:
 *   INPUT_WHOLE  floating values are whole numbers from 1 to a range so small that every sum of the problem is exact
 *                in the type of its sums: a plain sum must come out exactly (tolerance_for_whole())
 *   INPUT_LARGE  floating values times a power of two: as large as the types bear, with room for transforms
 *   INPUT_SMALL  the same towards zero
 *   INPUT_ZERO   the data (x; y of a backward problem) is zero, the filter and the epilogue's operands are not
 * Integer types have whole numbers in all kinds but INPUT_ZERO.
 */
#define INPUT_KINDS(X)                                                                             \
    X(INPUT_RANDOM, "random")                                                                      \
    X(INPUT_WHOLE, "whole numbers")                                                                \
    X(INPUT_LARGE, "large")                                                                        \
    X(INPUT_SMALL, "small")                                                                        \
    X(INPUT_ZERO, "zeros")

enum input_kind {
#define X(name, text) name,
    INPUT_KINDS(X)
#undef X
        INPUT_KIND_COUNT
};
const char *input_kind_name(enum input_kind kind); /* "random", "whole numbers", ...; static */

/* The seed of inputs of that kind: the same for equal arguments. The highest byte of `seed` is replaced. */
uint64_t random_seed(uint64_t seed, enum input_kind kind);
enum input_kind
random_kind(uint64_t seed); /* The kind that a seed names; INPUT_RANDOM for an unknown one. */

/* Whether sums of the problem's whole numbers are exact in the type of its sums. */
bool random_whole_is_exact(const struct problem *p);

/* Output number `index` of the generator SplitMix64 seeded with `seed` (Steele, Lea, Flood
 * 2014). Inline, since fingerprints take one of each word. */
static inline uint64_t random_bits(uint64_t seed, uint64_t index)
{
    uint64_t z = seed + (index + 1) * 0x9e3779b97f4a7c15u;

    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

/*
 * How the values of an operand are spread.
 *
 * Floating types: absolute values even over [1/4, 1] times `scale`, a power of two; of either sign, or positive
 * alone. So no product is so small that a kernel could leave it out within the tolerance. Sums are near zero compared
 * with their magnitudes: a kernel's rounding errors stay small, and 16-bit outputs are fine enough to show one wrong
 * product. Integers: 1 to `range`, of either sign. All arithmetic before the rounding to the type is exact (34
 * bits), so hosts and devices get equal values.
 *
 * x and w have scale 1 and range 8, but x of an LRN is so large that its sum of squares counts as much as its bias. The operands of an epilogue are as large as what they meet, so that an error in
 * them is seen and both sides of an activation occur: the bias and a residual that is added are as large as a typical
 * sum, or as the bounds of a clip where those are larger; the scales of a requantisation spread its results over the
 * range of the output's type, and some beyond, so that they saturate.
 */
struct random_spread {
    bool positive;
    bool whole; /* floating types have whole numbers, too: 1 to `range` */
    double scale;
    int64_t range; /* a power of two is not needed; 0: all values are 0 */
    double last;   /* the list's last element is multiplied by this; 1 for all but scales */
};
void random_spread_init(struct random_spread *spread, const struct problem *p,
                        enum tensor_role role);
/* Changes the spread of a problem's operand to that of another kind of inputs. */
void random_spread_for(struct random_spread *spread, const struct problem *p, enum tensor_role role,
                       enum input_kind kind);
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
    bool repeats;   /* whether several elements are the same one */
};
void random_source_init(struct random_source *source, const struct problem *p,
                        const struct tensor *tensor, enum tensor_role role, uint64_t seed);
double random_element(const struct random_source *source, int64_t index);

/* An operand with random elements in dense form; free with g_free(). */
double *random_dense(const struct problem *p, const struct tensor *tensor, enum tensor_role role,
                     uint64_t seed);

#endif
