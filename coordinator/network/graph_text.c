#include "coordinator/network/graph.h"

#include <inttypes.h>

static void append_attribute(GString *text, const struct attribute *attribute)
{
    g_string_append_printf(text, "%s=", attribute->name);
    bool is_list = attribute->kind == ATTRIBUTE_INTS || attribute->kind == ATTRIBUTE_FLOATS ||
                   attribute->kind == ATTRIBUTE_STRINGS;
    if (is_list)
        g_string_append_c(text, '[');
    for (int i = 0; i < attribute->count; i++) {
        if (i > 0)
            g_string_append_c(text, ',');
        if (attribute->ints)
            g_string_append_printf(text, "%" PRId64, attribute->ints[i]);
        else if (attribute->floats)
            g_string_append_printf(text, "%.9g", attribute->floats[i]);
        else if (attribute->strings)
            g_string_append_printf(text, "\"%s\"", attribute->strings[i]);
    }
    if (is_list)
        g_string_append_c(text, ']');
    if (attribute->tensor) {
        g_autofree char *shape = shape_text(&attribute->tensor->shape);
        g_string_append(text, shape);
    }
}

static void append_shape(GString *text, const struct value *value)
{
    g_autofree char *shape = shape_text(&value->shape);
    g_string_append_printf(text, " : %s", shape);
    if (value->base)
        g_string_append_printf(text, " view of %s%s", value_name(value->base),
                               value->has_strides ? "" : ", no strides");
}

static void append_node(GString *text, struct node *node)
{
    for (int i = 0; i < node->output_count; i++)
        g_string_append_printf(text, "%s%s", i ? ", " : "", value_name(node->outputs[i]));
    g_string_append_printf(text, " = %s(", node->op->name);
    for (int i = 0; i < node->input_count; i++)
        g_string_append_printf(text, "%s%s", i ? ", " : "",
                               node->inputs[i] ? value_name(node->inputs[i]) : "-");
    g_string_append_c(text, ')');
    for (int i = 0; node->attributes && i < node->attributes->count; i++) {
        g_string_append_c(text, ' ');
        append_attribute(text, &node->attributes->items[i]);
    }
    for (int i = 0; i < node->output_count; i++)
        append_shape(text, node->outputs[i]);
    if (node->pending)
        g_string_append(text, " pending");
    if (node->is_automatic)
        g_string_append(text, " automatic");
    if (node->error)
        g_string_append_printf(text, " error: %s", node->error->message);
    g_string_append_c(text, '\n');
}

char *graph_text(const struct graph *graph)
{
    GString *text = g_string_new(NULL);
    for (guint i = 0; i < graph->values->len; i++) {
        struct value *value = g_ptr_array_index(graph->values, i);
        if (value->removed || value->kind == VALUE_RESULT)
            continue;
        static const char *const kinds[] = {"declared", "input", "constant"};
        g_string_append_printf(text, "%s %s", kinds[value->kind], value_name(value));
        append_shape(text, value);
        g_string_append_c(text, '\n');
    }
    for (struct node *node = graph_first(graph); node; node = node_next(node))
        append_node(text, node);
    for (guint i = 0; i < graph->outputs->len; i++) {
        struct value *value = g_ptr_array_index(graph->outputs, i);
        g_string_append_printf(text, "output %s = %s", graph_output_name(graph, (int)i),
                               value_name(value));
        append_shape(text, value);
        g_string_append_c(text, '\n');
    }
    return g_string_free(text, FALSE);
}
