#include "solvers/problem/epilogue.h"
#include "solvers/problem/problem.h"

#include <inttypes.h>
#include <math.h>
#include <stddef.h>
#include <string.h>

G_GNUC_PRINTF(2, 3)
static bool invalid(GError **error, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    GError *made = g_error_new_valist(SOLVERS_ERROR, SOLVERS_ERROR_INVALID, format, arguments);
    va_end(arguments);
    g_propagate_error(error, made);
    return false;
}

#define AXIS_FIELD(field, axis) (offsetof(struct problem, field) + (axis) * sizeof(int64_t))

/* Each number of a problem with its allowed range. `neutral` is the only value allowed on axis D of a 2D problem. */
static const struct {
    const char *name;
    size_t offset;
    int64_t least;
    bool depth;
    int64_t neutral;
} ranges[] = {
    {"batchsize", offsetof(struct problem, n), 1, false, 0},
    {"in_channels", offsetof(struct problem, c), 1, false, 0},
    {"out_channels", offsetof(struct problem, k), 1, false, 0},
    {"group_count", offsetof(struct problem, groups), 1, false, 0},
    {"in_d", AXIS_FIELD(in, AXIS_D), 1, true, 1},
    {"in_h", AXIS_FIELD(in, AXIS_H), 1, false, 0},
    {"in_w", AXIS_FIELD(in, AXIS_W), 1, false, 0},
    {"fil_d", AXIS_FIELD(fil, AXIS_D), 1, true, 1},
    {"fil_h", AXIS_FIELD(fil, AXIS_H), 1, false, 0},
    {"fil_w", AXIS_FIELD(fil, AXIS_W), 1, false, 0},
    {"out_d", AXIS_FIELD(out, AXIS_D), 1, true, 1},
    {"out_h", AXIS_FIELD(out, AXIS_H), 1, false, 0},
    {"out_w", AXIS_FIELD(out, AXIS_W), 1, false, 0},
    {"pad_d", AXIS_FIELD(pad, AXIS_D), 0, true, 0},
    {"pad_h", AXIS_FIELD(pad, AXIS_H), 0, false, 0},
    {"pad_w", AXIS_FIELD(pad, AXIS_W), 0, false, 0},
    {"conv_stride_d", AXIS_FIELD(stride, AXIS_D), 1, true, 1},
    {"conv_stride_h", AXIS_FIELD(stride, AXIS_H), 1, false, 0},
    {"conv_stride_w", AXIS_FIELD(stride, AXIS_W), 1, false, 0},
    {"dilation_d", AXIS_FIELD(dilation, AXIS_D), 1, true, 1},
    {"dilation_h", AXIS_FIELD(dilation, AXIS_H), 1, false, 0},
    {"dilation_w", AXIS_FIELD(dilation, AXIS_W), 1, false, 0},
};

static bool validate_ranges(const struct problem *p, GError **error)
{
    for (size_t i = 0; i < G_N_ELEMENTS(ranges); i++) {
        int64_t value;
        memcpy(&value, (const char *)p + ranges[i].offset, sizeof value);
        if (ranges[i].depth && p->spatial_dim == 2 && value != ranges[i].neutral) {
            return invalid(error, "%s is %" PRId64 ", it must be %" PRId64 " in a 2D problem",
                           ranges[i].name, value, ranges[i].neutral);
        }
        if (value < ranges[i].least) {
            return invalid(error, "%s is %" PRId64 ", it must be at least %" PRId64, ranges[i].name,
                           value, ranges[i].least);
        }
        if (value > INT32_MAX) {
            return invalid(error, "%s is %" PRId64 ", it must be at most %d", ranges[i].name, value,
                           INT32_MAX);
        }
    }
    return true;
}

static bool layout_is_3d(enum layout layout)
{
    return layout == LAYOUT_NCDHW || layout == LAYOUT_NDHWC;
}

static bool validate_enums(const struct problem *p, GError **error)
{
    static const char *const names[TENSOR_COUNT] = {"input", "filter", "output"};
    if (p->kind >= OP_KIND_COUNT || p->direction >= DIRECTION_COUNT) {
        return invalid(error, "the operator kind or the direction is none that is known");
    }
    if (p->spatial_dim != 2 && p->spatial_dim != 3) {
        return invalid(error, "spatial_dim is %d, it must be 2 or 3", p->spatial_dim);
    }
    for (int t = 0; t < TENSOR_COUNT; t++) {
        if (p->type[t] <= TYPE_NONE || p->type[t] >= DATA_TYPE_COUNT) {
            return invalid(error, "the %s has no data type", names[t]);
        }
        if (p->cast[t] >= DATA_TYPE_COUNT) {
            return invalid(error, "the %s has an unknown cast type", names[t]);
        }
        if (p->layout[t] >= LAYOUT_COUNT) {
            return invalid(error, "the %s has an unknown layout", names[t]);
        }
        if (layout_is_3d(p->layout[t]) != (p->spatial_dim == 3)) {
            return invalid(error, "the %s's layout is %s, which no %dD problem has", names[t],
                           layout_name(p->layout[t]), p->spatial_dim);
        }
    }
    return true;
}

