#include "coordinator/network/host/host_rows.h"

#include <inttypes.h>
#include <string.h>

static void join(const struct host_call *h, int64_t axis)
{
    struct host_array *y = h->outputs[0];
    int64_t at = 0;
    for (int i = 0; i < h->call->input_count; i++) {
        if (host_input(h, i)->count > 0) {
            host_scatter(y->data, at * y->shape.stride[axis], y->shape.stride, host_input(h, i),
                         h->threads);
        }
        at += host_input(h, i)->shape.dim[axis];
    }
}

static bool run_concat(const struct host_call *h, GError **error)
{
    int64_t axis = host_int(h, "axis", 0);
    (void)error;
    join(h, axis < 0 ? axis + h->outputs[0]->shape.rank : axis);
    return true;
}

static void take_part(const struct host_call *h, const int64_t *begin, const int64_t *step,
                      struct host_array *y)
{
    const struct host_array *x = host_input(h, 0);
    int64_t offset = 0, strides[SHAPE_MAX_RANK];
    for (int i = 0; i < x->shape.rank; i++) {
        offset += begin[i] * x->shape.stride[i];
        strides[i] = step[i] * x->shape.stride[i];
    }
    if (y->count > 0) {
        host_gather(y, x->data, offset, strides, h->threads);
    }
}

static bool run_slice(const struct host_call *h, GError **error)
{
    int64_t begin[SHAPE_MAX_RANK], step[SHAPE_MAX_RANK], dims[SHAPE_MAX_RANK];
    if (!infer_slice_steps(h->call, begin, step, dims, error)) {
        return false;
    }
    take_part(h, begin, step, h->outputs[0]);
    return true;
}

static bool run_split(const struct host_call *h, GError **error)
{
    int64_t axis = host_int(h, "axis", 0), begin[SHAPE_MAX_RANK] = {0}, step[SHAPE_MAX_RANK];
    (void)error;
    axis += axis < 0 ? host_input(h, 0)->shape.rank : 0;
    for (int i = 0; i < SHAPE_MAX_RANK; i++) {
        step[i] = 1;
    }
    for (int i = 0; i < h->call->output_count; i++) {
        if (h->outputs[i] != NULL) {
            take_part(h, begin, step, h->outputs[i]);
            begin[axis] += h->outputs[i]->shape.dim[axis];
        }
    }
    return true;
}

static bool run_tile(const struct host_call *h, GError **error)
{
    const struct host_array *x = host_input(h, 0);
    struct host_array *y = h->outputs[0];
    (void)error;
    for (int64_t i = 0; i < y->count; i++) {
        int64_t rest = i, at = 0;
        for (int a = y->shape.rank - 1; a >= 0; a--) {
            at += rest % y->shape.dim[a] % x->shape.dim[a] * x->shape.stride[a];
            rest /= y->shape.dim[a];
        }
        y->data[i] = x->data[at];
    }
    return true;
}

/* The place inside [0, size) that padding at `at` repeats, -1 for a constant. */
static int64_t padded_place(const char *mode, int64_t at, int64_t size)
{
    if (at >= 0 && at < size) {
        return at;
    }
    if (strcmp(mode, "edge") == 0) {
        return CLAMP(at, 0, size - 1);
    }
    if (strcmp(mode, "wrap") == 0) {
        return (at % size + size) % size;
    }
    if (strcmp(mode, "reflect") == 0 && size > 1) {
        int64_t period = 2 * (size - 1), place = (at % period + period) % period;
        return place < size ? place : period - place;
    }
    return -1;
}

static void pad(const struct host_array *x, const int64_t *before, const char *mode, double number,
                struct host_array *y)
{
    for (int64_t i = 0; i < y->count; i++) {
        int64_t rest = i, at = 0;
        bool is_inside = true;
        for (int a = y->shape.rank - 1; a >= 0; a--) {
            int64_t place = padded_place(mode, rest % y->shape.dim[a] - before[a], x->shape.dim[a]);
            is_inside = is_inside && place >= 0;
            at += place * x->shape.stride[a];
            rest /= y->shape.dim[a];
        }
        y->data[i] = is_inside ? x->data[at] : number;
    }
}

static bool run_pad(const struct host_call *h, GError **error)
{
    const struct host_array *x = host_input(h, 0), *pads = host_input(h, 1),
                            *axes = host_input(h, 3);
    int64_t before[SHAPE_MAX_RANK] = {0};
    (void)error;
    for (int64_t i = 0; i < pads->count / 2; i++) {
        int64_t axis = axes != NULL ? (int64_t)axes->data[i] : i;
        before[axis < 0 ? axis + x->shape.rank : axis] = (int64_t)pads->data[i];
    }
    pad(x, before, attributes_string(h->call->attributes, "mode", "constant"),
        host_input(h, 2) != NULL ? host_input(h, 2)->data[0] : 0, h->outputs[0]);
    return true;
}

