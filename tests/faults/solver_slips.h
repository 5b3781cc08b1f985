/*
 * A solver whose configs each make one mistake with a problem's operands: the epilogue's, or the packed filter. It
 * serves pointwise INT8 convolutions with "+bias+requant(INT8,channel)+add(INT8,NCHW)+relu". Only build/skipjack-faults
 * has it in its solver table.
 */
#ifndef TESTS_FAULTS_SOLVER_SLIPS_H
#define TESTS_FAULTS_SOLVER_SLIPS_H

#include "solvers/framework/solver.h"

/* Values of the solver's only parameter. */
enum slip {
    SLIP_NONE,
    SLIP_NO_BIAS,
    SLIP_OTHER_BIAS,    /* adds the next channel's bias */
    SLIP_OTHER_SCALE,   /* multiplies by the next channel's scale */
    SLIP_EARLY_RELU,    /* before the residual is added */
    SLIP_RESIDUAL,      /* does not scale the residual */
    SLIP_NO_SATURATION, /* keeps the low 8 bits of results outside the range */
    SLIP_ROUNDING,      /* towards zero */
    SLIP_PACK_BEYOND,   /* packing writes behind the packed filter */
    SLIP_PACK_WRONG,    /* exchanges two filters when it packs them */
    SLIP_PACK_ANEW,     /* the run changes the packed filter: a second run finds another one */
    SLIP_PACK_READS_W,  /* the run reads the filter that it has packed */
};
#define SLIPS (SLIP_PACK_READS_W + 1)

extern const struct solver solver_slips;

#endif
