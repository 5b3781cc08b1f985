/* The table of build/skipjack-faults: the built-in solvers and those that misbehave. */
#include "solvers/framework/solver_rows.h"
#include "tests/faults/solver_faults.h"
#include "tests/faults/solver_slips.h"

/* clang-format off */
const struct solver *const solver_table[] = {
    SOLVER_ROWS(SOLVER_ADDRESS)
    &solver_faults,
    &solver_ways,
    &solver_slips,
};
/* clang-format on */

const int solver_table_count = (int)G_N_ELEMENTS(solver_table);
