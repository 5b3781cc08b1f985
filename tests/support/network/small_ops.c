#include "tests/support/network/small_ops.h"

#include <math.h>
#include <string.h>

struct shape small_packed(enum element_type type, int rank, const int64_t *dims)
{
    struct shape shape;
    bool is_valid = shape_set_packed(&shape, type, rank, dims, NULL);
    g_assert_true(is_valid);
    return shape;
}

/* ---- shapes ---- */

static bool infer_add(const struct op_call *call, struct shape *outputs, GError **error)
{
    int rank;
    int64_t dims[SHAPE_MAX_RANK];
    const struct shape *a = call->inputs[0], *b = call->inputs[1];
    if (a->type != b->type) {
        g_set_error(error, NETWORK_ERROR, NETWORK_ERROR_INVALID, "%s and %s cannot be added",
                    element_type_name(a->type), element_type_name(b->type));
        return false;
    }
    return shape_broadcast_dims(a, b, &rank, dims, error) &&
           shape_set_following(&outputs[0], a->type, rank, dims, a, error);
}

static bool infer_matmul(const struct op_call *call, struct shape *outputs, GError **error)
{
    const struct shape *a = call->inputs[0], *b = call->inputs[1];
    if (a->rank != 2 || b->rank != 2 || a->dim[1] != b->dim[0] || a->type != b->type) {
        g_set_error(error, NETWORK_ERROR, NETWORK_ERROR_INVALID, "matrices do not fit");
        return false;
    }
    return shape_set_packed(&outputs[0], a->type, 2, (int64_t[]){a->dim[0], b->dim[1]}, error);
}

static bool infer_strict(const struct op_call *call, struct shape *outputs, GError **error)
{
    const struct shape *x = call->inputs[0];
    return shape_set_packed(&outputs[0], x->type, x->rank, x->dim, error);
}

static bool infer_split(const struct op_call *call, struct shape *outputs, GError **error)
{
    struct shape half = *call->inputs[0];
    if (half.rank == 0 || half.dim[0] % 2) {
        g_set_error(error, NETWORK_ERROR, NETWORK_ERROR_INVALID, "axis 0 cannot be halved");
        return false;
    }
    half.dim[0] /= 2;
    return shape_set_packed(&outputs[0], half.type, half.rank, half.dim, error) &&
           shape_set_packed(&outputs[1], half.type, half.rank, half.dim, error);
}

static bool infer_shape(const struct op_call *call, struct shape *outputs, GError **error)
{
    return shape_set_packed(&outputs[0], ELEMENT_INT64, 1, (int64_t[]){call->inputs[0]->rank},
                            error);
}

static bool fold_shape(const struct op_call *call, const struct shape *outputs,
                       struct tensor **constants, GError **error)
{
    (void)outputs;
    (void)error;
    constants[0] = tensor_new_int64s(call->inputs[0]->dim, call->inputs[0]->rank);
    return true;
}

static bool infer_reshape_to(const struct op_call *call, struct shape *outputs, GError **error)
{
    int64_t dims[SHAPE_MAX_RANK], elements = 1;
    const struct shape *x = call->inputs[0];
    if (!tensor_has_data(call->constants[1])) {
        g_set_error(error, NETWORK_ERROR, NETWORK_ERROR_INVALID, "the dimensions are not known");
        return false;
    }
    int rank = (int)shape_elements(call->inputs[1]);
    for (int i = 0; i < rank; i++) {
        dims[i] = tensor_int64(call->constants[1], i);
        elements *= dims[i];
    }
    if (elements != shape_elements(x)) {
        g_set_error(error, NETWORK_ERROR, NETWORK_ERROR_INVALID, "the elements do not fit");
        return false;
    }
    return shape_set_packed(&outputs[0], x->type, rank, dims, error);
}

#define COUNTS(in, out)                                                                            \
    .min_inputs = (in), .max_inputs = (in), .min_outputs = (out), .max_outputs = (out)

const struct op small_relu = {
    .name = "Relu",
    COUNTS(1, 1),
    .absorbs = OP_READS_ALL | OP_WRITES_ALL,
    .infer = op_infer_same,
};
const struct op small_add = {
    .name = "Add",
    COUNTS(2, 1),
    .absorbs = OP_READS_ALL | OP_WRITES_ORDER,
    .infer = infer_add,
};
const struct op small_matmul = {
    .name = "MatMul",
    COUNTS(2, 1),
    .absorbs = OP_READS_ORDER | OP_WRITES_ALL,
    .infer = infer_matmul,
};
const struct op small_strict = {.name = "Neg", COUNTS(1, 1), .infer = infer_strict};
const struct op small_split = {.name = "Split", COUNTS(1, 2), .infer = infer_split};
const struct op small_shape = {
    .name = "Shape",
    COUNTS(1, 1),
    .absorbs = OP_READS_ALL,
    .infer = infer_shape,
    .fold = fold_shape,
};
const struct op small_reshape_to = {
    .name = "Reshape",
    COUNTS(2, 1),
    .absorbs = OP_READS_ALL,
    .infer = infer_reshape_to,
    .view = op_view_reshape,
};

