#include "coordinator/network/onnx/onnx_reader.h"

#include "coordinator/network/onnx/infer.h"
#include "coordinator/network/onnx/onnx_ops.h"

#include <string.h>

/* ConstantOfShape becomes a constant of the graph up to this many bytes in all; beyond, its contents are unknown. */
#define FILLED_BYTES_MAX (INT64_C(1) << 30)

bool onnx_is_own_domain(const Onnx__NodeProto *node)
{
    return node->domain == NULL || node->domain[0] == '\0' || strcmp(node->domain, "ai.onnx") == 0;
}

bool onnx_is_own(const Onnx__NodeProto *node, const char *op)
{
    return onnx_is_own_domain(node) && node->op_type != NULL && strcmp(node->op_type, op) == 0;
}

bool onnx_name_outputs(struct reader *reader, const Onnx__NodeProto *node,
                       struct value *const *values, const struct scope *scope, GError **error)
{
    for (size_t i = 0; i < node->n_output; i++) {
        const char *name = onnx_text_or(node->output[i], NULL);
        if (name == NULL) {
            continue;
        }
        if (g_hash_table_contains(scope->values, name)) {
            g_autofree char *why =
                g_strdup_printf("its output '%s' is given by another node, too", name);
            return onnx_fail_node(reader, node, error, why);
        }
        onnx_name_value(scope, name, values[i]);
    }
    return true;
}

static int convolutions_in(Onnx__NodeProto *const *nodes, size_t node_count)
{
    int count = 0;
    for (size_t n = 0; n < node_count; n++) {
        const char *op = onnx_text_or(nodes[n]->op_type, "");
        count += strcmp(op, "Conv") == 0 || strcmp(op, "ConvTranspose") == 0 ||
                 strcmp(op, "ConvInteger") == 0 || strcmp(op, "QLinearConv") == 0;
        for (size_t i = 0; i < nodes[n]->n_attribute; i++) {
            const Onnx__GraphProto *graph = nodes[n]->attribute[i]->g;
            count += graph != NULL ? convolutions_in(graph->node, graph->n_node) : 0;
        }
    }
    return count;
}

/* The convolutions of the graphs in a node's attributes. */
static int convolutions_within(const Onnx__NodeProto *node)
{
    int count = 0;
    for (size_t i = 0; i < node->n_attribute; i++) {
        const Onnx__GraphProto *graph = node->attribute[i]->g;
        count += graph != NULL ? convolutions_in(graph->node, graph->n_node) : 0;
    }
    return count;
}

/* A node that nobody can compute. Its outputs have no shape. */
static bool add_unknown_node(struct reader *reader, const Onnx__NodeProto *node, GPtrArray *inputs,
                             const char *reason, const struct scope *scope, GError **error)
{
    g_autoptr(Attributes) attributes = attributes_new();
    g_autofree char *op =
        onnx_is_own_domain(node)
            ? g_strdup(onnx_text_or(node->op_type, "?"))
            : g_strdup_printf("%s.%s", node->domain, onnx_text_or(node->op_type, "?"));
    g_autofree char *valid = g_utf8_make_valid(op, -1);
    g_autoptr(GError) wrong = NULL;
    int within = convolutions_within(node);
    if (within > 0 && reader->notes != NULL) {
        reader->notes->hidden += within;
        onnx_note(reader, "node '%s' (%s) has %d convolutions within that are not read: %s",
                  onnx_draft_name(node), valid, within, reason);
    }
    attributes_set_string(attributes, "op", valid);
    attributes_set_string(attributes, "reason", reason);
    struct node_spec spec = {.op = &op_unknown,
                             .name = onnx_draft_name(node),
                             .attributes = attributes,
                             .inputs = (struct value *const *)inputs->pdata,
                             .input_count = (int)inputs->len,
                             .output_count = (int)MAX(node->n_output, 1)};
    struct node *added = graph_add(reader->graph, &spec, &wrong);
    if (added == NULL) {
        return onnx_fail_node(reader, node, error, wrong->message);
    }
    return onnx_name_outputs(reader, node, added->outputs, scope, error);
}

