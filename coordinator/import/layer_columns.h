/*
 * The columns of layer tables: what a header may call them, and what each says of a layer. One
 * table of columns serves reading, `skipjack import --help` and LAYER_TABLES.md. A header with a
 * column that is not understood is refused: ignoring the column might mean another network.
 *
 * Names are compared without case and without the characters that join words ("Kernel Size",
 * "kernel-size" and "KERNEL_SIZE" are one).
 */
#ifndef COORDINATOR_IMPORT_LAYER_COLUMNS_H
#define COORDINATOR_IMPORT_LAYER_COLUMNS_H

#include "export/formats/export_error.h"
#include "solvers/problem/problem.h"

/* The numbers that a row gives for its layer. A field with an axis is followed by those of the next two axes, in
 * the order of enum axis; layouts and casts follow enum tensor_role. */
enum layer_field {
    FIELD_DIMENSIONS, /* 1, 2 or 3 */
    FIELD_N,
    FIELD_PER_IMAGE, /* inputs of the layer for each image of the batch */
    FIELD_C,
    FIELD_K,
    FIELD_GROUPS,
    FIELD_DEPTH_MULTIPLIER,
    FIELD_MULTIPLICITY,
    FIELD_IN,
    FIELD_FIL = FIELD_IN + AXIS_COUNT,
    FIELD_PAD = FIELD_FIL + AXIS_COUNT,
    FIELD_STRIDE = FIELD_PAD + AXIS_COUNT,
    FIELD_DILATION = FIELD_STRIDE + AXIS_COUNT,
    FIELD_OUTPUT_PAD = FIELD_DILATION + AXIS_COUNT,
    FIELD_OUT = FIELD_OUTPUT_PAD + AXIS_COUNT,
    FIELD_PAD_MODE = FIELD_OUT + AXIS_COUNT, /* enum layer_pad_mode */
    FIELD_TRANSPOSED,                        /* 0 or 1 */
    FIELD_DEPTHWISE,                         /* 1 */
    FIELD_GROUPED,                           /* 1 */
    FIELD_POINTWISE,                         /* 1 */
    FIELD_TYPE,                              /* enum data_type */
    FIELD_CAST,
    FIELD_LAYOUT = FIELD_CAST + TENSOR_COUNT,        /* enum layout of a 2D tensor */
    FIELD_TENSOR_VECT = FIELD_LAYOUT + TENSOR_COUNT, /* 0 or 1 */
    FIELD_VECTOR_LENGTH,
    FIELD_BIAS,       /* 0 or 1 */
    FIELD_DIRECTIONS, /* a set of directions, in which direction d is the bit 1 << d */
    FIELD_COUNT,
};

enum layer_pad_mode { PAD_MODE_SAME, PAD_MODE_VALID };

/* How a column's cells are read. */
enum column_kind {
    COLUMN_NUMBER, /* a number; `field` receives it */
    COLUMN_FLAG,   /* yes or no; `field` becomes 1 or 0 */
    /* one number for all axes, or one for each axis; `field` is that of the first axis */
    COLUMN_SIZES,
    /* like COLUMN_SIZES, or also the channels, or also batch size and channels */
    COLUMN_SHAPE,
    COLUMN_TYPE,   /* a data type; some tables have the kind of layer here */
    COLUMN_CAST,   /* a data type */
    COLUMN_LAYOUT, /* a layout; `field` says of which tensor */
    /* PyTorch's memory format: states a layout, and does not change the order of sizes */
    COLUMN_MEMORY_FORMAT,
    COLUMN_OPERATOR, /* the kind of layer ("Conv2d", "depthwise") */
    COLUMN_PAD_MODE,
    COLUMN_DIRECTION, /* a set of directions as letters or words */
    COLUMN_FORW,      /* directions as MIOpenDriver's bit mask */
    COLUMN_NETWORK,
    COLUMN_FACT,    /* a fact of the network; `field` is an enum network_fact */
    COLUMN_LAYER,   /* name of the layer */
    COLUMN_NOTHING, /* ignored: it says nothing about the problem */
};

struct layer_column {
    const char *name;    /* ours */
    const char *aliases; /* other names, separated by spaces; in a name '_' joins words */
    enum column_kind kind;
    int field;           /* the enum layer_field that the column gives, if its kind has one */
    const char *meaning; /* for people */
};

/* A header's cell. */
struct header_cell {
    char *name; /* the name as the file has it, in UTF-8 */
    /* the column that the name means; NULL for a column without a name */
    const struct layer_column *column;
};

struct layer_header {
    int width;
    struct header_cell *cells;
};

/* Returns how many of the names are columns that describe a problem: a line with enough of them is
 * a header. */
int layer_names_known(const char *const *names, int count);

/* Interprets a header. False with EXPORT_ERROR_KIND if a column is unknown or has several
 * possible meanings, or if a needed column is missing: the message names every such column with
 * suggestions. Clear *header after failure, too. */
bool layer_header_init(struct layer_header *header, const char *const *names, int count,
                       GError **error);
void layer_header_clear(struct layer_header *header);

/* All columns as text for a terminal, and as a table in Markdown. Free with g_free(). */
char *layer_columns_help(void);
char *layer_columns_markdown(void);

#endif
