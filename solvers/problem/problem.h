/*
 * A problem is what a kernel computes: an operator kind, its fields with the direction, the strides of tensors
 * that are not packed, and an optional epilogue. Fields are always in forward terms, whatever the direction: x is
 * the forward input, w the filter, y the forward output. Backward data (B) computes x from y and w; backward
 * weights (W) computes w from x and y. A transposed convolution is not a kind of its own:
 * problem_from_transposed() gives the mirrored convolution that equals it. A matrix product is a convolution,
 * too: its rows are the batch, and all its sizes in space are 1.
 *
 * All functions are pure: no I/O, and no allocation unless a comment says so.
 */
#ifndef SOLVERS_PROBLEM_PROBLEM_H
#define SOLVERS_PROBLEM_PROBLEM_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#define SOLVERS_ERROR (solvers_error_quark())
GQuark solvers_error_quark(void);

enum solvers_error {
    SOLVERS_ERROR_SYNTAX, /* A text form does not follow its grammar. */
    /* The fields of a problem, target or solution contradict each other or their ranges. */
    SOLVERS_ERROR_INVALID,
    SOLVERS_ERROR_NOT_APPLICABLE, /* A solver does not serve the problem. */
    SOLVERS_ERROR_CONFIG,         /* A perf config is not in the solver's space. */
    SOLVERS_ERROR_UNKNOWN,        /* No solver, target or layout has that name. */
};

/*
 * The operators. All but OP_CONV have the direction F, groups 1, k = c, no w (its type and layout are those of x) and
 * no bias flag; `mode` holds their own parameters as text:
 *
 *   kind          y is                                                  fields          mode
 *   OP_CONV       the convolution of x and w                            all             "" or "TF32": see below
 *   OP_POOL       the largest or the mean of each window of x           all but w       "max", "average" (without the
 *                                                                                       padding), "average_all" (the
 *                                                                                       padding counts as zeros)
 *   OP_POINTWISE  x, each element by itself: the epilogue says what     out = in        ""
 *                 is done; types, layouts and strides may differ
 *   OP_SOFTMAX    the softmax of x over its channels                    out = in        "" or "log"
 *   OP_RESIZE     x in another size                                     in, out         "nearest" or "linear", then the
 *                                                                                       rules of ONNX's Resize for
 *                                                                                       coordinates and rounding:
 *                                                                                       "nearest,asymmetric,floor"
 *   OP_LRN        x divided by a norm of its neighbouring channels      out = in        "SIZE,ALPHA,BETA,BIAS" as ONNX's
 *                                                                                       LRN
 *
 * A convolution of FP32 tensors whose mode is "TF32" may be computed in TF32: before they are multiplied, its two inputs
 * may be rounded, or cut, to the 10 fraction bits of TF32; sums are FP32. It is a permission, so that each kernel for
 * FP32 serves such a problem, too. Without it nothing is rounded: no kernel that rounds serves the plain FP32 problem.
 *
 * A pool's output may be larger than the formula's, which rounds down: any size whose last window begins inside the
 * input or its padding in front is valid. Elements behind the input's end then count as padding. No window may lie in
 * padding alone.
 */
enum op_kind { OP_CONV, OP_POOL, OP_POINTWISE, OP_SOFTMAX, OP_RESIZE, OP_LRN };
#define OP_KIND_COUNT (OP_LRN + 1)
#define OP_MODE_MAX   48
#define OP_MODE_TF32  "TF32" /* of a convolution */

enum direction { DIRECTION_F, DIRECTION_B, DIRECTION_W };
#define DIRECTION_COUNT 3

enum data_type {
    TYPE_NONE, /* only in cast[]: the tensor is not cast */
    TYPE_FP32,
    TYPE_FP16,
    TYPE_BF16,
    TYPE_INT8,
    TYPE_INT32,
    TYPE_FP64,
    TYPE_FP8, /* E4M3; see struct problem's fnuz */
    TYPE_BF8, /* E5M2 */
    /* The FNUZ forms of FP8 and BF8, as which problem_operand_type() gives them. No field of a problem holds them, and no
     * key names them. */
    TYPE_FP8_FNUZ,
    TYPE_BF8_FNUZ,
};
#define DATA_TYPE_COUNT   (TYPE_BF8 + 1) /* the types that a problem's fields may have */
#define STORED_TYPE_COUNT (TYPE_BF8_FNUZ + 1)

