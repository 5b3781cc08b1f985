/*
 * A solver whose configs misbehave, each in its own way and for real. It is in
 * the solver table of build/skipjack-faults alone.
 */
#ifndef TESTS_FAULTS_SOLVER_FAULTS_H
#define TESTS_FAULTS_SOLVER_FAULTS_H

#include "solvers/solver.h"

/* Values of the solver's only parameter. */
enum fault {
    FAULT_NONE,
    FAULT_HANG,          /* the kernel never ends */
    FAULT_COMPILER,      /* the compiler crashes */
    FAULT_RESULT,        /* wrong by one */
    FAULT_OUT_OF_BOUNDS, /* writes past its output */
    FAULT_SYNTAX,        /* does not compile */
    FAULT_CRASH,         /* the kernel takes the process with it */
};
#define FAULT_KINDS (FAULT_CRASH + 1)

extern const struct solver solver_faults;

#define SOLVER_FAULT_ROWS &solver_faults

#endif
