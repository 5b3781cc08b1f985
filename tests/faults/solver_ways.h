/*
 * A solver whose configs differ in a launch's argument alone, so that the double of a GPU's library
 * (tests/support/gpu_double.c) knows which one runs. In build/skipjack-faults alone, as ConvFaults.
 */
#ifndef TESTS_FAULTS_SOLVER_WAYS_H
#define TESTS_FAULTS_SOLVER_WAYS_H

#include "solvers/framework/solver.h"

#define WAYS 6

extern const struct solver solver_ways;

#endif
