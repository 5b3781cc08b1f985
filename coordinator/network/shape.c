#include "coordinator/network/shape.h"

#include <inttypes.h>
#include <string.h>

/* ---- types of elements ---- */

enum element_class { CLASS_NONE, CLASS_FLOAT, CLASS_SIGNED, CLASS_UNSIGNED, CLASS_BOOL };

static const struct {
    const char *name;
    int bytes;
    enum element_class class;
    /* bits of whole numbers that are exact: the significand of floats */
    int digits;
    int exponent_min,
        exponent_max; /* of floats: of the smallest subnormal, of the largest number */
    enum data_type data_type;
} types[ELEMENT_TYPE_COUNT] = {
    [ELEMENT_NONE] = {"none", 0, CLASS_NONE, 0, 0, 0, TYPE_NONE},
    [ELEMENT_FLOAT64] = {"float64", 8, CLASS_FLOAT, 53, -1074, 1023, TYPE_FP64},
    [ELEMENT_FLOAT32] = {"float32", 4, CLASS_FLOAT, 24, -149, 127, TYPE_FP32},
    [ELEMENT_FLOAT16] = {"float16", 2, CLASS_FLOAT, 11, -24, 15, TYPE_FP16},
    [ELEMENT_BFLOAT16] = {"bfloat16", 2, CLASS_FLOAT, 8, -133, 127, TYPE_BF16},
    [ELEMENT_FLOAT8_E4M3] = {"float8e4m3", 1, CLASS_FLOAT, 4, -9, 8, TYPE_FP8},
    [ELEMENT_FLOAT8_E5M2] = {"float8e5m2", 1, CLASS_FLOAT, 3, -16, 15, TYPE_BF8},
    [ELEMENT_INT64] = {"int64", 8, CLASS_SIGNED, 63, 0, 0, TYPE_NONE},
    [ELEMENT_INT32] = {"int32", 4, CLASS_SIGNED, 31, 0, 0, TYPE_INT32},
    [ELEMENT_INT16] = {"int16", 2, CLASS_SIGNED, 15, 0, 0, TYPE_NONE},
    [ELEMENT_INT8] = {"int8", 1, CLASS_SIGNED, 7, 0, 0, TYPE_INT8},
    [ELEMENT_UINT64] = {"uint64", 8, CLASS_UNSIGNED, 64, 0, 0, TYPE_NONE},
    [ELEMENT_UINT32] = {"uint32", 4, CLASS_UNSIGNED, 32, 0, 0, TYPE_NONE},
    [ELEMENT_UINT16] = {"uint16", 2, CLASS_UNSIGNED, 16, 0, 0, TYPE_NONE},
    [ELEMENT_UINT8] = {"uint8", 1, CLASS_UNSIGNED, 8, 0, 0, TYPE_NONE},
    [ELEMENT_BOOL] = {"bool", 1, CLASS_BOOL, 1, 0, 0, TYPE_NONE},
};

const char *element_type_name(enum element_type type)
{
    return types[type].name;
}

bool element_type_parse(const char *name, enum element_type *type)
{
    for (int i = ELEMENT_NONE + 1; i < ELEMENT_TYPE_COUNT; i++) {
        if (strcmp(types[i].name, name) == 0) {
            *type = (enum element_type)i;
            return true;
        }
    }
    return false;
}

int element_type_bytes(enum element_type type)
{
    return types[type].bytes;
}

bool element_type_is_float(enum element_type type)
{
    return types[type].class == CLASS_FLOAT;
}

bool element_type_is_signed(enum element_type type)
{
    return types[type].class == CLASS_FLOAT || types[type].class == CLASS_SIGNED;
}

bool element_type_holds(enum element_type to, enum element_type from)
{
    if (to == from)
        return true;
    if (types[to].class == CLASS_NONE || types[from].class == CLASS_NONE ||
        types[to].class == CLASS_BOOL)
        return false;
    if (types[from].class == CLASS_FLOAT)
        return types[to].class == CLASS_FLOAT && types[to].digits >= types[from].digits &&
               types[to].exponent_min <= types[from].exponent_min &&
               types[to].exponent_max >= types[from].exponent_max;
    if (types[from].class == CLASS_SIGNED && !element_type_is_signed(to))
        return false;
    /* -2^digits of a signed type is a power of two, which a float holds with its exponent alone. */
    return types[to].digits >= types[from].digits &&
           (types[to].class != CLASS_FLOAT || types[to].exponent_max >= types[from].digits);
}

bool element_type_to_data_type(enum element_type type, enum data_type *data_type)
{
    *data_type = types[type].data_type;
    return *data_type != TYPE_NONE;
}

enum element_type element_type_of_data_type(enum data_type type)
{
    for (int i = ELEMENT_NONE + 1; i < ELEMENT_TYPE_COUNT && type != TYPE_NONE; i++) {
        if (types[i].data_type == type)
            return (enum element_type)i;
    }
    return ELEMENT_NONE;
}

/* ---- shapes ---- */

