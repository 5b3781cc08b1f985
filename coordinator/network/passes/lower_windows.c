#include "coordinator/network/passes/lowering.h"

#include "coordinator/network/passes/pass.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* The value of rank `rank` with the window's padding around its axes in space. */
static struct value *padded(struct lowering *l, struct value *x, int rank,
                            const struct window *window, double number)
{
    int64_t before[SHAPE_MAX_RANK] = {0}, after[SHAPE_MAX_RANK] = {0};
    for (int i = 0; i < window->axes; i++) {
        before[2 + i] = window->before[i];
        after[2 + i] = window->after[i];
    }
    return lower_add_border(l, x, rank, before, after, number);
}

/* Whether padding on both sides as in front gives the output's size. */
static bool is_symmetric(const struct window *window, const int64_t *in, const int64_t *out)
{
    for (int i = 0; i < window->axes; i++) {
        int64_t reach = window->dilation[i] * (window->size[i] - 1) + 1;
        if (window->before[i] < 0 || in[i] + 2 * window->before[i] < reach ||
            (in[i] + 2 * window->before[i] - reach) / window->stride[i] + 1 != out[i]) {
            return false;
        }
    }
    return true;
}

static void set_window(struct kernel *kernel, const struct window *window, const int64_t *out)
{
    lower_spread_axes(window->size, window->axes, 1, kernel->fil);
    lower_spread_axes(window->before, window->axes, 0, kernel->pad);
    lower_spread_axes(window->stride, window->axes, 1, kernel->stride);
    lower_spread_axes(window->dilation, window->axes, 1, kernel->dilation);
    lower_spread_axes(out, window->axes, 1, kernel->out);
}

struct value *lower_convolve(struct lowering *l, struct value *x, struct value *w, double border,
                             enum element_type type)
{
    const struct shape *ws = &w->shape;
    int axes = l->x->rank - 2;
    struct window window;
    struct kernel kernel;
    if (axes < 1 || axes > 3) {
        return lower_fail(l, "its input has %d axes, kernels have 3 to 5", l->x->rank);
    }
    if (!infer_window(l->call, axes, l->x->dim + 2, ws->dim + 2, &window, l->error)) {
        return NULL;
    }
    bool has_padding = false;
    for (int i = 0; i < axes; i++) {
        has_padding |= window.before[i] != 0 || window.after[i] != 0;
    }
    if (!is_symmetric(&window, l->x->dim + 2, l->y->dim + 2) || (has_padding && border != 0)) {
        x = padded(l, x, l->x->rank, &window, border);
        graph_propagate(l->graph);
        memset(window.before, 0, sizeof window.before);
    }
    kernel_init(&kernel, OP_CONV);
    set_window(&kernel, &window, l->y->dim + 2);
    kernel.groups = lower_int(l, "group", 1);
    kernel.type = type;
    return lower_apply(l, NULL, &kernel, lower_to_plane(x, &x->shape), lower_to_plane(w, ws), NULL,
                       NULL, NULL);
}

/* The output of a kernel of at least 4 axes with bias (may be NULL), in the node's own dimensions. */
static struct value *biased(struct lowering *l, struct value *y, struct value *bias)
{
    return lower_to_output(l, bias != NULL ? lower_add_bias(l, y, bias) : y, MAX(l->y->rank, 4));
}

static struct value *lower_conv(struct lowering *l)
{
    struct value *y = lower_convolve(l, lower_input(l, 0), lower_input(l, 1), 0, ELEMENT_NONE);
    return y != NULL ? biased(l, y, lower_input(l, 2)) : NULL;
}

