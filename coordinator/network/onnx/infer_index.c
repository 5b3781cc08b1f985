/*
 * Operators that sample, choose, count or reduce.
 */
#include "coordinator/network/onnx/infer.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* ---- another size ---- */

/* The result's size of an axis that is scaled. Scales are float32 numbers: a product that is a whole number up to their
 * rounding is that number. */
static bool scaled_size(int64_t size, double scale, int64_t *out, GError **error)
{
    double product = floor((double)size * scale + 1e-5 * scale);
    if (!(scale > 0) || product > INT32_MAX || product < 1) {
        return infer_invalid(error, "an axis of %" PRId64 " is scaled by %g", size, scale);
    }
    *out = (int64_t)product;
    return true;
}

/* Reads the sizes that the input `sizes` gives axes[0], axes[1], ... */
static bool resize_to(const struct op_call *call, const int *axes, int count, int64_t *dims,
                      GError **error)
{
    const struct shape *x = call->inputs[0];
    const char *policy = attributes_string(call->attributes, "keep_aspect_ratio_policy", "stretch");
    int64_t sizes[SHAPE_MAX_RANK];
    int given;
    if (!infer_numbers(call, 3, "sizes", sizes, SHAPE_MAX_RANK, &given, error)) {
        return false;
    }
    if (given != count) {
        return infer_invalid(error, "sizes has %d numbers and should have %d", given, count);
    }
    double factor = 0;
    for (int i = 0; i < count; i++) {
        if (sizes[i] < 1 || sizes[i] > INT32_MAX || x->dim[axes[i]] < 1) {
            return infer_invalid(error, "sizes has the number %" PRId64, sizes[i]);
        }
        double each = (double)sizes[i] / (double)x->dim[axes[i]];
        bool larger = strcmp(policy, "not_smaller") == 0;
        factor = i == 0 ? each : larger ? MAX(factor, each) : MIN(factor, each);
    }
    for (int i = 0; i < count; i++) {
        dims[axes[i]] = strcmp(policy, "stretch") == 0
                            ? sizes[i]
                            : (int64_t)(factor * (double)x->dim[axes[i]] + 0.5);
    }
    return true;
}

bool infer_resize(const struct op_call *call, struct shape *outputs, GError **error)
{
    const struct shape *x = call->inputs[0];
    int64_t dims[SHAPE_MAX_RANK];
    int axes[SHAPE_MAX_RANK], count = 0;
    const int64_t *given = attributes_ints(call->attributes, "axes", &count);
    memcpy(dims, x->dim, sizeof dims);
    if (given == NULL) {
        count = x->rank;
    }
    if (count > x->rank) {
        return infer_invalid(error, "axes has %d numbers, its input %d axes", count, x->rank);
    }
    for (int i = 0; i < count; i++) {
        axes[i] = i;
        if (given != NULL && !infer_axis("axes", given[i], x->rank, &axes[i], error)) {
            return false;
        }
    }
    /* An empty input counts as none: older exporters write one. */
    const struct shape *scales = infer_input(call, 2), *sizes = infer_input(call, 3);
    if (sizes != NULL && shape_elements(sizes) > 0) {
        return resize_to(call, axes, count, dims, error) &&
               infer_packed(&outputs[0], x->type, x->rank, dims, error);
    }
    const struct tensor *factors = infer_contents(call, 2);
    if (scales == NULL || shape_elements(scales) == 0) {
        return infer_invalid(error, "it has neither scales nor sizes");
    }
    if (factors == NULL) {
        return infer_unsupported(error,
                                 "its scales are computed while the network runs, so the file does "
                                 "not say its size");
    }
    if (shape_elements(&factors->shape) != count) {
        return infer_invalid(error, "scales has %" PRId64 " numbers and should have %d",
                             shape_elements(&factors->shape), count);
    }
    for (int i = 0; i < count; i++) {
        if (!scaled_size(x->dim[axes[i]], tensor_double(factors, i), &dims[axes[i]], error)) {
            return false;
        }
    }
    return infer_packed(&outputs[0], x->type, x->rank, dims, error);
}

/* x [N, C, space...] at the places of the grid [N, space of the result..., axes in space] */
bool infer_grid_sample(const struct op_call *call, struct shape *outputs, GError **error)
{
    const struct shape *x = call->inputs[0], *grid = call->inputs[1];
    if (x->rank < 3 || grid->rank != x->rank || grid->dim[grid->rank - 1] != x->rank - 2) {
        g_autofree char *text = shape_text(x), *places = shape_text(grid);
        return infer_invalid(error, "its grid %s does not fit its input %s", places, text);
    }
    int64_t dims[SHAPE_MAX_RANK] = {x->dim[0], x->dim[1]};
    for (int i = 2; i < x->rank; i++) {
        dims[i] = grid->dim[i - 1];
    }
    return infer_packed(&outputs[0], x->type, x->rank, dims, error);
}

/* ---- reducing ---- */

