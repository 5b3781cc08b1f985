#include "coordinator/network/graph_inside.h"
#include "coordinator/network/order.h"

#include <string.h>

static struct value *mapped(const GPtrArray *values, const struct value *value)
{
    return value ? g_ptr_array_index(values, (guint)value->id) : NULL;
}

static struct value *copy_value(struct graph *copy, const struct value *value)
{
    switch (value->kind) {
    case VALUE_INPUT: return graph_add_input(copy, value->name, &value->shape);
    case VALUE_CONSTANT: return graph_add_constant(copy, value->name, value->constant);
    default: return graph_declare_value(copy, value->name);
    }
}

/* Inputs first and in their own order, which need not be that of the ids. */
static GPtrArray *copy_values(struct graph *copy, const struct graph *graph)
{
    GPtrArray *values = g_ptr_array_new();
    g_ptr_array_set_size(values, (int)graph->values->len);
    for (guint i = 0; i < graph->inputs->len; i++) {
        const struct value *input = g_ptr_array_index(graph->inputs, i);
        values->pdata[input->id] = copy_value(copy, input);
    }
    for (guint i = 0; i < graph->values->len; i++) {
        const struct value *value = g_ptr_array_index(graph->values, i);
        if (!value->removed && value->kind != VALUE_INPUT)
            values->pdata[i] = copy_value(copy, value);
    }
    return values;
}

static void copy_node_state(struct node *to, const struct node *from)
{
    if (from->stores)
        to->stores = g_memdup2(from->stores, (gsize)from->output_count * sizeof(struct storage));
    to->is_automatic = from->is_automatic;
    to->has_no_shape = from->has_no_shape;
    to->error = from->error ? g_error_copy(from->error) : NULL;
}

static struct node *copy_node(struct graph *copy, const struct node *node, const GPtrArray *values)
{
    g_autofree struct value **inputs = g_new0(struct value *, MAX(node->input_count, 1));
    g_autofree struct value **outputs = g_new0(struct value *, MAX(node->output_count, 1));
    for (int i = 0; i < node->input_count; i++)
        inputs[i] = mapped(values, node->inputs[i]);
    for (int i = 0; i < node->output_count; i++)
        outputs[i] = mapped(values, node->outputs[i]);
    const struct node_spec spec = {
        .op = node->op,
        .name = node->name,
        .attributes = node->attributes,
        .inputs = inputs,
        .input_count = node->input_count,
        .output_count = node->output_count,
        .outputs = outputs,
    };
    GError *error = NULL;
    struct node *made = graph_add(copy, &spec, &error);
    g_assert_no_error(error);
    copy_node_state(made, node);
    return made;
}

static void copy_value_state(const struct value *from, struct value *to, const GPtrArray *values)
{
    to->shape = from->shape;
    if (from->kind == VALUE_RESULT)
        to->constant = tensor_ref(from->constant);
    to->base = mapped(values, from->base);
    to->view = from->view ? g_memdup2(from->view, sizeof(*from->view)) : NULL;
    to->has_strides = from->has_strides;
}

struct graph *graph_copy(const struct graph *graph, GPtrArray **node_map, GPtrArray **value_map)
{
    struct graph *copy = graph_new(graph->name);
    GPtrArray *values = copy_values(copy, graph);
    GPtrArray *nodes = g_ptr_array_new();
    g_ptr_array_set_size(nodes, (int)graph->nodes->len);
    for (const struct node *node = graph_first(graph); node; node = node_next(node))
        nodes->pdata[node->id] = copy_node(copy, node, values);
    for (guint i = 0; i < graph->outputs->len; i++) {
        graph_add_output(copy, mapped(values, g_ptr_array_index(graph->outputs, i)));
        g_free(copy->output_names->pdata[i]);
        copy->output_names->pdata[i] = g_strdup(graph_output_name(graph, (int)i));
    }
    for (guint i = 0; i < graph->values->len; i++) {
        if (values->pdata[i])
            copy_value_state(g_ptr_array_index(graph->values, i), values->pdata[i], values);
    }
    for (guint i = 0; i < graph->automatic->len; i++) {
        const struct node *node = g_ptr_array_index(graph->automatic, i);
        if (!node->removed)
            g_ptr_array_add(copy->automatic, nodes->pdata[node->id]);
    }
    /* All were marked as they were added; those that are not pending in the original are not pending here. */
    g_ptr_array_set_size(copy->queue, 0);
    for (const struct node *node = graph_first(graph); node; node = node_next(node)) {
        struct node *made = nodes->pdata[node->id];
        made->pending = false;
        if (node->pending)
            node_mark_pending(made);
    }
    copy->no_shape_count = graph->no_shape_count;
    copy->is_settled = graph->is_settled;
    if (node_map)
        *node_map = nodes;
    else
        g_ptr_array_unref(nodes);
    if (value_map)
        *value_map = values;
    else
        g_ptr_array_unref(values);
    return copy;
}
