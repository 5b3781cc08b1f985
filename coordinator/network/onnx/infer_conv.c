/*
 * Convolutions and pools: windows that move over the axes in space.
 */
#include "coordinator/network/onnx/infer.h"

#include <inttypes.h>
#include <string.h>

#define SPACE_MAX 3 /* axes in space of a convolution or a pool */

enum auto_pad { PAD_NOTSET, PAD_SAME_UPPER, PAD_SAME_LOWER, PAD_VALID };

static bool read_auto_pad(const struct op_call *call, enum auto_pad *mode, GError **error)
{
    static const char *const names[] = {"NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID"};
    const char *given = attributes_string(call->attributes, "auto_pad", "NOTSET");
    for (size_t i = 0; i < G_N_ELEMENTS(names); i++) {
        if (strcmp(given, names[i]) == 0) {
            *mode = (enum auto_pad)i;
            return true;
        }
    }
    return infer_invalid(
        error, "auto_pad is '%.40s', it must be NOTSET, SAME_UPPER, SAME_LOWER or VALID", given);
}

/* Reads what the attributes say of the window, with the padding of `pads`. */
static bool read_window(const struct op_call *call, int axes, const int64_t *size,
                        struct window *window, enum auto_pad *mode, GError **error)
{
    int64_t pads[2 * SPACE_MAX];
    *window = (struct window){.axes = axes};
    memcpy(window->size, size, (size_t)axes * sizeof size[0]);
    if (!infer_attribute(call, "strides", axes, 1, 1, window->stride, error) ||
        !infer_attribute(call, "dilations", axes, 1, 1, window->dilation, error) ||
        !infer_attribute(call, "pads", 2 * axes, 0, 0, pads, error) ||
        !read_auto_pad(call, mode, error)) {
        return false;
    }
    for (int i = 0; i < axes; i++) {
        window->before[i] = *mode == PAD_NOTSET ? pads[i] : 0;
        window->after[i] = *mode == PAD_NOTSET ? pads[i + axes] : 0;
    }
    return true;
}

/* How far the window reaches: its size with the gaps of its dilation. */
static int64_t reach(const struct window *window, int axis)
{
    return (window->size[axis] - 1) * window->dilation[axis] + 1;
}

static void divide_pads(struct window *window, int axis, int64_t pads, enum auto_pad mode)
{
    int64_t less = pads / 2, more = pads - less;
    window->before[axis] = mode == PAD_SAME_UPPER ? less : more;
    window->after[axis] = mode == PAD_SAME_UPPER ? more : less;
}

bool infer_window(const struct op_call *call, int axes, const int64_t *in, const int64_t *size,
                  struct window *window, GError **error)
{
    enum auto_pad mode;
    if (!read_window(call, axes, size, window, &mode, error)) {
        return false;
    }
    for (int i = 0; i < axes && (mode == PAD_SAME_UPPER || mode == PAD_SAME_LOWER); i++) {
        int64_t out = (in[i] + window->stride[i] - 1) / window->stride[i];
        int64_t pads = (out - 1) * window->stride[i] + reach(window, i) - in[i];
        divide_pads(window, i, MAX(pads, 0), mode);
    }
    return true;
}

