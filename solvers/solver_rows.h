/*
 * The built-in solvers' rows, each defined in the file of its name. Only
 * solver_table.c needs them; everybody else walks the table.
 */
#ifndef SOLVERS_SOLVER_ROWS_H
#define SOLVERS_SOLVER_ROWS_H

#include "solvers/solver.h"

extern const struct solver solver_conv_direct_naive;
extern const struct solver solver_conv_direct_tiled;
extern const struct solver solver_conv_implicit_gemm;

#endif
