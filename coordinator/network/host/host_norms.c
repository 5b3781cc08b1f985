#include "coordinator/network/host/host_rows.h"

#include <math.h>

static bool run_lrn(const struct host_call *h, GError **error)
{
    const struct host_array *x = host_input(h, 0);
    int64_t n = x->shape.dim[0], c = x->shape.dim[1];
    (void)error;
    host_lrn(n, c, x->count / MAX(n * c, 1), host_int(h, "size", 1),
             host_float(h, "alpha", 0.0001f), host_float(h, "beta", 0.75), host_float(h, "bias", 1),
             x->data, h->outputs[0]->data, h->threads);
    return true;
}

static bool run_softmax(const struct host_call *h, GError **error)
{
    const struct shape *x = &host_input(h, 0)->shape;
    int64_t axis = host_int(h, "axis", -1), outer = 1, among = 1, inner = 1;
    bool to_end = host_int(h, "to_end", 0) != 0;
    (void)error;
    axis += axis < 0 ? x->rank : 0;
    for (int i = 0; i < x->rank; i++) {
        *(i < axis ? &outer : i == axis || to_end ? &among : &inner) *= x->dim[i];
    }
    host_softmax(outer, among, inner, host_is_named(h, "LogSoftmax"), host_input(h, 0)->data,
                 h->outputs[0]->data);
    return true;
}

static void batch_norm_piece(void *context, int64_t first, int64_t last)
{
    const struct host_call *h = context;
    const struct host_array *x = host_input(h, 0);
    double epsilon = host_float(h, "epsilon", 1e-5f), *y = h->outputs[0]->data;
    int64_t channels = x->shape.rank > 1 ? x->shape.dim[1] : 1;
    int64_t space = x->count / MAX(x->shape.dim[0] * channels, 1);
    for (int64_t i = first, end; i < last; i = end) {
        int64_t plane = i / space, c = plane % channels;
        double scale = host_input(h, 1)->data[c], bias = host_input(h, 2)->data[c];
        double mean = host_input(h, 3)->data[c];
        double deviation = sqrt(host_input(h, 4)->data[c] + epsilon);
        end = MIN((plane + 1) * space, last);
        for (int64_t j = i; j < end; j++) {
            y[j] = (x->data[j] - mean) / deviation * scale + bias;
        }
    }
}

static bool run_batch_norm(const struct host_call *h, GError **error)
{
    (void)error;
    host_parallel_pieces(host_input(h, 0)->count, h->threads, batch_norm_piece, (void *)h);
    return true;
}

/* (x - mean) / deviation over `length` neighbouring elements. */
static void normalise(const double *x, double *y, int64_t length, double epsilon)
{
    double mean = 0, variance = 0;
    for (int64_t i = 0; i < length; i++) {
        mean += x[i] / (double)length;
    }
    for (int64_t i = 0; i < length; i++) {
        variance += (x[i] - mean) * (x[i] - mean) / (double)length;
    }
    for (int64_t i = 0; i < length; i++) {
        y[i] = (x[i] - mean) / sqrt(variance + epsilon);
    }
}

static bool run_instance_norm(const struct host_call *h, GError **error)
{
    const struct host_array *x = host_input(h, 0);
    struct host_array *y = h->outputs[0];
    int64_t channels = x->shape.dim[1], space = x->count / MAX(x->shape.dim[0] * channels, 1);
    (void)error;
    for (int64_t i = 0; i < x->count; i += space) {
        int64_t c = i / space % channels;
        normalise(x->data + i, y->data + i, space, host_float(h, "epsilon", 1e-5f));
        for (int64_t j = i; j < i + space; j++) {
            y->data[j] = y->data[j] * host_input(h, 1)->data[c] + host_input(h, 2)->data[c];
        }
    }
    return true;
}

static bool run_layer_norm(const struct host_call *h, GError **error)
{
    const struct host_array *x = host_input(h, 0);
    struct host_array *y = h->outputs[0];
    int64_t axis = host_int(h, "axis", -1), length = 1;
    (void)error;
    axis += axis < 0 ? x->shape.rank : 0;
    for (int64_t i = axis; i < x->shape.rank; i++) {
        length *= x->shape.dim[i];
    }
    for (int64_t i = 0; i < x->count; i += length) {
        normalise(x->data + i, y->data + i, length, host_float(h, "epsilon", 1e-5f));
        for (int64_t j = 0; j < length; j++) {
            y->data[i + j] =
                y->data[i + j] * host_input(h, 1)->data[j % host_input(h, 1)->count] +
                (host_input(h, 2) != NULL ? host_input(h, 2)->data[j % host_input(h, 2)->count]
                                          : 0);
        }
    }
    return true;
}

const struct host_row host_norm_rows[] = {
    {"LRN", run_lrn, NULL},
    {"Softmax", run_softmax, NULL},
    {"LogSoftmax", run_softmax, NULL},
    {"BatchNormalization", run_batch_norm, NULL},
    {"InstanceNormalization", run_instance_norm, NULL},
    {"LayerNormalization", run_layer_norm, NULL},
    {NULL, NULL, NULL},
};
