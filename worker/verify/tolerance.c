#include "worker/verify/tolerance.h"

#include <math.h>
#include <string.h>

#include "worker/verify/float8.h"

#define PLAIN_MOST       16.0
#define TRANSFORM_FACTOR 4.0
#define INPUTS_FACTOR    16.0
/* The products that a solution adds up at once where it cuts them off. */
#define CUT_AT_ONCE      32

static double unit_roundoff(enum data_type type)
{
    if (float8_is_type(type))
        return float8_unit(type);
    switch (type) {
    case TYPE_FP16: return 0x1p-11;
    case TYPE_BF16: return 0x1p-8;
    case TYPE_FP64: return 0x1p-53;
    default: return 0x1p-24;
    }
}

/* The absolute part of the tolerance, which matters for results near zero. */
static double smallest_step(enum data_type type)
{
    if (float8_is_type(type))
        return float8_least(type);
    switch (type) {
    case TYPE_FP16: return 0x1p-24;
    case TYPE_FP64: return 0x1p-1022;
    default: return 0x1p-126; /* a device may flush subnormal numbers to zero */
    }
}

/* The smallest value that rounds to infinity, or to the largest number of a type that saturates; infinite for integers,
 * whose expected values are within their range. */
static double overflow_of(enum data_type type)
{
    if (float8_is_type(type))
        return float8_largest(type);
    switch (type) {
    case TYPE_FP16: return 65520;
    case TYPE_FP32: return 0x1.ffffffp127;
    case TYPE_BF16: return 0x1.ffp127;
    default: return INFINITY;
    }
}

static bool is_integer(enum data_type type)
{
    return type == TYPE_INT8 || type == TYPE_INT32;
}

/* Whether each result is one of the input's elements. */
static bool is_selection(const struct problem *p)
{
    return p->kind == OP_POINTWISE || (p->kind == OP_POOL && strcmp(p->mode, "max") == 0) ||
           (p->kind == OP_RESIZE && g_str_has_prefix(p->mode, "nearest,"));
}

static bool is_float8(enum data_type type)
{
    return type == TYPE_FP8 || type == TYPE_BF8;
}

/* Whether each element of a type is a number of the other type, too. */
static bool holds_exactly(enum data_type to, enum data_type from)
{
    switch (to) {
    case TYPE_FP64: return true;
    case TYPE_FP32: return from != TYPE_FP64 && from != TYPE_INT32;
    case TYPE_INT32: return is_integer(from);
    case TYPE_FP16: return from == to || from == TYPE_INT8 || is_float8(from);
    case TYPE_BF16: return from == to || from == TYPE_INT8 || is_float8(from);
    case TYPE_FP8:
    case TYPE_BF8: return from == to;
    default: return from == to;
    }
}

/* A selection is rounded by nothing but its output, if that. smallest stays: subnormal numbers may become zero. */
static void set_for_selection(struct tolerance *tolerance, const struct problem *p,
                              enum data_type sums)
{
    enum data_type out = p->type[problem_output_role(p)];

    if (!holds_exactly(sums, p->type[TENSOR_X]))
        return;
    tolerance->per_magnitude = 0;
    if (p->epilogue[0] == '\0' && holds_exactly(out, p->type[TENSOR_X]))
        tolerance->per_value = 0;
}

/* A sum that is taken in pieces. */
static double factor_of_pieces(double depth, double terms, double length)
{
    double additions = fmin(depth, length) + 2;

    return fmin(additions, PLAIN_MOST * fmin(1, sqrt(additions / fmax(terms, 1))));
}

/* f of tolerance.h, for FP32. */
static double factor_of(const struct solution_rounding *rounding, double length)
{
    if (rounding && rounding->depth > 0)
        return factor_of_pieces(rounding->depth, rounding->terms, length);
    if (!rounding || !rounding->transforms)
        return fmin(length + 2, PLAIN_MOST);
    return rounding->growth * (fmin(rounding->terms + 2, PLAIN_MOST) +
                               TRANSFORM_FACTOR * sqrt(rounding->roundings / rounding->terms));
}

/* Adds to the factor of the magnitude what rounding both factors of each product does, and, for real data, what cutting off
 * products does; chains also for random data. */
