#include "coordinator/network/host/host_ops.h"

#include "coordinator/network/host/host_math.h"
#include "coordinator/network/onnx/infer.h"
#include "coordinator/network/passes/kernel_op.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

static const struct host_array *in(const struct host_call *h, int index)
{
    return index < h->call->input_count ? h->inputs[index] : NULL;
}

static int64_t int_of(const struct host_call *h, const char *name, int64_t missing)
{
    return attributes_int(h->call->attributes, name, missing);
}

static double float_of(const struct host_call *h, const char *name, double missing)
{
    return attributes_float(h->call->attributes, name, missing);
}

static bool named(const struct host_call *h, const char *name)
{
    const char *own = h->call->op->name;
    return strcmp(own, name) == 0 ||
           (g_str_has_prefix(own, "com.microsoft.") && strcmp(own + 14, name) == 0);
}

/* ---- broadcasting ---- */

/* The element of each array that belongs to element i of the output: strides with 0 on repeated axes. */
static void broadcast_strides(const struct shape *from, const struct shape *to,
                              int64_t strides[SHAPE_MAX_RANK])
{
    for (int i = 0; i < to->rank; i++) {
        int axis = i - (to->rank - from->rank);
        strides[i] = axis >= 0 && from->dim[axis] > 1 ? from->stride[axis] : 0;
    }
}

/* The input with the output's dimensions. */
static struct host_array *expanded(const struct host_array *array, const struct shape *to)
{
    struct shape shape = *to;
    int64_t strides[SHAPE_MAX_RANK];
    shape.type = array->shape.type;
    if (shape_same_dims(&array->shape, to)) {
        return host_array_ref((struct host_array *)array);
    }
    struct host_array *result = host_array_new(&shape);
    broadcast_strides(&array->shape, to, strides);
    if (result->count > 0) {
        host_gather(result, array->data, 0, strides);
    }
    return result;
}

/* ---- functions of one element ---- */

static double do_relu(double x, double a, double b)
{
    (void)a, (void)b;
    return x < 0 ? 0 : x;
}
static double do_leaky(double x, double a, double b)
{
    (void)b;
    return x < 0 ? a * x : x;
}
static double do_thresholded(double x, double a, double b)
{
    (void)b;
    return x > a ? x : 0;
}
static double do_sigmoid(double x, double a, double b)
{
    (void)a, (void)b;
    return 1 / (1 + exp(-x));
}
static double do_hard_sigmoid(double x, double a, double b)
{
    return CLAMP(a * x + b, 0, 1);
}
static double do_hard_swish(double x, double a, double b)
{
    (void)a, (void)b;
    return x * CLAMP(x + 3, 0, 6) / 6;
}
static double do_elu(double x, double a, double b)
{
    (void)b;
    return x < 0 ? a * expm1(x) : x;
}
static double do_celu(double x, double a, double b)
{
    (void)b;
    return x < 0 ? a * expm1(x / a) : x;
}
static double do_selu(double x, double a, double b)
{
    return b * (x < 0 ? a * expm1(x) : x);
}
static double do_softplus(double x, double a, double b)
{
    (void)a, (void)b;
    return x > 30 ? x : log1p(exp(x));
}
static double do_softsign(double x, double a, double b)
{
    (void)a, (void)b;
    return x / (1 + fabs(x));
}
static double do_mish(double x, double a, double b)
{
    return x * tanh(do_softplus(x, a, b));
}
static double do_gelu(double x, double a, double b)
{
    (void)a, (void)b;
    return x / 2 * erfc(-x / sqrt(2));
}
static double do_fast_gelu(double x, double a, double b)
{
    (void)a, (void)b;
    /* x / 2 * (1 + tanh(u)), which cancels where x is far below 0 */
    return x / (1 + exp(-2 * sqrt(2 / G_PI) * (x + 0.044715 * x * x * x)));
}
static double do_shrink(double x, double a, double b)
{
    return x < -a ? x + b : x > a ? x - b : 0;
}
static double do_neg(double x, double a, double b)
{
    (void)a, (void)b;
    return -x;
}
static double do_sign(double x, double a, double b)
{
    (void)a, (void)b;
    return (x > 0) - (x < 0);
}
static double do_reciprocal(double x, double a, double b)
{
    (void)a, (void)b;
    return 1 / x;
}
static double do_not(double x, double a, double b)
{
    (void)a, (void)b;
    return x == 0;
}
static double do_isnan(double x, double a, double b)
{
    (void)a, (void)b;
    return isnan(x) ? 1 : 0;
}
static double do_isinf(double x, double a, double b)
{
    return isinf(x) && (x > 0 ? b : a) != 0;
}

#define PLAIN(name, function)                                                                      \
    static double name(double x, double a, double b)                                               \
    {                                                                                              \
        (void)a, (void)b;                                                                          \
        return function(x);                                                                        \
    }
PLAIN(do_erf, erf)
PLAIN(do_abs, fabs)
PLAIN(do_floor, floor)
PLAIN(do_ceil, ceil)
PLAIN(do_round, rint)
PLAIN(do_sqrt, sqrt)
PLAIN(do_exp, exp)
PLAIN(do_log, log)
PLAIN(do_sin, sin)
PLAIN(do_cos, cos)
PLAIN(do_tan, tan)
PLAIN(do_asin, asin)
PLAIN(do_acos, acos)
PLAIN(do_atan, atan)
PLAIN(do_sinh, sinh)
PLAIN(do_cosh, cosh)
PLAIN(do_tanh, tanh)
PLAIN(do_asinh, asinh)
PLAIN(do_acosh, acosh)
PLAIN(do_atanh, atanh)
#undef PLAIN

static const struct {
    const char *name;
    double (*function)(double x, double a, double b);
    const char *a, *b; /* attributes, or NULL */
    double a_missing, b_missing;
} unaries[] = {
    {"Relu", do_relu, NULL, NULL, 0, 0},
    {"LeakyRelu", do_leaky, "alpha", NULL, 0.01f, 0},
    {"ThresholdedRelu", do_thresholded, "alpha", NULL, 1, 0},
    {"Sigmoid", do_sigmoid, NULL, NULL, 0, 0},
    {"HardSigmoid", do_hard_sigmoid, "alpha", "beta", 0.2f, 0.5},
    {"HardSwish", do_hard_swish, NULL, NULL, 0, 0},
    {"Elu", do_elu, "alpha", NULL, 1, 0},
    {"Celu", do_celu, "alpha", NULL, 1, 0},
    {"Selu", do_selu, "alpha", "gamma", 1.67326319217681884765625, 1.05070102214813232421875},
    {"Softplus", do_softplus, NULL, NULL, 0, 0},
    {"Softsign", do_softsign, NULL, NULL, 0, 0},
    {"Mish", do_mish, NULL, NULL, 0, 0},
    {"Erf", do_erf, NULL, NULL, 0, 0},
    {"Shrink", do_shrink, "lambd", "bias", 0.5, 0},
    {"Abs", do_abs, NULL, NULL, 0, 0},
    {"Neg", do_neg, NULL, NULL, 0, 0},
    {"Floor", do_floor, NULL, NULL, 0, 0},
    {"Ceil", do_ceil, NULL, NULL, 0, 0},
    {"Round", do_round, NULL, NULL, 0, 0},
    {"Sign", do_sign, NULL, NULL, 0, 0},
    {"Sqrt", do_sqrt, NULL, NULL, 0, 0},
    {"Reciprocal", do_reciprocal, NULL, NULL, 0, 0},
    {"Exp", do_exp, NULL, NULL, 0, 0},
    {"Log", do_log, NULL, NULL, 0, 0},
    {"Sin", do_sin, NULL, NULL, 0, 0},
    {"Cos", do_cos, NULL, NULL, 0, 0},
    {"Tan", do_tan, NULL, NULL, 0, 0},
    {"Asin", do_asin, NULL, NULL, 0, 0},
    {"Acos", do_acos, NULL, NULL, 0, 0},
    {"Atan", do_atan, NULL, NULL, 0, 0},
    {"Sinh", do_sinh, NULL, NULL, 0, 0},
    {"Cosh", do_cosh, NULL, NULL, 0, 0},
    {"Tanh", do_tanh, NULL, NULL, 0, 0},
    {"Asinh", do_asinh, NULL, NULL, 0, 0},
    {"Acosh", do_acosh, NULL, NULL, 0, 0},
    {"Atanh", do_atanh, NULL, NULL, 0, 0},
    {"Not", do_not, NULL, NULL, 0, 0},
    {"IsNaN", do_isnan, NULL, NULL, 0, 0},
    {"IsInf", do_isinf, "detect_negative", "detect_positive", 1, 1},
};

