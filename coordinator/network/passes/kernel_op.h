/*
 * Kernels: operators that one problem does. Lowering makes kernels of ONNX's operators, fuse.c fuses them, and the plan
 * builder turns them into steps. Each kind of problem has a row. A node has KERNEL_INPUTS inputs by role (those that it
 * does not have are NULL), one output, and attributes that struct kernel holds decoded:
 *
 *   conv       x is [N, C, (D,) H, W], w [K, C/groups, (D,) H, W]. Transposed: w [C, K/groups, (D,) H, W]
 *   pool, resize  x is [N, C, (D,) H, W]; `out` is the output's size in space
 *   pointwise  x has any rank; channels are axis 1
 *   softmax, lrn  x is [N, C, (D,) H, W]; over channels
 *
 * The residual has the output's dimensions, by a broadcast view if it must. Bias and scales are constants of one axis.
 */
#ifndef COORDINATOR_NETWORK_PASSES_KERNEL_OP_H
#define COORDINATOR_NETWORK_PASSES_KERNEL_OP_H

#include "coordinator/network/graph.h"
#include "solvers/problem/epilogue.h"

enum kernel_input {
    KERNEL_X,
    KERNEL_W,
    KERNEL_BIAS,
    KERNEL_RESIDUAL,
    KERNEL_SCALES,
    KERNEL_INPUTS,
};

struct kernel {
    enum op_kind kind;
    bool is_transposed; /* conv */
    enum element_type
        type; /* of the output; ELEMENT_NONE: that of x, INT32 for a convolution of INT8 */
    char mode[OP_MODE_MAX];  /* as in struct problem */
    int64_t groups;          /* conv */
    int64_t fil[AXIS_COUNT]; /* pool; a convolution's is that of w */
    int64_t pad[AXIS_COUNT], stride[AXIS_COUNT], dilation[AXIS_COUNT]; /* conv, pool */
    int64_t out[AXIS_COUNT];                                           /* conv, pool, resize */
    struct epilogue epilogue; /* type and layout of the residual are not used: its value has them */
    /* The layout in which x, w and y are stored. For tensors in 3D it means the 3D layout of the same order. */
    enum layout layout;
};

/*
 * Operators that move elements and compute nothing. The plan builder turns them into places inside other buffers, and
 * into copies where a place is not enough.
 *   op_join   the inputs one behind the other along "axis" (int)
 *   op_part   the elements "begin" + i * "step" of its input, "dims" of them along each axis (all ints)
 *   op_border its input with "before" and "after" (ints) elements of "value" (float) around it along each axis
 */
extern const struct op op_join, op_part, op_border;

/* The row of a kind. */
const struct op *kernel_op(enum op_kind kind);
bool node_is_kernel(const struct node *node);
bool node_is_kernel_of(const struct node *node, enum op_kind kind);

/* A kernel with neutral fields. */
void kernel_init(struct kernel *kernel, enum op_kind kind);
void kernel_read(const struct node *node, struct kernel *kernel); /* of a kernel's node */
/* New attributes; `nodes` are the names of the model's nodes that it does, ending with NULL. */
struct attributes *kernel_attributes(const struct kernel *kernel, const char *const *nodes);
/* Replaces what the node does; its nodes' names stay, those of `more` (may be NULL) are added. */
void kernel_write(struct node *node, const struct kernel *kernel, const char *const *more);
/* The names of the model's nodes that it does, ending with NULL. Owned by the node. */
const char *const *kernel_nodes(const struct node *node);

/* Adds a step; false if there are too many, or the epilogue then breaks a rule of epilogue.h or is too long. */
bool epilogue_add(struct epilogue *epilogue, enum epilogue_op op, double a, double b,
                  bool per_channel);
/* Appends all steps of `more`; false as above, and `epilogue` is then unchanged. */
bool epilogue_append(struct epilogue *epilogue, const struct epilogue *more);

/* Adds a node named `name` that computes the kernel from its inputs by role, before `before`. Returns its output. */
struct value *kernel_add(struct graph *graph, const char *name, const struct kernel *kernel,
                         const char *const *nodes, struct value *const inputs[KERNEL_INPUTS],
                         struct node *before);

/* The memory order of axes that a layout means for tensors of this rank (3 to 5), as shape_set_ordered() takes it. Ranks
 * below 3 have one order. False for blocked layouts. */
bool layout_order(enum layout layout, int rank, int order[SHAPE_MAX_RANK]);

/* Sets the problem of a kernel whose tensors are stored as `shapes` say, by role (X: the input, Y: the output, also
 * where it is transposed; NULL for those it lacks), with types and strides. NETWORK_ERROR_UNSUPPORTED says what no
 * problem can express; NETWORK_ERROR_INVALID comes from problem_validate(). For a transposed convolution the roles of x
 * and y in the problem are exchanged: it reads y and writes x. */
bool kernel_problem(const struct kernel *kernel, const struct shape *const shapes[STRIDED_COUNT],
                    struct problem *problem, GError **error);

#endif
