/*
 * The parameters of kernels/device/tile.h as a part of a solver's space: the
 * first TILE_PARAM_COUNT parameters of each solver that uses the tile, so that
 * their constraints are written once. GPUs take workgroups of 64 to 256 items
 * with vectors of 4; on CPUs one item is a workgroup and computes a tile with
 * its vector registers, several times over.
 */
#ifndef SOLVERS_TILE_SPACE_H
#define SOLVERS_TILE_SPACE_H

#include "solvers/solution.h"
#include "solvers/space.h"

enum tile_param {
    TILE_THREADS_M,
    TILE_THREADS_N,
    TILE_VEC,
    TILE_M,
    TILE_VECTORS,
    TILE_REPEAT_M,
    TILE_BLOCK_K,
    TILE_PARAM_COUNT
};

/* For use in a solver's array of parameters and of constraints. */
#define TILE_PARAMS                                                                                \
    {"THREADS_M", 5, (const int32_t[]){1, 4, 8, 16, 32}},                                          \
        {"THREADS_N", 5, (const int32_t[]){1, 4, 8, 16, 32}},                                      \
        {"VEC", 3, (const int32_t[]){4, 8, 16}}, {"TILE_M", 4, (const int32_t[]){2, 4, 6, 8}},     \
        {"TILE_VECTORS", 3, (const int32_t[]){1, 2, 3}},                                           \
        {"REPEAT_M", 4, (const int32_t[]){1, 4, 8, 16}},                                           \
    {                                                                                              \
        "BLOCK_K", 5, (const int32_t[])                                                            \
        {                                                                                          \
            8, 16, 32, 64, 128                                                                     \
        }                                                                                          \
    }

#define TILE_CONSTRAINTS                                                                           \
    {"workgroup_suits_target", "workgroup size", TILE_THREADS_N + 1, tile_workgroup_suits_target}, \
        {"vector_suits_target", "vector registers", TILE_VEC + 1, tile_vector_suits_target},       \
        {"sums_fit_registers", "registers", TILE_VECTORS + 1, tile_sums_fit_registers},            \
        {"sums_hide_latency", "multiply-add units", TILE_VECTORS + 1, tile_sums_hide_latency},     \
        {"repeats_suit_target", "registers", TILE_REPEAT_M + 1, tile_repeats_suit_target},         \
        {"block_suits_sizes", "arithmetic", TILE_REPEAT_M + 1, tile_block_suits_sizes},            \
    {                                                                                              \
        "block_fits_local_memory", "local memory", TILE_BLOCK_K + 1, tile_block_fits_local_memory  \
    }

bool tile_workgroup_suits_target(const struct problem *p, const struct context *context,
                                 const int32_t *values);
bool tile_vector_suits_target(const struct problem *p, const struct context *context,
                              const int32_t *values);
bool tile_sums_fit_registers(const struct problem *p, const struct context *context,
                             const int32_t *values);
bool tile_sums_hide_latency(const struct problem *p, const struct context *context,
                            const int32_t *values);
bool tile_repeats_suit_target(const struct problem *p, const struct context *context,
                              const int32_t *values);
/* No more than twice as many rows and columns as conv_gemm_sizes() gives, but for the smallest
 * blocks, which always pass. */
bool tile_block_suits_sizes(const struct problem *p, const struct context *context,
                            const int32_t *values);
bool tile_block_fits_local_memory(const struct problem *p, const struct context *context,
                                  const int32_t *values);

int tile_block_m(const int32_t *values);
int tile_block_n(const int32_t *values);

/* Whether the grid of a product of m rows by n columns is what the target's launches take: 65535 blocks
 * of rows, and work-items along the columns that 32 bits count. CPUs take any. */
bool tile_fits_grid(const struct context *context, const int32_t *values, double m, double n);

/* Sets the first TILE_PARAM_COUNT values; they satisfy all constraints but tile_block_suits_sizes.
 */
void tile_default_config(const struct context *context, struct perf_config *config);
/* The same for a product whose grid may be too large for those: such get wide blocks, whose grid fits
 * for up to 2^21 rows and 2^31 columns. */
void tile_default_config_for(const struct context *context, double m, double n,
                             struct perf_config *config);

/* Adds the tile's options (without LANE) to the launch, and sets its grid: one workgroup a block of
 * m rows by n columns and one of `batches`. */
void tile_add_options(const int32_t *values, struct launch *launch);
void tile_set_grid(const int32_t *values, int64_t m, int64_t n, int64_t batches,
                   struct launch *launch);

/* The parameter that follows the tile's where W may split its long sums, and its constraint: only W
 * splits, and each part keeps two rounds at least. */
#define TILE_SPLITS     TILE_PARAM_COUNT
#define TILE_SPLITS_MAX 64
#define TILE_SPLITS_PARAM                                                                          \
    {                                                                                              \
        "SPLITS", 4, (const int32_t[])                                                             \
        {                                                                                          \
            1, 4, 16, TILE_SPLITS_MAX                                                              \
        }                                                                                          \
    }
#define TILE_SPLITS_CONSTRAINT                                                                     \
    {                                                                                              \
        "splits_leave_work", "arithmetic", TILE_SPLITS + 1, tile_splits_leave_work                 \
    }
bool tile_splits_leave_work(const struct problem *p, const struct context *context,
                            const int32_t *values);
/* For use beside it where the parts of all groups are layers of one grid (gemm_grid_fits()). */
#define TILE_SPLITS_GRID_CONSTRAINT                                                                \
    {                                                                                              \
        "splits_fit_grid", "grid size", TILE_SPLITS + 1, tile_splits_fit_grid                      \
    }
bool tile_splits_fit_grid(const struct problem *p, const struct context *context,
                          const int32_t *values);
/* Whether any config may split under both. */
bool tile_may_split(const struct problem *p);
/* The splits that leave no GPU idle where w is small, 1 where they would leave no work or not fit. */
int tile_default_splits(const struct problem *p, const struct context *context,
                        const int32_t *values);

/* Parts to split a sum of k terms into, each a whole number of blocks: at most `splits`. *part is
 * how many terms each part takes. */
int tile_split_terms(const int32_t *values, int64_t k, int splits, int64_t *part);

#endif