/* The nodes of a branch take the place of the If node. */
static bool add_branch(struct reader *reader, const Onnx__NodeProto *node,
                       const Onnx__GraphProto *branch, const struct scope *scope, GError **error)
{
    g_autoptr(GHashTable) names = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    const struct scope inner = {scope, names};
    g_autofree struct value **values = g_new0(struct value *, MAX(node->n_output, 1));
    if (branch->n_output < node->n_output) {
        return onnx_fail_node(reader, node, error, "its branch has fewer outputs than it has");
    }
    if (reader->depth >= ONNX_BRANCH_DEPTH_MAX) {
        return onnx_fail_node(reader, node, error, "it is too deep in branches of branches");
    }
    reader->depth++;
    bool read = onnx_add_initializers(reader, branch, &inner, error) &&
                onnx_read_nodes(reader, branch, &inner, error);
    reader->depth--;
    if (!read) {
        return false;
    }
    for (size_t i = 0; i < node->n_output; i++) {
        const char *name = onnx_text_or(branch->output[i]->name, "");
        values[i] = onnx_find_value(&inner, name);
        if (values[i] == NULL) {
            return onnx_fail_node(reader, node, error, "nothing gives an output of its branch");
        }
    }
    return onnx_name_outputs(reader, node, values, scope, error);
}

static bool add_if(struct reader *reader, const Onnx__NodeProto *node, GPtrArray *inputs,
                   const struct scope *scope, GError **error)
{
    const Onnx__AttributeProto *yes = onnx_find_attribute(node, "then_branch");
    const Onnx__AttributeProto *no = onnx_find_attribute(node, "else_branch");
    const struct value *condition = inputs->len > 0 ? inputs->pdata[0] : NULL;
    if (condition == NULL || yes == NULL || no == NULL || yes->g == NULL || no->g == NULL) {
        return onnx_fail_node(reader, node, error, "it needs a condition and two branches");
    }
    graph_propagate(reader->graph);
    if (!tensor_has_data(condition->constant) || shape_elements(&condition->constant->shape) != 1) {
        return add_unknown_node(reader, node, inputs,
                                "its condition is computed while the network runs", scope, error);
    }
    return add_branch(reader, node, tensor_int64(condition->constant, 0) != 0 ? yes->g : no->g,
                      scope, error);
}

static bool add_constant_node(struct reader *reader, const Onnx__NodeProto *node,
                              const struct scope *scope, GError **error)
{
    const char *name = node->n_output > 0 ? onnx_text_or(node->output[0], NULL) : NULL;
    struct value *value = NULL;
    const Onnx__AttributeProto *given = NULL;
    for (size_t i = 0; i < node->n_attribute && given == NULL; i++) {
        bool is_value = strstr(onnx_text_or(node->attribute[i]->name, ""), "value") != NULL;
        given = is_value ? node->attribute[i] : NULL;
    }
    if (given == NULL || name == NULL || node->n_output > 1) {
        return onnx_fail_node(reader, node, error, "a constant has a value and one output");
    }
    const char *kind = onnx_text_or(given->name, "");
    g_autoptr(Tensor) tensor = NULL;
    if (strcmp(kind, "value") == 0 && given->t != NULL) {
        value = onnx_add_tensor(reader, name, given->t, error);
        if (value == NULL) {
            g_prefix_error(error, "node '%s' (Constant): ", onnx_draft_name(node));
            return false;
        }
    } else if (strcmp(kind, "value_int") == 0) {
        tensor = tensor_new_int64(given->i);
    } else if (strcmp(kind, "value_ints") == 0) {
        tensor = tensor_new_int64s(given->ints, (int)given->n_ints);
    } else if (strcmp(kind, "value_floats") == 0) {
        tensor = tensor_new_float32s(given->floats, (int)given->n_floats);
    } else if (strcmp(kind, "value_float") == 0) {
        struct shape shape;
        shape_set_packed(&shape, ELEMENT_FLOAT32, 0, NULL, NULL);
        tensor = tensor_take(&shape, g_memdup2(&given->f, sizeof given->f));
    } else {
        value = onnx_add_unknown(reader, name, "Constant", "a text or a sparse tensor");
    }
    if (tensor != NULL) {
        value = graph_add_constant(reader->graph, name, tensor);
    }
    return onnx_name_outputs(reader, node, &value, scope, error);
}

