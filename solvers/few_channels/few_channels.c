#include "solvers/few_channels/few_channels.h"

#include "solvers/common/conv_common.h"

#define CHUNK_BYTES    16
#define CHUNK_ELEMENTS 8 /* elements of FP16 and BF16 in a chunk of 16 bytes */

bool few_channels_is_nhwc(const struct problem *p)
{
    return p->layout[TENSOR_X] == LAYOUT_NHWC;
}

static bool tensors_are_alike(const struct problem *p)
{
    for (int t = 1; t < TENSOR_COUNT; t++) {
        if (p->type[t] != p->type[TENSOR_X] || p->layout[t] != p->layout[TENSOR_X])
            return false;
    }
    return true;
}

/* Whether an image's offsets fit 32 bits: kernels compute an image's address once and count in int within the image.
 * */
static bool images_fit_32_bits(const struct problem *p)
{
    double x = (double)p->c * (double)p->in[AXIS_H] * (double)p->in[AXIS_W];
    double y = (double)p->k * (double)p->out[AXIS_H] * (double)p->out[AXIS_W];

    return x < INT32_MAX / 2 && y < INT32_MAX / 2;
}

bool few_channels_serves(const struct problem *p, const struct context *context,
                         const char **reason)
{
    if (context_is_cpu(context)) {
        *reason = "needs a GPU";
        return false;
    }
    if (p->c > FEW_CHANNELS_MOST || p->groups != 1 || p->spatial_dim != 2) {
        *reason = "needs at most 4 input channels, one group and 2 dimensions";
        return false;
    }
    if (!tensors_are_alike(p) || (p->layout[TENSOR_X] != LAYOUT_NCHW && !few_channels_is_nhwc(p))) {
        *reason = "needs tensors of one type, all NCHW or all NHWC";
        return false;
    }
    if (p->type[TENSOR_X] != TYPE_FP32 && p->type[TENSOR_X] != TYPE_FP16 &&
        p->type[TENSOR_X] != TYPE_BF16) {
        *reason = "needs FP32, FP16 or BF16";
        return false;
    }
    if (!images_fit_32_bits(p)) {
        *reason = "needs images of fewer than 2^30 elements";
        return false;
    }
    return conv_is_plain(p, reason) && conv_counts_fit_32_bits(p, reason);
}

int64_t few_channels_even(int64_t count, int64_t most)
{
    return conv_divide_up(count, conv_divide_up(count, most));
}

int64_t few_channels_up_to_fours(int64_t count)
{
    return conv_divide_up(count, 4) * 4;
}

int64_t few_channels_rows(const struct problem *p)
{
    return p->n * p->out[AXIS_H];
}

int64_t few_channels_part_rows(const struct problem *p, int32_t parts)
{
    return conv_divide_up(few_channels_rows(p), parts);
}

int64_t few_channels_parts(const struct problem *p, int32_t parts)
{
    return conv_divide_up(few_channels_rows(p), few_channels_part_rows(p, parts));
}

int64_t few_channels_weights(const struct problem *p)
{
    return p->k * p->c * p->fil[AXIS_H] * p->fil[AXIS_W];
}

void few_channels_choose_parts(const struct space *space, const struct problem *p,
                               const struct context *context, int64_t blocks,
                               struct perf_config *config)
{
    const int at = space->param_count - 1;
    const struct space_param *parts = &space->params[at];
    const int64_t wanted = (int64_t)context->target->compute_units * 2;

    for (int i = 1; i < parts->count; i++) {
        struct perf_config more = *config;
        if (few_channels_parts(p, config->values[at]) * blocks >= wanted)
            return;
        more.values[at] = parts->values[i];
        if (space_contains(space, p, context, &more, NULL))
            *config = more;
    }
}

bool few_channels_in_chunks(const struct problem *p, int64_t elements)
{
    return elements * data_type_bytes(p->type[TENSOR_X]) % CHUNK_BYTES == 0;
}

int64_t few_channels_step(const struct problem *p)
{
    return few_channels_is_nhwc(p) ? p->c : 1;
}

int64_t few_channels_lead(const struct problem *p)
{
    int64_t rest = p->pad[AXIS_W] * few_channels_step(p) % CHUNK_ELEMENTS;

    return rest == 0 ? 0 : CHUNK_ELEMENTS - rest;
}

static void add_shape_options(const struct problem *p, struct launch *launch)
{
    launch_option_text(launch, "TYPE", data_type_name(p->type[TENSOR_X]));
    launch_option_int(launch, "C", p->c);
    launch_option_int(launch, "FIL_H", p->fil[AXIS_H]);
    launch_option_int(launch, "FIL_W", p->fil[AXIS_W]);
    launch_option_int(launch, "STRIDE_H", p->stride[AXIS_H]);
    launch_option_int(launch, "STRIDE_W", p->stride[AXIS_W]);
    launch_option_int(launch, "DILATION_H", p->dilation[AXIS_H]);
}

void few_channels_add_matrix_options(const struct problem *p, struct launch *launch)
{
    add_shape_options(p, launch);
    launch_option_text(launch, "LANE", conv_sum_type(p));
    launch_option_int(launch, "LEAD", few_channels_lead(p));
}

void few_channels_add_options(const struct problem *p, struct launch *launch)
{
    add_shape_options(p, launch);
    launch_option_int(launch, "NHWC", few_channels_is_nhwc(p));
    launch_option_int(launch, "DILATION_W", p->dilation[AXIS_W]);
}

void few_channels_add_image(const struct problem *p, struct launch *launch)
{
    launch_arg_int32(launch, p->k);
    launch_arg_int32(launch, p->in[AXIS_H]);
    launch_arg_int32(launch, p->in[AXIS_W]);
    launch_arg_int32(launch, p->out[AXIS_H]);
    launch_arg_int32(launch, p->out[AXIS_W]);
    launch_arg_int32(launch, p->pad[AXIS_H]);
    launch_arg_int32(launch, p->pad[AXIS_W]);
}
