/*
 * An epilogue is what a kernel does to its output before it stores the output, written as a suffix of the canonical
 * key. It is a list of steps, each begun by '+', which are done in the order of the list on one element v at a time:
 *
 *   +bias                     v + bias[channel]
 *   +scale(channel|tensor)    v * scales[channel], or v * scales[0]
 *   +requant(TYPE,channel|tensor)
 *                             the same as scale, said of an output of the integer TYPE
 *   +add(TYPE,LAYOUT)         v + r, where r is the residual's element at v's place; also
 *   +sub +mul +div +max +min  v - r, v * r, v / r, the greater, the smaller; all with (TYPE,LAYOUT)
 *   +relu                     v < 0 ? 0 : v
 *   +clip(LOW,HIGH)           at least LOW, at most HIGH
 *   +leaky(SLOPE)             v < 0 ? SLOPE * v : v
 *   +prelu                    v < 0 ? scales[channel] * v : v
 *   +elu(ALPHA)               v < 0 ? ALPHA * (exp(v) - 1) : v
 *   +affine(FACTOR,OFFSET)    FACTOR * v + OFFSET
 *   +hardsigmoid(A,B)         A * v + B, at least 0, at most 1
 *   +sigmoid +tanh +exp +sqrt +abs +erf
 *   +silu                     v * sigmoid(v)
 *   +hardswish                v * (v + 3, at least 0, at most 6) / 6
 *   +softplus                 log(1 + exp(v))
 *   +mish                     v * tanh(softplus(v))
 *   +gelu                     v / 2 * (1 + erf(v / sqrt(2)))
 *
 * v begins as the operator's result before it is rounded to the output's type: an FP32 sum, or an INT32 sum where x is
 * INT8. A bias of an INT8 problem is INT32, is the first step and is added in integers (wrapping at 32 bits); then v
 * becomes FP32. A residual of an integer type is multiplied by the last of the scales first, so that both have one
 * unit; without scales it is taken as it is. At the end v is rounded to the output's type: to nearest, ties to even;
 * integer types keep to their range.
 *
 * An epilogue has at most EPILOGUE_STEPS_MAX steps, one bias, one residual, and one step that reads scales. The text is
 * canonical: parsing it and writing it again gives the same bytes.
 */
#ifndef SOLVERS_PROBLEM_EPILOGUE_H
#define SOLVERS_PROBLEM_EPILOGUE_H

#include "solvers/problem/problem.h"

#define EPILOGUE_STEPS_MAX 8

/* The numbers are those of kernels/device/common/epilogue.h, where kernels do the steps. */
enum epilogue_op {
    EPILOGUE_NONE,
    EPILOGUE_BIAS,
    EPILOGUE_SCALE,
    EPILOGUE_REQUANT,
    EPILOGUE_ADD,
    EPILOGUE_SUB,
    EPILOGUE_MUL,
    EPILOGUE_DIV,
    EPILOGUE_GREATER,
    EPILOGUE_SMALLER,
    EPILOGUE_RELU,
    EPILOGUE_CLIP,
    EPILOGUE_LEAKY,
    EPILOGUE_PRELU,
    EPILOGUE_ELU,
    EPILOGUE_AFFINE,
    EPILOGUE_HARDSIGMOID,
    EPILOGUE_SIGMOID,
    EPILOGUE_TANH,
    EPILOGUE_EXP,
    EPILOGUE_SQRT,
    EPILOGUE_ABS,
    EPILOGUE_ERF,
    EPILOGUE_SILU,
    EPILOGUE_HARDSWISH,
    EPILOGUE_SOFTPLUS,
    EPILOGUE_MISH,
    EPILOGUE_GELU,
};

struct epilogue_step {
    enum epilogue_op op;
    double a, b;         /* the numbers in parentheses, in their order; else 0 */
    enum data_type type; /* of the residual, or the type after requant; else TYPE_NONE */
    enum layout layout;  /* of the residual */
    bool per_channel;    /* scale, requant: "channel"; prelu: true */
};

struct epilogue {
    int count;
    struct epilogue_step steps[EPILOGUE_STEPS_MAX];
};

/* Abilities that a solver needs to serve an epilogue: bits of struct solver's `epilogues`. */
enum epilogue_class {
    EPILOGUE_DOES_BIAS = 1,
    EPILOGUE_DOES_ACTIVATION = 2, /* all steps that read no operand */
    EPILOGUE_DOES_RESIDUAL = 4,   /* a residual of the output's layout and strides */
    EPILOGUE_DOES_SCALES = 8,     /* scale, requant, prelu */
    /* a residual of any layout and strides, also one that repeats its elements */
    EPILOGUE_DOES_ANY_RESIDUAL = 16,
};
#define EPILOGUE_DOES_ALL                                                                          \
    (EPILOGUE_DOES_BIAS | EPILOGUE_DOES_ACTIVATION | EPILOGUE_DOES_RESIDUAL | EPILOGUE_DOES_SCALES)

/* Parses the text. SOLVERS_ERROR_SYNTAX names the wrong step. */
bool epilogue_parse(const char *text, struct epilogue *epilogue, GError **error);
/* Writes the canonical text (numbers by "%.9g"). False where it does not fit. */
bool epilogue_print(const struct epilogue *epilogue, char out[EPILOGUE_MAX]);
/* Checks text against the grammar and writes its canonical form into out. "" is the empty epilogue.
 * SOLVERS_ERROR_SYNTAX names the wrong step. */
bool epilogue_canonical(const char *text, char out[EPILOGUE_MAX], GError **error);

/* Whether a step reads the operand: TENSOR_RESIDUAL, TENSOR_BIAS or TENSOR_SCALES. */
bool epilogue_reads(const struct epilogue *epilogue, enum tensor_role role);
/* The step that reads the residual, NULL for none. */
const struct epilogue_step *epilogue_residual(const struct epilogue *epilogue);
/* The length of the scales for an output of so many channels; 0 where no step reads scales. */
int64_t epilogue_scales(const struct epilogue *epilogue, int64_t channels);
/* The classes (enum epilogue_class) of the problem's epilogue, 0 for none. */
unsigned problem_epilogue_classes(const struct problem *p);

/* Whether v begins as an integer: where x is INT8, as the filter of a convolution is, and the operator's result of integers is one (not a mean, a softmax or
 * the like). Then the bias is added in integers; else v begins as FP32, and an INT32 bias is converted. */
bool problem_value_is_integer(const struct problem *p);

/* Writes the classes' names, "bias activation residual scales", or "" for none. */
#define EPILOGUE_CLASSES_MAX 64
const char *epilogue_classes_text(unsigned classes, char out[EPILOGUE_CLASSES_MAX]);

/* Does the steps to v in double precision, for references. bias, residual, scale: the elements for v's place
 * (residual already multiplied by its scale). The result is not rounded to the output's type. */
double epilogue_apply(const struct epilogue *epilogue, double v, double bias, double residual,
                      double scale);

#endif
