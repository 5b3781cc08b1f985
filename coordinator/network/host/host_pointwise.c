#include "coordinator/network/host/host_rows.h"

#include <math.h>
#include <string.h>

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

/* f(x, a, b), where a and b are attributes of these names: floats, or integers with `has_integers`. A function of fewer
 * numbers has NULL for their names. */
struct unary {
    double (*function)(double x, double a, double b);
    const char *a, *b;
    double a_missing, b_missing; /* the values of attributes that a node leaves out */
    bool has_integers;
};

static double attribute_of(const struct host_call *h, const struct unary *unary, const char *name,
                           double missing)
{
    return name == NULL          ? missing
           : unary->has_integers ? (double)host_int(h, name, (int64_t)missing)
                                 : host_float(h, name, missing);
}

static bool run_unary(const struct host_call *h, GError **error)
{
    const struct unary *unary = h->row->detail;
    double a = attribute_of(h, unary, unary->a, unary->a_missing);
    double b = attribute_of(h, unary, unary->b, unary->b_missing);
    (void)error;
    for (int64_t i = 0; i < h->outputs[0]->count; i++) {
        h->outputs[0]->data[i] = unary->function(host_input(h, 0)->data[i], a, b);
    }
    return true;
}

double host_sigmoid(double x)
{
    return do_sigmoid(x, 0, 0);
}

double host_leaky(double x, double slope)
{
    return do_leaky(x, slope, 0);
}

void host_activate(const struct host_call *h, struct host_array *y)
{
    const char *name = attributes_string(h->call->attributes, "activation", "");
    int count;
    const double *numbers = attributes_floats(h->call->attributes, "activation_params", &count);
    double a = count > 0 ? numbers[0] : 0.01, b = count > 1 ? numbers[1] : 0;
    const struct host_row *row = host_find(name);
    if (row != NULL && row->function == run_unary) {
        for (int64_t i = 0; i < y->count; i++) {
            y->data[i] = ((const struct unary *)row->detail)->function(y->data[i], a, b);
        }
    }
    for (int64_t i = 0; i < y->count && strcmp(name, "Clip") == 0; i++) {
        y->data[i] = CLAMP(y->data[i], a, b);
    }
}

static bool run_gelu(const struct host_call *h, GError **error)
{
    bool is_fast =
        host_is_named(h, "FastGelu") ||
        strcmp(attributes_string(h->call->attributes, "approximate", "none"), "tanh") == 0;
    const struct host_array *bias = host_input(h, 1);
    (void)error;
    g_autoptr(HostArray) more = bias != NULL ? host_expanded(bias, &h->outputs[0]->shape) : NULL;
    for (int64_t i = 0; i < h->outputs[0]->count; i++) {
        double x = host_input(h, 0)->data[i] + (more != NULL ? more->data[i] : 0);
        h->outputs[0]->data[i] = is_fast ? do_fast_gelu(x, 0, 0) : do_gelu(x, 0, 0);
    }
    return true;
}

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

struct binary {
    binary_function function;
};

static bool run_binary(const struct host_call *h, GError **error)
{
    struct host_array *y = h->outputs[0];
    binary_function function = ((const struct binary *)h->row->detail)->function;
    (void)error;
    if (function == do_div && !element_type_is_float(host_input(h, 0)->shape.type)) {
        function = integer_division;
    } else if (function == modulo && host_int(h, "fmod", 0) != 0) {
        function = fmod;
    }
    for (int k = 0; k < h->call->input_count; k++) {
        g_autoptr(HostArray) next = host_expanded(host_input(h, k), &y->shape);
        for (int64_t i = 0; i < y->count; i++) {
            y->data[i] = k == 0 ? next->data[i] : function(y->data[i], next->data[i]);
        }
    }
    for (int64_t i = 0; i < y->count && host_is_named(h, "Mean"); i++) {
        y->data[i] /= h->call->input_count;
    }
    return true;
}

static bool run_where(const struct host_call *h, GError **error)
{
    struct host_array *y = h->outputs[0];
    g_autoptr(HostArray) condition = host_expanded(host_input(h, 0), &y->shape);
    g_autoptr(HostArray) a = host_expanded(host_input(h, 1), &y->shape);
    g_autoptr(HostArray) b = host_expanded(host_input(h, 2), &y->shape);
    (void)error;
    for (int64_t i = 0; i < y->count; i++) {
        y->data[i] = condition->data[i] != 0 ? a->data[i] : b->data[i];
    }
    return true;
}

static bool run_clip(const struct host_call *h, GError **error)
{
    double low = host_input(h, 1) != NULL ? host_input(h, 1)->data[0] : -INFINITY;
    double high = host_input(h, 2) != NULL ? host_input(h, 2)->data[0] : INFINITY;
    (void)error;
    for (int64_t i = 0; i < h->outputs[0]->count; i++) {
        double x = host_input(h, 0)->data[i];
        h->outputs[0]->data[i] = x < low ? MIN(low, high) : x > high ? high : x;
    }
    return true;
}

static bool run_prelu(const struct host_call *h, GError **error)
{
    struct host_array *y = h->outputs[0];
    g_autoptr(HostArray) slopes = host_expanded(host_input(h, 1), &y->shape);
    (void)error;
    for (int64_t i = 0; i < y->count; i++) {
        double x = host_input(h, 0)->data[i];
        y->data[i] = x < 0 ? slopes->data[i] * x : x;
    }
    return true;
}

