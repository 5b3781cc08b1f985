#include "worker/verify/reference_kernel.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

#define LANES 4
typedef double lanes __attribute__((vector_size(LANES * sizeof(double))));
typedef int64_t lane_bits __attribute__((vector_size(LANES * sizeof(int64_t))));

/* Compiled into each of its callers for what that caller's processor has. */
#define INLINED static inline __attribute__((always_inline))

INLINED void add_tile(const double *left, const double *right, int depth, int absolute,
                      double *sums)
{
    lanes tile[PANEL_ROWS][2];
    int64_t keep = absolute ? INT64_MAX : -1; /* INT64_MAX masks the sign out */
    lane_bits mask = {keep, keep, keep, keep};

    memcpy(tile, sums, sizeof(tile));
    for (int d = 0; d < depth; d++) {
        lanes b[2];
        memcpy(b, right + d * PANEL_COLUMNS, sizeof(b));
        b[0] = (lanes)((lane_bits)b[0] & mask);
        b[1] = (lanes)((lane_bits)b[1] & mask);
        for (int r = 0; r < PANEL_ROWS; r++) {
            double value = left[d * PANEL_ROWS + r];
            if (absolute)
                value = fabs(value);
            lanes a = {value, value, value, value};
            tile[r][0] += a * b[0];
            tile[r][1] += a * b[1];
        }
    }
    memcpy(sums, tile, sizeof(tile));
}

INLINED void add_both(const double *left, const double *right, int depth, double *sums,
                      double *magnitudes)
{
    add_tile(left, right, depth, 0, sums);
    add_tile(left, right, depth, 1, magnitudes);
}

#if defined(__x86_64__)
__attribute__((target("avx2,fma"))) static void
kernel_avx2(const double *left, const double *right, int depth, double *sums, double *magnitudes)
{
    add_both(left, right, depth, sums, magnitudes);
}
#endif

void reference_kernel(const double *left, const double *right, int depth, double *sums,
                      double *magnitudes)
{
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
        kernel_avx2(left, right, depth, sums, magnitudes);
        return;
    }
#endif
    add_both(left, right, depth, sums, magnitudes);
}