/* Each window of a pool must hold an element of the input: the first one must reach over the padding, the last one
 * must begin in the input or in front of it, and a dilation must not step over the input. */
static bool validate_pool_axis(const struct problem *p, int a, GError **error)
{
    static const char letters[] = "dhw";
    if (p->pad[a] > p->dilation[a] * (p->fil[a] - 1)) {
        return invalid(error, "pad_%c is %" PRId64 ", the first window lies in the padding alone",
                       letters[a], p->pad[a]);
    }
    if (p->pad[a] > 0 && p->dilation[a] > p->in[a]) {
        return invalid(error,
                       "dilation_%c is %" PRId64 ", a window may step over the whole padded input",
                       letters[a], p->dilation[a]);
    }
    if ((p->out[a] - 1) * p->stride[a] - p->pad[a] >= p->in[a]) {
        return invalid(error, "out_%c is %" PRId64 ", the last window begins behind the input",
                       letters[a], p->out[a]);
    }
    return true;
}

static bool validate_axis(const struct problem *p, int a, GError **error)
{
    static const char letters[] = "dhw";
    struct problem expected = *p;
    if (p->kind == OP_POOL) {
        return validate_pool_axis(p, a, error);
    }
    if (p->kind == OP_RESIZE) {
        return true;
    }
    problem_set_output(&expected);
    if (p->out[a] != expected.out[a]) {
        return invalid(error, "out_%c is %" PRId64 ", the other fields make it %" PRId64,
                       letters[a], p->out[a], expected.out[a]);
    }
    return true;
}

/* Whether the bytes of a packed tensor with these sizes fit 63 bits. */
static bool countable(int64_t outer, int64_t channels, const int64_t spatial[AXIS_COUNT])
{
    int64_t bytes = 8; /* bytes of an element of the widest type */
    /* room for rounding channels up to the widest block */
    bool over = __builtin_mul_overflow(bytes, outer, &bytes) ||
                __builtin_mul_overflow(bytes, channels + 8, &bytes);
    for (int a = 0; a < AXIS_COUNT; a++) {
        over = over || __builtin_mul_overflow(bytes, spatial[a], &bytes);
    }
    return !over;
}

static bool validate_products(const struct problem *p, GError **error)
{
    if (p->c % p->groups != 0 || p->k % p->groups != 0) {
        return invalid(error,
                       "group_count is %" PRId64 ", it must divide in_channels %" PRId64
                       " and out_channels %" PRId64,
                       p->groups, p->c, p->k);
    }
    if (!countable(p->n, p->c, p->in) || !countable(p->n, p->k, p->out) ||
        !countable(p->k, p->c / p->groups, p->fil)) {
        return invalid(error, "a tensor has 2^63 bytes or more, sizes must be smaller");
    }
    return true;
}

/* Checks the steps against the problem's types, axes and direction. */
static bool validate_steps(const struct problem *p, const struct epilogue *epilogue, GError **error)
{
    for (int i = 0; i < epilogue->count; i++) {
        const struct epilogue_step *step = &epilogue->steps[i];
        if (step->op == EPILOGUE_REQUANT && step->type != p->type[problem_output_role(p)]) {
            return invalid(error, "the epilogue's requant gives %s, the output is %s",
                           data_type_name(step->type),
                           data_type_name(p->type[problem_output_role(p)]));
        }
        if (step->op == EPILOGUE_BIAS && i > 0 && p->type[TENSOR_X] == TYPE_INT8) {
            return invalid(error, "the bias of an INT8 problem must be the epilogue's first step");
        }
    }
    const struct epilogue_step *residual = epilogue_residual(epilogue);
    if (residual != NULL && layout_is_3d(residual->layout) != (p->spatial_dim == 3)) {
        return invalid(error,
                       "the epilogue's second tensor has the layout %s, which no %dD problem has",
                       layout_name(residual->layout), p->spatial_dim);
    }
    if (epilogue->count > 0 && p->direction == DIRECTION_W) {
        return invalid(error, "the gradient of a filter (direction W) has no epilogue");
    }
    return true;
}

