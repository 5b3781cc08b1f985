#include "coordinator/network/host/host_rows.h"

#include <math.h>

/* A list of scales has one for all elements, or one for each index of "axis". */
struct scaling {
    const double *x, *scales, *zeros; /* zeros may be NULL */
    int64_t stride, size;             /* of the axis; its size is 1 if there is one scale */
    double *y;
};

static struct scaling scaling_of(const struct host_call *h)
{
    const struct host_array *x = host_input(h, 0), *scales = host_input(h, 1);
    const struct host_array *zeros = host_input(h, 2);
    int64_t axis = host_int(h, "axis", 1);
    struct scaling s = {x->data, scales->data,       zeros != NULL ? zeros->data : NULL, 1,
                        1,       h->outputs[0]->data};
    if (scales->count != 1) {
        axis += axis < 0 ? x->shape.rank : 0;
        s.stride = MAX(x->shape.stride[axis], 1);
        s.size = x->shape.dim[axis];
    }
    return s;
}

static void quantize_piece(void *context, int64_t first, int64_t last)
{
    const struct scaling *s = context;
    for (int64_t i = first; i < last; i++) {
        int64_t place = i / s->stride % s->size;
        s->y[i] = rint(s->x[i] / s->scales[place]) + (s->zeros != NULL ? s->zeros[place] : 0);
    }
}

static bool run_quantize(const struct host_call *h, GError **error)
{
    if (host_input(h, 1)->shape.rank > 1) {
        return infer_unsupported(error, "the host quantises by tensor or by one axis");
    }
    struct scaling scaling = scaling_of(h);
    host_parallel_pieces(h->outputs[0]->count, h->threads, quantize_piece, &scaling);
    return true;
}

static void dequantize_piece(void *context, int64_t first, int64_t last)
{
    const struct scaling *s = context;
    for (int64_t i = first; i < last; i++) {
        int64_t place = i / s->stride % s->size;
        s->y[i] = (s->x[i] - (s->zeros != NULL ? s->zeros[place] : 0)) * s->scales[place];
    }
}

static bool run_dequantize(const struct host_call *h, GError **error)
{
    if (host_input(h, 1)->shape.rank > 1) {
        return infer_unsupported(error, "the host dequantises by tensor or by one axis");
    }
    struct scaling scaling = scaling_of(h);
    host_parallel_pieces(h->outputs[0]->count, h->threads, dequantize_piece, &scaling);
    return true;
}

struct qlinear {
    const struct host_call *h;
    const double *a, *b; /* of all elements of the output */
};

/* The number of an input that has one element, 0 of one that is omitted. */
static double only(const struct host_call *h, int index)
{
    return host_number_or(host_input(h, index), 0);
}

static void qlinear_binary_piece(void *context, int64_t first, int64_t last)
{
    const struct qlinear *q = context;
    double a_scale = only(q->h, 1), a_zero = only(q->h, 2), b_scale = only(q->h, 4);
    double b_zero = only(q->h, 5), y_scale = only(q->h, 6), y_zero = only(q->h, 7);
    double *y = q->h->outputs[0]->data;
    bool is_sum = host_is_named(q->h, "QLinearAdd");
    for (int64_t i = first; i < last; i++) {
        double a = (q->a[i] - a_zero) * a_scale, b = (q->b[i] - b_zero) * b_scale;
        y[i] = rint((is_sum ? a + b : a * b) / y_scale) + y_zero;
    }
}

static bool run_qlinear_binary(const struct host_call *h, GError **error)
{
    const struct shape *y = &h->outputs[0]->shape;
    g_autoptr(HostArray) a = host_expanded(host_input(h, 0), y, h->threads);
    g_autoptr(HostArray) b = host_expanded(host_input(h, 3), y, h->threads);
    struct qlinear qlinear = {h, a->data, b->data};
    (void)error;
    host_parallel_pieces(h->outputs[0]->count, h->threads, qlinear_binary_piece, &qlinear);
    return true;
}

static void qlinear_unary_piece(void *context, int64_t first, int64_t last)
{
    const struct host_call *h = context;
    const double *x = host_input(h, 0)->data;
    double x_scale = only(h, 1), x_zero = only(h, 2), y_scale = only(h, 3), y_zero = only(h, 4);
    double alpha = host_float(h, "alpha", 0.01f), *y = h->outputs[0]->data;
    bool is_sigmoid = host_is_named(h, "QLinearSigmoid");
    for (int64_t i = first; i < last; i++) {
        double real = (x[i] - x_zero) * x_scale;
        double v = is_sigmoid ? host_sigmoid(real) : host_leaky(real, alpha);
        y[i] = rint(v / y_scale) + y_zero;
    }
}

static bool run_qlinear_unary(const struct host_call *h, GError **error)
{
    (void)error;
    host_parallel_pieces(h->outputs[0]->count, h->threads, qlinear_unary_piece, (void *)h);
    return true;
}

const struct host_row host_quantised_rows[] = {
    {"QuantizeLinear", run_quantize, NULL},
    {"DequantizeLinear", run_dequantize, NULL},
    {"com.microsoft.QuantizeLinear", run_quantize, NULL},
    {"com.microsoft.DequantizeLinear", run_dequantize, NULL},
    {"com.microsoft.QLinearAdd", run_qlinear_binary, NULL},
    {"com.microsoft.QLinearMul", run_qlinear_binary, NULL},
    {"com.microsoft.QLinearSigmoid", run_qlinear_unary, NULL},
    {"com.microsoft.QLinearLeakyRelu", run_qlinear_unary, NULL},
    {NULL, NULL, NULL},
};
