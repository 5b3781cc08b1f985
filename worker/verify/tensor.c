#include "worker/verify/tensor.h"

#include <math.h>
#include <string.h>

#include "worker/verify/float8.h"
#include "worker/verify/parallel.h"

/* ---- 16-bit floating types ---- */

static uint32_t bits_of(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof(bits));
    return bits;
}

static float float_of(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof(value));
    return value;
}

uint16_t half_from_float(float value)
{
    uint32_t bits = bits_of(value);
    uint32_t sign = (bits >> 16) & 0x8000u;
    uint32_t size = bits & 0x7fffffffu;

    if (size > 0x7f800000u)
        return (uint16_t)(sign | 0x7e00u);
    if (size >= 0x477ff000u) /* 65520 */
        return (uint16_t)(sign | 0x7c00u);
    /* Below 2^-14 a half is a multiple of 2^-24, which is the last binary place of the float 0.5: the addition
     * rounds to a multiple of 2^-24. */
    if (size < 0x38800000u)
        return (uint16_t)(sign | (bits_of(float_of(size) + 0.5f) - 0x3f000000u));
    return (uint16_t)(sign | ((size - (112u << 23) + 0xfffu + ((size >> 13) & 1u)) >> 13));
}

float half_to_float(uint16_t stored)
{
    uint32_t sign = (uint32_t)(stored & 0x8000u) << 16;
    uint32_t rest = stored & 0x7fffu;

    if (rest >= 0x7c00u)
        return float_of(sign | 0x7f800000u | (rest << 13));
    if (rest >= 0x0400u)
        return float_of(sign | ((rest << 13) + (112u << 23)));
    return float_of(sign | bits_of((float)rest * 0x1p-24f));
}

