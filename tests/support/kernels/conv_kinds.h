/* Random convolutions of the kinds that solvers are made for, small enough for a CPU to compute at
 * once, in every combination of direction, layouts and types (a cell). The cells that a solver
 * claims are found by asking it about many problems of each cell. */
#ifndef TESTS_SUPPORT_KERNELS_CONV_KINDS_H
#define TESTS_SUPPORT_KERNELS_CONV_KINDS_H

#include "solvers/framework/solver.h"

struct conv_cell {
    enum direction direction;
    enum layout layout[TENSOR_COUNT];
    enum data_type type[TENSOR_COUNT];
    enum data_type cast[TENSOR_COUNT];
    bool tf32; /* FP32 problems that permit computing in TF32 */
};

/* The number of cells: each direction with each layout (all tensors alike, or mixed layouts in
 * FP32) and with each type (all tensors alike, INT8 with an INT32 output, TF32, or mixed types and
 * casts in NCHW). */
int conv_cell_count(void);
void conv_cell_at(int index, struct conv_cell *cell);
bool conv_cell_is_3d(const struct conv_cell *cell);
/* A cell's name is "F NCHW FP32"; layouts or types that differ are joined by dashes, as three
 * names. "INT8" has an INT32 output. No two cells have the same name. */
#define CONV_CELL_NAME_MAX 96
const char *conv_cell_name(const struct conv_cell *cell, char buffer[CONV_CELL_NAME_MAX]);

/* The number of kinds (1x1, 3x3, depthwise, large filters, ...); less than 32, so that a mask has a
 * bit for each. */
int conv_kind_count(void);
const char *conv_kind_name(int kind);

enum conv_sizes {
    SIZES_ODD,   /* batch, channels and positions are odd where the kind allows it */
    SIZES_ANY,   /* whatever comes */
    SIZES_WHOLE, /* channels are multiples of 16, positions of 8 */
};
#define CONV_SIZES_COUNT (SIZES_WHOLE + 1)

/* Makes a valid problem of that kind, usually of at most `most_macs` multiply-accumulates. One
 * problem in four has more channels than a tile, one more filters, one more positions. */
void conv_kind_problem(GRand *random, int kind, enum conv_sizes sizes, const struct conv_cell *cell,
                       double most_macs, struct problem *p);

/* A mask of the kinds (a bit each) of which the solver serves some problem of the cell in any of
 * the contexts. The kind of few channels is tried only where no other kind is served. A cell in TF32
 * counts as served where the solver's default computes in TF32, not in full FP32. */
unsigned conv_kinds_served(const struct solver *solver, const struct conv_cell *cell,
                           const struct context *contexts, int context_count);

#endif