static struct value *lower_conv_transpose(struct lowering *l)
{
    const struct shape *w = &lower_input(l, 1)->shape;
    int axes = l->x->rank - 2;
    int64_t out[SHAPE_MAX_RANK], output_padding[SHAPE_MAX_RANK];
    struct window window;
    struct kernel kernel;
    if (axes < 1 || axes > 3) {
        return lower_fail(l, "its input has %d axes, kernels have 3 to 5", l->x->rank);
    }
    if (!infer_transposed_window(l->call, axes, l->x->dim + 2, w->dim + 2, &window, out,
                                 output_padding, l->error)) {
        return NULL;
    }
    for (int i = 0; i < axes; i++) {
        int64_t most = (l->x->dim[2 + i] - 1) * window.stride[i] - 2 * window.before[i] +
                       window.dilation[i] * (window.size[i] - 1) + window.stride[i];
        if (window.before[i] < 0 || l->y->dim[2 + i] > most) {
            return lower_fail(l, "its padding (%" PRId64 ", %" PRId64 ") has no equal convolution",
                              window.before[i], window.after[i]);
        }
    }
    kernel_init(&kernel, OP_CONV);
    set_window(&kernel, &window, l->y->dim + 2);
    kernel.groups = lower_int(l, "group", 1);
    kernel.is_transposed = true;
    struct value *y = lower_apply(l, NULL, &kernel, lower_to_plane(lower_input(l, 0), l->x),
                                  lower_to_plane(lower_input(l, 1), w), NULL, NULL, NULL);
    return biased(l, y, lower_input(l, 2));
}

static struct value *pool(struct lowering *l, const char *mode, const struct window *window)
{
    struct kernel kernel;
    kernel_init(&kernel, OP_POOL);
    set_window(&kernel, window, l->y->dim + 2);
    g_strlcpy(kernel.mode, mode, sizeof kernel.mode);
    struct value *y = lower_apply(l, NULL, &kernel, lower_to_plane(lower_input(l, 0), l->x), NULL,
                                  NULL, NULL, NULL);
    return lower_to_output(l, y, MAX(l->y->rank, 4));
}

static struct value *lower_pool(struct lowering *l)
{
    bool is_max = strcmp(l->node->op->name, "MaxPool") == 0;
    bool counts = lower_int(l, "count_include_pad", 0) != 0;
    int axes = l->x->rank - 2, count;
    const int64_t *size = attributes_ints(l->node->attributes, "kernel_shape", &count);
    struct window window;
    if (axes < 1 || axes > 3 || count != axes) {
        return lower_fail(l, "its input has %d axes, kernels have 3 to 5", l->x->rank);
    }
    if (l->node->output_count > 1 && l->node->outputs[1]->use_count > 0) {
        return lower_fail(l, "the indices of the largest elements are used, no kernel gives them");
    }
    if (!infer_window(l->call, axes, l->x->dim + 2, size, &window, l->error)) {
        return NULL;
    }
    for (int i = 0; i < axes && counts && !is_max; i++) {
        int64_t reach = (l->y->dim[2 + i] - 1) * window.stride[i] +
                        window.dilation[i] * (window.size[i] - 1) + 1;
        if (reach > l->x->dim[2 + i] + window.before[i] + window.after[i]) {
            return lower_fail(l, "its last window reaches behind the padding and counts it");
        }
    }
    return pool(l, is_max ? "max" : counts ? "average_all" : "average", &window);
}

static struct value *lower_global_pool(struct lowering *l)
{
    bool is_max = strcmp(l->node->op->name, "GlobalMaxPool") == 0;
    struct window window = {.axes = l->x->rank - 2};
    if (window.axes < 1 || window.axes > 3) {
        return lower_fail(l, "its input has %d axes, kernels have 3 to 5", l->x->rank);
    }
    for (int i = 0; i < window.axes; i++) {
        window.size[i] = l->x->dim[2 + i];
        window.stride[i] = window.dilation[i] = 1;
    }
    return pool(l, is_max ? "max" : "average", &window);
}

