/*
 * The parameters of the tile of kernels/device/common/tile.h, which are the first TILE_PARAM_COUNT parameters
 * of every solver that uses the tile, and their constraints. A GPU's workgroup has 64 to 256 work-items with
 * vectors of 4. A CPU's workgroup is one work-item, which computes tiles in its vector registers one after the
 * other.
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

/* The matrix product to be computed. Doubles: sizes of problems that no solver serves may exceed 64 bits. */
struct tile_product {
    double m, n, k; /* rows, columns and terms of each product */
    /* number of equal products in one grid: groups of the convolution, or planes of Winograd */
    double layers;
    /* workspace bytes of each split-K part; 0 for a product whose sums are not split */
    uint64_t part_bytes;
    uint64_t beside_bytes; /* workspace bytes that precede the parts */
};

/* Rows of a solver's arrays of parameters and constraints. The two named constraints are functions of the
 * solver (TILE_PRODUCT_CONSTRAINTS). */
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

/* Whether a block has at most twice the product's rows and columns. The smallest blocks always pass. */
bool tile_block_suits(const struct tile_product *product, const struct context *context,
                      const int32_t *values);
/* Whether a GPU can launch the product's grid: at most 65535 blocks of rows, and work-items along the columns
 * within 32 bits. CPUs take any grid. */
bool tile_fits_grid(const struct tile_product *product, const struct context *context,
                    const int32_t *values);

/* Sets the first TILE_PARAM_COUNT values. They satisfy all constraints but tile_block_suits(). Where the grid
 * would be too large they are wide blocks, whose grid fits up to 2^21 rows and 2^31 columns. */
void tile_default_config(const struct tile_product *product, const struct context *context,
                         struct perf_config *config);

/* Adds the tile's compile options, all but LANE, to the launch. */
void tile_add_options(const int32_t *values, struct launch *launch);
/* Sets the launch's grid: one workgroup for each tile of the m x n product, for each of `batches` products. */
void tile_set_grid(const int32_t *values, int64_t m, int64_t n, int64_t batches,
                   struct launch *launch);

/* Solvers that split long sums (split_sum.h) have one more parameter after the tile's, SPLITS, the number of parts,
 * with a constraint on it. */
#define TILE_SPLITS      TILE_PARAM_COUNT
#define TILE_SPLITS_MAX  64
/* Each allowed value of SPLITS is four times the one before. */
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

/* Whether the terms may be split into `splits` parts: into one part always; into more where each part has at least
 * two rounds of block_k terms, the grid's third axis (products times parts) has at most 65535 workgroups, and the
 * parts fit the context's workspace limit. */
bool tile_may_split(const struct tile_product *product, const struct context *context, int splits,
                    int block_k);
/* The most parts into which any config may split the terms. */
int tile_most_splits(const struct tile_product *product, const struct context *context);
/* The default number of parts for a config with this many workgroups in each part: as many as give each unit
 * two workgroups. More parts cost time and gain nothing. */
int tile_default_splits(const struct tile_product *product, const struct context *context,
                        const int32_t *values, double workgroups);
/* Whether the number of parts is justified: with the next smaller number a unit would get less than two workgroups.
 * `workgroups` are those of one part. */
bool tile_splits_are_needed(const struct context *context, int splits, double workgroups);

/* Workgroups that compute the product when its sums are not split. */
double tile_workgroups(const struct tile_product *product, const int32_t *values);

/* Divides a sum of k terms into at most `splits` parts of whole blocks. Returns the number of parts; *part is
 * the terms of each. */
int tile_split_terms(const int32_t *values, int64_t k, int splits, int64_t *part);

#endif
