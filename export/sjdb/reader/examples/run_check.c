#include "run_check.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* ---- elements in the bytes of each data type ---- */

static size_t type_bytes(int32_t type)
{
    switch (type) {
    case SKIPJACKDB_FP32:
    case SKIPJACKDB_INT32: return 4;
    case SKIPJACKDB_FP16:
    case SKIPJACKDB_BF16: return 2;
    case SKIPJACKDB_INT8: return 1;
    default: fail("this example knows FP32, FP16, BF16, INT8 and INT32");
    }
}

/* Converts 0 or a power of two, which as a half have a sign and an exponent but no fraction. */
static uint16_t half_of(int value)
{
    int exponent = 0;
    frexp(value, &exponent);
    return value == 0 ? 0 : (uint16_t)((value < 0 ? 0x8000 : 0) | (exponent + 14) << 10);
}

static double half_value(uint16_t half)
{
    int exponent = half >> 10 & 31, fraction = half & 1023;
    double size = exponent == 0 ? ldexp(fraction, -24) : ldexp(1024 + fraction, exponent - 25);
    if (exponent == 31) {
        size = fraction != 0 ? NAN : INFINITY;
    }
    return half & 0x8000 ? -size : size;
}

/* A bfloat16 is the upper half of a float. */
static uint16_t bfloat16_of(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return (uint16_t)(bits >> 16);
}

static double bfloat16_value(uint16_t stored)
{
    uint32_t bits = (uint32_t)stored << 16;
    float value;
    memcpy(&value, &bits, sizeof value);
    return (double)value;
}

static void store(int32_t type, void *stored, int64_t at, int value)
{
    switch (type) {
    case SKIPJACKDB_FP32: ((float *)stored)[at] = (float)value; return;
    case SKIPJACKDB_FP16: ((uint16_t *)stored)[at] = half_of(value); return;
    case SKIPJACKDB_BF16: ((uint16_t *)stored)[at] = bfloat16_of((float)value); return;
    case SKIPJACKDB_INT8: ((int8_t *)stored)[at] = (int8_t)value; return;
    default: ((int32_t *)stored)[at] = value; return;
    }
}

static double load(int32_t type, const void *stored, int64_t at)
{
    switch (type) {
    case SKIPJACKDB_FP32: return (double)((const float *)stored)[at];
    case SKIPJACKDB_FP16: return half_value(((const uint16_t *)stored)[at]);
    case SKIPJACKDB_BF16: return bfloat16_value(((const uint16_t *)stored)[at]);
    case SKIPJACKDB_INT8: return ((const int8_t *)stored)[at];
    default: return ((const int32_t *)stored)[at];
    }
}

/* ---- tensors ---- */

/* Returns how many channels a block of the layout has. */
static int64_t block_of(int32_t layout)
{
    switch (layout) {
    case SKIPJACKDB_NCHWC4:
    case SKIPJACKDB_CHWNC4: return 4;
    case SKIPJACKDB_NCHWC8:
    case SKIPJACKDB_CHWNC8: return 8;
    default: return 1;
    }
}

void tensor_init(struct tensor *tensor, const struct skipjackdb_problem *p, int32_t which)
{
    struct skipjackdb_operand operand = {.size = sizeof operand};
    int code = skipjackdb_operand_at(p, which, &operand);
    memset(tensor, 0, sizeof *tensor);
    if (code == SKIPJACKDB_NOT_FOUND) {
        return;
    }
    if (code != SKIPJACKDB_OK) {
        fail("an operand cannot be described: %s", skipjackdb_error_text(code));
    }
    tensor->type = operand.type;
    memcpy(tensor->sizes, operand.sizes, sizeof tensor->sizes);
    memcpy(tensor->strides, operand.strides, sizeof tensor->strides);
    tensor->channels = allocate((size_t)tensor->sizes[1], sizeof *tensor->channels);
    for (int64_t c = 0, block = block_of(operand.layout); c < tensor->sizes[1]; c++) {
        tensor->channels[c] = c / block * tensor->strides[1] + c % block;
    }
    tensor->bytes = (size_t)operand.elements * type_bytes(tensor->type);
    tensor->stored = allocate(tensor->bytes, 1);
}

