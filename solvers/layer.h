/*
 * A problem as a network has it.
 */
#ifndef SOLVERS_LAYER_H
#define SOLVERS_LAYER_H

#include "solvers/problem.h"

struct layer {
    char *name;       /* may be "" */
    int multiplicity; /* how often the network runs it */
    struct problem problem;
};

#endif