/* Makes a tensor filled with one value a constant of the graph, if its shape is known. Returns NULL if it is not. */
static struct value *fill_constant(struct reader *reader, const char *name,
                                   const Attributes *attributes, const struct value *dims)
{
    const struct tensor *value = attributes_tensor(attributes, "value");
    struct shape shape;
    int64_t sizes[SHAPE_MAX_RANK];
    graph_propagate(reader->graph);
    if (!tensor_has_data(dims->constant) || dims->constant->shape.rank != 1 ||
        dims->constant->shape.dim[0] > SHAPE_MAX_RANK ||
        (value != NULL && !tensor_has_data(value))) {
        return NULL;
    }
    int rank = (int)dims->constant->shape.dim[0];
    for (int i = 0; i < rank; i++) {
        sizes[i] = tensor_int64(dims->constant, i);
    }
    if (!shape_set_packed(&shape, value != NULL ? value->shape.type : ELEMENT_FLOAT32, rank, sizes,
                          NULL)) {
        return NULL; /* the node's inference says what is wrong */
    }
    int64_t bytes = shape_bytes(&shape);
    bool wanted =
        shape_elements(&shape) <= FOLD_ELEMENTS_MAX ||
        (!reader->options->without_weights && bytes <= FILLED_BYTES_MAX - reader->filled_bytes);
    if (!wanted) {
        g_autoptr(Tensor) empty = tensor_new(&shape, NULL, NULL);
        return graph_add_constant(reader->graph, name, empty);
    }
    reader->filled_bytes += bytes;
    char *data = g_malloc0((gsize)MAX(bytes, 1));
    size_t size = (size_t)element_type_bytes(shape.type);
    static const char zeros[8];
    if (value != NULL && memcmp(tensor_data(value), zeros, size) != 0) {
        for (int64_t at = 0; at < bytes; at += (int64_t)size) {
            memcpy(data + at, tensor_data(value), size);
        }
    }
    g_autoptr(Tensor) tensor = tensor_take(&shape, data);
    return graph_add_constant(reader->graph, name, tensor);
}

/* Why no row serves the node. */
static char *unknown_reason(const Onnx__NodeProto *node)
{
    if (onnx_is_own_domain(node)) {
        return onnx_is_own(node, "Loop") || onnx_is_own(node, "Scan")
                   ? g_strdup("what it repeats is known only while the network runs")
                   : g_strdup_printf("no operator of opsets %d to %d that is read", ONNX_OPSET_MIN,
                                     ONNX_OPSET_MAX);
    }
    if (g_str_has_prefix(node->domain, "ai.onnx.ml")) {
        return g_strdup("classical machine learning has no convolutions");
    }
    return g_strdup_printf("no operator of the domain %s that is read", node->domain);
}

/* A cast to the type of another value. */
static bool make_cast(struct reader *reader, struct onnx_draft *draft)
{
    const struct value *like = draft->inputs->len > 1 ? draft->inputs->pdata[1] : NULL;
    graph_propagate(reader->graph);
    if (like == NULL || !shape_is_known(&like->shape)) {
        return false;
    }
    attributes_set_int(draft->attributes, "to", like->shape.type);
    g_ptr_array_set_size(draft->inputs, 1);
    return true;
}

