#include "coordinator/network/passes/lower.h"

#include "coordinator/network/onnx/infer.h"
#include "coordinator/network/passes/kernel_op.h"
#include "coordinator/network/passes/pass.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

/* One node that is being lowered. New nodes come in front of it. */
struct lowering {
    struct graph *graph;
    struct node *node;
    const struct op_call *call;
    const struct shape *x, *y; /* of input 0 and output 0 */
    const char *nodes[2];
    GError **error;
};

/* Each lowers the node; it returns the value that replaces output 0, or NULL with an error. */
typedef struct value *(*lower_function)(struct lowering *l);

static struct value *fail(struct lowering *l, const char *format, ...) G_GNUC_PRINTF(2, 3);
static struct value *fail(struct lowering *l, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    g_autofree char *why = g_strdup_vprintf(format, arguments);
    va_end(arguments);
    node_unsupported(l->node, l->error, "%s", why);
    return NULL;
}

static struct value *input(struct lowering *l, int index)
{
    return index < l->node->input_count ? l->node->inputs[index] : NULL;
}

static int64_t int_of(struct lowering *l, const char *name, int64_t missing)
{
    return attributes_int(l->node->attributes, name, missing);
}

static double float_of(struct lowering *l, const char *name, double missing)
{
    return attributes_float(l->node->attributes, name, missing);
}

static const char *string_of(struct lowering *l, const char *name, const char *missing)
{
    return attributes_string(l->node->attributes, name, missing);
}

static struct value *apply(struct lowering *l, const char *part, const struct kernel *kernel,
                           struct value *x, struct value *w, struct value *bias,
                           struct value *residual, struct value *scales)
{
    struct value *inputs[KERNEL_INPUTS] = {x, w, bias, residual, scales};
    const char *own = node_name(l->node);
    g_autofree char *name = part != NULL ? g_strconcat(own, ".", part, NULL) : g_strdup(own);
    return kernel_add(l->graph, name, kernel, l->nodes, inputs, l->node);
}

/* ---- shapes with two axes in space ---- */

static struct value *reshape(struct value *value, int rank, const int64_t *dims)
{
    return graph_reshape(value, rank, dims);
}

/* A tensor [N, C, L] as [N, C, 1, L]; others as they are. */
static struct value *to_plane(struct value *value, const struct shape *shape)
{
    if (shape->rank != 3) {
        return value;
    }
    return reshape(value, 4, (int64_t[]){shape->dim[0], shape->dim[1], 1, shape->dim[2]});
}

/* The value with output 0's own dimensions. */
static struct value *to_output(struct lowering *l, struct value *value, int rank)
{
    return rank == l->y->rank ? value : reshape(value, l->y->rank, l->y->dim);
}

/* ---- pointwise ---- */

static struct value *pointwise(struct lowering *l, const char *part, struct value *x,
                               const struct epilogue *epilogue, struct value *bias,
                               struct value *residual, struct value *scales, enum element_type type)
{
    struct kernel kernel;
    kernel_init(&kernel, OP_POINTWISE);
    kernel.epilogue = *epilogue;
    kernel.type = type;
    return apply(l, part, &kernel, x, NULL, bias, residual, scales);
}

static struct value *one_step(struct lowering *l, const char *part, struct value *x,
                              enum epilogue_op op, double a, double b)
{
    struct epilogue epilogue = {0};
    epilogue_add(&epilogue, op, a, b, false);
    return pointwise(l, part, x, &epilogue, NULL, NULL, NULL, ELEMENT_NONE);
}

/* A list of one number for each channel of a tensor with `channels` in axis 1, if the constant is that: all its axes
 * but the one aligned with axis 1 have one element. One number is repeated. NULL if it is not; free with g_free(). */
static double *channel_numbers(struct value *value, int rank, int64_t channels)
{
    int64_t count;
    const struct shape *shape = &value->shape;
    int axis = 1 - (rank - shape->rank); /* of the constant */
    if (rank < 2 || !value_is_constant(value) || shape->rank > rank) {
        return NULL;
    }
    for (int i = 0; i < shape->rank; i++) {
        if (shape->dim[i] != 1 && (i != axis || shape->dim[i] != channels)) {
            return NULL;
        }
    }
    g_autofree double *numbers = value_numbers(value, &count);
    if (numbers == NULL || (count != 1 && count != channels)) {
        return NULL;
    }
    double *list = g_new(double, channels);
    for (int64_t i = 0; i < channels; i++) {
        list[i] = numbers[count == 1 ? 0 : i];
    }
    return list;
}

static struct value *floats(struct lowering *l, const char *part, const double *numbers,
                            int64_t count)
{
    g_autofree char *name = g_strconcat(node_name(l->node), ".", part, NULL);
    return add_float32s(l->graph, name, numbers, count);
}

static struct value *add_bias(struct lowering *l, struct value *x, struct value *bias)
{
    struct epilogue epilogue = {0};
    epilogue_add(&epilogue, EPILOGUE_BIAS, 0, 0, false);
    return pointwise(l, "bias", x, &epilogue, bias, NULL, NULL, ELEMENT_NONE);
}

/* Which steps do a binary operator with a number on the right, on the left, with a list, with a tensor. */
enum binary { BINARY_ADD, BINARY_SUB, BINARY_MUL, BINARY_DIV, BINARY_MAX, BINARY_MIN };

static const enum epilogue_op residual_ops[] = {EPILOGUE_ADD, EPILOGUE_SUB,     EPILOGUE_MUL,
                                                EPILOGUE_DIV, EPILOGUE_GREATER, EPILOGUE_SMALLER};

/* x OP number, or number OP x if `is_left`. Returns false if no step does it. */
static bool number_step(enum binary op, double number, bool is_left, struct epilogue *epilogue)
{
    switch (op) {
    case BINARY_ADD: return epilogue_add(epilogue, EPILOGUE_AFFINE, 1, number, false);
    case BINARY_SUB:
        return epilogue_add(epilogue, EPILOGUE_AFFINE, is_left ? -1 : 1, is_left ? number : -number,
                            false);
    case BINARY_MUL: return epilogue_add(epilogue, EPILOGUE_AFFINE, number, 0, false);
    case BINARY_DIV:
        return !is_left && number != 0 &&
               epilogue_add(epilogue, EPILOGUE_AFFINE, 1 / number, 0, false);
    case BINARY_MAX:
        return number == 0 ? epilogue_add(epilogue, EPILOGUE_RELU, 0, 0, false)
                           : epilogue_add(epilogue, EPILOGUE_CLIP, number, FLT_MAX, false);
    case BINARY_MIN: return epilogue_add(epilogue, EPILOGUE_CLIP, -FLT_MAX, number, false);
    }
    return false;
}

/* x OP list or list OP x by bias or scale. NULL without an error if neither does it. */
static struct value *with_list(struct lowering *l, enum binary op, struct value *x, double *list,
                               int64_t channels, bool is_left)
{
    struct epilogue epilogue = {0};
    bool is_product = op == BINARY_MUL || op == BINARY_DIV;
    if (op == BINARY_MAX || op == BINARY_MIN || (op == BINARY_DIV && is_left)) {
        return NULL;
    }
    for (int64_t i = 0; i < channels; i++) {
        list[i] = op == BINARY_SUB && !is_left ? -list[i]
                  : op == BINARY_DIV           ? 1 / list[i]
                                               : list[i];
    }
    if (op == BINARY_SUB && is_left) {
        epilogue_add(&epilogue, EPILOGUE_AFFINE, -1, 0, false);
    }
    epilogue_add(&epilogue, is_product ? EPILOGUE_SCALE : EPILOGUE_BIAS, 0, 0, is_product);
    struct value *numbers = floats(l, is_product ? "scale" : "bias", list, channels);
    return pointwise(l, NULL, x, &epilogue, is_product ? NULL : numbers, NULL,
                     is_product ? numbers : NULL, ELEMENT_NONE);
}

