#include "coordinator/network/host/host_rows.h"

#include "coordinator/network/passes/kernel_op.h"

#include <string.h>

static int64_t channels_of(const struct shape *shape)
{
    return shape->rank >= 2 ? shape->dim[1] : shape->rank == 1 ? shape->dim[0] : 1;
}

static const double *list_of(const struct host_call *h, int input)
{
    return host_input(h, input) != NULL ? host_input(h, input)->data : NULL;
}

static void finish(const struct host_call *h, const struct kernel *kernel)
{
    struct host_array *y = h->outputs[0];
    const struct host_array *residual = host_input(h, KERNEL_RESIDUAL),
                            *scales = host_input(h, KERNEL_SCALES);
    int64_t k = channels_of(&y->shape);
    int64_t n = y->shape.rank >= 2 ? y->shape.dim[0] : 1, space = y->count / MAX(n * k, 1);
    int64_t wanted = epilogue_scales(&kernel->epilogue, k);
    g_autofree double *list = wanted > 0 ? g_new0(double, wanted) : NULL;
    for (int64_t i = 0; i < wanted; i++) {
        list[i] = i < scales->count ? (float)scales->data[i] : 1;
    }
    host_epilogue(&kernel->epilogue, n, k, space, list_of(h, KERNEL_BIAS),
                  residual != NULL ? residual->data : NULL,
                  residual != NULL && !element_type_is_float(residual->shape.type), list, wanted,
                  y->data, h->threads);
}

static void kernel_window(const struct host_call *h, const struct kernel *kernel,
                          const int64_t *fil, struct host_window *w)
{
    const struct shape *x = &host_input(h, KERNEL_X)->shape, *y = &h->outputs[0]->shape;
    struct window window = {.axes = x->rank - 2};
    int skip = 3 - window.axes;
    for (int i = 0; i < window.axes; i++) {
        window.size[i] = fil[i];
        window.before[i] = window.after[i] = kernel->pad[i + skip];
        window.stride[i] = kernel->stride[i + skip];
        window.dilation[i] = kernel->dilation[i + skip];
    }
    host_set_window(w, &window, x, y, kernel->groups);
}

/* The kernel of a call: kernel_read() reads nodes. */
static void read_kernel(const struct host_call *h, struct kernel *kernel)
{
    struct node node = {.op = h->call->op, .attributes = (struct attributes *)h->call->attributes};
    kernel_read(&node, kernel);
}

static bool run_kernel_conv(const struct host_call *h, GError **error)
{
    struct kernel kernel;
    struct host_window window;
    (void)error;
    read_kernel(h, &kernel);
    kernel_window(h, &kernel, host_input(h, KERNEL_W)->shape.dim + 2, &window);
    if (kernel.is_transposed) {
        host_convolve_transposed(&window, host_input(h, KERNEL_X)->data,
                                 host_input(h, KERNEL_W)->data, h->outputs[0]->data, h->threads);
    } else {
        host_convolve(&window, host_input(h, KERNEL_X)->data, host_input(h, KERNEL_W)->data, 0,
                      h->outputs[0]->data, h->threads);
    }
    finish(h, &kernel);
    return true;
}

static bool run_kernel_pool(const struct host_call *h, GError **error)
{
    struct kernel kernel;
    struct host_window window;
    (void)error;
    read_kernel(h, &kernel);
    kernel_window(h, &kernel, &kernel.fil[5 - host_input(h, KERNEL_X)->shape.rank], &window);
    window.groups = 1;
    host_pool(&window,
              strcmp(kernel.mode, "max") == 0       ? HOST_POOL_MAX
              : strcmp(kernel.mode, "average") == 0 ? HOST_POOL_AVERAGE
                                                    : HOST_POOL_AVERAGE_ALL,
              false, host_input(h, KERNEL_X)->data, h->outputs[0]->data, h->threads);
    finish(h, &kernel);
    return true;
}

static bool run_kernel_alike(const struct host_call *h, GError **error)
{
    const struct host_array *x = host_input(h, KERNEL_X);
    struct host_array *y = h->outputs[0];
    struct kernel kernel;
    (void)error;
    read_kernel(h, &kernel);
    int64_t n = x->shape.rank > 0 ? x->shape.dim[0] : 1, c = channels_of(&x->shape);
    int64_t space = x->count / MAX(n * c, 1);
    if (kernel.kind == OP_SOFTMAX) {
        host_softmax(n, c, space, strcmp(kernel.mode, "log") == 0, x->data, y->data, h->threads);
    } else if (kernel.kind == OP_LRN) {
        g_auto(GStrv) words = g_strsplit(kernel.mode, ",", 4);
        host_lrn(n, c, space, g_ascii_strtoll(words[0], NULL, 10), g_ascii_strtod(words[1], NULL),
                 g_ascii_strtod(words[2], NULL), g_ascii_strtod(words[3], NULL), x->data, y->data,
                 h->threads);
    } else {
        memcpy(y->data, x->data, sizeof(double) * (gsize)x->count);
    }
    finish(h, &kernel);
    return true;
}

static bool run_kernel_resize(const struct host_call *h, GError **error)
{
    const struct host_array *x = host_input(h, KERNEL_X);
    struct host_array *y = h->outputs[0];
    struct kernel kernel;
    double scale[SHAPE_MAX_RANK];
    (void)error;
    read_kernel(h, &kernel);
    g_auto(GStrv) words = g_strsplit(kernel.mode, ",", 3);
    for (int i = 0; i < x->shape.rank; i++) {
        scale[i] = (double)y->shape.dim[i] / (double)x->shape.dim[i];
    }
    host_resize(&x->shape, &y->shape, scale, strcmp(words[0], "linear") == 0, words[1],
                words[2] != NULL ? words[2] : "", x->data, y->data);
    finish(h, &kernel);
    return true;
}

const struct host_row host_kernel_rows[] = {
    {"conv", run_kernel_conv, NULL},
    {"pool", run_kernel_pool, NULL},
    {"pointwise", run_kernel_alike, NULL},
    {"softmax", run_kernel_alike, NULL},
    {"lrn", run_kernel_alike, NULL},
    {"resize", run_kernel_resize, NULL},
    {NULL, NULL, NULL},
};
