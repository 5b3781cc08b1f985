#include "coordinator/network/onnx/onnx_read.h"

#include "coordinator/network/onnx/infer.h"
#include "coordinator/network/onnx/onnx_forms.h"
#include "coordinator/network/onnx/onnx_ops.h"
#include "export/formats/export_error.h"

#include <inttypes.h>
#include <string.h>

/* ConstantOfShape becomes a constant of the graph up to this many bytes in all; beyond, its contents are unknown. */
#define FILLED_BYTES_MAX (INT64_C(1) << 30)
#define GRAPHS_MAX       16      /* branches within branches, functions within functions */
#define INLINED_MAX      1000000 /* nodes of functions, in all their calls */

/* Names of a graph and of those around it. */
struct scope {
    const struct scope *outer;
    GHashTable *values; /* name -> struct value */
};

struct reader {
    const OnnxFile *file;
    const struct onnx_options *options;
    struct onnx_notes *notes;
    Graph *graph;
    int opset;
    int depth;      /* of branches and functions */
    size_t inlined; /* nodes of functions, in the calls that were read */
    bool dims_used[ONNX_DIMS_MAX];
    GHashTable *batch_names; /* open dimensions that stand for the batch */
    int unread;              /* constants whose file cannot be read */
    int64_t filled_bytes;
};

/* ---- notes and errors ---- */

void onnx_notes_init(struct onnx_notes *notes)
{
    *notes = (struct onnx_notes){.lines = g_ptr_array_new_with_free_func(g_free), .batch = 1};
}

void onnx_notes_clear(struct onnx_notes *notes)
{
    g_clear_pointer(&notes->lines, g_ptr_array_unref);
}

G_GNUC_PRINTF(2, 3)
static void note(struct reader *reader, const char *format, ...)
{
    if (reader->notes == NULL) {
        return;
    }
    va_list arguments;
    va_start(arguments, format);
    g_autofree char *text = g_strdup_vprintf(format, arguments);
    va_end(arguments);
    g_ptr_array_add(reader->notes->lines, g_utf8_make_valid(text, -1));
}

G_GNUC_PRINTF(3, 4)
static void set_error(const struct reader *reader, GError **error, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    g_autofree char *text = g_strdup_vprintf(format, arguments);
    va_end(arguments);
    g_autofree char *why = g_utf8_make_valid(text, -1);
    g_set_error(error, EXPORT_ERROR, EXPORT_ERROR_DAMAGED, "cannot read the ONNX model '%s': %s",
                onnx_file_name(reader->file), why);
}
#define fail(...) (set_error(__VA_ARGS__), false)

static const char *text_or(const char *text, const char *other)
{
    return text != NULL && text[0] != '\0' ? text : other;
}

/* The name of a node for messages and for the graph: its own, or its first output's. */
static const char *draft_name(const Onnx__NodeProto *node)
{
    const char *name = text_or(node->name, NULL);
    for (size_t i = 0; name == NULL && i < node->n_output; i++) {
        name = text_or(node->output[i], NULL);
    }
    return name != NULL ? name : "without a name";
}

static bool fail_node(const struct reader *reader, const Onnx__NodeProto *node, GError **error,
                      const char *why)
{
    return fail(reader, error, "node '%s' (%s): %s", draft_name(node), text_or(node->op_type, "?"),
                why);
}

/* ---- values ---- */

static struct value *find_value(const struct scope *scope, const char *name)
{
    for (; scope != NULL; scope = scope->outer) {
        struct value *value = g_hash_table_lookup(scope->values, name);
        if (value != NULL) {
            return value;
        }
    }
    return NULL;
}

static void name_value(const struct scope *scope, const char *name, struct value *value)
{
    g_hash_table_insert(scope->values, g_strdup(name), value);
}

/* A value about which nothing can be known, with the reason. */
static struct value *add_unknown(struct reader *reader, const char *name, const char *op,
                                 const char *reason)
{
    g_autoptr(Attributes) attributes = attributes_new();
    attributes_set_string(attributes, "op", op);
    attributes_set_string(attributes, "reason", reason);
    struct node_spec spec = {
        .op = &op_unknown, .name = name, .attributes = attributes, .output_count = 1};
    struct node *node = graph_add(reader->graph, &spec, NULL);
    g_assert(node != NULL);
    return node->outputs[0];
}

/* ---- tensors ---- */

/* The shape of a tensor of the file. Returns false with NETWORK_ERROR_UNSUPPORTED for tensors that graphs do not have. */
static bool tensor_shape(const Onnx__TensorProto *tensor, struct shape *shape, GError **error)
{
    enum element_type type = onnx_element_type(tensor->data_type);
    if (type == ELEMENT_NONE) {
        return infer_unsupported(error, "a tensor of the type %s",
                                 onnx_type_name(tensor->data_type));
    }
    if (tensor->n_dims > SHAPE_MAX_RANK) {
        return infer_unsupported(error, "a tensor with %zu axes", tensor->n_dims);
    }
    return shape_set_packed(shape, type, (int)tensor->n_dims, tensor->dims, error);
}

/* Reads a tensor with its contents; large ones without if the options say so, and those that the file leaves out or
 * whose own file is missing. */
static struct tensor *read_tensor(struct reader *reader, const Onnx__TensorProto *tensor,
                                  GError **error)
{
    struct shape shape;
    int64_t elements;
    g_autoptr(GError) wrong = NULL;
    if (!onnx_tensor_elements(tensor, &elements, error) || !tensor_shape(tensor, &shape, error)) {
        return NULL;
    }
    bool wanted = !reader->options->without_weights || elements <= FOLD_ELEMENTS_MAX;
    bool left_out = elements > 0 && !onnx_tensor_has_data(tensor);
    g_autoptr(GBytes) data =
        wanted && !left_out ? onnx_file_tensor_data(reader->file, tensor, &wrong) : NULL;
    if (wrong != NULL && !g_error_matches(wrong, EXPORT_ERROR, EXPORT_ERROR_IO)) {
        g_propagate_error(error, g_steal_pointer(&wrong));
        return NULL;
    }
    if (wrong != NULL && reader->unread++ == 0) {
        note(reader, "%s: its contents are taken as unknown", wrong->message);
    }
    return tensor_new(&shape, data, error);
}

