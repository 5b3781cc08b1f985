/*
 * The plan of a network: the steps that a device does in order, each of them one problem, and the buffers between
 * them. A plan is made from a resolved graph (plan_builder.h), holds no pointer into it, and is written as JSON with a
 * binary file of weights beside it. worker/pipeline reads these files and nothing else: PLAN.md is the contract.
 *
 * Invariants, which network_plan_validate() checks: a step's problem is valid and of direction F, or B for a
 * transposed convolution, which reads y and writes x; it has an operand
 * for each role that the problem has, and no other; an operand lies inside its buffer; no step writes a constant or an
 * input; each activation is written before it is read; an alias lies inside the buffer that it shows, which is no
 * alias.
 */
#ifndef COORDINATOR_NETWORK_PLAN_NETWORK_PLAN_H
#define COORDINATOR_NETWORK_PLAN_NETWORK_PLAN_H

#include "coordinator/network/shape.h"

#include <jansson.h>

/* The version of the JSON form. */
#define NETWORK_PLAN_VERSION 1

/* Buffers and weights begin at multiples of this many bytes, in the weights' file too. */
#define PLAN_ALIGNMENT         256
/* An operand of a convolution begins at a multiple of so many bytes of its buffer. */
#define PLAN_OPERAND_ALIGNMENT 16

enum plan_buffer_kind {
    PLAN_INPUT,      /* given before each run */
    PLAN_OUTPUT,     /* a result of the network; written by a step */
    PLAN_WEIGHT,     /* constant bytes: filters, biases, scales */
    PLAN_ACTIVATION, /* written by a step, read by later ones; its memory may be shared with others' */
};
#define PLAN_BUFFER_KIND_COUNT (PLAN_ACTIVATION + 1)

struct plan_buffer {
    char *name; /* unique in the plan */
    enum plan_buffer_kind kind;
    int64_t bytes;
    /* The type, sizes and strides of the tensor in the buffer. Inputs and outputs have their axes in the network's
     * order; weights are a packed list of elements. */
    struct shape shape;
    /* -1, or the index of the buffer that this one is a part of, from byte `alias_offset` on. Only outputs and
     * activations are aliases. */
    int alias_of;
    int64_t alias_offset;
    /* The indexes of the first and the last step that touch the buffer or an alias of it; -1 and -1 if none does. An
     * input's first is 0, an output's last is the last step: they belong to the caller. */
    int first_step, last_step;
    /* Of weights: the bytes, whether they were generated because the model has none, and their place in the weights'
     * file. */
    GBytes *data;
    bool is_generated;
    int64_t file_offset;
    char sha256[65];
};

struct plan_operand {
    int buffer; /* index, -1: the step has no operand of this role */
    int64_t offset_bytes;
};

struct plan_step {
    char *name;   /* the first node's name; unique in the plan */
    char **nodes; /* the names of all nodes of the model that the step does; ends with NULL */
    struct problem problem;
    /* The problem without its epilogue, and with the packed tensors and the output's type that it then has: what the
     * step would be as a layer of its own. The same as `problem` for a pointwise step. */
    struct problem alone;
    struct plan_operand
        operands[OPERAND_COUNT]; /* by enum tensor_role; TENSOR_PACKED is never there */
    /* The subgraph that the step belongs to: steps of an unfused plan that a fully fused plan does in one step have one
     * group. Groups count from 0 in the order of their first steps. */
    int group;
};

/* The knobs that the plan was made with, as names and values ("dtype": "FP16"). */
struct plan_knob {
    char *name, *value;
};

struct network_plan {
    char *network; /* the network's name */
    int64_t batch;
    GArray *knobs;   /* of struct plan_knob */
    GArray *buffers; /* of struct plan_buffer */
    GArray *steps;   /* of struct plan_step */
    /* The network's inputs and outputs in the model's order: indexes of buffers */
    GArray *inputs, *outputs; /* of int */
    guint64 seed;             /* of the generated weights */
    /* Private: names that are taken, with the next number for each, and weights by their shape and bytes. */
    GHashTable *buffer_names, *step_names, *weights;
};

struct network_plan *network_plan_new(const char *network, int64_t batch);
void network_plan_free(struct network_plan *plan);
typedef struct network_plan NetworkPlan;
G_DEFINE_AUTOPTR_CLEANUP_FUNC(NetworkPlan, network_plan_free)

struct plan_buffer *plan_buffer_at(const struct network_plan *plan, int index);
struct plan_step *plan_step_at(const struct network_plan *plan, int index);
const char *plan_buffer_kind_name(enum plan_buffer_kind kind); /* "input", "output", ... */
void network_plan_set_knob(struct network_plan *plan, const char *name, const char *value);
const char *network_plan_knob(const struct network_plan *plan, const char *name); /* or NULL */

/* Adds a buffer of this shape; its bytes are the shape's span. Returns its index. The name is made unique. */
int network_plan_add_buffer(struct network_plan *plan, const char *name, enum plan_buffer_kind kind,
                            const struct shape *shape);
/* Adds a constant. Takes a reference of data. Constants of the same type and bytes become one. */
int network_plan_add_weight(struct network_plan *plan, const char *name, const struct shape *shape,
                            GBytes *data, bool is_generated);
/* Appends a step without operands; nodes (may be NULL) is copied. Returns its index. */
int network_plan_add_step(struct network_plan *plan, const char *name, const char *const *nodes,
                          const struct problem *problem);
/* Fills `alone` from `problem`, see struct plan_step. */
void plan_problem_alone(const struct problem *problem, struct problem *alone);

/* Computes what follows from the rest: lifetimes, places in the weights' file and their sha256, and groups that were
 * not set. Call it after the last change. */
void network_plan_finish(struct network_plan *plan);
/* Checks the invariants. NETWORK_ERROR_INVALID names the step or buffer. */
bool network_plan_validate(const struct network_plan *plan, GError **error);

/* Groups the steps by those of `fused`, a plan of the same network with everything fused: by the names of nodes. */
void network_plan_set_groups(struct network_plan *plan, const struct network_plan *fused);

/* The sum of the bytes of all constants, without the gaps of alignment. */
int64_t network_plan_weight_bytes(const struct network_plan *plan);

/* The plan as JSON in the form of PLAN.md. `weights_name` is the weights' file as the JSON is to name it, relative to
 * the JSON's folder; NULL if the plan has no constants. The caller owns the result. */
json_t *network_plan_json(const struct network_plan *plan, const char *weights_name);
/* Writes PATH and, beside it, PATH with ".json" replaced by ".weights". Both are written to temporary names and
 * renamed. G_FILE_ERROR names the path. */
bool network_plan_write(const struct network_plan *plan, const char *path, GError **error);

#endif