/* A whole tensor of one number. */
static struct value *full(struct lowering *l, const struct shape *like, double number)
{
    g_autoptr(Tensor) tensor = tensor_full(like->type, like->rank, like->dim, number);
    return graph_add_constant(l->graph, NULL, tensor);
}

/* The value with the dimensions of `wanted`: repeated, and then moved into a tensor of its own: x cannot repeat. */
static struct value *repeated(struct lowering *l, struct value *value, const struct shape *wanted)
{
    struct epilogue epilogue = {0};
    epilogue_add(&epilogue, EPILOGUE_ADD, 0, 0, false);
    return pointwise(l, "repeat", full(l, wanted, 0), &epilogue, NULL,
                     graph_broadcast(value, wanted->rank, wanted->dim), NULL, ELEMENT_NONE);
}

/* The constant's numbers if it has one for each index of the last axis, as biases of matrix products have. */
static double *last_axis_numbers(struct value *value, const struct shape *out, int64_t *count)
{
    const struct shape *shape = &value->shape;
    if (out->rank < 3 || !value_is_constant(value) || shape->rank < 1 ||
        shape->dim[shape->rank - 1] != out->dim[out->rank - 1] ||
        shape_elements(shape) != shape->dim[shape->rank - 1]) {
        return NULL;
    }
    return value_numbers(value, count);
}

static struct value *binary(struct lowering *l, enum binary op, struct value *a, struct value *b,
                            const struct shape *out)
{
    bool is_left = value_is_constant(a) || !shape_same_dims(&a->shape, out);
    struct value *x = is_left ? b : a, *other = is_left ? a : b;
    struct epilogue epilogue = {0};
    double number;
    int64_t count;
    if (!element_type_is_float(out->type)) {
        return fail(l, "kernels compute with floats, this is %s", element_type_name(out->type));
    }
    if (!shape_same_dims(&x->shape, out)) {
        x = repeated(l, x, out);
    }
    if (value_is_number(other, &number) && number_step(op, number, is_left, &epilogue)) {
        return pointwise(l, NULL, x, &epilogue, NULL, NULL, NULL, ELEMENT_NONE);
    }
    g_autofree double *list = channel_numbers(other, out->rank, out->dim[1]);
    if (list != NULL) {
        struct value *done = with_list(l, op, x, list, out->dim[1], is_left);
        if (done != NULL) {
            return done;
        }
    }
    g_autofree double *last = list == NULL ? last_axis_numbers(other, out, &count) : NULL;
    if (last != NULL) {
        int64_t dims[] = {shape_elements(out) / count, count};
        struct value *done = with_list(l, op, reshape(x, 2, dims), last, count, is_left);
        if (done != NULL) {
            return reshape(done, out->rank, out->dim);
        }
    }
    struct value *residual =
        shape_same_dims(&other->shape, out) ? other : graph_broadcast(other, out->rank, out->dim);
    if (is_left && op == BINARY_DIV) {
        x = repeated(l, other, out);
        residual = b;
        is_left = false;
    }
    if (is_left && op == BINARY_SUB) {
        epilogue_add(&epilogue, EPILOGUE_AFFINE, -1, 0, false);
        op = BINARY_ADD;
    }
    epilogue_add(&epilogue, residual_ops[op], 0, 0, false);
    return pointwise(l, NULL, x, &epilogue, NULL, residual, NULL, ELEMENT_NONE);
}

static struct value *lower_binary(struct lowering *l)
{
    static const char *const names[] = {"Add", "Sub", "Mul", "Div", "Max", "Min"};
    int op = 0;
    while (strcmp(names[op], l->node->op->name) != 0) {
        op++;
    }
    struct value *result = input(l, 0);
    struct shape so_far = result->shape;
    if (l->node->input_count == 1) {
        return result;
    }
    for (int i = 1; i < l->node->input_count; i++) {
        int rank;
        int64_t dims[SHAPE_MAX_RANK];
        const struct shape *next = &input(l, i)->shape;
        shape_broadcast_dims(&so_far, next, &rank, dims, NULL);
        shape_set_packed(&so_far, l->y->type, rank, dims, NULL);
        result = binary(l, (enum binary)op, result, input(l, i), &so_far);
        if (result == NULL) {
            return NULL;
        }
        graph_propagate(l->graph);
    }
    return result;
}

static struct value *lower_sum(struct lowering *l)
{
    struct value *result = input(l, 0);
    bool is_mean = strcmp(l->node->op->name, "Mean") == 0;
    for (int i = 1; i < l->node->input_count; i++) {
        int rank;
        int64_t dims[SHAPE_MAX_RANK];
        struct shape out;
        shape_broadcast_dims(&result->shape, &input(l, i)->shape, &rank, dims, NULL);
        shape_set_packed(&out, l->y->type, rank, dims, NULL);
        result = binary(l, BINARY_ADD, result, input(l, i), &out);
        if (result == NULL) {
            return NULL;
        }
        graph_propagate(l->graph);
    }
    return is_mean ? one_step(l, "mean", result, EPILOGUE_AFFINE, 1.0 / l->node->input_count, 0)
                   : result;
}

/* Functions of one element: the step, and where its numbers come from. */
static const struct {
    const char *name;
    enum epilogue_op op;
    const char *a; /* attribute, or NULL */
    double a_missing;
    const char *b;
    double b_missing;
} unaries[] = {
    {"Relu", EPILOGUE_RELU, NULL, 0, NULL, 0},
    {"LeakyRelu", EPILOGUE_LEAKY, "alpha", 0.01f, NULL, 0},
    {"Elu", EPILOGUE_ELU, "alpha", 1, NULL, 0},
    {"HardSigmoid", EPILOGUE_HARDSIGMOID, "alpha", 0.2f, "beta", 0.5},
    {"Sigmoid", EPILOGUE_SIGMOID, NULL, 0, NULL, 0},
    {"Tanh", EPILOGUE_TANH, NULL, 0, NULL, 0},
    {"Exp", EPILOGUE_EXP, NULL, 0, NULL, 0},
    {"Sqrt", EPILOGUE_SQRT, NULL, 0, NULL, 0},
    {"Abs", EPILOGUE_ABS, NULL, 0, NULL, 0},
    {"Erf", EPILOGUE_ERF, NULL, 0, NULL, 0},
    {"HardSwish", EPILOGUE_HARDSWISH, NULL, 0, NULL, 0},
    {"Softplus", EPILOGUE_SOFTPLUS, NULL, 0, NULL, 0},
    {"Mish", EPILOGUE_MISH, NULL, 0, NULL, 0},
    {"Neg", EPILOGUE_AFFINE, NULL, -1, NULL, 0},
};

