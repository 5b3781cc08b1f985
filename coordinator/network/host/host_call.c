#include "coordinator/network/host/host_rows.h"

#include <string.h>

const struct host_array *host_input(const struct host_call *h, int index)
{
    return index < h->call->input_count ? h->inputs[index] : NULL;
}

int64_t host_int(const struct host_call *h, const char *name, int64_t missing)
{
    return attributes_int(h->call->attributes, name, missing);
}

double host_float(const struct host_call *h, const char *name, double missing)
{
    return attributes_float(h->call->attributes, name, missing);
}

bool host_is_named(const struct host_call *h, const char *name)
{
    const char *own = h->call->op->name;
    return strcmp(own, name) == 0 ||
           (g_str_has_prefix(own, "com.microsoft.") && strcmp(own + 14, name) == 0);
}

void host_broadcast_strides(const struct shape *from, const struct shape *to,
                            int64_t strides[SHAPE_MAX_RANK])
{
    for (int i = 0; i < to->rank; i++) {
        int axis = i - (to->rank - from->rank);
        strides[i] = axis >= 0 && from->dim[axis] > 1 ? from->stride[axis] : 0;
    }
}

struct host_array *host_expanded(const struct host_array *array, const struct shape *to,
                                 int threads)
{
    struct shape shape = *to;
    int64_t strides[SHAPE_MAX_RANK];
    shape.type = array->shape.type;
    if (shape_same_dims(&array->shape, to)) {
        return host_array_ref((struct host_array *)array);
    }
    struct host_array *result = host_array_new(&shape);
    host_broadcast_strides(&array->shape, to, strides);
    if (result->count > 0) {
        host_gather(result, array->data, 0, strides, threads);
    }
    return result;
}

struct host_array *host_less_zero(const struct host_array *x, const struct host_array *zero)
{
    if (zero == NULL) {
        return host_array_ref((struct host_array *)x);
    }
    struct host_array *result = host_array_new(&x->shape);
    int64_t row = x->count / MAX(x->shape.rank > 0 ? x->shape.dim[0] : 1, 1);
    for (int64_t i = 0; i < x->count; i++) {
        result->data[i] = x->data[i] - zero->data[zero->count > 1 ? i / MAX(row, 1) : 0];
    }
    return result;
}

double host_number_or(const struct host_array *array, double missing)
{
    return array != NULL ? array->data[0] : missing;
}