static bool validate_epilogue(const struct problem *p, GError **error)
{
    char canonical[EPILOGUE_MAX];
    struct epilogue epilogue;
    if (memchr(p->epilogue, '\0', sizeof p->epilogue) == NULL) {
        return invalid(error, "the epilogue has no end, it must be below %d bytes", EPILOGUE_MAX);
    }
    if (!epilogue_canonical(p->epilogue, canonical, NULL) || strcmp(canonical, p->epilogue) != 0) {
        return invalid(error, "the epilogue is '%s', which is not in canonical form", p->epilogue);
    }
    return epilogue_parse(p->epilogue, &epilogue, error) && validate_steps(p, &epilogue, error);
}

/* ---- kinds other than convolutions ---- */

static bool mode_is_one_of(const char *mode, const char *const *modes)
{
    return g_strv_contains(modes, mode);
}

/* "SIZE,ALPHA,BETA,BIAS": a number of channels from 1, then three finite numbers, written as "%.9g". */
static bool mode_is_lrn(const char *mode)
{
    g_auto(GStrv) words = g_strsplit(mode, ",", -1);
    char number[G_ASCII_DTOSTR_BUF_SIZE];
    if (g_strv_length(words) != 4) {
        return false;
    }
    for (int i = 0; i < 4; i++) {
        char *end = NULL;
        double value = g_ascii_strtod(words[i], &end);
        g_ascii_formatd(number, sizeof number, i == 0 ? "%.0f" : "%.9g",
                        value == 0 ? 0.0 : value); /* no "-0" */
        if (end == words[i] || *end != '\0' || !isfinite(value) || strcmp(number, words[i]) != 0 ||
            (i == 0 && (value < 1 || value > INT32_MAX))) {
            return false;
        }
    }
    return true;
}

/* "nearest,COORDINATES,ROUNDING" or "linear,COORDINATES", with the words of ONNX's Resize. */
static bool mode_is_resize(const char *mode)
{
    static const char *const coordinates[] = {"half_pixel",    "pytorch_half_pixel",   "asymmetric",
                                              "align_corners", "half_pixel_symmetric", NULL};
    static const char *const rounding[] = {"floor", "ceil", "round_prefer_floor",
                                           "round_prefer_ceil", NULL};
    g_auto(GStrv) words = g_strsplit(mode, ",", -1);
    guint count = g_strv_length(words);
    bool nearest =
        count == 3 && strcmp(words[0], "nearest") == 0 && g_strv_contains(rounding, words[2]);
    bool linear = count == 2 && strcmp(words[0], "linear") == 0;
    return (nearest || linear) && g_strv_contains(coordinates, words[1]);
}

static bool mode_is_valid(const struct problem *p)
{
    static const char *const pools[] = {"max", "average", "average_all", NULL};
    static const char *const softmaxes[] = {"", "log", NULL};
    static const char *const convolutions[] = {"", OP_MODE_TF32, NULL};
    switch (p->kind) {
    case OP_POOL: return mode_is_one_of(p->mode, pools);
    case OP_SOFTMAX: return mode_is_one_of(p->mode, softmaxes);
    case OP_RESIZE: return mode_is_resize(p->mode);
    case OP_LRN: return mode_is_lrn(p->mode);
    case OP_CONV: return mode_is_one_of(p->mode, convolutions);
    case OP_POINTWISE: break;
    }
    return p->mode[0] == '\0';
}

/* Whether the fields that only windows have are neutral: filter, padding, strides, dilations. */
static bool has_no_window(const struct problem *p)
{
    for (int a = 0; a < AXIS_COUNT; a++) {
        if (p->fil[a] != 1 || p->pad[a] != 0 || p->stride[a] != 1 || p->dilation[a] != 1) {
            return false;
        }
    }
    return true;
}

/* TF32 is a way to multiply FP32 tensors, which no cast changes before. */
static bool validate_tf32(const struct problem *p, GError **error)
{
    for (int t = 0; problem_is_tf32(p) && t < TENSOR_COUNT; t++) {
        if (p->type[t] != TYPE_FP32 || p->cast[t] != TYPE_NONE) {
            return invalid(
                error, "TF32 is for convolutions whose three tensors are FP32 and are not cast");
        }
    }
    return true;
}

