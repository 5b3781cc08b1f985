/*
 * How a matrix product whose rows are positions and whose columns are channels does a problem's epilogue: options and
 * arguments for kernels/device/common/matrix_epilogue.h. For a problem without epilogue the functions add nothing.
 */
#ifndef SOLVERS_COMMON_MATRIX_EPILOGUE_H
#define SOLVERS_COMMON_MATRIX_EPILOGUE_H

#include "solvers/framework/solution.h"

/* Adds the options of the epilogue. Call launch_sort_options() after it. */
void matrix_add_epilogue_options(const struct problem *p, struct launch *launch);
/* Adds FINISH_PARAMETERS: the launch's last arguments. */
void matrix_add_epilogue_args(const struct problem *p, struct launch *launch);

/* Positions of the output, and its channels in a group. */
int64_t matrix_output_positions(const struct problem *p);
int64_t matrix_output_channels(const struct problem *p);

#endif
