#include "solvers/problem/problem.h"

#include "solvers/problem/epilogue.h"

#include <inttypes.h>
#include <string.h>

#define AXES 5 /* N C D H W */

/* The logical axes (0 N, 1 C, 2 D, 3 H, 4 W) of each layout, outermost first. In 2D layouts D is 1. */
static const struct {
    int order[AXES];
    int block;
} layout_orders[LAYOUT_COUNT] = {
    [LAYOUT_NCHW] = {{0, 1, 2, 3, 4}, 1},   [LAYOUT_NHWC] = {{0, 2, 3, 4, 1}, 1},
    [LAYOUT_CHWN] = {{1, 2, 3, 4, 0}, 1},   [LAYOUT_NCHWC4] = {{0, 1, 2, 3, 4}, 4},
    [LAYOUT_NCHWC8] = {{0, 1, 2, 3, 4}, 8}, [LAYOUT_CHWNC4] = {{1, 2, 3, 4, 0}, 4},
    [LAYOUT_CHWNC8] = {{1, 2, 3, 4, 0}, 8}, [LAYOUT_NCDHW] = {{0, 1, 2, 3, 4}, 1},
    [LAYOUT_NDHWC] = {{0, 2, 3, 4, 1}, 1},
};

void problem_init(struct problem *p)
{
    memset(p, 0, sizeof *p);
    p->kind = OP_CONV;
    p->direction = DIRECTION_F;
    p->spatial_dim = 2;
    p->n = p->c = p->k = p->groups = 1;
    for (int a = 0; a < AXIS_COUNT; a++) {
        p->in[a] = p->fil[a] = p->out[a] = p->stride[a] = p->dilation[a] = 1;
    }
    for (int t = 0; t < TENSOR_COUNT; t++) {
        p->type[t] = TYPE_FP32;
        p->cast[t] = TYPE_NONE;
        p->layout[t] = LAYOUT_NCHW;
    }
}

/* Whether a number is small enough that no sum or product of the size formulas overflows 63 bits. */
static bool in_range(int64_t value)
{
    return value >= 0 && value <= INT32_MAX;
}

static bool axis_in_range(const struct problem *p, int a)
{
    return in_range(p->in[a]) && in_range(p->fil[a]) && in_range(p->pad[a]) &&
           in_range(p->stride[a]) && in_range(p->dilation[a]) && p->stride[a] > 0;
}

void problem_set_output(struct problem *p)
{
    bool has_windows = p->kind == OP_CONV || p->kind == OP_POOL;
    for (int a = 0; a < AXIS_COUNT; a++) {
        p->out[a] = has_windows ? 1 : p->in[a];
        if (!has_windows) {
            continue;
        }
        if (!axis_in_range(p, a)) {
            continue; /* the output is not computed; problem_validate() reports the field */
        }
        int64_t span = p->in[a] + 2 * p->pad[a] - p->dilation[a] * (p->fil[a] - 1) - 1;
        if (span > 0) {
            p->out[a] = span / p->stride[a] + 1;
        }
    }
}

bool problem_is_clamped(const struct problem *p)
{
    for (int a = 0; a < AXIS_COUNT; a++) {
        if (axis_in_range(p, a) &&
            p->in[a] + 2 * p->pad[a] < p->dilation[a] * (p->fil[a] - 1) + 1) {
            return true;
        }
    }
    return false;
}

static bool mirror_axis(const struct problem *t, int a, int64_t output_pad, struct problem *p,
                        GError **error)
{
    static const char names[] = "dhw";
    if (!axis_in_range(t, a)) {
        g_set_error(error, SOLVERS_ERROR, SOLVERS_ERROR_INVALID,
                    "a size of the transposed convolution's axis %c is out of range", names[a]);
        return false;
    }
    if (output_pad < 0 || output_pad >= t->stride[a]) {
        g_set_error(
            error, SOLVERS_ERROR, SOLVERS_ERROR_INVALID,
            "trans_output_pad_%c is %" PRId64
            ", no convolution equals it: it must be at least 0 and below the stride %" PRId64,
            names[a], output_pad, t->stride[a]);
        return false;
    }
    int64_t reach = t->dilation[a] * (t->fil[a] - 1) + 1 - 2 * t->pad[a];
    int64_t size = 0;
    if (__builtin_mul_overflow(t->stride[a], t->in[a] - 1, &size) ||
        __builtin_add_overflow(size, reach + output_pad, &size) || size < 1) {
        g_set_error(error, SOLVERS_ERROR, SOLVERS_ERROR_INVALID,
                    "the transposed convolution's output size on axis %c is not positive",
                    names[a]);
        return false;
    }
    p->in[a] = size;
    p->out[a] = t->in[a];
    return true;
}

