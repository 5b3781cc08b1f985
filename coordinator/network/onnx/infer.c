#include "coordinator/network/onnx/infer.h"

#include <inttypes.h>
#include <string.h>

void infer_set_error(GError **error, enum network_error code, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    GError *made = g_error_new_valist(NETWORK_ERROR, (gint)code, format, arguments);
    va_end(arguments);
    g_propagate_error(error, made);
}

const struct shape *infer_input(const struct op_call *call, int input)
{
    return input < call->input_count ? call->inputs[input] : NULL;
}

const struct tensor *infer_contents(const struct op_call *call, int input)
{
    const struct tensor *contents = input < call->input_count ? call->constants[input] : NULL;
    return tensor_has_data(contents) ? contents : NULL;
}

bool infer_packed(struct shape *output, enum element_type type, int rank, const int64_t *dims,
                  GError **error)
{
    return shape_set_packed(output, type, rank, dims, error);
}

bool infer_axis(const char *what, int64_t given, int rank, int *axis, GError **error)
{
    if (given < -rank || given >= rank) {
        return infer_invalid(error, "%s is %" PRId64 ", and its input has %d axes", what, given,
                             rank);
    }
    *axis = (int)(given < 0 ? given + rank : given);
    return true;
}

bool infer_axes(const char *what, const int64_t *given, int count, int rank,
                bool chosen[SHAPE_MAX_RANK], GError **error)
{
    memset(chosen, 0, SHAPE_MAX_RANK * sizeof chosen[0]);
    for (int i = 0; i < count; i++) {
        int axis;
        if (!infer_axis(what, given[i], rank, &axis, error)) {
            return false;
        }
        if (chosen[axis]) {
            return infer_invalid(error, "%s names axis %d twice", what, axis);
        }
        chosen[axis] = true;
    }
    return true;
}

bool infer_numbers(const struct op_call *call, int input, const char *what, int64_t *values,
                   int most, int *count, GError **error)
{
    const struct tensor *contents = infer_contents(call, input);
    if (infer_input(call, input) == NULL) {
        return infer_invalid(error, "its input %d (%s) is missing", input, what);
    }
    if (contents == NULL) {
        return infer_unsupported(
            error,
            "its input %d (%s) is computed while the network runs, so the file "
            "does not say its values",
            input, what);
    }
    int64_t elements = shape_elements(&contents->shape);
    if (contents->shape.rank > 1 || elements > most) {
        return infer_invalid(error, "its input %d (%s) has %" PRId64 " numbers, at most %d can be",
                             input, what, elements, most);
    }
    *count = (int)elements;
    for (int i = 0; i < *count; i++) {
        values[i] = tensor_int64(contents, i);
    }
    return true;
}

bool infer_attribute(const struct op_call *call, const char *name, int count, int64_t missing,
                     int64_t least, int64_t *values, GError **error)
{
    int given = 0;
    const int64_t *numbers = attributes_ints(call->attributes, name, &given);
    if (numbers != NULL && given != count) {
        return infer_invalid(error, "%s has %d numbers and should have %d", name, given, count);
    }
    for (int i = 0; i < count; i++) {
        values[i] = numbers != NULL ? numbers[i] : missing;
        if (values[i] < least || values[i] > INT32_MAX) {
            return infer_invalid(error,
                                 "%s has the number %" PRId64 ", it must be %" PRId64 " to %d",
                                 name, values[i], least, INT32_MAX);
        }
    }
    return true;
}

bool infer_product(int64_t a, int64_t b, int64_t *product, GError **error)
{
    if (__builtin_mul_overflow(a, b, product)) {
        return infer_invalid(error, "it gives more elements than can be counted");
    }
    return true;
}

/* ---- results like an input ---- */

static bool like(const struct shape *input, enum element_type type, struct shape *output,
                 GError **error)
{
    return shape_set_following(output, type, input->rank, input->dim, input, error);
}

bool infer_same(const struct op_call *call, struct shape *outputs, GError **error)
{
    return like(call->inputs[0], call->inputs[0]->type, &outputs[0], error);
}

