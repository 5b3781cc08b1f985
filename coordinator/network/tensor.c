#include "coordinator/network/tensor.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

struct tensor *tensor_new(const struct shape *shape, GBytes *data, GError **error)
{
    struct shape packed;
    if (!shape_set_packed(&packed, shape->type, shape->rank, shape->dim, error))
        return NULL;
    if (data && g_bytes_get_size(data) != (gsize)shape_bytes(&packed)) {
        g_autofree char *text = shape_text(&packed);
        g_set_error(error, NETWORK_ERROR, NETWORK_ERROR_INVALID,
                    "a tensor %s has %" G_GSIZE_FORMAT " bytes of data, not %" PRId64, text,
                    g_bytes_get_size(data), shape_bytes(&packed));
        return NULL;
    }
    struct tensor *tensor = g_new0(struct tensor, 1);
    tensor->references = 1;
    tensor->shape = packed;
    tensor->data = data ? g_bytes_ref(data) : NULL;
    return tensor;
}

struct tensor *tensor_take(const struct shape *shape, void *data)
{
    GBytes *bytes = g_bytes_new_take(data, (gsize)shape_bytes(shape));
    struct tensor *tensor = tensor_new(shape, bytes, NULL);
    g_assert(tensor);
    g_bytes_unref(bytes);
    return tensor;
}

static struct tensor *copied(enum element_type type, int rank, int64_t count, const void *values)
{
    struct shape shape;
    bool fits = shape_set_packed(&shape, type, rank, &count, NULL);
    g_assert(fits);
    return tensor_take(&shape, g_memdup2(values, (gsize)shape_bytes(&shape)));
}

struct tensor *tensor_new_int64s(const int64_t *values, int count)
{
    return copied(ELEMENT_INT64, 1, count, values);
}

struct tensor *tensor_new_int64(int64_t value)
{
    return copied(ELEMENT_INT64, 0, 1, &value);
}

struct tensor *tensor_new_float32s(const float *values, int count)
{
    return copied(ELEMENT_FLOAT32, 1, count, values);
}

struct tensor *tensor_ref(struct tensor *tensor)
{
    if (tensor)
        tensor->references++;
    return tensor;
}

void tensor_unref(struct tensor *tensor)
{
    if (!tensor || --tensor->references > 0)
        return;
    g_clear_pointer(&tensor->data, g_bytes_unref);
    g_free(tensor);
}

bool tensor_has_data(const struct tensor *tensor)
{
    return tensor && tensor->data;
}

const void *tensor_data(const struct tensor *tensor)
{
    return g_bytes_get_data(tensor->data, NULL);
}

int64_t tensor_int64(const struct tensor *tensor, int64_t index)
{
    return element_read_int64(tensor_data(tensor), tensor->shape.type, index);
}

double tensor_double(const struct tensor *tensor, int64_t index)
{
    return element_read(tensor_data(tensor), tensor->shape.type, index);
}

bool tensor_equal(const struct tensor *a, const struct tensor *b)
{
    if (a == b)
        return true;
    if (!a || !b || !shape_equal(&a->shape, &b->shape) || !a->data != !b->data)
        return false;
    return !a->data || g_bytes_equal(a->data, b->data);
}

/* ---- small floats ---- */

struct float_format {
    int exponent_bits, fraction_bits;
    bool
        is_finite; /* no infinities: the largest exponent holds numbers too, and all ones are NaN */
    bool saturates;
};

static const struct float_format formats[ELEMENT_TYPE_COUNT] = {
    [ELEMENT_FLOAT16] = {5, 10, false, false},
    [ELEMENT_BFLOAT16] = {8, 7, false, false},
    [ELEMENT_FLOAT8_E4M3] = {4, 3, true, true},
    [ELEMENT_FLOAT8_E5M2] = {5, 2, false, true},
};

