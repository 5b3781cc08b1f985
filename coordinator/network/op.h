/*
 * Operators. An operator is a row: how many inputs and outputs it has, how its outputs' shapes follow from its inputs,
 * which strides and types it reads and writes itself, and, for an operator that only looks at a tensor in another way,
 * which view it is. Nodes point at rows; rows are const and live for ever.
 *
 * Tables of rows: core_ops (core_ops.c) and that of ONNX's operators (onnx/). Names of the core's rows are in lower
 * case, those of ONNX as ONNX spells them.
 */
#ifndef COORDINATOR_NETWORK_OP_H
#define COORDINATOR_NETWORK_OP_H

#include "coordinator/network/attributes.h"
#include "coordinator/network/tensor.h"

/* A node's operator with what its functions may look at. Pointers belong to the caller. */
struct op_call {
    const struct op *op;
    const char *name; /* the node's, for messages: graph functions put it before every error */
    const struct attributes *attributes; /* may be NULL: all attributes have their defaults */
    int input_count;
    /* each input as the operator sees it (through views), with strides in memory; NULL: omitted */
    const struct shape *const *inputs;
    const struct tensor *const
        *constants; /* contents of inputs that are known, otherwise NULL; may lack data */
    int output_count;
};

/* The strides and types that an operator reads and writes without an instruction in between. Packed tensors of the
 * inferred type need no flag. */
enum op_absorbs {
    OP_READS_ORDER = 1 << 0,     /* any order of axes in memory, dense */
    OP_READS_GAPS = 1 << 1,      /* any strides other than 0 */
    OP_READS_BROADCAST = 1 << 2, /* strides of 0 */
    OP_READS_CAST = 1 << 3,      /* elements stored in another type, converted as they are read */
    OP_WRITES_ORDER = 1 << 4,    /* any order of axes in memory, dense */
    OP_WRITES_CAST = 1 << 5,     /* results converted to another type as they are stored */
};
#define OP_READS_ALL  (OP_READS_ORDER | OP_READS_GAPS | OP_READS_BROADCAST | OP_READS_CAST)
#define OP_WRITES_ALL (OP_WRITES_ORDER | OP_WRITES_CAST)

#define OP_ANY_NUMBER 1000000 /* max_inputs, max_outputs of variadic operators */

struct op {
    const char *name;
    int min_inputs, max_inputs; /* omitted optional inputs between others count, and are NULL */
    int min_outputs, max_outputs;
    unsigned absorbs; /* enum op_absorbs */

    /* Sets outputs[i] for each of call->output_count outputs: type, dimensions and strides (packed, or following an
     * input's with shape_set_following()). All inputs that are not NULL are known. Errors say what is wrong without
     * naming the node. Called again whenever an input's shape, strides or known contents change, so it must be
     * pure. */
    bool (*infer)(const struct op_call *call, struct shape *outputs, GError **error);

    /* NULL, or computes contents of outputs that are known now: of small tensors (shapes and indices), since it runs
     * in each inference. Sets constants[i] to a new tensor with the shape outputs[i], or leaves it NULL. */
    bool (*fold)(const struct op_call *call, const struct shape *outputs, struct tensor **constants,
                 GError **error);

    /* NULL, or the operator moves no element: its only output that has users is input 0 seen through a view. Applies its
     * own step to *view (view_transpose(view, …), …), which arrives as the view that input 0 already is. Returns what
     * the step returns: false if the two do not compose. `output` is the shape that infer()
     * gave. */
    bool (*view)(const struct op_call *call, const struct shape *output, struct view *view);

    /* NULL, or the exact answer for an input, in the place of the OP_READS flags: whether the operator reads input
     * `input` stored as `stored` (strides and type in memory), seen as call->inputs[input]. It is not asked about packed
     * tensors of the type that is seen: every operator reads those. */
    bool (*reads)(const struct op_call *call, int input, const struct shape *stored);
};

/* Whether the operator reads this input without an instruction in between. */
bool op_reads(const struct op_call *call, int input, const struct shape *stored);

/* ---- Rows of the core. */

extern const struct op op_copy;      /* packs the elements of a view that no operator absorbs */
extern const struct op op_transpose; /* "perm" (ints) */
extern const struct op op_cast;      /* "to" (int: enum element_type) */
extern const struct op op_broadcast; /* "dims" (ints) */
extern const struct op op_reshape;   /* "dims" (ints), one of which may be -1 */
/* An operator without a row: "op" (string) is its name, "reason" (string, optional) says more. Its inference fails with
 * NETWORK_ERROR_UNSUPPORTED; nodes that do not depend on it resolve. Any number of inputs and outputs. */
extern const struct op op_unknown;

/* For rows of other tables. */
bool op_view_identity(const struct op_call *call, const struct shape *output, struct view *view);
bool op_view_reshape(const struct op_call *call, const struct shape *output,
                     struct view *view); /* to output's dims */
bool op_view_broadcast(const struct op_call *call, const struct shape *output,
                       struct view *view); /* to output's dims */
bool op_view_cast(const struct op_call *call, const struct shape *output,
                  struct view *view); /* to output's type */
/* by "perm"; without it the axes are reversed */
bool op_view_transpose(const struct op_call *call, const struct shape *output, struct view *view);
bool op_infer_same(const struct op_call *call, struct shape *outputs,
                   GError **error); /* output 0 is like input 0 */
bool op_infer_transpose(const struct op_call *call, struct shape *outputs,
                        GError **error); /* by "perm" */

#endif