void shape_set_unknown(struct shape *shape)
{
    memset(shape, 0, sizeof(*shape));
}

/* Strides count a dimension of 0 as 1: an empty tensor is then not taken for a broadcast one. */
static int64_t at_least_one(int64_t dim)
{
    return MAX(dim, 1);
}

static bool packed_strides(int rank, const int64_t *dims, int64_t *strides, int64_t *elements)
{
    *elements = 1;
    for (int i = rank - 1; i >= 0; i--) {
        strides[i] = *elements;
        if (__builtin_mul_overflow(*elements, at_least_one(dims[i]), elements))
            return false;
    }
    return true;
}

static bool dims_are_valid(int rank, const int64_t *dims, GError **error)
{
    if (rank < 0 || rank > SHAPE_MAX_RANK) {
        g_set_error(error, NETWORK_ERROR, NETWORK_ERROR_INVALID,
                    "a tensor of %d dimensions: tensors have 0 to %d", rank, SHAPE_MAX_RANK);
        return false;
    }
    for (int i = 0; i < rank; i++) {
        if (dims[i] < 0) {
            g_set_error(error, NETWORK_ERROR, NETWORK_ERROR_INVALID,
                        "dimension %d of a tensor is %" PRId64 ": dimensions are not negative", i,
                        dims[i]);
            return false;
        }
    }
    return true;
}

static bool too_large(struct shape *shape, GError **error)
{
    GString *dims = g_string_new(NULL);
    for (int i = 0; i < shape->rank; i++)
        g_string_append_printf(dims, "%s%" PRId64, i ? "x" : "", shape->dim[i]);
    g_set_error(error, NETWORK_ERROR, NETWORK_ERROR_INVALID,
                "a tensor of %s elements is too large: its bytes do not fit in 63 bits", dims->str);
    g_string_free(dims, TRUE);
    shape_set_unknown(shape);
    return false;
}

/* Checks that elements, span and bytes fit in int64_t. */
static bool sizes_fit(const struct shape *shape)
{
    int64_t elements, last = 1, bytes, part;
    int64_t strides[SHAPE_MAX_RANK];
    if (!packed_strides(shape->rank, shape->dim, strides, &elements) ||
        __builtin_mul_overflow(elements, MAX(types[shape->type].bytes, 1), &bytes))
        return false;
    for (int i = 0; i < shape->rank; i++) {
        if (__builtin_mul_overflow(at_least_one(shape->dim[i]) - 1, shape->stride[i], &part) ||
            __builtin_add_overflow(last, part, &last))
            return false;
    }
    return !__builtin_mul_overflow(last, MAX(types[shape->type].bytes, 1), &bytes);
}

void shape_normalize(struct shape *shape)
{
    int64_t packed = 1;
    for (int i = shape->rank - 1; i >= 0; i--) {
        if (shape->dim[i] == 1)
            shape->stride[i] = packed;
        packed *= at_least_one(shape->dim[i]);
    }
    for (int i = shape->rank; i < SHAPE_MAX_RANK; i++)
        shape->dim[i] = shape->stride[i] = 0;
}

bool shape_set_packed(struct shape *shape, enum element_type type, int rank, const int64_t *dims,
                      GError **error)
{
    struct shape made = {.type = type, .rank = rank};
    int64_t elements;
    shape_set_unknown(shape);
    if (!dims_are_valid(rank, dims, error))
        return false;
    if (rank > 0) /* dims may be NULL for a single number */
        memcpy(made.dim, dims, (size_t)rank * sizeof(*dims));
    bool fits = packed_strides(rank, dims, made.stride, &elements) && sizes_fit(&made);
    *shape = made;
    return fits || too_large(shape, error);
}

bool shape_set_strided(struct shape *shape, enum element_type type, int rank, const int64_t *dims,
                       const int64_t *strides, GError **error)
{
    struct shape made = {.type = type, .rank = rank};
    shape_set_unknown(shape);
    if (!dims_are_valid(rank, dims, error))
        return false;
    for (int i = 0; i < rank; i++) {
        made.dim[i] = dims[i];
        made.stride[i] = dims[i] == 1 ? 0 : strides[i];
        if (strides[i] < 0) {
            g_set_error(error, NETWORK_ERROR, NETWORK_ERROR_INVALID,
                        "stride %d of a tensor is %" PRId64 ": strides are not negative", i,
                        strides[i]);
            return false;
        }
    }
    bool fits = sizes_fit(&made);
    *shape = made;
    if (!fits)
        return too_large(shape, error);
    shape_normalize(shape);
    return true;
}

bool shape_set_ordered(struct shape *shape, enum element_type type, int rank, const int64_t *dims,
                       const int *order, GError **error)
{
    if (!shape_set_packed(shape, type, rank, dims, error))
        return false;
    unsigned seen = 0;
    int64_t stride = 1;
    for (int i = rank - 1; i >= 0; i--) {
        int axis = order[i];
        if (axis < 0 || axis >= rank || seen & 1U << axis) {
            g_set_error(error, NETWORK_ERROR, NETWORK_ERROR_INVALID,
                        "an order of axes must name each of 0 to %d once", rank - 1);
            shape_set_unknown(shape);
            return false;
        }
        seen |= 1U << axis;
        shape->stride[axis] = stride;
        stride *= at_least_one(dims[axis]);
    }
    shape_normalize(shape);
    return true;
}

