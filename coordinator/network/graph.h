/*
 * The graph of a network. Nodes apply an operator (op.h) to values and give values; values are tensors of known or
 * still unknown shape. NETWORKS.md explains the model with an example.
 *
 * Lazy shapes. An edit marks what it touches as pending and computes nothing. graph_propagate() computes the pending
 * shapes in topological order, each at most once, and stops where a shape stays equal. graph_resolve() also settles
 * views: a node whose operator is a view (a transposition, a cast, a broadcast, a reshape) is no instruction. It
 * ends absorbed by its users' or its producer's strides and types, folded away, or materialised as a `copy` node.
 * Planning and running start with graph_require_resolved(), which refuses a graph that is not resolved.
 *
 * The structs are open for reading. Only the functions here change them. Nodes and values belong to their graph and
 * keep their memory until graph_free(), also once removed, so a pass may hold pointers across edits and ask
 * node->removed. Nodes are always held in a topological order. Not thread-safe.
 */
#ifndef COORDINATOR_NETWORK_GRAPH_H
#define COORDINATOR_NETWORK_GRAPH_H

#include "coordinator/network/op.h"

struct graph;
struct node;

enum value_kind {
    VALUE_DECLARED, /* named before its producer was added */
    VALUE_INPUT,    /* an input of the graph */
    VALUE_CONSTANT, /* weights and other tensors of the file */
    VALUE_RESULT,   /* an output of a node */
};

/* One place where a value is used: input `input` of `node`, or graph output `input` if node is NULL. */
struct use {
    struct node *node;
    int input;
};

struct value {
    struct graph *graph;
    int id;      /* counts from 0 in the order of creation; index into graph->values */
    char *name;  /* from the file, or NULL; value_name() always has one */
    char *label; /* the text of value_name() for a value without a name */
    enum value_kind kind;
    bool removed;
    struct node *producer; /* of a VALUE_RESULT, otherwise NULL */
    int output;            /* which output of the producer */
    /* As users see it: type, dimensions, and strides in the memory of its base. Unknown while pending for the first
     * time, or if its producer failed. */
    struct shape shape;
    struct tensor *constant; /* contents if known: of a VALUE_CONSTANT, or folded; otherwise NULL */
    struct use *uses;
    int use_count, use_capacity;
    /* For a view: the value whose elements it shows, and how; NULL otherwise. The base is no view, except while the
     * graph is unresolved and the views between do not compose. */
    struct value *base;
    struct view *view;
    bool
        has_strides; /* of a view: shape.stride holds in the base's memory; false: only a copy can read it */
};

/* How a node stores an output that is not packed in the inferred type. */
struct storage {
    enum element_type type; /* ELEMENT_NONE: as inferred */
    bool has_order;
    int rank;                  /* entries of order */
    int order[SHAPE_MAX_RANK]; /* as in shape_set_ordered() */
    /* graph_resolve() chose the type or the order; its next call chooses again */
    bool has_automatic_type, has_automatic_order;
};

struct node {
    struct graph *graph;
    int id;      /* counts from 0 in the order of creation; index into graph->nodes */
    char *name;  /* from the file, or NULL; node_name() always has one */
    char *label; /* the text of node_name() for a node without a name */
    const struct op *op;
    struct attributes *attributes; /* or NULL */
    struct value **inputs;         /* NULL: omitted */
    int *input_uses;               /* for each input its index in the value's uses */
    int input_count;
    struct value **outputs;
    int output_count;
    struct storage *stores;       /* for each output, or NULL if all are stored as inferred */
    struct node *previous, *next; /* topological order; use node_next() to iterate */
    uint64_t order;               /* grows along the list */
    bool removed;
    bool pending;      /* its outputs' shapes must be computed again */
    bool is_automatic; /* a copy that graph_resolve() added; the next edit removes it */
    bool has_no_shape; /* its last inference failed, or an input has no shape */
    uint64_t mark;     /* private: of the last walk that saw it */
    GError *error;     /* why its last inference failed, or NULL */
};

struct graph {
    char *name;
    GPtrArray *nodes;   /* struct node *, every node ever added, by id */
    GPtrArray *values;  /* struct value *, likewise */
    GPtrArray *inputs;  /* struct value * in the file's order */
    GPtrArray *outputs; /* struct value *: may hold one value twice; graph_output_name() */
    struct node *first, *last;
    int node_count; /* that are not removed */
    /* Calls of op->infer so far. */
    int64_t shape_computations;
    /* private to the graph's functions */
    GPtrArray *output_names; /* char * */
    GArray *output_uses;     /* int: for each output its index in the value's uses */
    GPtrArray *queue;        /* pending nodes, as a heap by their order unless queue_is_loose */
    bool queue_is_loose;
    GPtrArray *automatic; /* nodes that graph_resolve() added, or whose stores it chose */
    int no_shape_count;   /* nodes with has_no_shape */
    uint64_t walks;       /* counts the walks that set marks */
    bool is_eager;
    bool is_settled; /* views are settled since the last edit */
    int open_edits;
};

