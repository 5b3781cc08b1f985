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
    FIELD_LAYOUT = FIELD_CAST + TENSOR_COUNT,        /* enum layout, in two dimensions */
    FIELD_TENSOR_VECT = FIELD_LAYOUT + TENSOR_COUNT, /* 0 or 1 */
    FIELD_VECTOR_LENGTH,
    FIELD_BIAS,       /* 0 or 1 */
    FIELD_DIRECTIONS, /* a set, 1 << enum direction */
    FIELD_COUNT,
};

enum layer_pad_mode { PAD_MODE_SAME, PAD_MODE_VALID };

/* How a column's cells are read. */
enum column_kind {
    COLUMN_NUMBER,        /* a number: its field */
    COLUMN_FLAG,          /* yes or no: its field is 1 or 0 */
    COLUMN_SIZES,         /* one number for all axes, or one an axis: its field is the first */
    COLUMN_SHAPE,         /* the same, or with channels, or with batch size and channels */
    COLUMN_TYPE,          /* a data type, or the kind of layer */
    COLUMN_CAST,          /* a data type */
    COLUMN_LAYOUT,        /* a layout; its field is of one tensor */
    COLUMN_MEMORY_FORMAT, /* PyTorch's word for a layout, which changes no order of sizes */
    COLUMN_OPERATOR,      /* the kind of layer */
    COLUMN_PAD_MODE,
    COLUMN_DIRECTION, /* letters or words */
    COLUMN_FORW,      /* MIOpenDriver's bit mask */
    COLUMN_NETWORK,
    COLUMN_LAYER,   /* the layer's name */
    COLUMN_NOTHING, /* nothing of the problem */
};

struct layer_column {
    const char *name;    /* ours */
    const char *aliases; /* other names, joined by spaces; the words of a name by '_' */
    enum column_kind kind;
    int field;           /* enum layer_field where the kind has one */
    const char *meaning; /* for people */
};

/* A header's cell. */
struct header_cell {
    char *name;                        /* as the file has it, in UTF-8 */
    const struct layer_column *column; /* NULL for a column without a name */
};

struct layer_header {
    int width;
    struct header_cell *cells;
};

/* Counts the names that are columns of a layer's problem: a line with enough of them is a header. */
int layer_names_known(const char *const *names, int count);

/* Understands a header. False with EXPORT_ERROR_KIND when a column is not understood or may mean several
 * things, or a needed one is not there: the message names all of them, and for each what may be meant.
 * Clear *header after failure, too. */
bool layer_header_init(struct layer_header *header, const char *const *names, int count,
                       GError **error);
void layer_header_clear(struct layer_header *header);

/* All columns as text for a terminal, and as a table in Markdown. Free with g_free(). */
char *layer_columns_help(void);
char *layer_columns_markdown(void);

#endif
