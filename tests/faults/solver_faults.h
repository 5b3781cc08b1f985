/*
 * A solver whose configs misbehave, each in its own way and for real. Only build/skipjack-faults has it in its solver
 * table (tests/faults/solver_table.c).
 */
#ifndef TESTS_FAULTS_SOLVER_FAULTS_H
#define TESTS_FAULTS_SOLVER_FAULTS_H

#include "tests/faults/solver_ways.h"

/* Values of the solver's only parameter. */
enum fault {
    FAULT_NONE,
    FAULT_HANG,          /* the kernel never ends */
    FAULT_COMPILER,      /* the compiler crashes */
    FAULT_RESULT,        /* wrong by one */
    FAULT_OUT_OF_BOUNDS, /* writes past its output */
    FAULT_SYNTAX,        /* does not compile */
    FAULT_CRASH,         /* the kernel crashes the process that runs it */
    FAULT_NAN,           /* results are NaN */
    FAULT_MEMORY,        /* the compiler allocates memory without end */
    FAULT_CONSTRAINT,    /* a constraint lets the config through although it should forbid it */
};
#define FAULT_KINDS (FAULT_CONSTRAINT + 1)

extern const struct solver solver_faults;

#endif