bool shape_is_known(const struct shape *shape)
{
    return shape->type != ELEMENT_NONE;
}

bool shape_same_dims(const struct shape *a, const struct shape *b)
{
    return a->rank == b->rank && memcmp(a->dim, b->dim, (size_t)a->rank * sizeof(a->dim[0])) == 0;
}

bool shape_equal(const struct shape *a, const struct shape *b)
{
    return a->type == b->type && shape_same_dims(a, b) &&
           memcmp(a->stride, b->stride, (size_t)a->rank * sizeof(a->stride[0])) == 0;
}

bool shape_is_packed(const struct shape *shape)
{
    int64_t packed = 1;
    for (int i = shape->rank - 1; i >= 0; i--) {
        if (shape->dim[i] != 1 && shape->stride[i] != packed)
            return false;
        packed *= at_least_one(shape->dim[i]);
    }
    return true;
}

void shape_order(const struct shape *shape, int order[SHAPE_MAX_RANK])
{
    /* Insertion sort: stable, and at most eight axes. */
    for (int i = 0; i < shape->rank; i++) {
        int at = i;
        for (; at > 0 && shape->stride[order[at - 1]] < shape->stride[i]; at--)
            order[at] = order[at - 1];
        order[at] = i;
    }
}

bool shape_is_dense(const struct shape *shape)
{
    int order[SHAPE_MAX_RANK] = {0};
    shape_order(shape, order);
    int64_t packed = 1;
    for (int i = shape->rank - 1; i >= 0; i--) {
        if (shape->dim[order[i]] == 1)
            continue;
        if (shape->stride[order[i]] != packed)
            return false;
        packed *= at_least_one(shape->dim[order[i]]);
    }
    return true;
}

bool shape_is_broadcast(const struct shape *shape)
{
    for (int i = 0; i < shape->rank; i++) {
        if (shape->dim[i] > 1 && shape->stride[i] == 0)
            return true;
    }
    return false;
}

int64_t shape_elements(const struct shape *shape)
{
    int64_t elements = shape_is_known(shape);
    for (int i = 0; i < shape->rank; i++)
        elements *= shape->dim[i];
    return elements;
}

int64_t shape_bytes(const struct shape *shape)
{
    return shape_elements(shape) * types[shape->type].bytes;
}

int64_t shape_span(const struct shape *shape)
{
    if (shape_elements(shape) == 0)
        return 0;
    int64_t span = 1;
    for (int i = 0; i < shape->rank; i++)
        span += (shape->dim[i] - 1) * shape->stride[i];
    return span;
}

void shape_set_like(struct shape *shape, enum element_type type, const struct shape *like)
{
    *shape = *like;
    shape->type = type;
}

bool shape_set_following(struct shape *shape, enum element_type type, int rank, const int64_t *dims,
                         const struct shape *like, GError **error)
{
    if (!shape_set_packed(shape, type, rank, dims, error))
        return false;
    if (shape_same_dims(shape, like) && shape_is_dense(like))
        memcpy(shape->stride, like->stride, sizeof(shape->stride));
    return true;
}

bool shape_broadcast_dims(const struct shape *a, const struct shape *b, int *rank,
                          int64_t dims[SHAPE_MAX_RANK], GError **error)
{
    *rank = MAX(a->rank, b->rank);
    for (int i = 1; i <= *rank; i++) {
        int64_t of_a = i <= a->rank ? a->dim[a->rank - i] : 1;
        int64_t of_b = i <= b->rank ? b->dim[b->rank - i] : 1;
        if (of_a != of_b && of_a != 1 && of_b != 1) {
            g_autofree char *text_a = shape_text(a);
            g_autofree char *text_b = shape_text(b);
            g_set_error(error, NETWORK_ERROR, NETWORK_ERROR_INVALID,
                        "%s and %s do not broadcast: counted from the last axis, dimensions must "
                        "be equal or 1",
                        text_a, text_b);
            return false;
        }
        dims[*rank - i] = of_a == 1 ? of_b : of_a;
    }
    return true;
}

static void append_numbers(GString *text, char open, const int64_t *numbers, int count, char close)
{
    g_string_append_c(text, open);
    for (int i = 0; i < count; i++)
        g_string_append_printf(text, "%s%" PRId64, i ? "," : "", numbers[i]);
    g_string_append_c(text, close);
}

char *shape_text(const struct shape *shape)
{
    if (!shape_is_known(shape))
        return g_strdup("?");
    GString *text = g_string_new(element_type_name(shape->type));
    append_numbers(text, '[', shape->dim, shape->rank, ']');
    if (!shape_is_packed(shape))
        append_numbers(text, '{', shape->stride, shape->rank, '}');
    return g_string_free(text, FALSE);
}
