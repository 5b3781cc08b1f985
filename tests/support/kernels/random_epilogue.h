/* Random epilogues, for tests of kernels. */
#ifndef TESTS_SUPPORT_KERNELS_RANDOM_EPILOGUE_H
#define TESTS_SUPPORT_KERNELS_RANDOM_EPILOGUE_H

#include "solvers/problem/epilogue.h"

/* Sets an epilogue of up to five steps, of these classes alone (enum epilogue_class), and the
 * output's type where an INT8 problem is given another one. Results stay within the output's
 * range. The residual lies as the output does. False, and no change, where the classes allow
 * none. */
bool random_epilogue(GRand *random, unsigned classes, struct problem *p);

#endif
