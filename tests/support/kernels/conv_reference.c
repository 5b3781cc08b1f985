#include "tests/support/kernels/conv_reference.h"

#include <math.h>
#include <string.h>

#include "tests/support/kernels/operator_reference.h"

#define AXES 5

int64_t conv_plain_sizes(const struct problem *p, enum tensor_role role, int64_t sizes[5])
{
    int64_t product = 1;

    problem_operand_sizes(p, role, sizes);
    for (int i = 0; i < AXES; i++)
        product *= sizes[i];
    return product;
}

static int64_t flat(const int64_t sizes[AXES], const int64_t at[AXES])
{
    int64_t index = 0;

    for (int i = 0; i < AXES; i++)
        index = index * sizes[i] + at[i];
    return index;
}

static void unflat(const int64_t sizes[AXES], int64_t index, int64_t at[AXES])
{
    for (int i = AXES - 1; i >= 0; i--) {
        at[i] = index % sizes[i];
        index /= sizes[i];
    }
}

/* A sum for each output element. All three directions add over the same triples: an output
 * position, a filter position, and the element of x where the two meet. */
struct sums {
    const struct problem *p;
    double *const *plain;
    double *magnitude;
    int64_t *length;
    int64_t sizes[TENSOR_COUNT][AXES];
};

static void add_product(struct sums *sums, int64_t x, int64_t w, int64_t y)
{
    enum tensor_role output = problem_output_role(sums->p);
    int64_t at[TENSOR_COUNT] = {x, w, y};
    double product = 1;

    for (int t = 0; t < TENSOR_COUNT; t++) {
        if ((enum tensor_role)t != output)
            product *= sums->plain[t][at[t]];
    }
    sums->plain[output][at[output]] += product;
    sums->magnitude[at[output]] += fabs(product);
    sums->length[at[output]]++;
}

/* Steps to the filter's next position, the innermost axis first; after the last position the first
 * follows. */
static void next_tap(const struct sums *sums, int64_t w_at[AXES])
{
    for (int i = AXES - 1; i > 0 && ++w_at[i] == sums->sizes[TENSOR_W][i]; i--)
        w_at[i] = 0;
}

static void add_filter(struct sums *sums, const int64_t y_at[AXES])
{
    const struct problem *p = sums->p;
    int64_t group = y_at[1] / (p->k / p->groups), w_at[AXES] = {y_at[1]};
    int64_t y = flat(sums->sizes[TENSOR_Y], y_at);
    int64_t taps = sums->sizes[TENSOR_W][1] * p->fil[0] * p->fil[1] * p->fil[2];

    for (int64_t tap = 0; tap < taps; tap++, next_tap(sums, w_at)) {
        int64_t x_at[AXES] = {y_at[0]};
        bool inside = true;
        x_at[1] = group * (p->c / p->groups) + w_at[1];
        for (int a = 0; a < AXIS_COUNT; a++) {
            x_at[2 + a] = y_at[2 + a] * p->stride[a] - p->pad[a] + w_at[2 + a] * p->dilation[a];
            inside = inside && x_at[2 + a] >= 0 && x_at[2 + a] < p->in[a];
        }
        if (inside)
            add_product(sums, flat(sums->sizes[TENSOR_X], x_at), flat(sums->sizes[TENSOR_W], w_at),
                        y);
    }
}

/* Rounds a value to a 16-bit float with that many exponent bits, by arithmetic alone. */
static guint16 small_float(double value, int exponent_bits)
{
    int mantissa_bits = 15 - exponent_bits, bias = (1 << (exponent_bits - 1)) - 1, exponent;
    double magnitude = fabs(value), steps;

    if (magnitude == 0) /* zero has no exponent */
        return signbit(value) ? 0x8000 : 0;
    frexp(magnitude, &exponent);
    exponent = MAX(exponent - 1, 1 - bias);
    steps = nearbyint(ldexp(magnitude, mantissa_bits - exponent));
    /* Numbers below the first normal one have fewer steps than 2^mantissa_bits and the exponent
     * field 0; rounding up to the first normal number carries into that field. */
    return (guint16)((signbit(value) ? 0x8000 : 0) +
                     (int)(steps + ldexp(exponent + bias - 1, mantissa_bits)));
}

