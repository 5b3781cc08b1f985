#include "worker/verify/reference_element.h"

#include <math.h>
#include <string.h>

#include "worker/verify/reference_kinds.h"

/* One output element while its sum is computed. */
struct element {
    const struct problem *p;
    const struct reference_inputs *inputs;
    /* The element's first two coordinates: (n, c) of x, (n, k) of y, or (k, c) of w. */
    int64_t i, j;
    int64_t at[AXIS_COUNT]; /* the others */
    double value, magnitude;
};

static int64_t volume(const int64_t size[AXIS_COUNT])
{
    return size[0] * size[1] * size[2];
}

static void split(int64_t flat, const int64_t size[AXIS_COUNT], int64_t at[AXIS_COUNT])
{
    for (int a = AXIS_COUNT - 1; a >= 0; a--) {
        at[a] = flat % size[a];
        flat /= size[a];
    }
}

/* Moves to the next position in a box of these sizes, the last axis fastest. Returns false
 * behind the last position. */
static bool next_place(const int64_t size[AXIS_COUNT], int64_t at[AXIS_COUNT])
{
    for (int a = AXIS_COUNT - 1; a >= 0; a--) {
        if (++at[a] < size[a])
            return true;
        at[a] = 0;
    }
    return false;
}

/* The logical index of (i, j, at) in a tensor whose second axis has `channels` places. */
static int64_t index_of(int64_t i, int64_t channels, int64_t j, const int64_t size[AXIS_COUNT],
                        const int64_t at[AXIS_COUNT])
{
    return (((i * channels + j) * size[0] + at[0]) * size[1] + at[1]) * size[2] + at[2];
}

static void add(struct element *e, enum tensor_role a, int64_t a_at, enum tensor_role b,
                int64_t b_at)
{
    double product =
        e->inputs->input(e->inputs->data, a, a_at) * e->inputs->input(e->inputs->data, b, b_at);

    e->value += product;
    e->magnitude += fabs(product);
}

/* Sets the input position that output position `out` multiplies with filter position f. Returns
 * false if that position is padding. */
static bool meets(const struct problem *p, const int64_t out[AXIS_COUNT],
                  const int64_t f[AXIS_COUNT], int64_t in[AXIS_COUNT])
{
    for (int a = 0; a < AXIS_COUNT; a++) {
        in[a] = out[a] * p->stride[a] - p->pad[a] + f[a] * p->dilation[a];
        if (in[a] < 0 || in[a] >= p->in[a])
            return false;
    }
    return true;
}

/* The inverse of meets(): sets the output position that multiplies this input position with
 * filter position f. Returns false if no output position does. */
static bool is_met(const struct problem *p, const int64_t in[AXIS_COUNT],
                   const int64_t f[AXIS_COUNT], int64_t out[AXIS_COUNT])
{
    for (int a = 0; a < AXIS_COUNT; a++) {
        int64_t at = in[a] + p->pad[a] - f[a] * p->dilation[a];
        out[a] = at / p->stride[a];
        if (at < 0 || at % p->stride[a] != 0 || out[a] >= p->out[a])
            return false;
    }
    return true;
}

static void sum_forward(struct element *e)
{
    const struct problem *p = e->p;
    int64_t c = p->c / p->groups, first = e->j / (p->k / p->groups) * c;
    int64_t f[AXIS_COUNT] = {0}, in[AXIS_COUNT];

    do {
        for (int64_t i = 0; meets(p, e->at, f, in) && i < c; i++)
            add(e, TENSOR_X, index_of(e->i, p->c, first + i, p->in, in), TENSOR_W,
                index_of(e->j, c, i, p->fil, f));
    } while (next_place(p->fil, f));
}

static void sum_backward(struct element *e)
{
    const struct problem *p = e->p;
    int64_t c = p->c / p->groups, k = p->k / p->groups, first = e->j / c * k;
    int64_t f[AXIS_COUNT] = {0}, out[AXIS_COUNT];

    do {
        for (int64_t i = first; is_met(p, e->at, f, out) && i < first + k; i++)
            add(e, TENSOR_Y, index_of(e->i, p->k, i, p->out, out), TENSOR_W,
                index_of(i, c, e->j % c, p->fil, f));
    } while (next_place(p->fil, f));
}

static void sum_weights(struct element *e)
{
    const struct problem *p = e->p;
    int64_t channel = e->i / (p->k / p->groups) * (p->c / p->groups) + e->j;

    for (int64_t n = 0; n < p->n; n++) {
        int64_t out[AXIS_COUNT] = {0}, in[AXIS_COUNT];
        do {
            if (meets(p, out, e->at, in))
                add(e, TENSOR_X, index_of(n, p->c, channel, p->in, in), TENSOR_Y,
                    index_of(n, p->k, e->i, p->out, out));
        } while (next_place(p->out, out));
    }
}

static void sum_products(struct element *e)
{
    switch (e->p->direction) {
    case DIRECTION_F: sum_forward(e); break;
    case DIRECTION_B: sum_backward(e); break;
    case DIRECTION_W: sum_weights(e); break;
    }
}

/* ---- the other operators: element (i, j) of y belongs to image i and channel j, as in x ---- */

static double x_at(const struct element *e, int64_t channel, const int64_t at[AXIS_COUNT])
{
    return e->inputs->input(e->inputs->data, TENSOR_X,
                            index_of(e->i, e->p->c, channel, e->p->in, at));
}