static struct value *lower_unary(struct lowering *l)
{
    size_t i = 0;
    while (strcmp(unaries[i].name, l->node->op->name) != 0) {
        i++;
    }
    double a = unaries[i].a != NULL ? float_of(l, unaries[i].a, unaries[i].a_missing)
                                    : unaries[i].a_missing;
    double b = unaries[i].b != NULL ? float_of(l, unaries[i].b, unaries[i].b_missing)
                                    : unaries[i].b_missing;
    return one_step(l, NULL, input(l, 0), unaries[i].op, a, b);
}

static struct value *lower_gelu(struct lowering *l)
{
    if (strcmp(string_of(l, "approximate", "none"), "none") != 0) {
        return fail(l, "its approximation by tanh is not among the kernels' functions");
    }
    return one_step(l, NULL, input(l, 0), EPILOGUE_GELU, 0, 0);
}

static struct value *lower_selu(struct lowering *l)
{
    struct epilogue epilogue = {0};
    epilogue_add(&epilogue, EPILOGUE_ELU, float_of(l, "alpha", 1.67326319217681884765625), 0,
                 false);
    epilogue_add(&epilogue, EPILOGUE_AFFINE, float_of(l, "gamma", 1.05070102214813232421875), 0,
                 false);
    return pointwise(l, NULL, input(l, 0), &epilogue, NULL, NULL, NULL, ELEMENT_NONE);
}

static struct value *lower_clip(struct lowering *l)
{
    double low = -FLT_MAX, high = FLT_MAX;
    for (int i = 1; i <= 2; i++) {
        struct value *bound = input(l, i);
        if (bound != NULL && !value_is_number(bound, i == 1 ? &low : &high)) {
            return fail(l, "its bounds are computed, they must be constants");
        }
    }
    low = MAX(low, -FLT_MAX);
    high = MIN(high, FLT_MAX);
    return low == 0 && high == FLT_MAX ? one_step(l, NULL, input(l, 0), EPILOGUE_RELU, 0, 0)
                                       : one_step(l, NULL, input(l, 0), EPILOGUE_CLIP, low, high);
}

static struct value *lower_prelu(struct lowering *l)
{
    double slope;
    struct epilogue epilogue = {0};
    if (value_is_number(input(l, 1), &slope)) {
        return one_step(l, NULL, input(l, 0), EPILOGUE_LEAKY, slope, 0);
    }
    g_autofree double *slopes =
        l->y->rank >= 2 ? channel_numbers(input(l, 1), l->y->rank, l->y->dim[1]) : NULL;
    if (slopes == NULL) {
        return fail(l, "its slopes must be constants, one for each channel");
    }
    epilogue_add(&epilogue, EPILOGUE_PRELU, 0, 0, true);
    return pointwise(l, NULL, input(l, 0), &epilogue, NULL, NULL,
                     floats(l, "slopes", slopes, l->y->dim[1]), ELEMENT_NONE);
}

static struct value *lower_pow(struct lowering *l)
{
    double power;
    struct epilogue epilogue = {0};
    struct value *x = input(l, 0);
    if (!value_is_number(input(l, 1), &power) || !shape_same_dims(l->x, l->y)) {
        return fail(l, "its exponent must be one constant");
    }
    if (power == 1) {
        return x;
    }
    if (power == 0.5) {
        return one_step(l, NULL, x, EPILOGUE_SQRT, 0, 0);
    }
    if (power != 2) {
        return fail(l, "its exponent is %g, kernels do 0.5, 1 and 2", power);
    }
    epilogue_add(&epilogue, EPILOGUE_MUL, 0, 0, false);
    return pointwise(l, NULL, x, &epilogue, NULL, x, NULL, ELEMENT_NONE);
}

static struct value *lower_reciprocal(struct lowering *l)
{
    struct epilogue epilogue = {0};
    epilogue_add(&epilogue, EPILOGUE_DIV, 0, 0, false);
    return pointwise(l, NULL, full(l, l->y, 1), &epilogue, NULL, input(l, 0), NULL, ELEMENT_NONE);
}

static struct value *lower_batch_norm(struct lowering *l)
{
    int64_t channels = l->x->rank > 1 ? l->x->dim[1] : 1;
    double *lists[4] = {NULL};
    struct epilogue epilogue = {0};
    struct value *result = NULL;
    double epsilon = float_of(l, "epsilon", 1e-5f);
    bool is_known = int_of(l, "training_mode", 0) == 0;
    for (int i = 0; i < 4; i++) {
        int64_t count = 0;
        lists[i] = value_numbers(input(l, i + 1), &count);
        is_known = is_known && lists[i] != NULL && count == channels;
    }
    for (int64_t c = 0; c < channels && is_known; c++) {
        double factor = lists[0][c] / sqrt(lists[3][c] + epsilon);
        lists[1][c] -= lists[2][c] * factor;
        lists[0][c] = factor;
    }
    if (is_known) {
        epilogue_add(&epilogue, EPILOGUE_SCALE, 0, 0, true);
        epilogue_add(&epilogue, EPILOGUE_BIAS, 0, 0, false);
        result = pointwise(l, NULL, input(l, 0), &epilogue, floats(l, "bias", lists[1], channels),
                           NULL, floats(l, "scale", lists[0], channels), ELEMENT_NONE);
    } else {
        fail(l, "its scale, bias, mean and variance must be constants");
    }
    for (int i = 0; i < 4; i++) {
        g_free(lists[i]);
    }
    return result;
}

/* ---- windows ---- */

static void spread_axes(const int64_t *values, int axes, int64_t neutral, int64_t out[AXIS_COUNT])
{
    for (int a = 0; a < AXIS_COUNT; a++) {
        out[a] = a >= AXIS_COUNT - axes ? values[a - (AXIS_COUNT - axes)] : neutral;
    }
}

static struct value *add_border(struct lowering *l, struct value *x, int rank,
                                const int64_t *before, const int64_t *after, double number)
{
    g_autoptr(Attributes) attributes = attributes_new();
    g_autofree char *name = g_strconcat(node_name(l->node), ".border", NULL);
    attributes_set_ints(attributes, "before", before, rank);
    attributes_set_ints(attributes, "after", after, rank);
    attributes_set_float(attributes, "value", number);
    attributes_set_strings(attributes, "nodes", l->nodes, 1);
    struct node *node = graph_add(l->graph,
                                  &(struct node_spec){.op = &op_border,
                                                      .name = name,
                                                      .attributes = attributes,
                                                      .inputs = &x,
                                                      .input_count = 1,
                                                      .output_count = 1,
                                                      .before = l->node},
                                  NULL);
    return node_output(node);
}

/* The value of rank `rank` with the window's padding around its axes in space. */
static struct value *padded(struct lowering *l, struct value *x, int rank,
                            const struct window *window, double number)
{
    int64_t before[SHAPE_MAX_RANK] = {0}, after[SHAPE_MAX_RANK] = {0};
    for (int i = 0; i < window->axes; i++) {
        before[2 + i] = window->before[i];
        after[2 + i] = window->after[i];
    }
    return add_border(l, x, rank, before, after, number);
}

/* Whether padding on both sides as in front gives the output's size. */
static bool is_symmetric(const struct window *window, const int64_t *in, const int64_t *out)
{
    for (int i = 0; i < window->axes; i++) {
        int64_t reach = window->dilation[i] * (window->size[i] - 1) + 1;
        if (window->before[i] < 0 || in[i] + 2 * window->before[i] < reach ||
            (in[i] + 2 * window->before[i] - reach) / window->stride[i] + 1 != out[i]) {
            return false;
        }
    }
    return true;
}

