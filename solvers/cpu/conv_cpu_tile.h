/*
 * Rules for kernels in which one work-item computes tile_k channels times
 * tile_vectors vectors of vec floats with its sums in a CPU's vector registers.
 */
#ifndef SOLVERS_CPU_CONV_CPU_TILE_H
#define SOLVERS_CPU_CONV_CPU_TILE_H

#include "solvers/framework/target.h"

/* Sums, one row of inputs and one weight fit the vector registers. */
bool tile_fits_registers(const struct target *target, int vec, int tile_vectors, int tile_k);

/* There are enough independent sums to keep the multiply-add units busy while one is under way. */
bool tile_hides_latency(const struct target *target, int vec, int tile_vectors, int tile_k);

/* tile_k of a default config for tiles of one vector of 8 floats: 8, or 6 where the sums of 8 do not fit. */
int tile_default_k(const struct target *target);

/* Rounding `count` up to whole tiles adds no more than a third to it. One tile is always let pass
 * where it is the smallest there is. */
bool tile_wastes_little(int64_t count, int tile, int smallest_tile);

#endif