static double small_float_value(guint16 stored, int exponent_bits)
{
    int mantissa_bits = 15 - exponent_bits, bias = (1 << (exponent_bits - 1)) - 1;
    int field = (stored & 0x7fff) >> mantissa_bits;
    int mantissa = stored & ((1 << mantissa_bits) - 1);
    double magnitude;

    if (field == (1 << exponent_bits) - 1)
        return mantissa ? NAN : stored & 0x8000 ? -INFINITY : INFINITY;
    magnitude = field ? ldexp(mantissa + (1 << mantissa_bits), field - bias - mantissa_bits)
                      : ldexp(mantissa, 1 - bias - mantissa_bits);
    return stored & 0x8000 ? -magnitude : magnitude;
}

double float8_number(enum data_type type, guint8 code)
{
    bool fnuz = type == TYPE_FP8_FNUZ || type == TYPE_BF8_FNUZ;
    int exponent_bits = type == TYPE_FP8 || type == TYPE_FP8_FNUZ ? 4 : 5;
    int fraction = 7 - exponent_bits, bias = (1 << (exponent_bits - 1)) - !fnuz;
    int field = (code & 0x7f) >> fraction, rest = code & ((1 << fraction) - 1);
    bool is_last = field == (1 << exponent_bits) - 1;
    double size = field ? ldexp(rest + (1 << fraction), field - bias - fraction)
                        : ldexp(rest, 1 - bias - fraction);

    if (fnuz ? code == 0x80 : is_last && (exponent_bits == 4 ? rest == 7 : rest > 0))
        return NAN;
    if (!fnuz && is_last && exponent_bits == 5)
        size = INFINITY;
    return code & 0x80 ? -size : size;
}

guint8 float8_nearest(enum data_type type, double value)
{
    guint8 nearest = 0;
    double off = INFINITY;

    value = CLAMP(value, -1e6, 1e6); /* infinities have no distance */
    for (int code = 0; code < 256; code++) {
        double number = float8_number(type, (guint8)code), distance = fabs(number - value);
        if (!isfinite(number) || (number != 0 && (number < 0) != (value < 0)))
            continue;
        /* At a tie the even one of two neighbours, which have neighbouring codes. */
        if (distance < off || (distance == off && code % 2 == 0)) {
            nearest = (guint8)code;
            off = distance;
        }
    }
    return nearest;
}

static double rounded_to(enum data_type cast, double value)
{
    switch (cast) {
    case TYPE_NONE:
    case TYPE_FP64: return value;
    case TYPE_FP32: return (float)value;
    case TYPE_FP16: return small_float_value(small_float(value, 5), 5);
    case TYPE_BF16: return small_float_value(small_float(value, 8), 8);
    case TYPE_INT8: return nearbyint(CLAMP(value, INT8_MIN, INT8_MAX));
    case TYPE_INT32: return nearbyint(CLAMP(value, INT32_MIN, INT32_MAX));
    default: return float8_number(cast, float8_nearest(cast, value));
    }
}

/* The input after its cast: a copy, or the input itself where it is not cast. */
static double *cast_input(const struct problem *p, enum tensor_role role, double *plain,
                          int64_t count)
{
    enum data_type cast = problem_cast_type(p, role);

    if (cast == TYPE_NONE)
        return plain;
    double *copy = g_new(double, count);
    for (int64_t i = 0; i < count; i++)
        copy[i] = rounded_to(cast, plain[i]);
    return copy;
}

int64_t conv_reference(const struct problem *p, double *const plain[TENSOR_COUNT],
                       double *magnitude)
{
    double *inputs[TENSOR_COUNT];
    struct sums sums = {.p = p, .plain = inputs, .magnitude = magnitude};
    int64_t counts[TENSOR_COUNT], longest = 0, output_count;
    g_autofree int64_t *length = NULL;

    if (p->kind != OP_CONV)
        return operator_reference(p, plain, magnitude);
    for (int t = 0; t < TENSOR_COUNT; t++)
        counts[t] = conv_plain_sizes(p, (enum tensor_role)t, sums.sizes[t]);
    output_count = counts[problem_output_role(p)];
    sums.length = length = g_new0(int64_t, output_count);
    for (int t = 0; t < TENSOR_COUNT; t++)
        inputs[t] = cast_input(p, (enum tensor_role)t, plain[t], counts[t]);
    memset(plain[problem_output_role(p)], 0, (size_t)output_count * sizeof(double));
    memset(magnitude, 0, (size_t)output_count * sizeof(double));
    for (int64_t i = 0; i < counts[TENSOR_Y]; i++) {
        int64_t y_at[AXES];
        unflat(sums.sizes[TENSOR_Y], i, y_at);
        add_filter(&sums, y_at);
    }
    for (int64_t i = 0; i < output_count; i++)
        longest = MAX(longest, length[i]);
    for (int t = 0; t < TENSOR_COUNT; t++) {
        if (inputs[t] != plain[t])
            g_free(inputs[t]);
    }
    return longest;
}

