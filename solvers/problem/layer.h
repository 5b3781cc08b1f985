/*
 * A problem as a network has it.
 */
#ifndef SOLVERS_PROBLEM_LAYER_H
#define SOLVERS_PROBLEM_LAYER_H

#include "solvers/problem/problem.h"

struct layer {
    char *name;       /* may be "" */
    int multiplicity; /* how often the network runs it */
    struct problem problem;
};

#endif