static bool run_unary(const struct host_call *h, GError **error)
{
    size_t row = 0;
    (void)error;
    while (!named(h, unaries[row].name)) {
        row++;
    }
    double a = unaries[row].a_missing, b = unaries[row].b_missing;
    a = unaries[row].a == NULL                             ? a
        : unaries[row].b_missing == 1 && named(h, "IsInf") ? (double)int_of(h, unaries[row].a, 1)
                                                           : float_of(h, unaries[row].a, a);
    b = unaries[row].b == NULL ? b
        : named(h, "IsInf")    ? (double)int_of(h, unaries[row].b, 1)
                               : float_of(h, unaries[row].b, b);
    for (int64_t i = 0; i < h->outputs[0]->count; i++) {
        h->outputs[0]->data[i] = unaries[row].function(in(h, 0)->data[i], a, b);
    }
    return true;
}

static bool run_gelu(const struct host_call *h, GError **error)
{
    bool is_fast =
        named(h, "FastGelu") ||
        strcmp(attributes_string(h->call->attributes, "approximate", "none"), "tanh") == 0;
    const struct host_array *bias = in(h, 1);
    (void)error;
    g_autoptr(HostArray) more = bias != NULL ? expanded(bias, &h->outputs[0]->shape) : NULL;
    for (int64_t i = 0; i < h->outputs[0]->count; i++) {
        double x = in(h, 0)->data[i] + (more != NULL ? more->data[i] : 0);
        h->outputs[0]->data[i] = is_fast ? do_fast_gelu(x, 0, 0) : do_gelu(x, 0, 0);
    }
    return true;
}

/* ---- functions of two elements ---- */

static double integer_division(double a, double b)
{
    return b == 0 ? 0 : trunc(a / b);
}

static double modulo(double a, double b)
{
    double rest = fmod(a, b);
    return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}

typedef double (*binary_function)(double a, double b);

#define BINARY(name, expression)                                                                   \
    static double name(double a, double b)                                                         \
    {                                                                                              \
        return expression;                                                                         \
    }
BINARY(do_add, a + b)
BINARY(do_sub, a - b)
BINARY(do_mul, a *b)
BINARY(do_div, a / b)
BINARY(do_max, isnan(a) || a > b ? a : b)
BINARY(do_min, isnan(a) || a < b ? a : b)
BINARY(do_equal, a == b)
BINARY(do_less, a < b)
BINARY(do_greater, a > b)
BINARY(do_less_equal, a <= b)
BINARY(do_greater_equal, a >= b)
BINARY(do_and, a != 0 && b != 0)
BINARY(do_or, a != 0 || b != 0)
BINARY(do_xor, (a != 0) != (b != 0))
#undef BINARY

static const struct {
    const char *name;
    binary_function function;
} binaries[] = {
    {"Add", do_add},
    {"Sub", do_sub},
    {"Mul", do_mul},
    {"Div", do_div},
    {"Pow", pow},
    {"Mod", modulo},
    {"Max", do_max},
    {"Min", do_min},
    {"Sum", do_add},
    {"Mean", do_add},
    {"Equal", do_equal},
    {"Less", do_less},
    {"Greater", do_greater},
    {"LessOrEqual", do_less_equal},
    {"GreaterOrEqual", do_greater_equal},
    {"And", do_and},
    {"Or", do_or},
    {"Xor", do_xor},
};

static bool run_binary(const struct host_call *h, GError **error)
{
    struct host_array *y = h->outputs[0];
    size_t row = 0;
    (void)error;
    while (!named(h, binaries[row].name)) {
        row++;
    }
    binary_function function = binaries[row].function;
    if (function == do_div && !element_type_is_float(in(h, 0)->shape.type)) {
        function = integer_division;
    } else if (function == modulo && int_of(h, "fmod", 0) != 0) {
        function = fmod;
    }
    for (int k = 0; k < h->call->input_count; k++) {
        g_autoptr(HostArray) next = expanded(in(h, k), &y->shape);
        for (int64_t i = 0; i < y->count; i++) {
            y->data[i] = k == 0 ? next->data[i] : function(y->data[i], next->data[i]);
        }
    }
    for (int64_t i = 0; i < y->count && named(h, "Mean"); i++) {
        y->data[i] /= h->call->input_count;
    }
    return true;
}

static bool run_where(const struct host_call *h, GError **error)
{
    struct host_array *y = h->outputs[0];
    g_autoptr(HostArray) condition = expanded(in(h, 0), &y->shape);
    g_autoptr(HostArray) a = expanded(in(h, 1), &y->shape);
    g_autoptr(HostArray) b = expanded(in(h, 2), &y->shape);
    (void)error;
    for (int64_t i = 0; i < y->count; i++) {
        y->data[i] = condition->data[i] != 0 ? a->data[i] : b->data[i];
    }
    return true;
}

static bool run_clip(const struct host_call *h, GError **error)
{
    double low = in(h, 1) != NULL ? in(h, 1)->data[0] : -INFINITY;
    double high = in(h, 2) != NULL ? in(h, 2)->data[0] : INFINITY;
    (void)error;
    for (int64_t i = 0; i < h->outputs[0]->count; i++) {
        double x = in(h, 0)->data[i];
        h->outputs[0]->data[i] = x < low ? MIN(low, high) : x > high ? high : x;
    }
    return true;
}

static bool run_prelu(const struct host_call *h, GError **error)
{
    struct host_array *y = h->outputs[0];
    g_autoptr(HostArray) slopes = expanded(in(h, 1), &y->shape);
    (void)error;
    for (int64_t i = 0; i < y->count; i++) {
        double x = in(h, 0)->data[i];
        y->data[i] = x < 0 ? slopes->data[i] * x : x;
    }
    return true;
}

/* ---- windows ---- */

static void spread(const int64_t *values, int axes, int64_t neutral, int64_t out[3])
{
    for (int a = 0; a < 3; a++) {
        out[a] = a >= 3 - axes ? values[a - (3 - axes)] : neutral;
    }
}

