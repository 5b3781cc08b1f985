#include "solvers/implicit_gemm/simt_operands.h"

#include "solvers/common/conv_common.h"

bool simt_is_nhwc(const struct problem *p)
{
    return p->layout[TENSOR_X] == LAYOUT_NHWC;
}

int64_t simt_taps(const struct problem *p)
{
    return p->fil[AXIS_H] * p->fil[AXIS_W];
}

/* Whether a 1x1 filter reads every second position of every second row. */
static bool is_spread(const struct problem *p)
{
    for (int a = AXIS_H; a <= AXIS_W; a++) {
        if (p->stride[a] != 2 || p->pad[a] != 0 || p->in[a] != 2 * p->out[a])
            return false;
    }
    return p->direction == DIRECTION_B && simt_taps(p) == 1 && !simt_is_nhwc(p);
}

/* The most filter positions of an axis that reach one input position, as in walk_along() of conv_walk.h. */
static int64_t reaching_taps(const struct problem *p, int axis)
{
    return conv_divide_up(p->fil[axis],
                          p->stride[axis] / conv_gcd(p->stride[axis], p->dilation[axis]));
}

struct tile_product simt_product_sizes(const struct problem *p)
{
    struct tile_product product = {.layers = (double)p->groups};

    conv_gemm_sizes(p, &product.m, &product.n, &product.k);
    if (!is_spread(p))
        product.part_bytes =
            (uint64_t)problem_tensor_elements(p, problem_output_role(p)) * sizeof(float);
    if (p->direction != DIRECTION_B)
        return product;
    product.n = (double)p->n;
    product.k = (double)(p->k / p->groups);
    for (int a = AXIS_H; a <= AXIS_W; a++) {
        product.n *= (double)((p->in[a] - 1) / p->stride[a] + 1);
        product.k *= (double)reaching_taps(p, a);
        if (!is_spread(p))
            product.layers *= (double)MIN(p->stride[a], p->in[a]);
    }
    return product;
}

/* Whether a 1x1 filter reads positions in memory order, in complete groups of four. */
static bool positions_are_plain(const struct problem *p, bool any_stride)
{
    bool stride_1 = p->stride[AXIS_H] == 1 && p->stride[AXIS_W] == 1;

    return simt_taps(p) == 1 && p->pad[AXIS_H] == 0 && p->pad[AXIS_W] == 0 &&
           (stride_1 || any_stride) && p->out[AXIS_H] * p->out[AXIS_W] % 4 == 0;
}

bool simt_a_has_quads(const struct problem *p)
{
    int64_t c = p->c / p->groups, k = p->k / p->groups;

    switch (p->direction) {
    case DIRECTION_F: return c * simt_taps(p) % 4 == 0;
    case DIRECTION_B: return c % 4 == 0 && (simt_is_nhwc(p) || simt_taps(p) == 1);
    default: return simt_is_nhwc(p) ? k % 4 == 0 : p->out[AXIS_H] * p->out[AXIS_W] % 4 == 0;
    }
}

bool simt_b_has_quads(const struct problem *p)
{
    bool backward = p->direction == DIRECTION_B;

    if (simt_is_nhwc(p))
        return (backward ? p->k : p->c) / p->groups % 4 == 0;
    return positions_are_plain(p, backward);
}

/* The same for c, or for the parts of w, whose layout is NCHW's. */
static bool c_has_quads(const struct problem *p, bool is_split)
{
    int64_t c = p->c / p->groups, k = p->k / p->groups;

    switch (p->direction) {
    case DIRECTION_F: return (simt_is_nhwc(p) ? k : p->out[AXIS_H] * p->out[AXIS_W]) % 4 == 0;
    case DIRECTION_B:
        return simt_is_nhwc(p) ? c % 4 == 0
                               : p->stride[AXIS_H] == 1 && p->stride[AXIS_W] == 1 &&
                                     p->in[AXIS_H] * p->in[AXIS_W] % 4 == 0;
    default: return c * simt_taps(p) % 4 == 0 && !(is_split && simt_is_nhwc(p) && simt_taps(p) > 1);
    }
}

enum simt_store simt_store_of(const struct problem *p, bool is_split)
{
    if (is_spread(p))
        return p->out[AXIS_W] % 4 == 0 ? SIMT_STORE_QUADS_SPREAD : SIMT_STORE_PAIRS_SPREAD;
    return c_has_quads(p, is_split) ? SIMT_STORE_QUADS : SIMT_STORE_EACH;
}
