/*
 * The parameters of kernels/device/common/tile.h as a part of a solver's space: the
 * first TILE_PARAM_COUNT parameters of each solver that uses the tile, so that
 * their constraints are written once. GPUs take workgroups of 64 to 256 items
 * with vectors of 4; on CPUs one item is a workgroup and computes a tile with
 * its vector registers, several times over.
 */
#ifndef SOLVERS_COMMON_TILE_SPACE_H
#define SOLVERS_COMMON_TILE_SPACE_H

#include "solvers/framework/solution.h"
#include "solvers/framework/space.h"

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

/* The matrix product that a solver computes by such tiles. Doubles: sizes of what no solver serves
 * may exceed 64 bits. */
struct tile_product {
    double m, n, k;        /* rows, columns, terms */
    double layers;         /* products in one grid: groups, planes */
    uint64_t part_bytes;   /* of the workspace for each part of split sums; 0: they stay whole */
    uint64_t beside_bytes; /* of the workspace before the parts */
};

/* For use in a solver's array of parameters and of constraints. Constraints of a product are
 * functions of the solver, which ask tile_block_suits() and its like about it. */
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

#define TILE_CONSTRAINTS(block_suits_sizes, blocks_fit_grid)                                       \
    {"workgroup_suits_target", "workgroup size", TILE_THREADS_N + 1, tile_workgroup_suits_target}, \
        {"vector_suits_target", "vector registers", TILE_VEC + 1, tile_vector_suits_target},       \
        {"sums_fit_registers", "registers", TILE_VECTORS + 1, tile_sums_fit_registers},            \
        {"sums_hide_latency", "multiply-add units", TILE_VECTORS + 1, tile_sums_hide_latency},     \
        {"repeats_suit_target", "registers", TILE_REPEAT_M + 1, tile_repeats_suit_target},         \
        {"block_suits_sizes", "arithmetic", TILE_REPEAT_M + 1, block_suits_sizes},                 \
        {"blocks_fit_grid", "work-items of a launch", TILE_REPEAT_M + 1, blocks_fit_grid},         \
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
bool tile_block_fits_local_memory(const struct problem *p, const struct context *context,
                                  const int32_t *values);

int tile_block_m(const int32_t *values);
int tile_block_n(const int32_t *values);

/* No more than twice as many rows and columns as the product has, but for the smallest blocks, which
 * always pass. */
bool tile_block_suits(const struct tile_product *product, const struct context *context,
                      const int32_t *values);
/* Whether the product's grid is what the target's launches take: 65535 blocks of rows, and work-items
 * along the columns that 32 bits count. CPUs take any. */
bool tile_fits_grid(const struct tile_product *product, const struct context *context,
                    const int32_t *values);

/* Sets the first TILE_PARAM_COUNT values; they satisfy all constraints but tile_block_suits(). Where
 * the grid would be too large they are wide blocks, whose grid fits for up to 2^21 rows and 2^31
 * columns. */
void tile_default_config(const struct tile_product *product, const struct context *context,
                         struct perf_config *config);

/* Adds the tile's options (without LANE) to the launch, and sets its grid: one workgroup a block of
 * m rows by n columns and one of `batches`. */
void tile_add_options(const int32_t *values, struct launch *launch);
void tile_set_grid(const int32_t *values, int64_t m, int64_t n, int64_t batches,
                   struct launch *launch);

/* The parameter that follows the tile's where W may split its long sums, and its constraint (a
 * function of the solver that asks tile_may_split()). */
#define TILE_SPLITS      TILE_PARAM_COUNT
#define TILE_SPLITS_MAX  64
/* Each number of parts is so many times the one before. */
#define TILE_SPLITS_STEP 4
#define TILE_SPLITS_PARAM                                                                          \
    {                                                                                              \
        "SPLITS", 4, (const int32_t[])                                                             \
        {                                                                                          \
            1, 4, 16, TILE_SPLITS_MAX                                                              \
        }                                                                                          \
    }
#define TILE_SPLITS_CONSTRAINT(parts_fit)                                                          \
    {                                                                                              \
        "parts_fit", "arithmetic, grid size and workspace", TILE_SPLITS + 1, parts_fit             \
    }
/* Defines the constraints block_suits_sizes, blocks_fit_grid and parts_fit of a solver whose products come from
 * `product_of(p)`. */
#define TILE_PRODUCT_CONSTRAINTS(product_of)                                                       \
    static bool block_suits_sizes(const struct problem *p, const struct context *context,          \
                                  const int32_t *values)                                           \
    {                                                                                              \
        const struct tile_product product = product_of(p);                                         \
        return tile_block_suits(&product, context, values);                                        \
    }                                                                                              \
    static bool blocks_fit_grid(const struct problem *p, const struct context *context,            \
                                const int32_t *values)                                             \
    {                                                                                              \
        const struct tile_product product = product_of(p);                                         \
        return tile_fits_grid(&product, context, values);                                          \
    }                                                                                              \
    static bool parts_fit(const struct problem *p, const struct context *context,                  \
                          const int32_t *values)                                                   \
    {                                                                                              \
        const struct tile_product product = product_of(p);                                         \
        return tile_may_split(&product, context, values[TILE_SPLITS], values[TILE_BLOCK_K]);       \
    }

/* One part always may be. More keep two rounds of block_k terms each at least, are layers of a grid
 * that has 65535, and lie in the workspace that the context allows. */
bool tile_may_split(const struct tile_product *product, const struct context *context, int splits,
                    int block_k);
/* The most parts that any config may have. */
int tile_most_splits(const struct tile_product *product, const struct context *context);
/* Of a config with so many workgroups a part: parts that give each unit two workgroups, as far as
 * they may be. More cost and bring nothing. */
int tile_default_splits(const struct tile_product *product, const struct context *context,
                        const int32_t *values, double workgroups);
/* Whether no fewer parts give each unit two workgroups. */
bool tile_splits_are_needed(const struct context *context, int splits, double workgroups);

/* Workgroups of a product that is not split. */
double tile_workgroups(const struct tile_product *product, const int32_t *values);

/* Parts to split a sum of k terms into, each a whole number of blocks: at most `splits`. *part is
 * how many terms each part takes. */
int tile_split_terms(const int32_t *values, int64_t k, int splits, int64_t *part);

#endif