static void set_window(struct kernel *kernel, const struct window *window, const int64_t *out)
{
    spread_axes(window->size, window->axes, 1, kernel->fil);
    spread_axes(window->before, window->axes, 0, kernel->pad);
    spread_axes(window->stride, window->axes, 1, kernel->stride);
    spread_axes(window->dilation, window->axes, 1, kernel->dilation);
    spread_axes(out, window->axes, 1, kernel->out);
}

/* A convolution of x by w, both without bias, padding made where the problem has none that fits. `border` is what
 * padding adds (the zero point of x). */
static struct value *convolve(struct lowering *l, struct value *x, struct value *w, double border,
                              enum element_type type)
{
    const struct shape *ws = &w->shape;
    int axes = l->x->rank - 2;
    struct window window;
    struct kernel kernel;
    if (axes < 1 || axes > 3) {
        return fail(l, "its input has %d axes, kernels have 3 to 5", l->x->rank);
    }
    if (!infer_window(l->call, axes, l->x->dim + 2, ws->dim + 2, &window, l->error)) {
        return NULL;
    }
    bool has_padding = false;
    for (int i = 0; i < axes; i++) {
        has_padding |= window.before[i] != 0 || window.after[i] != 0;
    }
    if (!is_symmetric(&window, l->x->dim + 2, l->y->dim + 2) || (has_padding && border != 0)) {
        x = padded(l, x, l->x->rank, &window, border);
        graph_propagate(l->graph);
        memset(window.before, 0, sizeof window.before);
    }
    kernel_init(&kernel, OP_CONV);
    set_window(&kernel, &window, l->y->dim + 2);
    kernel.groups = int_of(l, "group", 1);
    kernel.type = type;
    return apply(l, NULL, &kernel, to_plane(x, &x->shape), to_plane(w, ws), NULL, NULL, NULL);
}

/* The output of a kernel of at least 4 axes with bias (may be NULL), in the node's own dimensions. */
static struct value *biased(struct lowering *l, struct value *y, struct value *bias)
{
    return to_output(l, bias != NULL ? add_bias(l, y, bias) : y, MAX(l->y->rank, 4));
}

static struct value *lower_conv(struct lowering *l)
{
    struct value *y = convolve(l, input(l, 0), input(l, 1), 0, ELEMENT_NONE);
    return y != NULL ? biased(l, y, input(l, 2)) : NULL;
}

static struct value *lower_conv_transpose(struct lowering *l)
{
    const struct shape *w = &input(l, 1)->shape;
    int axes = l->x->rank - 2;
    int64_t out[SHAPE_MAX_RANK], output_padding[SHAPE_MAX_RANK];
    struct window window;
    struct kernel kernel;
    if (axes < 1 || axes > 3) {
        return fail(l, "its input has %d axes, kernels have 3 to 5", l->x->rank);
    }
    if (!infer_transposed_window(l->call, axes, l->x->dim + 2, w->dim + 2, &window, out,
                                 output_padding, l->error)) {
        return NULL;
    }
    for (int i = 0; i < axes; i++) {
        int64_t most = (l->x->dim[2 + i] - 1) * window.stride[i] - 2 * window.before[i] +
                       window.dilation[i] * (window.size[i] - 1) + window.stride[i];
        if (window.before[i] < 0 || l->y->dim[2 + i] > most) {
            return fail(l, "its padding (%" PRId64 ", %" PRId64 ") has no equal convolution",
                        window.before[i], window.after[i]);
        }
    }
    kernel_init(&kernel, OP_CONV);
    set_window(&kernel, &window, l->y->dim + 2);
    kernel.groups = int_of(l, "group", 1);
    kernel.is_transposed = true;
    struct value *y = apply(l, NULL, &kernel, to_plane(input(l, 0), l->x), to_plane(input(l, 1), w),
                            NULL, NULL, NULL);
    return biased(l, y, input(l, 2));
}

static struct value *pool(struct lowering *l, const char *mode, const struct window *window)
{
    struct kernel kernel;
    kernel_init(&kernel, OP_POOL);
    set_window(&kernel, window, l->y->dim + 2);
    g_strlcpy(kernel.mode, mode, sizeof kernel.mode);
    struct value *y = apply(l, NULL, &kernel, to_plane(input(l, 0), l->x), NULL, NULL, NULL, NULL);
    return to_output(l, y, MAX(l->y->rank, 4));
}

static struct value *lower_pool(struct lowering *l)
{
    bool is_max = strcmp(l->node->op->name, "MaxPool") == 0;
    bool counts = int_of(l, "count_include_pad", 0) != 0;
    int axes = l->x->rank - 2, count;
    const int64_t *size = attributes_ints(l->node->attributes, "kernel_shape", &count);
    struct window window;
    if (axes < 1 || axes > 3 || count != axes) {
        return fail(l, "its input has %d axes, kernels have 3 to 5", l->x->rank);
    }
    if (l->node->output_count > 1 && l->node->outputs[1]->use_count > 0) {
        return fail(l, "the indices of the largest elements are used, no kernel gives them");
    }
    if (!infer_window(l->call, axes, l->x->dim + 2, size, &window, l->error)) {
        return NULL;
    }
    for (int i = 0; i < axes && counts && !is_max; i++) {
        int64_t reach = (l->y->dim[2 + i] - 1) * window.stride[i] +
                        window.dilation[i] * (window.size[i] - 1) + 1;
        if (reach > l->x->dim[2 + i] + window.before[i] + window.after[i]) {
            return fail(l, "its last window reaches behind the padding and counts it");
        }
    }
    return pool(l, is_max ? "max" : counts ? "average_all" : "average", &window);
}

static struct value *lower_global_pool(struct lowering *l)
{
    bool is_max = strcmp(l->node->op->name, "GlobalMaxPool") == 0;
    struct window window = {.axes = l->x->rank - 2};
    if (window.axes < 1 || window.axes > 3) {
        return fail(l, "its input has %d axes, kernels have 3 to 5", l->x->rank);
    }
    for (int i = 0; i < window.axes; i++) {
        window.size[i] = l->x->dim[2 + i];
        window.stride[i] = window.dilation[i] = 1;
    }
    return pool(l, is_max ? "max" : "average", &window);
}

/* A reduction is a pool with one window: axes that stay become channels, the others a line. */
static struct value *lower_reduce(struct lowering *l)
{
    bool is_max = strcmp(l->node->op->name, "ReduceMax") == 0;
    bool is_sum = strcmp(l->node->op->name, "ReduceSum") == 0;
    bool reduced[SHAPE_MAX_RANK] = {false};
    int permutation[SHAPE_MAX_RANK], at = 0;
    int64_t kept = 1, line = 1;
    bool is_global = l->x->rank >= 3 && l->x->rank <= 5;
    struct kernel kernel;
    if (!infer_reduced_axes(l->call, reduced, l->error)) {
        return NULL;
    }
    for (int i = 0; i < l->x->rank; i++) {
        is_global = is_global && reduced[i] == (i >= 2);
        *(reduced[i] ? &line : &kept) *= l->x->dim[i];
    }
    kernel_init(&kernel, OP_POOL);
    g_strlcpy(kernel.mode, is_max ? "max" : "average", sizeof kernel.mode);
    struct value *x = input(l, 0);
    if (is_global) {
        x = to_plane(x, l->x);
        spread_axes(l->x->dim + 2, l->x->rank - 2, 1, kernel.fil);
    } else {
        for (int pass = 0; pass < 2; pass++) {
            for (int i = 0; i < l->x->rank; i++) {
                if (reduced[i] == (pass == 1)) {
                    permutation[at++] = i;
                }
            }
        }
        x = graph_transpose(x, permutation, l->x->rank);
        x = reshape(x, 4, (int64_t[]){1, kept, 1, line});
        kernel.fil[AXIS_W] = line;
    }
    struct value *y = apply(l, NULL, &kernel, x, NULL, NULL, NULL, NULL);
    if (is_sum) {
        y = one_step(l, "sum", y, EPILOGUE_AFFINE, (double)line, 0);
    }
    return reshape(y, l->y->rank, l->y->dim);
}

