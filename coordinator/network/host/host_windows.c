#include "coordinator/network/host/host_rows.h"

#include <math.h>
#include <string.h>

static void spread(const int64_t *values, int axes, int64_t neutral, int64_t out[3])
{
    for (int a = 0; a < 3; a++) {
        out[a] = a >= 3 - axes ? values[a - (3 - axes)] : neutral;
    }
}

void host_set_window(struct host_window *w, const struct window *from, const struct shape *x,
                     const struct shape *y, int64_t groups)
{
    int axes = from->axes;
    *w = (struct host_window){.n = x->dim[0], .c = x->dim[1], .k = y->dim[1], .groups = groups};
    spread(x->dim + 2, axes, 1, w->in);
    spread(y->dim + 2, axes, 1, w->out);
    spread(from->size, axes, 1, w->fil);
    spread(from->before, axes, 0, w->before);
    spread(from->after, axes, 0, w->after);
    spread(from->stride, axes, 1, w->stride);
    spread(from->dilation, axes, 1, w->dilation);
}

struct addition {
    struct host_array *y;
    const struct host_array *bias, *residual; /* either may be NULL */
};

static void add_piece(void *context, int64_t first, int64_t last)
{
    const struct addition *a = context;
    double *y = a->y->data;
    int64_t space = a->y->count / MAX(a->y->shape.dim[0] * a->y->shape.dim[1], 1);
    for (int64_t i = first, end; i < last && a->bias != NULL; i = end) {
        int64_t plane = i / space;
        double bias = a->bias->data[plane % a->y->shape.dim[1]];
        end = MIN((plane + 1) * space, last);
        for (int64_t j = i; j < end; j++) {
            y[j] += bias;
        }
    }
    for (int64_t i = first; i < last && a->residual != NULL; i++) {
        y[i] += a->residual->data[i];
    }
}

/* Adds a number for each channel, then a number for each element. */
static void add(const struct host_call *h, const struct host_array *bias,
                const struct host_array *residual)
{
    struct addition addition = {h->outputs[0], bias, residual};
    if (bias != NULL || residual != NULL) {
        host_parallel_pieces(h->outputs[0]->count, h->threads, add_piece, &addition);
    }
}

static bool check_axes(const struct shape *x, GError **error)
{
    return (x->rank >= 3 && x->rank <= 5) ||
           infer_unsupported(error, "the host computes windows over one to three axes in space");
}

static bool convolve(const struct host_call *h, const struct host_array *x,
                     const struct host_array *w, GError **error)
{
    struct window window;
    struct host_window hw;
    struct host_array *y = h->outputs[0];
    int axes = x->shape.rank - 2;
    if (!check_axes(&x->shape, error) ||
        !infer_window(h->call, axes, x->shape.dim + 2, w->shape.dim + 2, &window, error)) {
        return false;
    }
    host_set_window(&hw, &window, &x->shape, &y->shape, host_int(h, "group", 1));
    host_convolve(&hw, x->data, w->data, 0, y->data, h->threads);
    return true;
}

static bool run_conv(const struct host_call *h, GError **error)
{
    if (!convolve(h, host_input(h, 0), host_input(h, 1), error)) {
        return false;
    }
    add(h, host_input(h, 2), host_input(h, 3));
    host_activate(h, h->outputs[0]);
    return true;
}

static bool run_conv_transpose(const struct host_call *h, GError **error)
{
    const struct host_array *x = host_input(h, 0), *w = host_input(h, 1);
    struct host_array *y = h->outputs[0];
    struct window window;
    struct host_window hw;
    int64_t out[SHAPE_MAX_RANK], padding[SHAPE_MAX_RANK];
    if (!check_axes(&x->shape, error) ||
        !infer_transposed_window(h->call, x->shape.rank - 2, x->shape.dim + 2, w->shape.dim + 2,
                                 &window, out, padding, error)) {
        return false;
    }
    host_set_window(&hw, &window, &x->shape, &y->shape, host_int(h, "group", 1));
    host_convolve_transposed(&hw, x->data, w->data, y->data, h->threads);
    add(h, host_input(h, 2), NULL);
    return true;
}

static bool run_conv_integer(const struct host_call *h, GError **error)
{
    g_autoptr(HostArray) x = host_less_zero(host_input(h, 0), host_input(h, 2));
    g_autoptr(HostArray) w = host_less_zero(host_input(h, 1), host_input(h, 3));
    return convolve(h, x, w, error);
}

static double at_or_only(const struct host_array *list, int64_t index)
{
    return list->data[list->count > 1 ? index : 0];
}

