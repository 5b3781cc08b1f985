/*
 * The list of the built-in solvers. A row NAME adds `const struct solver solver_NAME`, which a file of its family's
 * folder defines. Lists and reports use this order; choosing goes by estimates. A row is never removed while a database
 * may name its solver. Only solver tables are made from the list; everything else walks solver_table.
 */
#ifndef SOLVERS_FRAMEWORK_SOLVER_ROWS_H
#define SOLVERS_FRAMEWORK_SOLVER_ROWS_H

#include "solvers/framework/solver.h"

/* clang-format off */
#define SOLVER_ROWS(ROW) \
    ROW(conv_direct_naive) \
    ROW(conv_direct_tiled) \
    ROW(conv_implicit_gemm) \
    ROW(conv_implicit_gemm_static) \
    ROW(conv_implicit_gemm_partial) \
    ROW(conv_gemm_1x1) \
    ROW(conv_im2col_gemm) \
    ROW(conv_winograd) \
    ROW(conv_depthwise) \
    ROW(conv_fft) \
    ROW(conv_cpu_direct) \
    ROW(conv_cpu_gemm) \
    ROW(conv_cpu_blocked) \
    ROW(conv_matrix) \
    ROW(conv_wgmma) \
    ROW(conv_asm_1x1) \
    ROW(conv_simt) \
    ROW(conv_mfma) \
    ROW(conv_wmma) \
    ROW(conv_wgmma_1x1) \
    ROW(conv_tma) \
    ROW(conv_depthwise_nhwc) \
    ROW(conv_grouped) \
    ROW(conv_few_channels_data) \
    ROW(conv_few_channels_weights) \
    ROW(conv_few_channels_matrix) \
    ROW(conv_few_channels_matrix_w) \
    ROW(pool_naive) \
    ROW(pool_pieces) \
    ROW(pointwise_naive) \
    ROW(pointwise_pieces) \
    ROW(softmax_naive) \
    ROW(softmax_pieces) \
    ROW(softmax_group) \
    ROW(resize_naive) \
    ROW(resize_pieces) \
    ROW(lrn_naive) \
    ROW(lrn_pieces) \
    ROW(pointwise_transpose) \
    ROW(pool_global) \
    ROW(conv_gemv) \
    ROW(conv_matrix_small) \
    ROW(conv_few_outputs) \
    ROW(conv_tma_patches) \
    ROW(conv_product_small) \
    ROW(conv_matrix_taps)
/* clang-format on */

#define SOLVER_DECLARATION(name) extern const struct solver solver_##name;
SOLVER_ROWS(SOLVER_DECLARATION)

/* A row as an element of a solver table. */
#define SOLVER_ADDRESS(name) &solver_##name,

#endif