/* ---- matrices ---- */

/* x [M, K] times w [N, K]: a convolution of single pixels. */
static struct value *multiply(struct lowering *l, struct value *x, int64_t m, int64_t k,
                              struct value *w, int64_t n)
{
    struct kernel kernel;
    kernel_init(&kernel, OP_CONV);
    return apply(l, NULL, &kernel, reshape(x, 4, (int64_t[]){m, k, 1, 1}),
                 reshape(w, 4, (int64_t[]){n, k, 1, 1}), NULL, NULL, NULL);
}

static struct value *swapped(struct value *value)
{
    return graph_transpose(value, (int[]){1, 0}, 2);
}

/* y + beta * c for a y of [M, N, 1, 1]. */
static struct value *plus_c(struct lowering *l, struct value *y, struct value *c, double beta)
{
    int64_t m = l->y->dim[0], n = l->y->dim[1];
    g_autofree double *list = channel_numbers(c, 2, n);
    if (list != NULL) {
        for (int64_t i = 0; i < n; i++) {
            list[i] *= beta;
        }
        return add_bias(l, y, floats(l, "bias", list, n));
    }
    if (beta != 1) {
        c = one_step(l, "beta", c, EPILOGUE_AFFINE, beta, 0);
    }
    struct epilogue epilogue = {0};
    epilogue_add(&epilogue, EPILOGUE_ADD, 0, 0, false);
    c = graph_broadcast(c, 2, (int64_t[]){m, n});
    return pointwise(l, "add", y, &epilogue, NULL, reshape(c, 4, (int64_t[]){m, n, 1, 1}), NULL,
                     ELEMENT_NONE);
}

static struct value *lower_gemm(struct lowering *l)
{
    double alpha = float_of(l, "alpha", 1);
    bool a_is_turned = int_of(l, "transA", 0) != 0, b_is_turned = int_of(l, "transB", 0) != 0;
    int64_t m = l->y->dim[0], n = l->y->dim[1], k = l->x->dim[a_is_turned ? 0 : 1];
    struct value *a = a_is_turned ? swapped(input(l, 0)) : input(l, 0);
    struct value *b = b_is_turned ? input(l, 1) : swapped(input(l, 1));
    struct value *y = multiply(l, a, m, k, b, n);
    if (alpha != 1) {
        y = one_step(l, "alpha", y, EPILOGUE_AFFINE, alpha, 0);
    }
    if (input(l, 2) != NULL) {
        y = plus_c(l, y, input(l, 2), float_of(l, "beta", 1));
    }
    return reshape(y, l->y->rank, l->y->dim);
}

static struct value *lower_matmul(struct lowering *l)
{
    const struct shape *b = &input(l, 1)->shape;
    int64_t batches = 1;
    if (l->x->rank < 2 || b->rank < 2) {
        return fail(l, "one of its operands is a vector, kernels multiply matrices");
    }
    for (int i = 0; i < b->rank - 2; i++) {
        batches *= b->dim[i];
    }
    if (batches != 1) {
        return fail(l, "its second operand is a batch of matrices, no kernel multiplies these");
    }
    int64_t k = b->dim[b->rank - 2], n = b->dim[b->rank - 1];
    int64_t m = shape_elements(l->x) / k;
    struct value *w = reshape(input(l, 1), 2, (int64_t[]){k, n});
    struct value *y = multiply(l, input(l, 0), m, k, swapped(w), n);
    return reshape(y, l->y->rank, l->y->dim);
}

/* ---- normalisation, softmax, resize ---- */

static struct value *lower_lrn(struct lowering *l)
{
    struct kernel kernel;
    char a[G_ASCII_DTOSTR_BUF_SIZE], b[G_ASCII_DTOSTR_BUF_SIZE], c[G_ASCII_DTOSTR_BUF_SIZE];
    kernel_init(&kernel, OP_LRN);
    g_ascii_formatd(a, sizeof a, "%.9g", float_of(l, "alpha", 0.0001f));
    g_ascii_formatd(b, sizeof b, "%.9g", float_of(l, "beta", 0.75));
    g_ascii_formatd(c, sizeof c, "%.9g", float_of(l, "bias", 1));
    g_snprintf(kernel.mode, sizeof kernel.mode, "%" PRId64 ",%s,%s,%s", int_of(l, "size", 1), a, b,
               c);
    return to_output(l,
                     apply(l, NULL, &kernel, to_plane(input(l, 0), l->x), NULL, NULL, NULL, NULL),
                     MAX(l->y->rank, 4));
}

static struct value *lower_softmax(struct lowering *l)
{
    struct kernel kernel;
    int axis = (int)int_of(l, "axis", -1);
    bool to_end = int_of(l, "to_end", 0) != 0;
    int64_t before = 1, among = 1, behind = 1;
    axis += axis < 0 ? l->x->rank : 0;
    for (int i = 0; i < l->x->rank; i++) {
        *(i < axis ? &before : i == axis || to_end ? &among : &behind) *= l->x->dim[i];
    }
    kernel_init(&kernel, OP_SOFTMAX);
    if (strcmp(l->node->op->name, "LogSoftmax") == 0) {
        g_strlcpy(kernel.mode, "log", sizeof kernel.mode);
    }
    struct value *x = reshape(input(l, 0), 4, (int64_t[]){before, among, 1, behind});
    return reshape(apply(l, NULL, &kernel, x, NULL, NULL, NULL, NULL), l->y->rank, l->y->dim);
}

/* The scales that Resize names for axes in space must be those that the sizes say: the problem knows sizes alone. */
static bool scales_follow_sizes(struct lowering *l)
{
    int64_t count = 0;
    g_autofree double *scales = input(l, 2) != NULL ? value_numbers(input(l, 2), &count) : NULL;
    for (int i = 0; i < count && count == l->x->rank; i++) {
        if (fabs((double)l->x->dim[i] * scales[i] - (double)l->y->dim[i]) > 1e-4) {
            return false;
        }
    }
    return true;
}