static void set_window(struct host_window *w, const struct window *from, const struct shape *x,
                       const struct shape *y, int64_t groups)
{
    int axes = from->axes;
    *w = (struct host_window){.n = x->dim[0], .c = x->dim[1], .k = y->dim[1], .groups = groups};
    spread(x->dim + 2, axes, 1, w->in);
    spread(y->dim + 2, axes, 1, w->out);
    spread(from->size, axes, 1, w->fil);
    spread(from->before, axes, 0, w->before);
    spread(from->after, axes, 0, w->after);
    spread(from->stride, axes, 1, w->stride);
    spread(from->dilation, axes, 1, w->dilation);
}

static void add_channels(struct host_array *y, const struct host_array *bias)
{
    int64_t space = y->count / MAX(y->shape.dim[0] * y->shape.dim[1], 1);
    for (int64_t i = 0; i < y->count && bias != NULL; i++) {
        y->data[i] += bias->data[i / space % y->shape.dim[1]];
    }
}

static bool check_axes(const struct shape *x, GError **error)
{
    return (x->rank >= 3 && x->rank <= 5) ||
           infer_unsupported(error, "the host computes windows over one to three axes in space");
}

/* x - zero for each element, or for each index of axis 0 where there are several zero points. */
static struct host_array *less_zero(const struct host_array *x, const struct host_array *zero)
{
    if (zero == NULL) {
        return host_array_ref((struct host_array *)x);
    }
    struct host_array *result = host_array_new(&x->shape);
    int64_t row = x->count / MAX(x->shape.rank > 0 ? x->shape.dim[0] : 1, 1);
    for (int64_t i = 0; i < x->count; i++) {
        result->data[i] = x->data[i] - zero->data[zero->count > 1 ? i / MAX(row, 1) : 0];
    }
    return result;
}

static bool convolve(const struct host_call *h, const struct host_array *x,
                     const struct host_array *w, GError **error)
{
    struct window window;
    struct host_window hw;
    struct host_array *y = h->outputs[0];
    int axes = x->shape.rank - 2;
    if (!check_axes(&x->shape, error) ||
        !infer_window(h->call, axes, x->shape.dim + 2, w->shape.dim + 2, &window, error)) {
        return false;
    }
    set_window(&hw, &window, &x->shape, &y->shape, int_of(h, "group", 1));
    host_convolve(&hw, x->data, w->data, 0, y->data, h->threads);
    return true;
}

static void activate(const struct host_call *h, struct host_array *y)
{
    const char *name = attributes_string(h->call->attributes, "activation", "");
    int count;
    const double *numbers = attributes_floats(h->call->attributes, "activation_params", &count);
    double a = count > 0 ? numbers[0] : 0.01, b = count > 1 ? numbers[1] : 0;
    for (size_t row = 0; row < G_N_ELEMENTS(unaries); row++) {
        if (strcmp(unaries[row].name, name) == 0) {
            for (int64_t i = 0; i < y->count; i++) {
                y->data[i] = unaries[row].function(y->data[i], a, b);
            }
        }
    }
    for (int64_t i = 0; i < y->count && strcmp(name, "Clip") == 0; i++) {
        y->data[i] = CLAMP(y->data[i], a, b);
    }
}

static bool run_conv(const struct host_call *h, GError **error)
{
    struct host_array *y = h->outputs[0];
    if (!convolve(h, in(h, 0), in(h, 1), error)) {
        return false;
    }
    add_channels(y, in(h, 2));
    const struct host_array *residual = in(h, 3);
    for (int64_t i = 0; residual != NULL && i < y->count; i++) {
        y->data[i] += residual->data[i];
    }
    activate(h, y);
    return true;
}

static bool run_conv_transpose(const struct host_call *h, GError **error)
{
    const struct host_array *x = in(h, 0), *w = in(h, 1);
    struct host_array *y = h->outputs[0];
    struct window window;
    struct host_window hw;
    int64_t out[SHAPE_MAX_RANK], padding[SHAPE_MAX_RANK];
    if (!check_axes(&x->shape, error) ||
        !infer_transposed_window(h->call, x->shape.rank - 2, x->shape.dim + 2, w->shape.dim + 2,
                                 &window, out, padding, error)) {
        return false;
    }
    set_window(&hw, &window, &x->shape, &y->shape, int_of(h, "group", 1));
    host_convolve_transposed(&hw, x->data, w->data, y->data, h->threads);
    add_channels(y, in(h, 2));
    return true;
}

static bool run_conv_integer(const struct host_call *h, GError **error)
{
    g_autoptr(HostArray) x = less_zero(in(h, 0), in(h, 2));
    g_autoptr(HostArray) w = less_zero(in(h, 1), in(h, 3));
    return convolve(h, x, w, error);
}

static double at_or_only(const struct host_array *list, int64_t index)
{
    return list->data[list->count > 1 ? index : 0];
}

static bool run_qlinear_conv(const struct host_call *h, GError **error)
{
    struct host_array *y = h->outputs[0];
    g_autoptr(HostArray) x = less_zero(in(h, 0), in(h, 2));
    g_autoptr(HostArray) w = less_zero(in(h, 3), in(h, 5));
    if (!convolve(h, x, w, error)) {
        return false;
    }
    add_channels(y, in(h, 8));
    int64_t channels = y->shape.dim[1], space = y->count / MAX(y->shape.dim[0] * channels, 1);
    for (int64_t i = 0; i < y->count; i++) {
        double scale =
            in(h, 1)->data[0] * at_or_only(in(h, 4), i / space % channels) / in(h, 6)->data[0];
        y->data[i] = rint(y->data[i] * scale) + (in(h, 7) != NULL ? in(h, 7)->data[0] : 0);
    }
    return true;
}

static bool run_pool(const struct host_call *h, GError **error)
{
    const struct host_array *x = in(h, 0);
    struct window window;
    struct host_window hw;
    int count;
    const int64_t *size = attributes_ints(h->call->attributes, "kernel_shape", &count);
    bool is_max = named(h, "MaxPool"), counts = int_of(h, "count_include_pad", 0) != 0;
    if (!check_axes(&x->shape, error) ||
        !infer_window(h->call, x->shape.rank - 2, x->shape.dim + 2, size, &window, error)) {
        return false;
    }
    if (h->call->output_count > 1 && h->outputs[1] != NULL) {
        return infer_unsupported(error, "the host does not compute the places of the largest");
    }
    set_window(&hw, &window, &x->shape, &h->outputs[0]->shape, 1);
    host_pool(&hw,
              is_max   ? HOST_POOL_MAX
              : counts ? HOST_POOL_AVERAGE_ALL
                       : HOST_POOL_AVERAGE,
              true, x->data, h->outputs[0]->data, h->threads);
    return true;
}

static bool run_global_pool(const struct host_call *h, GError **error)
{
    const struct host_array *x = in(h, 0);
    struct host_array *y = h->outputs[0];
    int64_t space = x->count / MAX(y->count, 1);
    (void)error;
    for (int64_t i = 0; i < y->count; i++) {
        double sum = 0, largest = -INFINITY;
        for (int64_t j = 0; j < space; j++) {
            sum += x->data[i * space + j];
            largest = MAX(largest, x->data[i * space + j]);
        }
        y->data[i] = named(h, "GlobalMaxPool") ? largest : sum / (double)space;
    }
    return true;
}