bool infer_test(const struct op_call *call, struct shape *outputs, GError **error)
{
    return like(call->inputs[0], ELEMENT_BOOL, &outputs[0], error);
}

/* The result's layout in memory follows the first input that has all its elements. */
static bool broadcast_of(const struct op_call *call, int first, int count, enum element_type type,
                         struct shape *output, GError **error)
{
    struct shape sum = *call->inputs[first];
    for (int i = first + 1; i < count; i++) {
        int rank;
        int64_t dims[SHAPE_MAX_RANK];
        if (!shape_broadcast_dims(&sum, call->inputs[i], &rank, dims, error) ||
            !shape_set_packed(&sum, type, rank, dims, error)) {
            return false;
        }
    }
    const struct shape *followed = &sum;
    for (int i = count - 1; i >= first; i--) {
        followed = shape_same_dims(call->inputs[i], &sum) ? call->inputs[i] : followed;
    }
    return shape_set_following(output, type, sum.rank, sum.dim, followed, error);
}

bool infer_broadcast(const struct op_call *call, struct shape *outputs, GError **error)
{
    for (int i = 1; i < call->input_count; i++) {
        if (call->inputs[i] == NULL) {
            return infer_invalid(error, "its input %d is missing", i);
        }
        /* Pow may have an exponent of another type. */
        if (call->inputs[i]->type != call->inputs[0]->type && strcmp(call->op->name, "Pow") != 0) {
            return infer_invalid(error, "its inputs have the types %s and %s",
                                 element_type_name(call->inputs[0]->type),
                                 element_type_name(call->inputs[i]->type));
        }
    }
    return broadcast_of(call, 0, call->input_count, call->inputs[0]->type, &outputs[0], error);
}

bool infer_comparison(const struct op_call *call, struct shape *outputs, GError **error)
{
    return broadcast_of(call, 0, call->input_count, ELEMENT_BOOL, &outputs[0], error);
}

bool infer_where(const struct op_call *call, struct shape *outputs, GError **error)
{
    return broadcast_of(call, 0, 3, call->inputs[1]->type, &outputs[0], error);
}

/* The bounds must be single numbers. */
bool infer_clip(const struct op_call *call, struct shape *outputs, GError **error)
{
    for (int i = 1; i < call->input_count; i++) {
        if (call->inputs[i] != NULL && shape_elements(call->inputs[i]) != 1) {
            return infer_invalid(error, "its bound is %" PRId64 " numbers, not one",
                                 shape_elements(call->inputs[i]));
        }
    }
    return infer_same(call, outputs, error);
}

/* The slope is broadcast to x alone: the result never has more elements than x. MXNet's exporter gives a slope for each
 * channel as a plain list. */
bool infer_prelu(const struct op_call *call, struct shape *outputs, GError **error)
{
    int rank;
    int64_t dims[SHAPE_MAX_RANK];
    const struct shape *x = call->inputs[0], *list = call->inputs[1];
    if (list->rank == 1 && x->rank > 2 && list->dim[0] == x->dim[1]) {
        return infer_same(call, outputs, error);
    }
    if (!shape_broadcast_dims(call->inputs[0], call->inputs[1], &rank, dims, error)) {
        return false;
    }
    if (rank != call->inputs[0]->rank ||
        memcmp(dims, call->inputs[0]->dim, (size_t)rank * sizeof dims[0]) != 0) {
        g_autofree char *input = shape_text(x), *slope = shape_text(call->inputs[1]);
        return infer_invalid(error, "its slope %s does not fit into its input %s", slope, input);
    }
    return infer_same(call, outputs, error);
}

