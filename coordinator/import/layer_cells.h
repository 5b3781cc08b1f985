/*
 * The words of a layer table's cells.
 */
#ifndef COORDINATOR_IMPORT_LAYER_CELLS_H
#define COORDINATOR_IMPORT_LAYER_CELLS_H

#include "export/formats/export_error.h"

/* Returns true for a cell without a value: empty, or "NaN", "None", "-". */
bool cell_is_empty(const char *text);

/* A whole number from 0 to 2^31-1; "3.0" is 3, as pandas writes it. EXPORT_ERROR_SYNTAX says what is
 * wrong with it. */
bool cell_number(const char *text, int64_t *value, GError **error);

/* yes/no, true/false, 1/0. */
bool cell_flag(const char *text, int64_t *value);

/* Sizes of several axes: "3", "3x3", "(3, 3)", "[1, 64, 56, 56]", "torch.Size([3, 3])". A size that is not
 * known ("None", "-1", "?") is -1. */
#define CELL_SIZES_MAX 6
struct cell_sizes {
    int64_t values[CELL_SIZES_MAX];
    int count;
};
bool cell_sizes(const char *text, struct cell_sizes *sizes, GError **error);

/* The set of directions (1 << enum direction) of "FBW", "fwd", "bwd_data+wrw", "all"; 0 for anything
 * else. */
int cell_directions(const char *text);

/* A kind of layer by its name in a framework. */
struct cell_operator {
    int dimensions; /* 0: not said */
    bool transposed, depthwise;
    bool grouped;   /* other columns say in how many groups */
    bool pointwise; /* its filter is 1 on every axis */
    int directions; /* 0: not said */
};
/* Returns false with the reason when the name is no convolution, or a kind that no solver
 * computes. */
bool cell_operator(const char *text, struct cell_operator *op, GError **error);
/* True for a word of cell_operator() that is a convolution. */
bool cell_is_operator(const char *text);

#endif
