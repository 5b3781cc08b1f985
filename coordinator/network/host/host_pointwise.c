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

/* `high` wins over a `low` above it. */
static double do_clip(double x, double low, double high)
{
    return x < low ? MIN(low, high) : x > high ? high : x;
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

/* y[i] = function(x[i], a, b); x may be y. */
struct mapping {
    double (*function)(double x, double a, double b);
    double a, b;
    const double *x;
    double *y;
};

static void map_piece(void *context, int64_t first, int64_t last)
{
    const struct mapping *m = context;
    for (int64_t i = first; i < last; i++) {
        m->y[i] = m->function(m->x[i], m->a, m->b);
    }
}

/* For all elements of the first output. */
static void run_mapping(const struct host_call *h, struct mapping *mapping)
{
    host_parallel_pieces(h->outputs[0]->count, h->threads, map_piece, mapping);
}

static bool run_unary(const struct host_call *h, GError **error)
{
    const struct unary *unary = h->row->detail;
    double a = attribute_of(h, unary, unary->a, unary->a_missing);
    double b = attribute_of(h, unary, unary->b, unary->b_missing);
    (void)error;
    run_mapping(
        h, &(struct mapping){unary->function, a, b, host_input(h, 0)->data, h->outputs[0]->data});
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
        const struct unary *unary = row->detail;
        run_mapping(h, &(struct mapping){unary->function, a, b, y->data, y->data});
    } else if (strcmp(name, "Clip") == 0) {
        run_mapping(h, &(struct mapping){do_clip, a, b, y->data, y->data});
    }
}

struct gelu {
    bool is_fast;
    const double *x, *more; /* more: NULL, or what is added to x */
    double *y;
};

static void gelu_piece(void *context, int64_t first, int64_t last)
{
    const struct gelu *g = context;
    for (int64_t i = first; i < last; i++) {
        double x = g->x[i] + (g->more != NULL ? g->more[i] : 0);
        g->y[i] = g->is_fast ? do_fast_gelu(x, 0, 0) : do_gelu(x, 0, 0);
    }
}

static bool run_gelu(const struct host_call *h, GError **error)
{
    bool is_fast =
        host_is_named(h, "FastGelu") ||
        strcmp(attributes_string(h->call->attributes, "approximate", "none"), "tanh") == 0;
    const struct host_array *bias = host_input(h, 1);
    (void)error;
    struct host_array *y = h->outputs[0];
    g_autoptr(HostArray) more = bias != NULL ? host_expanded(bias, &y->shape, h->threads) : NULL;
    struct gelu gelu = {is_fast, host_input(h, 0)->data, more != NULL ? more->data : NULL, y->data};
    host_parallel_pieces(y->count, h->threads, gelu_piece, &gelu);
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
BINARY(do_prelu, a < 0 ? b * a : a)
#undef BINARY

struct binary {
    binary_function function;
};

/* y[i] = function(a[i], b[i]); a may be y. */
struct pairing {
    binary_function function;
    const double *a, *b;
    double *y;
};

static void pair_piece(void *context, int64_t first, int64_t last)
{
    const struct pairing *p = context;
    for (int64_t i = first; i < last; i++) {
        p->y[i] = p->function(p->a[i], p->b[i]);
    }
}

static double share(double sum, double count, double b)
{
    (void)b;
    return sum / count;
}

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
    g_autoptr(HostArray) a = host_expanded(host_input(h, 0), &y->shape, h->threads);
    if (h->call->input_count == 1) {
        memcpy(y->data, a->data, sizeof(double) * (gsize)y->count);
    }
    for (int k = 1; k < h->call->input_count; k++) {
        g_autoptr(HostArray) b = host_expanded(host_input(h, k), &y->shape, h->threads);
        struct pairing pairing = {function, k == 1 ? a->data : y->data, b->data, y->data};
        host_parallel_pieces(y->count, h->threads, pair_piece, &pairing);
    }
    if (host_is_named(h, "Mean")) {
        run_mapping(h, &(struct mapping){share, h->call->input_count, 0, y->data, y->data});
    }
    return true;
}

struct choice {
    const double *condition, *a, *b;
    double *y;
};

static void choose_piece(void *context, int64_t first, int64_t last)
{
    const struct choice *c = context;
    for (int64_t i = first; i < last; i++) {
        c->y[i] = c->condition[i] != 0 ? c->a[i] : c->b[i];
    }
}

static bool run_where(const struct host_call *h, GError **error)
{
    struct host_array *y = h->outputs[0];
    g_autoptr(HostArray) condition = host_expanded(host_input(h, 0), &y->shape, h->threads);
    g_autoptr(HostArray) a = host_expanded(host_input(h, 1), &y->shape, h->threads);
    g_autoptr(HostArray) b = host_expanded(host_input(h, 2), &y->shape, h->threads);
    struct choice choice = {condition->data, a->data, b->data, y->data};
    (void)error;
    host_parallel_pieces(y->count, h->threads, choose_piece, &choice);
    return true;
}

static bool run_clip(const struct host_call *h, GError **error)
{
    double low = host_input(h, 1) != NULL ? host_input(h, 1)->data[0] : -INFINITY;
    double high = host_input(h, 2) != NULL ? host_input(h, 2)->data[0] : INFINITY;
    (void)error;
    run_mapping(h,
                &(struct mapping){do_clip, low, high, host_input(h, 0)->data, h->outputs[0]->data});
    return true;
}

static bool run_prelu(const struct host_call *h, GError **error)
{
    struct host_array *y = h->outputs[0];
    g_autoptr(HostArray) slopes = host_expanded(host_input(h, 1), &y->shape, h->threads);
    struct pairing pairing = {do_prelu, host_input(h, 0)->data, slopes->data, y->data};
    (void)error;
    host_parallel_pieces(y->count, h->threads, pair_piece, &pairing);
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