static bool run_resize(const struct host_call *h, GError **error)
{
    const struct host_array *x = host_input(h, 0);
    struct host_array *y = h->outputs[0];
    const char *mode = attributes_string(h->call->attributes, "mode", "nearest");
    const char *coordinates =
        attributes_string(h->call->attributes, "coordinate_transformation_mode", "half_pixel");
    double scale[SHAPE_MAX_RANK];
    int axis_count;
    const int64_t *axes = attributes_ints(h->call->attributes, "axes", &axis_count);
    if (strcmp(mode, "cubic") == 0 || strcmp(coordinates, "tf_crop_and_resize") == 0 ||
        host_int(h, "antialias", 0) != 0) {
        return infer_unsupported(error, "the host resizes by 'nearest' and 'linear' alone");
    }
    for (int i = 0; i < x->shape.rank; i++) {
        scale[i] = (double)y->shape.dim[i] / (double)x->shape.dim[i];
    }
    for (int64_t i = 0; host_input(h, 2) != NULL && i < host_input(h, 2)->count; i++) {
        int64_t axis = axes != NULL ? axes[i] : i;
        scale[axis < 0 ? axis + x->shape.rank : axis] = host_input(h, 2)->data[i];
    }
    host_resize(&x->shape, &y->shape, scale, strcmp(mode, "linear") == 0, coordinates,
                attributes_string(h->call->attributes, "nearest_mode", "round_prefer_floor"),
                x->data, y->data);
    return true;
}

static bool run_depth_to_space(const struct host_call *h, GError **error)
{
    const struct shape *x = &host_input(h, 0)->shape;
    struct host_array *y = h->outputs[0];
    int64_t b = host_int(h, "blocksize", 1), c = y->shape.dim[1];
    bool is_crd = strcmp(attributes_string(h->call->attributes, "mode", "DCR"), "CRD") == 0;
    (void)error;
    for (int64_t i = 0; i < y->count; i++) {
        int64_t column = i % y->shape.dim[3], row = i / y->shape.dim[3] % y->shape.dim[2];
        int64_t channel = i / y->shape.stride[1] % c, image = i / y->shape.stride[0];
        int64_t block = row % b * b + column % b;
        int64_t from = is_crd ? channel * b * b + block : block * c + channel;
        y->data[i] = host_input(h, 0)->data[image * x->stride[0] + from * x->stride[1] +
                                            row / b * x->stride[2] + column / b];
    }
    return true;
}

static bool run_space_to_depth(const struct host_call *h, GError **error)
{
    const struct shape *x = &host_input(h, 0)->shape;
    struct host_array *y = h->outputs[0];
    int64_t b = host_int(h, "blocksize", 1);
    (void)error;
    for (int64_t i = 0; i < y->count; i++) {
        int64_t column = i % y->shape.dim[3], row = i / y->shape.dim[3] % y->shape.dim[2];
        int64_t channel = i / y->shape.stride[1] % y->shape.dim[1];
        int64_t image = i / y->shape.stride[0], block = channel / x->dim[1];
        y->data[i] =
            host_input(h, 0)->data[image * x->stride[0] + channel % x->dim[1] * x->stride[1] +
                                   (row * b + block / b) * x->stride[2] + column * b + block % b];
    }
    return true;
}

static bool run_gather(const struct host_call *h, GError **error)
{
    const struct host_array *x = host_input(h, 0), *indices = host_input(h, 1);
    struct host_array *y = h->outputs[0];
    int64_t axis = host_int(h, "axis", 0);
    axis += axis < 0 ? x->shape.rank : 0;
    int64_t inner = 1, size = x->shape.dim[axis];
    for (int64_t a = axis + 1; a < x->shape.rank; a++) {
        inner *= x->shape.dim[a];
    }
    for (int64_t i = 0; i < y->count; i++) {
        int64_t outer = i / inner / MAX(indices->count, 1);
        double index = indices->data[i / inner % MAX(indices->count, 1)];
        index += index < 0 ? (double)size : 0;
        if (index < 0 || index >= (double)size) {
            return infer_invalid(error, "index %g is outside of an axis of %" PRId64, index, size);
        }
        y->data[i] = x->data[(outer * size + (int64_t)index) * inner + i % inner];
    }
    return true;
}

static bool run_copy(const struct host_call *h, GError **error)
{
    (void)error;
    memcpy(h->outputs[0]->data, host_input(h, 0)->data,
           sizeof(double) * (gsize)host_input(h, 0)->count);
    return true;
}

static bool run_part(const struct host_call *h, GError **error)
{
    int rank;
    (void)error;
    take_part(h, attributes_ints(h->call->attributes, "begin", &rank),
              attributes_ints(h->call->attributes, "step", &rank), h->outputs[0]);
    return true;
}

static bool run_border(const struct host_call *h, GError **error)
{
    int rank;
    (void)error;
    pad(host_input(h, 0), attributes_ints(h->call->attributes, "before", &rank), "constant",
        host_float(h, "value", 0), h->outputs[0]);
    return true;
}

const struct host_row host_movement_rows[] = {
    {"join", run_concat, NULL},
    {"part", run_part, NULL},
    {"border", run_border, NULL},
    {"copy", run_copy, NULL},
    {"Concat", run_concat, NULL},
    {"Slice", run_slice, NULL},
    {"Split", run_split, NULL},
    {"Tile", run_tile, NULL},
    {"Pad", run_pad, NULL},
    {"Resize", run_resize, NULL},
    {"DepthToSpace", run_depth_to_space, NULL},
    {"SpaceToDepth", run_space_to_depth, NULL},
    {"Gather", run_gather, NULL},
    {NULL, NULL, NULL},
};