static double decode(const struct float_format *format, unsigned bits)
{
    unsigned fraction = bits & ((1U << format->fraction_bits) - 1);
    int exponent = (int)(bits >> format->fraction_bits & ((1U << format->exponent_bits) - 1));
    int top = (1 << format->exponent_bits) - 1, bias = top / 2;
    double sign = bits >> (format->exponent_bits + format->fraction_bits) & 1 ? -1 : 1;
    bool all_ones = fraction == (1U << format->fraction_bits) - 1;
    if (exponent == top && (!format->is_finite || all_ones))
        return fraction ? (double)NAN : sign * (double)INFINITY;
    double significand = fraction + (exponent ? (double)(1U << format->fraction_bits) : 0);
    return sign * ldexp(significand, MAX(exponent, 1) - bias - format->fraction_bits);
}

static unsigned encode(const struct float_format *format, double value)
{
    int top = (1 << format->exponent_bits) - 1, bias = top / 2;
    unsigned sign = signbit(value) ? 1U << (format->exponent_bits + format->fraction_bits) : 0;
    unsigned infinity = (unsigned)top << format->fraction_bits;
    unsigned ones = infinity | ((1U << format->fraction_bits) - 1);
    unsigned largest = format->is_finite ? ones - 1 : infinity - 1;
    if (isnan(value))
        return sign | (format->is_finite ? ones : infinity | 1U << (format->fraction_bits - 1));
    if (value == 0)
        return sign;
    if (isinf(value))
        return sign | (format->saturates ? largest : infinity);
    int exponent = 0;
    frexp(value, &exponent); /* value is in [0.5, 1) * 2^exponent */
    exponent = MAX(exponent - 1 + bias, 1);
    if (exponent > top)
        return sign | (format->saturates ? largest : infinity);
    double places = rint(ldexp(fabs(value), bias + format->fraction_bits - exponent));
    /* Places beyond the fraction carry into the exponent. */
    unsigned bits = (unsigned)places + ((unsigned)(exponent - 1) << format->fraction_bits);
    if (bits > largest)
        return sign | (format->saturates ? largest : infinity);
    return sign | bits;
}

/* ---- elements ---- */

double element_read(const void *data, enum element_type type, int64_t index)
{
    switch (type) {
    case ELEMENT_FLOAT64: return ((const double *)data)[index];
    case ELEMENT_FLOAT32: return (double)((const float *)data)[index];
    case ELEMENT_FLOAT16:
    case ELEMENT_BFLOAT16: return decode(&formats[type], ((const uint16_t *)data)[index]);
    case ELEMENT_FLOAT8_E4M3:
    case ELEMENT_FLOAT8_E5M2: return decode(&formats[type], ((const uint8_t *)data)[index]);
    case ELEMENT_UINT64: return (double)((const uint64_t *)data)[index];
    default: return (double)element_read_int64(data, type, index);
    }
}

/* Without its fraction, saturated to [low, high]; both are exact as doubles or next to 2^63. */
static int64_t whole(double value, int64_t low, int64_t high)
{
    if (isnan(value))
        return 0;
    if (value <= (double)low)
        return low;
    return value >= (double)high ? high : (int64_t)value;
}

int64_t element_read_int64(const void *data, enum element_type type, int64_t index)
{
    switch (type) {
    case ELEMENT_INT64: return ((const int64_t *)data)[index];
    case ELEMENT_UINT64: return (int64_t)((const uint64_t *)data)[index];
    case ELEMENT_INT32: return ((const int32_t *)data)[index];
    case ELEMENT_UINT32: return ((const uint32_t *)data)[index];
    case ELEMENT_INT16: return ((const int16_t *)data)[index];
    case ELEMENT_UINT16: return ((const uint16_t *)data)[index];
    case ELEMENT_INT8: return ((const int8_t *)data)[index];
    case ELEMENT_UINT8: return ((const uint8_t *)data)[index];
    case ELEMENT_BOOL: return ((const uint8_t *)data)[index] != 0;
    case ELEMENT_NONE: return 0;
    default: return whole(element_read(data, type, index), INT64_MIN, INT64_MAX);
    }
}