static void requantise_piece(void *context, int64_t first, int64_t last)
{
    const struct host_call *h = context;
    struct host_array *y = h->outputs[0];
    int64_t channels = y->shape.dim[1], space = y->count / MAX(y->shape.dim[0] * channels, 1);
    double zero = host_number_or(host_input(h, 7), 0);
    for (int64_t i = first; i < last; i++) {
        double scale = host_input(h, 1)->data[0] *
                       at_or_only(host_input(h, 4), i / space % channels) /
                       host_input(h, 6)->data[0];
        y->data[i] = rint(y->data[i] * scale) + zero;
    }
}

static bool run_qlinear_conv(const struct host_call *h, GError **error)
{
    struct host_array *y = h->outputs[0];
    g_autoptr(HostArray) x = host_less_zero(host_input(h, 0), host_input(h, 2));
    g_autoptr(HostArray) w = host_less_zero(host_input(h, 3), host_input(h, 5));
    if (!convolve(h, x, w, error)) {
        return false;
    }
    add(h, host_input(h, 8), NULL);
    host_parallel_pieces(y->count, h->threads, requantise_piece, (void *)h);
    return true;
}

static bool run_pool(const struct host_call *h, GError **error)
{
    const struct host_array *x = host_input(h, 0);
    struct window window;
    struct host_window hw;
    int count;
    const int64_t *size = attributes_ints(h->call->attributes, "kernel_shape", &count);
    bool is_max = host_is_named(h, "MaxPool"), counts = host_int(h, "count_include_pad", 0) != 0;
    if (!check_axes(&x->shape, error) ||
        !infer_window(h->call, x->shape.rank - 2, x->shape.dim + 2, size, &window, error)) {
        return false;
    }
    if (h->call->output_count > 1 && h->outputs[1] != NULL) {
        return infer_unsupported(error, "the host does not compute the places of the largest");
    }
    host_set_window(&hw, &window, &x->shape, &h->outputs[0]->shape, 1);
    host_pool(&hw,
              is_max   ? HOST_POOL_MAX
              : counts ? HOST_POOL_AVERAGE_ALL
                       : HOST_POOL_AVERAGE,
              true, x->data, h->outputs[0]->data, h->threads);
    return true;
}

static void global_pool_rows(void *context, int64_t first, int64_t last)
{
    const struct host_call *h = context;
    const struct host_array *x = host_input(h, 0);
    struct host_array *y = h->outputs[0];
    int64_t space = x->count / MAX(y->count, 1);
    bool is_max = host_is_named(h, "GlobalMaxPool");
    for (int64_t i = first; i < last; i++) {
        double sum = 0, largest = -INFINITY;
        for (int64_t j = 0; j < space; j++) {
            sum += x->data[i * space + j];
            largest = MAX(largest, x->data[i * space + j]);
        }
        y->data[i] = is_max ? largest : sum / (double)space;
    }
}

static bool run_global_pool(const struct host_call *h, GError **error)
{
    int64_t rows = h->outputs[0]->count;
    (void)error;
    host_parallel_rows(rows, host_input(h, 0)->count / MAX(rows, 1), h->threads, global_pool_rows,
                       (void *)h);
    return true;
}

static bool run_qlinear_global_pool(const struct host_call *h, GError **error)
{
    const struct host_array *x = host_input(h, 0);
    struct host_array *y = h->outputs[0];
    int64_t space = x->count / MAX(y->count, 1);
    if (host_int(h, "channels_last", 0) != 0) {
        return infer_unsupported(error, "the host pools with channels in front of space");
    }
    for (int64_t i = 0; i < y->count; i++) {
        double sum = 0;
        for (int64_t j = 0; j < space; j++) {
            sum += x->data[i * space + j] - host_number_or(host_input(h, 2), 0);
        }
        y->data[i] =
            rint(sum / (double)space * host_input(h, 1)->data[0] / host_input(h, 3)->data[0]) +
            host_number_or(host_input(h, 4), 0);
    }
    return true;
}

const struct host_row host_window_rows[] = {
    {"Conv", run_conv, NULL},
    {"com.microsoft.FusedConv", run_conv, NULL},
    {"ConvTranspose", run_conv_transpose, NULL},
    {"ConvInteger", run_conv_integer, NULL},
    {"QLinearConv", run_qlinear_conv, NULL},
    {"MaxPool", run_pool, NULL},
    {"AveragePool", run_pool, NULL},
    {"GlobalAveragePool", run_global_pool, NULL},
    {"GlobalMaxPool", run_global_pool, NULL},
    {"com.microsoft.QLinearGlobalAveragePool", run_qlinear_global_pool, NULL},
    {NULL, NULL, NULL},
};