/* The order of a packed tensor's axes, outermost first. Filters have K in the place of N. */
enum layout {
    LAYOUT_NCHW,
    LAYOUT_NHWC,
    LAYOUT_CHWN,
    LAYOUT_NCHWC4, /* channels in blocks of 4, the block innermost */
    LAYOUT_NCHWC8,
    LAYOUT_CHWNC4,
    LAYOUT_CHWNC8,
    LAYOUT_NCDHW,
    LAYOUT_NDHWC,
};
#define LAYOUT_COUNT (LAYOUT_NDHWC + 1)

/* Index of a spatial axis. 2D problems have in, fil, out, stride and dilation 1 and pad 0 on AXIS_D. */
enum axis { AXIS_D, AXIS_H, AXIS_W };
#define AXIS_COUNT 3

/*
 * The operands of a problem by their role. Each problem has x and y, and a convolution has w. The steps of the epilogue
 * (epilogue.h) say whether there are the others:
 *   TENSOR_RESIDUAL  the second tensor of add, mul, ...: as large as the output
 *   TENSOR_BIAS      one value for each channel of the output: INT32 where x is INT8, else FP32 (FP64 where x is FP64)
 *   TENSOR_SCALES    FP32: one value for each channel of the output, or one for all, and behind them one more by which
 *                    an INT8 residual is multiplied
 *   TENSOR_PACKED    the filter in the order that a solution's config wants (solution.h); no operand of the problem
 */
enum tensor_role {
    TENSOR_X,
    TENSOR_W,
    TENSOR_Y,
    TENSOR_RESIDUAL,
    TENSOR_BIAS,
    TENSOR_SCALES,
    TENSOR_PACKED,
};
#define TENSOR_COUNT  3 /* x, w and y: the tensors whose type and layout are fields of the problem */
#define STRIDED_COUNT 4 /* x, w, y and the residual: the tensors that may be strided */
#define OPERAND_COUNT 7

#define EPILOGUE_MAX 96

struct problem {
    enum op_kind kind;
    enum direction direction;
    int spatial_dim; /* 2 or 3 */
    int64_t n, c, k; /* batch, forward input channels, forward output channels */
    int64_t groups;
    int64_t in[AXIS_COUNT], fil[AXIS_COUNT], out[AXIS_COUNT]; /* elements */
    int64_t pad[AXIS_COUNT], stride[AXIS_COUNT], dilation[AXIS_COUNT];
    enum data_type type[TENSOR_COUNT]; /* stored types of x, w and y, by enum tensor_role */
    /* a tensor's cast type as MIOpen's flags give it; TYPE_NONE: the tensor is not cast */
    enum data_type cast[TENSOR_COUNT];
    enum layout layout[TENSOR_COUNT];
    int bias; /* the bias flag of MIOpen's keys, 0 or 1 */
    /* the epilogue's canonical text ("+bias+clip(0,6)"), "" for none */
    char epilogue[EPILOGUE_MAX];
    char mode[OP_MODE_MAX]; /* the kind's own parameters in canonical form, "" for none */
    /* Strides in elements of a tensor's logical axes (N C D H W; K C D H W for w); all 0: the tensor is packed in its
     * layout's order. An axis of one element has stride 0. 0 on a longer axis repeats the same elements along it, which
     * only the residual may do, and not along all its axes (that would be one number: an affine step). The tensor that
     * the problem writes has no two elements at one place. Set strides with problem_set_strides(), which keeps this
     * form. */
    int64_t strides[STRIDED_COUNT][5];
    /* Whether FP8 and BF8 are in their FNUZ forms, which gfx940 to gfx942 have, and not in those of OCP. The target says so,
     * and no key: false in all problems but those whose numbers are computed (target_set_forms()). */
    bool fnuz;
};

/* Sets a 2D FP32 NCHW forward problem with one 1x1 filter and every other field neutral. */
void problem_init(struct problem *p);

