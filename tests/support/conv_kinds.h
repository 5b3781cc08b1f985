/*
 * Random convolutions of the kinds that solvers are made for, small enough for a CPU to compute at
 * once, in every combination of direction, layouts and types (a cell). A solver's claims are found by
 * asking it about many problems of each cell.
 */
#ifndef TESTS_SUPPORT_CONV_KINDS_H
#define TESTS_SUPPORT_CONV_KINDS_H

#include "solvers/framework/solver.h"

struct conv_cell {
    enum direction direction;
    enum layout layout[TENSOR_COUNT];
    enum data_type type[TENSOR_COUNT];
};

/* Each direction with each layout (all tensors the same, or mixed ones in FP32) and each type (all
 * tensors the same, INT8 with an INT32 output, or mixed ones in NCHW). */
int conv_cell_count(void);
void conv_cell_at(int index, struct conv_cell *cell);
bool conv_cell_is_3d(const struct conv_cell *cell);
/* "F NCHW FP32", or with three layouts or types joined by dashes where they differ. */
#define CONV_CELL_NAME_MAX 96
const char *conv_cell_name(const struct conv_cell *cell, char buffer[CONV_CELL_NAME_MAX]);

/* 1x1, 3x3, depthwise, large filters, ...; fewer than 32. */
int conv_kind_count(void);
const char *conv_kind_name(int kind);

enum conv_sizes {
    SIZES_ODD,   /* batch, channels and positions are odd where the kind allows it */
    SIZES_ANY,   /* whatever comes */
    SIZES_WHOLE, /* channels are multiples of 16, positions of 8 */
};
#define CONV_SIZES_COUNT (SIZES_WHOLE + 1)

/* A valid problem of that kind, mostly of at most `most_macs` multiply-accumulates. Every fourth has
 * many channels, another many filters, another many positions: more than a tile holds. */
void conv_kind_problem(GRand *random, int kind, enum conv_sizes sizes, const struct conv_cell *cell,
                       double most_macs, struct problem *p);

/* The kinds, a bit each, of which the solver serves some problem of the cell under any of the
 * contexts. Few channels are asked about where no other kind is served. */
unsigned conv_kinds_served(const struct solver *solver, const struct conv_cell *cell,
                           const struct context *contexts, int context_count);

#endif