/* ---- what they compute ---- */

/* Packed elements with their shape. */
struct array {
    struct shape shape;
    double *elements;
};

/* Keeps results small and exact. */
static double tame(double x)
{
    return fmod(floor(2 * x) / 2, 32);
}

/* The element of an array that is broadcast to `shape`, at the packed index `index`. */
static double broadcast_element(const struct array *array, const struct shape *shape, int64_t index)
{
    int64_t place = 0, stride = 1;
    for (int axis = shape->rank - 1, own = array->shape.rank - 1; own >= 0; axis--, own--) {
        int64_t at = index % shape->dim[axis];
        index /= shape->dim[axis];
        place += array->shape.dim[own] == 1 ? 0 : at * stride;
        stride *= array->shape.dim[own];
    }
    return array->elements[place];
}

static double matmul_element(const struct array *in, int64_t index)
{
    int64_t k = in[0].shape.dim[1], n = in[1].shape.dim[1];
    double sum = 0;
    for (int64_t i = 0; i < k; i++)
        sum += in[0].elements[index / n * k + i] * in[1].elements[i * n + index % n];
    return sum;
}

static double element_of(const struct op *op, const struct array *in, int output,
                         const struct shape *shape, int64_t index)
{
    if (op == &small_relu)
        return MAX(in[0].elements[index], 0);
    if (op == &small_add)
        return tame(broadcast_element(&in[0], shape, index) +
                    broadcast_element(&in[1], shape, index));
    if (op == &small_matmul)
        return tame(matmul_element(in, index));
    if (op == &small_strict)
        return -in[0].elements[index];
    if (op == &small_split)
        return in[0].elements[index + output * shape_elements(shape)];
    if (op == &small_shape)
        return (double)in[0].shape.dim[index];
    g_assert_true(op == &op_copy || op->view); /* the same elements, in the order of the view */
    return in[0].elements[index];
}

static double input_element(const char *name, int64_t index)
{
    return (double)((g_str_hash(name) + 11 * (guint)index) % 61) / 2 - 15;
}

/* ---- by value ---- */

static double rounded(double x, enum element_type type)
{
    uint64_t space[1];
    element_write(space, type, 0, x);
    return element_read(space, type, 0);
}

static void transpose_elements(const struct node *node, const struct array *in, double *out)
{
    struct view view;
    struct shape strided;
    const struct op_call call = {.attributes = node->attributes};
    view_identity(&view, &in->shape);
    op_view_transpose(&call, &node->outputs[0]->shape, &view);
    view_shape(&view, &in->shape, &strided);
    for (int64_t i = 0; i < shape_elements(&strided); i++) {
        int64_t place = 0, rest = i;
        for (int axis = strided.rank - 1; axis >= 0; axis--) {
            place += rest % strided.dim[axis] * strided.stride[axis];
            rest /= strided.dim[axis];
        }
        out[i] = in->elements[place];
    }
}

static void compute(const struct node *node, const struct array *in, int output,
                    const struct shape *shape, double *out)
{
    if (node->op == &op_transpose) {
        transpose_elements(node, in, out);
        return;
    }
    for (int64_t i = 0; i < shape_elements(shape); i++)
        out[i] = node->op == &op_broadcast ? broadcast_element(in, shape, i)
                                           : element_of(node->op, in, output, shape, i);
}

static struct shape packed_like(const struct shape *shape)
{
    return small_packed(shape->type, shape->rank, shape->dim);
}

static double *source_elements(struct value *value)
{
    int64_t count = shape_elements(&value->shape);
    double *elements = g_new0(double, MAX(count, 1));
    for (int64_t i = 0; i < count; i++)
        elements[i] = value->constant
                          ? tensor_double(value->constant, i)
                          : rounded(input_element(value_name(value), i), value->shape.type);
    return elements;
}

static double *node_elements(const struct node *node, int output, GPtrArray *values)
{
    const struct value *value = node->outputs[output];
    struct shape shape = packed_like(&value->shape);
    double *out = g_new0(double, MAX(shape_elements(&shape), 1));
    g_autofree struct array *in = g_new0(struct array, MAX(node->input_count, 1));
    for (int i = 0; i < node->input_count; i++) {
        in[i].shape = packed_like(&node->inputs[i]->shape);
        in[i].elements = g_ptr_array_index(values, (guint)node->inputs[i]->id);
    }
    compute(node, in, output, &shape, out);
    for (int64_t i = 0; i < shape_elements(&shape); i++)
        out[i] = rounded(out[i], shape.type);
    return out;
}