/* Sets out[] from the other fields: (in + 2*pad - dilation*(fil-1) - 1)/stride + 1, rounded down, at least 1 as
 * in MIOpen (FORMATS.md). Call it after setting the fields and before problem_validate(). */
void problem_set_output(struct problem *p);

/* Sets the mirrored convolution of a transposed one. *t holds the transposed convolution's own fields (c and
 * in[] are its input, k its output) and direction; its out[] is ignored. output_pad is that of FORMATS.md.
 * Groups and filter keep their meaning. SOLVERS_ERROR_INVALID where no convolution equals it. */
bool problem_from_transposed(const struct problem *t, const int64_t output_pad[AXIS_COUNT],
                             struct problem *p, GError **error);

/* Whether the dilated filter is longer than the padded input on some axis, so that out[] is 1 there by MIOpen's
 * rule, against the formula. Shipped find-dbs hold such problems; in a list of layers they are almost always a
 * mistake. */
bool problem_is_clamped(const struct problem *p);

/* Whether the fields are consistent; otherwise SOLVERS_ERROR_INVALID with the field, its value and the rule.
 * Checks ranges (1 .. 2^31-1 for sizes), products below 2^63, divisibility by groups, layouts against
 * spatial_dim, types, the epilogue's form, and out[] against the formula. A filter may be longer than the
 * padded input: out[] is then 1, and elements outside count as zero. */
bool problem_validate(const struct problem *p, GError **error);

bool problem_equal(const struct problem *a, const struct problem *b);
guint problem_hash(const struct problem *p);
/* A hash table whose keys are struct problem *, not copied: they must outlive the table. free_value may be NULL. */
GHashTable *problem_table_new(GDestroyNotify free_value);
/* Compares two problems, field by field in declaration order: a total order for sorted output. */
int problem_compare(const struct problem *a, const struct problem *b);

/* Multiply-accumulates of the formula, padding included, equal for all directions: n * k * (c/groups) *
 * prod(fil) * prod(out). For other kinds than OP_CONV c/groups is replaced by 1. */
double problem_macs(const struct problem *p);

/* Whether MIOpen's keys can name the problem: a convolution of packed tensors without epilogue. */
bool problem_has_find_key(const struct problem *p);
/* The first property of a problem that MIOpen's keys cannot name. */
enum find_key_lack { LACK_NONE, LACK_OPERATOR, LACK_STRIDES, LACK_EPILOGUE, LACK_TF32 };
#define FIND_KEY_LACKS (LACK_TF32 + 1)
enum find_key_lack problem_find_key_lack(const struct problem *p);
/* The first property of a problem that a perf-db's row cannot name: the same ones, and TF32 (LACK_TF32), which keys
 * name and rows do not. The row of a problem in TF32 would be that of the plain FP32 problem, so it has none, and a
 * release for MIOpen leaves it out. */
enum find_key_lack problem_perf_row_lack(const struct problem *p);
bool problem_has_perf_row(const struct problem *p);
/* "an operator other than a convolution", "strided tensors", "an epilogue", "computing in TF32"; "" for LACK_NONE.
 * Static. */
const char *find_key_lack_words(enum find_key_lack lack);
/* The same as one word for JSON: "operator", "strides", "epilogue", "tf32"; "" for LACK_NONE. */
const char *find_key_lack_name(enum find_key_lack lack);

/* Whether the problem is a convolution that may be computed in TF32. */
bool problem_is_tf32(const struct problem *p);

/* Whether the problem is a convolution whose two inputs are INT8: its sums are INT32. */
bool problem_sums_int8(const struct problem *p);

/* The type whose peak on a target bounds how fast the problem's products can be computed: that of x. A problem
 * in TF32 has the peak of FP16: its numbers have as many fraction bits, and every unit multiplies them at least as fast. */
enum data_type problem_peak_type(const struct problem *p);

/* Whether the problem has an operand of this role. */
bool problem_has_operand(const struct problem *p, enum tensor_role role);
/* The stored type of an operand, with the form of FP8 and BF8, and the layout in whose order it lies when packed. Bias and
 * scales are lists: their layout is LAYOUT_NCHW with channels alone. */