static bool run_lrn(const struct host_call *h, GError **error)
{
    const struct host_array *x = in(h, 0);
    int64_t n = x->shape.dim[0], c = x->shape.dim[1];
    (void)error;
    host_lrn(n, c, x->count / MAX(n * c, 1), int_of(h, "size", 1), float_of(h, "alpha", 0.0001f),
             float_of(h, "beta", 0.75), float_of(h, "bias", 1), x->data, h->outputs[0]->data);
    return true;
}

static bool run_softmax(const struct host_call *h, GError **error)
{
    const struct shape *x = &in(h, 0)->shape;
    int64_t axis = int_of(h, "axis", -1), outer = 1, among = 1, inner = 1;
    bool to_end = int_of(h, "to_end", 0) != 0;
    (void)error;
    axis += axis < 0 ? x->rank : 0;
    for (int i = 0; i < x->rank; i++) {
        *(i < axis ? &outer : i == axis || to_end ? &among : &inner) *= x->dim[i];
    }
    host_softmax(outer, among, inner, named(h, "LogSoftmax"), in(h, 0)->data, h->outputs[0]->data);
    return true;
}

/* ---- normalisation ---- */

static bool run_batch_norm(const struct host_call *h, GError **error)
{
    const struct host_array *x = in(h, 0);
    double epsilon = float_of(h, "epsilon", 1e-5f);
    int64_t channels = x->shape.rank > 1 ? x->shape.dim[1] : 1;
    int64_t space = x->count / MAX(x->shape.dim[0] * channels, 1);
    (void)error;
    for (int64_t i = 0; i < x->count; i++) {
        int64_t c = i / space % channels;
        h->outputs[0]->data[i] = (x->data[i] - in(h, 3)->data[c]) /
                                     sqrt(in(h, 4)->data[c] + epsilon) * in(h, 1)->data[c] +
                                 in(h, 2)->data[c];
    }
    return true;
}

/* (x - mean) / deviation over `length` neighbouring elements. */
static void normalise(const double *x, double *y, int64_t length, double epsilon)
{
    double mean = 0, variance = 0;
    for (int64_t i = 0; i < length; i++) {
        mean += x[i] / (double)length;
    }
    for (int64_t i = 0; i < length; i++) {
        variance += (x[i] - mean) * (x[i] - mean) / (double)length;
    }
    for (int64_t i = 0; i < length; i++) {
        y[i] = (x[i] - mean) / sqrt(variance + epsilon);
    }
}

static bool run_instance_norm(const struct host_call *h, GError **error)
{
    const struct host_array *x = in(h, 0);
    struct host_array *y = h->outputs[0];
    int64_t channels = x->shape.dim[1], space = x->count / MAX(x->shape.dim[0] * channels, 1);
    (void)error;
    for (int64_t i = 0; i < x->count; i += space) {
        int64_t c = i / space % channels;
        normalise(x->data + i, y->data + i, space, float_of(h, "epsilon", 1e-5f));
        for (int64_t j = i; j < i + space; j++) {
            y->data[j] = y->data[j] * in(h, 1)->data[c] + in(h, 2)->data[c];
        }
    }
    return true;
}

static bool run_layer_norm(const struct host_call *h, GError **error)
{
    const struct host_array *x = in(h, 0);
    struct host_array *y = h->outputs[0];
    int64_t axis = int_of(h, "axis", -1), length = 1;
    (void)error;
    axis += axis < 0 ? x->shape.rank : 0;
    for (int64_t i = axis; i < x->shape.rank; i++) {
        length *= x->shape.dim[i];
    }
    for (int64_t i = 0; i < x->count; i += length) {
        normalise(x->data + i, y->data + i, length, float_of(h, "epsilon", 1e-5f));
        for (int64_t j = 0; j < length; j++) {
            y->data[i + j] = y->data[i + j] * in(h, 1)->data[j % in(h, 1)->count] +
                             (in(h, 2) != NULL ? in(h, 2)->data[j % in(h, 2)->count] : 0);
        }
    }
    return true;
}

/* ---- matrices ---- */

static struct host_array *turned(const struct host_array *matrix)
{
    struct shape shape = matrix->shape;
    shape.dim[0] = matrix->shape.dim[1];
    shape.dim[1] = matrix->shape.dim[0];
    struct host_array *result = host_array_new(&shape);
    host_gather(result, matrix->data, 0, (int64_t[]){1, matrix->shape.dim[1]});
    return result;
}

static bool run_gemm(const struct host_call *h, GError **error)
{
    struct host_array *y = h->outputs[0];
    bool turn_a = int_of(h, "transA", 0) != 0, turn_b = int_of(h, "transB", 0) != 0;
    g_autoptr(HostArray) a =
        turn_a ? turned(in(h, 0)) : host_array_ref((struct host_array *)in(h, 0));
    g_autoptr(HostArray) b =
        turn_b ? host_array_ref((struct host_array *)in(h, 1)) : turned(in(h, 1));
    double alpha = float_of(h, "alpha", 1), beta = float_of(h, "beta", 1);
    (void)error;
    host_multiply(a->shape.dim[0], b->shape.dim[0], a->shape.dim[1], a->data, b->data, y->data,
                  h->threads);
    g_autoptr(HostArray) c = in(h, 2) != NULL ? expanded(in(h, 2), &y->shape) : NULL;
    for (int64_t i = 0; i < y->count; i++) {
        y->data[i] = alpha * y->data[i] + (c != NULL ? beta * c->data[i] : 0);
    }
    activate(h, y);
    return true;
}

/* NumPy's matmul of a and b into y. */
static void matmul(const struct host_call *h, const struct host_array *a,
                   const struct host_array *b, struct host_array *y)
{
    bool row = a->shape.rank == 1, column = b->shape.rank == 1;
    int64_t m = row ? 1 : a->shape.dim[a->shape.rank - 2], k = a->shape.dim[a->shape.rank - 1];
    int64_t n = column ? 1 : b->shape.dim[b->shape.rank - 1];
    int64_t matrices = y->count / MAX(m * n, 1);
    int batch_rank = y->shape.rank - (row ? 0 : 1) - (column ? 0 : 1);
    struct shape batches;
    int64_t a_step[SHAPE_MAX_RANK], b_step[SHAPE_MAX_RANK];
    shape_set_packed(&batches, ELEMENT_FLOAT64, batch_rank, y->shape.dim, NULL);
    struct shape a_batch = a->shape, b_batch = b->shape;
    a_batch.rank = MAX(0, a->shape.rank - 2);
    b_batch.rank = MAX(0, b->shape.rank - 2);
    broadcast_strides(&a_batch, &batches, a_step);
    broadcast_strides(&b_batch, &batches, b_step);
    g_autofree double *turn = g_new(double, MAX(k * n, 1));
    for (int64_t i = 0; i < matrices; i++) {
        int64_t rest = i, a_at = 0, b_at = 0;
        for (int axis = batch_rank - 1; axis >= 0; axis--) {
            a_at += rest % batches.dim[axis] * a_step[axis];
            b_at += rest % batches.dim[axis] * b_step[axis];
            rest /= batches.dim[axis];
        }
        for (int64_t j = 0; j < k * n; j++) {
            turn[j % n * k + j / n] = b->data[b_at + j];
        }
        host_multiply(m, n, k, a->data + a_at, turn, y->data + i * m * n, h->threads);
    }
}

