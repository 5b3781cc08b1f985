#include "solvers/solver_rows.h"

#ifdef SKIPJACK_TEST_SOLVERS
#include "tests/faults/solver_faults.h"
#else
#define SOLVER_FAULT_ROWS
#endif

/* The order is that of lists and reports; choosing goes by estimates. Rows are never removed while
 * a database may name them. */
/* clang-format off */
const struct solver *const solver_table[] = {
    &solver_conv_direct_naive,
    &solver_conv_direct_tiled,
    &solver_conv_implicit_gemm,
    &solver_conv_implicit_gemm_static,
    &solver_conv_implicit_gemm_partial,
    &solver_conv_gemm_1x1,
    &solver_conv_im2col_gemm,
    &solver_conv_winograd,
    &solver_conv_depthwise,
    &solver_conv_fft,
    &solver_conv_cpu_direct,
    &solver_conv_cpu_gemm,
    &solver_conv_cpu_blocked,
    &solver_conv_matrix,
    &solver_conv_wgmma,
    &solver_conv_asm_1x1,
    &solver_conv_simt,
    &solver_conv_mfma,
    &solver_conv_wmma,
    &solver_conv_wgmma_1x1,
    &solver_conv_tma,
    &solver_conv_depthwise_nhwc,
    &solver_conv_grouped,
    &solver_conv_few_channels_data,
    &solver_conv_few_channels_weights,
    &solver_conv_few_channels_matrix,
    &solver_conv_few_channels_matrix_w,
    SOLVER_FAULT_ROWS
};
/* clang-format on */

const int solver_table_count = (int)G_N_ELEMENTS(solver_table);