void tensor_clear(struct tensor *tensor)
{
    free(tensor->channels);
    free(tensor->stored);
}

static int64_t count_of(const struct tensor *t)
{
    return t->sizes[0] * t->sizes[1] * t->sizes[2] * t->sizes[3] * t->sizes[4];
}

/* Returns the offset, in elements, of a position given by depth, height and width. */
static int64_t spatial_place(const struct tensor *t, const int64_t at[3])
{
    return at[0] * t->strides[2] + at[1] * t->strides[3] + at[2] * t->strides[4];
}

/* Returns the offset, in elements, of the element that has this number in the order N C D H W. */
static int64_t place_of(const struct tensor *t, int64_t number)
{
    int64_t at[5];
    for (int i = 4; i >= 0; i--) {
        at[i] = number % t->sizes[i];
        number /= t->sizes[i];
    }
    return at[0] * t->strides[0] + t->channels[at[1]] + spatial_place(t, at + 2);
}

int is_divisor(const struct skipjackdb_problem *problem, int32_t which)
{
    struct skipjackdb_step step = {.size = sizeof step};
    for (uint32_t i = 0; skipjackdb_step_at(problem, i, &step) == SKIPJACKDB_OK; i++) {
        if (step.op == SKIPJACKDB_STEP_DIV && step.tensor == which) {
            return 1;
        }
    }
    return 0;
}

void tensor_fill(struct tensor *tensor, uint64_t seed, int is_divisor)
{
    static const int8_t any[] = {-1, 0, 1, 1, -1, 2, 0, -2},
                        divisors[] = {-1, 1, 1, 2, -1, 2, 1, -2};
    const int8_t *values = is_divisor ? divisors : any;
    uint64_t state = seed;
    for (int64_t i = 0, count = count_of(tensor); i < count; i++) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        store(tensor->type, tensor->stored, place_of(tensor, i), values[state >> 61]);
    }
}

int32_t output_of(const struct skipjackdb_problem *problem)
{
    static const int32_t outputs[] = {[SKIPJACKDB_F] = SKIPJACKDB_TENSOR_Y,
                                      [SKIPJACKDB_B] = SKIPJACKDB_TENSOR_X,
                                      [SKIPJACKDB_W] = SKIPJACKDB_TENSOR_W};
    return outputs[problem->direction];
}

/* ---- the convolution ---- */

struct reference {
    const struct skipjackdb_problem *p;
    const struct tensor *tensors;
    double *values[3]; /* elements of the two factors, as doubles */
    /* for each element of the output: the sum of its terms, and the sum of their absolute values */
    double *sums, *sizes;
};

/* Sets the position in x that output position o and filter position f read. Returns false if it is
 * in the padding. */
static bool meet(const struct skipjackdb_problem *p, const int64_t o[3], const int64_t f[3],
                 int64_t in[3])
{
    for (int a = 0; a < 3; a++) {
        in[a] = o[a] * p->stride[a] - p->pad[a] + f[a] * p->dilation[a];
        if (in[a] < 0 || in[a] >= p->in[a]) {
            return false;
        }
    }
    return true;
}

/* Adds the terms of one position. Every product in a convolution has one element each of x, w and
 * y, of which two are factors; the direction decides which of the three is the sum. */