enum data_type problem_operand_type(const struct problem *p, enum tensor_role role);
/* The type to which a tensor's elements are rounded before they are multiplied, with its form; TYPE_NONE where they are
 * not: the tensor is not cast, or is the one that is written. */
enum data_type problem_cast_type(const struct problem *p, enum tensor_role role);
enum layout problem_operand_layout(const struct problem *p, enum tensor_role role);
/* The sizes of an operand's logical axes, N C D H W (K C D H W for w, with C of one group). Bias and scales are
 * 1 x length x 1 x 1 x 1. All 0 for an operand that the problem lacks. */
void problem_operand_sizes(const struct problem *p, enum tensor_role role, int64_t sizes[5]);

/* Elements and bytes of an operand as if it was packed. NCHWc layouts round channels up to the block. 0 for an operand
 * that the problem lacks. */
int64_t problem_tensor_elements(const struct problem *p, enum tensor_role role);
int64_t problem_tensor_bytes(const struct problem *p, enum tensor_role role);
/* The number of elements from an operand's first to its last in memory: problem_tensor_elements() where it is packed. */
int64_t problem_tensor_span(const struct problem *p, enum tensor_role role);
/* Whether a tensor of the problem is not packed. */
bool problem_is_strided(const struct problem *p);
/* Whether this one is not. */
bool problem_operand_is_strided(const struct problem *p, enum tensor_role role);
/* The tensor that the direction writes: Y for F, X for B, W for W. */
enum tensor_role problem_output_role(const struct problem *p);

/* Packed strides in elements of a tensor's logical axes, in the order N C D H W for x and y, K C D H W for w (C
 * of w is c/groups). In NCHWc layouts strides[1] is the stride from block to block, of problem_layout_block()
 * channels. */
void problem_packed_strides(const struct problem *p, enum tensor_role role, int64_t strides[5]);
/* The same for the operand as the problem has it: its own strides, or the packed ones. */
void problem_strides(const struct problem *p, enum tensor_role role, int64_t strides[5]);
/* Sets a tensor's strides in the form that struct problem asks for: all 0 where they are those of a packed tensor. The
 * sizes, layout and epilogue must be set before. */
void problem_set_strides(struct problem *p, enum tensor_role role, const int64_t strides[5]);
int problem_layout_block(enum layout layout); /* Channels in a block: 1, 4 or 8. */

/* Names as MIOpen spells them ("FP32", "NCHWc4", "F"). The _parse functions take the exact name and return
 * false for anything else. The FNUZ forms are written as "FP8_FNUZ" and "BF8_FNUZ", and not parsed. */
const char *data_type_name(enum data_type type);
bool data_type_parse(const char *name, enum data_type *type);
int data_type_bytes(enum data_type type);
const char *layout_name(enum layout layout);
bool layout_parse(const char *name, enum layout *layout);
const char *op_kind_name(enum op_kind kind); /* "conv", "pool", "pointwise", ... */
bool op_kind_parse(const char *name, enum op_kind *kind);
char direction_letter(enum direction direction);
bool direction_parse(char letter, enum direction *direction);

/* The type that another program's word means, in any case: "half", "torch.float16", "f32", "bfp16", "i8". False for
 * types that enum data_type lacks ("uint8"), and for "tf32", which is a way to compute and no type of a tensor. */
bool data_type_from_word(const char *word, enum data_type *type);
/* Whether the word means TF32, in any case: "TF32", "tfloat32", "tensorfloat32", and AMD's "xf32". */
bool word_is_tf32(const char *word);
/* The layout that another program's word means in this many dimensions: names in any case, "channels_last",
 * "channels_first", and "NCW" and "NWC" (NCHW and NHWC of a 2D problem of height 1). A name of other dimensions
 * means the layout with the same order of axes. */
bool layout_from_word(const char *word, int spatial_dim, enum layout *layout);
/* The layout with the same order of axes in spatial_dim dimensions. False for blocked layouts and CHWN
 * in 3D. */
bool layout_in_dims(enum layout layout, int spatial_dim, enum layout *same);

#endif