uint16_t bfloat16_from_float(float value)
{
    uint32_t bits = bits_of(value);

    if ((bits & 0x7fffffffu) > 0x7f800000u)
        return (uint16_t)((bits >> 16) | 0x40u);
    return (uint16_t)((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}

float bfloat16_to_float(uint16_t stored)
{
    return float_of((uint32_t)stored << 16);
}

/* ---- tensors ---- */

void tensor_init(struct tensor *tensor, const struct problem *p, enum tensor_role role)
{
    *tensor = (struct tensor){.type = TYPE_FP32, .block = 1};
    if (!problem_has_operand(p, role))
        return;
    tensor->type = problem_operand_type(p, role);
    tensor->block = problem_layout_block(problem_operand_layout(p, role));
    problem_operand_sizes(p, role, tensor->extent);
    problem_strides(p, role, tensor->stride);
}

bool tensor_exists(const struct tensor *tensor)
{
    return tensor->extent[0] > 0;
}

void tensor_set_strides(struct tensor *tensor, const int64_t stride[TENSOR_AXES])
{
    memcpy(tensor->stride, stride, sizeof(tensor->stride));
}

int64_t tensor_count(const struct tensor *tensor)
{
    int64_t count = 1;

    for (int i = 0; i < TENSOR_AXES; i++)
        count *= tensor->extent[i];
    return count;
}

/* The number of places that the axis's stride steps through: blocks of channels if channels are
 * blocked, else elements. */
static int64_t axis_places(const struct tensor *tensor, int axis)
{
    if (axis != 1)
        return tensor->extent[axis];
    return (tensor->extent[1] + tensor->block - 1) / tensor->block;
}

int64_t tensor_elements(const struct tensor *tensor)
{
    int64_t last = tensor->block - 1;

    if (!tensor_exists(tensor))
        return 0;
    for (int i = 0; i < TENSOR_AXES; i++)
        last += (axis_places(tensor, i) - 1) * tensor->stride[i];
    return last + 1;
}

int64_t tensor_bytes(const struct tensor *tensor)
{
    return tensor_elements(tensor) * data_type_bytes(tensor->type);
}

bool tensor_is_packed(const struct tensor *tensor)
{
    int64_t count = tensor->block;

    for (int i = 0; i < TENSOR_AXES; i++)
        count *= axis_places(tensor, i);
    return count == tensor_elements(tensor);
}

bool tensor_overlaps(const struct tensor *tensor)
{
    int64_t reached = tensor->block - 1; /* the last place of the axes before */
    bool done[TENSOR_AXES] = {false};

    for (int i = 0; i < TENSOR_AXES; i++) {
        int next = -1;
        for (int a = 0; a < TENSOR_AXES; a++) {
            if (!done[a] && (next < 0 || tensor->stride[a] < tensor->stride[next]))
                next = a;
        }
        done[next] = true;
        if (axis_places(tensor, next) < 2 || tensor->stride[next] == 0)
            continue;
        if (tensor->stride[next] <= reached)
            return true;
        reached += (axis_places(tensor, next) - 1) * tensor->stride[next];
    }
    return false;
}

void tensor_without_repeats(const struct tensor *tensor, struct tensor *distinct)
{
    *distinct = *tensor;
    for (int i = 0; i < TENSOR_AXES; i++) {
        if (tensor->stride[i] == 0)
            distinct->extent[i] = MIN(tensor->extent[i], 1);
    }
}

int64_t tensor_distinct_index(const struct tensor *tensor, int64_t index)
{
    int64_t result = 0, step = 1;

    for (int i = TENSOR_AXES - 1; i >= 0; i--) {
        if (tensor->stride[i] != 0) {
            result += index % tensor->extent[i] * step;
            step *= tensor->extent[i];
        }
        index /= tensor->extent[i];
    }
    return result;
}

void tensor_walk_init(struct tensor_walk *walk, const struct tensor *tensor)
{
    *walk = (struct tensor_walk){.tensor = tensor};
}

static int64_t walk_offset(const struct tensor_walk *walk)
{
    const struct tensor *t = walk->tensor;
    int64_t channel = walk->at[1];
    int64_t offset = channel / t->block * t->stride[1] + channel % t->block;

    for (int i = 0; i < TENSOR_AXES; i++)
        offset += i == 1 ? 0 : walk->at[i] * t->stride[i];
    return offset;
}

void tensor_walk_seek(struct tensor_walk *walk, int64_t index)
{
    for (int i = TENSOR_AXES - 1; i >= 0; i--) {
        walk->at[i] = index % walk->tensor->extent[i];
        index /= walk->tensor->extent[i];
    }
    walk->offset = walk_offset(walk);
}

/* Along the innermost axis the offset needs only one addition. At its end the offset is computed
 * from all axes. */
void tensor_walk_next(struct tensor_walk *walk)
{
    const struct tensor *t = walk->tensor;
    int axis = TENSOR_AXES - 1;

    if (++walk->at[axis] < t->extent[axis]) {
        walk->offset += t->stride[axis];
        return;
    }
    while (axis > 0 && walk->at[axis] == t->extent[axis]) {
        walk->at[axis] = 0;
        walk->at[--axis]++;
    }
    walk->offset = walk_offset(walk);
}

double tensor_load(enum data_type type, const void *data, int64_t offset)
{
    switch (type) {
    case TYPE_FP32: return ((const float *)data)[offset];
    case TYPE_FP16: return half_to_float(((const uint16_t *)data)[offset]);
    case TYPE_BF16: return bfloat16_to_float(((const uint16_t *)data)[offset]);
    case TYPE_INT8: return ((const int8_t *)data)[offset];
    case TYPE_INT32: return ((const int32_t *)data)[offset];
    case TYPE_FP64: return ((const double *)data)[offset];
    case TYPE_FP8:
    case TYPE_BF8:
    case TYPE_FP8_FNUZ:
    case TYPE_BF8_FNUZ: return float8_to_float(type, ((const uint8_t *)data)[offset]);
    default: return NAN;
    }
}

void tensor_store(enum data_type type, void *data, int64_t offset, double value)
{
    switch (type) {
    case TYPE_FP32: ((float *)data)[offset] = (float)value; break;
    case TYPE_FP16: ((uint16_t *)data)[offset] = half_from_float((float)value); break;
    case TYPE_BF16: ((uint16_t *)data)[offset] = bfloat16_from_float((float)value); break;
    case TYPE_INT8: ((int8_t *)data)[offset] = (int8_t)tensor_round(type, value); break;
    case TYPE_INT32: ((int32_t *)data)[offset] = (int32_t)tensor_round(type, value); break;
    case TYPE_FP64: ((double *)data)[offset] = value; break;
    case TYPE_FP8:
    case TYPE_BF8:
    case TYPE_FP8_FNUZ:
    case TYPE_BF8_FNUZ: ((uint8_t *)data)[offset] = float8_from_float(type, (float)value); break;
    default: g_assert_not_reached();
    }
}

double tensor_clamp(enum data_type type, double value)
{
    switch (type) {
    case TYPE_INT8: return CLAMP(value, INT8_MIN, INT8_MAX);
    case TYPE_INT32: return CLAMP(value, INT32_MIN, INT32_MAX);
    case TYPE_FP8:
    case TYPE_BF8:
    case TYPE_FP8_FNUZ:
    case TYPE_BF8_FNUZ: return CLAMP(value, -float8_largest(type), float8_largest(type));
    default: return value;
    }
}

double tensor_round(enum data_type type, double value)
{
    switch (type) {
    case TYPE_FP32: return (float)value;
    case TYPE_FP16: return half_to_float(half_from_float((float)value));
    case TYPE_BF16: return bfloat16_to_float(bfloat16_from_float((float)value));
    case TYPE_INT8:
    case TYPE_INT32: return nearbyint(tensor_clamp(type, value));
    case TYPE_FP8:
    case TYPE_BF8:
    case TYPE_FP8_FNUZ:
    case TYPE_BF8_FNUZ: return float8_to_float(type, float8_from_float(type, (float)value));
    default: return value;
    }
}

void tensor_from_dense(const struct tensor *tensor, const double *dense, void *data)
{
    struct tensor_walk walk;
    int64_t count = tensor_count(tensor);

    tensor_walk_init(&walk, tensor);
    for (int64_t i = 0; i < count; i++, tensor_walk_next(&walk))
        tensor_store(tensor->type, data, walk.offset, dense[i]);
}

struct reading {
    const struct tensor *tensor;
    const void *data;
    double *dense;
};

static void read_piece(void *data, int64_t piece)
{
    const struct reading *reading = data;
    const struct tensor *tensor = reading->tensor;
    int64_t end = parallel_piece_end(piece, tensor_count(tensor));
    struct tensor_walk walk;

    tensor_walk_init(&walk, tensor);
    tensor_walk_seek(&walk, piece * PARALLEL_PIECE);
    for (int64_t i = piece * PARALLEL_PIECE; i < end; i++, tensor_walk_next(&walk))
        reading->dense[i] = tensor_load(tensor->type, reading->data, walk.offset);
}

void tensor_to_dense(const struct tensor *tensor, const void *data, double *dense)
{
    struct reading reading = {tensor, data, dense};

    parallel_parts(parallel_threads(), parallel_pieces(tensor_count(tensor)), read_piece, &reading);
}

bool tensor_type_supported(enum data_type type)
{
    switch (type) {
    case TYPE_FP32:
    case TYPE_FP16:
    case TYPE_BF16:
    case TYPE_INT8:
    case TYPE_INT32:
    case TYPE_FP64:
    case TYPE_FP8:
    case TYPE_BF8:
    case TYPE_FP8_FNUZ:
    case TYPE_BF8_FNUZ: return true;
    default: return false;
    }
}
