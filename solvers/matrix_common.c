#include "solvers/matrix_common.h"

#include "solvers/conv_common.h"

#define CHANNELS_A_LOAD 8 /* of 16 bytes */

/* ---- the product ---- */

double matrix_taps(const struct problem *p)
{
    return (double)p->fil[AXIS_H] * (double)p->fil[AXIS_W];
}

struct matrix_product matrix_product_of(const struct problem *p)
{
    double c = (double)(p->c / p->groups), k = (double)(p->k / p->groups), n = (double)p->n;
    double x = n * (double)p->in[AXIS_H] * (double)p->in[AXIS_W];
    double y = n * (double)p->out[AXIS_H] * (double)p->out[AXIS_W];

    switch (p->direction) {
    case DIRECTION_F: return (struct matrix_product){y, k, c * matrix_taps(p), (double)p->groups};
    case DIRECTION_B: return (struct matrix_product){x, c, k * matrix_taps(p), (double)p->groups};
    default: return (struct matrix_product){k, c, y, (double)p->groups * matrix_taps(p)};
    }
}

double matrix_blocks(double count, int block)
{
    return (double)conv_divide_up((int64_t)count, block);
}

double matrix_workgroups(const struct problem *p, int block_m, int block_n)
{
    const struct matrix_product product = matrix_product_of(p);

    return matrix_blocks(product.rows, block_m) * matrix_blocks(product.columns, block_n) *
           product.layers;
}

bool matrix_block_suits(const struct problem *p, int block_m, int block_n)
{
    const struct matrix_product product = matrix_product_of(p);

    return (block_m == MATRIX_SMALLEST || block_m < 2 * product.rows) &&
           (block_n == MATRIX_SMALLEST || block_n < 2 * product.columns);
}

/* ---- what is served ---- */

static bool tensors_are_served(const struct problem *p, const char **reason)
{
    *reason = "needs FP16 or BF16, and one type for all tensors";
    if (p->type[TENSOR_X] != TYPE_FP16 && p->type[TENSOR_X] != TYPE_BF16)
        return false;
    for (int t = 0; t < TENSOR_COUNT; t++) {
        if (p->type[t] != p->type[TENSOR_X])
            return false;
    }
    *reason = "needs two dimensions and the layout NHWC";
    for (int t = 0; t < TENSOR_COUNT; t++) {
        if (p->layout[t] != LAYOUT_NHWC)
            return false;
    }
    return true;
}

bool matrix_serves(const struct problem *p, const char **reason)
{
    if (!conv_is_plain(p, reason) || !tensors_are_served(p, reason) ||
        !conv_counts_fit_32_bits(p, reason))
        return false;
    *reason = "needs channels of a group in eights";
    if (p->c / p->groups % CHANNELS_A_LOAD != 0 || p->k / p->groups % CHANNELS_A_LOAD != 0)
        return false;
    const struct matrix_product product = matrix_product_of(p);
    *reason = "needs fewer groups, channels and filter positions: a grid's axes are short";
    return product.layers <= MATRIX_GRID_MOST &&
           product.columns <= (double)MATRIX_SMALLEST * MATRIX_GRID_MOST &&
           product.rows < (double)(INT32_MAX - 256);
}

/* ---- the launch ---- */

static void add_plane(struct launch *launch, const int64_t *sizes)
{
    launch_arg_int32(launch, sizes[AXIS_H]);
    launch_arg_int32(launch, sizes[AXIS_W]);
}

void matrix_add_shape(const struct problem *p, struct launch *launch)
{
    launch_arg_int32(launch, p->n);
    launch_arg_int32(launch, p->c / p->groups);
    launch_arg_int32(launch, p->k / p->groups);
    launch_arg_int32(launch, p->groups);
    add_plane(launch, p->in);
    add_plane(launch, p->out);
    add_plane(launch, p->fil);
    add_plane(launch, p->pad);
    add_plane(launch, p->stride);
    add_plane(launch, p->dilation);
}