/* Adds a constant. Tensors that graphs do not have become unknown values. */
static struct value *add_tensor(struct reader *reader, const char *name,
                                const Onnx__TensorProto *tensor, GError **error)
{
    g_autoptr(GError) wrong = NULL;
    g_autoptr(Tensor) read = read_tensor(reader, tensor, &wrong);
    if (read != NULL) {
        return graph_add_constant(reader->graph, name, read);
    }
    if (g_error_matches(wrong, NETWORK_ERROR, NETWORK_ERROR_UNSUPPORTED)) {
        return add_unknown(reader, name, "tensor", wrong->message);
    }
    if (g_error_matches(wrong, EXPORT_ERROR, EXPORT_ERROR_KIND)) {
        return add_unknown(reader, name, "tensor", wrong->message);
    }
    set_error(reader, error, "%s", wrong->message);
    return NULL;
}

static bool add_initializers(struct reader *reader, const Onnx__GraphProto *from,
                             const struct scope *scope, GError **error)
{
    for (size_t i = 0; i < from->n_initializer; i++) {
        const Onnx__TensorProto *tensor = from->initializer[i];
        const char *name = text_or(tensor->name, NULL);
        if (name == NULL || g_hash_table_contains(scope->values, name)) {
            return fail(reader, error, "tensor %zu %s%s", i,
                        name == NULL ? "has no name" : "has the name of another one, ",
                        name == NULL ? "" : name);
        }
        struct value *value = add_tensor(reader, name, tensor, error);
        if (value == NULL) {
            return false;
        }
        name_value(scope, name, value);
    }
    for (size_t i = 0; i < from->n_sparse_initializer; i++) {
        const Onnx__SparseTensorProto *sparse = from->sparse_initializer[i];
        const char *name = sparse->values != NULL ? text_or(sparse->values->name, NULL) : NULL;
        struct shape shape;
        g_autoptr(GError) wrong = NULL;
        if (name == NULL || g_hash_table_contains(scope->values, name)) {
            return fail(reader, error, "sparse tensor %zu has no name, or that of another one", i);
        }
        if (sparse->n_dims > SHAPE_MAX_RANK ||
            onnx_element_type(sparse->values->data_type) == ELEMENT_NONE ||
            !shape_set_packed(&shape, onnx_element_type(sparse->values->data_type),
                              (int)sparse->n_dims, sparse->dims, &wrong)) {
            return fail(reader, error, "sparse tensor '%s' has no shape that is read", name);
        }
        g_autoptr(Tensor) tensor = tensor_new(&shape, NULL, NULL);
        name_value(scope, name, graph_add_constant(reader->graph, name, tensor));
        note(reader, "the contents of the sparse tensor '%s' are not read", name);
    }
    return true;
}

/* ---- inputs ---- */

typedef Onnx__TensorShapeProto__Dimension Dimension;

static bool is_open(const Dimension *dim)
{
    return !dim->has_dim_value || dim->dim_value <= 0;
}

/* "N", or "data:0" for a dimension without a name */
static char *dim_name(const Dimension *dim, const char *input, size_t axis)
{
    const char *name = text_or(dim->dim_param, NULL);
    return name != NULL ? g_strdup(name) : g_strdup_printf("%s:%zu", input, axis);
}

static int64_t batch_size(const struct reader *reader)
{
    return MAX(reader->options->batch, 1);
}

/* The size that the options give an open dimension; 0: none. */
static int64_t given_size(struct reader *reader, const char *input, size_t axis, const char *name)
{
    g_autofree char *place = g_strdup_printf("%s:%zu", input, axis);
    for (int i = 0; i < reader->options->dim_count; i++) {
        const struct onnx_dim *given = &reader->options->dims[i];
        if (strcmp(given->name, name) == 0 || strcmp(given->name, place) == 0) {
            reader->dims_used[i] = true;
            return given->size > 0 ? given->size : batch_size(reader);
        }
    }
    return 0;
}

static const Onnx__TensorShapeProto *shape_of(const Onnx__ValueInfoProto *info)
{
    return info->type != NULL && info->type->tensor_type != NULL ? info->type->tensor_type->shape
                                                                 : NULL;
}

static void note_batch_name(struct reader *reader, const Onnx__ValueInfoProto *info)
{
    const Onnx__TensorShapeProto *shape = shape_of(info);
    if (shape != NULL && shape->n_dim > 0 && is_open(shape->dim[0])) {
        g_hash_table_add(reader->batch_names, dim_name(shape->dim[0], text_or(info->name, ""), 0));
    }
}

/* Reads the shape that the model states of a value. Returns false if a dimension is open and nothing says its size (0 and
 * -1 are open: some exporters write them so); and with an error, if no tensor has such a shape. */
