#include "tests/support/kernels/operator_reference.h"

#include <math.h>
#include <string.h>

/* An element of the output: where it is, and what it is. */
struct result {
    const struct problem *p;
    const double *x;
    int64_t n, c, at[AXIS_COUNT];
    double value, magnitude;
};

static double element(const struct result *r, int64_t c, const int64_t at[AXIS_COUNT])
{
    const int64_t *in = r->p->in;
    int64_t index = r->n * r->p->c + c;

    for (int a = 0; a < AXIS_COUNT; a++)
        index = index * in[a] + at[a];
    return r->x[index];
}

/* Sets the input position of the window's element number `tap`; false outside of the input. */
static bool tap_at(const struct result *r, int64_t tap, int64_t at[AXIS_COUNT])
{
    const struct problem *p = r->p;
    bool inside = true;

    for (int a = AXIS_COUNT - 1; a >= 0; a--) {
        at[a] = r->at[a] * p->stride[a] - p->pad[a] + tap % p->fil[a] * p->dilation[a];
        inside = inside && at[a] >= 0 && at[a] < p->in[a];
        tap /= p->fil[a];
    }
    return inside;
}

static int64_t pool(struct result *r)
{
    int64_t taps = r->p->fil[0] * r->p->fil[1] * r->p->fil[2], inside = 0, at[AXIS_COUNT];
    double sum = 0, largest = -INFINITY;

    for (int64_t tap = 0; tap < taps; tap++) {
        if (!tap_at(r, tap, at))
            continue;
        sum += element(r, r->c, at);
        largest = fmax(largest, element(r, r->c, at));
        r->magnitude += fabs(element(r, r->c, at));
        inside++;
    }
    if (strcmp(r->p->mode, "max") == 0) {
        r->value = largest;
        r->magnitude = fabs(largest);
        return 1;
    }
    if (strcmp(r->p->mode, "average_all") == 0)
        inside = taps;
    r->value = sum / (double)inside;
    r->magnitude /= (double)inside;
    return taps;
}

static int64_t pointwise(struct result *r)
{
    r->value = element(r, r->c, r->at);
    r->magnitude = fabs(r->value);
    return 1;
}

/* Errors of a power grow with its exponent. */
static int64_t softmax(struct result *r)
{
    double largest = -INFINITY, sum = 0, v;

    for (int64_t c = 0; c < r->p->c; c++)
        largest = fmax(largest, element(r, c, r->at));
    for (int64_t c = 0; c < r->p->c; c++)
        sum += exp(element(r, c, r->at) - largest);
    v = element(r, r->c, r->at) - largest;
    if (strcmp(r->p->mode, "log") == 0) {
        r->value = v - log(sum);
        r->magnitude = fabs(v) + log(sum) + 1;
    } else {
        r->value = exp(v) / sum;
        r->magnitude = r->value * (4 + fabs(v));
    }
    return r->p->c;
}

/* ---- resize ---- */

/* The position in x of an output position of an axis, by the formulas of ONNX's Resize. */
static double source_position(const char *coordinates, int64_t position, int64_t in, int64_t out)
{
    double scale = (double)out / (double)in, o = (double)position;

    if (strcmp(coordinates, "asymmetric") == 0)
        return o / scale;
    if (strcmp(coordinates, "align_corners") == 0)
        return out > 1 ? o * (double)(in - 1) / (double)(out - 1) : 0;
    if (strcmp(coordinates, "pytorch_half_pixel") == 0 && out == 1)
        return 0;
    return (o + 0.5) / scale - 0.5;
}

/* Rounds a position; what is within 1e-9 of an integer or a half is meant to be that. */
static double nearest(const char *rounding, double position)
{
    double halves = nearbyint(2 * position) / 2;

    if (fabs(position - halves) < 1e-9)
        position = halves;
    if (strcmp(rounding, "floor") == 0)
        return floor(position);
    if (strcmp(rounding, "ceil") == 0)
        return ceil(position);
    if (strcmp(rounding, "round_prefer_floor") == 0)
        return ceil(position - 0.5);
    return floor(position + 0.5);
}

static int64_t within(double position, int64_t in)
{
    return (int64_t)fmin(fmax(position, 0), (double)in - 1);
}

static int64_t resize(struct result *r)
{
    g_auto(GStrv) words = g_strsplit(r->p->mode, ",", -1);
    bool is_linear = strcmp(words[0], "linear") == 0;

    for (int corner = 0; corner < (is_linear ? 8 : 1); corner++) {
        double weight = 1;
        int64_t at[AXIS_COUNT];
        for (int a = 0; a < AXIS_COUNT; a++) {
            double position = source_position(words[1], r->at[a], r->p->in[a], r->p->out[a]);
            double low = floor(position), share = position - low;
            bool far = (corner >> a & 1) != 0;
            at[a] = within(is_linear ? low + far : nearest(words[2], position), r->p->in[a]);
            weight *= !is_linear ? 1 : far ? share : 1 - share;
        }
        r->value += weight * element(r, r->c, at);
        r->magnitude = fmax(r->magnitude, fabs(element(r, r->c, at)));
    }
    return is_linear ? 8 : 1;
}

static int64_t lrn(struct result *r)
{
    g_auto(GStrv) words = g_strsplit(r->p->mode, ",", 4);
    double size = g_ascii_strtod(words[0], NULL), beta = g_ascii_strtod(words[2], NULL);
    int64_t first = r->c - (int64_t)floor((size - 1) / 2),
            last = r->c + (int64_t)ceil((size - 1) / 2);
    double sum = 0, base;

    for (int64_t c = MAX(first, 0); c <= MIN(last, r->p->c - 1); c++)
        sum += element(r, c, r->at) * element(r, c, r->at);
    base = g_ascii_strtod(words[3], NULL) + g_ascii_strtod(words[1], NULL) / size * sum;
    r->value = element(r, r->c, r->at) / pow(base, beta);
    r->magnitude = fabs(r->value) * (4 + fabs(beta) * (4 + fabs(log(base))));
    return (int64_t)size;
}

int64_t operator_reference(const struct problem *p, double *const plain[TENSOR_COUNT],
                           double *magnitude)
{
    static int64_t (*const kinds[OP_KIND_COUNT])(struct result *) = {
        [OP_POOL] = pool, [OP_POINTWISE] = pointwise, [OP_SOFTMAX] = softmax, [OP_RESIZE] = resize,
        [OP_LRN] = lrn,
    };
    int64_t image = p->out[0] * p->out[1] * p->out[2], longest = 1;

    for (int64_t i = 0; i < p->n * p->k * image; i++) {
        struct result r = {.p = p, .x = plain[TENSOR_X]};
        int64_t rest = i;
        for (int a = AXIS_COUNT - 1; a >= 0; a--) {
            r.at[a] = rest % p->out[a];
            rest /= p->out[a];
        }
        r.c = rest % p->k;
        r.n = rest / p->k;
        int64_t terms = kinds[p->kind](&r);
        longest = MAX(longest, terms);
        plain[TENSOR_Y][i] = r.value;
        magnitude[i] = r.magnitude;
    }
    return longest;
}
