#include "solvers/common/small_product.h"

#include "solvers/common/conv_common.h"
#include "solvers/common/conv_epilogue.h"

/* Whether each image is one row: the filter is the whole image. Otherwise each position is a row. */
static bool filter_is_image(const struct problem *p)
{
    for (int a = 0; a < AXIS_COUNT; a++) {
        if (p->fil[a] != p->in[a] || p->out[a] != 1 || p->pad[a] != 0 ||
            (p->dilation[a] != 1 && p->fil[a] != 1))
            return false;
    }
    return true;
}

/* Whether filters have one position, and meet each position. */
static bool filter_is_position(const struct problem *p)
{
    for (int a = 0; a < AXIS_COUNT; a++) {
        if (p->fil[a] != 1 || p->stride[a] != 1 || p->pad[a] != 0)
            return false;
    }
    return true;
}

bool small_product_is_one(const struct problem *p)
{
    return filter_is_image(p) || filter_is_position(p);
}

/* Whether the tensors are packed matrices. */
static bool layouts_are_served(const struct problem *p, const char **reason)
{
    if (!conv_images_follow(p, reason))
        return false;
    if (filter_is_image(p)) {
        *reason = "needs x and w of one layout";
        return p->layout[TENSOR_X] == p->layout[TENSOR_W];
    }
    *reason = "needs a filter that is the whole image, or a 1x1 filter of stride 1 without padding "
              "and channels innermost";
    return filter_is_position(p) && conv_is_channels_last(p->layout[TENSOR_X]) &&
           conv_is_channels_last(p->layout[TENSOR_Y]);
}

bool small_product_serves(const struct problem *p, const char **reason)
{
    if (p->groups != 1) {
        *reason = "needs one group";
        return false;
    }
    return conv_is_plain(p, reason) && layouts_are_served(p, reason) &&
           conv_counts_fit_32_bits(p, reason);
}

struct small_product small_product_of(const struct problem *p)
{
    int64_t images = p->n, inner = p->c;

    for (int a = 0; a < AXIS_COUNT; a++) {
        if (filter_is_image(p))
            inner *= p->in[a];
        else
            images *= p->in[a];
    }
    if (p->direction == DIRECTION_F)
        return (struct small_product){images, p->k, inner};
    if (p->direction == DIRECTION_B)
        return (struct small_product){images, inner, p->k};
    return (struct small_product){p->k, inner, images};
}

double small_product_macs(const struct small_product *product)
{
    return (double)product->rows * (double)product->columns * (double)product->terms;
}

bool small_product_is_small(const struct small_product *product, const char **reason)
{
    *reason = "needs at most 2^31 multiply-accumulates";
    return small_product_macs(product) <= SMALL_PRODUCT_MACS_MOST;
}

int64_t small_product_inner_a(const struct problem *p)
{
    const struct small_product product = small_product_of(p);

    return p->direction == DIRECTION_W ? product.rows : product.terms;
}

int64_t small_product_inner_b(const struct problem *p)
{
    const struct small_product product = small_product_of(p);

    return p->direction == DIRECTION_F ? product.terms : product.columns;
}

/* Columns that neighbour each other within a channel of the output. */
static int64_t channel_step(const struct problem *p)
{
    if (p->direction == DIRECTION_F || !filter_is_image(p) ||
        conv_is_channels_last(p->layout[TENSOR_X]))
        return 1;
    return p->in[AXIS_D] * p->in[AXIS_H] * p->in[AXIS_W];
}

void small_product_add_epilogue_args(const struct problem *p, struct launch *launch)
{
    if (p->epilogue[0] == '\0')
        return;
    launch_arg_int32(launch, channel_step(p));
    launch_arg_int32(launch, p->direction == DIRECTION_F ? p->k : p->c);
    conv_add_epilogue_args(p, launch);
}