static bool read_shape(struct reader *reader, const Onnx__ValueInfoProto *info, bool says,
                       struct shape *shape, GError **error)
{
    const Onnx__TensorShapeProto *given = shape_of(info);
    const char *input = text_or(info->name, "");
    int64_t dims[SHAPE_MAX_RANK];
    if (given == NULL || given->n_dim > SHAPE_MAX_RANK) {
        return false;
    }
    bool known = true;
    for (size_t i = 0; i < given->n_dim; i++) {
        if (!is_open(given->dim[i])) {
            dims[i] = given->dim[i]->dim_value;
            continue;
        }
        if (given->dim[i]->has_dim_value && given->dim[i]->dim_value < -1) {
            return fail(reader, error, "dimension %zu of '%s' is %" PRId64, i, input,
                        given->dim[i]->dim_value);
        }
        g_autofree char *name = dim_name(given->dim[i], input, i);
        bool batch = g_hash_table_contains(reader->batch_names, name);
        dims[i] = given_size(reader, input, i, name);
        if (dims[i] == 0 && batch) {
            dims[i] = batch_size(reader);
            if (says && i == 0) {
                note(
                    reader,
                    "dimension '%s' of input '%s' is open: it is taken as the batch (--batch, else 1)",
                    name, input);
            }
        } else if (dims[i] == 0) {
            known = false;
            if (says) {
                note(reader,
                     "dimension '%s' of input '%s' is open: give its size with --dim %s=SIZE", name,
                     input, name);
            }
        }
    }
    if (!known) {
        return false;
    }
    g_autoptr(GError) wrong = NULL;
    if (!shape_set_packed(shape, onnx_element_type(info->type->tensor_type->elem_type),
                          (int)given->n_dim, dims, &wrong)) {
        return fail(reader, error, "'%s': %s", input, wrong->message);
    }
    return shape_is_known(shape);
}

/* The batch is the first size of the first input that looks like images; of the first input if there is none. */
static void note_batch(struct reader *reader)
{
    const struct shape *found = NULL;
    for (guint i = 0; i < reader->graph->inputs->len; i++) {
        const struct value *input = reader->graph->inputs->pdata[i];
        if (!shape_is_known(&input->shape) || input->shape.rank == 0) {
            continue;
        }
        if (found == NULL || (found->rank < 3 && input->shape.rank >= 3)) {
            found = &input->shape;
        }
    }
    if (reader->notes != NULL) {
        reader->notes->batch = found != NULL ? MAX(found->dim[0], 1) : 1;
    }
}

static bool add_inputs(struct reader *reader, const Onnx__GraphProto *from,
                       const struct scope *scope, GError **error)
{
    for (size_t i = 0; i < from->n_input; i++) {
        const char *name = text_or(from->input[i]->name, "");
        if (!g_hash_table_contains(scope->values, name)) {
            note_batch_name(reader, from->input[i]);
        }
    }
    for (size_t i = 0; i < from->n_input; i++) {
        const Onnx__ValueInfoProto *info = from->input[i];
        const char *name = text_or(info->name, NULL);
        struct shape shape;
        if (name == NULL) {
            return fail(reader, error, "input %zu has no name", i);
        }
        struct value *known = g_hash_table_lookup(scope->values, name);
        if (known != NULL && known->kind == VALUE_INPUT) {
            return fail(reader, error, "two inputs have the name '%s'", name);
        }
        if (known != NULL) {
            continue; /* a constant, which older files list among the inputs */
        }
        GError *wrong = NULL;
        bool read = read_shape(reader, info, true, &shape, &wrong);
        if (wrong != NULL) {
            g_propagate_error(error, wrong);
            return false;
        }
        if (!read && shape_of(info) == NULL) {
            note(reader, "input '%s' has no shape in the model", name);
        }
        name_value(scope, name, graph_add_input(reader->graph, name, read ? &shape : NULL));
    }
    for (int i = 0; i < reader->options->dim_count; i++) {
        if (!reader->dims_used[i]) {
            g_set_error(error, EXPORT_ERROR, EXPORT_ERROR_USAGE,
                        "--dim %s: the model '%s' has no open dimension of this name",
                        reader->options->dims[i].name, onnx_file_name(reader->file));
            return false;
        }
    }
    note_batch(reader);
    return true;
}

/* ---- attributes ---- */

enum {
    TYPE_NUMBER_UNDEFINED,
    TYPE_NUMBER_FLOAT,
    TYPE_NUMBER_INT,
    TYPE_NUMBER_STRING,
    TYPE_NUMBER_TENSOR,
    TYPE_NUMBER_GRAPH,
    TYPE_NUMBER_FLOATS,
    TYPE_NUMBER_INTS,
    TYPE_NUMBER_STRINGS,
};

/* The kind of an attribute; the first versions of the format do not say it. */
static int attribute_type(const Onnx__AttributeProto *attribute)
{
    if (attribute->has_type && attribute->type != TYPE_NUMBER_UNDEFINED) {
        return attribute->type;
    }
    return attribute->n_ints > 0      ? TYPE_NUMBER_INTS
           : attribute->n_floats > 0  ? TYPE_NUMBER_FLOATS
           : attribute->n_strings > 0 ? TYPE_NUMBER_STRINGS
           : attribute->t != NULL     ? TYPE_NUMBER_TENSOR
           : attribute->g != NULL     ? TYPE_NUMBER_GRAPH
           : attribute->has_s         ? TYPE_NUMBER_STRING
           : attribute->has_f         ? TYPE_NUMBER_FLOAT
           : attribute->has_i         ? TYPE_NUMBER_INT
                                      : TYPE_NUMBER_INTS;
}

static char *bytes_text(const ProtobufCBinaryData *bytes)
{
    g_autofree char *text =
        g_strndup(bytes->data != NULL ? (const char *)bytes->data : "", bytes->len);
    return g_utf8_make_valid(text, -1);
}