static bool add_draft(struct reader *reader, const Onnx__NodeProto *node, struct onnx_draft *draft,
                      const struct scope *scope, GError **error)
{
    g_autoptr(GError) wrong = NULL;
    if (onnx_is_own(node, "CastLike")) {
        draft->op = make_cast(reader, draft) ? "Cast" : "CastLike";
    } else if (!onnx_draft_modernise(reader->graph, draft, reader->opset, &wrong)) {
        return onnx_fail_node(reader, node, error, wrong->message);
    }
    const struct op *op = onnx_is_own(node, "CastLike") && strcmp(draft->op, "Cast") == 0
                              ? &op_cast
                              : onnx_op_find(draft->domain, draft->op);
    if (op == NULL) {
        g_autofree char *reason = unknown_reason(node);
        return add_unknown_node(reader, node, draft->inputs, reason, scope, error);
    }
    if (op == &op_cast && attributes_int(draft->attributes, "to", ELEMENT_NONE) == ELEMENT_NONE) {
        return add_unknown_node(reader, node, draft->inputs,
                                "a type that graphs of networks do not have", scope, error);
    }
    /* optional inputs that are left out at the end */
    while (draft->inputs->len > 0 && draft->inputs->pdata[draft->inputs->len - 1] == NULL) {
        g_ptr_array_set_size(draft->inputs, (gint)draft->inputs->len - 1);
    }
    for (int i = 0; i < op->min_inputs; i++) {
        bool optional = op->infer == infer_resize || i >= (int)draft->inputs->len;
        if (!optional && draft->inputs->pdata[i] == NULL) {
            g_autofree char *why = g_strdup_printf("its input %d is missing", i);
            return onnx_fail_node(reader, node, error, why);
        }
    }
    if (strcmp(op->name, "ConstantOfShape") == 0 && draft->inputs->len == 1 &&
        node->n_output == 1) {
        struct value *filled = fill_constant(reader, onnx_text_or(node->output[0], NULL),
                                             draft->attributes, draft->inputs->pdata[0]);
        if (filled != NULL) {
            return onnx_name_outputs(reader, node, &filled, scope, error);
        }
    }
    struct node_spec spec = {.op = op,
                             .name = draft->name,
                             .attributes = draft->attributes,
                             .inputs = (struct value *const *)draft->inputs->pdata,
                             .input_count = (int)draft->inputs->len,
                             .output_count = draft->output_count};
    struct node *added = graph_add(reader->graph, &spec, &wrong);
    if (added == NULL) {
        return onnx_fail_node(reader, node, error, wrong->message);
    }
    for (int i = 0; i < added->output_count; i++) {
        const char *name = onnx_text_or(node->output[i], NULL);
        if (name != NULL) {
            graph_rename_value(added->outputs[i], name);
        }
    }
    return onnx_name_outputs(reader, node, added->outputs, scope, error);
}

bool onnx_add_node(struct reader *reader, const Onnx__NodeProto *node, const struct scope *scope,
                   GError **error)
{
    g_autoptr(GPtrArray) inputs = g_ptr_array_new();
    g_autoptr(GError) wrong = NULL;
    if (onnx_text_or(node->op_type, NULL) == NULL) {
        return onnx_fail_node(reader, node, error, "it has no operator");
    }
    for (size_t i = 0; i < node->n_input; i++) {
        struct value *value = NULL;
        if (onnx_text_or(node->input[i], NULL) != NULL) {
            value = onnx_find_value(scope, node->input[i]);
            g_assert(value != NULL); /* the order of the nodes was checked */
        }
        g_ptr_array_add(inputs, value);
    }
    const Onnx__FunctionProto *function = onnx_find_function(reader, node);
    if (function != NULL) {
        return onnx_add_call(reader, node, function, inputs, scope, error);
    }
    if (onnx_is_own(node, "Constant")) {
        return add_constant_node(reader, node, scope, error);
    }
    if (onnx_is_own(node, "If")) {
        return add_if(reader, node, inputs, scope, error);
    }
    if (node->n_output == 0) {
        return onnx_fail_node(reader, node, error, "it has no output");
    }
    g_autoptr(Attributes) attributes = onnx_read_attributes(reader, node, &wrong);
    if (attributes == NULL) {
        g_assert(wrong != NULL);
        return onnx_fail_node(reader, node, error, wrong->message);
    }
    struct onnx_draft draft = {.name = onnx_draft_name(node),
                               .domain = onnx_is_own_domain(node) ? "" : node->domain,
                               .op = node->op_type,
                               .attributes = attributes,
                               .inputs = inputs,
                               .output_count = (int)node->n_output};
    return add_draft(reader, node, &draft, scope, error);
}