bool problem_from_transposed(const struct problem *t, const int64_t output_pad[AXIS_COUNT],
                             struct problem *p, GError **error)
{
    static const enum direction mirrored[DIRECTION_COUNT] = {
        [DIRECTION_F] = DIRECTION_B,
        [DIRECTION_B] = DIRECTION_F,
        [DIRECTION_W] = DIRECTION_W,
    };
    struct problem mirror = *t;
    mirror.direction = mirrored[t->direction];
    mirror.c = t->k;
    mirror.k = t->c;
    mirror.type[TENSOR_X] = t->type[TENSOR_Y];
    mirror.type[TENSOR_Y] = t->type[TENSOR_X];
    mirror.cast[TENSOR_X] = t->cast[TENSOR_Y];
    mirror.cast[TENSOR_Y] = t->cast[TENSOR_X];
    mirror.layout[TENSOR_X] = t->layout[TENSOR_Y];
    mirror.layout[TENSOR_Y] = t->layout[TENSOR_X];
    for (int a = t->spatial_dim == 2 ? AXIS_H : AXIS_D; a < AXIS_COUNT; a++) {
        if (!mirror_axis(t, a, output_pad[a], &mirror, error)) {
            return false;
        }
    }
    *p = mirror;
    return problem_validate(p, error);
}

#define FIELD_COUNT (7 + 6 * AXIS_COUNT + 3 * TENSOR_COUNT + 2 + STRIDED_COUNT * AXES)

/* Writes a problem's numbers in declaration order, so that problems are compared and hashed without the struct's
 * padding bytes. */
static void flatten(const struct problem *p, int64_t fields[FIELD_COUNT])
{
    const int64_t head[] = {p->kind, p->direction, p->spatial_dim, p->n, p->c, p->k, p->groups};
    const int64_t *const axes[] = {p->in, p->fil, p->out, p->pad, p->stride, p->dilation};
    int count = 0;
    for (size_t i = 0; i < G_N_ELEMENTS(head); i++) {
        fields[count++] = head[i];
    }
    for (size_t i = 0; i < G_N_ELEMENTS(axes); i++) {
        for (int a = 0; a < AXIS_COUNT; a++) {
            fields[count++] = axes[i][a];
        }
    }
    for (int t = 0; t < TENSOR_COUNT; t++) {
        fields[count + t] = p->type[t];
        fields[count + TENSOR_COUNT + t] = p->cast[t];
        fields[count + 2 * TENSOR_COUNT + t] = p->layout[t];
    }
    count += 3 * TENSOR_COUNT;
    fields[count++] = p->bias;
    fields[count++] = p->fnuz;
    memcpy(&fields[count], p->strides, sizeof p->strides);
}

int problem_compare(const struct problem *a, const struct problem *b)
{
    int64_t left[FIELD_COUNT], right[FIELD_COUNT];
    flatten(a, left);
    flatten(b, right);
    for (int i = 0; i < FIELD_COUNT; i++) {
        if (left[i] != right[i]) {
            return left[i] < right[i] ? -1 : 1;
        }
    }
    int order = strcmp(a->mode, b->mode);
    return order != 0 ? order : strcmp(a->epilogue, b->epilogue);
}

bool problem_equal(const struct problem *a, const struct problem *b)
{
    return problem_compare(a, b) == 0;
}

guint problem_hash(const struct problem *p)
{
    int64_t fields[FIELD_COUNT];
    flatten(p, fields);
    /* FNV-1a over 64-bit words, folded to 32 bits at the end */
    uint64_t hash = 1469598103934665603u;
    for (int i = 0; i < FIELD_COUNT; i++) {
        hash = (hash ^ (uint64_t)fields[i]) * 1099511628211u;
        hash ^= hash >> 29;
    }
    return (guint)(hash ^ hash >> 32) ^ g_str_hash(p->epilogue) ^ 31 * g_str_hash(p->mode);
}

static guint hash_key(gconstpointer problem)
{
    return problem_hash(problem);
}

static gboolean equal_keys(gconstpointer a, gconstpointer b)
{
    return problem_equal(a, b);
}

GHashTable *problem_table_new(GDestroyNotify free_value)
{
    return g_hash_table_new_full(hash_key, equal_keys, NULL, free_value);
}

double problem_macs(const struct problem *p)
{
    double terms = p->kind == OP_CONV ? (double)(p->c / p->groups) : 1;
    double macs = (double)p->n * (double)p->k * terms;
    for (int a = 0; a < AXIS_COUNT; a++) {
        macs *= (double)p->fil[a] * (double)p->out[a];
    }
    return macs;
}