static void add_terms(const struct reference *reference, const int64_t o[3], const int64_t f[3],
                      const int64_t in[3])
{
    const struct tensor *x = &reference->tensors[0], *w = &reference->tensors[1],
                        *y = &reference->tensors[2];
    int32_t out = output_of(reference->p), a = (out + 1) % 3, b = (out + 2) % 3;
    int64_t k_group = reference->p->k / reference->p->groups, place[3];
    for (int64_t n = 0; n < reference->p->n; n++) {
        for (int64_t k = 0; k < reference->p->k; k++) {
            const int64_t *x_channels = x->channels + k / k_group * w->sizes[1];
            int64_t x_place = n * x->strides[0] + spatial_place(x, in);
            int64_t w_place = k * w->strides[0] + spatial_place(w, f);
            place[2] = n * y->strides[0] + y->channels[k] + spatial_place(y, o);
            for (int64_t c = 0; c < w->sizes[1]; c++) {
                place[0] = x_place + x_channels[c];
                place[1] = w_place + w->channels[c];
                double term = reference->values[a][place[a]] * reference->values[b][place[b]];
                reference->sums[place[out]] += term;
                reference->sizes[place[out]] += fabs(term);
            }
        }
    }
}

static void split(int64_t number, const int64_t sizes[3], int64_t at[3])
{
    at[2] = number % sizes[2];
    at[1] = number / sizes[2] % sizes[1];
    at[0] = number / sizes[2] / sizes[1];
}

static void convolve(const struct reference *reference)
{
    const struct skipjackdb_problem *p = reference->p;
    int64_t outputs = p->out[0] * p->out[1] * p->out[2];
    int64_t taps = p->fil[0] * p->fil[1] * p->fil[2];
    for (int64_t i = 0; i < outputs * taps; i++) {
        int64_t o[3], f[3], in[3];
        split(i / taps, p->out, o);
        split(i % taps, p->fil, f);
        if (meet(p, o, f, in)) {
            add_terms(reference, o, f, in);
        }
    }
}

/* ---- comparing with what the device computed ---- */

static double rounding_of(int32_t type)
{
    return type == SKIPJACKDB_FP16 ? 0x1p-11 : type == SKIPJACKDB_BF16 ? 0x1p-8 : 0x1p-24;
}

/* Returns the error that is allowed beside the rounding of the result; `largest` is the largest sum
 * of absolute terms. Sums of integers below 2^24 are exact in FP32, in any order. Winograd and FFT
 * transform with fractions, and store transformed values in the tensors' type, so they may err
 * more. */
static double allowed_off(const struct tensor *a, const struct tensor *b, const char *algorithm,
                          double largest)
{
    double input = fmax(rounding_of(a->type), rounding_of(b->type));
    if (strstr(algorithm, "Winograd") != NULL || strstr(algorithm, "FFT") != NULL ||
        strstr(algorithm, "Fft") != NULL) {
        return (256 * 0x1p-24 + (input > 0x1p-24 ? input / 8 : 0)) * largest;
    }
    return largest < 0x1p24 ? 0 : 16 * 0x1p-24 * largest;
}

/* ---- the epilogue ---- */

#define STEPS_MAX 8

struct steps {
    uint32_t count;
    struct skipjackdb_step list[STEPS_MAX];
};

static void read_steps(const struct skipjackdb_problem *p, struct steps *steps)
{
    struct skipjackdb_step step = {.size = sizeof step};
    steps->count = 0;
    while (steps->count < STEPS_MAX &&
           skipjackdb_step_at(p, steps->count, &step) == SKIPJACKDB_OK) {
        steps->list[steps->count++] = step;
    }
}

/* The values that the epilogue's steps read for one element of the output. */
struct operands {
    double bias, residual, channel_scale, tensor_scale;
};

static double clamp(double v, double low, double high)
{
    return v < low ? low : v > high ? high : v;
}

static double sigmoid(double v)
{
    return 1 / (1 + exp(-v));
}

static double softplus(double v)
{
    return v > 0 ? v + log1p(exp(-v)) : log1p(exp(v));
}

