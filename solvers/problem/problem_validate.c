#include "solvers/problem/epilogue.h"
#include "solvers/problem/problem.h"

#include <inttypes.h>
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
    if (p->kind != OP_CONV || p->direction >= DIRECTION_COUNT) {
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

static bool validate_axis(const struct problem *p, int a, GError **error)
{
    static const char letters[] = "dhw";
    struct problem expected = *p;
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

static bool validate_epilogue(const struct problem *p, GError **error)
{
    char canonical[EPILOGUE_MAX];
    if (memchr(p->epilogue, '\0', sizeof p->epilogue) == NULL) {
        return invalid(error, "the epilogue has no end, it must be below %d bytes", EPILOGUE_MAX);
    }
    if (!epilogue_canonical(p->epilogue, canonical, NULL) || strcmp(canonical, p->epilogue) != 0) {
        return invalid(error, "the epilogue is '%s', which is not in canonical form", p->epilogue);
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
    if (!validate_products(p, error)) {
        return false;
    }
    for (int a = 0; a < AXIS_COUNT; a++) {
        if (!validate_axis(p, a, error)) {
            return false;
        }
    }
    return validate_epilogue(p, error);
}
