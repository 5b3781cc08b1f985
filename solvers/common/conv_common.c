#include "solvers/common/conv_common.h"
#include "solvers/common/conv_epilogue.h"

#include <math.h>

/* Elements past a tensor's end that a tile may address; tensors must be this much smaller than 2^31 elements. */
#define OFFSET_MARGIN (1 << 20)
/* Positions past the end of an axis that a tile may cover; the longest tile, ConvDirectTiled's, has 512. */
#define TILE_MARGIN   1024

int64_t conv_divide_up(int64_t count, int64_t by)
{
    return (count + by - 1) / by;
}

int64_t conv_gcd(int64_t a, int64_t b)
{
    while (b) {
        int64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

double conv_used_part(double count, int block)
{
    return count / (ceil(count / block) * block);
}

static bool is_16_or_32_bit_float(enum data_type type)
{
    return type == TYPE_FP32 || type == TYPE_FP16 || type == TYPE_BF16;
}

bool conv_is_uncast(const struct problem *p, const char **reason)
{
    for (int t = 0; t < TENSOR_COUNT; t++) {
        if (p->cast[t] != TYPE_NONE) {
            *reason = "needs tensors without cast types";
            return false;
        }
    }
    return true;
}

bool conv_is_plain(const struct problem *p, const char **reason)
{
    return conv_is_uncast(p, reason) && conv_epilogue_is_served(p, false, reason);
}

bool conv_is_float8(const struct problem *p)
{
    enum tensor_role out = problem_output_role(p);

    for (int t = 0; t < TENSOR_COUNT; t++) {
        bool is_float8 = p->type[t] == TYPE_FP8 || p->type[t] == TYPE_BF8;
        bool is_output = (enum tensor_role)t == out;
        if (!is_float8 && !(is_output && is_16_or_32_bit_float(p->type[t])))
            return false;
    }
    return true;
}

int64_t conv_reach(const struct problem *p, enum axis axis)
{
    return p->in[axis] + 2 * p->pad[axis] + p->dilation[axis] * (p->fil[axis] - 1);
}

bool conv_is_int8(const struct problem *p)
{
    enum data_type y = p->type[TENSOR_Y];

    if (p->type[TENSOR_X] != TYPE_INT8 || p->type[TENSOR_W] != TYPE_INT8)
        return false;
    return y == TYPE_INT32 ||
           (p->epilogue[0] != '\0' && (y == TYPE_INT8 || is_16_or_32_bit_float(y)));
}

bool conv_floats_are_served(const struct problem *p, const char **reason)
{
    bool all = true;

    for (int t = 0; t < TENSOR_COUNT; t++) {
        enum data_type type = p->type[t];
        all = all && (is_16_or_32_bit_float(type) || type == TYPE_FP8 || type == TYPE_BF8);
    }
    return all || conv_types_are_served(p, reason);
}

bool conv_types_are_served(const struct problem *p, const char **reason)
{
    if (is_16_or_32_bit_float(p->type[TENSOR_X]) && is_16_or_32_bit_float(p->type[TENSOR_W]) &&
        is_16_or_32_bit_float(p->type[TENSOR_Y]))
        return true;
    if (!conv_is_int8(p)) {
        *reason = p->epilogue[0] != '\0'
                      ? "needs FP32, FP16 or BF16 tensors, or INT8 with an output that is not FP64"
                      : "needs FP32, FP16 or BF16 tensors, or INT8 with an INT32 output";
        return false;
    }
    if (p->direction != DIRECTION_F) {
        *reason = "needs the forward direction for INT8";
        return false;
    }
    return true;
}

const char *conv_sum_type(const struct problem *p)
{
    return conv_is_int8(p) ? "int" : "float";
}

bool conv_layouts_are_plain(const struct problem *p, const char **reason)
{
    for (int t = 0; t < TENSOR_COUNT; t++) {
        if (problem_layout_block(p->layout[t]) > 1) {
            *reason = "needs layouts without blocks of channels";
            return false;
        }
    }
    return true;
}

bool conv_images_follow(const struct problem *p, const char **reason)
{
    if (!conv_layouts_are_plain(p, reason))
        return false;
    for (int t = 0; t < TENSOR_COUNT; t++) {
        if (p->layout[t] == LAYOUT_CHWN) {
            *reason = "needs layouts in which images follow each other";
            return false;
        }
    }
    return true;
}

bool conv_is_channels_last(enum layout layout)
{
    return layout == LAYOUT_NHWC || layout == LAYOUT_NDHWC;
}

bool conv_is_planes(enum layout layout)
{
    return layout == LAYOUT_NCHW || layout == LAYOUT_NCDHW;
}

/* Whether outputs along the axis are at the same positions as their only inputs. */
static bool is_pointwise(const struct problem *p, enum axis axis)
{
    return p->fil[axis] == 1 && p->stride[axis] == 1 && p->pad[axis] == 0;
}

/* Makes AXIS_W one line of the pointwise axes H and W, and AXIS_H what the depth is. */
static void make_planes_lines(struct problem *p)
{
    p->in[AXIS_W] *= p->in[AXIS_H];
    p->out[AXIS_W] *= p->out[AXIS_H];
    p->dilation[AXIS_W] = 1;
    p->in[AXIS_H] = p->in[AXIS_D];
    p->out[AXIS_H] = p->out[AXIS_D];
    p->fil[AXIS_H] = p->fil[AXIS_D];
    p->pad[AXIS_H] = p->pad[AXIS_D];
    p->stride[AXIS_H] = p->stride[AXIS_D];
    p->dilation[AXIS_H] = p->dilation[AXIS_D];
}

static void drop_depth(struct problem *p)
{
    p->in[AXIS_D] = p->out[AXIS_D] = p->fil[AXIS_D] = 1;
    p->stride[AXIS_D] = p->dilation[AXIS_D] = 1;
    p->pad[AXIS_D] = 0;
    p->spatial_dim = 2;
}

/* Whether in x, w and y the logical axes `outer` and `inner` lie as one axis would, the inner one running faster. */
static bool axes_are_one(const struct problem *p, int outer, int inner)
{
    for (int t = 0; problem_is_strided(p) && t < TENSOR_COUNT; t++) {
        int64_t sizes[5], strides[5];
        problem_operand_sizes(p, (enum tensor_role)t, sizes);
        problem_strides(p, (enum tensor_role)t, strides);
        if (sizes[outer] > 1 && sizes[inner] > 1 && strides[outer] != sizes[inner] * strides[inner])
            return false;
    }
    return true;
}

/* The stride of two axes that are one. */
static int64_t joint_stride(const int64_t sizes[5], const int64_t strides[5], int outer, int inner)
{
    return sizes[inner] > 1 ? strides[inner] : strides[outer];
}

/* Sets the strides of x, w and y in *flat, whose planes of depth are images of p, or rows. */
static void flatten_strides(const struct problem *p, bool planes_are_images, struct problem *flat)
{
    for (int t = 0; problem_is_strided(p) && t < TENSOR_COUNT; t++) {
        int64_t sizes[5], strides[5];
        problem_operand_sizes(p, (enum tensor_role)t, sizes);
        problem_strides(p, (enum tensor_role)t, strides);
        if (planes_are_images) {
            strides[0] = joint_stride(sizes, strides, 0, 2);
        } else {
            strides[4] = joint_stride(sizes, strides, 3, 4);
            strides[3] = strides[2];
        }
        problem_set_strides(flat, (enum tensor_role)t, strides);
    }
}

void conv_flatten_rows(const struct problem *p, struct problem *flat)
{
    *flat = *p;
    if (p->spatial_dim == 2 || !is_pointwise(p, AXIS_H) || !is_pointwise(p, AXIS_W) ||
        !axes_are_one(p, 3, 4))
        return;
    make_planes_lines(flat);
    drop_depth(flat);
    flatten_strides(p, false, flat);
}

void conv_flatten(const struct problem *p, struct problem *flat)
{
    if (p->spatial_dim == 2 || !is_pointwise(p, AXIS_D) || !axes_are_one(p, 0, 2)) {
        conv_flatten_rows(p, flat);
        return;
    }
    *flat = *p;
    flat->n = p->n * p->in[AXIS_D];
    drop_depth(flat);
    flatten_strides(p, true, flat);
}

bool conv_has_depth(const struct problem *p)
{
    struct problem flat;

    conv_flatten(p, &flat);
    return flat.spatial_dim == 3;
}

void conv_gemm_sizes(const struct problem *p, double *m, double *n, double *k)
{
    double c_count = (double)(p->c / p->groups), k_count = (double)(p->k / p->groups);
    double in = (double)p->n, out = (double)p->n, fil = 1;

    for (int a = 0; a < AXIS_COUNT; a++) {
        in *= (double)p->in[a];
        out *= (double)p->out[a];
        fil *= (double)p->fil[a];
    }
    *m = p->direction == DIRECTION_B ? c_count : k_count;
    *n = p->direction == DIRECTION_F ? out : p->direction == DIRECTION_B ? in : c_count * fil;
    *k = p->direction == DIRECTION_F   ? c_count * fil
         : p->direction == DIRECTION_B ? k_count * fil
                                       : out;
}

/* Kernels compute positions of tiles that end past the tensor, round positions up to whole strides, and multiply a
 * dilation by up to one stride of positions. All results must stay below 2^31. */
static bool positions_fit_32_bits(const struct problem *p)
{
    const double most = INT32_MAX - OFFSET_MARGIN;

    for (int a = 0; a < AXIS_COUNT; a++) {
        double reach = (double)conv_reach(p, (enum axis)a);
        if (reach > most ||
            reach + TILE_MARGIN * (double)p->stride[a] * (double)p->dilation[a] > INT32_MAX)
            return false;
    }
    return true;
}

bool conv_counts_fit_32_bits(const struct problem *p, const char **reason)
{
    const double most = INT32_MAX - OFFSET_MARGIN;
    double m, n, k;

    conv_gemm_sizes(p, &m, &n, &k);
    *reason = "needs positions and sums of fewer than 2^31 elements, and padded sizes and a tile's "
              "strides below that";
    return positions_fit_32_bits(p) && m <= most && n <= most && k <= most &&
           (double)p->n * (double)p->groups <= most;
}

int64_t conv_loop_items(int64_t count, int block)
{
    const int64_t most = INT64_C(1) << 30;

    return MIN(conv_divide_up(count, block) * block, most);
}

void conv_add_direction_option(const struct problem *p, struct launch *launch)
{
    static const char *const names[] = {[DIRECTION_F] = "DIRECTION_F",
                                        [DIRECTION_B] = "DIRECTION_B",
                                        [DIRECTION_W] = "DIRECTION_W"};

    launch_option_int(launch, names[p->direction], 1);
}

void conv_add_type_options(const struct problem *p, struct launch *launch)
{
    static const char *const names[TENSOR_COUNT] = {"TYPE_X", "TYPE_W", "TYPE_Y"};

    for (int t = 0; t < TENSOR_COUNT; t++)
        launch_option_text(launch, names[t], data_type_name(p->type[t]));
}

void conv_add_cast_options(const struct problem *p, struct launch *launch)
{
    static const char *const names[TENSOR_COUNT] = {"CAST_X", "CAST_W", "CAST_Y"};

    for (int t = 0; t < TENSOR_COUNT; t++) {
        if (p->cast[t] != TYPE_NONE && p->cast[t] != TYPE_FP64 &&
            (enum tensor_role)t != problem_output_role(p))
            launch_option_text(launch, names[t], data_type_name(p->cast[t]));
    }
}

void conv_add_tensor_args(struct launch *launch)
{
    for (int t = 0; t < TENSOR_COUNT; t++)
        launch_arg_tensor(launch, (enum tensor_role)t);
}

void conv_add_stride_args(struct launch *launch)
{
    for (int t = 0; t < TENSOR_COUNT; t++) {
        for (int axis = 0; axis < 5; axis++)
            launch_arg_stride(launch, (enum tensor_role)t, axis);
    }
}

void conv_add_plane_strides(struct launch *launch, enum tensor_role role)
{
    for (int axis = 0; axis < 5; axis++) {
        if (axis != 2)
            launch_arg_stride(launch, role, axis);
    }
}

void conv_add_shape_args(const struct problem *p, struct launch *launch)
{
    const int64_t *const sizes[] = {p->in, p->fil, p->out, p->pad, p->stride, p->dilation};

    launch_arg_int32(launch, p->n);
    launch_arg_int32(launch, p->groups);
    launch_arg_int32(launch, p->c / p->groups);
    launch_arg_int32(launch, p->k / p->groups);
    for (gsize i = 0; i < G_N_ELEMENTS(sizes); i++) {
        for (int a = 0; a < AXIS_COUNT; a++)
            launch_arg_int32(launch, sizes[i][a]);
    }
}

static bool offsets_fit_32_bits(const struct problem *p)
{
    const int64_t most = INT32_MAX - OFFSET_MARGIN;

    for (int t = 0; t < TENSOR_COUNT; t++) {
        if (problem_tensor_elements(p, (enum tensor_role)t) > most)
            return false;
    }
    return positions_fit_32_bits(p) && conv_reach(p, AXIS_H) <= most / p->in[AXIS_W];
}

bool conv_is_nchw_fp32_forward(const struct problem *p, const char **reason)
{
    if (!conv_is_plain(p, reason))
        return false;
    if (p->direction != DIRECTION_F || p->spatial_dim != 2) {
        *reason = "needs a 2D forward convolution";
        return false;
    }
    for (int t = 0; t < TENSOR_COUNT; t++) {
        if (p->type[t] != TYPE_FP32 || p->layout[t] != LAYOUT_NCHW) {
            *reason = "needs FP32 tensors in NCHW";
            return false;
        }
    }
    if (!offsets_fit_32_bits(p)) {
        *reason = "needs tensors, padding and strides whose offsets fit 32 bits";
        return false;
    }
    return true;
}

/* A range of outputs of one axis: from..end-1. All of them read inside the input; end is at least from. */
struct outputs {
    int64_t from, end;
};

/* The outputs among first..out-1 that read inside the input through one filter position. */
static struct outputs outputs_inside(const struct problem *p, int axis, int64_t first,
                                     int64_t filter)
{
    int64_t stride = p->stride[axis], offset = filter * p->dilation[axis] - p->pad[axis];
    int64_t from = offset < 0 ? conv_divide_up(-offset, stride) : 0;
    int64_t last = p->in[axis] - 1 - offset;
    int64_t end = last < 0 ? 0 : MIN(last / stride + 1, p->out[axis]);

    from = MAX(from, first);
    return (struct outputs){from, MAX(end, from)};
}

static int64_t count_inside(const struct problem *p, int axis, int64_t first, int64_t filter)
{
    struct outputs outputs = outputs_inside(p, axis, first, filter);

    return outputs.end - outputs.from;
}

double conv_exact_macs(const struct problem *p)
{
    double macs = (double)p->n * (double)p->k * (double)(p->c / p->groups);

    for (int a = 0; a < AXIS_COUNT; a++) {
        int64_t inside = 0;
        for (int64_t f = 0; f < p->fil[a]; f++)
            inside += count_inside(p, a, 0, f);
        macs *= (double)inside;
    }
    return macs;
}

int64_t conv_stride_period(const struct problem *p, enum axis axis)
{
    return p->stride[axis] / conv_gcd(p->stride[axis], p->dilation[axis]);
}

/* Counts the input positions of an axis that some output reads. Through filter position f output o reads position
 * offset + o * stride. Filter position f - period reads the same positions, each `shift` outputs later, so that
 * only f's outputs from out - shift on read new positions. Filter positions of different remainders modulo the
 * stride share none. */
static int64_t touched_positions(const struct problem *p, int axis)
{
    int64_t stride = p->stride[axis], dilation = p->dilation[axis], touched = 0;
    int64_t period = conv_stride_period(p, (enum axis)axis);
    int64_t shift = period * dilation / stride;

    for (int64_t f = 0; f < p->fil[axis]; f++) {
        int64_t first = f < period ? 0 : MAX(p->out[axis] - shift, 0);
        touched += count_inside(p, axis, first, f);
    }
    return touched;
}

/* Counts the filter positions of an axis through which some output reads inside the input. */
static int64_t touched_filter_positions(const struct problem *p, int axis)
{
    int64_t touched = 0;

    for (int64_t f = 0; f < p->fil[axis]; f++)
        touched += count_inside(p, axis, 0, f) > 0;
    return touched;
}

/* Counts the outputs of an axis that read inside the input through some filter position. From the last filter
 * position to the first, both ends of its range of outputs only move up, so that exactly the outputs behind all
 * earlier ranges are new. */
static int64_t touched_outputs(const struct problem *p, int axis)
{
    int64_t touched = 0, reached = 0;

    for (int64_t f = p->fil[axis] - 1; f >= 0; f--) {
        struct outputs outputs = outputs_inside(p, axis, reached, f);
        touched += outputs.end - outputs.from;
        reached = MAX(reached, outputs.end);
    }
    return touched;
}

/* Counts the elements of a tensor's axis that affect the result; elements that meet only padding do not. */
static int64_t touched(const struct problem *p, enum tensor_role role, int axis)
{
    switch (role) {
    case TENSOR_X: return touched_positions(p, axis);
    case TENSOR_W: return touched_filter_positions(p, axis);
    default: return touched_outputs(p, axis);
    }
}

double conv_meant_bytes(const struct problem *p, enum tensor_role role)
{
    bool is_written = role == problem_output_role(p);
    double bytes = data_type_bytes(p->type[role]);

    if (role == TENSOR_W)
        bytes *= (double)p->k * (double)(p->c / p->groups);
    else
        bytes *= (double)p->n * (double)(role == TENSOR_X ? p->c : p->k);
    for (int a = 0; a < AXIS_COUNT; a++) {
        const int64_t *sizes = role == TENSOR_X ? p->in : role == TENSOR_W ? p->fil : p->out;
        bytes *= (double)(is_written ? sizes[a] : touched(p, role, a));
    }
    return bytes;
}

void conv_set_compulsory_bytes(const struct problem *p, struct solution *solution)
{
    enum tensor_role output = problem_output_role(p);

    solution->read_bytes = 0;
    for (int t = 0; t < TENSOR_COUNT; t++) {
        if ((enum tensor_role)t != output)
            solution->read_bytes += conv_meant_bytes(p, (enum tensor_role)t);
    }
    if (p->epilogue[0] != '\0')
        solution->read_bytes += conv_epilogue_bytes(p);
    solution->write_bytes = conv_meant_bytes(p, output);
}

/* Axes longer than this are not walked along. */
#define WALKED_MOST (1 << 20)

/* The fewest products along an axis of an output that has any. */
static int64_t fewest_products(const struct problem *p, int axis)
{
    const int64_t counts[] = {
        [DIRECTION_F] = p->out[axis], [DIRECTION_B] = p->in[axis], [DIRECTION_W] = p->fil[axis]};
    int64_t count = counts[p->direction], fewest = INT64_MAX;

    if (p->out[axis] > WALKED_MOST || p->in[axis] > WALKED_MOST || p->fil[axis] > WALKED_MOST)
        return 1;
    g_autofree int64_t *products = g_new0(int64_t, count);
    for (int64_t out = 0; out < p->out[axis]; out++) {
        for (int64_t tap = 0; tap < p->fil[axis]; tap++) {
            int64_t at = out * p->stride[axis] - p->pad[axis] + tap * p->dilation[axis];
            const int64_t places[] = {[DIRECTION_F] = out, [DIRECTION_B] = at, [DIRECTION_W] = tap};
            if (at >= 0 && at < p->in[axis])
                products[places[p->direction]]++;
        }
    }
    for (int64_t i = 0; i < count; i++) {
        if (products[i] > 0)
            fewest = MIN(fewest, products[i]);
    }
    return fewest == INT64_MAX ? 1 : fewest;
}

double conv_shortest_sum(const struct problem *p)
{
    const int64_t each[] = {
        [DIRECTION_F] = p->c / p->groups, [DIRECTION_B] = p->k / p->groups, [DIRECTION_W] = p->n};
    double terms = (double)each[p->direction];

    for (int axis = AXIS_D; axis <= AXIS_W; axis++)
        terms *= (double)fewest_products(p, axis);
    return terms;
}

void conv_set_exact_work(const struct problem *p, struct solution *solution)
{
    solution->flops = 2 * conv_exact_macs(p);
    conv_set_compulsory_bytes(p, solution);
}

void conv_set_full_work(const struct problem *p, struct solution *solution)
{
    solution->flops = 2 * problem_macs(p);
    conv_set_compulsory_bytes(p, solution);
}

enum tensor_role conv_first_input(const struct problem *p)
{
    return p->direction == DIRECTION_F ? TENSOR_X : TENSOR_Y;
}

enum tensor_role conv_second_input(const struct problem *p)
{
    return p->direction == DIRECTION_W ? TENSOR_X : TENSOR_W;
}

void conv_add_product_args(const struct problem *p, bool filter_first, bool is_split,
                           struct launch *launch)
{
    enum tensor_role first = conv_first_input(p), second = conv_second_input(p);
    bool swap = filter_first && p->direction != DIRECTION_W;

    launch_arg_tensor(launch, swap ? second : first);
    launch_arg_tensor(launch, swap ? first : second);
    if (is_split)
        launch_arg_workspace(launch, 0);
    else
        launch_arg_tensor(launch, problem_output_role(p));
}