/* ---- Making a graph. */

struct graph *graph_new(const char *name); /* name may be NULL */
void graph_free(struct graph *graph);      /* NULL is allowed */
typedef struct graph Graph;                /* for g_autoptr(Graph) */
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Graph, graph_free)
/* Returns a new graph with the same nodes in the same order, values, stores and shapes, without removed ones. Constants
 * are shared. *node_map and *value_map, if not NULL, are set to arrays from the original's ids to the copy's struct
 * node and struct value (NULL for removed ones). */
struct graph *graph_copy(const struct graph *graph, GPtrArray **node_map, GPtrArray **value_map);

/* Adds an input of the graph. shape may be NULL or unknown: nodes that depend on it then have no shape. */
struct value *graph_add_input(struct graph *graph, const char *name, const struct shape *shape);
/* Adds a constant. Takes a reference of tensor. */
struct value *graph_add_constant(struct graph *graph, const char *name, struct tensor *tensor);
/* Adds a value whose producer comes later: graph_add() gets the value in `outputs`. */
struct value *graph_declare_value(struct graph *graph, const char *name);
/* Makes the value the graph's next output, under the name that the value has now. */
void graph_add_output(struct graph *graph, struct value *value);
/* Replaces graph output `index`, which keeps its name. */
void graph_set_output(struct graph *graph, int index, struct value *value);

struct node_spec {
    const struct op *op;
    const char *name;              /* may be NULL */
    struct attributes *attributes; /* a reference is taken; may be NULL */
    struct value *const *inputs;   /* NULL: omitted */
    int input_count;
    int output_count; /* 0 means 1 */
    /* NULL, or for each output a value that graph_declare_value() made; NULL entries get new values */
    struct value *const *outputs;
    /* The new node's place in the topological order is in front of this node, or at the end with NULL. It moves from
     * there if its inputs or users require it. */
    struct node *before;
};

/* Adds a node. Its shapes are pending. Returns NULL and adds nothing with NETWORK_ERROR_INVALID (number of inputs or
 * outputs, a value that is removed, of another graph, or has a producer) or NETWORK_ERROR_CYCLE. */
struct node *graph_add(struct graph *graph, const struct node_spec *spec, GError **error);
/* Adds all of them, or none; nodes (may be NULL) gets them. A spec may use another spec's result: a declared value. */
bool graph_add_many(struct graph *graph, const struct node_spec *specs, int count,
                    struct node **nodes, GError **error);
/* graph_add() for the common case: one output, which it returns; a bug in the arguments aborts. */
struct value *graph_apply(struct graph *graph, const struct op *op, struct attributes *attributes,
                          struct value *const *inputs, int input_count);

/* Views: values without an instruction. Shapes are pending like all others. */
struct value *graph_transpose(struct value *value, const int *permutation, int rank);
struct value *graph_cast(struct value *value, enum element_type type);
struct value *graph_broadcast(struct value *value, int rank, const int64_t *dims);
struct value *graph_reshape(struct value *value, int rank, const int64_t *dims);

/* ---- Edits. Each marks what depends on it as pending. An edit that fails changes nothing. The first edit of a
 * resolved graph also takes back what graph_resolve() decided: automatic copies are removed, their users use again what
 * was copied. A pass that looks before it edits calls graph_begin_edit() first. */

/* Edits between the two calls count as one for an eager graph. Such pairs may nest. */
void graph_begin_edit(struct graph *graph);
void graph_end_edit(struct graph *graph);

/* Changes one input. value may be NULL where the operator's input is optional. */
bool graph_set_input(struct node *node, int input, struct value *value, GError **error);
/* Changes all inputs at once, and their number. */
bool graph_set_inputs(struct node *node, struct value *const *inputs, int count, GError **error);
/* All users of `old`, graph outputs too, use `new_value` instead; uses by new_value's own producer stay, so that
 * new_value may be made from old. Users follow a change of type or shape; to keep what they see, pass a view
 * (graph_cast(new_value, old type)). NETWORK_ERROR_CYCLE if new_value depends on another user of old. */
bool graph_replace_value(struct value *old, struct value *new_value, GError **error);
/* The same for all outputs of a node, by index, then removes it. */
bool graph_replace_node(struct node *old, struct node *new_node, GError **error);
/* Changes what a node computes, in place. Takes a reference of attributes. NETWORK_ERROR_INVALID if the
 * operator does not take that many inputs and outputs. */
bool graph_set_op(struct node *node, const struct op *op, struct attributes *attributes,
                  GError **error);
