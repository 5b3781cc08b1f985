#include "coordinator/network/host/host_rows.h"

static bool run_shape(const struct host_call *h, GError **error)
{
    const struct shape *x = h->call->inputs[0];
    int64_t start = host_int(h, "start", 0);
    (void)error;
    start += start < 0 ? x->rank : 0;
    for (int64_t i = 0; i < h->outputs[0]->count; i++) {
        h->outputs[0]->data[i] = (double)x->dim[CLAMP(start, 0, x->rank) + i];
    }
    return true;
}

static bool run_size(const struct host_call *h, GError **error)
{
    (void)error;
    h->outputs[0]->data[0] = (double)shape_elements(h->call->inputs[0]);
    return true;
}

static bool run_constant_of_shape(const struct host_call *h, GError **error)
{
    const struct tensor *value = attributes_tensor(h->call->attributes, "value");
    double number = tensor_has_data(value) ? tensor_double(value, 0) : 0;
    (void)error;
    for (int64_t i = 0; i < h->outputs[0]->count; i++) {
        h->outputs[0]->data[i] = number;
    }
    return true;
}

static bool run_range(const struct host_call *h, GError **error)
{
    (void)error;
    for (int64_t i = 0; i < h->outputs[0]->count; i++) {
        h->outputs[0]->data[i] = host_input(h, 0)->data[0] + (double)i * host_input(h, 2)->data[0];
    }
    return true;
}

const struct host_row host_shape_rows[] = {
    {"Shape", run_shape, NULL},
    {"Size", run_size, NULL},
    {"ConstantOfShape", run_constant_of_shape, NULL},
    {"Range", run_range, NULL},
    {NULL, NULL, NULL},
};
