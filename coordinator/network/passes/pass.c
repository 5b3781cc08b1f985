#include "coordinator/network/passes/pass.h"

#include <stdarg.h>
#include <string.h>

/* Elements of a view whose contents are worked out for the functions of rows: they look at sizes and indices. */
#define SMALL_CONTENTS 16384

void pass_call_init(struct pass_call *call, const struct node *node)
{
    int count = MAX(node->input_count, 1);
    *call = (struct pass_call){
        .shapes = g_new0(const struct shape *, count),
        .constants = g_new0(const struct tensor *, count),
    };
    for (int i = 0; i < node->input_count; i++) {
        if (node->inputs[i] != NULL) {
            struct value *value = node->inputs[i];
            bool is_small = shape_elements(&value->shape) <= SMALL_CONTENTS;
            call->shapes[i] = &value->shape;
            call->constants[i] = value->constant != NULL || is_small ? value_contents(value) : NULL;
        }
    }
    call->call = (struct op_call){
        .op = node->op,
        .name = node_name((struct node *)node),
        .attributes = node->attributes,
        .input_count = node->input_count,
        .inputs = call->shapes,
        .constants = call->constants,
        .output_count = node->output_count,
    };
}

void pass_call_clear(struct pass_call *call)
{
    for (int i = 0; i < call->call.input_count; i++) {
        tensor_unref((struct tensor *)call->constants[i]);
    }
    g_free(call->shapes);
    g_free(call->constants);
}

struct tensor *value_contents(struct value *value)
{
    struct view view;
    if (value->constant != NULL) {
        return tensor_has_data(value->constant) ? tensor_ref(value->constant) : NULL;
    }
    struct value *base = value_base(value, &view);
    if (base == value || base->constant == NULL || !tensor_has_data(base->constant)) {
        return NULL;
    }
    return tensor_through_view(base->constant, &view);
}

bool value_is_constant(struct value *value)
{
    return value->constant != NULL || value_base(value, NULL)->constant != NULL;
}

double *value_numbers(struct value *value, int64_t *count)
{
    struct view view;
    struct value *base = value_base(value, &view);
    g_autoptr(Tensor) tensor = NULL;
    if (base->constant != NULL && tensor_has_data(base->constant) && base != value) {
        view.type = base->constant->shape.type;
        tensor = tensor_through_view(base->constant, &view);
    } else {
        tensor = value_contents(value);
    }
    if (tensor == NULL) {
        return NULL;
    }
    *count = shape_elements(&tensor->shape);
    double *numbers = g_new(double, MAX(*count, 1));
    for (int64_t i = 0; i < *count; i++) {
        numbers[i] = element_read(tensor_data(tensor), tensor->shape.type, i);
    }
    return numbers;
}

bool value_is_number(struct value *value, double *number)
{
    int64_t count;
    if (value == NULL || !shape_is_known(&value->shape) || shape_elements(&value->shape) != 1) {
        return false;
    }
    g_autofree double *numbers = value_numbers(value, &count);
    bool is_known = numbers != NULL && count == 1;
    if (is_known) {
        *number = numbers[0];
    }
    return is_known;
}

static struct value *add_list(struct graph *graph, const char *name, enum element_type type,
                              const double *numbers, int64_t count)
{
    struct shape shape;
    shape_set_packed(&shape, type, 1, &count, NULL);
    void *data = g_malloc(MAX(shape_bytes(&shape), 1));
    for (int64_t i = 0; i < count; i++) {
        element_write(data, type, i, numbers[i]);
    }
    g_autoptr(Tensor) tensor = tensor_take(&shape, data);
    return graph_add_constant(graph, name, tensor);
}

struct value *add_float32s(struct graph *graph, const char *name, const double *numbers,
                           int64_t count)
{
    return add_list(graph, name, ELEMENT_FLOAT32, numbers, count);
}

struct value *add_int32s(struct graph *graph, const char *name, const double *numbers,
                         int64_t count)
{
    return add_list(graph, name, ELEMENT_INT32, numbers, count);
}

struct tensor *tensor_full(enum element_type type, int rank, const int64_t *dims, double number)
{
    struct shape shape;
    bool is_set = shape_set_packed(&shape, type, rank, dims, NULL);
    g_assert(is_set);
    int64_t count = shape_elements(&shape);
    void *data = g_malloc0(MAX(shape_bytes(&shape), 1));
    for (int64_t i = 0; number != 0 && i < count; i++) {
        element_write(data, type, i, number);
    }
    return tensor_take(&shape, data);
}

bool view_is_reshape(const struct view *view, const struct shape *base)
{
    struct view same;
    int64_t count = 1;
    for (int i = 0; i < view->rank; i++) {
        count *= view->dim[i];
    }
    view_identity(&same, base);
    return count == shape_elements(base) && view_reshape(&same, view->rank, view->dim) &&
           view_equal(&same, view);
}

bool values_are_same(struct value *a, struct value *b)
{
    struct view first, second;
    return a == b ||
           (value_base(a, &first) == value_base(b, &second) && view_equal(&first, &second));
}

bool node_unsupported(struct node *node, GError **error, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    g_autofree char *why = g_strdup_vprintf(format, arguments);
    va_end(arguments);
    g_set_error(error, NETWORK_ERROR, NETWORK_ERROR_UNSUPPORTED, "node '%s' (%s): %s",
                node_name(node), node->op->name, why);
    return false;
}