bool problem_is_strided(const struct problem *p)
{
    static const int64_t packed[STRIDED_COUNT][AXES];
    return memcmp(p->strides, packed, sizeof packed) != 0;
}

enum find_key_lack problem_find_key_lack(const struct problem *p)
{
    return p->kind != OP_CONV       ? LACK_OPERATOR
           : problem_is_strided(p)  ? LACK_STRIDES
           : p->epilogue[0] != '\0' ? LACK_EPILOGUE
                                    : LACK_NONE;
}

enum find_key_lack problem_perf_row_lack(const struct problem *p)
{
    enum find_key_lack lack = problem_find_key_lack(p);
    return lack == LACK_NONE && problem_is_tf32(p) ? LACK_TF32 : lack;
}

bool problem_is_tf32(const struct problem *p)
{
    return p->kind == OP_CONV && strcmp(p->mode, OP_MODE_TF32) == 0;
}

bool problem_sums_int8(const struct problem *p)
{
    enum tensor_role out = problem_output_role(p);
    for (int t = 0; t < TENSOR_COUNT; t++) {
        if ((enum tensor_role)t != out && p->type[t] != TYPE_INT8) {
            return false;
        }
    }
    return p->kind == OP_CONV;
}

enum data_type problem_peak_type(const struct problem *p)
{
    return problem_is_tf32(p) ? TYPE_FP16 : p->type[TENSOR_X];
}

bool problem_has_find_key(const struct problem *p)
{
    return problem_find_key_lack(p) == LACK_NONE;
}

bool problem_has_perf_row(const struct problem *p)
{
    return problem_perf_row_lack(p) == LACK_NONE;
}

enum tensor_role problem_output_role(const struct problem *p)
{
    static const enum tensor_role roles[DIRECTION_COUNT] = {
        [DIRECTION_F] = TENSOR_Y,
        [DIRECTION_B] = TENSOR_X,
        [DIRECTION_W] = TENSOR_W,
    };
    return roles[p->direction];
}

/* ---- operands ---- */

/* The epilogue's steps; none where its text is not valid. */
static struct epilogue steps_of(const struct problem *p)
{
    struct epilogue steps = {0};
    if (p->epilogue[0] != '\0' && !epilogue_parse(p->epilogue, &steps, NULL)) {
        steps.count = 0;
    }
    return steps;
}

bool problem_has_operand(const struct problem *p, enum tensor_role role)
{
    struct epilogue steps;
    switch (role) {
    case TENSOR_X:
    case TENSOR_Y: return true;
    case TENSOR_W: return p->kind == OP_CONV;
    case TENSOR_RESIDUAL:
    case TENSOR_BIAS:
    case TENSOR_SCALES: steps = steps_of(p); return epilogue_reads(&steps, role);
    case TENSOR_PACKED: return false;
    }
    return false;
}

/* The type in the form that the problem's 8-bit floats have. */
static enum data_type in_form(const struct problem *p, enum data_type type)
{
    if (p->fnuz && (type == TYPE_FP8 || type == TYPE_BF8)) {
        return type == TYPE_FP8 ? TYPE_FP8_FNUZ : TYPE_BF8_FNUZ;
    }
    return type;
}

enum data_type problem_cast_type(const struct problem *p, enum tensor_role role)
{
    bool is_input = role < TENSOR_COUNT && role != problem_output_role(p);
    return is_input ? in_form(p, p->cast[role]) : TYPE_NONE;
}

enum data_type problem_operand_type(const struct problem *p, enum tensor_role role)
{
    struct epilogue steps;
    if (role < TENSOR_COUNT) {
        return in_form(p, p->type[role]);
    }
    if (role == TENSOR_RESIDUAL) {
        steps = steps_of(p);
        const struct epilogue_step *step = epilogue_residual(&steps);
        return step != NULL ? in_form(p, step->type) : TYPE_NONE;
    }
    if (role == TENSOR_BIAS && p->type[TENSOR_X] == TYPE_INT8) {
        return TYPE_INT32;
    }
    if (role == TENSOR_BIAS && p->type[TENSOR_X] == TYPE_FP64) {
        return TYPE_FP64;
    }
    return role == TENSOR_PACKED ? in_form(p, p->type[TENSOR_W]) : TYPE_FP32;
}

enum layout problem_operand_layout(const struct problem *p, enum tensor_role role)
{
    struct epilogue steps;
    if (role < TENSOR_COUNT) {
        return p->layout[role];
    }
    if (role == TENSOR_RESIDUAL) {
        steps = steps_of(p);
        const struct epilogue_step *step = epilogue_residual(&steps);
        return step != NULL ? step->layout : LAYOUT_NCHW;
    }
    return LAYOUT_NCHW;
}