/* output_shape says the output's sizes, and with them the padding: ONNX's ConvTranspose. */
bool infer_transposed_window(const struct op_call *call, int axes, const int64_t *in,
                             const int64_t *size, struct window *window, int64_t *out,
                             int64_t *output_padding, GError **error)
{
    enum auto_pad mode;
    int shape_count = 0;
    const int64_t *shape = attributes_ints(call->attributes, "output_shape", &shape_count);
    if (!read_window(call, axes, size, window, &mode, error) ||
        !infer_attribute(call, "output_padding", axes, 0, 0, output_padding, error)) {
        return false;
    }
    /* Some exporters give the whole output's shape, with batch and channels. */
    if (shape_count != 0 && shape_count != axes && shape_count != axes + 2) {
        return infer_invalid(error, "output_shape has %d numbers and should have %d", shape_count,
                             axes);
    }
    if (shape_count == 0) {
        shape = NULL;
    } else if (shape_count == axes + 2) {
        shape += 2;
    }
    for (int i = 0; i < axes; i++) {
        int64_t whole = window->stride[i] * (in[i] - 1) + output_padding[i] + reach(window, i);
        bool same = mode == PAD_SAME_UPPER || mode == PAD_SAME_LOWER;
        if (shape != NULL || same) {
            out[i] = shape != NULL ? shape[i] : in[i] * window->stride[i];
            if (out[i] < 1 || out[i] > INT32_MAX) {
                return infer_invalid(error, "output_shape has the number %" PRId64, out[i]);
            }
            int64_t pads = whole - out[i];
            if (pads < 0) {
                /* a larger output gets its elements behind the end, as output_padding gives them */
                output_padding[i] -= pads;
                pads = 0;
            }
            divide_pads(window, i, pads, mode == PAD_SAME_UPPER ? PAD_SAME_UPPER : PAD_SAME_LOWER);
        } else {
            out[i] = whole - window->before[i] - window->after[i];
        }
        if (out[i] < 1) {
            return infer_invalid(error,
                                 "its output has the size %" PRId64
                                 " on axis %d of space: the padding takes all of it",
                                 out[i], i);
        }
    }
    return true;
}

/* The output's sizes of a plain window. */
static bool window_output(const struct window *window, const int64_t *in, bool ceil, int64_t *out,
                          GError **error)
{
    for (int i = 0; i < window->axes; i++) {
        int64_t rest = in[i] + window->before[i] + window->after[i] - reach(window, i);
        if (rest < 0) {
            return infer_invalid(error,
                                 "its window reaches over %" PRId64
                                 " elements on axis %d of space, and its padded input has %" PRId64,
                                 reach(window, i), i, rest + reach(window, i));
        }
        out[i] = rest / window->stride[i] + 1;
        /* A window that begins behind the input and its padding in front is no output. */
        if (ceil && rest % window->stride[i] != 0 &&
            out[i] * window->stride[i] < in[i] + window->before[i]) {
            out[i]++;
        }
    }
    return true;
}

/* ---- convolutions ---- */

static const struct {
    const char *name;
    struct conv_inputs inputs;
} convolutions[] = {
    {"Conv", {0, 1, 2, false, false}},
    {"ConvTranspose", {0, 1, 2, true, false}},
    {"ConvInteger", {0, 1, -1, false, false}},
    {"QLinearConv", {0, 3, 8, false, false}},
    {"DeformConv", {0, 1, 3, false, false}},
    {"com.microsoft.FusedConv", {0, 1, 2, false, false}},
    {"com.microsoft.QLinearConv", {0, 3, 8, false, false}},
};

bool infer_conv_inputs(const struct op *op, const struct attributes *attributes,
                       struct conv_inputs *inputs)
{
    for (size_t i = 0; i < G_N_ELEMENTS(convolutions); i++) {
        if (strcmp(op->name, convolutions[i].name) == 0) {
            *inputs = convolutions[i].inputs;
            inputs->channels_last = attributes_int(attributes, "channels_last", 0) != 0;
            return true;
        }
    }
    return false;
}

static enum element_type conv_type(const struct op_call *call)
{
    const struct shape *zero = infer_input(call, 7);
    if (strcmp(call->op->name, "ConvInteger") == 0) {
        return ELEMENT_INT32;
    }
    bool quantised = g_str_has_suffix(call->op->name, "QLinearConv");
    return quantised && zero != NULL ? zero->type : call->inputs[0]->type;
}

static bool check_channels(const struct op_call *call, const struct conv_inputs *at, int64_t c,
                           const struct shape *w, int64_t *k, GError **error)
{
    int64_t groups = attributes_int(call->attributes, "group", 1);
    if (groups < 1 || c % groups != 0 || w->dim[0] % groups != 0) {
        return infer_invalid(error,
                             "group is %" PRId64 ", and it must divide the %" PRId64
                             " channels of its input and the %" PRId64 " of its weights",
                             groups, c, w->dim[0]);
    }
    if (at->is_transposed) {
        *k = w->dim[1] * groups;
        return w->dim[0] == c ||
               infer_invalid(error,
                             "its weights are for %" PRId64 " channels, its input has %" PRId64,
                             w->dim[0], c);
    }
    *k = w->dim[0];
    return w->dim[1] == c / groups ||
           infer_invalid(error,
                         "its weights are for %" PRId64 " channels in each of %" PRId64
                         " groups, its input has %" PRId64,
                         w->dim[1], groups, c);
}