static bool run_matmul(const struct host_call *h, GError **error)
{
    (void)error;
    matmul(h, in(h, 0), in(h, 1), h->outputs[0]);
    return true;
}

static bool run_matmul_integer(const struct host_call *h, GError **error)
{
    if (in(h, 3) != NULL && in(h, 3)->count > 1) {
        return infer_unsupported(error, "the host takes one zero point for the second matrix");
    }
    g_autoptr(HostArray) a = less_zero(in(h, 0), in(h, 2));
    g_autoptr(HostArray) b = less_zero(in(h, 1), in(h, 3));
    matmul(h, a, b, h->outputs[0]);
    return true;
}

static bool run_qlinear_matmul(const struct host_call *h, GError **error)
{
    struct host_array *y = h->outputs[0];
    if (in(h, 4)->count > 1) {
        return infer_unsupported(error, "the host takes one scale for the second matrix");
    }
    g_autoptr(HostArray) a = less_zero(in(h, 0), in(h, 2));
    g_autoptr(HostArray) b = less_zero(in(h, 3), in(h, 5));
    matmul(h, a, b, y);
    double scale = in(h, 1)->data[0] * in(h, 4)->data[0] / in(h, 6)->data[0];
    for (int64_t i = 0; i < y->count; i++) {
        y->data[i] = rint(y->data[i] * scale) + in(h, 7)->data[0];
    }
    return true;
}

/* ---- movement ---- */

static void join(const struct host_call *h, int64_t axis)
{
    struct host_array *y = h->outputs[0];
    int64_t at = 0;
    for (int i = 0; i < h->call->input_count; i++) {
        if (in(h, i)->count > 0) {
            host_scatter(y->data, at * y->shape.stride[axis], y->shape.stride, in(h, i));
        }
        at += in(h, i)->shape.dim[axis];
    }
}

static bool run_concat(const struct host_call *h, GError **error)
{
    int64_t axis = int_of(h, "axis", 0);
    (void)error;
    join(h, axis < 0 ? axis + h->outputs[0]->shape.rank : axis);
    return true;
}

static void take_part(const struct host_array *x, const int64_t *begin, const int64_t *step,
                      struct host_array *y)
{
    int64_t offset = 0, strides[SHAPE_MAX_RANK];
    for (int i = 0; i < x->shape.rank; i++) {
        offset += begin[i] * x->shape.stride[i];
        strides[i] = step[i] * x->shape.stride[i];
    }
    if (y->count > 0) {
        host_gather(y, x->data, offset, strides);
    }
}

static bool run_slice(const struct host_call *h, GError **error)
{
    int64_t begin[SHAPE_MAX_RANK], step[SHAPE_MAX_RANK], dims[SHAPE_MAX_RANK];
    if (!infer_slice_steps(h->call, begin, step, dims, error)) {
        return false;
    }
    take_part(in(h, 0), begin, step, h->outputs[0]);
    return true;
}

static bool run_split(const struct host_call *h, GError **error)
{
    int64_t axis = int_of(h, "axis", 0), begin[SHAPE_MAX_RANK] = {0}, step[SHAPE_MAX_RANK];
    (void)error;
    axis += axis < 0 ? in(h, 0)->shape.rank : 0;
    for (int i = 0; i < SHAPE_MAX_RANK; i++) {
        step[i] = 1;
    }
    for (int i = 0; i < h->call->output_count; i++) {
        if (h->outputs[i] != NULL) {
            take_part(in(h, 0), begin, step, h->outputs[i]);
            begin[axis] += h->outputs[i]->shape.dim[axis];
        }
    }
    return true;
}

static bool run_tile(const struct host_call *h, GError **error)
{
    const struct host_array *x = in(h, 0);
    struct host_array *y = h->outputs[0];
    (void)error;
    for (int64_t i = 0; i < y->count; i++) {
        int64_t rest = i, at = 0;
        for (int a = y->shape.rank - 1; a >= 0; a--) {
            at += rest % y->shape.dim[a] % x->shape.dim[a] * x->shape.stride[a];
            rest /= y->shape.dim[a];
        }
        y->data[i] = x->data[at];
    }
    return true;
}

/* The place inside [0, size) that padding at `at` repeats, -1 for a constant. */
static int64_t padded_place(const char *mode, int64_t at, int64_t size)
{
    if (at >= 0 && at < size) {
        return at;
    }
    if (strcmp(mode, "edge") == 0) {
        return CLAMP(at, 0, size - 1);
    }
    if (strcmp(mode, "wrap") == 0) {
        return (at % size + size) % size;
    }
    if (strcmp(mode, "reflect") == 0 && size > 1) {
        int64_t period = 2 * (size - 1), place = (at % period + period) % period;
        return place < size ? place : period - place;
    }
    return -1;
}

static void pad(const struct host_array *x, const int64_t *before, const char *mode, double number,
                struct host_array *y)
{
    for (int64_t i = 0; i < y->count; i++) {
        int64_t rest = i, at = 0;
        bool is_inside = true;
        for (int a = y->shape.rank - 1; a >= 0; a--) {
            int64_t place = padded_place(mode, rest % y->shape.dim[a] - before[a], x->shape.dim[a]);
            is_inside = is_inside && place >= 0;
            at += place * x->shape.stride[a];
            rest /= y->shape.dim[a];
        }
        y->data[i] = is_inside ? x->data[at] : number;
    }
}

static bool run_pad(const struct host_call *h, GError **error)
{
    const struct host_array *x = in(h, 0), *pads = in(h, 1), *axes = in(h, 3);
    int64_t before[SHAPE_MAX_RANK] = {0};
    (void)error;
    for (int64_t i = 0; i < pads->count / 2; i++) {
        int64_t axis = axes != NULL ? (int64_t)axes->data[i] : i;
        before[axis < 0 ? axis + x->shape.rank : axis] = (int64_t)pads->data[i];
    }
    pad(x, before, attributes_string(h->call->attributes, "mode", "constant"),
        in(h, 2) != NULL ? in(h, 2)->data[0] : 0, h->outputs[0]);
    return true;
}

static bool run_resize(const struct host_call *h, GError **error)
{
    const struct host_array *x = in(h, 0);
    struct host_array *y = h->outputs[0];
    const char *mode = attributes_string(h->call->attributes, "mode", "nearest");
    const char *coordinates =
        attributes_string(h->call->attributes, "coordinate_transformation_mode", "half_pixel");
    double scale[SHAPE_MAX_RANK];
    int axis_count;
    const int64_t *axes = attributes_ints(h->call->attributes, "axes", &axis_count);
    if (strcmp(mode, "cubic") == 0 || strcmp(coordinates, "tf_crop_and_resize") == 0 ||
        int_of(h, "antialias", 0) != 0) {
        return infer_unsupported(error, "the host resizes by 'nearest' and 'linear' alone");
    }
    for (int i = 0; i < x->shape.rank; i++) {
        scale[i] = (double)y->shape.dim[i] / (double)x->shape.dim[i];
    }
    for (int64_t i = 0; in(h, 2) != NULL && i < in(h, 2)->count; i++) {
        int64_t axis = axes != NULL ? axes[i] : i;
        scale[axis < 0 ? axis + x->shape.rank : axis] = in(h, 2)->data[i];
    }
    host_resize(&x->shape, &y->shape, scale, strcmp(mode, "linear") == 0, coordinates,
                attributes_string(h->call->attributes, "nearest_mode", "round_prefer_floor"),
                x->data, y->data);
    return true;
}

