#include "coordinator/network/host/host_rows.h"

#include <math.h>

/* The index into a list of scales for element i: one for each index of "axis", or one for all. */
static int64_t scale_index(const struct host_call *h, const struct host_array *scales, int64_t i)
{
    const struct shape *x = &host_input(h, 0)->shape;
    int64_t axis = host_int(h, "axis", 1);
    if (scales->count == 1) {
        return 0;
    }
    axis += axis < 0 ? x->rank : 0;
    return i / MAX(host_input(h, 0)->shape.stride[axis], 1) % x->dim[axis];
}

static bool run_quantize(const struct host_call *h, GError **error)
{
    if (host_input(h, 1)->shape.rank > 1) {
        return infer_unsupported(error, "the host quantises by tensor or by one axis");
    }
    for (int64_t i = 0; i < h->outputs[0]->count; i++) {
        int64_t s = scale_index(h, host_input(h, 1), i);
        h->outputs[0]->data[i] = rint(host_input(h, 0)->data[i] / host_input(h, 1)->data[s]) +
                                 (host_input(h, 2) != NULL ? host_input(h, 2)->data[s] : 0);
    }
    return true;
}

static bool run_dequantize(const struct host_call *h, GError **error)
{
    if (host_input(h, 1)->shape.rank > 1) {
        return infer_unsupported(error, "the host dequantises by tensor or by one axis");
    }
    for (int64_t i = 0; i < h->outputs[0]->count; i++) {
        int64_t s = scale_index(h, host_input(h, 1), i);
        h->outputs[0]->data[i] = (host_input(h, 0)->data[i] -
                                  (host_input(h, 2) != NULL ? host_input(h, 2)->data[s] : 0)) *
                                 host_input(h, 1)->data[s];
    }
    return true;
}

static bool run_qlinear_binary(const struct host_call *h, GError **error)
{
    struct host_array *y = h->outputs[0];
    g_autoptr(HostArray) a = host_expanded(host_input(h, 0), &y->shape, h->threads);
    g_autoptr(HostArray) b = host_expanded(host_input(h, 3), &y->shape, h->threads);
    (void)error;
    for (int64_t i = 0; i < y->count; i++) {
        double p = (a->data[i] - host_number_or(host_input(h, 2), 0)) * host_input(h, 1)->data[0];
        double q = (b->data[i] - host_number_or(host_input(h, 5), 0)) * host_input(h, 4)->data[0];
        y->data[i] =
            rint((host_is_named(h, "QLinearAdd") ? p + q : p * q) / host_input(h, 6)->data[0]) +
            host_number_or(host_input(h, 7), 0);
    }
    return true;
}

static bool run_qlinear_unary(const struct host_call *h, GError **error)
{
    struct host_array *y = h->outputs[0];
    double alpha = host_float(h, "alpha", 0.01f);
    (void)error;
    for (int64_t i = 0; i < y->count; i++) {
        double x = (host_input(h, 0)->data[i] - host_number_or(host_input(h, 2), 0)) *
                   host_input(h, 1)->data[0];
        double v = host_is_named(h, "QLinearSigmoid") ? host_sigmoid(x) : host_leaky(x, alpha);
        y->data[i] = rint(v / host_input(h, 3)->data[0]) + host_number_or(host_input(h, 4), 0);
    }
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