bool infer_reduced_axes(const struct op_call *call, bool reduced[SHAPE_MAX_RANK], GError **error)
{
    const struct shape *x = call->inputs[0];
    int64_t axes[SHAPE_MAX_RANK];
    int count = 0;
    if (infer_input(call, 1) != NULL && shape_elements(call->inputs[1]) > 0 &&
        !infer_numbers(call, 1, "axes", axes, SHAPE_MAX_RANK, &count, error)) {
        return false;
    }
    if (!infer_axes("axes", axes, count, x->rank, reduced, error)) {
        return false;
    }
    bool all = count == 0 && attributes_int(call->attributes, "noop_with_empty_axes", 0) == 0;
    for (int i = 0; i < x->rank; i++) {
        reduced[i] = reduced[i] || all;
    }
    return true;
}

static bool set_reduced(const struct op_call *call, const bool reduced[SHAPE_MAX_RANK],
                        enum element_type type, struct shape *output, GError **error)
{
    const struct shape *x = call->inputs[0];
    bool keeps = attributes_int(call->attributes, "keepdims", 1) != 0;
    int64_t dims[SHAPE_MAX_RANK];
    int rank = 0;
    for (int i = 0; i < x->rank; i++) {
        if (!reduced[i] || keeps) {
            dims[rank++] = reduced[i] ? 1 : x->dim[i];
        }
    }
    return infer_packed(output, type, rank, dims, error);
}

bool infer_reduce(const struct op_call *call, struct shape *outputs, GError **error)
{
    bool reduced[SHAPE_MAX_RANK];
    return infer_reduced_axes(call, reduced, error) &&
           set_reduced(call, reduced, call->inputs[0]->type, &outputs[0], error);
}

bool infer_arg(const struct op_call *call, struct shape *outputs, GError **error)
{
    bool reduced[SHAPE_MAX_RANK] = {false};
    int axis;
    if (!infer_axis("axis", attributes_int(call->attributes, "axis", 0), call->inputs[0]->rank,
                    &axis, error)) {
        return false;
    }
    reduced[axis] = true;
    return set_reduced(call, reduced, ELEMENT_INT64, &outputs[0], error);
}

/* ---- choosing ---- */

bool infer_gather(const struct op_call *call, struct shape *outputs, GError **error)
{
    const struct shape *x = call->inputs[0], *indices = call->inputs[1];
    int64_t dims[2 * SHAPE_MAX_RANK];
    int axis, rank = 0;
    if (!infer_axis("axis", attributes_int(call->attributes, "axis", 0), x->rank, &axis, error)) {
        return false;
    }
    for (int i = 0; i < axis; i++) {
        dims[rank++] = x->dim[i];
    }
    for (int i = 0; i < indices->rank; i++) {
        dims[rank++] = indices->dim[i];
    }
    for (int i = axis + 1; i < x->rank; i++) {
        dims[rank++] = x->dim[i];
    }
    return infer_packed(&outputs[0], x->type, rank, dims, error);
}

bool infer_gather_elements(const struct op_call *call, struct shape *outputs, GError **error)
{
    const struct shape *indices = call->inputs[1];
    return infer_packed(&outputs[0], call->inputs[0]->type, indices->rank, indices->dim, error);
}

bool infer_gather_nd(const struct op_call *call, struct shape *outputs, GError **error)
{
    const struct shape *x = call->inputs[0], *indices = call->inputs[1];
    int64_t batch = attributes_int(call->attributes, "batch_dims", 0);
    int64_t dims[2 * SHAPE_MAX_RANK];
    int rank = 0;
    if (indices->rank == 0 || batch < 0 || batch >= MIN(indices->rank, x->rank)) {
        return infer_invalid(error, "batch_dims is %" PRId64 ", its indices have %d axes", batch,
                             indices->rank);
    }
    int64_t depth = indices->dim[indices->rank - 1];
    if (depth < 1 || depth > x->rank - batch) {
        return infer_invalid(error, "its indices have %" PRId64 " numbers each, its input %d axes",
                             depth, x->rank);
    }
    for (int i = 0; i + 1 < indices->rank; i++) {
        dims[rank++] = indices->dim[i];
    }
    for (int i = (int)(batch + depth); i < x->rank; i++) {
        dims[rank++] = x->dim[i];
    }
    return infer_packed(&outputs[0], x->type, rank, dims, error);
}

bool infer_top_k(const struct op_call *call, struct shape *outputs, GError **error)
{
    const struct shape *x = call->inputs[0];
    int64_t k, dims[SHAPE_MAX_RANK];
    int axis, count;
    if (!infer_axis("axis", attributes_int(call->attributes, "axis", -1), x->rank, &axis, error) ||
        !infer_numbers(call, 1, "k", &k, 1, &count, error)) {
        return false;
    }
    if (count != 1 || k < 0 || k > x->dim[axis]) {
        return infer_invalid(error, "k is not 0 to %" PRId64, x->dim[axis]);
    }
    memcpy(dims, x->dim, sizeof dims);
    dims[axis] = k;
    return infer_packed(&outputs[0], x->type, x->rank, dims, error) &&
           (call->output_count < 2 ||
            infer_packed(&outputs[1], ELEMENT_INT64, x->rank, dims, error));
}

