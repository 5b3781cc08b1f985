#include "coordinator/network/onnx/onnx_reader.h"

#include <string.h>

#define INLINED_MAX 1000000 /* nodes of functions, in all their calls */

const Onnx__FunctionProto *onnx_find_function(const struct reader *reader,
                                              const Onnx__NodeProto *node)
{
    const Onnx__ModelProto *model = onnx_file_model(reader->file);
    for (size_t i = 0; i < model->n_functions; i++) {
        const Onnx__FunctionProto *function = model->functions[i];
        if (g_strcmp0(function->name, node->op_type) == 0 &&
            g_strcmp0(onnx_text_or(function->domain, ""), onnx_text_or(node->domain, "")) == 0) {
            return function;
        }
    }
    return NULL;
}

/* A call of a function, whose nodes take the call's place. */
struct inlining {
    const Onnx__FunctionProto *function;
    const Onnx__NodeProto *call;
    GHashTable *omitted; /* names of the function's inputs that the call leaves out */
    GPtrArray *owned;    /* memory of the nodes that are made */
};

static gpointer own(struct inlining *in, gpointer memory)
{
    g_ptr_array_add(in->owned, memory);
    return memory;
}

/* The attribute as the call, or else the function's default, sets it; NULL if neither does. */
static Onnx__AttributeProto *bound_attribute(struct inlining *in, Onnx__AttributeProto *inner)
{
    const char *name = onnx_text_or(inner->ref_attr_name, NULL);
    const Onnx__AttributeProto *given = name != NULL ? onnx_find_attribute(in->call, name) : inner;
    for (size_t i = 0; given == NULL && i < in->function->n_attribute_proto; i++) {
        const Onnx__AttributeProto *preset = in->function->attribute_proto[i];
        given = g_strcmp0(preset->name, name) == 0 ? preset : NULL;
    }
    if (name == NULL || given == NULL) {
        return name == NULL ? inner : NULL;
    }
    Onnx__AttributeProto *bound = own(in, g_memdup2(given, sizeof *given));
    bound->name = inner->name;
    return bound;
}

/* A node of the function as this call has it: "CALL/NODE", with the call's attributes. */
static Onnx__NodeProto *bound_node(struct inlining *in, const Onnx__NodeProto *inner)
{
    Onnx__NodeProto *node = own(in, g_memdup2(inner, sizeof *inner));
    node->name =
        own(in, g_strdup_printf("%s/%s", onnx_draft_name(in->call), onnx_draft_name(inner)));
    node->input = own(in, g_new0(char *, inner->n_input + 1));
    for (size_t i = 0; i < inner->n_input; i++) {
        bool is_omitted = g_hash_table_contains(in->omitted, onnx_text_or(inner->input[i], ""));
        node->input[i] = is_omitted ? own(in, g_strdup("")) : inner->input[i];
    }
    node->attribute = own(in, g_new0(Onnx__AttributeProto *, inner->n_attribute + 1));
    node->n_attribute = 0;
    for (size_t i = 0; i < inner->n_attribute; i++) {
        Onnx__AttributeProto *bound = bound_attribute(in, inner->attribute[i]);
        if (bound != NULL) {
            node->attribute[node->n_attribute++] = bound;
        }
    }
    return node;
}

/* Reads the function's nodes; its names are its own. */
static bool read_body(struct reader *reader, struct inlining *in, const struct scope *scope,
                      GError **error)
{
    const Onnx__FunctionProto *function = in->function;
    Onnx__GraphProto body = ONNX__GRAPH_PROTO__INIT;
    int opset = reader->opset;
    body.n_node = function->n_node;
    body.node = own(in, g_new0(Onnx__NodeProto *, function->n_node + 1));
    for (size_t i = 0; i < function->n_node; i++) {
        body.node[i] = bound_node(in, function->node[i]);
    }
    for (size_t i = 0; i < function->n_opset_import; i++) {
        const Onnx__OperatorSetIdProto *set = function->opset_import[i];
        const char *domain = onnx_text_or(set->domain, "ai.onnx");
        if (strcmp(domain, "ai.onnx") == 0 && set->version >= ONNX_OPSET_MIN &&
            set->version <= ONNX_OPSET_MAX) {
            reader->opset = (int)set->version;
        }
    }
    reader->depth++;
    bool read = onnx_read_nodes(reader, &body, scope, error);
    reader->depth--;
    reader->opset = opset;
    return read;
}

static bool check_call(struct reader *reader, const struct inlining *in, GError **error)
{
    const char *why = NULL;
    if (in->call->n_input > in->function->n_input || in->call->n_output > in->function->n_output) {
        why = "it has more inputs or outputs than the function that it calls";
    } else if (reader->depth >= ONNX_BRANCH_DEPTH_MAX) {
        why = "it is too deep in functions that call functions";
    } else if (in->function->n_node > INLINED_MAX - reader->inlined) {
        why = "with it, calls of functions have more than " G_STRINGIFY(INLINED_MAX) " nodes";
    }
    return why == NULL || onnx_fail_node(reader, in->call, error, why);
}

/* The nodes of the function take the place of the node that calls it. */
static bool inline_call(struct reader *reader, struct inlining *in, GPtrArray *inputs,
                        const struct scope *scope, GError **error)
{
    g_autoptr(GHashTable) names = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    const struct scope inner = {NULL, names};
    g_autofree struct value **values = g_new0(struct value *, in->call->n_output + 1);
    if (!check_call(reader, in, error)) {
        return false;
    }
    reader->inlined += in->function->n_node;
    for (size_t i = 0; i < in->function->n_input; i++) {
        const char *name = onnx_text_or(in->function->input[i], "");
        if (i < inputs->len && inputs->pdata[i] != NULL) {
            g_hash_table_insert(names, g_strdup(name), inputs->pdata[i]);
        } else {
            g_hash_table_add(in->omitted, (gpointer)name);
        }
    }
    if (!read_body(reader, in, &inner, error)) {
        return false;
    }
    for (size_t i = 0; i < in->call->n_output; i++) {
        values[i] = onnx_find_value(&inner, onnx_text_or(in->function->output[i], ""));
        if (values[i] == NULL) {
            return onnx_fail_node(reader, in->call, error,
                                  "nothing gives an output of its function");
        }
        const char *name = onnx_text_or(in->call->output[i], NULL);
        if (name != NULL && values[i]->producer != NULL) {
            graph_rename_value(values[i], name);
        }
    }
    return onnx_name_outputs(reader, in->call, values, scope, error);
}

bool onnx_add_call(struct reader *reader, const Onnx__NodeProto *node,
                   const Onnx__FunctionProto *function, GPtrArray *inputs,
                   const struct scope *scope, GError **error)
{
    struct inlining in = {.function = function,
                          .call = node,
                          .omitted = g_hash_table_new(g_str_hash, g_str_equal),
                          .owned = g_ptr_array_new_with_free_func(g_free)};
    bool read = inline_call(reader, &in, inputs, scope, error);
    g_hash_table_unref(in.omitted);
    g_ptr_array_unref(in.owned);
    return read;
}