/* For each value by its id its packed elements. */
static GPtrArray *all_by_value(const struct graph *graph)
{
    GPtrArray *values = g_ptr_array_new_with_free_func(g_free);
    g_ptr_array_set_size(values, (int)graph->values->len);
    for (guint i = 0; i < graph->values->len; i++) {
        struct value *value = g_ptr_array_index(graph->values, i);
        if (!value->removed && (value->kind == VALUE_INPUT || value->kind == VALUE_CONSTANT))
            values->pdata[i] = source_elements(value);
    }
    for (struct node *node = graph_first(graph); node; node = node_next(node)) {
        for (int i = 0; i < node->output_count; i++)
            values->pdata[node->outputs[i]->id] = node_elements(node, i, values);
    }
    return values;
}

GPtrArray *small_outputs_by_value(const struct graph *graph)
{
    g_autoptr(GPtrArray) values = all_by_value(graph);
    GPtrArray *outputs = g_ptr_array_new_with_free_func(g_free);
    for (guint i = 0; i < graph->outputs->len; i++) {
        const struct value *value = g_ptr_array_index(graph->outputs, i);
        gsize bytes = (gsize)shape_elements(&value->shape) * sizeof(double);
        g_ptr_array_add(outputs,
                        g_memdup2(g_ptr_array_index(values, (guint)value->id), MAX(bytes, 1)));
    }
    return outputs;
}

/* ---- in memory ---- */

static int64_t place_at(const struct shape *shape, int64_t index)
{
    int64_t place = 0;
    for (int axis = shape->rank - 1; axis >= 0; axis--) {
        place += index % shape->dim[axis] * shape->stride[axis];
        index /= shape->dim[axis];
    }
    return place;
}

static double *read_operand(const struct operand *operand, const GPtrArray *memory)
{
    int64_t count = shape_elements(&operand->stored);
    double *elements = g_new0(double, MAX(count, 1));
    const void *data = g_ptr_array_index(memory, (guint)operand->storage->id);
    g_assert_nonnull(data);
    for (int64_t i = 0; i < count; i++) {
        int64_t place = place_at(&operand->stored, i);
        g_assert_cmpint(place, <, shape_span(&operand->storage->shape));
        elements[i] = rounded(element_read(data, operand->stored.type, place), operand->type);
    }
    return elements;
}

static void *write_memory(const struct shape *shape, const double *elements)
{
    gsize bytes = (gsize)shape_span(shape) * (gsize)element_type_bytes(shape->type);
    void *data = g_malloc0(MAX(bytes, 1));
    for (int64_t i = 0; i < shape_elements(shape); i++)
        element_write(data, shape->type, place_at(shape, i), elements[i]);
    return data;
}

/* Checks that the operator can read the operand, by the flags of its row. */
static void check_readable(const struct node *node, int input, const struct operand *operand)
{
    if (shape_is_packed(&operand->stored) && operand->stored.type == operand->type)
        return;
    const struct shape *inputs[2] = {&node->inputs[0]->shape, NULL};
    if (node->input_count > 1)
        inputs[1] = &node->inputs[1]->shape;
    const struct op_call call = {.op = node->op, .inputs = inputs};
    g_assert_true(op_reads(&call, input, &operand->stored));
}

static void run_node(const struct node *node, GPtrArray *memory)
{
    struct array in[2] = {{.elements = NULL}};
    for (int i = 0; i < node->input_count; i++) {
        struct operand operand;
        node_operand(node, i, &operand);
        check_readable(node, i, &operand);
        in[i].elements = read_operand(&operand, memory);
        in[i].shape = packed_like(&node->inputs[i]->shape);
    }
    for (int i = 0; i < node->output_count; i++) {
        const struct shape *shape = &node->outputs[i]->shape;
        g_autofree double *out = g_new0(double, MAX(shape_elements(shape), 1));
        compute(node, in, i, shape, out);
        memory->pdata[node->outputs[i]->id] = write_memory(shape, out);
    }
    for (int i = 0; i < node->input_count; i++)
        g_free(in[i].elements);
}

GPtrArray *small_outputs_in_memory(const struct graph *graph)
{
    g_autoptr(GPtrArray) memory = g_ptr_array_new_with_free_func(g_free);
    GPtrArray *outputs = g_ptr_array_new_with_free_func(g_free);
    g_ptr_array_set_size(memory, (int)graph->values->len);
    for (guint i = 0; i < graph->values->len; i++) {
        struct value *value = g_ptr_array_index(graph->values, i);
        if (value->removed || (value->kind != VALUE_INPUT && value->kind != VALUE_CONSTANT))
            continue;
        g_autofree double *elements = source_elements(value);
        memory->pdata[i] = write_memory(&value->shape, elements);
    }
    for (struct node *node = graph_first(graph); node; node = node_next(node)) {
        if (!node_is_view(node))
            run_node(node, memory);
    }
    for (guint i = 0; i < graph->outputs->len; i++) {
        struct operand operand;
        value_operand(g_ptr_array_index(graph->outputs, i), &operand);
        g_assert_true(shape_is_packed(&operand.stored) && operand.stored.type == operand.type);
        g_ptr_array_add(outputs, read_operand(&operand, memory));
    }
    return outputs;
}
