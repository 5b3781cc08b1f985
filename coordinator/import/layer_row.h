/*
 * A row of a layer table: the values of its cells, and the problems that it describes. Columns
 * for the same value must agree; a cell that may mean two things is an error.
 */
#ifndef COORDINATOR_IMPORT_LAYER_ROW_H
#define COORDINATOR_IMPORT_LAYER_ROW_H

#include "coordinator/import/import.h"
#include "coordinator/import/layer_columns.h"

struct layer_row {
    const struct layer_header *header;
    const char *const *cells;    /* the row's cells, as many as the header has */
    int64_t values[FIELD_COUNT]; /* the value of each field; valid if said_by is not 0 */
    /* for each field the index of the cell that gave it, + 1; 0 if none did */
    int said_by[FIELD_COUNT];
    const char *network, *name; /* names of the network and of the layer; "" if the row has none */
    int network_cell;           /* index of the cell with the network's name */
    const char *facts[FACT_COUNT]; /* what the row states of its network; NULL for nothing */
    /* dimensions of the problem: 2 also for a 1D layer, which becomes a 2D one of height 1 */
    int spatial_dim;
    bool one_axis; /* a 1D layer */
};

/* Reads the cells, which must outlive *row. Returns false with EXPORT_ERROR_SYNTAX, which names the column and what it
 * takes; only row->network and row->network_cell are valid then. The layout in the options decides the order of a
 * shape's sizes if no column does. */
bool layer_row_read(const struct layer_header *header, const char *const *cells,
                    const struct import_options *options, struct layer_row *row, GError **error);

/* Returns false with EXPORT_ERROR_KIND when the row's batch size, data type or layout contradicts
 * the options. */
bool layer_row_suits(const struct layer_row *row, const struct import_options *options,
                     GError **error);

/* The row's problems: one a direction, batch size and data type. An array of struct problem, empty where
 * the row has other directions than the options; NULL with EXPORT_ERROR_SYNTAX or
 * SOLVERS_ERROR_INVALID. */
GArray *layer_row_problems(const struct layer_row *row, const struct import_options *options,
                           GError **error);

int64_t layer_row_multiplicity(const struct layer_row *row);
/* Inputs of the layer for each image of the batch. */
int64_t layer_row_per_image(const struct layer_row *row);

#endif