static void tensor_sizes(const struct problem *p, enum tensor_role role, int64_t sizes[AXES])
{
    const int64_t *spatial = role == TENSOR_X ? p->in : role == TENSOR_W ? p->fil : p->out;
    sizes[0] = role == TENSOR_W ? p->k : p->n;
    sizes[1] = role == TENSOR_X ? p->c : role == TENSOR_W ? p->c / p->groups : p->k;
    for (int a = 0; a < AXIS_COUNT; a++) {
        sizes[2 + a] = spatial[a];
    }
}

void problem_operand_sizes(const struct problem *p, enum tensor_role role, int64_t sizes[5])
{
    enum tensor_role out = problem_output_role(p);
    if (!problem_has_operand(p, role)) {
        memset(sizes, 0, AXES * sizeof sizes[0]);
        return;
    }
    tensor_sizes(p, role < TENSOR_COUNT ? role : out, sizes);
    if (role == TENSOR_BIAS || role == TENSOR_SCALES) {
        struct epilogue steps = steps_of(p);
        int64_t length = role == TENSOR_BIAS ? sizes[1] : epilogue_scales(&steps, sizes[1]);
        for (int i = 0; i < AXES; i++) {
            sizes[i] = i == 1 ? length : 1;
        }
    }
}

int problem_layout_block(enum layout layout)
{
    g_assert(layout < LAYOUT_COUNT);
    return layout_orders[layout].block;
}

int64_t problem_tensor_elements(const struct problem *p, enum tensor_role role)
{
    int64_t sizes[AXES];
    int64_t block = problem_layout_block(problem_operand_layout(p, role));
    problem_operand_sizes(p, role, sizes);
    sizes[1] = (sizes[1] + block - 1) / block * block;
    int64_t elements = 1;
    for (int i = 0; i < AXES; i++) {
        elements *= sizes[i];
    }
    return elements;
}

int64_t problem_tensor_bytes(const struct problem *p, enum tensor_role role)
{
    return problem_tensor_elements(p, role) * data_type_bytes(problem_operand_type(p, role));
}

static void packed_strides(const struct problem *p, enum tensor_role role, int64_t sizes[AXES],
                           int64_t strides[AXES])
{
    enum layout layout = problem_operand_layout(p, role);
    int64_t stride = problem_layout_block(layout);
    problem_operand_sizes(p, role, sizes);
    sizes[1] = (sizes[1] + stride - 1) / stride;
    for (int i = AXES - 1; i >= 0; i--) {
        int axis = layout_orders[layout].order[i];
        strides[axis] = stride;
        stride *= sizes[axis];
    }
}

void problem_packed_strides(const struct problem *p, enum tensor_role role, int64_t strides[5])
{
    int64_t sizes[AXES];
    packed_strides(p, role, sizes, strides);
}

bool problem_operand_is_strided(const struct problem *p, enum tensor_role role)
{
    for (int i = 0; role < STRIDED_COUNT && i < AXES; i++) {
        if (p->strides[role][i] != 0) {
            return true;
        }
    }
    return false;
}

void problem_strides(const struct problem *p, enum tensor_role role, int64_t strides[5])
{
    if (problem_operand_is_strided(p, role)) {
        memcpy(strides, p->strides[role], sizeof p->strides[role]);
    } else {
        problem_packed_strides(p, role, strides);
    }
}

void problem_set_strides(struct problem *p, enum tensor_role role, const int64_t strides[5])
{
    int64_t sizes[AXES], packed[AXES];
    bool is_packed = true;
    g_assert(role < STRIDED_COUNT);
    packed_strides(p, role, sizes, packed);
    for (int i = 0; i < AXES; i++) {
        is_packed = is_packed && (sizes[i] <= 1 || strides[i] == packed[i]);
    }
    for (int i = 0; i < AXES; i++) {
        p->strides[role][i] = is_packed || sizes[i] <= 1 ? 0 : strides[i];
    }
}

int64_t problem_tensor_span(const struct problem *p, enum tensor_role role)
{
    int64_t sizes[AXES], strides[AXES];
    if (!problem_operand_is_strided(p, role)) {
        return problem_tensor_elements(p, role);
    }
    packed_strides(p, role, sizes, strides);
    int64_t span = problem_layout_block(problem_operand_layout(p, role));
    for (int i = 0; i < AXES; i++) {
        span += (sizes[i] - 1) * p->strides[role][i];
    }
    return span;
}