bool infer_conv(const struct op_call *call, struct shape *outputs, GError **error)
{
    struct conv_inputs at;
    if (!infer_conv_inputs(call->op, call->attributes, &at)) {
        g_assert_not_reached();
    }
    const struct shape *x = infer_input(call, at.x), *w = infer_input(call, at.w);
    const struct shape *bias = at.bias >= 0 ? infer_input(call, at.bias) : NULL;
    if (x == NULL || w == NULL) {
        return infer_invalid(error, "its %s is missing", x == NULL ? "input" : "weights");
    }
    int axes = x->rank - 2;
    if (axes < 1 || axes > SPACE_MAX || w->rank != x->rank) {
        g_autofree char *input = shape_text(x), *weights = shape_text(w);
        return infer_invalid(error, "its input %s and weights %s must both have 3, 4 or 5 axes",
                             input, weights);
    }
    int first = at.channels_last ? 1 : 2; /* axis in space */
    int64_t c = x->dim[at.channels_last ? x->rank - 1 : 1], k, given[SPACE_MAX];
    int given_count = 0;
    const int64_t *kernel = attributes_ints(call->attributes, "kernel_shape", &given_count);
    if (!check_channels(call, &at, c, w, &k, error)) {
        return false;
    }
    if (kernel != NULL && given_count != axes) {
        return infer_invalid(error, "kernel_shape has %d numbers and should have %d", given_count,
                             axes);
    }
    for (int i = 0; i < axes; i++) {
        given[i] = w->dim[2 + i];
        if ((kernel != NULL && kernel[i] != given[i]) || given[i] < 1) {
            return infer_invalid(
                error, "kernel_shape is %" PRId64 " on axis %d of space, its weights have %" PRId64,
                kernel != NULL ? kernel[i] : given[i], i, given[i]);
        }
    }
    if (bias != NULL && (bias->rank != 1 || bias->dim[0] != k)) {
        g_autofree char *text = shape_text(bias);
        return infer_invalid(error, "its bias is %s and should have %" PRId64 " values", text, k);
    }
    struct window window;
    int64_t dims[SHAPE_MAX_RANK], padding[SPACE_MAX];
    dims[0] = x->dim[0];
    dims[at.channels_last ? x->rank - 1 : 1] = k;
    bool done = at.is_transposed
                    ? infer_transposed_window(call, axes, x->dim + first, given, &window,
                                              dims + first, padding, error)
                    : infer_window(call, axes, x->dim + first, given, &window, error) &&
                          window_output(&window, x->dim + first, false, dims + first, error);
    return done && infer_packed(&outputs[0], conv_type(call), x->rank, dims, error);
}

/* ---- pools ---- */

bool infer_pool(const struct op_call *call, struct shape *outputs, GError **error)
{
    const struct shape *x = call->inputs[0];
    bool last = attributes_int(call->attributes, "channels_last", 0) != 0 ||
                strcmp(call->op->name, "com.microsoft.NhwcMaxPool") == 0;
    int axes = x->rank - 2, first = last ? 1 : 2, count = 0;
    if (axes < 1 || axes > SPACE_MAX) {
        g_autofree char *text = shape_text(x);
        return infer_invalid(error, "its input %s must have 3, 4 or 5 axes", text);
    }
    if (attributes_ints(call->attributes, "kernel_shape", &count) == NULL) {
        return infer_invalid(error, "it has no kernel_shape");
    }
    struct window window;
    int64_t size[SPACE_MAX], dims[SHAPE_MAX_RANK];
    memcpy(dims, x->dim, sizeof dims);
    bool ceil = attributes_int(call->attributes, "ceil_mode", 0) != 0;
    if (!infer_attribute(call, "kernel_shape", axes, 1, 1, size, error) ||
        !infer_window(call, axes, x->dim + first, size, &window, error)) {
        return false;
    }
    for (int i = 0; i < axes; i++) {
        /* a pool of what is padded alone has no maximum, and no mean */
        if (window.before[i] >= reach(&window, i) || window.after[i] >= reach(&window, i)) {
            return infer_invalid(error,
                                 "its padding on axis %d of space, %" PRId64 " and %" PRId64
                                 ", must be smaller than its window, %" PRId64,
                                 i, window.before[i], window.after[i], reach(&window, i));
        }
    }
    if (!window_output(&window, x->dim + first, ceil, dims + first, error)) {
        return false;
    }
    for (int i = 1; i < call->output_count; i++) {
        if (!infer_packed(&outputs[i], ELEMENT_INT64, x->rank, dims, error)) {
            return false;
        }
    }
    return infer_packed(&outputs[0], x->type, x->rank, dims, error);
}

