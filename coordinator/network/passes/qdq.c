#include "coordinator/network/onnx/onnx_ops.h"
#include "coordinator/network/passes/pass.h"
#include "coordinator/network/passes/passes.h"

#include <math.h>
#include <string.h>

/* Inputs of ONNX's DequantizeLinear, QuantizeLinear and QLinearConv. */
enum { Q_DATA, Q_SCALE, Q_ZERO };
enum { QCONV_X, QCONV_X_SCALE, QCONV_X_ZERO, QCONV_W, QCONV_W_SCALE, QCONV_W_ZERO, QCONV_Y_SCALE };
enum { QCONV_Y_ZERO = QCONV_Y_SCALE + 1, QCONV_BIAS, QCONV_INPUTS };

static struct node *producer_of(struct value *value, const char *op)
{
    struct node *node = value != NULL ? value->producer : NULL;
    return node != NULL && strcmp(node->op->name, op) == 0 ? node : NULL;
}

static struct value *zero_of(const struct node *node)
{
    return node->input_count > Q_ZERO ? node->inputs[Q_ZERO] : NULL;
}

/* The bias as INT32 in units of x's scale times the filter's; NULL if it is not known. */
static struct value *integer_bias(struct node *conv, struct node *x, struct node *w)
{
    int64_t count = 0, scale_count = 0, channels = conv->inputs[1]->shape.dim[0];
    double x_scale;
    struct value *bias = conv->inputs[2];
    struct node *dequantised = producer_of(bias, "DequantizeLinear");
    if (dequantised != NULL && dequantised->inputs[Q_DATA]->shape.type == ELEMENT_INT32) {
        return dequantised->inputs[Q_DATA];
    }
    g_autofree double *numbers = value_numbers(bias, &count);
    g_autofree double *scales = value_numbers(w->inputs[Q_SCALE], &scale_count);
    if (numbers == NULL || scales == NULL || count != channels ||
        !value_is_number(x->inputs[Q_SCALE], &x_scale)) {
        return NULL;
    }
    for (int64_t k = 0; k < channels; k++) {
        numbers[k] = rint(numbers[k] / (x_scale * scales[scale_count > 1 ? k : 0]));
    }
    g_autofree char *name = g_strconcat(node_name(conv), ".bias", NULL);
    return add_int32s(conv->graph, name, numbers, channels);
}

/* Whether scales are by tensor, or by the filter's output channels. */
static bool scales_fit(const struct node *dequantised, bool is_filter)
{
    const struct shape *scale = &dequantised->inputs[Q_SCALE]->shape;
    int64_t axis = attributes_int(dequantised->attributes, "axis", 1);
    return shape_elements(scale) == 1 ||
           (is_filter && scale->rank == 1 &&
            scale->dim[0] == dequantised->inputs[Q_DATA]->shape.dim[0] &&
            (axis == 0 || axis == -dequantised->inputs[Q_DATA]->shape.rank));
}

/* A relu between the convolution and the quantising: saturation does it if the zero point is the least integer. */
static bool relu_is_saturation(const struct node *quantised)
{
    double zero = 0;
    struct value *point = zero_of(quantised);
    bool is_signed = point != NULL && point->shape.type == ELEMENT_INT8;
    return (point == NULL || value_is_number(point, &zero)) && zero == (is_signed ? -128 : 0);
}

static bool match(struct node *conv)
{
    struct node *x = producer_of(conv->inputs[0], "DequantizeLinear");
    struct node *w = producer_of(conv->inputs[1], "DequantizeLinear");
    struct node *user = value_only_user(node_output(conv)), *relu = NULL;
    if (user != NULL && strcmp(user->op->name, "Relu") == 0) {
        relu = user;
        user = value_only_user(node_output(relu));
    }
    if (x == NULL || w == NULL || user == NULL || strcmp(user->op->name, "QuantizeLinear") != 0 ||
        !scales_fit(x, false) || !scales_fit(w, true) ||
        shape_elements(&user->inputs[Q_SCALE]->shape) != 1 ||
        (relu != NULL && !relu_is_saturation(user))) {
        return false;
    }
    bool has_bias = conv->input_count > 2 && conv->inputs[2] != NULL;
    struct value *bias = has_bias ? integer_bias(conv, x, w) : NULL;
    const struct op *op = onnx_op_find("", "QLinearConv");
    if (op == NULL || (has_bias && bias == NULL)) {
        return false;
    }
    struct value *points[] = {zero_of(x), zero_of(w), zero_of(user)};
    const struct value *data[] = {x->inputs[Q_DATA], w->inputs[Q_DATA], node_output(user)};
    for (int i = 0; i < 3; i++) {
        if (points[i] == NULL) {
            g_autoptr(Tensor) zero = tensor_full(data[i]->shape.type, 0, NULL, 0);
            points[i] = graph_add_constant(conv->graph, NULL, zero);
        }
    }
    struct value *inputs[QCONV_INPUTS] = {x->inputs[Q_DATA],     x->inputs[Q_SCALE], points[0],
                                          w->inputs[Q_DATA],     w->inputs[Q_SCALE], points[1],
                                          user->inputs[Q_SCALE], points[2],          bias};
    struct node *quantised =
        graph_add(conv->graph,
                  &(struct node_spec){.op = op,
                                      .name = node_name(conv),
                                      .attributes = conv->attributes,
                                      .inputs = inputs,
                                      .input_count = bias != NULL ? QCONV_INPUTS : QCONV_BIAS,
                                      .output_count = 1,
                                      .before = user},
                  NULL);
    return quantised != NULL &&
           graph_replace_value(node_output(user), node_output(quantised), NULL);
}

int network_match_quantised(struct graph *graph)
{
    int found = 0;
    graph_propagate(graph);
    for (struct node *node = graph_first(graph); node != NULL; node = node_next(node)) {
        if (strcmp(node->op->name, "Conv") == 0 && match(node)) {
            found++;
            graph_propagate(graph);
        }
    }
    graph_remove_dead(graph);
    graph_propagate(graph);
    return found;
}