/* BatchNormalization and its kin: scale, bias, mean and variance have a value for each channel. */
bool infer_normalization(const struct op_call *call, struct shape *outputs, GError **error)
{
    const struct shape *x = call->inputs[0];
    int64_t channels = x->rank > 1 ? x->dim[1] : 1;
    for (int i = 1; i < call->input_count; i++) {
        if (call->inputs[i] != NULL && shape_elements(call->inputs[i]) != channels &&
            attributes_int(call->attributes, "spatial", 1) == 1 &&
            strcmp(call->op->name, "GroupNormalization") != 0) {
            return infer_invalid(error,
                                 "its input %d has %" PRId64 " values, and its input 0 has %" PRId64
                                 " channels",
                                 i, shape_elements(call->inputs[i]), channels);
        }
    }
    for (int i = 1; i < call->output_count; i++) {
        if (!infer_packed(&outputs[i], x->type, 1, &channels, error)) {
            return false;
        }
    }
    return infer_same(call, outputs, error);
}

bool infer_layer_norm(const struct op_call *call, struct shape *outputs, GError **error)
{
    const struct shape *x = call->inputs[0];
    int axis;
    if (!infer_axis("axis", attributes_int(call->attributes, "axis", -1), x->rank, &axis, error)) {
        return false;
    }
    int64_t dims[SHAPE_MAX_RANK];
    for (int i = 0; i < x->rank; i++) {
        dims[i] = i < axis ? x->dim[i] : 1;
    }
    for (int i = 1; i < call->output_count; i++) {
        if (!infer_packed(&outputs[i], ELEMENT_FLOAT32, x->rank, dims, error)) {
            return false;
        }
    }
    return infer_same(call, outputs, error);
}

bool infer_dropout(const struct op_call *call, struct shape *outputs, GError **error)
{
    return (call->output_count < 2 || like(call->inputs[0], ELEMENT_BOOL, &outputs[1], error)) &&
           infer_same(call, outputs, error);
}

/* ---- quantised tensors ---- */

/* Quantised values have the type of the zero point, uint8 without one. */
bool infer_quantize(const struct op_call *call, struct shape *outputs, GError **error)
{
    const struct shape *zero = infer_input(call, 2);
    return like(call->inputs[0], zero != NULL ? zero->type : ELEMENT_UINT8, &outputs[0], error);
}

bool infer_dequantize(const struct op_call *call, struct shape *outputs, GError **error)
{
    return like(call->inputs[0], call->inputs[1]->type, &outputs[0], error);
}

bool infer_dynamic_quantize(const struct op_call *call, struct shape *outputs, GError **error)
{
    return like(call->inputs[0], ELEMENT_UINT8, &outputs[0], error) &&
           (call->output_count < 2 || infer_packed(&outputs[1], ELEMENT_FLOAT32, 0, NULL, error)) &&
           (call->output_count < 3 || infer_packed(&outputs[2], ELEMENT_UINT8, 0, NULL, error));
}

/* a with scale and zero point, b with its own, then those of the result */
bool infer_qlinear_binary(const struct op_call *call, struct shape *outputs, GError **error)
{
    const struct shape *a = call->inputs[0], *b = call->inputs[3];
    int rank;
    int64_t dims[SHAPE_MAX_RANK];
    if (!shape_broadcast_dims(a, b, &rank, dims, error)) {
        return false;
    }
    bool whole = rank == a->rank && memcmp(dims, a->dim, (size_t)rank * sizeof dims[0]) == 0;
    return shape_set_following(&outputs[0], a->type, rank, dims, whole ? a : b, error);
}

/* ---- strides ---- */

bool reads_layouts(const struct op_call *call, int input, const struct shape *stored)
{
    const struct shape *seen = call->inputs[input];
    if (stored->type != seen->type || !shape_is_dense(stored)) {
        return false;
    }
    if (shape_is_packed(stored)) {
        return true;
    }
    /* N first, then space, channels last; axes of size 1 stand anywhere */
    struct shape last;
    int order[SHAPE_MAX_RANK];
    for (int i = 0; i < seen->rank; i++) {
        order[i] = i == 0 ? 0 : i + 1 < seen->rank ? i + 1 : 1;
    }
    return input < 2 && seen->rank >= 3 &&
           shape_set_ordered(&last, stored->type, stored->rank, stored->dim, order, NULL) &&
           shape_equal(&last, stored);
}
