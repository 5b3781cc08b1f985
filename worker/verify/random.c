#include "worker/verify/random.h"

uint64_t random_bits(uint64_t seed, uint64_t index)
{
    uint64_t z = seed + (index + 1) * 0x9e3779b97f4a7c15u;

    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

/* The lowest bit is the sign. The high half of the bits, which is independent of it, gives the
 * absolute value. */
double random_value(enum data_type type, uint64_t bits)
{
    double sign = bits & 1 ? -1 : 1;

    if (type == TYPE_INT8 || type == TYPE_INT32)
        return sign * (double)(1 + (bits >> 32) % 8);
    return tensor_round(type, sign * (0.25 + 0.75 * ((double)(bits >> 32) * 0x1p-32)));
}

uint64_t random_seed_of(enum tensor_role role, uint64_t seed)
{
    return random_bits(seed, (uint64_t)role);
}

double *random_dense(const struct tensor *tensor, enum tensor_role role, uint64_t seed)
{
    int64_t count = tensor_count(tensor);
    double *dense = g_new(double, count);
    uint64_t own = random_seed_of(role, seed);

    for (int64_t i = 0; i < count; i++)
        dense[i] = random_value(tensor->type, random_bits(own, (uint64_t)i));
    return dense;
}