static struct value *lower_resize(struct lowering *l)
{
    const char *mode = string_of(l, "mode", "nearest");
    const char *coordinates = string_of(l, "coordinate_transformation_mode", "half_pixel");
    struct kernel kernel;
    if (l->x->rank < 3 || l->x->rank > 5 || l->x->dim[0] != l->y->dim[0] ||
        l->x->dim[1] != l->y->dim[1]) {
        return fail(l, "it resizes other axes than those in space");
    }
    if (strcmp(mode, "nearest") != 0 && strcmp(mode, "linear") != 0) {
        return fail(l, "its mode is '%s', kernels do nearest and linear", mode);
    }
    if (strcmp(coordinates, "tf_crop_and_resize") == 0 || int_of(l, "antialias", 0) != 0) {
        return fail(l, "no kernel crops while it resizes, or smoothes");
    }
    if (!scales_follow_sizes(l)) {
        return fail(l, "its scales are not those between the sizes of input and output");
    }
    kernel_init(&kernel, OP_RESIZE);
    spread_axes(l->y->dim + 2, l->y->rank - 2, 1, kernel.out);
    if (strcmp(mode, "nearest") == 0) {
        g_snprintf(kernel.mode, sizeof kernel.mode, "nearest,%s,%s", coordinates,
                   string_of(l, "nearest_mode", "round_prefer_floor"));
    } else {
        g_snprintf(kernel.mode, sizeof kernel.mode, "linear,%s", coordinates);
    }
    struct value *y = apply(l, NULL, &kernel, to_plane(input(l, 0), l->x), NULL, NULL, NULL, NULL);
    return to_output(l, y, MAX(l->y->rank, 4));
}

/* ---- movement ---- */

static struct value *movement(struct lowering *l, const struct op *op, const char *part,
                              struct attributes *attributes, struct value *const *inputs, int count)
{
    const char *own = node_name(l->node);
    g_autofree char *name = part != NULL ? g_strconcat(own, ".", part, NULL) : g_strdup(own);
    attributes_set_strings(attributes, "nodes", l->nodes, 1);
    struct node *node = graph_add(l->graph,
                                  &(struct node_spec){.op = op,
                                                      .name = name,
                                                      .attributes = attributes,
                                                      .inputs = inputs,
                                                      .input_count = count,
                                                      .output_count = 1,
                                                      .before = l->node},
                                  l->error);
    return node != NULL ? node_output(node) : NULL;
}

static struct value *lower_concat(struct lowering *l)
{
    g_autoptr(Attributes) attributes = attributes_new();
    int64_t axis = int_of(l, "axis", 0);
    attributes_set_int(attributes, "axis", axis < 0 ? axis + l->y->rank : axis);
    return l->node->input_count == 1
               ? input(l, 0)
               : movement(l, &op_join, NULL, attributes, l->node->inputs, l->node->input_count);
}

static struct value *part_of(struct lowering *l, const char *part, const int64_t *begin,
                             const int64_t *step, const struct shape *out)
{
    g_autoptr(Attributes) attributes = attributes_new();
    struct value *x = input(l, 0);
    attributes_set_ints(attributes, "begin", begin, out->rank);
    attributes_set_ints(attributes, "step", step, out->rank);
    attributes_set_ints(attributes, "dims", out->dim, out->rank);
    return movement(l, &op_part, part, attributes, &x, 1);
}

static struct value *lower_slice(struct lowering *l)
{
    int64_t begin[SHAPE_MAX_RANK], step[SHAPE_MAX_RANK], dims[SHAPE_MAX_RANK];
    if (!infer_slice_steps(l->call, begin, step, dims, l->error)) {
        return NULL;
    }
    for (int i = 0; i < l->x->rank; i++) {
        if (step[i] < 0) {
            return fail(l, "it goes backwards along axis %d", i);
        }
    }
    return part_of(l, NULL, begin, step, l->y);
}

/* Split has several outputs; those behind the first are replaced here. */
static struct value *lower_split(struct lowering *l)
{
    int64_t axis = int_of(l, "axis", 0);
    int64_t begin[SHAPE_MAX_RANK] = {0}, step[SHAPE_MAX_RANK];
    struct value *first = NULL;
    axis += axis < 0 ? l->x->rank : 0;
    for (int i = 0; i < SHAPE_MAX_RANK; i++) {
        step[i] = 1;
    }
    for (int i = 0; i < l->node->output_count; i++) {
        struct value *old = l->node->outputs[i];
        g_autofree char *name = g_strdup_printf("%d", i);
        struct value *part = part_of(l, name, begin, step, &old->shape);
        begin[axis] += old->shape.dim[axis];
        if (i == 0) {
            first = part;
        } else if (part == NULL || !graph_replace_value(old, part, l->error)) {
            return NULL;
        }
    }
    return first;
}

static struct value *lower_pad(struct lowering *l)
{
    int64_t count = 0, axis_count = 0;
    double number = 0;
    const char *mode = string_of(l, "mode", "constant");
    g_autofree double *pads = value_numbers(input(l, 1), &count);
    g_autofree double *axes = input(l, 3) != NULL ? value_numbers(input(l, 3), &axis_count) : NULL;
    int64_t before[SHAPE_MAX_RANK] = {0}, after[SHAPE_MAX_RANK] = {0};
    bool has_padding = false;
    if (strcmp(mode, "constant") != 0) {
        return fail(l, "its mode is '%s', kernels pad with a constant", mode);
    }
    if (pads == NULL || (input(l, 2) != NULL && !value_is_number(input(l, 2), &number))) {
        return fail(l, "its padding is computed, it must be constant");
    }
    for (int64_t i = 0; i < count / 2; i++) {
        int64_t axis = axes != NULL ? (int64_t)axes[i] : i;
        axis += axis < 0 ? l->x->rank : 0;
        before[axis] = (int64_t)pads[i];
        after[axis] = (int64_t)pads[i + count / 2];
        has_padding |= before[axis] != 0 || after[axis] != 0;
        if (before[axis] < 0 || after[axis] < 0) {
            return fail(l, "it cuts off elements, which Slice does");
        }
    }
    return has_padding ? add_border(l, input(l, 0), l->x->rank, before, after, number)
                       : input(l, 0);
}

/* Blocks of channels become blocks in space, or the other way: views, and a copy where nobody absorbs them. */
static struct value *lower_blocks(struct lowering *l)
{
    int64_t b = int_of(l, "blocksize", 1), n = l->x->dim[0], c = l->x->dim[1], h = l->x->dim[2],
            w = l->x->dim[3];
    struct value *x = input(l, 0);
    if (strcmp(l->node->op->name, "SpaceToDepth") == 0) {
        x = reshape(x, 6, (int64_t[]){n, c, h / b, b, w / b, b});
        x = graph_transpose(x, (int[]){0, 3, 5, 1, 2, 4}, 6);
    } else if (strcmp(string_of(l, "mode", "DCR"), "DCR") == 0) {
        x = reshape(x, 6, (int64_t[]){n, b, b, c / (b * b), h, w});
        x = graph_transpose(x, (int[]){0, 3, 4, 1, 5, 2}, 6);
    } else {
        x = reshape(x, 6, (int64_t[]){n, c / (b * b), b, b, h, w});
        x = graph_transpose(x, (int[]){0, 1, 4, 2, 5, 3}, 6);
    }
    return reshape(x, l->y->rank, l->y->dim);
}

/* ---- quantised operators ---- */

/* A quantised input's scale and zero point as INT8 has it: 128 less where the tensor is UINT8. */
struct quantum {
    double scale;
    double zero;
};

