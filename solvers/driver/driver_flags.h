/*
 * The flags of MIOpenDriver's commands for convolutions and for fused convolutions, and of rocMLIR's generator
 * (FORMATS.md, "Driver lines"), and the values that one line gives them. Internal to this folder.
 */
#ifndef SOLVERS_DRIVER_DRIVER_FLAGS_H
#define SOLVERS_DRIVER_DRIVER_FLAGS_H

#include "solvers/problem/problem.h"

enum driver_number {
    NUMBER_BATCH,
    NUMBER_IN_CHANNELS,
    NUMBER_OUT_CHANNELS,
    NUMBER_IN_D, /* three numbers each (d h w, as in enum axis) from here to the output padding */
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
    NUMBER_FUSION_MODE, /* from here on: of the command CBAInfer alone */
    NUMBER_ACTIVATION_MODE,
    NUMBER_NORM_MODE,
};
#define NUMBER_COUNT (NUMBER_NORM_MODE + 1)

/* Parameters of the activation. */
enum driver_real { REAL_ALPHA, REAL_BETA, REAL_GAMMA };
#define REAL_COUNT (REAL_GAMMA + 1)

enum driver_text {
    TEXT_MODE,
    TEXT_PAD_MODE,
    TEXT_IN_LAYOUT, /* three texts each (as in enum tensor_role) for layouts and casts */
    TEXT_FIL_LAYOUT,
    TEXT_OUT_LAYOUT,
    TEXT_IN_CAST,
    TEXT_WEI_CAST,
    TEXT_OUT_CAST,
    TEXT_TIME,      /* -t: MIOpenDriver gives a number (timing), rocMLIR a data type */
    TEXT_OPERATION, /* rocMLIR only: the direction */
};
#define TEXT_COUNT (TEXT_OPERATION + 1)
#define TEXT_SIZE  24

enum driver_flag_kind { FLAG_NUMBER, FLAG_TEXT, FLAG_REAL, FLAG_IGNORED };

struct driver_flag {
    char letter;      /* the short form's letter, 0 for a flag without a short form */
    const char *name; /* without dashes */
    enum driver_flag_kind kind;
    int index; /* the value that the flag sets: an enum driver_number, driver_text or driver_real */
    int64_t initial; /* the number's or real's value where the line has no such flag */
};

/* The values of one line. Longer texts are cut off at TEXT_SIZE, where no known value reaches. */
struct driver_values {
    int64_t numbers[NUMBER_COUNT];
    char texts[TEXT_COUNT][TEXT_SIZE]; /* "" where the line has no such flag */
    double reals[REAL_COUNT];
    bool has_forw;
    bool fused; /* the command is CBAInfer, in which some letters have other meanings */
};

/* fused: whether the command is CBAInfer. */
void driver_values_init(struct driver_values *values, bool fused);

/* The flag of a word such as "-n" or "--batchsize", NULL for an unknown one. */
const struct driver_flag *driver_flag_find(const char *word, size_t length, bool fused);
/* The long name of a number's flag, as MIOpenDriver spells it ("batchsize"). */
const char *driver_number_name(enum driver_number number);

/* Sets a flag's value; not for FLAG_IGNORED. False for a number without digits. Numbers are read as atoi does
 * ("1." is 1). A number beyond 32 bits becomes the nearest one outside every field's range, so that sums and
 * products still fit 64 bits. */
bool driver_values_set(struct driver_values *values, const struct driver_flag *flag,
                       const char *word, size_t length);

/* Sets the epilogue that the values of CBAInfer mean, and *only_norm if they mean a batch norm without a convolution.
 * False with SOLVERS_ERROR_INVALID for what no epilogue says. */
bool driver_values_epilogue(const struct driver_values *values, char epilogue[EPILOGUE_MAX],
                            bool *only_norm, GError **error);

/* Writes the problems that the values mean, in the order F, B, W, and returns their count. `type` is the
 * command word's data type; `directions` the bit mask where -F is absent (0: all three). 0 and
 * SOLVERS_ERROR_INVALID where the values mean no problem. */
int driver_values_problems(const struct driver_values *values, enum data_type type, int directions,
                           struct problem problems[DIRECTION_COUNT], GError **error);

/* The layout of a flag's value, with rocMLIR's names that have group dimensions ("NGC01", "gkcyx"). vector_length is
 * the channel block, 1, 4 or 8. SOLVERS_ERROR_INVALID for an unknown layout or block. */
bool driver_layout_parse(const char *given, enum tensor_role role, int spatial_dim, int64_t groups,
                         int vector_length, enum layout *layout, GError **error);

#endif
