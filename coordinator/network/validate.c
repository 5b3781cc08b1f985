#include "coordinator/network/graph_inside.h"

static bool broken(GError **error, const char *format, ...) G_GNUC_PRINTF(2, 3);

static bool broken(GError **error, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    g_autofree char *what = g_strdup_vprintf(format, arguments);
    va_end(arguments);
    g_set_error(error, NETWORK_ERROR, NETWORK_ERROR_INVALID, "the graph is damaged: %s", what);
    return false;
}

static bool is_own(const struct graph *graph, const struct value *value)
{
    return value->id >= 0 && value->id < (int)graph->values->len &&
           g_ptr_array_index(graph->values, (guint)value->id) == value;
}

static bool check_shape(struct value *value, GError **error)
{
    const struct shape *shape = &value->shape;
    struct shape again;
    g_autoptr(GError) reason = NULL;
    if ((int)shape->type < ELEMENT_NONE || shape->type >= ELEMENT_TYPE_COUNT)
        return broken(error, "value '%s' has a type that does not exist", value_name(value));
    if (!shape_is_known(shape))
        return true;
    if (!shape_set_strided(&again, shape->type, shape->rank, shape->dim, shape->stride, &reason))
        return broken(error, "value '%s': %s", value_name(value), reason->message);
    if (!shape_equal(shape, &again))
        return broken(error, "value '%s' has strides of axes of size 1 that are not normal",
                      value_name(value));
    return true;
}

static bool check_uses(const struct graph *graph, struct value *value, GError **error)
{
    for (int i = 0; i < value->use_count; i++) {
        const struct use *use = &value->uses[i];
        int limit = use->node ? use->node->input_count : (int)graph->outputs->len;
        if (use->input < 0 || use->input >= limit || (use->node && use->node->removed) ||
            use_value(graph, use->node, use->input) != value)
            return broken(error, "value '%s' lists a use that does not exist", value_name(value));
        int place = use->node ? use->node->input_uses[use->input]
                              : g_array_index(graph->output_uses, int, (guint)use->input);
        if (place != i)
            return broken(error, "a use of value '%s' is at another place than its user says",
                          value_name(value));
    }
    return true;
}

static bool check_value(const struct graph *graph, struct value *value, GError **error)
{
    if (!check_shape(value, error) || !check_uses(graph, value, error))
        return false;
    const struct node *producer = value->producer;
    if ((value->kind == VALUE_RESULT) != (producer != NULL))
        return broken(error, "value '%s' %s a producer", value_name(value),
                      producer ? "has" : "lacks");
    if (producer &&
        (producer->removed || value->output < 0 || value->output >= producer->output_count ||
         producer->outputs[value->output] != value))
        return broken(error, "value '%s' is no output of its producer", value_name(value));
    if (value->kind == VALUE_CONSTANT && !value->constant)
        return broken(error, "constant '%s' has no tensor", value_name(value));
    if (!value->base != !value->view)
        return broken(error, "value '%s' has a base without a view, or a view without a base",
                      value_name(value));
    if (value->base && graph->is_settled && (value->base->base || value->base->removed))
        return broken(error, "value '%s' is a view of '%s', which has no elements of its own",
                      value_name(value), value_name(value->base));
    return true;
}

static bool check_input(const struct graph *graph, struct node *node, int input, GError **error)
{
    struct value *value = node->inputs[input];
    if (!value)
        return input >= node->op->min_inputs ||
               broken(error, "node '%s' lacks its input %d", node_name(node), input);
    if (!is_own(graph, value) || value->removed)
        return broken(error, "input %d of node '%s' is removed or of another graph", input,
                      node_name(node));
    int place = node->input_uses[input];
    if (place < 0 || place >= value->use_count || value->uses[place].node != node ||
        value->uses[place].input != input)
        return broken(error, "value '%s' does not know its use by node '%s'", value_name(value),
                      node_name(node));
    if (value->producer && value->producer->order >= node->order)
        return broken(error, "node '%s' stands in front of node '%s', whose result it uses",
                      node_name(node), node_name(value->producer));
    return true;
}

static bool check_node(const struct graph *graph, struct node *node, GError **error)
{
    const struct op *op = node->op;
    if (node->removed || g_ptr_array_index(graph->nodes, (guint)node->id) != node)
        return broken(error, "node '%s' is removed, but in the list", node_name(node));
    if (node->input_count < op->min_inputs || node->input_count > op->max_inputs ||
        node->output_count < op->min_outputs || node->output_count > op->max_outputs)
        return broken(error, "node '%s' (%s) has %d inputs and %d outputs", node_name(node),
                      op->name, node->input_count, node->output_count);
    if (node->next ? node->next->previous != node || node->next->order <= node->order
                   : graph->last != node)
        return broken(error, "the order of nodes is broken behind node '%s'", node_name(node));
    for (int i = 0; i < node->input_count; i++) {
        if (!check_input(graph, node, i, error))
            return false;
    }
    for (int i = 0; i < node->output_count; i++) {
        if (node->outputs[i]->removed || node->outputs[i]->producer != node ||
            node->outputs[i]->output != i)
            return broken(error, "output %d of node '%s' is not its own", i, node_name(node));
    }
    return (!graph->is_settled || !node->pending) ||
           broken(error, "node '%s' is pending in a resolved graph", node_name(node));
}

static bool check_outputs(const struct graph *graph, GError **error)
{
    for (guint i = 0; i < graph->outputs->len; i++) {
        struct value *value = g_ptr_array_index(graph->outputs, i);
        int place = g_array_index(graph->output_uses, int, i);
        if (!is_own(graph, value) || value->removed || place < 0 || place >= value->use_count ||
            value->uses[place].node || value->uses[place].input != (int)i)
            return broken(error, "output %u is removed, or does not know its use", i);
    }
    return true;
}

/* Names tell values apart, so no two may have the same. */
static bool check_names(const struct graph *graph, GError **error)
{
    g_autoptr(GHashTable) seen = g_hash_table_new(g_str_hash, g_str_equal);
    for (guint i = 0; i < graph->values->len; i++) {
        struct value *value = g_ptr_array_index(graph->values, i);
        if (!value->removed && value->name && !g_hash_table_add(seen, value->name))
            return broken(error, "two values are named '%s'", value->name);
    }
    return true;
}

bool graph_validate(const struct graph *graph, GError **error)
{
    int nodes = 0, without_shape = 0;
    for (struct node *node = graph->first; node; node = node->next, nodes++) {
        if (!check_node(graph, node, error))
            return false;
        without_shape += node->has_no_shape;
    }
    if (nodes != graph->node_count || without_shape != graph->no_shape_count)
        return broken(error, "it counts %d nodes, but has %d", graph->node_count, nodes);
    for (guint i = 0; i < graph->values->len; i++) {
        struct value *value = g_ptr_array_index(graph->values, i);
        if (!value->removed && !check_value(graph, value, error))
            return false;
    }
    return check_outputs(graph, error) && check_names(graph, error);
}