static bool run_depth_to_space(const struct host_call *h, GError **error)
{
    const struct shape *x = &in(h, 0)->shape;
    struct host_array *y = h->outputs[0];
    int64_t b = int_of(h, "blocksize", 1), c = y->shape.dim[1];
    bool is_crd = strcmp(attributes_string(h->call->attributes, "mode", "DCR"), "CRD") == 0;
    (void)error;
    for (int64_t i = 0; i < y->count; i++) {
        int64_t column = i % y->shape.dim[3], row = i / y->shape.dim[3] % y->shape.dim[2];
        int64_t channel = i / y->shape.stride[1] % c, image = i / y->shape.stride[0];
        int64_t block = row % b * b + column % b;
        int64_t from = is_crd ? channel * b * b + block : block * c + channel;
        y->data[i] = in(h, 0)->data[image * x->stride[0] + from * x->stride[1] +
                                    row / b * x->stride[2] + column / b];
    }
    return true;
}

static bool run_space_to_depth(const struct host_call *h, GError **error)
{
    const struct shape *x = &in(h, 0)->shape;
    struct host_array *y = h->outputs[0];
    int64_t b = int_of(h, "blocksize", 1);
    (void)error;
    for (int64_t i = 0; i < y->count; i++) {
        int64_t column = i % y->shape.dim[3], row = i / y->shape.dim[3] % y->shape.dim[2];
        int64_t channel = i / y->shape.stride[1] % y->shape.dim[1];
        int64_t image = i / y->shape.stride[0], block = channel / x->dim[1];
        y->data[i] = in(h, 0)->data[image * x->stride[0] + channel % x->dim[1] * x->stride[1] +
                                    (row * b + block / b) * x->stride[2] + column * b + block % b];
    }
    return true;
}

static bool run_gather(const struct host_call *h, GError **error)
{
    const struct host_array *x = in(h, 0), *indices = in(h, 1);
    struct host_array *y = h->outputs[0];
    int64_t axis = int_of(h, "axis", 0);
    axis += axis < 0 ? x->shape.rank : 0;
    int64_t inner = x->shape.stride[axis], size = x->shape.dim[axis];
    for (int a = (int)axis + 1, i = 0; i == 0; i++) {
        inner = 1;
        for (; a < x->shape.rank; a++) {
            inner *= x->shape.dim[a];
        }
    }
    for (int64_t i = 0; i < y->count; i++) {
        int64_t outer = i / inner / MAX(indices->count, 1);
        double index = indices->data[i / inner % MAX(indices->count, 1)];
        index += index < 0 ? (double)size : 0;
        if (index < 0 || index >= (double)size) {
            return infer_invalid(error, "index %g is outside of an axis of %" PRId64, index, size);
        }
        y->data[i] = x->data[(outer * size + (int64_t)index) * inner + i % inner];
    }
    return true;
}

/* ---- reductions ---- */

static const char *const reductions[] = {
    "ReduceSum", "ReduceMean", "ReduceProd",   "ReduceMin",       "ReduceMax",
    "ReduceL1",  "ReduceL2",   "ReduceLogSum", "ReduceSumSquare", "ReduceLogSumExp",
};

static double reduce_step(int kind, double sum, double x)
{
    switch (kind) {
    case 2: return sum * x;
    case 3: return MIN(sum, x);
    case 4: return MAX(sum, x);
    case 5: return sum + fabs(x);
    case 6:
    case 8: return sum + x * x;
    case 9: return sum + exp(x);
    default: return sum + x;
    }
}

static bool run_reduce(const struct host_call *h, GError **error)
{
    const struct host_array *x = in(h, 0);
    struct host_array *y = h->outputs[0];
    bool reduced[SHAPE_MAX_RANK] = {false};
    int kind = 0;
    if (!infer_reduced_axes(h->call, reduced, error)) {
        return false;
    }
    while (!named(h, reductions[kind])) {
        kind++;
    }
    /* Strides of the output along the input's axes: 0 on those that are reduced. */
    int64_t strides[SHAPE_MAX_RANK], step = 1;
    for (int a = x->shape.rank - 1; a >= 0; a--) {
        strides[a] = reduced[a] ? 0 : step;
        step *= reduced[a] ? 1 : x->shape.dim[a];
    }
    for (int64_t i = 0; i < y->count; i++) {
        y->data[i] = kind == 2 ? 1 : kind == 3 ? INFINITY : kind == 4 ? -INFINITY : 0;
    }
    for (int64_t i = 0; i < x->count; i++) {
        int64_t rest = i, at = 0;
        for (int a = x->shape.rank - 1; a >= 0; a--) {
            at += rest % x->shape.dim[a] * strides[a];
            rest /= x->shape.dim[a];
        }
        y->data[at] = reduce_step(kind, y->data[at], x->data[i]);
    }
    for (int64_t i = 0; i < y->count; i++) {
        double v = y->data[i];
        y->data[i] = kind == 1                ? v / ((double)x->count / (double)y->count)
                     : kind == 6              ? sqrt(v)
                     : kind == 7 || kind == 9 ? log(v)
                                              : v;
    }
    return true;
}

static bool run_arg(const struct host_call *h, GError **error)
{
    const struct host_array *x = in(h, 0);
    struct host_array *y = h->outputs[0];
    int64_t axis = int_of(h, "axis", 0), inner = 1;
    bool is_max = named(h, "ArgMax"), takes_last = int_of(h, "select_last_index", 0) != 0;
    (void)error;
    axis += axis < 0 ? x->shape.rank : 0;
    for (int64_t a = axis + 1; a < x->shape.rank; a++) {
        inner *= x->shape.dim[a];
    }
    int64_t size = x->shape.dim[axis];
    for (int64_t i = 0; i < y->count; i++) {
        const double *line = x->data + i / inner * size * inner + i % inner;
        int64_t best = 0;
        for (int64_t j = 1; j < size; j++) {
            double a = line[j * inner], b = line[best * inner];
            best = (is_max ? a > b : a < b) || (takes_last && a == b) ? j : best;
        }
        y->data[i] = (double)best;
    }
    return true;
}

/* ---- shapes and constants ---- */

static bool run_shape(const struct host_call *h, GError **error)
{
    const struct shape *x = h->call->inputs[0];
    int64_t start = int_of(h, "start", 0);
    (void)error;
    start += start < 0 ? x->rank : 0;
    for (int64_t i = 0; i < h->outputs[0]->count; i++) {
        h->outputs[0]->data[i] = (double)x->dim[CLAMP(start, 0, x->rank) + i];
    }
    return true;
}

static bool run_size(const struct host_call *h, GError **error)
{
    (void)error;
    h->outputs[0]->data[0] = (double)shape_elements(h->call->inputs[0]);
    return true;
}

static bool run_constant_of_shape(const struct host_call *h, GError **error)
{
    const struct tensor *value = attributes_tensor(h->call->attributes, "value");
    double number = tensor_has_data(value) ? tensor_double(value, 0) : 0;
    (void)error;
    for (int64_t i = 0; i < h->outputs[0]->count; i++) {
        h->outputs[0]->data[i] = number;
    }
    return true;
}

