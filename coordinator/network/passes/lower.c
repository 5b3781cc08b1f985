#include "coordinator/network/passes/lower.h"

#include "coordinator/network/passes/kernel_op.h"
#include "coordinator/network/passes/lowering.h"
#include "coordinator/network/passes/pass.h"

#include <string.h>

static const struct lower_row *const tables[] = {
    lower_window_rows,    lower_matrix_rows,   lower_norm_rows,
    lower_pointwise_rows, lower_movement_rows, lower_quantised_rows,
};

static lower_function find_rule(const char *name)
{
    for (size_t i = 0; i < G_N_ELEMENTS(tables); i++) {
        for (const struct lower_row *row = tables[i]; row->name != NULL; row++) {
            if (strcmp(row->name, name) == 0) {
                return row->lower;
            }
        }
    }
    return NULL;
}

bool lower_knows(const char *op_name)
{
    return find_rule(op_name) != NULL;
}

static bool is_lowered(const struct node *node)
{
    return node_is_view(node) || node_is_kernel(node) || node->op == &op_copy ||
           node->op == &op_join || node->op == &op_part || node->op == &op_border;
}

static bool lower_node(struct graph *graph, struct node *node, GError **error)
{
    lower_function rule = find_rule(node->op->name);
    struct pass_call call;
    if (rule == NULL) {
        return node_unsupported(node, error, "no kernel does this operator");
    }
    /* Resolving drops its own copies when the graph changes: the node reads what they read. */
    for (int i = 0; i < node->input_count; i++) {
        struct value *value = node->inputs[i];
        while (value != NULL && value->producer != NULL && value->producer->is_automatic) {
            value = value->producer->inputs[0];
        }
        if (value != node->inputs[i] && !graph_set_input(node, i, value, error)) {
            return false;
        }
    }
    graph_propagate(graph);
    pass_call_init(&call, node);
    /* Copies: the shapes of values change while the graph is edited. */
    struct shape x = {0}, y = node->outputs[0]->shape;
    if (node->input_count > 0 && node->inputs[0] != NULL) {
        x = node->inputs[0]->shape;
    }
    struct lowering l = {.graph = graph,
                         .node = node,
                         .call = &call.call,
                         .x = &x,
                         .y = &y,
                         .nodes = {node_name(node), NULL},
                         .error = error};
    struct value *result = rule(&l);
    bool done = result != NULL && graph_replace_value(node->outputs[0], result, error) &&
                graph_remove_node(node, error);
    pass_call_clear(&call);
    graph_propagate(graph);
    return done;
}

/* UINT8 inputs have no kernels, and nobody says whether a caller's bytes are shifted. */
static bool check_inputs(struct graph *graph, GError **error)
{
    for (guint i = 0; i < graph->inputs->len; i++) {
        struct value *value = graph->inputs->pdata[i];
        enum data_type type;
        if (!element_type_to_data_type(value->shape.type, &type)) {
            g_set_error(error, NETWORK_ERROR, NETWORK_ERROR_UNSUPPORTED,
                        "input '%s' is %s, no kernel reads that type: take the model with inputs "
                        "of floats, or of int8; autotune --dtype INT8 quantises a model of floats",
                        value_name(value), element_type_name(value->shape.type));
            return false;
        }
    }
    return true;
}

bool network_lower(struct graph *graph, GError **error)
{
    g_autoptr(GError) first = NULL;
    int failed = 0;
    graph_remove_dead(graph);
    if (!graph_resolve(graph, error) || !check_inputs(graph, error)) {
        return false;
    }
    for (struct node *node = graph_first(graph); node != NULL; node = node_next(node)) {
        if (!is_lowered(node) && !lower_node(graph, node, first == NULL ? &first : NULL)) {
            failed++;
        }
    }
    if (failed > 1) {
        g_prefix_error(&first, "%d more nodes have no kernel; the first: ", failed - 1);
    }
    if (failed > 0) {
        g_propagate_error(error, g_steal_pointer(&first));
        return false;
    }
    graph_remove_dead(graph);
    return graph_resolve(graph, error);
}