static bool read_quantum(struct lowering *l, int scale, int zero, struct quantum *quantum)
{
    double shift = 0;
    struct value *point = zero >= 0 ? input(l, zero) : NULL;
    *quantum = (struct quantum){1, 0};
    if (scale >= 0 && !value_is_number(input(l, scale), &quantum->scale)) {
        fail(l, "the scale of a tensor must be one constant");
        return false;
    }
    if (point != NULL && !value_is_number(point, &quantum->zero)) {
        fail(l,
             "the zero point of a tensor must be one constant; take the model in floats: --dtype "
             "INT8 quantises it");
        return false;
    }
    if (point == NULL || point->shape.type == ELEMENT_UINT8) {
        shift = 128;
    }
    quantum->zero -= shift;
    return true;
}

/* The filter less its zero points as a constant of INT8, the sum of each output channel's elements in sums. */
static struct value *quantised_filter(struct lowering *l, int w, int zero, double **sums)
{
    struct value *value = input(l, w);
    const struct shape *shape = &value->shape;
    int64_t count, zeros = 0, channels = shape->dim[0];
    g_autofree double *numbers = value_numbers(value, &count);
    g_autofree double *points =
        zero >= 0 && input(l, zero) != NULL ? value_numbers(input(l, zero), &zeros) : NULL;
    *sums = g_new0(double, channels);
    if (numbers == NULL || (zeros > 1 && zeros != channels)) {
        return fail(l, "its filter and the filter's zero points must be constants");
    }
    struct shape packed;
    shape_set_packed(&packed, ELEMENT_INT8, shape->rank, shape->dim, NULL);
    g_autofree gint8 *data = g_new(gint8, MAX(count, 1));
    for (int64_t i = 0; i < count; i++) {
        int64_t k = i / (count / channels);
        double element = numbers[i] - (zeros > 1 ? points[k] : zeros == 1 ? points[0] : 0);
        if (element < -128 || element > 127) {
            return fail(l, "its filter less the zero point does not fit INT8");
        }
        data[i] = (gint8)element;
        (*sums)[k] += element;
    }
    g_autoptr(Tensor) tensor = tensor_take(&packed, g_steal_pointer(&data));
    return graph_add_constant(l->graph, NULL, tensor);
}

/* The INT32 bias of an INT8 convolution: the model's, less what the zero point of x adds to each channel. NULL for
 * none. */
static struct value *quantised_bias(struct lowering *l, int bias, const double *sums,
                                    int64_t channels, double zero)
{
    int64_t count = 0;
    g_autofree double *numbers =
        bias >= 0 && input(l, bias) != NULL ? value_numbers(input(l, bias), &count) : NULL;
    if (numbers == NULL && zero == 0) {
        return NULL;
    }
    g_autofree double *total = g_new0(double, channels);
    for (int64_t i = 0; i < channels; i++) {
        total[i] = (numbers != NULL ? numbers[i] : 0) - zero * sums[i];
    }
    g_autofree char *name = g_strconcat(node_name(l->node), ".bias", NULL);
    return add_int32s(l->graph, name, total, channels);
}

static struct value *lower_conv_integer(struct lowering *l)
{
    struct quantum x;
    g_autofree double *sums = NULL;
    struct epilogue epilogue = {0};
    /* Without a zero point the input's own type says what is subtracted. */
    if (!read_quantum(l, -1, 2, &x)) {
        return NULL;
    }
    if (input(l, 2) == NULL && l->x->type == ELEMENT_INT8) {
        x.zero = 0;
    }
    struct value *w = quantised_filter(l, 1, 3, &sums);
    struct value *y = w != NULL ? convolve(l, input(l, 0), w, x.zero, ELEMENT_INT32) : NULL;
    struct value *bias = y != NULL ? quantised_bias(l, -1, sums, l->y->dim[1], x.zero) : NULL;
    if (bias != NULL) {
        /* In integers: part of the convolution from the beginning. */
        struct kernel kernel;
        kernel_read(y->producer, &kernel);
        epilogue_add(&epilogue, EPILOGUE_BIAS, 0, 0, false);
        epilogue_append(&kernel.epilogue, &epilogue);
        kernel_write(y->producer, &kernel, NULL);
        graph_set_input(y->producer, KERNEL_BIAS, bias, NULL);
    }
    return y != NULL ? to_output(l, y, MAX(l->y->rank, 4)) : NULL;
}

static struct value *lower_qlinear_conv(struct lowering *l)
{
    struct quantum x, y;
    int64_t scale_count = 0, channels = input(l, 3)->shape.dim[0];
    g_autofree double *sums = NULL;
    g_autofree double *w_scales = value_numbers(input(l, 4), &scale_count);
    struct kernel kernel;
    if (!read_quantum(l, 1, 2, &x) || !read_quantum(l, 6, 7, &y)) {
        return NULL;
    }
    if (w_scales == NULL || (scale_count != 1 && scale_count != channels)) {
        return fail(l, "the scales of its filter must be constants, one or one for each channel");
    }
    struct value *w = quantised_filter(l, 3, 5, &sums);
    struct value *conv = w != NULL ? convolve(l, input(l, 0), w, x.zero, ELEMENT_INT8) : NULL;
    if (conv == NULL) {
        return NULL;
    }
    struct value *bias = quantised_bias(l, 8, sums, channels, x.zero);
    for (int64_t i = 0; i < scale_count; i++) {
        w_scales[i] *= x.scale / y.scale;
    }
    g_autofree double *scales = g_new0(double, scale_count + 1);
    memcpy(scales, w_scales, sizeof scales[0] * (gsize)scale_count);
    kernel_read(conv->producer, &kernel);
    if (bias != NULL) {
        epilogue_add(&kernel.epilogue, EPILOGUE_BIAS, 0, 0, false);
        graph_set_input(conv->producer, KERNEL_BIAS, bias, NULL);
    }
    epilogue_add(&kernel.epilogue, EPILOGUE_REQUANT, 0, 0, scale_count > 1);
    if (y.zero != 0) {
        epilogue_add(&kernel.epilogue, EPILOGUE_AFFINE, 1, y.zero, false);
    }
    kernel_write(conv->producer, &kernel, NULL);
    graph_set_input(conv->producer, KERNEL_SCALES, floats(l, "scales", scales, scale_count + 1),
                    NULL);
    return to_output(l, conv, MAX(l->y->rank, 4));
}

static struct value *lower_quantize(struct lowering *l)
{
    struct quantum y;
    struct epilogue epilogue = {0};
    if (!read_quantum(l, 1, 2, &y)) {
        return NULL;
    }
    if (l->y->type != ELEMENT_UINT8 && l->y->type != ELEMENT_INT8) {
        return fail(l, "its output is %s, kernels quantise to 8 bits",
                    element_type_name(l->y->type));
    }
    epilogue_add(&epilogue, EPILOGUE_AFFINE, 1 / y.scale, y.zero, false);
    return pointwise(l, NULL, input(l, 0), &epilogue, NULL, NULL, NULL, ELEMENT_INT8);
}