static void add_products(struct tolerance *tolerance, const struct solution_rounding *rounding)
{
    double most = (2 + rounding->inputs) * rounding->inputs;
    double of_random = INPUTS_FACTOR / sqrt(fmax(rounding->terms, 1));
    double later = fmax(rounding->chain, 1) - 1; /* instructions that go on from another's sum */
    double cut = (CUT_AT_ONCE + 1 + (CUT_AT_ONCE + 2) * later) * rounding->products;

    tolerance->of_products_most = most + cut;
    tolerance->of_products = fmin(most, of_random * rounding->inputs);
    if (later > 0)
        tolerance->of_products += fmin(cut, of_random * rounding->products);
    tolerance->per_magnitude += tolerance->of_products;
}

void tolerance_init(struct tolerance *tolerance, const struct problem *p,
                    const struct solution_rounding *rounding, double length)
{
    enum tensor_role out = problem_output_role(p);
    /* The direction's two inputs are all roles but that of the output. */
    enum tensor_role a = out == TENSOR_X ? TENSOR_Y : TENSOR_X;
    enum tensor_role b = out == TENSOR_W ? TENSOR_Y : TENSOR_W;
    bool all_double = p->type[a] == TYPE_FP64 && p->type[b] == TYPE_FP64;
    double sum_unit = all_double ? 0x1p-53 : 0x1p-24;
    double factor = factor_of(rounding, length);
    enum data_type stored = problem_operand_type(p, out);

    *tolerance = (struct tolerance){0};
    /* Sums of integers; other kinds divide. */
    bool integers = p->kind == OP_CONV && is_integer(p->type[a]) && is_integer(p->type[b]);
    bool copies_integers = p->kind != OP_CONV && is_integer(p->type[TENSOR_X]) &&
                           is_integer(p->type[out]) && is_selection(p);
    tolerance->exact =
        ((integers && is_integer(p->type[out])) || copies_integers) && !p->epilogue[0];
    tolerance->tensor_wide = rounding && rounding->transforms;
    if (all_double)
        factor *= 2;
    tolerance->per_magnitude = factor * sum_unit;
    if (rounding)
        add_products(tolerance, rounding);
    tolerance->per_value = unit_roundoff(stored);
    tolerance->smallest = smallest_step(stored);
    if (is_integer(p->type[out])) {
        tolerance->per_value = 0;
        tolerance->smallest = 0.5;
    }
    if (integers) /* sums are exact; the epilogue's slack has all errors */
        tolerance->per_magnitude = 0;
    if (is_selection(p))
        set_for_selection(tolerance, p, all_double ? TYPE_FP64 : TYPE_FP32);
    tolerance->overflow = overflow_of(stored);
}

void tolerance_for_whole(struct tolerance *tolerance)
{
    if (!tolerance->tensor_wide)
        tolerance->per_magnitude = 0;
}

void tolerance_for_real(struct tolerance *tolerance, double length)
{
    double least = tolerance->tensor_wide ? sqrt(length) : 1;
    double of_sums = tolerance->per_magnitude - tolerance->of_products;

    tolerance->per_magnitude =
        of_sums * fmax(least, (length + 2) / PLAIN_MOST) + tolerance->of_products_most;
    tolerance->of_products = tolerance->of_products_most;
}

double tolerance_at(const struct tolerance *tolerance, const struct expected *expected,
                    double largest_magnitude)
{
    double m = tolerance->tensor_wide ? largest_magnitude : expected->magnitude;
    double value = fmin(fabs(expected->value), tolerance->overflow);

    if (tolerance->exact)
        return 0;
    return tolerance->per_magnitude * m * expected->gain + expected->slack +
           tolerance->per_value * value + tolerance->smallest;
}

static double within(double value, double most)
{
    return value > most ? most : value < -most ? -most : value;
}

double tolerance_error(const struct tolerance *tolerance, double expected, double got)
{
    if (expected == got || (isnan(expected) && isnan(got)))
        return 0;
    double error = fabs(within(got, tolerance->overflow) - within(expected, tolerance->overflow));
    return isnan(error) ? INFINITY : error;
}