void element_write(void *data, enum element_type type, int64_t index, double value)
{
    switch (type) {
    case ELEMENT_NONE: break;
    case ELEMENT_FLOAT64: ((double *)data)[index] = value; break;
    case ELEMENT_FLOAT32: ((float *)data)[index] = (float)value; break;
    case ELEMENT_FLOAT16:
    case ELEMENT_BFLOAT16:
        ((uint16_t *)data)[index] = (uint16_t)encode(&formats[type], value);
        break;
    case ELEMENT_FLOAT8_E4M3:
    case ELEMENT_FLOAT8_E5M2:
        ((uint8_t *)data)[index] = (uint8_t)encode(&formats[type], value);
        break;
    case ELEMENT_INT64: ((int64_t *)data)[index] = whole(value, INT64_MIN, INT64_MAX); break;
    case ELEMENT_INT32:
        ((int32_t *)data)[index] = (int32_t)whole(value, INT32_MIN, INT32_MAX);
        break;
    case ELEMENT_INT16:
        ((int16_t *)data)[index] = (int16_t)whole(value, INT16_MIN, INT16_MAX);
        break;
    case ELEMENT_INT8: ((int8_t *)data)[index] = (int8_t)whole(value, INT8_MIN, INT8_MAX); break;
    case ELEMENT_UINT64:
        ((uint64_t *)data)[index] = value >= 0x1p63
                                        ? (value >= 0x1p64 ? UINT64_MAX : (uint64_t)value)
                                        : (uint64_t)whole(value, 0, INT64_MAX);
        break;
    case ELEMENT_UINT32: ((uint32_t *)data)[index] = (uint32_t)whole(value, 0, UINT32_MAX); break;
    case ELEMENT_UINT16: ((uint16_t *)data)[index] = (uint16_t)whole(value, 0, UINT16_MAX); break;
    case ELEMENT_UINT8: ((uint8_t *)data)[index] = (uint8_t)whole(value, 0, UINT8_MAX); break;
    case ELEMENT_BOOL: ((uint8_t *)data)[index] = value != 0; break;
    }
}

void element_write_int64(void *data, enum element_type type, int64_t index, int64_t value)
{
    switch (type) {
    case ELEMENT_INT64:
    case ELEMENT_UINT64: ((uint64_t *)data)[index] = (uint64_t)value; break;
    case ELEMENT_INT32:
    case ELEMENT_UINT32: ((uint32_t *)data)[index] = (uint32_t)value; break;
    case ELEMENT_INT16:
    case ELEMENT_UINT16: ((uint16_t *)data)[index] = (uint16_t)value; break;
    case ELEMENT_INT8:
    case ELEMENT_UINT8: ((uint8_t *)data)[index] = (uint8_t)value; break;
    case ELEMENT_BOOL: ((uint8_t *)data)[index] = value != 0; break;
    case ELEMENT_FLOAT32: ((float *)data)[index] = (float)value; break;
    default: element_write(data, type, index, (double)value);
    }
}

/* ---- through views ---- */

static void convert(void *to, enum element_type to_type, int64_t to_index, const void *from,
                    enum element_type from_type, int64_t from_index)
{
    if (to_type == from_type) {
        gsize bytes = (gsize)element_type_bytes(to_type);
        memcpy((char *)to + (gsize)to_index * bytes, (const char *)from + (gsize)from_index * bytes,
               bytes);
    } else if (element_type_is_float(from_type) || from_type == ELEMENT_UINT64) {
        element_write(to, to_type, to_index, element_read(from, from_type, from_index));
    } else {
        element_write_int64(to, to_type, to_index, element_read_int64(from, from_type, from_index));
    }
}

struct tensor *tensor_through_view(const struct tensor *base, const struct view *view)
{
    struct shape shape, from;
    bool is_valid = shape_set_packed(&shape, view->type, view->rank, view->dim, NULL) &&
                    view_refined_shape(view, &base->shape, &from);
    g_assert(is_valid && view->base_type == base->shape.type);
    if (!base->data)
        return tensor_new(&shape, NULL, NULL);
    void *data = g_malloc((gsize)shape_bytes(&shape));
    const void *base_data = tensor_data(base);
    int64_t at[SHAPE_MAX_RANK] = {0}, place = 0, elements = shape_elements(&shape);
    for (int64_t i = 0; i < elements; i++) {
        convert(data, shape.type, i, base_data, base->shape.type, place);
        for (int axis = from.rank - 1; axis >= 0; axis--) {
            place += from.stride[axis];
            if (++at[axis] < from.dim[axis])
                break;
            place -= from.stride[axis] * from.dim[axis];
            at[axis] = 0;
        }
    }
    return tensor_take(&shape, data);
}