static int64_t offset_of(const struct problem *p, enum tensor_role role, const int64_t strides[5],
                         int64_t index)
{
    int64_t sizes[AXES], at[AXES], offset;
    int block = problem_layout_block(problem_operand_layout(p, role));

    conv_plain_sizes(p, role, sizes);
    unflat(sizes, index, at);
    offset = at[0] * strides[0] + at[1] / block * strides[1] + at[1] % block;
    for (int i = 2; i < AXES; i++)
        offset += at[i] * strides[i];
    return offset;
}

void conv_store(const struct problem *p, enum tensor_role role, const int64_t strides[5],
                void *data, int64_t index, double value)
{
    int64_t at = offset_of(p, role, strides, index);

    switch (problem_operand_type(p, role)) {
    case TYPE_FP32: ((float *)data)[at] = (float)value; break;
    case TYPE_FP64: ((double *)data)[at] = value; break;
    case TYPE_FP16: ((guint16 *)data)[at] = small_float(value, 5); break;
    case TYPE_BF16: ((guint16 *)data)[at] = small_float(value, 8); break;
    case TYPE_INT8: ((gint8 *)data)[at] = (gint8)lrint(value); break;
    case TYPE_INT32: ((gint32 *)data)[at] = (gint32)lrint(value); break;
    case TYPE_FP8:
    case TYPE_BF8:
    case TYPE_FP8_FNUZ:
    case TYPE_BF8_FNUZ:
        ((guint8 *)data)[at] = float8_nearest(problem_operand_type(p, role), value);
        break;
    default: g_assert_not_reached();
    }
}

double conv_load(const struct problem *p, enum tensor_role role, const int64_t strides[5],
                 const void *data, int64_t index)
{
    int64_t at = offset_of(p, role, strides, index);

    switch (problem_operand_type(p, role)) {
    case TYPE_FP32: return ((const float *)data)[at];
    case TYPE_FP64: return ((const double *)data)[at];
    case TYPE_FP16: return small_float_value(((const guint16 *)data)[at], 5);
    case TYPE_BF16: return small_float_value(((const guint16 *)data)[at], 8);
    case TYPE_INT8: return ((const gint8 *)data)[at];
    case TYPE_INT32: return ((const gint32 *)data)[at];
    case TYPE_FP8:
    case TYPE_BF8:
    case TYPE_FP8_FNUZ:
    case TYPE_BF8_FNUZ:
        return float8_number(problem_operand_type(p, role), ((const guint8 *)data)[at]);
    default: g_assert_not_reached();
    }
}

void conv_copy(const struct problem *p, enum tensor_role role, const int64_t strides[5],
               const void *from, void *to, int64_t index)
{
    gsize bytes = (gsize)data_type_bytes(problem_operand_type(p, role));
    gsize at = (gsize)offset_of(p, role, strides, index) * bytes;

    memcpy((char *)to + at, (const char *)from + at, bytes);
}

double conv_type_epsilon(enum data_type type)
{
    switch (type) {
    case TYPE_FP64: return ldexp(1, -52);
    case TYPE_FP32: return ldexp(1, -23);
    case TYPE_FP16: return ldexp(1, -10);
    case TYPE_BF16: return ldexp(1, -7);
    case TYPE_FP8:
    case TYPE_FP8_FNUZ: return ldexp(1, -3);
    case TYPE_BF8:
    case TYPE_BF8_FNUZ: return ldexp(1, -2);
    default: return 0;
    }
}

void conv_random_problem(GRand *random, struct problem *p)
{
    problem_init(p);
    p->n = g_rand_int_range(random, 1, 3);
    p->groups = g_rand_boolean(random) ? 1 : g_rand_int_range(random, 2, 4);
    p->c = p->groups * g_rand_int_range(random, 1, 20);
    p->k = p->groups * g_rand_int_range(random, 1, 30);
    for (int a = AXIS_H; a <= AXIS_W; a++) {
        int64_t reach;
        p->fil[a] = g_rand_int_range(random, 1, 6);
        p->pad[a] = g_rand_int_range(random, 0, 4);
        p->stride[a] = g_rand_int_range(random, 1, 4);
        p->dilation[a] = g_rand_int_range(random, 1, 4);
        reach = p->dilation[a] * (p->fil[a] - 1) + 1 - 2 * p->pad[a];
        p->in[a] = MAX(reach, 1) + g_rand_int_range(random, 0, 24);
    }
    problem_set_output(p);
}