/* ---- the table ---- */

#define UNARY(name, ...)                                                                           \
    {                                                                                              \
        name, run_unary, &(const struct unary)                                                     \
        {                                                                                          \
            __VA_ARGS__                                                                            \
        }                                                                                          \
    }
#define BINARY(name, function)                                                                     \
    {                                                                                              \
        name, run_binary, &(const struct binary)                                                   \
        {                                                                                          \
            function                                                                               \
        }                                                                                          \
    }

const struct host_row host_pointwise_rows[] = {
    UNARY("Relu", do_relu, NULL, NULL, 0, 0, false),
    UNARY("LeakyRelu", do_leaky, "alpha", NULL, 0.01f, 0, false),
    UNARY("ThresholdedRelu", do_thresholded, "alpha", NULL, 1, 0, false),
    UNARY("Sigmoid", do_sigmoid, NULL, NULL, 0, 0, false),
    UNARY("HardSigmoid", do_hard_sigmoid, "alpha", "beta", 0.2f, 0.5, false),
    UNARY("HardSwish", do_hard_swish, NULL, NULL, 0, 0, false),
    UNARY("Elu", do_elu, "alpha", NULL, 1, 0, false),
    UNARY("Celu", do_celu, "alpha", NULL, 1, 0, false),
    UNARY("Selu", do_selu, "alpha", "gamma", 1.67326319217681884765625, 1.05070102214813232421875,
          false),
    UNARY("Softplus", do_softplus, NULL, NULL, 0, 0, false),
    UNARY("Softsign", do_softsign, NULL, NULL, 0, 0, false),
    UNARY("Mish", do_mish, NULL, NULL, 0, 0, false),
    UNARY("Erf", do_erf, NULL, NULL, 0, 0, false),
    UNARY("Shrink", do_shrink, "lambd", "bias", 0.5, 0, false),
    UNARY("Abs", do_abs, NULL, NULL, 0, 0, false),
    UNARY("Neg", do_neg, NULL, NULL, 0, 0, false),
    UNARY("Floor", do_floor, NULL, NULL, 0, 0, false),
    UNARY("Ceil", do_ceil, NULL, NULL, 0, 0, false),
    UNARY("Round", do_round, NULL, NULL, 0, 0, false),
    UNARY("Sign", do_sign, NULL, NULL, 0, 0, false),
    UNARY("Sqrt", do_sqrt, NULL, NULL, 0, 0, false),
    UNARY("Reciprocal", do_reciprocal, NULL, NULL, 0, 0, false),
    UNARY("Exp", do_exp, NULL, NULL, 0, 0, false),
    UNARY("Log", do_log, NULL, NULL, 0, 0, false),
    UNARY("Sin", do_sin, NULL, NULL, 0, 0, false),
    UNARY("Cos", do_cos, NULL, NULL, 0, 0, false),
    UNARY("Tan", do_tan, NULL, NULL, 0, 0, false),
    UNARY("Asin", do_asin, NULL, NULL, 0, 0, false),
    UNARY("Acos", do_acos, NULL, NULL, 0, 0, false),
    UNARY("Atan", do_atan, NULL, NULL, 0, 0, false),
    UNARY("Sinh", do_sinh, NULL, NULL, 0, 0, false),
    UNARY("Cosh", do_cosh, NULL, NULL, 0, 0, false),
    UNARY("Tanh", do_tanh, NULL, NULL, 0, 0, false),
    UNARY("Asinh", do_asinh, NULL, NULL, 0, 0, false),
    UNARY("Acosh", do_acosh, NULL, NULL, 0, 0, false),
    UNARY("Atanh", do_atanh, NULL, NULL, 0, 0, false),
    UNARY("Not", do_not, NULL, NULL, 0, 0, false),
    UNARY("IsNaN", do_isnan, NULL, NULL, 0, 0, false),
    UNARY("IsInf", do_isinf, "detect_negative", "detect_positive", 1, 1, true),
    BINARY("Add", do_add),
    BINARY("Sub", do_sub),
    BINARY("Mul", do_mul),
    BINARY("Div", do_div),
    BINARY("Pow", pow),
    BINARY("Mod", modulo),
    BINARY("Max", do_max),
    BINARY("Min", do_min),
    BINARY("Sum", do_add),
    BINARY("Mean", do_add),
    BINARY("Equal", do_equal),
    BINARY("Less", do_less),
    BINARY("Greater", do_greater),
    BINARY("LessOrEqual", do_less_equal),
    BINARY("GreaterOrEqual", do_greater_equal),
    BINARY("And", do_and),
    BINARY("Or", do_or),
    BINARY("Xor", do_xor),
    {"Gelu", run_gelu, NULL},
    {"com.microsoft.Gelu", run_gelu, NULL},
    {"com.microsoft.FastGelu", run_gelu, NULL},
    {"com.microsoft.BiasGelu", run_gelu, NULL},
    {"Where", run_where, NULL},
    {"Clip", run_clip, NULL},
    {"PRelu", run_prelu, NULL},
    {NULL, NULL, NULL},
};
