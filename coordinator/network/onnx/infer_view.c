/*
 * Operators that rearrange a tensor: joined, cut, reshaped, repeated, padded.
 */
#include "coordinator/network/onnx/infer.h"

#include <inttypes.h>
#include <limits.h>
#include <string.h>

/* ---- joining and cutting ---- */

/* Joins inputs first, first + step, ... along an axis. */
static bool join(const struct op_call *call, int first, int step, struct shape *output,
                 GError **error)
{
    const struct shape *x = infer_input(call, first);
    int axis;
    if (x == NULL) {
        return infer_invalid(error, "it has no input");
    }
    if (!infer_axis("axis", attributes_int(call->attributes, "axis", 0), x->rank, &axis, error)) {
        return false;
    }
    int64_t dims[SHAPE_MAX_RANK];
    memcpy(dims, x->dim, sizeof dims);
    for (int i = first + step; i < call->input_count; i += step) {
        const struct shape *more = call->inputs[i];
        bool same = more != NULL && more->rank == x->rank;
        for (int a = 0; same && a < x->rank; a++) {
            same = a == axis || more->dim[a] == x->dim[a];
        }
        if (!same) {
            g_autofree char *text = shape_text(x), *other = more ? shape_text(more) : NULL;
            return infer_invalid(error, "it joins %s and %s along axis %d", text,
                                 other != NULL ? other : "nothing", axis);
        }
        if (__builtin_add_overflow(dims[axis], more->dim[axis], &dims[axis])) {
            return infer_invalid(error, "it gives more elements than can be counted");
        }
    }
    return infer_packed(output, x->type, x->rank, dims, error);
}

bool infer_concat(const struct op_call *call, struct shape *outputs, GError **error)
{
    if (attributes_find(call->attributes, "axis") == NULL) {
        return infer_invalid(error, "it has no axis");
    }
    return join(call, 0, 1, &outputs[0], error);
}

/* The result's scale and zero point, then each tensor with its own. */
bool infer_qlinear_concat(const struct op_call *call, struct shape *outputs, GError **error)
{
    return join(call, 2, 3, &outputs[0], error);
}

bool infer_split(const struct op_call *call, struct shape *outputs, GError **error)
{
    const struct shape *x = call->inputs[0];
    int axis, count = 0, parts = call->output_count;
    g_autofree int64_t *sizes = g_new0(int64_t, (gsize)parts);
    if (!infer_axis("axis", attributes_int(call->attributes, "axis", 0), x->rank, &axis, error)) {
        return false;
    }
    int64_t size = x->dim[axis], sum = 0;
    if (infer_input(call, 1) != NULL) {
        if (!infer_numbers(call, 1, "split", sizes, parts, &count, error)) {
            return false;
        }
        if (count != parts) {
            return infer_invalid(error, "split has %d sizes for %d outputs", count, parts);
        }
    } else {
        /* equal parts; of a size that they do not divide, the last one is smaller */
        int64_t part = (size + parts - 1) / parts;
        for (int i = 0; i < parts; i++) {
            sizes[i] = MAX(MIN(part, size - part * i), 0);
        }
    }
    for (int i = 0; i < parts; i++) {
        int64_t dims[SHAPE_MAX_RANK];
        memcpy(dims, x->dim, sizeof dims);
        dims[axis] = sizes[i];
        if (sizes[i] < 0 || sizes[i] > size) {
            return infer_invalid(error, "split has the size %" PRId64, sizes[i]);
        }
        sum += sizes[i];
        if (!infer_packed(&outputs[i], x->type, x->rank, dims, error)) {
            return false;
        }
    }
    return sum == size ||
           infer_invalid(error, "split gives %" PRId64 " of %" PRId64 " elements along axis %d",
                         sum, size, axis);
}

