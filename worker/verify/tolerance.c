#include "worker/verify/tolerance.h"

#include <math.h>
#include <string.h>

#define PLAIN_MOST      16.0
#define WINOGRAD_FACTOR 128.0

static double unit_roundoff(enum data_type type)
{
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
    switch (type) {
    case TYPE_FP16: return 0x1p-24;
    case TYPE_FP64: return 0x1p-1022;
    default: return 0x1p-126; /* a device may flush subnormal numbers to zero */
    }
}

static bool is_integer(enum data_type type)
{
    return type == TYPE_INT8 || type == TYPE_INT32;
}

void tolerance_init(struct tolerance *tolerance, const struct problem *p, const char *algorithm,
                    double length)
{
    enum tensor_role out = problem_output_role(p);
    /* The direction's two inputs are all roles but that of the output. */
    enum tensor_role a = out == TENSOR_X ? TENSOR_Y : TENSOR_X;
    enum tensor_role b = out == TENSOR_W ? TENSOR_Y : TENSOR_W;
    bool winograd = strcmp(algorithm, "Winograd") == 0, fft = strcmp(algorithm, "FFT") == 0;
    bool all_double = p->type[a] == TYPE_FP64 && p->type[b] == TYPE_FP64;
    double sum_unit = all_double ? 0x1p-53 : 0x1p-24;
    double factor = fmin(length + 2, PLAIN_MOST);

    *tolerance = (struct tolerance){0};
    tolerance->exact = is_integer(p->type[a]) && is_integer(p->type[b]);
    tolerance->tensor_wide = winograd || fft;
    if (winograd)
        factor = WINOGRAD_FACTOR;
    else if (fft)
        factor = PLAIN_MOST * (1 + log2(length + 1));
    if (all_double)
        factor *= 2;
    tolerance->per_magnitude = factor * sum_unit;
    double in_unit = fmax(unit_roundoff(p->type[a]), unit_roundoff(p->type[b]));
    if (tolerance->tensor_wide && in_unit > 0x1p-24)
        tolerance->per_magnitude += in_unit / 8;
    tolerance->per_value = unit_roundoff(p->type[out]);
    tolerance->smallest = smallest_step(p->type[out]);
}

double tolerance_at(const struct tolerance *tolerance, double expected, double magnitude,
                    double largest_magnitude)
{
    if (tolerance->exact)
        return 0;
    double m = tolerance->tensor_wide ? largest_magnitude : magnitude;
    return tolerance->per_magnitude * m + tolerance->per_value * fabs(expected) +
           tolerance->smallest;
}