void graph_set_attributes(struct node *node, struct attributes *attributes);
/* Gives a graph input another shape: another batch, another type, other strides. */
void graph_set_input_shape(struct value *input, const struct shape *shape);
/* Gives a constant another tensor, of any shape. */
void graph_set_constant(struct value *constant, struct tensor *tensor);
/* Sets how the node stores an output: a type (ELEMENT_NONE: as inferred) and a memory order of its axes (NULL: as
 * inferred). Views on top of it keep their meaning, by dimension. NETWORK_ERROR_INVALID if the operator's row says that
 * it cannot write so. An order for another rank than the output's makes its inference fail. */
bool graph_set_store(struct node *node, int output, enum element_type type, const int *order,
                     int rank, GError **error);
/* Removes a node whose outputs have no users. NETWORK_ERROR_INVALID names a user. */
bool graph_remove_node(struct node *node, GError **error);
/* In a resolved graph: users of views that show their base as it is use the base itself, and views without users are
 * removed. Outputs of the graph keep their values. Returns the number of views removed. */
int graph_fold_views(struct graph *graph);
/* Propagates; results whose contents are known then, such as computed dimensions, become constants of the graph, named as
 * they were, and the nodes that made them are removed. Returns the number of results. */
int graph_fold_constants(struct graph *graph);
/* Removes all nodes, and constants, that no output depends on. Inputs stay. Returns the number of nodes removed. */
int graph_remove_dead(struct graph *graph);
void graph_rename_node(struct node *node, const char *name);    /* NULL: no name */
void graph_rename_value(struct value *value, const char *name); /* NULL: no name */

/* ---- Shapes. */

/* Computes what is pending. Returns the number of nodes in the whole graph that have no shape: their inference failed
 * (node->error says why), or an input is unknown. Views may still be open. */
int graph_propagate(struct graph *graph);
/* The value's shape now: computes what is pending in front of it, and nothing behind it. Unknown if its producer
 * failed. */
const struct shape *value_shape(struct value *value);
/* Propagates, then settles all views. If nodes have no shape, fails with the first one's error (its code, its
 * name, and how many more there are). Costs time in proportion to what changed. The result depends on the graph, not
 * on the edits that led to it. */
bool graph_resolve(struct graph *graph, GError **error);
bool graph_is_resolved(const struct graph *graph);
/* NETWORK_ERROR_PENDING with the first pending node's name, and what to do. */
bool graph_require_resolved(const struct graph *graph, GError **error);
/* An eager graph propagates after every edit, as MIGraphX does: for comparison. Default: false. */
void graph_set_eager(struct graph *graph, bool is_eager);

/* ---- Reading. */

/* Topological order: for (node = graph_first(graph); node; node = node_next(node)). The loop survives every edit in its
 * body, the removal of its node too. Nodes inserted behind the current one are visited; one that an edit moves may be
 * visited twice. Views are nodes too: node_is_view(). */
struct node *graph_first(const struct graph *graph);
struct node *node_next(const struct node *node);

/* The file's name, or the operator's name and the id ("Conv_12"). The text belongs to the node. */
const char *node_name(struct node *node);
const char *value_name(struct value *value);
/* True for a node that is no instruction: its output is input 0 through a view. */
bool node_is_view(const struct node *node);
struct value *node_output(const struct node *node); /* output 0 */
/* The node that uses the value if it has exactly one use and that is a node, otherwise NULL. */
struct node *value_only_user(const struct value *value);
/* The file's name of output `index`, whatever value it has become. */
const char *graph_output_name(const struct graph *graph, int index);
bool value_is_graph_output(const struct value *value);
struct value *graph_find_value(const struct graph *graph,
                               const char *name); /* by the file's name; O(n) */
struct node *graph_find_node(const struct graph *graph, const char *name);

/* Returns the value behind views and automatic copies, and sets *view (may be NULL) to how `value` shows it. For a
 * value that is no view: itself and the identity. Works between edits too, on shapes as they were last computed, and
 * stops at views that are pending. */
struct value *value_base(struct value *value, struct view *view);

/* Where the elements of a value really are. The graph must be resolved. */
struct operand {
    struct value
        *storage; /* what has the memory: a graph input, a constant, an instruction's output */
    struct shape stored;    /* strides in that memory, and the type that is stored there */
    enum element_type type; /* as which the operator sees the elements */
};
/* Sets *operand to what an instruction reads as input `input`. For `copy` nodes the axes may be split finer than the
 * value's (view_refined_shape()); the order of the elements is the same. */
void node_operand(const struct node *node, int input, struct operand *operand);
/* The same for a value, such as an output of the graph, whose users read it in place. */
void value_operand(struct value *value, struct operand *operand);
/* Checks all invariants of the structure: links, uses, order, numbers of inputs and outputs, names, shapes. For tests,
 * and for whoever changed the structs by hand. NETWORK_ERROR_INVALID names what is broken. */
bool graph_validate(const struct graph *graph, GError **error);

/* The graph as text, a line for each value and node, for people and for tests. Free with g_free(). */
char *graph_text(const struct graph *graph);

#endif
