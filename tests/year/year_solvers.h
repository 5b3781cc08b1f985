/*
 * The solvers of the simulated year: build/skipjack-year and its worker have them instead of the product's, of which
 * they keep the naive one. Each serves FP32 NCHW forward convolutions with one parameter of four values. The changes from night to night come
 * from the environment, so that one program plays several versions of itself:
 *
 *   SKIPJACK_YEAR="ConvRising=2 ConvLate=0"    revisions; 0: the solver serves no problem yet; 1 if not named
 */
#ifndef TESTS_YEAR_YEAR_SOLVERS_H
#define TESTS_YEAR_YEAR_SOLVERS_H

#include "solvers/framework/solver.h"

#define YEAR_SOLVERS 4
#define YEAR_TARGET  "gfx90a68"

#endif