static bool set_attribute(struct reader *reader, Attributes *attributes,
                          const Onnx__AttributeProto *from, GError **error)
{
    const char *name = from->name;
    switch (attribute_type(from)) {
    case TYPE_NUMBER_FLOAT: attributes_set_float(attributes, name, (double)from->f); return true;
    case TYPE_NUMBER_INT: attributes_set_int(attributes, name, from->i); return true;
    case TYPE_NUMBER_STRING: {
        g_autofree char *text = bytes_text(&from->s);
        attributes_set_string(attributes, name, text);
        return true;
    }
    case TYPE_NUMBER_INTS:
        attributes_set_ints(attributes, name, from->ints, (int)from->n_ints);
        return true;
    case TYPE_NUMBER_FLOATS: {
        g_autofree double *floats = g_new(double, MAX(from->n_floats, 1));
        for (size_t i = 0; i < from->n_floats; i++) {
            floats[i] = (double)from->floats[i];
        }
        attributes_set_floats(attributes, name, floats, (int)from->n_floats);
        return true;
    }
    case TYPE_NUMBER_STRINGS: {
        g_autoptr(GPtrArray) texts = g_ptr_array_new_with_free_func(g_free);
        for (size_t i = 0; i < from->n_strings; i++) {
            g_ptr_array_add(texts, bytes_text(&from->strings[i]));
        }
        attributes_set_strings(attributes, name, (const char *const *)texts->pdata,
                               (int)texts->len);
        return true;
    }
    case TYPE_NUMBER_TENSOR: {
        g_autoptr(GError) wrong = NULL;
        if (from->t == NULL) {
            return infer_invalid(error, "its attribute %s has no tensor", name);
        }
        g_autoptr(Tensor) tensor = read_tensor(reader, from->t, &wrong);
        if (tensor != NULL) {
            attributes_set_tensor(attributes, name, tensor);
        } else {
            return infer_invalid(error, "its attribute %s: %s", name, wrong->message);
        }
        return true;
    }
    default: return true; /* graphs are read by If; no operator with a row has the others */
    }
}

static Attributes *read_attributes(struct reader *reader, const Onnx__NodeProto *node,
                                   GError **error)
{
    g_autoptr(Attributes) attributes = attributes_new();
    for (size_t i = 0; i < node->n_attribute; i++) {
        const Onnx__AttributeProto *attribute = node->attribute[i];
        if (text_or(attribute->name, NULL) == NULL) {
            return infer_invalid(error, "its attribute %zu has no name", i) ? attributes : NULL;
        }
        if (attributes_find(attributes, attribute->name) != NULL) {
            return infer_invalid(error, "it has the attribute %s twice", attribute->name)
                       ? attributes
                       : NULL;
        }
        if (text_or(attribute->ref_attr_name, NULL) != NULL) {
            return infer_invalid(error, "its attribute %s is a function's", attribute->name)
                       ? attributes
                       : NULL;
        }
        if (!set_attribute(reader, attributes, attribute, error)) {
            return NULL;
        }
    }
    return g_steal_pointer(&attributes);
}

/* ---- nodes ---- */

static bool read_nodes(struct reader *reader, const Onnx__GraphProto *from,
                       const struct scope *scope, GError **error);

static const Onnx__AttributeProto *find_attribute(const Onnx__NodeProto *node, const char *name)
{
    for (size_t i = 0; i < node->n_attribute; i++) {
        if (node->attribute[i]->name != NULL && strcmp(node->attribute[i]->name, name) == 0) {
            return node->attribute[i];
        }
    }
    return NULL;
}

static bool is_own_domain(const Onnx__NodeProto *node)
{
    return node->domain == NULL || node->domain[0] == '\0' || strcmp(node->domain, "ai.onnx") == 0;
}

static bool is_own(const Onnx__NodeProto *node, const char *op)
{
    return is_own_domain(node) && node->op_type != NULL && strcmp(node->op_type, op) == 0;
}

static bool name_outputs(struct reader *reader, const Onnx__NodeProto *node,
                         struct value *const *values, const struct scope *scope, GError **error)
{
    for (size_t i = 0; i < node->n_output; i++) {
        const char *name = text_or(node->output[i], NULL);
        if (name == NULL) {
            continue;
        }
        if (g_hash_table_contains(scope->values, name)) {
            g_autofree char *why =
                g_strdup_printf("its output '%s' is given by another node, too", name);
            return fail_node(reader, node, error, why);
        }
        name_value(scope, name, values[i]);
    }
    return true;
}

static int convolutions_in(Onnx__NodeProto *const *nodes, size_t node_count)
{
    int count = 0;
    for (size_t n = 0; n < node_count; n++) {
        const char *op = text_or(nodes[n]->op_type, "");
        count += strcmp(op, "Conv") == 0 || strcmp(op, "ConvTranspose") == 0 ||
                 strcmp(op, "ConvInteger") == 0 || strcmp(op, "QLinearConv") == 0;
        for (size_t i = 0; i < nodes[n]->n_attribute; i++) {
            const Onnx__GraphProto *graph = nodes[n]->attribute[i]->g;
            count += graph != NULL ? convolutions_in(graph->node, graph->n_node) : 0;
        }
    }
    return count;
}

/* The function of the model that the node calls, or NULL. */
static const Onnx__FunctionProto *find_function(const struct reader *reader,
                                                const Onnx__NodeProto *node)
{
    const Onnx__ModelProto *model = onnx_file_model(reader->file);
    for (size_t i = 0; i < model->n_functions; i++) {
        const Onnx__FunctionProto *function = model->functions[i];
        if (g_strcmp0(function->name, node->op_type) == 0 &&
            g_strcmp0(text_or(function->domain, ""), text_or(node->domain, "")) == 0) {
            return function;
        }
    }
    return NULL;
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
    g_autofree char *op = is_own_domain(node)
                              ? g_strdup(text_or(node->op_type, "?"))
                              : g_strdup_printf("%s.%s", node->domain, text_or(node->op_type, "?"));
    g_autofree char *valid = g_utf8_make_valid(op, -1);
    g_autoptr(GError) wrong = NULL;
    int within = convolutions_within(node);
    if (within > 0 && reader->notes != NULL) {
        reader->notes->hidden += within;
        note(reader, "node '%s' (%s) has %d convolutions within that are not read: %s",
             draft_name(node), valid, within, reason);
    }
    attributes_set_string(attributes, "op", valid);
    attributes_set_string(attributes, "reason", reason);
    struct node_spec spec = {.op = &op_unknown,
                             .name = draft_name(node),
                             .attributes = attributes,
                             .inputs = (struct value *const *)inputs->pdata,
                             .input_count = (int)inputs->len,
                             .output_count = (int)MAX(node->n_output, 1)};
    struct node *added = graph_add(reader->graph, &spec, &wrong);
    if (added == NULL) {
        return fail_node(reader, node, error, wrong->message);
    }
    return name_outputs(reader, node, added->outputs, scope, error);
}

