#include "worker/verify/reference_element.h"

#include <math.h>

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
 * false if it lies in the padding. */
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
 * filter position f. Returns false if there is none. */
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
    switch (p->direction) {
    case DIRECTION_F: sum_forward(&e); break;
    case DIRECTION_B: sum_backward(&e); break;
    case DIRECTION_W: sum_weights(&e); break;
    }
    *value = e.value;
    *magnitude = e.magnitude;
}