bool infer_slice_steps(const struct op_call *call, int64_t begin[SHAPE_MAX_RANK],
                       int64_t step[SHAPE_MAX_RANK], int64_t dims[SHAPE_MAX_RANK], GError **error)
{
    const struct shape *x = call->inputs[0];
    int64_t starts[SHAPE_MAX_RANK], ends[SHAPE_MAX_RANK], axes[SHAPE_MAX_RANK];
    int64_t steps[SHAPE_MAX_RANK];
    int count, end_count, axis_count, step_count;
    if (!infer_numbers(call, 1, "starts", starts, SHAPE_MAX_RANK, &count, error) ||
        !infer_numbers(call, 2, "ends", ends, SHAPE_MAX_RANK, &end_count, error)) {
        return false;
    }
    axis_count = step_count = count;
    for (int i = 0; i < count; i++) {
        axes[i] = i;
        steps[i] = 1;
    }
    if ((infer_input(call, 3) != NULL &&
         !infer_numbers(call, 3, "axes", axes, SHAPE_MAX_RANK, &axis_count, error)) ||
        (infer_input(call, 4) != NULL &&
         !infer_numbers(call, 4, "steps", steps, SHAPE_MAX_RANK, &step_count, error))) {
        return false;
    }
    if (end_count != count || axis_count != count || step_count != count) {
        return infer_invalid(error, "it has %d starts, %d ends, %d axes and %d steps", count,
                             end_count, axis_count, step_count);
    }
    bool chosen[SHAPE_MAX_RANK];
    if (!infer_axes("axes", axes, count, x->rank, chosen, error)) {
        return false;
    }
    for (int i = 0; i < x->rank; i++) {
        begin[i] = 0;
        step[i] = 1;
        dims[i] = x->dim[i];
    }
    for (int i = 0; i < count; i++) {
        int a = (int)(axes[i] < 0 ? axes[i] + x->rank : axes[i]);
        int64_t size = x->dim[a], by = steps[i];
        if (by == 0 || by < -INT64_MAX) {
            return infer_invalid(error, "a step is %" PRId64, by);
        }
        /* Numbers count from the end if they are negative, and stop at both ends. */
        int64_t first = starts[i] < 0 ? MAX(starts[i], -size - 1) + size : MIN(starts[i], size);
        int64_t last = ends[i] < 0 ? MAX(ends[i], -size - 1) + size : MIN(ends[i], size);
        if (by > 0) {
            first = MAX(first, 0);
            last = MAX(last, 0);
            dims[a] = last > first ? (last - first - 1) / by + 1 : 0;
        } else {
            first = MIN(first, size - 1);
            last = MAX(last, -1);
            dims[a] = first > last ? (first - last - 1) / -by + 1 : 0;
        }
        begin[a] = first;
        step[a] = by;
    }
    return true;
}

bool infer_slice(const struct op_call *call, struct shape *outputs, GError **error)
{
    int64_t begin[SHAPE_MAX_RANK], step[SHAPE_MAX_RANK], dims[SHAPE_MAX_RANK];
    return infer_slice_steps(call, begin, step, dims, error) &&
           infer_packed(&outputs[0], call->inputs[0]->type, call->inputs[0]->rank, dims, error);
}

/* ---- the same elements in another shape ---- */

static bool check_elements(const struct shape *x, const struct shape *y, GError **error)
{
    if (shape_elements(x) == shape_elements(y)) {
        return true;
    }
    g_autofree char *from = shape_text(x), *to = shape_text(y);
    return infer_invalid(error, "its input %s has not as many elements as %s", from, to);
}

bool infer_reshape(const struct op_call *call, struct shape *outputs, GError **error)
{
    const struct shape *x = call->inputs[0];
    bool allow_zero = attributes_int(call->attributes, "allowzero", 0) != 0;
    int64_t dims[SHAPE_MAX_RANK], product = 1;
    int rank, open = -1;
    if (!infer_numbers(call, 1, "shape", dims, SHAPE_MAX_RANK, &rank, error)) {
        return false;
    }
    for (int i = 0; i < rank; i++) {
        if (dims[i] == 0 && !allow_zero) {
            if (i >= x->rank) {
                return infer_invalid(error, "shape copies axis %d, and its input has %d axes", i,
                                     x->rank);
            }
            dims[i] = x->dim[i];
        }
        if (dims[i] == -1 && open < 0) {
            open = i;
        } else if (dims[i] < 0) {
            return infer_invalid(error, "shape has the number %" PRId64 "%s", dims[i],
                                 dims[i] == -1 ? " twice" : "");
        } else if (!infer_product(product, dims[i], &product, error)) {
            return false;
        }
    }
    if (open >= 0) {
        int64_t elements = shape_elements(x);
        if (product == 0 || elements % product != 0) {
            g_autofree char *text = shape_text(x);
            return infer_invalid(error,
                                 "its input %s cannot be divided into rows of %" PRId64 " elements",
                                 text, product);
        }
        dims[open] = elements / product;
    }
    return infer_packed(&outputs[0], x->type, rank, dims, error) &&
           check_elements(x, &outputs[0], error);
}