bool infer_global_pool(const struct op_call *call, struct shape *outputs, GError **error)
{
    const struct shape *x = call->inputs[0];
    int64_t dims[SHAPE_MAX_RANK];
    bool last = attributes_int(call->attributes, "channels_last", 0) != 0;
    if (x->rank < 2) {
        return infer_invalid(error, "its input has no axes of space");
    }
    for (int i = 0; i < x->rank; i++) {
        bool in_space = last ? i > 0 && i + 1 < x->rank : i > 1;
        dims[i] = in_space ? 1 : x->dim[i];
    }
    return infer_packed(&outputs[0], x->type, x->rank, dims, error);
}

/* The sizes from which a MaxPool of these attributes comes, unless an input states the whole shape. */
bool infer_max_unpool(const struct op_call *call, struct shape *outputs, GError **error)
{
    const struct shape *x = call->inputs[0];
    int axes = x->rank - 2, rank;
    int64_t size[SPACE_MAX], dims[SHAPE_MAX_RANK];
    struct window window;
    if (axes < 1 || axes > SPACE_MAX) {
        return infer_invalid(error, "its input must have 3, 4 or 5 axes");
    }
    if (infer_input(call, 2) != NULL) {
        return infer_numbers(call, 2, "output_shape", dims, SHAPE_MAX_RANK, &rank, error) &&
               infer_packed(&outputs[0], x->type, rank, dims, error);
    }
    if (!infer_attribute(call, "kernel_shape", axes, 1, 1, size, error) ||
        !infer_window(call, axes, x->dim + 2, size, &window, error)) {
        return false;
    }
    memcpy(dims, x->dim, sizeof dims);
    for (int i = 0; i < axes; i++) {
        dims[2 + i] =
            (x->dim[2 + i] - 1) * window.stride[i] + size[i] - window.before[i] - window.after[i];
    }
    return infer_packed(&outputs[0], x->type, x->rank, dims, error);
}

/* ---- pools of regions ---- */

bool infer_max_roi_pool(const struct op_call *call, struct shape *outputs, GError **error)
{
    const struct shape *x = call->inputs[0], *regions = call->inputs[1];
    int64_t pooled[2];
    if (x->rank != 4 || regions->rank != 2) {
        return infer_invalid(error, "its input must have 4 axes and its regions 2");
    }
    if (!infer_attribute(call, "pooled_shape", 2, 0, 1, pooled, error)) {
        return false;
    }
    int64_t dims[] = {regions->dim[0], x->dim[1], pooled[0], pooled[1]};
    return infer_packed(&outputs[0], x->type, 4, dims, error);
}

bool infer_roi_align(const struct op_call *call, struct shape *outputs, GError **error)
{
    const struct shape *x = call->inputs[0], *regions = call->inputs[1];
    if (x->rank != 4 || regions->rank != 2) {
        return infer_invalid(error, "its input must have 4 axes and its regions 2");
    }
    int64_t dims[] = {regions->dim[0], x->dim[1],
                      attributes_int(call->attributes, "output_height", 1),
                      attributes_int(call->attributes, "output_width", 1)};
    return infer_packed(&outputs[0], x->type, 4, dims, error);
}
