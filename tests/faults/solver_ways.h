/* A solver whose configs differ in one argument of the launch only, so that the double of a GPU's
 * library (tests/support/doubles/gpu_double.c) knows which config runs. Only build/skipjack-faults has it
 * in its solver table. */
#ifndef TESTS_FAULTS_SOLVER_WAYS_H
#define TESTS_FAULTS_SOLVER_WAYS_H

#include "solvers/framework/solver.h"

#define WAYS 6

extern const struct solver solver_ways;

#endif
