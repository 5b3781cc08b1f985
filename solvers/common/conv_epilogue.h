/*
 * How a launch does a problem's epilogue: options and arguments for kernels/device/common/epilogue.h. For a problem
 * without epilogue both functions add nothing, so that its launches stay as they were.
 */
#ifndef SOLVERS_COMMON_CONV_EPILOGUE_H
#define SOLVERS_COMMON_CONV_EPILOGUE_H

#include "solvers/framework/solution.h"
#include "solvers/problem/epilogue.h"
#include "solvers/problem/problem.h"

/* Whether kernels/device/common/epilogue.h computes the problem's epilogue: all but those of FP64 problems and second
 * tensors. float8: whether the kernel includes float8.h, so that the second tensor may be FP8 or BF8. Otherwise *reason says
 * so. True without epilogue. */
bool conv_epilogue_is_served(const struct problem *p, bool float8, const char **reason);

/* Adds the options of the epilogue's steps. Call launch_sort_options() after it. */
void conv_add_epilogue_options(const struct problem *p, struct launch *launch);
/* Adds the operands that the steps read, in the order of EPILOGUE_PARAMETERS: the launch's last arguments. */
void conv_add_epilogue_args(const struct problem *p, struct launch *launch);

/* Bytes of the operands that the steps read: an epilogue's share of a solution's read_bytes. */
double conv_epilogue_bytes(const struct problem *p);

#endif
