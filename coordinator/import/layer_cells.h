/*
 * Reads the values in the cells of a layer table.
 */
#ifndef COORDINATOR_IMPORT_LAYER_CELLS_H
#define COORDINATOR_IMPORT_LAYER_CELLS_H

#include "export/formats/export_error.h"

/* Returns true for a cell without a value: empty, or "NaN", "None", "-". */
bool cell_is_empty(const char *text);

/* Reads a whole number from 0 to 2^31-1; "3.0" is 3, as pandas writes it. EXPORT_ERROR_SYNTAX says
 * what is wrong with the text. */
bool cell_number(const char *text, int64_t *value, GError **error);

/* Reads yes/no, true/false, y/n, t/f or 1/0, in any case, as 1 or 0. Returns false for other texts. */
bool cell_flag(const char *text, int64_t *value);

/* Sizes of several axes: "3", "3x3", "(3, 3)", "[1, 64, 56, 56]", "torch.Size([3, 3])". A size that is not
 * known ("None", "-1", "?") is -1. cell_sizes() returns false with EXPORT_ERROR_SYNTAX for other texts, and for more
 * than CELL_SIZES_MAX sizes. */
#define CELL_SIZES_MAX 6
struct cell_sizes {
    int64_t values[CELL_SIZES_MAX];
    int count;
};
bool cell_sizes(const char *text, struct cell_sizes *sizes, GError **error);

/* Reads a set of directions, in which direction d is the bit 1 << d: "FBW", "fwd", "bwd_data+wrw",
 * "all". Returns 0 for any other text. */
int cell_directions(const char *text);

/* A kind of layer by its name in a framework. */
struct cell_operator {
    int dimensions; /* 0: not said */
    bool transposed, depthwise;
    bool grouped;   /* it has groups, whose number another column states */
    bool pointwise; /* its filter is 1 on every axis */
    int directions; /* 0: not said */
};
/* Returns false with the reason when the name is no convolution, or a kind that no solver
 * computes. */
bool cell_operator(const char *text, struct cell_operator *op, GError **error);
/* Returns true for the name of a convolution, also of a kind that cell_operator() refuses. */
bool cell_is_operator(const char *text);

#endif
