#include "solvers/cpu/conv_cpu_tile.h"

/* The CPU's vector registers: 32 with AVX-512, 16 on earlier x86. */
static int vector_registers(const struct target *target)
{
    return target->vector_bytes >= 64 ? 32 : 16;
}

/* Registers that a vector of `vec` floats takes; a vector wider than a register takes several. */
static int registers_of(const struct target *target, int vec)
{
    int bytes = vec * (int)sizeof(float), width = MAX(target->vector_bytes, 16);

    return (bytes + width - 1) / width;
}

bool tile_fits_registers(const struct target *target, int vec, int tile_vectors, int tile_k)
{
    int row = tile_vectors * registers_of(target, vec);

    return tile_k * row + row + 1 <= vector_registers(target);
}

bool tile_hides_latency(const struct target *target, int vec, int tile_vectors, int tile_k)
{
    /* 8 independent sums: two multiply-add units with a latency of four cycles. */
    return tile_k * tile_vectors * registers_of(target, vec) >= 8;
}

int tile_default_k(const struct target *target)
{
    return tile_fits_registers(target, 8, 1, 8) ? 8 : 6;
}

bool tile_wastes_little(int64_t count, int tile, int smallest_tile)
{
    int64_t rounded = (count + tile - 1) / tile * tile;

    return tile == smallest_tile || 3 * rounded <= 4 * count;
}

bool tile_sums_fit(const struct problem *p, const struct context *context, const int32_t *values)
{
    (void)p;
    return tile_fits_registers(context->target, values[CPU_TILE_VEC], values[CPU_TILE_VECTORS],
                               values[CPU_TILE_K]);
}

bool tile_sums_are_enough(const struct problem *p, const struct context *context,
                          const int32_t *values)
{
    (void)p;
    return tile_hides_latency(context->target, values[CPU_TILE_VEC], values[CPU_TILE_VECTORS],
                              values[CPU_TILE_K]);
}