bool infer_flatten(const struct op_call *call, struct shape *outputs, GError **error)
{
    const struct shape *x = call->inputs[0];
    int64_t axis = attributes_int(call->attributes, "axis", 1), dims[] = {1, 1};
    if (axis < -x->rank || axis > x->rank) {
        return infer_invalid(error, "axis is %" PRId64 ", and its input has %d axes", axis,
                             x->rank);
    }
    axis += axis < 0 ? x->rank : 0;
    for (int i = 0; i < x->rank; i++) {
        dims[i >= axis] *= x->dim[i];
    }
    return infer_packed(&outputs[0], x->type, 2, dims, error);
}

bool infer_squeeze(const struct op_call *call, struct shape *outputs, GError **error)
{
    const struct shape *x = call->inputs[0];
    int64_t axes[SHAPE_MAX_RANK], dims[SHAPE_MAX_RANK];
    int count = 0, rank = 0;
    bool chosen[SHAPE_MAX_RANK], given = infer_input(call, 1) != NULL;
    if ((given && !infer_numbers(call, 1, "axes", axes, SHAPE_MAX_RANK, &count, error)) ||
        !infer_axes("axes", axes, count, x->rank, chosen, error)) {
        return false;
    }
    for (int i = 0; i < x->rank; i++) {
        if (given ? chosen[i] : x->dim[i] == 1) {
            if (x->dim[i] != 1) {
                return infer_invalid(error, "axis %d has the size %" PRId64 ", not 1", i,
                                     x->dim[i]);
            }
        } else {
            dims[rank++] = x->dim[i];
        }
    }
    return infer_packed(&outputs[0], x->type, rank, dims, error);
}

bool infer_unsqueeze(const struct op_call *call, struct shape *outputs, GError **error)
{
    const struct shape *x = call->inputs[0];
    int64_t axes[SHAPE_MAX_RANK], dims[SHAPE_MAX_RANK];
    int count;
    bool chosen[SHAPE_MAX_RANK];
    if (!infer_numbers(call, 1, "axes", axes, SHAPE_MAX_RANK, &count, error)) {
        return false;
    }
    int rank = x->rank + count, from = 0;
    if (rank > SHAPE_MAX_RANK) {
        return infer_invalid(error, "its result has %d axes, more than %d are not read", rank,
                             SHAPE_MAX_RANK);
    }
    if (!infer_axes("axes", axes, count, rank, chosen, error)) {
        return false;
    }
    for (int i = 0; i < rank; i++) {
        dims[i] = chosen[i] ? 1 : x->dim[from++];
    }
    return infer_packed(&outputs[0], x->type, rank, dims, error);
}

/* ---- repeating ---- */

bool infer_expand(const struct op_call *call, struct shape *outputs, GError **error)
{
    const struct shape *x = call->inputs[0];
    int64_t given[SHAPE_MAX_RANK], dims[SHAPE_MAX_RANK];
    int count, rank;
    struct shape wanted;
    if (!infer_numbers(call, 1, "shape", given, SHAPE_MAX_RANK, &count, error) ||
        !shape_set_packed(&wanted, x->type, count, given, error) ||
        !shape_broadcast_dims(x, &wanted, &rank, dims, error)) {
        return false;
    }
    return infer_packed(&outputs[0], x->type, rank, dims, error);
}

