/*
 * A layer of a network: a problem, its name, and how often the network runs it.
 */
#ifndef SOLVERS_PROBLEM_LAYER_H
#define SOLVERS_PROBLEM_LAYER_H

#include "solvers/problem/problem.h"

struct layer {
    char *name;       /* may be "" */
    int multiplicity; /* how often one pass of the network runs the problem */
    struct problem problem;
};

#endif
