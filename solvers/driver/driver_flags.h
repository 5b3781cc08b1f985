/*
 * The flags of MIOpenDriver's convolution command (FORMATS.md 2) and of
 * rocMLIR's generator, and their values as one line gives them. Internal to
 * the room.
 */
#ifndef SOLVERS_DRIVER_DRIVER_FLAGS_H
#define SOLVERS_DRIVER_DRIVER_FLAGS_H

#include "solvers/problem/problem.h"

enum driver_number {
    NUMBER_BATCH,
    NUMBER_IN_CHANNELS,
    NUMBER_OUT_CHANNELS,
    NUMBER_IN_D, /* from here to dilation: d, h, w in the order of enum axis */
    NUMBER_IN_H,
    NUMBER_IN_W,
    NUMBER_FIL_D,
    NUMBER_FIL_H,
    NUMBER_FIL_W,
    NUMBER_PAD_D,
    NUMBER_PAD_H,
    NUMBER_PAD_W,
    NUMBER_STRIDE_D,
    NUMBER_STRIDE_H,
    NUMBER_STRIDE_W,
    NUMBER_DILATION_D,
    NUMBER_DILATION_H,
    NUMBER_DILATION_W,
    NUMBER_OUTPUT_PAD_D,
    NUMBER_OUTPUT_PAD_H,
    NUMBER_OUTPUT_PAD_W,
    NUMBER_GROUPS,
    NUMBER_FORW,
    NUMBER_SPATIAL_DIM,
    NUMBER_BIAS,
    NUMBER_TENSOR_VECT,
    NUMBER_VECTOR_LENGTH,
};
#define NUMBER_COUNT (NUMBER_VECTOR_LENGTH + 1)

enum driver_text {
    TEXT_MODE,
    TEXT_PAD_MODE,
    TEXT_IN_LAYOUT, /* the layouts and casts in the order of enum tensor_role */
    TEXT_FIL_LAYOUT,
    TEXT_OUT_LAYOUT,
    TEXT_IN_CAST,
    TEXT_WEI_CAST,
    TEXT_OUT_CAST,
    TEXT_TIME,      /* a number for MIOpenDriver, a data type in rocMLIR's lists */
    TEXT_OPERATION, /* rocMLIR's: the direction */
};
#define TEXT_COUNT (TEXT_OPERATION + 1)
#define TEXT_SIZE  24

enum driver_flag_kind { FLAG_NUMBER, FLAG_TEXT, FLAG_IGNORED };

struct driver_flag {
    char letter;      /* 0 where there is no short form */
    const char *name; /* without its dashes */
    enum driver_flag_kind kind;
    int index;       /* enum driver_number or driver_text */
    int64_t initial; /* of a number */
};

/* What one line says. A text that does not fit TEXT_SIZE is cut off, which no known value is. */
struct driver_values {
    int64_t numbers[NUMBER_COUNT];
    char texts[TEXT_COUNT][TEXT_SIZE]; /* "" where the flag is absent */
    bool has_forw;
};

void driver_values_init(struct driver_values *values);

/* The flag that a word such as "-n" or "--batchsize" names, NULL when there is none. */
const struct driver_flag *driver_flag_find(const char *word, size_t length);
/* The long form's name ("batchsize") of a number, as MIOpenDriver spells it. */
const char *driver_number_name(enum driver_number number);

/* Sets the value that a flag other than FLAG_IGNORED takes. False when a number has no digits.
 * Numbers are read as atoi does ("1." is 1); those that do not fit 32 bits become the nearest one
 * that is out of every field's range, so that sums and products of them fit 64 bits. */
bool driver_values_set(struct driver_values *values, const struct driver_flag *flag,
                       const char *word, size_t length);

/* The problems the values mean, one a direction in the order F, B, W, into problems. type is the
 * command word's data type and directions the bit mask to take where -F is absent (0: all three).
 * Returns their count; 0 with *error set (SOLVERS_ERROR_INVALID) when there is none. */
int driver_values_problems(const struct driver_values *values, enum data_type type, int directions,
                           struct problem problems[DIRECTION_COUNT], GError **error);

/* The layout that a flag's value names, rocMLIR's spelling with group dimensions ("NGC01", "gkcyx")
 * included; vector_length 1, 4 or 8. SOLVERS_ERROR_INVALID otherwise. */
bool driver_layout_parse(const char *given, enum tensor_role role, int spatial_dim, int64_t groups,
                         int vector_length, enum layout *layout, GError **error);

#endif
