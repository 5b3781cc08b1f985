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
                 h->outputs[0]->data, h->threads);
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
    double deviation = sqrt(variance + epsilon);
    for (int64_t i = 0; i < length; i++) {
        y[i] = (x[i] - mean) / deviation;
    }
}

/* Each row is a channel of an image. */
static void instance_norm_rows(void *context, int64_t first, int64_t last)
{
    const struct host_call *h = context;
    const struct host_array *x = host_input(h, 0);
    int64_t channels = x->shape.dim[1], space = x->count / MAX(x->shape.dim[0] * channels, 1);
    double epsilon = host_float(h, "epsilon", 1e-5f);
    for (int64_t row = first; row < last; row++) {
        double scale = host_input(h, 1)->data[row % channels];
        double bias = host_input(h, 2)->data[row % channels];
        double *y = h->outputs[0]->data + row * space;
        normalise(x->data + row * space, y, space, epsilon);
        for (int64_t i = 0; i < space; i++) {
            y[i] = y[i] * scale + bias;
        }
    }
}

static bool run_instance_norm(const struct host_call *h, GError **error)
{
    const struct host_array *x = host_input(h, 0);
    int64_t rows = x->shape.dim[0] * x->shape.dim[1];
    (void)error;
    host_parallel_rows(rows, x->count / MAX(rows, 1), h->threads, instance_norm_rows, (void *)h);
    return true;
}

struct layer_norm {
    const struct host_array *x, *scale, *bias; /* bias may be NULL */
    int64_t length;
    double epsilon, *y;
};

static void layer_norm_rows(void *context, int64_t first, int64_t last)
{
    const struct layer_norm *l = context;
    for (int64_t row = first; row < last; row++) {
        double *y = l->y + row * l->length;
        normalise(l->x->data + row * l->length, y, l->length, l->epsilon);
        for (int64_t j = 0; j < l->length; j++) {
            y[j] = y[j] * l->scale->data[j % l->scale->count] +
                   (l->bias != NULL ? l->bias->data[j % l->bias->count] : 0);
        }
    }
}

static bool run_layer_norm(const struct host_call *h, GError **error)
{
    const struct host_array *x = host_input(h, 0);
    struct layer_norm norm = {x,
                              host_input(h, 1),
                              host_input(h, 2),
                              1,
                              host_float(h, "epsilon", 1e-5f),
                              h->outputs[0]->data};
    int64_t axis = host_int(h, "axis", -1);
    (void)error;
    axis += axis < 0 ? x->shape.rank : 0;
    for (int64_t i = axis; i < x->shape.rank; i++) {
        norm.length *= x->shape.dim[i];
    }
    host_parallel_rows(x->count / MAX(norm.length, 1), norm.length, h->threads, layer_norm_rows,
                       &norm);
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