static void pool_element(struct element *e)
{
    const struct problem *p = e->p;
    int64_t f[AXIS_COUNT] = {0}, in[AXIS_COUNT], inside = 0;
    double largest = -INFINITY;

    do {
        if (!meets(p, e->at, f, in))
            continue;
        double element = x_at(e, e->j, in);
        e->value += element;
        e->magnitude += fabs(element);
        largest = fmax(largest, element);
        inside++;
    } while (next_place(p->fil, f));
    double count = (double)(strcmp(p->mode, "average_all") == 0 ? volume(p->fil) : inside);
    bool is_max = strcmp(p->mode, "max") == 0;
    e->value = is_max ? largest : e->value / count;
    e->magnitude = is_max ? fabs(largest) : e->magnitude / count;
}

static void copy_element(struct element *e)
{
    e->value = x_at(e, e->j, e->at);
    e->magnitude = fabs(e->value);
}

static void softmax_element(struct element *e)
{
    double mine = x_at(e, e->j, e->at), largest = mine, sum = 0;

    for (int64_t c = 0; c < e->p->c; c++)
        largest = fmax(largest, x_at(e, c, e->at));
    for (int64_t c = 0; c < e->p->c; c++)
        sum += exp(x_at(e, c, e->at) - largest);
    double power = mine - largest;
    e->value = strcmp(e->p->mode, "log") == 0 ? power - log(sum) : exp(power) / sum;
    e->magnitude =
        strcmp(e->p->mode, "log") == 0 ? fabs(power) + log(sum) + 1 : e->value * (4 + fabs(power));
}

/* The position in x, on an axis, of an output position: a quotient of integers, so halves are exact. */
static double resize_position(const char *coordinates, double at, double in, double out)
{
    if (strcmp(coordinates, "asymmetric") == 0)
        return at * in / out;
    if (strcmp(coordinates, "align_corners") == 0)
        return out > 1 ? at * (in - 1) / (out - 1) : 0;
    if (strcmp(coordinates, "pytorch_half_pixel") == 0 && out == 1)
        return 0;
    return ((2 * at + 1) * in - out) / (2 * out);
}

static double resize_round(const char *rounding, double position)
{
    if (strcmp(rounding, "floor") == 0)
        return floor(position);
    if (strcmp(rounding, "ceil") == 0)
        return ceil(position);
    return strcmp(rounding, "round_prefer_floor") == 0 ? ceil(position - 0.5)
                                                       : floor(position + 0.5);
}

static int64_t keep_inside(double position, int64_t size)
{
    return (int64_t)fmin(fmax(position, 0), (double)(size - 1));
}

static void resize_element(struct element *e)
{
    const struct problem *p = e->p;
    g_auto(GStrv) words = g_strsplit(p->mode, ",", 3);
    bool is_linear = strcmp(words[0], "linear") == 0;
    const int64_t ends[AXIS_COUNT] = {2, 2, 2};
    int64_t end[AXIS_COUNT] = {0}; /* of each axis: 0 for the position below, 1 for the one above */

    do {
        double weight = 1;
        int64_t in[AXIS_COUNT];
        for (int a = 0; a < AXIS_COUNT; a++) {
            double position =
                resize_position(words[1], (double)e->at[a], (double)p->in[a], (double)p->out[a]);
            double below = is_linear ? floor(position) : resize_round(words[2], position);
            double share = is_linear ? position - below : 0;
            weight *= end[a] ? share : 1 - share;
            in[a] = keep_inside(below + (double)end[a], p->in[a]);
        }
        if (weight == 0)
            continue;
        double element = x_at(e, e->j, in);
        e->value += weight * element;
        e->magnitude = fmax(e->magnitude, fabs(element));
    } while (next_place(ends, end));
}

static void lrn_element(struct element *e)
{
    const struct lrn_mode lrn = lrn_mode_of(e->p);
    double reach = floor((lrn.size - 1) / 2), squares = 0;

    for (int64_t c = 0; c < e->p->c; c++) {
        double away = (double)(c - e->j) + reach;
        if (away >= 0 && away < lrn.size)
            squares += pow(x_at(e, c, e->at), 2);
    }
    double base = lrn.bias + lrn.alpha / lrn.size * squares;
    e->value = x_at(e, e->j, e->at) / pow(base, lrn.beta);
    e->magnitude = fabs(e->value) * (4 + fabs(lrn.beta) * (4 + fabs(log(base))));
}

/* ---- an element of any operator ---- */

static void compute(struct element *e)
{
    double least, most;

    switch (e->p->kind) {
    case OP_CONV: sum_products(e); return;
    case OP_POOL: pool_element(e); break;
    case OP_POINTWISE: copy_element(e); break;
    case OP_SOFTMAX: softmax_element(e); break;
    case OP_RESIZE: resize_element(e); break;
    case OP_LRN: lrn_element(e); break;
    }
    reference_range(e->p, &least, &most);
    if (!isnan(e->value))
        e->value = fmin(fmax(e->value, least), most);
}

void reference_element(const struct problem *p, const struct reference_inputs *inputs,
                       int64_t index, double *value, double *magnitude)
{
    struct element e = {.p = p, .inputs = inputs};
    enum tensor_role out = problem_output_role(p);
    const int64_t *size = out == TENSOR_X ? p->in : out == TENSOR_W ? p->fil : p->out;
    int64_t channels = out == TENSOR_X ? p->c : out == TENSOR_W ? p->c / p->groups : p->k;

    split(index % volume(size), size, e.at);
    e.j = index / volume(size) % channels;
    e.i = index / volume(size) / channels;
    compute(&e);
    *value = e.value;
    *magnitude = e.magnitude;
}