static bool run_range(const struct host_call *h, GError **error)
{
    (void)error;
    for (int64_t i = 0; i < h->outputs[0]->count; i++) {
        h->outputs[0]->data[i] = in(h, 0)->data[0] + (double)i * in(h, 2)->data[0];
    }
    return true;
}

/* ---- quantised ---- */

/* The index into a list of scales for element i: one for each index of "axis", or one for all. */
static int64_t scale_index(const struct host_call *h, const struct host_array *scales, int64_t i)
{
    const struct shape *x = &in(h, 0)->shape;
    int64_t axis = int_of(h, "axis", 1);
    if (scales->count == 1) {
        return 0;
    }
    axis += axis < 0 ? x->rank : 0;
    return i / MAX(in(h, 0)->shape.stride[axis], 1) % x->dim[axis];
}

static bool run_quantize(const struct host_call *h, GError **error)
{
    if (in(h, 1)->shape.rank > 1) {
        return infer_unsupported(error, "the host quantises by tensor or by one axis");
    }
    for (int64_t i = 0; i < h->outputs[0]->count; i++) {
        int64_t s = scale_index(h, in(h, 1), i);
        h->outputs[0]->data[i] = rint(in(h, 0)->data[i] / in(h, 1)->data[s]) +
                                 (in(h, 2) != NULL ? in(h, 2)->data[s] : 0);
    }
    return true;
}

static bool run_dequantize(const struct host_call *h, GError **error)
{
    if (in(h, 1)->shape.rank > 1) {
        return infer_unsupported(error, "the host dequantises by tensor or by one axis");
    }
    for (int64_t i = 0; i < h->outputs[0]->count; i++) {
        int64_t s = scale_index(h, in(h, 1), i);
        h->outputs[0]->data[i] =
            (in(h, 0)->data[i] - (in(h, 2) != NULL ? in(h, 2)->data[s] : 0)) * in(h, 1)->data[s];
    }
    return true;
}

static double number_or(const struct host_array *array, double missing)
{
    return array != NULL ? array->data[0] : missing;
}

static bool run_qlinear_binary(const struct host_call *h, GError **error)
{
    struct host_array *y = h->outputs[0];
    g_autoptr(HostArray) a = expanded(in(h, 0), &y->shape);
    g_autoptr(HostArray) b = expanded(in(h, 3), &y->shape);
    (void)error;
    for (int64_t i = 0; i < y->count; i++) {
        double p = (a->data[i] - number_or(in(h, 2), 0)) * in(h, 1)->data[0];
        double q = (b->data[i] - number_or(in(h, 5), 0)) * in(h, 4)->data[0];
        y->data[i] = rint((named(h, "QLinearAdd") ? p + q : p * q) / in(h, 6)->data[0]) +
                     number_or(in(h, 7), 0);
    }
    return true;
}

static bool run_qlinear_unary(const struct host_call *h, GError **error)
{
    struct host_array *y = h->outputs[0];
    double alpha = float_of(h, "alpha", 0.01f);
    (void)error;
    for (int64_t i = 0; i < y->count; i++) {
        double x = (in(h, 0)->data[i] - number_or(in(h, 2), 0)) * in(h, 1)->data[0];
        double v = named(h, "QLinearSigmoid") ? do_sigmoid(x, 0, 0) : do_leaky(x, alpha, 0);
        y->data[i] = rint(v / in(h, 3)->data[0]) + number_or(in(h, 4), 0);
    }
    return true;
}

static bool run_qlinear_global_pool(const struct host_call *h, GError **error)
{
    const struct host_array *x = in(h, 0);
    struct host_array *y = h->outputs[0];
    int64_t space = x->count / MAX(y->count, 1);
    if (int_of(h, "channels_last", 0) != 0) {
        return infer_unsupported(error, "the host pools with channels in front of space");
    }
    for (int64_t i = 0; i < y->count; i++) {
        double sum = 0;
        for (int64_t j = 0; j < space; j++) {
            sum += x->data[i * space + j] - number_or(in(h, 2), 0);
        }
        y->data[i] = rint(sum / (double)space * in(h, 1)->data[0] / in(h, 3)->data[0]) +
                     number_or(in(h, 4), 0);
    }
    return true;
}

/* ---- kernels ---- */

static int64_t channels_of(const struct shape *shape)
{
    return shape->rank >= 2 ? shape->dim[1] : shape->rank == 1 ? shape->dim[0] : 1;
}

static const double *list_of(const struct host_call *h, int input)
{
    return in(h, input) != NULL ? in(h, input)->data : NULL;
}

static void finish(const struct host_call *h, const struct kernel *kernel)
{
    struct host_array *y = h->outputs[0];
    const struct host_array *residual = in(h, KERNEL_RESIDUAL), *scales = in(h, KERNEL_SCALES);
    int64_t k = channels_of(&y->shape);
    int64_t n = y->shape.rank >= 2 ? y->shape.dim[0] : 1, space = y->count / MAX(n * k, 1);
    int64_t wanted = epilogue_scales(&kernel->epilogue, k);
    g_autofree double *list = wanted > 0 ? g_new0(double, wanted) : NULL;
    for (int64_t i = 0; i < wanted; i++) {
        list[i] = i < scales->count ? (float)scales->data[i] : 1;
    }
    host_epilogue(&kernel->epilogue, n, k, space, list_of(h, KERNEL_BIAS),
                  residual != NULL ? residual->data : NULL,
                  residual != NULL && !element_type_is_float(residual->shape.type), list, wanted,
                  y->data, h->threads);
}

static void kernel_window(const struct host_call *h, const struct kernel *kernel,
                          const int64_t *fil, struct host_window *w)
{
    const struct shape *x = &in(h, KERNEL_X)->shape, *y = &h->outputs[0]->shape;
    struct window window = {.axes = x->rank - 2};
    int skip = 3 - window.axes;
    for (int i = 0; i < window.axes; i++) {
        window.size[i] = fil[i];
        window.before[i] = window.after[i] = kernel->pad[i + skip];
        window.stride[i] = kernel->stride[i + skip];
        window.dilation[i] = kernel->dilation[i + skip];
    }
    set_window(w, &window, x, y, kernel->groups);
}

/* The kernel of a call: kernel_read() reads nodes. */
static void read_kernel(const struct host_call *h, struct kernel *kernel)
{
    struct node node = {.op = h->call->op, .attributes = (struct attributes *)h->call->attributes};
    kernel_read(&node, kernel);
}

static bool run_kernel_conv(const struct host_call *h, GError **error)
{
    struct kernel kernel;
    struct host_window window;
    (void)error;
    read_kernel(h, &kernel);
    kernel_window(h, &kernel, in(h, KERNEL_W)->shape.dim + 2, &window);
    if (kernel.is_transposed) {
        host_convolve_transposed(&window, in(h, KERNEL_X)->data, in(h, KERNEL_W)->data,
                                 h->outputs[0]->data, h->threads);
    } else {
        host_convolve(&window, in(h, KERNEL_X)->data, in(h, KERNEL_W)->data, 0, h->outputs[0]->data,
                      h->threads);
    }
    finish(h, &kernel);
    return true;
}

