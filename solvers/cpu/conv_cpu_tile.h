/*
 * Rules for CPU kernels in which one work-item computes tile_k channels times tile_vectors vectors of `vec`
 * floats and keeps the sums in vector registers.
 */
#ifndef SOLVERS_CPU_CONV_CPU_TILE_H
#define SOLVERS_CPU_CONV_CPU_TILE_H

#include "solvers/framework/space.h"

/* Whether the sums, one row of inputs and one weight fit the vector registers. */
bool tile_fits_registers(const struct target *target, int vec, int tile_vectors, int tile_k);

/* Whether there are enough independent sums to keep the multiply-add units busy during one operation's latency. */
bool tile_hides_latency(const struct target *target, int vec, int tile_vectors, int tile_k);

/* The default tile_k for one vector of 8 floats: 8, or 6 where the sums of 8 do not fit. */
int tile_default_k(const struct target *target);

/* Whether rounding `count` up to whole tiles adds at most a third. The smallest tile always passes. */
bool tile_wastes_little(int64_t count, int tile, int smallest_tile);

/* The first parameters of a space of such tiles. The constraints on them are tile_fits_registers() and
 * tile_hides_latency(). */
enum { CPU_TILE_VEC, CPU_TILE_VECTORS, CPU_TILE_K };
bool tile_sums_fit(const struct problem *p, const struct context *context, const int32_t *values);
bool tile_sums_are_enough(const struct problem *p, const struct context *context,
                          const int32_t *values);

#endif