/* How many elements are chosen is known only when the network runs: all, at most. */
bool infer_compress(const struct op_call *call, struct shape *outputs, GError **error)
{
    int64_t elements = shape_elements(call->inputs[0]);
    return attributes_find(call->attributes, "axis") != NULL
               ? infer_same(call, outputs, error)
               : infer_packed(&outputs[0], call->inputs[0]->type, 1, &elements, error);
}

/* How many elements are not zero is known only when the network runs: as many as there are, at most. */
bool infer_non_zero(const struct op_call *call, struct shape *outputs, GError **error)
{
    int64_t dims[] = {call->inputs[0]->rank, shape_elements(call->inputs[0])};
    return infer_packed(&outputs[0], ELEMENT_INT64, 2, dims, error);
}

/* How many boxes are left is known only when the network runs: the largest number that the attributes allow. */
bool infer_non_max_suppression(const struct op_call *call, struct shape *outputs, GError **error)
{
    const struct shape *boxes = call->inputs[0], *scores = call->inputs[1];
    int64_t most = 0, kept;
    int count;
    if (boxes->rank != 3 || scores->rank != 3) {
        return infer_invalid(error, "its boxes and scores must have 3 axes");
    }
    if (infer_input(call, 2) != NULL &&
        !infer_numbers(call, 2, "max_output_boxes_per_class", &most, 1, &count, error)) {
        return false;
    }
    most = CLAMP(most, 0, boxes->dim[1]);
    if (!infer_product(scores->dim[0], scores->dim[1], &kept, error) ||
        !infer_product(kept, most, &kept, error)) {
        return false;
    }
    int64_t dims[] = {kept, 3};
    return infer_packed(&outputs[0], ELEMENT_INT64, 2, dims, error);
}

bool infer_one_hot(const struct op_call *call, struct shape *outputs, GError **error)
{
    const struct shape *indices = call->inputs[0];
    int64_t depth, dims[SHAPE_MAX_RANK + 1];
    int axis, count;
    if (!infer_numbers(call, 1, "depth", &depth, 1, &count, error) ||
        !infer_axis("axis", attributes_int(call->attributes, "axis", -1), indices->rank + 1, &axis,
                    error)) {
        return false;
    }
    if (count != 1 || depth < 1) {
        return infer_invalid(error, "depth is not 1 or more");
    }
    for (int i = 0; i <= indices->rank; i++) {
        dims[i] = i == axis ? depth : indices->dim[i - (i > axis)];
    }
    return infer_packed(&outputs[0], call->inputs[2]->type, indices->rank + 1, dims, error);
}

bool infer_eye_like(const struct op_call *call, struct shape *outputs, GError **error)
{
    const struct shape *x = call->inputs[0];
    int64_t type = attributes_int(call->attributes, "dtype", x->type);
    return infer_packed(&outputs[0], (enum element_type)type, x->rank, x->dim, error);
}

/* ---- shapes as numbers ---- */

bool infer_shape_of(const struct op_call *call, struct shape *outputs, GError **error)
{
    int64_t rank = call->inputs[0]->rank, begin = attributes_int(call->attributes, "start", 0);
    int64_t end = attributes_int(call->attributes, "end", rank);
    begin = CLAMP(begin < 0 ? begin + rank : begin, 0, rank);
    end = CLAMP(end < 0 ? end + rank : end, 0, rank);
    int64_t count = MAX(end - begin, 0);
    return infer_packed(&outputs[0], ELEMENT_INT64, 1, &count, error);
}

bool infer_size_of(const struct op_call *call, struct shape *outputs, GError **error)
{
    (void)call;
    return infer_packed(&outputs[0], ELEMENT_INT64, 0, NULL, error);
}

bool infer_constant_of_shape(const struct op_call *call, struct shape *outputs, GError **error)
{
    const struct tensor *value = attributes_tensor(call->attributes, "value");
    int64_t dims[SHAPE_MAX_RANK];
    int rank;
    return infer_numbers(call, 0, "shape", dims, SHAPE_MAX_RANK, &rank, error) &&
           infer_packed(&outputs[0], value != NULL ? value->shape.type : ELEMENT_FLOAT32, rank,
                        dims, error);
}

bool infer_range(const struct op_call *call, struct shape *outputs, GError **error)
{
    double numbers[3];
    for (int i = 0; i < 3; i++) {
        const struct tensor *contents = infer_contents(call, i);
        if (contents == NULL) {
            return infer_unsupported(error,
                                     "its bounds are computed while the network runs, so the file "
                                     "does not say its size");
        }
        if (shape_elements(&contents->shape) != 1) {
            return infer_invalid(error, "its input %d is not one number", i);
        }
        numbers[i] = tensor_double(contents, 0);
    }
    double count = numbers[2] != 0 ? ceil((numbers[1] - numbers[0]) / numbers[2]) : NAN;
    if (isnan(count) || count > INT32_MAX) {
        return infer_invalid(error, "it goes from %g to %g in steps of %g", numbers[0], numbers[1],
                             numbers[2]);
    }
    int64_t size = count > 0 ? (int64_t)count : 0;
    return infer_packed(&outputs[0], call->inputs[0]->type, 1, &size, error);
}