static bool run_kernel_pool(const struct host_call *h, GError **error)
{
    struct kernel kernel;
    struct host_window window;
    (void)error;
    read_kernel(h, &kernel);
    kernel_window(h, &kernel, &kernel.fil[5 - in(h, KERNEL_X)->shape.rank], &window);
    window.groups = 1;
    host_pool(&window,
              strcmp(kernel.mode, "max") == 0       ? HOST_POOL_MAX
              : strcmp(kernel.mode, "average") == 0 ? HOST_POOL_AVERAGE
                                                    : HOST_POOL_AVERAGE_ALL,
              false, in(h, KERNEL_X)->data, h->outputs[0]->data, h->threads);
    finish(h, &kernel);
    return true;
}

static bool run_kernel_alike(const struct host_call *h, GError **error)
{
    const struct host_array *x = in(h, KERNEL_X);
    struct host_array *y = h->outputs[0];
    struct kernel kernel;
    (void)error;
    read_kernel(h, &kernel);
    int64_t n = x->shape.rank > 0 ? x->shape.dim[0] : 1, c = channels_of(&x->shape);
    int64_t space = x->count / MAX(n * c, 1);
    if (kernel.kind == OP_SOFTMAX) {
        host_softmax(n, c, space, strcmp(kernel.mode, "log") == 0, x->data, y->data);
    } else if (kernel.kind == OP_LRN) {
        g_auto(GStrv) words = g_strsplit(kernel.mode, ",", 4);
        host_lrn(n, c, space, g_ascii_strtoll(words[0], NULL, 10), g_ascii_strtod(words[1], NULL),
                 g_ascii_strtod(words[2], NULL), g_ascii_strtod(words[3], NULL), x->data, y->data);
    } else {
        memcpy(y->data, x->data, sizeof(double) * (gsize)x->count);
    }
    finish(h, &kernel);
    return true;
}

static bool run_kernel_resize(const struct host_call *h, GError **error)
{
    const struct host_array *x = in(h, KERNEL_X);
    struct host_array *y = h->outputs[0];
    struct kernel kernel;
    double scale[SHAPE_MAX_RANK];
    (void)error;
    read_kernel(h, &kernel);
    g_auto(GStrv) words = g_strsplit(kernel.mode, ",", 3);
    for (int i = 0; i < x->shape.rank; i++) {
        scale[i] = (double)y->shape.dim[i] / (double)x->shape.dim[i];
    }
    host_resize(&x->shape, &y->shape, scale, strcmp(words[0], "linear") == 0, words[1],
                words[2] != NULL ? words[2] : "", x->data, y->data);
    finish(h, &kernel);
    return true;
}

static bool run_copy(const struct host_call *h, GError **error)
{
    (void)error;
    memcpy(h->outputs[0]->data, in(h, 0)->data, sizeof(double) * (gsize)in(h, 0)->count);
    return true;
}

static bool run_part(const struct host_call *h, GError **error)
{
    int rank;
    (void)error;
    take_part(in(h, 0), attributes_ints(h->call->attributes, "begin", &rank),
              attributes_ints(h->call->attributes, "step", &rank), h->outputs[0]);
    return true;
}

static bool run_border(const struct host_call *h, GError **error)
{
    int rank;
    (void)error;
    pad(in(h, 0), attributes_ints(h->call->attributes, "before", &rank), "constant",
        float_of(h, "value", 0), h->outputs[0]);
    return true;
}

/* ---- the table ---- */

static const struct {
    const char *name;
    host_function function;
} table[] = {
    {"conv", run_kernel_conv},
    {"pool", run_kernel_pool},
    {"pointwise", run_kernel_alike},
    {"softmax", run_kernel_alike},
    {"lrn", run_kernel_alike},
    {"resize", run_kernel_resize},
    {"join", run_concat},
    {"part", run_part},
    {"border", run_border},
    {"copy", run_copy},
    {"Conv", run_conv},
    {"com.microsoft.FusedConv", run_conv},
    {"ConvTranspose", run_conv_transpose},
    {"ConvInteger", run_conv_integer},
    {"QLinearConv", run_qlinear_conv},
    {"MaxPool", run_pool},
    {"AveragePool", run_pool},
    {"GlobalAveragePool", run_global_pool},
    {"GlobalMaxPool", run_global_pool},
    {"LRN", run_lrn},
    {"Softmax", run_softmax},
    {"LogSoftmax", run_softmax},
    {"BatchNormalization", run_batch_norm},
    {"InstanceNormalization", run_instance_norm},
    {"LayerNormalization", run_layer_norm},
    {"Gemm", run_gemm},
    {"com.microsoft.FusedGemm", run_gemm},
    {"MatMul", run_matmul},
    {"MatMulInteger", run_matmul_integer},
    {"QLinearMatMul", run_qlinear_matmul},
    {"Gelu", run_gelu},
    {"com.microsoft.Gelu", run_gelu},
    {"com.microsoft.FastGelu", run_gelu},
    {"com.microsoft.BiasGelu", run_gelu},
    {"Where", run_where},
    {"Clip", run_clip},
    {"PRelu", run_prelu},
    {"Concat", run_concat},
    {"Slice", run_slice},
    {"Split", run_split},
    {"Tile", run_tile},
    {"Pad", run_pad},
    {"Resize", run_resize},
    {"DepthToSpace", run_depth_to_space},
    {"SpaceToDepth", run_space_to_depth},
    {"Gather", run_gather},
    {"ArgMax", run_arg},
    {"ArgMin", run_arg},
    {"Shape", run_shape},
    {"Size", run_size},
    {"ConstantOfShape", run_constant_of_shape},
    {"Range", run_range},
    {"QuantizeLinear", run_quantize},
    {"DequantizeLinear", run_dequantize},
    {"com.microsoft.QuantizeLinear", run_quantize},
    {"com.microsoft.DequantizeLinear", run_dequantize},
    {"com.microsoft.QLinearAdd", run_qlinear_binary},
    {"com.microsoft.QLinearMul", run_qlinear_binary},
    {"com.microsoft.QLinearSigmoid", run_qlinear_unary},
    {"com.microsoft.QLinearLeakyRelu", run_qlinear_unary},
    {"com.microsoft.QLinearGlobalAveragePool", run_qlinear_global_pool},
};

#define TABLE_ROWS     ((int)G_N_ELEMENTS(table))
#define UNARY_ROWS     ((int)G_N_ELEMENTS(unaries))
#define BINARY_ROWS    ((int)G_N_ELEMENTS(binaries))
#define REDUCTION_ROWS ((int)G_N_ELEMENTS(reductions))

const char *host_op_at(int index)
{
    if (index < TABLE_ROWS) {
        return table[index].name;
    }
    index -= TABLE_ROWS;
    if (index < UNARY_ROWS) {
        return unaries[index].name;
    }
    index -= UNARY_ROWS;
    if (index < BINARY_ROWS) {
        return binaries[index].name;
    }
    index -= BINARY_ROWS;
    return index < REDUCTION_ROWS ? reductions[index] : NULL;
}

host_function host_find(const char *op_name)
{
    const char *name;
    for (int i = 0; (name = host_op_at(i)) != NULL; i++) {
        if (strcmp(name, op_name) == 0) {
            return i < TABLE_ROWS                              ? table[i].function
                   : i < TABLE_ROWS + UNARY_ROWS               ? run_unary
                   : i < TABLE_ROWS + UNARY_ROWS + BINARY_ROWS ? run_binary
                                                               : run_reduce;
        }
    }
    return NULL;
}
