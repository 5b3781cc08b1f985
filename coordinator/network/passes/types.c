#include "coordinator/network/passes/kernel_op.h"
#include "coordinator/network/passes/passes.h"

static bool is_movement(const struct node *node)
{
    return node->op == &op_join || node->op == &op_part || node->op == &op_border;
}

static bool is_float(const struct value *value)
{
    return value != NULL && element_type_is_float(value->shape.type);
}

/* Whether the type pass gives the node's input a cast: tensors, not lists. */
static bool is_tensor(const struct node *node, int input)
{
    return is_movement(node) || input == KERNEL_X || input == KERNEL_W || input == KERNEL_RESIDUAL;
}

/* Casts in front of the node. */
static bool change_inputs(struct node *node, enum element_type type, GError **error)
{
    for (int i = 0; i < node->input_count; i++) {
        if (is_float(node->inputs[i]) && is_tensor(node, i) &&
            node->inputs[i]->shape.type != type &&
            !graph_set_input(node, i, graph_cast(node->inputs[i], type), error)) {
            return false;
        }
    }
    return true;
}

/* Lets the node compute in the new type, with a cast behind it back to the type that its users know. A wider type gets
 * no cast: a cast that rounds could not be removed later. */
static bool change_output(struct node *node, enum element_type type, enum element_type result,
                          GError **error)
{
    struct value *old = node_output(node);
    if (!element_type_is_float(result) || result == type) {
        return true;
    }
    if (node_is_kernel(node)) {
        struct kernel kernel;
        kernel_read(node, &kernel);
        kernel.type = type;
        kernel_write(node, &kernel, NULL);
    }
    return element_type_holds(type, result) ||
           graph_replace_value(old, graph_cast(old, result), error);
}

bool network_set_type(struct graph *graph, enum element_type type, GError **error)
{
    graph_propagate(graph);
    g_autoptr(GPtrArray) nodes = g_ptr_array_new();
    for (struct node *node = graph_first(graph); node != NULL; node = node_next(node)) {
        if (node_is_kernel(node) || is_movement(node)) {
            g_ptr_array_add(nodes, node);
        }
    }
    /* All inputs before all outputs: an edit makes the shapes behind it pending. */
    g_autofree enum element_type *results = g_new(enum element_type, nodes->len + 1);
    for (guint i = 0; i < nodes->len; i++) {
        results[i] = node_output(nodes->pdata[i])->shape.type;
    }
    graph_begin_edit(graph);
    bool done = true;
    for (guint i = 0; i < nodes->len && done; i++) {
        done = change_inputs(nodes->pdata[i], type, error);
    }
    for (guint i = 0; i < nodes->len && done; i++) {
        done = change_output(nodes->pdata[i], type, results[i], error);
    }
    for (guint i = 0; i < graph->inputs->len && done; i++) {
        struct value *value = graph->inputs->pdata[i];
        struct shape shape = value->shape;
        if (is_float(value)) {
            shape.type = type;
            graph_set_input_shape(value, &shape);
        }
    }
    graph_end_edit(graph);
    graph_propagate(graph);
    for (guint i = 0; i < graph->outputs->len && done; i++) {
        struct value *value = graph->outputs->pdata[i];
        if (is_float(value) && value->shape.type != type) {
            graph_set_output(graph, (int)i, graph_cast(value, type));
        }
    }
    return done && graph_resolve(graph, error);
}