bool infer_tile(const struct op_call *call, struct shape *outputs, GError **error)
{
    const struct shape *x = call->inputs[0];
    int64_t repeats[SHAPE_MAX_RANK], dims[SHAPE_MAX_RANK];
    int count;
    if (!infer_numbers(call, 1, "repeats", repeats, SHAPE_MAX_RANK, &count, error)) {
        return false;
    }
    if (count != x->rank) {
        return infer_invalid(error, "repeats has %d numbers, its input %d axes", count, x->rank);
    }
    for (int i = 0; i < count; i++) {
        if (repeats[i] < 0) {
            return infer_invalid(error, "repeats has the number %" PRId64, repeats[i]);
        }
        if (!infer_product(x->dim[i], repeats[i], &dims[i], error)) {
            return false;
        }
    }
    return infer_packed(&outputs[0], x->type, x->rank, dims, error);
}

bool infer_pad(const struct op_call *call, struct shape *outputs, GError **error)
{
    const struct shape *x = call->inputs[0];
    int64_t pads[2 * SHAPE_MAX_RANK], axes[SHAPE_MAX_RANK], dims[SHAPE_MAX_RANK];
    int count, axis_count = x->rank;
    bool chosen[SHAPE_MAX_RANK];
    if (!infer_numbers(call, 1, "pads", pads, 2 * SHAPE_MAX_RANK, &count, error)) {
        return false;
    }
    for (int i = 0; i < x->rank; i++) {
        axes[i] = i;
    }
    if ((infer_input(call, 3) != NULL &&
         !infer_numbers(call, 3, "axes", axes, SHAPE_MAX_RANK, &axis_count, error)) ||
        !infer_axes("axes", axes, axis_count, x->rank, chosen, error)) {
        return false;
    }
    if (count != 2 * axis_count) {
        return infer_invalid(error, "pads has %d numbers and should have %d", count,
                             2 * axis_count);
    }
    memcpy(dims, x->dim, sizeof dims);
    for (int i = 0; i < axis_count; i++) {
        int a = (int)(axes[i] < 0 ? axes[i] + x->rank : axes[i]);
        if (pads[i] < -INT32_MAX || pads[i] > INT32_MAX || pads[i + axis_count] < -INT32_MAX ||
            pads[i + axis_count] > INT32_MAX || dims[a] > INT64_MAX / 2) {
            return infer_invalid(error, "pads has the number %" PRId64, pads[i]);
        }
        dims[a] += pads[i] + pads[i + axis_count];
        if (dims[a] < 0) {
            return infer_invalid(error, "pads take more than all of axis %d", a);
        }
    }
    return infer_packed(&outputs[0], x->type, x->rank, dims, error);
}

/* ---- space and depth ---- */

static bool read_block(const struct op_call *call, int64_t *block, GError **error)
{
    *block = attributes_int(call->attributes, "blocksize", 0);
    if (call->inputs[0]->rank != 4) {
        return infer_invalid(error, "its input must have 4 axes");
    }
    return (*block >= 1 && *block <= 32768) ||
           infer_invalid(error, "blocksize is %" PRId64, *block);
}

bool infer_depth_to_space(const struct op_call *call, struct shape *outputs, GError **error)
{
    const int64_t *x = call->inputs[0]->dim;
    int64_t block;
    if (!read_block(call, &block, error)) {
        return false;
    }
    if (x[1] % (block * block) != 0) {
        return infer_invalid(error, "blocksize is %" PRId64 ", its input has %" PRId64 " channels",
                             block, x[1]);
    }
    int64_t dims[] = {x[0], x[1] / (block * block), 0, 0};
    return infer_product(x[2], block, &dims[2], error) &&
           infer_product(x[3], block, &dims[3], error) &&
           infer_packed(&outputs[0], call->inputs[0]->type, 4, dims, error);
}

bool infer_space_to_depth(const struct op_call *call, struct shape *outputs, GError **error)
{
    const int64_t *x = call->inputs[0]->dim;
    int64_t block;
    if (!read_block(call, &block, error)) {
        return false;
    }
    if (x[2] % block != 0 || x[3] % block != 0) {
        return infer_invalid(error, "blocksize is %" PRId64 ", its input %" PRId64 "x%" PRId64,
                             block, x[2], x[3]);
    }
    int64_t dims[] = {x[0], 0, x[2] / block, x[3] / block};
    return infer_product(x[1], block * block, &dims[1], error) &&
           infer_packed(&outputs[0], call->inputs[0]->type, 4, dims, error);
}