/* The nodes of a branch take the place of the If node. */
static bool add_branch(struct reader *reader, const Onnx__NodeProto *node,
                       const Onnx__GraphProto *branch, const struct scope *scope, GError **error)
{
    g_autoptr(GHashTable) names = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    const struct scope inner = {scope, names};
    g_autofree struct value **values = g_new0(struct value *, MAX(node->n_output, 1));
    if (branch->n_output < node->n_output) {
        return fail_node(reader, node, error, "its branch has fewer outputs than it has");
    }
    if (reader->depth >= GRAPHS_MAX) {
        return fail_node(reader, node, error, "it is too deep in branches of branches");
    }
    reader->depth++;
    bool read = add_initializers(reader, branch, &inner, error) &&
                read_nodes(reader, branch, &inner, error);
    reader->depth--;
    if (!read) {
        return false;
    }
    for (size_t i = 0; i < node->n_output; i++) {
        const char *name = text_or(branch->output[i]->name, "");
        values[i] = find_value(&inner, name);
        if (values[i] == NULL) {
            return fail_node(reader, node, error, "nothing gives an output of its branch");
        }
    }
    return name_outputs(reader, node, values, scope, error);
}

static bool add_if(struct reader *reader, const Onnx__NodeProto *node, GPtrArray *inputs,
                   const struct scope *scope, GError **error)
{
    const Onnx__AttributeProto *yes = find_attribute(node, "then_branch");
    const Onnx__AttributeProto *no = find_attribute(node, "else_branch");
    const struct value *condition = inputs->len > 0 ? inputs->pdata[0] : NULL;
    if (condition == NULL || yes == NULL || no == NULL || yes->g == NULL || no->g == NULL) {
        return fail_node(reader, node, error, "it needs a condition and two branches");
    }
    graph_propagate(reader->graph);
    if (!tensor_has_data(condition->constant) || shape_elements(&condition->constant->shape) != 1) {
        return add_unknown_node(reader, node, inputs,
                                "its condition is computed while the network runs", scope, error);
    }
    return add_branch(reader, node, tensor_int64(condition->constant, 0) != 0 ? yes->g : no->g,
                      scope, error);
}

/* Constant: its value is one of several attributes. */
static bool add_constant_node(struct reader *reader, const Onnx__NodeProto *node,
                              const struct scope *scope, GError **error)
{
    const char *name = node->n_output > 0 ? text_or(node->output[0], NULL) : NULL;
    struct value *value = NULL;
    const Onnx__AttributeProto *given = NULL;
    for (size_t i = 0; i < node->n_attribute && given == NULL; i++) {
        bool is_value = strstr(text_or(node->attribute[i]->name, ""), "value") != NULL;
        given = is_value ? node->attribute[i] : NULL;
    }
    if (given == NULL || name == NULL || node->n_output > 1) {
        return fail_node(reader, node, error, "a constant has a value and one output");
    }
    const char *kind = text_or(given->name, "");
    g_autoptr(Tensor) tensor = NULL;
    if (strcmp(kind, "value") == 0 && given->t != NULL) {
        value = add_tensor(reader, name, given->t, error);
        if (value == NULL) {
            g_prefix_error(error, "node '%s' (Constant): ", draft_name(node));
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
        value = add_unknown(reader, name, "Constant", "a text or a sparse tensor");
    }
    if (tensor != NULL) {
        value = graph_add_constant(reader->graph, name, tensor);
    }
    return name_outputs(reader, node, &value, scope, error);
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
    if (is_own_domain(node)) {
        return is_own(node, "Loop") || is_own(node, "Scan")
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

/* Adds a node with a row, or the unknown node. */
static bool add_draft(struct reader *reader, const Onnx__NodeProto *node, struct onnx_draft *draft,
                      const struct scope *scope, GError **error)
{
    g_autoptr(GError) wrong = NULL;
    if (is_own(node, "CastLike")) {
        draft->op = make_cast(reader, draft) ? "Cast" : "CastLike";
    } else if (!onnx_draft_modernise(reader->graph, draft, reader->opset, &wrong)) {
        return fail_node(reader, node, error, wrong->message);
    }
    const struct op *op = is_own(node, "CastLike") && strcmp(draft->op, "Cast") == 0
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
            return fail_node(reader, node, error, why);
        }
    }
    if (strcmp(op->name, "ConstantOfShape") == 0 && draft->inputs->len == 1 &&
        node->n_output == 1) {
        struct value *filled = fill_constant(reader, text_or(node->output[0], NULL),
                                             draft->attributes, draft->inputs->pdata[0]);
        if (filled != NULL) {
            return name_outputs(reader, node, &filled, scope, error);
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
        return fail_node(reader, node, error, wrong->message);
    }
    for (int i = 0; i < added->output_count; i++) {
        const char *name = text_or(node->output[i], NULL);
        if (name != NULL) {
            graph_rename_value(added->outputs[i], name);
        }
    }
    return name_outputs(reader, node, added->outputs, scope, error);
}

/* ---- functions of the model ---- */

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
    const char *name = text_or(inner->ref_attr_name, NULL);
    const Onnx__AttributeProto *given = name != NULL ? find_attribute(in->call, name) : inner;
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
    node->name = own(in, g_strdup_printf("%s/%s", draft_name(in->call), draft_name(inner)));
    node->input = own(in, g_new0(char *, inner->n_input + 1));
    for (size_t i = 0; i < inner->n_input; i++) {
        bool is_omitted = g_hash_table_contains(in->omitted, text_or(inner->input[i], ""));
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
        const char *domain = text_or(set->domain, "ai.onnx");
        if (strcmp(domain, "ai.onnx") == 0 && set->version >= ONNX_OPSET_MIN &&
            set->version <= ONNX_OPSET_MAX) {
            reader->opset = (int)set->version;
        }
    }
    reader->depth++;
    bool read = read_nodes(reader, &body, scope, error);
    reader->depth--;
    reader->opset = opset;
    return read;
}

static bool check_call(struct reader *reader, const struct inlining *in, GError **error)
{
    const char *why = NULL;
    if (in->call->n_input > in->function->n_input || in->call->n_output > in->function->n_output) {
        why = "it has more inputs or outputs than the function that it calls";
    } else if (reader->depth >= GRAPHS_MAX) {
        why = "it is too deep in functions that call functions";
    } else if (in->function->n_node > INLINED_MAX - reader->inlined) {
        why = "with it, calls of functions have more than " G_STRINGIFY(INLINED_MAX) " nodes";
    }
    return why == NULL || fail_node(reader, in->call, error, why);
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
        const char *name = text_or(in->function->input[i], "");
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
        values[i] = find_value(&inner, text_or(in->function->output[i], ""));
        if (values[i] == NULL) {
            return fail_node(reader, in->call, error, "nothing gives an output of its function");
        }
        const char *name = text_or(in->call->output[i], NULL);
        if (name != NULL && values[i]->producer != NULL) {
            graph_rename_value(values[i], name);
        }
    }
    return name_outputs(reader, in->call, values, scope, error);
}