static double do_step(const struct skipjackdb_step *step, double v, const struct operands *with)
{
    double scale = step->per_channel ? with->channel_scale : with->tensor_scale;
    double r = with->residual;
    switch (step->op) {
    case SKIPJACKDB_STEP_BIAS: return v + with->bias;
    case SKIPJACKDB_STEP_SCALE:
    case SKIPJACKDB_STEP_REQUANT: return v * scale;
    case SKIPJACKDB_STEP_ADD: return v + r;
    case SKIPJACKDB_STEP_SUB: return v - r;
    case SKIPJACKDB_STEP_MUL: return v * r;
    case SKIPJACKDB_STEP_DIV: return v / r;
    case SKIPJACKDB_STEP_MAX: return v > r ? v : r;
    case SKIPJACKDB_STEP_MIN: return v < r ? v : r;
    case SKIPJACKDB_STEP_RELU: return v < 0 ? 0 : v;
    case SKIPJACKDB_STEP_CLIP: return clamp(v, step->a, step->b);
    case SKIPJACKDB_STEP_LEAKY: return v < 0 ? step->a * v : v;
    case SKIPJACKDB_STEP_PRELU: return v < 0 ? scale * v : v;
    case SKIPJACKDB_STEP_ELU: return v < 0 ? step->a * expm1(v) : v;
    case SKIPJACKDB_STEP_AFFINE: return step->a * v + step->b;
    case SKIPJACKDB_STEP_HARDSIGMOID: return clamp(step->a * v + step->b, 0, 1);
    case SKIPJACKDB_STEP_SIGMOID: return sigmoid(v);
    case SKIPJACKDB_STEP_TANH: return tanh(v);
    case SKIPJACKDB_STEP_EXP: return exp(v);
    case SKIPJACKDB_STEP_SQRT: return sqrt(v);
    case SKIPJACKDB_STEP_ABS: return fabs(v);
    case SKIPJACKDB_STEP_ERF: return erf(v);
    case SKIPJACKDB_STEP_SILU: return v * sigmoid(v);
    case SKIPJACKDB_STEP_HARDSWISH: return v * clamp(v + 3, 0, 6) / 6;
    case SKIPJACKDB_STEP_SOFTPLUS: return softplus(v);
    case SKIPJACKDB_STEP_MISH: return v * tanh(softplus(v));
    case SKIPJACKDB_STEP_GELU: return v / 2 * (1 + erf(v * sqrt(0.5)));
    default: fail("this example does not know a step of the epilogue");
    }
}

static double do_steps(const struct steps *steps, double v, const struct operands *with)
{
    for (uint32_t i = 0; i < steps->count; i++) {
        v = do_step(&steps->list[i], v, with);
    }
    return v;
}

/* Returns the channel of the element of the output that has this number. */
static int64_t channel_of(const struct tensor *output, int64_t number)
{
    return number / (output->sizes[2] * output->sizes[3] * output->sizes[4]) % output->sizes[1];
}

/* Reads what the steps need for the element of the output that has this number. */
static void read_operands(const struct reference *reference, int64_t number, struct operands *with)
{
    const struct tensor *output = &reference->tensors[output_of(reference->p)];
    const struct tensor *residual = &reference->tensors[SKIPJACKDB_TENSOR_RESIDUAL];
    const struct tensor *bias = &reference->tensors[SKIPJACKDB_TENSOR_BIAS];
    const struct tensor *scales = &reference->tensors[SKIPJACKDB_TENSOR_SCALES];
    int64_t channel = channel_of(output, number);
    *with = (struct operands){0};
    if (bias->bytes > 0) {
        with->bias = load(bias->type, bias->stored, channel);
    }
    if (scales->bytes > 0) {
        bool each = scales->sizes[1] == output->sizes[1] + 1;
        with->tensor_scale = load(scales->type, scales->stored, 0);
        with->channel_scale = each ? load(scales->type, scales->stored, channel) : 0;
    }
    if (residual->bytes > 0) {
        bool whole = residual->type == SKIPJACKDB_INT8 || residual->type == SKIPJACKDB_INT32;
        with->residual = load(residual->type, residual->stored, place_of(residual, number));
        if (whole && scales->bytes > 0) {
            with->residual *= load(scales->type, scales->stored, scales->sizes[1] - 1);
        }
    }
}

