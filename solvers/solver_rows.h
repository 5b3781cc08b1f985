/*
 * The built-in solvers' rows, each defined in the file of its name. Only
 * solver_table.c needs them; everybody else walks the table.
 */
#ifndef SOLVERS_SOLVER_ROWS_H
#define SOLVERS_SOLVER_ROWS_H

#include "solvers/solver.h"

extern const struct solver solver_conv_asm_1x1;
extern const struct solver solver_conv_cpu_blocked;
extern const struct solver solver_conv_matrix;
extern const struct solver solver_conv_wgmma;
extern const struct solver solver_conv_wgmma_1x1;
extern const struct solver solver_conv_tma;
extern const struct solver solver_conv_simt;
extern const struct solver solver_conv_cpu_direct;
extern const struct solver solver_conv_cpu_gemm;
extern const struct solver solver_conv_depthwise;
extern const struct solver solver_conv_depthwise_nhwc;
extern const struct solver solver_conv_direct_naive;
extern const struct solver solver_conv_direct_tiled;
extern const struct solver solver_conv_few_channels_data;
extern const struct solver solver_conv_few_channels_matrix;
extern const struct solver solver_conv_few_channels_matrix_w;
extern const struct solver solver_conv_few_channels_weights;
extern const struct solver solver_conv_fft;
extern const struct solver solver_conv_gemm_1x1;
extern const struct solver solver_conv_im2col_gemm;
extern const struct solver solver_conv_grouped;
extern const struct solver solver_conv_implicit_gemm;
extern const struct solver solver_conv_implicit_gemm_partial;
extern const struct solver solver_conv_implicit_gemm_static;
extern const struct solver solver_conv_mfma;
extern const struct solver solver_conv_winograd;
extern const struct solver solver_conv_wmma;

#endif