static bool add_call(struct reader *reader, const Onnx__NodeProto *node,
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

/* ---- all nodes ---- */

static bool add_node(struct reader *reader, const Onnx__NodeProto *node, const struct scope *scope,
                     GError **error)
{
    g_autoptr(GPtrArray) inputs = g_ptr_array_new();
    g_autoptr(GError) wrong = NULL;
    if (text_or(node->op_type, NULL) == NULL) {
        return fail_node(reader, node, error, "it has no operator");
    }
    for (size_t i = 0; i < node->n_input; i++) {
        struct value *value = NULL;
        if (text_or(node->input[i], NULL) != NULL) {
            value = find_value(scope, node->input[i]);
            g_assert(value != NULL); /* the order of the nodes was checked */
        }
        g_ptr_array_add(inputs, value);
    }
    const Onnx__FunctionProto *function = find_function(reader, node);
    if (function != NULL) {
        return add_call(reader, node, function, inputs, scope, error);
    }
    if (is_own(node, "Constant")) {
        return add_constant_node(reader, node, scope, error);
    }
    if (is_own(node, "If")) {
        return add_if(reader, node, inputs, scope, error);
    }
    if (node->n_output == 0) {
        return fail_node(reader, node, error, "it has no output");
    }
    g_autoptr(Attributes) attributes = read_attributes(reader, node, &wrong);
    if (attributes == NULL) {
        g_assert(wrong != NULL);
        return fail_node(reader, node, error, wrong->message);
    }
    struct onnx_draft draft = {.name = draft_name(node),
                               .domain = is_own_domain(node) ? "" : node->domain,
                               .op = node->op_type,
                               .attributes = attributes,
                               .inputs = inputs,
                               .output_count = (int)node->n_output};
    return add_draft(reader, node, &draft, scope, error);
}

/* ---- the order of the nodes ---- */

/* The nodes of a graph as they depend on each other. */
struct order {
    size_t count;
    GHashTable *givers; /* name of an output -> index of its node, + 1 */
    GArray **users;     /* of each node: indexes of the nodes that wait for it */
    int *waits;         /* of each node: how many outputs it waits for */
};

static bool wait_for_inputs(struct reader *reader, const struct order *order, size_t waiting,
                            const Onnx__NodeProto *top, const Onnx__NodeProto *node,
                            const struct scope *scope, GPtrArray *inner, GError **error);

/* The branch's own names are no dependencies. `inner`: GHashTable * of the names of the branches around. */
static bool wait_for_graph(struct reader *reader, const struct order *order, size_t waiting,
                           const Onnx__NodeProto *top, const Onnx__GraphProto *from,
                           const struct scope *scope, GPtrArray *inner, GError **error)
{
    g_autoptr(GHashTable) own = g_hash_table_new(g_str_hash, g_str_equal);
    for (size_t i = 0; i < from->n_initializer; i++) {
        g_hash_table_add(own, (gpointer)text_or(from->initializer[i]->name, ""));
    }
    for (size_t i = 0; i < from->n_sparse_initializer; i++) {
        const Onnx__TensorProto *values = from->sparse_initializer[i]->values;
        g_hash_table_add(own, (gpointer)text_or(values != NULL ? values->name : NULL, ""));
    }
    for (size_t i = 0; i < from->n_input; i++) {
        g_hash_table_add(own, (gpointer)text_or(from->input[i]->name, ""));
    }
    for (size_t i = 0; i < from->n_node; i++) {
        for (size_t o = 0; o < from->node[i]->n_output; o++) {
            g_hash_table_add(own, (gpointer)text_or(from->node[i]->output[o], ""));
        }
    }
    g_ptr_array_add(inner, own);
    bool fine = true;
    for (size_t i = 0; fine && i < from->n_node; i++) {
        fine = wait_for_inputs(reader, order, waiting, top, from->node[i], scope, inner, error);
    }
    for (size_t i = 0; fine && i < from->n_output; i++) {
        Onnx__NodeProto end = ONNX__NODE_PROTO__INIT;
        char *name = (char *)text_or(from->output[i]->name, "");
        end.n_input = 1;
        end.input = &name;
        fine = wait_for_inputs(reader, order, waiting, top, &end, scope, inner, error);
    }
    g_ptr_array_set_size(inner, (gint)inner->len - 1);
    return fine;
}

static bool wait_for_inputs(struct reader *reader, const struct order *order, size_t waiting,
                            const Onnx__NodeProto *top, const Onnx__NodeProto *node,
                            const struct scope *scope, GPtrArray *inner, GError **error)
{
    for (size_t i = 0; i < node->n_input; i++) {
        const char *name = text_or(node->input[i], NULL);
        bool own = name == NULL;
        for (guint g = 0; !own && g < inner->len; g++) {
            own = g_hash_table_contains(inner->pdata[g], name);
        }
        if (own) {
            continue;
        }
        size_t giver = GPOINTER_TO_SIZE(g_hash_table_lookup(order->givers, name));
        if (giver == 0 && find_value(scope, name) == NULL) {
            g_autofree char *why = g_strdup_printf(
                "its input '%s' is no input of the network, no constant and no node's output",
                name);
            return fail_node(reader, top, error, why);
        }
        if (giver != 0 && !g_hash_table_contains(scope->values, name)) {
            g_array_append_val(order->users[giver - 1], waiting);
            order->waits[waiting]++;
        }
    }
    for (size_t i = 0; i < node->n_attribute; i++) {
        if (node->attribute[i]->g != NULL &&
            !wait_for_graph(reader, order, waiting, top, node->attribute[i]->g, scope, inner,
                            error)) {
            return false;
        }
    }
    return true;
}

static void order_clear(struct order *order)
{
    for (size_t i = 0; i < order->count; i++) {
        g_array_unref(order->users[i]);
    }
    g_free(order->users);
    g_free(order->waits);
    g_hash_table_unref(order->givers);
}

/* Adds each node once all that it waits for is there: in the file's order, which almost always is one. */
static bool add_in_order(struct reader *reader, const Onnx__GraphProto *from, struct order *order,
                         const struct scope *scope, GError **error)
{
    g_autofree bool *added = g_new0(bool, MAX(from->n_node, 1));
    g_autoptr(GArray) ready = g_array_new(FALSE, FALSE, sizeof(size_t));
    size_t done = 0;
    for (size_t first = 0; first < from->n_node; first++) {
        if (added[first] || order->waits[first] > 0) {
            continue;
        }
        g_array_append_val(ready, first);
        while (ready->len > 0) {
            size_t index = g_array_index(ready, size_t, ready->len - 1);
            g_array_set_size(ready, ready->len - 1);
            if (!add_node(reader, from->node[index], scope, error)) {
                return false;
            }
            added[index] = true;
            done++;
            for (guint u = 0; u < order->users[index]->len; u++) {
                size_t user = g_array_index(order->users[index], size_t, u);
                /* a user further on in the file waits for its turn there */
                if (--order->waits[user] == 0 && user < first) {
                    g_array_append_val(ready, user);
                }
            }
        }
    }
    for (size_t i = 0; i < from->n_node && done < from->n_node; i++) {
        if (!added[i]) {
            return fail_node(reader, from->node[i], error, "it depends on its own output");
        }
    }
    return true;
}

static bool read_nodes(struct reader *reader, const Onnx__GraphProto *from,
                       const struct scope *scope, GError **error)
{
    struct order order = {.count = from->n_node,
                          .givers = g_hash_table_new(g_str_hash, g_str_equal),
                          .users = g_new(GArray *, MAX(from->n_node, 1)),
                          .waits = g_new0(int, MAX(from->n_node, 1))};
    g_autoptr(GPtrArray) inner = g_ptr_array_new();
    bool fine = true;
    for (size_t i = 0; i < from->n_node; i++) {
        order.users[i] = g_array_new(FALSE, FALSE, sizeof(size_t));
        for (size_t o = 0; o < from->node[i]->n_output; o++) {
            if (text_or(from->node[i]->output[o], NULL) != NULL) {
                g_hash_table_insert(order.givers, from->node[i]->output[o],
                                    GSIZE_TO_POINTER(i + 1));
            }
        }
    }
    for (size_t i = 0; fine && i < from->n_node; i++) {
        fine =
            wait_for_inputs(reader, &order, i, from->node[i], from->node[i], scope, inner, error);
    }
    fine = fine && add_in_order(reader, from, &order, scope, error);
    order_clear(&order);
    return fine;
}

/* ---- the whole model ---- */

/* Weights that were taken out of a file: values that no node gives, with a shape that the file states. */
static void add_stated_constants(struct reader *reader, const Onnx__GraphProto *from,
                                 const struct scope *scope)
{
    g_autoptr(GHashTable) given = g_hash_table_new(g_str_hash, g_str_equal);
    for (size_t i = 0; i < from->n_node; i++) {
        for (size_t o = 0; o < from->node[i]->n_output; o++) {
            g_hash_table_add(given, from->node[i]->output[o]);
        }
    }
    for (size_t i = 0; i < from->n_value_info; i++) {
        const char *name = text_or(from->value_info[i]->name, "");
        struct shape shape;
        if (find_value(scope, name) == NULL && !g_hash_table_contains(given, name) &&
            read_shape(reader, from->value_info[i], false, &shape, NULL)) {
            g_autoptr(Tensor) tensor = tensor_new(&shape, NULL, NULL);
            name_value(scope, name, graph_add_constant(reader->graph, name, tensor));
        }
    }
}

static bool add_outputs(struct reader *reader, const Onnx__GraphProto *from,
                        const struct scope *scope, GError **error)
{
    for (size_t i = 0; i < from->n_output; i++) {
        const char *name = text_or(from->output[i]->name, "");
        struct value *value = find_value(scope, name);
        if (value == NULL) {
            return fail(reader, error, "nothing gives its output '%s'", name);
        }
        graph_add_output(reader->graph, value);
    }
    return true;
}

static bool read_model(struct reader *reader, GError **error)
{
    const Onnx__GraphProto *from = onnx_file_model(reader->file)->graph;
    g_autoptr(GHashTable) names = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    const struct scope scope = {NULL, names};
    if (!add_initializers(reader, from, &scope, error) ||
        !add_inputs(reader, from, &scope, error)) {
        return false;
    }
    add_stated_constants(reader, from, &scope);
    if (!read_nodes(reader, from, &scope, error) || !add_outputs(reader, from, &scope, error)) {
        return false;
    }
    if (reader->unread > 1) {
        note(reader, "the contents of %d tensors are unknown, since their files cannot be read",
             reader->unread);
    }
    graph_propagate(reader->graph);
    int padded = onnx_settle_padding(reader->graph);
    if (padded > 0) {
        note(
            reader,
            "%d convolution%s padded unevenly: each is a problem over the padded input, with a Pad "
            "step before it",
            padded, padded == 1 ? " is" : "s are");
    }
    return true;
}

Graph *onnx_read_graph(const OnnxFile *file, const struct onnx_options *options,
                       struct onnx_notes *notes, GError **error)
{
    g_autofree char *name = NULL;
    const char *given = onnx_file_model(file)->graph->name;
    if (given != NULL) {
        name = g_utf8_make_valid(given, -1);
    }
    g_autoptr(Graph) graph = graph_new(name);
    g_autoptr(GHashTable) batch_names =
        g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    struct reader reader = {.file = file,
                            .options = options,
                            .notes = notes,
                            .graph = graph,
                            .opset = onnx_file_opset(file, ""),
                            .batch_names = batch_names};
    return read_model(&reader, error) ? g_steal_pointer(&graph) : NULL;
}

bool onnx_dim_parse(char *word, struct onnx_options *options, GError **error)
{
    char *equals = strrchr(word, '=');
    int64_t size = 0;
    if (options->dim_count == ONNX_DIMS_MAX) {
        g_set_error(error, EXPORT_ERROR, EXPORT_ERROR_USAGE, "--dim can be given %d times",
                    ONNX_DIMS_MAX);
        return false;
    }
    if (equals == NULL || equals == word ||
        (strcmp(equals + 1, "batch") != 0 &&
         !g_ascii_string_to_signed(equals + 1, 10, 1, INT32_MAX, &size, NULL))) {
        g_set_error(error, EXPORT_ERROR, EXPORT_ERROR_USAGE,
                    "--dim takes NAME=SIZE or NAME=batch, such as --dim height=224, not '%s'",
                    word);
        return false;
    }
    *equals = '\0';
    for (int i = 0; i < options->dim_count; i++) {
        if (strcmp(options->dims[i].name, word) == 0) {
            g_set_error(error, EXPORT_ERROR, EXPORT_ERROR_USAGE, "--dim names '%s' twice", word);
            *equals = '=';
            return false;
        }
    }
    options->dims[options->dim_count++] = (struct onnx_dim){word, size};
    return true;
}

/* ---- what the model says of itself ---- */

/* How exporters call themselves, and the framework that they export from. */
static const struct {
    const char *producer, *framework;
} producers[] = {
    {"pytorch", "PyTorch"},
    {"onnx-caffe2", "Caffe2"},
    {"caffe2", "Caffe2"},
    {"tf2onnx", "TensorFlow"},
    {"keras2onnx", "Keras"},
    {"CNTK", "CNTK"},
    {"mxnet", "MXNet"},
    {"onnx-mxnet", "MXNet"},
    {"PaddlePaddle", "PaddlePaddle"},
    {"paddle2onnx", "PaddlePaddle"},
    {"Chainer", "Chainer"},
    {"onnx-chainer", "Chainer"},
    {"OnnxMLTools", "OnnxMLTools"},
    {"jax2onnx", "JAX"},
};

/* Names that exporters give every graph. */
static const char *const empty_names[] = {
    "torch_jit", "torch-jit-export", "main_graph", "main", "graph",
    "tf2onnx",   "onnx_graph",       "model",      "",     "Model",
    "CNTKGraph", "main-graph",       "network",    "g",
};

void onnx_about_read(const OnnxFile *file, struct onnx_about *about)
{
    const Onnx__ModelProto *model = onnx_file_model(file);
    const char *producer = text_or(model->producer_name, NULL), *graph = model->graph->name;
    *about = (struct onnx_about){0};
    for (size_t i = 0; producer != NULL && i < G_N_ELEMENTS(producers); i++) {
        if (g_ascii_strcasecmp(producer, producers[i].producer) == 0) {
            producer = producers[i].framework;
        }
    }
    about->framework = producer != NULL ? g_utf8_make_valid(producer, -1) : NULL;
    bool says = graph != NULL;
    for (size_t i = 0; says && i < G_N_ELEMENTS(empty_names); i++) {
        says = strcmp(graph, empty_names[i]) != 0;
    }
    about->model = says ? g_utf8_make_valid(graph, -1) : NULL;
    const char *version = text_or(model->producer_version, NULL);
    about->version = version != NULL ? g_utf8_make_valid(version, -1) : NULL;
}

void onnx_about_clear(struct onnx_about *about)
{
    g_free(about->framework);
    g_free(about->model);
    g_free(about->version);
    *about = (struct onnx_about){0};
}