/* A reduction is a pool with one window: axes that stay become channels, the others a line. */
static struct value *lower_reduce(struct lowering *l)
{
    bool is_max = strcmp(l->node->op->name, "ReduceMax") == 0;
    bool is_sum = strcmp(l->node->op->name, "ReduceSum") == 0;
    bool reduced[SHAPE_MAX_RANK] = {false};
    int permutation[SHAPE_MAX_RANK], at = 0;
    int64_t kept = 1, line = 1;
    bool is_global = l->x->rank >= 3 && l->x->rank <= 5;
    struct kernel kernel;
    if (!infer_reduced_axes(l->call, reduced, l->error)) {
        return NULL;
    }
    for (int i = 0; i < l->x->rank; i++) {
        is_global = is_global && reduced[i] == (i >= 2);
        *(reduced[i] ? &line : &kept) *= l->x->dim[i];
    }
    kernel_init(&kernel, OP_POOL);
    g_strlcpy(kernel.mode, is_max ? "max" : "average", sizeof kernel.mode);
    struct value *x = lower_input(l, 0);
    if (is_global) {
        x = lower_to_plane(x, l->x);
        lower_spread_axes(l->x->dim + 2, l->x->rank - 2, 1, kernel.fil);
    } else {
        for (int pass = 0; pass < 2; pass++) {
            for (int i = 0; i < l->x->rank; i++) {
                if (reduced[i] == (pass == 1)) {
                    permutation[at++] = i;
                }
            }
        }
        x = graph_transpose(x, permutation, l->x->rank);
        x = graph_reshape(x, 4, (int64_t[]){1, kept, 1, line});
        kernel.fil[AXIS_W] = line;
    }
    struct value *y = lower_apply(l, NULL, &kernel, x, NULL, NULL, NULL, NULL);
    if (is_sum) {
        y = lower_to_step(l, "sum", y, EPILOGUE_AFFINE, (double)line, 0);
    }
    return graph_reshape(y, l->y->rank, l->y->dim);
}

/* The scales that Resize names for axes in space must be those that the sizes say: the problem knows sizes alone. */
static bool scales_follow_sizes(struct lowering *l)
{
    int64_t count = 0;
    g_autofree double *scales =
        lower_input(l, 2) != NULL ? value_numbers(lower_input(l, 2), &count) : NULL;
    for (int i = 0; i < count && count == l->x->rank; i++) {
        if (fabs((double)l->x->dim[i] * scales[i] - (double)l->y->dim[i]) > 1e-4) {
            return false;
        }
    }
    return true;
}

static struct value *lower_resize(struct lowering *l)
{
    const char *mode = lower_string(l, "mode", "nearest");
    const char *coordinates = lower_string(l, "coordinate_transformation_mode", "half_pixel");
    struct kernel kernel;
    if (l->x->rank < 3 || l->x->rank > 5 || l->x->dim[0] != l->y->dim[0] ||
        l->x->dim[1] != l->y->dim[1]) {
        return lower_fail(l, "it resizes other axes than those in space");
    }
    if (strcmp(mode, "nearest") != 0 && strcmp(mode, "linear") != 0) {
        return lower_fail(l, "its mode is '%s', kernels do nearest and linear", mode);
    }
    if (strcmp(coordinates, "tf_crop_and_resize") == 0 || lower_int(l, "antialias", 0) != 0) {
        return lower_fail(l, "no kernel crops while it resizes, or smoothes");
    }
    if (!scales_follow_sizes(l)) {
        return lower_fail(l, "its scales are not those between the sizes of input and output");
    }
    kernel_init(&kernel, OP_RESIZE);
    lower_spread_axes(l->y->dim + 2, l->y->rank - 2, 1, kernel.out);
    if (strcmp(mode, "nearest") == 0) {
        g_snprintf(kernel.mode, sizeof kernel.mode, "nearest,%s,%s", coordinates,
                   lower_string(l, "nearest_mode", "round_prefer_floor"));
    } else {
        g_snprintf(kernel.mode, sizeof kernel.mode, "linear,%s", coordinates);
    }
    struct value *y = lower_apply(l, NULL, &kernel, lower_to_plane(lower_input(l, 0), l->x), NULL,
                                  NULL, NULL, NULL);
    return lower_to_output(l, y, MAX(l->y->rank, 4));
}

const struct lower_row lower_window_rows[] = {
    {"Conv", lower_conv},
    {"ConvTranspose", lower_conv_transpose},
    {"MaxPool", lower_pool},
    {"AveragePool", lower_pool},
    {"GlobalAveragePool", lower_global_pool},
    {"GlobalMaxPool", lower_global_pool},
    {"ReduceMean", lower_reduce},
    {"ReduceMax", lower_reduce},
    {"ReduceSum", lower_reduce},
    {"Resize", lower_resize},
    {NULL, NULL},
};