/* ---- comparing the result ---- */

/* How far an element of the output may be from `wanted`, if the sum may be off by this much. The
 * functions of steps may err by a few units in the last place. */
static double allowed_at(const struct reference *reference, const struct steps *steps, double sum,
                         double off, double wanted, const struct operands *with)
{
    int32_t type = reference->tensors[output_of(reference->p)].type;
    bool whole = type == SKIPJACKDB_INT8 || type == SKIPJACKDB_INT32;
    double moved = off;
    if (steps->count > 0) {
        double above = do_steps(steps, sum + off, with), below = do_steps(steps, sum - off, with);
        moved = fmax(fabs(above - wanted), fabs(below - wanted)) + 64 * 0x1p-24 * fabs(wanted);
    }
    return whole ? 0.5 + (steps->count > 0 ? moved : 0)
                 : moved + rounding_of(type) * fabs(wanted) + 0x1p-24;
}

/* Returns the error of an element, divided by the allowed error: above 1 it is wrong. A NaN or an
 * infinity that is not wanted gives infinity. */
static double error_at(const struct reference *reference, const struct steps *steps, int64_t number,
                       double off)
{
    const struct tensor *output = &reference->tensors[output_of(reference->p)];
    int64_t at = place_of(output, number);
    struct operands with;
    read_operands(reference, number, &with);
    double wanted = do_steps(steps, reference->sums[at], &with);
    double found = load(output->type, output->stored, at);
    if (!isfinite(wanted)) {
        return (isnan(wanted) && isnan(found)) || wanted == found ? 0 : INFINITY;
    }
    if (output->type == SKIPJACKDB_INT8) {
        wanted = clamp(wanted, INT8_MIN, INT8_MAX);
    }
    double error = fabs(found - wanted);
    return isfinite(error)
               ? error / allowed_at(reference, steps, reference->sums[at], off, wanted, &with)
               : INFINITY;
}

double reference_error(const struct reference *reference, const char *algorithm)
{
    int32_t out = output_of(reference->p);
    const struct tensor *output = &reference->tensors[out];
    struct steps steps;
    int64_t count = count_of(output);
    double largest = 0, worst = 0;
    read_steps(reference->p, &steps);
    for (int64_t i = 0; i < count; i++) {
        largest = fmax(largest, reference->sizes[place_of(output, i)]);
    }
    double off = allowed_off(&reference->tensors[(out + 1) % 3], &reference->tensors[(out + 2) % 3],
                             algorithm, largest);
    for (int64_t i = 0; i < count; i++) {
        worst = fmax(worst, error_at(reference, &steps, i, off));
    }
    return worst;
}

struct reference *reference_new(const struct skipjackdb_problem *problem,
                                const struct tensor *tensors)
{
    struct reference *made = allocate(1, sizeof *made);
    int32_t out = output_of(problem);
    made->p = problem;
    made->tensors = tensors;
    size_t elements[3];
    for (int32_t t = 0; t < 3; t++) {
        elements[t] = tensors[t].bytes / type_bytes(tensors[t].type);
        made->values[t] = allocate(elements[t], sizeof *made->values[t]);
        for (size_t i = 0; t != out && i < elements[t]; i++) {
            made->values[t][i] = load(tensors[t].type, tensors[t].stored, (int64_t)i);
        }
    }
    made->sums = made->values[out];
    made->sizes = allocate(elements[out], sizeof *made->sizes);
    convolve(made);
    return made;
}

void reference_free(struct reference *reference)
{
    if (reference == NULL) {
        return;
    }
    for (int32_t t = 0; t < 3; t++) {
        free(reference->values[t]);
    }
    free(reference->sizes);
    free(reference);
}