static struct value *lower_dequantize(struct lowering *l)
{
    int64_t count = 0, zeros = 0, channels = l->x->rank > 1 ? l->x->dim[1] : 1;
    g_autofree double *scales = value_numbers(input(l, 1), &count);
    g_autofree double *points = input(l, 2) != NULL ? value_numbers(input(l, 2), &zeros) : NULL;
    struct epilogue epilogue = {0};
    bool is_unsigned = input(l, 2) == NULL ? l->x->type == ELEMENT_UINT8
                                           : input(l, 2)->shape.type == ELEMENT_UINT8;
    if (scales == NULL || (input(l, 2) != NULL && points == NULL)) {
        return fail(l, "its scale and zero point must be constants");
    }
    if (count == 1) {
        double zero = (zeros > 0 ? points[0] : 0) - (is_unsigned ? 128 : 0);
        epilogue_add(&epilogue, EPILOGUE_AFFINE, scales[0], -zero * scales[0], false);
        return pointwise(l, NULL, input(l, 0), &epilogue, NULL, NULL, NULL, l->y->type);
    }
    int64_t axis = int_of(l, "axis", 1);
    if (count != channels || (axis != 1 && axis != 1 - l->x->rank)) {
        return fail(l, "its scales must be one, or one for each channel");
    }
    g_autofree double *bias = g_new0(double, channels);
    for (int64_t i = 0; i < channels; i++) {
        bias[i] = -scales[i] * ((zeros > 0 ? points[i] : 0) - (is_unsigned ? 128 : 0));
    }
    epilogue_add(&epilogue, EPILOGUE_AFFINE, 1, 0, false);
    epilogue.count = 0;
    epilogue_add(&epilogue, EPILOGUE_SCALE, 0, 0, true);
    struct value *scaled = pointwise(l, "scale", input(l, 0), &epilogue, NULL, NULL,
                                     floats(l, "scales", scales, channels), l->y->type);
    return add_bias(l, scaled, floats(l, "zeros", bias, channels));
}

/* ---- the table ---- */

static const struct {
    const char *name;
    lower_function lower;
} table[] = {
    {"Conv", lower_conv},
    {"ConvTranspose", lower_conv_transpose},
    {"ConvInteger", lower_conv_integer},
    {"QLinearConv", lower_qlinear_conv},
    {"MaxPool", lower_pool},
    {"AveragePool", lower_pool},
    {"GlobalAveragePool", lower_global_pool},
    {"GlobalMaxPool", lower_global_pool},
    {"ReduceMean", lower_reduce},
    {"ReduceMax", lower_reduce},
    {"ReduceSum", lower_reduce},
    {"Gemm", lower_gemm},
    {"MatMul", lower_matmul},
    {"BatchNormalization", lower_batch_norm},
    {"LRN", lower_lrn},
    {"Softmax", lower_softmax},
    {"LogSoftmax", lower_softmax},
    {"Resize", lower_resize},
    {"Add", lower_binary},
    {"Sub", lower_binary},
    {"Mul", lower_binary},
    {"Div", lower_binary},
    {"Max", lower_binary},
    {"Min", lower_binary},
    {"Sum", lower_sum},
    {"Mean", lower_sum},
    {"Relu", lower_unary},
    {"LeakyRelu", lower_unary},
    {"Elu", lower_unary},
    {"HardSigmoid", lower_unary},
    {"Sigmoid", lower_unary},
    {"Tanh", lower_unary},
    {"Exp", lower_unary},
    {"Sqrt", lower_unary},
    {"Abs", lower_unary},
    {"Erf", lower_unary},
    {"HardSwish", lower_unary},
    {"Softplus", lower_unary},
    {"Mish", lower_unary},
    {"Neg", lower_unary},
    {"Gelu", lower_gelu},
    {"com.microsoft.Gelu", lower_gelu},
    {"Selu", lower_selu},
    {"Clip", lower_clip},
    {"PRelu", lower_prelu},
    {"Pow", lower_pow},
    {"Reciprocal", lower_reciprocal},
    {"Concat", lower_concat},
    {"Slice", lower_slice},
    {"Split", lower_split},
    {"Pad", lower_pad},
    {"DepthToSpace", lower_blocks},
    {"SpaceToDepth", lower_blocks},
    {"QuantizeLinear", lower_quantize},
    {"com.microsoft.QuantizeLinear", lower_quantize},
    {"DequantizeLinear", lower_dequantize},
    {"com.microsoft.DequantizeLinear", lower_dequantize},
};

static lower_function find_rule(const char *name)
{
    for (size_t i = 0; i < G_N_ELEMENTS(table); i++) {
        if (strcmp(table[i].name, name) == 0) {
            return table[i].lower;
        }
    }
    return NULL;
}

bool lower_knows(const char *op_name)
{
    return find_rule(op_name) != NULL;
}

static bool is_lowered(const struct node *node)
{
    return node_is_view(node) || node_is_kernel(node) || node->op == &op_copy ||
           node->op == &op_join || node->op == &op_part || node->op == &op_border;
}

static bool lower_node(struct graph *graph, struct node *node, GError **error)
{
    lower_function rule = find_rule(node->op->name);
    struct pass_call call;
    if (rule == NULL) {
        return node_unsupported(node, error, "no kernel does this operator");
    }
    /* Resolving drops its own copies when the graph changes: the node reads what they read. */
    for (int i = 0; i < node->input_count; i++) {
        struct value *value = node->inputs[i];
        while (value != NULL && value->producer != NULL && value->producer->is_automatic) {
            value = value->producer->inputs[0];
        }
        if (value != node->inputs[i] && !graph_set_input(node, i, value, error)) {
            return false;
        }
    }
    graph_propagate(graph);
    pass_call_init(&call, node);
    /* Copies: the shapes of values change while the graph is edited. */
    struct shape x = {0}, y = node->outputs[0]->shape;
    if (node->input_count > 0 && node->inputs[0] != NULL) {
        x = node->inputs[0]->shape;
    }
    struct lowering l = {.graph = graph,
                         .node = node,
                         .call = &call.call,
                         .x = &x,
                         .y = &y,
                         .nodes = {node_name(node), NULL},
                         .error = error};
    struct value *result = rule(&l);
    bool done = result != NULL && graph_replace_value(node->outputs[0], result, error) &&
                graph_remove_node(node, error);
    pass_call_clear(&call);
    graph_propagate(graph);
    return done;
}

/* UINT8 inputs have no kernels, and nobody says whether a caller's bytes are shifted. */
static bool check_inputs(struct graph *graph, GError **error)
{
    for (guint i = 0; i < graph->inputs->len; i++) {
        struct value *value = graph->inputs->pdata[i];
        enum data_type type;
        if (!element_type_to_data_type(value->shape.type, &type)) {
            g_set_error(error, NETWORK_ERROR, NETWORK_ERROR_UNSUPPORTED,
                        "input '%s' is %s, no kernel reads that type: take the model with inputs "
                        "of floats, or of int8; autotune --dtype INT8 quantises a model of floats",
                        value_name(value), element_type_name(value->shape.type));
            return false;
        }
    }
    return true;
}

bool network_lower(struct graph *graph, GError **error)
{
    g_autoptr(GError) first = NULL;
    int failed = 0;
    graph_remove_dead(graph);
    if (!graph_resolve(graph, error) || !check_inputs(graph, error)) {
        return false;
    }
    for (struct node *node = graph_first(graph); node != NULL; node = node_next(node)) {
        if (!is_lowered(node) && !lower_node(graph, node, first == NULL ? &first : NULL)) {
            failed++;
        }
    }
    if (failed > 1) {
        g_prefix_error(&first, "%d more nodes have no kernel; the first: ", failed - 1);
    }
    if (failed > 0) {
        g_propagate_error(error, g_steal_pointer(&first));
        return false;
    }
    graph_remove_dead(graph);
    return graph_resolve(graph, error);
}