static bool validate_kind(const struct problem *p, GError **error)
{
    const char *kind = op_kind_name(p->kind);
    if (memchr(p->mode, '\0', sizeof p->mode) == NULL || !mode_is_valid(p)) {
        return invalid(error, "'%.*s' is no mode of %s", OP_MODE_MAX - 1, p->mode, kind);
    }
    if (p->kind == OP_CONV) {
        return validate_tf32(p, error);
    }
    if (p->direction != DIRECTION_F || p->groups != 1 || p->c != p->k || p->bias != 0) {
        return invalid(error,
                       "a problem of kind %s has direction F, one group, as many channels in as "
                       "out, and bias 0",
                       kind);
    }
    if (p->type[TENSOR_W] != p->type[TENSOR_X] || p->layout[TENSOR_W] != p->layout[TENSOR_X]) {
        return invalid(error,
                       "a problem of kind %s has no filter: the filter's type and layout "
                       "must be those of the input",
                       kind);
    }
    for (int t = 0; t < TENSOR_COUNT; t++) {
        if (p->cast[t] != TYPE_NONE) {
            return invalid(error, "a problem of kind %s has no cast types", kind);
        }
    }
    if (p->kind != OP_POOL && !has_no_window(p)) {
        return invalid(error,
                       "a problem of kind %s has no window: filter, stride and dilation "
                       "must be 1, padding 0",
                       kind);
    }
    return true;
}

/* ---- strides ---- */

/* Whether two elements of a tensor share a place, by a rule that errs on the safe side: each axis must step over all
 * elements of the axes with smaller strides. `sizes` are in steps: blocks for the channels of blocked layouts. */
static bool strides_overlap(const int64_t sizes[5], const int64_t strides[5], int64_t block)
{
    bool used[5] = {false};
    int64_t reach = block; /* elements from the first to the last of the axes so far */
    for (;;) {
        int least = -1;
        for (int i = 0; i < 5; i++) {
            if (!used[i] && sizes[i] > 1 && (least < 0 || strides[i] < strides[least])) {
                least = i;
            }
        }
        if (least < 0) {
            return false;
        }
        if (strides[least] < reach) {
            return true;
        }
        used[least] = true;
        reach += (sizes[least] - 1) * strides[least];
    }
}

static bool validate_tensor_strides(const struct problem *p, enum tensor_role role, GError **error)
{
    static const char *const names[STRIDED_COUNT] = {"input", "filter", "output", "second tensor"};
    const int64_t *strides = p->strides[role];
    struct problem canonical = *p;
    int64_t block = problem_layout_block(problem_operand_layout(p, role));
    int64_t sizes[5];
    if (!problem_has_operand(p, role)) {
        return invalid(error, "the %s has strides, but the problem has no such tensor",
                       names[role]);
    }
    problem_set_strides(&canonical, role, strides);
    if (memcmp(canonical.strides[role], strides, sizeof canonical.strides[role]) != 0) {
        return invalid(error,
                       "the strides of the %s are not in canonical form: 0 on axes of one "
                       "element, and none at all for a packed tensor",
                       names[role]);
    }
    problem_operand_sizes(p, role, sizes);
    sizes[1] = (sizes[1] + block - 1) / block;
    for (int i = 0; i < 5; i++) {
        if (strides[i] < 0 || strides[i] > INT64_MAX / 64 / (sizes[i] + 1)) {
            return invalid(error, "a stride of the %s is %" PRId64 ", which is out of range",
                           names[role], strides[i]);
        }
        if (strides[i] == 0 && sizes[i] > 1 && role != TENSOR_RESIDUAL) {
            return invalid(error, "the %s has stride 0 on an axis of %" PRId64 " steps",
                           names[role], sizes[i]);
        }
    }
    if (role == problem_output_role(p) && strides_overlap(sizes, strides, block)) {
        return invalid(error,
                       "the strides of the %s, which is written, put two elements at one place",
                       names[role]);
    }
    return true;
}

static bool validate_strides(const struct problem *p, GError **error)
{
    static const int64_t packed[5];
    for (int t = 0; t < STRIDED_COUNT; t++) {
        if (memcmp(p->strides[t], packed, sizeof packed) != 0 &&
            !validate_tensor_strides(p, (enum tensor_role)t, error)) {
            return false;
        }
    }
    return true;
}

bool problem_validate(const struct problem *p, GError **error)
{
    if (!validate_enums(p, error) || !validate_ranges(p, error)) {
        return false;
    }
    if (p->bias != 0 && p->bias != 1) {
        return invalid(error, "bias is %d, it must be 0 or 1", p->bias);
    }
    if (!validate_products(p, error) || !validate_kind(p, error)) {
        return false;
    }
    for (int a = 0; a < AXIS_COUNT; a++) {
        if (!validate_axis(p, a, error)) {
            return false;
        }
    }
    return validate_epilogue(p, error) && validate_strides(p, error);
}
