#include "solvers/framework/solver_rows.h"

const struct solver *const solver_table[] = {SOLVER_ROWS(SOLVER_ADDRESS)};

const int solver_table_count = (int)G_N_ELEMENTS(solver_table);
