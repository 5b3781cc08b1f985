/*
 * What the three forms of the implicit matrix product share: the dynamic one
 * (conv_implicit_gemm.c), the static one that knows the whole shape when it is
 * compiled, and the partial one whose config says what it knows. They run the
 * same kernel, conv_implicit_gemm.cl, with and without options FIX_<NAME>.
 *
 * All cover F, B and W; 2D and 3D; every layout whose channels are not in
 * blocks, any strides of tensors; FP32, FP16 and BF16 in any mixture, INT8
 * forward; groups, stride, dilation, any padding.
 */
#ifndef SOLVERS_IMPLICIT_GEMM_CONV_IMPLICIT_GEMM_COMMON_H
#define SOLVERS_IMPLICIT_GEMM_CONV_IMPLICIT_GEMM_COMMON_H

#include "solvers/common/tile_space.h"
#include "solvers/framework/solver.h"

/* Behind the tile's parameters and SPLITS: blocks of columns that a CPU's workgroup computes with one
 * block of rows. */
enum { IMPLICIT_GEMM_REPEAT_N = TILE_SPLITS + 1, IMPLICIT_GEMM_PARAM_COUNT };

#define IMPLICIT_GEMM_PARAMS                                                                       \
    TILE_PARAMS, TILE_SPLITS_PARAM,                                                                \
    {                                                                                              \
        "REPEAT_N", 4, (const int32_t[])                                                           \
        {                                                                                          \
            1, 2, 4, 8                                                                             \
        }                                                                                          \
    }

#define IMPLICIT_GEMM_CONSTRAINTS                                                                  \
    TILE_CONSTRAINTS(implicit_gemm_block_suits_sizes, implicit_gemm_blocks_fit_grid),              \
        {"tables_fit_local_memory", "local memory", TILE_BLOCK_K + 1,                              \
         implicit_gemm_tables_fit_local_memory},                                                   \
        TILE_SPLITS_CONSTRAINT(implicit_gemm_parts_fit),                                           \
        {"repeats_leave_work", "arithmetic", IMPLICIT_GEMM_REPEAT_N + 1,                           \
         implicit_gemm_repeats_leave_work},                                                        \
    {                                                                                              \
        "splits_suit_target", "compute units", IMPLICIT_GEMM_REPEAT_N + 1,                         \
            implicit_gemm_splits_suit_target                                                       \
    }

bool implicit_gemm_block_suits_sizes(const struct problem *p, const struct context *context,
                                     const int32_t *values);
bool implicit_gemm_blocks_fit_grid(const struct problem *p, const struct context *context,
                                   const int32_t *values);
bool implicit_gemm_tables_fit_local_memory(const struct problem *p, const struct context *context,
                                           const int32_t *values);
bool implicit_gemm_parts_fit(const struct problem *p, const struct context *context,
                             const int32_t *values);
bool implicit_gemm_repeats_leave_work(const struct problem *p, const struct context *context,
                                      const int32_t *values);
/* One part, which needs no workspace, or as many as leave no unit idle; more than give each unit two
 * workgroups cost and bring nothing. */
bool implicit_gemm_splits_suit_target(const struct problem *p, const struct context *context,
                                      const int32_t *values);

/* Kernel files, for a row's `sources`. */
extern const char *const implicit_gemm_sources[];

bool implicit_gemm_is_applicable(const struct problem *p, const struct context *context,
                                 const char **reason);
/* The most that any valid config takes. */
uint64_t implicit_gemm_workspace_bytes(const struct problem *p, const struct context *context);
/* The dynamic form's; the others say how much better they are. */
double implicit_gemm_estimate(const struct problem *p, const struct context *context);
/* Sets the first IMPLICIT_GEMM_PARAM_COUNT values. */
void implicit_gemm_default_config(const struct problem *p, const struct context *context,
                                  struct perf_config *config);

/* What of the shape is compiled in. */
enum implicit_gemm_fix {
    FIX_FILTER = 1 << 0,   /* fil */
    FIX_CONV = 1 << 1,     /* stride, pad, dilation */
    FIX_CHANNELS = 1 << 2, /* c, k, groups */
    FIX_IMAGE = 1 << 3,    /* in, out */
    FIX_BATCH = 1 << 4,    /* n */
    FIX_NOTHING = 0,
    FIX_ALL = (1 << 5) - 1
};

/* A solver's `solve` with `fixed` (bits of enum implicit_gemm_fix) compiled in. */
void implicit_gemm_solve(const struct problem *p, const struct context *context,
                         const struct perf_config *config, unsigned fixed,
                         struct solution *solution);

#endif
